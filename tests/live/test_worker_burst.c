/* SPDX-License-Identifier: MIT
 *
 * Workers that stop by themselves: when there is nothing more to do, or after a number of tasks; and queues that are
 * served in turn.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"

#define AN_HOUR 3600000

static const struct worker_spec burst = {.id = "w", .ttl_ms = AN_HOUR, .more.burst = 1, .queues = {{"q", 0}, {"r", 0}}};

static size_t n_events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

static int64_t n_waiting(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "LLEN %s:queues:%s", s->prefix, queue);
}

/* It ended well, by itself, and left nothing. */
static void await_end(struct scene *s, struct live_worker *w)
{
    scene_await_events(s, MUSTER_EVENT_STOPPED, NULL, 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void run_to_end(struct scene *s, const struct worker_spec *spec)
{
    await_end(s, live_worker_new(s, spec));
}

static void assert_list(struct scene *s, const char *expected)
{
    char *list = queued_tasks(s, "q");
    bool same = !strcmp(list, expected);
    if (!same)
        print_error("the queue holds %s\n", list);
    free(list);
    assert_true(same);
}

/* ---- burst ---- */

static void with_nothing_to_do_it_ends_at_once(void **state)
{
    struct scene *s = *state;
    run_to_end(s, &burst);
    assert_int_equal(scene_starts(s), 0);
}

static void it_ends_when_all_its_queues_are_empty(void **state)
{
    struct scene *s = *state;
    const struct {
        int hands, prefetch;
    } cases[] = {{1, 0}, {3, 0}, {2, 10}, {300, 0}, {1, 300}, {801, 0}, {1, 9999}};
    /* also more than one call, and all calls that may be in flight, may ask for */
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct worker_spec spec = burst;
        size_t before = scene_starts(s);
        spec.hands = cases[i].hands;
        spec.prefetch = cases[i].prefetch;
        scene_enqueue_n(s, "q", "a", 150);
        scene_enqueue_n(s, "r", "b", 7);
        struct live_worker *w = live_worker_new(s, &spec);
        scene_await_events(s, MUSTER_EVENT_STOPPED, NULL, i + 1);
        assert_int_equal(w->stop_err, MUSTER_OK);
        assert_int_equal(scene_starts(s) - before, 157);
        scene_assert_quiet(s);
    }
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* Each of the first twenty brings another one along, to either queue. */
static enum muster_outcome bring_another(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct scene *s = w->spec.arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (scene_starts(s) < 20)
        scene_enqueue(s, scene_starts(s) % 2 ? "q" : "r", "more");
    return MUSTER_FINISH;
}

static void what_comes_while_it_runs_is_done_too(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    spec.handler = bring_another;
    spec.arg = s;
    scene_enqueue(s, "q", "first");
    run_to_end(s, &spec);
    assert_int_equal(scene_starts(s), 20);
    scene_assert_quiet(s);
}

static void thaw(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    redis_server_thaw(((struct scene *)arg)->server);
}

static void end_in_doubt(struct live_worker *w, const struct muster_event *e)
{
    struct scene *s = w->spec.arg;
    const struct timeval soon = {0, 20000};
    if (e->type != MUSTER_EVENT_STOP)
        return;
    live_worker_end_one(w, e->process, MUSTER_FINISH);
    event_base_once(s->base, -1, EV_TIMEOUT, thaw, s, &soon);
}

/* In doubt an end is sent without a take, and what earlier takes had found need not be true any more. */
static void after_a_doubt_it_looks_again_before_it_ends(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = {.id = "w", .ttl_ms = 300, .hands = 2, .answer = MUSTER_LATER, .more.burst = 1};
    spec.queues[0].name = "q";
    spec.on_event = end_in_doubt;
    spec.arg = s;
    scene_enqueue_n(s, "q", "task", 2);
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_idle(s, "q", "w"); /* the take that went with this end has found nothing */
    raw_do(s->server->redis, "LPUSH %s:queues:q late", s->prefix); /* as a foreign producer: nobody is told */
    redis_server_freeze(s->server);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_end(s, w);
    scene_assert_quiet(s);
}

static void while_something_runs_it_does_not_end(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    spec.hands = 2;
    spec.answer = MUSTER_LATER;
    scene_enqueue(s, "q", "t0");
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w"); /* its other hand has found nothing */
    run_loop(s->base, 50);
    assert_false(w->has_stopped);
    scene_enqueue(s, "r", "t1");
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 1, "HGET %s:worker:w held", s->prefix); /* and nothing more was found */
    scene_enqueue(s, "q", "t2");
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_end(s, w);
    scene_assert_quiet(s);
}

/* One task is left to its delay by a worker that stops over it. */
static void delay_one(struct scene *s, int delay_ms)
{
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "before", .answer = MUSTER_LATER, .retry_ms = delay_ms, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "delayed");
    scene_await_starts(s, 1);
    assert_ok(muster_worker_stop(w->worker, -1));
    live_worker_end(w, MUSTER_RETRY);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "before", 1);
    live_worker_free(s, w);
}

static void delayed_work_is_not_waited_for(void **state)
{
    struct scene *s = *state;
    delay_one(s, AN_HOUR);
    struct live_worker *w = live_worker_new(s, &burst);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 1);
    assert_int_equal(scene_starts(s), 1);
}

static void due_work_is_done_first(void **state)
{
    struct scene *s = *state;
    delay_one(s, 20);
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s:delayed:q",
              "local t = redis.call('TIME')\n"
              "return redis.call('ZCOUNT', KEYS[1], '-inf', t[1] * 1000 + math.floor(t[2] / 1000))",
              s->prefix);
    live_worker_new(s, &burst);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "w", "delayed"), 1);
    scene_assert_quiet(s);
}

static void a_paused_queue_hands_out_nothing(void **state)
{
    struct scene *s = *state;
    assert_ok(muster_queue_pause(s->client, "q"));
    scene_enqueue_n(s, "q", "t", 3);
    scene_enqueue(s, "r", "x");
    run_to_end(s, &burst);
    scene_assert_started(s, 0, (const char *[]){"x", NULL});
    assert_int_equal(n_waiting(s, "q"), 3);
}

static void handlers_on_threads_and_children_are_waited_for(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {"sh", "-c", "sleep 0.1; exit 0", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct worker_spec spec = burst;
    spec.hands = spec.more.threads = 2;
    scene_enqueue_n(s, "q", "t", 50);
    scene_enqueue_n(s, "commands", "c", 4);
    struct live_worker *w = live_worker_new(s, &spec);
    assert_ok(muster_worker_serve_command(w->worker, "commands", &command));
    await_end(s, w);
    assert_int_equal(scene_starts(s), 50);
    scene_assert_quiet(s);
}

static void its_own_loop_ends_with_it(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    struct live_worker notes = {.journal = s->journal};
    const struct muster_worker_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .ttl_ms = AN_HOUR, .burst = 1};
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_serve(w, "q", 0, live_worker_handle, &notes));
    int err = muster_worker_run(w);
    muster_worker_free(w);
    assert_ok(err);
    assert_int_equal(scene_starts(s), 3);
    scene_assert_quiet(s);
}

static void after_a_lost_registration_it_goes_on_to_its_end(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    spec.answer = MUSTER_LATER;
    scene_enqueue_n(s, "q", "t", 2);
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    assert_ok(muster_worker_fail(s->client, "w", NULL));
    live_worker_answer(w, MUSTER_FINISH); /* from which it learns it */
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_LOST), 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_int_equal(scene_starts(s), 3);
    scene_assert_quiet(s);
}

static enum muster_outcome leave_the_other(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_worker_leave(w->worker, "r"));
    return MUSTER_FINISH;
}

static void a_queue_that_is_left_meanwhile_does_not_keep_it(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    spec.handler = leave_the_other;
    spec.queues[0].name = "r"; /* announced when the task of the second one begins */
    spec.queues[1].name = "q";
    scene_enqueue(s, "q", "t");
    run_to_end(s, &spec);
    assert_int_equal(scene_starts(s), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_LEFT), 1);
}

static void what_it_cancelled_or_retries_later_does_not_keep_it(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    uint64_t running = 0;
    spec.hands = 2;
    spec.answer = MUSTER_LATER;
    spec.retry_ms = AN_HOUR;
    scene_enqueue_n(s, "q", "t", 2);
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 2);
    assert_ok(muster_task_cancel(s->client, "q", "t0", 2, NULL, &running));
    assert_int_equal(running, 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1); /* upon which it gives back */
    live_worker_end(w, MUSTER_RETRY);
    await_end(s, w);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), 1);
}

/* ---- burst, after others have died ---- */

#define TTL_MS slow_ms(300)

/* `n` workers take a task each and die. This returns when the registry shows that their time is over. On a slow machine
 * the last ones may have swept the first ones. */
static void let_die(struct scene *s, size_t n)
{
    struct live_worker *dead[20];
    char ids[20][MUSTER_WORKER_ID_MAX + 1];
    scene_enqueue_n(s, "q", "t", (int)n);
    for (size_t i = 0; i < n; i++) {
        snprintf(ids[i], sizeof ids[i], "dead%zu", i);
        dead[i] = live_worker_new(
            s, &(struct worker_spec){
                   .id = ids[i], .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
        scene_await_starts(s, i + 1);
    }
    for (size_t i = 0; i < n; i++)
        live_worker_free(s, dead[i]);
    raw_await(s->server->redis, s->base, 0, "EVAL %s 1 %s:registry",
              "local t = redis.call('TIME')\n"
              "return redis.call('ZCOUNT', KEYS[1], t[1] * 1000 + math.floor(t[2] / 1000), 'inf')",
              s->prefix);
}

/* Nobody was there to sweep them but the burst itself, whose own start has ended a silence. More of them than one
 * heartbeat names. */
static void what_the_dead_held_is_done_too(void **state)
{
    struct scene *s = *state;
    const size_t cases[] = {1, 12};
    for (size_t i = 0; i < N_OF(cases); i++) {
        let_die(s, cases[i]);
        size_t before = scene_starts(s);
        struct worker_spec spec = burst;
        spec.hands = 3;
        live_worker_new(s, &spec);
        scene_await_events(s, MUSTER_EVENT_STOPPED, "w", i + 1);
        assert_int_equal(scene_starts(s) - before, cases[i]);
        assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 0);
        scene_assert_quiet(s);
    }
    invariant_assert(s->server->redis, s->prefix);
}

static char told[400];

static void keep_warning(enum muster_log_level level, const char *line, void *arg)
{
    (void)arg;
    if (level == MUSTER_LOG_WARN)
        snprintf(told, sizeof told, "%s", line);
}

/* A record that cannot be swept keeps no burst for ever, and its tasks are not left in silence. */
static void whom_it_cannot_sweep_it_names(void **state)
{
    struct scene *s = *state;
    let_die(s, 1);
    raw_do(s->server->redis, "DEL %s:worker:dead0", s->prefix);
    raw_do(s->server->redis, "SET %s:worker:dead0 text", s->prefix);
    struct worker_spec spec = burst;
    spec.ttl_ms = TTL_MS;
    told[0] = '\0';
    muster_log_set(keep_warning, NULL);
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    muster_log_set(NULL, NULL);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_non_null(strstr(told, "not swept yet, and may hold tasks: 1;"));
    assert_int_equal(scene_starts(s), 1);
}

#define REPLICAS_MS (10 * TTL_MS)

static enum muster_outcome hand_on_at_damage(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct scene *s = w->spec.arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    raw_do(s->server->redis, "HSET %s:worker:w ttl junk", s->prefix);
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, NULL, NULL));
    return MUSTER_FINISH;
}

/* Its heartbeats are refused for longer than a ttl, while its last end waits for what goes before it. */
static void what_is_done_is_sent_before_damage_ends_it(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = burst;
    spec.ttl_ms = TTL_MS;
    spec.handler = hand_on_at_damage;
    spec.arg = s;
    spec.more.replicas = 1; /* there is none */
    spec.more.replicas_ms = REPLICAS_MS;
    scene_enqueue(s, "q", "t");
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(w->stop_err, MUSTER_E_REDIS);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(scene_waiting(s, "q"), 0);
    assert_int_equal(scene_waiting(s, "elsewhere"), 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 0);
}

/* ---- max_tasks ---- */

static struct worker_spec at_most(uint64_t n, int hands, int prefetch)
{
    return (struct worker_spec){
        .id = "w", .ttl_ms = AN_HOUR, .hands = hands, .prefetch = prefetch, .more.max_tasks = n, .queues = {{"q", 0}}};
}

static void it_begins_exactly_that_many_and_the_rest_stays_in_order(void **state)
{
    struct scene *s = *state;
    const struct {
        uint64_t n;
        int hands, prefetch;
    } cases[] = {{1, 1, 0}, {1, 5, 5}, {4, 1, 0}, {4, 3, 0}, {4, 5, 3}, {4, 2, 50}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct worker_spec spec = at_most(cases[i].n, cases[i].hands, cases[i].prefetch);
        size_t before = scene_starts(s);
        raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
        scene_enqueue_n(s, "q", "t", 7);
        live_worker_new(s, &spec);
        scene_await_events(s, MUSTER_EVENT_STOPPED, NULL, i + 1);
        assert_int_equal(scene_starts(s) - before, cases[i].n);
        assert_list(s, cases[i].n == 1 ? "t6\nt5\nt4\nt3\nt2\nt1\n" : "t6\nt5\nt4\n");
    }
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
}

static void it_never_holds_more_than_it_may_begin(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = at_most(3, 2, 5);
    spec.answer = MUSTER_LATER;
    struct live_worker *w = live_worker_idle(s, &spec);
    for (int i = 0; i < 6; i++)
        scene_enqueue(s, "q", "t");
    scene_await_starts(s, 2);
    assert_int_equal(n_waiting(s, "q"), 3);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    assert_int_equal(n_waiting(s, "q"), 3);
    live_worker_end(w, MUSTER_FINISH);
    run_loop(s->base, 50);
    assert_false(w->has_stopped);
    live_worker_end(w, MUSTER_FINISH);
    await_end(s, w);
    assert_int_equal(n_waiting(s, "q"), 3);
}

static void each_begin_counts_whatever_its_end(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = at_most(3, 1, 0);
    spec.answer = MUSTER_GIVE_BACK;
    scene_enqueue(s, "q", "t");
    run_to_end(s, &spec);
    assert_int_equal(scene_starts(s), 3);
    assert_list(s, "t\n");
}

static void what_never_begins_does_not_count(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = at_most(3, 1, 2);
    uint64_t running = 0;
    spec.answer = MUSTER_LATER;
    scene_enqueue_n(s, "q", "t", 5);
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 3, "HLEN %s:processing:w:q", s->prefix);
    assert_ok(muster_task_cancel(s->client, "q", "t1", 2, NULL, &running));
    assert_int_equal(running, 1);
    raw_await(s->server->redis, s->base, 1, "HGET %s:queue:q cancelled", s->prefix);
    scene_await_waiting(s, "q", 1); /* another one came for it */
    live_worker_answer(w, MUSTER_FINISH);
    await_end(s, w);
    scene_assert_started(s, 0, (const char *[]){"t0", "t2", "t3", NULL});
    assert_list(s, "t4\n");
}

static void threads_and_children_begin_that_many_in_all(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {"true", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct worker_spec spec = at_most(10, 4, 4);
    spec.more.threads = 4;
    scene_enqueue_n(s, "q", "t", 8);
    scene_enqueue_n(s, "commands", "c", 8);
    struct live_worker *w = live_worker_new(s, &spec);
    assert_ok(muster_worker_serve_command(w->worker, "commands", &command));
    await_end(s, w);
    assert_int_equal(n_waiting(s, "q") + n_waiting(s, "commands"), 6);
}

/* Its last task ends between two registrations. */
static void end_between(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    live_worker_end(arg, MUSTER_FINISH);
}

static void end_soon(struct live_worker *w, const struct muster_event *e)
{
    struct scene *s = w->spec.arg;
    if (e->type == MUSTER_EVENT_STOP)
        event_base_once(s->base, -1, EV_TIMEOUT, end_between, w, &(struct timeval){0, 0});
}

static void a_lost_registration_does_not_keep_it(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = at_most(1, 1, 0);
    spec.ttl_ms = 600; /* a heartbeat tells it */
    spec.answer = MUSTER_LATER;
    spec.on_event = end_soon;
    spec.arg = s;
    scene_enqueue(s, "q", "t");
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    assert_ok(muster_worker_fail(s->client, "w", NULL));
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(w->stop_err, MUSTER_OK);
    assert_list(s, "t\n");
}

/* ---- in turn ---- */

static void begin_two_full_queues(struct scene *s, int in_turn)
{
    scene_enqueue_n(s, "q", "q", 5);
    scene_enqueue_n(s, "r", "r", 5);
    live_worker_new(s, &(struct worker_spec){
                           .id = "w", .ttl_ms = AN_HOUR, .more.in_turn = in_turn, .queues = {{"q", 0}, {"r", 0}}});
    scene_await_starts(s, 10);
}

static void in_turn_it_goes_from_queue_to_queue(void **state)
{
    struct scene *s = *state;
    begin_two_full_queues(s, 1);
    scene_assert_started(s, 0, (const char *[]){"q0", "r0", "q1", "r1", "q2", "r2", "q3", "r3", "q4", "r4", NULL});
}

static void without_it_the_first_one_served_comes_first(void **state)
{
    struct scene *s = *state;
    begin_two_full_queues(s, 0);
    scene_assert_started(s, 0, (const char *[]){"q0", "q1", "q2", "q3", "q4", "r0", "r1", "r2", "r3", "r4", NULL});
}

static void in_turn_an_empty_queue_is_passed_over(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "r", "r", 5);
    live_worker_idle(
        s, &(struct worker_spec){
               .id = "w", .ttl_ms = AN_HOUR, .more.in_turn = 1, .queues = {{"p", 0}, {"q", 0}, {"r", 0}, {"t", 0}}});
    scene_await_starts(s, 5);
    scene_assert_started(s, 0, (const char *[]){"r0", "r1", "r2", "r3", "r4", NULL});
    scene_assert_quiet(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(with_nothing_to_do_it_ends_at_once),
        live_test(it_ends_when_all_its_queues_are_empty),
        live_test(what_comes_while_it_runs_is_done_too),
        live_test(after_a_doubt_it_looks_again_before_it_ends),
        live_test(while_something_runs_it_does_not_end),
        live_test(delayed_work_is_not_waited_for),
        live_test(due_work_is_done_first),
        live_test(a_paused_queue_hands_out_nothing),
        live_test(handlers_on_threads_and_children_are_waited_for),
        live_test(its_own_loop_ends_with_it),
        live_test(after_a_lost_registration_it_goes_on_to_its_end),
        live_test(a_queue_that_is_left_meanwhile_does_not_keep_it),
        live_test(what_it_cancelled_or_retries_later_does_not_keep_it),
        live_test(what_the_dead_held_is_done_too),
        live_test(whom_it_cannot_sweep_it_names),
        live_test(what_is_done_is_sent_before_damage_ends_it),
        live_test(it_begins_exactly_that_many_and_the_rest_stays_in_order),
        live_test(it_never_holds_more_than_it_may_begin),
        live_test(each_begin_counts_whatever_its_end),
        live_test(what_never_begins_does_not_count),
        live_test(threads_and_children_begin_that_many_in_all),
        live_test(a_lost_registration_does_not_keep_it),
        live_test(in_turn_it_goes_from_queue_to_queue),
        live_test(without_it_the_first_one_served_comes_first),
        live_test(in_turn_an_empty_queue_is_passed_over),
    };
    return scene_run(tests, argc, argv);
}
