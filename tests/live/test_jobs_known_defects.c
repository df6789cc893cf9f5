/* SPDX-License-Identifier: MIT
 *
 * Known defects of other queues that keep jobs in Redis, one test for each. Those of plain tasks and workers:
 * test_known_defects.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "script_call.h"
#include "taken.h"

#define AN_HOUR 3600000
#define SHORT 30

static void put(struct scene *s, const char *id)
{
    job_put(s, "q", JOB_SPEC(.id = id, .data = {id, strlen(id)}));
}

static void set(struct scene *s, const char *queue, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, queue, name, &value));
}

/* ---- order ---- */

/* A score made of priority and age has not digits enough for both. */
static void first_in_is_first_out_at_the_largest_priorities_too(void **state)
{
    struct scene *s = *state;
    static const int priorities[] = {2147483647, 2147483646, 100000000, -100000000, -2147483647, -2147483647 - 1};
    char id[16], expected[512] = "";
    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "%d.%d", 5 - i % 6, 9 - i / 6); /* names that sort the other way round */
        job_put(s, "q", JOB_SPEC(.id = id, .priority = priorities[i % 6]));
    }
    for (int i = 0; i < 30; i++)
        sprintf(expected + strlen(expected), "%d.%d ", i / 5, 9 - i % 5);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), expected);
    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "%d.%d", i / 5, 9 - i % 5);
        assert_ok(muster_lease_finish(s->client, job_take(s, "q", id), NULL));
    }
}

static void a_change_of_priority_passes_nobody_of_the_same_age_or_older(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    put(s, "c");
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.priority = 4)));
    assert_ok(muster_job_change(s->client, "c", JOB_CHANGE(.priority = MUSTER_ZERO)));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a b c ");
}

/* ---- time ---- */

static void without_its_dependencies_a_job_still_waits_for_its_time(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "one by one" : "all";
        job_put(s, "q", JOB_SPEC(.id = id, .delay_ms = AN_HOUR, .after = IDS("a"), .n_after = 1));
        int64_t due_at_ms = job_look(s, "all").put_at_ms + AN_HOUR;
        assert_ok(muster_job_change(
            s->client, id, i ? JOB_CHANGE(.not_after = IDS("a"), .n_not_after = 1) : JOB_CHANGE(.not_after_all = 1)));
        assert_job_state(s, id, MUSTER_JOB_SCHEDULED);
        assert_in_range(job_look(s, id).due_at_ms, due_at_ms, due_at_ms + (i ? 5000 : 0));
    }
}

static void a_lease_of_no_time_is_refused_before_anything_is_taken(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_err(take_n(s, "q", 1, 0, &(struct taken){0}), MUSTER_E_INVALID);
    assert_err(take_n(s, "q", 1, -1, &(struct taken){0}), MUSTER_E_INVALID);
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
}

static void less_than_a_second_is_a_time(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    int64_t begun_ms = now_ms();
    assert_err(muster_lease_take(s->client, "q", 1, AN_HOUR, SHORT, taken_add, &(struct taken){0}), MUSTER_E_NOT_FOUND);
    assert_in_range(now_ms() - begun_ms, SHORT, SHORT + SOON_MS);
    put(s, "a");
    assert_ok(take_n(s, "q", 1, SHORT, &taken));
    assert_int_equal(taken.rows[0].ends_at_ms - taken.rows[0].started_at_ms, SHORT);
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
    job_take(s, "q", "a");
}

/* ---- ghosts ---- */

static void an_empty_take_writes_nothing(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    assert_err(take_n(s, "q", 5, AN_HOUR, &(struct taken){0}), MUSTER_E_NOT_FOUND);
    char *before = dump_of_all(s);
    for (int i = 0; i < 5; i++)
        assert_err(take_n(s, "q", 5, AN_HOUR, &(struct taken){0}), MUSTER_E_NOT_FOUND);
    char *after = dump_of_all(s);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* An id in the queue whose record is gone: the others come out, and the rest of it is removed. */
static void a_job_without_a_record_stands_in_nobodys_way(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    put(s, "a");
    put(s, "b");
    put(s, "c");
    raw_do(s->server->redis, "DEL %s:job:a", s->prefix);
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 2);
    assert_string_equal(taken.rows[0].task, "b");
    assert_ok(muster_lease_give_back(s->client, taken.rows[0].id));
    assert_ok(muster_lease_finish(s->client, taken.rows[1].id, NULL));
    checked_repair(s);
    checked_assert_clean(s);
    put(s, "a");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "b a ");
}

static void nor_does_one_that_runs(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    put(s, "a");
    put(s, "b");
    assert_ok(take_n(s, "q", 1, SHORT, &taken));
    raw_do(s->server->redis, "DEL %s:job:a", s->prefix);
    await_server_ms(s, taken.rows[0].ends_at_ms);
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "b"), NULL));
    assert_int_equal(queue_row_of(s, "q").running, 0);
    checked_repair(s);
    checked_assert_clean(s);
}

/* ---- what outlives its job ---- */

/* Each way in which a record goes. */
static void a_tracked_and_tagged_job_leaves_nothing(void **state)
{
    struct scene *s = *state;
    for (int way = 0; way < 6; way++) {
        job_put(s, "q", JOB_SPEC(.id = "a", .track = 1, .tags = IDS("red", "blue"), .n_tags = 2));
        if (way == 0) {
            set(s, "q", "keep_jobs", 0);
            assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
        } else if (way == 1) {
            assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), NULL, NULL));
            const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
            assert_ok(muster_failed_drop(s->client, &f, NULL));
        } else if (way == 2) {
            assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
        } else if (way == 3) {
            const char *process = job_take(s, "q", "a");
            assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
            assert_err(muster_lease_retry(s->client, process, 0), MUSTER_E_CANCELLED);
        } else if (way == 4) {
            assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
        } else {
            assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), NULL, NULL));
            job_put(s, "q", JOB_SPEC(.id = "a")); /* another one in its place, with neither */
        }
        assert_jobs_listed(s, JOB_FILTER(.tracked = 1), "");
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:tracked %s:tags %s:tag:red %s:tag:blue", s->prefix,
                                 s->prefix, s->prefix, s->prefix),
                         0);
    }
}

/* No completion comes along to look after it: heartbeats do, and a sweep by hand. */
static void what_is_too_old_goes_without_another_completion(void **state)
{
    struct scene *s = *state;
    set(s, "q", "keep_jobs_ms", SHORT);
    put(s, "a");
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    await_server_ms(s, job_look(s, "a").since_ms + SHORT + 1);
    assert_ok(muster_client_sweep(s->client, NULL));
    assert_false(job_is_there(s, "a"));
}

static void statistics_end_by_themselves(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    int64_t day = server_now_ms(s) / 86400000;
    int64_t ttl = raw_int(s->server->redis, "TTL %s:stats:%lld:q", s->prefix, (long long)day);
    if (server_now_ms(s) / 86400000 == day) /* otherwise it was midnight */
        assert_in_range(ttl, 30 * 86400, 31 * 86400);
}

static int count_process(const struct muster_process_info *p, void *arg)
{
    (void)p;
    ++*(int *)arg;
    return 0;
}

/* The list of processes no longer shows it under its former holder. */
static void what_was_taken_away_is_on_no_list_of_its_holder(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    int n = 0;
    put(s, "a");
    acting_start(&w, s);
    acting_take(&w);
    assert_string_equal(job_look(s, "a").worker, "w");
    assert_ok(muster_lease_give_back(s->client, job_look(s, "a").process));
    assert_ok(muster_process_list(s->client, NULL, count_process, &n));
    assert_int_equal(n, 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w held", s->prefix), 0);
    job_take(s, "q", "a");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(first_in_is_first_out_at_the_largest_priorities_too),
        live_test(a_change_of_priority_passes_nobody_of_the_same_age_or_older),
        live_test(without_its_dependencies_a_job_still_waits_for_its_time),
        live_test(a_lease_of_no_time_is_refused_before_anything_is_taken),
        live_test(less_than_a_second_is_a_time),
        live_test(an_empty_take_writes_nothing),
        live_test(a_job_without_a_record_stands_in_nobodys_way),
        live_test(nor_does_one_that_runs),
        live_test(a_tracked_and_tagged_job_leaves_nothing),
        live_test(what_is_too_old_goes_without_another_completion),
        live_test(statistics_end_by_themselves),
        live_test(what_was_taken_away_is_on_no_list_of_its_holder),
    };
    return scene_run(tests, argc, argv);
}
