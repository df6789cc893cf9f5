/* SPDX-License-Identifier: MIT
 *
 * A worker in a program with a loop of its own, which is epoll without libevent: what muster_worker_next() hands out
 * and when, ends from many threads, limits, leaving, stopping, freeing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "epoll_worker.h"
#include "invariant.h"
#include "live_worker.h"

enum { MANY = 10000, ENDERS = 4 };

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- what is handed out ---- */

static void a_process_comes_and_its_end_is_told(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2});
    scene_enqueue(s, "q", "the task");
    epoll_worker_await_held(e, 1);
    struct account *a = e->accounts[0];
    assert_string_equal(a->task, "the task");
    assert_int_equal(a->n_ended, 0);
    epoll_worker_end(e, a, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    assert_int_equal(a->n_ended, 1);
    assert_string_equal(a->how, "finished");
    await_quiet(s);
    epoll_worker_free(e);
}

static void each_outcome_is_told_in_its_word(void **state)
{
    struct scene *s = *state;
    static const char *const how[] = {"finished", "given back", "retried", "failed"};
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    for (int i = MUSTER_FINISH; i < MUSTER_LATER; i++) {
        scene_enqueue(s, "q", "t");
        epoll_worker_await_held(e, 1);
        struct account *a = e->accounts[e->n - 1];
        assert_ok(muster_process_set_retry(a->process, 0));
        epoll_worker_end(e, a, (enum muster_outcome)i);
        for (size_t was = e->n; (i == MUSTER_GIVE_BACK || i == MUSTER_RETRY) && was == e->n;)
            epoll_worker_turn(e, SOON_MS); /* it comes again */
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_await_settled(e);
        assert_string_equal(a->how, how[i]);
    }
    assert_int_equal(epoll_worker_count_uncounted(e), 0);
    epoll_worker_free(e);
}

static void a_job_comes_with_its_id(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    struct muster_job_spec spec = {.size = sizeof spec, .id = "j", .data = {"data", 4}};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    epoll_worker_await_held(e, 1);
    struct account *a = e->accounts[0];
    assert_string_equal(a->job, "j");
    assert_string_equal(a->task, "data");
    assert_ok(muster_process_set_result(a->process, "r", 1));
    epoll_worker_end(e, a, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    char *result = raw_string(s->server->redis, "HGET %s:job:j result", s->prefix);
    assert_string_equal(result, "r");
    free(result);
    epoll_worker_free(e);
}

static void no_more_are_out_than_there_are_hands(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3, .prefetch = 20});
    scene_enqueue_n(s, "q", "t", 10);
    epoll_worker_await_held(e, 3);
    assert_int_equal(epoll_worker_turn(e, 100), 0); /* and the descriptor is not readable */
    for (size_t i = 0; i < 10; i++) {
        char task[8];
        snprintf(task, sizeof task, "t%zu", i);
        assert_string_equal(e->accounts[i]->task, task);
        epoll_worker_end(e, e->accounts[i], MUSTER_FINISH);
        epoll_worker_await_held(e, i + 3 < 10 ? 3 : 9 - i);
    }
    epoll_worker_await_settled(e);
    await_quiet(s);
    epoll_worker_free(e);
}

static void a_queues_limit_holds_beside_another_queue(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_new(s, &(struct epoll_spec){.hands = 8, .prefetch = 20});
    assert_ok(muster_worker_serve(e->worker, "few", 2, NULL, NULL));
    assert_ok(muster_worker_serve(e->worker, "q", 0, NULL, NULL));
    epoll_worker_await_events(e, MUSTER_EVENT_STARTED, 1);
    scene_await_idle(s, "q", "w");
    scene_enqueue_n(s, "few", "f", 5);
    epoll_worker_await_held(e, 2);
    scene_enqueue_n(s, "q", "t", 3);
    epoll_worker_await_held(e, 5);
    epoll_worker_end(e, e->accounts[0], MUSTER_FINISH);
    epoll_worker_await_taken(e, 6);
    assert_string_equal(e->accounts[5]->task, "f2");
    while (e->n < 8 || e->n_held > 0) {
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_turn(e, 10);
    }
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

static enum muster_outcome finish(struct muster_process *p, void *arg)
{
    (void)p;
    atomic_fetch_add((atomic_int *)arg, 1);
    return MUSTER_FINISH;
}

static bool has_run(void *arg)
{
    return atomic_load((atomic_int *)arg) > 0;
}

/* What is offered has no hand; but it came first, and keeps its place. */
static void inline_handlers_and_the_program_share_the_hands(void **state)
{
    struct scene *s = *state;
    atomic_int n_run = 0;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2, .prefetch = 10});
    assert_ok(muster_worker_serve(e->worker, "inline", 0, finish, &n_run));
    scene_await_idle(s, "inline", "w");
    scene_enqueue(s, "q", "t0");
    epoll_worker_await_held(e, 1);
    scene_enqueue(s, "inline", "i0");
    epoll_worker_await_events(e, MUSTER_EVENT_ENDED, 1);
    assert_int_equal(atomic_load(&n_run), 1);
    scene_enqueue(s, "q", "t1");
    epoll_worker_await_held(e, 2);
    scene_enqueue(s, "inline", "i1");
    assert_int_equal(epoll_worker_turn(e, 100), 0);
    assert_int_equal(atomic_load(&n_run), 1);
    epoll_worker_end_all(e, MUSTER_FINISH);
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:inline running", s->prefix);
    assert_int_equal(atomic_load(&n_run), 2);
    await_quiet(s);
    epoll_worker_free(e);
}

static void max_tasks_is_the_most_that_is_handed_out(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e =
        epoll_worker_idle(s, &(struct epoll_spec){.hands = 4, .prefetch = 4, .more = {.max_tasks = 3}});
    scene_enqueue_n(s, "q", "t", 6);
    epoll_worker_await_taken(e, 3);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
    assert_int_equal(e->n, 3);
    assert_int_equal(epoll_worker_count_ended(e), 3);
    assert_int_equal(scene_waiting(s, "q"), 3);
    epoll_worker_free(e);
}

/* ---- many, from many threads ---- */

struct crowd {
    pthread_mutex_t lock;
    struct muster_process *given[MANY];
    size_t n_given, n_ended;
    bool is_over;
    atomic_int n_refused;
};

static size_t fetch(struct crowd *c, struct muster_process **out, size_t max)
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->n_given - c->n_ended;
    n = n < max ? n : max;
    memcpy(out, c->given + c->n_ended, n * sizeof(struct muster_process *));
    c->n_ended += n;
    if (n == 0 && c->is_over)
        n = SIZE_MAX;
    pthread_mutex_unlock(&c->lock);
    return n;
}

/* Every third batch one by one. */
static void *end_them(void *arg)
{
    struct crowd *c = arg;
    struct muster_process *batch[64];
    int turn = 0;
    for (size_t n; (n = fetch(c, batch, N_OF(batch))) != SIZE_MAX; turn += n > 0) {
        if (turn % 3 > 0 && muster_process_end_many(batch, n, MUSTER_FINISH) != MUSTER_OK)
            atomic_fetch_add(&c->n_refused, 1);
        for (size_t i = 0; turn % 3 == 0 && i < n; i++)
            if (muster_process_end(batch[i], MUSTER_FINISH) != MUSTER_OK)
                atomic_fetch_add(&c->n_refused, 1);
        if (n == 0)
            usleep(200);
    }
    return NULL;
}

static void give(struct crowd *c, struct epoll_worker *e, size_t from)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = from; i < e->n; i++)
        c->given[c->n_given++] = e->accounts[i]->process;
    for (size_t i = from; i < e->n; i++)
        e->accounts[i]->process = NULL;
    pthread_mutex_unlock(&c->lock);
}

static void assert_each_once(const struct epoll_worker *e, int n)
{
    static unsigned char seen[MANY];
    memset(seen, 0, sizeof seen);
    assert_int_equal(e->n, n);
    for (size_t i = 0; i < e->n; i++) {
        int number = atoi(e->accounts[i]->task + 1);
        assert_in_range(number, 0, n - 1);
        assert_int_equal(seen[number]++, 0);
    }
}

static void ten_thousand_are_ended_by_four_threads(void **state)
{
    struct scene *s = *state;
    static struct crowd crowd;
    crowd = (struct crowd){.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t enders[ENDERS];
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 300, .prefetch = 300});
    for (int i = 0; i < ENDERS; i++)
        pthread_create(&enders[i], NULL, end_them, &crowd);
    scene_enqueue_n(s, "q", "t", MANY);
    for (int64_t until = now_ms() + 6 * SOON_MS; epoll_worker_count_ended(e) < MANY && now_ms() < until;) {
        size_t from = e->n;
        epoll_worker_turn(e, 100);
        give(&crowd, e, from);
    }
    pthread_mutex_lock(&crowd.lock);
    crowd.is_over = true;
    pthread_mutex_unlock(&crowd.lock);
    for (int i = 0; i < ENDERS; i++)
        pthread_join(enders[i], NULL);
    assert_int_equal(atomic_load(&crowd.n_refused), 0);
    assert_each_once(e, MANY);
    assert_int_equal(epoll_worker_count_ended(e), MANY);
    assert_int_equal(epoll_worker_count_uncounted(e), 0);
    await_quiet(s);
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(e->worker, &stats));
    assert_int_equal(stats.finished, MANY);
    assert_int_equal(stats.running, 0);
    epoll_worker_free(e);
}

/* With one hand the next one goes out as soon as the program has ended the one before. */
static void one_hand_goes_from_one_to_the_next(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1, .prefetch = 100});
    scene_enqueue_n(s, "q", "t", 300);
    for (size_t n = 0; n < 300; n++) {
        epoll_worker_await_held(e, 1);
        epoll_worker_end_all(e, MUSTER_FINISH);
    }
    epoll_worker_await_settled(e);
    assert_each_once(e, 300);
    epoll_worker_free(e);
}

static void end_many_says_that_one_was_ended_before(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 3});
    scene_enqueue_n(s, "q", "t", 2);
    epoll_worker_await_held(e, 2);
    struct muster_process *p[] = {e->accounts[0]->process, e->accounts[1]->process, e->accounts[0]->process};
    assert_err(muster_process_end_many(p, 2, MUSTER_LATER), MUSTER_E_INVALID);
    e->accounts[0]->process = e->accounts[1]->process = NULL;
    e->n_held = 0;
    assert_err(muster_process_end_many(p, 3, MUSTER_FINISH), MUSTER_E_STATE);
    epoll_worker_await_settled(e);
    assert_int_equal(epoll_worker_count_ended(e), 2);
    epoll_worker_free(e);
}

/* ---- what speaks against it ---- */

static void one_that_is_cancelled_before_it_is_handed_out_never_comes(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1, .prefetch = 4});
    scene_enqueue_n(s, "q", "t", 4);
    epoll_worker_await_held(e, 1);
    raw_await(s->server->redis, NULL, 4, "HGET %s:queue:q running", s->prefix);
    assert_ok(muster_task_cancel(s->client, "q", "t2", 2, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "q", "t0", 2, NULL, NULL)); /* it is told after the one before */
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 1);
    assert_int_equal(e->accounts[0]->reason, MUSTER_STOP_CANCELLED);
    while (e->n < 3 || e->n_held > 0) {
        epoll_worker_end_all(e, MUSTER_FINISH);
        epoll_worker_turn(e, 10);
    }
    epoll_worker_await_settled(e);
    assert_string_equal(e->accounts[1]->task, "t1");
    assert_string_equal(e->accounts[2]->task, "t3");
    await_quiet(s);
    epoll_worker_free(e);
}

static void a_time_limit_begins_when_it_is_handed_out(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2, .limit_ms = 200});
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, NULL, 1, "HGET %s:queue:q running", s->prefix);
    int64_t until = now_ms() + 400;
    while (now_ms() < until) /* it lies there for longer than its limit */
        usleep(1000);
    epoll_worker_await_held(e, 1);
    assert_int_equal(e->events[MUSTER_EVENT_STOP], 0);
    epoll_worker_await_events(e, MUSTER_EVENT_STOP, 1);
    assert_int_equal(e->accounts[0]->reason, MUSTER_STOP_LIMIT);
    assert_int_equal(e->events[MUSTER_EVENT_NEAR_LIMIT], 1);
    epoll_worker_end_all(e, MUSTER_GIVE_BACK);
    epoll_worker_await_settled(e);
    assert_string_equal(e->accounts[0]->how, "failed");
    epoll_worker_free(e);
}

static void leaving_gives_back_what_was_not_handed_out_and_the_rest_is_told(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2, .prefetch = 4});
    scene_enqueue_n(s, "q", "t", 6);
    epoll_worker_await_held(e, 2);
    assert_ok(muster_worker_leave(e->worker, "q"));
    epoll_worker_await_events(e, MUSTER_EVENT_LEFT, 1);
    assert_int_equal(e->n, 2);
    assert_int_equal(e->accounts[0]->reason, MUSTER_STOP_DRAIN);
    assert_int_equal(scene_waiting(s, "q"), 6);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    assert_int_equal(epoll_worker_count_uncounted(e), 2);
    assert_err(muster_worker_leave(e->worker, "q"), MUSTER_E_NOT_FOUND);
    assert_ok(muster_worker_serve(e->worker, "q", 0, NULL, NULL));
    epoll_worker_await_taken(e, 4);
    epoll_worker_free(e);
}

static void a_stop_waits_for_what_was_handed_out_and_gives_back_the_rest(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2, .prefetch = 4});
    scene_enqueue_n(s, "q", "t", 6);
    epoll_worker_await_held(e, 2);
    assert_ok(muster_worker_stop(e->worker, 60000));
    scene_await_waiting(s, "q", 4);
    assert_int_equal(epoll_worker_turn(e, 50), 0);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
    assert_ok(e->stop_err);
    assert_int_equal(epoll_worker_count_ended(e), 2);
    assert_int_equal(scene_waiting(s, "q"), 4);
    struct muster_item item = {.size = sizeof item};
    assert_int_equal(muster_worker_next(e->worker, &item, 1), 0);
    assert_err(muster_worker_serve(e->worker, "other", 0, NULL, NULL), MUSTER_E_STATE);
    epoll_worker_free(e);
}

/* ---- freeing, forking, exiting ---- */

static void a_free_does_not_wait_for_what_was_handed_out(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2, .prefetch = 4});
    scene_enqueue_n(s, "q", "t", 6);
    epoll_worker_await_held(e, 2);
    epoll_worker_free(e);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 6);
}

static void a_worker_that_was_not_started_can_be_freed(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .own_thread = 1};
    assert_ok(muster_worker_new(&w, &o));
    assert_err(muster_worker_serve(w, "q", 0, NULL, NULL), MUSTER_E_NOT_STARTED);
    assert_non_null(strstr(muster_worker_error(w), "muster_worker_start()"));
    assert_err(muster_worker_run(w), MUSTER_E_STATE);
    assert_non_null(strstr(muster_worker_error(w), "own_thread"));
    muster_worker_free(w);
}

static void on_event_frees(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)e;
    muster_worker_free(w);
    atomic_store((atomic_int *)arg, 1);
}

static void it_may_be_freed_on_its_own_thread(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    atomic_int is_freed = 0;
    struct muster_worker_options o = {.size = sizeof o,
                                      .url = s->server->url,
                                      .prefix = s->prefix,
                                      .on_event = on_event_frees,
                                      .arg = &is_freed,
                                      .own_thread = 1};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    wait_until(has_run, &is_freed, SOON_MS);
}

static void a_child_that_exits_harms_nobody(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    scene_enqueue(s, "q", "t");
    epoll_worker_await_held(e, 1);
    pid_t pid = child_fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(child_reap(pid, SOON_MS), 0);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    assert_int_equal(epoll_worker_count_ended(e), 1);
    scene_enqueue(s, "q", "t");
    epoll_worker_await_held(e, 1);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

/* Nothing hangs on a thread that the child does not have. */
static void a_child_of_fork_has_no_part_in_it(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    pid_t pid = child_fork();
    if (pid == 0) {
        struct muster_worker *w = e->worker;
        struct muster_item item = {.size = sizeof item};
        bool is_refused = muster_worker_serve(w, "other", 0, NULL, NULL) == MUSTER_E_STATE &&
                          muster_worker_leave(w, "q") == MUSTER_E_STATE && muster_worker_run(w) == MUSTER_E_STATE &&
                          muster_worker_start(w) == MUSTER_E_STATE && muster_worker_fd(w) == MUSTER_E_STATE &&
                          muster_worker_post(w, NULL, NULL) == MUSTER_E_STATE && muster_worker_next(w, &item, 1) == 0;
        is_refused &= strstr(muster_worker_error(w), "the parent's") != NULL;
        muster_worker_free(w);
        _exit(is_refused ? 0 : 1);
    }
    assert_int_equal(child_reap(pid, SOON_MS), 0);
    scene_enqueue(s, "q", "t");
    epoll_worker_await_held(e, 1);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

/* The whole program ends by exit(), with handlers of exit and all, while the worker's thread is at work. */
static void exit_of_the_program_neither_waits_nor_harms(void **state)
{
    struct scene *s = *state;
    pid_t pid = child_fork();
    if (pid == 0) {
        muster_client_free(s->client);
        s->client = scene_client(s);
        struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 4, .prefetch = 4, .ttl_ms = 100});
        scene_enqueue_n(s, "q", "t", 100);
        while (e->n < 20) {
            epoll_worker_turn(e, 10);
            if (e->n < 20)
                epoll_worker_end_all(e, MUSTER_FINISH);
        }
        exit(7);
    }
    int status = child_reap(pid, SOON_MS);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    struct epoll_worker *heir = epoll_worker_idle(s, &(struct epoll_spec){.id = "heir", .hands = 100});
    scene_suspect_nothing(s);
    epoll_worker_await_events(heir, MUSTER_EVENT_SWEPT, 1);
    epoll_worker_stop(heir, 0);
    epoll_worker_free(heir);
}

/* A signal of the program's is never delivered on the library's thread. */
static atomic_int n_signals, n_elsewhere;
static pthread_t main_thread;

static void on_signal(int signo)
{
    (void)signo;
    atomic_fetch_add(&n_signals, 1);
    if (!pthread_equal(pthread_self(), main_thread))
        atomic_fetch_add(&n_elsewhere, 1);
}

static void signals_come_on_the_programs_threads(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    main_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_signal}, old;
    sigaction(SIGUSR1, &action, &old);
    for (int i = 0; i < 200; i++)
        kill(getpid(), SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
    assert_true(atomic_load(&n_signals) > 0);
    assert_int_equal(atomic_load(&n_elsewhere), 0);
    epoll_worker_free(e);
}

/* ---- what is refused ---- */

static void what_needs_an_own_thread_is_refused_without_one(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    struct muster_item item = {.size = sizeof item};
    struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .base = s->base};
    assert_ok(muster_worker_new(&w, &o));
    assert_err(muster_worker_fd(w), MUSTER_E_STATE);
    assert_int_equal(muster_worker_next(w, &item, 1), 0);
    assert_non_null(strstr(muster_worker_error(w), "own_thread"));
    assert_err(muster_worker_serve(w, "q", 0, NULL, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(w), "own_thread"));
    muster_worker_free(w);
    o.own_thread = 1;
    assert_err(muster_worker_new(&w, &o), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_options_check(&o), "base"));
    o.base = NULL;
    assert_ok(muster_worker_new(&w, &o));
    assert_err(muster_worker_run(w), MUSTER_E_STATE);
    muster_worker_free(w);
}

static void it_is_started_once(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    assert_err(muster_worker_start(e->worker), MUSTER_E_STATE);
    assert_err(muster_worker_run(e->worker), MUSTER_E_STATE);
    epoll_worker_free(e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_process_comes_and_its_end_is_told),
        live_test(each_outcome_is_told_in_its_word),
        live_test(a_job_comes_with_its_id),
        live_test(no_more_are_out_than_there_are_hands),
        live_test(a_queues_limit_holds_beside_another_queue),
        live_test(inline_handlers_and_the_program_share_the_hands),
        live_test(max_tasks_is_the_most_that_is_handed_out),
        live_test(ten_thousand_are_ended_by_four_threads),
        live_test(one_hand_goes_from_one_to_the_next),
        live_test(end_many_says_that_one_was_ended_before),
        live_test(one_that_is_cancelled_before_it_is_handed_out_never_comes),
        live_test(a_time_limit_begins_when_it_is_handed_out),
        live_test(leaving_gives_back_what_was_not_handed_out_and_the_rest_is_told),
        live_test(a_stop_waits_for_what_was_handed_out_and_gives_back_the_rest),
        live_test(a_free_does_not_wait_for_what_was_handed_out),
        live_test(a_worker_that_was_not_started_can_be_freed),
        live_test(it_may_be_freed_on_its_own_thread),
        live_test(a_child_that_exits_harms_nobody),
        live_test(a_child_of_fork_has_no_part_in_it),
        live_test(exit_of_the_program_neither_waits_nor_harms),
        live_test(signals_come_on_the_programs_threads),
        live_test(what_needs_an_own_thread_is_refused_without_one),
        live_test(it_is_started_once),
    };
    return scene_run(tests, argc, argv);
}
