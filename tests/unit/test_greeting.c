/* SPDX-License-Identifier: MIT
 *
 * What is read from a server's answers while it is greeted.
 */
#include "redis/greeting.h"

#include "made_reply.h"

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
        {NULL, -1},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_int_equal(greeting_database(cases[i].reply), cases[i].db);
}

static void a_version_below_7_is_refused(void **state)
{
    const struct {
        const redisReply *reply;
        const char *why;
        bool is_too_old;
    } cases[] = {
        {LIST(TEXT("server"), TEXT("redis"), TEXT("version"), TEXT("7.0.15")), NULL, false},
        {LIST(TEXT("version"), TEXT("10.1")), NULL, false},
        {LIST(TEXT("version"), TEXT("6.2.7")), "the server is of version 6.2.7: " GREETING_NEEDED, true},
        {ERROR("ERR unknown command 'HELLO'"), GREETING_NO_HELLO, true},
        {ERROR("LOADING Redis is loading"), "LOADING Redis is loading", false},
        {LIST(TEXT("version"), TEXT("seven")), "this is not a Redis", false},
        {LIST(TEXT("version"), NIL), "this is not a Redis", false},
        {LIST(TEXT("version")), "this is not a Redis", false},
        {STATUS("PONG"), "this is not a Redis", false},
        {NIL, "this is not a Redis", false},
    };
    char why[160];
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        const char *found = greeting_refusal(cases[i].reply, why, sizeof why);
        if (cases[i].why)
            assert_string_equal(found, cases[i].why);
        else
            assert_null(found);
        assert_int_equal(greeting_is_too_old(cases[i].reply), cases[i].is_too_old);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_below_7_is_refused),
        cmocka_unit_test(the_database_stands_in_the_answer_to_client_info),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
