/* SPDX-License-Identifier: MIT
 *
 * A worker with jobs: what a handler sees of a job, and what becomes of the job by each end. The hands
 * that jobs get: test_worker_jobs_hands.c. Deaths: test_worker_jobs_lost.c. Due jobs: test_timer.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "jobs.h"
#include "live_worker.h"

#define HOUR_MS (3600 * 1000)

/* A worker whose handlers do what the test says. Its heartbeats are far away, so nothing waits for one. */
static struct live_worker *worker(struct scene *s, const char *id, muster_handler_fn *handler, void *arg)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = HOUR_MS, .queues = {{"q", 0}, {"next", 0}}, .handler = handler, .arg = arg});
}

static void begin(struct muster_process *p, struct live_worker *w)
{
    journal_process(w->journal, JOURNAL_START, 0, p);
}

/* ---- what a handler sees ---- */

static enum muster_outcome look_at_record(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    bool *good = w->spec.arg;
    size_t len;
    const struct muster_job *job = muster_process_job(p);
    const char *task = muster_process_task(p, &len);
    begin(p, w);
    *good = job && !strcmp(job->id, "a") && !strcmp(job->queue, "q") && job->state == MUSTER_JOB_RUNNING &&
            job->priority == -7 && job->retries == 3 && job->retried == 0 && job->limit_ms == 60000 && job->tracked &&
            job->backoff.delay_ms == 100 && !strcmp(job->worker, "w1") && !strcmp(job->process, muster_process_id(p)) &&
            job->data.len == 3 && job->data.data == task && len == 3 && !memcmp(task, "x\ny", 4) &&
            job->put_at_ms > 0 && job->n_after == 0 && job->n_history == 0 && job->result.data == NULL && !*job->group;
    return MUSTER_FINISH;
}

static void put_to_be_seen(struct scene *s)
{
    job_put(s, "q", "a", "data", "x\ny", "priority", "-7", "retries", "3", "limit", "60000", "tracked", "1", "backoff",
            "100");
}

/* Once handed over, and once taken. */
static void a_handler_sees_the_record_of_its_job(void **state)
{
    struct scene *s = *state;
    bool handed = false, taken = false;
    struct live_worker *w = worker(s, "w1", look_at_record, &handed);
    put_to_be_seen(s);
    job_await(s, "a", "state", "complete");
    assert_true(handed);
    live_worker_stop(s, w, 0);
    live_worker_free(s, w);
    put_to_be_seen(s);
    job_assert(s, "a", "state", "waiting");
    worker(s, "w1", look_at_record, &taken);
    job_await(s, "a", "state", "complete");
    assert_true(taken);
}

static enum muster_outcome look_for_no_job(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    bool *good = w->spec.arg;
    const char *after[] = {"b"};
    *good = !muster_process_job(p) && muster_process_set_next(p, "next", 0, after, 1) == MUSTER_E_STATE &&
            muster_process_set_data(p, "x", 1) == MUSTER_E_STATE;
    begin(p, w);
    return MUSTER_FINISH;
}

static void a_task_is_no_job(void **state)
{
    struct scene *s = *state;
    bool good = false;
    worker(s, "w1", look_for_no_job, &good);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_true(good);
}

static enum muster_outcome look_at_nothing(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    bool *good = w->spec.arg;
    size_t len = 1;
    const char *task = muster_process_task(p, &len);
    *good = task && !*task && len == 0;
    return MUSTER_FINISH;
}

static void a_job_without_data_is_a_task_without_bytes(void **state)
{
    struct scene *s = *state;
    bool good = false;
    worker(s, "w1", look_at_nothing, &good);
    job_put(s, "q", "a", "data", "");
    job_await(s, "a", "state", "complete");
    assert_true(good);
}

/* ---- ends ---- */

static enum muster_outcome finish_with_result(struct muster_process *p, void *arg)
{
    begin(p, arg);
    assert_ok(muster_process_set_result(p, "the result", 10));
    return MUSTER_FINISH;
}

static void a_result_is_kept_with_the_job(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", finish_with_result, NULL);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "result", "the result");
    scene_assert_quiet(s);
}

static enum muster_outcome go_on_to_next(struct muster_process *p, void *arg)
{
    const char *after[] = {"other", "none such"}, *bad[] = {"b\n"};
    begin(p, arg);
    if (strcmp(muster_process_queue(p), "next") == 0)
        return MUSTER_FINISH;
    assert_ok(muster_process_set_result(p, "r", 1));
    assert_ok(muster_process_set_next(p, "next", 0, after, 2));
    assert_err(muster_process_set_next(p, "a\n", 0, NULL, 0), MUSTER_E_INVALID);
    assert_err(muster_process_set_next(p, "x", -1, NULL, 0), MUSTER_E_INVALID);
    assert_err(muster_process_set_next(p, "x", MUSTER_JOB_MS_MAX + 1, NULL, 0), MUSTER_E_INVALID);
    assert_err(muster_process_set_next(p, "x", 0, bad, 1), MUSTER_E_INVALID);
    assert_err(muster_process_set_next(p, "x", 0, after, MUSTER_JOB_AFTER_MAX + 1), MUSTER_E_TOO_BIG);
    return MUSTER_FINISH;
}

/* Values that were set before a wrong call stay. */
static void a_job_goes_on_to_the_next_queue_after_other_jobs(void **state)
{
    struct scene *s = *state;
    job_put(s, "elsewhere", "other", NULL);
    worker(s, "w1", go_on_to_next, NULL);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "depends");
    job_assert(s, "a", "queue", "next");
    job_assert(s, "a", "result", "r");
    live_worker_new(s, &(struct worker_spec){.id = "w2", .ttl_ms = HOUR_MS, .queues = {{"elsewhere", 0}}});
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "queue", "next");
    assert_int_equal(scene_starts(s), 3);
    scene_assert_quiet(s);
}

static enum muster_outcome take_next_back(struct muster_process *p, void *arg)
{
    begin(p, arg);
    assert_ok(muster_process_set_next(p, "next", 0, NULL, 0));
    assert_ok(muster_process_set_next(p, NULL, 0, NULL, 0));
    return MUSTER_FINISH;
}

static void a_next_queue_can_be_taken_back(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", take_next_back, NULL);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    assert_int_equal(scene_starts(s), 1);
}

static enum muster_outcome retry_twice(struct muster_process *p, void *arg)
{
    const struct muster_job *job = muster_process_job(p);
    begin(p, arg);
    if (job->retried == 2)
        return strcmp(job->group, "why") == 0 ? MUSTER_FINISH : MUSTER_FAIL;
    assert_ok(muster_process_set_failure(p, "why", "because"));
    return MUSTER_RETRY;
}

/* By the timer: the next heartbeat is twenty minutes away. */
static void a_retry_waits_for_the_jobs_own_backoff(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", retry_twice, NULL);
    job_put(s, "q", "a", "backoff", "60", "backoff_kind", "exponential");
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "retried", "2");
    const struct journal_entry *first = journal_at(s->journal, 1), *second = journal_at(s->journal, 2),
                               *third = journal_at(s->journal, 3);
    assert_true(second->at_ms - first->at_ms >= 58);
    assert_true(third->at_ms - second->at_ms >= 118);
    assert_int_equal(scene_starts(s), 3);
}

static enum muster_outcome retry_at_once(struct muster_process *p, void *arg)
{
    begin(p, arg);
    assert_ok(muster_process_set_retry(p, 0));
    return MUSTER_RETRY;
}

/* A delay that is said takes the place of the backoff, also one of 0. */
static void a_job_that_had_all_its_retries_is_on_the_failed_list(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", retry_at_once, NULL);
    job_put(s, "q", "a", "retries", "2", "backoff", "3600000");
    job_await(s, "a", "state", "failed");
    job_assert(s, "a", "group", "failed-retries");
    job_assert(s, "a", "retried", "2");
    assert_int_equal(scene_starts(s), 3);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
}

static enum muster_outcome fail_it(struct muster_process *p, void *arg)
{
    begin(p, arg);
    assert_ok(muster_process_set_failure(p, "broken", "beyond repair"));
    return MUSTER_FAIL;
}

static void a_job_that_fails_has_no_retries(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", fail_it, NULL);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "failed");
    job_assert(s, "a", "group", "broken");
    job_assert(s, "a", "message", "beyond repair");
    assert_int_equal(scene_starts(s), 1);
}

/* ---- new data ---- */

static enum muster_outcome renew_data(struct muster_process *p, void *arg)
{
    begin(p, arg);
    if (muster_process_job(p)->retried > 0)
        return MUSTER_FINISH;
    assert_ok(muster_process_set_data(p, "newer", 5));
    assert_err(muster_process_set_data(p, "x", MUSTER_TASK_MAX_DEFAULT + 1), MUSTER_E_TOO_BIG);
    assert_string_equal(muster_process_task(p, NULL), "a");
    return MUSTER_RETRY;
}

static void new_data_are_what_the_next_taker_gets(void **state)
{
    struct scene *s = *state;
    worker(s, "w1", renew_data, NULL);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    scene_assert_started(s, 0, (const char *[]){"a", "newer", NULL});
}

/* The handlers of two threads, each of which says its data twice: the later ones count, and come before the end. */
static enum muster_outcome renew_on_a_thread(struct muster_process *p, void *arg)
{
    begin(p, arg);
    const struct muster_job *job = muster_process_job(p);
    if (job->retried > 0)
        return strcmp(muster_process_task(p, NULL), "second") == 0 ? MUSTER_FINISH : MUSTER_FAIL;
    if (muster_process_set_data(p, "first", 5) || muster_process_set_data(p, "second", 6) ||
        muster_process_progress(p, "half"))
        return MUSTER_FAIL;
    return MUSTER_RETRY;
}

static void handlers_on_threads_have_jobs_too(void **state)
{
    struct scene *s = *state;
    live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w1", .ttl_ms = HOUR_MS, .more = {.threads = 2}, .queues = {{"q", 0}}, .handler = renew_on_a_thread});
    char id[8];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", id, NULL);
    }
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_await(s, id, "state", "complete");
    }
    assert_int_equal(scene_starts(s), 40);
    scene_assert_quiet(s);
}

static void *end_elsewhere(void *arg)
{
    struct muster_process *p = arg;
    (void)muster_process_set_data(p, "by a third", 10);
    (void)muster_process_end(p, MUSTER_GIVE_BACK);
    return NULL;
}

struct third {
    pthread_t thread;
    int n;
};

static enum muster_outcome answer_later(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct third *third = w->spec.arg;
    begin(p, w);
    if (third->n++ > 0)
        return MUSTER_FINISH;
    pthread_create(&third->thread, NULL, end_elsewhere, p);
    return MUSTER_LATER;
}

static void a_job_can_be_ended_later_by_another_thread(void **state)
{
    struct scene *s = *state;
    struct third third = {.n = 0};
    worker(s, "w1", answer_later, &third);
    job_put(s, "q", "a", NULL);
    job_await(s, "a", "state", "complete");
    pthread_join(third.thread, NULL);
    scene_assert_started(s, 0, (const char *[]){"a", "by a third", NULL});
}

/* ---- limits ---- */

static void a_jobs_own_limit_takes_the_place_of_the_workers(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                              .ttl_ms = HOUR_MS,
                                              .hands = 2,
                                              .answer = MUSTER_LATER,
                                              .more = {.limit_ms = HOUR_MS},
                                              .queues = {{"q", 0}}});
    job_put(s, "q", "a", "limit", "50", "retries", "0");
    scene_enqueue(s, "q", "t");
    job_await(s, "a", "state", "failed");
    job_assert(s, "a", "group", "limit");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, NULL, NULL), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_handler_sees_the_record_of_its_job),
        live_test(a_task_is_no_job),
        live_test(a_job_without_data_is_a_task_without_bytes),
        live_test(a_result_is_kept_with_the_job),
        live_test(a_job_goes_on_to_the_next_queue_after_other_jobs),
        live_test(a_next_queue_can_be_taken_back),
        live_test(a_retry_waits_for_the_jobs_own_backoff),
        live_test(a_job_that_had_all_its_retries_is_on_the_failed_list),
        live_test(a_job_that_fails_has_no_retries),
        live_test(new_data_are_what_the_next_taker_gets),
        live_test(handlers_on_threads_have_jobs_too),
        live_test(a_job_can_be_ended_later_by_another_thread),
        live_test(a_jobs_own_limit_takes_the_place_of_the_workers),
    };
    return scene_run(tests, argc, argv);
}
