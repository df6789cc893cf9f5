/* SPDX-License-Identifier: MIT
 *
 * Control: cancel a task or a process; pause, resume and delete a queue. The scripts say what each means. Here
 * arguments are checked, and refusals get their words.
 */
#include <muster/job.h>
#include <string.h>

#include "client/client.h"
#include "protocol/process_name.h"
#include "protocol/script_queue.h"
#include "protocol/script_task.h"

/* Many delayed tasks are looked through in steps, one call each. */
static int cancel(struct muster_client *c, const char *queue, const char *holder, struct muster_bytes what,
                  uint64_t counts[2])
{
    char cursor[SCRIPT_CURSOR_SIZE] = "0", before[SCRIPT_CURSOR_SIZE];
    int err;
    do {
        struct command command = COMMAND_EMPTY;
        struct redisReply *reply;
        uint64_t removed = 0, running = 0;
        memcpy(before, cursor, sizeof before);
        script_cancel(&command, &c->root, queue, holder, what, cursor);
        err = client_run(c, &command, &reply);
        if (err == MUSTER_OK)
            err = client_understand(c, script_cancel_done(reply, &removed, &running, cursor));
        redis_reply_free(reply);
        counts[0] += removed;
        counts[1] += running;
        if (err == MUSTER_OK && strcmp(cursor, "0") != 0 && strcmp(cursor, before) == 0)
            err = client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
    } while (err == MUSTER_OK && strcmp(cursor, "0") != 0);
    return err;
}

static void give_counts(const uint64_t counts[2], uint64_t *removed, uint64_t *running)
{
    if (removed)
        *removed = counts[0];
    if (running)
        *running = counts[1];
}

int muster_task_cancel(struct muster_client *c, const char *queue, const void *task, size_t len, uint64_t *removed,
                       uint64_t *running)
{
    const struct muster_bytes what = {task, len};
    uint64_t counts[2] = {0};
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = client_check_task(c, &what);
    if (err == MUSTER_OK)
        err = cancel(c, queue, NULL, what, counts);
    give_counts(counts, removed, running);
    return err;
}

int muster_process_cancel(struct muster_client *c, const char *process)
{
    struct process_name p;
    uint64_t counts[2] = {0};
    const char *why = process_name_parse(&p, process);
    if (why)
        return client_refuse(c, why);
    int err = cancel(c, p.queue, p.worker, (struct muster_bytes){p.token, TOKEN_LEN}, counts);
    if (err == MUSTER_E_LOST)
        redis_error_set(c->redis, "there is no process '%s' (any more); nothing was cancelled", process);
    return err;
}

/* ---- queues ---- */

static int call_queue(struct muster_client *c, enum script_id id, const char *queue, struct redisReply **reply)
{
    struct command command = COMMAND_EMPTY;
    script_queue_call(&command, id, &c->root, queue);
    return client_run(c, &command, reply);
}

/* A pause may be the first thing that is written to a namespace. */
int muster_queue_pause(struct muster_client *c, const char *queue)
{
    struct redisReply *reply = NULL;
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = redis_claim_format(c->redis);
    if (err == MUSTER_OK)
        err = call_queue(c, SCRIPT_PAUSE, queue, &reply);
    redis_reply_free(reply);
    return err;
}

int muster_queue_resume(struct muster_client *c, const char *queue)
{
    struct redisReply *reply = NULL;
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = call_queue(c, SCRIPT_RESUME, queue, &reply);
    redis_reply_free(reply);
    return err;
}

/* A step that leaves jobs has deleted more than this. Others may put jobs meanwhile, but not that many in each step. */
#define STEP_JOBS 100
#define STEPS_SPARE 100

static int count_jobs(struct muster_client *c, const char *queue, uint64_t *jobs)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT] = {0};
    int err = muster_job_counts(c, queue, counts);
    *jobs = 0;
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++)
        *jobs += counts[i];
    return err;
}

/* The jobs are counted again only for one who is told. `jobs`: after the first step. */
static int tell_deletion(struct muster_client *c, const char *queue, uint64_t jobs)
{
    uint64_t left;
    if (!c->progress.fn)
        return MUSTER_OK;
    int err = count_jobs(c, queue, &left);
    return err == MUSTER_OK ? client_step(c, left < jobs ? jobs - left : 0, jobs) : err;
}

static int delete_step(struct muster_client *c, const char *queue, uint64_t sums[2], bool *is_more)
{
    struct redisReply *reply;
    uint64_t counts[2] = {0};
    int err = call_queue(c, SCRIPT_DELETE, queue, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_cancelled(reply, &counts[0], &counts[1], is_more));
    redis_reply_free(reply);
    sums[0] += counts[0];
    sums[1] += counts[1];
    return err;
}

/* Its jobs go in bounded steps, one call each. The last step is the deletion. */
int muster_queue_delete(struct muster_client *c, const char *queue, uint64_t *removed, uint64_t *running)
{
    uint64_t sums[2] = {0}, jobs = 0, left;
    bool is_more = false;
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = delete_step(c, queue, sums, &is_more);
    if (err == MUSTER_OK && is_more)
        err = count_jobs(c, queue, &jobs);
    for (left = jobs / STEP_JOBS + STEPS_SPARE; err == MUSTER_OK && is_more && left > 0; left--) {
        err = tell_deletion(c, queue, jobs);
        if (err == MUSTER_OK)
            err = delete_step(c, queue, sums, &is_more);
    }
    if (err == MUSTER_OK && is_more) {
        redis_error_set(c->redis,
                        "the queue '%s' is not empty after as many steps as it had jobs for: "
                        "something puts jobs faster than they are deleted",
                        queue);
        err = MUSTER_E_STATE;
    }
    give_counts(sums, removed, running);
    return err;
}
