/* SPDX-License-Identifier: MIT
 *
 * What one damaged key costs, and what it does not: a home of a wrong type, a job's record that cannot be read, a
 * counter of tokens that is too high. That nothing is half done: test_scripts_refuse.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "checked.h"
#include "damage.h"
#include "script_call.h"

#define put(s, id, ...) assert_ok(script_does(s, SCRIPT_PUT, "q", "", id, "retries", "2", __VA_ARGS__))

/* The tasks and ids of jobs that a take gets, a blank after each; to be freed. */
static char *take(struct scene *s, const char *n)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    redisReply *reply = script_call(s, SCRIPT_TAKE, "q", n, "3600000", "0", "", "0", "holder");
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->element[0]->integer, 0);
    for (size_t i = 0; i < reply->element[4]->elements; i++)
        fprintf(out, "%s ", reply->element[4]->element[i]->str);
    for (size_t i = 6; i + 2 < reply->elements; i += 3)
        fprintf(out, "%s ", *reply->element[i + 1]->str ? reply->element[i + 1]->str : reply->element[i + 2]->str);
    fclose(out);
    freeReplyObject(reply);
    return text;
}

static void assert_taken(struct scene *s, const char *n, const char *expected)
{
    char *taken = take(s, n);
    bool is_same = strcmp(taken, expected) == 0;
    if (!is_same)
        print_error("'%s' was taken, not '%s'\n", taken, expected);
    free(taken);
    assert_true(is_same);
}

static void assert_state(struct scene *s, const char *id, const char *expected)
{
    char *state = raw_string(s->server->redis, "HGET %s:job:%s state", s->prefix, id);
    assert_non_null(state);
    assert_string_equal(state, expected);
    free(state);
}

/* A worker has gone, and what it held has come back: "back", and with `has_job` the job "job", which is not at its
 * place yet. */
static void make_home(struct scene *s, bool has_job)
{
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 300};
    const struct timeval most = {.tv_sec = 20};
    redisSetTimeout(s->server->redis, most);
    scene_suspect_nothing(s);
    scene_enqueue(s, "q", "back");
    if (has_job)
        put(s, "job", "data", "d");
    acting_start(&w, s);
    acting_take(&w);
    if (has_job) /* as many as a script brings to their places: so the job waits for the next one */
        damage_plant(
            s, "for i = 1, 200 do\n"
               "  local token = string.format('vv%09d', i) call('HSET', P .. 'job:p' .. i, 'queue', 'q', 'state',\n"
               "    'running', 'place', token, 'worker', 'w', 'token', token, 'priority', '9')\n"
               "  call('ZADD', P .. 'running:q', 1, token .. 'p' .. i)\n"
               "  call('HSET', P .. 'processing:w:q', 'j' .. token, 'p' .. i)\n"
               "end call('HINCRBY', P .. 'queue:q', 'running', 200) call('HINCRBY', P .. 'worker:w', 'held', 200)");
    assert_ok(script_does(s, SCRIPT_STOP, "w", w.epoch, "0"));
}

static void hide_home(struct scene *s)
{
    damage_plant(s, "local home = call('SCAN', '0', 'MATCH', P .. 'home:*', 'COUNT', '10000')[2][1]\n"
                    "call('RENAME', home, P .. 'away') call('SET', home, 'x') call('SET', P .. 'name', home)");
}

static void restore_home(struct scene *s)
{
    damage_plant(s, "call('RENAME', P .. 'away', call('GETDEL', P .. 'name'))");
}

static void a_home_of_a_wrong_type_costs_only_what_is_in_it(void **state)
{
    struct scene *s = *state;
    make_home(s, false);
    scene_enqueue(s, "q", "next");
    hide_home(s);
    assert_taken(s, "1", "next ");
    assert_taken(s, "1", "");
    restore_home(s);
    assert_taken(s, "1", "back ");
}

static void a_worker_gets_what_does_not_lie_in_a_home_of_a_wrong_type(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "idle", .queues = {"q"}, .hands = 9, .hears = true};
    make_home(s, false);
    hide_home(s);
    acting_start(&w, s);
    acting_take(&w);
    scene_enqueue(s, "q", "next");
    assert_ok(script_does(s, SCRIPT_RESUME, "q"));
    char next[12];
    token_of_task(s, "idle", "q", "next", next);
    restore_home(s);
    acting_take(&w);
    token_of_task(s, "idle", "q", "back", next);
    acting_forget(&w);
}

/* Jobs that cannot go to their places: somebody looks again, but not at once. */
static void a_home_of_a_wrong_type_does_not_keep_the_timer_busy(void **state)
{
    struct scene *s = *state;
    make_home(s, true);
    assert_in_range(raw_int(s->server->redis, "ZCOUNT %s:returned:q -inf (0", s->prefix), 1, 200);
    hide_home(s);
    redisReply *reply = script_call(s, SCRIPT_PROMOTE, NULL);
    assert_int_equal(reply->element[0]->integer, 0);
    assert_in_range(reply->element[1]->integer, 500, 1000);
    freeReplyObject(reply);
    restore_home(s);
}

static void a_job_whose_record_is_broken_does_not_hold_its_key(void **state)
{
    struct scene *s = *state;
    char *token;
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running_per_key", "1"));
    put(s, "runs", "key", "k");
    assert_taken(s, "1", "runs ");
    put(s, "second", "key", "k");
    put(s, "third", "key", "k");
    assert_state(s, "second", "held");
    token = raw_string(s->server->redis, "HGET %s:job:runs token", s->prefix);
    damage_plant(s, "call('DEL', P .. 'job:runs') call('SET', P .. 'job:runs', 'x')");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    free(token);
    assert_state(s, "second", "waiting");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:running:q", s->prefix), 0);

    damage_plant(s, "call('DEL', P .. 'job:second') call('SET', P .. 'job:second', 'x')");
    assert_taken(s, "9", ""); /* it is put aside, and lets the next one wait */
    assert_taken(s, "9", "third ");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:broken", s->prefix), 2);
}

/* From there on numbers are not exact, and several tasks would get one token. */
static void a_counter_of_tokens_that_is_too_high_does_not_count(void **state)
{
    static const char *const counters[] = {"80000000000", "vvvvvvvvvvv", "-5", "1e400"};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(counters); i++) {
        scene_enqueue_n(s, "q", "t", 6);
        raw_do(s->server->redis, "SET %s:token %s", s->prefix, counters[i]);
        free(take(s, "6"));
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix), 6 * (i + 1));
    }
}

/* Nobody knows how to cut that life: the others go on. */
static void a_ttl_that_is_none_stops_nobody_when_the_clock_is_set_back(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    struct acting_worker odd = {.id = "odd", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    acting_start(&odd, s);
    raw_do(s->server->redis, "HSET %s:worker:odd ttl 1500.5", s->prefix);
    damage_plant(s, "call('HSET', P .. 'beat', 'at', string.format('%.0f', call('TIME')[1] * 1000 + 3600000))");
    assert_ok(acting_heartbeat(&w));
    assert_in_range(raw_int(s->server->redis, "HGET %s:beat at", s->prefix), 1,
                    raw_int(s->server->redis, "EVAL %s 0", "return redis.call('TIME')[1] * 1000 + 60000"));
    acting_forget(&w);
    acting_forget(&odd);
}

static void a_worker_is_looked_at_beside_a_registry_of_a_wrong_type(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    damage_plant(s, "call('DEL', P .. 'registry') call('SET', P .. 'registry', 'x')");
    assert_ok(script_does(s, SCRIPT_CHECK_WORKER, "0", "w", "0"));
    acting_forget(&w);
}

/* A job runs, and another one of its key is held; its token. */
static void run_with_one_held(struct scene *s, struct acting_worker *w, char token[12])
{
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running_per_key", "1"));
    put(s, "runs", "key", "k");
    acting_start(w, s);
    acting_take(w);
    put(s, "second", "key", "k");
    assert_state(s, "second", "held");
    char *text = raw_string(s->server->redis, "HGET %s:job:runs token", s->prefix);
    snprintf(token, 12, "%s", text);
    free(text);
}

static void a_broken_job_is_not_half_forgotten(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    run_with_one_held(s, &w, token);
    damage_plant(s,
                 "call('DEL', P .. 'job:runs') call('SET', P .. 'job:runs', 'x') call('SET', P .. 'waiting:q', 'x')");
    assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q", "0"), MUSTER_E_NOT_FOUND);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
    damage_plant(s, "call('DEL', P .. 'waiting:q')");
    assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q", "0"), MUSTER_E_NOT_FOUND);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:broken", s->prefix), 1);
    assert_state(s, "second", "waiting");
    acting_forget(&w);
}

static void what_is_no_member_of_a_key_goes_when_it_is_met(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    run_with_one_held(s, &w, token);
    raw_do(s->server->redis, "ZADD %s:keyed:q 0 001kh!", s->prefix);
    acting_say(&w, "done", "q", token);
    assert_state(s, "second", "waiting");
    acting_forget(&w);
}

/* The id of a cancelled job has another one by now. */
static void the_job_of_another_process_is_never_too_large(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12], data[2001];
    memset(data, 'd', sizeof data - 1);
    data[sizeof data - 1] = '\0';
    put(s, "a", "data", data);
    acting_start(&w, s);
    acting_take(&w);
    char *text = raw_string(s->server->redis, "HGET %s:job:a token", s->prefix);
    snprintf(token, sizeof token, "%s", text);
    free(text);
    assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q", "10"), MUSTER_E_TOO_BIG);
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "a"));
    put(s, "a", "data", data);
    assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q", "10"), MUSTER_E_NOT_FOUND);
    acting_forget(&w);
}

static int64_t tasks_of(struct scene *s)
{
    return raw_int(
        s->server->redis, "EVAL %s 1 %s:",
        "local P = KEYS[1] return redis.call('LLEN', P .. 'queues:q') + redis.call('ZCARD', P .. 'waiting:q')"
        "+ redis.call('HLEN', P .. 'processing:w1:q') + redis.call('HLEN', P .. 'processing:w2:q')",
        s->prefix);
}

/* What waits goes to idle workers, or stays: whatever their records say of their hands, and of the limit on the queue. */
static void hand_over_beside(struct scene *s, const char *field, const char *number, bool has_job)
{
    assert_ok(muster_queue_pause(s->client, "q"));
    raw_do(s->server->redis, "EVAL %s 1 %s: %s %s",
           "local P = KEYS[1] for _, w in ipairs({'w1', 'w2'}) do redis.call('DEL', P .. 'processing:' .. w .. ':q')"
           "redis.call('HSET', P .. 'worker:' .. w, 'held', 0, 'hands', 3, 'q:q', 0, ARGV[1], ARGV[2])"
           "redis.call('ZADD', P .. 'idle:q', 0, w) end redis.call('DEL', P .. 'queues:q') return 0",
           s->prefix, field, number);
    scene_enqueue_n(s, "q", "t", 9);
    if (has_job)
        assert_ok(script_does(s, SCRIPT_PUT, "q", "", "job", "data", "d"));
    assert_ok(script_does(s, SCRIPT_RESUME, "q"));
    assert_int_equal(tasks_of(s), 9 + has_job);
    if (has_job)
        assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "job"));
}

static void a_number_of_hands_that_is_none_stops_no_hand_over(void **state)
{
    static const char *const nonsense[] = {"1.5", "2.25", "1e400", "-1", "nan", "0x2", "text"};
    struct scene *s = *state;
    struct acting_worker w[] = {{.id = "w1", .queues = {"q"}, .hands = 3, .hears = true},
                                {.id = "w2", .queues = {"q"}, .hands = 3, .hears = true}};
    for (size_t i = 0; i < N_OF(w); i++)
        acting_start(&w[i], s);
    for (size_t i = 0; i < N_OF(nonsense); i++)
        for (int k = 0; k < 4; k++)
            hand_over_beside(s, k % 2 ? "hands" : "q:q", nonsense[i], k / 2);
    raw_do(s->server->redis, "DEL %s:marks:w1 %s:marks:w2", s->prefix, s->prefix);
    hand_over_beside(s, "hands", "3", false);
    for (size_t i = 0; i < N_OF(w); i++)
        acting_forget(&w[i]);
}

/* ---- numbers that somebody wrote ---- */

static void enqueue_and_finish(struct scene *s, struct acting_worker *w)
{
    char token[12];
    acting_take(w);
    scene_enqueue(s, "q", "t");
    token_of_task(s, "w", "q", "t", token);
    acting_say(w, "finish", "q", "1", token);
    scene_enqueue(s, "leased", "t");
    assert_ok(script_does(s, SCRIPT_TAKE, "leased", "1", "3600000", "0", ""));
    token_of_task(s, ".lease", "leased", "t", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "finish", "leased", "1", token));
}

static void a_count_at_its_end_stops_nothing_halfway(void **state)
{
    static const char *const fields[] = {"running", "out", "unordered"};
    static const char *const ends[] = {"9223372036854775807", "-9223372036854775808"};
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2, .hears = true};
    acting_start(&w, s);
    for (size_t i = 0; i < N_OF(fields) * N_OF(ends); i++) {
        const char *field = fields[i % N_OF(fields)], *end = ends[i / N_OF(fields)];
        raw_do(s->server->redis, "HSET %s:queue:q %s %s", s->prefix, field, end);
        raw_do(s->server->redis, "HSET %s:queue:leased %s %s", s->prefix, field, end);
        enqueue_and_finish(s, &w);
        raw_do(s->server->redis, "HDEL %s:queue:q %s", s->prefix, field);
        raw_do(s->server->redis, "HDEL %s:queue:leased %s", s->prefix, field);
    }
    acting_forget(&w);
}

/* Its heartbeat is refused, so a check must not leave it as it is: it begins a new life. */
static void a_record_with_a_ttl_that_cannot_be_is_put_right(void **state)
{
    static const char *const ttls[] = {"5", "999999999"};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ttls); i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
        acting_start(&w, s);
        raw_do(s->server->redis, "HSET %s:worker:w ttl %s", s->prefix, ttls[i]);
        assert_err(acting_heartbeat(&w), MUSTER_E_REDIS);
        checked_repair(s);
        checked_assert_clean(s);
        assert_err(acting_heartbeat(&w), MUSTER_E_GONE);
        acting_forget(&w);
    }
}

static int64_t jobs_left(struct scene *s)
{
    return raw_int(s->server->redis,
                   "EVAL %s 1 %s:", "return #redis.call('SCAN', 0, 'MATCH', KEYS[1] .. 'job:*', 'COUNT', 100000)[2]",
                   s->prefix);
}

/* They are cancelled for everybody, and their records go in steps; a step that meets a damaged queue does not bring them
 * back. */
static void what_is_cancelled_in_steps_stays_cancelled(void **state)
{
    enum { JOBS = 500 };
    struct scene *s = *state;
    char id[16];
    put(s, "first", "data", "d");
    for (int i = 0; i < JOBS; i++) {
        snprintf(id, sizeof id, "job%d", i);
        assert_ok(script_does(s, SCRIPT_PUT, "other", "", id, "after", "first"));
    }
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "first"), 0, JOBS + 1, 0, JOBS);
    damage_plant(s, "call('SET', P .. 'waiting:other', 'x')");
    for (int i = 0; i < 3; i++)
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "first", "q"), 0, 0, 0, JOBS);
    damage_plant(s, "call('DEL', P .. 'waiting:other')");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "first", "q"), 0, 0, 0, JOBS - 400);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "2", "first", "q"), 0, 0, 0, 0);
    assert_int_equal(jobs_left(s), 0);
    checked_assert_clean(s);
}

static void stops(struct acting_worker *w)
{
    assert_ok(acting_stop(w));
}

static void leaves(struct acting_worker *w)
{
    assert_ok(acting_leave(w, "q"));
}

static void is_swept(struct acting_worker *w)
{
    acting_die(w);
    assert_ok(script_does(w->scene, SCRIPT_SWEEP, "w", "1"));
}

static void resumes_and_stops(struct acting_worker *w)
{
    acting_die(w);
    w->resumes = true;
    acting_start(w, w->scene);
    stops(w);
}

static void gives_back(struct acting_worker *w)
{
    char first[12], second[12];
    token_of_task(w->scene, "w", "q", "t0", first);
    token_of_task(w->scene, "w", "q", "t1", second);
    acting_say(w, "back", "q", "2", first, second);
    stops(w);
}

/* Where it was taken first; the token, which is its own, counts then. */
static void a_first_take_that_is_no_number_loses_nothing(void **state)
{
    static void (*const ways[])(struct acting_worker *) = {stops, leaves, is_swept, resumes_and_stops, gives_back};
    static const char *const nonsense[] = {"nan", "-nan", "-5", "-inf", "1e400", "text", "0x10"};
    struct scene *s = *state;
    scene_suspect_nothing(s);
    for (size_t i = 0; i < N_OF(ways) * N_OF(nonsense); i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2};
        char token[12];
        scene_enqueue_n(s, "q", "t", 2);
        acting_start(&w, s);
        acting_take(&w);
        token_of_task(s, "w", "q", "t1", token);
        raw_do(s->server->redis, "HSET %s:firsts:w:q %s %s", s->prefix, token, nonsense[i % N_OF(nonsense)]);
        ways[i / N_OF(nonsense)](&w);
        assert_waiting(s, "q", "t0 t1 ");
        acting_forget(&w);
        if (ways[i / N_OF(nonsense)] == leaves)
            assert_ok(script_does(s, SCRIPT_SWEEP, "w", "1"));
        assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    }
}

/* Somebody is to look at what is held, and to give rounds: no other queue waits for that, and no caller is refused. */
static void what_is_left_to_do_beside_a_damaged_key_holds_up_nobody(void **state)
{
    static const char *const keys[] = {"waiting:q", "held:q", "keyed:q"};
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running_per_key", "1"));
    put(s, "first", "key", "k");
    put(s, "second", "key", "k");
    for (size_t i = 0; i < N_OF(keys); i++) {
        char lua[300];
        snprintf(lua, sizeof lua,
                 "call('HSET', P .. 'queue:q', 'due', 1, 'unhold', '', 'unfair', '-inf', 'fair', 1)\n"
                 "call('ZADD', P .. 'due', 1, 'q', 2, 'other') call('ZADD', P .. 'delayed:other', 2, '00000000001:t')\n"
                 "call('RENAME', P .. '%s', P .. 'away') call('SET', P .. '%s', 'x')",
                 keys[i], keys[i]);
        damage_plant(s, lua);
        redisReply *reply = script_call(s, SCRIPT_PROMOTE, NULL);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
        assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:other", s->prefix), i + 1);
        raw_do(s->server->redis, "HSET %s:queue:q due 1", s->prefix);
        assert_taken(s, "0", "");
        assert_ok(script_does(s, SCRIPT_RESUME, "q"));
        raw_do(s->server->redis, "RENAME %s:away %s:%s", s->prefix, s->prefix, keys[i]);
        raw_do(s->server->redis, "HSET %s:queue:q due 1", s->prefix);
        assert_taken(s, "0", "");
        assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q unhold", s->prefix), 0);
        assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q unfair", s->prefix), 0);
    }
}

static void a_number_of_bytes_that_is_none_drops_no_failure(void **state)
{
    static const char *const nonsense[] = {"1e400", "1152921504606846976", "0x7fffffff", "inf", "-5", "nan", "text"};
    struct scene *s = *state;
    char token[12];
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_failed_bytes", "1000000"));
    for (size_t i = 0; i < N_OF(nonsense); i++) {
        scene_enqueue(s, "q", "t");
        assert_taken(s, "1", "t ");
        token_of_task(s, ".lease", "q", "t", token);
        if (i > 0)
            raw_do(s->server->redis, "HSET %s:failures:q bytes %s", s->prefix, nonsense[i]);
        assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"));
        assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), i + 1);
        raw_do(s->server->redis, "HSET %s:failures:q bytes %s", s->prefix, nonsense[i]);
        assert_int_equal(checked_repair(s).n_repaired, 1);
        checked_assert_clean(s);
    }
}

/* The time for which it may be silent is unknown, so it has none. */
static void a_ttl_of_the_dead_that_is_none_stops_no_heartbeat(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 1};
    acting_start(&w, s);
    acting_start(&dead, s);
    acting_die(&dead);
    raw_do(s->server->redis, "ZADD %s:registry 1 dead", s->prefix);
    raw_do(s->server->redis, "HSET %s:worker:dead ttl text", s->prefix);
    raw_do(s->server->redis, "ZREM %s:ttls dead", s->prefix);
    assert_ok(acting_heartbeat(&w));
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
    acting_forget(&w);
}

/* As long as a token, and none. */
static void a_place_that_is_none_is_not_taken_for_that_of_a_cancelled_job(void **state)
{
    struct scene *s = *state;
    put(s, "first", "data", "d");
    put(s, "after", "after", "first");
    damage_plant(s, "call('HSET', P .. 'job:after', 'place', 'not a token')\n"
                    "call('ZADD', P .. 'freed:cold', 5, 'nobody') call('ZADD', P .. 'ended', '9e15', 'cold')");
    assert_ok(script_does(s, SCRIPT_CHANGE, "after", "priority", "3"));
    assert_state(s, "after", "depends");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "first"), 0, 2, 0, 0);
    assert_int_equal(jobs_left(s), 0);
}

static void a_place_among_the_idle_that_is_none_refuses_no_task(void **state)
{
    static const char *const places[] = {"-inf", "-5", "1e300", "inf"};
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q", "o"}, .hands = 9, .hears = true};
    acting_start(&w, s);
    scene_enqueue(s, "o", "busy");
    acting_take(&w);
    for (size_t i = 0; i < N_OF(places); i++) {
        raw_do(s->server->redis, "ZADD %s:idle:q %s w", s->prefix, places[i]);
        scene_enqueue(s, "q", "t");
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), i + 1);
    }
    acting_forget(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_home_of_a_wrong_type_costs_only_what_is_in_it),
        live_test(a_worker_gets_what_does_not_lie_in_a_home_of_a_wrong_type),
        live_test(a_home_of_a_wrong_type_does_not_keep_the_timer_busy),
        live_test(a_job_whose_record_is_broken_does_not_hold_its_key),
        live_test(a_counter_of_tokens_that_is_too_high_does_not_count),
        live_test(a_ttl_that_is_none_stops_nobody_when_the_clock_is_set_back),
        live_test(a_worker_is_looked_at_beside_a_registry_of_a_wrong_type),
        live_test(a_broken_job_is_not_half_forgotten),
        live_test(what_is_no_member_of_a_key_goes_when_it_is_met),
        live_test(the_job_of_another_process_is_never_too_large),
        live_test(a_number_of_hands_that_is_none_stops_no_hand_over),
        live_test(a_count_at_its_end_stops_nothing_halfway),
        live_test(a_record_with_a_ttl_that_cannot_be_is_put_right),
        live_test(what_is_cancelled_in_steps_stays_cancelled),
        live_test(a_first_take_that_is_no_number_loses_nothing),
        live_test(what_is_left_to_do_beside_a_damaged_key_holds_up_nobody),
        live_test(a_number_of_bytes_that_is_none_drops_no_failure),
        live_test(a_ttl_of_the_dead_that_is_none_stops_no_heartbeat),
        live_test(a_place_that_is_none_is_not_taken_for_that_of_a_cancelled_job),
        live_test(a_place_among_the_idle_that_is_none_refuses_no_task),
    };
    return scene_run(tests, argc, argv);
}
