/* SPDX-License-Identifier: MIT
 *
 * The life of jobs by their scripts alone: each change of state, from each state, by leases and by workers' calls. What
 * a job's record says is looked up with field(); that all indexes agree with it, by the invariant after every step that
 * matters. Time passes where a test says so: what is scheduled is made due, and leases are made to lapse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

/* ---- pieces ---- */

static void sound(struct scene *s)
{
    invariant_assert(s->server->redis, s->prefix);
}

/* Fields in pairs behind the id; of queue "q" unless said. */
#define put_in(s, queue, id, ...) script_does(s, SCRIPT_PUT, queue, id, "0", "0", "0", __VA_ARGS__)
#define put(s, id) assert_ok(put_in(s, "q", id, "retries", "5"))
#define put_with(s, id, ...) assert_ok(put_in(s, "q", id, __VA_ARGS__))
#define replace_in(s, queue, id, ...) assert_ok(script_does(s, SCRIPT_PUT, queue, id, "1", "0", "0", __VA_ARGS__))
#define put_after(s, id, n, ...) \
    assert_ok(script_does(s, SCRIPT_PUT, "q", id, "0", "0", n, __VA_ARGS__, "retries", "5"))

/* A field of a job's record, "" if it is not there; good until the next calls. */
static const char *field(struct scene *s, const char *id, const char *name)
{
    static char values[4][512];
    static int at;
    char *found = raw_string(s->server->redis, "HGET %s:job:%s %s", s->prefix, id, name), *value = values[at++ % 4];
    snprintf(value, sizeof(values[0]), "%s", found ? found : "");
    free(found);
    return value;
}

#define assert_field(s, id, name, value) assert_string_equal(field(s, id, name), value)
#define assert_state(s, id, state) assert_field(s, id, "state", state)

static int64_t number(struct scene *s, const char *id, const char *name)
{
    return strtoll(field(s, id, name), NULL, 10);
}

static void assert_all_in(struct scene *s, const char *state, const char *const *ids)
{
    for (; *ids; ids++)
        if (strcmp(field(s, *ids, "state"), state) != 0)
            fail_msg("%s is %s, not %s", *ids, field(s, *ids, "state"), state);
}
#define assert_all(s, state, ...) assert_all_in(s, state, (const char *const[]){__VA_ARGS__, NULL})

/* Takes up to `n` under leases: ids of jobs and tasks, each ended by a blank; the token of the last. To be freed. */
static char *take_n(struct scene *s, const char *queue, const char *n, char token[12])
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    redisReply *reply = script_call(s, SCRIPT_TAKE, queue, n, "60000", "0");
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->element[0]->integer, 0);
    for (size_t i = 5; i < reply->elements; i += 3) {
        bool is_task = reply->element[i + 1]->len == 0;
        fprintf(out, "%s ", reply->element[i + (is_task ? 2 : 1)]->str);
        snprintf(token, 12, "%s", reply->element[i]->str);
    }
    freeReplyObject(reply);
    fclose(out);
    return text;
}

static void assert_taken(struct scene *s, const char *n, const char *expected)
{
    char token[12], *taken = take_n(s, "q", n, token);
    if (strcmp(taken, expected) != 0)
        fail_msg("'%s' came, not '%s'", taken, expected);
    free(taken);
}

/* Of a queue from which this one comes next. */
static void take_from(struct scene *s, const char *queue, const char *id, char token[12])
{
    char wanted[80], *taken = take_n(s, queue, "1", token);
    snprintf(wanted, sizeof(wanted), "%s ", id);
    if (strcmp(taken, wanted) != 0)
        fail_msg("'%s' came, not %s", taken, id);
    free(taken);
}

/* One end of the job next out, under a lease. */
#define take_and_end(s, id, kind, ...)                                                   \
    do {                                                                                 \
        char token_[12];                                                                 \
        take_from(s, "q", id, token_);                                                   \
        assert_ok(script_does(s, SCRIPT_END, ".lease", kind, "q", token_, __VA_ARGS__)); \
        sound(s);                                                                        \
    } while (0)

static void complete(struct scene *s, const char *id)
{
    char token[12];
    take_from(s, "q", id, token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    sound(s);
}

static void fail_job(struct scene *s, const char *id)
{
    take_and_end(s, id, "fail", "g", "m");
    assert_state(s, id, "failed");
}

/* What is scheduled in the queue, or recurs, is due since so long. */
static void make_due(struct scene *s, const char *state, const char *id, int64_t ago_ms)
{
    static const char lua[] = "local P, id = KEYS[1] .. ':', ARGV[2]\n"
                              "local job = redis.call('HMGET', P .. 'job:' .. id, 'queue', 'place')\n"
                              "local time = redis.call('TIME')\n"
                              "local at = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[3]\n"
                              "redis.call('HSET', P .. 'job:' .. id, 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. ARGV[1] .. ':' .. job[1], at, job[2] .. id)\n"
                              "redis.call('HSET', P .. 'queue:' .. job[1], 'due', string.format('%.0f', at))\n"
                              "redis.call('ZADD', P .. 'due', at, job[1])\n";
    char ago[24];
    snprintf(ago, sizeof(ago), "%lld", (long long)ago_ms);
    raw_do(s->server->redis, "EVAL %s 1 %s %s %s %s", lua, s->prefix, state, id, ago);
}

/* All leases of the queue lapse, and are moved. */
static void lapse(struct scene *s)
{
    static const char lua[] = "for _, field in ipairs(redis.call('ZRANGE', KEYS[1] .. ':leases:q', 0, -1)) do\n"
                              "  redis.call('ZADD', KEYS[1] .. ':leases:q', 1000, field)\n"
                              "end\n"
                              "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', 1000)\n"
                              "redis.call('ZADD', KEYS[1] .. ':due', 1000, 'q')\n";
    raw_do(s->server->redis, "EVAL %s 1 %s", lua, s->prefix);
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "0", "1000", "0"));
    sound(s);
}

static void promote(struct scene *s)
{
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    sound(s);
}

static int64_t size_of(struct scene *s, const char *command, const char *key)
{
    char full[80];
    snprintf(full, sizeof(full), "%s:%s", s->prefix, key);
    const char *const argv[] = {command, full};
    redisReply *reply = redisCommandArgv(s->server->redis, 2, (const char **)(uintptr_t)argv, NULL);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    int64_t n = reply->integer;
    freeReplyObject(reply);
    return n;
}

/* ---- the ends, from whose hands they may be said ---- */

enum hands { LEASED, BY_TURN, BY_ID, N_HANDS };

static const struct end_case {
    const char *const args[8];  /* "T": the token */
    const char *state, *marked; /* where the job is then; and if it was cancelled before. "": gone */
} end_cases[] = {
    {{"done", "q", "T"}, "complete", "complete"},
    {{"result", "q", "T", "bytes"}, "complete", "complete"},
    {{"next", "q", "T", "0", "", "o", "0", ""}, "waiting", "complete"},
    {{"back", "q", "1", "T"}, "waiting", ""},
    {{"retry", "q", "T", "", "g", "m"}, "waiting", ""},
    {{"retry", "q", "T", "60000", "g", "m"}, "scheduled", ""},
    {{"fail", "q", "T", "g", "m"}, "failed", ""},
};

static void end_in(struct scene *s, const struct end_case *c, enum hands hands, bool is_cancelled)
{
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    char token[12];
    const char *args[10] = {hands == LEASED ? ".lease" : "w"};
    put(s, "a");
    if (hands == LEASED) {
        take_from(s, "q", "a", token);
    } else {
        acting_start(&w, s);
        acting_take(&w);
        snprintf(token, sizeof(token), "%s", field(s, "a", "token"));
    }
    assert_state(s, "a", "running");
    if (is_cancelled)
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    for (size_t i = 0; i < N_OF(c->args) && c->args[i]; i++)
        args[1 + i] = !strcmp(c->args[i], "T") ? token : c->args[i];
    if (hands == BY_TURN)
        acting_say_list(&w, args + 1);
    else
        assert_ok(script_status(script_call_list(s, SCRIPT_END, args)));
    sound(s);
    assert_state(s, "a", is_cancelled ? c->marked : c->state);
    assert_int_equal(queue_field(s, "q", "running"), 0);
    assert_ok(script_does(s, SCRIPT_PUT, "q", "a", "1", "0", "0", "data", "anew"));
    sound(s);
    acting_forget(&w);
    raw_do(s->server->redis, "FLUSHALL");
}

static void each_end_from_each_hands(void **state)
{
    for (size_t c = 0; c < N_OF(end_cases); c++)
        for (int hands = 0; hands < N_HANDS; hands++)
            for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
                print_message("  %s, %d, %d\n", end_cases[c].args[0], hands, is_cancelled);
                end_in(*state, &end_cases[c], (enum hands)hands, is_cancelled);
            }
}

static void what_ended_cannot_end_again(void **state)
{
    struct scene *s = *state;
    char token[12];
    put(s, "a");
    take_from(s, "q", "a", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    for (size_t c = 0; c < N_OF(end_cases); c++) {
        const char *args[10] = {".lease"};
        for (size_t i = 0; i < N_OF(end_cases[c].args) && end_cases[c].args[i]; i++)
            args[1 + i] = !strcmp(end_cases[c].args[i], "T") ? token : end_cases[c].args[i];
        assert_int_equal(script_status(script_call_list(s, SCRIPT_END, args)), MUSTER_E_LOST);
    }
    assert_state(s, "a", "complete");
    sound(s);
}

/* For a task has nothing that could go on elsewhere. */
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
    sound(s);
}

static void a_next_queue_begins_anew_to_count(void **state)
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
    make_due(s, "scheduled", "a", 0);
    promote(s);
    complete(s, "a");
    assert_state(s, "waits", "waiting");
}

/* Where it could never go on, it does not wait: its worker cannot say it otherwise any more. A caller can. */
static void on_its_way_a_job_waits_for_none_that_waits_for_it(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    put_with(s, "other", "delay", "60000");
    put_with(s, "every", "every", "60000", "delay", "60000");
    put(s, "a");
    put_after(s, "b", "1", "a");
    acting_start(&w, s);
    acting_take(&w);
    assert_int_equal(script_does(s, SCRIPT_END, "w", "next", "q", field(s, "a", "token"), "0", "", "q", "0", "b\n"),
                     MUSTER_E_INVALID);
    assert_state(s, "a", "running");
    acting_say(&w, "next", "q", field(s, "a", "token"), "0", "", "q", "0", "b\nevery\n");
    sound(s);
    assert_state(s, "a", "waiting");
    acting_take(&w);
    acting_say(&w, "next", "q", field(s, "a", "token"), "0", "", "q", "0", "b\na\nother\nnone\n");
    sound(s);
    assert_state(s, "a", "depends");
    assert_int_equal(size_of(s, "SCARD", "dependencies:a"), 1);
}

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
    sound(s);
    assert_taken(s, "3", "a1 a2 b1 ");
    assert_taken(s, "9", "b2 b3 c1 c2 ");
    sound(s);
}

static void what_is_given_back_keeps_its_place_and_a_retry_does_not(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    put(s, "c");
    take_and_end(s, "a", "retry", "0", "", "");
    char token[12];
    take_from(s, "q", "b", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token));
    assert_taken(s, "3", "b c a ");
    lapse(s);
    assert_taken(s, "3", "b c a ");
}

static void a_change_of_priority_keeps_the_age(void **state)
{
    struct scene *s = *state;
    put_with(s, "old", "priority", "5");
    put(s, "new");
    assert_ok(script_does(s, SCRIPT_CHANGE, "old", "priority", "0"));
    sound(s);
    assert_taken(s, "2", "old new ");
}

/* Strictly within one call, for tokens follow each other there. */
static void tasks_and_jobs_of_priority_0_take_turns(void **state)
{
    struct scene *s = *state;
    char token[12];
    scene_enqueue_n(s, "q", "t", 20);
    put_with(s, "first", "priority", "-1");
    put_with(s, "last", "priority", "1");
    for (int i = 0; i < 20; i++) {
        char id[12];
        snprintf(id, sizeof(id), "j%d", i);
        put(s, id);
    }
    char *taken = take_n(s, "q", "41", token);
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
    assert_taken(s, "9", "last ");
    sound(s);
}

static void positive_priorities_wait_for_all_tasks(void **state)
{
    struct scene *s = *state;
    put_with(s, "late", "priority", "1");
    scene_enqueue_n(s, "q", "t", 3);
    assert_taken(s, "4", "t0 t1 t2 late ");
    sound(s);
}

static void ten_thousand_jobs_come_in_order(void **state)
{
    enum { N = 10000, PAGE = 500 };
    struct scene *s = *state;
    char token[12], id[16], priority[8];
    put_with(s, "none", "delay", "60000"); /* the server knows the script */
    for (int i = 0; i < N; i++) {
        snprintf(id, sizeof(id), "j%05d", i);
        snprintf(priority, sizeof(priority), "%d", i % 3 - 1);
        freeReplyObject(raw(s->server->redis, "EVALSHA %s 1 %s: q %s 0 0 0 priority %s", lua_scripts[SCRIPT_PUT].sha1,
                            s->prefix, id, priority));
    }
    int last = -1, n = 0, rank = 0;
    for (int page = 0; page < N / PAGE; page++) {
        char *taken = take_n(s, "q", "500", token);
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
        assert_int_equal(size_of(s, "ZCARD", "waiting:q"), 1);
        complete(s, id);
    }
    assert_int_equal(size_of(s, "ZCARD", "complete:q"), 10);
}

static void all_that_it_waits_for_must_be_complete_and_its_time_have_come(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put(s, "b");
    put_after(s, "both", "3", "a", "b", "none");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "later", "0", "0", "1", "b", "delay", "60000"));
    complete(s, "a");
    assert_all(s, "depends", "both", "later");
    complete(s, "b");
    assert_state(s, "both", "waiting");
    assert_state(s, "later", "scheduled");
    make_due(s, "scheduled", "later", 0);
    promote(s);
    assert_taken(s, "2", "both later ");
    put_after(s, "at once", "2", "a", "b"); /* which are complete */
    assert_state(s, "at once", "waiting");
}

static void a_failed_dependency_is_waited_for_until_it_is_replayed(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    fail_job(s, "a");
    assert_all(s, "depends", "b", "c");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    sound(s);
    complete(s, "a");
    assert_state(s, "b", "waiting");
    fail_job(s, "b");
    put(s, "b"); /* anew: who waits for it still does */
    sound(s);
    assert_state(s, "c", "depends");
    complete(s, "b");
    assert_state(s, "c", "waiting");
}

/* And its own dependents wait on, for it may be replayed. */
static void who_waits_for_what_is_dropped_fails(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    fail_job(s, "a");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "9", "0"), 0, 1, -1);
    sound(s);
    assert_state(s, "a", "");
    assert_state(s, "b", "failed");
    assert_field(s, "b", "group", "dependency");
    assert_state(s, "c", "depends");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "dependency", "9", "0"), 0, 1, -1);
    complete(s, "b");
    complete(s, "c");
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
    sound(s);
    assert_all(s, "", "a", "b", "c");
    put(s, "a");
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "a"), 0, 3);
    sound(s);
    assert_all(s, "", "a", "b", "c");
    assert_int_equal(size_of(s, "ZCARD", "failed:q"), 0);
}

/* A cancelled one that runs may still finish; if it is dropped instead, who waits for it by then fails. */
static void who_waits_for_what_is_dropped_from_a_hand_fails(void **state)
{
    struct scene *s = *state;
    char token[12];
    put(s, "a");
    take_from(s, "q", "a", token);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "1", "a"), 0, 1);
    put_after(s, "b", "1", "a");
    assert_state(s, "b", "depends");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token));
    sound(s);
    assert_state(s, "a", "");
    assert_state(s, "b", "failed");
}

static void no_job_waits_for_itself(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "b", "0", "0", "1", "b"), MUSTER_E_INVALID);
    put_after(s, "b", "1", "a");
    put_after(s, "c", "1", "b");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "a", "1", "0", "1", "c"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "c"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "b"), MUSTER_E_INVALID);
    fail_job(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "a", "0", "0", "1", "c"), MUSTER_E_INVALID);
    assert_state(s, "a", "failed");
    sound(s);
}

/* Nor for one that is never complete, whichever came first. */
static void no_job_waits_for_one_that_recurs(void **state)
{
    struct scene *s = *state;
    put_with(s, "every", "every", "60000", "delay", "60000");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "a", "0", "0", "1", "every"), MUSTER_E_INVALID);
    put(s, "a");
    put_after(s, "b", "1", "a");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "b", "after", "every"), MUSTER_E_INVALID);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "a", "1", "0", "0", "every", "60000"), MUSTER_E_INVALID);
    fail_job(s, "a");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "a", "0", "0", "0", "every", "60000"), MUSTER_E_INVALID);
    replace_in(s, "q", "b", "every", "60000"); /* it waits for nothing any more */
    sound(s);
    assert_state(s, "b", "recurring");
}

static void dependencies_change(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "delay", "60000");
    put_with(s, "b", "delay", "60000");
    put_after(s, "c", "1", "a");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "after", "b"));
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after", "a"));
    sound(s);
    assert_state(s, "c", "depends");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after", "b", "after", "a", "queue", "o"));
    sound(s);
    assert_state(s, "c", "depends");
    assert_field(s, "c", "queue", "o");
    assert_ok(script_does(s, SCRIPT_CHANGE, "c", "not_after_all", ""));
    sound(s);
    assert_state(s, "c", "waiting");
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "c", "after", "a"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_CHANGE, "none", "after", "a"), MUSTER_E_NOT_FOUND);
}

/* ---- put again, and put in place ---- */

static void an_id_is_free_as_soon_as_its_job_has_ended(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    assert_int_equal(put_in(s, "q", "a", "data", "d"), MUSTER_E_EXISTS);
    complete(s, "a");
    put(s, "a");
    fail_job(s, "a");
    put(s, "a");
    sound(s);
    assert_field(s, "a", "group", "");
    assert_int_equal(size_of(s, "EXISTS", "failed:q"), 0);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    put(s, "a");
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 0, 0);
    put(s, "a");
    lapse(s);
    assert_int_equal(put_in(s, "q", "a", "data", "d"), MUSTER_E_EXISTS);
}

/* Its state before, and what the queue it comes from has afterwards. */
static void a_live_job_is_changed_and_moved_from_each_state(void **state)
{
    static const char *const states[] = {"waiting", "scheduled", "depends", "running"};
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    put_with(s, "far", "delay", "60000");
    for (size_t i = 0; i < N_OF(states); i++) {
        assert_ok(script_does(s, SCRIPT_PUT, "q", "a", "0", "1", i == 2 ? "1" : "0", "blue", i == 2 ? "far" : "data",
                              i == 2 ? "data" : "d", i == 2 ? "d" : "priority", i == 2 ? NULL : "4"));
        if (i == 1)
            replace_in(s, "q", "a", "delay", "60000");
        if (i == 3) {
            acting_start(&w, s);
            acting_take(&w);
        }
        assert_state(s, "a", states[i]);
        replace_in(s, "o", "a", "retries", "7");
        sound(s);
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
    snprintf(token, sizeof(token), "%s", field(s, "a", "token"));
    replace_in(s, "o", "a", "data", "new");
    char *heard = acting_heard(&w);
    snprintf(message, sizeof(message), "R%s\n", w.epoch);
    assert_non_null(strstr(heard, message));
    free(heard);
    redisReply *reply = acting_turn(&w, "done", "q", token);
    assert_int_equal(reply->element[1]->element[0]->integer, MUSTER_E_LOST);
    freeReplyObject(reply);
    assert_state(s, "a", "waiting");
    sound(s);
    acting_forget(&w);
}

/* ---- recurring ---- */

static void a_recurring_job_makes_one_each_interval(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "r", "0", "1", "0", "blue", "every", "60000", "data", "d", "priority",
                          "3", "retries", "2"));
    promote(s); /* the first one at once */
    assert_state(s, "r-1", "waiting");
    assert_field(s, "r-1", "data", "d");
    assert_field(s, "r-1", "priority", "3");
    assert_field(s, "r-1", "tags", "blue");
    assert_field(s, "r-1", "every", "");
    promote(s);
    assert_state(s, "r-2", "");
    make_due(s, "recurring", "r", 0);
    promote(s);
    promote(s);
    assert_state(s, "r-2", "waiting");
    assert_field(s, "r", "made", "2");
    put_with(s, "offset", "every", "60000", "delay", "60000");
    promote(s);
    assert_state(s, "offset-1", "");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "r", "offset"), 0, 2);
    sound(s);
    assert_state(s, "r", "");
    assert_all(s, "waiting", "r-1", "r-2"); /* what it has made stays */
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
        make_due(s, "recurring", "r", 9 * 60000 + 30000);
        promote(s);
        assert_int_equal(number(s, "r", "made"), cases[i].made);
        assert_int_equal(size_of(s, "ZCARD", "waiting:q"), cases[i].made);
        int64_t until = number(s, "r", "due") - raw_int(s->server->redis, "EVAL %s 0",
                                                        "local t = redis.call('TIME')\n"
                                                        "return t[1] * 1000 + math.floor(t[2] / 1000)");
        assert_in_range(until, 20000, 30000); /* the rhythm is kept */
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void more_than_one_call_can_make_are_made_by_several(void **state)
{
    struct scene *s = *state;
    put_with(s, "r", "every", "1000", "delay", "60000");
    make_due(s, "recurring", "r", 249900);
    for (int i = 1; i <= 3; i++) {
        promote(s);
        assert_int_equal(number(s, "r", "made"), i < 3 ? 100 * i : 250);
    }
}

/* Neither a long id nor one that is in the way stops those after it. */
static void what_cannot_be_made_is_passed_over(void **state)
{
    struct scene *s = *state;
    char id[201], made[210];
    memset(id, 'x', 198);
    snprintf(id + 198, sizeof(id) - 198, "%s", "");
    put_with(s, id, "every", "60000", "delay", "60000");
    make_due(s, "recurring", id, 10 * 60000);
    promote(s);
    assert_int_equal(number(s, id, "made"), 11);
    snprintf(made, sizeof(made), "%s-9", id);
    assert_state(s, made, "waiting");
    snprintf(made, sizeof(made), "%s-10", id);
    assert_state(s, made, "");
    put_with(s, "r-1", "delay", "60000");
    put_with(s, "r", "every", "60000", "delay", "60000");
    raw_do(s->server->redis, "SET %s:job:r-2 damaged", s->prefix);
    make_due(s, "recurring", "r", 2 * 60000 + 1000);
    assert_ok(script_status(script_call_list(s, SCRIPT_PROMOTE, (const char *const[]){NULL})));
    raw_do(s->server->redis, "DEL %s:job:r-2", s->prefix);
    sound(s);
    assert_state(s, "r-1", "scheduled");
    assert_state(s, "r-3", "waiting");
}

/* An ended one is begun anew, and those that wait for what it makes again still do. */
static void what_is_made_takes_the_place_of_what_has_ended(void **state)
{
    struct scene *s = *state;
    put(s, "r-1");
    put(s, "r-2");
    put_after(s, "waits", "1", "r-2");
    complete(s, "r-1");
    fail_job(s, "r-2");
    put_with(s, "r", "every", "60000", "delay", "60000");
    make_due(s, "recurring", "r", 60000 + 1000);
    promote(s);
    assert_all(s, "waiting", "r-1", "r-2");
    assert_state(s, "waits", "depends");
    complete(s, "r-1");
    complete(s, "r-2");
    assert_state(s, "waits", "waiting");
}

static void a_recurring_job_changes_and_moves(void **state)
{
    struct scene *s = *state;
    put_with(s, "r", "every", "60000", "delay", "60000");
    int64_t due = number(s, "r", "due");
    assert_ok(script_does(s, SCRIPT_CHANGE, "r", "every", "30000", "queue", "o", "data", "new"));
    sound(s);
    assert_int_equal(number(s, "r", "due"), due);
    replace_in(s, "p", "r", "every", "20000");
    sound(s);
    assert_field(s, "r", "queue", "p");
    assert_int_equal(number(s, "r", "due"), due);
    make_due(s, "recurring", "r", 0);
    promote(s);
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
        snprintf(id, sizeof(id), "j%d", i);
        put(s, id);
        complete(s, id);
    }
    assert_all(s, "complete", "j2", "j3");
    assert_all(s, "", "j0", "j1");
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs", "0"));
    put(s, "j4");
    put_after(s, "waits", "1", "j4");
    complete(s, "j4");
    assert_all(s, "", "j2", "j3", "j4");
    assert_state(s, "waits", "waiting"); /* it was complete, if not for long */
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs", "100"));
    complete(s, "waits");
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "keep_jobs_ms", "0"));
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "0", "1000", "0")); /* which tidies */
    sound(s);
    assert_state(s, "waits", "");
    assert_int_equal(size_of(s, "EXISTS", "history:waits"), 0);
}

/* ---- retries ---- */

static void a_job_is_retried_as_often_as_it_may(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "2");
    take_and_end(s, "a", "retry", "", "first", "m1");
    assert_field(s, "a", "group", "first");
    take_and_end(s, "a", "retry", "", "", "");
    assert_field(s, "a", "retried", "2");
    assert_field(s, "a", "group", "first");
    take_and_end(s, "a", "retry", "", "third", "m3");
    assert_state(s, "a", "failed");
    assert_field(s, "a", "group", "failed-retries");
    assert_field(s, "a", "message", "m3");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:failed-retries", s->prefix), 1);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    sound(s);
    assert_field(s, "a", "retried", ""); /* it begins anew */
    put_with(s, "none", "retries", "0", "priority", "-1");
    take_and_end(s, "none", "retry", "60000", "", "");
    assert_state(s, "none", "failed");
}

/* How long the retry after `retried` others waits, ms. */
static int64_t backoff_of(struct scene *s, const char *retried, const char *const *fields)
{
    const char *args[20] = {"q", "a", "0", "0", "0", "retries", "100", "retried", retried};
    for (int i = 0; fields[i]; i++)
        args[9 + i] = fields[i];
    char token[12];
    assert_ok(script_status(script_call_list(s, SCRIPT_PUT, args)));
    take_from(s, "q", "a", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "", "", ""));
    sound(s);
    int64_t waits = strcmp(field(s, "a", "state"), "waiting") ? number(s, "a", "due") - number(s, "a", "since") : 0;
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, 1);
    return waits;
}
#define backoff(s, retried, ...) backoff_of(s, retried, (const char *const[]){__VA_ARGS__, NULL})

static void a_retry_waits_as_its_job_says(void **state)
{
    struct scene *s = *state;
    assert_int_equal(backoff(s, "0", "data", "d"), 0);
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

static void a_retry_with_a_delay_of_its_own_waits_so_long(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "5", "backoff", "60000");
    take_and_end(s, "a", "retry", "0", "", "");
    assert_state(s, "a", "waiting");
    take_and_end(s, "a", "retry", "5000", "", "");
    assert_int_equal(number(s, "a", "due") - number(s, "a", "since"), 5000);
}

/* ---- crashes ---- */

static void deaths_are_counted_apart_from_retries(void **state)
{
    struct scene *s = *state;
    put_with(s, "a", "retries", "0");
    for (int i = 1; i <= 3; i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
        acting_start(&w, s);
        acting_take(&w);
        assert_state(s, "a", "running");
        acting_die(&w);
        assert_int_equal(script_does(s, SCRIPT_SWEEP, "w", "0"), 0);
        sound(s);
        assert_int_equal(number(s, "a", "crashes"), i);
    }
    assert_state(s, "a", "failed");
    assert_field(s, "a", "group", "crashed");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "crashed", "9", "0"), 0, 1, -1);
    assert_field(s, "a", "crashes", "");
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_crashes", "0"));
    for (int i = 1; i <= 5; i++) {
        assert_taken(s, "1", "a ");
        lapse(s);
        assert_int_equal(number(s, "a", "crashes"), i);
    }
    assert_state(s, "a", "waiting");
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
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "b"), 0, 1);
    char old[12];
    snprintf(old, sizeof(old), "%s", field(s, "a", "token"));
    acting_die(&w);
    acting_start(&again, s);
    sound(s);
    assert_all(s, "running", "a", "b");
    assert_state(s, "poison", "failed");
    assert_string_not_equal(field(s, "a", "token"), old);
    assert_int_equal(script_does(s, SCRIPT_END, "w", "done", "q", old), MUSTER_E_LOST);
    acting_say(&again, "done", "q", field(s, "a", "token"));
    acting_say(&again, "back", "q", "1", field(s, "b", "token"));
    sound(s);
    assert_state(s, "a", "complete");
    assert_state(s, "b", "");
}

/* A place that what lapsed has left is there for who takes. */
static void a_limit_over_all_is_kept_and_no_place_stays_free(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 3, .hears = true};
    char token[12];
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", "1"));
    put(s, "a");
    put(s, "b");
    scene_enqueue(s, "q", "t");
    char *taken = take_n(s, "q", "9", token); /* a task or a job, by turns */
    assert_int_equal(strlen(taken), 2);
    free(taken);
    assert_int_equal(queue_field(s, "q", "running"), 1);
    assert_taken(s, "9", "");
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for _, field in ipairs(redis.call('ZRANGE', KEYS[1] .. ':leases:q', 0, -1)) do\n"
           "  redis.call('ZADD', KEYS[1] .. ':leases:q', 1000, field)\n"
           "end\n"
           "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', 1000)",
           s->prefix);
    taken = take_n(s, "q", "9", token);
    assert_int_equal(strlen(taken), 2);
    free(taken);
    acting_start(&w, s);
    acting_take(&w);
    sound(s);
    assert_int_equal(queue_field(s, "q", "running"), 1);
    for (int i = 0; i < 3; i++) { /* each end fills the place anew, as long as something waits */
        lapse(s);
        assert_int_equal(queue_field(s, "q", "running"), 1);
    }
    assert_ok(script_does(s, SCRIPT_CONFIG, "q", "max_running", ""));
    sound(s);
    assert_int_equal(queue_field(s, "q", "running"), 3);
    acting_forget(&w);
}

/* Nobody heard that it waits: its message reached nobody, say. */
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
        assert_int_equal(size_of(s, "ZCARD", "idle:q"), i);
        assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a"), 0, i ? 0 : 1);
        acting_take(&w); /* which sees that none is left */
        sound(s);
    }
}

/* What has killed too many stays behind, and its place is free for others. */
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
    acting_die(&w);
    acting_start(&again, s);
    sound(s);
    assert_state(s, "poison", "failed");
    assert_field(s, "next", "worker", "other");
    acting_forget(&other);
}

/* ---- deletion, the failed list ---- */

static void a_queue_goes_with_its_jobs_in_all_states(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2, .hears = true};
    char token[12];
    put(s, "complete");
    complete(s, "complete");
    put(s, "failed");
    fail_job(s, "failed");
    put(s, "held");
    put(s, "finishes");
    acting_start(&w, s);
    acting_take(&w);
    put(s, "waiting");
    put_with(s, "scheduled", "delay", "60000");
    put_with(s, "recurring", "every", "60000", "delay", "60000");
    put_after(s, "depends", "1", "scheduled");
    assert_ok(script_does(s, SCRIPT_PUT, "o", "elsewhere", "0", "0", "1", "waiting"));
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 3, 2, 0);
    sound(s);
    assert_all(s, "", "complete", "failed", "waiting", "scheduled", "recurring", "depends");
    assert_state(s, "elsewhere", "failed");
    assert_field(s, "elsewhere", "group", "dependency");
    snprintf(token, sizeof(token), "%s", field(s, "held", "token"));
    acting_say(&w, "back", "q", "1", token, "done", "q", field(s, "finishes", "token"));
    sound(s);
    assert_state(s, "held", "");
    assert_state(s, "finishes", "complete");
    assert_int_equal(size_of(s, "EXISTS", "waiting:q"), 0);
    acting_forget(&w);
}

static void more_jobs_than_one_call_deletes_go_by_several(void **state)
{
    enum { N = 2300 };
    struct scene *s = *state;
    put(s, "none"); /* the server knows the script */
    for (int i = 1; i < N; i++) {
        char id[16];
        snprintf(id, sizeof(id), "j%d", i);
        freeReplyObject(raw(s->server->redis, "EVALSHA %s 1 %s: q %s 0 1 0 blue delay %s", lua_scripts[SCRIPT_PUT].sha1,
                            s->prefix, id, i % 2 ? "0" : "60000"));
    }
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1000, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1000, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 300, 0, 0);
    sound(s);
    assert_int_equal(size_of(s, "EXISTS", "tags"), 0);
    assert_int_equal(size_of(s, "EXISTS", "names"), 0);
}

static void failed_jobs_are_replayed_and_dropped_like_tasks(void **state)
{
    struct scene *s = *state;
    char *entry;
    scene_enqueue(s, "q", "t");
    char token[12], *taken = take_n(s, "q", "1", token);
    free(taken);
    snprintf(token, sizeof(token), "%s", "");
    for (int i = 0; i < 3; i++) {
        char id[4];
        snprintf(id, sizeof(id), "j%d", i);
        put(s, id);
        fail_job(s, id);
    }
    entry = raw_string(s->server->redis, "EVAL %s 1 %s",
                       "local n, text = tonumber(redis.call('HGET', KEYS[1] .. ':job:j1', 'entry')), ''\n"
                       "for _ = 1, 11 do\n"
                       "  local d = n % 32\n"
                       "  text, n = string.sub('0123456789abcdefghijklmnopqrstuv', d + 1, d + 1) .. text,\n"
                       "    math.floor(n / 32)\n"
                       "end\n"
                       "return text",
                       s->prefix);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "0", "0", entry, entry), 0, 1, 0);
    sound(s);
    assert_state(s, "j1", "waiting");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "", "0", "0", entry), 0, 0, 1);
    free(entry);
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "1", "0"), 0, 1, -1);
    assert_state(s, "j0", "");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    sound(s);
    assert_taken(s, "9", "j1 j2 ");
    assert_int_equal(size_of(s, "EXISTS", "failures:q"), 0);
}

/* Dropping the first makes another fail, whose entry pushes out the second, as old as it is: it is counted out once. */
static void an_entry_goes_once(void **state)
{
    struct scene *s = *state;
    put(s, "first");
    put(s, "second");
    put_after(s, "waits", "1", "first");
    fail_job(s, "first");
    fail_job(s, "second");
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for i, id in ipairs({'first', 'second'}) do\n"
           "  local P, member = KEYS[1] .. ':', redis.call('ZRANGE', KEYS[1] .. ':failed:q', i - 1, i - 1)[1]\n"
           "  redis.call('ZADD', P .. 'failed:q', i, member)\n"
           "  redis.call('HSET', P .. 'job:' .. id, 'entry', i)\n"
           "end",
           s->prefix);
    sound(s);
    assert_ok(script_does(s, SCRIPT_DROP, "q", "g", "9", "0"));
    sound(s);
    assert_all(s, "", "first", "second");
    assert_state(s, "waits", "failed");
}

/* ---- tags, tracking, history, statistics ---- */

static void tags_are_counted_and_never_drift(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "a", "0", "3", "0", "blue", "old", "blue", "tracked", "1"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "b", "0", "1", "0", "blue", "data", "d"));
    assert_int_equal(raw_int(s->server->redis, "ZSCORE %s:tags blue", s->prefix), 2);
    assert_field(s, "a", "tags", "blue\nold");
    assert_ok(script_does(s, SCRIPT_CHANGE, "a", "untag", "blue", "untag", "none", "tag", "new", "tag", "new"));
    sound(s);
    assert_field(s, "a", "tags", "old\nnew");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "a", "1", "1", "0", "big", "data", "d")); /* instead of the others */
    sound(s);
    assert_field(s, "a", "tags", "big");
    assert_field(s, "a", "tracked", "1");
    complete(s, "b");
    put(s, "b");
    sound(s);
    assert_field(s, "b", "tags", "");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a", "b"), 0, 2);
    sound(s);
    assert_int_equal(size_of(s, "EXISTS", "tags"), 0);
    assert_int_equal(size_of(s, "EXISTS", "tracked"), 0);
}

static void a_history_has_its_first_line_and_the_newest(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_CONFIG, "", "keep_history", "3"));
    put(s, "a");
    for (int i = 0; i < 5; i++)
        assert_ok(script_does(s, SCRIPT_CHANGE, "a", "log", i == 4 ? "newest" : "line"));
    assert_int_equal(size_of(s, "LLEN", "history:a"), 3);
    char *first = raw_string(s->server->redis, "LINDEX %s:history:a 0", s->prefix);
    char *last = raw_string(s->server->redis, "LINDEX %s:history:a -1", s->prefix);
    assert_non_null(strstr(first, "\tput\t"));
    assert_non_null(strstr(last, "\tlog\tnewest"));
    free(first);
    free(last);
}

static int64_t counted(struct scene *s, const char *what)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s %s",
                   "local key = KEYS[1] .. ':stats:' .. math.floor(redis.call('TIME')[1] / 86400) .. ':q'\n"
                   "return redis.call('HGET', key, ARGV[1])",
                   s->prefix, what);
}

/* How many times of a kind: in all classes of its histogram. */
static int64_t counted_times(struct scene *s, const char *what)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s %s",
                   "local key = KEYS[1] .. ':stats:' .. math.floor(redis.call('TIME')[1] / 86400) .. ':q'\n"
                   "local flat, n = redis.call('HGETALL', key), 0\n"
                   "for i = 1, #flat, 2 do\n"
                   "  n = n + (string.find(flat[i], '^' .. ARGV[1] .. ':%d+$') and flat[i + 1] or 0)\n"
                   "end\n"
                   "return n",
                   s->prefix, what);
}

static void what_happens_is_counted_by_day(void **state)
{
    struct scene *s = *state;
    put(s, "a");
    take_and_end(s, "a", "retry", "0", "", "");
    complete(s, "a");
    put(s, "b");
    fail_job(s, "b");
    put(s, "c");
    assert_taken(s, "1", "c ");
    lapse(s);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "c"), 0, 1);
    assert_int_equal(counted(s, "put"), 3);
    assert_int_equal(counted(s, "taken"), 4);
    assert_int_equal(counted(s, "retried"), 1);
    assert_int_equal(counted(s, "completed"), 1);
    assert_int_equal(counted(s, "failed"), 1);
    assert_int_equal(counted(s, "crashed"), 1);
    assert_int_equal(counted(s, "cancelled"), 1);
    assert_int_equal(counted_times(s, "wait"), 4);
    assert_int_equal(counted_times(s, "run"), 1);
    assert_in_range(raw_int(s->server->redis, "EVAL %s 1 %s",
                            "return redis.call('TTL', redis.call('SCAN', '0', 'MATCH', KEYS[1] .. ':stats:*', 'COUNT', '1000000')[2][1])", s->prefix),
                    30 * 86400, 31 * 86400);
}

/* ---- records that cannot be read ---- */

/* What waits for it, and a put that cannot know what it is. */
static void put_in_its_way(struct scene *s)
{
    put_after(s, "waits", "1", "a");
    assert_state(s, "waits", "depends");
    assert_int_equal(put_in(s, "q", "a", "data", "d"), MUSTER_E_REDIS);
}

static void a_job_whose_record_cannot_be_read_fails_as_broken(void **state)
{
    static const char *const hands[] = {"take", "lapse", "back", "retry", "done", "fetch"};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(hands); i++) {
        struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
        char token[12];
        print_message("  %s\n", hands[i]);
        put(s, "a");
        if (i == 5) {
            acting_start(&w, s);
            acting_take(&w);
            snprintf(token, sizeof(token), "%s", field(s, "a", "token"));
        } else if (i > 0) {
            take_from(s, "q", "a", token);
        }
        raw_do(s->server->redis, "HDEL %s:job:a place", s->prefix);
        if (i == 0)
            assert_taken(s, "1", "");
        else if (i == 1)
            raw_do(s->server->redis, "ZADD %s:leases:q 1000 j%s", s->prefix, token);
        if (i == 1)
            raw_do(s->server->redis, "HSET %s:queue:q due 1000", s->prefix);
        if (i == 1)
            assert_taken(s, "1", "");
        else if (i == 2)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token));
        else if (i == 3)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "0", "", ""));
        else if (i == 4)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
        else if (i == 5)
            assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q"), MUSTER_E_NOT_FOUND);
        assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:broken", s->prefix), 1);
        assert_waiting(s, "q", "");
        assert_int_equal(queue_field(s, "q", "running"), 0);
        put_in_its_way(s);
        assert_answer(script_call(s, SCRIPT_DROP, "q", "broken", "9", "0"), 0, 1, -1);
        assert_field(s, "waits", "group", "dependency");
        put(s, "a"); /* its id is free again */
        assert_state(s, "a", "waiting");
        raw_do(s->server->redis, "FLUSHALL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        live_test(each_end_from_each_hands),
        live_test(what_ended_cannot_end_again),
        live_test(a_task_goes_to_no_next_queue),
        live_test(a_next_queue_begins_anew_to_count),
        live_test(on_its_way_a_job_waits_for_none_that_waits_for_it),
        live_test(by_priority_then_first_in_first_out),
        live_test(what_is_given_back_keeps_its_place_and_a_retry_does_not),
        live_test(a_change_of_priority_keeps_the_age),
        live_test(tasks_and_jobs_of_priority_0_take_turns),
        live_test(positive_priorities_wait_for_all_tasks),
        live_test(ten_thousand_jobs_come_in_order),
        live_test(a_chain_of_ten_runs_one_after_the_other),
        live_test(all_that_it_waits_for_must_be_complete_and_its_time_have_come),
        live_test(a_failed_dependency_is_waited_for_until_it_is_replayed),
        live_test(who_waits_for_what_is_dropped_fails),
        live_test(a_cancel_takes_those_that_wait_along_or_is_refused),
        live_test(who_waits_for_what_is_dropped_from_a_hand_fails),
        live_test(no_job_waits_for_itself),
        live_test(no_job_waits_for_one_that_recurs),
        live_test(dependencies_change),
        live_test(an_id_is_free_as_soon_as_its_job_has_ended),
        live_test(a_live_job_is_changed_and_moved_from_each_state),
        live_test(a_running_job_that_is_put_again_is_its_former_holders_no_more),
        live_test(a_recurring_job_makes_one_each_interval),
        live_test(missed_intervals_are_made_up_for_as_far_as_the_backlog_says),
        live_test(more_than_one_call_can_make_are_made_by_several),
        live_test(what_cannot_be_made_is_passed_over),
        live_test(what_is_made_takes_the_place_of_what_has_ended),
        live_test(a_recurring_job_changes_and_moves),
        live_test(complete_jobs_are_kept_by_count_and_age),
        live_test(a_job_is_retried_as_often_as_it_may),
        live_test(a_retry_waits_as_its_job_says),
        live_test(a_retry_with_a_delay_of_its_own_waits_so_long),
        live_test(deaths_are_counted_apart_from_retries),
        live_test(the_next_life_of_a_worker_has_its_jobs_under_new_tokens),
        live_test(a_limit_over_all_is_kept_and_no_place_stays_free),
        live_test(a_heartbeat_tells_of_jobs_that_wait),
        live_test(a_place_that_is_not_resumed_is_filled),
        live_test(a_queue_goes_with_its_jobs_in_all_states),
        live_test(more_jobs_than_one_call_deletes_go_by_several),
        live_test(failed_jobs_are_replayed_and_dropped_like_tasks),
        live_test(an_entry_goes_once),
        live_test(tags_are_counted_and_never_drift),
        live_test(a_history_has_its_first_line_and_the_newest),
        live_test(what_happens_is_counted_by_day),
        live_test(a_job_whose_record_cannot_be_read_fails_as_broken),
    };
    return scene_run(tests);
}
