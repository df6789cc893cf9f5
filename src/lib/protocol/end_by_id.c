/* SPDX-License-Identifier: MIT
 *
 * Ends and extensions of processes, for callers that know their ids.
 */
#include "protocol/end_by_id.h"

#include <muster/job.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "protocol/job_valid.h"
#include "protocol/names.h"
#include "protocol/script_task.h"

/* ---- what is allowed ---- */

/* Is this program the command of the process, or was it started by it? */
static bool is_own_command(const char *process)
{
    const char *own = secure_getenv("MUSTER_PROCESS");
    return own && strcmp(own, process) == 0;
}

const char *end_by_id_parse(struct end_by_id *out, const char *process)
{
    const char *why = process_name_parse(&out->name, process);
    if (!why)
        snprintf(out->holder, sizeof out->holder, "%s%s", is_own_command(process) ? "+" : "", out->name.worker);
    return why;
}

static int check_next(const struct muster_finish_options *o, const char **why)
{
    *why = o->next ? muster_queue_check(o->next) : NULL;
    if (!o->next && (o->delay_ms != 0 || o->n_after > 0))
        *why = "a delay and jobs to wait for are for a job's next queue: name a next queue";
    if (!o->next || *why)
        return *why ? MUSTER_E_INVALID : MUSTER_OK;
    int err = job_valid_number("a job's delay", o->delay_ms, 0, MUSTER_JOB_MS_MAX, why);
    return err == MUSTER_OK ? job_valid_after(o->after, o->n_after, why) : err;
}

int end_by_id_check_finish(const struct muster_finish_options *o, size_t max_task_len, const char **why)
{
    int err = o->result ? names_check_task(o->result, max_task_len, why) : MUSTER_OK; /* its limit is that of a task */
    return err == MUSTER_OK ? check_next(o, why) : err;
}

int end_by_id_check_retry(int64_t delay_ms, const char *group, const char *message, const char **why)
{
    if (delay_ms >= -1)
        return names_check_failure(group, message, why);
    *why = "a retry's delay must not be negative, except -1: at once, or by the job's own backoff";
    return MUSTER_E_INVALID;
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

void end_by_id_plainly(struct command *c, const struct script_root *root, const struct end_by_id *e, const char *kind)
{
    script_end(c, root, e->holder);
    script_end_group(c, kind, e->name.queue, 1);
    command_text(c, e->name.token);
}

void end_by_id_finish(struct command *c, const struct script_root *root, const struct end_by_id *e,
                      const struct muster_finish_options *o, const char *after)
{
    const int64_t delay_ms = o->delay_ms == MUSTER_ZERO ? 0 : o->delay_ms;
    if (!o->next && !o->result) {
        end_by_id_plainly(c, root, e, "finish");
        return;
    }
    script_end(c, root, e->holder);
    if (o->next)
        script_end_next(c, e->name.queue, e->name.token, &(struct script_next){o->result, o->next, delay_ms, after});
    else
        script_end_result(c, e->name.queue, e->name.token, *o->result);
}

void end_by_id_retry(struct command *c, const struct script_root *root, const struct end_by_id *e, int64_t delay_ms,
                     const char *group, const char *message)
{
    script_end(c, root, e->holder);
    script_end_retry(c, e->name.queue, e->name.token, delay_ms, message && !group ? RETRY_GROUP_DEFAULT : group,
                     message);
}

void end_by_id_fail(struct command *c, const struct script_root *root, const struct end_by_id *e, const char *group,
                    const char *message)
{
    script_end(c, root, e->holder);
    script_end_fail(c, e->name.queue, e->name.token, group ? group : FAILURE_GROUP_DEFAULT, message ? message : "");
}

void end_by_id_extend(struct command *c, const struct script_root *root, const struct end_by_id *e,
                      const struct muster_extend_options *o)
{
    script_extend(c, root, e->name.worker, e->name.token, e->name.queue, o->lease_ms, o->progress, o->data);
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

const char *end_by_id_words(enum end_by_id_kind kind, int err, const char *process, const struct redisReply *reply)
{
    const char *more = reply_text(reply_at(reply, 1));
    if (err == MUSTER_E_LOST)
        return words_say("the process '%s' has ended, or its lease has lapsed, or there never was one", process);
    if (err == MUSTER_E_CANCELLED)
        return say_marked(kind, process, more);
    if (err == MUSTER_E_STATE)
        return say_state(kind, process, more);
    return kind == END_BY_ID_NEXT && (err == MUSTER_E_INVALID || err == MUSTER_E_TOO_BIG)
               ? say_not_advanced(err, process, more)
               : NULL;
}
