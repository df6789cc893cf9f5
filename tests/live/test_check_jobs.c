/* SPDX-License-Identifier: MIT
 *
 * Check of jobs: each kind of damage to records, indexes, dependencies, tags and sets, planted with raw commands, is
 * found at its key and at no other, put right, and loses no job. Of plain tasks: test_check.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "damage.h"
#include "script_call.h"

#define AN_HOUR "3600000"

/* Put a job: fields with their values follow. */
#define put(s, queue, ...) assert_ok(script_does(s, SCRIPT_PUT, queue, "", __VA_ARGS__, "data", "bytes"))

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
    freeReplyObject(script_call(s, SCRIPT_TAKE, queue, "1", AN_HOUR, "0", ""));
}

/* The token of the lease that the next take gives for this job; to be freed. */
static char *leased_token(struct scene *s, const char *queue, const char *id)
{
    lease(s, queue);
    return raw_string(s->server->redis, "HGET %s:job:%s token", s->prefix, id);
}

/* "w" holds "run" and the process of "cut", which was cancelled and is gone, and has a hand free; nothing moves by itself for an hour. */
static void furnish(struct scene *s)
{
    w = (struct acting_worker){.id = "w", .queues = {"q", "empty"}, .hands = 3, .hears = true, .ttl_ms = atoi(AN_HOUR)};
    acting_start(&w, s);
    acting_take(&w);
    put(s, "q", "run");
    put(s, "q", "cut");
    assert_ok(script_does(s, SCRIPT_CANCEL_JOBS, "0", "cut"));
    put(s, "leased", "leased");
    lease(s, "leased");
    assert_ok(muster_queue_pause(s->client, "paused"));
    put(s, "paused", "wait", "tag", "red", "tracked", "1");
    put(s, "paused", "wait2", "tag", "red", "tag", "blue", "priority", "3");
    scene_enqueue(s, "paused", "task");
    put(s, "late", "later", "delay", AN_HOUR);
    put(s, "often", "every", "every", AN_HOUR, "delay", AN_HOUR);
    put(s, "clock", "cron", "cron", "0 0 1 1 *", "zone", "UTC", "last", "1", "ticks", "4102444800000 4133980800000");
    put(s, "held", "needs", "after", "wait", "after", "later");
    put(s, "held", "needs1", "after", "wait");
    put(s, "held", "follows", "after_end", "wait", "after_failure", "later");
    put(s, "bad", "failed");
    char *token = leased_token(s, "bad", "failed");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "bad", token, "group", "message"));
    free(token);
    put(s, "ok", "done");
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
    assert_string_equal(jobs, "cron\ndone\nevery\nfailed\nfollows\nlater\nleased\nneeds\nneeds1\nrun\nwait\nwait2\n");
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
    {"call('HSET', P .. 'job:later', 'due', 'nan')", "job:later "},
    {"call('HSET', P .. 'job:every', 'due', 'nan')", "job:every "},
    {"call('HSET', P .. 'job:wait2', 'priority', 'nan')", "job:wait2 "},
    {"call('HSET', P .. 'job:wait2', 'priority', 'low')", "job:wait2 "},
    {"call('HSET', P .. 'job:failed', 'entry', 'nan')", "job:failed failed:bad "},
    {"call('HSET', P .. 'job:wait', 'put', 'nan') call('ZREM', P .. 'tag:red', 'wait')", "job:wait tags "},
    {"call('HSET', P .. 'job:cron', 'last', 'nan')", "job:cron "},
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
    /* a process whose job was cancelled */
    {"call('DEL', P .. 'marks:w')", "processing:w:q "},
    {"call('HDEL', P .. 'processing:w:q', 'j' .. call('HKEYS', P .. 'marks:w')[1])", "marks:w worker:w queue:q "},
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
    {"call('DEL', P .. 'job:later')", "job:follows history:later job:needs scheduled:late "},
    {"call('DEL', P .. 'job:needs1')", "history:needs1 dependencies:needs1 depends:held "},
    {"call('DEL', P .. 'job:wait')", "job:follows job:needs job:needs1 history:wait tag:red tracked waiting:paused "},
    {"call('RPUSH', P .. 'history:ghost', 'x')", "history:ghost "},
    /* no job at all */
    {"call('HSET', P .. 'job:ghost', 'queue', 'q')", "job:ghost "},
    {"call('HSET', P .. 'job:ghost', 'x', 'y')", "job:ghost "},
    /* dependencies */
    {"call('ZREM', P .. 'dependents:wait', 'needs')", "job:needs "},
    {"call('DEL', P .. 'dependents:wait')", "job:needs job:needs1 "},
    {"call('DEL', P .. 'dependencies:needs1')", "job:needs1 dependents:wait "},
    {"call('DEL', P .. 'dependencies:needs1') call('ZREM', P .. 'dependents:wait', 'needs1')", "job:needs1 "},
    {"call('SADD', P .. 'dependencies:needs', 'ghost')", "job:needs "},
    {"call('SADD', P .. 'dependencies:needs', 'done') call('ZADD', P .. 'dependents:done', 1, 'needs')", "job:needs "},
    {"call('SADD', P .. 'dependencies:wait2', 'later') call('ZADD', P .. 'dependents:later', 1, 'wait2')",
     "dependencies:wait2 "},
    {"call('SADD', P .. 'dependencies:ghost', 'wait') call('ZADD', P .. 'dependents:wait', 1, 'ghost')",
     "dependencies:ghost "},
    {"call('ZADD', P .. 'dependents:ghost', 1, 'wait', 1, 'needs')", "dependents:ghost "},
    {"call('ZADD', P .. 'dependents:run', 1, 'needs')", "dependents:run "},
    /* other ends that it waits for */
    {"call('ZREM', P .. 'followers:wait', 'follows\\ne')", "job:follows "},
    {"call('ZREM', P .. 'followers:later', 'follows\\nf')", "job:follows "},
    {"call('SREM', P .. 'dependencies:follows', 'wait\\ne')", "followers:wait "},
    {"call('SREM', P .. 'dependencies:follows', 'later\\nf')", "followers:later "},
    {"call('SADD', P .. 'dependencies:follows', 'ghost\\ne')", "job:follows "},
    {"call('SADD', P .. 'dependencies:follows', 'done\\ne', 'failed\\ne', 'failed\\nf')", "job:follows "},
    {"call('SADD', P .. 'dependencies:follows', 'done\\nf')", "job:follows "},
    {"call('SADD', P .. 'dependencies:follows', 'ghost\\nf')", "job:follows "},
    {"call('DEL', P .. 'dependencies:follows')", "job:follows followers:later followers:wait "},
    {"call('ZADD', P .. 'followers:wait', 1, 'ghost\\ne', 1, 'needs\\nf')", "followers:wait "},
    {"call('ZADD', P .. 'followers:ghost', 1, 'needs\\ne')", "followers:ghost "},
    {"call('ZADD', P .. 'followers:wait', 1, 'needs')", "followers:wait "},
    {"call('ZADD', P .. 'dependents:wait', 1, 'follows\\ne')", "dependents:wait "},
    {"call('SADD', P .. 'dependencies:wait2', 'later\\ne') call('ZADD', P .. 'followers:later', 1, 'wait2\\ne')",
     "dependencies:wait2 "},
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
    /* schedules */
    {"call('ZREM', P .. 'crons', 'cron')", "job:cron "},
    {"call('DEL', P .. 'crons')", "job:cron "},
    {"call('ZADD', P .. 'crons', 1, 'ghost')", "crons "},
    {"call('ZADD', P .. 'crons', 1, 'every')", "crons "},
    {"call('HSET', P .. 'job:cron', 'final', '1')", "crons "},
    {"call('HDEL', P .. 'job:cron', 'last')", "job:cron "},
    {"call('HSET', P .. 'job:cron', 'ticks', 'often')", "job:cron "},
    {"call('HSET', P .. 'job:cron', 'ticks', '4133980800000')", "job:cron "},
    {"call('ZREM', P .. 'due', '')", "due "},
    /* what a queue, the timer and the statistics say */
    {"call('HDEL', P .. 'queue:paused', 'jobs')", "queue:paused "},
    {"call('HDEL', P .. 'queue:late', 'due')", "queue:late "},
    {"call('HSET', P .. 'queue:often', 'due', '99999999999999')", "queue:often "},
    {"call('ZREM', P .. 'due', 'late')", "due "},
    {"call('ZADD', P .. 'due', '99999999999999', 'often')", "due "},
    {"call('DEL', P .. 'due')", "due due due due due "},
    {"local m = member('wait') call('HSET', P .. 'job:wait', 'queue', 'q') call('HSET', P .. 'queue:q', 'jobs', 1)\n"
     "call('ZREM', P .. 'waiting:paused', m) call('ZADD', P .. 'waiting:q', 0, m)",
     "waiting:q "},
    {"call('HSET', P .. 'stats:1:q', 'put', 1)", "stats:1:q "},
    {"call('SET', P .. 'timer', 'w')", "timer "},
    {"call('SET', P .. 'token', '00000000001')", "token "},
};

static void assert_task_waits(struct scene *s)
{
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:paused", s->prefix), 1);
}

/* No job is lost but "ghost", which had only a record. */
static const struct damage_house house = {
    .furnish = furnish, .inventory = all_jobs, .must_go = "ghost\n", .also = assert_task_waits};

/* ---- how it is put right ---- */

static void a_lost_process_waits_again_where_it_did(void **state)
{
    struct scene *s = *state;
    put(s, "q", "first");
    put(s, "q", "second");
    lease(s, "q");
    damage_plant(s, "call('DEL', P .. 'processing:.lease:q', P .. 'leases:q')");
    checked_repair(s);
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
    damage_plant(s, "call('HDEL', P .. 'processing:w:q', 'j' .. call('HKEYS', P .. 'marks:w')[1])");
    checked_repair(s);
    checked_assert_clean(s);
    assert_state(s, "cut", "gone");
    assert_state(s, "run", "running");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:marks:w", s->prefix), 0);
}

static void a_job_that_waits_for_nothing_is_handed_over(void **state)
{
    struct scene *s = *state;
    furnish(s);
    put(s, "q", "next", "after", "wait2");
    damage_plant(s, "call('DEL', P .. 'dependencies:next', P .. 'dependents:wait2')");
    free(acting_heard(&w));
    checked_repair(s);
    checked_assert_clean(s);
    assert_state(s, "next", "running");
    char *heard = acting_heard(&w);
    assert_int_equal(*heard, 'J');
    free(heard);
}

/* The call that completes what it waited for cannot put it there, but does not fail for that. */
static void a_job_whose_queue_is_damaged_is_ready_when_that_is_repaired(void **state)
{
    struct scene *s = *state;
    put(s, "q", "one");
    put(s, "damaged", "other", "after", "one");
    char *token = leased_token(s, "q", "one");
    damage_plant(s, "call('SET', P .. 'waiting:damaged', 'text')");
    assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
    free(token);
    assert_state(s, "one", "complete");
    assert_string_equal(checked_repair(s).keys, "waiting:damaged job:other ");
    assert_state(s, "other", "depends");
    damage_plant(s, "call('DEL', P .. 'waiting:damaged')");
    assert_string_equal(checked_repair(s).keys, "job:other ");
    assert_state(s, "other", "waiting");
    checked_assert_clean(s);
}

static void a_job_does_not_go_on_into_a_damaged_queue(void **state)
{
    struct scene *s = *state;
    put(s, "q", "one");
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
    put(s, "q", "one");
    put(s, "q", "other", "after", "one");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "other", "replace", "1", "every", AN_HOUR));
    assert_state(s, "other", "recurring");
    checked_assert_clean(s);
}

static void a_failure_keeps_its_reason(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('DEL', P .. 'failed:bad', P .. 'failures:bad')");
    checked_repair(s);
    checked_assert_clean(s);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:bad 0 -1", s->prefix);
    assert_non_null(strstr(entry, ":0:5:7:groupmessagefailed"));
    free(entry);
    assert_ok(script_does(s, SCRIPT_REPLAY, "bad", "", "10", "0"));
    assert_state(s, "failed", "waiting");
}

static void a_queue_at_its_limit_lets_jobs_wait_while_workers_are_idle(void **state)
{
    struct scene *s = *state;
    furnish(s);
    raw_do(s->server->redis, "HSET %s:queue:q max_running 2", s->prefix);
    put(s, "q", "more");
    assert_state(s, "more", "waiting");
    checked_assert_clean(s);
    damage_plant(s, "call('HSET', P .. 'queue:q', 'max_running', 3)");
    assert_string_equal(checked_repair(s).keys, "waiting:q ");
    assert_state(s, "more", "running");
}

static void tokens_are_not_drawn_again_for_places(void **state)
{
    struct scene *s = *state;
    put(s, "q", "job");
    damage_plant(s, "call('DEL', P .. 'token')");
    assert_string_equal(checked_repair(s).keys, "token ");
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
                    "  call('ZADD', P .. 'dependents:wait', i, 'ghost' .. i)\n"
                    "  call('RPUSH', P .. 'history:ghost' .. i, 'x')\n"
                    "  call('HSET', P .. 'processing:w:q', 'j' .. string.format('%011d', i), 'ghost')\n"
                    "end");
    char *jobs = all_jobs(s);
    checked_repair(s);
    checked_assert_clean(s);
    damage_assert_same(&house, jobs, all_jobs(s));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:paused", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:tag:red", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:dependents:wait", s->prefix), 2);
}

static void a_full_redis_is_put_right_too(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "call('ZREM', P .. 'waiting:paused', member('wait')) call('DEL', P .. 'failed:bad')\n"
                    "call('DEL', P .. 'dependencies:needs1') call('ZREM', P .. 'tracked', 'wait')\n"
                    "call('HDEL', P .. 'processing:w:q', 'j' .. call('HGET', P .. 'job:run', 'token'))");
    assert_true(checked_repair_when_full(s).n > 5);
}

/* ---- what is left to people ---- */

static const struct {
    const char *plant, *id;
} left[] = {
    {"call('HDEL', P .. 'job:wait', 'state')", "wait"},   {"call('HSET', P .. 'job:wait', 'state', 'asleep')", "wait"},
    {"call('HDEL', P .. 'job:wait', 'queue')", "wait"},   {"call('HSET', P .. 'job:run', 'place', 'short')", "run"},
    {"call('HDEL', P .. 'job:every', 'every')", "every"},
};

static void a_record_that_cannot_be_read_is_left_to_people(void **state)
{
    struct scene *s = *state;
    char key[16];
    furnish(s);
    for (size_t i = 0; i < N_OF(left); i++) {
        raw_do(s->server->redis, "COPY %s:job:%s kept REPLACE", s->prefix, left[i].id);
        damage_plant(s, left[i].plant);
        snprintf(key, sizeof key, "job:%s ", left[i].id);
        checked_assert_left_alone(s, key);
        raw_do(s->server->redis, "RENAME kept %s:job:%s", s->prefix, left[i].id);
    }
    checked_assert_clean(s);
}

/* A take moved it there, and it tells what was wrong. */
static void what_was_put_aside_as_broken_stays(void **state)
{
    struct scene *s = *state;
    put(s, "q", "job");
    damage_plant(s, "call('DEL', P .. 'job:job', P .. 'history:job')");
    lease(s, "q");
    checked_assert_clean(s);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
}

/* "wait" waits elsewhere, and "run" is there by its record. */
static void a_job_under_a_field_that_is_no_token_is_not_made_a_task(void **state)
{
    struct scene *s = *state;
    furnish(s);
    char *jobs = all_jobs(s);
    damage_plant(s, "call('HDEL', P .. 'processing:w:q', 'j' .. call('HGET', P .. 'job:run', 'token'))\n"
                    "call('HSET', P .. 'job:run', 'token', 'vvvvvvvvvvv')\n"
                    "call('HSET', P .. 'processing:w:q', 'jvvvvvvvvvvv', 'run', 'jvvvvvvvvvvu', 'wait')");
    struct checked found = checked_repair(s);
    assert_string_equal(found.keys, "processing:w:q ");
    assert_int_equal(found.n_repaired, 1);
    checked_assert_clean(s);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 2); /* "cut", and "run" again */
    assert_state(s, "wait", "waiting");
    damage_assert_same(&house, jobs, all_jobs(s));
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

static void assert_found_and_rest_repaired(struct scene *s, const char *key)
{
    for (enum checked_mode mode = CHECKED_FIND; mode <= CHECKED_REPAIR; mode++) {
        struct checked found = checked_with(s->client, s->prefix, mode);
        if (!strstr(found.keys, key) || (mode == CHECKED_FIND && found.n_repaired > 0))
            fail_msg("%s is not found: %s", key, found.what);
    }
}

static void repair_all(struct scene *s)
{
    checked_repair(s);
    checked_assert_clean(s);
}

/* Each key in turn has a wrong type. The others are still looked at, and put right as far as possible; nothing raises;
 * and once all are back nothing is lost. */
static void one_key_of_a_wrong_type_does_not_end_a_check(void **state)
{
    struct scene *s = *state;
    furnish(s);
    char *jobs = all_jobs(s);
    damage_each_key(s, assert_found_and_rest_repaired, repair_all);
    damage_assert_same(&house, jobs, all_jobs(s));
}

/* ---- all cases ---- */

static int end(void **state)
{
    if (w.ear)
        acting_forget(&w);
    return scene_end(state);
}

#define job_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {
        job_test(a_house_full_of_jobs_is_clean),
        job_test(a_lost_process_waits_again_where_it_did),
        job_test(a_lost_process_that_was_cancelled_is_dropped),
        job_test(a_job_that_waits_for_nothing_is_handed_over),
        job_test(a_job_whose_queue_is_damaged_is_ready_when_that_is_repaired),
        job_test(a_job_does_not_go_on_into_a_damaged_queue),
        job_test(a_job_that_comes_to_recur_waits_for_nothing),
        job_test(a_failure_keeps_its_reason),
        job_test(a_queue_at_its_limit_lets_jobs_wait_while_workers_are_idle),
        job_test(tokens_are_not_drawn_again_for_places),
        job_test(more_than_a_page_of_each_is_looked_at),
        job_test(a_full_redis_is_put_right_too),
        job_test(a_record_that_cannot_be_read_is_left_to_people),
        job_test(what_was_put_aside_as_broken_stays),
        job_test(a_job_under_a_field_that_is_no_token_is_not_made_a_task),
        job_test(five_thousand_jobs_are_looked_at_in_small_steps),
        job_test(one_key_of_a_wrong_type_does_not_end_a_check),
    };
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), end, argc, argv);
}
