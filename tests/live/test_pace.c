/* SPDX-License-Identifier: MIT
 *
 * How soon workers show that they live, and how soon the dead are swept: a worker that P:ttls has lost keeps to its own
 * ttl, and so do its peers; and many that died at once are swept at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"

#define TTL_MS slow_ms(400)
#define HOUR "3600000"

static size_t events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

/* ---- P:ttls ---- */

static void a_worker_that_the_ttls_have_lost_keeps_to_its_own(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    raw_do(s->server->redis, "DEL %s:ttls", s->prefix);
    live_worker_idle(s, &(struct worker_spec){.id = "slow", .ttl_ms = 3600000, .queues = {{"other", 0}}});
    raw_await(s->server->redis, s->base, TTL_MS, "ZSCORE %s:ttls w", s->prefix);
    run_loop(s->base, 3 * TTL_MS);
    assert_int_equal(events(s, MUSTER_EVENT_DOUBT), 0);
    assert_int_equal(events(s, MUSTER_EVENT_LOST), 0);
}

/* Its heartbeats go by script, because it holds something. */
static void so_does_one_that_is_busy(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    live_worker_new(s, &(struct worker_spec){
                           .id = "w", .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "DEL %s:ttls", s->prefix);
    raw_do(s->server->redis, "ZADD %s:ttls " HOUR " somebody", s->prefix);
    raw_await(s->server->redis, s->base, TTL_MS, "ZSCORE %s:ttls w", s->prefix);
    run_loop(s->base, 3 * TTL_MS);
    assert_int_equal(events(s, MUSTER_EVENT_DOUBT), 0);
    raw_do(s->server->redis, "ZREM %s:ttls somebody", s->prefix);
}

/* Without a ttl its grace would be over at once. */
static void one_that_is_lost_there_and_died_in_a_stall_has_its_grace_all_the_same(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    acting_die(&w);
    raw_do(s->server->redis, "EVAL %s 1 %s:beat",
           "local t = redis.call('TIME') local now = t[1] * 1000 "
           "redis.call('HSET', KEYS[1], 'at', now, 'ended', now, 'length', now)",
           s->prefix);
    assert_int_equal(script_does(s, SCRIPT_SWEEP, "w", "0"), MUSTER_E_STATE);
    raw_do(s->server->redis, "ZREM %s:ttls w", s->prefix);
    assert_int_equal(script_does(s, SCRIPT_SWEEP, "w", "0"), MUSTER_E_STATE);
    assert_ok(script_does(s, SCRIPT_SWEEP, "w", "1"));
}

/* ---- many deaths ---- */

enum { CROWD = 500 };

/* Workers "c0", ... that hold a task each. */
static void start_crowd(struct scene *s, struct acting_worker *crowd, char ids[][16], int n)
{
    scene_enqueue_n(s, "q", "t", n);
    for (int i = 0; i < n; i++) {
        snprintf(ids[i], sizeof ids[i], "c%d", i);
        crowd[i] = (struct acting_worker){.id = ids[i], .queues = {"q"}, .hands = 1, .ttl_ms = 60000};
        acting_start(&crowd[i], s);
        acting_take(&crowd[i]);
    }
}

/* All of them show that they live, at this moment, and never again: what Redis sees of a kill of all at once. */
static void kill_crowd(struct scene *s)
{
    raw_do(s->server->redis, "EVAL %s 1 %s %d",
           "local t, P, ttl = redis.call('TIME'), KEYS[1], tonumber(ARGV[1]) "
           "local now = t[1] * 1000 + math.floor(t[2] / 1000) "
           "for _, w in ipairs(redis.call('ZRANGE', P .. ':registry', 0, -1)) do "
           "  if string.sub(w, 1, 1) == 'c' then "
           "    redis.call('HSET', P .. ':worker:' .. w, 'ttl', ttl) redis.call('ZADD', P .. ':ttls', ttl, w) "
           "    redis.call('PEXPIRE', P .. ':alive:' .. w, ttl) redis.call('ZADD', P .. ':registry', now + ttl, w) "
           "  end "
           "end",
           s->prefix, TTL_MS);
}

static void five_hundred_that_die_at_once_are_swept_by_one_survivor_at_once(void **state)
{
    struct scene *s = *state;
    static struct acting_worker crowd[CROWD];
    static char ids[CROWD][16];
    int64_t began_at = now_ms();
    start_crowd(s, crowd, ids, CROWD);
    int64_t as_long = now_ms() - began_at; /* as two calls for each of them take here */
    live_worker_idle(s, &(struct worker_spec){.id = "survivor", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    kill_crowd(s);
    int64_t killed_at = now_ms();
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
    int64_t took = now_ms() - killed_at;
    print_message("ttl %d ms: %d dead workers swept after %d ms\n", TTL_MS, CROWD, (int)took);
    assert_in_range(took, TTL_MS, TTL_MS + TTL_MS / 3 + 1000 + 4 * as_long);
    scene_await_events(s, MUSTER_EVENT_SWEPT, NULL, CROWD);
    uint64_t waiting = 0;
    assert_ok(muster_queue_length(s->client, "q", &waiting));
    assert_int_equal(waiting, CROWD);
}

/* More than one answer names cannot be swept. What lies behind them is found, and the heartbeats keep their pace. */
static void dead_workers_that_cannot_be_swept_stop_no_sweep_and_cause_no_storm(void **state)
{
    struct scene *s = *state;
    enum { BROKEN = 25, ALL = 40 };
    static struct acting_worker crowd[ALL];
    static char ids[ALL][16];
    start_crowd(s, crowd, ids, ALL);
    for (int i = 0; i < BROKEN; i++) {
        raw_do(s->server->redis, "RENAME %s:processing:c%d:q %s:processing:k%d:q", s->prefix, i, s->prefix, i);
        raw_do(s->server->redis, "SET %s:processing:c%d:q broken", s->prefix, i);
    }
    live_worker_idle(s, &(struct worker_spec){.id = "survivor", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    for (int i = 0; i < ALL; i++)
        acting_die(&crowd[i]);
    raw_await(s->server->redis, s->base, BROKEN + 1, "ZCARD %s:registry", s->prefix);
    scene_await_events(s, MUSTER_EVENT_SWEPT, NULL, ALL - BROKEN);
    int64_t before = redis_server_calls(s->server, "zcount");
    run_loop(s->base, 3 * TTL_MS);
    assert_in_range(redis_server_calls(s->server, "zcount") - before, 1, 3 * 3 + 2);
    for (int i = 0; i < BROKEN; i++)
        raw_do(s->server->redis, "RENAME %s:processing:k%d:q %s:processing:c%d:q", s->prefix, i, s->prefix, i);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_worker_that_the_ttls_have_lost_keeps_to_its_own),
        live_test(so_does_one_that_is_busy),
        live_test(one_that_is_lost_there_and_died_in_a_stall_has_its_grace_all_the_same),
        live_test(five_hundred_that_die_at_once_are_swept_by_one_survivor_at_once),
        live_test(dead_workers_that_cannot_be_swept_stop_no_sweep_and_cause_no_storm),
    };
    return scene_run(tests, argc, argv);
}
