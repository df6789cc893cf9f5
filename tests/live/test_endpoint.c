/* SPDX-License-Identifier: MIT
 *
 * An endpoint leads to another server from one moment on, while the connections that there are stay. Workers, listeners
 * and readers do not stay at the old one, whatever they hear of it, and in whatever order.
 */
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "endpoint_scene.h"
#include "hearing.h"
#include "live_worker.h"
#include "slow.h"
#include "taken.h"

#define TASKS 20
#define TTL_MS slow_ms(1500)
#define LONG_TTL_MS 3600000

/* ---- a worker ---- */

static void a_worker_follows(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .url = endpoint.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    endpoint_fail_over(s, turn, after);
    wait_on(s->base, endpoint_hears_at_the_new_one, NULL, SOON_MS);
    for (int i = 0; i < TASKS; i++)
        scene_enqueue(s, "q", "t");
    scene_await_starts(s, TASKS);
    raw_await(endpoint.new.redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(scene_starts(s), TASKS);
    live_worker_stop(s, w, 0);
}

/* It is idle at the old master, where it hears what the new one tries to hand to it; no heartbeat comes in this time. */
static void enqueued_at_once_it_runs_once(struct scene *s, void (*enqueue)(struct scene *s))
{
    live_worker_idle(
        s, &(struct worker_spec){.id = "w", .url = endpoint.url, .ttl_ms = LONG_TTL_MS, .queues = {{"q", 0}}});
    endpoint_fail_over(s, PLAIN, FOLLOWS);
    enqueue(s);
    wait_on(s->base, endpoint_hears_at_the_new_one, NULL, SOON_MS);
    scene_await_starts(s, 1);
    scene_await_waiting(s, "q", 0);
    raw_await(endpoint.new.redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(scene_starts(s), 1);
}

static void enqueue_task(struct scene *s)
{
    scene_enqueue(s, "q", "t");
}

static void enqueue_large(struct scene *s)
{
    static char task[100000];
    memset(task, 't', sizeof task);
    assert_ok(muster_task_enqueue(s->client, "q", task, sizeof task, NULL));
}

static void put_job(struct scene *s)
{
    char id[MUSTER_JOB_ID_MAX + 1];
    assert_ok(muster_job_put(s->client, "q", &(struct muster_job_spec){.size = sizeof(struct muster_job_spec)}, id));
}

static void a_task_right_behind_a_failover_runs_once(void **state)
{
    enqueued_at_once_it_runs_once(*state, enqueue_task);
}

static void a_large_task_right_behind_a_failover_runs_once(void **state)
{
    enqueued_at_once_it_runs_once(*state, enqueue_large);
}

static void a_job_right_behind_a_failover_runs_once(void **state)
{
    enqueued_at_once_it_runs_once(*state, put_job);
}

/* ---- a listener ---- */

static void finish(struct scene *s, const char *task)
{
    scene_enqueue(s, "q", task);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", task), NULL));
}

static void a_listener_follows(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct hearing h;
    hearing_open(&h, s, endpoint.url, ENDPOINT_TIMEOUT_MS, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    endpoint_fail_over(s, turn, after);
    wait_on(s->base, endpoint_hears_at_the_new_one, NULL, SOON_MS);
    hearing_await(&h, "ready q", 2);
    assert_true(hearing_count(&h, "gap q E_BUSY") + hearing_count(&h, "gap q E_CONN") > 0);
    finish(s, "a");
    hearing_await(&h, "done q .lease a", 1);
    hearing_close(&h);
}

struct told {
    struct scene *scene;
    int64_t until_ms; /* of a queue, and of jobs, the sooner one */
};

static int64_t told_until_ms(const struct scene *s)
{
    const int64_t queue = raw_int(endpoint.old.redis, "HGET %s:queue:q listen", s->prefix);
    const int64_t jobs = raw_int(endpoint.old.redis, "HGET %s:config listen", s->prefix);
    return queue < jobs ? queue : jobs;
}

static bool is_told_anew(void *arg)
{
    const struct told *told = arg;
    return told_until_ms(told->scene) > told->until_ms;
}

static void open_both(struct hearing *h, struct scene *s)
{
    hearing_open(h, s, endpoint.url, ENDPOINT_TIMEOUT_MS, NULL);
    hearing_add(h, "q", MUSTER_LISTEN_DONE);
    hearing_add(h, "r", MUSTER_LISTEN_JOBS);
    hearing_await(h, "ready q", 1);
    hearing_await(h, "ready r", 1);
}

/* Its subscription breaks before its other connection, over which the old master is told once more that it listens. The new
 * one knows nothing of that. */
static void what_the_old_master_was_told_makes_no_listener_ready(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    if (endpoint.is_sentinel)
        return;
    open_both(&h, s);
    endpoint_fail_over(s, PLAIN, BESIDE_AN_EMPTY_ONE);
    proxy_refuse(&endpoint.proxy);
    proxy_cut(&endpoint.proxy, PROXY_SUBSCRIPTION);
    hearing_await(&h, "gap q E_CONN", 1);
    struct told told = {s, told_until_ms(s)};
    wait_until(is_told_anew, &told, SOON_MS);
    proxy_cut(&endpoint.proxy, PROXY_DATA);
    proxy_accept(&endpoint.proxy);
    hearing_await(&h, "ready q", 2);
    finish(s, "a");
    hearing_await(&h, "ready r", 2);
    assert_ok(muster_job_put(s->client, "r",
                             &(struct muster_job_spec){.size = sizeof(struct muster_job_spec), .id = "j"}, NULL));
    hearing_await(&h, "done q .lease a", 1);
    hearing_await(&h, "job r put j", 1);
    hearing_close(&h);
}

/* ---- who only reads ---- */

#define WAITING 7

struct reader {
    struct muster_client *client;
    struct answers as;
};

static bool reads_what_is_there(void *arg)
{
    const struct reader *r = arg;
    uint64_t waiting;
    assert_ok(muster_queue_length(r->client, "q", &waiting));
    return waiting == WAITING;
}

static bool is_answered_what_is_there(void *arg)
{
    struct reader *r = arg;
    assert_ok(muster_async_length(r->as.async, "q", answers_fn, NULL));
    answers_await(&r->as, r->as.n + 1);
    assert_ok(r->as.last.err);
    return r->as.last.waiting == WAITING;
}

/* Nobody refuses him. The old master has what it had, and answers. */
static void a_reader_sees_what_is_there(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    struct reader r = {.client = endpoint_client(s)};
    answers_open(&r.as, s, endpoint.url, ENDPOINT_TIMEOUT_MS, NULL);
    assert_false(reads_what_is_there(&r));
    assert_false(is_answered_what_is_there(&r));
    endpoint_fail_over(s, turn, after);
    scene_enqueue_n(s, "q", "t", WAITING);
    wait_on(s->base, reads_what_is_there, &r, SOON_MS);
    wait_on(s->base, is_answered_what_is_there, &r, SOON_MS);
    answers_close(&r.as);
    muster_client_free(r.client);
}

static void a_reader_leaves_a_demoted_master(void **state)
{
    a_reader_sees_what_is_there(*state, PLAIN, IS_CUT_OFF);
}

static void a_reader_that_was_cut_off_is_at_the_new_one(void **state)
{
    a_reader_sees_what_is_there(*state, CUT, IS_CUT_OFF);
}

/* The name leads to the old master for a while after it was demoted: he may read there, but does not stay. At a replica
 * that a sentinel names he may not even read. */
static void a_reader_does_not_stay_at_a_replica(void **state)
{
    struct scene *s = *state;
    if (endpoint.is_sentinel)
        return;
    endpoint_fail_over(s, PLAIN, IS_CUT_OFF);
    endpoint_lead(&endpoint.old);
    scene_enqueue_n(s, "q", "t", WAITING);
    struct reader r = {.client = endpoint_client(s)};
    assert_false(reads_what_is_there(&r));
    endpoint_lead(&endpoint.new);
    wait_on(s->base, reads_what_is_there, &r, SOON_MS);
    muster_client_free(r.client);
}

/* ---- all of them ---- */

ENDPOINT_CASES(ENDPOINT_CASE, a_worker)
ENDPOINT_CASES(ENDPOINT_CASE, a_listener)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {ENDPOINT_CASES(ENDPOINT_ENTRY, a_worker)
                                           ENDPOINT_CASES(ENDPOINT_ENTRY, a_listener)
                                               endpoint_test(what_the_old_master_was_told_makes_no_listener_ready),
                                       endpoint_test(a_task_right_behind_a_failover_runs_once),
                                       endpoint_test(a_large_task_right_behind_a_failover_runs_once),
                                       endpoint_test(a_job_right_behind_a_failover_runs_once),
                                       endpoint_test(a_reader_leaves_a_demoted_master),
                                       endpoint_test(a_reader_that_was_cut_off_is_at_the_new_one),
                                       endpoint_test(a_reader_does_not_stay_at_a_replica)};
    return scene_run(tests, argc, argv);
}
