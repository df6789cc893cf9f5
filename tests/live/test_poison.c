/* SPDX-License-Identifier: MIT
 *
 * Poison stops: after the first death of its holder a task is a suspect, which runs alone. Three more deaths, and it
 * lies on the failed list in the group "crashed". What ran or waited beside it is never failed. What is counted, and
 * what is forgotten.
 *
 * A worker "watch" on another queue sweeps the dead. The promise itself is tested with SIGKILL. In the other cases a
 * worker dies by being freed without a stop, which its peers cannot tell from a kill.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(300)

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

/* What is said of a task, which may be in a set or have come back: "0", deaths counted alone; "0b": it runs alone; ""
 * if it is no suspect. */
static void assert_suspicion(struct scene *s, const char *task, const char *expected)
{
    static const char lua[] =
        "local P = KEYS[1] .. ':'\n"
        "for _, pattern in ipairs({'processing:*:q', 'home:*:q'}) do\n"
        "  for _, key in ipairs(redis.call('SCAN', '0', 'MATCH', P .. pattern, 'COUNT', '1000000')[2]) do\n"
        "    local flat = redis.call('HGETALL', key)\n"
        "    for i = 1, #flat, 2 do\n"
        "      local entry = flat[i + 1] == ARGV[1] and redis.call('HGET', P .. 'suspects:q', flat[i])\n"
        "      if entry then return entry end\n"
        "    end\n"
        "  end\n"
        "end\n"
        "return ''";
    char *found = raw_string(s->server->redis, "EVAL %s 1 %s %s", lua, s->prefix, task);
    bool same = !strcmp(found, expected);
    if (!same)
        print_error("%s: '%s', expected '%s'\n", task, found, expected);
    free(found);
    assert_true(same);
}

static int64_t suspects(struct scene *s)
{
    return raw_int(s->server->redis, "HLEN %s:suspects:q", s->prefix);
}

static int64_t waiting(struct scene *s)
{
    return scene_waiting(s, "q");
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
    for (size_t death = 1; death <= 4; death++) {
        char id[16];
        snprintf(id, sizeof id, "victim%zu", death);
        struct worker_process *victim = worker_process_start(
            s, &(struct worker_spec){
                   .id = id, .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
        scene_await_starts(s, death);
        worker_process_kill(victim);
        await_swept(s, id);
        assert_int_equal(waiting(s), death < 4);
        assert_int_equal(failed(s), death == 4);
    }
    assert_failed_entry(s, "victim4crashed", "bomb");
    /* A worker that comes now gets only what is harmless. */
    holder(s, "after");
    scene_await_idle(s, "q", "after");
    scene_enqueue(s, "q", "harmless");
    scene_await_starts(s, 5);
    scene_assert_started(s, 0, (const char *[]){"bomb", "bomb", "bomb", "bomb", "harmless", NULL});
    assert_int_equal(suspects(s), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_neighbour_that_finishes_is_forgotten_and_only_the_bomb_is_blamed(void **state)
{
    struct scene *s = *state;
    watch(s);
    scene_enqueue(s, "q", "neighbour");
    scene_enqueue(s, "q", "bomb");
    die_holding(s, 2);
    assert_suspicion(s, "neighbour", "0");
    assert_suspicion(s, "bomb", "0");

    struct live_worker *good = holder(s, "good");
    scene_await_starts(s, 3); /* the neighbour, alone */
    assert_suspicion(s, "neighbour", "0b");
    live_worker_end(good, MUSTER_FINISH);
    scene_await_starts(s, 4);
    assert_suspicion(s, "bomb", "0b");
    assert_int_equal(suspects(s), 1);
    live_worker_end(good, MUSTER_GIVE_BACK);
    scene_await_starts(s, 5);
    live_worker_stop(s, good, 0);
    assert_suspicion(s, "bomb", "0");

    scene_enqueue(s, "q", "after");
    for (int deaths = 1; deaths <= 3; deaths++)
        die_holding(s, 1);
    assert_failed_entry(s, "doomedcrashed", "bomb");
    assert_int_equal(suspects(s), 0);
    assert_waiting(s, "q", "after ");
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
    assert_int_equal(suspects(s), 0);
}

/* What the watching worker says of the sweep that its journal has last. */
static void assert_told(struct scene *s, const char *expected)
{
    const struct journal_entry *told = NULL;
    for (size_t i = 0; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        told = e->kind == JOURNAL_EVENT && e->what == MUSTER_EVENT_SWEPT ? e : told;
    }
    assert_non_null(told);
    assert_string_equal(told->text, expected);
}

static void a_queue_has_its_own_limit(void **state)
{
    struct scene *s = *state;
    watch(s);
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 1", s->prefix);
    scene_enqueue(s, "q", "bomb");
    scene_enqueue(s, "q", "neighbour");
    die_holding(s, 2);
    scene_await_events(s, MUSTER_EVENT_SWEPT, "watch", 1);
    assert_told(s, "worker doomed failed: gave 2 of its tasks back");
    assert_int_equal(waiting(s), 2);
    die_holding(s, 1);
    scene_await_events(s, MUSTER_EVENT_SWEPT, "watch", 2);
    assert_told(s, "worker doomed died: 1 of its tasks given back, 1 failed (group crashed)");
    assert_int_equal(waiting(s), 1);
    assert_int_equal(failed(s), 1);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
    assert_suspicion(s, "neighbour", "0");
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
    assert_int_equal(suspects(s), 0);
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
    assert_int_equal(suspects(s), 0);
}

static void failing_a_dead_worker_makes_suspects(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "bomb");
    struct live_worker *doomed = holder(s, "doomed");
    scene_await_starts(s, 1);
    live_worker_free(s, doomed);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:doomed", s->prefix);
    assert_ok(muster_worker_fail(s->client, "doomed", NULL));
    assert_suspicion(s, "bomb", "0");
    assert_int_equal(waiting(s), 1);
}

/* It goes with the task, not with its bytes, and a death of others does not touch it. */
static void an_equal_task_is_no_suspect(void **state)
{
    struct scene *s = *state;
    watch(s);
    scene_enqueue(s, "q", "bomb");
    die_holding(s, 1);
    scene_enqueue(s, "q", "bomb");
    assert_int_equal(suspects(s), 1);
    assert_int_equal(waiting(s), 2);
    uint64_t cancelled, running;
    assert_ok(muster_task_cancel(s->client, "q", "bomb", 4, &cancelled, &running));
    assert_int_equal(cancelled, 2);
    assert_int_equal(suspects(s), 0);
    assert_int_equal(waiting(s), 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* A permanent worker is expected to go away: nothing that it held is suspected, however often it does. */
static void power_cuts_of_a_permanent_worker_count_nothing(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "attic", .queues = {"q"}, .hands = 2, .permanent = true, .resumes = true};
    scene_enqueue(s, "q", "t");
    acting_start(&w, s);
    acting_take(&w);
    for (int cuts = 0; cuts < 5; cuts++) {
        raw_do(s->server->redis, "DEL %s:alive:attic", s->prefix);
        acting_start(&w, s);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:attic:q", s->prefix), 1);
        assert_int_equal(suspects(s), 0);
    }
    raw_do(s->server->redis, "DEL %s:alive:attic", s->prefix);
    assert_ok(muster_worker_fail(s->client, "attic", NULL));
    assert_int_equal(suspects(s), 0);
    assert_int_equal(failed(s), 0);
    assert_int_equal(waiting(s), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(poison_stops),
        live_test(a_neighbour_that_finishes_is_forgotten_and_only_the_bomb_is_blamed),
        live_test(with_max_crashes_0_nothing_is_counted_and_nothing_stops),
        live_test(a_queue_has_its_own_limit),
        live_test(a_stop_counts_nothing),
        live_test(failing_a_live_worker_counts_nothing),
        live_test(failing_a_dead_worker_makes_suspects),
        live_test(an_equal_task_is_no_suspect),
        live_test(power_cuts_of_a_permanent_worker_count_nothing),
    };
    return scene_run(tests, argc, argv);
}
