/* SPDX-License-Identifier: MIT
 *
 * Batches: what counts as the end of a member, what follows and how often, nested ones, one that nobody closes, one
 * that is cancelled; at random, with replays, cancels and late closes; and each kind of damage to them, which a check finds and puts right.
 */
#include <muster/batch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "damage.h"
#include "random.h"
#include "script_call.h"

#define AN_HOUR "3600000"
#define FOLLOWED "on_end", "f", "on_complete", "f", "on_failure", "f"

static void open_batch(struct scene *s, const char *id, const char *parent)
{
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, id, parent, AN_HOUR, FOLLOWED));
}

static void close_batch(struct scene *s, const char *id)
{
    assert_ok(script_does(s, SCRIPT_CLOSE_BATCH, id));
}

static void put_member(struct scene *s, const char *batch, const char *id)
{
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", id, "data", "d", "batch", batch));
}

/* Takes the next job of "q" under a lease, and ends it so: "done", "fail", "retry". */
static void end_next(struct scene *s, const char *id, const char *how)
{
    freeReplyObject(script_call(s, SCRIPT_TAKE, "q", "1", AN_HOUR, "0", ""));
    char *token = raw_string(s->server->redis, "HGET %s:job:%s token", s->prefix, id);
    assert_non_null(token);
    if (strcmp(how, "done") == 0)
        assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    else
        assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"));
    free(token);
}

/* "<state> <members> <complete> <failed> <cancelled> <gone>" */
static void assert_batch(struct scene *s, const char *id, const char *expected)
{
    char *is = raw_string(s->server->redis, "EVAL %s 1 %s:batch:%s",
                          "local v = redis.call('HMGET', KEYS[1], 'state', 'members', 'complete', 'failed', "
                          "'cancelled', 'gone')\n"
                          "for i = 1, 6 do v[i] = v[i] or '0' end return table.concat(v, ' ')",
                          s->prefix, id);
    assert_string_equal(is, expected);
    free(is);
}

/* The jobs of the queue of followers, in their order, each ended by a blank. */
static void assert_followers(struct scene *s, const char *expected)
{
    char *ids = raw_string(s->server->redis, "EVAL %s 1 %s:waiting:f",
                           "local t = '' for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do\n"
                           "t = t .. string.sub(m, 12) .. ' ' end return t",
                           s->prefix);
    assert_string_equal(ids, expected);
    free(ids);
}

static void replay(struct scene *s)
{
    assert_ok(script_does(s, SCRIPT_REPLAY, "q", "", "10", "0"));
}

/* ---- ends and followers ---- */

static void a_batch_ends_with_its_last_member_once_it_is_closed(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    put_member(s, "b", "two");
    end_next(s, "one", "done");
    close_batch(s, "b");
    assert_batch(s, "b", "closed 2 1 0 0 0");
    assert_followers(s, "");
    end_next(s, "two", "done");
    assert_batch(s, "b", "ended 2 2 0 0 0");
    assert_followers(s, "b-end b-complete ");
    close_batch(s, "b");
    assert_followers(s, "b-end b-complete ");
    checked_assert_clean(s);
}

static void a_late_close_ends_a_batch_whose_members_have_ended(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    end_next(s, "one", "done");
    assert_followers(s, "");
    close_batch(s, "b");
    assert_followers(s, "b-end b-complete ");
    open_batch(s, "empty", "");
    close_batch(s, "empty");
    assert_followers(s, "b-end b-complete empty-end empty-complete ");
    checked_assert_clean(s);
}

static void the_first_failure_is_followed_at_once_and_once(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    put_member(s, "b", "two");
    end_next(s, "one", "fail");
    assert_followers(s, "b-failure ");
    end_next(s, "two", "fail");
    close_batch(s, "b");
    assert_batch(s, "b", "ended 2 0 2 0 0");
    assert_followers(s, "b-failure b-end ");
    checked_assert_clean(s);
}

static void a_replay_lets_a_batch_end_again_and_puts_what_was_not_put(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    close_batch(s, "b");
    end_next(s, "one", "fail");
    assert_followers(s, "b-failure b-end ");
    replay(s);
    assert_batch(s, "b", "closed 1 0 0 0 0");
    checked_assert_clean(s);
    end_next(s, "one", "fail");
    replay(s);
    end_next(s, "one", "done");
    assert_batch(s, "b", "ended 1 1 0 0 0");
    assert_followers(s, "b-failure b-end b-complete ");
    checked_assert_clean(s);
}

static void a_member_that_goes_on_or_is_retried_has_not_ended(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "one", "batch", "b", "retries", "1"));
    close_batch(s, "b");
    freeReplyObject(script_call(s, SCRIPT_TAKE, "q", "1", AN_HOUR, "0", ""));
    char *token = raw_string(s->server->redis, "HGET %s:job:one token", s->prefix);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "0", "", ""));
    free(token);
    assert_batch(s, "b", "closed 1 0 0 0 0");
    freeReplyObject(script_call(s, SCRIPT_TAKE, "q", "1", AN_HOUR, "0", ""));
    token = raw_string(s->server->redis, "HGET %s:job:one token", s->prefix);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "next", "q", token, "0", "", "q", "0", ""));
    free(token);
    assert_batch(s, "b", "closed 1 0 0 0 0");
    end_next(s, "one", "done");
    assert_followers(s, "b-end b-complete ");
    checked_assert_clean(s);
}

static void members_that_are_cancelled_or_deleted_have_ended(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    put_member(s, "b", "two");
    close_batch(s, "b");
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "one"));
    assert_batch(s, "b", "closed 2 0 0 1 0");
    assert_ok(script_does(s, SCRIPT_DELETE, "q"));
    assert_batch(s, "b", "ended 2 0 0 1 1");
    assert_followers(s, "b-end ");
    checked_assert_clean(s);
}

/* The queue of the followers is damaged when the batch ends. */
static void an_id_is_not_free_before_what_follows_its_batch_is_put(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    raw_do(s->server->redis, "SET %s:scheduled:f text", s->prefix);
    close_batch(s, "b");
    assert_batch(s, "b", "ended 0 0 0 0 0");
    assert_int_equal(script_does(s, SCRIPT_OPEN_BATCH, "b", "", AN_HOUR, FOLLOWED), MUSTER_E_EXISTS);
    raw_do(s->server->redis, "DEL %s:scheduled:f", s->prefix);
    raw_do(s->server->redis, "ZADD %s:ended 0 bb", s->prefix);
    freeReplyObject(script_call(s, SCRIPT_TAKE, "q", "0", AN_HOUR, "0", ""));
    assert_followers(s, "b-end b-complete ");
    open_batch(s, "b", "");
    assert_batch(s, "b", "open 0 0 0 0 0");
    close_batch(s, "b");
}

/* What is noted for later is not said to be there. */
static void a_check_puts_what_follows_or_says_that_it_has_only_noted_it(void **state)
{
    static const char is_owed[] = "has not put the job that follows its end";
    struct scene *s = *state;
    open_batch(s, "b", "");
    raw_do(s->server->redis, "SET %s:scheduled:f text", s->prefix);
    close_batch(s, "b");
    for (int is_damaged = 1; is_damaged >= 0; is_damaged--) {
        raw_do(s->server->redis, "ZREM %s:ended bb", s->prefix);
        const struct checked c = checked_repair(s);
        assert_non_null(strstr(c.what, is_owed));
        assert_true(is_damaged == !strstr(c.what, ": put it"));
        assert_true(is_damaged == !!strstr(c.what, ": noted it"));
        assert_followers(s, is_damaged ? "" : "b-end b-complete ");
        raw_do(s->server->redis, "DEL %s:scheduled:f", s->prefix);
    }
    checked_assert_clean(s);
}

/* ---- who may come ---- */

static void nobody_joins_a_batch_that_is_not_open(void **state)
{
    struct scene *s = *state;
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "one", "batch", "b"), MUSTER_E_NOT_FOUND);
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    close_batch(s, "b");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "two", "batch", "b"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_OPEN_BATCH, "c", "b", AN_HOUR), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_OPEN_BATCH, "b", "", AN_HOUR), MUSTER_E_EXISTS);
    open_batch(s, "other", "");
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "one", "replace", "1", "batch", "other"), MUSTER_E_STATE);
    assert_int_equal(script_does(s, SCRIPT_PUT, "q", "", "one", "replace", "1", "every", AN_HOUR), MUSTER_E_STATE);
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "one", "replace", "1", "batch", "b"));
    assert_batch(s, "b", "closed 1 0 0 0 0");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:two", s->prefix), 0);
    checked_assert_clean(s);
}

static void an_id_may_be_used_again_and_old_members_stay_outside(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    close_batch(s, "b");
    end_next(s, "one", "fail");
    open_batch(s, "b", "");
    replay(s);
    assert_batch(s, "b", "open 0 0 0 0 0");
    end_next(s, "one", "done");
    assert_batch(s, "b", "open 0 0 0 0 0");
    close_batch(s, "b");
    char *own = raw_string(s->server->redis, "HGET %s:batch:b put_end", s->prefix);
    assert_int_equal(strncmp(own, "b-end-", 6), 0); /* the first one's follower still waits */
    free(own);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:f", s->prefix), 4);
    checked_assert_clean(s);
}

/* What has failed may be replayed: nobody has said that it is to go. */
static void a_failed_job_keeps_the_id_that_a_follower_would_have(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "b-end", "data", "precious", "retries", "0"));
    end_next(s, "b-end", "fail");
    close_batch(s, "b");
    char *own = raw_string(s->server->redis, "HGET %s:batch:b put_end", s->prefix);
    char *state_of = raw_string(s->server->redis, "HGET %s:job:b-end state", s->prefix);
    assert_int_equal(strncmp(own, "b-end-", 6), 0);
    assert_string_equal(state_of, "failed");
    free(own);
    free(state_of);
    checked_assert_clean(s);
}

/* ---- batches in batches ---- */

static void a_nested_batch_is_one_member(void **state)
{
    struct scene *s = *state;
    open_batch(s, "outer", "");
    open_batch(s, "inner", "outer");
    put_member(s, "inner", "one");
    put_member(s, "outer", "two");
    close_batch(s, "outer");
    end_next(s, "one", "fail");
    assert_followers(s, "inner-failure outer-failure ");
    end_next(s, "two", "done");
    close_batch(s, "inner");
    assert_batch(s, "outer", "ended 2 1 1 0 0");
    assert_followers(s, "inner-failure outer-failure inner-end outer-end ");
    replay(s);
    assert_batch(s, "outer", "closed 2 1 0 0 0");
    checked_assert_clean(s);
    end_next(s, "one", "done");
    assert_batch(s, "outer", "ended 2 2 0 0 0");
    assert_followers(s, "inner-failure outer-failure inner-end outer-end inner-complete outer-complete ");
    checked_assert_clean(s);
}

static void batches_lie_16_deep_at_most(void **state)
{
    struct scene *s = *state;
    char id[8], parent[8] = "";
    for (int i = 1; i <= 16; i++) {
        snprintf(id, sizeof id, "d%d", i);
        open_batch(s, id, parent);
        snprintf(parent, sizeof parent, "%s", id);
    }
    assert_int_equal(script_does(s, SCRIPT_OPEN_BATCH, "d17", "d16", AN_HOUR), MUSTER_E_TOO_BIG);
    put_member(s, "d16", "one");
    for (int i = 1; i <= 16; i++) {
        snprintf(id, sizeof id, "d%d", i);
        close_batch(s, id);
    }
    end_next(s, "one", "done");
    assert_batch(s, "d1", "ended 1 1 0 0 0");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:f", s->prefix), 32);
    checked_assert_clean(s);
}

/* A put lets the last member go, which was being cancelled: what follows the batch has its id by then. */
static void a_put_sees_the_follower_that_it_has_caused(void **state)
{
    enum { MANY = 300 };
    static char ids[MANY][8];
    const char *args[4 * MANY + 16] = {"q", ""};
    struct scene *s = *state;
    size_t n = 2;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "waits-for", "data", "d"));
    open_batch(s, "b", "");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "one", "data", "d", "batch", "b", "after", "waits-for"));
    close_batch(s, "b");
    damage_plant(s, "local place, n = call('HGET', P .. 'job:one', 'place'), 0\n"
                    "for i = 1, #place do n = n * 32 + tonumber(string.sub(place, i, i), 32) end\n"
                    "call('ZADD', P .. 'freed:clist', string.format('%.0f', n), 'one')\n"
                    "call('ZADD', P .. 'ended', call('TIME')[1] * 1000 + 60000, 'clist')");
    for (int i = 0; i <= MANY; i++) {
        if (i > 0 && i < MANY)
            snprintf(ids[i], sizeof ids[i], "n%d", i);
        args[n++] = i == 0 ? "one" : i == MANY ? "b-end" : ids[i];
        args[n++] = "data";
        args[n++] = "e";
        args[n++] = "";
    }
    args[n - 1] = NULL;
    redisReply *reply = script_call_list(s, SCRIPT_PUT, args);
    assert_int_equal(reply->element[0]->integer, MUSTER_E_EXISTS);
    assert_string_equal(reply->element[2]->str, "b-end");
    freeReplyObject(reply);
    assert_followers(s, "b-end ");
}

/* ---- closed by its time ---- */

static void a_batch_that_nobody_closes_is_closed_and_told(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_OPEN_BATCH, "b", "", "60000", FOLLOWED));
    open_batch(s, "later", "");
    put_member(s, "b", "one");
    end_next(s, "one", "done");
    raw_do(s->server->redis, "ZADD %s:batches 1 b", s->prefix);
    raw_do(s->server->redis, "EVAL %s 1 %s:due", "return redis.call('ZADD', KEYS[1], 1, '')", s->prefix);
    redisReply *reply = script_call(s, SCRIPT_PROMOTE, NULL);
    assert_int_equal(reply->element[2]->elements, 1);
    assert_string_equal(reply->element[2]->element[0]->str, "b");
    assert_true(reply->element[1]->integer > 0); /* the later one */
    freeReplyObject(reply);
    assert_batch(s, "b", "ended 1 1 0 0 0");
    assert_followers(s, "b-end b-complete ");
    char *why = raw_string(s->server->redis, "HGET %s:batch:b why", s->prefix);
    assert_string_equal(why, "ttl");
    free(why);
    checked_assert_clean(s);
}

static void a_member_that_comes_puts_the_close_off(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    raw_do(s->server->redis, "ZADD %s:batches 1000 b", s->prefix);
    put_member(s, "b", "one");
    char *score = raw_string(s->server->redis, "ZSCORE %s:batches b", s->prefix);
    assert_true(strtod(score, NULL) > 1e12);
    free(score);
}

static void ended_batches_go_by_the_bounds_of_complete_jobs(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:config keep_jobs 2", s->prefix);
    for (int i = 0; i < 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "b%d", i);
        open_batch(s, id, "");
        close_batch(s, id);
    }
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:past", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:batch:b0 %s:batch:b1", s->prefix, s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:batch:b2 %s:batch:b3", s->prefix, s->prefix), 2);
    checked_assert_clean(s);
}

/* ---- cancelled ---- */

/* A job that waits for a member is cancelled with it if it is a member, too, and fails otherwise. */
static void a_cancelled_batch_has_no_member_left_and_ends(void **state)
{
    struct scene *s = *state;
    uint64_t removed, running;
    open_batch(s, "b", "");
    open_batch(s, "inner", "b");
    put_member(s, "b", "leased");
    freeReplyObject(script_call(s, SCRIPT_TAKE, "q", "1", AN_HOUR, "0", ""));
    for (int i = 0; i < 250; i++) {
        char id[8];
        snprintf(id, sizeof id, "j%d", i);
        put_member(s, i % 2 ? "b" : "inner", id);
    }
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "waits", "after", "j1", "batch", "b"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "outside", "after", "j1"));
    assert_ok(muster_batch_cancel(s->client, "b", &removed, &running));
    assert_int_equal(running, 1);
    assert_batch(s, "inner", "ended 125 0 0 125 0");
    assert_batch(s, "b", "ended 128 0 0 128 0");
    char *state_of = raw_string(s->server->redis, "HGET %s:job:outside state", s->prefix);
    assert_string_equal(state_of, "failed");
    free(state_of);
    checked_assert_clean(s);
    assert_followers(s, "inner-end b-end ");
    assert_ok(muster_batch_cancel(s->client, "b", &removed, &running));
    assert_int_equal(removed, 0);
    char *token = raw_string(s->server->redis, "HKEYS %s:marks:.lease", s->prefix);
    token[11] = '\0';
    assert_int_equal(script_does(s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"), MUSTER_E_CANCELLED);
    free(token);
    assert_batch(s, "b", "ended 128 0 0 128 0");
    assert_followers(s, "inner-end b-end ");
    assert_ok(muster_batch_cancel(s->client, "b", NULL, NULL));
    checked_assert_clean(s);
}

/* The caller dies after its first step: whoever moves what is due goes on. */
static void a_cancel_that_was_begun_goes_on_by_itself(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    for (int i = 0; i < 250; i++) {
        char id[8];
        snprintf(id, sizeof id, "j%d", i);
        put_member(s, "b", id);
    }
    assert_ok(script_does(s, SCRIPT_CANCEL_BATCH, "b", "0"));
    assert_batch(s, "b", "closed 250 0 0 100 0");
    checked_assert_clean(s);
    for (int i = 0; i < 3; i++) {
        raw_do(s->server->redis, "ZADD %s:ended 1 kb", s->prefix);
        raw_do(s->server->redis, "EVAL %s 1 %s:due", "return redis.call('ZADD', KEYS[1], 1, '')", s->prefix);
        freeReplyObject(script_call(s, SCRIPT_PROMOTE, NULL));
    }
    assert_batch(s, "b", "ended 250 0 0 250 0");
    assert_followers(s, "b-end ");
    checked_assert_clean(s);
}

static void where_a_cancel_stopped_may_be_no_place(void **state)
{
    struct scene *s = *state;
    static const char *const none[] = {"x", "nan", "(nan", "5 "};
    for (size_t i = 0; i < N_OF(none); i++) {
        char batch[8], id[8], ended[16];
        snprintf(batch, sizeof batch, "b%d", (int)i % 10);
        snprintf(ended, sizeof ended, "k%s", batch);
        open_batch(s, batch, "");
        for (int k = 0; k < 101; k++) {
            snprintf(id, sizeof id, "%d-%d", (int)i % 10, k % 1000);
            put_member(s, batch, id);
        }
        assert_ok(script_does(s, SCRIPT_CANCEL_BATCH, batch, "0"));
        assert_batch(s, batch, "closed 101 0 0 100 0");
        raw_do(s->server->redis, "HSET %s:batch:%s from %s", s->prefix, batch, none[i]);
        raw_do(s->server->redis, "ZADD %s:ended 1 %s", s->prefix, ended);
        raw_do(s->server->redis, "EVAL %s 1 %s:due", "return redis.call('ZADD', KEYS[1], 1, '')", s->prefix);
        freeReplyObject(script_call(s, SCRIPT_PROMOTE, NULL));
        assert_batch(s, batch, "ended 101 0 0 101 0");
    }
    checked_assert_clean(s);
}

/* ---- a queue that cannot take the follower ---- */

static void a_follower_is_put_once_its_queue_can_take_it(void **state)
{
    struct scene *s = *state;
    open_batch(s, "b", "");
    put_member(s, "b", "one");
    close_batch(s, "b");
    damage_plant(s, "call('SET', P .. 'waiting:f', 'text')");
    end_next(s, "one", "done");
    assert_batch(s, "b", "ended 1 1 0 0 0");
    damage_plant(s,
                 "call('DEL', P .. 'waiting:f') call('ZADD', P .. 'ended', 1, 'bb') call('ZADD', P .. 'due', 1, '')");
    freeReplyObject(script_call(s, SCRIPT_PROMOTE, NULL));
    assert_followers(s, "b-end b-complete ");
    checked_assert_clean(s);
}

/* ---- through the public calls ---- */

struct seen {
    struct muster_batch batch;
    char id[MUSTER_BATCH_ID_MAX + 1], first[16], end_job[16];
    int n;
};

static int see(const struct muster_batch *batch, void *arg)
{
    struct seen *seen = arg;
    seen->batch = *batch;
    snprintf(seen->id, sizeof seen->id, "%s", batch->id);
    snprintf(seen->first, sizeof seen->first, "%s", batch->first_failed);
    snprintf(seen->end_job, sizeof seen->end_job, "%s", batch->on_end.job);
    seen->n++;
    return 0;
}

static void a_program_opens_fills_closes_and_reads_a_batch(void **state)
{
    struct scene *s = *state;
    struct seen seen = {.n = 0};
    char id[MUSTER_BATCH_ID_MAX + 1];
    const struct muster_batch_spec spec = {.size = sizeof spec, .id = "b", .on_end = {.queue = "f", .data = {"x", 1}}};
    assert_ok(muster_batch_open(s->client, &spec, id));
    assert_string_equal(id, "b");
    assert_err(muster_batch_open(s->client, &spec, id), MUSTER_E_EXISTS);
    const struct muster_job_spec job = {.size = sizeof job, .id = "one", .data = {"d", 1}, .batch = "b"};
    assert_ok(muster_job_put(s->client, "q", &job, NULL));
    assert_ok(muster_batch_get(s->client, "b", see, &seen));
    assert_int_equal(seen.batch.state, MUSTER_BATCH_OPEN);
    assert_int_equal(seen.batch.left, 1);
    assert_true(seen.batch.due_at_ms > seen.batch.opened_at_ms);
    assert_ok(muster_batch_close(s->client, "b"));
    assert_err(muster_job_put(s->client, "q", &(struct muster_job_spec){.size = sizeof job, .batch = "b"}, NULL),
               MUSTER_E_STATE);
    assert_non_null(strstr(muster_client_error(s->client), "'b' is closed"));
    end_next(s, "one", "fail");
    assert_ok(muster_batch_list(s->client, see, &seen));
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.batch.state, MUSTER_BATCH_ENDED);
    assert_int_equal(seen.batch.failed, 1);
    assert_string_equal(seen.first, "one");
    assert_string_equal(seen.end_job, "b-end");
    char *data = raw_string(s->server->redis, "HGET %s:job:b-end data", s->prefix);
    assert_string_equal(data, "x");
    free(data);
    assert_err(muster_batch_get(s->client, "c", see, &seen), MUSTER_E_NOT_FOUND);
    assert_err(muster_batch_close(s->client, "c"), MUSTER_E_NOT_FOUND);
    assert_err(muster_batch_cancel(s->client, "b", NULL, NULL), MUSTER_E_STATE);
}

/* Between two steps somebody else does the rest of it, and the records of what has ended are not kept. */
static int cancel_the_rest(const struct muster_progress *progress, void *client)
{
    (void)progress;
    for (int i = 0; i < 2; i++) {
        int err = muster_batch_cancel(client, i ? "within" : "b", NULL, NULL);
        assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
    }
    return 0;
}

static void a_cancel_that_others_bring_to_its_end_has_been_done(void **state)
{
    static const char *const members_of[] = {"b", "within"};
    struct scene *s = *state;
    struct muster_client *other = scene_client(s);
    assert_ok(muster_config_set(s->client, NULL, "keep_jobs", &(const int64_t){0}));
    for (size_t k = 0; k < N_OF(members_of); k++) {
        uint64_t removed = 0, running = 0;
        open_batch(s, "b", "");
        open_batch(s, "within", "b");
        for (int i = 0; i < 350; i++) {
            char id[16];
            snprintf(id, sizeof id, "j%d", i);
            put_member(s, members_of[k], id);
        }
        muster_client_set_progress(s->client, cancel_the_rest, other);
        assert_ok(muster_batch_cancel(s->client, "b", &removed, &running));
        muster_client_set_progress(s->client, NULL, NULL);
        assert_in_range(removed, 1, 349);
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:batch:b %s:batch:within", s->prefix, s->prefix), 0);
    }
    assert_err(muster_batch_cancel(s->client, "b", NULL, NULL), MUSTER_E_NOT_FOUND);
    muster_client_free(other);
}

/* ---- at random ---- */

enum { OUTER, INNER, ALONE, BATCHES, JOBS_MAX = 60, STEPS = 150, ROUNDS = 12 };
enum fate { ALIVE, DONE, FAILED, CANCELLED };

/* What must be so: `inner` is a member of `outer`. */
struct model {
    struct scene *s;
    struct random random;
    size_t n_jobs;
    int batch_of[JOBS_MAX];
    enum fate fate[JOBS_MAX];
    bool is_closed[BATCHES], has_failed[BATCHES];
};
static const char *const batch_names[BATCHES] = {[OUTER] = "outer", [INNER] = "inner", [ALONE] = "alone"};

static void put_random(struct model *m)
{
    int batch = (int)random_below(&m->random, BATCHES);
    char id[8];
    if (m->n_jobs == JOBS_MAX)
        return;
    snprintf(id, sizeof id, "%zu", m->n_jobs);
    int status = script_does(m->s, SCRIPT_PUT, "q", "", id, "data", "d", "batch", batch_names[batch]);
    assert_int_equal(status, m->is_closed[batch] ? MUSTER_E_STATE : MUSTER_OK);
    if (status == MUSTER_OK)
        m->batch_of[m->n_jobs++] = batch;
}

/* Ends the job that is next, in this way. False: there is none. */
static bool end_random(struct model *m, bool fails)
{
    struct redisContext *redis = m->s->server->redis;
    freeReplyObject(script_call(m->s, SCRIPT_TAKE, "q", "1", AN_HOUR, "0", ""));
    char *id = raw_string(redis, "EVAL %s 1 %s:processing:.lease:q", "return redis.call('HVALS', KEYS[1])[1] or ''",
                          m->s->prefix);
    size_t job = *id ? strtoul(id, NULL, 10) : JOBS_MAX;
    if (job < JOBS_MAX) {
        end_next(m->s, id, fails ? "fail" : "done");
        m->fate[job] = fails ? FAILED : DONE;
        m->has_failed[m->batch_of[job]] |= fails;
        m->has_failed[OUTER] |= m->has_failed[INNER];
    }
    free(id);
    return job < JOBS_MAX;
}

static void cancel_random(struct model *m)
{
    size_t job = random_below(&m->random, m->n_jobs + 1);
    char id[8];
    snprintf(id, sizeof id, "%zu", job);
    assert_ok(script_does(m->s, SCRIPT_CANCEL_JOBS, "0", id));
    if (job < m->n_jobs && m->fate[job] == ALIVE)
        m->fate[job] = CANCELLED;
    else if (job < m->n_jobs && m->fate[job] == FAILED)
        m->fate[job] = CANCELLED; /* it counts as failed still, and is not replayed */
}

static void replay_random(struct model *m)
{
    replay(m->s);
    for (size_t i = 0; i < m->n_jobs; i++)
        m->fate[i] = m->fate[i] == FAILED ? ALIVE : m->fate[i];
}

static void close_random(struct model *m, size_t batch)
{
    close_batch(m->s, batch_names[batch]);
    m->is_closed[batch] = true;
}

static void step(struct model *m)
{
    switch (random_below(&m->random, 16)) {
    case 0:
        cancel_random(m);
        break;
    case 1:
        replay_random(m);
        break;
    case 2:
        if (random_chance(&m->random, 20))
            close_random(m, random_below(&m->random, BATCHES));
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        put_random(m);
        break;
    default:
        end_random(m, random_chance(&m->random, 15));
    }
}

static bool is_complete(const struct model *m, int batch)
{
    for (size_t i = 0; i < m->n_jobs; i++)
        if (m->batch_of[i] == batch && m->fate[i] != DONE)
            return false;
    return batch != OUTER || is_complete(m, INNER);
}

/* All are closed and have ended: each follower that is due was put, and was put once. */
static void assert_each_was_followed_once(struct model *m)
{
    struct redisContext *redis = m->s->server->redis;
    int64_t due = 0;
    for (int i = 0; i < BATCHES; i++) {
        due += 1 + m->has_failed[i] + is_complete(m, i);
        assert_int_equal(raw_int(redis, "HEXISTS %s:batch:%s put_complete", m->s->prefix, batch_names[i]),
                         is_complete(m, i));
        assert_int_equal(raw_int(redis, "HEXISTS %s:batch:%s put_failure", m->s->prefix, batch_names[i]),
                         m->has_failed[i]);
    }
    assert_int_equal(raw_int(redis, "ZCARD %s:waiting:f", m->s->prefix), due);
    assert_int_equal(raw_int(redis, "HGET %s:queue:f jobs_in", m->s->prefix), due);
    assert_int_equal(raw_int(redis, "ZCARD %s:past", m->s->prefix), BATCHES);
}

static void each_follower_is_put_once_among_replays_cancels_and_late_closes(void **state)
{
    struct scene *s = *state;
    uint64_t seed = random_seed(20261123);
    for (int round = 0; round < ROUNDS; round++) {
        struct model m = {.s = s, .random = random_from(seed + (uint64_t)round)};
        open_batch(s, "outer", "");
        open_batch(s, "inner", "outer");
        open_batch(s, "alone", "");
        for (int i = 0; i < STEPS; i++)
            step(&m);
        checked_assert_clean(s);
        for (size_t i = 0; i < BATCHES; i++)
            close_random(&m, i);
        while (end_random(&m, false))
            ;
        if (random_chance(&m.random, 50)) {
            replay_random(&m);
            while (end_random(&m, false))
                ;
        }
        assert_each_was_followed_once(&m);
        checked_assert_clean(s);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* ---- each kind of damage ---- */

static void furnish(struct scene *s)
{
    open_batch(s, "outer", "");
    open_batch(s, "inner", "outer");
    put_member(s, "inner", "failed");
    end_next(s, "failed", "fail");
    put_member(s, "inner", "waits");
    put_member(s, "outer", "other");
    close_batch(s, "inner");
    open_batch(s, "over", "");
    close_batch(s, "over");
}

static char *all_jobs(struct scene *s)
{
    static const char script[] = "local P, ids, cursor = KEYS[1], {}, '0'\n"
                                 "repeat\n"
                                 "  local page = redis.call('SCAN', cursor, 'MATCH', P .. ':job:*', 'COUNT', 1000)\n"
                                 "  cursor = page[1]\n"
                                 "  for _, key in ipairs(page[2]) do ids[#ids + 1] = string.sub(key, #P + 6) end\n"
                                 "until cursor == '0'\n"
                                 "table.sort(ids)\n"
                                 "return ids\n";
    return raw_string(s->server->redis, "EVAL %s 1 %s", script, s->prefix);
}

static const struct damage damages[] = {
    {"call('HSET', P .. 'batch:inner', 'members', 7)", "batch:inner "},
    {"call('HSET', P .. 'batch:inner', 'failed', 'some')", "batch:inner batch:inner "},
    {"call('HDEL', P .. 'batch:inner', 'failed')", "batch:inner "},
    {"call('HDEL', P .. 'batch:inner', 'state')", "batch:inner "},
    {"call('HSET', P .. 'batch:inner', 'state', 'odd')", "batch:inner "},
    {"call('HDEL', P .. 'batch:inner', 'place')", "batch:inner "},
    {"call('HSET', P .. 'batch:over', 'state', 'open')", "batch:over "},
    {"call('DEL', P .. 'batch:over')", "past "},
    {"call('ZREM', P .. 'batches', 'outer')", "batch:outer "},
    {"call('ZREM', P .. 'batches', 'inner')", "batch:inner "},
    {"call('ZADD', P .. 'batches', 5, 'ghost')", "batches "},
    {"call('ZREM', P .. 'past', 'over')", "batch:over "},
    {"call('ZADD', P .. 'members:ghost', 1, 'jwaits')", "members:ghost "},
    {"call('ZADD', P .. 'members:outer', 9, 'jghost')", "batch:outer members:outer "},
    {"call('ZADD', P .. 'members:inner', 9, 'jfailed')", "batch:inner members:inner "},
    {"call('ZREM', P .. 'members:inner', 'jwaits')", "job:waits "},
    {"call('ZREM', P .. 'members:outer', 'binner')", "batch:inner "},
    {"call('ZREM', P .. 'due', '')", "due "},
    {"call('HSET', P .. 'batch:inner', 'from', '-inf', 'cancel', '1')", "batch:inner "},
    {"call('HSET', P .. 'batch:inner', 'from', '-inf', 'cancel', '1') call('ZADD', P .. 'ended', 1, 'kinner')", "due "},
};

static const struct damage_house house = {.furnish = furnish, .inventory = all_jobs};

/* ---- all cases ---- */

#define batch_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, scene_end)

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {
        batch_test(a_batch_ends_with_its_last_member_once_it_is_closed),
        batch_test(a_late_close_ends_a_batch_whose_members_have_ended),
        batch_test(the_first_failure_is_followed_at_once_and_once),
        batch_test(a_replay_lets_a_batch_end_again_and_puts_what_was_not_put),
        batch_test(a_member_that_goes_on_or_is_retried_has_not_ended),
        batch_test(members_that_are_cancelled_or_deleted_have_ended),
        batch_test(an_id_is_not_free_before_what_follows_its_batch_is_put),
        batch_test(a_check_puts_what_follows_or_says_that_it_has_only_noted_it),
        batch_test(nobody_joins_a_batch_that_is_not_open),
        batch_test(an_id_may_be_used_again_and_old_members_stay_outside),
        batch_test(a_failed_job_keeps_the_id_that_a_follower_would_have),
        batch_test(a_nested_batch_is_one_member),
        batch_test(batches_lie_16_deep_at_most),
        batch_test(a_put_sees_the_follower_that_it_has_caused),
        batch_test(a_batch_that_nobody_closes_is_closed_and_told),
        batch_test(a_member_that_comes_puts_the_close_off),
        batch_test(ended_batches_go_by_the_bounds_of_complete_jobs),
        batch_test(a_cancelled_batch_has_no_member_left_and_ends),
        batch_test(a_cancel_that_was_begun_goes_on_by_itself),
        batch_test(where_a_cancel_stopped_may_be_no_place),
        batch_test(a_follower_is_put_once_its_queue_can_take_it),
        batch_test(each_follower_is_put_once_among_replays_cancels_and_late_closes),
        batch_test(a_program_opens_fills_closes_and_reads_a_batch),
        batch_test(a_cancel_that_others_bring_to_its_end_has_been_done),
    };
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), scene_end, argc, argv);
}
