/* SPDX-License-Identifier: MIT
 *
 * Poison stops: a task that kills each worker that takes it is taken three times, and then lies on the failed list in
 * the group "crashed". What is counted, and what is forgotten.
 *
 * A worker "watch" on another queue sweeps the dead. The promise itself is tested with SIGKILL. In the other cases a
 * worker dies by being freed without a stop, which its peers cannot tell from a kill.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "worker_process.h"

#define TTL_MS 300
#define HOUR_MS 3600000

static struct live_worker *watch(struct scene *s)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "watch", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
}

static struct live_worker *holder(struct scene *s, const char *id)
{
    return live_worker_new(
        s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
}

static void await_swept(struct scene *s, const char *id)
{
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:worker:%s", s->prefix, id);
}

/* A worker takes the n tasks that wait, and dies. */
static void die_holding(struct scene *s, size_t n)
{
    size_t before = scene_starts(s);
    struct live_worker *doomed = holder(s, "doomed");
    scene_await_starts(s, before + n);
    live_worker_free(s, doomed);
    await_swept(s, "doomed");
}

static int64_t crashes(struct scene *s, const char *task)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:crashes:q %s",
                   "return redis.call('HGET', KEYS[1], redis.sha1hex(ARGV[1])) or 0", s->prefix, task);
}

static int64_t waiting(struct scene *s)
{
    return raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix);
}

static int64_t failed(struct scene *s)
{
    return raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix);
}

/* The one failed task: "<token>:<lengths>:" and then worker, group, message and task. */
static void assert_failed_entry(struct scene *s, const char *worker_and_group, const char *task)
{
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    size_t len = strlen(entry), task_len = strlen(task);
    bool good = strstr(entry, worker_and_group) && len > task_len + 1 &&
                !strncmp(entry + len - 1 - task_len, task, task_len) && strchr(entry, '\n') == entry + len - 1;
    if (!good)
        print_error("failed list: %s\n", entry);
    free(entry);
    assert_true(good);
}

static void poison_stops(void **state)
{
    struct scene *s = *state;
    watch(s);
    scene_enqueue(s, "q", "bomb");
    for (size_t death = 1; death <= 3; death++) {
        char id[16];
        snprintf(id, sizeof id, "victim%zu", death);
        struct worker_process *victim = worker_process_start(
            s, &(struct worker_spec){
                   .id = id, .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
        scene_await_starts(s, death);
        worker_process_kill(victim);
        await_swept(s, id);
        assert_int_equal(waiting(s), death < 3);
        assert_int_equal(failed(s), death == 3);
    }
    assert_failed_entry(s, "victim3crashed", "bomb");
    /* A worker that comes now gets only what is harmless. */
    holder(s, "after");
    scene_await_idle(s, "q", "after");
    scene_enqueue(s, "q", "harmless");
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"bomb", "bomb", "bomb", "harmless", NULL});
    assert_int_equal(crashes(s, "bomb"), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_neighbour_that_finishes_is_forgotten(void **state)
{
    struct scene *s = *state;
    watch(s);
    scene_enqueue(s, "q", "neighbour");
    scene_enqueue(s, "q", "bomb");
    die_holding(s, 2);
    assert_int_equal(crashes(s, "neighbour"), 1);
    assert_int_equal(crashes(s, "bomb"), 1);

    struct live_worker *good = holder(s, "good");
    scene_await_starts(s, 4);
    live_worker_end(good, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 1, "HLEN %s:processing:good:q", s->prefix);
    assert_int_equal(crashes(s, "neighbour"), 0);
    assert_int_equal(crashes(s, "bomb"), 1);
    live_worker_end(good, MUSTER_GIVE_BACK);
    scene_await_starts(s, 5);
    live_worker_stop(s, good, 0);

    /* The same bytes again are counted from zero, so the bomb goes first. */
    scene_enqueue(s, "q", "neighbour");
    die_holding(s, 2);
    die_holding(s, 2);
    assert_failed_entry(s, "doomedcrashed", "bomb");
    assert_int_equal(crashes(s, "neighbour"), 2);
    assert_int_equal(waiting(s), 1);
    invariant_assert(s->server->redis, s->prefix);
}

static void with_max_crashes_0_nothing_is_counted_and_nothing_stops(void **state)
{
    struct scene *s = *state;
    watch(s);
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    scene_enqueue(s, "q", "persistent");
    for (int deaths = 0; deaths < 4; deaths++)
        die_holding(s, 1);
    assert_int_equal(waiting(s), 1);
    assert_int_equal(failed(s), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

static void a_queue_has_its_own_limit(void **state)
{
    struct scene *s = *state;
    watch(s);
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 1", s->prefix);
    scene_enqueue(s, "q", "bomb");
    scene_enqueue(s, "q", "neighbour");
    die_holding(s, 2);
    assert_int_equal(waiting(s), 0);
    assert_int_equal(failed(s), 2);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

static void a_stop_counts_nothing(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    for (size_t i = 1; i <= 4; i++) {
        struct live_worker *w = holder(s, "w");
        scene_await_starts(s, i);
        assert_ok(muster_worker_stop(w->worker, 0));
        scene_await_events(s, MUSTER_EVENT_STOPPED, "w", i);
        live_worker_free(s, w);
    }
    assert_int_equal(waiting(s), 1);
    assert_int_equal(failed(s), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

static void failing_a_live_worker_counts_nothing(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    struct live_worker *w = holder(s, "w");
    for (size_t i = 1; i <= 4; i++) {
        uint64_t given_back = 0;
        scene_await_starts(s, i);
        raw_await(s->server->redis, s->base, 1, "EXISTS %s:alive:w", s->prefix);
        assert_ok(muster_worker_fail(s->client, "w", &given_back));
        assert_int_equal(given_back, 1);
        scene_await_events(s, MUSTER_EVENT_LOST, "w", i);
    }
    scene_await_starts(s, 5);
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(failed(s), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:crashes:q", s->prefix), 0);
}

static void failing_a_dead_worker_counts(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "bomb");
    struct live_worker *doomed = holder(s, "doomed");
    scene_await_starts(s, 1);
    live_worker_free(s, doomed);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:doomed", s->prefix);
    assert_ok(muster_worker_fail(s->client, "doomed", NULL));
    assert_int_equal(crashes(s, "bomb"), 1);
    assert_int_equal(waiting(s), 1);
}

static void counts_are_kept_for_an_hour_after_the_last_crash(void **state)
{
    struct scene *s = *state;
    watch(s);
    scene_enqueue(s, "q", "bomb");
    die_holding(s, 1);
    assert_in_range(raw_int(s->server->redis, "PTTL %s:crashes:q", s->prefix), HOUR_MS - 60000, HOUR_MS);
    raw_do(s->server->redis, "PEXPIRE %s:crashes:q %d", s->prefix, HOUR_MS / 2);
    die_holding(s, 1);
    assert_in_range(raw_int(s->server->redis, "PTTL %s:crashes:q", s->prefix), HOUR_MS - 60000, HOUR_MS);
    assert_int_equal(crashes(s, "bomb"), 2);

    raw_do(s->server->redis, "PEXPIRE %s:crashes:q 1", s->prefix);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:crashes:q", s->prefix);
    die_holding(s, 1);
    assert_int_equal(crashes(s, "bomb"), 1);
    assert_int_equal(waiting(s), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(poison_stops),
        live_test(a_neighbour_that_finishes_is_forgotten),
        live_test(with_max_crashes_0_nothing_is_counted_and_nothing_stops),
        live_test(a_queue_has_its_own_limit),
        live_test(a_stop_counts_nothing),
        live_test(failing_a_live_worker_counts_nothing),
        live_test(failing_a_dead_worker_counts),
        live_test(counts_are_kept_for_an_hour_after_the_last_crash),
    };
    return scene_run(tests, argc, argv);
}
