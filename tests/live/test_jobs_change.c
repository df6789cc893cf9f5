/* SPDX-License-Identifier: MIT
 *
 * Changes of a job's time, retries, backoff and limit: what each means in each state, and changes that are made only in
 * a certain state.
 */
#include <stdio.h>
#include <string.h>

#include "job_look.h"
#include "taken.h"

#define AN_HOUR ((int64_t)3600 * 1000)

static int change(struct scene *s, const char *id, const struct muster_job_change *change)
{
    return muster_job_change(s->client, id, change);
}

static void put_late(struct scene *s, const char *id)
{
    job_put(s, "q", JOB_SPEC(.id = id, .delay_ms = AN_HOUR));
}

static void finish(struct scene *s, const char *id)
{
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", id), NULL));
}

/* ---- when it is ready ---- */

static void assert_due_in(struct scene *s, const char *id, int64_t ms)
{
    int64_t left = job_look(s, id).due_at_ms - server_now_ms(s);
    assert_true(left > ms - AN_HOUR / 2 && left <= ms);
}

static void a_scheduled_job_comes_earlier_or_later(void **state)
{
    struct scene *s = *state;
    put_late(s, "a");
    assert_ok(change(s, "a", JOB_CHANGE(.delay_ms = 3 * AN_HOUR)));
    assert_job_state(s, "a", MUSTER_JOB_SCHEDULED);
    assert_due_in(s, "a", 3 * AN_HOUR);
    int64_t soon = server_now_ms(s) + 50;
    assert_ok(change(s, "a", JOB_CHANGE(.at_ms = soon)));
    assert_int_equal(job_look(s, "a").due_at_ms, soon);
    await_server_ms(s, soon);
    finish(s, "a");
}

static void at_once_makes_it_wait_also_for_a_time_that_is_over(void **state)
{
    struct scene *s = *state;
    put_late(s, "a");
    put_late(s, "b");
    assert_ok(change(s, "a", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_ok(change(s, "b", JOB_CHANGE(.at_ms = server_now_ms(s) - AN_HOUR)));
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    assert_int_equal(job_look(s, "b").due_at_ms, 0);
    finish(s, "a");
    finish(s, "b");
}

/* The first one is not sent to the end of the line. */
static void a_waiting_job_is_scheduled_or_keeps_its_place(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    job_put(s, "q", JOB_SPEC(.id = "c"));
    assert_ok(change(s, "a", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_ok(change(s, "b", JOB_CHANGE(.delay_ms = AN_HOUR)));
    assert_job_state(s, "b", MUSTER_JOB_SCHEDULED);
    assert_due_in(s, "b", AN_HOUR);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a c ");
}

static void a_job_that_waits_for_others_keeps_its_new_time_until_they_let_it_go(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "c", .delay_ms = AN_HOUR, .after = IDS("a"), .n_after = 1));
    assert_ok(change(s, "b", JOB_CHANGE(.delay_ms = AN_HOUR)));
    assert_ok(change(s, "c", JOB_CHANGE(.delay_ms = MUSTER_ZERO)));
    assert_job_state(s, "b", MUSTER_JOB_DEPENDS);
    finish(s, "a");
    assert_job_state(s, "b", MUSTER_JOB_SCHEDULED);
    assert_due_in(s, "b", AN_HOUR);
    assert_job_state(s, "c", MUSTER_JOB_WAITING);
}

static void a_time_and_a_queue_are_changed_at_once(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    put_late(s, "b");
    assert_ok(change(s, "a", JOB_CHANGE(.queue = "r", .delay_ms = AN_HOUR)));
    assert_ok(change(s, "b", JOB_CHANGE(.queue = "r", .delay_ms = MUSTER_ZERO)));
    assert_string_equal(job_look(s, "a").queue, "r");
    assert_job_state(s, "a", MUSTER_JOB_SCHEDULED);
    assert_jobs_listed(s, JOB_FILTER(.queue = "r", .state = MUSTER_JOB_WAITING), "b ");
}

/* ---- how it is tried ---- */

static const struct muster_backoff an_hour = {.delay_ms = AN_HOUR};

static void retries_backoff_and_limit_change_also_while_it_runs(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = MUSTER_ZERO, .limit_ms = 1000));
    const char *process = job_take(s, "q", "a");
    assert_ok(change(s, "a", JOB_CHANGE(.retries = 1, .backoff = &an_hour, .limit_ms = MUSTER_ZERO)));
    assert_ok(muster_lease_retry(s->client, process, -1));
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_int_equal(job.retries, 1);
    assert_int_equal(job.retried, 1);
    assert_int_equal(job.limit_ms, 0);
    assert_int_equal(job.backoff.delay_ms, AN_HOUR);
    assert_due_in(s, "a", AN_HOUR);
    assert_ok(change(s, "a", JOB_CHANGE(.retries = MUSTER_ZERO, .delay_ms = MUSTER_ZERO)));
    assert_err(muster_lease_retry(s->client, job_take(s, "q", "a"), 0), MUSTER_E_EXHAUSTED);
    assert_job_state(s, "a", MUSTER_JOB_FAILED);
}

/* ---- what is refused ---- */

static void assert_refused(struct scene *s, const char *id, const struct muster_job_change *wanted, const char *words)
{
    struct job_seen before = job_look(s, id);
    assert_err(change(s, id, wanted), MUSTER_E_STATE);
    assert_words(s, words);
    struct job_seen after = job_look(s, id);
    assert_memory_equal(&before, &after, sizeof before);
}

static void assert_has_no_time(struct scene *s, const char *id, const char *words)
{
    assert_refused(s, id, JOB_CHANGE(.delay_ms = AN_HOUR, .priority = 7), words);
    assert_refused(s, id, JOB_CHANGE(.at_ms = 1, .log = "a line"), words);
}

static void a_job_that_runs_or_is_over_or_recurs_has_no_time(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .every_ms = AN_HOUR, .offset_ms = AN_HOUR));
    assert_has_no_time(s, "r", "recurring");
    job_put(s, "q", JOB_SPEC(.id = "a"));
    const char *process = job_take(s, "q", "a");
    assert_has_no_time(s, "a", "running");
    assert_ok(muster_lease_fail(s->client, process, "g", "m"));
    assert_has_no_time(s, "a", "failed");
    job_put(s, "q", JOB_SPEC(.id = "b"));
    finish(s, "b");
    assert_has_no_time(s, "b", "complete");
    assert_refused(s, "b", JOB_CHANGE(.retries = 3), "complete");
    assert_refused(s, "b", JOB_CHANGE(.backoff = &an_hour), "complete");
    assert_refused(s, "b", JOB_CHANGE(.limit_ms = 3), "complete");
}

static void a_change_is_made_only_in_the_states_that_it_names(void **state)
{
    struct scene *s = *state;
    const unsigned quiet = MUSTER_JOB_IN(MUSTER_JOB_SCHEDULED) | MUSTER_JOB_IN(MUSTER_JOB_FAILED);
    job_put(s, "q", JOB_SPEC(.id = "a"));
    assert_refused(s, "a", JOB_CHANGE(.only_if = quiet, .priority = 3), "is waiting, and was to be changed only in");
    assert_refused(s, "a", JOB_CHANGE(.only_if = quiet, .every_ms = 1000), "only in another state");
    assert_ok(change(s, "a", JOB_CHANGE(.only_if = MUSTER_JOB_IN(MUSTER_JOB_WAITING), .delay_ms = AN_HOUR)));
    assert_ok(change(s, "a", JOB_CHANGE(.only_if = quiet, .priority = 3)));
    assert_int_equal(job_look(s, "a").priority, 3);
}

static void nonsense_is_refused_before_it_is_sent(void **state)
{
    struct scene *s = *state;
    put_late(s, "a");
    assert_err(change(s, "a", JOB_CHANGE(.delay_ms = 1, .at_ms = 1)), MUSTER_E_INVALID);
    assert_words(s, "not both");
    assert_err(change(s, "a", JOB_CHANGE(.delay_ms = -1)), MUSTER_E_INVALID);
    assert_err(change(s, "a", JOB_CHANGE(.at_ms = (int64_t)1 << 60)), MUSTER_E_INVALID);
    assert_err(change(s, "a", JOB_CHANGE(.retries = -1)), MUSTER_E_INVALID);
    assert_err(change(s, "a", JOB_CHANGE(.limit_ms = -1)), MUSTER_E_INVALID);
    assert_err(change(s, "a", JOB_CHANGE(.backoff = &(struct muster_backoff){.jitter_percent = 101})),
               MUSTER_E_INVALID);
    assert_err(change(s, "a", JOB_CHANGE(.only_if = MUSTER_JOB_IN(MUSTER_JOB_STATE_COUNT))), MUSTER_E_INVALID);
    assert_words(s, "no state");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_scheduled_job_comes_earlier_or_later),
        live_test(at_once_makes_it_wait_also_for_a_time_that_is_over),
        live_test(a_waiting_job_is_scheduled_or_keeps_its_place),
        live_test(a_job_that_waits_for_others_keeps_its_new_time_until_they_let_it_go),
        live_test(a_time_and_a_queue_are_changed_at_once),
        live_test(retries_backoff_and_limit_change_also_while_it_runs),
        live_test(a_job_that_runs_or_is_over_or_recurs_has_no_time),
        live_test(a_change_is_made_only_in_the_states_that_it_names),
        live_test(nonsense_is_refused_before_it_is_sent),
    };
    return scene_run(tests, argc, argv);
}
