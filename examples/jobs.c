/* SPDX-License-Identifier: MIT
 *
 * Jobs that depend on one another: an order is paid and packed, in any order, and then shipped. The bank never answers
 * the first time, so the payment is retried after its own backoff. Once the order is shipped, its record is printed.
 *
 *     jobs QUEUE ORDER
 *
 * The ids of the jobs are made from the order's id. So if an order is put twice, for example after a crash, it is not
 * begun again, and this program works on. MUSTER_URL says where Redis is; without it, Redis is on 127.0.0.1:6379.
 */
#include <muster/job.h>
#include <muster/worker.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_SIZE (MUSTER_JOB_ID_MAX + 1)

static int put(struct muster_client *client, const char *queue, const char *id, const char *step,
               const char *const *after, size_t n_after)
{
    const struct muster_backoff backoff = {.delay_ms = 50, .max_ms = 60000, .exponential = 1, .jitter_percent = 20};
    const struct muster_job_spec spec = {
        .size = sizeof spec,
        .id = id,
        .data = {step, strlen(step)},
        .after = after,
        .n_after = n_after,
        .backoff = &backoff,
    };
    int err = muster_job_put(client, queue, &spec, NULL);
    return err == MUSTER_E_EXISTS ? MUSTER_OK : err;
}

/* No job waits for one that does not exist, so the jobs that come first are put first. */
static int put_order(struct muster_client *client, const char *queue, const char *order, char ship[ID_SIZE])
{
    char pay[ID_SIZE], pack[ID_SIZE];
    const char *const before_ship[] = {pay, pack};

    snprintf(pay, sizeof pay, "%s-pay", order);
    snprintf(pack, sizeof pack, "%s-pack", order);
    snprintf(ship, ID_SIZE, "%s-ship", order);
    int err = put(client, queue, pay, "pay", NULL, 0);
    if (err == MUSTER_OK)
        err = put(client, queue, pack, "pack", NULL, 0);
    return err == MUSTER_OK ? put(client, queue, ship, "ship", before_ship, 2) : err;
}

static enum muster_outcome work(struct muster_process *p, void *arg)
{
    const struct muster_job *job = muster_process_job(p);
    const char *step = muster_process_task(p, NULL), *last = arg;

    if (!job) {
        muster_process_set_failure(p, "no-job", "a plain task, not a step of an order");
        return MUSTER_FAIL;
    }
    bool is_retried = strcmp(step, "pay") == 0 && job->retried == 0;
    printf("%s, attempt %d: %s\n", job->id, job->retried + 1, is_retried ? "no answer from the bank" : "done");
    if (is_retried) {
        muster_process_set_failure(p, "bank", "no answer");
        return MUSTER_RETRY;
    }
    if (strcmp(job->id, last) == 0) {
        muster_process_set_result(p, "on its way", strlen("on its way"));
        muster_worker_stop(muster_process_worker(p), -1);
    }
    return MUSTER_FINISH;
}

static int work_off(const char *queue, char *last)
{
    struct muster_worker *worker;
    int err = muster_worker_new(&worker, NULL);
    if (err == MUSTER_OK)
        err = muster_worker_start(worker);
    if (err == MUSTER_OK)
        err = muster_worker_serve(worker, queue, 0, work, last);
    if (err == MUSTER_OK)
        err = muster_worker_run(worker);
    muster_worker_free(worker);
    return err;
}

static int show(const struct muster_job *job, void *arg)
{
    (void)arg;
    printf("%s is %s: %.*s\n", job->id, muster_job_state_name(job->state), (int)job->result.len,
           (const char *)job->result.data);
    for (size_t i = 0; i < job->n_history; i++)
        printf("  %" PRId64 " ms: %s\n", job->history[i].at_ms - job->put_at_ms, job->history[i].what);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || strlen(argv[2]) > MUSTER_JOB_ID_MAX - strlen("-pack")) {
        fprintf(stderr, "usage: jobs QUEUE ORDER\n");
        return 2;
    }
    struct muster_client *client;
    char ship[ID_SIZE];
    int err = muster_client_new(&client, NULL);
    if (err == MUSTER_OK)
        err = put_order(client, argv[1], argv[2], ship);
    if (err == MUSTER_OK)
        err = work_off(argv[1], ship);
    const char *const ids[] = {ship};
    if (err == MUSTER_OK)
        err = muster_job_get(client, ids, 1, show, NULL);
    if (err != MUSTER_OK)
        fprintf(stderr, "jobs: %s: %s\n", muster_err_name(err), muster_err_text(err));
    muster_client_free(client);
    return err == MUSTER_OK ? 0 : 1;
}
