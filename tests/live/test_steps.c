/* SPDX-License-Identifier: MIT
 *
 * What is too much for one script goes in steps, and all of it is done in the end: a cancel among many delayed tasks,
 * what is due in many queues, and the names of queues that come and go.
 */
#include <stdio.h>
#include <string.h>

#include "live_worker.h"
#include "script_call.h"

/* `n` delayed tasks, and `copies` of "copy" among them, all due at this time. */
static void delay(struct scene *s, int n, int copies, const char *at_ms)
{
    static const char lua[] =
        "for i = 1, ARGV[1] + ARGV[2] do\n"
        "  local task = i <= tonumber(ARGV[2]) and 'copy' or 'other task'\n"
        "  redis.call('ZADD', KEYS[1] .. ':delayed:q', ARGV[3], string.format('0%010d:', i) .. task)\n"
        "end\n"
        "redis.call('ZADD', KEYS[1] .. ':names', 1, 'q')\n"
        "redis.call('HSET', KEYS[1] .. ':queue:q', 'due', ARGV[3], 'named', '1')\n"
        "redis.call('ZADD', KEYS[1] .. ':due', ARGV[3], 'q')";
    raw_do(s->server->redis, "EVAL %s 1 %s %d %d %s", lua, s->prefix, n, copies, at_ms);
}

static void a_cancel_finds_all_copies_among_many_delayed_tasks(void **state)
{
    struct scene *s = *state;
    uint64_t removed, marked;
    delay(s, 12000, 300, "99999999999999");
    for (int i = 0; i < 3; i++)
        scene_enqueue(s, "q", "copy");
    int64_t before = redis_server_calls(s->server, "evalsha");
    assert_ok(muster_task_cancel(s->client, "q", "copy", 4, &removed, &marked));
    assert_int_equal(removed, 303);
    assert_int_equal(marked, 0);
    assert_true(redis_server_calls(s->server, "evalsha") - before >= 3);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 12000);
    assert_int_equal(queue_field(s, "q", "cancelled"), 303);
}

/* What becomes due between two steps is found in the list by the last one. */
static void a_copy_that_becomes_due_meanwhile_is_cancelled_too(void **state)
{
    struct scene *s = *state;
    char cursor[24];
    delay(s, 12000, 300, "99999999999999");
    redisReply *reply = script_call(s, SCRIPT_CANCEL, "q", "", "copy", "0");
    int64_t removed = reply->element[1]->integer;
    snprintf(cursor, sizeof cursor, "%s", reply->element[3]->str);
    freeReplyObject(reply);
    assert_string_not_equal(cursor, "0");
    assert_in_range(removed, 1, 299);
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "local m = redis.call('ZRANGE', KEYS[1] .. ':delayed:q', 0, -1)\n"
           "for i = 1, #m do if string.sub(m[i], -4) == 'copy' then\n"
           "  redis.call('ZREM', KEYS[1] .. ':delayed:q', m[i]) redis.call('LPUSH', KEYS[1] .. ':queues:q', 'copy')\n"
           "end end",
           s->prefix);
    while (strcmp(cursor, "0") != 0) {
        reply = script_call(s, SCRIPT_CANCEL, "q", "", "copy", cursor);
        removed += reply->element[1]->integer;
        snprintf(cursor, sizeof cursor, "%s", reply->element[3]->str);
        freeReplyObject(reply);
    }
    assert_int_equal(removed, 300);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), 0);
}

static void what_is_due_comes_in_the_end(void **state)
{
    struct scene *s = *state;
    delay(s, 1000, 0, "1");
    for (int i = 1; i <= 4; i++) {
        assert_answer(script_call(s, SCRIPT_PROMOTE, NULL), 0, i < 4 ? 0 : -1);
        assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), i < 4 ? 300 * i : 1000);
    }
}

/* More of them than one heartbeat looks at go within a few. */
static void names_of_queues_that_are_gone_do_not_pile_up(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for i = 1, 5000 do\n"
           "  redis.call('ZADD', KEYS[1] .. ':names', i, 'q' .. i)\n"
           "  redis.call('HSET', KEYS[1] .. ':queue:q' .. i, 'named', '1', 'running', '0')\n"
           "end",
           s->prefix);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 300, .queues = {{"q", 0}}});
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:names", s->prefix);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:queue:q1 %s:queue:q5000", s->prefix, s->prefix), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_cancel_finds_all_copies_among_many_delayed_tasks),
        live_test(a_copy_that_becomes_due_meanwhile_is_cancelled_too),
        live_test(what_is_due_comes_in_the_end),
        live_test(names_of_queues_that_are_gone_do_not_pile_up),
    };
    return scene_run(tests, argc, argv);
}
