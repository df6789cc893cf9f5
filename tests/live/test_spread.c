/* SPDX-License-Identifier: MIT
 *
 * Work is spread: it goes to the idle worker with the largest part of its hands free, and among equals to the one that
 * has waited longest, in a batch as one by one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"

/* Workers "w0", "w1", ... with these hands, idle on "q" (and "r"); -1 at the end. */
static void begin(struct scene *s, const int *hands, const char *other)
{
    for (int i = 0; hands[i] >= 0; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        live_worker_idle(s, &(struct worker_spec){.id = id,
                                                  .ttl_ms = 3600000,
                                                  .hands = hands[i],
                                                  .answer = MUSTER_LATER,
                                                  .queues = {{"q", 0}, {other, 0}}});
    }
}

static void assert_held(struct scene *s, const char *queue, const int *expected)
{
    for (int i = 0; expected[i] >= 0; i++)
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w%d:%s", s->prefix, i, queue), expected[i]);
}

#define INTS(...) ((const int[]){__VA_ARGS__, -1})

enum way { BATCH, ONE_BY_ONE, JOBS };

static void enqueue(struct scene *s, const char *queue, int n, enum way way)
{
    static int n_jobs;
    if (way == BATCH) {
        scene_enqueue_n(s, queue, "t", n);
        return;
    }
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "j%d", n_jobs++);
        const struct muster_job_spec spec = {.size = sizeof spec, .id = name, .data = {"d", 1}};
        if (way == ONE_BY_ONE)
            scene_enqueue(s, queue, name);
        else
            assert_ok(muster_job_put(s->client, queue, &spec, NULL));
    }
}

static void spread(struct scene *s, const int *hands, int n, const int *expected, enum way way)
{
    begin(s, hands, NULL);
    enqueue(s, "q", n, way);
    scene_await_starts(s, (size_t)n);
    assert_held(s, "q", expected);
    invariant_assert(s->server->redis, s->prefix);
}

#define SPREAD_TEST(name, hands, n, expected, way)         \
    static void name(void **state)                         \
    {                                                      \
        spread(*state, INTS hands, n, INTS expected, way); \
    }
/* Equals get it in the order in which they became idle. */
SPREAD_TEST(a_batch_goes_to_equals_in_turn, (8, 8, 8), 8, (3, 3, 2), BATCH)
SPREAD_TEST(one_by_one_goes_to_equals_in_turn, (8, 8, 8), 8, (3, 3, 2), ONE_BY_ONE)
SPREAD_TEST(jobs_go_to_equals_in_turn, (8, 8, 8), 8, (3, 3, 2), JOBS)
SPREAD_TEST(a_batch_goes_by_hands, (4, 8, 12), 12, (2, 4, 6), BATCH)
SPREAD_TEST(one_by_one_goes_by_hands, (4, 8, 12), 12, (2, 4, 6), ONE_BY_ONE)
SPREAD_TEST(jobs_go_by_hands, (4, 8, 12), 12, (2, 4, 6), JOBS)
SPREAD_TEST(a_batch_of_one_hand_each_fills_the_first, (1, 1, 1), 2, (1, 1, 0), BATCH)
SPREAD_TEST(what_is_too_much_fills_all, (2, 3, 1), 6, (2, 3, 1), BATCH)

static void more_than_all_hands_waits(void **state)
{
    struct scene *s = *state;
    begin(s, INTS(2, 3), NULL);
    enqueue(s, "q", 9, BATCH);
    scene_await_starts(s, 5);
    assert_held(s, "q", INTS(2, 3));
    assert_int_equal(scene_waiting(s, "q"), 4);
}

static void a_second_batch_fills_what_the_first_has_left_uneven(void **state)
{
    struct scene *s = *state;
    begin(s, INTS(8, 8), NULL);
    enqueue(s, "q", 3, BATCH);
    scene_await_starts(s, 3);
    assert_held(s, "q", INTS(2, 1));
    enqueue(s, "q", 3, BATCH);
    scene_await_starts(s, 6);
    assert_held(s, "q", INTS(3, 3));
}

static void what_runs_in_another_queue_counts_also_one_by_one(void **state)
{
    struct scene *s = *state;
    begin(s, INTS(8, 8), "r");
    enqueue(s, "r", 6, BATCH); /* three each; the entries in "q" say nothing of it */
    scene_await_starts(s, 6);
    assert_held(s, "r", INTS(3, 3));
    struct live_worker *w0 = s->workers->next;
    assert_string_equal(muster_worker_id(w0->worker), "w0");
    for (int i = 0; i < 3; i++)
        live_worker_end(w0, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w0 held", s->prefix);
    enqueue(s, "q", 3, ONE_BY_ONE);
    scene_await_starts(s, 9);
    assert_held(s, "q", INTS(3, 0));
}

static void the_limit_of_a_queue_is_its_hands(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){
                            .id = "w0", .ttl_ms = 3600000, .hands = 100, .answer = MUSTER_LATER, .queues = {{"q", 2}}});
    live_worker_idle(s, &(struct worker_spec){
                            .id = "w1", .ttl_ms = 3600000, .hands = 4, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    enqueue(s, "q", 3, ONE_BY_ONE);
    scene_await_starts(s, 3);
    assert_held(s, "q", INTS(1, 2));
}

/* One that does not hear is passed over, and nothing is lost. */
static void who_does_not_hear_gets_nothing(void **state)
{
    struct scene *s = *state;
    begin(s, INTS(4, 4), NULL);
    raw_do(s->server->redis, "HSET %s:worker:deaf epoch 00000000001 ttl 60000 hands 8 held 0 q:q 0", s->prefix);
    raw_do(s->server->redis, "SET %s:alive:deaf 00000000001 PX 60000", s->prefix);
    raw_do(s->server->redis, "ZADD %s:idle:q 1 deaf", s->prefix);
    enqueue(s, "q", 6, BATCH);
    scene_await_starts(s, 6);
    assert_held(s, "q", INTS(3, 3));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:processing:deaf:q", s->prefix), 0);
    raw_do(s->server->redis, "DEL %s:worker:deaf %s:alive:deaf", s->prefix, s->prefix);
}

/* The dead leave the set, and those behind them are looked at in the same call. */
static void dead_ones_at_the_front_do_not_narrow_a_batch(void **state)
{
    struct scene *s = *state;
    begin(s, INTS(8, 8), NULL);
    raw_do(s->server->redis, "ZADD %s:idle:q 1 dead1 2 dead2 3 dead3", s->prefix);
    enqueue(s, "q", 4, BATCH);
    scene_await_starts(s, 4);
    assert_held(s, "q", INTS(2, 2));
}

/* "w0" and "w1" hold three of "r" each: their entries in "q" do not say so. */
static void what_runs_in_another_queue_counts(struct scene *s, enum way way)
{
    begin(s, INTS(8, 8), "r");
    for (int i = 2; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        live_worker_idle(s, &(struct worker_spec){
                                .id = id, .ttl_ms = 3600000, .hands = 8, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    }
    enqueue(s, "r", 6, BATCH);
    scene_await_starts(s, 6);
    assert_held(s, "r", INTS(3, 3));
    enqueue(s, "q", 2, way);
    scene_await_starts(s, 8);
    assert_held(s, "q", INTS(0, 0, 1, 1));
    for (int i = 0; i < 2; i++) /* their entries are true now */
        assert_int_equal(raw_int(s->server->redis, "ZSCORE %s:idle:q w%d", s->prefix, i) / 8000000000000, 375);
}

static void what_runs_in_another_queue_counts_in_a_batch(void **state)
{
    what_runs_in_another_queue_counts(*state, BATCH);
}

static void what_runs_in_another_queue_counts_one_by_one(void **state)
{
    what_runs_in_another_queue_counts(*state, ONE_BY_ONE);
}

/* ---- under load ---- */

#define SHORT_TASKS 10000
#define EQUALS 4
#define EACH_HAS 8

static int ran[EQUALS];
static int n_left;

/* As each ends another one comes: half of all hands are busy, all the time. */
static void on_end(evutil_socket_t fd, short what, void *arg)
{
    struct muster_process *p = arg;
    struct muster_worker *w = muster_process_worker(p);
    (void)fd, (void)what;
    ran[muster_worker_id(w)[1] - '0']++;
    assert_ok(muster_process_end(p, MUSTER_FINISH));
    if (n_left > 0) {
        n_left--;
        assert_ok(muster_worker_enqueue(w, "q", "t", 1, NULL, NULL));
    }
}

static enum muster_outcome run_short(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct timeval span = {0, (suseconds_t)(muster_process_token(p) % 4000)};
    assert_int_equal(event_base_once(w->base, -1, EV_TIMEOUT, on_end, p, &span), 0);
    return MUSTER_LATER;
}

static bool have_all_run(void *arg)
{
    (void)arg;
    return ran[0] + ran[1] + ran[2] + ran[3] == SHORT_TASKS;
}

static bool are_even(void)
{
    bool even = true;
    for (int i = 0; i < EQUALS; i++) {
        print_message("    w%d: %d\n", i, ran[i]);
        even = even && ran[i] >= SHORT_TASKS / EQUALS * 975 / 1000 && ran[i] <= SHORT_TASKS / EQUALS * 1025 / 1000;
    }
    return even;
}

/* A busy machine that halts one loop for long makes a run uneven by itself: one of three must be even. */
static void at_half_load_equals_run_equally_many(void **state)
{
    struct scene *s = *state;
    static const char *const ids[EQUALS] = {"w0", "w1", "w2", "w3"};
    for (int i = 0; i < EQUALS; i++)
        live_worker_idle(
            s, &(struct worker_spec){
                   .id = ids[i], .ttl_ms = 60000, .hands = EACH_HAS, .handler = run_short, .queues = {{"q", 0}}});
    bool even = false;
    for (int i = 0; i < 3 && !even; i++) {
        int busy = EQUALS * EACH_HAS / 2;
        memset(ran, 0, sizeof ran);
        n_left = SHORT_TASKS - busy;
        scene_enqueue_n(s, "q", "t", busy);
        wait_on(s->base, have_all_run, NULL, 6 * SOON_MS);
        even = are_even();
    }
    assert_true(even);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_batch_goes_to_equals_in_turn),
        live_test(one_by_one_goes_to_equals_in_turn),
        live_test(jobs_go_to_equals_in_turn),
        live_test(a_batch_goes_by_hands),
        live_test(one_by_one_goes_by_hands),
        live_test(jobs_go_by_hands),
        live_test(a_batch_of_one_hand_each_fills_the_first),
        live_test(what_is_too_much_fills_all),
        live_test(more_than_all_hands_waits),
        live_test(a_second_batch_fills_what_the_first_has_left_uneven),
        live_test(what_runs_in_another_queue_counts_also_one_by_one),
        live_test(the_limit_of_a_queue_is_its_hands),
        live_test(who_does_not_hear_gets_nothing),
        live_test(dead_ones_at_the_front_do_not_narrow_a_batch),
        live_test(what_runs_in_another_queue_counts_in_a_batch),
        live_test(what_runs_in_another_queue_counts_one_by_one),
        live_test(at_half_load_equals_run_equally_many),
    };
    return scene_run(tests, argc, argv);
}
