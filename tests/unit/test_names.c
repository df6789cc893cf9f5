/* SPDX-License-Identifier: MIT
 *
 * Names: which bytes and lengths a queue, a worker's id and a prefix may have. That no two names meet in one key is
 * for the live tests.
 */
#include <muster/client.h>
#include <string.h>

#include "testing.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ID_BYTES LETTERS "0123456789._-"

static const struct {
    const char *what;
    const char *(*check)(const char *name);
    size_t longest;
    const char *bytes; /* NULL: all but control characters */
    int may_begin_with_dot;
} kinds[] = {
    {"queue", muster_queue_check, 200, NULL, 1},
    {"worker id", muster_worker_id_check, 64, ID_BYTES, 0},
    {"prefix", muster_prefix_check, 64, ID_BYTES "{}", 0},
};

static bool is_allowed(size_t kind, int byte)
{
    return kinds[kind].bytes ? strchr(kinds[kind].bytes, byte) != NULL : byte >= 0x20 && byte != 0x7f;
}

static void assert_check(size_t kind, const char *name, bool allowed)
{
    const char *why = kinds[kind].check(name);
    if (!why != allowed)
        fail_msg("%s '%s': %s", kinds[kind].what, name, why ? why : "accepted");
    if (why && !*why)
        fail_msg("%s '%s': refused without a reason", kinds[kind].what, name);
}

static void each_byte_is_allowed_or_not_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < N_OF(kinds); kind++)
        for (int byte = 1; byte < 256; byte++) {
            bool allowed = is_allowed(kind, byte);
            const char c = (char)byte;
            assert_check(kind, (const char[]){'a', c, 'b', '\0'}, allowed);
            assert_check(kind, (const char[]){'a', c, '\0'}, allowed);
            assert_check(kind, (const char[]){c, '\0'}, allowed && (c != '.' || kinds[kind].may_begin_with_dot));
        }
}

static void lengths_go_from_one_to_the_longest(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < N_OF(kinds); kind++) {
        char name[256];
        memset(name, 'n', sizeof(name));
        name[kinds[kind].longest + 1] = '\0';
        assert_check(kind, name, false);
        name[kinds[kind].longest] = '\0';
        assert_check(kind, name, true);
        name[1] = '\0';
        assert_check(kind, name, true);
        assert_non_null(kinds[kind].check(""));
        assert_non_null(kinds[kind].check(NULL));
    }
}

static void each_reason_names_what_is_wrong(void **state)
{
    char long_name[202];
    (void)state;
    memset(long_name, 'n', sizeof(long_name));
    long_name[201] = '\0';
    assert_non_null(strstr(muster_queue_check(""), "empty"));
    assert_non_null(strstr(muster_queue_check(long_name), "200"));
    assert_non_null(strstr(muster_queue_check("a\n"), "control"));
    assert_non_null(strstr(muster_worker_id_check(""), "empty"));
    assert_non_null(strstr(muster_worker_id_check(long_name), "64"));
    assert_non_null(strstr(muster_worker_id_check(".a"), "dot"));
    assert_non_null(strstr(muster_worker_id_check("a b"), "letters"));
    assert_non_null(strstr(muster_prefix_check(""), "empty"));
    assert_non_null(strstr(muster_prefix_check(long_name), "64"));
    assert_non_null(strstr(muster_prefix_check(".a"), "dot"));
    assert_non_null(strstr(muster_prefix_check("a:"), "letters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_allowed_or_not_wherever_it_stands),
        cmocka_unit_test(lengths_go_from_one_to_the_longest),
        cmocka_unit_test(each_reason_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
