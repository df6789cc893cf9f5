/* SPDX-License-Identifier: MIT
 *
 * A worker in a program with a loop of its own, which is hurt: connections that are cut at every place, a Redis that is
 * killed, a doubt, a registration that is gone, a command that ends its process, an outbox that nobody reads. Whatever
 * happens, each process that the program has ended is told once as ended or as uncounted, and none is handed out when
 * it may be in other hands.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <hiredis/async.h>

#include "epoll_worker.h"
#include "invariant.h"
#include "proxy.h"

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

static void start_behind(struct scene *s, struct proxy *proxy, struct epoll_worker **e, struct epoll_spec spec)
{
    proxy_start(proxy, s->server->dir, s->server->socket);
    spec.url = proxy->url;
    *e = epoll_worker_idle(s, &spec);
}

/* Each connection tells its own. */
static void await_down(struct epoll_worker *e)
{
    while (e->events[MUSTER_EVENT_DOWN] == 0)
        epoll_worker_turn(e, 10);
}

static bool has_taken(void *arg)
{
    struct epoll_worker *e = arg;
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(e->worker, &stats));
    return stats.taken > 0;
}

/* ---- connections that are cut ---- */

/* Each task ends once in Redis: it is told as ended, or nobody knows. */
static void ends_are_told_once_through_cuts_everywhere(void **state)
{
    enum { CUTS = 25 };
    struct scene *s = *state;
    struct epoll_worker *e;
    struct proxy proxy;
    start_behind(s, &proxy, &e, (struct epoll_spec){.hands = 20, .prefetch = 20, .ttl_ms = 20000});
    for (int round = 0; round < CUTS; round++) {
        int ups = e->events[MUSTER_EVENT_UP];
        size_t n = e->n;
        scene_enqueue_n(s, "q", "t", 20);
        while (e->n < n + 10)
            epoll_worker_turn(e, 10);
        proxy_ration(&proxy, PROXY_BOTH, round * 61 % 400);
        epoll_worker_end_all(e, round % 3 == 0 ? MUSTER_FAIL : MUSTER_FINISH);
        while (proxy_count(&proxy).trapped == round) {
            scene_enqueue(s, "q", "t");
            epoll_worker_turn(e, 10);
            epoll_worker_end_all(e, MUSTER_FINISH);
        }
        while (e->events[MUSTER_EVENT_UP] == ups) {
            epoll_worker_turn(e, 10);
            epoll_worker_end_all(e, MUSTER_FINISH);
        }
    }
    while (e->n_held > 0 || raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix) > 0 ||
           raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix) > 0) {
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_turn(e, 10);
    }
    epoll_worker_await_settled(e);
    for (size_t i = 0; i < e->n; i++)
        if (e->accounts[i]->n_uncounted)
            assert_err(e->accounts[i]->err, MUSTER_E_CONN);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

/* The turn with the end is executed, and its answer lost: the end is sent again, and nobody can know. */
static void an_end_whose_answer_is_lost_is_told_after_the_reconnection(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e;
    struct proxy proxy;
    start_behind(s, &proxy, &e, (struct epoll_spec){.hands = 1});
    for (int way = PROXY_REQUESTS; way <= PROXY_REPLIES; way++) {
        scene_enqueue(s, "q", "t");
        epoll_worker_await_held(e, 1);
        struct account *a = e->accounts[e->n - 1];
        const char *token = strchr(a->id, ':') + 1;
        char text[16];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(token, ":"), token);
        proxy_trap(&proxy, text, way);
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_await_settled(e);
        assert_int_equal(a->n_ended, way == PROXY_REQUESTS);
        assert_int_equal(a->n_uncounted, way == PROXY_REPLIES);
        assert_err(a->err, way == PROXY_REPLIES ? MUSTER_E_CONN : MUSTER_OK);
    }
    await_quiet(s);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

/* ---- doubt ---- */

/* The ttl passes while the program is slow: what lies ready then is not handed out. */
static void nothing_is_handed_out_in_a_doubt(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e;
    struct proxy proxy;
    start_behind(s, &proxy, &e, (struct epoll_spec){.hands = 4, .prefetch = 4, .ttl_ms = 500});
    scene_enqueue(s, "q", "held");
    epoll_worker_await_held(e, 1);
    scene_enqueue_n(s, "q", "t", 5);
    raw_await(s->server->redis, NULL, 6, "HGET %s:queue:q running", s->prefix);
    proxy_refuse(&proxy);
    proxy_swallow(&proxy, PROXY_BOTH, PROXY_REQUESTS | PROXY_REPLIES);
    int64_t until = now_ms() + 700;
    while (now_ms() < until) /* nobody fetches */
        usleep(1000);
    while (e->events[MUSTER_EVENT_DOUBT] == 0)
        epoll_worker_turn(e, 10);
    assert_int_equal(e->n, 1);
    assert_int_equal(e->accounts[0]->reason, MUSTER_STOP_LOST);
    assert_int_equal(epoll_worker_turn(e, 0), 0);
    proxy_accept(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    while (e->n_held < 4) /* what was its own comes again, or still is */
        epoll_worker_turn(e, 10);
    while (e->n_held > 0 || raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix) > 0) {
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_turn(e, 10);
    }
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

/* ---- the registration is gone ---- */

static void a_worker_that_is_failed_while_processes_are_out_is_told_of_each(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3, .prefetch = 3});
    scene_suspect_nothing(s);
    scene_enqueue_n(s, "q", "t", 6);
    epoll_worker_await_held(e, 3);
    raw_do(s->server->redis, "HSET %s:queue:q paused 1", s->prefix);
    assert_ok(muster_worker_fail(s->client, "w", NULL));
    epoll_worker_await_events(e, MUSTER_EVENT_LOST, 1);
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(e->accounts[i]->reason, MUSTER_STOP_LOST);
    assert_int_equal(e->n, 3); /* what lay ready is not handed out */
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(e->accounts[i]->n_uncounted, 1);
        assert_err(e->accounts[i]->err, MUSTER_E_LOST);
    }
    epoll_worker_await_events(e, MUSTER_EVENT_STARTED, 2);
    assert_ok(muster_queue_resume(s->client, "q"));
    while (e->n < 9 || e->n_held > 0) {
        epoll_worker_turn(e, 10);
        epoll_worker_end_all(e, MUSTER_FINISH);
    }
    epoll_worker_await_settled(e);
    await_quiet(s);
    epoll_worker_free(e);
}

/* All of Redis' data are gone: the ends count nowhere. */
static void after_flushall_each_end_is_told_as_uncounted(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3});
    scene_enqueue_n(s, "q", "t", 3);
    epoll_worker_await_held(e, 3);
    raw_do(s->server->redis, "FLUSHALL");
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    assert_int_equal(epoll_worker_count_uncounted(e), 3);
    epoll_worker_await_events(e, MUSTER_EVENT_STARTED, 2);
    epoll_worker_free(e);
}

/* ---- Redis is killed ---- */

static void processes_are_ended_through_a_restart_of_redis(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 4, .prefetch = 4, .ttl_ms = 20000});
    scene_enqueue_n(s, "q", "t", 20);
    epoll_worker_await_held(e, 4);
    redis_server_kill(s->server);
    epoll_worker_end_all(e, MUSTER_FINISH); /* they wait for the new connection */
    await_down(e);
    redis_server_restart(s->server);
    epoll_worker_await_events(e, MUSTER_EVENT_UP, 1);
    while (e->n_held > 0 || raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix) > 0 ||
           raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix) > 0) {
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_turn(e, 10);
    }
    epoll_worker_await_settled(e);
    assert_int_equal(e->n, 20);
    assert_int_equal(epoll_worker_count_ended(e), 20);
    epoll_worker_free(e);
}

/* ---- stopping ---- */

static void given_back_after_the_drain_time_is_told_when_it_is_back(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3});
    scene_enqueue_n(s, "q", "t", 3);
    epoll_worker_await_held(e, 3);
    redis_server_freeze(s->server); /* so that the worker is still there */
    assert_ok(muster_worker_stop(e->worker, 0));
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 3);
    epoll_worker_end_all(e, MUSTER_GIVE_BACK);
    redis_server_thaw(s->server);
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
    assert_ok(e->stop_err);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(e->accounts[i]->n_ended, 1);
    assert_int_equal(epoll_worker_count_uncounted(e), 0);
    assert_int_equal(scene_waiting(s, "q"), 3);
    epoll_worker_free(e);
}

static void given_back_while_the_queue_is_left_is_told_when_it_is_back(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e;
    struct proxy proxy;
    start_behind(s, &proxy, &e, (struct epoll_spec){.hands = 2, .ttl_ms = 20000});
    scene_enqueue_n(s, "q", "t", 2);
    epoll_worker_await_held(e, 2);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    await_down(e);
    assert_ok(muster_worker_leave(e->worker, "q"));
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 2);
    epoll_worker_end_all(e, MUSTER_GIVE_BACK);
    epoll_worker_turn(e, 100);
    assert_int_equal(epoll_worker_count_ended(e), 0); /* it is not back yet */
    proxy_accept(&proxy);
    epoll_worker_await_events(e, MUSTER_EVENT_LEFT, 1);
    assert_int_equal(epoll_worker_count_ended(e), 2);
    assert_string_equal(e->accounts[0]->how, "given back");
    assert_int_equal(scene_waiting(s, "q"), 2);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

/* It could not deregister in time. What it had sent may have counted; what it had not, has not. */
static void ends_that_nobody_has_answered_are_told_before_the_last_event(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e;
    struct proxy proxy;
    start_behind(s, &proxy, &e, (struct epoll_spec){.hands = 4, .ttl_ms = 300});
    scene_enqueue_n(s, "q", "t", 4);
    epoll_worker_await_held(e, 4);
    proxy_refuse(&proxy);
    proxy_swallow(&proxy, PROXY_BOTH, PROXY_REQUESTS | PROXY_REPLIES);
    epoll_worker_end(e, e->accounts[0], MUSTER_FINISH); /* is sent */
    epoll_worker_end(e, e->accounts[1], MUSTER_RETRY);
    assert_ok(muster_worker_stop(e->worker, 0));
    while (e->events[MUSTER_EVENT_STOP] < 2)
        epoll_worker_turn(e, 10);
    epoll_worker_end(e, e->accounts[2], MUSTER_GIVE_BACK);
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
    assert_err(e->stop_err, MUSTER_E_CONN);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(e->accounts[i]->n_uncounted, 1);
    assert_int_equal(epoll_worker_count_ended(e), 0);
    assert_err(e->accounts[0]->err, MUSTER_E_CONN);
    assert_err(e->accounts[2]->err, MUSTER_E_LOST);
    epoll_worker_end(e, e->accounts[3], MUSTER_FINISH); /* means nothing any more */
    assert_int_equal(epoll_worker_turn(e, 50), 0);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

static void do_nothing(struct muster_worker *w, void *arg)
{
    (void)w, (void)arg;
}

static bool has_closed(void *arg)
{
    struct epoll_worker *e = arg;
    return muster_worker_post(e->worker, do_nothing, NULL) == MUSTER_E_STATE;
}

/* Without a URL a broken connection is the end, at once. */
static void nothing_is_handed_out_after_the_last_event(void **state)
{
    struct scene *s = *state;
    struct epoll_spec spec = {.hands = 4, .ttl_ms = 20000};
    spec.more.data = redisAsyncConnectUnix(s->server->socket);
    spec.more.subscription = redisAsyncConnectUnix(s->server->socket);
    struct epoll_worker *e = epoll_worker_idle(s, &spec);
    scene_enqueue_n(s, "q", "t", 3);
    wait_until(has_taken, e, SOON_MS);
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
    wait_until(has_closed, e, SOON_MS); /* until then nobody fetches */
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
    assert_err(e->stop_err, MUSTER_E_CONN);
    assert_int_equal(e->n, 0);
    assert_int_equal(epoll_worker_turn(e, 50), 0);
    assert_int_equal(e->n, 0);
    epoll_worker_free(e);
}

/* ---- cancelled ---- */

static void each_end_of_one_that_was_cancelled_is_told(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3});
    struct muster_job_spec spec = {.size = sizeof spec, .id = "j"};
    const char *const ids[] = {"j"};
    scene_enqueue(s, "q", "finished");
    scene_enqueue(s, "q", "given back");
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    epoll_worker_await_held(e, 3);
    assert_ok(muster_task_cancel(s->client, "q", "finished", 8, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "q", "given back", 10, NULL, NULL));
    assert_ok(muster_job_cancel(s->client, ids, 1, 0, NULL, NULL));
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 3);
    for (size_t i = 0; i < 3; i++)
        epoll_worker_end(e, e->accounts[i], *e->accounts[i]->task == 'g' ? MUSTER_GIVE_BACK : MUSTER_FINISH);
    epoll_worker_await_settled(e);
    for (size_t i = 0; i < 3; i++)
        if (!*e->accounts[i]->task) /* the job was gone */
            assert_err(e->accounts[i]->err, MUSTER_E_CANCELLED);
    assert_int_equal(epoll_worker_count_ended(e), 2);
    await_quiet(s);
    epoll_worker_free(e);
}

/* ---- an outbox that nobody reads ---- */

static void note_called(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    (void)w, (void)waiting;
    assert_ok(err);
    atomic_store((atomic_bool *)arg, true);
}

static void note_posted(struct muster_worker *w, void *arg)
{
    (void)w;
    atomic_store((atomic_bool *)arg, true);
}

static bool is_true(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

/* They are bounded by the calls that ask for them. */
static void answers_that_nobody_fetches_hold_up_no_task(void **state)
{
    struct scene *s = *state;
    enum { ANSWERS = MUSTER_UNREAD_MAX + 100 };
    static struct muster_item items[ANSWERS + 10];
    atomic_bool is_answered = false, is_round_over = false;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2});
    for (int i = 0; i < ANSWERS; i++)
        assert_ok(muster_worker_enqueue(e->worker, "other", "x", 1, NULL, e));
    assert_ok(muster_worker_enqueue(e->worker, "other", "x", 1, note_called, &is_answered));
    wait_until(is_true, &is_answered, SOON_MS);
    scene_enqueue(s, "q", "t");
    wait_until(has_taken, e, SOON_MS);
    assert_ok(muster_worker_post(e->worker, note_posted, &is_round_over));
    wait_until(is_true, &is_round_over, SOON_MS);
    items[0].size = sizeof items[0];
    assert_int_equal(muster_worker_next(e->worker, items, N_OF(items)), ANSWERS + 1);
    assert_int_equal(items[ANSWERS].type, MUSTER_ITEM_PROCESS);
    assert_ok(muster_process_end(items[ANSWERS].process, MUSTER_FINISH));
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

/* Events of foreign programs, more than are kept. The task comes by a message behind theirs. */
static void what_is_left_out_is_counted_and_told(void **state)
{
    struct scene *s = *state;
    enum { EXTRA = 500 };
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2});
    for (int i = 0; i < MUSTER_UNREAD_MAX + EXTRA; i++)
        raw_int(s->server->redis, "PUBLISH %s_q_cancel foreign", s->prefix);
    scene_enqueue(s, "q", "t"); /* too much is unread: it is not handed out */
    wait_until(has_taken, e, SOON_MS);
    struct muster_item item = {.size = sizeof item};
    int n_cancels = 0, n_left_out = 0;
    while (n_left_out == 0 && n_cancels <= MUSTER_UNREAD_MAX) {
        if (muster_worker_next(e->worker, &item, 1) == 0)
            continue;
        assert_int_equal(item.type, MUSTER_ITEM_EVENT);
        n_cancels += item.event == MUSTER_EVENT_CANCEL;
        if (item.event == MUSTER_EVENT_LEFT_OUT)
            n_left_out = atoi(item.text);
        else
            assert_memory_equal(item.task, "foreign", 7);
    }
    assert_int_equal(n_cancels + n_left_out, MUSTER_UNREAD_MAX + EXTRA);
    assert_true(n_left_out >= EXTRA);
    epoll_worker_await_held(e, 1);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

/* The loop's thread has come round so often since. */
static void await_rounds(struct epoll_worker *e, int n)
{
    for (int i = 0; i < n; i++) {
        atomic_bool is_round_over = false;
        assert_ok(muster_worker_post(e->worker, note_posted, &is_round_over));
        wait_until(is_true, &is_round_over, SOON_MS);
    }
}

static uint64_t n_started(struct epoll_worker *e)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(e->worker, &stats));
    return stats.started;
}

static bool has_filled_it(void *arg)
{
    return n_started(arg) >= MUSTER_UNREAD_MAX;
}

/* Longer than the way to Redis and back, so that the next ones lie ready when it returns. */
static enum muster_outcome finish_slowly(struct muster_process *p, void *arg)
{
    (void)p, (void)arg;
    usleep(100);
    return MUSTER_FINISH;
}

/* Nobody fetches what is told of the ends of its handlers, wherever these run. */
static void nothing_begins_while_too_much_is_unread(void **state)
{
    enum { TASKS = MUSTER_UNREAD_MAX + 5000, AT_ONCE = 200 };
    struct scene *s = *state;
    for (int threads = 0; threads <= 2; threads++) {
        struct epoll_worker *e = epoll_worker_new(
            s, &(struct epoll_spec){.hands = threads ? threads : 1, .prefetch = 100, .more.threads = threads});
        scene_enqueue_n(s, "q", "t", TASKS);
        assert_ok(muster_worker_serve(e->worker, "q", 0, finish_slowly, NULL));
        wait_until(has_filled_it, e, 10 * SOON_MS);
        uint64_t n = 0;
        while (n != n_started(e)) {
            n = n_started(e);
            await_rounds(e, 50);
        }
        assert_in_range(n, MUSTER_UNREAD_MAX, MUSTER_UNREAD_MAX + AT_ONCE);
        while (e->events[MUSTER_EVENT_ENDED] + e->events[MUSTER_EVENT_UNCOUNTED] < TASKS)
            epoll_worker_turn(e, 10);
        assert_int_equal(e->events[MUSTER_EVENT_LEFT_OUT], 0);
        epoll_worker_stop(e, -1);
        epoll_worker_free(e);
    }
}

/* ---- what was called off ---- */

static void assert_readable(struct epoll_worker *e)
{
    struct epoll_event event;
    assert_int_equal(epoll_wait(e->epoll, &event, 1, SOON_MS), 1);
}

static bool is_told_to_stop(void *arg)
{
    const struct epoll_worker *e = arg;
    return muster_process_stop_reason(e->accounts[0]->process) == MUSTER_STOP_CANCELLED;
}

static void cancel_the_first_one(struct scene *s, struct epoll_worker *e)
{
    assert_ok(muster_task_cancel(s->client, "q", "first", 5, NULL, NULL));
    wait_on(NULL, is_told_to_stop, e, SOON_MS);
}

static bool was_refused(void *arg)
{
    const struct epoll_worker *e = arg;
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(e->worker, &stats));
    return stats.refusals > 0;
}

static void hand_on_what_is_refused(struct scene *s, struct epoll_worker *e)
{
    raw_do(s->server->redis, "SET %s:queues:other x", s->prefix);
    assert_ok(muster_worker_enqueue(e->worker, "other", "t", 1, NULL, NULL));
    wait_on(NULL, was_refused, e, SOON_MS);
    raw_do(s->server->redis, "DEL %s:queues:other", s->prefix);
}

/* Whoever decides about processes takes back what is offered. It is offered again, also if nothing else happens. */
static void what_lies_ready_comes_whatever_becomes_of_another_one(void **state)
{
    struct scene *s = *state;
    static void (*const happens[])(struct scene *, struct epoll_worker *) = {cancel_the_first_one,
                                                                             hand_on_what_is_refused};
    for (size_t i = 0; i < N_OF(happens); i++) {
        struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3, .ttl_ms = 60000});
        scene_enqueue(s, "q", "first");
        epoll_worker_await_held(e, 1);
        while (epoll_worker_turn(e, 0) > 0)
            ;
        scene_enqueue(s, "q", "second");
        assert_readable(e);
        happens[i](s, e);
        epoll_worker_await_held(e, 2);
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_stop(e, -1);
        epoll_worker_free(e);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(ends_are_told_once_through_cuts_everywhere),
        live_test(an_end_whose_answer_is_lost_is_told_after_the_reconnection),
        live_test(nothing_is_handed_out_in_a_doubt),
        live_test(a_worker_that_is_failed_while_processes_are_out_is_told_of_each),
        live_test(after_flushall_each_end_is_told_as_uncounted),
        live_test(processes_are_ended_through_a_restart_of_redis),
        live_test(given_back_after_the_drain_time_is_told_when_it_is_back),
        live_test(given_back_while_the_queue_is_left_is_told_when_it_is_back),
        live_test(ends_that_nobody_has_answered_are_told_before_the_last_event),
        live_test(nothing_is_handed_out_after_the_last_event),
        live_test(each_end_of_one_that_was_cancelled_is_told),
        live_test(answers_that_nobody_fetches_hold_up_no_task),
        live_test(what_is_left_out_is_counted_and_told),
        live_test(nothing_begins_while_too_much_is_unread),
        live_test(what_lies_ready_comes_whatever_becomes_of_another_one),
    };
    return scene_run_durable(tests, argc, argv);
}
