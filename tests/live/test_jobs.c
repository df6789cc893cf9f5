/* SPDX-License-Identifier: MIT
 *
 * Putting jobs with the blocking client, and getting them: what the members of a spec become, recurring jobs, and
 * all that is refused, before the script is called or by it. Ids that are taken: test_jobs_put_again.c.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "taken.h"

/* ---- put and get ---- */

static void each_member_of_a_spec_is_in_the_record(void **state)
{
    struct scene *s = *state;
    const struct muster_backoff backoff = {.delay_ms = 100, .max_ms = 5000, .exponential = 1, .jitter_percent = 20};
    int64_t before_ms = server_now_ms(s);
    job_put(s, "q:1",
            JOB_SPEC(.id = "id 1", .data = BYTES("bytes"), .priority = -3, .retries = 7, .track = 1,
                     .delay_ms = 3600000, .limit_ms = 1500, .tags = IDS("red", "a b"), .n_tags = 2,
                     .backoff = &backoff));
    struct job_seen job = job_look(s, "id 1");
    int64_t after_ms = server_now_ms(s);
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_string_equal(job.queue, "q:1");
    assert_string_equal(job.data, "bytes");
    assert_int_equal(job.priority, -3);
    assert_int_equal(job.retries, 7);
    assert_int_equal(job.retried + job.crashes + job.cancelled + job.has_result, 0);
    assert_true(job.tracked);
    assert_int_equal(job.limit_ms, 1500);
    assert_in_range(job.put_at_ms, before_ms, after_ms);
    assert_in_range(job.since_ms, before_ms, after_ms);
    assert_in_range(job.due_at_ms, before_ms + 3600000, after_ms + 3600000);
    assert_string_equal(job.tags, "a b red ");
    assert_memory_equal(&job.backoff, &backoff, sizeof backoff);
    assert_string_equal(job.process, "");
    assert_string_equal(job.history, "put ");
}

static void a_job_without_more_has_the_defaults(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1], other[MUSTER_JOB_ID_MAX + 1];
    assert_ok(muster_job_put(s->client, "q", JOB_SPEC(.data = {NULL, 0}), id));
    assert_ok(muster_job_put(s->client, "q", JOB_SPEC(.retries = MUSTER_ZERO), other));
    assert_int_equal(strlen(id), 32);
    assert_int_equal(strspn(id, "0123456789abcdef"), 32);
    assert_string_not_equal(id, other);
    struct job_seen job = job_look(s, id);
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_int_equal(job.priority, 0);
    assert_int_equal(job.retries, MUSTER_JOB_RETRIES_DEFAULT);
    assert_int_equal(job.due_at_ms, 0);
    assert_int_equal(job.n_tags, 0);
    assert_int_equal(job_look(s, other).retries, 0);
    const struct muster_backoff least = {.delay_ms = MUSTER_JOB_BACKOFF_DEFAULT_MS,
                                         .max_ms = MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS,
                                         .exponential = 1,
                                         .jitter_percent = MUSTER_JOB_BACKOFF_DEFAULT_JITTER};
    assert_memory_equal(&job.backoff, &least, sizeof least);
    assert_ok(muster_job_put(s->client, "q", JOB_SPEC(.backoff = &(struct muster_backoff){0}), other));
    assert_int_equal(job_look(s, other).backoff.delay_ms, 0);
    assert_int_equal(job_look(s, other).backoff.exponential, 0);
}

static void names_and_data_hold_any_bytes_that_they_may(void **state)
{
    struct scene *s = *state;
    char longest[MUSTER_JOB_ID_MAX + 1], listed[MUSTER_JOB_ID_MAX + 2];
    memset(longest, 0xe9, sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    job_put(s, longest,
            JOB_SPEC(.id = longest, .data = BYTES("a\0b\r\n"), .tags = IDS(longest), .n_tags = 1,
                     .after = IDS("nobody"), .n_after = 1, .may_be_missing = 1));
    assert_string_equal(job_look(s, longest).queue, longest);
    snprintf(listed, sizeof listed, "%s ", longest);
    assert_jobs_listed(s, JOB_FILTER(.tag = longest), listed);
    struct taken taken;
    assert_ok(take_n(s, longest, 1, 3600000, &taken));
    assert_int_equal(taken.rows[0].len, 5);
    assert_memory_equal(taken.rows[0].task, "a\0b\r\n", 5);
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
}

static int stop_at_once(const struct muster_job *job, void *arg)
{
    (void)job;
    ++*(int *)arg;
    return 1;
}

static int join_ids(const struct muster_job *job, void *arg)
{
    strcat(strcat(arg, job->id), " ");
    return 0;
}

static void many_are_got_in_order_and_the_missing_are_named(void **state)
{
    struct scene *s = *state;
    char names[40][16], text[1024] = "", expected[1024] = "";
    const char *ids[40];
    int n = 0;
    for (size_t i = 0; i < N_OF(names); i++) {
        snprintf(names[i], sizeof names[i], "job-%zu", i);
        ids[i] = names[i];
        if (i % 7 == 3)
            continue;
        job_put(s, "q", JOB_SPEC(.id = names[i]));
        strcat(strcat(expected, names[i]), " ");
    }
    assert_err(muster_job_get(s->client, ids, N_OF(ids), join_ids, text), MUSTER_E_NOT_FOUND);
    assert_string_equal(text, expected);
    assert_words(s, "job-3");
    assert_words(s, "5 others");
    assert_ok(muster_job_get(s->client, ids, N_OF(ids), stop_at_once, &n));
    assert_int_equal(n, 1);
    assert_ok(muster_job_get(s->client, NULL, 0, stop_at_once, &n));
    assert_err(muster_job_get(s->client, IDS("job-1", ""), 2, stop_at_once, &n), MUSTER_E_INVALID);
}

static void a_record_that_cannot_be_read_is_said_and_the_others_are_told(void **state)
{
    struct scene *s = *state;
    char text[64] = "";
    job_put(s, "q", JOB_SPEC(.id = "whole"));
    raw_do(s->server->redis, "SET %s:job:wrong 1", s->prefix);
    raw_do(s->server->redis, "HSET %s:job:odd state asleep", s->prefix);
    assert_err(muster_job_get(s->client, IDS("wrong", "whole"), 2, join_ids, text), MUSTER_E_REDIS);
    assert_words(s, "wrong");
    assert_err(muster_job_get(s->client, IDS("odd", "whole"), 2, join_ids, text), MUSTER_E_REDIS);
    assert_words(s, "odd");
    assert_string_equal(text, "whole whole ");
    assert_err(muster_job_put(s->client, "q", JOB_SPEC(.id = "wrong"), NULL), MUSTER_E_REDIS);
    assert_words(s, "job:wrong");
}

/* ---- what is refused before it is sent ---- */

static void names_and_numbers_are_checked_before_anything_is_sent(void **state)
{
    struct scene *s = *state;
    static char huge[10001], long_name[202];
    memset(huge, 'x', sizeof huge - 1);
    memset(long_name, 'x', sizeof long_name - 1);
    const struct muster_backoff wrong_backoff[] = {{.delay_ms = -1}, {.max_ms = -1}, {.jitter_percent = 101}};
    const struct {
        const char *queue;
        const struct muster_job_spec *spec;
        const char *words;
    } bad[] = {
        {"", JOB_SPEC(.id = "a"), "queue"},
        {long_name, JOB_SPEC(.id = "a"), "200"},
        {"q", JOB_SPEC(.id = ""), "empty"},
        {"q", JOB_SPEC(.id = long_name), "200"},
        {"q", JOB_SPEC(.id = huge), "200"},
        {"q", &(struct muster_job_spec){.id = "a"}, "sizeof"},
        {"q", JOB_SPEC(.id = "a\nb"), "control"},
        {"q", JOB_SPEC(.id = "a\x7f"), "control"},
        {"q", JOB_SPEC(.id = "a", .data = {NULL, 3}), "no bytes"},
        {"q", JOB_SPEC(.id = "a", .tags = IDS("ok", ""), .n_tags = 2), "tag"},
        {"q", JOB_SPEC(.id = "a", .tags = IDS("a\tb"), .n_tags = 1), "control"},
        {"q", JOB_SPEC(.id = "a", .tags = NULL, .n_tags = 1), "tag"},
        {"q", JOB_SPEC(.id = "a", .after = IDS(huge), .n_after = 1), "200"},
        {"q", JOB_SPEC(.id = "a", .after = NULL, .n_after = 1), "empty"},
        {"q", JOB_SPEC(.id = "a", .delay_ms = -1), "delay"},
        {"q", JOB_SPEC(.id = "a", .delay_ms = MUSTER_JOB_MS_MAX + 1), "delay"},
        {"q", JOB_SPEC(.id = "a", .at_ms = -1), "the time"},
        {"q", JOB_SPEC(.id = "a", .at_ms = 1, .delay_ms = 1), "not both"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 1000, .at_ms = 1), "offset"},
        {"q", JOB_SPEC(.id = "a", .limit_ms = -5), "limit"},
        {"q", JOB_SPEC(.id = "a", .retries = -1), "retries"},
        {"q", JOB_SPEC(.id = "a", .retries = MUSTER_JOB_RETRIES_MAX + 1), "retries"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 999), "interval"},
        {"q", JOB_SPEC(.id = "a", .every_ms = -1000), "interval"},
        {"q", JOB_SPEC(.id = "a", .every_ms = MUSTER_ZERO), "cancel"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 1000, .delay_ms = 1), "offset"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 1000, .offset_ms = -1), "offset"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 1000, .backlog = -1), "backlog"},
        {"q", JOB_SPEC(.id = "a", .every_ms = 1000, .after = IDS("b"), .n_after = 1), "does not wait for other jobs"},
        {"q", JOB_SPEC(.id = long_name + 20, .every_ms = 1000), "180"},
        {"q", JOB_SPEC(.id = "a", .backlog = 1), "interval"},
        {"q", JOB_SPEC(.id = "a", .offset_ms = 1), "interval"},
        {"q", JOB_SPEC(.id = "a", .backoff = &wrong_backoff[0]), "backoff"},
        {"q", JOB_SPEC(.id = "a", .backoff = &wrong_backoff[1]), "backoff"},
        {"q", JOB_SPEC(.id = "a", .backoff = &wrong_backoff[2]), "jitter"},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        char id[MUSTER_JOB_ID_MAX + 1] = "x";
        int err = muster_job_put(s->client, bad[i].queue, bad[i].spec, id);
        if (err != MUSTER_E_INVALID || !strstr(muster_client_error(s->client), bad[i].words))
            fail_msg("%zu: %s: %s", i, muster_err_name(err), muster_client_error(s->client));
        assert_string_equal(id, "");
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:format", s->prefix), 0);
}

static void too_many_and_too_large_are_refused_before_anything_is_sent(void **state)
{
    struct scene *s = *state;
    static const char *many[MUSTER_JOB_AFTER_MAX + 1];
    static char tags[MUSTER_JOB_AFTER_MAX + 1][8];
    struct muster_client *small;
    const struct muster_client_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .max_task_len = 4};
    for (size_t i = 0; i < N_OF(many); i++) {
        snprintf(tags[i], sizeof tags[i], "%zu", i);
        many[i] = tags[i];
    }
    job_not_put(s, "q", JOB_SPEC(.id = "a", .tags = many, .n_tags = MUSTER_JOB_TAGS_MAX + 1), MUSTER_E_TOO_BIG, "101");
    job_not_put(s, "q", JOB_SPEC(.id = "a", .after = many, .n_after = N_OF(many)), MUSTER_E_TOO_BIG, "1001");
    assert_ok(muster_client_new(&small, &o));
    assert_err(muster_job_put(small, "q", JOB_SPEC(.id = "a", .data = BYTES("12345")), NULL), MUSTER_E_TOO_BIG);
    assert_err(muster_task_enqueue_unique(small, "q", "12345", 5, NULL), MUSTER_E_TOO_BIG);
    muster_client_free(small);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:format", s->prefix), 0);
    job_put(s, "q",
            JOB_SPEC(.id = "a", .tags = many, .n_tags = MUSTER_JOB_TAGS_MAX, .after = many,
                     .n_after = MUSTER_JOB_AFTER_MAX, .may_be_missing = 1));
    assert_int_equal(job_look(s, "a").n_tags, MUSTER_JOB_TAGS_MAX);
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
}

/* ---- what fails on the way ---- */

/* A caller that does not know whether the job was put asks by its id. */
static void a_made_id_is_known_also_when_nobody_answered(void **state)
{
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = "unix:///nowhere/redis.sock"};
    char id[MUSTER_JOB_ID_MAX + 1];
    (void)state;
    assert_ok(muster_client_new(&c, &o));
    assert_err(muster_job_put(c, "q", JOB_SPEC(.data = BYTES("d")), id), MUSTER_E_CONN);
    assert_int_equal(strlen(id), 32);
    muster_client_free(c);
}

static void a_full_redis_refuses_a_put_whole_but_lets_jobs_go(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old")));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    int put = muster_job_put(s->client, "q", JOB_SPEC(.id = "c", .tags = IDS("t"), .n_tags = 1), NULL);
    int replaced = muster_job_put(s->client, "r", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("new")), NULL);
    int changed = muster_job_change(s->client, "a", JOB_CHANGE(.queue = "r"));
    int cancelled = muster_job_cancel(s->client, N_IDS("b"), 0, &n, NULL);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_err(put, MUSTER_E_FULL);
    assert_err(replaced, MUSTER_E_FULL);
    assert_err(changed, MUSTER_E_FULL);
    assert_ok(cancelled);
    assert_int_equal(n, 1);
    assert_false(job_is_there(s, "c"));
    assert_string_equal(job_look(s, "a").queue, "q");
    assert_string_equal(job_look(s, "a").data, "old");
    struct checked found = checked_find(s);
    if (found.n > 0)
        fail_msg("left amiss: %s", found.what);
}

/* ---- recurring ---- */

static void a_recurring_job_makes_others_that_are_as_it_says(void **state)
{
    struct scene *s = *state;
    job_put(s, "q",
            JOB_SPEC(.id = "r", .data = BYTES("d"), .every_ms = 60000, .priority = 2, .retries = 1, .tags = IDS("red"),
                     .n_tags = 1, .backlog = 2));
    struct job_seen job = job_look(s, "r");
    assert_int_equal(job.state, MUSTER_JOB_RECURRING);
    assert_int_equal(job.every_ms, 60000);
    assert_int_equal(job.backlog, 2);
    assert_int_equal(queue_row_of(s, "q").recurring, 1);
    const char *process = job_take(s, "q", "r-1");
    job = job_look(s, "r-1");
    assert_string_equal(job.data, "d");
    assert_int_equal(job.priority, 2);
    assert_int_equal(job.retries, 1);
    assert_string_equal(job.tags, "red ");
    assert_int_equal(job_look(s, "r").made, 1);
    assert_true(job_look(s, "r").due_at_ms > server_now_ms(s));
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.every_ms = 5000)));
    assert_int_equal(job_look(s, "r").every_ms, 5000);
    assert_err(muster_job_change(s->client, "r-1", JOB_CHANGE(.every_ms = 5000)), MUSTER_E_STATE);
    assert_words(s, "complete");
    job_put(s, "p", JOB_SPEC(.id = "r", .replace = 1, .backlog = MUSTER_ZERO));
    job = job_look(s, "r");
    assert_string_equal(job.queue, "p");
    assert_int_equal(job.state, MUSTER_JOB_RECURRING);
    assert_int_equal(job.backlog, 0);
    assert_int_equal(job.made, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_member_of_a_spec_is_in_the_record),
        live_test(a_job_without_more_has_the_defaults),
        live_test(names_and_data_hold_any_bytes_that_they_may),
        live_test(many_are_got_in_order_and_the_missing_are_named),
        live_test(a_record_that_cannot_be_read_is_said_and_the_others_are_told),
        live_test(names_and_numbers_are_checked_before_anything_is_sent),
        live_test(too_many_and_too_large_are_refused_before_anything_is_sent),
        live_test(a_made_id_is_known_also_when_nobody_answered),
        live_test(a_full_redis_refuses_a_put_whole_but_lets_jobs_go),
        live_test(a_recurring_job_makes_others_that_are_as_it_says),
    };
    return scene_run(tests, argc, argv);
}
