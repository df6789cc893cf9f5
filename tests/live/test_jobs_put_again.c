/* SPDX-License-Identifier: MIT
 *
 * Putting jobs with the blocking client under ids that are taken, in place of others, and after others.
 */
#include <string.h>

#include "job_look.h"
#include "taken.h"

/* ---- ids that are taken ---- */

static void an_id_is_one_job_in_the_namespace_while_it_lives(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1];
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("first")));
    job_not_put(s, "other", JOB_SPEC(.id = "a", .data = BYTES("second")), MUSTER_E_EXISTS, "is waiting");
    assert_words(s, "'a'");
    const char *process = job_take(s, "q", "a");
    assert_err(muster_job_put(s->client, "q", JOB_SPEC(.id = "a"), id), MUSTER_E_EXISTS);
    assert_words(s, "is running");
    assert_string_equal(id, "a");
    assert_string_equal(job_look(s, "a").data, "first");
    assert_string_equal(job_look(s, "a").process, process);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_job_state(s, "a", MUSTER_JOB_COMPLETE);
    job_put(s, "other", JOB_SPEC(.id = "a", .data = BYTES("third")));
    struct job_seen job = job_look(s, "a");
    assert_string_equal(job.data, "third");
    assert_string_equal(job.history, "put ");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_COMPLETE), 0);
}

static void a_failed_job_gives_way_to_a_new_one(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old"), .tags = IDS("red"), .n_tags = 1));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), "g", "why"));
    assert_string_equal(job_look(s, "a").group, "g");
    job_put(s, "q", JOB_SPEC(.id = "a"));
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_string_equal(job.data, "");
    assert_string_equal(job.group, "");
    assert_string_equal(job.tags, "");
    assert_int_equal(queue_row_of(s, "q").failed, 0);
}

/* ---- replacing ---- */

static void what_a_replacement_does_not_give_stays(void **state)
{
    struct scene *s = *state;
    job_put(s, "q",
            JOB_SPEC(.id = "a", .data = BYTES("old"), .priority = 4, .retries = 9, .limit_ms = 700, .tags = IDS("red"),
                     .n_tags = 1, .delay_ms = 3600000));
    int64_t due_at_ms = job_look(s, "a").due_at_ms;
    job_put(s, "r", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("new")));
    struct job_seen job = job_look(s, "a");
    assert_string_equal(job.queue, "r");
    assert_string_equal(job.data, "new");
    assert_int_equal(job.state, MUSTER_JOB_SCHEDULED);
    assert_int_equal(job.due_at_ms, due_at_ms);
    assert_int_equal(job.priority, 4);
    assert_int_equal(job.retries, 9);
    assert_int_equal(job.limit_ms, 700);
    assert_string_equal(job.tags, "red ");
    job_put(s, "r",
            JOB_SPEC(.id = "a", .replace = 1, .priority = MUSTER_ZERO, .retries = MUSTER_ZERO, .limit_ms = MUSTER_ZERO,
                     .delay_ms = MUSTER_ZERO, .tags = IDS("blue"), .n_tags = 1));
    job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_string_equal(job.data, "new");
    assert_int_equal(job.priority, 0);
    assert_int_equal(job.retries, 0);
    assert_int_equal(job.limit_ms, 0);
    assert_string_equal(job.tags, "blue ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "red"), "");
}

static void a_replacement_of_nothing_is_a_new_job(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("d")));
    assert_int_equal(job_look(s, "a").retries, MUSTER_JOB_RETRIES_DEFAULT);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("")));
    assert_job_state(s, "a", MUSTER_JOB_WAITING);
    assert_string_equal(job_look(s, "a").data, "");
}

static void a_replacement_without_data_needs_a_record(void **state)
{
    struct scene *s = *state;
    const struct muster_job_spec *const both[] = {JOB_SPEC(.id = "b", .data = BYTES("d")),
                                                  JOB_SPEC(.id = "a", .replace = 1, .priority = 3)};
    job_not_put(s, "q", JOB_SPEC(.id = "a", .replace = 1), MUSTER_E_NOT_FOUND, "no job 'a' whose data could stay");
    assert_err(muster_job_put_many(s->client, "q", both, 2, NULL, NULL), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_client_error(s->client), "job 2 of 2"));
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "");
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("kept")));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    job_put(s, "r", JOB_SPEC(.id = "a", .replace = 1));
    assert_string_equal(job_look(s, "a").data, "kept");
    assert_string_equal(job_look(s, "a").history, "put ");
}

static void a_worker_loses_a_job_that_is_replaced(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old")));
    const char *process = job_take(s, "q", "a");
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1, .data = BYTES("new")));
    assert_err(muster_lease_finish(s->client, process, NULL), MUSTER_E_LOST);
    assert_int_equal(queue_row_of(s, "q").running, 0);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
}

/* Any end but a finish drops it: nobody may be told that the work is there. */
static void a_job_whose_queue_was_deleted_is_in_the_way(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old")));
    const char *process = job_take(s, "q", "a");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    job_not_put(s, "q", JOB_SPEC(.id = "a"), MUSTER_E_STATE, "'a' is in somebody's hands");
    assert_err(muster_lease_give_back(s->client, process), MUSTER_E_CANCELLED);
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("new")));
    process = job_take(s, "q", "a");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1));
    assert_err(muster_lease_give_back(s->client, process), MUSTER_E_LOST);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
}

static void a_failed_job_is_replaced_with_what_it_has(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a", .data = BYTES("old"), .priority = 2));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), "g", "why"));
    job_put(s, "q", JOB_SPEC(.id = "a", .replace = 1, .priority = 3));
    struct job_seen job = job_look(s, "a");
    assert_int_equal(job.state, MUSTER_JOB_WAITING);
    assert_string_equal(job.data, "old");
    assert_int_equal(job.priority, 3);
    assert_string_equal(job.group, "");
    assert_int_equal(queue_row_of(s, "q").failed, 0);
    assert_int_equal(job_count(s, "q", MUSTER_JOB_FAILED), 0);
}

/* ---- dependencies ---- */

static void a_job_waits_for_others_that_live(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a", "nobody"), .n_after = 2, .may_be_missing = 1));
    assert_job_state(s, "b", MUSTER_JOB_DEPENDS);
    assert_string_equal(job_look(s, "b").after, "a ");
    assert_string_equal(job_look(s, "a").before, "b ");
    assert_int_equal(queue_row_of(s, "q").depends, 1);
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    assert_job_state(s, "b", MUSTER_JOB_WAITING);
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("a"), .n_after = 1));
    assert_job_state(s, "c", MUSTER_JOB_WAITING);
    assert_string_equal(job_look(s, "b").history, "put ready ");
}

/* An id may be a slip of the pen: a job that does not wait for it would run too soon. */
static void a_job_to_wait_for_must_be_there(void **state)
{
    struct scene *s = *state;
    const struct muster_job_spec *both[] = {JOB_SPEC(.id = "c"), JOB_SPEC(.id = "d", .after = IDS("c"), .n_after = 1)};
    const struct muster_job_spec *wrong[] = {JOB_SPEC(.id = "f", .after = IDS("g"), .n_after = 1), JOB_SPEC(.id = "g")};
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_not_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a", "nobody"), .n_after = 2), MUSTER_E_NOT_FOUND,
                "there is no job 'nobody' for the job 'b' to wait for");
    assert_false(job_is_there(s, "b"));
    assert_ok(muster_job_put_many(s->client, "q", both, 2, NULL, NULL)); /* it comes earlier in the call */
    assert_job_state(s, "d", MUSTER_JOB_DEPENDS);
    assert_err(muster_job_put_many(s->client, "q", wrong, 2, NULL, NULL), MUSTER_E_NOT_FOUND);
    assert_words(s, "'g'");
    assert_false(job_is_there(s, "g"));
    job_put(s, "q", JOB_SPEC(.id = "e", .after = IDS("d"), .n_after = 1));
    assert_err(muster_job_change(s->client, "e", JOB_CHANGE(.after = IDS("nobody"), .n_after = 1)), MUSTER_E_NOT_FOUND);
    assert_words(s, "there is no job 'nobody' for the job 'e' to wait for");
    assert_ok(muster_job_change(s->client, "e", JOB_CHANGE(.after = IDS("nobody"), .n_after = 1, .may_be_missing = 1)));
    assert_string_equal(job_look(s, "e").after, "d ");
    assert_err(muster_job_change(s->client, "nobody", JOB_CHANGE(.priority = 1)), MUSTER_E_NOT_FOUND);
    assert_words(s, "there is no job 'nobody' (any more)");
}

static void no_job_waits_for_itself(void **state)
{
    struct scene *s = *state;
    job_not_put(s, "q", JOB_SPEC(.id = "a", .after = IDS("a"), .n_after = 1), MUSTER_E_INVALID, "itself");
    assert_false(job_is_there(s, "a"));
    job_put(s, "q", JOB_SPEC(.id = "a", .delay_ms = 3600000));
    job_put(s, "q", JOB_SPEC(.id = "b", .after = IDS("a"), .n_after = 1));
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("b"), .n_after = 1));
    job_not_put(s, "q", JOB_SPEC(.id = "a", .replace = 1, .after = IDS("c"), .n_after = 1), MUSTER_E_INVALID, "'c'");
    assert_job_state(s, "a", MUSTER_JOB_SCHEDULED);
    assert_err(muster_job_change(s->client, "b", JOB_CHANGE(.after = IDS("c"), .n_after = 1)), MUSTER_E_INVALID);
    assert_words(s, "'c'");
    assert_string_equal(job_look(s, "b").after, "a ");
}

static void nobody_waits_for_a_recurring_job(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .every_ms = 60000, .offset_ms = 60000));
    job_not_put(s, "q", JOB_SPEC(.id = "a", .after = IDS("r"), .n_after = 1), MUSTER_E_INVALID, "recurring");
    job_put(s, "q", JOB_SPEC(.id = "b", .delay_ms = 3600000));
    job_put(s, "q", JOB_SPEC(.id = "c", .after = IDS("b"), .n_after = 1));
    job_not_put(s, "q", JOB_SPEC(.id = "b", .replace = 1, .every_ms = 60000), MUSTER_E_INVALID, "'b' recurs");
    assert_job_state(s, "b", MUSTER_JOB_SCHEDULED);
}

static void a_recurring_job_waits_for_nobody(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .every_ms = 60000, .offset_ms = 60000));
    job_put(s, "q", JOB_SPEC(.id = "b", .delay_ms = 3600000));
    job_not_put(s, "q", JOB_SPEC(.id = "r", .replace = 1, .after = IDS("b"), .n_after = 1), MUSTER_E_INVALID,
                "'r' recurs");
    assert_job_state(s, "r", MUSTER_JOB_RECURRING);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_id_is_one_job_in_the_namespace_while_it_lives),
        live_test(a_failed_job_gives_way_to_a_new_one),
        live_test(what_a_replacement_does_not_give_stays),
        live_test(a_replacement_of_nothing_is_a_new_job),
        live_test(a_replacement_without_data_needs_a_record),
        live_test(a_worker_loses_a_job_that_is_replaced),
        live_test(a_job_whose_queue_was_deleted_is_in_the_way),
        live_test(a_failed_job_is_replaced_with_what_it_has),
        live_test(a_job_waits_for_others_that_live),
        live_test(a_job_to_wait_for_must_be_there),
        live_test(no_job_waits_for_itself),
        live_test(nobody_waits_for_a_recurring_job),
        live_test(a_recurring_job_waits_for_nobody),
    };
    return scene_run(tests, argc, argv);
}
