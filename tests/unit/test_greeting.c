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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_database_stands_in_the_answer_to_client_info),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
