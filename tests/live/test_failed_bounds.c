/* SPDX-License-Identifier: MIT
 *
 * Failed lists drop nothing unless a bound is set, by number, bytes or age, for a queue or for the namespace. What a
 * bound drops is counted in the queue's row, told to the program of the worker whose process failed, and to those who
 * listen to jobs. One call's part in it: test_failed_scripts.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "live_worker.h"
#include "taken.h"

static void set(struct scene *s, const char *queue, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, queue, name, &value));
}

/* A worker fails them all. */
static struct live_worker *fail_all(struct scene *s, const char *queue, int n)
{
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){.id = "w", .hands = 1, .prefetch = 200, .queues = {{queue, 0}}, .answer = MUSTER_FAIL});
    scene_enqueue_n(s, queue, "t", n);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
    raw_await(s->server->redis, s->base, 0, "LLEN %s:queues:%s", s->prefix, queue);
    return w;
}

static int add_task(const struct muster_failure *failure, void *arg)
{
    char *tasks = arg;
    snprintf(tasks + strlen(tasks), 32, "%.*s ", (int)failure->len, (const char *)failure->task);
    return 0;
}

static void assert_kept(struct scene *s, const char *queue, const char *expected)
{
    char tasks[512] = "";
    const struct muster_failed_filter f = {.size = sizeof f, .queue = queue};
    assert_ok(muster_failed_list(s->client, &f, add_task, tasks));
    assert_string_equal(tasks, expected);
}

static void what_fails_is_kept_unless_a_bound_is_set(void **state)
{
    struct scene *s = *state;
    enum { N = 12000 };
    fail_all(s, "q", N);
    const struct muster_queue_info row = queue_row_of(s, "q");
    assert_int_equal(row.failed, N);
    assert_int_equal(row.failed_dropped, 0);
    assert_int_equal(row.failed_bytes, raw_int(s->server->redis, "HGET %s:failures:q bytes", s->prefix));
    assert_true(row.failed_bytes > N * strlen("t0"));
    assert_null(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DROPPED, NULL, NULL));
}

static void what_a_bound_drops_is_counted_and_told(void **state)
{
    struct scene *s = *state;
    set(s, "q", "keep_failed", 3);
    fail_all(s, "q", 5);
    scene_await_events(s, MUSTER_EVENT_DROPPED, "w", 2);
    assert_kept(s, "q", "t4 t3 t2 ");
    assert_int_equal(queue_row_of(s, "q").failed_dropped, 2);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DROPPED, "w", NULL);
    assert_string_equal(e->queue, "q");
    assert_string_equal(e->text, "the failed list of 'q' is beyond keep_failed: its oldest entries went, 1 of them");
}

/* An end by a caller that is no worker: the keeper of the timer hears of it. */
static void without_a_worker_of_its_own_the_timers_keeper_is_told(void **state)
{
    struct scene *s = *state;
    set(s, "q", "keep_failed", 1);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .queues = {{"other", 0}}});
    raw_await(s->server->redis, s->base, 1, "EXISTS %s:timer", s->prefix);
    for (int i = 0; i < 2; i++) {
        scene_enqueue(s, "q", i ? "b" : "a");
        assert_ok(muster_lease_fail(s->client, take_one(s, "q", i ? "b" : "a"), NULL, NULL));
    }
    scene_await_events(s, MUSTER_EVENT_DROPPED, "w", 1);
    assert_kept(s, "q", "b ");
}

static void a_queues_own_bound_comes_before_the_namespaces(void **state)
{
    struct scene *s = *state;
    set(s, NULL, "keep_failed", 1);
    set(s, "q", "keep_failed", 2);
    set(s, "all", "keep_failed", 0);
    static const char *const queues[] = {"q", "all", "other"}, *const kept[] = {"c b ", "c b a ", "c "};
    for (size_t i = 0; i < N_OF(queues); i++) {
        for (const char *task = "a\0b\0c\0"; *task; task += 2) {
            scene_enqueue(s, queues[i], task);
            assert_ok(muster_lease_fail(s->client, take_one(s, queues[i], task), NULL, NULL));
        }
        assert_kept(s, queues[i], kept[i]);
    }
}

static void a_list_keeps_a_number_of_bytes_and_its_newest_entry(void **state)
{
    struct scene *s = *state;
    const size_t len = 250000;
    char *task = calloc(1, len);
    set(s, "q", "keep_failed_bytes", 4 * (int64_t)len);
    for (int i = 0; i < 6; i++) {
        struct taken taken;
        task[0] = (char)('a' + i);
        assert_ok(muster_task_enqueue(s->client, "q", task, len, NULL));
        assert_ok(take_n(s, "q", 1, 600000, &taken));
        assert_ok(muster_lease_fail(s->client, taken.rows[0].id, NULL, NULL));
    }
    free(task);
    assert_int_equal(queue_row_of(s, "q").failed, 3); /* a fourth does not fit: each has a head, too */
    assert_int_equal(queue_row_of(s, "q").failed_dropped, 3);
    set(s, "q", "keep_failed_bytes", 1);
    scene_enqueue(s, "q", "new");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "new"), NULL, NULL));
    assert_kept(s, "q", "new ");
}

static void a_list_keeps_its_entries_for_a_time(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "old");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "old"), NULL, NULL));
    int64_t failed_at_ms = server_now_ms(s);
    set(s, "q", "keep_failed_ms", 50);
    await_server_ms(s, failed_at_ms + 51);
    scene_enqueue(s, "q", "new");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "new"), NULL, NULL));
    assert_kept(s, "q", "new ");
    assert_int_equal(queue_row_of(s, "q").failed_dropped, 1);
}

struct heard {
    struct scene *scene;
    char text[512];
};

static int note_dropped(const struct muster_job_event *e, void *arg)
{
    struct heard *h = arg;
    if (strcmp(e->what, "dropped") == 0)
        snprintf(h->text + strlen(h->text), 64, "%s=%s ", e->id, e->text);
    return strcmp(e->id, "the end") == 0;
}

static void fail_job(struct scene *s, const char *id)
{
    job_put(s, "q", JOB_SPEC(.id = id));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", id), NULL, NULL));
}

static int fail_jobs(void *arg)
{
    struct heard *h = arg;
    uint64_t n;
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    fail_job(h->scene, "a");
    fail_job(h->scene, "b");
    assert_ok(muster_failed_drop(h->scene->client, &f, &n));
    job_put(h->scene, "q", JOB_SPEC(.id = "the end"));
    return 0;
}

static void those_who_listen_to_jobs_hear_which_were_dropped(void **state)
{
    struct scene *s = *state;
    struct heard h = {.scene = s};
    struct muster_client *c = scene_client(s);
    set(s, "q", "keep_failed", 1);
    int err = muster_job_listen(c, NULL, SOON_MS, fail_jobs, note_dropped, &h);
    muster_client_free(c);
    assert_ok(err);
    assert_string_equal(h.text, "a=keep_failed b= ");
}

static void fail_many_under_leases(struct scene *s, const char *queue, int n)
{
    static const char task[16384];
    for (int i = 0; i < n; i++) {
        struct taken taken;
        assert_ok(muster_task_enqueue(s->client, queue, task, sizeof task, NULL));
        assert_ok(take_n(s, queue, 1, 600000, &taken));
        assert_ok(muster_lease_fail(s->client, taken.rows[0].id, NULL, NULL));
    }
}

/* From now on Redis has a megabyte too little. */
static void fill_redis(struct scene *s)
{
    redisReply *reply = redisCommand(s->server->redis, "INFO memory");
    const char *used = strstr(reply->str, "used_memory:");
    raw_do(s->server->redis, "CONFIG SET maxmemory %lld", atoll(used + strlen("used_memory:")) - 1048576);
    freeReplyObject(reply);
}

static void assert_bound_makes_room(struct scene *s, const char *queue, int64_t left)
{
    enum { N = 250 };
    const int64_t two = 2;
    uint64_t workers;
    fail_many_under_leases(s, "q", N);
    fill_redis(s);
    int refused = muster_task_enqueue(s->client, "q", "new", 3, NULL);
    int bounded = muster_config_set(s->client, queue, "keep_failed", &two);
    int accepted = muster_task_enqueue(s->client, "q", "new", 3, NULL);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_err(refused, MUSTER_E_FULL);
    assert_ok(bounded);
    assert_ok(accepted);
    assert_int_equal(queue_row_of(s, "q").failed, left);
    assert_int_equal(queue_row_of(s, "q").failed_dropped, N - left);
    assert_ok(muster_client_sweep(s->client, &workers));
    assert_int_equal(queue_row_of(s, "q").failed, 2);
}

/* Without any worker. A sweep removes what one step leaves. */
static void a_bound_makes_room_in_a_redis_that_is_full(void **state)
{
    assert_bound_makes_room(*state, "q", 50);
}

static void a_bound_of_the_namespace_makes_room_too(void **state)
{
    assert_bound_makes_room(*state, NULL, 50);
}

/* That one says how old an entry may be, the others how many there may be: of these the newest stays. */
static void only_keep_failed_ms_drops_the_newest_entry(void **state)
{
    struct scene *s = *state;
    fail_many_under_leases(s, "q", 1);
    int64_t failed_at_ms = server_now_ms(s);
    set(s, "q", "keep_failed_bytes", 1);
    set(s, "q", "keep_failed", 1);
    assert_int_equal(queue_row_of(s, "q").failed, 1);
    await_server_ms(s, failed_at_ms + 51);
    set(s, "q", "keep_failed_ms", 50);
    assert_int_equal(queue_row_of(s, "q").failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_fails_is_kept_unless_a_bound_is_set),
        live_test(what_a_bound_drops_is_counted_and_told),
        live_test(without_a_worker_of_its_own_the_timers_keeper_is_told),
        live_test(a_queues_own_bound_comes_before_the_namespaces),
        live_test(a_list_keeps_a_number_of_bytes_and_its_newest_entry),
        live_test(a_list_keeps_its_entries_for_a_time),
        live_test(those_who_listen_to_jobs_hear_which_were_dropped),
        live_test(a_bound_makes_room_in_a_redis_that_is_full),
        live_test(a_bound_of_the_namespace_makes_room_too),
        live_test(only_keep_failed_ms_drops_the_newest_entry),
    };
    return scene_run(tests, argc, argv);
}
