/* SPDX-License-Identifier: MIT
 *
 * The life of jobs, by their scripts alone: each end, in each state, by each holder that may end it; retries, and the
 * deaths of holders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_scripts.h"

/* ---- the ends, and which holder may call them ---- */

enum hands { LEASED, BY_TURN, BY_ID, N_HANDS };

static const struct end_case {
    const char *const args[8]; /* "T": the token */
    const char *state;         /* where the job is then */
    int in_turn;               /* what a turn answers if the job was cancelled before */
} end_cases[] = {
    {{"done", "q", "T"}, "complete", MUSTER_E_CANCELLED},
    {{"result", "q", "T", "bytes"}, "complete", MUSTER_E_CANCELLED},
    {{"next", "q", "T", "0", "", "o", "0", ""}, "waiting", MUSTER_E_CANCELLED},
    {{"next", "q", "T", "0", "", "o", "0", "a\n"}, "failed", MUSTER_E_CANCELLED},
    {{"back", "q", "1", "T"}, "waiting", MUSTER_OK},
    {{"retry", "q", "T", "", "g", "m"}, "scheduled", MUSTER_OK},
    {{"retry", "q", "T", "0", "g", "m"}, "waiting", MUSTER_OK},
    {{"retry", "q", "T", "60000", "g", "m"}, "scheduled", MUSTER_OK},
    {{"fail", "q", "T", "g", "m"}, "failed", MUSTER_OK},
};

static int status_in_turn(struct acting_worker *w, const char *const *end)
{
    redisReply *reply = acting_turn_list(w, false, end);
    assert_int_equal(reply->element[0]->integer, MUSTER_OK);
    const redisReply *ends = reply->element[1];
    int status = (int)(ends->type == REDIS_REPLY_ARRAY ? ends->element[0]->integer : ends->integer);
    freeReplyObject(reply);
    return status;
}

/* What happens to the job before its process ends. */
enum fate { RUNS_ON, CANCELLED, PUT_AGAIN, N_FATES };

static void meet_fate(struct scene *s, enum fate fate)
{
    if (fate == RUNS_ON)
        return;
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 0, 1);
    assert_state(s, "a", "");
    if (fate == PUT_AGAIN)
        assert_ok(put_in(s, "other", "a", "data", "anew", "tag", "t"));
    jobs_sound(s);
}

/* Each end of the process of a cancelled job leaves a new job of that id as it is. */
static void end_in(struct scene *s, const struct end_case *c, enum hands hands, enum fate fate)
{
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    char token[12];
    const char *args[10] = {hands == LEASED ? ".lease" : "w"};
    bool is_circle = !strcmp(c->args[0], "next") && *c->args[7];
    put(s, "a");
    if (hands == LEASED) {
        take_job(s, "q", "a", token);
    } else {
        acting_start(&w, s);
        acting_take(&w);
        snprintf(token, sizeof token, "%s", job_field(s, "a", "token"));
    }
    assert_state(s, "a", "running");
    meet_fate(s, fate);
    char *before = raw_string(s->server->redis, "HGETALL %s:job:a", s->prefix);
    for (size_t i = 0; i < N_OF(c->args) && c->args[i]; i++)
        args[1 + i] = !strcmp(c->args[i], "T") ? token : c->args[i];
    int status = hands == BY_TURN ? status_in_turn(&w, args + 1) : script_status(script_call_list(s, SCRIPT_END, args));
    int refused = fate == RUNS_ON && is_circle ? MUSTER_E_INVALID : MUSTER_OK;
    assert_err(status, fate == RUNS_ON ? refused : hands == BY_TURN ? c->in_turn : MUSTER_E_CANCELLED);
    jobs_sound(s);
    char *after = raw_string(s->server->redis, "HGETALL %s:job:a", s->prefix);
    if (fate != RUNS_ON)
        assert_string_equal(before, after);
    else
        assert_state(s, "a", is_circle && hands != BY_TURN ? "running" : c->state);
    free(before);
    free(after);
    assert_int_equal(queue_field(s, "q", "running"), fate == RUNS_ON && is_circle && hands != BY_TURN);
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "a", "replace", "1", "data", "anew"));
    jobs_sound(s);
    acting_forget(&w);
    raw_do(s->server->redis, "FLUSHALL");
}

static void each_end_from_each_hands(void **state)
{
    for (size_t c = 0; c < N_OF(end_cases); c++)
        for (int hands = 0; hands < N_HANDS; hands++)
            for (int fate = 0; fate < N_FATES; fate++) {
                print_message("  %s, %d, %d\n", end_cases[c].args[0], hands, fate);
                end_in(*state, &end_cases[c], (enum hands)hands, (enum fate)fate);
            }
}

static void what_ended_cannot_end_again(void **state)
{
    struct scene *s = *state;
    char token[12];
    put(s, "a");
    take_job(s, "q", "a", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    for (size_t c = 0; c < N_OF(end_cases); c++) {
        const char *args[10] = {".lease"};
        for (size_t i = 0; i < N_OF(end_cases[c].args) && end_cases[c].args[i]; i++)
            args[1 + i] = !strcmp(end_cases[c].args[i], "T") ? token : end_cases[c].args[i];
        assert_int_equal(script_status(script_call_list(s, SCRIPT_END, args)), MUSTER_E_LOST);
    }
    assert_state(s, "a", "complete");
    jobs_sound(s);
}

static void take_all(struct scene *s, struct acting_worker *w, int n, char tokens[][12])
{
    acting_take(w);
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%d", i);
        snprintf(tokens[i], 12, "%s", job_field(s, id, "token"));
    }
}

/* They are looked up and written together; yet each end has its own status. */
static void many_that_are_done_in_one_call_count_each(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 9};
    char tokens[3][12], task[12];
    static const long long expected[] = {0, 0, MUSTER_E_LOST, MUSTER_E_LOST, 0, 0};
    put(s, "j0");
    put(s, "j1");
    put(s, "j2");
    put_after(s, "follows", "1", "j2");
    scene_enqueue(s, "q", "t");
    acting_start(&w, s);
    take_all(s, &w, 3, tokens);
    token_of_task(s, "w", "q", "t", task);
    redisReply *reply = acting_turn_list(
        &w, false, (const char *const[]){"done", "q",  tokens[0], "result", "q",       tokens[1],     "bytes",
                                         "done", "q",  tokens[0], "done",   "q",       "00000000000", "done",
                                         "q",    task, "done",    "q",      tokens[2], NULL});
    assert_int_equal(reply->element[1]->elements, N_OF(expected));
    for (size_t i = 0; i < N_OF(expected); i++)
        assert_int_equal(reply->element[1]->element[i]->integer, expected[i]);
    freeReplyObject(reply);
    assert_jobs(s, "complete", "j0", "j1", "j2");
    assert_field(s, "j0", "result", "");
    assert_field(s, "j1", "result", "bytes");
    assert_state(s, "follows", "waiting");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
    assert_int_equal(key_size(s, "HLEN", "processing:w:q"), 0);
    jobs_sound(s);
    acting_forget(&w);
}

static void so_many_are_done_that_some_are_not_kept(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 40};
    char tokens[40][12];
    const char *ends[3 * 40 + 1] = {NULL};
    const int64_t most = 3;
    assert_ok(muster_config_set(s->client, "q", "keep_jobs", &most));
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%d", i);
        put(s, id);
    }
    acting_start(&w, s);
    take_all(s, &w, 40, tokens);
    for (size_t i = 0; i < 40; i++) {
        ends[3 * i] = "done";
        ends[3 * i + 1] = "q";
        ends[3 * i + 2] = tokens[i];
    }
    acting_say_list(&w, ends);
    assert_int_equal(key_size(s, "ZCARD", "complete:q"), most);
    assert_jobs(s, "complete", "j37", "j38", "j39");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:j0", s->prefix), 0);
    jobs_sound(s);
    acting_forget(&w);
}

/* A task has nothing that could go on elsewhere. */
static void a_task_goes_to_no_next_queue(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    scene_enqueue(s, "q", "t");
    acting_start(&w, s);
    acting_take(&w);
    token_of_task(s, "w", "q", "t", token);
    assert_int_equal(script_does(s, SCRIPT_END, "w", "next", "q", token, "0", "", "o", "0", ""), MUSTER_E_STATE);
    token_of_task(s, "w", "q", "t", token);
    acting_say(&w, "finish", "q", "1", token);
    jobs_sound(s);
}

static void a_next_queue_counts_from_zero(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "5", "data", "d");
    take_and_end(s, "a", "retry", "0", "g", "m");
    assert_field(s, "a", "retried", "1");
    put_after(s, "waits", "1", "a");
    take_and_end(s, "a", "next", "1", "bytes", "q", "60000", "");
    assert_state(s, "a", "scheduled");
    assert_state(s, "waits", "depends");
    assert_field(s, "a", "retried", "");
    assert_field(s, "a", "result", "bytes");
    assert_field(s, "a", "data", "d");
    job_make_due(s, "scheduled", "a", 0);
    jobs_promote(s);
    job_complete(s, "a");
    assert_state(s, "waits", "waiting");
}

/* A job does not wait where it could never go on. What becomes of it in a worker's turn: test_jobs_dependencies.c. */
static void on_its_way_a_job_waits_for_none_that_waits_for_it(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    put_with(s, "other", "delay", "3600000");
    put_with(s, "every", "every", "60000", "delay", "3600000");
    put(s, "a");
    put_after(s, "b", "1", "a");
    acting_start(&w, s);
    acting_take(&w);
    assert_int_equal(script_does(s, SCRIPT_END, "w", "next", "q", job_field(s, "a", "token"), "0", "", "q", "0", "b\n"),
                     MUSTER_E_INVALID);
    assert_state(s, "a", "running");
    assert_int_equal(
        script_does(s, SCRIPT_END, "w", "next", "q", job_field(s, "a", "token"), "0", "", "q", "0", "none\nevery\n"),
        MUSTER_E_INVALID);
    acting_say(&w, "next", "q", job_field(s, "a", "token"), "0", "", "q", "0", "other\nnone\n");
    jobs_sound(s);
    assert_state(s, "a", "depends");
    assert_int_equal(key_size(s, "SCARD", "dependencies:a"), 1);
}

/* ---- retries ---- */

/* Its last retry is over: it fails, which the end says. */
static void take_and_use_up(struct scene *s, const char *id, const char *delay, const char *group, const char *message)
{
    char token[12];
    take_job(s, "q", id, token);
    assert_int_equal(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, delay, group, message),
                     MUSTER_E_EXHAUSTED);
    jobs_sound(s);
    assert_state(s, id, "failed");
}

static void a_job_is_retried_as_often_as_it_may(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "2", "backoff", "0");
    take_and_end(s, "a", "retry", "", "first", "m1");
    assert_field(s, "a", "group", "first");
    take_and_end(s, "a", "retry", "", "", "");
    assert_field(s, "a", "retried", "2");
    assert_field(s, "a", "group", "first");
    take_and_use_up(s, "a", "", "third", "m3");
    assert_field(s, "a", "group", "third");
    assert_field(s, "a", "message", "m3 (all 2 retries are used up)");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:third", s->prefix), 1);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    jobs_sound(s);
    assert_field(s, "a", "retried", ""); /* it starts again from zero */
    put_with(s, "none", "retries", "0", "priority", "-1");
    take_and_use_up(s, "none", "60000", "", "");
}

/* A message belongs to the group that it came with. */
static void a_retry_with_another_group_keeps_no_message_of_the_one_before(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "2", "backoff", "0");
    take_and_end(s, "a", "retry", "", "first", "m1");
    take_and_end(s, "a", "retry", "", "second", "");
    assert_field(s, "a", "group", "second");
    assert_field(s, "a", "message", "");
    take_and_use_up(s, "a", "", "third", "");
    assert_field(s, "a", "group", "third");
    assert_field(s, "a", "message", "all 2 retries are used up");
    put_with(s, "b", "retries", "1", "backoff", "0");
    take_and_end(s, "b", "retry", "", "first", "m1");
    take_and_use_up(s, "b", "", "", "");
    assert_field(s, "b", "message", "m1 (its one retry is used up)");
    put_with(s, "c", "retries", "1", "backoff", "0");
    take_and_end(s, "c", "retry", "", "first", "m1");
    take_and_use_up(s, "c", "", "second", "");
    assert_field(s, "c", "message", "its one retry is used up");
}

/* How long the retry after `retried` others waits, ms. */
static int64_t backoff_of(struct scene *s, const char *retried, const char *const *fields)
{
    const char *args[20] = {"q", "", "a", "retries", "100", "retried", retried};
    for (int i = 0; fields[i]; i++)
        args[7 + i] = fields[i];
    char token[12];
    assert_ok(script_status(script_call_list(s, SCRIPT_PUT, args)));
    take_job(s, "q", "a", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "", "", ""));
    jobs_sound(s);
    bool is_scheduled = strcmp(job_field(s, "a", "state"), "waiting") != 0;
    int64_t waits = is_scheduled ? job_number(s, "a", "due") - job_number(s, "a", "since") : 0;
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    return waits;
}
#define backoff(s, retried, ...) backoff_of(s, retried, (const char *const[]){__VA_ARGS__, NULL})

static void a_retry_waits_as_its_job_says(void **state)
{
    struct scene *s = *state;
    assert_int_equal(backoff(s, "0", "backoff", "0"), 0);
    assert_int_equal(backoff(s, "0", "backoff", "700"), 700);
    assert_int_equal(backoff(s, "9", "backoff", "700", "backoff_kind", "fixed"), 700);
    assert_int_equal(backoff(s, "0", "backoff", "700", "backoff_kind", "exponential"), 700);
    assert_int_equal(backoff(s, "3", "backoff", "700", "backoff_kind", "exponential"), 5600);
    assert_int_equal(backoff(s, "3", "backoff", "700", "backoff_kind", "exponential", "backoff_max", "1000"), 1000);
    assert_int_equal(backoff(s, "0", "backoff", "700", "backoff_max", "500"), 500);
    assert_int_equal(backoff(s, "99", "backoff", "700", "backoff_kind", "exponential"),
                     INT64_C(10) * 366 * 24 * 3600 * 1000);
    for (int i = 0; i < 50; i++)
        assert_in_range(backoff(s, "0", "backoff", "10000", "jitter", "30"), 7000, 10000);
    assert_in_range(backoff(s, "0", "backoff", "10000", "jitter", "100"), 0, 10000);
}

static void assert_default_wait(struct scene *s, const char *retried, int64_t most)
{
    int64_t waits = backoff(s, retried, "data", "d");
    assert_in_range(waits, most - most * MUSTER_JOB_BACKOFF_DEFAULT_JITTER / 100, most);
}

static void a_retry_of_a_job_without_a_backoff_waits_longer_each_time(void **state)
{
    for (int i = 0; i < 20; i++)
        assert_default_wait(*state, "0", MUSTER_JOB_BACKOFF_DEFAULT_MS);
    assert_default_wait(*state, "3", 8 * MUSTER_JOB_BACKOFF_DEFAULT_MS);
    assert_default_wait(*state, "99", MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS);
}

static void a_retry_with_a_delay_of_its_own_waits_that_long(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "5", "backoff", "60000");
    take_and_end(s, "a", "retry", "0", "", "");
    assert_state(s, "a", "waiting");
    take_and_end(s, "a", "retry", "5000", "", "");
    assert_int_equal(job_number(s, "a", "due") - job_number(s, "a", "since"), 5000);
}

/* ---- crashes ---- */

static void deaths_are_counted_apart_from_retries(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "0");
    for (int i = 0; i <= 3; i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
        acting_start(&w, s);
        acting_take(&w);
        assert_state(s, "a", "running");
        if (i > 0)
            assert_ok(script_does(s, SCRIPT_BEGIN_ALONE, "w", w.epoch, "0", "q", job_field(s, "a", "token"), "0"));
        acting_die(&w);
        assert_answer(script_call(s, SCRIPT_SWEEP, "w", "0"), 0, i < 3, i == 3);
        jobs_sound(s);
        assert_int_equal(job_number(s, "a", "crashes"), i);
    }
    assert_state(s, "a", "failed");
    assert_field(s, "a", "group", "crashed");
    assert_field(s, "a", "message", "its worker died 3 times while it ran alone");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "crashed", "9", "0"), 0, 1, -1);
    assert_field(s, "a", "crashes", "");
    assert_field(s, "a", "suspect", "");
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_crashes", "0"));
    for (int i = 1; i <= 5; i++) {
        assert_comes(s, "1", "a ");
        leases_lapse(s);
        assert_field(s, "a", "crashes", "");
        assert_field(s, "a", "suspect", "");
    }
    assert_state(s, "a", "waiting");
}

/* A suspect that has run alone for long enough is none any more. What is a task has no deaths then, unique or not. */
static void what_is_no_suspect_any_more_has_no_deaths_if_it_is_a_task(void **state)
{
    struct scene *s = *state;
    struct acting_worker workers[] = {{.id = "v", .queues = {"q"}, .hands = 1},
                                      {.id = "w", .queues = {"q"}, .hands = 1}};
    char ids[2][MUSTER_JOB_ID_MAX + 1] = {"a"};
    put(s, "a");
    redisReply *reply = script_call(s, SCRIPT_PUT, "q", "", "", "data", "t");
    snprintf(ids[1], sizeof ids[1], "%s", reply->element[1]->str);
    freeReplyObject(reply);
    for (int i = 0; i < 2; i++) {
        struct acting_worker *w = &workers[i];
        raw_do(s->server->redis, "HSET %s:job:%s suspect 1 crashes 1", s->prefix, ids[i]);
        acting_start(w, s);
        acting_take(w);
        const char *const says[] = {"0", "1"};
        for (size_t k = 0; k < N_OF(says); k++)
            assert_ok(
                script_does(s, SCRIPT_BEGIN_ALONE, w->id, w->epoch, "0", "q", job_field(s, ids[i], "token"), says[k]));
        assert_field(s, ids[i], "suspect", "");
        assert_field(s, ids[i], "crashes", i == 0 ? "1" : "");
        assert_int_equal(key_size(s, "HLEN", "suspects:q"), 0);
    }
    jobs_sound(s);
}

static void the_next_life_of_a_worker_has_its_jobs_under_new_tokens(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 3}, again = w;
    again.resumes = true;
    put(s, "a");
    put(s, "b");
    put(s, "poison");
    acting_start(&w, s);
    acting_take(&w);
    raw_do(s->server->redis, "HSET %s:job:poison crashes 2", s->prefix);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "b"), 0, 0, 1);
    char old[12];
    snprintf(old, sizeof old, "%s", job_field(s, "a", "token"));
    assert_ok(script_does(s, SCRIPT_BEGIN_ALONE, "w", w.epoch, "0", "q", job_field(s, "poison", "token"), "0"));
    acting_die(&w);
    acting_start(&again, s);
    jobs_sound(s);
    assert_state(s, "a", "running");
    assert_state(s, "b", ""); /* it was cancelled, so its process is not taken up */
    assert_state(s, "poison", "failed");
    assert_int_equal(queue_field(s, "q", "running"), 1);
    assert_int_equal(key_size(s, "ZCARD", "failed:q"), 1);
    assert_string_not_equal(job_field(s, "a", "token"), old);
    assert_int_equal(script_does(s, SCRIPT_END, "w", "done", "q", old), MUSTER_E_LOST);
    acting_say(&again, "done", "q", job_field(s, "a", "token"));
    jobs_sound(s);
    assert_state(s, "a", "complete");
    assert_int_equal(queue_field(s, "q", "running"), 0);
}

/* When a lease lapses, its place is free for the next take. */
static void a_limit_over_all_is_kept_and_no_place_stays_free(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 3, .hears = true};
    char token[12];
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", "1"));
    put(s, "a");
    put(s, "b");
    scene_enqueue(s, "q", "t");
    char *taken = take_jobs(s, "q", "9", token); /* a task or a job, by turns */
    assert_int_equal(strlen(taken), 2);
    free(taken);
    assert_int_equal(queue_field(s, "q", "running"), 1);
    assert_comes(s, "9", "");
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for _, field in ipairs(redis.call('ZRANGE', KEYS[1] .. ':leases:q', 0, -1)) do\n"
           "  redis.call('ZADD', KEYS[1] .. ':leases:q', 1000, field)\n"
           "end\n"
           "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', 1000)",
           s->prefix);
    taken = take_jobs(s, "q", "9", token);
    assert_int_equal(strlen(taken), 2);
    free(taken);
    acting_start(&w, s);
    acting_take(&w);
    jobs_sound(s);
    assert_int_equal(queue_field(s, "q", "running"), 1);
    for (int i = 0; i < 3; i++) { /* each end fills the place again, as long as something waits */
        leases_lapse(s);
        assert_int_equal(queue_field(s, "q", "running"), 1);
    }
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", ""));
    jobs_sound(s);
    assert_int_equal(queue_field(s, "q", "running"), 3);
    acting_forget(&w);
}

/* Nobody heard that the job waits: its message reached nobody, for example. */
static void a_heartbeat_tells_of_jobs_that_wait(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    put(s, "a");
    for (int i = 0; i < 2; i++) {
        redisReply *reply = script_call(s, SCRIPT_HEARTBEAT, "w", w.epoch, "0", "1", "0", "", "q", "0");
        assert_string_equal(reply->element[4]->str, i ? "0" : "1");
        freeReplyObject(reply);
        assert_int_equal(key_size(s, "ZCARD", "idle:q"), i);
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, i ? 0 : 1);
        acting_take(&w); /* which sees that none is left */
        jobs_sound(s);
    }
}

/* A job that has killed too many is not put back, and its place is free for others. */
static void a_place_that_is_not_resumed_is_filled(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1}, again = w;
    struct acting_worker other = {.id = "other", .queues = {"q"}, .hands = 1, .hears = true};
    again.resumes = true;
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", "1"));
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_crashes", "1"));
    put(s, "poison");
    acting_start(&w, s);
    acting_take(&w);
    acting_start(&other, s);
    acting_take(&other);
    put(s, "next");
    assert_state(s, "next", "waiting");
    assert_ok(script_does(s, SCRIPT_BEGIN_ALONE, "w", w.epoch, "0", "q", job_field(s, "poison", "token"), "0"));
    acting_die(&w);
    acting_start(&again, s);
    jobs_sound(s);
    assert_state(s, "poison", "failed");
    assert_field(s, "poison", "message", "its worker died once while it ran alone");
    assert_field(s, "next", "worker", "other");
    acting_forget(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_end_from_each_hands),
        live_test(what_ended_cannot_end_again),
        live_test(many_that_are_done_in_one_call_count_each),
        live_test(so_many_are_done_that_some_are_not_kept),
        live_test(a_task_goes_to_no_next_queue),
        live_test(a_next_queue_counts_from_zero),
        live_test(on_its_way_a_job_waits_for_none_that_waits_for_it),
        live_test(a_job_is_retried_as_often_as_it_may),
        live_test(a_retry_with_another_group_keeps_no_message_of_the_one_before),
        live_test(a_retry_waits_as_its_job_says),
        live_test(a_retry_of_a_job_without_a_backoff_waits_longer_each_time),
        live_test(a_retry_with_a_delay_of_its_own_waits_that_long),
        live_test(deaths_are_counted_apart_from_retries),
        live_test(what_is_no_suspect_any_more_has_no_deaths_if_it_is_a_task),
        live_test(the_next_life_of_a_worker_has_its_jobs_under_new_tokens),
        live_test(a_limit_over_all_is_kept_and_no_place_stays_free),
        live_test(a_heartbeat_tells_of_jobs_that_wait),
        live_test(a_place_that_is_not_resumed_is_filled),
    };
    return scene_run(tests, argc, argv);
}
