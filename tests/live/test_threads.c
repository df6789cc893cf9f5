/* SPDX-License-Identifier: MIT
 *
 * Handlers on threads: several at once, while the heartbeat goes on; how they are told to stop, end from any thread,
 * and are waited for.
 *
 * Events come in the loop's thread, which is the test's. Handlers that wait do so until the test opens the gate or they
 * are told to stop, so a test that fails leaves none running.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"

enum { TTL_MS = 1000, THREADS = 4, MANY = 10000, CHAINED = 20 };

/* One test's worker and what its handlers do together. */
struct shop {
    struct live_worker *w;
    atomic_bool is_open;
    atomic_int begun, done, reason, err_first, err_second;
    _Atomic(struct muster_process *) offered;
    atomic_int runs[MANY];
};

struct shop_spec {
    int threads, hands, prefetch;
    muster_handler_fn *handler;
};

static struct muster_worker_options options(struct scene *s, const struct shop_spec *spec)
{
    return (struct muster_worker_options){.size = sizeof(struct muster_worker_options),
                                          .url = s->server->url,
                                          .prefix = s->prefix,
                                          .id = "w",
                                          .base = s->base,
                                          .ttl_ms = TTL_MS,
                                          .hands = spec->hands,
                                          .threads = spec->threads,
                                          .prefetch = spec->prefetch,
                                          .on_event = live_worker_note};
}

/* Worker "w" on "q"; it is the scene's, the shop is the test's and outlives it. */
static void open_shop(struct scene *s, struct shop *shop, const struct shop_spec *spec)
{
    struct live_worker *w = calloc(1, sizeof *w);
    struct muster_worker_options o = options(s, spec);
    w->next = s->workers;
    s->workers = w;
    w->journal = s->journal;
    o.arg = w;
    shop->w = w;
    assert_ok(muster_worker_new(&w->worker, &o));
    assert_ok(muster_worker_start(w->worker));
    assert_ok(muster_worker_serve(w->worker, "q", 0, spec->handler, shop));
    scene_await_idle(s, "q", "w");
}

/* The shops are static: a test that fails is left by a jump, with handlers still running. */
static struct shop *new_shop(void)
{
    static struct shop shops[32];
    static size_t n;
    assert_true(n < N_OF(shops));
    return &shops[n++];
}

static void a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static bool should_wait(struct shop *shop, struct muster_process *p)
{
    return !atomic_load(&shop->is_open) && muster_process_stop_reason(p) == MUSTER_GO_ON;
}

static enum muster_outcome wait_at_the_gate(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    atomic_fetch_add(&shop->begun, 1);
    while (should_wait(shop, p))
        a_moment();
    atomic_store(&shop->reason, (int)muster_process_stop_reason(p));
    atomic_fetch_add(&shop->done, 1);
    return MUSTER_FINISH;
}

struct expected {
    atomic_int *number;
    int n;
};

static bool has_come(void *arg)
{
    struct expected *e = arg;
    return atomic_load(e->number) >= e->n;
}

static void await_number(struct scene *s, atomic_int *number, int n, int deadline_ms)
{
    struct expected e = {number, n};
    if (!wait_for(s->base, has_come, &e, deadline_ms))
        fail_msg("%d, not %d", atomic_load(number), n);
}

static size_t count(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

/* ---- at once, and the heartbeat goes on ---- */

static void handlers_run_in_parallel_for_three_ttls_and_nobody_sweeps_them(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = THREADS, .handler = wait_at_the_gate});
    scene_enqueue_n(s, "q", "t", THREADS);
    await_number(s, &shop->begun, THREADS, SOON_MS);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    run_loop(s->base, 3 * TTL_MS);
    assert_int_equal(atomic_load(&shop->done), 0);
    atomic_store(&shop->is_open, true);
    await_quiet(s);
    assert_int_equal(atomic_load(&shop->begun), THREADS);
    assert_int_equal(scene_starts(s), 0); /* of the heir */
    assert_int_equal(count(s, MUSTER_EVENT_DOUBT), 0);
    assert_int_equal(count(s, MUSTER_EVENT_STOP), 0);
    assert_int_equal(count(s, MUSTER_EVENT_SWEPT), 0);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
}

static void each_hand_needs_a_thread(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    struct muster_worker_options o = options(s, &(struct shop_spec){.threads = 2, .hands = 3});
    assert_err(muster_worker_new(&w, &o), MUSTER_E_INVALID);
    assert_null(w);
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 2, .hands = 1, .handler = wait_at_the_gate});
    scene_enqueue_n(s, "q", "t", 2);
    await_number(s, &shop->begun, 1, SOON_MS);
    assert_int_equal(scene_waiting(s, "q"), 1);
    atomic_store(&shop->is_open, true);
    await_quiet(s);
    assert_int_equal(atomic_load(&shop->done), 2);
}

/* ---- told to stop ---- */

static void a_lost_handler_reads_so_on_its_thread(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = wait_at_the_gate});
    scene_enqueue(s, "q", "t");
    await_number(s, &shop->begun, 1, SOON_MS);
    raw_do(s->server->redis, "HSET %s:queue:q paused 1", s->prefix); /* so that it does not come back at once */
    assert_ok(muster_worker_fail(s->client, "w", NULL));
    await_number(s, &shop->done, 1, SOON_MS);
    assert_int_equal(atomic_load(&shop->reason), MUSTER_STOP_LOST);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w", 1);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void when_the_drain_time_is_over_it_reads_so_and_the_task_goes_back(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 2, .handler = wait_at_the_gate});
    scene_enqueue_n(s, "q", "t", 2);
    await_number(s, &shop->begun, 2, SOON_MS);
    live_worker_stop(s, shop->w, 100);
    await_number(s, &shop->done, 2, SOON_MS);
    assert_int_equal(atomic_load(&shop->reason), MUSTER_STOP_DRAIN);
    assert_int_equal(shop->w->stop_err, MUSTER_OK);
    /* They are told to stop, and their answers no longer count. */
    assert_int_equal(scene_waiting(s, "q"), 2);
    assert_int_equal(count(s, MUSTER_EVENT_STOP), 2);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_stop_waits_for_the_handlers_and_gives_back_what_has_not_begun(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = THREADS, .prefetch = 2, .handler = wait_at_the_gate});
    scene_enqueue_n(s, "q", "t", THREADS + 2);
    await_number(s, &shop->begun, THREADS, SOON_MS);
    assert_ok(muster_worker_stop(shop->w->worker, 30000));
    scene_await_waiting(s, "q", 2);
    assert_int_equal(atomic_load(&shop->done), 0);
    atomic_store(&shop->is_open, true);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_int_equal(atomic_load(&shop->done), THREADS);
    assert_int_equal(atomic_load(&shop->reason), MUSTER_GO_ON);
    assert_int_equal(scene_waiting(s, "q"), 2);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
}

/* When it is told to stop, it takes its time to clean up. */
static enum muster_outcome clean_up(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    atomic_fetch_add(&shop->begun, 1);
    while (should_wait(shop, p))
        a_moment();
    atomic_store(&shop->reason, (int)muster_process_stop_reason(p));
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000}, NULL);
    atomic_fetch_add(&shop->done, 1);
    return MUSTER_GIVE_BACK;
}

static void free_tells_the_handlers_and_waits_for_them(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 3, .handler = clean_up});
    scene_enqueue_n(s, "q", "t", 3);
    await_number(s, &shop->begun, 3, SOON_MS);
    live_worker_free(s, shop->w);
    assert_int_equal(atomic_load(&shop->done), 3);
    assert_int_equal(atomic_load(&shop->reason), MUSTER_STOP_LOST);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 3);
}

/* ---- LATER ---- */

static enum muster_outcome offer(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    atomic_store(&shop->offered, p);
    atomic_fetch_add(&shop->begun, 1);
    return MUSTER_LATER;
}

static void *end_what_is_offered(void *arg)
{
    struct shop *shop = arg;
    atomic_store(&shop->err_first, muster_process_end(atomic_load(&shop->offered), MUSTER_FINISH));
    atomic_fetch_add(&shop->done, 1);
    return NULL;
}

static void later_is_ended_from_another_thread(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    pthread_t ender;
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = offer});
    for (int i = 1; i <= 20; i++) {
        scene_enqueue(s, "q", "t");
        await_number(s, &shop->begun, i, SOON_MS);
        pthread_create(&ender, NULL, end_what_is_offered, shop);
        pthread_join(ender, NULL);
        assert_ok(atomic_load(&shop->err_first));
        await_quiet(s);
    }
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
}

static void later_is_ended_from_the_loop(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = offer});
    scene_enqueue(s, "q", "t");
    await_number(s, &shop->begun, 1, SOON_MS);
    int err = MUSTER_E_STATE; /* until the loop has heard of its LATER */
    for (int64_t until = now_ms() + SOON_MS; err == MUSTER_E_STATE && now_ms() < until; run_loop(s->base, 1))
        err = muster_process_end(atomic_load(&shop->offered), MUSTER_FINISH);
    assert_ok(err);
    await_quiet(s);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
}

/* From a third thread, while the handler still runs, and once more: the process lives until the handler returns. */
static enum muster_outcome end_early(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    pthread_t ender;
    atomic_store(&shop->offered, p);
    atomic_fetch_add(&shop->begun, 1);
    pthread_create(&ender, NULL, end_what_is_offered, shop);
    pthread_join(ender, NULL);
    atomic_store(&shop->err_second, muster_process_end(p, MUSTER_FINISH));
    while (should_wait(shop, p))
        a_moment();
    return MUSTER_LATER;
}

static void an_end_that_comes_before_the_handler_has_returned_counts_then(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = end_early});
    scene_enqueue(s, "q", "t");
    await_number(s, &shop->done, 1, SOON_MS);
    run_loop(s->base, TTL_MS); /* the handler has not returned: nothing may be ended yet */
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
    atomic_store(&shop->is_open, true);
    await_quiet(s);
    assert_ok(atomic_load(&shop->err_first));
    assert_err(atomic_load(&shop->err_second), MUSTER_E_STATE);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
    scene_enqueue(s, "q", "next");
    await_number(s, &shop->begun, 2, SOON_MS);
    await_quiet(s);
}

static enum muster_outcome say_who_waits(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    atomic_store(&shop->offered, p);
    return wait_at_the_gate(p, arg);
}

/* The handler has the last word: it does not answer LATER. */
static void an_end_by_the_loop_waits_for_the_handler(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = say_who_waits});
    scene_enqueue(s, "q", "t");
    await_number(s, &shop->begun, 1, SOON_MS);
    assert_ok(muster_process_end(atomic_load(&shop->offered), MUSTER_FAIL));
    assert_err(muster_process_end(atomic_load(&shop->offered), MUSTER_FAIL), MUSTER_E_STATE);
    atomic_store(&shop->is_open, true);
    await_quiet(s);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
}

static enum muster_outcome say_who_waits_for_later(struct muster_process *p, void *arg)
{
    (void)say_who_waits(p, arg);
    return MUSTER_LATER;
}

/* As an answer to what it has handed on may come before its own. */
static void an_end_by_the_loop_may_come_before_later(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = say_who_waits_for_later});
    scene_enqueue(s, "q", "t");
    await_number(s, &shop->begun, 1, SOON_MS);
    assert_ok(muster_process_end(atomic_load(&shop->offered), MUSTER_FAIL));
    atomic_store(&shop->is_open, true);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
}

/* ---- outcomes ---- */

static enum muster_outcome answer_nonsense(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    (void)p;
    atomic_fetch_add(&shop->begun, 1);
    return (enum muster_outcome)77;
}

static void what_answers_no_outcome_on_a_thread_fails_task_or_job(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = answer_nonsense});
    scene_enqueue(s, "q", "the task");
    struct muster_job_spec spec = {.size = sizeof spec, .id = "j", .retries = 5};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    raw_await(s->server->redis, s->base, 2, "ZCARD %s:failed:q", s->prefix);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    bool good = strstr(entry, "no-outcomethe handler returned 77, which is no outcomethe task") != NULL;
    free(entry);
    assert_true(good);
    assert_int_equal(atomic_load(&shop->begun), 2);
    await_quiet(s);
}

static enum muster_outcome retry_once_then_fail(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    bool first = atomic_fetch_add(&shop->begun, 1) == 0;
    int err = first ? muster_process_set_retry(p, 200) : muster_process_set_failure(p, "a group", "the message");
    if (err)
        atomic_store(&shop->err_first, err);
    return first ? MUSTER_RETRY : MUSTER_FAIL;
}

static void retry_and_failure_are_set_on_the_thread(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .handler = retry_once_then_fail});
    int64_t before = now_ms();
    scene_enqueue(s, "q", "the task");
    await_number(s, &shop->begun, 2, SOON_MS);
    assert_true(now_ms() - before >= 190); /* Redis' clock and this one may be read in different milliseconds */
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    bool good = strstr(entry, "a groupthe messagethe task") != NULL;
    free(entry);
    assert_true(good);
    assert_ok(atomic_load(&shop->err_first));
    await_quiet(s);
}

/* ---- many ---- */

static enum muster_outcome count_run(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    const char *task = muster_process_task(p, NULL);
    int i = atoi(task + 1);
    bool is_later = i % 7 == 0;
    atomic_fetch_add(&shop->runs[i], 1);
    if (is_later && muster_process_end(p, MUSTER_FINISH) != MUSTER_OK)
        atomic_store(&shop->err_first, MUSTER_E_STATE);
    atomic_fetch_add(&shop->done, 1);
    return is_later ? MUSTER_LATER : MUSTER_FINISH;
}

static void many_tasks_on_eight_threads_run_exactly_once(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 8, .prefetch = 50, .handler = count_run});
    scene_enqueue_n(s, "q", "t", MANY);
    await_number(s, &shop->done, MANY, 6 * SOON_MS);
    await_quiet(s);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(atomic_load(&shop->runs[i]), 1);
    assert_ok(atomic_load(&shop->err_first));
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(count(s, MUSTER_EVENT_REFUSED), 0);
    live_worker_stop(s, shop->w, 0);
    assert_int_equal(atomic_load(&shop->done), MANY);
}

/* Of one thread: the tasks are numbered in the order in which they came. */
static enum muster_outcome count_in_order(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    int i = atoi((const char *)muster_process_task(p, NULL) + 1);
    if (i != atomic_fetch_add(&shop->begun, 1))
        atomic_store(&shop->err_first, MUSTER_E_STATE);
    atomic_fetch_add(&shop->done, 1);
    return MUSTER_FINISH;
}

static void one_thread_begins_in_the_order_of_coming(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .prefetch = 50, .handler = count_in_order});
    scene_enqueue_n(s, "q", "t", 500);
    await_number(s, &shop->done, 500, SOON_MS);
    assert_ok(atomic_load(&shop->err_first));
    await_quiet(s);
    live_worker_stop(s, shop->w, 0);
}

/* Each end has another one posted, while the loop carries it out. */
struct chain {
    struct live_worker *w;
    sem_t is_wanted, is_posted;
    struct event *turn;
    int n_ended, turns, first_turn, last_turn;
};

static void *end_what_is_wanted(void *arg)
{
    struct chain *c = arg;
    for (int i = 0; i < CHAINED; i++) {
        sem_wait(&c->is_wanted);
        (void)muster_process_end(c->w->held[i], MUSTER_FINISH);
        sem_post(&c->is_posted);
    }
    return NULL;
}

static void want_the_next(struct muster_worker *w, const struct muster_end *end, void *arg)
{
    struct chain *c = ((struct live_worker *)arg)->spec.arg;
    (void)w, (void)end;
    if (c->n_ended++ == 0)
        c->first_turn = c->turns;
    c->last_turn = c->turns;
    if (c->n_ended == CHAINED)
        return;
    sem_post(&c->is_wanted);
    sem_wait(&c->is_posted);
}

static void count_turn(evutil_socket_t fd, short what, void *arg)
{
    struct chain *c = arg;
    (void)fd, (void)what;
    c->turns++;
    event_add(c->turn, &(struct timeval){0});
}

static bool has_ended_all(void *arg)
{
    return ((struct chain *)arg)->n_ended == CHAINED;
}

static void those_who_say_something_all_the_time_leave_the_loop_its_turns(void **state)
{
    struct scene *s = *state;
    static struct chain c;
    pthread_t thread;
    c.w = live_worker_new(s, &(struct worker_spec){.id = "w",
                                                   .hands = CHAINED,
                                                   .answer = MUSTER_LATER,
                                                   .queues = {{"q", 0}},
                                                   .more.on_end = want_the_next,
                                                   .arg = &c});
    scene_enqueue_n(s, "q", "t", CHAINED);
    scene_await_starts(s, CHAINED);
    sem_init(&c.is_wanted, 0, 1);
    sem_init(&c.is_posted, 0, 0);
    c.turn = evtimer_new(s->base, count_turn, &c);
    count_turn(-1, 0, &c);
    pthread_create(&thread, NULL, end_what_is_wanted, &c);
    sem_wait(&c.is_posted);
    wait_on(s->base, has_ended_all, &c, SOON_MS);
    pthread_join(thread, NULL);
    event_free(c.turn);
    assert_in_range(c.last_turn - c.first_turn, CHAINED / 2, INT_MAX);
    await_quiet(s);
}

static enum muster_outcome wait_if_among_the_first(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    if (atoi((const char *)muster_process_task(p, NULL) + 1) < THREADS - 1)
        return wait_at_the_gate(p, arg);
    atomic_fetch_add(&shop->done, 1);
    return MUSTER_FINISH;
}

/* All threads but one wait: the one does all the rest, and nothing lies behind those that wait. */
static void who_waits_holds_up_its_own_task_only(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = THREADS, .prefetch = 50, .handler = wait_if_among_the_first});
    scene_enqueue_n(s, "q", "t", 200);
    await_number(s, &shop->done, 200 - (THREADS - 1), SOON_MS);
    raw_await(s->server->redis, s->base, THREADS - 1, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(atomic_load(&shop->begun), THREADS - 1);
    atomic_store(&shop->is_open, true);
    await_number(s, &shop->done, 200, SOON_MS);
    await_quiet(s);
    live_worker_stop(s, shop->w, 0);
}

/* ---- ahead: threads go on while the loop is elsewhere ---- */

/* One thread, at the gate with "t0"; the rest has come, and lies ahead. */
static struct shop *open_with_ahead(struct scene *s, int n, muster_handler_fn *handler)
{
    struct shop *shop = new_shop();
    open_shop(s, shop, &(struct shop_spec){.threads = 1, .prefetch = 20, .handler = handler});
    scene_enqueue_n(s, "q", "t", n);
    await_number(s, &shop->begun, 1, SOON_MS);
    raw_await(s->server->redis, s->base, n, "HGET %s:worker:w held", s->prefix);
    run_loop(s->base, 20); /* the messages are here */
    return shop;
}

/* Without the loop. */
static bool comes_without_the_loop(atomic_int *number, int n, int for_ms)
{
    for (int i = 0; i < for_ms && atomic_load(number) < n; i++)
        a_moment();
    return atomic_load(number) >= n;
}

static void a_thread_goes_on_while_the_loop_is_elsewhere(void **state)
{
    struct scene *s = *state;
    struct shop *shop = open_with_ahead(s, 10, wait_at_the_gate);
    atomic_store(&shop->is_open, true);
    assert_true(comes_without_the_loop(&shop->done, 10, SOON_MS));
    await_quiet(s);
    assert_int_equal(atomic_load(&shop->begun), 10);
}

/* Then peers may have the tasks. */
static void a_thread_begins_nothing_once_the_ttl_has_passed(void **state)
{
    struct scene *s = *state;
    struct shop *shop = open_with_ahead(s, 10, wait_at_the_gate);
    assert_false(comes_without_the_loop(&shop->done, 1, TTL_MS + 100));
    atomic_store(&shop->is_open, true);
    assert_true(comes_without_the_loop(&shop->done, 1, SOON_MS));
    assert_false(comes_without_the_loop(&shop->begun, 2, 100));
    await_number(s, &shop->done, 10, SOON_MS);
    await_quiet(s);
}

static enum muster_outcome answer_later_first(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    if (atomic_fetch_add(&shop->begun, 1) > 0)
        return MUSTER_FINISH;
    atomic_store(&shop->offered, p);
    while (should_wait(shop, p))
        a_moment();
    return MUSTER_LATER;
}

static void who_answers_later_keeps_its_hand(void **state)
{
    struct scene *s = *state;
    struct shop *shop = open_with_ahead(s, 3, answer_later_first);
    atomic_store(&shop->is_open, true);
    assert_false(comes_without_the_loop(&shop->begun, 2, 100));
    run_loop(s->base, 50);
    assert_int_equal(atomic_load(&shop->begun), 1);
    assert_ok(muster_process_end(atomic_load(&shop->offered), MUSTER_FINISH));
    await_number(s, &shop->begun, 3, SOON_MS);
    await_quiet(s);
}

static enum muster_outcome count_at_the_gate(struct muster_process *p, void *arg)
{
    struct shop *shop = arg;
    atomic_fetch_add(&shop->runs[atoi((const char *)muster_process_task(p, NULL) + 1)], 1);
    return wait_at_the_gate(p, arg);
}

static void what_is_cancelled_ahead_never_begins(void **state)
{
    struct scene *s = *state;
    struct shop *shop = open_with_ahead(s, 4, count_at_the_gate);
    assert_ok(muster_task_cancel(s->client, "q", "t2", 2, NULL, NULL));
    raw_await(s->server->redis, s->base, 3, "HGET %s:worker:w held", s->prefix);
    atomic_store(&shop->is_open, true);
    await_number(s, &shop->done, 3, SOON_MS);
    await_quiet(s);
    for (int i = 0; i < 4; i++)
        assert_int_equal(atomic_load(&shop->runs[i]), i != 2);
}

static void nothing_begins_once_its_queue_is_left(void **state)
{
    struct scene *s = *state;
    struct shop *shop = open_with_ahead(s, 4, wait_at_the_gate);
    assert_ok(muster_worker_leave(shop->w->worker, "q"));
    atomic_store(&shop->is_open, true);
    assert_true(comes_without_the_loop(&shop->done, 1, SOON_MS));
    assert_false(comes_without_the_loop(&shop->begun, 2, 100));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    assert_int_equal(scene_waiting(s, "q"), 3);
}

/* A suspect runs alone, and Redis hears of it first: so none of them lies ahead, nor what comes behind them. */
static void suspects_never_lie_ahead(void **state)
{
    struct scene *s = *state;
    struct shop *shop = new_shop();
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 2};
    scene_enqueue_n(s, "q", "t", 2);
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
    scene_enqueue_n(s, "q", "u", 3);
    open_shop(s, shop, &(struct shop_spec){.threads = 2, .prefetch = 20, .handler = wait_at_the_gate});
    await_number(s, &shop->begun, 1, SOON_MS);
    raw_await(s->server->redis, s->base, 5, "HGET %s:worker:w held", s->prefix);
    run_loop(s->base, 20);
    assert_int_equal(atomic_load(&shop->begun), 1);
    atomic_store(&shop->is_open, true);
    assert_true(comes_without_the_loop(&shop->done, 1, SOON_MS));
    assert_false(comes_without_the_loop(&shop->begun, 2, 100));
    await_number(s, &shop->done, 5, SOON_MS);
    await_quiet(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_answers_no_outcome_on_a_thread_fails_task_or_job),
        live_test(handlers_run_in_parallel_for_three_ttls_and_nobody_sweeps_them),
        live_test(each_hand_needs_a_thread),
        live_test(a_lost_handler_reads_so_on_its_thread),
        live_test(when_the_drain_time_is_over_it_reads_so_and_the_task_goes_back),
        live_test(a_stop_waits_for_the_handlers_and_gives_back_what_has_not_begun),
        live_test(free_tells_the_handlers_and_waits_for_them),
        live_test(later_is_ended_from_another_thread),
        live_test(later_is_ended_from_the_loop),
        live_test(an_end_that_comes_before_the_handler_has_returned_counts_then),
        live_test(an_end_by_the_loop_waits_for_the_handler),
        live_test(an_end_by_the_loop_may_come_before_later),
        live_test(retry_and_failure_are_set_on_the_thread),
        live_test(those_who_say_something_all_the_time_leave_the_loop_its_turns),
        live_test(one_thread_begins_in_the_order_of_coming),
        live_test(who_waits_holds_up_its_own_task_only),
        live_test(a_thread_goes_on_while_the_loop_is_elsewhere),
        live_test(a_thread_begins_nothing_once_the_ttl_has_passed),
        live_test(who_answers_later_keeps_its_hand),
        live_test(what_is_cancelled_ahead_never_begins),
        live_test(nothing_begins_once_its_queue_is_left),
        live_test(suspects_never_lie_ahead),
        live_test(many_tasks_on_eight_threads_run_exactly_once),
    };
    return scene_run(tests, argc, argv);
}
