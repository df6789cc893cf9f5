/* SPDX-License-Identifier: MIT
 *
 * A queue's rate: how many of it are taken in a time, over all workers and leases. A task's token tells when it was
 * taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "job_look.h"
#include "live_worker.h"
#include "protocol/token.h"
#include "taken.h"
#include "worker_process.h"

#define HOUR 3600000
#define AN_HOUR 3600000

static void set(struct scene *s, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, "q", name, &value));
}

static void set_rate(struct scene *s, int64_t count, int64_t ms, int64_t burst)
{
    set(s, "rate_ms", ms);
    set(s, "rate_burst", burst);
    set(s, "rate", count);
}

static size_t take(struct scene *s, size_t n)
{
    struct taken taken = {0};
    int err = take_n(s, "q", n, AN_HOUR, &taken);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    return taken.n;
}

/* ---- what the rate allows ---- */

static void no_more_than_a_burst_is_taken_at_once(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 9);
    set_rate(s, 3, HOUR, 0);
    assert_int_equal(take(s, 2), 2);
    assert_int_equal(take(s, 9), 1);
    assert_int_equal(take(s, 9), 0);
    set(s, "rate_burst", 5);
    assert_int_equal(take(s, 9), 2);
    set(s, "rate", 0);
    assert_int_equal(take(s, 9), 4);
}

static void tasks_and_jobs_are_counted_alike(void **state)
{
    struct scene *s = *state;
    set_rate(s, 3, HOUR, 0);
    scene_enqueue_n(s, "q", "t", 2);
    for (int i = 0; i < 4; i++)
        job_put(s, "q", JOB_SPEC(.id = (const char *const[]){"a", "b", "c", "d"}[i], .priority = -1));
    assert_int_equal(take(s, 9), 3);
    assert_int_equal(take(s, 9), 0);
}

static void what_is_given_back_was_taken_all_the_same(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    set_rate(s, 2, HOUR, 0);
    scene_enqueue(s, "q", "t");
    for (int i = 0; i < 2; i++) {
        assert_ok(take_n(s, "q", 1, AN_HOUR, &taken));
        assert_ok(muster_lease_give_back(s->client, taken.rows[0].id));
    }
    assert_int_equal(take(s, 1), 0);
    assert_queue_holds(s, "q", "t ");
}

/* A worker whose heartbeat would come in an hour. */
static struct live_worker *sleeper(struct scene *s, const char *id, int hands)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = 3 * HOUR, .hands = hands, .answer = MUSTER_FINISH, .queues = {{"q", 0}}});
}

static void what_is_enqueued_beside_idle_workers_is_handed_over_as_the_rate_allows(void **state)
{
    struct scene *s = *state;
    set_rate(s, 3, HOUR, 0);
    sleeper(s, "w", 9);
    scene_enqueue(s, "q", "t");
    scene_enqueue_n(s, "q", "u", 4);
    job_put(s, "q", JOB_SPEC(.id = "j"));
    scene_await_starts(s, 3);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(scene_waiting(s, "q"), 2);
    assert_int_equal(scene_starts(s), 3);
    invariant_assert(s->server->redis, s->prefix);
    set(s, "rate", 0);
    scene_await_starts(s, 6);
}

static void idle_workers_are_woken_when_it_refills(void **state)
{
    struct scene *s = *state;
    set_rate(s, 20, 1000, 1);
    sleeper(s, "w", 4);
    sleeper(s, "v", 4);
    scene_enqueue_n(s, "q", "t", 12);
    scene_await_starts(s, 12);
}

static void who_waits_for_a_lease_is_woken_when_it_refills(void **state)
{
    struct scene *s = *state;
    struct taken taken = {0};
    scene_enqueue_n(s, "q", "t", 2);
    set_rate(s, 10, 1000, 1);
    assert_int_equal(take(s, 2), 1);
    assert_ok(muster_lease_take(s->client, "q", 1, AN_HOUR, SOON_MS, taken_add, &taken));
    assert_int_equal(taken.n, 1);
}

static void a_faster_rate_counts_at_once(void **state)
{
    struct scene *s = *state;
    set_rate(s, 1, 1000 * (int64_t)HOUR, 0);
    sleeper(s, "w", 1);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    set_rate(s, 50, 1000, 1);
    scene_await_starts(s, 3);
}

static int count_find(const struct muster_damage *damage, void *arg)
{
    (void)damage;
    ++*(int *)arg;
    return 0;
}

static int finds(struct scene *s, int repair)
{
    int n = 0;
    (void)!muster_client_check(s->client, repair, count_find, &n);
    return n;
}

static void check_mends_a_time_that_is_none_and_a_rate_that_nobody_looks_at(void **state)
{
    struct scene *s = *state;
    set_rate(s, 1, HOUR, 0);
    sleeper(s, "w", 2);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:idle:q", s->prefix);
    raw_do(s->server->redis, "HDEL %s:queue:q due", s->prefix);
    assert_int_equal(finds(s, 0), 1);
    assert_int_equal(finds(s, 1), 1);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q due", s->prefix), 1);
    raw_do(s->server->redis, "HSET %s:queue:q tat soon", s->prefix);
    assert_int_equal(finds(s, 0), 2); /* the second one waits beside an idle worker, and nothing forbids it any more */
    assert_int_equal(finds(s, 1), 2);
    scene_await_starts(s, 2);
    assert_int_equal(finds(s, 0), 0);
}

/* Where it refills fast, somebody looks every 50 ms: what waits until then is not forgotten. */
static void what_waits_for_the_next_look_is_no_damage(void **state)
{
    struct scene *s = *state;
    set_rate(s, 1000, 1000, 0);
    sleeper(s, "w", 2);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:idle:q", s->prefix);
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "local time = redis.call('TIME')\n"
           "local soon = time[1] * 1000 + math.floor(time[2] / 1000) + 40\n"
           "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', soon)\n"
           "redis.call('ZADD', KEYS[1] .. ':due', soon, 'q')\n"
           "redis.call('LPUSH', KEYS[1] .. ':queues:q', 'task')",
           s->prefix);
    assert_int_equal(finds(s, 0), 0);
}

/* ---- over any window, among kills ---- */

#define PLACES 4
#define HANDS 8
#define RATE 200 /* in a second */
#define BURST RATE
#define TASKS 1400
#define KILL_EVERY_MS 300

static void start(struct scene *s, struct worker_process **place, int life)
{
    char id[16];
    snprintf(id, sizeof id, "w%d", life);
    *place = worker_process_start(
        s,
        &(struct worker_spec){.id = id, .ttl_ms = 900, .hands = HANDS, .answer = MUSTER_FINISH, .queues = {{"q", 0}}});
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* When each was taken, in order; what a worker was killed with before it began is not among them. */
static size_t taken_at(struct scene *s, int64_t *at_ms, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < journal_size(s->journal) && n < most; i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START)
            at_ms[n++] = token_at_ms(e->token);
    }
    qsort(at_ms, n, sizeof *at_ms, by_time);
    return n;
}

static void over_any_window_it_is_the_rate_and_a_burst(void **state)
{
    struct scene *s = *state;
    static int64_t at[TASKS * 2];
    struct worker_process *places[PLACES];
    int life = 0;
    scene_suspect_nothing(s);
    set_rate(s, RATE, 1000, 0);
    scene_enqueue_n(s, "q", "t", TASKS);
    for (int i = 0; i < PLACES; i++)
        start(s, &places[i], life++);
    for (size_t began = 0; began < TASKS; began = scene_starts(s)) {
        run_loop(s->base, KILL_EVERY_MS);
        int i = rand() % PLACES;
        worker_process_kill(places[i]);
        start(s, &places[i], life++);
    }
    const size_t n = taken_at(s, at, TASKS * 2);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            if ((int64_t)(k - i + 1) > (at[k] - at[i] + 1) * RATE / 1000 + BURST + 1)
                fail_msg("%zu in %d ms", k - i + 1, (int)(at[k] - at[i]));
    /* The last ones may have to wait for the end of a dead worker's life. */
    const int64_t span_ms = at[TASKS - PLACES * HANDS - 1] - at[0];
    const double used = (double)(TASKS - PLACES * HANDS - BURST) / ((double)span_ms * RATE / 1000);
    print_message("    %zu taken, %d lives: %.1f %% of the rate\n", n, life, 100 * used);
    assert_true(used >= 0.95);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(no_more_than_a_burst_is_taken_at_once),
        live_test(tasks_and_jobs_are_counted_alike),
        live_test(what_is_given_back_was_taken_all_the_same),
        live_test(what_is_enqueued_beside_idle_workers_is_handed_over_as_the_rate_allows),
        live_test(idle_workers_are_woken_when_it_refills),
        live_test(who_waits_for_a_lease_is_woken_when_it_refills),
        live_test(a_faster_rate_counts_at_once),
        live_test(check_mends_a_time_that_is_none_and_a_rate_that_nobody_looks_at),
        live_test(what_waits_for_the_next_look_is_no_damage),
        live_test(over_any_window_it_is_the_rate_and_a_burst),
    };
    return scene_run(tests, argc, argv);
}
