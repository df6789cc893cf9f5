/* SPDX-License-Identifier: MIT
 *
 * Recurring jobs with the blocking client: what they make is as they are at that moment, and put at the time when it
 * was due; they are changed, moved, put again in place, and ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "taken.h"

#define A_MINUTE 60000
#define EVERY(...) JOB_SPEC(.every_ms = A_MINUTE, .offset_ms = A_MINUTE, __VA_ARGS__)

/* As if `intervals`, and a little, had passed since it was due; the next take makes their jobs. */
static void pass(struct scene *s, const char *id, int intervals)
{
    static const char lua[] = "local P, id = KEYS[1] .. ':', ARGV[1]\n"
                              "local job = redis.call('HMGET', P .. 'job:' .. id, 'queue', 'place')\n"
                              "local time = redis.call('TIME')\n"
                              "local at = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2]\n"
                              "redis.call('HSET', P .. 'job:' .. id, 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. 'recurring:' .. job[1], at, job[2] .. id)\n"
                              "redis.call('HSET', P .. 'queue:' .. job[1], 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. 'due', at, job[1])\n";
    raw_do(s->server->redis, "EVAL %s 1 %s %s %d", lua, s->prefix, id, intervals * A_MINUTE + 1000);
}

static void nothing_is_to_be_had(struct scene *s, const char *queue)
{
    assert_err(take_n(s, queue, 1, A_MINUTE, &(struct taken){0}), MUSTER_E_NOT_FOUND);
}

static void what_is_made_is_as_the_recurring_one_is_by_then(void **state)
{
    struct scene *s = *state;
    const struct muster_backoff backoff = {.delay_ms = 700, .max_ms = 9000, .exponential = 1, .jitter_percent = 5};
    job_put(s, "q",
            EVERY(.id = "r", .data = BYTES("old"), .limit_ms = 4000, .backoff = &backoff, .track = 1,
                  .tags = IDS("red", "blue"), .n_tags = 2));
    pass(s, "r", 0);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "r-1"), NULL));
    struct job_seen job = job_look(s, "r-1");
    assert_int_equal(job.limit_ms, 4000);
    assert_memory_equal(&job.backoff, &backoff, sizeof backoff);
    assert_int_equal(job.retries, MUSTER_JOB_RETRIES_DEFAULT);
    assert_int_equal(job.every_ms, 0);
    assert_string_equal(job.tags, "blue red ");
    assert_ok(muster_job_change(s->client, "r",
                                JOB_CHANGE(.tag = IDS("new"), .n_tag = 1, .untag = IDS("red"), .n_untag = 1,
                                           .priority = -2, .data = BYTES("new"))));
    pass(s, "r", 0);
    job_take(s, "q", "r-2");
    job = job_look(s, "r-2");
    assert_string_equal(job.tags, "blue new ");
    assert_int_equal(job.priority, -2);
    assert_string_equal(job.data, "new");
    assert_string_equal(job_look(s, "r-1").tags, "blue red ");
}

/* A recurring job without data makes jobs without data. */
static void nothing_is_made_of_nothing(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    job_put(s, "q", EVERY(.id = "r"));
    pass(s, "r", 0);
    assert_ok(take_n(s, "q", 1, A_MINUTE, &taken));
    assert_int_equal(taken.rows[0].len, 0);
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
    nothing_is_to_be_had(s, "q");
}

static int note_put_at(const struct muster_job *job, void *arg)
{
    int64_t **at = arg;
    assert_int_equal(job->n_history > 0 ? job->history[0].at_ms : -1, job->put_at_ms);
    *(*at)++ = job->put_at_ms;
    return 0;
}

static void missed_times_are_in_the_records_of_what_is_made_up_for_them(void **state)
{
    struct scene *s = *state;
    int64_t put_at_ms[5], *at = put_at_ms;
    job_put(s, "q", EVERY(.id = "r"));
    pass(s, "r", 4);
    int64_t due_ms = job_look(s, "r").due_at_ms;
    struct taken taken;
    assert_ok(take_n(s, "q", 9, A_MINUTE, &taken));
    assert_int_equal(taken.n, 5);
    assert_ok(muster_job_get(s->client, N_IDS("r-1", "r-2", "r-3", "r-4", "r-5"), note_put_at, &at));
    for (int i = 0; i < 5; i++)
        assert_int_equal(put_at_ms[i], due_ms + (int64_t)i * A_MINUTE);
    assert_int_equal(job_look(s, "r").due_at_ms, due_ms + (int64_t)5 * A_MINUTE);
}

static void one_that_is_put_again_is_refused_or_goes_on_counting(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EVERY(.id = "r", .data = BYTES("old"), .priority = 3));
    pass(s, "r", 2);
    assert_ok(take_n(s, "q", 9, A_MINUTE, &(struct taken){0}));
    job_not_put(s, "q", EVERY(.id = "r"), MUSTER_E_EXISTS, "is recurring");
    job_put(s, "p",
            JOB_SPEC(.id = "r", .replace = 1, .every_ms = 2 * A_MINUTE, .data = BYTES("new"), .retries = 9,
                     .tags = IDS("t"), .n_tags = 1));
    struct job_seen job = job_look(s, "r");
    assert_string_equal(job.queue, "p");
    assert_int_equal(job.made, 3);
    assert_int_equal(job.every_ms, 2 * A_MINUTE);
    assert_int_equal(job.priority, 3);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_RECURRING), 0);
    pass(s, "r", 0);
    job_take(s, "p", "r-4");
    job = job_look(s, "r-4");
    assert_string_equal(job.data, "new");
    assert_int_equal(job.retries, 9);
    assert_string_equal(job.tags, "t ");
    assert_int_equal(job.priority, 3);
}

static void when_it_has_ended_nothing_more_is_made(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EVERY(.id = "r", .tags = IDS("t"), .n_tags = 1));
    pass(s, "r", 0);
    const char *process = job_take(s, "q", "r-1");
    pass(s, "r", 5);
    assert_ok(muster_job_cancel(s->client, N_IDS("r"), 0, NULL, NULL));
    nothing_is_to_be_had(s, "q");
    assert_jobs_listed(s, JOB_FILTER(.tag = "t"), "r-1 ");
    assert_ok(muster_lease_finish(s->client, process, NULL)); /* what it had made stays */
    job_put(s, "q", EVERY(.id = "r"));                        /* and another one begins with 1 again */
    pass(s, "r", 0);
    job_take(s, "q", "r-1");
    checked_assert_clean(s);
}

/* Jobs are made while the queue is paused, too, and wait. */
static void a_paused_queue_lets_none_out(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EVERY(.id = "r"));
    assert_ok(muster_queue_pause(s->client, "q"));
    pass(s, "r", 1);
    nothing_is_to_be_had(s, "q");
    assert_ok(muster_queue_resume(s->client, "q"));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "r-1"), NULL));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "r-2"), NULL));
    nothing_is_to_be_had(s, "q");
}

static void it_is_on_the_lists_of_its_queue_tags_and_tracked_ones(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "far", .every_ms = A_MINUTE, .offset_ms = 3 * A_MINUTE));
    job_put(s, "q", EVERY(.id = "near", .track = 1, .tags = IDS("t"), .n_tags = 1));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_RECURRING), "near far ");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_RECURRING, .offset = 1, .n = 1), "far ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "t"), "near ");
    assert_jobs_listed(s, JOB_FILTER(.tracked = 1), "near ");
    assert_int_equal(queue_row_of(s, "q").recurring, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_is_made_is_as_the_recurring_one_is_by_then),
        live_test(nothing_is_made_of_nothing),
        live_test(missed_times_are_in_the_records_of_what_is_made_up_for_them),
        live_test(one_that_is_put_again_is_refused_or_goes_on_counting),
        live_test(when_it_has_ended_nothing_more_is_made),
        live_test(a_paused_queue_lets_none_out),
        live_test(it_is_on_the_lists_of_its_queue_tags_and_tracked_ones),
    };
    return scene_run(tests, argc, argv);
}
