/* SPDX-License-Identifier: MIT
 *
 * Reading the scripts' answers: what the contracts promise, and what they do not. A malformed answer is E_REDIS, a
 * script's own status is itself, and neither is read beyond its end.
 */
#include <string.h>

#include "made_reply.h"
#include "protocol/script_job.h"
#include "protocol/script_task.h"
#include "protocol/script_worker.h"

#define TOKEN_TEXT "0000000000v"
#define TOKEN_NUMBER 31

/* ---- all of them ---- */

typedef int decode_fn(const redisReply *r);

static int started(const redisReply *r)
{
    return script_started(r, &(struct script_started){0});
}

static int turned(const redisReply *r)
{
    return script_turned(r, &(struct script_turned){0});
}

static int first_take(const redisReply *r)
{
    return script_turned_take(r, 0, &(struct script_take){0});
}

static int heard(const redisReply *r)
{
    return script_heard(r, &(struct script_heard){0});
}

static int read_back(const redisReply *r)
{
    return script_read(r, &(struct script_read){0});
}

static void assert_all_malformed(decode_fn *decode, const redisReply *const *replies, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (decode(replies[i]) != MUSTER_E_REDIS)
            fail_msg("malformed answer %zu: %s", i, muster_err_name(decode(replies[i])));
}
#define assert_malformed(decode, ...)                                 \
    assert_all_malformed(decode, (const redisReply *[]){__VA_ARGS__}, \
                         sizeof((const redisReply *[]){__VA_ARGS__}) / sizeof(redisReply *))

static void a_status_or_an_error_is_itself_whoever_reads_it(void **state)
{
    decode_fn *const decoders[] = {started, turned, heard, read_back};
    (void)state;
    for (size_t i = 0; i < N_OF(decoders); i++) {
        assert_err(decoders[i](NULL), MUSTER_E_CONN);
        assert_err(decoders[i](ERROR("OOM no")), MUSTER_E_FULL);
        assert_err(decoders[i](ERROR("NOPERM no")), MUSTER_E_DENIED);
        assert_err(decoders[i](LIST(INTEGER(MUSTER_E_GONE))), MUSTER_E_GONE);
        assert_err(decoders[i](LIST(INTEGER(MUSTER_E_STATE), NIL)), MUSTER_E_STATE);
        assert_err(decoders[i](LIST(INTEGER(MUSTER_E_REDIS), TEXT("key"))), MUSTER_E_REDIS);
        assert_err(decoders[i](INTEGER(MUSTER_E_EXISTS)), MUSTER_E_EXISTS);
        assert_malformed(decoders[i], ERROR("ERR x"), INTEGER(0), NIL, TEXT("0"), STATUS("OK"), EMPTY_LIST,
                         LIST(INTEGER(0)), LIST(TEXT("0")));
    }
}

/* ---- start ---- */

static void started_has_epoch_and_interval(void **state)
{
    struct script_started out;
    (void)state;
    assert_ok(script_started(LIST(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(1000), INTEGER(12)), &out));
    assert_int_equal(out.to_take_up, 12);
    assert_string_equal(out.epoch, TOKEN_TEXT);
    assert_int_equal(out.interval_ms, 1000);
}

static void what_is_not_started_is_an_error(void **state)
{
    (void)state;
    assert_malformed(started, LIST(INTEGER(0), TEXT("not-a-token"), INTEGER(5)));
    assert_malformed(started, LIST(INTEGER(0), TEXT(TOKEN_TEXT)), LIST(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(0)),
                     LIST(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(-1)), LIST(INTEGER(0), TEXT(TOKEN_TEXT), TEXT("1000")),
                     LIST(INTEGER(0), TEXT("0000000000"), INTEGER(1000)),
                     LIST(INTEGER(0), TEXT("000000000000"), INTEGER(1000)), LIST(INTEGER(0), TEXT(""), INTEGER(1000)),
                     LIST(INTEGER(0), INTEGER(31), INTEGER(1000)), LIST(INTEGER(0), NIL, INTEGER(1000)),
                     LIST(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(1000)),
                     LIST(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(1000), INTEGER(-1)));
}

/* ---- turn ---- */

static void turned_may_have_nothing_to_say(void **state)
{
    struct script_turned out;
    (void)state;
    assert_ok(script_turned(LIST(INTEGER(0), INTEGER(0), INTEGER(0), INTEGER(0)), &out));
    assert_false(out.is_more);
    assert_null(out.ends);
    assert_null(out.damaged);
    assert_int_equal(out.n_takes, 0);
}

static void turned_has_ends_damage_and_takes(void **state)
{
    const redisReply *r = LIST(INTEGER(0), LIST(INTEGER(0), INTEGER(MUSTER_E_LOST)), TEXT("p:queues:q"), INTEGER(1),
                               INTEGER(1), TEXT("00000000001"), LIST(TEXT("a"), TEXT("b")), INTEGER(0), INTEGER(-3),
                               TEXT(TOKEN_TEXT), LIST(TEXT("job-1"), LIST(TEXT("state"), NIL)), INTEGER(1));
    struct script_turned out;
    struct script_take take;
    (void)state;
    assert_ok(script_turned(r, &out));
    assert_int_equal(reply_len(out.ends), 2);
    assert_int_equal(reply_integer(reply_at(out.ends, 1)), MUSTER_E_LOST);
    assert_string_equal(out.damaged, "p:queues:q");
    assert_true(out.is_more);
    assert_int_equal(out.n_takes, 2);

    assert_ok(script_turned_take(r, 0, &take));
    assert_int_equal(take.place, 0);
    assert_int_equal(take.first_token, 1);
    assert_int_equal(reply_len(take.tasks), 2);
    assert_null(take.job);
    assert_false(take.is_suspect);
    assert_ok(script_turned_take(r, 1, &take));
    assert_int_equal(take.place, 2);
    assert_int_equal(take.first_token, TOKEN_NUMBER);
    assert_null(take.tasks);
    assert_string_equal(take.job, "job-1");
    assert_int_equal(reply_len(take.record), 2);
    assert_true(take.is_suspect);
}

static void what_is_not_turned_is_an_error(void **state)
{
    (void)state;
    assert_malformed(turned, LIST(INTEGER(0), TEXT("x"), INTEGER(0), INTEGER(0)),
                     LIST(INTEGER(0), INTEGER(0), INTEGER(0), INTEGER(0), INTEGER(1)));
    assert_malformed(turned, LIST(INTEGER(0), INTEGER(0), INTEGER(0)),
                     LIST(INTEGER(0), INTEGER(1), INTEGER(0), INTEGER(0)));
}

#define TAKE(...) LIST(INTEGER(0), INTEGER(0), INTEGER(0), INTEGER(0), __VA_ARGS__, INTEGER(0))

static void a_malformed_take_is_refused(void **state)
{
    (void)state;
    assert_malformed(first_take, TAKE(INTEGER(0), TEXT(TOKEN_TEXT), LIST(TEXT("a"))),
                     TAKE(TEXT("1"), TEXT(TOKEN_TEXT), LIST(TEXT("a"))), TAKE(NIL, TEXT(TOKEN_TEXT), LIST(TEXT("a"))),
                     TAKE(INTEGER(1), TEXT("000000000-1"), LIST(TEXT("a"))),
                     TAKE(INTEGER(1), TEXT("v"), LIST(TEXT("a"))), TAKE(INTEGER(1), INTEGER(31), LIST(TEXT("a"))),
                     TAKE(INTEGER(1), TEXT(TOKEN_TEXT), TEXT("a")), TAKE(INTEGER(1), TEXT(TOKEN_TEXT), NIL),
                     TAKE(INTEGER(1), TEXT(TOKEN_TEXT)), NIL, NULL);
}

static void a_malformed_take_of_a_job_is_refused(void **state)
{
    (void)state;
    assert_malformed(first_take, TAKE(INTEGER(-1), TEXT(TOKEN_TEXT), EMPTY_LIST),
                     TAKE(INTEGER(-1), TEXT(TOKEN_TEXT), LIST(INTEGER(1), EMPTY_LIST)),
                     TAKE(INTEGER(-1), TEXT("v"), LIST(TEXT("id"), EMPTY_LIST)),
                     TAKE(INTEGER(-1), TEXT(TOKEN_TEXT), TEXT("id")), TAKE(INTEGER(-1), NIL, LIST(TEXT("id"))));
}

static void a_take_beyond_the_last_is_refused(void **state)
{
    const redisReply *r = TAKE(INTEGER(1), TEXT(TOKEN_TEXT), LIST(TEXT("a")));
    (void)state;
    assert_ok(script_turned_take(r, 0, &(struct script_take){0}));
    assert_err(script_turned_take(r, 1, &(struct script_take){0}), MUSTER_E_REDIS);
    assert_err(script_turned_take(r, 1000, &(struct script_take){0}), MUSTER_E_REDIS);
}

/* ---- take ---- */

static void leased_has_tasks_alone_or_tasks_and_jobs_one_by_one(void **state)
{
    const redisReply *alone =
        LIST(INTEGER(0), INTEGER(-1), INTEGER(77), TEXT(TOKEN_TEXT), LIST(TEXT("a"), TEXT("b")), INTEGER(1));
    const redisReply *mixed =
        LIST(INTEGER(0), INTEGER(5), INTEGER(77), TEXT(""), EMPTY_LIST, INTEGER(0), TEXT("00000000001"), TEXT(""),
             TEXT("a\0b"), TEXT("00000000002"), TEXT("job-1"), LIST(TEXT("state"), TEXT("waiting")),
             TEXT("00000000003"), TEXT("job-2"), INTEGER(70000));
    struct script_leased out;
    struct script_leased_one one;
    (void)state;
    assert_ok(script_leased(alone, 2, &out));
    assert_int_equal(out.next_due_ms, -1);
    assert_int_equal(out.ends_at_ms, 77);
    assert_int_equal(out.first_token, TOKEN_NUMBER);
    assert_int_equal(reply_len(out.tasks), 2);
    assert_true(out.is_more);
    assert_int_equal(script_leased_len(&out), 2);
    assert_ok(script_leased_one(alone, &out, 1, &one));
    assert_int_equal(one.token, TOKEN_NUMBER + 1);
    assert_memory_equal(one.task.data, "b", 1);
    assert_ok(script_leased(mixed, 3, &out));
    assert_int_equal(reply_len(out.tasks), 0);
    assert_false(out.is_more);
    assert_int_equal(script_leased_len(&out), 3);
    assert_ok(script_leased_one(mixed, &out, 0, &one));
    assert_null(one.job);
    assert_int_equal(one.token, 1);
    assert_int_equal(one.task.len, 3);
    assert_ok(script_leased_one(mixed, &out, 1, &one));
    assert_string_equal(one.job, "job-1");
    assert_int_equal(one.token, 2);
    assert_int_equal(reply_len(one.record), 2);
    assert_int_equal(one.held_back, 0);
    assert_ok(script_leased_one(mixed, &out, 2, &one));
    assert_string_equal(one.job, "job-2");
    assert_int_equal(one.held_back, 70000);
    assert_err(script_leased(alone, 1, &out), MUSTER_E_REDIS); /* more than were asked for */
    assert_err(script_leased(mixed, 2, &out), MUSTER_E_REDIS);
}

static int first_leased(const redisReply *r)
{
    struct script_leased out = {0};
    (void)script_leased(r, 1, &out);
    return script_leased_one(r, &out, 0, &(struct script_leased_one){0});
}

#define LEASED(...) LIST(INTEGER(0), INTEGER(5), INTEGER(77), TEXT(""), EMPTY_LIST, __VA_ARGS__)

static void a_malformed_lease_is_refused(void **state)
{
    (void)state;
    assert_malformed(first_leased, LEASED(TEXT(TOKEN_TEXT), TEXT("id"), TEXT("a")),
                     LEASED(TEXT(TOKEN_TEXT), TEXT(""), LIST(TEXT("state"))), LEASED(TEXT("v"), TEXT(""), TEXT("a")),
                     LEASED(INTEGER(1), TEXT(""), TEXT("a")), LEASED(TEXT(TOKEN_TEXT), TEXT("")),
                     LEASED(TEXT(TOKEN_TEXT)), NIL, NULL);
}

/* ---- jobs ---- */

static void cancelled_jobs_are_counted(void **state)
{
    struct script_cancelled cancelled;
    (void)state;
    assert_ok(
        script_jobs_cancelled(LIST(INTEGER(0), INTEGER(3), INTEGER(1), INTEGER(2), TEXT("a"), TEXT("q")), &cancelled));
    assert_int_equal(cancelled.removed, 3);
    assert_int_equal(cancelled.running, 1);
    assert_int_equal(cancelled.left, 2);
    assert_string_equal(cancelled.queue, "q");
    assert_err(script_jobs_cancelled(LIST(INTEGER(MUSTER_E_STATE), TEXT("other")), &cancelled), MUSTER_E_STATE);
    assert_err(script_jobs_cancelled(LIST(INTEGER(0), INTEGER(3), INTEGER(1)), &cancelled), MUSTER_E_REDIS);
    assert_err(script_jobs_cancelled(NULL, &cancelled), MUSTER_E_CONN);
}

static void a_queues_deletion_may_go_on(void **state)
{
    uint64_t removed, running;
    bool is_more;
    (void)state;
    assert_ok(script_cancelled(LIST(INTEGER(0), INTEGER(1000), INTEGER(0), INTEGER(1)), &removed, &running, &is_more));
    assert_int_equal(removed, 1000);
    assert_true(is_more);
    assert_ok(script_cancelled(LIST(INTEGER(0), INTEGER(2), INTEGER(1), INTEGER(0)), &removed, &running, &is_more));
    assert_int_equal(running, 1);
    assert_false(is_more);
    assert_err(script_cancelled(LIST(INTEGER(0), INTEGER(2)), &removed, &running, &is_more), MUSTER_E_REDIS);
    assert_false(is_more);
}

/* ---- heartbeat ---- */

#define HEARD(interval, token, ...) LIST(INTEGER(0), interval, INTEGER(2), token, TEXT("1"), INTEGER(10), __VA_ARGS__)

static void heard_has_all_its_parts(void **state)
{
    const redisReply *r = HEARD(INTEGER(1000), TEXT(TOKEN_TEXT), TEXT("p:ttls"),
                                LIST(TEXT(TOKEN_TEXT), TEXT("c"), TEXT("00000000002"), TEXT("d")), INTEGER(20),
                                LIST(INTEGER(2), TEXT("24"), TEXT("90"), INTEGER(SHARE_LACK)), INTEGER(1), TEXT("w-2"),
                                TEXT("w-3"), INTEGER(4));
    struct script_share_figures figures;
    size_t place;
    struct script_heard out;
    struct script_mark mark;
    (void)state;
    assert_ok(script_heard(r, &out));
    assert_int_equal(out.interval_ms, 1000);
    assert_int_equal(out.held, 2);
    assert_int_equal(out.last_token, TOKEN_NUMBER);
    assert_true(out.work);
    assert_int_equal(out.n_past, 10);
    assert_string_equal(out.damaged, "p:ttls");
    assert_int_equal(script_marks(out.marks), 2);
    assert_ok(script_marked(out.marks, 0, &mark));
    assert_int_equal(mark.token, TOKEN_NUMBER);
    assert_false(mark.is_deleted);
    assert_ok(script_marked(out.marks, 1, &mark));
    assert_true(mark.is_deleted);
    assert_err(script_marked(out.marks, 2, &mark), MUSTER_E_REDIS);
    assert_int_equal(out.next_due_ms, 20);
    assert_int_equal(script_shares(out.shares), 1);
    assert_ok(script_share_of(out.shares, 0, &place, &figures));
    assert_int_equal(place, 1);
    assert_int_equal(figures.runs, 24);
    assert_int_equal(figures.hands, 90);
    assert_int_equal(figures.notes, SHARE_LACK);
    assert_err(script_share_of(out.shares, 1, &place, &figures), MUSTER_E_REDIS);
    assert_int_equal(out.n_ears, 1);
    assert_int_equal(out.n_dead, 3);
    assert_string_equal(script_heard_dead(r, 0), "w-2");
    assert_string_equal(script_heard_dead(r, 1), "w-3");
    assert_null(script_heard_dead(r, 2));
    assert_null(script_heard_dead(r, 3));
}

static void heard_may_have_nothing_to_say(void **state)
{
    const redisReply *r = LIST(INTEGER(0), INTEGER(33), INTEGER(0), TEXT("00000000000"), TEXT("0"), INTEGER(0),
                               INTEGER(0), EMPTY_LIST, INTEGER(HEARD_OTHER_KEEPER), EMPTY_LIST, INTEGER(0));
    struct script_heard out;
    (void)state;
    assert_ok(script_heard(r, &out));
    assert_int_equal(script_shares(out.shares), 0);
    assert_int_equal(out.interval_ms, 33);
    assert_int_equal(out.held, 0);
    assert_int_equal(out.last_token, 0);
    assert_false(out.work);
    assert_int_equal(out.n_past, 0);
    assert_null(out.damaged);
    assert_int_equal(out.next_due_ms, HEARD_OTHER_KEEPER);
    assert_int_equal(out.n_dead, 0);
    assert_null(script_heard_dead(r, 0));
}

static void what_was_not_heard_is_an_error(void **state)
{
    (void)state;
    assert_malformed(
        heard, LIST(INTEGER(0), INTEGER(1), INTEGER(2), TEXT(TOKEN_TEXT), TEXT("1"), INTEGER(0)),
        HEARD(INTEGER(0), TEXT(TOKEN_TEXT), INTEGER(0), EMPTY_LIST), HEARD(INTEGER(-5), TEXT(TOKEN_TEXT), INTEGER(0)),
        HEARD(TEXT("1000"), TEXT(TOKEN_TEXT), INTEGER(0), EMPTY_LIST),
        HEARD(INTEGER(1000), TEXT("0000000000w"), INTEGER(0)),
        HEARD(INTEGER(1000), INTEGER(31), INTEGER(0), EMPTY_LIST), HEARD(INTEGER(1000), NIL, INTEGER(0), EMPTY_LIST));
}

/* ---- shares ---- */

static void shared_has_its_moves(void **state)
{
    const redisReply *r = LIST(INTEGER(0), INTEGER(1), INTEGER(30000), TEXT(TOKEN_TEXT ":e:w:f:v-1"), TEXT("short"));
    struct script_shared out;
    const char *damaged, *move;
    uint64_t token;
    (void)state;
    assert_ok(script_shared(r, &out, &damaged));
    assert_true(out.asks_again);
    assert_int_equal(out.move_ms, 30000);
    assert_int_equal(out.n_moves, 2);
    move = script_shared_move(r, 0, &token);
    assert_non_null(move);
    assert_int_equal(token, TOKEN_NUMBER);
    assert_string_equal(script_move_to(move), "v-1");
    assert_null(script_shared_move(r, 1, &token));
    assert_null(script_shared_move(r, 2, &token));
    assert_err(script_shared(LIST(INTEGER(0), INTEGER(0)), &out, &damaged), MUSTER_E_REDIS);
    assert_err(script_shared(LIST(INTEGER(MUSTER_E_REDIS), TEXT("p:moves:q")), &out, &damaged), MUSTER_E_REDIS);
    assert_string_equal(damaged, "p:moves:q");
}

/* ---- read-back ---- */

static void read_has_queues_with_their_tokens(void **state)
{
    const redisReply *r = LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST, EMPTY_LIST, TEXT("a"),
                               LIST(TEXT("00000000001")), TEXT("b"), LIST(TEXT("00000000002"), TEXT("00000000003")));
    const redisReply *tokens;
    struct script_read out;
    (void)state;
    assert_ok(script_read(r, &out));
    assert_int_equal(out.last_token, TOKEN_NUMBER);
    assert_int_equal(out.n_queues, 2);
    assert_string_equal(script_read_queue(r, 0, &tokens), "a");
    assert_int_equal(reply_len(tokens), 1);
    assert_string_equal(script_read_queue(r, 1, &tokens), "b");
    assert_int_equal(reply_len(tokens), 2);
    assert_null(script_read_queue(r, 2, &tokens));
    assert_null(tokens);
    assert_ok(script_read(LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST, EMPTY_LIST), &out));
    assert_int_equal(out.n_queues, 0);
}

static void read_has_what_commands_have_ended(void **state)
{
    const redisReply *r =
        LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST,
             LIST(TEXT("00000000002"), TEXT("x"), TEXT("no token"), TEXT("f"), TEXT("00000000001"), NIL));
    struct script_read out;
    struct script_own_end end;
    (void)state;
    assert_ok(script_read(r, &out));
    assert_int_equal(script_own_ends(out.own_ends), 3);
    assert_ok(script_own_end(out.own_ends, 0, &end));
    assert_int_equal(end.token, 2);
    assert_int_equal(end.letter, 'x');
    assert_err(script_own_end(out.own_ends, 1, &end), MUSTER_E_REDIS);
    assert_ok(script_own_end(out.own_ends, 2, &end));
    assert_int_equal(end.letter, 0);
    assert_int_equal(script_own_ends(reply_at(r, 9)), 0);
}

static void a_queue_of_the_wrong_form_reads_as_nothing(void **state)
{
    const redisReply *r = LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST, EMPTY_LIST, INTEGER(1), TEXT("no list"), NIL);
    const redisReply *tokens;
    (void)state;
    assert_null(script_read_queue(r, 0, &tokens));
    assert_int_equal(reply_len(tokens), 0);
    assert_null(script_read_queue(r, 1, &tokens));
    assert_int_equal(reply_len(tokens), 0);
}

static void what_was_not_read_is_an_error(void **state)
{
    (void)state;
    assert_malformed(read_back, LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST, EMPTY_LIST, TEXT("q")),
                     LIST(INTEGER(0), TEXT(TOKEN_TEXT), EMPTY_LIST));
    assert_malformed(read_back, LIST(INTEGER(0), TEXT("0000000000"), EMPTY_LIST, EMPTY_LIST),
                     LIST(INTEGER(0), TEXT("0000000000w"), EMPTY_LIST, EMPTY_LIST),
                     LIST(INTEGER(0), INTEGER(31), EMPTY_LIST, EMPTY_LIST, TEXT("a"), EMPTY_LIST),
                     LIST(INTEGER(0), NIL, EMPTY_LIST, EMPTY_LIST));
}

/* ---- taking up ---- */

static int take_up(const redisReply *r)
{
    const char *damaged;
    return script_taken_up(r, &(struct script_taken_up){0}, &damaged);
}

static void taken_up_has_what_moved_and_what_went_back(void **state)
{
    const redisReply *r = LIST(INTEGER(0), INTEGER(7), INTEGER(1), LIST(TEXT("a"), INTEGER(2), TEXT("b"), TEXT("x")));
    struct script_taken_up out;
    const char *damaged;
    uint64_t n;
    (void)state;
    assert_ok(script_taken_up(r, &out, &damaged));
    assert_int_equal(out.moved, 7);
    assert_true(out.is_more);
    assert_int_equal(out.n_given_back, 2);
    assert_string_equal(script_taken_up_given_back(r, 0, &n), "a");
    assert_int_equal(n, 2);
    assert_null(script_taken_up_given_back(r, 1, &n));
    assert_null(script_taken_up_given_back(r, 2, &n));
    assert_err(script_taken_up(LIST(INTEGER(MUSTER_E_REDIS), TEXT("p:token")), &out, &damaged), MUSTER_E_REDIS);
    assert_string_equal(damaged, "p:token");
}

static void what_is_not_taken_up_is_an_error(void **state)
{
    (void)state;
    assert_malformed(take_up, LIST(INTEGER(0), INTEGER(-1), INTEGER(0), EMPTY_LIST),
                     LIST(INTEGER(0), INTEGER(1), INTEGER(0)), LIST(INTEGER(0)), NIL);
}

/* ---- sweep and stop ---- */

static int swept(const redisReply *r)
{
    const char *damaged;
    struct script_swept out = {.given_back = 99, .crashed = 99};
    int err = script_swept(r, &out, &damaged);
    if (err != MUSTER_OK)
        assert_int_equal(out.given_back + out.crashed, 0);
    return err;
}

static void swept_has_two_numbers_or_the_damaged_key(void **state)
{
    struct script_swept out;
    const char *damaged;
    (void)state;
    assert_ok(script_swept(LIST(INTEGER(0), INTEGER(12), INTEGER(3)), &out, &damaged));
    assert_int_equal(out.given_back, 12);
    assert_int_equal(out.crashed, 3);
    assert_err(script_swept(LIST(INTEGER(MUSTER_E_REDIS), TEXT("p:queues:q")), &out, &damaged), MUSTER_E_REDIS);
    assert_string_equal(damaged, "p:queues:q");
    assert_err(swept(LIST(INTEGER(MUSTER_E_STATE))), MUSTER_E_STATE);
    assert_err(swept(NULL), MUSTER_E_CONN);
    assert_malformed(swept, NIL, LIST(INTEGER(0)), LIST(INTEGER(0), INTEGER(1)),
                     LIST(INTEGER(0), INTEGER(1), INTEGER(-1)), LIST(INTEGER(0), INTEGER(-1), INTEGER(1)),
                     LIST(INTEGER(0), INTEGER(1), TEXT("1")), LIST(INTEGER(0), INTEGER(1), NIL));
}

static void given_back_has_a_number_or_the_damaged_key(void **state)
{
    const struct {
        const redisReply *reply;
        int err;
        uint64_t n;
        const char *damaged;
    } answers[] = {
        {LIST(INTEGER(0), INTEGER(12)), MUSTER_OK, 12, NULL},
        {LIST(INTEGER(0), INTEGER(0)), MUSTER_OK, 0, NULL},
        {LIST(INTEGER(MUSTER_E_REDIS), TEXT("p:queues:q")), MUSTER_E_REDIS, 0, "p:queues:q"},
        {LIST(INTEGER(MUSTER_E_REDIS)), MUSTER_E_REDIS, 0, NULL},
        {LIST(INTEGER(0)), MUSTER_E_REDIS, 0, NULL},
        {NIL, MUSTER_E_REDIS, 0, NULL},
        {LIST(INTEGER(MUSTER_E_STATE)), MUSTER_E_STATE, 0, NULL},
        {ERROR("READONLY no"), MUSTER_E_BUSY, 0, NULL},
        {NULL, MUSTER_E_CONN, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(answers); i++) {
        uint64_t n = 99;
        const char *damaged = "";
        assert_err(script_given_back(answers[i].reply, &n, &damaged), answers[i].err);
        assert_int_equal(n, answers[i].n);
        assert_int_equal(!damaged, !answers[i].damaged);
        if (damaged)
            assert_string_equal(damaged, answers[i].damaged);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_or_an_error_is_itself_whoever_reads_it),
        cmocka_unit_test(started_has_epoch_and_interval),
        cmocka_unit_test(what_is_not_started_is_an_error),
        cmocka_unit_test(turned_may_have_nothing_to_say),
        cmocka_unit_test(turned_has_ends_damage_and_takes),
        cmocka_unit_test(what_is_not_turned_is_an_error),
        cmocka_unit_test(a_malformed_take_is_refused),
        cmocka_unit_test(a_malformed_take_of_a_job_is_refused),
        cmocka_unit_test(a_take_beyond_the_last_is_refused),
        cmocka_unit_test(leased_has_tasks_alone_or_tasks_and_jobs_one_by_one),
        cmocka_unit_test(a_malformed_lease_is_refused),
        cmocka_unit_test(cancelled_jobs_are_counted),
        cmocka_unit_test(a_queues_deletion_may_go_on),
        cmocka_unit_test(heard_has_all_its_parts),
        cmocka_unit_test(heard_may_have_nothing_to_say),
        cmocka_unit_test(what_was_not_heard_is_an_error),
        cmocka_unit_test(shared_has_its_moves),
        cmocka_unit_test(read_has_queues_with_their_tokens),
        cmocka_unit_test(read_has_what_commands_have_ended),
        cmocka_unit_test(a_queue_of_the_wrong_form_reads_as_nothing),
        cmocka_unit_test(what_was_not_read_is_an_error),
        cmocka_unit_test(taken_up_has_what_moved_and_what_went_back),
        cmocka_unit_test(what_is_not_taken_up_is_an_error),
        cmocka_unit_test(swept_has_two_numbers_or_the_damaged_key),
        cmocka_unit_test(given_back_has_a_number_or_the_damaged_key),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
