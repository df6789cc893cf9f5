/* SPDX-License-Identifier: MIT
 *
 * The other places in which jobs are noted, by the scripts alone: the failed list, tags, history and statistics; queues
 * that are deleted with their jobs; and records that cannot be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_scripts.h"

/* ---- deletion, the failed list ---- */

static void a_queue_goes_with_its_jobs_in_all_states(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2, .hears = true};
    char token[12];
    put(s, "complete");
    job_complete(s, "complete");
    put(s, "failed");
    job_fail(s, "failed");
    put(s, "held");
    put(s, "finishes");
    acting_start(&w, s);
    acting_take(&w);
    put(s, "waiting");
    put_with(s, "scheduled", "delay", "3600000");
    put_with(s, "recurring", "every", "60000", "delay", "3600000");
    put_after(s, "depends", "1", "scheduled");
    assert_ok(script_does(s, SCRIPT_PUT, "o", "", "elsewhere", "after", "waiting"));
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 3, 2, 0);
    jobs_sound(s);
    assert_jobs(s, "", "complete", "failed", "waiting", "scheduled", "recurring", "depends");
    assert_state(s, "elsewhere", "failed");
    assert_field(s, "elsewhere", "group", "dependency");
    snprintf(token, sizeof token, "%s", job_field(s, "held", "token"));
    acting_say(&w, "back", "q", "1", token, "done", "q", job_field(s, "finishes", "token"));
    jobs_sound(s);
    assert_state(s, "held", "");
    assert_state(s, "finishes", "complete");
    assert_int_equal(key_size(s, "EXISTS", "waiting:q"), 0);
    acting_forget(&w);
}

static void more_jobs_than_one_call_deletes_go_by_several(void **state)
{
    enum { N = 700 };
    struct scene *s = *state;
    put(s, "none"); /* the server knows the script */
    for (int i = 1; i < N; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%d", i);
        freeReplyObject(raw(s->server->redis, "EVALSHA %s 1 %s: q %s %s tag blue delay %s %s",
                            lua_scripts[SCRIPT_PUT].sha1, s->prefix, "", id, i % 2 ? "0" : "60000", s->prefix));
    }
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 300, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 300, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 100, 0, 0);
    jobs_sound(s);
    assert_int_equal(key_size(s, "EXISTS", "tags"), 0);
    assert_int_equal(key_size(s, "EXISTS", "names"), 0);
}

/* Each job waits for the one before it: none of them fails because that one has gone in an earlier call. */
static void a_chain_that_one_call_does_not_delete_goes_by_several_and_none_fails(void **state)
{
    enum { N = 650 };
    struct scene *s = *state;
    put(s, "j0");
    for (int i = 1; i < N; i++) {
        char id[16], on[16];
        snprintf(id, sizeof id, "j%d", i);
        snprintf(on, sizeof on, "j%d", i - 1);
        put_with(s, id, i % 3 ? "after" : i % 2 ? "after_end" : "after_failure", on);
    }
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 300, 0, 1);
    assert_int_equal(key_size(s, "EXISTS", "failed:q"), 0);
    assert_int_equal(key_size(s, "ZCARD", "waiting:q"), 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 300, 0, 1);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 50, 0, 0);
    jobs_sound(s);
    assert_int_equal(key_size(s, "EXISTS", "names"), 0);
}

static void failed_jobs_are_replayed_and_dropped_like_tasks(void **state)
{
    struct scene *s = *state;
    char *entry;
    scene_enqueue(s, "q", "t");
    char token[12], *taken = take_jobs(s, "q", "1", token);
    free(taken);
    snprintf(token, sizeof token, "%s", "");
    for (int i = 0; i < 3; i++) {
        char id[4];
        snprintf(id, sizeof id, "j%d", i);
        put(s, id);
        job_fail(s, id);
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
    jobs_sound(s);
    assert_state(s, "j1", "waiting");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "", "0", "0", entry), 0, 0, 1);
    free(entry);
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g", "1", "0"), 0, 1, -1);
    assert_state(s, "j0", "");
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    jobs_sound(s);
    assert_comes(s, "9", "j1 j2 ");
    assert_int_equal(key_size(s, "EXISTS", "failures:q"), 0);
}

/* Dropping the first makes another fail, whose entry pushes out the second, as old as it is: it is counted out once. */
static void an_entry_goes_once(void **state)
{
    struct scene *s = *state;
    put(s, "first");
    put(s, "second");
    put_after(s, "waits", "1", "first");
    job_fail(s, "first");
    job_fail(s, "second");
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "for i, id in ipairs({'first', 'second'}) do\n"
           "  local P, member = KEYS[1] .. ':', redis.call('ZRANGE', KEYS[1] .. ':failed:q', i - 1, i - 1)[1]\n"
           "  redis.call('ZADD', P .. 'failed:q', i, member)\n"
           "  redis.call('HSET', P .. 'job:' .. id, 'entry', i)\n"
           "end",
           s->prefix);
    jobs_sound(s);
    assert_ok(script_does(s, SCRIPT_DROP, "q", "g", "9", "0"));
    jobs_sound(s);
    assert_jobs(s, "", "first", "second");
    assert_state(s, "waits", "failed");
}

/* ---- tags, tracking, history, statistics ---- */

static void tags_are_counted_and_never_drift(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "b", "tag", "blue", "data", "d"));
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "a", "tag", "blue", "tag", "old", "tag", "blue", "tracked", "1"));
    assert_int_equal(raw_int(s->server->redis, "ZSCORE %s:tags blue", s->prefix), 2);
    assert_field(s, "a", "tags", "blue\nold");
    assert_ok(script_does(s, SCRIPT_CHANGE, "a", "untag", "blue", "untag", "none", "tag", "new", "tag", "new"));
    jobs_sound(s);
    assert_field(s, "a", "tags", "old\nnew");
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "a", "replace", "1", "tag", "big", "data",
                          "d")); /* instead of the others */
    jobs_sound(s);
    assert_field(s, "a", "tags", "big");
    assert_field(s, "a", "tracked", "1");
    job_complete(s, "b");
    put(s, "b");
    jobs_sound(s);
    assert_field(s, "b", "tags", "");
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "a", "b"), 0, 2);
    jobs_sound(s);
    assert_int_equal(key_size(s, "EXISTS", "tags"), 0);
    assert_int_equal(key_size(s, "EXISTS", "tracked"), 0);
}

static void a_history_has_its_first_line_and_the_newest(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_CONFIG, "", "keep_history", "3"));
    put(s, "a");
    for (int i = 0; i < 5; i++)
        assert_ok(script_does(s, SCRIPT_CHANGE, "a", "log", i == 4 ? "newest" : "line"));
    assert_int_equal(key_size(s, "LLEN", "history:a"), 3);
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
    job_complete(s, "a");
    put(s, "b");
    job_fail(s, "b");
    put(s, "c");
    assert_comes(s, "1", "c ");
    leases_lapse(s);
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", "c"), 0, 1);
    assert_int_equal(counted(s, "put"), 3);
    assert_int_equal(counted(s, "taken"), 4);
    assert_int_equal(counted(s, "retried"), 1);
    assert_int_equal(counted(s, "completed"), 1);
    assert_int_equal(counted(s, "failed"), 1);
    assert_int_equal(counted(s, "crashed"), 0); /* it has become a suspect */
    assert_int_equal(counted(s, "cancelled"), 1);
    assert_int_equal(counted_times(s, "wait"), 4);
    assert_int_equal(counted_times(s, "run"), 1);
    assert_in_range(raw_int(s->server->redis, "EVAL %s 1 %s",
                            "return redis.call('TTL', redis.call('SCAN', '0', 'MATCH', KEYS[1] .. ':stats:*',"
                            " 'COUNT', '1000000')[2][1])",
                            s->prefix),
                    30 * 86400, 31 * 86400);
}

/* ---- records that cannot be read ---- */

/* Jobs that wait for it, and a put that cannot know what it is. */
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
            snprintf(token, sizeof token, "%s", job_field(s, "a", "token"));
        } else if (i > 0) {
            take_job(s, "q", "a", token);
        }
        raw_do(s->server->redis, "HDEL %s:job:a place", s->prefix);
        if (i == 0)
            assert_comes(s, "1", "");
        else if (i == 1)
            raw_do(s->server->redis, "ZADD %s:leases:q 1000 j%s", s->prefix, token);
        if (i == 1)
            raw_do(s->server->redis, "HSET %s:queue:q due 1000", s->prefix);
        if (i == 1)
            assert_comes(s, "1", "");
        else if (i == 2)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", token));
        else if (i == 3)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "retry", "q", token, "0", "", ""));
        else if (i == 4)
            assert_ok(script_does(s, SCRIPT_END, ".lease", "done", "q", token));
        else if (i == 5)
            assert_int_equal(script_does(s, SCRIPT_FETCH, "w", token, "q", "0"), MUSTER_E_NOT_FOUND);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_queue_goes_with_its_jobs_in_all_states),
        live_test(more_jobs_than_one_call_deletes_go_by_several),
        live_test(a_chain_that_one_call_does_not_delete_goes_by_several_and_none_fails),
        live_test(failed_jobs_are_replayed_and_dropped_like_tasks),
        live_test(an_entry_goes_once),
        live_test(tags_are_counted_and_never_drift),
        live_test(a_history_has_its_first_line_and_the_newest),
        live_test(what_happens_is_counted_by_day),
        live_test(a_job_whose_record_cannot_be_read_fails_as_broken),
    };
    return scene_run(tests, argc, argv);
}
