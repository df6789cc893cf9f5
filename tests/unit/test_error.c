/* SPDX-License-Identifier: MIT
 *
 * Errors: their numbers, names and texts. Numbers and names are pinned: programs have them compiled in, and other
 * releases' scripts answer with them.
 */
#include <limits.h>
#include <muster/error.h>
#include <muster/version.h>
#include <string.h>

#include "testing.h"

static const char *const names[] = {
    "OK",          "E_NOMEM",  "E_INVALID",     "E_TOO_BIG",   "E_CONN",        "E_TIMEOUT", "E_FULL",
    "E_BUSY",      "E_DENIED", "E_REDIS",       "E_FORMAT",    "E_NOT_FOUND",   "E_EXISTS",  "E_STATE",
    "E_LOST",      "E_GONE",   "E_NOT_STARTED", "E_CANCELLED", "E_UNCONFIRMED", "E_STOPPED", "E_INTERRUPTED",
    "E_EXHAUSTED",
};

static const int numbers[] = {
#define NUMBER(name, number, text) MUSTER_##name,
    MUSTER_ERRORS(NUMBER)
#undef NUMBER
};

static void each_error_keeps_its_number_and_name(void **state)
{
    (void)state;
    if (N_OF(names) != N_OF(numbers))
        fail_msg("%d errors are named here, MUSTER_ERRORS has %d", (int)N_OF(names), (int)N_OF(numbers));
    for (int i = 0; i < (int)N_OF(names); i++) {
        assert_int_equal(numbers[i], -i);
        assert_string_equal(muster_err_name(-i), names[i]);
    }
}

static void each_error_has_a_text_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(muster_err_text(MUSTER_OK), "ok");
    assert_string_equal(muster_err_text(MUSTER_E_LOST), "not the owner");
    for (size_t i = 0; i < N_OF(numbers); i++) {
        assert_true(*muster_err_text(numbers[i]) != '\0');
        assert_string_not_equal(muster_err_text(numbers[i]), muster_err_text(1));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(muster_err_text(numbers[i]), muster_err_text(numbers[k]));
    }
}

static void what_is_no_error_has_a_name_and_a_text(void **state)
{
    const int unknown[] = {1, INT_MAX, INT_MIN, -(int)N_OF(numbers)};
    (void)state;
    for (size_t i = 0; i < N_OF(unknown); i++) {
        assert_string_equal(muster_err_name(unknown[i]), "E_UNKNOWN");
        assert_string_equal(muster_err_text(unknown[i]), "unknown error");
    }
}

static void the_library_is_of_the_headers_version(void **state)
{
    (void)state;
    assert_string_equal(muster_version(), MUSTER_VERSION);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_keeps_its_number_and_name),
        cmocka_unit_test(each_error_has_a_text_of_its_own),
        cmocka_unit_test(what_is_no_error_has_a_name_and_a_text),
        cmocka_unit_test(the_library_is_of_the_headers_version),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
