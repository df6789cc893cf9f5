/* SPDX-License-Identifier: MIT
 *
 * Which job comes next, by the scripts alone: priorities, what jobs wait for, and jobs that are put again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_scripts.h"

/* ---- order ---- */

static void by_priority_then_first_in_first_out(void **state)
{
    struct scene *s = *state;
    put_with(s, "c1", "priority", "3");
    put_with(s, "b1", "priority", "0");
    put_with(s, "a1", "priority", "-2147483648");
    put_with(s, "b2", "priority", "0");
    put_with(s, "a2", "priority", "-1");
    put_with(s, "c2", "priority", "2147483647");
    put_with(s, "b3", "priority", "0");
    jobs_sound(s);
    assert_comes(s, "3", "a1 a2 b1 ");
    assert_comes(s, "9", "b2 b3 c1 c2 ");
    jobs_sound(s);
}

static void what_is_given_back_keeps_its_place_and_a_retry_does_not(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    put(s, "c");
    take_and_end(s, "a", "retry", "0", "", "");
    char token[12];
    take_job(s, "q", "b", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token));
    assert_comes(s, "3", "b c a ");
    leases_lapse(s);
    assert_comes(s, "3", "b "); /* they are suspects by now, which are taken alone */
    assert_comes(s, "3", "c ");
    assert_comes(s, "3", "a ");
}

static void a_change_of_priority_keeps_the_age(void **state)
{
    struct scene *s = *state;
    put_with(s, "old", "priority", "5");
    put(s, "new");
    assert_ok(script_does(s, SCRIPT_CHANGE, "old", "priority", "0"));
    jobs_sound(s);
    assert_comes(s, "2", "old new ");
}

/* Strictly only within one call, because tokens follow each other there. */
static void tasks_and_jobs_of_priority_0_take_turns(void **state)
{
    struct scene *s = *state;
    char token[12];
    scene_enqueue_n(s, "q", "t", 20);
    put_with(s, "first", "priority", "-1");
    put_with(s, "last", "priority", "1");
    for (int i = 0; i < 20; i++) {
        char id[12];
        snprintf(id, sizeof id, "j%d", i);
        put(s, id);
    }
    char *taken = take_jobs(s, "q", "41", token);
    assert_int_equal(strncmp(taken, "first ", 6), 0);
    char was = 0;
    int n = 0;
    for (char *save, *one = strtok_r(taken + 6, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        assert_int_not_equal(*one, was);
        was = *one;
        assert_int_equal(atoi(one + 1), n++ / 2);
    }
    assert_int_equal(n, 40);
    free(taken);
    assert_comes(s, "9", "last ");
    jobs_sound(s);
}

static void positive_priorities_wait_for_all_tasks(void **state)
{
    struct scene *s = *state;
    put_with(s, "late", "priority", "1");
    scene_enqueue_n(s, "q", "t", 3);
    assert_comes(s, "4", "t0 t1 t2 late ");
    jobs_sound(s);
}

static void ten_thousand_jobs_come_in_order(void **state)
{
    enum { N = 10000, PAGE = 500 };
    struct scene *s = *state;
    char token[12], id[16], priority[8];
    put_with(s, "none", "delay", "3600000"); /* the server knows the script */
    for (int i = 0; i < N; i++) {
        snprintf(id, sizeof id, "j%05d", i);
        snprintf(priority, sizeof priority, "%d", i % 3 - 1);
        freeReplyObject(raw(s->server->redis, "EVALSHA %s 1 %s: q %s %s priority %s %s", lua_scripts[SCRIPT_PUT].sha1,
                            s->prefix, "", id, priority, s->prefix));
    }
    int last = -1, n = 0, rank = 0;
    for (int page = 0; page < N / PAGE; page++) {
        char *taken = take_jobs(s, "q", "500", token);
        for (char *save, *one = strtok_r(taken, " ", &save); one; one = strtok_r(NULL, " ", &save), n++) {
            int at = atoi(one + 1);
            if (at % 3 != rank) {
                assert_int_equal(at % 3, rank + 1);
                rank++;
                last = -1;
            }
            assert_true(at > last);
            last = at;
        }
        free(taken);
    }
    assert_int_equal(n, N);
    assert_int_equal(queue_field(s, "q", "running"), N);
    assert_int_equal(queue_field(s, "q", "jobs"), 0);
}

/* ---- dependencies ---- */

static void a_chain_of_ten_runs_one_after_the_other(void **state)
{
    struct scene *s = *state;
    char id[4] = "j0", before[4] = "j0";
    put(s, "j0");
    for (int i = 1; i < 10; i++) {
        id[1] = (char)('0' + i);
        before[1] = (char)('0' + i - 1);
        put_after(s, id, "1", before);
    }
    for (int i = 0; i < 10; i++) {
        id[1] = (char)('0' + i);
        assert_int_equal(key_size(s, "ZCARD", "waiting:q"), 1);
        job_complete(s, id);
    }
    assert_int_equal(key_size(s, "ZCARD", "complete:q"), 10);
}

static void all_that_it_waits_for_must_be_complete_and_its_time_have_come(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    put_after(s, "both", "3", "a", "b", "none");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "later", "after", "b", "delay", "3600000"));
    job_complete(s, "a");
    assert_jobs(s, "depends", "both", "later");
    job_complete(s, "b");
    assert_state(s, "both", "waiting");
    assert_state(s, "later", "scheduled");
    job_make_due(s, "scheduled", "later", 0);
    jobs_promote(s);
    assert_comes(s, "2", "both later ");
    put_after(s, "at once", "2", "a", "b"); /* which are complete */
    assert_state(s, "at once", "waiting");
}

static void a_failed_dependency_is_waited_for_until_it_is_replayed(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    job_fail(s, "a");
    assert_jobs(s, "depends", "b", "c");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    jobs_sound(s);
    job_complete(s, "a");
    assert_state(s, "b", "waiting");
    job_fail(s, "b");
    put(s, "b"); /* again: what waits for it still does */
    jobs_sound(s);
    assert_state(s, "c", "depends");
    job_complete(s, "b");
    assert_state(s, "c", "waiting");
}

/* The dependents of the failed job wait on, because it may be replayed. */
static void a_job_that_waits_for_a_dropped_one_fails(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    job_fail(s, "a");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "9", "0"), 0, 1, -1);
    jobs_sound(s);
    assert_state(s, "a", "");
    assert_state(s, "b", "failed");
    assert_field(s, "b", "group", "dependency");
    assert_state(s, "c", "depends");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "dependency", "9", "0"), 0, 1, -1);
    job_complete(s, "b");
    job_complete(s, "c");
}

static void a_cancel_takes_those_that_wait_along_or_is_refused(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "2", "a", "b");
    char *before = dump_of_all(s);
    assert_int_equal(script_does(s, SCRIPT_CANCEL_JOBS, "0", "a"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_CANCEL_JOBS, "0", "a", "b"), MUSTER_E_STATE);
    char *after = dump_of_all(s);
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "c", "a", "b", "a", "none"), 0, 3);
    jobs_sound(s);
    assert_jobs(s, "", "a", "b", "c");
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "a"), 0, 3);
    jobs_sound(s);
    assert_jobs(s, "", "a", "b", "c");
    assert_int_equal(key_size(s, "ZCARD", "failed:q"), 0);
}

/* "a" and "b" are chosen by state "waiting" and queue "q"; `change`: what happens to "b" then, before the call comes. So
 * "b" waits for "a", and is not what was chosen. */
static void cancel_chosen(struct scene *s, const char *scope, bool is_b_first, void (*change)(struct scene *s),
                          bool refuses)
{
    char put_ms[2][24];
    const char *ids[] = {"a", "b"};
    put(s, "a");
    put(s, "b");
    for (int i = 0; i < 2; i++)
        snprintf(put_ms[i], sizeof put_ms[i], "%s", job_field(s, ids[i], "put"));
    change(s);
    redisReply *reply = script_call(s, SCRIPT_CANCEL_JOBS, scope, "waiting", "q", ids[is_b_first], put_ms[is_b_first],
                                    ids[!is_b_first], put_ms[!is_b_first]);
    if (refuses) {
        assert_int_equal(script_status(reply), MUSTER_E_STATE);
        assert_state(s, "a", "waiting");
        assert_state(s, "b", "depends");
        reply = script_call(s, SCRIPT_CANCEL_JOBS, "1", "a");
    }
    assert_answer(reply, 0, 2, 0, 0);
    jobs_sound(s);
    assert_int_equal(key_size(s, "EXISTS", "job:a") + key_size(s, "EXISTS", "job:b"), 0);
}

static void change_state(struct scene *s)
{
    replace_in(s, "q", "b", "after", "a");
}

static void change_queue(struct scene *s)
{
    replace_in(s, "r", "b", "after", "a");
}

static void change_job(struct scene *s)
{
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "b"));
    put_after(s, "b", "1", "a");
}

/* It must not wait for what is gone. */
static void who_is_no_longer_what_was_chosen_and_waits_for_it_goes_along_or_it_is_refused(void **state)
{
    void (*const changes[])(struct scene * s) = {change_state, change_queue, change_job};
    for (size_t i = 0; i < N_OF(changes); i++)
        for (int is_b_first = 0; is_b_first <= 1; is_b_first++) {
            cancel_chosen(*state, "3", is_b_first, changes[i], true);
            cancel_chosen(*state, "4", is_b_first, changes[i], false);
        }
}

/* One that runs is gone as well, so nobody waits for it from then on; nor does its process' end matter to anybody. */
static void nobody_waits_for_a_job_that_was_cancelled_while_it_ran(void **state)
{
    struct scene *s = *state;
    char token[12];
    put(s, "a");
    take_job(s, "q", "a", token);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "a"), 0, 0, 1);
    put_after(s, "b", "1", "a");
    assert_state(s, "b", "waiting");
    put(s, "a");
    put_after(s, "c", "1", "a");
    assert_err(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token), MUSTER_E_CANCELLED);
    jobs_sound(s);
    assert_state(s, "a", "waiting");
    assert_state(s, "c", "depends");
}

/* By its process, it may be one that others wait for: they fail, as for any job that is gone. */
static void a_job_that_waits_for_one_cancelled_by_its_process_fails(void **state)
{
    struct scene *s = *state;
    char token[12];
    put(s, "a");
    put_after(s, "b", "1", "a");
    take_job(s, "q", "a", token);
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", ".lease", token), 0, 0, 1);
    jobs_sound(s);
    assert_state(s, "a", "");
    assert_state(s, "b", "failed");
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", ".lease", token), 0, 0, 1);
    assert_err(script_does(s, SCRIPT_END, ".lease", "done", "q", token), MUSTER_E_CANCELLED);
    jobs_sound(s);
}

static void no_job_waits_for_itself(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "b", "after", "b"), MUSTER_E_INVALID);
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "a", "replace", "1", "after", "c"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "c"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "b"), MUSTER_E_INVALID);
    job_fail(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "a", "after", "c"), MUSTER_E_INVALID);
    assert_state(s, "a", "failed");
    jobs_sound(s);
}

/* A recurring job is never complete. So it does not matter which came first. */
static void no_job_waits_for_one_that_recurs(void **state)
{
    struct scene *s = *state;
    put_with(s, "every", "every", "60000", "delay", "3600000");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "a", "after", "every"), MUSTER_E_INVALID);
    put(s, "a");
    put_after(s, "b", "1", "a");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "every"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "a", "replace", "1", "every", "60000"), MUSTER_E_INVALID);
    job_fail(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "a", "every", "60000"), MUSTER_E_INVALID);
    replace_in(s, "q", "b", "every", "60000"); /* it waits for nothing any more */
    jobs_sound(s);
    assert_state(s, "b", "recurring");
}

static void dependencies_change(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "delay", "3600000");
    put_with(s, "b", "delay", "3600000");
    put_after(s, "c", "1", "a");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "after", "b"));
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after", "a"));
    jobs_sound(s);
    assert_state(s, "c", "depends");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after", "b", "after", "a", "queue", "o"));
    jobs_sound(s);
    assert_state(s, "c", "depends");
    assert_field(s, "c", "queue", "o");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after_all", ""));
    jobs_sound(s);
    assert_state(s, "c", "waiting");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "c", "after", "a"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "none", "after", "a"), MUSTER_E_NOT_FOUND);
}

/* The same change with `n` names: m0, m1, ... */
static void change_many(struct scene *s, const char *id, const char *what, size_t n, int status)
{
    const char *args[2 * 1001 + 4] = {id};
    char names[1001][24];
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "m%zu", i);
        args[1 + 2 * i] = what;
        args[2 + 2 * i] = names[i];
    }
    args[1 + 2 * n] = "may_be_missing";
    args[2 + 2 * n] = "1";
    args[3 + 2 * n] = NULL;
    assert_int_equal(script_status(script_call_list(s, SCRIPT_CHANGE, args)), status);
}

static void what_a_change_takes_away_makes_room_for_what_it_adds(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "other");
    put_after(s, "b", "1", "other");
    change_many(s, "a", "tag", 101, MUSTER_E_TOO_BIG);
    change_many(s, "a", "tag", 100, MUSTER_OK);
    change_many(s, "a", "tag", 100, MUSTER_OK); /* it has them */
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "a", "tag", "new"), MUSTER_E_TOO_BIG);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "a", "untag", "none", "tag", "new"), MUSTER_E_TOO_BIG);
    assert_ok(script_does(s, SCRIPT_CHANGE, "a", "untag", "m1", "tag", "new"));
    jobs_sound(s);
    change_many(s, "b", "after", 1000, MUSTER_E_TOO_BIG); /* with the one that it has */
    change_many(s, "b", "after", 999, MUSTER_OK);
    assert_ok(script_does(s, SCRIPT_CHANGE, "b", "not_after_all", "", "after", "a"));
    jobs_sound(s);
    assert_state(s, "b", "depends");
}

/* ---- put again, and put in place ---- */

static void an_id_is_free_as_soon_as_its_job_has_ended(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_int_equal(put_in(s, "q", "a", "data", "d"), MUSTER_E_EXISTS);
    job_complete(s, "a");
    put(s, "a");
    job_fail(s, "a");
    put(s, "a");
    jobs_sound(s);
    assert_field(s, "a", "group", "");
    assert_int_equal(key_size(s, "EXISTS", "failed:q"), 0);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    put(s, "a");
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 0, 0);
    put(s, "a");
    leases_lapse(s);
    assert_int_equal(put_in(s, "q", "a", "data", "d"), MUSTER_E_EXISTS);
}

/* Its state before, and what the queue it comes from has afterwards. */
static void a_live_job_is_changed_and_moved_from_each_state(void **state)
{
    static const char *const states[] = {"waiting", "scheduled", "depends", "running"};
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    put_with(s, "far", "delay", "3600000");
    for (size_t i = 0; i < N_OF(states); i++) {
        put_with(s, "a", "tag", "blue", "data", "d", i == 2 ? "after" : "priority", i == 2 ? "far" : "4");
        if (i == 1)
            replace_in(s, "q", "a", "delay", "3600000");
        if (i == 3) {
            acting_start(&w, s);
            acting_take(&w);
        }
        assert_state(s, "a", states[i]);
        replace_in(s, "o", "a", "retries", "7");
        jobs_sound(s);
        assert_field(s, "a", "queue", "o");
        assert_field(s, "a", "data", "d");
        assert_field(s, "a", "retries", "7");
        assert_field(s, "a", "tags", "blue");
        assert_state(s, "a", i == 1 || i == 2 ? states[i] : "waiting");
        assert_int_equal(queue_field(s, "q", "running"), 0);
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    }
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w held", s->prefix), 0);
}

static void a_running_job_that_is_put_again_is_its_former_holders_no_more(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    char token[12], message[32];
    put(s, "a");
    acting_start(&w, s);
    acting_take(&w);
    snprintf(token, sizeof token, "%s", job_field(s, "a", "token"));
    replace_in(s, "o", "a", "data", "new");
    char *heard = acting_heard(&w);
    snprintf(message, sizeof message, "R%s\n", w.epoch);
    assert_non_null(strstr(heard, message));
    free(heard);
    redisReply *reply = acting_turn(&w, "done", "q", token);
    assert_int_equal(reply->element[1]->element[0]->integer, MUSTER_E_LOST);
    freeReplyObject(reply);
    assert_state(s, "a", "waiting");
    jobs_sound(s);
    acting_forget(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(by_priority_then_first_in_first_out),
        live_test(what_is_given_back_keeps_its_place_and_a_retry_does_not),
        live_test(a_change_of_priority_keeps_the_age),
        live_test(tasks_and_jobs_of_priority_0_take_turns),
        live_test(positive_priorities_wait_for_all_tasks),
        live_test(ten_thousand_jobs_come_in_order),
        live_test(a_chain_of_ten_runs_one_after_the_other),
        live_test(all_that_it_waits_for_must_be_complete_and_its_time_have_come),
        live_test(a_failed_dependency_is_waited_for_until_it_is_replayed),
        live_test(a_job_that_waits_for_a_dropped_one_fails),
        live_test(a_cancel_takes_those_that_wait_along_or_is_refused),
        live_test(who_is_no_longer_what_was_chosen_and_waits_for_it_goes_along_or_it_is_refused),
        live_test(nobody_waits_for_a_job_that_was_cancelled_while_it_ran),
        live_test(a_job_that_waits_for_one_cancelled_by_its_process_fails),
        live_test(no_job_waits_for_itself),
        live_test(no_job_waits_for_one_that_recurs),
        live_test(dependencies_change),
        live_test(what_a_change_takes_away_makes_room_for_what_it_adds),
        live_test(an_id_is_free_as_soon_as_its_job_has_ended),
        live_test(a_live_job_is_changed_and_moved_from_each_state),
        live_test(a_running_job_that_is_put_again_is_its_former_holders_no_more),
    };
    return scene_run(tests, argc, argv);
}
