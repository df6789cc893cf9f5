/* SPDX-License-Identifier: MIT
 *
 * What a server tells of itself: Redis and Valkey, and a server that tells little or nonsense.
 */
#include "client/server_info.h"

#include <string.h>

#include "testing.h"

static void a_redis_is_read(void **state)
{
    struct muster_server_info s = {0};
    (void)state;
    server_info_read(&s, "# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:12\r\n\r\n# Clients\r\n"
                         "connected_clients:3\r\nmaxclients:10000\r\nused_memory:1048576\r\nused_memory_human:1.00M\r\n"
                         "maxmemory:0\r\nmaxmemory_policy:noeviction\r\nrdb_changes_since_last_save:8\r\n"
                         "aof_enabled:1\r\ninstantaneous_ops_per_sec:99\r\nconnected_slaves:2\r\n"
                         "used_cpu_sys:1.250000\r\nused_cpu_user:2.500000\r\n");
    assert_string_equal(s.engine, "Redis");
    assert_string_equal(s.version, "7.0.15");
    assert_string_equal(s.eviction, "noeviction");
    assert_int_equal(s.memory, 1048576);
    assert_int_equal(s.memory_max, 0);
    assert_int_equal(s.clients, 3);
    assert_int_equal(s.commands_per_s, 99);
    assert_int_equal(s.cpu_ms, 3750);
    assert_int_equal(s.uptime_s, 12);
    assert_int_equal(s.replicas, 2);
    assert_int_equal(s.append_only, 1);
    assert_int_equal(s.unsaved, 8);
}

static void a_valkey_is_told_by_its_own_version(void **state)
{
    struct muster_server_info s = {0};
    (void)state;
    server_info_read(&s, "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n");
    assert_string_equal(s.engine, "Valkey");
    assert_string_equal(s.version, "8.1.1");
}

static void what_is_not_told_is_not_known(void **state)
{
    struct muster_server_info s = {0};
    (void)state;
    server_info_read(&s, "redis_version:\033[2Jx\r\nused_memory:many\r\nmaxmemory:-5\r\nused_cpu_user:1.0\r\n");
    assert_string_equal(s.version, "?[2Jx");
    assert_string_equal(s.eviction, "");
    assert_int_equal(s.memory, -1);
    assert_int_equal(s.memory_max, -1);
    assert_int_equal(s.cpu_ms, -1);
    assert_int_equal(s.append_only, -1);
    server_info_read(&s, "redis_version:0123456789012345678901234567890123456789\r\n");
    assert_int_equal(strlen(s.version), sizeof s.version - 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_redis_is_read),
        cmocka_unit_test(a_valkey_is_told_by_its_own_version),
        cmocka_unit_test(what_is_not_told_is_not_known),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
