/* SPDX-License-Identifier: MIT
 *
 * Names: which bytes and lengths a queue, a job's id, a tag, a worker's id and a prefix may have. A live test shows
 * that no two names share a key.
 */
#include "protocol/names.h"

#include <muster/job.h>
#include <stdio.h>
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
    {"job id", muster_job_id_check, 200, NULL, 1},
    {"tag", muster_tag_check, 200, NULL, 1},
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
        memset(name, 'n', sizeof name);
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
    memset(long_name, 'n', sizeof long_name);
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

/* ---- failures ---- */

static void a_failure_has_a_short_group_and_a_message_of_64_KiB_at_most(void **state)
{
    static char text[MUSTER_MESSAGE_MAX + 2];
    const char *why;
    (void)state;
    memset(text, 'g', sizeof text - 1);
    const char *end = text + sizeof text - 1;
    assert_ok(names_check_failure(NULL, NULL, &why));
    assert_ok(names_check_failure(end - MUSTER_GROUP_MAX, end - MUSTER_MESSAGE_MAX, &why));
    assert_null(why);
    assert_ok(names_check_failure("a b", "", &why));
    assert_err(names_check_failure(end - MUSTER_GROUP_MAX - 1, NULL, &why), MUSTER_E_TOO_BIG);
    assert_non_null(strstr(why, "200"));
    assert_err(names_check_failure(NULL, end - MUSTER_MESSAGE_MAX - 1, &why), MUSTER_E_TOO_BIG);
    assert_non_null(strstr(why, "64"));
    assert_err(names_check_failure("", NULL, &why), MUSTER_E_INVALID);
    assert_err(names_check_failure("a\n", NULL, &why), MUSTER_E_INVALID);
    assert_non_null(strstr(why, "control"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_allowed_or_not_wherever_it_stands),
        cmocka_unit_test(lengths_go_from_one_to_the_longest),
        cmocka_unit_test(each_reason_names_what_is_wrong),
        cmocka_unit_test(a_failure_has_a_short_group_and_a_message_of_64_KiB_at_most),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
