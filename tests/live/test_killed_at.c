/* SPDX-License-Identifier: MIT
 *
 * Nothing is lost, wherever a worker dies. A worker is killed at each point of each script call that it makes, while it
 * and a healthy peer work through twenty tasks. Afterwards all tasks were finished; only tasks that the dead worker
 * held ran twice; and nothing of it is left in Redis.
 *
 * The victim passes the point that MUSTER_FAILPOINT names; without failpoints in the build all cases are skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "worker_process.h"

enum { TTL_MS = 450, TASKS = 20, HANDS = 3 };

/*
 * How the victim comes to make the call.
 *
 *   n           the number of the call at which it dies, from 1
 *   answer      of its handlers. With LATER it dies with its hands full
 *   is_working  wait until it is idle, and let it have tasks before the peer comes
 *   alone       the peer comes when it is dead
 *   prepare     done before the victim comes
 *   provoke     what makes it call, if it does not by itself
 *   look        what else must be true afterwards
 */
struct setting {
    const char *script;
    int n;
    enum muster_outcome answer;
    bool is_working, alone;
    void (*prepare)(struct scene *s);
    void (*provoke)(struct scene *s, struct worker_process *victim);
    void (*look)(struct scene *s);
};

/* ---- the victim ---- */

static struct worker_process *start_victim(struct scene *s, const struct setting *set, const char *where)
{
    char point[64];
    snprintf(point, sizeof point, "%s:%s:%d:kill", set->script, where, set->n);
    const struct worker_spec spec = {
        .id = "victim", .ttl_ms = TTL_MS, .hands = HANDS, .answer = set->answer, .queues = {{"q", 0}}};
    return worker_process_start_to_die(s, &spec, point);
}

static void cut_subscriptions(struct scene *s, struct worker_process *victim)
{
    (void)victim;
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
}

static void stop(struct scene *s, struct worker_process *victim)
{
    (void)s;
    worker_process_stop(victim, 0);
}

/* ---- afterwards ---- */

/* The victim runs each task at most once, the peer at most once, and one of them to its end. */
static void assert_each_was_finished(struct scene *s, const char *stem)
{
    size_t runs = 0;
    for (int i = 0; i < TASKS; i++) {
        char task[32];
        snprintf(task, sizeof task, "%s%d", stem, i);
        size_t by_victim = journal_count(s->journal, JOURNAL_START, -1, "victim", task);
        size_t by_peer = journal_count(s->journal, JOURNAL_START, -1, "peer", task);
        size_t ends = journal_count(s->journal, JOURNAL_END, MUSTER_FINISH, NULL, task);
        if (by_victim > 1 || by_peer > 1 || ends < 1)
            fail_msg("%s: %zu times by the victim, %zu times by the peer, %zu ends", task, by_victim, by_peer, ends);
        runs += by_victim + by_peer;
    }
    if (runs > TASKS + HANDS)
        fail_msg("%s: %zu runs, more than the victim's hands explain", stem, runs);
}

/* Keys named after the worker, and its entries in the sets that all share. */
static void assert_nothing_is_left_of(struct scene *s, const char *worker)
{
    static const char script[] =
        "local P, w, left, cursor = KEYS[1], ARGV[1], {}, '0'\n"
        "repeat\n"
        "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':*', 'COUNT', 1000)\n"
        "  cursor = page[1]\n"
        "  for _, key in ipairs(page[2]) do\n"
        "    if string.find(key, ':' .. w, 1, true) then left[#left + 1] = key end\n"
        "    if redis.call('TYPE', key).ok == 'zset' and redis.call('ZSCORE', key, w) then left[#left + 1] = key end\n"
        "  end\n"
        "until cursor == '0'\n"
        "return table.concat(left, ' ')\n";
    char *left = raw_string(s->server->redis, "EVAL %s 1 %s %s", script, s->prefix, worker);
    bool good = !*left;
    if (!good)
        print_error("left of %s: %s\n", worker, left);
    free(left);
    assert_true(good);
}

static void assert_all_is_well(struct scene *s, const char *stem)
{
    struct redisContext *redis = s->server->redis;
    raw_await(redis, s->base, 1, "ZCARD %s:registry", s->prefix);
    raw_await(redis, s->base, 0, "LLEN %s:queues:q", s->prefix);
    raw_await(redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_await_idle(s, "q", "peer");
    assert_each_was_finished(s, stem);
    assert_nothing_is_left_of(s, "victim");
    invariant_assert(redis, s->prefix);
    assert_int_equal(raw_int(redis, "ZCARD %s:failed:q", s->prefix), 0);
    /* A crash was counted for everything in its hands, and forgotten when it was finished. */
    assert_int_equal(raw_int(redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

/* ---- the course of a test ---- */

static void start_peer(struct scene *s)
{
    worker_process_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .hands = HANDS, .queues = {{"q", 0}}});
}

static void kill_at(struct scene *s, const struct setting *set, const char *where)
{
    if (set->prepare)
        set->prepare(s);
    size_t before = scene_starts(s);
    struct worker_process *victim = start_victim(s, set, where);
    if (set->is_working)
        scene_await_idle(s, "q", "victim");
    scene_enqueue_n(s, "q", where, TASKS);
    if (set->is_working)
        scene_await_starts(s, before + 1);
    if (!set->alone)
        start_peer(s);
    if (set->provoke)
        set->provoke(s, victim);
    worker_process_await_death(victim);
    if (set->alone)
        start_peer(s);
    assert_all_is_well(s, where);
    if (set->look)
        set->look(s);
    print_message("%s:%s: %zu runs of %d tasks\n", set->script, where, scene_starts(s), TASKS);
}

/* A scene of its own for each place: the one that was set up is the first. */
static void in_each_place(void **state, void (*kill)(struct scene *s, const struct setting *set, const char *where),
                          const struct setting *set)
{
    static const char *const places[] = {"before_send", "after_send", "before_reply", "after_reply"};
#ifndef MUSTER_FAILPOINTS
    print_message("skipped: this build has no failpoints (configure with -DMUSTER_FAILPOINTS=ON)\n");
    skip();
#endif
    for (size_t i = 0; i < N_OF(places); i++) {
        if (i > 0) {
            scene_end(state);
            scene_begin(state);
        }
        kill(*state, set, places[i]);
    }
}

static void kill_everywhere(void **state, const struct setting *set)
{
    in_each_place(state, kill_at, set);
}

static void nothing_is_lost_by_a_death_at_start(void **state)
{
    kill_everywhere(state, &(struct setting){.script = "start", .n = 1});
}

static void nothing_is_lost_by_a_death_at_serve(void **state)
{
    kill_everywhere(state, &(struct setting){.script = "serve", .n = 1});
}

/* The first turn took nothing; the second one ends what was handed over, and takes more. */
static void nothing_is_lost_by_a_death_at_turn(void **state)
{
    kill_everywhere(state, &(struct setting){.script = "turn", .n = 2, .is_working = true, .alone = true});
}

static void nothing_is_lost_by_a_death_at_heartbeat(void **state)
{
    kill_everywhere(state,
                    &(struct setting){.script = "heartbeat", .n = 3, .answer = MUSTER_LATER, .is_working = true});
}

static void nothing_is_lost_by_a_death_at_readback(void **state)
{
    kill_everywhere(
        state,
        &(struct setting){
            .script = "readback", .n = 1, .answer = MUSTER_LATER, .is_working = true, .provoke = cut_subscriptions});
}

static void nothing_is_lost_by_a_death_at_stop(void **state)
{
    kill_everywhere(state, &(struct setting){
                               .script = "stop", .n = 1, .answer = MUSTER_LATER, .is_working = true, .provoke = stop});
}

/* A worker that has died before with two tasks in its hands, which the victim is to sweep. */
static void leave_a_dead_worker(struct scene *s)
{
    struct live_worker *dead = live_worker_idle(
        s, &(struct worker_spec){
               .id = "dead", .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "prey", 2);
    scene_await_starts(s, 2);
    live_worker_free(s, dead);
}

static void assert_its_prey_was_saved(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        const char *task = i ? "prey1" : "prey0";
        size_t ends = journal_count(s->journal, JOURNAL_END, MUSTER_FINISH, "peer", task);
        assert_int_equal(ends, 1);
    }
    assert_nothing_is_left_of(s, "dead");
}

static void nothing_is_lost_by_a_death_at_sweep(void **state)
{
    kill_everywhere(state, &(struct setting){.script = "sweep",
                                             .n = 1,
                                             .answer = MUSTER_LATER,
                                             .is_working = true,
                                             .alone = true,
                                             .prepare = leave_a_dead_worker,
                                             .look = assert_its_prey_was_saved});
}

/* ---- a queue that Redis has forgotten to be left ---- */

static enum muster_outcome leave_r(struct muster_process *p, void *arg)
{
    enum muster_outcome outcome = live_worker_handle(p, arg);
    assert_ok(muster_worker_leave(muster_process_worker(p), "r"));
    return outcome;
}

/* Comes back as it was before the victim has left the queue: it hands over there, and the victim leaves once more. */
static void come_back_older(struct scene *s)
{
    uint64_t waiting;
    redis_server_kill(s->server);
    redis_server_restart(s->server);
    scene_await_events(s, MUSTER_EVENT_UP, "victim", 1);
    if (muster_queue_length(s->client, "r", &waiting) != MUSTER_OK)
        assert_ok(muster_queue_length(s->client, "r", &waiting));
    scene_enqueue(s, "r", "t");
}

/* With this ttl no heartbeat puts anything right, and nobody takes the victim for dead before it is. */
#define AN_HOUR 3600000

static struct worker_process *start_to_leave_again(struct scene *s, const char *point)
{
    struct worker_process *victim = worker_process_start_to_die(
        s, &(struct worker_spec){.id = "victim", .ttl_ms = AN_HOUR, .handler = leave_r, .queues = {{"q", 0}, {"r", 0}}},
        point);
    scene_await_idle(s, "q", "victim");
    scene_await_idle(s, "r", "victim");
    raw_do(s->server->redis, "SAVE");
    scene_enqueue(s, "q", "leave r");
    scene_await_events(s, MUSTER_EVENT_LEFT, "victim", 1);
    return victim;
}

static void kill_as_it_leaves_again(struct scene *s, const struct setting *set, const char *where)
{
    uint64_t n;
    char point[64];
    struct redis_server own;
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    snprintf(point, sizeof point, "%s:%s:%d:kill", set->script, where, set->n);
    struct worker_process *victim = start_to_leave_again(s, point);
    come_back_older(s);
    worker_process_await_death(victim);
    assert_ok(muster_worker_fail(s->client, "victim", &n));
    assert_int_equal(scene_waiting(s, "r"), 1);
    live_worker_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = AN_HOUR, .queues = {{"r", 0}}});
    scene_await_waiting(s, "r", 0);
    raw_await(own.redis, s->base, 0, "HGET %s:queue:r running", s->prefix);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, "t"), 1);
    assert_nothing_is_left_of(s, "victim");
    invariant_assert(own.redis, s->prefix);
    redis_server_remove(&own);
}

static void nothing_is_lost_by_a_death_at_leaving_again(void **state)
{
    in_each_place(state, kill_as_it_leaves_again, &(struct setting){.script = "leave", .n = 2});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(nothing_is_lost_by_a_death_at_start),    live_test(nothing_is_lost_by_a_death_at_serve),
        live_test(nothing_is_lost_by_a_death_at_turn),     live_test(nothing_is_lost_by_a_death_at_heartbeat),
        live_test(nothing_is_lost_by_a_death_at_readback), live_test(nothing_is_lost_by_a_death_at_stop),
        live_test(nothing_is_lost_by_a_death_at_sweep),    live_test(nothing_is_lost_by_a_death_at_leaving_again),
    };
    return scene_run(tests, argc, argv);
}
