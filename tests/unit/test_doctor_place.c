/* SPDX-License-Identifier: MIT
 *
 * What a server tells of its replicas, and one that tells nonsense.
 */
#include <string.h>

#include "client/doctor.h"
#include "testing.h"

struct told {
    int lines, to_mend;
};

static int count(const struct muster_advice *advice, void *arg)
{
    struct told *told = arg;
    told->lines++;
    told->to_mend += advice->level == MUSTER_ADVICE_MEND;
    return 0;
}

static struct told look_at(const char *info)
{
    struct told told = {0};
    struct doctor d = {.fn = count, .arg = &told};
    const struct muster_client_options o = {.size = sizeof o, .url = "redis://127.0.0.1:1"};
    assert_ok(muster_client_new(&d.client, &o));
    doctor_look_at_replicas(&d, info);
    muster_client_free(d.client);
    return told;
}

static void each_replica_is_looked_at(void **state)
{
    (void)state;
    const struct told told = look_at("role:master\r\nconnected_slaves:3\r\n"
                                     "slave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=0\r\n"
                                     "slave1:ip=10.0.0.2,port=6379,state=wait_bgsave,offset=1,lag=0\r\n"
                                     "slave2:ip=10.0.0.3,port=6379,state=online,offset=1,lag=90\r\n");
    assert_int_equal(told.lines, 3);
    assert_int_equal(told.to_mend, 2);
}

static void a_number_of_replicas_that_nobody_can_have_ends_with_their_lines(void **state)
{
    (void)state;
    const struct told told = look_at("role:master\r\nconnected_slaves:9223372036854775807\r\n"
                                     "slave0:ip=10.0.0.1,port=6379,state=wait_bgsave,offset=1,lag=0\r\n");
    assert_int_equal(told.to_mend, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replica_is_looked_at),
        cmocka_unit_test(a_number_of_replicas_that_nobody_can_have_ends_with_their_lines),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
