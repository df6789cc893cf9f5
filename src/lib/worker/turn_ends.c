/* SPDX-License-Identifier: MIT
 *
 * The ends of a turn, in the forms that the script reads (lua/include/task/ends.lua).
 */
#include "protocol/names.h"
#include "protocol/script_task.h"
#include "worker/worker.h"

bool turn_ends_is_move(const struct muster_process *p)
{
    return p->outcome == MUSTER_GIVE_BACK && p->move;
}

/* Ends that say nothing but their token go together. The finish of a job or of a suspect never goes with those of
 * tasks, because Redis looks for those in bulk. */
static bool is_grouped(const struct muster_process *p)
{
    return (p->outcome == MUSTER_GIVE_BACK && !p->move) ||
           (p->outcome == MUSTER_FINISH && !p->result && p->kind == PROCESS_TASK && !p->is_suspect);
}

/* How many of the ends from `from` on go into one group with the first of them; brings them together. */
static size_t group_ends(struct muster_process **ends, size_t n_ends, size_t from)
{
    struct muster_process *first = ends[from];
    size_t to = from + 1;
    if (!is_grouped(first))
        return 1;
    for (size_t i = to; i < n_ends; i++)
        if (is_grouped(ends[i]) && ends[i]->outcome == first->outcome && ends[i]->served == first->served) {
            struct muster_process *p = ends[i];
            ends[i] = ends[to];
            ends[to++] = p;
        }
    return to - from;
}

static void say_finish(struct command *c, const struct muster_process *p)
{
    const struct muster_bytes result = {p->result, p->result_len};
    if (p->next)
        script_end_next(c, p->served->name, p->token_text,
                        &(struct script_next){.result = p->result ? &result : NULL,
                                              .queue = p->next,
                                              .delay_ms = p->next_delay_ms,
                                              .after = p->next_after});
    else if (p->result)
        script_end_result(c, p->served->name, p->token_text, result);
    else
        script_end_done(c, p->served->name, p->token_text);
}

/* A job has a backoff of its own; a unique task has none. A task that failed should not come back at once, unless the
 * program wants that. */
static int64_t retry_delay_of(const struct muster_process *p)
{
    return p->retry_delay_ms < 0 && !muster_process_job(p) ? MUSTER_RETRY_DELAY_DEFAULT_MS : p->retry_delay_ms;
}

void turn_ends_say(struct command *c, struct muster_process **ends, size_t n_ends)
{
    for (size_t from = 0; from < n_ends;) {
        struct muster_process *p = ends[from];
        size_t n = group_ends(ends, n_ends, from);
        if (turn_ends_is_move(p))
            script_end_move(c, p->served->name, p->token_text, p->move);
        else if (p->outcome == MUSTER_RETRY)
            script_end_retry(c, p->served->name, p->token_text, retry_delay_of(p), p->group, p->message);
        else if (p->outcome == MUSTER_FAIL)
            script_end_fail(c, p->served->name, p->token_text, p->group ? p->group : FAILURE_GROUP_DEFAULT,
                            p->message ? p->message : "");
        else if (!is_grouped(p))
            say_finish(c, p);
        else
            script_end_group(c, p->outcome == MUSTER_FINISH ? "finish" : "back", p->served->name, n);
        for (size_t i = from; i < from + n && is_grouped(p); i++)
            command_bytes(c, ends[i]->token_text, TOKEN_LEN);
        from += n;
    }
}

size_t turn_ends_bytes(const struct muster_process *p)
{
    return p->outcome == MUSTER_FINISH ? p->result_len : p->kind == PROCESS_TASK ? p->len : 0;
}
