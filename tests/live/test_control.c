/* SPDX-License-Identifier: MIT
 *
 * Cancel, pause, resume and delete by the client: what is removed, what is marked, what is counted, and what becomes of
 * a process that was marked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "invariant.h"
#include "live_worker.h"
#include "taken.h"

static void enqueue_each(struct scene *s, const char *queue, const char *const *tasks)
{
    for (; *tasks; tasks++)
        scene_enqueue(s, queue, *tasks);
}

static void assert_cancelled(struct scene *s, const char *queue, const char *task, uint64_t waiting, uint64_t running)
{
    uint64_t removed = 99, marked = 99;
    assert_ok(muster_task_cancel(s->client, queue, task, strlen(task), &removed, &marked));
    assert_int_equal(removed, waiting);
    assert_int_equal(marked, running);
}

/* ---- cancelling a task ---- */

static void all_copies_that_wait_or_are_delayed_are_removed_and_counted(void **state)
{
    struct scene *s = *state;
    enqueue_each(s, "q", (const char *const[]){"t", "t", NULL});
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), 3600000));
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), 3600000));
    enqueue_each(s, "q", (const char *const[]){"a", "t", "tt", "t", "", "t", NULL});
    enqueue_each(s, "r", (const char *const[]){"t", NULL});
    assert_cancelled(s, "q", "t", 5, 0);
    assert_queue_holds(s, "q", "a tt  ");
    assert_queue_holds(s, "r", "t ");
    assert_int_equal(queue_row_of(s, "q").delayed, 0);
    assert_int_equal(queue_row_of(s, "q").cancelled, 5);
    assert_int_equal(queue_row_of(s, "r").cancelled, 0);
    assert_cancelled(s, "q", "t", 0, 0);
    assert_cancelled(s, "no such queue", "t", 0, 0);
    assert_ok(muster_task_cancel(s->client, "q", NULL, 0, NULL, NULL));
    assert_queue_holds(s, "q", "a tt ");
}

/* Two tasks of all byte values that differ in the last one. */
static void a_copy_is_one_of_the_same_bytes(void **state)
{
    struct scene *s = *state;
    unsigned char task[256], other[256];
    uint64_t waiting, running;
    struct taken taken;
    for (int i = 0; i < 256; i++)
        task[i] = other[i] = (unsigned char)i;
    other[255] = 0;
    assert_ok(muster_task_enqueue(s->client, "q", task, 256, NULL));
    assert_ok(take_n(s, "q", 1, 3600000, &taken));
    assert_ok(muster_task_enqueue(s->client, "q", other, 256, NULL));
    assert_ok(take_n(s, "q", 1, 3600000, &taken));
    assert_ok(muster_task_enqueue(s->client, "q", other, 256, NULL));
    assert_ok(muster_task_enqueue(s->client, "q", task, 256, NULL));
    assert_ok(muster_task_enqueue(s->client, "q", task, 255, NULL));
    assert_ok(muster_task_cancel(s->client, "q", task, 256, &waiting, &running));
    assert_int_equal(waiting, 1);
    assert_int_equal(running, 1);
    assert_int_equal(queue_row_of(s, "q").waiting, 2);
}

static void running_copies_are_marked_in_all_hands(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {
        .id = "w1", .hands = 2, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}};
    live_worker_idle(s, &spec);
    enqueue_each(s, "q", (const char *const[]){"t", "u", NULL});
    scene_await_starts(s, 2);
    enqueue_each(s, "q", (const char *const[]){"t", "t", "t", NULL});
    take_one(s, "q", "t");
    take_one(s, "q", "t");
    assert_cancelled(s, "q", "t", 1, 3);
    struct taken all = {0};
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    assert_int_equal(all.n, 4);
    for (size_t i = 0; i < all.n; i++)
        assert_int_equal(all.rows[i].cancelled, strcmp(all.rows[i].task, "t") == 0);
    assert_int_equal(queue_row_of(s, "q").running, 4);
    assert_int_equal(queue_row_of(s, "q").cancelled, 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
}

/* What each end makes of a process that was cancelled. */
static int finish(struct muster_client *c, const char *process)
{
    return muster_lease_finish(c, process, NULL);
}

static int retry_at_once(struct muster_client *c, const char *process)
{
    return muster_lease_retry(c, process, 0);
}

static int retry_later(struct muster_client *c, const char *process)
{
    return muster_lease_retry(c, process, 3600000);
}

static int fail_it(struct muster_client *c, const char *process)
{
    return muster_lease_fail(c, process, NULL, NULL);
}

static const struct {
    int (*end)(struct muster_client *c, const char *process);
    uint64_t cancelled;
} ends[] = {{finish, 0}, {muster_lease_give_back, 1}, {retry_at_once, 1}, {retry_later, 1}, {fail_it, 1}};

static void a_cancelled_process_ends_finished_or_cancelled(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ends); i++) {
        char queue[8];
        snprintf(queue, sizeof queue, "q%zu", i);
        scene_enqueue(s, queue, "t");
        const char *process = take_one(s, queue, "t");
        assert_cancelled(s, queue, "t", 0, 1);
        assert_err(ends[i].end(s->client, process), ends[i].end == finish ? MUSTER_OK : MUSTER_E_CANCELLED);
        const struct muster_queue_info row = queue_row_of(s, queue);
        assert_int_equal(row.waiting + row.running + row.delayed + row.failed, 0);
        assert_int_equal(row.cancelled, ends[i].cancelled);
        assert_err(ends[i].end(s->client, process), MUSTER_E_LOST);
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:marks:.lease", s->prefix), 0);
}

static void a_cancelled_lease_that_lapses_is_gone(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    enqueue_each(s, "q", (const char *const[]){"t", "u", NULL});
    assert_ok(take_n(s, "q", 2, 30, &taken));
    assert_cancelled(s, "q", "t", 0, 1);
    await_server_ms(s, taken.rows[0].ends_at_ms);
    take_one(s, "q", "u");
    assert_err(take_n(s, "q", 1, 3600000, &taken), MUSTER_E_NOT_FOUND);
    assert_int_equal(queue_row_of(s, "q").cancelled, 1);
}

static void copies_on_the_failed_list_stay(void **state)
{
    struct scene *s = *state;
    enqueue_each(s, "q", (const char *const[]){"t", NULL});
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), NULL, NULL));
    assert_cancelled(s, "q", "t", 0, 0);
    assert_int_equal(queue_row_of(s, "q").failed, 1);
}

/* ---- cancelling a process ---- */

static void one_process_is_cancelled_and_its_twin_is_not(void **state)
{
    struct scene *s = *state;
    const struct muster_extend_options longer = {.size = sizeof longer, .lease_ms = 3600000};
    enqueue_each(s, "a:b", (const char *const[]){"t", "t", NULL});
    const char *first = take_one(s, "a:b", "t"), *second = take_one(s, "a:b", "t");
    assert_ok(muster_process_cancel(s->client, first));
    assert_ok(muster_process_cancel(s->client, first));
    assert_err(muster_lease_extend(s->client, first, &longer), MUSTER_E_STATE);
    assert_non_null(strstr(muster_client_error(s->client), first));
    assert_ok(muster_lease_extend(s->client, second, &longer));
    assert_err(muster_lease_give_back(s->client, first), MUSTER_E_CANCELLED);
    assert_ok(muster_lease_give_back(s->client, second));
    assert_queue_holds(s, "a:b", "t ");
    assert_int_equal(queue_row_of(s, "a:b").cancelled, 1);
}

static void a_process_that_is_no_more_cannot_be_cancelled(void **state)
{
    struct scene *s = *state;
    struct taken lapsed;
    enqueue_each(s, "q", (const char *const[]){"t", "u", NULL});
    const char *process = take_one(s, "q", "t");
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_err(muster_process_cancel(s->client, process), MUSTER_E_LOST);
    assert_non_null(strstr(muster_client_error(s->client), process));
    assert_err(muster_process_cancel(s->client, "w1:00000000001:q"), MUSTER_E_LOST);
    assert_ok(take_n(s, "q", 1, 30, &lapsed));
    await_server_ms(s, lapsed.rows[0].ends_at_ms);
    assert_err(muster_process_cancel(s->client, lapsed.rows[0].id), MUSTER_E_LOST);
    take_one(s, "q", "u");
}

static void a_worker_hears_that_its_process_was_cancelled(void **state)
{
    struct scene *s = *state;
    struct taken all = {0};
    live_worker_idle(s,
                     &(struct worker_spec){.id = "w1", .ttl_ms = 60000, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    assert_ok(muster_process_list(s->client, NULL, taken_add, &all));
    assert_ok(muster_process_cancel(s->client, all.rows[0].id));
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    scene_await_idle(s, "q", "w1");
    scene_assert_quiet(s);
    assert_int_equal(queue_row_of(s, "q").cancelled, 1);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- pause and resume ---- */

static void a_paused_queue_hands_nothing_out_until_it_is_resumed(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 300, .queues = {{"q", 0}}});
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_ok(muster_queue_pause(s->client, "q"));
    scene_enqueue_n(s, "q", "t", 3);
    assert_err(take_n(s, "q", 1, 3600000, &taken), MUSTER_E_NOT_FOUND);
    run_loop(s->base, 250); /* two heartbeats and more */
    assert_int_equal(scene_starts(s), 0);
    assert_true(queue_row_of(s, "q").paused);
    assert_int_equal(queue_row_of(s, "q").waiting, 3);
    assert_ok(muster_queue_resume(s->client, "q"));
    scene_await_starts(s, 3);
    assert_false(queue_row_of(s, "q").paused);
    assert_ok(muster_queue_resume(s->client, "q"));
    invariant_assert(s->server->redis, s->prefix);
}

/* Resume hands over by itself: with this ttl no heartbeat comes. */
static void resume_hands_over_to_idle_workers(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 600000, .queues = {{"q", 0}}});
    assert_ok(muster_queue_pause(s->client, "q"));
    scene_enqueue(s, "q", "t");
    assert_ok(muster_queue_resume(s->client, "q"));
    scene_await_starts(s, 1);
}

static void a_pause_lets_run_what_runs(void **state)
{
    struct scene *s = *state;
    enqueue_each(s, "q", (const char *const[]){"t", "u", NULL});
    const char *first = take_one(s, "q", "t"), *second = take_one(s, "q", "u");
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_ok(muster_lease_finish(s->client, first, NULL));
    assert_ok(muster_lease_give_back(s->client, second));
    assert_queue_holds(s, "q", "u ");
    assert_ok(muster_queue_resume(s->client, "q"));
    take_one(s, "q", "u");
}

/* The pause is there before the queue, and names the namespace's format. */
static void a_queue_that_does_not_exist_yet_is_paused(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    assert_ok(muster_queue_resume(s->client, "q"));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:format %s:queue:q", s->prefix, s->prefix), 0);
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_int_equal(raw_int(s->server->redis, "GET %s:format", s->prefix), atoi(FORMAT_VERSION));
    assert_true(queue_row_of(s, "q").paused);
    scene_enqueue(s, "q", "t");
    assert_err(take_n(s, "q", 1, 3600000, &taken), MUSTER_E_NOT_FOUND);
}

/* ---- delete ---- */

static void delete_removes_all_that_a_queue_has(void **state)
{
    struct scene *s = *state;
    uint64_t removed = 99, running = 99;
    enqueue_each(s, "q", (const char *const[]){"delayed", "failed", "r1", "r2", "w1", "w2", NULL});
    scene_enqueue(s, "other", "o");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "delayed"), 3600000));
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "failed"), NULL, NULL));
    take_one(s, "q", "r1");
    take_one(s, "q", "r2");
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 7 paused 1 cancelled 5", s->prefix);
    raw_do(s->server->redis, "HSET %s:suspects:q 00000000001 2", s->prefix);
    assert_ok(muster_queue_delete(s->client, "q", &removed, &running));
    assert_int_equal(removed, 3);
    assert_int_equal(running, 2);
    const struct muster_queue_info row = queue_row_of(s, "q");
    assert_int_equal(row.waiting + row.delayed + row.failed + row.cancelled, 0);
    assert_int_equal(row.running, 2);
    assert_false(row.paused);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q max_crashes", s->prefix), 0);
    assert_int_equal(
        raw_int(s->server->redis, "EXISTS %s:suspects:q %s:failures:q %s:failed:q", s->prefix, s->prefix, s->prefix),
        0);
    assert_queue_holds(s, "other", "o ");
}

static void a_queue_with_nothing_in_work_leaves_nothing(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(muster_queue_pause(s->client, "q"));
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_int_equal(
        raw_int(s->server->redis, "EXISTS %s:queue:q %s:queues:q %s:names", s->prefix, s->prefix, s->prefix), 0);
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_ok(muster_queue_delete(s->client, "never there", NULL, NULL));
}

/* Where a task that came back was taken first is kept until its next end at least. */
static void a_deleted_queue_leaves_nothing_of_what_came_back(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 2);
    assert_ok(muster_lease_give_back(s->client, take_one(s, "q", "t0")));
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t0"), NULL));
    assert_ok(muster_lease_give_back(s->client, take_one(s, "q", "t1")));
    take_one(s, "q", "t1");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:firsts:.lease:q %s:home:-:q %s:returned:q", s->prefix,
                             s->prefix, s->prefix),
                     0);
}

/* No task that was in work comes back, whatever becomes of it; and the queue that then begins is another one. */
static void nothing_resurrects_a_deleted_queue(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ends); i++) {
        char queue[8];
        snprintf(queue, sizeof queue, "q%zu", i);
        scene_enqueue(s, queue, "old");
        const char *process = take_one(s, queue, "old");
        assert_ok(muster_queue_delete(s->client, queue, NULL, NULL));
        scene_enqueue(s, queue, "new");
        assert_err(ends[i].end(s->client, process), ends[i].end == finish ? MUSTER_OK : MUSTER_E_CANCELLED);
        assert_queue_holds(s, queue, "new ");
        const struct muster_queue_info row = queue_row_of(s, queue);
        assert_int_equal(row.running + row.delayed + row.failed + row.cancelled, 0);
    }
    invariant_assert(s->server->redis, s->prefix);
}

static void a_lease_of_a_deleted_queue_that_lapses_is_gone(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue(s, "q", "old");
    assert_ok(take_n(s, "q", 1, 30, &taken));
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_err(take_n(s, "q", 1, 30, &taken), MUSTER_E_NOT_FOUND);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:leases:q %s:processing:.lease:q %s:marks:.lease", s->prefix,
                             s->prefix, s->prefix),
                     0);
    assert_int_equal(queue_row_of(s, "q").running, 0);
}

static void workers_go_on_serving_the_name(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {
        .id = "w1", .hands = 2, .ttl_ms = 60000, .answer = MUSTER_LATER, .queues = {{"q", 0}}};
    struct live_worker *w = live_worker_idle(s, &spec);
    uint64_t running;
    scene_enqueue(s, "q", "old");
    scene_await_starts(s, 1);
    assert_ok(muster_queue_delete(s->client, "q", NULL, &running));
    assert_int_equal(running, 1);
    scene_await_events(s, MUSTER_EVENT_DELETED, "w1", 1);
    scene_enqueue(s, "q", "new");
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_GIVE_BACK);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    scene_assert_started(s, 0, (const char *const[]){"old", "new", "new", NULL});
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    scene_assert_quiet(s);
}

/* ---- refusals ---- */

static void what_is_not_allowed_is_refused_before_it_is_sent(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = s->client;
    scene_enqueue(s, "q", "t");
    int64_t before = redis_server_calls(s->server, NULL);
    assert_err(muster_task_cancel(c, "", "t", 1, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_task_cancel(c, "q", NULL, 1, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_task_cancel(c, "q", "t", MUSTER_TASK_MAX_DEFAULT + 1, NULL, NULL), MUSTER_E_TOO_BIG);
    assert_err(muster_process_cancel(c, "no id"), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_error(c), "<worker>:<token>:<queue>"));
    assert_err(muster_process_cancel(c, NULL), MUSTER_E_INVALID);
    assert_err(muster_queue_pause(c, "a\n"), MUSTER_E_INVALID);
    assert_err(muster_queue_resume(c, NULL), MUSTER_E_INVALID);
    assert_err(muster_queue_delete(c, "", NULL, NULL), MUSTER_E_INVALID);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
}

static int cancel_t(struct muster_client *c)
{
    return muster_task_cancel(c, "q", "t", 1, NULL, NULL);
}

static int delete_q(struct muster_client *c)
{
    return muster_queue_delete(c, "q", NULL, NULL);
}

static int resume_q(struct muster_client *c)
{
    return muster_queue_resume(c, "q");
}

/* Each key that a call writes, put there with another type: said by name, and nothing is changed. */
static void a_key_of_a_wrong_type_changes_nothing(void **state)
{
    static const struct {
        int (*call)(struct muster_client *c);
        const char *key;
    } cases[] = {
        {cancel_t, "queues:q"},
        {cancel_t, "delayed:q"},
        {cancel_t, "queue:q"},
        {delete_q, "queues:q"},
        {delete_q, "delayed:q"},
        {delete_q, "queue:q"},
        {delete_q, "leases:q"},
        {delete_q, "failed:q"},
        {resume_q, "queues:q"},
        {resume_q, "queue:q"},
        {resume_q, "processing:.lease:q"},
    };
    struct scene *s = *state;
    char before[41], after[41], key[64];
    for (size_t i = 0; i < N_OF(cases); i++) {
        raw_do(s->server->redis, "FLUSHALL");
        enqueue_each(s, "q", (const char *const[]){"t", "t", "u", NULL});
        take_one(s, "q", "t");
        snprintf(key, sizeof key, "%s:%s", s->prefix, cases[i].key);
        raw_do(s->server->redis, "DEL %s", key);
        raw_do(s->server->redis, "SET %s damage", key);
        redis_server_digest(s->server, before);
        assert_err(cases[i].call(s->client), MUSTER_E_REDIS);
        if (!strstr(muster_client_error(s->client), key))
            fail_msg("%s is not named: %s", key, muster_client_error(s->client));
        redis_server_digest(s->server, after);
        assert_string_equal(before, after);
    }
    raw_do(s->server->redis, "FLUSHALL");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(all_copies_that_wait_or_are_delayed_are_removed_and_counted),
        live_test(a_copy_is_one_of_the_same_bytes),
        live_test(running_copies_are_marked_in_all_hands),
        live_test(a_cancelled_process_ends_finished_or_cancelled),
        live_test(a_cancelled_lease_that_lapses_is_gone),
        live_test(copies_on_the_failed_list_stay),
        live_test(one_process_is_cancelled_and_its_twin_is_not),
        live_test(a_process_that_is_no_more_cannot_be_cancelled),
        live_test(a_worker_hears_that_its_process_was_cancelled),
        live_test(a_paused_queue_hands_nothing_out_until_it_is_resumed),
        live_test(resume_hands_over_to_idle_workers),
        live_test(a_pause_lets_run_what_runs),
        live_test(a_queue_that_does_not_exist_yet_is_paused),
        live_test(delete_removes_all_that_a_queue_has),
        live_test(a_queue_with_nothing_in_work_leaves_nothing),
        live_test(a_deleted_queue_leaves_nothing_of_what_came_back),
        live_test(nothing_resurrects_a_deleted_queue),
        live_test(a_lease_of_a_deleted_queue_that_lapses_is_gone),
        live_test(workers_go_on_serving_the_name),
        live_test(what_is_not_allowed_is_refused_before_it_is_sent),
        live_test(a_key_of_a_wrong_type_changes_nothing),
    };
    return scene_run(tests, argc, argv);
}
