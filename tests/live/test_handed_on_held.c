/* SPDX-License-Identifier: MIT
 *
 * A process is held while what it follows is not there. It is held no longer than that, whoever says what of it, and in
 * which order; and what it held comes back if its worker dies meanwhile.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "worker_process.h"

static bool is_set(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

static void await_flag(atomic_bool *flag)
{
    wait_until(is_set, flag, SOON_MS);
}

/* ---- data of a process that has begun without the loop ---- */

static struct ahead {
    struct scene *scene;
    atomic_bool loop_waits, has_posted_end, has_posted_data, has_data, may_end;
} ahead;

static void set_its_data(struct muster_worker *w, void *process)
{
    (void)w;
    assert_ok(muster_process_set_data(process, "new", 3));
    atomic_store(&ahead.has_data, true);
}

/* The loop stands still until a thread has begun "c" by itself, and that has asked for its data. */
static void hold_the_loop(struct muster_worker *w, void *arg)
{
    (void)w, (void)arg;
    atomic_store(&ahead.loop_waits, true);
    await_flag(&ahead.has_posted_end);
    await_flag(&ahead.has_posted_data);
}

static enum muster_outcome run_ahead(struct muster_process *p, void *arg)
{
    const char *id = muster_process_job(p)->id;
    (void)arg;
    if (strcmp(id, "c") == 0) {
        if (strcmp(muster_process_task(p, NULL), "new") == 0)
            return MUSTER_FINISH;
        assert_ok(muster_worker_post(muster_process_worker(p), set_its_data, p));
        atomic_store(&ahead.has_posted_data, true);
        await_flag(&ahead.has_data);
        assert_ok(muster_process_set_retry(p, 0));
        return MUSTER_RETRY;
    }
    await_flag(&ahead.loop_waits);
    if (strcmp(id, "b") == 0)
        return MUSTER_FINISH;
    assert_ok(muster_process_end(p, MUSTER_FINISH));
    atomic_store(&ahead.has_posted_end, true);
    while (!atomic_load(&ahead.may_end) && muster_process_stop_reason(p) == MUSTER_GO_ON)
        sched_yield();
    return MUSTER_LATER;
}

/* With their records; so "c" lies ahead for a thread. */
static bool have_all_come(void *arg)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(((struct live_worker *)arg)->worker, &stats));
    return stats.wait.n == 3;
}

static bool has_retried(void *journal)
{
    const struct journal_entry *e = journal_find(journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ENDED, "w", "c");
    return e && strcmp(e->text, "retried") == 0;
}

static void put(struct scene *s, const char *id)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = {id, 1}};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
}

static void data_that_the_loop_sets_before_it_knows_of_the_beginning(void **state)
{
    struct scene *s = *state;
    ahead = (struct ahead){.scene = s};
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .hands = 2,
                                                                      .prefetch = 1,
                                                                      .queues = {{"q", 0}},
                                                                      .more = {.threads = 2, .tell_ended = 1},
                                                                      .handler = run_ahead});
    put(s, "a");
    put(s, "b");
    put(s, "c");
    wait_on(s->base, have_all_come, w, SOON_MS);
    assert_ok(muster_worker_post(w->worker, hold_the_loop, NULL));
    wait_on(s->base, is_set, &ahead.has_data, SOON_MS);
    wait_on(s->base, has_retried, s->journal, SOON_MS);
    atomic_store(&ahead.may_end, true);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w:q", s->prefix);
}

/* ---- a death while a process is held ---- */

enum { TTL_MS = 450 };

/* What a handler hands on, by the script that says it. */
struct thing {
    const char *script;
    void (*hand_on)(struct muster_process *p);
    bool (*is_there)(struct scene *s);
};

static void enqueue_next(struct muster_process *p)
{
    assert_ok(muster_worker_enqueue(muster_process_worker(p), "next", "x", 1, NULL, NULL));
}

static void put_next(struct muster_process *p)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "next"};
    assert_ok(muster_worker_put(muster_process_worker(p), "next", &spec, NULL, NULL));
}

static void set_data(struct muster_process *p)
{
    assert_ok(muster_process_set_data(p, "new", 3));
}

static bool is_enqueued(struct scene *s)
{
    return raw_int(s->server->redis, "LLEN %s:queues:next", s->prefix) >= 1;
}

static bool is_put(struct scene *s)
{
    return raw_int(s->server->redis, "EXISTS %s:job:next", s->prefix) == 1;
}

static bool is_field(struct scene *s, const char *field, const char *expected)
{
    char *value = raw_string(s->server->redis, "HGET %s:job:j %s", s->prefix, field);
    bool is_it = value && strcmp(value, expected) == 0;
    free(value);
    return is_it;
}

static bool has_new_data(struct scene *s)
{
    return is_field(s, "data", "new");
}

static bool is_complete(void *scene)
{
    return is_field(scene, "state", "complete");
}

static const struct thing things[] = {
    {"enqueue", enqueue_next, is_enqueued}, {"put", put_next, is_put}, {"extend", set_data, has_new_data}};
static const struct thing *handed_on;

/* Its first run is retried, if what it hands on is its own data. */
static enum muster_outcome hand_on(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (strcmp(muster_process_task(p, NULL), "new") == 0)
        return MUSTER_FINISH;
    handed_on->hand_on(p);
    assert_ok(muster_process_set_retry(p, 0));
    return handed_on->hand_on == set_data ? MUSTER_RETRY : MUSTER_FINISH;
}

static void kill_while_held(struct scene *s, const struct thing *thing, const char *where)
{
    struct redisContext *redis = s->server->redis;
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "j", .data = {"old", 3}};
    struct worker_spec worker = {
        .id = "victim", .ttl_ms = TTL_MS, .queues = {{"q", 0}}, .more = {.tell_ended = 1}, .handler = hand_on};
    char point[64];
    snprintf(point, sizeof point, "%s:%s:1:kill", thing->script, where);
    handed_on = thing;
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    worker_process_await_death(worker_process_start_to_die(s, &worker, point));
    assert_int_equal(scene_starts(s), 1);
    assert_int_equal(raw_int(redis, "HLEN %s:processing:victim:q", s->prefix), 1);
    worker.id = "peer";
    live_worker_new(s, &worker);
    wait_on(s->base, is_complete, s, SOON_MS);
    assert_true(thing->is_there(s));
    invariant_assert(redis, s->prefix);
}

/* A scene of its own for each: the one that was set up is the first. */
static void a_death_while_a_process_is_held_loses_nothing(void **state)
{
    static const char *const places[] = {"before_send", "after_send", "before_reply"};
#ifndef MUSTER_FAILPOINTS
    print_message("skipped: this build has no failpoints (configure with -DMUSTER_FAILPOINTS=ON)\n");
    skip();
#endif
    for (size_t i = 0; i < N_OF(things) * N_OF(places); i++) {
        if (i > 0) {
            scene_end(state);
            scene_begin(state);
        }
        kill_while_held(*state, &things[i / N_OF(places)], places[i % N_OF(places)]);
    }
}

/* ---- data that nothing is there for ---- */

static void data_of_a_job_whose_record_is_gone_are_told(void **state)
{
    struct scene *s = *state;
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "j", .data = {"old", 3}};
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w", .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "DEL %s:job:j", s->prefix);
    assert_ok(muster_process_set_data(w->held[0], "new", 3));
    live_worker_end(w, MUSTER_RETRY);
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w", NULL);
    assert_non_null(strstr(e->text, "the record of the job 'j'"));
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w:q", s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_death_while_a_process_is_held_loses_nothing),
        live_test(data_of_a_job_whose_record_is_gone_are_told),
        live_test(data_that_the_loop_sets_before_it_knows_of_the_beginning),
    };
    return scene_run(tests, argc, argv);
}
