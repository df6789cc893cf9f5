/* SPDX-License-Identifier: MIT
 *
 * The failed list, by the scripts alone: each entry is found by its name, also where names differ only in their last
 * digit; what replay and drop do by name, by group and page by page; the figures that are kept of the list are always
 * right; and its bounds by number, bytes and age. The client's side: test_failed.c, test_failed_bounds.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "protocol/token.h"
#include "script_call.h"

enum { KEPT = 100, KEPT_BYTES = 64 * 1024, DROPPED_IN_A_CALL = 200 };
#define KEPT_MS INT64_C(604800000)

static void bound(struct scene *s, const char *setting, int64_t value)
{
    raw_do(s->server->redis, "HSET %s:queue:q %s %ld", s->prefix, setting, (long)value);
}

static int64_t dropped(struct scene *s)
{
    return queue_field(s, "q", "dropped");
}

/* One more failure of the queue: a task that was enqueued, taken under a lease and failed. */
static void fail_task(struct scene *s, const char *queue, const char *task, const char *group, const char *message)
{
    scene_enqueue(s, queue, task);
    redisReply *taken = script_call(s, SCRIPT_TAKE, queue, "1", "3600000", "0", "");
    assert_int_equal(taken->element[4]->elements, 1);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", queue, taken->element[3]->str, group, message));
    freeReplyObject(taken);
}

/*
 * `n` entries as the scripts write them, at scores `from`, `from + 1`, ...: groups "g0", "g1", "g2" in turn, tasks
 * "<stem>0", ... padded with `padding` bytes.
 */
static void add_entries(struct scene *s, const char *stem, int64_t from, int n, int padding)
{
    static const char lua[] = "local P, pad = KEYS[1], string.rep('.', ARGV[4])\n"
                              "for i = 0, ARGV[3] - 1 do\n"
                              "  local group = 'g' .. i % 3\n"
                              "  local member = '00000000001:1:2:1:w' .. group .. 'm' .. ARGV[1] .. i .. pad\n"
                              "  redis.call('ZADD', P .. ':failed:q', string.format('%.0f', ARGV[2] + i), member)\n"
                              "  redis.call('HINCRBY', P .. ':failures:q', 'g:' .. group, 1)\n"
                              "  redis.call('HINCRBY', P .. ':failures:q', 'bytes', #member)\n"
                              "end\n"
                              "redis.call('ZADD', P .. ':names', 'NX', 1, 'q')";
    char first[24];
    snprintf(first, sizeof first, "%lld", (long long)from);
    raw_do(s->server->redis, "EVAL %s 1 %s %s %s %d %d", lua, s->prefix, stem, first, n, padding);
}

static int64_t microseconds(struct scene *s)
{
    return raw_int(s->server->redis, "EVAL %s 0", "local t = redis.call('TIME') return t[1] * 1000000 + t[2]");
}

static int64_t failed(struct scene *s)
{
    return raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix);
}

static void name_of(int64_t score, char name[12])
{
    token_format(name, (uint64_t)score);
}

/* ---- by name ---- */

/* Numbers of sixteen digits that differ in the last one: written with fourteen, they would be one. */
static void each_entry_has_a_name_of_its_own_to_the_last_digit(void **state)
{
    struct scene *s = *state;
    int64_t from = microseconds(s);
    char name[12];
    for (int i = 0; i < 20; i++) {
        add_entries(s, "t", from, 20, 0);
        name_of(from + i, name);
        assert_answer(script_call(s, SCRIPT_DROP, "q", "", "0", "0", name), 0, 1, 0);
        assert_int_equal(failed(s), 19);
        char *rest = raw_string(s->server->redis, "ZRANGEBYSCORE %s:failed:q %lld %lld", s->prefix, (long long)from + i,
                                (long long)from + i);
        assert_string_equal(rest, "");
        free(rest);
        invariant_assert(s->server->redis, s->prefix);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void the_scripts_own_names_keep_all_their_digits(void **state)
{
    struct scene *s = *state;
    enum { N = 30 };
    for (int i = 0; i < N; i++) {
        char task[16], score[32], name[12];
        snprintf(task, sizeof task, "t%d", i);
        fail_task(s, "q", task, "g", "m");
        /* The score is the token that was drawn last. */
        char *last = raw_string(s->server->redis, "ZRANGE %s:failed:q -1 -1 WITHSCORES", s->prefix);
        char *token = raw_string(s->server->redis, "GET %s:token", s->prefix);
        snprintf(score, sizeof score, "%s", strchr(last, '\n') + 1);
        name_of(strtoll(score, NULL, 10), name);
        assert_string_equal(name, token);
        free(last);
        free(token);
        if (i % 2) {
            assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "0", "0", name), 0, 1, 0);
            assert_int_equal(raw_int(s->server->redis, "LREM %s:queues:q 0 %s", s->prefix, task), 1);
        }
    }
    assert_int_equal(failed(s), N / 2);
    invariant_assert(s->server->redis, s->prefix);
}

static void by_name_the_others_stay_and_the_missing_are_told(void **state)
{
    struct scene *s = *state;
    int64_t from = microseconds(s);
    char names[3][12];
    add_entries(s, "t", from, 6, 0);
    name_of(from + 4, names[0]);
    name_of(from + 1, names[1]);
    name_of(from + 77, names[2]);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "other", "0", "5", names[0], names[2], names[1]), 0, 2, 1);
    assert_waiting(s, "q", "t4 t1 ");
    assert_int_equal(failed(s), 4);
    assert_answer(script_call(s, SCRIPT_DROP, "q", "", "0", "0", names[0], names[1], "no name"), 0, 0, 3);
    assert_int_equal(failed(s), 4);
    invariant_assert(s->server->redis, s->prefix);
}

/* Otherwise the figures would count it twice, and the task would be there twice. */
static void an_entry_named_twice_is_one(void **state)
{
    struct scene *s = *state;
    int64_t from = microseconds(s);
    char name[12];
    name_of(from, name);
    static const enum script_id ids[] = {SCRIPT_REPLAY, SCRIPT_DROP};
    for (size_t i = 0; i < N_OF(ids); i++) {
        add_entries(s, "t", from, 4, 0);
        assert_answer(script_call(s, ids[i], "q", "", "0", "0", name, name, name), 0, 1, 0);
        assert_waiting(s, "q", ids[i] == SCRIPT_REPLAY ? "t0 " : "");
        invariant_assert(s->server->redis, s->prefix);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* ---- by group, page by page ---- */

/* Goes on from `rest` until there is no more; returns how many there were. */
static int64_t all_pages(struct scene *s, enum script_id id, const char *group, const char *at_most)
{
    int64_t n = 0;
    for (long long rest = 0, calls = 0; rest >= 0; calls++) {
        char from[24];
        snprintf(from, sizeof from, "%lld", rest);
        redisReply *reply = script_call(s, id, "q", group, at_most, from);
        assert_int_equal(reply->elements, 3);
        assert_int_equal(reply->element[0]->integer, 0);
        n += reply->element[1]->integer;
        rest = reply->element[2]->integer;
        freeReplyObject(reply);
        assert_true(calls < 100);
        invariant_assert(s->server->redis, s->prefix);
    }
    return n;
}

static void a_groups_entries_are_found_on_every_page(void **state)
{
    struct scene *s = *state;
    add_entries(s, "t", microseconds(s), 1000, 0);
    assert_int_equal(all_pages(s, SCRIPT_DROP, "g1", "100000"), 333);
    assert_int_equal(all_pages(s, SCRIPT_DROP, "g1", "100000"), 0);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:failures:q g:g1", s->prefix), 0);
    assert_int_equal(all_pages(s, SCRIPT_REPLAY, "g0", "100000"), 334);
    assert_int_equal(scene_waiting(s, "q"), 334);
    char *first = raw_string(s->server->redis, "LINDEX %s:queues:q -1", s->prefix);
    char *last = raw_string(s->server->redis, "LINDEX %s:queues:q 0", s->prefix);
    assert_string_equal(first, "t0"); /* the oldest failure is the next out */
    assert_string_equal(last, "t999");
    free(first);
    free(last);
    assert_int_equal(failed(s), 333);
    assert_int_equal(all_pages(s, SCRIPT_DROP, "", "100000"), 333);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q %s:failures:q", s->prefix, s->prefix), 0);
}

static void no_more_than_asked_for(void **state)
{
    struct scene *s = *state;
    add_entries(s, "t", microseconds(s), 30, 0);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "g1", "2", "0"), 0, 2, -1);
    assert_waiting(s, "q", "t1 t4 ");
    assert_answer(script_call(s, SCRIPT_DROP, "q", "", "3", "0"), 0, 3, -1);
    assert_answer(script_call(s, SCRIPT_DROP, "q", "", "0", "0"), 0, 0, -1);
    assert_answer(script_call(s, SCRIPT_DROP, "q", "g9", "10", "0"), 0, 0, -1);
    assert_answer(script_call(s, SCRIPT_DROP, "none", "", "10", "0"), 0, 0, -1);
    assert_int_equal(failed(s), 25);
    invariant_assert(s->server->redis, s->prefix);
}

static void what_is_replayed_goes_to_an_idle_worker_unless_the_queue_is_paused(void **state)
{
    struct scene *s = *state;
    struct acting_worker idle = {.id = "idle", .queues = {"q"}, .hands = 1, .hears = true};
    char token[12];
    add_entries(s, "t", microseconds(s), 3, 0);
    acting_start(&idle, s);
    acting_take(&idle);
    assert_ok(script_does(s, SCRIPT_PAUSE, "q"));
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "1", "0"), 0, 1, -1);
    assert_waiting(s, "q", "t0 ");
    assert_ok(script_does(s, SCRIPT_RESUME, "q"));
    token_of_task(s, "idle", "q", "t0", token);
    acting_say(&idle, "finish", "q", "1", token);
    acting_take(&idle);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 2, -1);
    token_of_task(s, "idle", "q", "t1", token);
    assert_waiting(s, "q", "t2 ");
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&idle);
}

/* Whatever bytes: separators, digits, NUL-free binary, nothing at all. */
static void texts_of_any_bytes_come_back_as_they_were(void **state)
{
    struct scene *s = *state;
    static const char *const texts[][3] = {{"", "g", ""},
                                           {":3:3:3:", "1:2:3:", ":::"},
                                           {"12345", "0", "99999999999:1:1:1:wgm"},
                                           {"\x01\xff\xfe g:bytes", "bytes", "\n"}};
    for (size_t i = 0; i < N_OF(texts); i++)
        fail_task(s, "q", texts[i][0], texts[i][1], texts[i][2]);
    for (size_t i = 0; i < N_OF(texts); i++) {
        assert_answer(script_call(s, SCRIPT_REPLAY, "q", texts[i][1], "9", "0"), 0, 1, -1);
        char *task = raw_string(s->server->redis, "RPOP %s:queues:q", s->prefix);
        assert_string_equal(task, texts[i][0]);
        free(task);
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q %s:failures:q", s->prefix, s->prefix), 0);
}

/* An entry whose job has been put again since is not that job's any more. */
static void an_entry_of_another_life_of_its_job_replays_nothing(void **state)
{
    struct scene *s = *state;
    assert_ok(script_does(s, SCRIPT_PUT, "q", "", "job", "data", "d", "retries", "5"));
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "3600000", "0", ""));
    char *token = raw_string(s->server->redis, "HGET %s:job:job token", s->prefix);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "fail", "q", token, "g", "m"));
    free(token);
    int64_t later = microseconds(s) + 60000000;
    char name[12], from[24], *entry = raw_string(s->server->redis, "HGET %s:job:job entry", s->prefix);
    /* The entry at another time, and beside it the job's own. */
    char *member = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 0", s->prefix);
    *strchr(member, '\n') = '\0';
    raw_do(s->server->redis, "ZADD %s:failed:q %ld %s", s->prefix, (long)later, member);
    raw_do(s->server->redis, "ZADD %s:failed:q %s %s-", s->prefix, entry, member);
    name_of(later, name);
    snprintf(from, sizeof from, "%lld", (long long)later);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "0", "0", name), 0, 0, 1, 1);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", from), 0, 0, -1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), 0);
    raw_do(s->server->redis, "ZREM %s:failed:q %s-", s->prefix, member);
    raw_do(s->server->redis, "ZADD %s:failed:q %s %s", s->prefix, entry, member);
    assert_answer(script_call(s, SCRIPT_REPLAY, "q", "", "9", "0"), 0, 1, -1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), 1);
    free(entry);
    free(member);
}

/* ---- large entries ---- */

/* Entries of 1 MiB: a call moves at most 4 MiB, or one larger entry, and says where to go on. */
static void large_entries_go_in_steps(void **state)
{
    struct scene *s = *state;
    static const enum script_id ids[] = {SCRIPT_REPLAY, SCRIPT_DROP};
    for (size_t i = 0; i < N_OF(ids); i++) {
        char names[10][12];
        int64_t from = microseconds(s);
        add_entries(s, "t", from, 10, 1024 * 1024);
        for (int k = 0; k < 10; k++)
            name_of(from + k, names[k]);
        assert_answer(script_call(s, ids[i], "q", "", "10", "0"), 0, 3, 0);
        assert_answer(script_call(s, ids[i], "q", "g2", "10", "0"), 0, 1,
                      from + 5); /* t3 and t4 stay before it; it was t5 */
        assert_answer(script_call(s, ids[i], "q", "", "0", "0", names[3], names[4], names[6], names[7], names[8]), 0, 3,
                      0, 3);
        assert_answer(script_call(s, ids[i], "q", "", "0", "0", names[3], names[7], names[8]), 0, 2, 1, 3);
        assert_answer(script_call(s, ids[i], "q", "", "10", "0"), 0, 1, -1);
        add_entries(s, "large", microseconds(s), 2, 5 * 1024 * 1024);
        assert_answer(script_call(s, ids[i], "q", "", "10", "0"), 0, 1, 0);
        assert_answer(script_call(s, ids[i], "q", "", "10", "0"), 0, 1, -1);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* ---- bounds ---- */

static void without_a_bound_all_stay(void **state)
{
    struct scene *s = *state;
    add_entries(s, "t", 1, 12000, 100);
    fail_task(s, "q", "newest", "g1", "m");
    assert_int_equal(failed(s), 12001);
    assert_int_equal(dropped(s), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_value_that_is_no_number_bounds_nothing(void **state)
{
    static const char *const values[] = {"abc", "-1", "nan", "1e99", ""};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(values); i++) {
        raw_do(s->server->redis, "HSET %s:queue:q keep_failed %s keep_failed_ms %s", s->prefix, values[i], values[i]);
        raw_do(s->server->redis, "HSET %s:config keep_failed_bytes %s", s->prefix, values[i]);
        fail_task(s, "q", "task", "g1", "m");
        assert_int_equal(failed(s), i + 1);
    }
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
    struct scene *s = *state;
    int64_t now = microseconds(s);
    bound(s, "keep_failed", KEPT);
    add_entries(s, "t", now - 60000000, KEPT, 0);
    fail_task(s, "q", "newest", "g1", "m");
    assert_int_equal(failed(s), KEPT);
    assert_int_equal(dropped(s), 1);
    assert_int_equal(raw_int(s->server->redis, "ZCOUNT %s:failed:q -inf %lld", s->prefix, (long long)now - 60000000),
                     0);
    invariant_assert(s->server->redis, s->prefix);
}

/* A bound that was set on a long list: one call drops only some, and tidying goes on. */
static void a_long_list_is_cut_in_steps(void **state)
{
    struct scene *s = *state;
    add_entries(s, "t", microseconds(s) - 60000000, 3 * DROPPED_IN_A_CALL, 0);
    bound(s, "keep_failed", KEPT);
    fail_task(s, "q", "newest", "g1", "m");
    assert_int_equal(dropped(s), DROPPED_IN_A_CALL);
    assert_answer(script_call(s, SCRIPT_TIDY, "0"), 0, 0, DROPPED_IN_A_CALL); /* there may be more */
    assert_answer(script_call(s, SCRIPT_TIDY, "0"), 0, -1, DROPPED_IN_A_CALL + 1 - KEPT);
    assert_answer(script_call(s, SCRIPT_TIDY, "0"), 0, -1, 0);
    assert_int_equal(failed(s), KEPT);
    assert_int_equal(dropped(s), 3 * DROPPED_IN_A_CALL + 1 - KEPT);
    invariant_assert(s->server->redis, s->prefix);
}

static void the_oldest_go_when_they_are_too_big_together_but_never_the_newest(void **state)
{
    struct scene *s = *state;
    bound(s, "keep_failed_bytes", KEPT_BYTES);
    add_entries(s, "t", microseconds(s) - 60000000, 16, KEPT_BYTES / 16 - 100);
    fail_task(s, "q", "small", "g", "m");
    assert_int_equal(failed(s), 17);
    char *message = malloc(KEPT_BYTES + 1);
    memset(message, 'm', KEPT_BYTES);
    message[KEPT_BYTES / 16] = '\0';
    fail_task(s, "q", "big", "g", message);
    assert_int_equal(failed(s), 16 + 1);
    message[KEPT_BYTES / 16] = 'm';
    message[KEPT_BYTES] = '\0';
    fail_task(s, "q", "too big", "g", message);
    free(message);
    assert_int_equal(failed(s), 1);
    assert_int_equal(dropped(s), 18);
    char *named = raw_string(s->server->redis, "HKEYS %s:failures:q", s->prefix);
    assert_true(strstr(named, "g:g\n") && strstr(named, "bytes\n") && !strstr(named, "g:g0"));
    free(named);
    invariant_assert(s->server->redis, s->prefix);
}

/* By the next call that adds an entry, or by tidying. */
static void the_old_go(void **state)
{
    struct scene *s = *state;
    for (int by_tidying = 0; by_tidying < 2; by_tidying++) {
        int64_t limit = microseconds(s) - KEPT_MS * 1000;
        bound(s, "keep_failed_ms", KEPT_MS);
        add_entries(s, "old", limit - 1000000, 50, 0);
        add_entries(s, "young", limit + 60000000, 50, 0);
        if (by_tidying)
            assert_answer(script_call(s, SCRIPT_TIDY, "0"), 0, -1, 50);
        else
            fail_task(s, "q", "newest", "g1", "m");
        assert_int_equal(failed(s), by_tidying ? 50 : 51);
        assert_int_equal(dropped(s), 50);
        invariant_assert(s->server->redis, s->prefix);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_entry_has_a_name_of_its_own_to_the_last_digit),
        live_test(the_scripts_own_names_keep_all_their_digits),
        live_test(by_name_the_others_stay_and_the_missing_are_told),
        live_test(an_entry_named_twice_is_one),
        live_test(a_groups_entries_are_found_on_every_page),
        live_test(no_more_than_asked_for),
        live_test(what_is_replayed_goes_to_an_idle_worker_unless_the_queue_is_paused),
        live_test(texts_of_any_bytes_come_back_as_they_were),
        live_test(an_entry_of_another_life_of_its_job_replays_nothing),
        live_test(large_entries_go_in_steps),
        live_test(without_a_bound_all_stay),
        live_test(a_value_that_is_no_number_bounds_nothing),
        live_test(the_oldest_go_when_there_are_too_many),
        live_test(a_long_list_is_cut_in_steps),
        live_test(the_oldest_go_when_they_are_too_big_together_but_never_the_newest),
        live_test(the_old_go),
    };
    return scene_run(tests, argc, argv);
}
