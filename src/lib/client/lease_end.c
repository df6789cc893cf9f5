/* SPDX-License-Identifier: MIT
 *
 * Ending a process by its id, and extending its lease. The process may be under a lease or a worker's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/job_say.h"
#include "protocol/job_valid.h"
#include "protocol/names.h"
#include "protocol/process_name.h"
#include "protocol/script_task.h"

/* ---- ends ---- */

static void say_lost(struct muster_client *c, const char *process, int err)
{
    if (err == MUSTER_E_LOST)
        redis_error_set(c->redis, "the process '%s' has ended, or its lease has lapsed, or there never was one",
                        process);
}

/* The process to end, and how the script is told whose it is: for its own command with a "+" before it. */
struct ending {
    struct process_name p;
    char holder[MUSTER_WORKER_ID_MAX + 2];
};

/* Is this program the command of the process, or was it started by it? */
static bool is_own_command(const char *process)
{
    const char *own = secure_getenv("MUSTER_PROCESS");
    return own && strcmp(own, process) == 0;
}

/* A script_end_*() must add the one end. */
static int begin_end(struct muster_client *c, struct command *command, const char *process, struct ending *e)
{
    const char *why = process_name_parse(&e->p, process);
    if (why)
        return client_refuse(c, why);
    snprintf(e->holder, sizeof e->holder, "%s%s", is_own_command(process) ? "+" : "", e->p.worker);
    script_end(command, &c->root, e->holder);
    return MUSTER_OK;
}

/* `mark` is what Redis keeps for a process that was cancelled, or whose queue was deleted. */
static void say_marked(struct muster_client *c, const char *process, const char *mark, const char *what,
                       const char *asked)
{
    const bool is_deleted = mark && *mark == 'd';
    redis_error_set(c->redis, "%s '%s' was %s: %s%s", is_deleted ? "the queue of the process" : "the process", process,
                    is_deleted ? "deleted" : "cancelled", what, asked);
}

/* `asked`: what the end does to a process without a mark. */
static int send_end(struct muster_client *c, struct command *command, const char *process, const char *asked)
{
    struct redisReply *reply;
    int err = client_run(c, command, &reply);
    say_lost(c, process, err);
    if (err == MUSTER_E_CANCELLED)
        say_marked(c, process, reply_text(reply_at(reply, 1)), "its task is gone, not ", asked);
    redis_reply_free(reply);
    return err;
}

static int end_plainly(struct muster_client *c, const char *process, const char *kind, const char *asked)
{
    struct command command = COMMAND_EMPTY;
    struct ending e;
    int err = begin_end(c, &command, process, &e);
    if (err != MUSTER_OK)
        return err;
    script_end_group(&command, kind, e.p.queue, 1);
    command_text(&command, e.p.token);
    return send_end(c, &command, process, asked);
}

static int end_with_result(struct muster_client *c, const char *process, struct muster_bytes result)
{
    struct command command = COMMAND_EMPTY;
    struct ending e;
    int err = begin_end(c, &command, process, &e);
    if (err != MUSTER_OK)
        return err;
    script_end_result(&command, e.p.queue, e.p.token, result);
    return send_end(c, &command, process, "finished");
}

/* ---- into a next queue ---- */

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

/* `other`: the job that the script has named, or NULL. */
static void say_not_advanced(struct muster_client *c, int err, const char *process, const char *other)
{
    if (err == MUSTER_E_STATE)
        redis_error_set(c->redis, "the process '%s' is a plain task's, which has no next queue; nothing was changed",
                        process);
    if (err == MUSTER_E_INVALID)
        redis_error_set(c->redis,
                        "the job of the process '%s' cannot wait for '%s', which is itself, waits for it, or recurs; "
                        "nothing was changed",
                        process, other ? other : "");
    if (err == MUSTER_E_TOO_BIG)
        job_say_obstacle(c, err, other ? other : process, NULL);
}

static int end_into_next(struct muster_client *c, const char *process, const struct muster_finish_options *o)
{
    struct command command = COMMAND_EMPTY;
    struct ending e;
    int err = begin_end(c, &command, process, &e);
    char *after = err == MUSTER_OK ? names_join(o->after, o->n_after) : NULL;
    if (err == MUSTER_OK && !after)
        err = MUSTER_E_NOMEM;
    if (err == MUSTER_OK) {
        const int64_t delay_ms = o->delay_ms == MUSTER_ZERO ? 0 : o->delay_ms;
        struct redisReply *reply;
        script_end_next(&command, e.p.queue, e.p.token, &(struct script_next){o->result, o->next, delay_ms, after});
        err = client_run(c, &command, &reply);
        say_lost(c, process, err);
        say_not_advanced(c, err, process, reply_text(reply_at(reply, 1)));
        if (err == MUSTER_E_CANCELLED)
            say_marked(c, process, reply_text(reply_at(reply, 1)), "its job is gone, not ", "in its next queue");
        redis_reply_free(reply);
    }
    command_clear(&command);
    free(after);
    return err;
}

int muster_lease_finish(struct muster_client *c, const char *process, const struct muster_finish_options *options)
{
    struct muster_finish_options o;
    const char *why = NULL;
    int err = client_read(c, SIZED_FINISH_OPTIONS, &o, options);
    if (err == MUSTER_OK && o.result)
        err = client_check_task(c, o.result); /* its limit is that of a task */
    if (err == MUSTER_OK)
        err = client_answer(c, check_next(&o, &why), &why);
    if (err != MUSTER_OK)
        return err;
    if (o.next)
        return end_into_next(c, process, &o);
    return o.result ? end_with_result(c, process, *o.result) : end_plainly(c, process, "finish", "finished");
}

int muster_lease_give_back(struct muster_client *c, const char *process)
{
    return end_plainly(c, process, "back", "given back");
}

static int check_failure(struct muster_client *c, const char *group, const char *message)
{
    const char *why;
    int err = names_check_failure(group, message, &why);
    if (err != MUSTER_OK)
        redis_error_set(c->redis, "%s", why);
    return err;
}

int muster_lease_retry_as(struct muster_client *c, const char *process, int64_t delay_ms, const char *group,
                          const char *message)
{
    struct command command = COMMAND_EMPTY;
    struct ending e;
    if (delay_ms < -1)
        return client_refuse(c,
                             "a retry's delay must not be negative, except -1: at once, or by the job's own backoff");
    if (message && !group)
        group = RETRY_GROUP_DEFAULT;
    int err = check_failure(c, group, message);
    if (err == MUSTER_OK)
        err = begin_end(c, &command, process, &e);
    if (err != MUSTER_OK)
        return err;
    script_end_retry(&command, e.p.queue, e.p.token, delay_ms, group, message);
    err = send_end(c, &command, process, "retried");
    if (err == MUSTER_E_STATE)
        redis_error_set(c->redis,
                        "the process '%s' is a plain task's, which keeps no group and message of a retry; nothing was "
                        "changed",
                        process);
    return err;
}

int muster_lease_retry(struct muster_client *c, const char *process, int64_t delay_ms)
{
    return muster_lease_retry_as(c, process, delay_ms, NULL, NULL);
}

int muster_lease_fail(struct muster_client *c, const char *process, const char *group, const char *message)
{
    struct command command = COMMAND_EMPTY;
    struct ending e;
    int err = check_failure(c, group, message);
    if (err != MUSTER_OK)
        return err;
    err = begin_end(c, &command, process, &e);
    if (err != MUSTER_OK)
        return err;
    script_end_fail(&command, e.p.queue, e.p.token, group ? group : FAILURE_GROUP_DEFAULT, message ? message : "");
    return send_end(c, &command, process, "failed");
}

/* ---- extending ---- */

static int check_extend(struct muster_client *c, const struct muster_extend_options *o)
{
    if (o->lease_ms < 0 || o->lease_ms > MUSTER_LEASE_MAX_MS)
        return client_refuse(c, "a lease must be 1 ms to 30 days long");
    if (o->progress && strlen(o->progress) > MUSTER_PROGRESS_MAX) {
        redis_error_set(c->redis, "a note has at most %d bytes", MUSTER_PROGRESS_MAX);
        return MUSTER_E_TOO_BIG;
    }
    return o->data ? client_check_task(c, o->data) : MUSTER_OK;
}

/* `why` is the script's: a mark, or one of its letters. */
static void say_state(struct muster_client *c, const char *process, const char *why)
{
    switch (why ? *why : '\0') {
    case 'l':
        redis_error_set(c->redis, "the process '%s' is a worker's, which has no lease; nothing was changed", process);
        break;
    case 't':
        redis_error_set(
            c->redis, "the process '%s' is a plain task's, which has no data to change; nothing was changed", process);
        break;
    case 'r':
        redis_error_set(c->redis, "the job of the process '%s' has no record to change; nothing was changed", process);
        break;
    default:
        say_marked(c, process, why, "finish it, or give it back, which drops it", "; nothing was changed");
    }
}

int muster_lease_extend(struct muster_client *c, const char *process, const struct muster_extend_options *options)
{
    struct muster_extend_options o = {0};
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply;
    struct process_name p;
    const char *why = sized_read(SIZED_EXTEND_OPTIONS, &o, options);
    if (!why)
        why = process_name_parse(&p, process);
    int err = why ? client_refuse(c, why) : check_extend(c, &o);
    if (err != MUSTER_OK)
        return err;
    script_extend(&command, &c->root, p.worker, p.token, p.queue, o.lease_ms, o.progress, o.data);
    err = client_run(c, &command, &reply);
    say_lost(c, process, err);
    if (err == MUSTER_E_STATE)
        say_state(c, process, reply_text(reply_at(reply, 1)));
    redis_reply_free(reply);
    return err;
}
