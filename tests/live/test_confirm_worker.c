/* SPDX-License-Identifier: MIT
 *
 * What a worker enqueues is confirmed by replicas, if it is told to ask: over a connection of its own, so that its
 * heartbeats never wait for them. On a real master with a real replica, which stands still when it must not confirm.
 */
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"
#include "slow.h"

#define TTL_MS slow_ms(300)
#define MANY 50

static struct redis_server master, replica;

static int start_pair(void **state)
{
    redis_server_start(&master, &(struct redis_server_options){.tcp = true});
    redis_server_start(&replica, &(struct redis_server_options){.tcp = true, .replica_of = &master});
    return scene_start(state);
}

static int stop_pair(void **state)
{
    redis_server_remove(&replica);
    redis_server_remove(&master);
    return scene_stop(state);
}

struct answers {
    int n, confirmed, unconfirmed, last_err;
    uint64_t first_waiting; /* of the last enqueue() */
};

struct expected {
    const struct answers *answers;
    int n;
};

static void note_answer(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    struct answers *a = arg;
    (void)w;
    a->first_waiting = a->first_waiting ? a->first_waiting : waiting;
    a->last_err = err;
    a->n++;
    a->confirmed += err == MUSTER_OK;
    a->unconfirmed += err == MUSTER_E_UNCONFIRMED;
}

static bool are_here(void *arg)
{
    const struct expected *e = arg;
    return e->answers->n >= e->n;
}

static struct live_worker *begin(struct scene *s, int replicas_ms)
{
    redis_server_thaw(&replica);
    redis_server_await_replicas(&master, 1);
    scene_move(s, &master);
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = "w", .ttl_ms = TTL_MS, .more = {.replicas = 1, .replicas_ms = replicas_ms}, .queues = {{"q", 0}}});
}

static void enqueue(struct scene *s, struct live_worker *w, struct answers *a, int n)
{
    a->first_waiting = 0;
    for (int i = 0; i < n; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, a));
    struct expected e = {a, a->n + n};
    wait_on(s->base, are_here, &e, SOON_MS);
}

static void what_replicas_have_is_confirmed_together(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 2000);
    int64_t connections = redis_server_info(&master, "connected_clients");
    int64_t waits = redis_server_calls(&master, "wait");
    enqueue(s, w, &a, 1);
    assert_int_equal(redis_server_info(&master, "connected_clients"), connections + 1);
    enqueue(s, w, &a, MANY);
    assert_int_equal(redis_server_info(&master, "connected_clients"), connections + 1);
    assert_int_equal(a.confirmed, 1 + MANY);
    assert_int_equal(scene_waiting(s, "elsewhere"), 1 + MANY);
    assert_true(redis_server_calls(&master, "wait") - waits <= 3);
}

/* For many ttls. Nobody takes the worker for dead, itself included. */
static void heartbeats_go_on_while_replicas_are_waited_for(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 5 * TTL_MS);
    char *epoch = raw_string(master.redis, "GET %s:alive:w", s->prefix);
    redis_server_freeze(&replica);
    int64_t began_at = now_ms();
    enqueue(s, w, &a, 3);
    assert_true(now_ms() - began_at >= 5 * TTL_MS);
    assert_int_equal(a.unconfirmed, 3);
    assert_int_equal(scene_waiting(s, "elsewhere"), 3);
    assert_non_null(strstr(muster_worker_error(w->worker), "confirmed by 0 of 1 replica"));
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, "w", NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, "w", NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w", NULL), 0);
    char *after = raw_string(master.redis, "GET %s:alive:w", s->prefix);
    assert_string_equal(epoch, after);
    free(epoch);
    free(after);
    scene_enqueue(s, "q", "mine");
    scene_await_starts(s, 1);
}

/* What waits behind an unanswered question is told, and not sent later. */
static void a_worker_that_stops_tells_what_became_of_each(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 5000);
    redis_server_freeze(&replica);
    for (int i = 0; i < MANY; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    live_worker_stop(s, w, 0);
    assert_int_equal(a.n, MANY);
    assert_int_equal(a.confirmed, 0);
}

/* The same if the server does not even answer that they are there, on either connection. */
static void a_worker_that_stops_at_a_silent_server_tells_of_each(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 5000);
    enqueue(s, w, &a, 1);
    redis_server_freeze(&master);
    for (int i = 0; i < MANY; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    live_worker_stop(s, w, 0);
    redis_server_thaw(&master);
    struct expected e = {&a, 1 + MANY};
    wait_on(s->base, are_here, &e, SOON_MS);
    live_worker_free(s, w);
    assert_int_equal(a.n, 1 + MANY);
    assert_int_equal(a.confirmed, 1);
}

/* As long as its drain time lasts: they came before the stop, and nobody else knows of them. */
static void a_worker_that_stops_waits_for_what_it_was_handed(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 10 * SOON_MS);
    redis_server_freeze(&replica);
    for (int i = 0; i < MANY; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, i % 2 ? note_answer : NULL, &a));
    assert_ok(muster_worker_stop(w->worker, 10 * SOON_MS));
    raw_await(master.redis, s->base, 0, "HGET %s:worker:w hands", s->prefix);
    run_loop(s->base, 100);
    assert_false(w->has_stopped);
    redis_server_thaw(&replica);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(a.confirmed, MANY / 2);
    assert_int_equal(scene_waiting(s, "elsewhere"), MANY);
    assert_int_equal(w->stop_err, MUSTER_OK);
}

static struct proxy way, slow;

/* The connection of its own, which is made now, is slow. */
static void hand_in_at_the_start(struct live_worker *w, const struct muster_event *e)
{
    if (e->type != MUSTER_EVENT_STARTED)
        return;
    proxy_lead(&way, slow.socket);
    assert_ok(muster_worker_enqueue(w->worker, "q", "t", 1, NULL, NULL));
}

static void a_burst_runs_what_it_was_handed(void **state)
{
    struct scene *s = *state;
    redis_server_thaw(&replica);
    redis_server_await_replicas(&master, 1);
    scene_move(s, &master);
    proxy_start(&slow, master.dir, master.socket);
    proxy_start(&way, master.dir, master.socket);
    proxy_delay(&slow, 500);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w",
                                                                     .url = way.url,
                                                                     .ttl_ms = 60000,
                                                                     .more = {.replicas = 1, .burst = 1},
                                                                     .on_event = hand_in_at_the_start,
                                                                     .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(scene_starts(s), 1);
    assert_int_equal(scene_waiting(s, "q"), 0);
    live_worker_free(s, w);
    proxy_stop(&way);
    proxy_stop(&slow);
}

/* The first call is by digest and the second brings its text, so the script is known, forgotten, and sent once more
 * behind the question. */
static void a_script_that_was_forgotten_is_waited_for_and_confirmed(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 5000);
    enqueue(s, w, &a, 1);
    raw_do(master.redis, "SCRIPT FLUSH");
    enqueue(s, w, &a, MANY);
    assert_int_equal(a.confirmed, 1 + MANY);
    assert_int_equal(a.first_waiting, 2); /* as its own answer has said */
    assert_int_equal(scene_waiting(s, "elsewhere"), 1 + MANY);
}

static void note_put(struct muster_worker *w, int err, const char *id, void *arg)
{
    (void)id;
    note_answer(w, err, 0, arg);
}

static void put(struct scene *s, struct live_worker *w, struct answers *a)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "j"};
    assert_ok(muster_worker_put(w->worker, "elsewhere", &spec, note_put, a));
    struct expected e = {a, a->n + 1};
    wait_on(s->base, are_here, &e, SOON_MS);
}

/* What is there already must be confirmed before that is told. */
static void a_put_that_is_repeated_is_confirmed_as_the_first_one(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = begin(s, 2 * TTL_MS);
    redis_server_freeze(&replica);
    put(s, w, &a);
    put(s, w, &a);
    assert_int_equal(a.unconfirmed, 2);
    redis_server_thaw(&replica);
    redis_server_await_replicas(&master, 1);
    put(s, w, &a);
    assert_int_equal(a.last_err, MUSTER_E_EXISTS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_replicas_have_is_confirmed_together),
        live_test(heartbeats_go_on_while_replicas_are_waited_for),
        live_test(a_worker_that_stops_tells_what_became_of_each),
        live_test(a_worker_that_stops_at_a_silent_server_tells_of_each),
        live_test(a_worker_that_stops_waits_for_what_it_was_handed),
        live_test(a_burst_runs_what_it_was_handed),
        live_test(a_script_that_was_forgotten_is_waited_for_and_confirmed),
        live_test(a_put_that_is_repeated_is_confirmed_as_the_first_one),
    };
    return testing_run(tests, start_pair, stop_pair, argc, argv);
}
