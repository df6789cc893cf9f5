/* SPDX-License-Identifier: MIT
 *
 * Reading replies: each accessor on each kind, numbers that come as text, and what Redis' errors mean.
 */
#include "redis/reply.h"

#include <limits.h>
#include <string.h>

#include "made_reply.h"

static void assert_bytes(struct muster_bytes found, const char *data, size_t len)
{
    assert_int_equal(found.len, len);
    if (data)
        assert_memory_equal(found.data, data, len);
    else
        assert_null(found.data);
}

static void each_kind_reads_as_itself_and_as_nothing_else(void **state)
{
    const struct {
        const redisReply *reply;
        enum reply_kind kind;
        long long integer;
        const char *text;
        size_t text_len, len;
    } cases[] = {
        {NULL, REPLY_NONE, 0, NULL, 0, 0},
        {NIL, REPLY_NIL, 0, NULL, 0, 0},
        {&(redisReply){.type = 99, .integer = 5, .elements = 1}, REPLY_NIL, 0, NULL, 0, 0},
        {INTEGER(-7), REPLY_INTEGER, -7, NULL, 0, 0},
        {INTEGER(LLONG_MAX), REPLY_INTEGER, LLONG_MAX, NULL, 0, 0},
        {TEXT("12"), REPLY_TEXT, 0, "12", 2, 0},
        {TEXT(""), REPLY_TEXT, 0, "", 0, 0},
        {TEXT("a\0b"), REPLY_TEXT, 0, "a\0b", 3, 0},
        {STATUS("OK"), REPLY_TEXT, 0, "OK", 2, 0},
        {ERROR("ERR x"), REPLY_ERROR, 0, "ERR x", 5, 0},
        {EMPTY_LIST, REPLY_LIST, 0, NULL, 0, 0},
        {LIST(INTEGER(1), NIL), REPLY_LIST, 0, NULL, 0, 2},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        const redisReply *r = cases[i].reply;
        assert_int_equal(reply_kind(r), cases[i].kind);
        assert_true(reply_integer(r) == cases[i].integer);
        assert_bytes(reply_bytes(r), cases[i].text, cases[i].text_len);
        assert_ptr_equal(reply_text(r), reply_bytes(r).data);
        assert_int_equal(reply_len(r), cases[i].len);
        assert_null(reply_at(r, cases[i].len));
        assert_null(reply_at(r, SIZE_MAX));
    }
}

static void elements_are_read_by_place(void **state)
{
    redisReply *inner = LIST(TEXT("x"), INTEGER(2));
    const redisReply *r = LIST(NIL, inner);
    (void)state;
    assert_int_equal(reply_kind(reply_at(r, 0)), REPLY_NIL);
    assert_ptr_equal(reply_at(r, 1), inner);
    assert_int_equal(reply_integer(reply_at(reply_at(r, 1), 1)), 2);
    assert_null(reply_at(reply_at(r, 0), 0));
}

static void a_text_is_compared_whole(void **state)
{
    (void)state;
    assert_true(reply_is(TEXT("PONG"), "PONG"));
    assert_true(reply_is(STATUS("PONG"), "PONG"));
    assert_true(reply_is(TEXT(""), ""));
    assert_false(reply_is(TEXT("PON"), "PONG"));
    assert_false(reply_is(TEXT("PONG2"), "PONG"));
    assert_false(reply_is(TEXT("PONG\0"), "PONG"));
    assert_false(reply_is(TEXT("pong"), "PONG"));
    assert_false(reply_is(NULL, ""));
    assert_false(reply_is(NIL, ""));
    assert_false(reply_is(INTEGER(1), "1"));
    assert_false(reply_is(LIST(TEXT("PONG")), "PONG"));
}

static void a_field_is_found_by_its_name_alone(void **state)
{
    const redisReply *flat = LIST(TEXT("a"), TEXT("b"), TEXT("b"), INTEGER(7), TEXT("c"));
    (void)state;
    assert_true(reply_is(reply_field(flat, "a"), "b"));
    assert_int_equal(reply_integer(reply_field(flat, "b")), 7);
    assert_null(reply_field(flat, "c"));
    assert_null(reply_field(flat, ""));
    assert_null(reply_field(TEXT("a"), "a"));
    assert_null(reply_field(NULL, "a"));
}

static void a_number_may_come_as_text(void **state)
{
    const long long otherwise = -99;
    const struct {
        const redisReply *reply;
        long long number;
    } cases[] = {
        {INTEGER(5), 5},
        {INTEGER(LLONG_MIN), LLONG_MIN},
        {TEXT("0"), 0},
        {TEXT("-12"), -12},
        {TEXT("1700000000123"), 1700000000123},
        {TEXT("17.5"), 17}, /* scores */
        {STATUS("3"), 3},
        {TEXT(""), otherwise},
        {TEXT("x"), otherwise},
        {TEXT("5x"), otherwise},
        {TEXT("1.5e+18"), otherwise},
        {TEXT("1.x"), otherwise},
        {TEXT("inf"), otherwise},
        {TEXT("5 "), otherwise},
        {ERROR("5"), otherwise},
        {LIST(INTEGER(5)), otherwise},
        {NIL, otherwise},
        {NULL, otherwise},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_true(reply_number(cases[i].reply, otherwise) == cases[i].number);
}

static void a_count_is_never_below_0(void **state)
{
    (void)state;
    assert_true(reply_count(INTEGER(5)) == 5);
    assert_true(reply_count(INTEGER(LLONG_MAX)) == LLONG_MAX);
    assert_true(reply_count(INTEGER(-1)) == 0);
    assert_true(reply_count(INTEGER(LLONG_MIN)) == 0);
    assert_true(reply_count(TEXT("5")) == 5);
    assert_true(reply_count(TEXT("-5")) == 0);
    assert_true(reply_count(TEXT("x")) == 0);
    assert_true(reply_count(NULL) == 0);
}

static void a_time_is_seconds_and_microseconds(void **state)
{
    (void)state;
    assert_true(reply_time_ms(LIST(TEXT("1700000000"), TEXT("123456"))) == 1700000000123);
    assert_true(reply_time_ms(LIST(TEXT("0"), TEXT("999"))) == 0);
    assert_true(reply_time_ms(LIST(TEXT("9223372036854775807"), TEXT("0"))) == -1);
    assert_true(reply_time_ms(LIST(TEXT("-1"), TEXT("0"))) == -1);
    assert_true(reply_time_ms(LIST(TEXT("1"), TEXT("1000000"))) == -1);
    assert_true(reply_time_ms(LIST(TEXT("1"))) == -1);
    assert_true(reply_time_ms(TEXT("1")) == -1);
    assert_true(reply_time_ms(NULL) == -1);
}

/* ---- errors ---- */

static void redis_errors_have_a_meaning(void **state)
{
    static const struct {
        const char *text;
        int err;
    } cases[] = {
        {"OOM command not allowed when used memory > 'maxmemory'.", MUSTER_E_FULL},
        {"LOADING Redis is loading the dataset in memory", MUSTER_E_BUSY},
        {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", MUSTER_E_BUSY},
        {"READONLY You can't write against a read only replica.", MUSTER_E_BUSY},
        {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist", MUSTER_E_BUSY},
        {"NOREPLICAS Not enough good replicas to write.", MUSTER_E_BUSY},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", MUSTER_E_BUSY},
        {"CLUSTERDOWN The cluster is down", MUSTER_E_BUSY},
        {"TRYAGAIN Multiple keys request during rehashing of slot", MUSTER_E_BUSY},
        {"ERR max number of clients reached", MUSTER_E_BUSY},
        {"NOAUTH Authentication required.", MUSTER_E_DENIED},
        {"WRONGPASS invalid username-password pair or user is disabled.", MUSTER_E_DENIED},
        {"NOPERM this user has no permissions to run the 'get' command", MUSTER_E_DENIED},
        {"DENIED Redis is running in protected mode", MUSTER_E_DENIED},
        {"ERR invalid password", MUSTER_E_DENIED},
        {"ERR AUTH <password> called without any password configured for the default user.", MUSTER_E_DENIED},
        {"ERR The user executing the script can't run this command or subcommand", MUSTER_E_DENIED},
        {"ERR ACL failure in script: User p has no permissions to run the 'rename' command script: 1", MUSTER_E_DENIED},
        {"ERR ACL failure in script: No permissions to access a key script: 1", MUSTER_E_DENIED},
        {"OOM", MUSTER_E_FULL},
        {"OOMX", MUSTER_E_REDIS},
        {"OO M", MUSTER_E_REDIS},
        {"oom", MUSTER_E_REDIS},
        {"BUSYKEY Target key name already exists.", MUSTER_E_REDIS},
        {"BUSYGROUP Consumer Group name already exists", MUSTER_E_REDIS},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", MUSTER_E_REDIS},
        {"NOSCRIPT No matching script. Please use EVAL.", MUSTER_E_REDIS},
        {"ERR unknown command", MUSTER_E_REDIS},
        {"ERR OOM is not first", MUSTER_E_REDIS},
        {"", MUSTER_E_REDIS},
        {" ", MUSTER_E_REDIS},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        const redisReply r = {.type = REDIS_REPLY_ERROR, .str = (char *)cases[i].text, .len = strlen(cases[i].text)};
        if (reply_err_of_text(cases[i].text) != cases[i].err)
            fail_msg("'%s' is %s", cases[i].text, muster_err_name(reply_err_of_text(cases[i].text)));
        assert_err(reply_err(&r), cases[i].err);
        assert_err(reply_status(&r), cases[i].err);
    }
}

/* The words of Redis 7.0, and those of later ones and of Valkey. */
static void a_missing_right_is_known_by_the_words_of_each_engine(void **state)
{
    static const struct {
        const char *text;
        enum reply_right right;
    } cases[] = {
        {"NOPERM this user has no permissions to run the 'get' command", REPLY_COMMAND},
        {"NOPERM User p has no permissions to run the 'get' command", REPLY_COMMAND},
        {"NOPERM this user has no permissions to access one of the keys used as arguments", REPLY_KEY},
        {"NOPERM No permissions to access a key", REPLY_KEY},
        {"ERR The user executing the script can't access at least one of the keys mentioned in the command", REPLY_KEY},
        {"ERR ACL failure in script: No permissions to access a key script: 1", REPLY_KEY},
        {"NOPERM this user has no permissions to access one of the channels used as arguments", REPLY_CHANNEL},
        {"NOPERM No permissions to access a channel", REPLY_CHANNEL},
        {"ERR The user executing the script can't publish to the channel mentioned in the command", REPLY_CHANNEL},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        if (reply_missing_right(cases[i].text) != cases[i].right)
            fail_msg("'%s' is about another right", cases[i].text);
        assert_err(reply_err_of_text(cases[i].text), MUSTER_E_DENIED);
    }
}

static void what_is_no_error_is_none(void **state)
{
    (void)state;
    assert_err(reply_err(NULL), MUSTER_E_CONN);
    assert_ok(reply_err(NIL));
    assert_ok(reply_err(INTEGER(MUSTER_E_LOST)));
    assert_ok(reply_err(TEXT("OOM")));
    assert_ok(reply_err(STATUS("OK")));
    assert_ok(reply_err(LIST(ERROR("OOM"))));
}

static void a_scripts_own_status_is_an_error_too(void **state)
{
    const struct {
        const redisReply *reply;
        int err;
    } cases[] = {
        {NULL, MUSTER_E_CONN},
        {INTEGER(0), MUSTER_OK},
        {INTEGER(12), MUSTER_OK},
        {INTEGER(MUSTER_E_GONE), MUSTER_E_GONE},
        {LIST(INTEGER(MUSTER_E_STATE)), MUSTER_E_STATE},
        {LIST(INTEGER(MUSTER_E_REDIS), TEXT("key")), MUSTER_E_REDIS},
        {LIST(INTEGER(0), INTEGER(MUSTER_E_LOST)), MUSTER_OK},
        {LIST(INTEGER(3)), MUSTER_OK},
        {INTEGER(LLONG_MAX), MUSTER_OK},
        {INTEGER(-1000), MUSTER_E_REDIS}, /* no error of muster's */
        {INTEGER(LLONG_MIN), MUSTER_E_REDIS},
        {INTEGER((long long)INT_MIN - 1), MUSTER_E_REDIS},
        {LIST(INTEGER(-1000)), MUSTER_E_REDIS},
        {LIST(LIST(INTEGER(MUSTER_E_LOST))), MUSTER_E_REDIS}, /* no status */
        {LIST(NIL), MUSTER_E_REDIS},
        {EMPTY_LIST, MUSTER_E_REDIS},
        {NIL, MUSTER_E_REDIS},
        {TEXT("-15"), MUSTER_E_REDIS},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_err(reply_status(cases[i].reply), cases[i].err);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_reads_as_itself_and_as_nothing_else),
        cmocka_unit_test(elements_are_read_by_place),
        cmocka_unit_test(a_text_is_compared_whole),
        cmocka_unit_test(a_field_is_found_by_its_name_alone),
        cmocka_unit_test(a_number_may_come_as_text),
        cmocka_unit_test(a_count_is_never_below_0),
        cmocka_unit_test(a_time_is_seconds_and_microseconds),
        cmocka_unit_test(redis_errors_have_a_meaning),
        cmocka_unit_test(a_missing_right_is_known_by_the_words_of_each_engine),
        cmocka_unit_test(what_is_no_error_is_none),
        cmocka_unit_test(a_scripts_own_status_is_an_error_too),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
