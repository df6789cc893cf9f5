/* SPDX-License-Identifier: MIT
 *
 * Jobs that come and go by themselves, by the scripts alone: recurring ones, and complete ones that were kept long
 * enough.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "job_scripts.h"

/* ---- recurring ---- */

static void a_recurring_job_makes_one_each_interval(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "r", "tag", "blue", "every", "60000", "data", "d", "priority", "3",
                          "retries", "2"));
    jobs_promote(s); /* the first one at once */
    assert_state(s, "r-1", "waiting");
    assert_field(s, "r-1", "data", "d");
    assert_field(s, "r-1", "priority", "3");
    assert_field(s, "r-1", "tags", "blue");
    assert_field(s, "r-1", "every", "");
    jobs_promote(s);
    assert_state(s, "r-2", "");
    job_make_due(s, "recurring", "r", 0);
    jobs_promote(s);
    jobs_promote(s);
    assert_state(s, "r-2", "waiting");
    assert_field(s, "r", "made", "2");
    put_with(s, "offset", "every", "60000", "delay", "60000");
    jobs_promote(s);
    assert_state(s, "offset-1", "");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "r", "offset"), 0, 2);
    jobs_sound(s);
    assert_state(s, "r", "");
    assert_jobs(s, "waiting", "r-1", "r-2"); /* what it has made stays */
}

/* Its first ticks have come between their computing and the put. */
static void a_schedule_that_replaces_another_is_due_at_its_first_tick(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 2; i++)
        assert_ok(script_does(s, SCRIPT_PUT, "q", "", "r", "replace", "1", "data", "d", "cron", "0 0 1 1 *", "zone",
                              "UTC", "last", "1", "ticks", "1000 2000 4102444800000"));
    checked_assert_clean(s);
    assert_int_equal(job_number(s, "r", "due"), 1000);
    jobs_promote(s);
    assert_int_equal(job_number(s, "r", "made"), 2);
}

/* Ten intervals passed: the one that is due now, and nine before. */
static void missed_intervals_are_made_up_for_as_far_as_the_backlog_says(void **state)
{
    static const struct {
        const char *backlog;
        int made;
    } cases[] = {{"0", 10}, {"1", 1}, {"3", 3}, {"10", 10}, {"50", 10}};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        put_with(s, "r", "every", "60000", "delay", "60000", "backlog", cases[i].backlog);
        job_make_due(s, "recurring", "r", 9 * 60000 + 30000);
        jobs_promote(s);
        assert_int_equal(job_number(s, "r", "made"), cases[i].made);
        assert_int_equal(key_size(s, "ZCARD", "waiting:q"), cases[i].made);
        int64_t until = job_number(s, "r", "due") - raw_int(s->server->redis, "EVAL %s 0",
                                                            "local t = redis.call('TIME')\n"
                                                            "return t[1] * 1000 + math.floor(t[2] / 1000)");
        assert_in_range(until, 20000, 30000); /* the rhythm is kept */
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void more_than_one_call_can_make_are_made_by_several(void **state)
{
    struct scene *s = *state;
    put_with(s, "r", "every", "60000", "delay", "60000");
    job_make_due(s, "recurring", "r", 249 * 60000 + 30000);
    for (int i = 1; i <= 3; i++) {
        jobs_promote(s);
        assert_int_equal(job_number(s, "r", "made"), i < 3 ? 100 * i : 250);
    }
}

/* Neither a long id nor one that is in the way stops those after it. */
static void what_cannot_be_made_is_passed_over(void **state)
{
    struct scene *s = *state;
    char id[201], made[210];
    memset(id, 'x', 198);
    snprintf(id + 198, sizeof id - 198, "%s", "");
    put_with(s, id, "every", "60000", "delay", "60000");
    job_make_due(s, "recurring", id, 10 * 60000);
    jobs_promote(s);
    assert_int_equal(job_number(s, id, "made"), 11);
    snprintf(made, sizeof made, "%s-9", id);
    assert_state(s, made, "waiting");
    snprintf(made, sizeof made, "%s-10", id);
    assert_state(s, made, "");
    put_with(s, "r-1", "delay", "60000");
    put_with(s, "r", "every", "60000", "delay", "60000");
    raw_do(s->server->redis, "SET %s:job:r-2 damaged", s->prefix);
    job_make_due(s, "recurring", "r", 2 * 60000 + 1000);
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    raw_do(s->server->redis, "DEL %s:job:r-2", s->prefix);
    jobs_sound(s);
    assert_state(s, "r-1", "scheduled");
    assert_state(s, "r-3", "waiting");
}

/* What has failed may be replayed: it keeps its id, and those that wait for it wait on. */
static void what_is_made_takes_the_place_of_what_is_complete(void **state)
{
    struct scene *s = *state;
    char own[64];
    put(s, "r-1");
    put(s, "r-2");
    put_after(s, "waits", "1", "r-2");
    job_complete(s, "r-1");
    job_fail(s, "r-2");
    put_with(s, "r", "every", "60000", "delay", "60000");
    job_make_due(s, "recurring", "r", 60000 + 1000);
    jobs_promote(s);
    snprintf(own, sizeof own, "r-2-%s", job_field(s, "r", "place"));
    assert_jobs(s, "waiting", "r-1", own);
    assert_state(s, "r-2", "failed");
    job_complete(s, "r-1");
    job_complete(s, own);
    assert_state(s, "waits", "depends");
}

/* With this overlap a schedule looks at the job that it made last, whatever its id; a stranger's of such an id it leaves
 * alone. */
static void a_namesake_of_what_is_made_stops_no_schedule(void **state)
{
    static const char *const overlaps[] = {"skip", "queue"};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(overlaps); i++) {
        char own[64], token[12];
        put_with(s, "r-1", "delay", "60000");
        put_with(s, "r-2", "every", "60000", "delay", "60000");
        put_with(s, "r", "every", "60000", "delay", "60000", "overlap", overlaps[i]);
        job_make_due(s, "recurring", "r", 0);
        jobs_promote(s);
        snprintf(own, sizeof own, "r-1-%s", job_field(s, "r", "place"));
        take_job(s, "q", own, token);
        job_make_due(s, "recurring", "r", 0);
        jobs_promote(s);
        assert_int_equal(job_number(s, "r", "made"), 1); /* its own one runs */
        assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
        job_make_due(s, "recurring", "r", 0);
        jobs_promote(s);
        assert_int_equal(job_number(s, "r", "made"), 2);
        assert_jobs(s, "scheduled", "r-1");
        snprintf(own, sizeof own, "r-2-%s", job_field(s, "r", "place"));
        assert_state(s, own, "waiting");
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* A schedule that was replaced, or has moved, knows the job that it made last as before. */
static void a_schedule_that_moves_still_waits_for_its_own(void **state)
{
    struct scene *s = *state;
    char own[64];
    put_with(s, "r-1", "delay", "60000");
    put_with(s, "r", "every", "60000", "delay", "60000", "overlap", "skip");
    job_make_due(s, "recurring", "r", 0);
    jobs_promote(s);
    snprintf(own, sizeof own, "r-1-%s", job_field(s, "r", "place"));
    replace_in(s, "o", "r", "every", "60000");
    assert_ok(script_does(s, SCRIPT_CHANGE, "r", "queue", "q"));
    job_make_due(s, "recurring", "r", 0);
    jobs_promote(s);
    assert_state(s, own, "waiting");
    assert_int_equal(job_number(s, "r", "made"), 1);
}

/* The last time of a job whose record is not kept. */
static void what_is_over_and_gone_has_no_history(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs", "0"));
    put_with(s, "r-1", "delay", "60000");
    put_with(s, "r", "every", "60000", "delay", "60000", "count", "1");
    job_make_due(s, "recurring", "r", 0);
    jobs_promote(s);
    assert_state(s, "r", "");
    assert_int_equal(key_size(s, "EXISTS", "history:r"), 0);
}

static void a_recurring_job_changes_and_moves(void **state)
{
    struct scene *s = *state;
    put_with(s, "r", "every", "60000", "delay", "60000");
    int64_t due = job_number(s, "r", "due");
    assert_ok(script_does(s, SCRIPT_CHANGE, "r", "every", "30000", "queue", "o", "data", "new"));
    jobs_sound(s);
    assert_int_equal(job_number(s, "r", "due"), due);
    replace_in(s, "p", "r", "every", "20000");
    jobs_sound(s);
    assert_field(s, "r", "queue", "p");
    assert_int_equal(job_number(s, "r", "due"), due);
    job_make_due(s, "recurring", "r", 0);
    jobs_promote(s);
    assert_field(s, "r-1", "queue", "p");
    assert_field(s, "r-1", "data", "new");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "r-1", "every", "30000"), MUSTER_E_STATE);
}

/* ---- how long they are kept ---- */

static void complete_jobs_are_kept_by_count_and_age(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_CONFIG, "", "keep_jobs", "2"));
    for (int i = 0; i < 4; i++) {
        char id[4];
        snprintf(id, sizeof id, "j%d", i);
        put(s, id);
        job_complete(s, id);
    }
    assert_jobs(s, "complete", "j2", "j3");
    assert_jobs(s, "", "j0", "j1");
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs", "0"));
    put(s, "j4");
    put_after(s, "waits", "1", "j4");
    job_complete(s, "j4");
    assert_jobs(s, "", "j2", "j3", "j4");
    assert_state(s, "waits", "waiting"); /* it was complete, if not for long */
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs", "100"));
    job_complete(s, "waits");
    raw_do(s->server->redis, "HSET %s:queue:q keep_jobs_ms 0", s->prefix); /* by hand: tidying finds it */
    assert_answer(script_call(s, SCRIPT_TIDY, "0"), 0, -1, 1);
    jobs_sound(s);
    assert_state(s, "waits", "");
    assert_int_equal(key_size(s, "EXISTS", "history:waits"), 0);
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs_ms", ""));
    put(s, "last");
    job_complete(s, "last");
    assert_state(s, "last", "complete");
    assert_ok(script_does(s, SCRIPT_CONFIG, "", "keep_jobs_ms", "0"));
    assert_state(s, "last", "");
    jobs_sound(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_recurring_job_makes_one_each_interval),
        live_test(missed_intervals_are_made_up_for_as_far_as_the_backlog_says),
        live_test(more_than_one_call_can_make_are_made_by_several),
        live_test(what_cannot_be_made_is_passed_over),
        live_test(what_is_made_takes_the_place_of_what_is_complete),
        live_test(a_namesake_of_what_is_made_stops_no_schedule),
        live_test(a_schedule_that_moves_still_waits_for_its_own),
        live_test(what_is_over_and_gone_has_no_history),
        live_test(a_recurring_job_changes_and_moves),
        live_test(a_schedule_that_replaces_another_is_due_at_its_first_tick),
        live_test(complete_jobs_are_kept_by_count_and_age),
    };
    return scene_run(tests, argc, argv);
}
