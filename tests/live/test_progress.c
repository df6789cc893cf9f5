/* SPDX-License-Identifier: MIT
 *
 * Calls of several steps. Proves that they tell how far they are, that they end between two steps when they are told
 * to, and that what was done then is what was said, and the same call goes on with the rest.
 */
#include <muster/batch.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "taken.h"

enum { MANY = 1500 };

/* Stops at the step `stop_at`; 0: never. */
struct watch {
    int steps, stop_at;
    struct muster_progress last;
    bool has_fallen;
};

static int watch(const struct muster_progress *progress, void *arg)
{
    struct watch *w = arg;
    w->has_fallen |= progress->done < w->last.done;
    w->last = *progress;
    return ++w->steps == w->stop_at;
}

static struct watch *begin(struct scene *s, int stop_at)
{
    static struct watch w;
    w = (struct watch){.stop_at = stop_at};
    muster_client_set_progress(s->client, watch, &w);
    return &w;
}

static void assert_stopped(struct scene *s, int err)
{
    assert_int_equal(err, MUSTER_E_STOPPED);
    assert_non_null(strstr(muster_client_error(s->client), "stopped"));
}

static int count_damage(const struct muster_damage *damage, void *arg)
{
    (void)damage;
    ++*(int *)arg;
    return 0;
}

/* With another client than the one that takes. */
static int fail_taken(const struct muster_process_info *process, void *arg)
{
    assert_ok(muster_lease_fail(arg, process->id, NULL, NULL));
    return 0;
}

static void fail_many(struct scene *s, const char *queue, int n)
{
    struct muster_client *other = scene_client(s);
    scene_enqueue_n(s, queue, "task", n);
    for (int left = n; left > 0; left -= MUSTER_LEASE_TAKE_MAX)
        assert_ok(muster_lease_take(s->client, queue, MUSTER_LEASE_TAKE_MAX, 600000, 0, fail_taken, other));
    muster_client_free(other);
}

static void put_many(struct scene *s)
{
    for (int i = 0; i < MANY; i++)
        assert_ok(muster_job_put(s->client, "q", &(struct muster_job_spec){.size = sizeof(struct muster_job_spec)},
                                 (char[MUSTER_JOB_ID_MAX + 1]){""}));
}

static void a_deletion_tells_and_stops(void **state)
{
    struct scene *s = *state;
    uint64_t first = 0, rest = 0, running;
    put_many(s);
    struct watch *w = begin(s, 2);
    assert_stopped(s, muster_queue_delete(s->client, "q", &first, &running));
    assert_in_range(first, 1, MANY - 1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), MANY - first);
    assert_int_equal(w->last.total, MANY - first + w->last.done);
    w = begin(s, 0);
    assert_ok(muster_queue_delete(s->client, "q", &rest, &running));
    assert_int_equal(first + rest, MANY);
    assert_true(w->steps > 1 && !w->has_fallen && w->last.done <= w->last.total);
}

static void a_check_tells_and_stops(void **state)
{
    struct scene *s = *state;
    int n = 0;
    put_many(s);
    struct watch *w = begin(s, 0);
    assert_ok(muster_client_check(s->client, 0, count_damage, &n));
    assert_int_equal(n, 0);
    const int steps = w->steps;
    assert_true(steps > 2 * MANY / 100 && w->last.total >= 2 * MANY && w->last.done <= w->last.total);
    for (int at = 1; at <= steps; at++) {
        w = begin(s, at);
        assert_stopped(s, muster_client_check(s->client, 1, count_damage, &n));
        assert_int_equal(w->steps, at);
    }
    muster_client_set_progress(s->client, NULL, NULL);
    assert_ok(muster_client_check(s->client, 0, count_damage, &n));
    assert_int_equal(n, 0);
}

static void a_replay_tells_and_stops(void **state)
{
    struct scene *s = *state;
    const struct muster_failed_filter filter = {.size = sizeof filter, .queue = "q"};
    uint64_t first = 0, rest = 0;
    fail_many(s, "q", MANY);
    (void)begin(s, 1);
    assert_stopped(s, muster_failed_replay(s->client, &filter, &first));
    assert_in_range(first, 1, MANY - 1);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), first);
    struct watch *w = begin(s, 0);
    assert_ok(muster_failed_drop(s->client, &filter, &rest));
    assert_int_equal(first + rest, MANY);
    assert_true(w->steps > 0 && !w->has_fallen);
    assert_int_equal(w->last.total, rest);
}

static int note_left(const struct muster_batch *batch, void *arg)
{
    *(uint64_t *)arg = batch->left;
    return 0;
}

static void open_batch_of(struct scene *s, int n)
{
    char made[MUSTER_BATCH_ID_MAX + 1];
    assert_ok(muster_batch_open(
        s->client, &(struct muster_batch_spec){.size = sizeof(struct muster_batch_spec), .id = "b"}, made));
    for (int i = 0; i < n; i++)
        assert_ok(muster_job_put(s->client, "q",
                                 &(struct muster_job_spec){.size = sizeof(struct muster_job_spec), .batch = "b"},
                                 (char[MUSTER_JOB_ID_MAX + 1]){""}));
}

/* Where it is stopped something is left to be done. */
static void a_cancel_of_a_batch_tells_and_stops(void **state)
{
    struct scene *s = *state;
    enum { MEMBERS = 250 };
    uint64_t first, rest, running, left = 0;
    int steps = 1;
    for (int at = 0; at <= steps; at++) {
        open_batch_of(s, MEMBERS);
        struct watch *w = begin(s, at);
        int err = muster_batch_cancel(s->client, "b", &first, &running);
        if (at == 0) {
            assert_ok(err);
            assert_int_equal(first, MEMBERS);
            steps = w->steps;
            assert_true(steps > 0 && !w->has_fallen);
        } else {
            assert_stopped(s, err);
            assert_ok(muster_batch_get(s->client, "b", note_left, &left));
            assert_true(left > 0 && left == MEMBERS - first);
            (void)begin(s, 0);
            assert_ok(muster_batch_cancel(s->client, "b", &rest, &running));
            assert_int_equal(first + rest, MEMBERS);
        }
        muster_client_set_progress(s->client, NULL, NULL);
    }
}

/* Of jobs with so much data a script moves fewer than a step of the call has. */
enum { LARGE_JOBS = 150, LARGE_DATA = 100000 };

static int watch_total(const struct muster_progress *progress, void *arg)
{
    assert_int_equal(progress->total, LARGE_JOBS);
    return watch(progress, arg);
}

static void many_jobs_are_counted_as_all_of_the_call(void **state)
{
    static char data[LARGE_DATA];
    static const enum muster_job_action actions[] = {MUSTER_JOBS_REPLAY, MUSTER_JOBS_DROP};
    struct scene *s = *state;
    struct muster_client *other = scene_client(s);
    const struct muster_job_filter failed = {.size = sizeof failed, .by_state = 1, .state = MUSTER_JOB_FAILED};
    const struct muster_job_spec spec = {.size = sizeof spec, .data = {data, sizeof data}};
    for (int i = 0; i < LARGE_JOBS; i++)
        assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    for (size_t i = 0; i < N_OF(actions); i++) {
        struct muster_job_bulk_counts counts = {.size = sizeof counts};
        const struct muster_job_bulk bulk = {.size = sizeof bulk, .action = actions[i]};
        for (int left = LARGE_JOBS; left > 0; left -= 10)
            assert_ok(muster_lease_take(s->client, "q", 10, 600000, 0, fail_taken, other));
        struct watch *w = begin(s, 0);
        muster_client_set_progress(s->client, watch_total, w);
        assert_ok(muster_job_bulk(s->client, &failed, &bulk, &counts));
        muster_client_set_progress(s->client, NULL, NULL);
        assert_int_equal(counts.done, LARGE_JOBS);
        assert_true(w->steps > 1 && !w->has_fallen);
    }
    muster_client_free(other);
}

static void an_enqueue_under_a_request_goes_on_where_it_was_stopped(void **state)
{
    struct scene *s = *state;
    static struct muster_bytes tasks[2 * MANY];
    const struct muster_enqueue_options options = {.size = sizeof options, .request_id = "r"};
    uint64_t waiting;
    for (int i = 0; i < 2 * MANY; i++)
        tasks[i] = (struct muster_bytes){"task", 4};
    struct watch *w = begin(s, 1);
    assert_stopped(s, muster_task_enqueue_many(s->client, "q", tasks, 2 * MANY, &options, &waiting));
    assert_int_equal(w->last.total, 2 * MANY);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), w->last.done);
    (void)begin(s, 0);
    assert_ok(muster_task_enqueue_many(s->client, "q", tasks, 2 * MANY, &options, &waiting));
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), 2 * MANY);
}

/* The same call would enqueue again what is there. */
static void an_enqueue_without_a_request_is_not_stopped(void **state)
{
    static const char bytes[20000];
    static const size_t lens[] = {4, sizeof bytes};
    static struct muster_bytes tasks[MANY];
    struct scene *s = *state;
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        for (size_t k = 0; k < MANY; k++)
            tasks[k] = (struct muster_bytes){bytes, lens[i]};
        struct watch *w = begin(s, 1);
        assert_ok(muster_task_enqueue_many(s->client, "q", tasks, MANY, NULL, NULL));
        assert_int_equal(w->steps, 0);
    }
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), 2 * MANY);
    muster_client_set_progress(s->client, NULL, NULL);
}

static void a_call_of_one_step_is_not_stopped(void **state)
{
    struct scene *s = *state;
    uint64_t removed, running;
    struct watch *w = begin(s, 1);
    scene_enqueue(s, "q", "task");
    assert_ok(muster_queue_delete(s->client, "q", &removed, &running));
    assert_int_equal(removed, 1);
    assert_int_equal(w->steps, 0);
    muster_client_set_progress(s->client, NULL, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_deletion_tells_and_stops),
        live_test(a_check_tells_and_stops),
        live_test(a_replay_tells_and_stops),
        live_test(a_cancel_of_a_batch_tells_and_stops),
        live_test(many_jobs_are_counted_as_all_of_the_call),
        live_test(an_enqueue_under_a_request_goes_on_where_it_was_stopped),
        live_test(an_enqueue_without_a_request_is_not_stopped),
        live_test(a_call_of_one_step_is_not_stopped),
    };
    return scene_run(tests, argc, argv);
}
