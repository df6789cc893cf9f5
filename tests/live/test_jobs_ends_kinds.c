/* SPDX-License-Identifier: MIT
 *
 * What a job may wait for: that another one is complete, has ended in any way, or has failed. Each of these with each
 * end of the other one, for jobs that were put before it, after it, together with it, and changed; replays; many that
 * are let go in steps, with a process that dies after each one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "job_scripts.h"
#include "taken.h"

enum { STEP = 400, MANY = 850 };

/* The ways to wait, and the job of each in these tests. */
static const char *const ways[] = {"after", "after_end", "after_failure"};
static const char *const followers[] = {"plain", "end", "failure"};
enum { N_WAYS = N_OF(ways) };

/* ---- how a job ends ---- */

static void complete_root(struct scene *s)
{
    char token[12];
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "other", token));
}

static void fail_root(struct scene *s)
{
    char token[12];
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "other", token, "g", "m"));
}

static void cancel_root(struct scene *s)
{
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "root"));
}

/* While it runs. */
static void cancel_running_root(struct scene *s)
{
    char token[12];
    take_job(s, "other", "root", token);
    cancel_root(s);
    assert_int_equal(script_does(s, SCRIPT_END, ".lease", "done", "other", token), MUSTER_E_CANCELLED);
}

static void delete_root(struct scene *s)
{
    assert_answer(script_call(s, SCRIPT_DELETE, "other"), 0, 1, 0, 0);
}

/* Nothing of it is kept. */
static void complete_root_and_forget_it(struct scene *s)
{
    assert_ok(script_does(s, SCRIPT_CONFIG, "other", "keep_jobs", "0"));
    complete_root(s);
    assert_state(s, "root", "");
    assert_ok(script_does(s, SCRIPT_CONFIG, "other", "keep_jobs", ""));
}

/*
 * The state of each follower: of those that were put before the end; and of those that are put after it, or the error
 * that refuses them, if their jobs may be missing and if not. "": it was cancelled.
 */
static const struct end {
    const char *name;
    void (*make)(struct scene *s);
    const char *before[N_WAYS];
    const char *after[N_WAYS];
    int refusals[N_WAYS], missing[N_WAYS];
} ends[] = {
    {"complete",
     complete_root,
     {"waiting", "waiting", ""},
     {"waiting", "waiting", ""},
     {0, 0, MUSTER_E_STATE},
     {0, 0, MUSTER_E_STATE}},
    {"complete, not kept",
     complete_root_and_forget_it,
     {"waiting", "waiting", ""},
     {"waiting", "waiting", ""},
     {MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND},
     {0, 0, MUSTER_E_NOT_FOUND}},
    {"failed", fail_root, {"depends", "waiting", "waiting"}, {"depends", "waiting", "waiting"}, {0, 0, 0}, {0, 0, 0}},
    {"cancelled",
     cancel_root,
     {NULL, "waiting", ""},
     {"waiting", "waiting", ""},
     {MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND},
     {0, 0, MUSTER_E_NOT_FOUND}},
    {"cancelled in work",
     cancel_running_root,
     {NULL, "waiting", ""},
     {"waiting", "waiting", ""},
     {MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND},
     {0, 0, MUSTER_E_NOT_FOUND}},
    {"gone",
     delete_root,
     {"failed", "waiting", ""},
     {"waiting", "waiting", ""},
     {MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND, MUSTER_E_NOT_FOUND},
     {0, 0, MUSTER_E_NOT_FOUND}},
};

/* A new namespace, as far as a test of several ends needs one. */
static void begin_anew(struct scene *s, const struct end *end)
{
    print_message("%s\n", end->name);
    raw_do(s->server->redis, "FLUSHDB");
    assert_ok(put_in(s, "other", "root", "retries", "0"));
}

static void put_follower(struct scene *s, int way)
{
    put_with(s, followers[way], ways[way], "root");
}

static void assert_follower(struct scene *s, int way, const char *state)
{
    if (strcmp(job_field(s, followers[way], "state"), state) != 0)
        fail_msg("%s is '%s', not '%s'", followers[way], job_field(s, followers[way], "state"), state);
}

/* ---- each way with each end ---- */

static void who_waits_follows_the_end_that_it_waits_for(void **state)
{
    struct scene *s = *state;
    for (const struct end *end = ends; end < ends + N_OF(ends); end++) {
        begin_anew(s, end);
        for (int way = 0; way < N_WAYS; way++)
            if (end->before[way])
                put_follower(s, way);
        jobs_sound(s);
        end->make(s);
        jobs_sound(s);
        for (int way = 0; way < N_WAYS; way++)
            if (end->before[way])
                assert_follower(s, way, end->before[way]);
    }
}

static void who_comes_late_sees_how_the_other_one_has_ended(void **state)
{
    struct scene *s = *state;
    for (const struct end *end = ends; end < ends + N_OF(ends); end++) {
        begin_anew(s, end);
        end->make(s);
        for (int way = 0; way < N_WAYS; way++) {
            assert_int_equal(put_in(s, "q", followers[way], ways[way], "root"), end->refusals[way]);
            if (end->refusals[way])
                assert_int_equal(put_in(s, "q", followers[way], ways[way], "root", "may_be_missing", "1"),
                                 end->missing[way]);
            if (!end->missing[way])
                assert_follower(s, way, end->after[way]);
        }
        jobs_sound(s);
    }
}

static void put_many_may_wait_in_each_way_for_an_earlier_one_of_the_call(void **state)
{
    struct scene *s = *state;
    for (const struct end *end = ends; end < ends + N_OF(ends); end++) {
        begin_anew(s, end);
        assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "root"));
        const char *plain_on = end->before[0] ? "after" : "after_end"; /* a cancel would be refused */
        assert_ok(script_does(s, SCRIPT_PUT, "other", "", "root", "retries", "0", "", "plain", plain_on, "root",
                              "priority", "9", "", "end", "after_end", "root", "priority", "9", "", "failure",
                              "after_failure", "root", "priority", "9"));
        assert_jobs(s, "depends", "plain", "end", "failure");
        jobs_sound(s);
        if (end->make == delete_root) /* they would be deleted with it */
            continue;
        end->make(s);
        jobs_sound(s);
        for (int way = end->before[0] ? 0 : 1; way < N_WAYS; way++)
            assert_follower(s, way, end->before[way]);
    }
}

static void change_lets_a_job_wait_in_another_way(void **state)
{
    struct scene *s = *state;
    for (const struct end *end = ends; end < ends + N_OF(ends); end++) {
        begin_anew(s, end);
        put_with(s, "dam", "delay", "3600000");
        for (int way = 0; way < N_WAYS; way++)
            put_with(s, followers[way], "after", "dam");
        for (int way = end->before[0] ? 0 : 1; way < N_WAYS; way++)
            assert_ok(script_does(s, SCRIPT_CHANGE, followers[way], ways[way], "root", "not_after", "dam"));
        jobs_sound(s);
        end->make(s);
        jobs_sound(s);
        for (int way = end->before[0] ? 0 : 1; way < N_WAYS; way++)
            assert_follower(s, way, end->before[way]);
    }
}

/* An id is waited for in one way: the one that was said last. */
static void change_takes_one_way_for_another(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_with(s, "job", "after", "root");
    for (int way = N_WAYS - 1; way >= 0; way--) {
        assert_ok(script_does(s, SCRIPT_CHANGE, "job", ways[way], "root"));
        assert_int_equal(key_size(s, "SCARD", "dependencies:job"), 1);
        jobs_sound(s);
    }
    assert_int_equal(key_size(s, "ZCARD", "dependents:root"), 1);
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "after_end", "root"));
    assert_int_equal(key_size(s, "EXISTS", "dependents:root"), 0);
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "not_after", "root"));
    assert_state(s, "job", "waiting");
    assert_int_equal(key_size(s, "EXISTS", "followers:root"), 0);
}

static void change_refuses_what_can_never_come(void **state)
{
    struct scene *s = *state;
    const char *const root[] = {"root"}, *const nobody[] = {"nobody"};
    struct muster_job_change change = {.size = sizeof change, .after_failure = root, .n_after_failure = 1};
    put(s, "root");
    put_with(s, "dam", "delay", "3600000");
    put_with(s, "job", "after", "dam");
    job_complete(s, "root");
    assert_err(muster_job_change(s->client, "job", &change), MUSTER_E_STATE);
    assert_non_null(strstr(muster_client_error(s->client), "'root' is complete and will not fail"));
    change.after_failure = nobody;
    change.may_be_missing = 1;
    assert_err(muster_job_change(s->client, "job", &change), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_client_error(s->client), "no job 'nobody' whose failure"));
    change = (struct muster_job_change){.size = sizeof change, .after_end = nobody, .n_after_end = 1};
    assert_err(muster_job_change(s->client, "job", &change), MUSTER_E_NOT_FOUND);
    assert_int_equal(key_size(s, "SCARD", "dependencies:job"), 1);
}

/* ---- the library ---- */

static void a_refused_put_says_why(void **state)
{
    struct scene *s = *state;
    const char *const root[] = {"root"}, *const nobody[] = {"nobody"};
    put(s, "root");
    job_complete(s, "root");
    assert_err(muster_job_put(s->client, "q", JOB_SPEC(.id = "a", .after_failure = root, .n_after_failure = 1), NULL),
               MUSTER_E_STATE);
    assert_non_null(strstr(muster_client_error(s->client), "'root' is complete and will not fail"));
    assert_err(muster_job_put(s->client, "q",
                              JOB_SPEC(.id = "a", .after_failure = nobody, .n_after_failure = 1, .may_be_missing = 1),
                              NULL),
               MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_client_error(s->client), "no job 'nobody' whose failure"));
    assert_err(muster_job_put(s->client, "q",
                              JOB_SPEC(.id = "a", .after = root, .n_after = 1, .after_end = root, .n_after_end = 1),
                              NULL),
               MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_error(s->client), "in one way only"));
    assert_state(s, "a", "");
}

/* All ways count together. */
static void one_job_waits_for_a_thousand_in_all(void **state)
{
    struct scene *s = *state;
    static char names[MUSTER_JOB_AFTER_MAX + 1][12];
    static const char *ids[MUSTER_JOB_AFTER_MAX + 1];
    for (int i = 0; i <= MUSTER_JOB_AFTER_MAX; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        ids[i] = names[i];
    }
    assert_err(muster_job_put(s->client, "q",
                              JOB_SPEC(.id = "a", .after = ids, .n_after = 501, .after_end = ids + 501,
                                       .n_after_end = 500, .may_be_missing = 1),
                              NULL),
               MUSTER_E_TOO_BIG);
    assert_non_null(strstr(muster_client_error(s->client), "1001 jobs to wait for"));
    assert_ok(muster_job_put(s->client, "q",
                             JOB_SPEC(.id = "a", .after = ids, .n_after = 500, .after_end = ids + 500,
                                      .n_after_end = 500, .may_be_missing = 1),
                             NULL));
}

static int see_ways(const struct muster_job *job, void *arg)
{
    (void)arg;
    assert_int_equal(job->n_after, 1);
    assert_string_equal(job->after[0], "one");
    assert_int_equal(job->n_after_end, 1);
    assert_string_equal(job->after_end[0], "two");
    assert_int_equal(job->n_after_failure, 1);
    assert_string_equal(job->after_failure[0], "three");
    return 0;
}

static int see_before(const struct muster_job *job, void *arg)
{
    (void)arg;
    assert_int_equal(job->n_before, 1);
    assert_string_equal(job->before[0], "job");
    return 0;
}

static void a_record_tells_the_ways_apart(void **state)
{
    struct scene *s = *state;
    const char *const ids[] = {"one", "two", "three", "job"};
    for (int i = 0; i < 3; i++)
        put(s, ids[i]);
    assert_ok(muster_job_put(s->client, "q",
                             JOB_SPEC(.id = "job", .after = ids, .n_after = 1, .after_end = ids + 1, .n_after_end = 1,
                                      .after_failure = ids + 2, .n_after_failure = 1),
                             NULL));
    assert_ok(muster_job_get(s->client, ids + 3, 1, see_ways, NULL));
    assert_ok(muster_job_get(s->client, ids, 3, see_before, NULL));
}

/* ---- blocked ---- */

/* The ids of a list, a blank after each. */
static void join(char *out, const char *const *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sprintf(out + strlen(out), "%s ", ids[i]);
}

static int see_blocked_by(const struct muster_job *job, void *arg)
{
    join(arg, job->blocked_by, job->n_blocked_by);
    return 0;
}

static void assert_blocked_by(struct scene *s, const char *id, const char *expected)
{
    char got[200] = "", listed[200] = "";
    assert_ok(muster_job_get(s->client, &id, 1, see_blocked_by, got));
    assert_string_equal(got, expected);
    assert_ok(
        muster_job_list(s->client, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_DEPENDS), see_blocked_by, listed));
    assert_string_equal(listed, expected);
}

static void who_waits_for_what_has_failed_is_told_as_blocked(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    assert_ok(put_in(s, "other", "two", "delay", "3600000"));
    put_with(s, "job", "after", "root", "after_end", "two");
    assert_blocked_by(s, "job", "");
    fail_root(s);
    assert_blocked_by(s, "job", "root ");
    assert_answer(script_call(s, SCRIPT_REPLAY, "other", "", "9", "0"), 0, 1, -1);
    assert_blocked_by(s, "job", "");
    complete_root(s);
    assert_blocked_by(s, "job", "");
}

/* ---- parents ---- */

static int see_parent(const struct muster_job_parent *parent, void *arg)
{
    const struct muster_job *job = parent->job;
    char *out = arg;
    assert_true(!job || strcmp(job->id, parent->id) == 0);
    sprintf(out + strlen(out), "%s=%s", parent->id, job ? muster_job_state_name(job->state) : "gone");
    if (job && job->result.data)
        sprintf(out + strlen(out), ":%.*s", (int)job->result.len, (const char *)job->result.data);
    strcat(out, " ");
    return 0;
}

static void assert_parents(struct scene *s, const char *id, const char *expected)
{
    char got[300] = "";
    assert_ok(muster_job_parents(s->client, id, see_parent, got));
    assert_string_equal(got, expected);
}

static void complete_root_with(struct scene *s, const char *result)
{
    char token[12];
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "result", "other", token, result));
}

static void a_job_knows_what_it_was_put_to_wait_for(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "dam", "delay", "3600000");
    put_with(s, "bad", "retries", "0", "priority", "-1");
    assert_parents(s, "root", "");
    put_with(s, "job", "after_failure", "bad", "after", "root", "after", "root", "after_end", "nobody",
             "may_be_missing", "1");
    assert_parents(s, "job", "bad=waiting root=waiting nobody=gone ");
    complete_root_with(s, "42");
    job_fail(s, "bad");
    assert_state(s, "job", "waiting");
    assert_parents(s, "job", "bad=failed root=complete:42 nobody=gone ");
    assert_field(s, "job", "parents", "bad\tf\nroot\nnobody\te");
    put_with(s, "late", "after", "root"); /* it need not wait, and wants the result all the same */
    assert_parents(s, "late", "root=complete:42 ");
    assert_err(muster_job_parents(s->client, "none", see_parent, NULL), MUSTER_E_NOT_FOUND);
    assert_err(muster_job_parents(s->client, "", see_parent, NULL), MUSTER_E_INVALID);
}

static void change_tells_the_record_what_it_waits_for(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "dam", "delay", "3600000");
    put_with(s, "dam2", "delay", "3600000");
    put_with(s, "job", "after", "dam", "after", "root");
    complete_root_with(s, "42");
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "after_end", "dam2"));
    assert_parents(s, "job", "dam=scheduled root=complete:42 dam2=scheduled ");
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "after_failure", "dam"));
    assert_field(s, "job", "parents", "root\ndam2\te\ndam\tf");
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "not_after", "dam2"));
    assert_parents(s, "job", "root=complete:42 dam=scheduled ");
    assert_ok(script_does(s, SCRIPT_CHANGE, "job", "not_after_all", "")); /* it had waited for the other one */
    assert_parents(s, "job", "root=complete:42 ");
    assert_state(s, "job", "waiting");
}

/* A handler takes the record: there is no need to ask who they are. */
static void the_process_of_a_job_has_its_parents(void **state)
{
    struct scene *s = *state;
    char token[12];
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "job", "after", "root");
    complete_root_with(s, "42");
    take_job(s, "q", "job", token);
    assert_parents(s, "job", "root=complete:42 ");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "next", "q", token, "1", "r", "q", "0", ""));
    assert_parents(s, "job", "root=complete:42 ");
    take_job(s, "q", "job", token);
    put_with(s, "dam", "delay", "3600000");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "next", "q", token, "1", "r", "q", "0", "dam\n"));
    assert_parents(s, "job", "dam=scheduled ");
    jobs_sound(s);
}

/* More come than the record keeps: the newest stay. */
static void a_record_keeps_a_thousand_parents(void **state)
{
    struct scene *s = *state;
    const char *args[2 + 2 * 600 + 1] = {"job"};
    char names[1200][12];
    put_with(s, "dam", "delay", "3600000");
    put_with(s, "job", "after", "dam");
    for (int from = 0; from < 1200; from += 600) {
        int n = 1;
        for (int i = from; i < from + 600; i++) {
            snprintf(names[i], sizeof names[i], "n%d", i);
            args[n++] = "after";
            args[n++] = names[i];
        }
        args[n++] = "may_be_missing";
        args[n] = NULL;
        const char *all[2 + 2 * 600 + 2];
        memcpy(all, args, (size_t)n * sizeof *all);
        all[n] = "1", all[n + 1] = NULL;
        assert_ok(script_status(script_call_list(s, SCRIPT_CHANGE, all)));
    }
    char *kept = raw_string(s->server->redis, "HGET %s:job:job parents", s->prefix);
    assert_int_equal(strncmp(kept, "n200\nn201\n", 10), 0);
    assert_string_equal(kept + strlen(kept) - 11, "n1198\nn1199");
    free(kept);
}

/* ---- all of what it waits for must come ---- */

static void a_job_follows_when_all_that_it_waits_for_has_come(void **state)
{
    struct scene *s = *state;
    put(s, "one");
    put(s, "two");
    put(s, "three");
    put_with(s, "job", "after", "one", "after_end", "two", "after_failure", "three", "priority", "9");
    job_complete(s, "one");
    job_fail(s, "two");
    assert_state(s, "job", "depends");
    job_fail(s, "three");
    assert_state(s, "job", "waiting");
}

/* It stops waiting for the others, too. */
static void a_job_is_cancelled_when_one_of_them_can_never_come(void **state)
{
    struct scene *s = *state;
    put(s, "one");
    put(s, "two");
    put_with(s, "job", "after_end", "two", "after_failure", "one", "tag", "red");
    put_with(s, "next", "after_end", "job");
    put_with(s, "never", "after_failure", "job");
    job_complete(s, "one");
    assert_jobs(s, "", "job", "never");
    assert_state(s, "next", "waiting");
    assert_int_equal(key_size(s, "EXISTS", "followers:two"), 0);
    jobs_sound(s);
}

/* A cancel is refused because of those that wait until it is complete, and because of no others. */
static void a_cancel_is_refused_for_those_that_wait_for_completion_only(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_with(s, "end", "after_end", "root");
    put_with(s, "failure", "after_failure", "root");
    put_with(s, "plain", "after", "root");
    assert_int_equal(script_does(s, SCRIPT_CANCEL_JOBS, "0", "root"), MUSTER_E_STATE);
    assert_jobs(s, "depends", "end", "failure", "plain");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "root"), 0, 2, 0, 0);
    assert_jobs(s, "", "root", "plain", "failure");
    assert_state(s, "end", "waiting");
    jobs_sound(s);
}

/* Those that are named go, and so does what would follow them. */
static void a_cancel_of_both_runs_neither(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_with(s, "end", "after_end", "root");
    put_with(s, "mid", "after", "root");
    put_with(s, "last", "after_end", "root", "after", "mid");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "root", "end"), 0, 4, 0, 0);
    assert_jobs(s, "", "root", "end", "mid", "last");
    jobs_sound(s);
}

/* It fails, and then nothing is left of it. */
static void a_unique_task_that_fails_releases_both(void **state)
{
    struct scene *s = *state;
    char id[MUSTER_JOB_ID_MAX + 1], token[12];
    assert_ok(muster_task_enqueue_unique(s->client, "other", "task", 4, id));
    put_with(s, "end", "after_end", id);
    put_with(s, "failure", "after_failure", id);
    put_with(s, "plain", "after", id);
    free(take_jobs(s, "other", "1", token));
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "other", token, "g", "m"));
    assert_jobs(s, "waiting", "end", "failure");
    assert_state(s, "plain", "failed");
    jobs_sound(s);
}

static void what_goes_on_to_a_next_queue_has_not_ended(void **state)
{
    struct scene *s = *state;
    char token[12];
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "end", "after_end", "root");
    put_with(s, "failure", "after_failure", "root");
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "next", "other", token, "0", "", "other", "0", ""));
    assert_jobs(s, "depends", "end", "failure");
    fail_root(s);
    assert_jobs(s, "waiting", "end", "failure");
    jobs_sound(s);
}

/* A member of a batch that is being cancelled does not begin because another member has ended so. */
static void no_member_of_a_cancelled_batch_follows_another(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "b", "", "60000"));
    assert_ok(put_in(s, "q", "root", "batch", "b"));
    assert_ok(put_in(s, "q", "end", "batch", "b", "after_end", "root"));
    put_with(s, "stranger", "after_end", "root");
    assert_ok(script_does(s, SCRIPT_CANCEL_BATCH, "b", "0"));
    assert_jobs(s, "", "root", "end");
    assert_state(s, "stranger", "waiting");
    jobs_sound(s);
}

/* ---- circles ---- */

static void a_circle_is_one_whatever_its_jobs_wait_for(void **state)
{
    struct scene *s = *state;
    put_with(s, "dam", "delay", "3600000");
    put_with(s, "a", "after", "dam");
    put_with(s, "b", "after_end", "a");
    put_with(s, "c", "after_failure", "b");
    for (int way = 0; way < N_WAYS; way++) {
        assert_int_equal(script_does(s, SCRIPT_CHANGE, "a", ways[way], "c"), MUSTER_E_INVALID);
        assert_int_equal(script_does(s, SCRIPT_CHANGE, "a", ways[way], "a"), MUSTER_E_INVALID);
        assert_int_equal(put_in(s, "q", "a", "replace", "1", "data", "d", ways[way], "c"), MUSTER_E_INVALID);
        assert_int_equal(put_in(s, "q", "new", "data", "d", ways[way], "newer", "", "newer", ways[way], "new"),
                         MUSTER_E_NOT_FOUND);
    }
    assert_ok(put_in(s, "q", "every", "every", "60000", "delay", "3600000"));
    for (int way = 0; way < N_WAYS; way++)
        assert_int_equal(put_in(s, "q", "new", ways[way], "every"), MUSTER_E_INVALID);
    assert_int_equal(put_in(s, "q", "a", "replace", "1", "every", "60000", "data", "d"), MUSTER_E_INVALID);
    jobs_sound(s);
}

/* ---- replays ---- */

static void replay_all(struct scene *s, const char *queue, int n)
{
    assert_answer(script_call(s, SCRIPT_REPLAY, queue, "", "9", "0"), 0, n, -1);
}

static void a_replay_recalls_nobody_who_has_followed(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "other1", "delay", "3600000");
    for (int way = 0; way < N_WAYS; way++)
        put_follower(s, way);
    put_with(s, "two", "after_failure", "root", "after_failure", "other1");
    fail_root(s);
    replay_all(s, "other", 1);
    assert_jobs(s, "waiting", "root", "end", "failure");
    assert_jobs(s, "depends", "plain", "two");
    put_with(s, "late", "after_failure", "root");
    put_with(s, "late end", "after_end", "root");
    assert_jobs(s, "depends", "late", "late end");
    complete_root(s);
    assert_jobs(s, "waiting", "end", "failure", "plain", "late end");
    assert_state(s, "late", "");
    assert_state(s, "two", "depends"); /* the failure that came counts; it waits for the other one only */
    assert_int_equal(key_size(s, "SCARD", "dependencies:two"), 1);
    jobs_sound(s);
}

static void a_second_failure_releases_those_that_came_since_the_replay(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "first", "after_failure", "root");
    fail_root(s);
    replay_all(s, "other", 1);
    put_with(s, "second", "after_failure", "root");
    assert_state(s, "second", "depends");
    fail_root(s);
    assert_jobs(s, "waiting", "first", "second");
    jobs_sound(s);
}

/* ---- events ---- */

static int note_event(const struct muster_job_event *event, void *arg)
{
    char *text = arg;
    if (strcmp(event->what, "cancelled") == 0)
        snprintf(text, 200, "%s: %s", event->id, event->text);
    return *text != '\0';
}

static int end_root_now(void *arg)
{
    complete_root(arg);
    return 0;
}

struct listener {
    struct scene *s;
    char text[200];
};

static int hear(const struct muster_job_event *event, void *arg)
{
    return note_event(event, ((struct listener *)arg)->text);
}

static int when_ready(void *arg)
{
    return end_root_now(((struct listener *)arg)->s);
}

static void an_event_tells_why_nobody_follows(void **state)
{
    struct scene *s = *state;
    struct listener l = {.s = s};
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_with(s, "failure", "after_failure", "root");
    assert_ok(muster_job_listen(s->client, NULL, 20000, when_ready, hear, &l));
    assert_string_equal(l.text, "failure: the job 'root' has ended, and has not failed");
}

/* ---- many, in steps ---- */

static void put_many_followers(struct scene *s, const char *way, int n)
{
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "f%d", i);
        put_with(s, id, way, "root");
    }
}

static int say_find(const struct muster_damage *damage, void *arg)
{
    uint64_t *n = arg;
    print_message("%s %s\n", damage->key, damage->what);
    ++*n;
    return 0;
}

static void assert_clean(struct scene *s)
{
    uint64_t n = 0;
    assert_ok(muster_client_check(s->client, 0, say_find, &n));
    assert_int_equal(n, 0);
}

static void promote(struct scene *s)
{
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
}

static int64_t n_depend(struct scene *s)
{
    return key_size(s, "ZCARD", "depends:q");
}

/* Nothing of the half-done state is damage, and the rest of it is in Redis alone: whoever made a step may die. */
static void many_followers_are_let_go_in_steps(void **state)
{
    struct scene *s = *state;
    static const struct {
        void (*end)(struct scene *s);
        const char *way;
        int n_ready;
    } rows[] = {{fail_root, "after_failure", MANY}, {fail_root, "after_end", MANY},
                {complete_root, "after_end", MANY}, {complete_root, "after_failure", 0},
                {cancel_root, "after_end", MANY},   {delete_root, "after_failure", 0},
                {delete_root, "after_end", MANY}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        raw_do(s->server->redis, "FLUSHDB");
        assert_ok(put_in(s, "other", "root", "retries", "0"));
        put_many_followers(s, rows[i].way, MANY);
        rows[i].end(s);
        for (int left = MANY - STEP; left > 0; left -= STEP) {
            assert_int_equal(n_depend(s), left);
            assert_clean(s);
            promote(s);
        }
        assert_int_equal(n_depend(s), 0);
        assert_int_equal(key_size(s, "ZCARD", "waiting:q"), rows[i].n_ready);
        assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
        assert_clean(s);
        jobs_sound(s);
    }
}

/* Without a worker each take goes on. */
static void a_take_goes_on_with_those_that_wait_for_a_failure(void **state)
{
    struct scene *s = *state;
    char token[12];
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_many_followers(s, "after_failure", MANY);
    fail_root(s);
    for (int i = 0; i < 2; i++)
        free(take_jobs(s, "q", "1", token));
    assert_int_equal(n_depend(s), 0);
    jobs_sound(s);
}

/* Both lists of one job go in steps, and one script lets go no more because of it. */
static void both_lists_of_a_job_share_what_a_step_may_do(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    for (int i = 0; i < 300; i++) {
        char id[16];
        snprintf(id, sizeof id, "p%d", i);
        put_with(s, id, "after", "root");
    }
    put_many_followers(s, "after_end", 300);
    complete_root(s);
    assert_int_equal(n_depend(s), 200);
    assert_clean(s);
    promote(s);
    assert_int_equal(n_depend(s), 0);
    jobs_sound(s);
}

/* The failure that they wait for is over, so the job must not fail again before all of them have followed. */
static void a_replay_waits_until_all_have_followed(void **state)
{
    struct scene *s = *state;
    struct muster_failed_filter f = {.size = sizeof f, .queue = "other"};
    uint64_t n;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_many_followers(s, "after_failure", 1300);
    fail_root(s);
    assert_int_equal(put_in(s, "other", "root", "data", "d"), MUSTER_E_EXISTS);
    assert_ok(script_does(s, SCRIPT_REPLAY, "other", "", "10", "0")); /* one script does not suffice */
    assert_state(s, "root", "failed");
    assert_int_equal(n_depend(s), 500);
    assert_clean(s);
    assert_ok(muster_failed_replay(s->client, &f, &n));
    assert_int_equal(n, 1);
    assert_state(s, "root", "waiting");
    assert_int_equal(n_depend(s), 0);
    jobs_sound(s);
}

static void an_id_is_free_when_all_have_followed(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_many_followers(s, "after_end", MANY);
    complete_root(s);
    assert_int_equal(put_in(s, "other", "root", "data", "d"), MUSTER_E_EXISTS);
    promote(s);
    promote(s);
    assert_ok(put_in(s, "other", "root", "data", "d"));
    put_with(s, "late", "after_end", "root");
    assert_state(s, "late", "depends");
    jobs_sound(s);
}

/* One that waits for it no longer is passed over when its turn comes. */
static void who_no_longer_waits_is_passed_over(void **state)
{
    struct scene *s = *state;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_many_followers(s, "after_failure", MANY);
    complete_root(s);
    assert_ok(script_does(s, SCRIPT_CHANGE, "f849", "not_after", "root"));
    assert_state(s, "f849", "waiting");
    promote(s);
    promote(s);
    assert_state(s, "f849", "waiting");
    assert_state(s, "f848", "");
    jobs_sound(s);
}

/* A list that P:ended does not name, and one that nothing makes go on. */
static void a_check_finds_followers_whom_nobody_will_let_go(void **state)
{
    struct scene *s = *state;
    uint64_t n = 0;
    assert_ok(put_in(s, "other", "root", "retries", "0"));
    put_many_followers(s, "after_failure", MANY);
    fail_root(s);
    raw_do(s->server->redis, "DEL %s:ended %s:due", s->prefix, s->prefix);
    raw_do(s->server->redis, "HDEL %s:queue:other due", s->prefix);
    assert_ok(muster_client_check(s->client, 1, say_find, &n));
    assert_true(n > 0);
    assert_clean(s);
    promote(s);
    promote(s);
    assert_int_equal(n_depend(s), 0);
    jobs_sound(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(who_waits_follows_the_end_that_it_waits_for),
        live_test(who_comes_late_sees_how_the_other_one_has_ended),
        live_test(put_many_may_wait_in_each_way_for_an_earlier_one_of_the_call),
        live_test(change_lets_a_job_wait_in_another_way),
        live_test(change_takes_one_way_for_another),
        live_test(change_refuses_what_can_never_come),
        live_test(a_refused_put_says_why),
        live_test(one_job_waits_for_a_thousand_in_all),
        live_test(a_record_tells_the_ways_apart),
        live_test(who_waits_for_what_has_failed_is_told_as_blocked),
        live_test(a_job_knows_what_it_was_put_to_wait_for),
        live_test(change_tells_the_record_what_it_waits_for),
        live_test(the_process_of_a_job_has_its_parents),
        live_test(a_record_keeps_a_thousand_parents),
        live_test(a_job_follows_when_all_that_it_waits_for_has_come),
        live_test(a_job_is_cancelled_when_one_of_them_can_never_come),
        live_test(a_cancel_is_refused_for_those_that_wait_for_completion_only),
        live_test(a_cancel_of_both_runs_neither),
        live_test(a_unique_task_that_fails_releases_both),
        live_test(what_goes_on_to_a_next_queue_has_not_ended),
        live_test(no_member_of_a_cancelled_batch_follows_another),
        live_test(a_circle_is_one_whatever_its_jobs_wait_for),
        live_test(a_replay_recalls_nobody_who_has_followed),
        live_test(a_second_failure_releases_those_that_came_since_the_replay),
        live_test(an_event_tells_why_nobody_follows),
        live_test(many_followers_are_let_go_in_steps),
        live_test(a_take_goes_on_with_those_that_wait_for_a_failure),
        live_test(both_lists_of_a_job_share_what_a_step_may_do),
        live_test(a_replay_waits_until_all_have_followed),
        live_test(an_id_is_free_when_all_have_followed),
        live_test(who_no_longer_waits_is_passed_over),
        live_test(a_check_finds_followers_whom_nobody_will_let_go),
    };
    return scene_run(tests, argc, argv);
}
