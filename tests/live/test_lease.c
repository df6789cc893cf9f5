/* SPDX-License-Identifier: MIT
 *
 * Leases without waiting: taking, ending a process by its id, and lapsing. Waiting for a task: test_lease_wait.c.
 * Extending and listing: test_lease_list.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "live_worker.h"
#include "taken.h"

#define AN_HOUR 3600000

/* A lease that lapses: how long one is that is waited for. */
#define SHORT 30
#define WHOLE_TAKE_MS 3000 /* none lapses while the rest is taken */

static void await_lapse(struct scene *s, const struct taken *taken)
{
    await_server_ms(s, taken->rows[0].ends_at_ms);
}

/* ---- taking ---- */

static void tasks_are_taken_in_order_with_what_is_needed_to_end_them(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue_n(s, "a:b", "t", 5);
    int64_t before_ms = server_now_ms(s);
    assert_ok(take_n(s, "a:b", 3, AN_HOUR, &taken));
    int64_t after_ms = server_now_ms(s);
    assert_int_equal(taken.n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct taken_row *row = &taken.rows[i];
        const char task[] = {'t', (char)('0' + i), '\0'};
        assert_string_equal(row->task, task);
        assert_string_equal(row->worker, MUSTER_LEASE_ID);
        assert_null(muster_process_id_check(row->id));
        assert_int_equal(row->token, taken.rows[0].token + i);
        assert_in_range(row->started_at_ms, before_ms, after_ms);
        assert_in_range(row->ends_at_ms, before_ms + AN_HOUR, after_ms + AN_HOUR);
        assert_false(row->cancelled);
    }
    assert_queue_holds(s, "a:b", "t3 t4 ");
    assert_ok(take_n(s, "a:b", 1000, AN_HOUR, &taken));
    assert_int_equal(taken.n, 2);
    assert_err(take_n(s, "a:b", 1, AN_HOUR, &taken), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_client_error(s->client), "'a:b'"));
    assert_int_equal(taken.n, 0);
    assert_err(take_n(s, "no such queue", 1, AN_HOUR, &taken), MUSTER_E_NOT_FOUND);
}

static int count_to(const struct muster_process_info *p, void *arg)
{
    (void)p;
    return --*(int *)arg == 0;
}

static void the_callback_may_stop_and_the_others_are_leased_all_the_same(void **state)
{
    struct scene *s = *state;
    int until = 2;
    scene_enqueue_n(s, "q", "t", 5);
    assert_ok(muster_lease_take(s->client, "q", 4, AN_HOUR, 0, count_to, &until));
    assert_int_equal(until, 0);
    assert_int_equal(queue_row_of(s, "q").running, 4);
}

struct exact {
    const void *data;
    size_t len;
    bool is_same;
};

static int compare_exactly(const struct muster_process_info *p, void *arg)
{
    struct exact *exact = arg;
    exact->is_same = p->len == exact->len && memcmp(p->task, exact->data, p->len) == 0;
    return 0;
}

static void tasks_of_any_bytes_and_lengths_come_back_as_they_were(void **state)
{
    struct scene *s = *state;
    const size_t lens[] = {0, 1, 256, 16384, 16385, 1 << 20};
    unsigned char *bytes = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i++)
        bytes[i] = (unsigned char)(i * 7 + (i >> 8));
    bool is_same = true;
    for (size_t i = 0; i < N_OF(lens); i++) {
        struct exact exact = {bytes, lens[i], false};
        assert_ok(muster_task_enqueue(s->client, "q", bytes, lens[i], NULL));
        assert_ok(muster_lease_take(s->client, "q", 1, AN_HOUR, 0, compare_exactly, &exact));
        is_same = is_same && exact.is_same;
    }
    free(bytes);
    assert_true(is_same);
}

/* How much longer than its lease the lease of each of a take is. Then they are finished. */
static int64_t extra_ms(struct scene *s, size_t n)
{
    struct taken taken;
    const int64_t before_ms = server_now_ms(s);
    assert_ok(take_n(s, "q", n, AN_HOUR, &taken));
    const int64_t after_ms = server_now_ms(s), ends_at_ms = taken.rows[0].ends_at_ms;
    assert_int_equal(taken.n, n);
    assert_int_equal(raw_int(s->server->redis, "ZCOUNT %s:leases:q %lld %lld", s->prefix, (long long)ends_at_ms,
                             (long long)ends_at_ms),
                     (int64_t)n);
    for (size_t i = 0; i < n; i++)
        assert_ok(muster_lease_finish(s->client, taken.rows[i].id, NULL));
    const int64_t extra = (ends_at_ms - AN_HOUR - before_ms) / 5000 * 5000;
    assert_in_range(ends_at_ms - AN_HOUR - extra, before_ms, after_ms);
    return extra;
}

static void what_is_large_has_the_time_that_it_may_be_on_its_way(void **state)
{
    struct scene *s = *state;
    const size_t len = (size_t)1024 * 1024, small = 30720;
    char *bytes = calloc(1, len);
    const struct muster_job_spec job = {.size = sizeof job, .data = {bytes, len}};
    assert_non_null(bytes);
    assert_ok(muster_task_enqueue(s->client, "q", bytes, len, NULL));
    assert_int_equal(extra_ms(s, 1), 20000);
    for (int k = 0; k < 10; k++)
        assert_ok(muster_task_enqueue(s->client, "q", bytes, small, NULL));
    assert_int_equal(extra_ms(s, 9), 10000);
    assert_int_equal(extra_ms(s, 1), 5000);
    assert_ok(muster_task_enqueue(s->client, "q", bytes, small / 2, NULL));
    assert_int_equal(extra_ms(s, 1), 0);
    assert_ok(muster_job_put(s->client, "q", &job, NULL));
    assert_int_equal(extra_ms(s, 1), 20000);
    job_put(s, "q", "a", "data", "small");
    assert_ok(muster_task_enqueue(s->client, "q", bytes, len, NULL));
    assert_int_equal(extra_ms(s, 2), 20000); /* tasks beside jobs are taken in another way */
    free(bytes);
}

static void idle_workers_come_first(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    scene_assert_started(s, 0, (const char *const[]){"t0", NULL});
    assert_ok(take_n(s, "q", 2, AN_HOUR, &taken));
    assert_int_equal(taken.n, 1);
    assert_string_equal(taken.rows[0].task, "t1");
}

/* ---- ends ---- */

static void the_first_finish_wins_whichever_client_says_it(void **state)
{
    struct scene *s = *state;
    struct muster_client *other = scene_client(s);
    scene_enqueue_n(s, "q", "t", 2);
    const char *first = take_one(s, "q", "t0"), *second = take_one(s, "q", "t1");
    int err_of_other = muster_lease_finish(other, first, NULL);
    assert_err(muster_lease_finish(s->client, first, NULL), MUSTER_E_LOST);
    assert_non_null(strstr(muster_client_error(s->client), first));
    assert_ok(muster_lease_finish(s->client, second, NULL));
    int again_by_other = muster_lease_finish(other, second, NULL);
    muster_client_free(other);
    assert_ok(err_of_other);
    assert_err(again_by_other, MUSTER_E_LOST);
    scene_assert_quiet(s);
}

static void what_never_was_is_lost(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    const char *const nobodys[] = {".lease:00000000001:q", "w1:00000000001:q", ".lease:00000000001:no such queue"};
    for (size_t i = 0; i < N_OF(nobodys); i++) {
        assert_err(muster_lease_finish(s->client, nobodys[i], NULL), MUSTER_E_LOST);
        assert_err(muster_lease_give_back(s->client, nobodys[i]), MUSTER_E_LOST);
        assert_err(muster_lease_retry(s->client, nobodys[i], 0), MUSTER_E_LOST);
        assert_err(muster_lease_fail(s->client, nobodys[i], NULL, NULL), MUSTER_E_LOST);
        assert_err(muster_lease_extend(s->client, nobodys[i], NULL), MUSTER_E_LOST);
    }
    assert_queue_holds(s, "q", "t ");
    assert_int_equal(queue_row_of(s, "q").running, 0);
}

static void given_back_it_is_the_next_out(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 3);
    const char *process = take_one(s, "q", "t0");
    assert_ok(muster_lease_give_back(s->client, process));
    assert_err(muster_lease_give_back(s->client, process), MUSTER_E_LOST);
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    take_one(s, "q", "t0");
}

static void retried_it_is_the_last_at_once_or_when_it_is_due(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue_n(s, "q", "t", 2);
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t0"), 0));
    assert_queue_holds(s, "q", "t1 t0 ");
    int64_t before_ms = server_now_ms(s);
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t1"), SHORT));
    int64_t due_ms = server_now_ms(s) + SHORT;
    assert_int_equal(queue_row_of(s, "q").delayed, 1);
    take_one(s, "q", "t0");
    await_server_ms(s, due_ms);
    assert_ok(take_n(s, "q", 5, AN_HOUR, &taken));
    assert_int_equal(taken.n, 1);
    assert_string_equal(taken.rows[0].task, "t1");
    assert_true(taken.rows[0].started_at_ms >= before_ms + SHORT);
}

/* The worker's own end comes too late, and the worker is told so. */
static void a_workers_process_can_be_ended_by_its_id(void **state)
{
    struct scene *s = *state;
    struct taken all = {0};
    const struct worker_spec spec = {
        .id = "w1", .hands = 2, .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}};
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    assert_int_equal(all.n, 2);
    assert_ok(muster_lease_finish(s->client, all.rows[0].id, NULL));
    assert_err(muster_lease_finish(s->client, all.rows[0].id, NULL), MUSTER_E_LOST);
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w1 held", s->prefix), 1);
    assert_int_equal(queue_row_of(s, "q").running, 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", 1);
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w1 held", s->prefix);
    scene_enqueue_n(s, "q", "u", 2);
    scene_await_starts(s, 4);
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w1 held", s->prefix);
    scene_assert_quiet(s);
}

/* ---- lapsing ---- */

static void lapsed_tasks_are_the_next_out_in_the_order_of_their_take(void **state)
{
    struct scene *s = *state;
    struct taken taken, again;
    scene_enqueue_n(s, "q", "t", 12);
    assert_ok(take_n(s, "q", 10, SHORT, &taken));
    await_lapse(s, &taken);
    for (size_t i = 0; i < 10; i++) { /* they are suspects, which are taken alone */
        char task[32];
        snprintf(task, sizeof task, "t%zu", i);
        assert_ok(take_n(s, "q", 12, AN_HOUR, &again));
        assert_int_equal(again.n, 1);
        assert_string_equal(again.rows[0].task, task);
    }
    assert_ok(take_n(s, "q", 12, AN_HOUR, &again));
    assert_int_equal(again.n, 2);
    for (size_t i = 0; i < taken.n; i++)
        assert_err(muster_lease_finish(s->client, taken.rows[i].id, NULL), MUSTER_E_LOST);
    assert_int_equal(queue_row_of(s, "q").running, 12);
}

/* They go back in parts, and are taken one by one from now on, because they are suspects. */
static void the_largest_take_lapses_in_order(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue_n(s, "q", "t", MUSTER_LEASE_TAKE_MAX + 1);
    assert_ok(take_n(s, "q", MUSTER_LEASE_TAKE_MAX, WHOLE_TAKE_MS, &taken));
    assert_int_equal(taken.n, MUSTER_LEASE_TAKE_MAX);
    await_lapse(s, &taken);
    for (int i = 0; i < 400; i++) {
        char task[8];
        snprintf(task, sizeof task, "t%d", i);
        assert_ok(take_n(s, "q", 150, AN_HOUR, &taken));
        assert_int_equal(taken.n, 1);
        assert_string_equal(taken.rows[0].task, task);
    }
}

/* No call has come for the queue since: the late end itself finds that the lease has lapsed. */
static void an_end_that_comes_too_late_is_lost_and_the_task_is_back(void **state)
{
    static int (*const ends[])(struct muster_client *, const char *) = {muster_lease_give_back, muster_process_cancel};
    const struct muster_extend_options longer = {.size = sizeof longer, .lease_ms = AN_HOUR};
    struct scene *s = *state;
    struct taken taken;
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(ends) + 2; i++) {
        assert_ok(take_n(s, "q", 1, SHORT, &taken));
        await_lapse(s, &taken);
        const char *process = taken.rows[0].id;
        int err = i < N_OF(ends)    ? ends[i](s->client, process)
                  : i == N_OF(ends) ? muster_lease_finish(s->client, process, NULL)
                                    : muster_lease_extend(s->client, process, &longer);
        assert_err(err, MUSTER_E_LOST);
        assert_queue_holds(s, "q", "t ");
    }
}

static void a_lease_that_lapses_wakes_an_idle_worker_at_any_heartbeat(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue(s, "q", "t");
    assert_ok(take_n(s, "q", 1, 200, &taken));
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 300, .queues = {{"q", 0}}});
    scene_await_starts(s, 1);
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
}

static void a_sweep_moves_what_has_lapsed_on_all_queues(void **state)
{
    struct scene *s = *state;
    struct taken first, second;
    scene_enqueue_n(s, "q", "t", 2);
    scene_enqueue(s, "r", "u");
    scene_enqueue(s, "damaged", "v");
    assert_ok(take_n(s, "q", 2, SHORT, &first));
    assert_ok(take_n(s, "r", 1, SHORT, &second));
    await_lapse(s, &second);
    raw_do(s->server->redis, "SET %s:delayed:damaged x", s->prefix);
    assert_err(muster_client_sweep(s->client, NULL), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(s->client), "delayed:damaged"));
    assert_queue_holds(s, "q", "t0 t1 ");
    assert_queue_holds(s, "r", "u ");
    raw_do(s->server->redis, "DEL %s:delayed:damaged", s->prefix);
    assert_ok(muster_client_sweep(s->client, NULL));
}

static void lapse(struct scene *s, const char *queue, int times)
{
    for (int i = 0; i < times; i++) {
        struct taken taken;
        assert_ok(take_n(s, queue, 1, SHORT, &taken));
        await_lapse(s, &taken);
    }
    assert_ok(muster_client_sweep(s->client, NULL));
}

static int copy_failure(const struct muster_failure *failure, void *arg)
{
    snprintf(arg, 64, "%s %.*s", failure->group, (int)failure->len, (const char *)failure->task);
    return 0;
}

static void three_lapses_put_a_task_onto_the_failed_list(void **state)
{
    struct scene *s = *state;
    char failure[64] = "";
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    scene_enqueue_n(s, "q", "t", 2);
    lapse(s, "q", 3); /* the first one makes a suspect of it */
    assert_queue_holds(s, "q", "t0 t1 ");
    lapse(s, "q", 1);
    assert_queue_holds(s, "q", "t1 ");
    assert_ok(muster_failed_list(s->client, &f, copy_failure, failure));
    assert_string_equal(failure, "crashed t0");
    assert_int_equal(queue_row_of(s, "q").running, 0);
}

static void a_finish_forgets_the_lapses_before_it(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    lapse(s, "q", 3);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    scene_enqueue(s, "q", "t");
    lapse(s, "q", 3);
    assert_queue_holds(s, "q", "t ");
}

static void without_a_limit_of_crashes_it_always_comes_back(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    lapse(s, "q", 5);
    assert_queue_holds(s, "q", "t ");
    assert_int_equal(queue_row_of(s, "q").failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(tasks_are_taken_in_order_with_what_is_needed_to_end_them),
        live_test(the_callback_may_stop_and_the_others_are_leased_all_the_same),
        live_test(tasks_of_any_bytes_and_lengths_come_back_as_they_were),
        live_test(what_is_large_has_the_time_that_it_may_be_on_its_way),
        live_test(idle_workers_come_first),
        live_test(the_first_finish_wins_whichever_client_says_it),
        live_test(what_never_was_is_lost),
        live_test(given_back_it_is_the_next_out),
        live_test(retried_it_is_the_last_at_once_or_when_it_is_due),
        live_test(a_workers_process_can_be_ended_by_its_id),
        live_test(lapsed_tasks_are_the_next_out_in_the_order_of_their_take),
        live_test(the_largest_take_lapses_in_order),
        live_test(an_end_that_comes_too_late_is_lost_and_the_task_is_back),
        live_test(a_lease_that_lapses_wakes_an_idle_worker_at_any_heartbeat),
        live_test(a_sweep_moves_what_has_lapsed_on_all_queues),
        live_test(three_lapses_put_a_task_onto_the_failed_list),
        live_test(a_finish_forgets_the_lapses_before_it),
        live_test(without_a_limit_of_crashes_it_always_comes_back),
    };
    return scene_run(tests, argc, argv);
}
