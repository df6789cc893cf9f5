/* SPDX-License-Identifier: MIT
 *
 * Stopping: what runs may end, the rest goes back in order, and nothing of the worker is left; from anywhere, at any
 * time. Freeing: also from anywhere.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "worker/worker.h"
#include "worker_process.h"

/* No key names the worker, and no set, list or hash of the namespace holds it. */
static const char find_traces[] =
    "local found, cursor = {}, '0'\n"
    "local read = {string = {'GET'}, list = {'LRANGE', 0, -1}, hash = {'HGETALL'}, set = {'SMEMBERS'},\n"
    "  zset = {'ZRANGE', 0, -1}}\n"
    "repeat\n"
    "  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ':*', 'COUNT', 1000)\n"
    "  cursor = page[1]\n"
    "  for _, key in ipairs(page[2]) do\n"
    "    local how = read[redis.call('TYPE', key).ok]\n"
    "    local value = redis.call(unpack({how[1], key, how[2], how[3]}))\n"
    "    if type(value) == 'string' then value = {value} end\n"
    "    local text = key .. ' ' .. table.concat(value, ' ')\n"
    "    if string.find(text, ARGV[1], 1, true) then found[#found + 1] = text end\n"
    "  end\n"
    "until cursor == '0'\n"
    "return table.concat(found, '; ')\n";

static void assert_no_trace(struct scene *s, const char *worker)
{
    char *found = raw_string(s->server->redis, "EVAL %s 1 %s %s", find_traces, s->prefix, worker);
    bool none = !*found;
    if (!none)
        print_error("left of %s: %s\n", worker, found);
    free(found);
    assert_true(none);
}

static struct live_worker *holder(struct scene *s, const char *id, int hands)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = 60000, .hands = hands, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 0}}});
}

static void assert_list(struct scene *s, const char *queue, const char *expected)
{
    char *list = queued_tasks(s, queue);
    bool same = !strcmp(list, expected);
    if (!same)
        print_error("queue %s holds %s\n", queue, list);
    free(list);
    assert_true(same);
}

/* ---- stop ---- */

static void an_idle_worker_leaves_no_trace(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 1);
    live_worker_stop(s, w, -1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_no_trace(s, "wanderer");
}

static void stop_lets_running_handlers_end(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 2);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 2);
    assert_ok(muster_worker_stop(w->worker, -1));
    run_loop(s->base, 100);
    assert_false(w->has_stopped);
    live_worker_end(w, MUSTER_FINISH);
    run_loop(s->base, 50);
    assert_false(w->has_stopped);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "wanderer", 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(scene_starts(s), 2);
    assert_list(s, "q", "t3\nt2\n");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    assert_no_trace(s, "wanderer");
}

static void stop_0_gives_everything_back_at_once_in_order(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 4);
    scene_enqueue_n(s, "q", "a", 2);
    scene_enqueue_n(s, "r", "b", 2);
    scene_await_starts(s, 4);
    scene_enqueue_n(s, "q", "later", 2);
    live_worker_stop(s, w, 0);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_list(s, "q", "later1\nlater0\na1\na0\n");
    assert_list(s, "r", "b1\nb0\n");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, "wanderer", NULL), 4);
    assert_no_trace(s, "wanderer");
}

static void what_is_given_back_wakes_idle_workers(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 3);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = 60000, .hands = 1, .queues = {{"q", 0}}});
    size_t mark = journal_size(s->journal);
    live_worker_stop(s, w, 0);
    scene_await_starts(s, 6);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", NULL});
}

static void when_the_drain_time_is_over_handlers_are_told_and_the_rest_goes_back(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 2);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    int64_t before = now_ms();
    live_worker_stop(s, w, 300);
    assert_in_range(now_ms() - before, 299, 2300);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, "wanderer", NULL), 2);
    assert_list(s, "q", "t1\nt0\n");
}

static void a_second_stop_shortens_the_first(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_worker_stop(w->worker, -1));
    run_loop(s->base, 50);
    assert_false(w->has_stopped);
    live_worker_stop(s, w, 0);
    assert_list(s, "q", "t\n");
    assert_ok(muster_worker_stop(w->worker, 0));
    run_loop(s->base, 50);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, NULL, NULL), 1);
}

static void the_drain_time_of_the_options_is_the_default(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .drain_ms = 200, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    int64_t before = now_ms();
    live_worker_stop(s, w, -1);
    assert_in_range(now_ms() - before, 199, 2200);
}

/* ---- from where ---- */

static void *stop_it(void *worker)
{
    muster_worker_stop(worker, -1);
    return NULL;
}

static void stop_works_from_another_thread(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "wanderer", 1);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_it, w->worker), 0);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "wanderer", 1);
    pthread_join(thread, NULL);
    assert_int_equal(w->stop_err, MUSTER_OK);
}

/* A worker's own loop sleeps until the next heartbeat: the call has to wake it. */
static void stop_from_another_thread_wakes_a_sleeping_loop(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    const struct muster_worker_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .ttl_ms = 3600000};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    pthread_t thread;
    int64_t before = now_ms();
    assert_int_equal(pthread_create(&thread, NULL, stop_it, w), 0);
    assert_ok(muster_worker_run(w));
    pthread_join(thread, NULL);
    assert_in_range(now_ms() - before, 0, 5000);
    muster_worker_free(w);
}

static void sigterm_stops_a_worker_in_its_own_process(void **state)
{
    struct scene *s = *state;
    struct worker_process *w = worker_process_idle(
        s, &(struct worker_spec){.id = "w1", .drain_ms = 100, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    kill(w->pid, SIGTERM);
    assert_int_equal(worker_process_reap(w), 0);
    assert_list(s, "q", "t\n");
    assert_no_trace(s, "w1");
}

static enum muster_outcome stop_inside(struct muster_process *p, void *arg)
{
    int *n = arg;
    ++*n;
    muster_worker_stop(muster_process_worker(p), -1);
    return MUSTER_FINISH;
}

static void stop_inside_a_handler_lets_it_finish(void **state)
{
    struct scene *s = *state;
    static const struct worker_spec specs[] = {
        {.id = "one", .hands = 1}, {.id = "many", .hands = 3}, {.id = "ahead", .hands = 1, .prefetch = 2}};
    for (size_t i = 0; i < N_OF(specs); i++) {
        int n = 0;
        struct live_worker *w = live_worker_new(s, &specs[i]);
        scene_enqueue_n(s, specs[i].id, "t", 3);
        assert_ok(muster_worker_serve(w->worker, specs[i].id, 0, stop_inside, &n));
        scene_await_events(s, MUSTER_EVENT_STOPPED, specs[i].id, 1);
        assert_int_equal(n, 1);
        assert_list(s, specs[i].id, "t2\nt1\n");
    }
}

static bool asks_to_register(void *arg)
{
    return ((struct live_worker *)arg)->worker->registration.starting;
}

static void stop_before_the_start_is_done_still_stops(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "wanderer", .queues = {{"q", 0}}});
    live_worker_stop(s, w, -1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_no_trace(s, "wanderer");
}

/* It has asked to be registered when it is told to stop, and is refused then. */
static void a_stop_needs_no_registration_that_is_refused(void **state)
{
    struct scene *s = *state;
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.id = "wanderer", .ttl_ms = 3600000, .queues = {{"q", 0}}});
    raw_do(s->server->redis, "SET %s:registry damaged", s->prefix);
    raw_do(s->server->redis, "CLIENT PAUSE 3600000 WRITE");
    wait_on(s->base, asks_to_register, w, SOON_MS);
    assert_ok(muster_worker_stop(w->worker, -1));
    run_loop(s->base, 50);
    assert_false(w->has_stopped);
    raw_do(s->server->redis, "CLIENT UNPAUSE");
    scene_await_events(s, MUSTER_EVENT_STOPPED, "wanderer", 1);
    raw_do(s->server->redis, "DEL %s:registry", s->prefix);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_no_trace(s, "wanderer");
}

/* What goes back with the worker has gone back, and nothing is told as lost. */
static void a_worker_that_hears_no_answer_has_deregistered_all_the_same(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "wanderer",
                                                                      .url = proxy.url,
                                                                      .ttl_ms = 60000,
                                                                      .hands = 2,
                                                                      .answer = MUSTER_LATER,
                                                                      .more = {.tell_ended = 1},
                                                                      .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    (void)script_does(s, SCRIPT_STOP, "nobody", "0", "0");
    proxy_trap(&proxy, lua_scripts[SCRIPT_STOP].sha1, PROXY_REPLIES);
    live_worker_stop(s, w, 0);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_list(s, "q", "t1\nt0\n");
    assert_no_trace(s, "wanderer");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_ENDED, NULL, NULL), 2);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void without_redis_stop_ends_after_drain_time_and_ttl(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.id = "w1", .url = own.url, .ttl_ms = 300, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 1);
    redis_server_kill(&own);
    int64_t before = now_ms();
    live_worker_stop(s, w, 200);
    print_message("drain 200 ms, ttl 300 ms: stopped after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 500 + 2000);
    assert_int_equal(w->stop_err, MUSTER_E_CONN);
    redis_server_remove(&own);
}

/* It is killed, or stands still with its connections open. */
static void stop_without_redis(struct scene *s, const char *id, bool is_killed, int ttl_ms, int within_ms)
{
    struct redis_server own;
    redis_server_start(&own, NULL);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = id, .url = own.url, .ttl_ms = ttl_ms, .drain_ms = 60000});
    scene_await_events(s, MUSTER_EVENT_STARTED, id, 1);
    if (is_killed)
        redis_server_kill(&own);
    else
        redis_server_freeze(&own);
    int64_t before = now_ms();
    assert_ok(muster_worker_stop(w->worker, -1));
    scene_await_events(s, MUSTER_EVENT_STOPPED, id, 1);
    const int took_ms = (int)(now_ms() - before);
    print_message("ttl %d ms: stopped after %d ms\n", ttl_ms, took_ms);
    assert_in_range(took_ms, 0, within_ms);
    assert_int_equal(w->stop_err, MUSTER_E_CONN);
    assert_non_null(strstr(muster_worker_error(w->worker), "it held nothing"));
    live_worker_free(s, w);
    redis_server_remove(&own);
}

static void a_worker_that_holds_nothing_leaves_a_redis_that_is_gone_within_a_ttl(void **state)
{
    stop_without_redis(*state, "killed", true, 300, 300 + 4000);
    stop_without_redis(*state, "frozen", false, 300, 300 + 4000);
    stop_without_redis(*state, "patient", true, 3600000, 3000 + 4000);
}

/* What runs may run on, however long there is no Redis. */
static void a_worker_that_holds_something_keeps_its_drain_time(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w1", .url = own.url, .ttl_ms = 300, .drain_ms = 1500, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    redis_server_kill(&own);
    int64_t before = now_ms();
    live_worker_stop(s, w, -1);
    assert_in_range(now_ms() - before, 1500, 1800 + 4000);
    assert_int_equal(w->stop_err, MUSTER_E_CONN);
    live_worker_free(s, w);
    redis_server_restart(&own);
    redis_server_remove(&own);
}

static void an_end_that_was_never_sent_is_said_as_that(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){.id = "w1", .url = own.url, .ttl_ms = 300, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    redis_server_kill(&own);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 1);
    live_worker_end(w, MUSTER_FINISH);
    live_worker_stop(s, w, 100);
    assert_int_equal(w->stop_err, MUSTER_E_CONN);
    const struct journal_entry *told = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, "w1", "t");
    assert_non_null(told);
    assert_err(told->err, MUSTER_E_LOST);
    assert_non_null(strstr(told->text, "stopped before it was sent"));
    live_worker_free(s, w);
    redis_server_restart(&own);
    redis_server_remove(&own);
}

/* ---- free ---- */

struct victim {
    struct muster_worker *worker;
    enum muster_event_type on;
    int n_calls;
    bool has_started;
};

static void free_on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct victim *v = arg;
    v->n_calls += v->worker == NULL;
    v->has_started |= e->type == MUSTER_EVENT_STARTED;
    if (v->worker && e->type == v->on) {
        v->worker = NULL;
        muster_worker_free(w);
    }
}

static enum muster_outcome free_inside(struct muster_process *p, void *arg)
{
    struct victim *v = arg;
    v->worker = NULL;
    muster_worker_free(muster_process_worker(p));
    /* Deferred: the process is still there. */
    return muster_process_token(p) ? MUSTER_FINISH : MUSTER_FAIL;
}

static void victim_start(struct scene *s, struct victim *v, const char *id)
{
    const struct muster_worker_options o = {.size = sizeof o,
                                            .url = s->server->url,
                                            .prefix = s->prefix,
                                            .id = id,
                                            .base = s->base,
                                            .on_event = free_on_event,
                                            .arg = v};
    assert_ok(muster_worker_new(&v->worker, &o));
    assert_ok(muster_worker_start(v->worker));
    assert_ok(muster_worker_serve(v->worker, "q", 0, free_inside, v));
}

static bool has_started(void *arg)
{
    return ((struct victim *)arg)->has_started;
}

static bool is_freed(void *arg)
{
    return !((struct victim *)arg)->worker;
}

static void free_inside_a_handler_is_safe(void **state)
{
    struct scene *s = *state;
    struct victim v = {.on = MUSTER_EVENT_STOPPED};
    scene_enqueue_n(s, "q", "t", 3);
    victim_start(s, &v, "w1");
    wait_on(s->base, is_freed, &v, SOON_MS);
    run_loop(s->base, 50);
    assert_int_equal(v.n_calls, 0);
    /* It left without a word: what it held is still under its name. */
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 1);
}

static void free_inside_an_event_is_safe(void **state)
{
    struct scene *s = *state;
    const enum muster_event_type types[] = {MUSTER_EVENT_STARTED, MUSTER_EVENT_STOPPED, MUSTER_EVENT_DOWN,
                                            MUSTER_EVENT_DOUBT};
    for (size_t i = 0; i < N_OF(types); i++) {
        struct redis_server own;
        struct victim v = {.on = types[i]};
        struct scene elsewhere = *s;
        redis_server_start(&own, NULL);
        elsewhere.server = &own;
        victim_start(&elsewhere, &v, "w1");
        if (types[i] == MUSTER_EVENT_STOPPED)
            muster_worker_stop(v.worker, 0);
        else if (types[i] != MUSTER_EVENT_STARTED) {
            wait_on(s->base, has_started, &v, SOON_MS);
            redis_server_kill(&own);
        }
        wait_on(s->base, is_freed, &v, SOON_MS);
        run_loop(s->base, 20);
        assert_int_equal(v.n_calls, 0);
        redis_server_remove(&own);
    }
}

static void free_at_any_moment_of_the_start_is_safe(void **state)
{
    struct scene *s = *state;
    for (int turns = 0; turns < 30; turns++) {
        struct victim v = {.on = MUSTER_EVENT_STOPPED};
        char id[8];
        snprintf(id, sizeof id, "w%d", turns);
        victim_start(s, &v, id);
        for (int i = 0; i < turns; i++)
            event_base_loop(s->base, EVLOOP_NONBLOCK);
        struct muster_worker *w = v.worker;
        v.worker = NULL;
        muster_worker_free(w);
        run_loop(s->base, 4);
        assert_int_equal(v.n_calls, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_idle_worker_leaves_no_trace),
        live_test(stop_lets_running_handlers_end),
        live_test(stop_0_gives_everything_back_at_once_in_order),
        live_test(what_is_given_back_wakes_idle_workers),
        live_test(when_the_drain_time_is_over_handlers_are_told_and_the_rest_goes_back),
        live_test(a_second_stop_shortens_the_first),
        live_test(the_drain_time_of_the_options_is_the_default),
        live_test(stop_works_from_another_thread),
        live_test(stop_from_another_thread_wakes_a_sleeping_loop),
        live_test(sigterm_stops_a_worker_in_its_own_process),
        live_test(stop_inside_a_handler_lets_it_finish),
        live_test(stop_before_the_start_is_done_still_stops),
        live_test(a_stop_needs_no_registration_that_is_refused),
        live_test(a_worker_that_hears_no_answer_has_deregistered_all_the_same),
        live_test(without_redis_stop_ends_after_drain_time_and_ttl),
        live_test(a_worker_that_holds_nothing_leaves_a_redis_that_is_gone_within_a_ttl),
        live_test(a_worker_that_holds_something_keeps_its_drain_time),
        live_test(an_end_that_was_never_sent_is_said_as_that),
        live_test(free_inside_a_handler_is_safe),
        live_test(free_inside_an_event_is_safe),
        live_test(free_at_any_moment_of_the_start_is_safe),
    };
    return scene_run(tests, argc, argv);
}
