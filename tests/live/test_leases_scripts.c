/* SPDX-License-Identifier: MIT
 *
 * Leases and due tasks, by the scripts alone: when a lease lapses, which call notices it, and what becomes of the task;
 * that a queue's `due` is never later than the first thing that becomes ready; what a paused queue still does; and that
 * muster publishes on a queue's own channels only while somebody listens. The client's side: test_lease.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

#define LONG_MS "60000"

struct leased {
    long long next_due_ms, ends_at_ms;
    size_t n;
    char first[12];
};

static struct leased take(struct scene *s, const char *queue, const char *n, const char *lease_ms)
{
    struct leased l = {0};
    redisReply *reply = script_call(s, SCRIPT_TAKE, queue, n, lease_ms, "0", "");
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_true(reply->elements >= 6);
    assert_int_equal(reply->element[0]->integer, 0);
    l.next_due_ms = reply->element[1]->integer;
    l.ends_at_ms = reply->element[2]->integer;
    snprintf(l.first, sizeof l.first, "%s", reply->element[reply->elements > 6 ? 6 : 3]->str);
    l.n = reply->element[4]->elements + (reply->elements - 6) / 3;
    freeReplyObject(reply);
    return l;
}

/* All leases of the queue have ended long ago. */
static void lapse(struct scene *s, const char *queue)
{
    static const char lua[] = "for _, token in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do\n"
                              "  redis.call('ZADD', KEYS[1], 1000, token)\n"
                              "end\n"
                              "redis.call('HSET', KEYS[2], 'due', 1000)";
    raw_do(s->server->redis, "EVAL %s 2 %s:leases:%s %s:queue:%s", lua, s->prefix, queue, s->prefix, queue);
}

static int64_t under_lease(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:processing:.lease:%s", s->prefix, queue);
}

/* ---- taking ---- */

static void a_take_gives_the_front_under_tokens_that_follow_each_other(void **state)
{
    struct scene *s = *state;
    char token[12];
    scene_enqueue_n(s, "q", "t", 5);
    struct leased l = take(s, "q", "3", LONG_MS);
    assert_int_equal(l.n, 3);
    assert_true(l.next_due_ms > 0 && l.next_due_ms <= 60000);
    token_of_task(s, ".lease", "q", "t0", token);
    assert_string_equal(token, l.first);
    assert_waiting(s, "q", "t3 t4 ");
    assert_int_equal(queue_field(s, "q", "due"), l.ends_at_ms);
    assert_int_equal(queue_field(s, "q", "running"), 3);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_take_of_nothing_says_when_to_come_again(void **state)
{
    struct scene *s = *state;
    assert_int_equal(take(s, "q", "1", LONG_MS).next_due_ms, -1);
    scene_enqueue(s, "q", "t");
    take(s, "q", "1", LONG_MS);
    struct leased l = take(s, "q", "1", LONG_MS);
    assert_int_equal(l.n, 0);
    assert_true(l.next_due_ms > 0 && l.next_due_ms <= 60000);
}

/* ---- lapsing ---- */

static void lapsed_leases_go_to_the_front_in_the_order_of_their_takes(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 4);
    take(s, "q", "2", LONG_MS);
    take(s, "q", "1", LONG_MS);
    lapse(s, "q");
    assert_int_equal(take(s, "q", "0", LONG_MS).n, 0);
    assert_waiting(s, "q", "t0 t1 t2 t3 ");
    assert_int_equal(queue_field(s, "q", "running"), 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* This many leases lapse per call, and a take has at most this many tasks. */
enum { LAPSED_MAX = 200, TAKEN_MAX = 256 };

static void two_hundred_lapse_per_call_and_due_tells_of_the_rest(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 2 * LAPSED_MAX + 50);
    take(s, "q", "200", LONG_MS);
    take(s, "q", "200", LONG_MS);
    take(s, "q", "50", LONG_MS);
    lapse(s, "q");
    for (int left = LAPSED_MAX + 50; left > -LAPSED_MAX; left -= LAPSED_MAX) {
        struct leased l = take(s, "q", "0", LONG_MS);
        assert_int_equal(under_lease(s, "q"), left > 0 ? left : 0);
        assert_int_equal(l.next_due_ms, left > 0 ? 0 : -1);
        invariant_assert(s->server->redis, s->prefix);
    }
    assert_int_equal(scene_waiting(s, "q"), 2 * LAPSED_MAX + 50);
}

static void what_lapses_in_parts_comes_back_in_its_order(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", TAKEN_MAX + 10);
    char *before = waiting_tasks(s, "q");
    assert_int_equal(take(s, "q", "1000", LONG_MS).n, TAKEN_MAX);
    lapse(s, "q");
    take(s, "q", "0", LONG_MS);
    assert_int_equal(under_lease(s, "q"), TAKEN_MAX - LAPSED_MAX);
    take(s, "q", "0", LONG_MS);
    assert_waiting(s, "q", before);
    free(before);
}

/* Its lease is over though others were moved first: its own end decides. */
static void a_late_end_is_lost_and_moves_what_lapsed(void **state)
{
    struct scene *s = *state;
    static const enum script_id late[] = {SCRIPT_END, SCRIPT_EXTEND, SCRIPT_CANCEL};
    for (size_t i = 0; i < N_OF(late); i++) {
        struct acting_worker idle = {.id = "idle", .queues = {"q"}, .hands = 2000, .hears = true};
        char last[12];
        scene_enqueue_n(s, "q", "t", LAPSED_MAX + 50);
        take(s, "q", "200", LONG_MS);
        take(s, "q", "50", LONG_MS);
        token_of_task(s, ".lease", "q", "t249", last);
        acting_start(&idle, s);
        acting_take(&idle);
        lapse(s, "q");
        if (late[i] == SCRIPT_END)
            assert_int_equal(script_does(s, SCRIPT_END, ".lease", "finish", "q", "1", last), MUSTER_E_LOST);
        else if (late[i] == SCRIPT_EXTEND)
            assert_int_equal(script_does(s, SCRIPT_EXTEND, ".lease", last, "q", LONG_MS, "0", ""), MUSTER_E_LOST);
        else
            assert_int_equal(script_does(s, SCRIPT_CANCEL, "q", ".lease", last), MUSTER_E_LOST);
        assert_int_equal(under_lease(s, "q"), 50);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:idle:q", s->prefix), LAPSED_MAX);
        invariant_assert(s->server->redis, s->prefix);
        acting_forget(&idle);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void turns_move_what_lapsed_and_heartbeats_tell_of_it(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    scene_enqueue(s, "q", "t");
    take(s, "q", "1", LONG_MS);
    acting_start(&w, s);
    acting_take(&w);
    lapse(s, "q");
    redisReply *reply = script_call(s, SCRIPT_HEARTBEAT, "w", w.epoch, "0", "1", "0", "0", "q", "0");
    assert_string_equal(reply->element[4]->str, "1");
    freeReplyObject(reply);
    acting_take(&w);
    token_of_task(s, "w", "q", "t", token);
    invariant_assert(s->server->redis, s->prefix);
}

/* The first lapse says nothing of it but that it is a suspect; then three count. */
static void a_suspect_that_lapses_three_times_is_on_the_failed_list(void **state)
{
    struct scene *s = *state;
    static const char *const suspected[] = {"0", "1", "2", ""};
    scene_enqueue(s, "q", "poison");
    for (int n = 0; n <= 3; n++) {
        take(s, "q", "1", LONG_MS);
        lapse(s, "q");
        take(s, "q", "0", LONG_MS);
        assert_waiting(s, "q", n < 3 ? "poison " : "");
        assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:crashed", s->prefix), n == 3);
        char *entries = raw_string(s->server->redis, "HVALS %s:suspects:q", s->prefix);
        assert_int_equal(strncmp(entries, suspected[n], strlen(suspected[n])), 0);
        assert_int_equal(strlen(entries), n < 3 ? 2 : 0);
        free(entries);
        invariant_assert(s->server->redis, s->prefix);
    }
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:q 0 -1", s->prefix);
    assert_non_null(strstr(entry, ":.leasecrashedits lease lapsed 3 times while it was a suspect"));
    free(entry);
}

static void an_end_of_a_suspect_forgets_the_lapses_before_it(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    take(s, "q", "1", LONG_MS);
    lapse(s, "q");
    take(s, "q", "0", LONG_MS);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:suspects:q", s->prefix), 1);
    take(s, "q", "1", LONG_MS);
    char token[12];
    token_of_task(s, ".lease", "q", "t", token);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "finish", "q", "1", token));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:suspects:q", s->prefix), 0);
}

/* Suspects come one by one, and what else waits comes with none of them. */
static void a_suspect_is_taken_alone(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 4);
    take(s, "q", "2", LONG_MS);
    lapse(s, "q");
    take(s, "q", "0", LONG_MS);
    for (int i = 0; i < 2; i++) {
        redisReply *reply = script_call(s, SCRIPT_TAKE, "q", "4", LONG_MS, "0", "");
        assert_int_equal(reply->elements, 9);
        assert_int_equal(reply->element[5]->integer, 0);
        assert_string_equal(reply->element[8]->str, i ? "t1" : "t0");
        freeReplyObject(reply);
        invariant_assert(s->server->redis, s->prefix);
    }
    assert_int_equal(take(s, "q", "4", LONG_MS).n, 2);
}

static void a_marked_lease_is_dropped_when_it_lapses(void **state)
{
    struct scene *s = *state;
    for (int deleted = 0; deleted < 2; deleted++) {
        scene_enqueue_n(s, "q", "t", 2);
        struct leased l = take(s, "q", "2", LONG_MS);
        assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", l.first, "q", "", "1", "half"));
        if (deleted)
            assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 0, 2);
        else
            assert_answer(script_call(s, SCRIPT_CANCEL, "q", ".lease", l.first), 0, 0, 1);
        invariant_assert(s->server->redis, s->prefix);
        lapse(s, "q");
        take(s, "q", "0", LONG_MS);
        assert_waiting(s, "q", deleted ? "" : "t1 ");
        assert_int_equal(queue_field(s, "q", "cancelled"), !deleted);
        assert_int_equal(queue_field(s, "q", "running"), 0);
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:marks:.lease %s:notes:.lease %s:leases:q", s->prefix,
                                 s->prefix, s->prefix),
                         0);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

/* ---- extending ---- */

static void extending_moves_the_end_and_the_first_end_is_due(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 2);
    struct leased first = take(s, "q", "1", "50000"), second = take(s, "q", "1", LONG_MS);
    assert_int_equal(queue_field(s, "q", "due"), first.ends_at_ms);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", first.first, "q", "90000", "0", ""));
    assert_true(raw_int(s->server->redis, "ZSCORE %s:leases:q %s", s->prefix, first.first) > second.ends_at_ms);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", second.first, "q", "10", "0", ""));
    assert_true(queue_field(s, "q", "due") < first.ends_at_ms);
    invariant_assert(s->server->redis, s->prefix);
    assert_int_equal(script_does(s, SCRIPT_EXTEND, "w", first.first, "q", "10", "0", ""), MUSTER_E_LOST);
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", ".lease", first.first), 0, 0, 1);
    assert_int_equal(script_does(s, SCRIPT_EXTEND, ".lease", first.first, "q", "10", "0", ""), MUSTER_E_STATE);
}

static void a_workers_process_has_a_note_but_no_lease(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    scene_enqueue(s, "q", "t");
    acting_start(&w, s);
    acting_take(&w);
    token_of_task(s, "w", "q", "t", token);
    assert_int_equal(script_does(s, SCRIPT_EXTEND, "w", token, "q", "10", "1", "half"), MUSTER_E_STATE);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:w %s:leases:q", s->prefix, s->prefix), 0);
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", token, "q", "", "1", "half"));
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:notes:w", s->prefix), 1);
    acting_say(&w, "finish", "q", "1", token);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:w", s->prefix), 0);
}

/* ---- delays ---- */

/* Nobody waits until then, nor asks again at once. */
static void a_time_that_is_none_is_no_time_to_wait_for(void **state)
{
    struct scene *s = *state;
    static const char *const none[] = {"1e400", "inf", "-inf", "nan", "-nan", "soon", "9999999999999999999"};
    for (size_t i = 0; i < N_OF(none); i++) {
        raw_do(s->server->redis, "HSET %s:queue:q due %s", s->prefix, none[i]);
        if (take(s, "q", "0", LONG_MS).next_due_ms != -1)
            fail_msg("%s", none[i]);
    }
}

static void a_turn_that_delays_notes_when_that_is_due(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1};
    char token[12];
    scene_enqueue(s, "q", "t");
    acting_start(&w, s);
    acting_take(&w);
    token_of_task(s, "w", "q", "t", token);
    acting_say(&w, "retry", "q", token, "5000", "", "");
    int64_t due = queue_field(s, "q", "due");
    assert_true(due > 0);
    assert_int_equal(raw_int(s->server->redis, "ZSCORE %s:due q", s->prefix), due);
    assert_int_equal(raw_int(s->server->redis, "ZCOUNT %s:delayed:q %ld %ld", s->prefix, (long)due, (long)due), 1);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- paused ---- */

static void a_paused_queue_hands_out_nothing_but_still_takes_back(void **state)
{
    struct scene *s = *state;
    struct acting_worker idle = {.id = "idle", .queues = {"q"}, .hands = 3, .hears = true};
    char token[12];
    scene_enqueue_n(s, "q", "t", 3);
    struct leased l = take(s, "q", "2", LONG_MS);
    assert_ok(script_does(s, SCRIPT_PAUSE, "q"));
    acting_start(&idle, s);
    acting_take(&idle);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", l.first));
    lapse(s, "q");
    assert_int_equal(take(s, "q", "5", LONG_MS).n, 0);
    assert_waiting(s, "q", "t0 t1 t2 ");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix), 1);
    invariant_assert(s->server->redis, s->prefix);
    assert_ok(script_does(s, SCRIPT_RESUME, "q"));
    token_of_task(s, "idle", "q", "t2", token);
    assert_waiting(s, "q", "");
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&idle);
}

/* ---- announcements ---- */

static int64_t published(struct scene *s)
{
    return redis_server_calls(s->server, "publish");
}

/* One of each thing that listeners hear: work, a cancel, an end with a result, a delete. */
static void make_news(struct scene *s)
{
    scene_enqueue_n(s, "q", "t", 3);
    struct leased l = take(s, "q", "1", LONG_MS);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "result", "q", l.first, "bytes"));
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "", "t1"), 0, 1, 0);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 0);
}

static void muster_speaks_only_while_somebody_listens(void **state)
{
    struct scene *s = *state;
    struct acting_worker ear = {.id = "none", .scene = s};
    int64_t before = published(s);
    make_news(s);
    assert_int_equal(published(s), before);

    ear.ear = redisConnectUnix(s->server->socket);
    raw_do(ear.ear, "PSUBSCRIBE %s_q_*", s->prefix);
    assert_ok(script_does(s, SCRIPT_LISTEN, "q"));
    make_news(s);
    assert_true(published(s) > before);
    redisReply *reply = redisCommand(ear.ear, "PING end");
    bool has_done = false, has_cancel = false, has_delete = false, has_work = false;
    for (; reply && reply->elements == 4; redisGetReply(ear.ear, (void **)&reply)) {
        const char *what = strrchr(reply->element[2]->str, '_'), *said = reply->element[3]->str;
        has_work |= !strcmp(what, "_work") && !strcmp(said, "muster");
        has_cancel |= !strcmp(what, "_cancel") && !strcmp(said, "t1");
        has_delete |= !strcmp(what, "_delete") && !strcmp(said, "q");
        has_done |= !strcmp(what, "_done") && !strncmp(said, "20:2:5:.lease:", 14) && strstr(said, ":qt0bytes");
        freeReplyObject(reply);
    }
    freeReplyObject(reply);
    acting_forget(&ear);
    assert_true(has_work && has_cancel && has_delete && has_done);

    raw_do(s->server->redis, "HSET %s:queue:q listen 1000", s->prefix); /* long ago */
    before = published(s);
    make_news(s);
    assert_int_equal(published(s), before);
}

static void a_caller_who_waits_is_told_of_work_and_of_what_is_due_sooner(void **state)
{
    struct scene *s = *state;
    assert_answer(script_call(s, SCRIPT_TAKE, "q", "1", LONG_MS, "1", ""), 0, -1);
    int64_t before = published(s);
    scene_enqueue_n(s, "q", "t", 2);
    assert_int_equal(published(s), before + 1);
    struct leased l = take(s, "q", "2", LONG_MS); /* sooner than never */
    assert_int_equal(published(s), before + 2);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", l.first, "q", "1000", "0", ""));
    assert_int_equal(published(s), before + 3);
    assert_ok(script_does(s, SCRIPT_EXTEND, ".lease", l.first, "q", "2000", "0", ""));
    assert_int_equal(published(s), before + 3);
    assert_ok(script_does(s, SCRIPT_END, ".lease", "back", "q", "1", l.first));
    assert_int_equal(published(s), before + 4);
}

/* A caller who waits, while a worker passes over so many that came back to a home of a wrong type, is told of the rest. */
static void what_cannot_come_out_hides_nothing_from_a_caller_who_waits(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    static const int n_passed[] = {1, 999, 1500};
    for (size_t i = 0; i < N_OF(n_passed); i++) {
        acting_start(&w, s);
        acting_take(&w);
        raw_do(s->server->redis, "EVAL %s 1 %s %d",
               "local P = KEYS[1] .. ':'\n"
               "redis.call('SET', P .. 'home:bad:q', 'text')\n"
               "for i = 1, ARGV[1] do\n"
               "  redis.call('ZADD', P .. 'returned:q', i, string.format('%011d:bad', i))\n"
               "end\n"
               "redis.call('HSET', P .. 'queue:q', 'returned', '1', 'listen', '99999999999999')\n"
               "redis.call('LPUSH', P .. 'queues:q', 'a', 'b')\n"
               "redis.call('ZADD', P .. 'takers:q', 1, 'caller')",
               s->prefix, n_passed[i]);
        assert_ok(script_does(s, SCRIPT_RESUME, "q"));
        assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), 1);
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:takers:q", s->prefix), 0);
        acting_forget(&w);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_take_gives_the_front_under_tokens_that_follow_each_other),
        live_test(a_take_of_nothing_says_when_to_come_again),
        live_test(lapsed_leases_go_to_the_front_in_the_order_of_their_takes),
        live_test(two_hundred_lapse_per_call_and_due_tells_of_the_rest),
        live_test(what_lapses_in_parts_comes_back_in_its_order),
        live_test(a_late_end_is_lost_and_moves_what_lapsed),
        live_test(turns_move_what_lapsed_and_heartbeats_tell_of_it),
        live_test(a_suspect_that_lapses_three_times_is_on_the_failed_list),
        live_test(a_suspect_is_taken_alone),
        live_test(an_end_of_a_suspect_forgets_the_lapses_before_it),
        live_test(a_marked_lease_is_dropped_when_it_lapses),
        live_test(extending_moves_the_end_and_the_first_end_is_due),
        live_test(a_workers_process_has_a_note_but_no_lease),
        live_test(a_time_that_is_none_is_no_time_to_wait_for),
        live_test(a_turn_that_delays_notes_when_that_is_due),
        live_test(a_paused_queue_hands_out_nothing_but_still_takes_back),
        live_test(muster_speaks_only_while_somebody_listens),
        live_test(a_caller_who_waits_is_told_of_work_and_of_what_is_due_sooner),
        live_test(what_cannot_come_out_hides_nothing_from_a_caller_who_waits),
    };
    return scene_run(tests, argc, argv);
}
