/* SPDX-License-Identifier: MIT
 *
 * A worker's life: made, started, serving, running handlers on its own loop or the caller's, with its own connections
 * or given ones. How many handlers run and how they end: test_hands.c. Its stop: test_stop.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/async.h>

#include "live_worker.h"

/* ---- from start to finish ---- */

static void each_task_is_run_once_in_order_and_is_gone(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "before", 3);
    live_worker_new(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}}});
    scene_await_starts(s, 3);
    scene_await_idle(s, "q", "w1");
    scene_enqueue_n(s, "q", "after", 3);
    scene_await_starts(s, 6);
    scene_await_idle(s, "q", "w1");
    scene_assert_started(s, 0, (const char *[]){"before0", "before1", "before2", "after0", "after1", "after2", NULL});
    scene_assert_quiet(s);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, -1, NULL, NULL), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "w1", NULL), 1);
}

struct runner {
    int n, stop_at;
};

static enum muster_outcome count_and_stop(struct muster_process *p, void *arg)
{
    struct runner *r = arg;
    if (++r->n == r->stop_at)
        muster_worker_stop(muster_process_worker(p), -1);
    return MUSTER_FINISH;
}

static void a_worker_runs_its_own_loop_until_it_has_stopped(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    struct runner r = {.stop_at = 5};
    const struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix};
    scene_enqueue_n(s, "q", "t", 5);
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_serve(w, "q", 0, count_and_stop, &r));
    assert_ok(muster_worker_run(w));
    assert_int_equal(r.n, 5);
    muster_worker_free(w);
    scene_assert_quiet(s);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 0);
}

static void two_workers_share_one_loop(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "w1", NULL), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "w2", NULL), 1);
}

/* ---- what a process shows ---- */

struct shown {
    bool good;
    int n;
    uint64_t last_token;
};

static enum muster_outcome look(struct muster_process *p, void *arg)
{
    struct shown *shown = arg;
    size_t len;
    const char *task = muster_process_task(p, &len);
    const char *id = muster_process_id(p), *queue = muster_process_queue(p);
    shown->good &= len == 2 && task[0] == 't' && task[2] == '\0' && muster_process_task(p, NULL) == task;
    shown->good &= !strcmp(queue, "the:queue") && !strncmp(id, "w1:", 3);
    shown->good &= strlen(id) > strlen(queue) && !strcmp(id + strlen(id) - strlen(queue), queue);
    shown->good &= muster_process_token(p) > shown->last_token;
    shown->good &= muster_process_stop_reason(p) == MUSTER_GO_ON;
    shown->last_token = muster_process_token(p);
    shown->n++;
    return MUSTER_FINISH;
}

static bool has_shown_three(void *arg)
{
    return ((struct shown *)arg)->n == 3;
}

static void a_process_shows_its_id_queue_task_and_rising_token(void **state)
{
    struct scene *s = *state;
    struct shown shown = {.good = true};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1"});
    assert_ok(muster_worker_serve(w->worker, "the:queue", 0, look, &shown));
    scene_enqueue_n(s, "the:queue", "t", 3);
    wait_on(s->base, has_shown_three, &shown, SOON_MS);
    assert_true(shown.good);
}

/* ---- sizes ---- */

struct echo {
    const char *data;
    size_t len;
    int n_same, n;
};

static enum muster_outcome compare(struct muster_process *p, void *arg)
{
    struct echo *echo = arg;
    size_t len;
    const char *task = muster_process_task(p, &len);
    echo->n++;
    echo->n_same += len == echo->len && !memcmp(task, echo->data, len) && task[len] == '\0';
    return MUSTER_FINISH;
}

static bool has_echoed(void *arg)
{
    return ((struct echo *)arg)->n == 2;
}

/* Once from the list, and once by hand-over to the idle worker. */
static void a_task_of_any_size_arrives_byte_for_byte(void **state)
{
    struct scene *s = *state;
    const size_t lens[] = {0, 1, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1, 100 * 1024, 5 * 1024 * 1024};
    char *data = malloc(lens[N_OF(lens) - 1]);
    for (size_t i = 0; i < lens[N_OF(lens) - 1]; i++)
        data[i] = (char)(i * 2654435761U >> 11);
    for (size_t i = 0; i < N_OF(lens); i++) {
        struct echo echo = {.data = data, .len = lens[i]};
        char queue[16], id[16];
        snprintf(queue, sizeof queue, "q%zu", i);
        snprintf(id, sizeof id, "w%zu", i);
        assert_ok(muster_task_enqueue(s->client, queue, data, lens[i], NULL));
        struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = id, .ttl_ms = 60000});
        assert_ok(muster_worker_serve(w->worker, queue, 0, compare, &echo));
        scene_await_idle(s, queue, id);
        uint64_t waiting = 99;
        assert_ok(muster_task_enqueue(s->client, queue, data, lens[i], &waiting));
        assert_int_equal(waiting, 0);
        wait_on(s->base, has_echoed, &echo, SOON_MS);
        assert_int_equal(echo.n_same, 2);
        live_worker_free(s, w);
    }
    free(data);
}

/* ---- queues ---- */

static void queues_are_looked_at_in_the_order_in_which_they_were_served(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "third", "c", 2);
    scene_enqueue_n(s, "first", "a", 2);
    scene_enqueue_n(s, "second", "b", 2);
    live_worker_new(s, &(struct worker_spec){.id = "w1", .queues = {{"first", 0}, {"second", 0}, {"third", 0}}});
    scene_await_starts(s, 6);
    scene_assert_started(s, 0, (const char *[]){"a0", "a1", "b0", "b1", "c0", "c1", NULL});
}

static void a_queue_can_be_served_while_the_worker_runs(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}}});
    scene_enqueue(s, "late", "t");
    assert_ok(muster_worker_serve(w->worker, "late", 0, live_worker_handle, w));
    scene_await_starts(s, 1);
}

static void serving_is_refused_where_it_makes_no_sense(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    const struct muster_worker_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .base = s->base};
    assert_ok(muster_worker_new(&w, &o));
    assert_err(muster_worker_serve(w, "q", 0, live_worker_handle, NULL), MUSTER_E_NOT_STARTED);
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_start(w), MUSTER_E_STATE);
    assert_err(muster_worker_serve(w, "", 0, live_worker_handle, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, "a\nb", 0, live_worker_handle, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, "q", -1, live_worker_handle, NULL), MUSTER_E_INVALID);
    assert_ok(muster_worker_serve(w, "q", 0, live_worker_handle, NULL));
    assert_err(muster_worker_serve(w, "q", 2, live_worker_handle, NULL), MUSTER_E_EXISTS);
    for (int i = 1; i < MUSTER_WORKER_QUEUES_MAX; i++) {
        char queue[16];
        snprintf(queue, sizeof queue, "q%d", i);
        assert_ok(muster_worker_serve(w, queue, 0, live_worker_handle, NULL));
    }
    assert_err(muster_worker_serve(w, "one-more", 0, live_worker_handle, NULL), MUSTER_E_STATE);
    assert_ok(muster_worker_stop(w, 0));
    assert_err(muster_worker_serve(w, "late", 0, live_worker_handle, NULL), MUSTER_E_STATE);
    muster_worker_free(w);
}

static void a_thousand_queues_are_served(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = 60000});
    char queue[16];
    for (int i = 0; i < MUSTER_WORKER_QUEUES_MAX; i++) {
        snprintf(queue, sizeof queue, "q%d", i);
        assert_ok(muster_worker_serve(w->worker, queue, 0, live_worker_handle, w));
    }
    scene_await_idle(s, queue, "w1");
    scene_enqueue(s, "q0", "first");
    scene_await_starts(s, 1);
    scene_enqueue(s, queue, "last");
    scene_await_starts(s, 2);
}

/* ---- making one ---- */

static void bad_options_are_refused(void **state)
{
    (void)state;
    const size_t size = sizeof(struct muster_worker_options);
    struct redisAsyncContext *some = redisAsyncConnectUnix("/nonexistent");
    const struct muster_worker_options bad[] = {
        {.size = size, .url = "nonsense"},
        {.size = size, .url = "redis://127.0.0.1:6379?tls_insecure=1"},
        {.size = size, .prefix = "a:b"},
        {.size = size, .id = ""},
        {.size = size, .id = "a b"},
        {.size = size, .id = ".lease"},
        {.size = size, .ttl_ms = MUSTER_TTL_MIN_MS - 1},
        {.size = size, .ttl_ms = -1},
        {.size = size, .ttl_ms = 24 * 3600 * 1000 + 1},
        {.size = size, .hands = -1},
        {.size = size, .hands = MUSTER_HANDS_MAX + 1},
        {.size = size, .prefetch = -1},
        {.size = size, .hands = MUSTER_HANDS_MAX, .prefetch = 1},
        {.size = size, .data = some},
        {.size = size, .subscription = some},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct muster_worker *w = (struct muster_worker *)&size;
        int err = muster_worker_new(&w, &bad[i]);
        if (err != MUSTER_E_INVALID)
            fail_msg("options %zu were not refused: %s", i, muster_err_name(err));
        assert_null(w);
    }
    redisAsyncFree(some);
}

static void defaults_need_no_options(void **state)
{
    (void)state;
    struct muster_worker *w, *other;
    assert_ok(muster_worker_new(&w, NULL));
    assert_ok(muster_worker_new(&other, NULL));
    assert_null(muster_worker_id_check(muster_worker_id(w)));
    assert_string_not_equal(muster_worker_id(w), muster_worker_id(other));
    assert_string_equal(muster_worker_error(w), "");
    assert_err(muster_worker_run(w), MUSTER_E_STATE);
    muster_worker_free(w);
    muster_worker_free(other);
    muster_worker_free(NULL);
}

static void a_worker_on_the_callers_loop_does_not_run_it(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1"});
    assert_err(muster_worker_run(w->worker), MUSTER_E_STATE);
}

/* ---- given connections ---- */

static void given_connections_are_used(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w1",
                                     .data = redisAsyncConnectUnix(s->server->socket),
                                     .subscription = redisAsyncConnectUnix(s->server->socket),
                                     .queues = {{"q", 0}}};
    scene_enqueue(s, "q", "first");
    int64_t before = redis_server_info(s->server, "total_connections_received");
    live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "second");
    scene_await_starts(s, 2);
    assert_in_range(redis_server_info(s->server, "total_connections_received"), before, before);
}

static void given_connections_that_break_are_replaced_by_the_url(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w1",
                                     .data = redisAsyncConnectUnix(s->server->socket),
                                     .subscription = redisAsyncConnectUnix(s->server->socket),
                                     .queues = {{"q", 0}}};
    live_worker_idle(s, &spec);
    size_t ups = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UP, "w1", NULL);
    raw_do(s->server->redis, "CLIENT KILL TYPE normal");
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
    scene_await_events(s, MUSTER_EVENT_UP, "w1", ups + 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, NULL, NULL), 0);
}

static void given_connections_that_break_without_a_url_stop_the_worker(void **state)
{
    struct scene *s = *state;
    struct live_worker w = {.journal = s->journal};
    const struct muster_worker_options o = {.size = sizeof o,
                                            .prefix = s->prefix,
                                            .id = "w1",
                                            .base = s->base,
                                            .data = redisAsyncConnectUnix(s->server->socket),
                                            .subscription = redisAsyncConnectUnix(s->server->socket),
                                            .on_event = live_worker_note,
                                            .arg = &w};
    assert_ok(muster_worker_new(&w.worker, &o));
    assert_ok(muster_worker_start(w.worker));
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 1);
    raw_do(s->server->redis, "CLIENT KILL TYPE normal");
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_int_equal(w.stop_err, MUSTER_E_CONN);
    muster_worker_free(w.worker);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_task_is_run_once_in_order_and_is_gone),
        live_test(a_worker_runs_its_own_loop_until_it_has_stopped),
        live_test(two_workers_share_one_loop),
        live_test(a_process_shows_its_id_queue_task_and_rising_token),
        live_test(a_task_of_any_size_arrives_byte_for_byte),
        live_test(queues_are_looked_at_in_the_order_in_which_they_were_served),
        live_test(a_queue_can_be_served_while_the_worker_runs),
        live_test(serving_is_refused_where_it_makes_no_sense),
        live_test(a_thousand_queues_are_served),
        live_test(bad_options_are_refused),
        live_test(defaults_need_no_options),
        live_test(a_worker_on_the_callers_loop_does_not_run_it),
        live_test(given_connections_are_used),
        live_test(given_connections_that_break_are_replaced_by_the_url),
        live_test(given_connections_that_break_without_a_url_stop_the_worker),
    };
    return scene_run(tests, argc, argv);
}
