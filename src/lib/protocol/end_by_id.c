/* SPDX-License-Identifier: MIT
 *
 * Ends and extensions of processes, for callers that know their ids.
 */
#include "protocol/end_by_id.h"

#include <muster/job.h>
#include <muster/worker.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "protocol/job_valid.h"
#include "protocol/names.h"
#include "protocol/script_task.h"

enum end_by_id_kind end_by_id_kind(const struct muster_lease_end *e)
{
    static const enum end_by_id_kind kinds[] = {[MUSTER_FINISH] = END_BY_ID_FINISH,
                                                [MUSTER_GIVE_BACK] = END_BY_ID_BACK,
                                                [MUSTER_RETRY] = END_BY_ID_RETRY,
                                                [MUSTER_FAIL] = END_BY_ID_FAIL};
    return e->next ? END_BY_ID_NEXT : kinds[e->outcome];
}

struct muster_lease_end end_by_id_finish(const char *process, const struct muster_finish_options *o)
{
    return (struct muster_lease_end){.process = process,
                                     .outcome = MUSTER_FINISH,
                                     .result = o->result,
                                     .next = o->next,
                                     .delay_ms = o->delay_ms,
                                     .after = o->after,
                                     .n_after = o->n_after};
}

/* ---- what is allowed ---- */

static int check_next(const struct muster_lease_end *e, const char **why)
{
    *why = e->next ? muster_queue_check(e->next) : NULL;
    if (!e->next && (e->n_after > 0 || (e->outcome == MUSTER_FINISH && e->delay_ms != 0)))
        *why = "a delay and jobs to wait for are for a job's next queue: name a next queue";
    if (!e->next || *why)
        return *why ? MUSTER_E_INVALID : MUSTER_OK;
    int err = job_valid_number("a job's delay", e->delay_ms, 0, MUSTER_JOB_MS_MAX, why);
    return err == MUSTER_OK ? job_valid_after(e->after, e->n_after, why) : err;
}

/* What a field means is nothing for another outcome, so it is not passed over. NULL: all of them have an effect. */
static const char *find_idle_field(const struct muster_lease_end *e)
{
    const bool finishes = e->outcome == MUSTER_FINISH;
    if ((e->result || e->next || e->after || e->n_after > 0) && !finishes)
        return "a result and a next queue are for a finish";
    if ((e->group || e->message) && e->outcome != MUSTER_RETRY && e->outcome != MUSTER_FAIL)
        return "a group and a message are for a retry and a failure";
    if (e->delay_ms != 0 && e->outcome != MUSTER_RETRY && !finishes)
        return "a delay is for a retry, and for a finish into a next queue";
    if (e->outcome == MUSTER_RETRY && e->delay_ms < -1)
        return "a retry's delay must not be negative, except -1: at once, or by the job's own backoff";
    if (e->delay_ms > SPAN_MAX_MS)
        return "a delay is too long to count";
    return NULL;
}

static int check_fields(const struct muster_lease_end *e, size_t max_task_len, const char **why)
{
    if (e->outcome < MUSTER_FINISH || e->outcome >= MUSTER_LATER)
        *why = words_say("there is no outcome %d to end a process with", e->outcome);
    else
        *why = find_idle_field(e);
    if (*why)
        return MUSTER_E_INVALID;
    int err = e->result ? names_check_task(e->result, max_task_len, why) : MUSTER_OK; /* its limit is that of a task */
    if (err == MUSTER_OK)
        err = check_next(e, why);
    if (err == MUSTER_OK && (e->group || e->message))
        err = names_check_failure(e->group, e->message, why);
    return err;
}

/* Is this program the command of the process, or was it started by it? */
static bool is_own_command(const char *process)
{
    const char *own = secure_getenv("MUSTER_PROCESS");
    return own && strcmp(own, process) == 0;
}

int end_by_id_check(struct end_by_id *named, const struct muster_lease_end *e, size_t max_task_len, const char **why)
{
    named->after = NULL;
    int err = check_fields(e, max_task_len, why);
    if (err != MUSTER_OK)
        return err;
    *why = process_name_parse(&named->name, e->process);
    if (*why)
        return MUSTER_E_INVALID;
    snprintf(named->holder, sizeof named->holder, "%s%s", is_own_command(e->process) ? "+" : "", named->name.worker);
    if (!e->next || (named->after = names_join(e->after, e->n_after)))
        return MUSTER_OK;
    *why = "out of memory";
    return MUSTER_E_NOMEM;
}

void end_by_id_clear(struct end_by_id *named)
{
    free(named->after);
    named->after = NULL;
}

int end_by_id_check_extend(const struct muster_extend_options *o, size_t max_task_len, const char **why)
{
    if (o->lease_ms < 0 || o->lease_ms > MUSTER_LEASE_MAX_MS) {
        *why = "a lease must be 1 ms to 30 days long";
        return MUSTER_E_INVALID;
    }
    if (o->progress && strlen(o->progress) > MUSTER_PROGRESS_MAX) {
        *why = words_say("a note has at most %d bytes", MUSTER_PROGRESS_MAX);
        return MUSTER_E_TOO_BIG;
    }
    return o->data ? names_check_task(o->data, max_task_len, why) : MUSTER_OK;
}

/* ---- what is said ---- */

static void say_plainly(struct command *c, const struct process_name *p, const char *kind)
{
    script_end_group(c, kind, p->queue, 1);
    command_text(c, p->token);
}

void end_by_id_say(struct command *c, const struct end_by_id *named, const struct muster_lease_end *e)
{
    const struct process_name *p = &named->name;
    const int64_t delay_ms = e->delay_ms == MUSTER_ZERO ? 0 : e->delay_ms;
    if (e->next)
        script_end_next(c, p->queue, p->token, &(struct script_next){e->result, e->next, delay_ms, named->after});
    else if (e->result)
        script_end_result(c, p->queue, p->token, *e->result);
    else if (e->outcome == MUSTER_RETRY)
        script_end_retry(c, p->queue, p->token, e->delay_ms, e->message && !e->group ? RETRY_GROUP_DEFAULT : e->group,
                         e->message);
    else if (e->outcome == MUSTER_FAIL)
        script_end_fail(c, p->queue, p->token, e->group ? e->group : FAILURE_GROUP_DEFAULT,
                        e->message ? e->message : "");
    else
        say_plainly(c, p, e->outcome == MUSTER_FINISH ? "finish" : "back");
}

/* ---- refusals ---- */

/* What the end would have done to its task or job, had it not been cancelled. */
static const char *const asked[] = {[END_BY_ID_FINISH] = "its task is gone, not finished",
                                    [END_BY_ID_NEXT] = "its job is gone, not in its next queue",
                                    [END_BY_ID_BACK] = "its task is gone, not given back",
                                    [END_BY_ID_RETRY] = "its task is gone, not retried",
                                    [END_BY_ID_FAIL] = "its task is gone, not failed",
                                    [END_BY_ID_EXTEND] =
                                        "finish it, or give it back, which drops it; nothing was changed"};

/* `mark` is what Redis keeps for a process that was cancelled, or whose queue was deleted. */
static const char *say_marked(enum end_by_id_kind kind, const char *process, const char *mark)
{
    const bool is_deleted = mark && *mark == 'd';
    return words_say("%s '%s' was %s: %s", is_deleted ? "the queue of the process" : "the process", process,
                     is_deleted ? "deleted" : "cancelled", asked[kind]);
}

/* `why` is the script's: a mark, or one of its letters. */
static const char *say_not_extended(const char *process, const char *why)
{
    switch (why ? *why : '\0') {
    case 'l':
        return words_say("the process '%s' is a worker's, which has no lease; nothing was changed", process);
    case 't':
        return words_say("the process '%s' is a plain task's, which has no data to change; nothing was changed",
                         process);
    case 'j':
        return words_say("the process '%s' was cancelled, and its job is gone: no end of it counts, so stop, and give "
                         "it back, which drops it; nothing was changed",
                         process);
    case 'r':
        return words_say("the job of the process '%s' has no record to change; nothing was changed", process);
    default:
        return say_marked(END_BY_ID_EXTEND, process, why);
    }
}

static const char *say_state(enum end_by_id_kind kind, const char *process, const char *why)
{
    if (kind == END_BY_ID_EXTEND)
        return say_not_extended(process, why);
    return words_say("the process '%s' is a plain task's, which %s; nothing was changed", process,
                     kind == END_BY_ID_RETRY ? "keeps no group and message of a retry" : "has no next queue");
}

/* `other` is the job that the script has named, or NULL. */
static const char *say_not_advanced(int err, const char *process, const char *other)
{
    if (err == MUSTER_E_INVALID)
        return words_say("the job of the process '%s' cannot wait for '%s', which is itself, waits for it, or recurs; "
                         "nothing was changed",
                         process, other ? other : "");
    return words_say("too many jobs are tied to the job '%s' by what they wait for: nobody can see in time whether it "
                     "would wait for itself; nothing was changed",
                     other ? other : process);
}

const char *end_by_id_words(enum end_by_id_kind kind, int err, const char *process, const char *word)
{
    if (err == MUSTER_E_LOST)
        return words_say("the process '%s' has ended, or its lease has lapsed, or there never was one", process);
    if (err == MUSTER_E_CANCELLED)
        return say_marked(kind, process, word);
    if (err == MUSTER_E_EXHAUSTED)
        return words_say("the job of the process '%s' has had all its retries: it has failed for good, not retried",
                         process);
    if (err == MUSTER_E_STATE)
        return say_state(kind, process, word);
    return kind == END_BY_ID_NEXT && (err == MUSTER_E_INVALID || err == MUSTER_E_TOO_BIG)
               ? say_not_advanced(err, process, word)
               : NULL;
}
