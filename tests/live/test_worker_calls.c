/* SPDX-License-Identifier: MIT
 *
 * What other threads have a worker's loop do: functions that are posted, serving and leaving, enqueueing; in which
 * order, and what becomes of it when the worker stops or is freed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epoll_worker.h"
#include "invariant.h"
#include "proxy.h"

enum { POSTERS = 4, POSTS = 2000 };

static bool is_set(void *arg)
{
    return atomic_load((atomic_int *)arg) > 0;
}

/* ---- posts ---- */

struct order {
    pthread_t thread; /* on which all must run */
    int next[POSTERS];
    atomic_int n, n_wrong;
    struct muster_worker *w;
};

struct numbered {
    struct order *order;
    int poster, number;
};

static void note(struct muster_worker *w, void *arg)
{
    struct numbered *n = arg;
    struct order *o = n->order;
    if (o->next[n->poster] != n->number || w != o->w)
        atomic_fetch_add(&o->n_wrong, 1);
    o->next[n->poster] = n->number + 1;
    if (atomic_fetch_add(&o->n, 1) == 0)
        o->thread = pthread_self();
    else if (!pthread_equal(o->thread, pthread_self()))
        atomic_fetch_add(&o->n_wrong, 1);
    free(n);
}

struct poster {
    struct order *order;
    int number;
};

static void *post_many(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < POSTS; i++) {
        struct numbered *n = malloc(sizeof *n);
        *n = (struct numbered){p->order, p->number, i};
        if (muster_worker_post(p->order->w, note, n) != MUSTER_OK) {
            atomic_fetch_add(&p->order->n_wrong, 1);
            free(n);
        }
    }
    return NULL;
}

static bool have_all_run(void *arg)
{
    return atomic_load(&((struct order *)arg)->n) == POSTERS * POSTS;
}

static void posts_run_once_in_order_on_the_loops_thread(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    struct order order = {.w = e->worker};
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){&order, i};
        pthread_create(&threads[i], NULL, post_many, &posters[i]);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    wait_until(have_all_run, &order, SOON_MS);
    assert_int_equal(atomic_load(&order.n_wrong), 0);
    assert_false(pthread_equal(order.thread, pthread_self()));
    assert_err(muster_worker_post(e->worker, NULL, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(e->worker), "function"));
    epoll_worker_free(e);
}

static void count(struct muster_worker *w, void *arg)
{
    (void)w;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void what_was_posted_before_the_start_runs_after_it(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0;
    struct muster_worker *w;
    struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix, .own_thread = 1};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_post(w, count, &n));
    assert_int_equal(atomic_load(&n), 0);
    assert_ok(muster_worker_start(w));
    wait_until(is_set, &n, SOON_MS);
    muster_worker_free(w);
}

static void what_is_posted_to_a_worker_that_is_freed_runs_all_the_same(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    for (int i = 0; i < 1000; i++)
        assert_ok(muster_worker_post(e->worker, count, &n));
    epoll_worker_free(e);
    assert_int_equal(atomic_load(&n), 1000);
}

static void a_worker_that_has_stopped_takes_no_posts(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    assert_ok(muster_worker_post(e->worker, count, &n));
    epoll_worker_stop(e, 0);
    assert_int_equal(atomic_load(&n), 1);
    assert_err(muster_worker_post(e->worker, count, &n), MUSTER_E_STATE);
    assert_err(muster_worker_enqueue(e->worker, "q", "t", 1, NULL, NULL), MUSTER_E_STATE);
    assert_err(muster_worker_leave(e->worker, "q"), MUSTER_E_STATE);
    epoll_worker_free(e);
    assert_int_equal(atomic_load(&n), 1);
}

static void free_it(struct muster_worker *w, void *arg)
{
    muster_worker_free(w);
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* On the loop's thread; nobody waits for that. */
static void a_post_may_free_the_worker(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0, n_after = 0;
    struct muster_worker *w;
    struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix, .own_thread = 1};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_post(w, free_it, &n));
    assert_ok(muster_worker_post(w, count, &n_after));
    assert_ok(muster_worker_start(w));
    wait_until(is_set, &n, SOON_MS);
    wait_until(is_set, &n_after, SOON_MS);
}

static void a_worker_on_the_programs_loop_takes_posts_too(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0;
    struct muster_worker *w;
    struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix, .base = s->base};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_post(w, count, &n));
    wait_on(s->base, is_set, &n, SOON_MS);
    muster_worker_free(w);
}

struct look {
    struct scene *scene;
    atomic_int n_looks;
    int64_t held;
};

static void look(struct muster_worker *w, void *arg)
{
    struct look *l = arg;
    (void)w;
    l->held = raw_int(l->scene->server->redis, "HLEN %s:processing:w:q", l->scene->prefix);
    atomic_fetch_add(&l->n_looks, 1);
}

static enum muster_outcome post_and_finish(struct muster_process *p, void *arg)
{
    return muster_worker_post(muster_process_worker(p), look, arg) == MUSTER_OK ? MUSTER_FINISH : MUSTER_FAIL;
}

/* Also on the loop's own thread, where the end needs nobody else. */
static void a_post_comes_before_an_end_that_follows_it(void **state)
{
    struct scene *s = *state;
    struct look l = {.scene = s};
    struct muster_worker *w;
    struct muster_worker_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .id = "w", .base = s->base};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_serve(w, "q", 0, post_and_finish, &l));
    scene_await_idle(s, "q", "w");
    scene_enqueue(s, "q", "t");
    wait_on(s->base, is_set, &l.n_looks, SOON_MS);
    assert_int_equal(l.held, 1);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w:q", s->prefix);
    muster_worker_free(w);
}

/* ---- serving and leaving ---- */

static void *serve_many(void *arg)
{
    struct order *o = arg;
    for (int i = 0; i < 50; i++) {
        if (muster_worker_serve(o->w, "other", 0, NULL, NULL) != MUSTER_OK)
            continue;
        atomic_fetch_add(&o->n, 1);
        if (muster_worker_leave(o->w, "other") != MUSTER_OK)
            atomic_fetch_add(&o->n_wrong, 1);
    }
    return NULL;
}

static void two_threads_serve_and_leave_the_same_queue(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    struct order order = {.w = e->worker};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, serve_many, &order);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(atomic_load(&order.n) > 0);
    assert_int_equal(atomic_load(&order.n_wrong), 0);
    epoll_worker_await_events(e, MUSTER_EVENT_LEFT, atomic_load(&order.n));
    epoll_worker_free(e);
}

static void a_refusal_has_its_words_on_the_callers_thread(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    assert_err(muster_worker_serve(e->worker, "other", -3, NULL, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(e->worker), "hands is -3"));
    assert_err(muster_worker_serve(e->worker, "q", 0, NULL, NULL), MUSTER_E_EXISTS);
    assert_err(muster_worker_leave(e->worker, "unknown"), MUSTER_E_NOT_FOUND);
    const char *argv[] = {"/nonexistent/program", NULL};
    struct muster_command command = {.size = sizeof command, .argv = argv};
    assert_err(muster_worker_serve_command(e->worker, "other", &command), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_worker_error(e->worker), "/nonexistent/program"));
    epoll_worker_free(e);
}

static void a_command_runs_beside_what_the_program_takes(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 2});
    const char *argv[] = {"true", NULL};
    struct muster_command command = {.size = sizeof command, .argv = argv};
    assert_ok(muster_worker_serve_command(e->worker, "commands", &command));
    scene_enqueue_n(s, "commands", "c", 3);
    epoll_worker_await_events(e, MUSTER_EVENT_ENDED, 3);
    scene_enqueue(s, "q", "t");
    epoll_worker_await_held(e, 1);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

static void beat(struct muster_worker *w, void *arg)
{
    (void)w;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void the_pulse_is_set_from_any_thread(void **state)
{
    struct scene *s = *state;
    atomic_int n = 0;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    assert_ok(muster_worker_set_pulse(e->worker, 1, beat, &n));
    wait_until(is_set, &n, SOON_MS);
    assert_ok(muster_worker_set_pulse(e->worker, 0, NULL, NULL));
    epoll_worker_free(e);
}

/* ---- enqueueing ---- */

static void an_answer_comes_by_next(void **state)
{
    struct scene *s = *state;
    int mine;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    raw_do(s->server->redis, "HSET %s:queue:other paused 1", s->prefix);
    for (int i = 1; i <= 3; i++) {
        assert_ok(muster_worker_enqueue(e->worker, "other", "t", 1, NULL, &mine));
        epoll_worker_await_answers(e, i);
        assert_ok(e->answer_err);
        assert_ptr_equal(e->answer_user, &mine);
        assert_int_equal(e->answer_waiting, i);
    }
    assert_ok(muster_worker_enqueue(e->worker, "other", "t", 1, NULL, NULL));
    scene_await_waiting(s, "other", 4);
    assert_int_equal(epoll_worker_turn(e, 50), 0); /* nobody asked */
    epoll_worker_free(e);
}

static void without_a_connection_the_answer_says_so(void **state)
{
    struct scene *s = *state;
    int mine;
    struct epoll_worker *e = epoll_worker_new(s, &(struct epoll_spec){.url = "unix:///nonexistent/redis.sock"});
    assert_ok(muster_worker_enqueue(e->worker, "q", "t", 1, NULL, &mine));
    epoll_worker_await_answers(e, 1);
    assert_err(e->answer_err, MUSTER_E_NOT_STARTED);
    epoll_worker_free(e);
}

/* At one instant. */
static const char at_least_one_place[] = "return redis.call('LLEN', KEYS[1] .. ':queues:q')\n"
                                         " + redis.call('HLEN', KEYS[1] .. ':processing:w:q')\n"
                                         " + redis.call('LLEN', KEYS[1] .. ':queues:next')";

/* Each process hands its work on and ends at once, on other threads than the loop's: never is neither there. */
static void what_is_enqueued_before_an_end_is_there_before_it(void **state)
{
    struct scene *s = *state;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 8, .prefetch = 8});
    raw_do(s->server->redis, "HSET %s:queue:next paused 1", s->prefix);
    scene_enqueue_n(s, "q", "t", 500);
    for (size_t from = 0; from < 500;) {
        epoll_worker_turn(e, SOON_MS);
        for (; from < e->n; from++) {
            struct account *a = e->accounts[from];
            assert_ok(muster_worker_enqueue(e->worker, "next", a->task, strlen(a->task), NULL, NULL));
            epoll_worker_end(e, a, MUSTER_FINISH);
        }
        assert_true(raw_int(s->server->redis, "EVAL %s 1 %s", at_least_one_place, s->prefix) >= 500);
    }
    epoll_worker_await_settled(e);
    assert_int_equal(scene_waiting(s, "next"), 500);
    epoll_worker_free(e);
}

static void what_is_not_fetched_is_bounded_by_a_refusal(void **state)
{
    struct scene *s = *state;
    int mine, err = MUSTER_OK;
    struct epoll_worker *e = epoll_worker_new(s, &(struct epoll_spec){.url = "unix:///nonexistent/redis.sock"});
    int n = 0;
    for (; n <= MUSTER_ANSWERS_MAX && err == MUSTER_OK; n += err == MUSTER_OK)
        err = muster_worker_enqueue(e->worker, "q", "t", 1, NULL, &mine);
    assert_err(err, MUSTER_E_BUSY);
    assert_int_equal(n, MUSTER_ANSWERS_MAX);
    epoll_worker_await_answers(e, MUSTER_ANSWERS_MAX);
    assert_ok(muster_worker_enqueue(e->worker, "q", "t", 1, NULL, &mine));
    epoll_worker_await_answers(e, MUSTER_ANSWERS_MAX + 1);
    epoll_worker_free(e);
}

/* ---- putting ---- */

static void a_put_is_answered_by_next_with_the_jobs_id(void **state)
{
    struct scene *s = *state;
    int mine;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    const char *const tags[] = {"red", "green"};
    char data[] = "the data", id[] = "j";
    struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = {data, 8}, .tags = tags, .n_tags = 2};
    raw_do(s->server->redis, "HSET %s:queue:other paused 1", s->prefix);
    assert_ok(muster_worker_put(e->worker, "other", &spec, NULL, &mine));
    memset(data, 'x', sizeof data); /* all of it was copied */
    memset(id, 'y', sizeof id - 1);
    epoll_worker_await_answers(e, 1);
    assert_ok(e->answer_err);
    assert_ptr_equal(e->answer_user, &mine);
    assert_string_equal(e->answer_job, "j");
    char *got = raw_string(s->server->redis, "HGET %s:job:j data", s->prefix);
    assert_string_equal(got, "the data");
    free(got);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:tag:green", s->prefix), 1);
    spec.id = NULL;
    spec.data = (struct muster_bytes){"t", 1};
    assert_ok(muster_worker_put(e->worker, "other", &spec, NULL, &mine));
    epoll_worker_await_answers(e, 2);
    assert_int_equal(strlen(e->answer_job), 32);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:%s", s->prefix, e->answer_job), 1);
    epoll_worker_free(e);
}

static void a_put_that_is_refused_says_why(void **state)
{
    struct scene *s = *state;
    int mine;
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 1});
    struct muster_job_spec spec = {.size = sizeof spec, .id = "j"};
    raw_do(s->server->redis, "HSET %s:queue:other paused 1", s->prefix);
    for (int i = 1; i <= 2; i++) {
        assert_ok(muster_worker_put(e->worker, "other", &spec, NULL, &mine));
        epoll_worker_await_answers(e, i);
        assert_err(e->answer_err, i == 1 ? MUSTER_OK : MUSTER_E_EXISTS);
    }
    assert_string_equal(muster_worker_error(e->worker),
                        "the job 'j' is waiting: replace or cancel it, or choose another id; nothing was changed");
    const char *const after[] = {"missing"};
    spec = (struct muster_job_spec){.size = sizeof spec, .id = "k", .after = after, .n_after = 1};
    assert_ok(muster_worker_put(e->worker, "other", &spec, NULL, &mine));
    epoll_worker_await_answers(e, 3);
    assert_err(e->answer_err, MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_worker_error(e->worker), "missing"));
    spec = (struct muster_job_spec){.size = sizeof spec, .cron = "* * * * *"};
    assert_err(muster_worker_put(e->worker, "other", &spec, NULL, &mine), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(e->worker), "muster_job_put()"));
    spec = (struct muster_job_spec){.size = sizeof spec, .retries = -7};
    assert_err(muster_worker_put(e->worker, "other", &spec, NULL, &mine), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(e->worker), "retries"));
    assert_err(muster_worker_put(e->worker, "", &spec, NULL, &mine), MUSTER_E_INVALID);
    assert_err(muster_worker_put(e->worker, "other", NULL, NULL, &mine), MUSTER_E_INVALID);
    assert_int_equal(epoll_worker_turn(e, 50), 0);
    epoll_worker_free(e);
}

struct told {
    atomic_int n, n_wrong;
};

struct asked {
    struct told *told;
    int number;
    char text[16];
};

static void note_told(struct asked *a, int err)
{
    if (err != MUSTER_OK || atomic_fetch_add(&a->told->n, 1) != a->number)
        atomic_fetch_add(&a->told->n_wrong, 1);
}

static void note_put(struct muster_worker *w, int err, const char *id, void *arg)
{
    struct asked *a = arg;
    (void)w;
    note_told(a, strcmp(id, a->text) == 0 ? err : MUSTER_E_INVALID);
}

static void note_enqueued(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    (void)w, (void)waiting;
    note_told(arg, err);
}

static bool are_told(void *arg)
{
    return atomic_load(&((struct told *)arg)->n) == 200;
}

/* Tasks and jobs by turns. Redis answers in the order in which it was asked. */
static void puts_and_enqueues_keep_their_order(void **state)
{
    struct scene *s = *state;
    struct told told = {0};
    struct asked asked[200];
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.hands = 200});
    for (int i = 0; i < 200; i++) {
        struct asked *a = &asked[i];
        *a = (struct asked){.told = &told, .number = i};
        snprintf(a->text, sizeof a->text, "j%d", i);
        struct muster_job_spec spec = {.size = sizeof spec, .id = a->text, .data = {a->text, strlen(a->text)}};
        if (i % 2 == 0)
            assert_ok(muster_worker_put(e->worker, "q", &spec, note_put, a));
        else
            assert_ok(muster_worker_enqueue(e->worker, "q", a->text, strlen(a->text), note_enqueued, a));
    }
    wait_until(are_told, &told, SOON_MS);
    assert_int_equal(atomic_load(&told.n_wrong), 0);
    epoll_worker_await_held(e, 200);
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
}

/* The call is executed and its answer lost; or it never arrives. */
static void a_put_without_an_answer_is_told_as_such(void **state)
{
    struct scene *s = *state;
    int mine, n = 0;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.url = proxy.url, .hands = 1});
    for (int way = PROXY_REQUESTS; way <= PROXY_REPLIES; way++) {
        struct muster_job_spec spec = {.size = sizeof spec, .id = way == PROXY_REQUESTS ? "j1" : "j2"};
        proxy_trap(&proxy, spec.id, way);
        int ups = e->events[MUSTER_EVENT_UP];
        assert_ok(muster_worker_put(e->worker, "other", &spec, NULL, &mine));
        epoll_worker_await_answers(e, ++n);
        assert_err(e->answer_err, MUSTER_E_CONN);
        epoll_worker_await_events(e, MUSTER_EVENT_UP, ups + 1);
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:j1", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:j2", s->prefix), 1);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

static void count_put(struct muster_worker *w, int err, const char *id, void *arg)
{
    (void)w, (void)err, (void)id;
    atomic_fetch_add((atomic_int *)arg, 1);
}

struct counted {
    const atomic_int *n;
    int wanted;
};

static bool has_come_to(void *arg)
{
    const struct counted *c = arg;
    return atomic_load(c->n) == c->wanted;
}

/* What the loop does with its connections meanwhile disturbs no call, and each has its answer. */
static void puts_go_on_while_connections_are_made(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    atomic_int n_answers = 0;
    int n_puts = 0;
    const struct muster_job_spec spec = {.size = sizeof spec};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct epoll_worker *e = epoll_worker_idle(s, &(struct epoll_spec){.url = proxy.url});
    for (int i = 0; i < 5; i++) {
        proxy_cut(&proxy, PROXY_BOTH);
        for (const int ups = e->events[MUSTER_EVENT_UP]; e->events[MUSTER_EVENT_UP] == ups; n_puts++) {
            assert_ok(muster_worker_put(e->worker, "other", &spec, count_put, &n_answers));
            epoll_worker_turn(e, 1);
        }
    }
    wait_until(has_come_to, (&(struct counted){&n_answers, n_puts}), SOON_MS);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(posts_run_once_in_order_on_the_loops_thread),
        live_test(what_was_posted_before_the_start_runs_after_it),
        live_test(what_is_posted_to_a_worker_that_is_freed_runs_all_the_same),
        live_test(a_worker_that_has_stopped_takes_no_posts),
        live_test(a_post_may_free_the_worker),
        live_test(a_worker_on_the_programs_loop_takes_posts_too),
        live_test(a_post_comes_before_an_end_that_follows_it),
        live_test(two_threads_serve_and_leave_the_same_queue),
        live_test(a_refusal_has_its_words_on_the_callers_thread),
        live_test(a_command_runs_beside_what_the_program_takes),
        live_test(the_pulse_is_set_from_any_thread),
        live_test(an_answer_comes_by_next),
        live_test(without_a_connection_the_answer_says_so),
        live_test(what_is_enqueued_before_an_end_is_there_before_it),
        live_test(what_is_not_fetched_is_bounded_by_a_refusal),
        live_test(a_put_is_answered_by_next_with_the_jobs_id),
        live_test(a_put_that_is_refused_says_why),
        live_test(puts_and_enqueues_keep_their_order),
        live_test(a_put_without_an_answer_is_told_as_such),
        live_test(puts_go_on_while_connections_are_made),
    };
    return scene_run(tests, argc, argv);
}
