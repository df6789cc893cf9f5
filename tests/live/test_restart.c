/* SPDX-License-Identifier: MIT
 *
 * Redis restarts, forgets its data, cuts connections: workers go on by themselves, and nothing is lost. What happens
 * while it stands still: test_stall.c.
 *
 * The server syncs its append only file on each write, so what it acknowledged outlives a kill.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/async.h>

#include "base/format.h"
#include "fake_server.h"
#include "invariant.h"
#include "live_worker.h"
#include "slow.h"
#include "worker_process.h"

/* "By themselves": within 2 s of Redis accepting again, and slack for a busy machine. */
#define BACK_MS slow_ms(2000)
#define SLACK_MS slow_ms(2000)

static const struct way {
    const char *name;
    void (*end)(struct redis_server *s);
} ways[] = {{"shut down", redis_server_shutdown}, {"killed", redis_server_kill}};

static struct live_worker *holder(struct scene *s, const char *id, int hands)
{
    return live_worker_idle(
        s,
        &(struct worker_spec){.id = id, .ttl_ms = 3000, .hands = hands, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
}

static size_t n_events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

static void await_nothing_runs(struct scene *s)
{
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

/* The client finds out that its connection broke by a call that fails; a failed call may have enqueued. */
static void reconnect_client(struct scene *s)
{
    uint64_t waiting;
    if (muster_queue_length(s->client, "q", &waiting) != MUSTER_OK)
        assert_ok(muster_queue_length(s->client, "q", &waiting));
}

/* ---- restarts ---- */

static void idle_workers_take_work_again_after_a_restart(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 3000, .queues = {{"q", 0}}});
    for (size_t i = 0; i < N_OF(ways); i++) {
        ways[i].end(s->server);
        redis_server_restart(s->server);
        int64_t up = now_ms();
        reconnect_client(s);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i + 1);
        print_message("%s: an idle worker took work %d ms after Redis accepted again\n", ways[i].name,
                      (int)(now_ms() - up));
        assert_in_range(now_ms() - up, 0, BACK_MS + SLACK_MS);
        scene_await_idle(s, "q", "w1");
    }
    await_nothing_runs(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST), 0);
}

static void busy_workers_keep_their_tasks_over_a_restart(void **state)
{
    struct scene *s = *state;
    struct live_worker *w1 = holder(s, "w1", 3), *w2 = holder(s, "w2", 2);
    scene_enqueue_n(s, "q", "t", 7);
    scene_await_starts(s, 5);
    for (size_t i = 0; i < N_OF(ways); i++) {
        size_t ups = n_events(s, MUSTER_EVENT_UP);
        ways[i].end(s->server);
        redis_server_restart(s->server);
        int64_t up = now_ms();
        scene_await_events(s, MUSTER_EVENT_UP, NULL, ups + 2);
        print_message("%s: both busy workers were back after %d ms\n", ways[i].name, (int)(now_ms() - up));
        assert_in_range(now_ms() - up, 0, BACK_MS + SLACK_MS);
    }
    assert_int_equal(scene_starts(s), 5);
    live_worker_answer(w1, MUSTER_FINISH);
    live_worker_answer(w2, MUSTER_FINISH);
    scene_await_starts(s, 7);
    await_nothing_runs(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST), 0);
}

static void ends_made_while_redis_is_away_count_when_it_is_back(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "w1", 4);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 4);
    size_t downs = n_events(s, MUSTER_EVENT_DOWN);
    redis_server_kill(s->server);
    scene_await_events(s, MUSTER_EVENT_DOWN, NULL, downs + 2);
    live_worker_end(w, MUSTER_FINISH);
    live_worker_end(w, MUSTER_FAIL);
    live_worker_end(w, MUSTER_RETRY);
    live_worker_end(w, MUSTER_FINISH);
    run_loop(s->base, 100);
    redis_server_restart(s->server);
    scene_await_starts(s, 5);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t2", "t3", "t2", NULL});
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
    live_worker_answer(w, MUSTER_FINISH);
    await_nothing_runs(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
}

static void ten_restarts_under_load_lose_nothing(void **state)
{
    struct scene *s = *state;
    enum { RESTARTS = 10, BATCH = 20 };
    const char *ids[] = {"w1", "w2", "w3"};
    for (size_t i = 0; i < N_OF(ids); i++)
        live_worker_idle(s, &(struct worker_spec){.id = ids[i], .ttl_ms = 3000, .hands = 2, .queues = {{"q", 0}}});
    for (int i = 0; i < RESTARTS; i++) {
        char stem[16];
        snprintf(stem, sizeof stem, "%d-", i);
        reconnect_client(s);
        scene_enqueue_n(s, "q", stem, BATCH);
        for (int turns = 0; turns < i; turns++)
            event_base_loop(s->base, EVLOOP_NONBLOCK);
        ways[i % 2].end(s->server);
        redis_server_restart(s->server);
    }
    await_nothing_runs(s);
    for (int i = 0; i < RESTARTS * BATCH; i++) {
        char task[32];
        snprintf(task, sizeof task, "%d-%d", i / BATCH, i % BATCH);
        if (!journal_find(s->journal, 0, JOURNAL_END, MUSTER_FINISH, NULL, task))
            fail_msg("%s was lost", task);
    }
    print_message("%d tasks, %zu starts\n", RESTARTS * BATCH, scene_starts(s));
}

/* ---- what was kept is gone ---- */

static void after_flushall_workers_register_again(void **state)
{
    struct scene *s = *state;
    holder(s, "w1", 2);
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = 900, .queues = {{"other", 0}}});
    scene_enqueue(s, "q", "held");
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "FLUSHALL");
    scene_await_events(s, MUSTER_EVENT_LOST, "w1", 1);
    scene_await_events(s, MUSTER_EVENT_LOST, "w2", 1);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 2);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w2", 2);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, "w1", "held"), 1);
    scene_enqueue(s, "q", "new");
    scene_enqueue(s, "other", "new");
    scene_await_starts(s, 3);
    assert_int_equal(raw_int(s->server->redis, "GET %s:format", s->prefix), atoi(FORMAT_VERSION));
}

static void scripts_forgotten_under_load_are_sent_again(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = slow_ms(300), .hands = 3, .queues = {{"q", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = slow_ms(300), .hands = 3, .queues = {{"q", 0}}});
    for (int i = 0; i < 200; i++) {
        if (i % 5 == 0)
            raw_do(s->server->redis, "SCRIPT FLUSH");
        scene_enqueue(s, "q", "t");
        event_base_loop(s->base, EVLOOP_NONBLOCK);
    }
    await_nothing_runs(s);
    assert_int_equal(scene_starts(s), 200);
    assert_int_equal(n_events(s, MUSTER_EVENT_DOWN), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST), 0);
}

/* ---- what was kept is older ---- */

/* As a replica that lacks the last writes takes over, or as a machine comes back that had not synced them. */
static void come_back_as_saved(struct scene *s)
{
    size_t ups = n_events(s, MUSTER_EVENT_UP);
    redis_server_kill(s->server);
    redis_server_restart(s->server);
    scene_await_events(s, MUSTER_EVENT_UP, "w", ups + 1);
    reconnect_client(s);
}

static struct live_worker *begin_on(struct scene *s, struct redis_server *own, const struct worker_spec *spec)
{
    redis_server_start(own, NULL);
    scene_move(s, own);
    return live_worker_idle(s, spec);
}

/* With this ttl no heartbeat puts it right. */
#define AN_HOUR 3600000

static void what_it_holds_of_a_queue_that_redis_has_forgotten_comes_back_when_it_dies(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    uint64_t n = 0;
    struct live_worker *w = begin_on(
        s, &own, &(struct worker_spec){.id = "w", .ttl_ms = 3000, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    raw_do(own.redis, "SAVE");
    assert_ok(live_worker_serve(w, "r", 0));
    scene_await_idle(s, "r", "w");
    come_back_as_saved(s);
    scene_enqueue(s, "r", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_worker_fail(s->client, "w", &n));
    assert_int_equal(n, 1);
    redis_server_remove(&own);
}

/* Redis hands over what nobody here does any more, and counts it among what the worker holds. */
static void what_comes_of_a_queue_that_was_left_before_goes_back(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    struct live_worker *w =
        begin_on(s, &own, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .queues = {{"q", 0}, {"r", 0}}});
    raw_do(own.redis, "SAVE");
    assert_ok(muster_worker_leave(w->worker, "r"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    come_back_as_saved(s);
    scene_enqueue(s, "r", "t");
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 2);
    assert_int_equal(scene_waiting(s, "r"), 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    redis_server_remove(&own);
}

#ifdef MUSTER_FAILPOINTS
static enum muster_outcome leave_r(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    (void)p;
    assert_ok(muster_worker_leave(w->worker, "r"));
    return MUSTER_FINISH;
}

/* What it was handed of the queue comes back once, whether Redis has heard that it leaves again or not. */
static void die_as_it_leaves_again(struct scene *s, const char *where)
{
    struct redis_server own;
    char point[40];
    uint64_t n;
    size_t n_left = n_events(s, MUSTER_EVENT_LEFT), n_begun = scene_starts(s);
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    snprintf(point, sizeof point, "leave:%s:2:kill", where);
    struct worker_process *victim = worker_process_start_to_die(
        s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .handler = leave_r, .queues = {{"q", 0}, {"r", 0}}},
        point);
    scene_await_idle(s, "q", "w");
    scene_await_idle(s, "r", "w");
    raw_do(own.redis, "SAVE");
    scene_enqueue(s, "q", "leave");
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", n_left + 1);
    come_back_as_saved(s);
    scene_enqueue(s, "r", where);
    worker_process_await_death(victim);
    assert_ok(muster_worker_fail(s->client, "w", &n));
    struct live_worker *peer = live_worker_new(s, &(struct worker_spec){.id = where, .queues = {{"r", 0}}});
    scene_await_starts(s, n_begun + 1);
    scene_await_waiting(s, "r", 0);
    live_worker_stop(s, peer, 0);
    live_worker_free(s, peer);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, where, where), 1);
    assert_int_equal(raw_int(own.redis, "ZCARD %s:registry", s->prefix), 0);
    invariant_assert(own.redis, s->prefix);
    redis_server_remove(&own);
}
#endif

static void who_dies_as_it_leaves_such_a_queue_again_loses_nothing_of_it(void **state)
{
#ifdef MUSTER_FAILPOINTS
    static const char *const places[] = {"before_send", "after_send", "before_reply", "after_reply"};
    for (size_t i = 0; i < N_OF(places); i++)
        die_as_it_leaves_again(*state, places[i]);
#else
    (void)state;
    print_message("skipped: this build has no failpoints (configure with -DMUSTER_FAILPOINTS=ON)\n");
    skip();
#endif
}

/* Its token is later than all of which that Redis knows. */
static void what_redis_has_forgotten_is_lost(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    begin_on(s, &own,
             &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    raw_do(own.redis, "SAVE");
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    come_back_as_saved(s);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    redis_server_remove(&own);
}

static void end_the_life_of(struct scene *s, struct live_worker *w)
{
    live_worker_free(s, w); /* without a stop, as by a kill */
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s w",
              "local t, P, w = redis.call('TIME'), KEYS[1], ARGV[1]\n"
              "local ends = tonumber(redis.call('ZSCORE', P .. ':registry', w))\n"
              "return redis.call('EXISTS', P .. ':alive:' .. w) == 0 and ends < t[1] * 1000 and 1 or 0",
              s->prefix);
}

/* It lies where a former life has left it, and nobody but this worker looks there. */
static void what_redis_has_forgotten_to_be_taken_up_is_taken_up_again(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    struct live_worker *first = begin_on(
        s, &own, &(struct worker_spec){.id = "w", .ttl_ms = 300, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    end_the_life_of(s, first);
    size_t started = n_events(s, MUSTER_EVENT_STARTED);
    struct live_worker *w = live_worker_new(
        s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .more = {.resume = 1}});
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", started + 1);
    raw_do(own.redis, "SAVE");
    assert_ok(live_worker_serve(w, "q", 0));
    scene_await_starts(s, 2);
    come_back_as_saved(s);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_nothing_runs(s);
    redis_server_remove(&own);
}

/* ---- connections cut ---- */

/* No task runs twice: what the lost answers had to say is settled before anything is taken up again. */
static void ends_in_flight_on_a_killed_connection_are_settled(void **state)
{
    struct scene *s = *state;
    enum { ROUNDS = 20, HANDS = 30 };
    struct live_worker *w = holder(s, "w1", HANDS);
    for (size_t i = 0; i < ROUNDS; i++) {
        w->spec.answer = MUSTER_LATER;
        reconnect_client(s);
        scene_enqueue_n(s, "q", "t", HANDS);
        scene_await_starts(s, (i + 1) * HANDS);
        live_worker_answer(w, MUSTER_FINISH);
        for (size_t turns = 0; turns < i % 4; turns++)
            event_base_loop(s->base, EVLOOP_NONBLOCK);
        raw_do(s->server->redis, "CLIENT KILL TYPE normal");
        await_nothing_runs(s);
    }
    assert_int_equal(scene_starts(s), ROUNDS * HANDS);
    print_message("%zu of %d ends could not be confirmed\n", n_events(s, MUSTER_EVENT_UNCOUNTED), ROUNDS * HANDS);
}

static void tasks_taken_on_a_killed_connection_are_found_again(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 3000, .hands = 3, .queues = {{"q", 0}}});
    enum { CUTS = 40, BATCH = 10 };
    for (int i = 0; i < CUTS; i++) {
        reconnect_client(s);
        scene_enqueue_n(s, "q", "t", BATCH);
        for (int turns = 0; turns < i % 5; turns++)
            event_base_loop(s->base, EVLOOP_NONBLOCK);
        raw_do(s->server->redis, i % 2 ? "CLIENT KILL TYPE normal" : "CLIENT KILL TYPE pubsub");
        event_base_loop(s->base, EVLOOP_NONBLOCK);
    }
    await_nothing_runs(s);
    assert_int_equal(scene_starts(s), CUTS * BATCH);
}

/* Nothing arrives, nothing breaks: only the missing answers tell. */
static void a_half_open_data_connection_is_replaced_within_the_ttl(void **state)
{
    struct scene *s = *state;
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, NULL);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                  .ttl_ms = 900,
                                                  .answer = MUSTER_LATER,
                                                  .data = redisAsyncConnect("127.0.0.1", relay.port),
                                                  .subscription = redisAsyncConnectUnix(s->server->socket),
                                                  .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    size_t ups = n_events(s, MUSTER_EVENT_UP);
    fake_server_freeze(&relay);
    int64_t before = now_ms();
    scene_await_events(s, MUSTER_EVENT_UP, "w1", ups + 1);
    print_message("ttl 900 ms: a half-open connection was replaced after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 900 + SLACK_MS);
    live_worker_answer(w, MUSTER_FINISH);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    await_nothing_runs(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST), 0);
    fake_server_stop(&relay);
}

/* As a Redis does that is full and evicts. */
static void a_registration_that_never_lasts_is_not_made_without_a_pause(void **state)
{
    struct scene *s = *state;
    live_worker_new(s, &(struct worker_spec){.id = "w", .ttl_ms = 300, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", 1);
    int64_t began_ms = now_ms(), elapsed_ms;
    do {
        raw_do(s->server->redis, "DEL %s:worker:w %s:alive:w", s->prefix, s->prefix);
        run_loop(s->base, 5);
        elapsed_ms = now_ms() - began_ms;
    } while (elapsed_ms < 3000 || n_events(s, MUSTER_EVENT_LOST) == 0);
    assert_in_range(n_events(s, MUSTER_EVENT_LOST), 1, 2 + elapsed_ms / 1000);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", 1 + n_events(s, MUSTER_EVENT_LOST));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(idle_workers_take_work_again_after_a_restart),
        live_test(busy_workers_keep_their_tasks_over_a_restart),
        live_test(ends_made_while_redis_is_away_count_when_it_is_back),
        live_test(ten_restarts_under_load_lose_nothing),
        live_test(after_flushall_workers_register_again),
        live_test(scripts_forgotten_under_load_are_sent_again),
        live_test(what_it_holds_of_a_queue_that_redis_has_forgotten_comes_back_when_it_dies),
        live_test(what_comes_of_a_queue_that_was_left_before_goes_back),
        live_test(who_dies_as_it_leaves_such_a_queue_again_loses_nothing_of_it),
        live_test(what_redis_has_forgotten_is_lost),
        live_test(what_redis_has_forgotten_to_be_taken_up_is_taken_up_again),
        live_test(ends_in_flight_on_a_killed_connection_are_settled),
        live_test(tasks_taken_on_a_killed_connection_are_found_again),
        live_test(a_half_open_data_connection_is_replaced_within_the_ttl),
        live_test(a_registration_that_never_lasts_is_not_made_without_a_pause),
    };
    return scene_run_durable(tests, argc, argv);
}
