/* SPDX-License-Identifier: MIT
 *
 * Leaving a queue: when it may be called; what happens when the worker stops, is lost or has no connection; and leaving
 * and serving again and again while tasks come and end.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "invariant.h"
#include "leaving.h"
#include "script_call.h"

/* ---- when it may be asked for ---- */

static void only_what_is_served_can_be_left(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 0);
    assert_err(muster_worker_leave(w->worker, "elsewhere"), MUSTER_E_NOT_FOUND);
    assert_err(muster_worker_leave(w->worker, ""), MUSTER_E_NOT_FOUND);
    assert_ok(muster_worker_leave(w->worker, "q"));
    assert_ok(muster_worker_leave(w->worker, "q")); /* it is leaving already */
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    assert_err(muster_worker_leave(w->worker, "q"), MUSTER_E_NOT_FOUND);
    run_loop(s->base, 50);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_LEFT), 1);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:idle:q", s->prefix), 0);
}

static void before_the_registration_there_is_nothing_to_give_back(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    struct live_worker *w = live_worker_new(s, &leaving_holder);
    leaving_leave(s, w);
    scene_await_idle(s, "r", "w");
    leaving_assert_list(s, "t\n");
    assert_int_equal(scene_starts(s), 0);
    assert_ok(leaving_serve(w));
    scene_await_starts(s, 1);
}

static void while_it_stops_nothing_can_be_left(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 0);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_worker_stop(w->worker, -1));
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w hands", s->prefix);
    assert_err(muster_worker_leave(w->worker, "q"), MUSTER_E_STATE);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    scene_assert_quiet(s);
}

static void a_stop_overtakes_a_leave(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 2, 2);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 2);
    raw_await(s->server->redis, s->base, 4, "HLEN %s:processing:w:q", s->prefix);
    assert_ok(muster_worker_leave(w->worker, "q"));
    live_worker_stop(s, w, 0);
    assert_int_equal(w->stop_err, MUSTER_OK);
    leaving_assert_list(s, "t3\nt2\nt1\nt0\n");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:worker:w %s:processing:w:q", s->prefix, s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
}

static void a_registration_that_is_lost_has_left_too(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 0);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_worker_fail(s->client, "w", NULL));
    leaving_leave(s, w);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", 2);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_idle(s, "r", "w");
    scene_enqueue(s, "r", "x");
    scene_await_starts(s, 2);
    leaving_assert_list(s, "t\n");
    leaving_await_held(s, 1);
}

static void free_inside(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_LEFT && w->worker) {
        assert_string_equal(e->queue, "q");
        muster_worker_free(w->worker);
        w->worker = NULL;
    }
}

static bool is_freed(void *arg)
{
    return !((struct live_worker *)arg)->worker;
}

static void the_worker_may_be_freed_inside_the_event(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 2, 2);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 2);
    w->spec.on_event = free_inside;
    assert_ok(muster_worker_leave(w->worker, "q"));
    wait_on(s->base, is_freed, w, SOON_MS);
    run_loop(s->base, 20);
    leaving_assert_list(s, "t3\nt2\nt1\nt0\n");
}

/* Redis knows the script of a leave, but not that of a turn: so the end is sent again, behind what went after it. */
static void an_end_counts_that_was_said_before(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 0);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "SCRIPT FLUSH");
    (void)script_does(s, SCRIPT_LEAVE, "nobody", "0", "0", "1", "q");
    live_worker_end(w, MUSTER_FINISH);
    leaving_leave(s, w);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    leaving_assert_list(s, "");
}

/* ---- without a connection ---- */

static void without_a_connection_it_is_done_when_there_is_one_again(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = leaving_hold_through(s, &proxy, 30000);
    scene_enqueue(s, "q", "t0");
    scene_await_starts(s, 1);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w", 1);
    scene_enqueue(s, "q", "t1");
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1); /* the event still comes at once */
    run_loop(s->base, 100);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_LEFT), 0);
    proxy_accept(&proxy);
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    leaving_assert_list(s, "t1\nt0\n");
    leaving_await_held(s, 0);
    live_worker_end(w, MUSTER_FINISH);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* Its answer gets lost with the connection: asked again, and done once. */
static void a_leave_whose_answer_is_lost_is_said_again(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = leaving_hold_through(s, &proxy, 30000);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    proxy_delay(&proxy, 200);
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_waiting(s, "q", 2);
    proxy_delay(&proxy, 0);
    proxy_cut(&proxy, PROXY_DATA);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_LEFT), 0);
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    leaving_assert_list(s, "t1\nt0\n");
    leaving_await_held(s, 0);
    live_worker_answer(w, MUSTER_FINISH);
    assert_ok(leaving_serve(w));
    scene_await_starts(s, 3);
    scene_await_idle(s, "q", "w");
    scene_assert_quiet(s);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* ---- at random ---- */

enum { WORKERS = 3, ROUNDS = 200 };

static void turn_over(struct live_worker *w)
{
    int err = rand() % 2 ? muster_worker_leave(w->worker, "q") : leaving_serve(w);
    if (err != MUSTER_OK && err != MUSTER_E_NOT_FOUND && err != MUSTER_E_EXISTS && err != MUSTER_E_STATE)
        fail_msg("%s", muster_err_name(err));
}

static bool serves(void *arg)
{
    int err = leaving_serve(arg);
    return err == MUSTER_OK || err == MUSTER_E_EXISTS;
}

/* An end counted if it was not reported as uncounted. */
static size_t counted_finishes(struct scene *s)
{
    size_t n = 0;
    for (size_t i = 0, size = journal_size(s->journal); i < size; i++) {
        const struct journal_entry *end = journal_at(s->journal, i), *e = end;
        if (!end || end->kind != JOURNAL_END || end->what != MUSTER_FINISH)
            continue;
        for (size_t at = i; e && at < size; at++) {
            e = journal_at(s->journal, at);
            if (e && e->kind == JOURNAL_EVENT && e->what == MUSTER_EVENT_UNCOUNTED && e->token == end->token)
                e = NULL;
        }
        n += e != NULL;
    }
    return n;
}

static void nothing_is_lost_and_nothing_ends_twice(void **state)
{
    struct scene *s = *state;
    struct live_worker *workers[WORKERS];
    int n = 0;
    srand(1);
    for (int i = 0; i < WORKERS; i++) {
        struct worker_spec spec = {.ttl_ms = 2000, .hands = 2, .prefetch = i, .answer = MUSTER_LATER};
        spec.stubborn = i == 1;
        workers[i] = live_worker_new(s, &spec);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int more = rand() % 6; more > 0; more--) {
            char task[16];
            snprintf(task, sizeof task, "t%d", n++);
            scene_enqueue(s, "q", task);
        }
        turn_over(workers[rand() % WORKERS]);
        run_loop(s->base, rand() % 4);
        live_worker_end(workers[rand() % WORKERS], MUSTER_FINISH);
    }
    for (int i = 0; i < WORKERS; i++) {
        live_worker_answer(workers[i], MUSTER_FINISH);
        wait_on(s->base, serves, workers[i], SOON_MS);
    }
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
    struct audit a = audit_finished(s, "t", (size_t)n);
    print_message("%d rounds: %zu tasks, %zu ran again, %zu ends told uncounted, left %zu times\n", ROUNDS, a.tasks,
                  a.again, a.uncounted, leaving_events(s, MUSTER_EVENT_LEFT));
    assert_int_equal(counted_finishes(s), n);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_LOST), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(only_what_is_served_can_be_left),
        live_test(before_the_registration_there_is_nothing_to_give_back),
        live_test(while_it_stops_nothing_can_be_left),
        live_test(a_stop_overtakes_a_leave),
        live_test(a_registration_that_is_lost_has_left_too),
        live_test(the_worker_may_be_freed_inside_the_event),
        live_test(an_end_counts_that_was_said_before),
        live_test(without_a_connection_it_is_done_when_there_is_one_again),
        live_test(a_leave_whose_answer_is_lost_is_said_again),
        live_test(nothing_is_lost_and_nothing_ends_twice),
    };
    return scene_run(tests, argc, argv);
}
