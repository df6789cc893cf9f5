/* SPDX-License-Identifier: MIT
 *
 * Leaving a queue: the worker's own processes of the queue go back to the front, in order, and nobody else's do;
 * nothing of the queue starts any more, whatever was on its way; and the queue may be served again.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "leaving.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "worker/worker.h"

/* ---- what goes back ---- */

static void what_the_worker_holds_of_the_queue_goes_back_to_the_front_in_order(void **state)
{
    struct scene *s = *state;
    live_worker_idle(
        s, &(struct worker_spec){.id = "peer", .ttl_ms = LEAVING_TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "the peer's");
    scene_await_starts(s, 1);
    struct live_worker *w = leaving_hold(s, 3, 2);
    scene_enqueue(s, "r", "x");
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 4);
    raw_await(s->server->redis, s->base, 4, "HLEN %s:processing:w:q", s->prefix);
    leaving_leave(s, w);
    leaving_assert_list(s, "t4\nt3\nt2\nt1\nt0\n");
    leaving_await_held(s, 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:peer:q", s->prefix), 1);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_STOP), 2); /* t0 and t1 */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(muster_process_stop_reason(w->held[i]), i == 0 ? MUSTER_GO_ON : MUSTER_STOP_DRAIN);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    live_worker_answer(w, MUSTER_FINISH);
    leaving_await_held(s, 0);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 2);
    leaving_assert_list(s, "t4\nt3\nt2\nt1\nt0\n");
    assert_int_equal(scene_starts(s), 4);
}

static void idle_hands_elsewhere_get_them_in_order(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 3, 2);
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 3);
    raw_await(s->server->redis, s->base, 5, "HLEN %s:processing:w:q", s->prefix);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = LEAVING_TTL_MS, .queues = {{"q", 0}}});
    size_t mark = journal_size(s->journal);
    leaving_leave(s, w);
    scene_await_starts(s, 8);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", "t3", "t4", NULL});
    leaving_await_held(s, 0);
}

static void a_handler_that_runs_on_keeps_its_hand(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 2, 0);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    leaving_leave(s, w);
    scene_enqueue_n(s, "r", "x", 3);
    scene_await_starts(s, 2);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:r", s->prefix), 2);
    live_worker_end(w, MUSTER_GIVE_BACK); /* of what it left: does not count, but there is a hand again */
    scene_await_starts(s, 3);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:r", s->prefix), 1);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 1);
    leaving_await_held(s, 2);
    leaving_assert_list(s, "t\n");
}

/* Redis gave the only hand to the queue that is left, and has dropped the worker from the other's idle ones. */
static void what_waits_elsewhere_gets_the_hand(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 0);
    scene_enqueue(s, "q", "t");
    scene_enqueue(s, "r", "x");
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:r", s->prefix), 1);
    leaving_leave(s, w);
    scene_await_starts(s, 1);
    scene_assert_started(s, 0, (const char *[]){"x", NULL});
    leaving_await_held(s, 1);
}

static enum muster_outcome wait_for_a_reason(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    while (muster_process_stop_reason(p) == MUSTER_GO_ON)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    journal_process(w->journal, JOURNAL_END, (int)muster_process_stop_reason(p), p);
    return MUSTER_FINISH;
}

static void handlers_on_threads_are_told(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = leaving_holder;
    spec.hands = spec.more.threads = 2;
    spec.handler = wait_for_a_reason;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 2);
    leaving_leave(s, w);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 2);
    assert_int_equal(journal_count(s->journal, JOURNAL_END, MUSTER_STOP_DRAIN, NULL, NULL), 2);
    leaving_assert_list(s, "t2\nt1\nt0\n");
    leaving_await_held(s, 0);
}

/* ---- children ---- */

struct child_watch {
    char path[96];
    pid_t pid;
    atomic_int alive_at_start;
};

static bool has_pid(void *arg)
{
    struct child_watch *c = arg;
    FILE *f = fopen(c->path, "r");
    if (f && fscanf(f, "%d", &c->pid) != 1)
        c->pid = 0;
    if (f)
        fclose(f);
    return c->pid > 0;
}

static enum muster_outcome look_for_the_child(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct child_watch *c = w->spec.arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    c->alive_at_start = kill(c->pid, 0) == 0 || errno != ESRCH;
    return MUSTER_FINISH;
}

static void a_task_starts_elsewhere_only_when_the_child_is_gone(void **state)
{
    struct scene *s = *state;
    struct child_watch c = {.alive_at_start = -1};
    char script[400];
    snprintf(c.path, sizeof c.path, "%s/left-child", s->server->dir);
    snprintf(script, sizeof script,
             "exec 2>&-; trap '' TERM; echo $$ > %s.new && mv %s.new %s; while :; do sleep 0.02; done", c.path, c.path,
             c.path);
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv, .grace_ms = 300};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w", .ttl_ms = LEAVING_TTL_MS});
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    scene_enqueue(s, "q", "t");
    wait_on(s->base, has_pid, &c, SOON_MS);
    live_worker_idle(
        s, &(struct worker_spec){
               .id = "heir", .ttl_ms = LEAVING_TTL_MS, .handler = look_for_the_child, .arg = &c, .queues = {{"q", 0}}});
    int64_t since = now_ms();
    leaving_leave(s, w);
    assert_in_range(now_ms() - since, 299, 299 + SOON_MS);
    scene_await_starts(s, 1);
    assert_int_equal(c.alive_at_start, 0);
    leaving_await_held(s, 0);
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    scene_await_idle(s, "q", "w");
}

/* ---- what is on its way ---- */

static void a_hand_over_that_is_on_its_way_does_not_start(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 2, 0);
    scene_enqueue_n(s, "q", "t", 3);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 2);
    leaving_leave(s, w);
    leaving_await_held(s, 0);
    leaving_assert_list(s, "t2\nt1\nt0\n");
    assert_int_equal(scene_starts(s), 0);
}

static enum muster_outcome leave_inside(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_worker_leave(w->worker, "q"));
    return MUSTER_FINISH;
}

static void what_was_taken_in_advance_does_not_start_after_the_call(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = leaving_holder;
    spec.prefetch = 3;
    spec.handler = leave_inside;
    live_worker_idle(s, &spec);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    leaving_await_held(s, 0);
    leaving_assert_list(s, "t3\nt2\nt1\n");
    assert_int_equal(scene_starts(s), 1);
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 0);
}

static void a_take_that_is_on_its_way_does_not_start(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = leaving_hold_through(s, &proxy, LEAVING_TTL_MS);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    proxy_delay(&proxy, 300);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_waiting(s, "q", 0);
    leaving_leave(s, w);
    proxy_delay(&proxy, 0);
    leaving_await_held(s, 0);
    leaving_assert_list(s, "t1\n");
    assert_int_equal(scene_starts(s), 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* Its message lies in the proxy while the queue is left, and served again. */
static void a_hand_over_of_before_stays_void_when_the_queue_is_served_again(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = leaving_hold_through(s, &proxy, LEAVING_TTL_MS);
    proxy_delay(&proxy, 700);
    scene_enqueue(s, "q", "t");
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
    proxy_delay(&proxy, 0);
    leaving_leave(s, w);
    assert_ok(leaving_serve(w));
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_FINISH);
    leaving_await_held(s, 0);
    scene_await_idle(s, "r", "w");
    scene_enqueue(s, "r", "x"); /* its message comes after the other one */
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:r", s->prefix), 1);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    leaving_await_held(s, 0);
    scene_assert_started(s, 0, (const char *[]){"t", "x", NULL});
    assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* ---- again ---- */

static void it_is_served_again_and_gets_what_waits_and_what_comes(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 2, 0);
    for (size_t round = 0; round < 5; round++) {
        size_t starts = scene_starts(s);
        w->spec.answer = MUSTER_LATER;
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, starts + 1);
        assert_ok(muster_worker_leave(w->worker, "q"));
        assert_err(leaving_serve(w), MUSTER_E_STATE);
        scene_await_events(s, MUSTER_EVENT_LEFT, "w", round + 1);
        live_worker_answer(w, MUSTER_FINISH);
        assert_int_equal(leaving_events(s, MUSTER_EVENT_UNCOUNTED), round + 1);
        assert_ok(leaving_serve(w));
        assert_err(leaving_serve(w), MUSTER_E_EXISTS);
        scene_await_starts(s, starts + 2);
        scene_await_idle(s, "q", "w");
        scene_assert_quiet(s);
    }
    leaving_await_held(s, 0);
}

static void serve_at_once(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_LEFT) {
        w->spec.on_event = NULL;
        assert_ok(leaving_serve(w));
    }
}

static void it_may_be_served_again_inside_the_event(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = leaving_hold(s, 1, 2);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    w->spec.on_event = serve_at_once;
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 4);
    scene_await_idle(s, "q", "w");
    scene_assert_started(s, 0, (const char *[]){"t0", "t0", "t1", "t2", NULL});
    leaving_await_held(s, 0);
}

/* Redis knows the one script and has forgotten the other, which is sent once more: it must not take of the queue behind the
 * call that leaves it. */
static void a_take_that_is_said_once_more_takes_nothing_of_a_queue_that_is_left(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){.id = "w", .url = proxy.url, .ttl_ms = LEAVING_TTL_MS, .queues = {{"q", 0}, {"r", 0}}});
    char *text = strndup((const char *)lua_scripts[SCRIPT_LEAVE].body, lua_scripts[SCRIPT_LEAVE].len);
    char key[64];
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_do(s->server->redis, "SCRIPT FLUSH");
    raw_do(s->server->redis, "SCRIPT LOAD %s", text);
    free(text);
    proxy_delay(&proxy, 30);
    while (w->worker->turns.in_flight > 0)
        event_base_loop(s->base, EVLOOP_ONCE);
    turn_want_take(w->worker);
    while (w->worker->turns.in_flight == 0)
        event_base_loop(s->base, EVLOOP_ONCE);
    raw_push(s->server->redis, key, "t", 1);
    leaving_leave(s, w);
    while (w->worker->turns.in_flight > 0)
        event_base_loop(s->base, EVLOOP_ONCE);
    proxy_delay(&proxy, 0);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 0);
    scene_await_waiting(s, "q", 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_the_worker_holds_of_the_queue_goes_back_to_the_front_in_order),
        live_test(idle_hands_elsewhere_get_them_in_order),
        live_test(a_handler_that_runs_on_keeps_its_hand),
        live_test(what_waits_elsewhere_gets_the_hand),
        live_test(handlers_on_threads_are_told),
        live_test(a_task_starts_elsewhere_only_when_the_child_is_gone),
        live_test(a_hand_over_that_is_on_its_way_does_not_start),
        live_test(what_was_taken_in_advance_does_not_start_after_the_call),
        live_test(a_take_that_is_on_its_way_does_not_start),
        live_test(a_hand_over_of_before_stays_void_when_the_queue_is_served_again),
        live_test(it_is_served_again_and_gets_what_waits_and_what_comes),
        live_test(it_may_be_served_again_inside_the_event),
        live_test(a_take_that_is_said_once_more_takes_nothing_of_a_queue_that_is_left),
    };
    return scene_run(tests, argc, argv);
}
