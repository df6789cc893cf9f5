/* SPDX-License-Identifier: MIT
 *
 * Check of jobs: each kind of damage to records, indexes, dependencies, tags and sets, planted with raw commands, is
 * found at its key and at no other, put right, and loses no job. Of plain tasks: test_check.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "script_call.h"

#define AN_HOUR "3600000"

/* Put a job: `args` are the numbers of tags and of jobs to wait for, these, and fields with their values. */
#define put(s, queue, id, ...) assert_ok(script_does(s, SCRIPT_PUT, queue, id, "0", __VA_ARGS__, "data", "bytes"))

static struct checked check(struct scene *s, int repair)
{
    return checked_now(s->client, s->prefix, repair);
}

/* All jobs, by their records, sorted. */
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

static void assert_state(struct scene *s, const char *id, const char *state)
{
    char *is = raw_string(s->server->redis, "HGET %s:job:%s state", s->prefix, id);
    assert_string_equal(is ? is : "gone", state);
    free(is);
}

/* ---- a namespace with jobs in every state ---- */

static struct acting_worker w;

static void lease(struct scene *s, const char *queue)
{
    freeReplyObject(script_call(s, SCRIPT_TAKE, queue, "1", AN_HOUR, "0"));
}

/* The token of the lease that the next take gives for this job; to be freed. */
static char *leased_token(struct scene *s, const char *queue, const char *id)
{
    lease(s, queue);
    return raw_string(s->server->redis, "HGET %s:job:%s token", s->prefix, id);
}

/* "w" holds "run" and "cut", which is cancelled, and has a hand free; nothing moves by itself for an hour. */
static void furnish(struct scene *s)
{
    w = (struct acting_worker){.id = "w", .queues = {"q", "empty"}, .hands = 3, .hears = true, .ttl_ms = atoi(AN_HOUR)};
    acting_start(&w, s);
    acting_take(&w);
    put(s, "q", "run", "0", "0");
    put(s, "q", "cut", "0", "0");
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "cut"));
    put(s, "leased", "leased", "0", "0");
    lease(s, "leased");
    assert_ok(muster_queue_pause(s->client, "paused"));
    put(s, "paused", "wait", "1", "0", "red", "tracked", "1");
    put(s, "paused", "wait2", "2", "0", "red", "blue", "priority", "3");
    scene_enqueue(s, "paused", "task");
    put(s, "late", "later", "0", "0", "delay", AN_HOUR);
    put(s, "often", "every", "0", "0", "every", AN_HOUR, "delay", AN_HOUR);
    put(s, "held", "needs", "0", "2", "wait", "later");
    put(s, "held", "needs1", "0", "1", "wait");
    put(s, "bad", "failed", "0", "0");
    char *token = leased_token(s, "bad", "failed");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "bad", token, "group", "message"));
    free(token);
    put(s, "ok", "done", "0", "0");
    token = leased_token(s, "ok", "done");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "ok", token));
    free(token);
}

static void a_house_full_of_jobs_is_clean(void **state)
{
    struct scene *s = *state;
    furnish(s);
    checked_assert_clean(s);
    char *jobs = all_jobs(s);
    assert_string_equal(jobs, "cut\ndone\nevery\nfailed\nlater\nleased\nneeds\nneeds1\nrun\nwait\nwait2\n");
    free(jobs);
}

/* ---- each kind of damage ---- */

static const struct damage damages[] = {
    /* a record that its index does not know */
    {"call('ZREM', P .. 'waiting:paused', member('wait'))", "job:wait "},
    {"call('ZREM', P .. 'scheduled:late', member('later'))", "job:later "},
    {"call('ZREM', P .. 'recurring:often', member('every'))", "job:every "},
    {"call('ZREM', P .. 'depends:held', member('needs'))", "job:needs "},
    {"call('ZREM', P .. 'complete:ok', member('done'))", "job:done "},
    {"call('ZREM', P .. 'running:q', member('run'))", "job:run "},
    {"call('DEL', P .. 'failed:bad')", "job:failed failures:bad "},
    {"call('HSET', P .. 'job:failed', 'entry', 5)", "job:failed failed:bad "},
    {"call('HDEL', P .. 'job:failed', 'entry')", "job:failed failed:bad "},
    {"call('HSET', P .. 'job:wait', 'state', 'scheduled')", "job:wait waiting:paused "},
    {"call('HSET', P .. 'job:wait', 'queue', 'elsewhere')", "job:wait waiting:paused "},
    {"call('HSET', P .. 'job:wait', 'place', '00000000001')", "job:wait waiting:paused "},
    {"call('HSET', P .. 'job:run', 'state', 'complete')", "job:run processing:w:q running:q "},
    {"call('HSET', P .. 'job:done', 'state', 'running')", "job:done complete:ok "},
    {"call('ZADD', P .. 'waiting:paused', 77, member('wait'))", "job:wait "},
    {"call('HSET', P .. 'job:wait2', 'priority', 4)", "job:wait2 "},
    {"call('HDEL', P .. 'job:later', 'due')", "job:later "},
    {"call('HSET', P .. 'job:later', 'due', 'soon')", "job:later "},
    {"call('HSET', P .. 'job:later', 'due', 1)", "job:later "},
    {"call('HDEL', P .. 'job:every', 'due')", "job:every "},
    /* a running one in no hands, or in others */
    {"call('HDEL', P .. 'processing:w:q', 'j' .. call('HGET', P .. 'job:run', 'token'))", "job:run worker:w queue:q "},
    {"call('DEL', P .. 'processing:.lease:leased', P .. 'leases:leased')", "job:leased queue:leased "},
    {"call('HSET', P .. 'job:run', 'token', '00000000001')", "job:run processing:w:q "},
    {"call('HDEL', P .. 'job:run', 'worker')", "job:run processing:w:q "},
    {"call('HDEL', P .. 'job:run', 'token')", "job:run processing:w:q "},
    {"call('HSET', P .. 'job:leased', 'worker', 'w')", "job:leased processing:.lease:leased "},
    {"local field = 'j' .. call('HGET', P .. 'job:run', 'token')\n"
     "call('HDEL', P .. 'processing:w:q', field) call('HSET', P .. 'processing:nobody:q', field, 'run')\n"
     "call('HSET', P .. 'job:run', 'worker', 'nobody')",
     "processing:nobody:q worker:w "},
    {"call('DEL', P .. 'leases:leased')", "processing:.lease:leased "},
    {"call('HSET', P .. 'processing:w:q', 'j00000000001', 'ghost')", "processing:w:q "},
    {"call('HSET', P .. 'processing:w:q', 'j00000000001', 'wait', 'j00000000002', 'run')", "processing:w:q "},
    {"call('HSET', P .. 'processing:.lease:leased', 'j00000000001', 'ghost')\n"
     "call('ZADD', P .. 'leases:leased', '99999999999999', 'j00000000001')",
     "processing:.lease:leased "},
    {"call('ZADD', P .. 'leases:leased', '99999999999999', 'j00000000001')", "leases:leased "},
    {"call('HDEL', P .. 'worker:w', 'flag')", "worker:w "},
    /* an index that its records do not know */
    {"call('ZADD', P .. 'waiting:paused', -1, '00000000001ghost')", "waiting:paused "},
    {"call('ZADD', P .. 'waiting:q', 0, '00000000001ghost')", "waiting:q "},
    {"call('ZADD', P .. 'waiting:nowhere', 0, member('wait'))", "waiting:nowhere "},
    {"call('ZADD', P .. 'waiting:paused', 0, '00000000001wait')", "waiting:paused "},
    {"call('ZADD', P .. 'scheduled:late', 1, '00000000001ghost')", "scheduled:late "},
    {"call('ZADD', P .. 'scheduled:paused', 1, member('wait'))", "scheduled:paused "},
    {"call('ZADD', P .. 'depends:held', 1, 'short')", "depends:held "},
    {"call('ZADD', P .. 'running:q', 1, member('wait'))", "running:q "},
    {"call('ZADD', P .. 'complete:ok', 1, member('failed'))", "complete:ok "},
    {"call('ZADD', P .. 'recurring:often', 1, '00000000001ghost')", "recurring:often "},
    {"call('ZADD', P .. 'failed:bad', 5, 'j00000000001:0:1:0:gwait')", "failed:bad failures:bad "},
    {"call('ZADD', P .. 'failed:bad', 5, 'j00000000001:0:1:0:gfailed')", "failed:bad failures:bad "},
    {"call('ZADD', P .. 'failed:bad', 5, 'j00000000001:0:1:0:gghost')", "failed:bad failures:bad "},
    /* what is left of a record that is gone; those that wait for it wait no more */
    {"call('DEL', P .. 'job:run')", "history:run processing:w:q running:q "},
    {"call('DEL', P .. 'job:leased')", "history:leased processing:.lease:leased running:leased "},
    {"call('DEL', P .. 'job:failed')", "history:failed failed:bad "},
    {"call('DEL', P .. 'job:done')", "history:done complete:ok "},
    {"call('DEL', P .. 'job:later')", "history:later job:needs scheduled:late "},
    {"call('DEL', P .. 'job:needs1')", "history:needs1 dependencies:needs1 depends:held "},
    {"call('DEL', P .. 'job:wait')", "job:needs job:needs1 history:wait tag:red tracked waiting:paused "},
    {"call('RPUSH', P .. 'history:ghost', 'x')", "history:ghost "},
    /* no job at all */
    {"call('HSET', P .. 'job:ghost', 'queue', 'q')", "job:ghost "},
    {"call('HSET', P .. 'job:ghost', 'x', 'y')", "job:ghost "},
    /* dependencies */
    {"call('SREM', P .. 'dependents:wait', 'needs')", "job:needs "},
    {"call('DEL', P .. 'dependents:wait')", "job:needs job:needs1 "},
    {"call('DEL', P .. 'dependencies:needs1')", "job:needs1 dependents:wait "},
    {"call('DEL', P .. 'dependencies:needs1') call('SREM', P .. 'dependents:wait', 'needs1')", "job:needs1 "},
    {"call('SADD', P .. 'dependencies:needs', 'ghost')", "job:needs "},
    {"call('SADD', P .. 'dependencies:needs', 'done') call('SADD', P .. 'dependents:done', 'needs')", "job:needs "},
    {"call('SADD', P .. 'dependencies:wait2', 'later') call('SADD', P .. 'dependents:later', 'wait2')",
     "dependencies:wait2 "},
    {"call('SADD', P .. 'dependencies:ghost', 'wait') call('SADD', P .. 'dependents:wait', 'ghost')",
     "dependencies:ghost "},
    {"call('SADD', P .. 'dependents:ghost', 'wait', 'needs')", "dependents:ghost "},
    {"call('SADD', P .. 'dependents:run', 'needs')", "dependents:run "},
    /* tags and tracking */
    {"call('ZREM', P .. 'tag:red', 'wait')", "job:wait tags "},
    {"call('DEL', P .. 'tag:blue')", "job:wait2 tags "},
    {"call('ZADD', P .. 'tag:red', 1, 'ghost')", "tag:red tags "},
    {"call('ZADD', P .. 'tag:red', 1, 'ghost') call('ZINCRBY', P .. 'tags', 1, 'red')", "tag:red "},
    {"call('HSET', P .. 'job:wait2', 'tags', 'darkred\\nblue')", "job:wait2 tag:red "},
    {"call('HDEL', P .. 'job:wait', 'tags')", "tag:red "},
    {"call('ZINCRBY', P .. 'tags', 5, 'red')", "tags "},
    {"call('DEL', P .. 'tags')", "tags tags "},
    {"call('ZADD', P .. 'tags', 3, 'none')", "tags "},
    {"call('ZREM', P .. 'tracked', 'wait')", "job:wait "},
    {"call('HDEL', P .. 'job:wait', 'tracked')", "tracked "},
    {"call('ZADD', P .. 'tracked', 1, 'ghost')", "tracked "},
    /* what a queue, the timer and the statistics say */
    {"call('HDEL', P .. 'queue:paused', 'jobs')", "queue:paused "},
    {"call('HDEL', P .. 'queue:late', 'due')", "queue:late "},
    {"call('HSET', P .. 'queue:often', 'due', '99999999999999')", "queue:often "},
    {"call('ZREM', P .. 'due', 'late')", "due "},
    {"call('ZADD', P .. 'due', '99999999999999', 'often')", "due "},
    {"call('DEL', P .. 'due')", "due due due "},
    {"local m = member('wait') call('HSET', P .. 'job:wait', 'queue', 'q') call('HSET', P .. 'queue:q', 'jobs', 1)\n"
     "call('ZREM', P .. 'waiting:paused', m) call('ZADD', P .. 'waiting:q', 0, m)",
     "waiting:q "},
    {"call('HSET', P .. 'stats:1:q', 'put', 1)", "stats:1:q "},
    {"call('SET', P .. 'timer', 'w')", "timer "},
    {"call('SET', P .. 'token', '00000000001')", "token "},
};

/* No job is lost but those whose records were: of these nothing was left that could be put right. */
static void assert_same_jobs(struct scene *s, const char *before)
{
    char *after = all_jobs(s), *without_ghost = strdup(before), *ghost = strstr(without_ghost, "ghost\n");
    if (ghost)
        memmove(ghost, ghost + 6, strlen(ghost + 6) + 1);
    if (strcmp(without_ghost, after) != 0)
        fail_msg("there were %s, now there are %s", without_ghost, after);
    free(without_ghost);
    free(after);
}

static void find_and_repair(struct scene *s, const struct damage *d)
{
    furnish(s);
    damage_plant(s, d->plant);
    char *jobs = all_jobs(s);
    damage_find_and_repair(s, d);
    assert_same_jobs(s, jobs);
    free(jobs);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:paused", s->prefix), 1);
}

/* ---- how it is put right ---- */

static void a_lost_process_waits_again_where_it_did(void **state)
{
    struct scene *s = *state;
    put(s, "q", "first", "0", "0");
    put(s, "q", "second", "0", "0");
    lease(s, "q");
    damage_plant(s, "call('DEL', P .. 'processing:.lease:q', P .. 'leases:q')");
    check(s, 1);
    checked_assert_clean(s);
    assert_state(s, "first", "waiting");
    char *next = raw_string(s->server->redis, "ZRANGE %s:waiting:q 0 0", s->prefix);
    assert_string_equal(next + 11, "first\n");
    free(next);
}

static void a_lost_process_that_was_cancelled_is_dropped(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('HDEL', P .. 'processing:w:q', 'j' .. call('HGET', P .. 'job:cut', 'token'))");
    check(s, 1);
    checked_assert_clean(s);
    assert_state(s, "cut", "gone");
    assert_state(s, "run", "running");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:marks:w", s->prefix), 0);
}

static void a_job_that_waits_for_nothing_is_handed_over(void **state)
{
    struct scene *s = *state;
    furnish(s);
    put(s, "q", "next", "0", "1", "wait2");
    damage_plant(s, "call('DEL', P .. 'dependencies:next', P .. 'dependents:wait2')");
    free(acting_heard(&w));
    check(s, 1);
    checked_assert_clean(s);
    assert_state(s, "next", "running");
    char *heard = acting_heard(&w);
    assert_int_equal(*heard, 'J');
    free(heard);
}

/* Whoever completes what it waited for cannot put it there, and does not fail for it. */
static void a_job_whose_queue_is_damaged_is_ready_when_that_is_repaired(void **state)
{
    struct scene *s = *state;
    put(s, "q", "one", "0", "0");
    put(s, "damaged", "other", "0", "1", "one");
    char *token = leased_token(s, "q", "one");
    damage_plant(s, "call('SET', P .. 'waiting:damaged', 'text')");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    free(token);
    assert_state(s, "one", "complete");
    assert_string_equal(check(s, 1).keys, "waiting:damaged ");
    assert_state(s, "other", "depends");
    damage_plant(s, "call('DEL', P .. 'waiting:damaged')");
    assert_string_equal(check(s, 1).keys, "job:other ");
    assert_state(s, "other", "waiting");
    checked_assert_clean(s);
}

static void a_job_does_not_go_on_into_a_damaged_queue(void **state)
{
    struct scene *s = *state;
    put(s, "q", "one", "0", "0");
    char *token = leased_token(s, "q", "one");
    damage_plant(s, "call('SET', P .. 'scheduled:damaged', 'text')");
    assert_int_equal(script_does(s, SCRIPT_END, ".lease", "next", "q", token, "0", "", "damaged", "0", ""),
                     MUSTER_E_REDIS);
    assert_state(s, "one", "running");
    damage_plant(s, "call('DEL', P .. 'scheduled:damaged')");
    checked_assert_clean(s);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "next", "q", token, "0", "", "damaged", "0", ""));
    free(token);
}

static void a_job_that_comes_to_recur_waits_for_nothing(void **state)
{
    struct scene *s = *state;
    put(s, "q", "one", "0", "0");
    put(s, "q", "other", "0", "1", "one");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "other", "1", "0", "0", "every", AN_HOUR));
    assert_state(s, "other", "recurring");
    checked_assert_clean(s);
}

static void a_failure_keeps_its_reason(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('DEL', P .. 'failed:bad', P .. 'failures:bad')");
    check(s, 1);
    checked_assert_clean(s);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:bad 0 -1", s->prefix);
    assert_non_null(strstr(entry, ":0:5:7:groupmessagefailed"));
    free(entry);
    assert_ok(script_does(s, SCRIPT_REPLAY, "bad", "", "10", "0"));
    assert_state(s, "failed", "waiting");
}

static void a_queue_at_its_limit_lets_jobs_wait_beside_the_idle(void **state)
{
    struct scene *s = *state;
    furnish(s);
    raw_do(s->server->redis, "HSET %s:queue:q max_running 2", s->prefix);
    put(s, "q", "more", "0", "0");
    assert_state(s, "more", "waiting");
    checked_assert_clean(s);
    damage_plant(s, "call('HSET', P .. 'queue:q', 'max_running', 3)");
    assert_string_equal(check(s, 1).keys, "waiting:q ");
    assert_state(s, "more", "running");
}

static void tokens_are_not_drawn_again_for_places(void **state)
{
    struct scene *s = *state;
    put(s, "q", "job", "0", "0");
    damage_plant(s, "call('DEL', P .. 'token')");
    assert_string_equal(check(s, 1).keys, "token ");
    char *token = raw_string(s->server->redis, "GET %s:token", s->prefix);
    char *place = raw_string(s->server->redis, "HGET %s:job:job place", s->prefix);
    assert_string_equal(token, place);
    free(token);
    free(place);
}

static void more_than_a_page_of_each_is_looked_at(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "for i = 1, 250 do\n"
                    "  local ghost = string.format('%011d', i) .. 'ghost'\n"
                    "  for _, key in ipairs({'waiting:paused', 'scheduled:late', 'depends:held', 'running:q',\n"
                    "      'complete:ok', 'recurring:often'}) do\n"
                    "    call('ZADD', P .. key, i, ghost)\n"
                    "  end\n"
                    "  call('ZADD', P .. 'failed:bad', i, 'j' .. string.format('%011d', i) .. ':0:1:0:gghost')\n"
                    "  call('ZADD', P .. 'tag:red', i, 'ghost' .. i)\n"
                    "  call('ZADD', P .. 'tracked', i, 'ghost' .. i)\n"
                    "  call('SADD', P .. 'dependents:wait', 'ghost' .. i)\n"
                    "  call('RPUSH', P .. 'history:ghost' .. i, 'x')\n"
                    "  call('HSET', P .. 'processing:w:q', 'j' .. string.format('%011d', i), 'ghost')\n"
                    "end");
    char *jobs = all_jobs(s);
    check(s, 1);
    checked_assert_clean(s);
    assert_same_jobs(s, jobs);
    free(jobs);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:paused", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:tag:red", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "SCARD %s:dependents:wait", s->prefix), 2);
}

static void a_full_redis_is_put_right_too(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('ZREM', P .. 'waiting:paused', member('wait')) call('DEL', P .. 'failed:bad')\n"
                    "call('DEL', P .. 'dependencies:needs1') call('ZREM', P .. 'tracked', 'wait')\n"
                    "call('HDEL', P .. 'processing:w:q', 'j' .. call('HGET', P .. 'job:run', 'token'))");
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    struct checked found = {.prefix = s->prefix};
    int err = muster_client_check(s->client, 1, checked_note, &found);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_ok(err);
    assert_int_equal(found.n, found.n_repaired);
    assert_true(found.n > 5);
    checked_assert_clean(s);
}

/* ---- what is left to people ---- */

static const struct {
    const char *plant, *id;
} left[] = {
    {"call('HDEL', P .. 'job:wait', 'state')", "wait"},   {"call('HSET', P .. 'job:wait', 'state', 'asleep')", "wait"},
    {"call('HDEL', P .. 'job:wait', 'queue')", "wait"},   {"call('HSET', P .. 'job:run', 'place', 'short')", "run"},
    {"call('HDEL', P .. 'job:every', 'every')", "every"},
};

static void assert_left(struct scene *s, const char *id)
{
    char before[41], after[41], key[16];
    snprintf(key, sizeof key, "job:%s ", id);
    redis_server_digest(s->server, before);
    for (int repair = 0; repair <= 1; repair++) {
        struct checked found = check(s, repair);
        assert_string_equal(found.keys, key);
        assert_int_equal(found.n_repaired, 0);
    }
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

static void a_record_that_cannot_be_read_is_left_to_people(void **state)
{
    struct scene *s = *state;
    furnish(s);
    for (size_t i = 0; i < N_OF(left); i++) {
        raw_do(s->server->redis, "COPY %s:job:%s kept REPLACE", s->prefix, left[i].id);
        damage_plant(s, left[i].plant);
        assert_left(s, left[i].id);
        raw_do(s->server->redis, "RENAME kept %s:job:%s", s->prefix, left[i].id);
    }
    checked_assert_clean(s);
}

/* A take moved it there, and it tells what was wrong. */
static void what_was_put_aside_as_broken_stays(void **state)
{
    struct scene *s = *state;
    put(s, "q", "job", "0", "0");
    damage_plant(s, "call('DEL', P .. 'job:job', P .. 'history:job')");
    lease(s, "q");
    checked_assert_clean(s);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
}

static void five_thousand_jobs_are_looked_at_in_small_steps(void **state)
{
    struct scene *s = *state;
    enum { JOBS = 5000, PAGE = 100 };
    damage_plant(s,
                 "for i = 1, 5000 do\n"
                 "  local place = string.format('%011d', i)\n"
                 "  call('HSET', P .. 'job:' .. i, 'queue', 'ok', 'state', 'complete', 'place', place, 'tags', 'red')\n"
                 "  call('ZADD', P .. 'complete:ok', i, place .. i) call('ZADD', P .. 'tag:red', i, i)\n"
                 "end\n"
                 "call('ZADD', P .. 'tags', 5000, 'red') call('SET', P .. 'token', '00000vvvvvv')");
    int64_t calls = redis_server_calls(s->server, "evalsha");
    checked_assert_clean(s);
    calls = redis_server_calls(s->server, "evalsha") - calls;
    assert_in_range(calls, 4 * JOBS / PAGE, 4 * JOBS / PAGE + 20); /* as keys, as jobs, in two lists */
}

/* Each key in turn is of a wrong type: the others are looked at all the same, and put right as far as can be; nothing
 * raises, and once all are back nothing is lost. */
static void one_key_of_a_wrong_type_does_not_end_a_check(void **state)
{
    struct scene *s = *state;
    furnish(s);
    char *keys = raw_string(s->server->redis, "EVAL %s 1 %s:*",
                            "return redis.call('SCAN', 0, 'MATCH', KEYS[1], 'COUNT', 10000)[2]", s->prefix),
         *jobs = all_jobs(s), *rest;
    for (char *key = strtok_r(keys, "\n", &rest); key; key = strtok_r(NULL, "\n", &rest)) {
        const char *name = key + strlen(s->prefix) + 1;
        if (strcmp(name, "format") == 0) /* no call at all is made then */
            continue;
        raw_do(s->server->redis, "RENAME %s away", key);
        raw_do(s->server->redis, "XADD %s * field value", key);
        for (int repair = 0; repair <= 1; repair++) {
            struct checked found = check(s, repair);
            if (!strstr(found.keys, name) || (!repair && found.n_repaired > 0))
                fail_msg("%s is not found: %s", name, found.what);
        }
        raw_do(s->server->redis, "RENAME away %s", key);
        check(s, 1);
        checked_assert_clean(s);
    }
    free(keys);
    assert_same_jobs(s, jobs);
    free(jobs);
}

/* ---- a test for each damage ---- */

/* A test for each: its own scene, and `planted` is what the test is about. Nothing of an earlier test is left on the
 * server: the digest is of all keys, and what Redis lets expire meanwhile would be taken for a change. */
static const struct damage *planted;

static int begin_damaged(void **state)
{
    planted = *state;
    int failed = scene_begin(state);
    if (!failed)
        raw_do(((struct scene *)*state)->server->redis, "FLUSHALL");
    return failed;
}

static int end(void **state)
{
    if (w.ear)
        acting_forget(&w);
    return scene_end(state);
}

static void each_damage_is_found_at_its_key_and_repaired(void **state)
{
    find_and_repair(*state, planted);
}

#define job_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest others[] = {
        job_test(a_house_full_of_jobs_is_clean),
        job_test(a_lost_process_waits_again_where_it_did),
        job_test(a_lost_process_that_was_cancelled_is_dropped),
        job_test(a_job_that_waits_for_nothing_is_handed_over),
        job_test(a_job_whose_queue_is_damaged_is_ready_when_that_is_repaired),
        job_test(a_job_does_not_go_on_into_a_damaged_queue),
        job_test(a_job_that_comes_to_recur_waits_for_nothing),
        job_test(a_failure_keeps_its_reason),
        job_test(a_queue_at_its_limit_lets_jobs_wait_beside_the_idle),
        job_test(tokens_are_not_drawn_again_for_places),
        job_test(more_than_a_page_of_each_is_looked_at),
        job_test(a_full_redis_is_put_right_too),
        job_test(a_record_that_cannot_be_read_is_left_to_people),
        job_test(what_was_put_aside_as_broken_stays),
        job_test(five_thousand_jobs_are_looked_at_in_small_steps),
        job_test(one_key_of_a_wrong_type_does_not_end_a_check),
    };
    struct CMUnitTest tests[N_OF(damages) + N_OF(others)];
    memcpy(tests, others, sizeof others);
    for (size_t i = 0; i < N_OF(damages); i++)
        tests[N_OF(others) + i] = (struct CMUnitTest){damages[i].plant, each_damage_is_found_at_its_key_and_repaired,
                                                      begin_damaged, end, (void *)(uintptr_t)&damages[i]};
    return scene_run(tests, argc, argv);
}
