/* SPDX-License-Identifier: MIT
 *
 * Marks, by the scripts alone: a process that was cancelled, or whose queue was deleted, may finish; after any other
 * end it is dropped and counted once. Also the purpose of a worker's flag, what leaving and deleting a queue do, and
 * that the counts of a cancel are right for any number of tasks. What a worker does about its marks:
 * test_worker_cancel.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "script_call.h"

/* A worker that holds "marked", cancelled, and "kept", both of q. */
struct held {
    struct scene *s;
    struct acting_worker w;
    char marked[12], kept[12];
};

static struct held hold_two(struct scene *s)
{
    struct held h = {.s = s, .w = {.id = "w", .queues = {"q"}, .hands = 2}};
    scene_enqueue(s, "q", "marked");
    scene_enqueue(s, "q", "kept");
    acting_start(&h.w, s);
    acting_take(&h.w);
    token_of_task(s, "w", "q", "marked", h.marked);
    token_of_task(s, "w", "q", "kept", h.kept);
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "w", h.marked), 0, 0, 1);
    return h;
}

/* "" if there is none. */
static void flag_of(struct scene *s, char flag[2])
{
    char *text = raw_string(s->server->redis, "HGET %s:worker:w flag", s->prefix);
    snprintf(flag, 2, "%s", text ? text : "");
    free(text);
}

static void assert_flag(struct scene *s, const char *expected)
{
    char flag[2];
    flag_of(s, flag);
    assert_string_equal(flag, expected);
}

static int64_t left_of_marks(struct scene *s)
{
    return raw_int(s->server->redis, "EXISTS %s:marks:w %s:notes:w", s->prefix, s->prefix);
}

/* ---- whatever becomes of it ---- */

static void given_back(struct held *h)
{
    acting_say(&h->w, "back", "q", "2", h->marked, h->kept);
}

static void retried_at_once(struct held *h)
{
    acting_say(&h->w, "retry", "q", h->marked, "0", "", "", "retry", "q", h->kept, "0", "", "");
}

static void retried_later(struct held *h)
{
    acting_say(&h->w, "retry", "q", h->marked, "60000", "", "", "back", "q", "1", h->kept);
}

static void failed(struct held *h)
{
    acting_say(&h->w, "fail", "q", h->marked, "g", "m", "back", "q", "1", h->kept);
}

static void ended_by_another(struct held *h)
{
    assert_int_equal(script_does(h->s, SCRIPT_END, "w", "fail", "q", h->marked, "g", "m"), MUSTER_E_CANCELLED);
    const bool is_deleted = raw_int(h->s->server->redis, "HEXISTS %s:marks:w %s", h->s->prefix, h->kept) == 1;
    assert_int_equal(script_does(h->s, SCRIPT_END, "w", "back", "q", "1", h->kept),
                     is_deleted ? MUSTER_E_CANCELLED : MUSTER_OK);
}

static void swept(struct held *h)
{
    acting_die(&h->w);
    assert_ok(script_does(h->s, SCRIPT_SWEEP, "w", "1"));
}

static void said_to_be_dead(struct held *h)
{
    assert_ok(script_does(h->s, SCRIPT_SWEEP, "w", "1"));
}

static void stopped(struct held *h)
{
    assert_ok(acting_stop(&h->w));
}

static void left(struct held *h)
{
    assert_ok(acting_leave(&h->w, "q"));
}

static void came_again(struct held *h)
{
    acting_die(&h->w);
    acting_start(&h->w, h->s);
}

static void came_again_resuming(struct held *h)
{
    acting_die(&h->w);
    h->w.resumes = true;
    acting_start(&h->w, h->s);
    assert_int_equal(raw_int(h->s->server->redis, "HLEN %s:processing:w:q", h->s->prefix), 2);
    token_of_task(h->s, "w", "q", "marked", h->marked);
    token_of_task(h->s, "w", "q", "kept", h->kept);
    given_back(h);
}

static const struct way {
    const char *name;
    void (*go)(struct held *h);
} ways[] = {{"given back", given_back},
            {"retried at once", retried_at_once},
            {"retried later", retried_later},
            {"failed", failed},
            {"ended by another", ended_by_another},
            {"swept", swept},
            {"said to be dead", said_to_be_dead},
            {"stopped", stopped},
            {"left", left},
            {"came again", came_again},
            {"came again, resuming", came_again_resuming}};

static void whatever_else_becomes_of_a_cancelled_process_it_is_dropped_and_counted_once(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ways); i++) {
        struct held h = hold_two(s);
        print_message("    %s\n", ways[i].name);
        ways[i].go(&h);
        assert_waiting(s, "q", "kept ");
        assert_int_equal(queue_field(s, "q", "cancelled"), 1);
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:delayed:q %s:failed:q", s->prefix, s->prefix), 0);
        assert_int_equal(left_of_marks(s), 0);
        invariant_assert(s->server->redis, s->prefix);
        assert_int_equal(queue_field(s, "q", "running"), 0);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void a_cancelled_process_may_finish_and_is_not_counted(void **state)
{
    struct scene *s = *state;
    struct held h = hold_two(s);
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "w", h.kept), 0, 0, 1);
    acting_say(&h.w, "finish", "q", "1", h.marked, "result", "q", h.kept, "bytes");
    assert_waiting(s, "q", "");
    assert_int_equal(queue_field(s, "q", "cancelled"), 0);
    assert_int_equal(left_of_marks(s), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_process_that_is_not_there_cannot_be_cancelled(void **state)
{
    struct scene *s = *state;
    struct held h = hold_two(s);
    acting_say(&h.w, "finish", "q", "1", h.kept);
    char *before = dump_of_all(s);
    assert_int_equal(script_does(s, SCRIPT_CANCEL, "q", "w", h.kept), MUSTER_E_LOST);
    assert_int_equal(script_does(s, SCRIPT_CANCEL, "other", "w", h.marked), MUSTER_E_LOST);
    assert_int_equal(script_does(s, SCRIPT_CANCEL, "q", ".lease", h.marked), MUSTER_E_LOST);
    char *after = dump_of_all(s);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* ---- the flag ---- */

static void marks_and_notes_set_the_flag_and_the_turn_that_sees_the_last_go_removes_it(void **state)
{
    struct scene *s = *state;
    struct held h = hold_two(s);
    assert_flag(s, "m");
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", h.kept, "q", "", "1", "half"));
    acting_say(&h.w, "finish", "q", "1", h.marked);
    assert_flag(s, "m"); /* the note is there */
    acting_say(&h.w, "finish", "q", "1", h.kept);
    assert_flag(s, "");
    assert_int_equal(left_of_marks(s), 0);
    scene_enqueue(s, "q", "noted");
    acting_take(&h.w);
    token_of_task(s, "w", "q", "noted", h.kept);
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", h.kept, "q", "", "1", "half"));
    assert_flag(s, "m");
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", h.kept, "q", "", "1", ""));
    acting_take(&h.w);
    assert_flag(s, "");
}

static void only_the_read_back_forgets_an_end_by_another(void **state)
{
    struct scene *s = *state;
    struct held h = hold_two(s);
    assert_ok(script_does(s, SCRIPT_END, "w", "finish", "q", "1", h.kept));
    assert_flag(s, "e");
    acting_take(&h.w);
    assert_flag(s, "e");
    assert_ok(acting_heartbeat(&h.w));
    assert_flag(s, "e");
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "w", h.marked), 0, 0, 1);
    assert_flag(s, "e"); /* a mark does not hide it */
    assert_ok(acting_readback(&h.w));
    assert_flag(s, "m"); /* a mark is left */
    acting_say(&h.w, "back", "q", "1", h.marked);
    assert_flag(s, "");
}

/* Otherwise one HDEL for all would count two of three, and nobody could say which two. */
static void ends_said_together_with_one_that_is_over_are_told_apart(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 3, .hears = true};
    char token[3][12];
    scene_enqueue_n(s, "q", "t", 3);
    acting_start(&w, s);
    acting_take(&w);
    for (int i = 0; i < 3; i++)
        token_of_task(s, "w", "q", (const char *const[]){"t0", "t1", "t2"}[i], token[i]);
    assert_ok(script_does(s, SCRIPT_END, "w", "finish", "q", "1", token[1]));
    char *heard = acting_heard(&w);
    assert_int_equal(heard[0], 'R');
    assert_memory_equal(heard + 1, w.epoch, 11);
    free(heard);
    redisReply *reply = acting_turn(&w, "finish", "q", "3", token[0], token[1], token[2]);
    const redisReply *ends = reply->element[1];
    assert_int_equal(ends->elements, 3);
    assert_int_equal(ends->element[0]->integer, 0);
    assert_int_equal(ends->element[1]->integer, MUSTER_E_LOST);
    assert_int_equal(ends->element[2]->integer, 0);
    freeReplyObject(reply);
    assert_flag(s, "e"); /* no mark is left, but that is not what it says */
    invariant_assert(s->server->redis, s->prefix);
    assert_int_equal(queue_field(s, "q", "running"), 0);
    acting_forget(&w);
}

/* ---- the next life ---- */

static void a_resuming_life_has_the_marks_under_the_new_tokens(void **state)
{
    struct scene *s = *state;
    struct held h = hold_two(s);
    char marked[12], kept[12], expected[30];
    assert_ok(script_does(s, SCRIPT_EXTEND, "w", h.kept, "q", "", "1", "half"));
    acting_die(&h.w);
    h.w.resumes = true;
    acting_start(&h.w, s);
    token_of_task(s, "w", "q", "marked", marked);
    token_of_task(s, "w", "q", "kept", kept);
    assert_true(strcmp(marked, h.kept) > 0 && strcmp(kept, marked) > 0);
    assert_flag(s, "m");
    char *marks = raw_string(s->server->redis, "HGETALL %s:marks:w", s->prefix);
    snprintf(expected, sizeof expected, "%s\nc\n", marked);
    assert_string_equal(marks, expected);
    free(marks);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:w", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- leaving ---- */

static void leaving_gives_back_this_queue_alone_and_in_order(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q", "other"}, .hands = 6, .hears = true};
    struct acting_worker peer = {.id = "peer", .queues = {"q"}, .hands = 1};
    scene_enqueue(s, "q", "peers");
    acting_start(&peer, s);
    acting_take(&peer);
    scene_enqueue_n(s, "q", "t", 4);
    scene_enqueue(s, "other", "stays");
    acting_start(&w, s);
    acting_take(&w);
    scene_enqueue(s, "other", "stays too");
    scene_enqueue(s, "q", "behind"); /* its hands are full */
    assert_ok(acting_leave(&w, "q"));
    assert_waiting(s, "q", "t0 t1 t2 t3 behind ");
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:other", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:peer:q", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);

    /* New tasks are not for this worker now, though it has free hands; they are once it serves the queue again. */
    scene_enqueue(s, "q", "last");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:processing:w:q", s->prefix), 0);
    assert_ok(script_does(s, SCRIPT_SERVE, "w", w.epoch, "0", "q", "0", "1"));
    acting_take(&w);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 4);
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&w);
}

static void a_worker_that_leaves_is_no_longer_idle_there(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q", "other"}, .hands = 1, .hears = true};
    acting_start(&w, s);
    acting_take(&w);
    assert_ok(acting_leave(&w, "q"));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:other", s->prefix), 1);
    scene_enqueue(s, "q", "t");
    assert_waiting(s, "q", "t ");
    acting_forget(&w);
}

static void what_a_leaver_gives_back_goes_to_an_idle_worker(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2};
    struct acting_worker idle = {.id = "idle", .queues = {"q"}, .hands = 1, .hears = true};
    scene_enqueue_n(s, "q", "t", 2);
    acting_start(&w, s);
    acting_take(&w);
    acting_start(&idle, s);
    acting_take(&idle);
    assert_ok(acting_leave(&w, "q"));
    char token[12];
    token_of_task(s, "idle", "q", "t0", token);
    assert_waiting(s, "q", "t1 ");
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&idle);
}

/* ---- deleting ---- */

static void nothing_resurrects_a_deleted_queue(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ways); i++) {
        struct held h = hold_two(s);
        print_message("    %s\n", ways[i].name);
        scene_enqueue_n(s, "q", "waiting", 3);
        raw_do(s->server->redis, "HSET %s:queue:q max_crashes 1 broadcast 1", s->prefix);
        assert_ok(script_does(s, SCRIPT_PAUSE, "q"));
        assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 3, 2);
        assert_int_equal(queue_field(s, "q", "running"), 2);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:queue:q", s->prefix), 4); /* hands, joined */
        assert_int_equal(queue_field(s, "q", "hands"), 2);
        assert_true(queue_field(s, "q", "out") >= 3);
        scene_enqueue(s, "q", "new");
        ways[i].go(&h);
        assert_waiting(s, "q", "new ");
        assert_int_equal(
            raw_int(s->server->redis, "EXISTS %s:delayed:q %s:failed:q %s:crashes:q", s->prefix, s->prefix, s->prefix),
            0);
        assert_int_equal(left_of_marks(s), 0);
        assert_int_equal(queue_field(s, "q", "running"), 0);
        invariant_assert(s->server->redis, s->prefix);
        raw_do(s->server->redis, "FLUSHALL");
    }
}

static void a_deleted_queue_leaves_nothing_but_its_workers(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 2, .hears = true};
    char token[2][12];
    scene_enqueue_n(s, "q", "t", 2);
    acting_start(&w, s);
    acting_take(&w);
    token_of_task(s, "w", "q", "t0", token[0]);
    token_of_task(s, "w", "q", "t1", token[1]);
    acting_say(&w, "fail", "q", token[0], "g", "m");
    raw_do(s->server->redis, "ZADD %s:delayed:q 99999999999999 00000000001:later", s->prefix);
    assert_answer(script_call(s, SCRIPT_DELETE, "q"), 0, 1, 1);
    acting_say(&w, "finish", "q", "1", token[1]);
    assert_int_equal(raw_int(s->server->redis,
                             "EXISTS %s:queues:q %s:delayed:q %s:failed:q %s:failures:q %s:processing:w:q", s->prefix,
                             s->prefix, s->prefix, s->prefix, s->prefix),
                     0);
    acting_take(&w);
    scene_enqueue(s, "q", "new");
    token_of_task(s, "w", "q", "new", token[0]);
    acting_say(&w, "back", "q", "1", token[0]);
    assert_waiting(s, "q", "new ");
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&w);
}

/* ---- many ---- */

enum { DELAYED = 2500, RUNNING = 10000, WAITING = 100 };

/* DELAYED, RUNNING and WAITING copies of "copy"; and with every third that is delayed or waits one of "other". */
static void fill(struct scene *s, const char *prefix)
{
    static const char lua[] =
        "local P, first = KEYS[1], 2^50\n"
        "local function text(n) return string.format('0%010d', n) end\n"
        "for i = 1, ARGV[1] + 0 do\n"
        "  redis.call('ZADD', P .. 'delayed:q', 9999999999999, text(i) .. ':copy')\n"
        "  if i % 3 == 0 then redis.call('ZADD', P .. 'delayed:q', 9999999999999 - i, text(i) .. ':other') end\n"
        "end\n"
        "for i = 1, ARGV[2] + 0 do redis.call('HSET', P .. 'processing:w:q', text(i), 'copy') end\n"
        "redis.call('HSET', P .. 'processing:w:q', text(0), 'other')\n"
        "for i = 1, ARGV[3] + 0 do redis.call('LPUSH', P .. 'queues:q', 'copy', i % 3 == 0 and 'other' or 'copy') end\n"
        "redis.call('HSET', P .. 'queue:q', 'running', ARGV[2] + 1, 'due', 9999999000000)\n"
        "redis.call('HSET', P .. 'worker:w', 'held', ARGV[2] + 1, 'hands', ARGV[2] + 1)\n";
    raw_do(s->server->redis, "EVAL %s 1 %s %d %d %d", lua, prefix, DELAYED, RUNNING, WAITING);
}

/* How many tokens stand in these messages; each must be of this worker's life, and not longer than 500 tokens. */
static size_t count_told(const struct acting_worker *w, char *messages)
{
    size_t n = 0;
    for (char *rest = messages, *line; (line = strtok_r(rest, "\n", &rest));) {
        size_t len = strlen(line);
        assert_int_equal(line[0], 'C');
        assert_memory_equal(line + 1, w->epoch, 11);
        assert_true(len > 12 && (len - 12) % 11 == 0 && len <= 12 + 500 * 11);
        n += (len - 12) / 11;
    }
    return n;
}

static void a_cancel_finds_every_copy_however_many(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    char root[20];
    acting_start(&w, s);
    snprintf(root, sizeof root, "%s:", s->prefix);
    fill(s, root);
    int others = WAITING / 3, copies = 2 * WAITING - others;
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "", "copy"), 0, copies + DELAYED, RUNNING);
    assert_int_equal(scene_waiting(s, "q"), others);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), DELAYED / 3);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:marks:w", s->prefix), RUNNING);
    assert_int_equal(queue_field(s, "q", "cancelled"), copies + DELAYED);
    char *heard = acting_heard(&w);
    assert_int_equal(count_told(&w, heard), RUNNING);
    free(heard);
    assert_answer(script_call(s, SCRIPT_CANCEL, "q", "", "copy"), 0, 0, RUNNING);
    assert_int_equal(queue_field(s, "q", "cancelled"), copies + DELAYED);
    assert_ok(acting_stop(&w));
    assert_int_equal(queue_field(s, "q", "cancelled"), copies + DELAYED + RUNNING);
    assert_int_equal(scene_waiting(s, "q"), others + 1);
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(whatever_else_becomes_of_a_cancelled_process_it_is_dropped_and_counted_once),
        live_test(a_cancelled_process_may_finish_and_is_not_counted),
        live_test(a_process_that_is_not_there_cannot_be_cancelled),
        live_test(marks_and_notes_set_the_flag_and_the_turn_that_sees_the_last_go_removes_it),
        live_test(only_the_read_back_forgets_an_end_by_another),
        live_test(ends_said_together_with_one_that_is_over_are_told_apart),
        live_test(a_resuming_life_has_the_marks_under_the_new_tokens),
        live_test(leaving_gives_back_this_queue_alone_and_in_order),
        live_test(a_worker_that_leaves_is_no_longer_idle_there),
        live_test(what_a_leaver_gives_back_goes_to_an_idle_worker),
        live_test(nothing_resurrects_a_deleted_queue),
        live_test(a_deleted_queue_leaves_nothing_but_its_workers),
        live_test(a_cancel_finds_every_copy_however_many),
    };
    return scene_run(tests, argc, argv);
}
