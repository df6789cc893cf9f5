/* SPDX-License-Identifier: MIT
 *
 * What jobs wait for, by the scripts alone: the order in which they are let go, and what is refused because a job would
 * wait for itself, in graphs of thousands of jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_scripts.h"
#include "taken.h"

/* ---- graphs ---- */

/* Jobs "<prefix>0" to "<prefix><n-1>"; each waits for the same `on` jobs, "<before>0" and so on. */
static void put_layer(struct scene *s, const char *prefix, int n, const char *before, int on)
{
    const char *args[3 + 2 * 1000 + 1] = {"q", "", NULL};
    char id[16], ids[1000][16];
    args[2] = id;
    for (int i = 0; i < on; i++) {
        snprintf(ids[i], sizeof ids[i], "%s%d", before, i);
        args[3 + 2 * i] = "after";
        args[4 + 2 * i] = ids[i];
    }
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%s%d", prefix, i);
        assert_ok(script_status(script_call_list(s, SCRIPT_PUT, args)));
    }
}

/* A chain of n jobs: each one waits for the one before it. */
static void put_chain(struct scene *s, const char *prefix, int n)
{
    char before[16] = "first";
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%s%d", prefix, i);
        put_after(s, id, "1", before);
        snprintf(before, sizeof before, "%s", id);
    }
}

/* ---- order ---- */

static void what_waits_for_one_job_comes_out_in_the_order_of_putting(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "another"};
    put(s, "root");
    put(s, "other");
    for (size_t i = 0; i < N_OF(ids); i++)
        put_after(s, ids[i], "1", "root");
    job_complete(s, "root");
    assert_comes(s, "1", "other ");
    assert_comes(s, "10", "c1 c2 c3 c4 c5 c6 c7 c8 c9 another ");
}

/* A job that comes to wait for a second one later keeps its place among those that wait there. */
static void a_change_of_what_a_job_waits_for_keeps_its_place(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put(s, "other");
    put_after(s, "early", "1", "other");
    put_after(s, "late", "1", "root");
    assert_ok(script_does(s, SCRIPT_CHANGE, "early", "after", "root", "not_after", "other"));
    job_complete(s, "root");
    assert_comes(s, "3", "other early late ");
}

/* Those that fail because a job is gone stand on the failed list in that order, too. */
static void what_fails_because_a_job_is_gone_fails_in_the_order_of_putting(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"};
    put(s, "root");
    for (size_t i = 0; i < N_OF(ids); i++)
        put_after(s, ids[i], "1", "root");
    job_fail(s, "root");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "9", "0"), 0, 1, -1);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "dependency", "9", "0"), 0, 8, -1);
    assert_comes(s, "8", "c1 c2 c3 c4 c5 c6 c7 c8 ");
}

/* ---- graphs ---- */

static void an_ordinary_graph_is_no_circle(void **state)
{
    struct scene *s = *state;
    put_with(s, "first", "delay", "3600000");
    put_layer(s, "map", 150, "", 0);
    put_layer(s, "red", 100, "map", 150);
    put_layer(s, "final", 1, "red", 100);
    assert_int_equal(key_size(s, "SCARD", "dependencies:final0"), 100);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "map0", "replace", "1", "after", "final0"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "red99", "after", "final0"), MUSTER_E_INVALID);
    assert_ok(script_does(s, SCRIPT_CHANGE, "red99", "after", "first"));
    jobs_sound(s);
}

static void a_long_chain_is_no_circle_until_its_ends_meet(void **state)
{
    struct scene *s = *state;
    put_with(s, "first", "delay", "3600000");
    put_chain(s, "j", 3000);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "first", "replace", "1", "after", "j2999"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "j0", "after", "j2999"), MUSTER_E_INVALID);
    assert_ok(script_does(s, SCRIPT_CHANGE, "j2999", "after", "j0"));
    put(s, "free");
    assert_ok(script_does(s, SCRIPT_CHANGE, "j0", "after", "free"));
}

/* 51 000 pairs of jobs below "mid": too many to walk down from it. Those that the named job waits for are few. */
static void the_shorter_of_both_ways_is_enough(void **state)
{
    struct scene *s = *state;
    put_with(s, "first", "delay", "3600000");
    put_layer(s, "few", 2, "", 0);
    put_after(s, "mid", "1", "first");
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "x%d", i);
        put_after(s, id, "1", "mid");
    }
    put_layer(s, "y", 51, "x", 1000);
    put_after(s, "loose", "2", "few0", "few1");
    assert_ok(script_does(s, SCRIPT_CHANGE, "mid", "after", "loose"));
    assert_int_equal(key_size(s, "SCARD", "dependencies:mid"), 2);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "few0", "after", "y0"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "few0", "replace", "1", "after", "x7"), MUSTER_E_INVALID);
    /* And 51 000 pairs above the named job. */
    put_layer(s, "u", 51, "", 0);
    put_layer(s, "v", 1000, "u", 51);
    put_layer(s, "z", 1, "v", 1000);
    redisReply *reply = script_call(s, SCRIPT_CHANGE, "mid", "after", "z0");
    assert_int_equal(reply->element[0]->integer, MUSTER_E_TOO_BIG);
    assert_string_equal(reply->element[1]->str, "mid");
    freeReplyObject(reply);
    assert_int_equal(key_size(s, "SCARD", "dependencies:mid"), 2);
    const char *after[] = {"z0"};
    assert_err(muster_job_change(
                   s->client, "mid",
                   &(struct muster_job_change){.size = sizeof(struct muster_job_change), .after = after, .n_after = 1}),
               MUSTER_E_TOO_BIG);
    assert_non_null(strstr(muster_client_error(s->client), "too many jobs are tied to the job 'mid'"));
}

/* ---- into a next queue ---- */

/* A hundred jobs, each of which waits for 150: none of them waits for the one that goes on, so all are waited for. */
static void a_job_goes_on_after_all_that_it_names(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char after[100 * 8] = "", *at = after;
    put_layer(s, "deep", 150, "", 0);
    put_layer(s, "wide", 100, "deep", 150);
    for (int i = 0; i < 100; i++)
        at += sprintf(at, "wide%d\n", i);
    assert_ok(put_in(s, "q", "job", "priority", "-1"));
    acting_start(&w, s);
    acting_take(&w);
    char token[12];
    snprintf(token, sizeof token, "%s", job_field(s, "job", "token"));
    acting_say(&w, "next", "q", token, "0", "", "b", "0", after);
    assert_state(s, "job", "depends");
    assert_int_equal(key_size(s, "SCARD", "dependencies:job"), 100);
    jobs_sound(s);
    acting_forget(&w);
}

/* Nothing of what a handler asked for is left out without a word: the job fails, and the end's status tells. */
static void a_job_that_cannot_wait_as_asked_fails_and_its_worker_is_told(void **state)
{
    struct scene *s = *state;
    static const char *const after[] = {"later\n", "every\n", "job\n"};
    put_with(s, "every", "every", "60000", "delay", "3600000");
    for (size_t i = 0; i < N_OF(after); i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
        char token[12];
        assert_ok(put_in(s, "q", "job", "priority", "-1"));
        put_after(s, "later", "1", "job");
        acting_start(&w, s);
        acting_take(&w);
        snprintf(token, sizeof token, "%s", job_field(s, "job", "token"));
        redisReply *reply = acting_turn(&w, "next", "q", token, "1", "r", "b", "0", after[i]);
        assert_int_equal(reply->element[1]->element[0]->integer, MUSTER_E_INVALID);
        freeReplyObject(reply);
        assert_state(s, "job", "failed");
        assert_field(s, "job", "queue", "q");
        assert_field(s, "job", "group", "dependency");
        assert_field(s, "job", "result", "r");
        assert_non_null(strstr(job_field(s, "job", "message"), "it cannot wait for the job '"));
        assert_state(s, "later", "depends");
        assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w held", s->prefix), 0);
        jobs_sound(s);
        assert_ok(acting_stop(&w));
        acting_forget(&w);
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "job"), 0, 2);
    }
}

/* ---- many dependents ---- */

enum { STEP = 400, MANY = 850 };

/* n jobs "d0", "d1", ... that wait for `on`. */
static void put_dependents(struct scene *s, const char *on, int n)
{
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        put_after(s, id, "1", on);
    }
}

static void end_root(struct scene *s, const char *kind)
{
    char token[12];
    take_job(s, "q", "root", token);
    if (strcmp(kind, "done") == 0)
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "q", token));
    else
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "q", token, "g", "m"));
}

static int count_finds(const struct muster_damage *damage, void *arg)
{
    uint64_t *n = arg;
    print_message("%s %s\n", damage->key, damage->what);
    ++*n;
    return 0;
}

static void check_finds_nothing(struct scene *s)
{
    uint64_t n = 0;
    assert_ok(muster_client_check(s->client, 0, count_finds, &n));
    assert_int_equal(n, 0);
}

/* A step a call, in the order of putting; nothing of the half-done state is damage. */
static void many_dependents_are_let_go_in_steps(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "done");
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), STEP);
    assert_int_equal(key_size(s, "ZCARD", "depends:q"), MANY - STEP);
    check_finds_nothing(s);
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), 2 * STEP);
    check_finds_nothing(s);
    jobs_promote(s);
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), MANY);
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
    assert_comes(s, "3", "d0 d1 d2 ");
    char token[12], *taken = take_jobs(s, "q", "1000", token);
    assert_non_null(strstr(taken, "d398 d399 d400 d401 "));
    assert_string_equal(taken + strlen(taken) - 10, "d848 d849 ");
    free(taken);
}

/* Nobody keeps the timer, and nobody was told: the next take on the queue goes on. */
static void without_a_worker_a_take_lets_go_the_rest(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "done");
    char token[12], *taken = take_jobs(s, "q", "1", token);
    free(taken);
    taken = take_jobs(s, "q", "1", token);
    free(taken);
    assert_int_equal(key_size(s, "EXISTS", "depends:q"), 0);
    jobs_sound(s);
}

/* Jobs "d<from>" to "d<to - 1>" of this queue, which wait for `on`. */
static void put_dependents_in(struct scene *s, const char *queue, const char *on, int from, int to)
{
    for (int i = from; i < to; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        assert_ok(script_does(s, SCRIPT_PUT, queue, "", id, "after", on, "retries", "5"));
    }
}

/* The job "root" of the queue "other" is done. */
static void end_root_elsewhere(struct scene *s)
{
    char token[12];
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "other", token));
}

static int expect_next(const struct muster_process_info *p, void *arg)
{
    char id[16];
    snprintf(id, sizeof id, "d%d", (*(int *)arg)++);
    assert_string_equal(p->job, id);
    return 0;
}

/* Nobody keeps the timer, and nobody takes from the queue of the job that has ended. */
static void takes_of_their_own_queue_let_go_all_that_waited(void **state)
{
    struct scene *s = *state;
    int next = 0, err = MUSTER_OK;
    assert_ok(put_in(s, "other", "root", "data", "d"));
    put_dependents_in(s, "q", "root", 0, 1000);
    end_root_elsewhere(s);
    assert_int_equal(key_size(s, "ZCARD", "depends:q"), 1000 - STEP);
    check_finds_nothing(s);
    while (err == MUSTER_OK)
        err = muster_lease_take(s->client, "q", 50, 3600000, 0, expect_next, &next);
    assert_err(err, MUSTER_E_NOT_FOUND);
    assert_int_equal(next, 1000);
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
    check_finds_nothing(s);
    jobs_sound(s);
}

/* Its job is the last of the list: the calls before it find nothing to take, and the take goes on. */
static void one_take_goes_on_until_it_finds_what_is_let_go_last(void **state)
{
    struct scene *s = *state;
    int next = MANY;
    assert_ok(put_in(s, "other", "root", "data", "d"));
    put_dependents_in(s, "elsewhere", "root", 0, MANY);
    put_dependents_in(s, "q", "root", MANY, MANY + 1);
    end_root_elsewhere(s);
    assert_ok(muster_lease_take(s->client, "q", 10, 3600000, 0, expect_next, &next));
    assert_int_equal(next, MANY + 1);
    assert_int_equal(key_size(s, "ZCARD", "waiting:elsewhere"), MANY);
    jobs_sound(s);
}

/* A queue that is paused, or in which nothing waits, is no reason to leave them. */
static void a_take_that_gets_nothing_lets_go_what_waited_elsewhere(void **state)
{
    struct scene *s = *state;
    static const char *const queues[] = {"empty", "paused"};
    assert_ok(put_in(s, "other", "root", "data", "d"));
    put_dependents_in(s, "q", "root", 0, MANY);
    end_root_elsewhere(s);
    assert_ok(muster_queue_pause(s->client, "paused"));
    for (size_t i = 0; i < N_OF(queues); i++)
        assert_err(muster_lease_take(s->client, queues[i], 1, 3600000, 0, expect_next, NULL), MUSTER_E_NOT_FOUND);
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), MANY);
    jobs_sound(s);
}

static void many_dependents_of_a_job_that_is_gone_fail_in_steps(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "fail");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "9", "0"), 0, 1);
    assert_int_equal(key_size(s, "ZCARD", "failed:q"), STEP);
    assert_state(s, "d849", "depends");
    check_finds_nothing(s);
    assert_ok(script_does(s, SCRIPT_CHANGE, "d849", "not_after", "root")); /* it does not care any more */
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    jobs_promote(s);
    assert_int_equal(key_size(s, "ZCARD", "failed:q"), MANY - 1);
    assert_state(s, "d849", "waiting");
    assert_field(s, "d848", "group", "dependency");
}

/* The id is free when the last dependent is let go: they must not be taken for those of a new job. */
static void an_id_is_free_when_those_that_waited_are_let_go(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "done");
    assert_int_equal(put_in(s, "q", "root", "data", "d"), MUSTER_E_EXISTS);
    assert_err(muster_job_put(s->client, "q",
                              &(struct muster_job_spec){.size = sizeof(struct muster_job_spec), .id = "root"}, NULL),
               MUSTER_E_EXISTS);
    assert_non_null(strstr(muster_client_error(s->client), "still let go"));
    put_after(s, "late", "1", "root"); /* which is complete */
    assert_state(s, "late", "waiting");
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    jobs_promote(s);
    put(s, "root");
    put_after(s, "later", "1", "root");
    assert_state(s, "later", "depends");
    jobs_sound(s);
}

/* A queue that is tidied or deleted takes nothing of the rest with it. */
static void a_deleted_queue_leaves_the_rest_to_be_let_go(void **state)
{
    struct scene *s = *state;
    char token[12];
    assert_ok(put_in(s, "other", "root", "data", "d"));
    put_dependents(s, "root", MANY);
    take_job(s, "other", "root", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "other", token));
    redisReply *reply = script_call(s, SCRIPT_DELETE, "other");
    assert_int_equal(reply->element[0]->integer, 0);
    freeReplyObject(reply);
    for (int i = 0; i < 3; i++)
        assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), MANY);
    jobs_sound(s);
}

/* ---- cancelling many ---- */

/* From the first call on the jobs that wait are gone for everybody; a caller that dies leaves only records. */
static void a_cancel_of_many_counts_at_once_and_goes_on_in_steps(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    put(s, "root");
    acting_start(&w, s);
    acting_take(&w);
    snprintf(token, sizeof token, "%s", job_field(s, "root", "token"));
    put_dependents(s, "root", MANY);
    put_after(s, "leaf", "1", "d849");
    put(s, "free");
    redisReply *reply = script_call(s, SCRIPT_CANCEL_JOBS, "1", "root");
    assert_int_equal(reply->element[1]->integer, MANY + 1);
    assert_int_equal(reply->element[2]->integer, 1);
    assert_int_equal(reply->element[3]->integer, MANY + 1);
    assert_string_equal(reply->element[4]->str, "root");
    freeReplyObject(reply);
    check_finds_nothing(s);
    assert_state(s, "d849", "depends");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "leaf", "not_after", "d849"), MUSTER_E_NOT_FOUND);
    assert_state(s, "leaf", "");
    put_after(s, "new", "1", "d848"); /* which is gone */
    assert_state(s, "new", "waiting");
    put_after(s, "d847", "1", "free"); /* a new one of that id */
    assert_int_equal(script_does(s, SCRIPT_END, "w", "done", "q", token), MUSTER_E_CANCELLED);
    assert_state(s, "d849", "depends");
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), 2);
    check_finds_nothing(s);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "root", "q"), 0, 0, 0, MANY + 1 - STEP);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "root", "q"), 0, 0, 0, MANY + 1 - 2 * STEP);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "root", "q"), 0, 0, 0, 0);
    assert_jobs(s, "", "d0", "d846", "d848", "d849", "leaf");
    assert_state(s, "d847", "depends");
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
    assert_int_equal(key_size(s, "ZCARD", "depends:q"), 1);
    jobs_sound(s);
    acting_forget(&w);
}

/* The keeper of the timer goes on a second after a caller has died. */
static void whoever_moves_what_is_due_ends_a_cancel_that_was_left(void **state)
{
    struct scene *s = *state;
    put(s, "root");
    put_dependents(s, "root", MANY);
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "1", "root"));
    check_finds_nothing(s);
    assert_int_equal(key_size(s, "ZCARD", "depends:q"), MANY);
    raw_do(s->server->redis, "ZADD %s:ended 1 croot", s->prefix);
    for (int i = 0; i < 3; i++)
        assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    assert_int_equal(key_size(s, "EXISTS", "depends:q"), 0);
    assert_int_equal(key_size(s, "EXISTS", "ended"), 0);
    jobs_sound(s);
}

static void a_cancel_says_how_many_and_bounds_how_many(void **state)
{
    struct scene *s = *state;
    uint64_t n;
    const char *ids[501];
    put(s, "root");
    put_dependents(s, "root", MANY);
    assert_ok(muster_job_cancel(s->client, (const char *const[]){"root"}, 1, 1, &n, NULL));
    assert_int_equal(n, MANY + 1);
    assert_int_equal(key_size(s, "EXISTS", "depends:q"), 0);
    jobs_sound(s);
    put_layer(s, "m", 501, "", 0);
    char names[501][12];
    for (int i = 0; i < 501; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        ids[i] = names[i];
    }
    assert_err(muster_job_cancel(s->client, ids, 501, 0, &n, NULL), MUSTER_E_TOO_BIG);
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), 501);
    assert_ok(muster_job_cancel(s->client, ids, 500, 0, &n, NULL));
    assert_int_equal(n, 500);
}

/* The bound is on what is named, and nothing is sent. */
static void a_cancel_of_too_many_ids_is_refused_whether_they_exist_or_not(void **state)
{
    struct scene *s = *state;
    uint64_t removed = 1, running = 1;
    const char *ids[501];
    for (size_t i = 0; i < N_OF(ids); i++)
        ids[i] = "nobody";
    assert_err(muster_job_cancel(s->client, ids, N_OF(ids), 0, &removed, &running), MUSTER_E_TOO_BIG);
    assert_non_null(strstr(muster_client_error(s->client), "at most 500 jobs that are named"));
    assert_int_equal(removed + running, 0);
    assert_ok(muster_job_cancel(s->client, ids, N_OF(ids) - 1, 0, &removed, &running));
}

/* A list that P:ended does not name, and one that nothing makes go on. */
static void a_check_finds_what_nobody_will_let_go(void **state)
{
    struct scene *s = *state;
    uint64_t n = 0;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "done");
    raw_do(s->server->redis, "DEL %s:ended %s:due", s->prefix, s->prefix);
    raw_do(s->server->redis, "HDEL %s:queue:q due", s->prefix);
    assert_ok(muster_client_check(s->client, 1, count_finds, &n));
    assert_true(n > 0);
    check_finds_nothing(s);
    for (int i = 0; i < 2; i++)
        assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), MANY);
    jobs_sound(s);
}

/* Without a worker such jobs wait for the next take; beside a worker that keeps the timer they must not wait long. */
static void a_check_finds_what_a_worker_should_have_let_go(void **state)
{
    struct scene *s = *state;
    uint64_t n = 0;
    put(s, "root");
    put_dependents(s, "root", MANY);
    end_root(s, "done");
    raw_do(s->server->redis, "ZADD %s:ended 1 droot", s->prefix);
    check_finds_nothing(s);
    struct acting_worker w = {.id = "w", .queues = {"none"}, .hands = 1};
    acting_start(&w, s);
    raw_do(s->server->redis, "SET %s:timer w PX 3000", s->prefix);
    raw_do(s->server->redis, "ZADD %s:ended %lld droot", s->prefix, (long long)(server_now_ms(s) - 30000));
    check_finds_nothing(s);
    raw_do(s->server->redis, "ZADD %s:ended %lld droot", s->prefix, (long long)(server_now_ms(s) - 61000));
    assert_ok(muster_client_check(s->client, 1, count_finds, &n));
    assert_int_equal(n, 1);
    assert_ok(acting_stop(&w));
    acting_forget(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_waits_for_one_job_comes_out_in_the_order_of_putting),
        live_test(a_change_of_what_a_job_waits_for_keeps_its_place),
        live_test(what_fails_because_a_job_is_gone_fails_in_the_order_of_putting),
        live_test(an_ordinary_graph_is_no_circle),
        live_test(a_long_chain_is_no_circle_until_its_ends_meet),
        live_test(the_shorter_of_both_ways_is_enough),
        live_test(a_job_goes_on_after_all_that_it_names),
        live_test(many_dependents_are_let_go_in_steps),
        live_test(without_a_worker_a_take_lets_go_the_rest),
        live_test(takes_of_their_own_queue_let_go_all_that_waited),
        live_test(one_take_goes_on_until_it_finds_what_is_let_go_last),
        live_test(a_take_that_gets_nothing_lets_go_what_waited_elsewhere),
        live_test(many_dependents_of_a_job_that_is_gone_fail_in_steps),
        live_test(an_id_is_free_when_those_that_waited_are_let_go),
        live_test(a_deleted_queue_leaves_the_rest_to_be_let_go),
        live_test(a_cancel_of_many_counts_at_once_and_goes_on_in_steps),
        live_test(whoever_moves_what_is_due_ends_a_cancel_that_was_left),
        live_test(a_cancel_says_how_many_and_bounds_how_many),
        live_test(a_cancel_of_too_many_ids_is_refused_whether_they_exist_or_not),
        live_test(a_check_finds_what_nobody_will_let_go),
        live_test(a_job_that_cannot_wait_as_asked_fails_and_its_worker_is_told),
        live_test(a_check_finds_what_a_worker_should_have_let_go),
    };
    return scene_run(tests, argc, argv);
}
