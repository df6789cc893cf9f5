/* SPDX-License-Identifier: MIT
 *
 * What is said on a new connection, and what is read from the answers.
 */
#include "redis/greeting.h"

#include <string.h>

#include "base/format.h"
#include "made_reply.h"

#define NEEDED "muster needs Redis 7.0 or later"
#define HELLO_OF_7 LIST(TEXT("server"), TEXT("redis"), TEXT("version"), TEXT("7.0.15"))

static const struct url plain = {.n_nodes = 1};

/* Says the next of it, which must be these words. */
static void assert_says(struct greeting *g, const char *words)
{
    struct command c = COMMAND_EMPTY;
    char said[128] = "";
    assert_true(greeting_say(g, &c));
    for (size_t i = 0; i < c.n; i++) {
        strcat(said, i > 0 ? " " : "");
        strncat(said, c.argv[i], c.lens[i]);
    }
    assert_string_equal(said, words);
    command_clear(&c);
}

static void assert_says_no_more(struct greeting *g)
{
    struct command c = COMMAND_EMPTY;
    assert_false(greeting_say(g, &c));
    assert_int_equal(c.n, 0);
}

static void it_logs_in_selects_and_looks_at_server_and_namespace(void **state)
{
    struct url url = plain;
    (void)state;
    url.user = (char[]){"u"};
    url.password = (char[]){"p"};
    url.db = 3;
    struct greeting g = {.url = &url, .prefix = "n", .format_key = "n:format"};
    assert_says(&g, "AUTH u p");
    assert_says(&g, "SELECT 3");
    assert_says(&g, "HELLO");
    assert_says(&g, "GET n:format");
    assert_says_no_more(&g);
    assert_ok(greeting_hear(&g, STATUS("OK")));
    assert_ok(greeting_hear(&g, STATUS("OK")));
    assert_ok(greeting_hear(&g, HELLO_OF_7));
    assert_false(greeting_is_over(&g));
    assert_ok(greeting_hear(&g, NIL));
    assert_true(greeting_is_over(&g));
    assert_err(greeting_hear(&g, STATUS("OK")), MUSTER_E_REDIS); /* nothing more was said */
}

static void what_is_not_needed_is_not_said(void **state)
{
    struct url url = plain;
    (void)state;
    struct greeting bare = {.url = &url};
    assert_says(&bare, "HELLO");
    assert_says_no_more(&bare);
    assert_ok(greeting_hear(&bare, HELLO_OF_7));
    assert_true(greeting_is_over(&bare));

    url.password = (char[]){"p"};
    struct greeting without_user = {.url = &url};
    assert_says(&without_user, "AUTH p");

    struct greeting handed_in = {.url = &url, .is_handed_in = true};
    assert_says(&handed_in, "HELLO");
    assert_says(&handed_in, "CLIENT INFO");
    assert_says_no_more(&handed_in);

    struct greeting again = {.url = &url, .prefix = "n", .format_key = "n:format", .said = GREETING_FORMAT};
    assert_says(&again, "GET n:format");
    assert_says_no_more(&again);
}

static void a_refusal_is_told_in_its_own_words(void **state)
{
    struct url url = plain;
    (void)state;
    url.password = (char[]){"p"};
    struct greeting g = {.url = &url};
    assert_says(&g, "AUTH p");
    assert_err(greeting_hear(&g, ERROR("WRONGPASS invalid username-password pair")), MUSTER_E_DENIED);
    assert_string_equal(g.why, "WRONGPASS invalid username-password pair");
}

static int hear_database(struct greeting *g, const redisReply *info)
{
    assert_says(g, "HELLO");
    assert_says(g, "CLIENT INFO");
    assert_ok(greeting_hear(g, HELLO_OF_7));
    return greeting_hear(g, info);
}

static void the_database_stands_in_the_answer_to_client_info(void **state)
{
    const struct {
        const redisReply *reply;
        int db;
    } cases[] = {
        {TEXT("id=3 addr=/s:0 laddr=/s:0 fd=8 name= age=0 idle=0 flags=U db=0 sub=0 psub=0 cmd=client|info"), 0},
        {TEXT("id=3 name=db=7 flags=N db=12 sub=0"), 12},
        {TEXT("id=3 db=2147483647"), 2147483647},
        {TEXT("id=3 db=2147483648 sub=0"), -1},
        {TEXT("id=3 db=-1 sub=0"), -1},
        {TEXT("id=3 db= sub=0"), -1},
        {TEXT("id=3 dbs=4"), -1},
        {TEXT(""), -1},
        {INTEGER(4), -1},
        {NIL, -1},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct greeting g = {.is_handed_in = true, .db = -1};
        assert_int_equal(hear_database(&g, cases[i].reply), cases[i].db < 0 ? MUSTER_E_REDIS : MUSTER_OK);
        assert_int_equal(g.db, cases[i].db);
    }
}

static void another_database_than_the_urls_is_refused(void **state)
{
    struct url url = plain;
    (void)state;
    url.db = 12;
    struct greeting same = {.url = &url, .is_handed_in = true}, other = {.url = &plain, .is_handed_in = true};
    assert_ok(hear_database(&same, TEXT("id=3 db=12 sub=0")));
    assert_err(hear_database(&other, TEXT("id=3 db=12 sub=0")), MUSTER_E_INVALID);
    assert_string_equal(other.why, "the connection that was handed in is in database 12, the URL's is 0");
}

static void a_version_below_7_is_refused(void **state)
{
    const struct {
        const redisReply *reply;
        const char *why;
        bool is_too_old;
    } cases[] = {
        {HELLO_OF_7, "", false},
        {LIST(TEXT("version"), TEXT("10.1")), "", false},
        {LIST(TEXT("version"), TEXT("6.2.7")), "the server is of version 6.2.7: " NEEDED, true},
        {ERROR("ERR unknown command 'HELLO'"), "the server does not know HELLO: " NEEDED, true},
        {ERROR("LOADING Redis is loading"), "LOADING Redis is loading", false},
        {LIST(TEXT("version"), TEXT("seven")), "this is not a Redis", false},
        {LIST(TEXT("version"), NIL), "this is not a Redis", false},
        {LIST(TEXT("version")), "this is not a Redis", false},
        {STATUS("PONG"), "this is not a Redis", false},
        {NIL, "this is not a Redis", false},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct greeting g = {.url = &plain};
        assert_says(&g, "HELLO");
        assert_int_equal(greeting_hear(&g, cases[i].reply) == MUSTER_OK, *cases[i].why == '\0');
        assert_string_equal(g.why, cases[i].why);
        assert_int_equal(g.is_too_old, cases[i].is_too_old);
    }
}

static int hear_format(struct greeting *g, const redisReply *reply)
{
    *g = (struct greeting){.url = &plain, .prefix = "n", .format_key = "n:format", .said = GREETING_FORMAT};
    assert_says(g, "GET n:format");
    return greeting_hear(g, reply);
}

static void a_namespace_of_another_format_is_refused(void **state)
{
    struct greeting g;
    (void)state;
    assert_ok(hear_format(&g, TEXT(FORMAT_VERSION)));
    assert_true(g.is_format_known);
    assert_ok(hear_format(&g, NIL));
    assert_false(g.is_format_known);
    assert_err(hear_format(&g, TEXT("0")), MUSTER_E_FORMAT);
    assert_true(g.is_not_the_place);
    assert_non_null(strstr(g.why, "the namespace 'n' is written in format 0"));
    assert_err(hear_format(&g, ERROR("WRONGTYPE Operation against")), MUSTER_E_REDIS);
    assert_non_null(strstr(g.why, "'n:format' has a wrong type"));
    assert_err(hear_format(&g, INTEGER(1)), MUSTER_E_REDIS);
    assert_false(g.is_not_the_place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_logs_in_selects_and_looks_at_server_and_namespace),
        cmocka_unit_test(what_is_not_needed_is_not_said),
        cmocka_unit_test(a_refusal_is_told_in_its_own_words),
        cmocka_unit_test(a_version_below_7_is_refused),
        cmocka_unit_test(the_database_stands_in_the_answer_to_client_info),
        cmocka_unit_test(another_database_than_the_urls_is_refused),
        cmocka_unit_test(a_namespace_of_another_format_is_refused),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
