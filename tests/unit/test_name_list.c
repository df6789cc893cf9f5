/* SPDX-License-Identifier: MIT
 *
 * Sorted lists of names: each once, bytes of any kind, and found by their beginning.
 */
#include "base/name_list.h"

#include <stdio.h>
#include <string.h>

#include "testing.h"

static void each_name_is_there_once_in_the_order_of_its_bytes(void **state)
{
    static const char *const wanted[] = {"", "a", "a:b", "a:c", "ab", "b", "\xff"};
    struct name_list names = {0};
    (void)state;
    for (size_t i = 0; i < 3 * N_OF(wanted); i++) {
        const char *text = wanted[i * 4 % N_OF(wanted)];
        assert_ok(name_list_add(&names, text, strlen(text)));
    }
    name_list_sort(&names);
    assert_int_equal(names.n, N_OF(wanted));
    for (size_t i = 0; i < names.n; i++)
        assert_string_equal(names.at[i].text, wanted[i]);
    name_list_clear(&names);
}

static void names_with_nul_differ_behind_it(void **state)
{
    struct name_list names = {0};
    (void)state;
    assert_ok(name_list_add(&names, "a\0c", 3));
    assert_ok(name_list_add(&names, "a\0b", 3));
    assert_ok(name_list_add(&names, "a", 1));
    name_list_sort(&names);
    assert_int_equal(names.n, 3);
    assert_int_equal(names.at[0].len, 1);
    assert_memory_equal(names.at[1].text, "a\0b", 4);
    name_list_clear(&names);
}

static void the_first_that_does_not_come_before_a_text_is_found(void **state)
{
    char text[16];
    struct name_list names = {0};
    (void)state;
    name_list_sort(&names);
    assert_int_equal(name_list_find(&names, (char[]){"a"}, 1), 0);
    for (int i = 0; i < 1000; i += 2)
        assert_ok(name_list_add(&names, text, (size_t)snprintf(text, sizeof text, "%03d", i)));
    name_list_sort(&names);
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%03d", i);
        assert_int_equal(name_list_find(&names, text, 3), (i + 1) / 2);
    }
    assert_int_equal(name_list_find(&names, (char[]){"5"}, 1), 250);
    name_list_clear(&names);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_is_there_once_in_the_order_of_its_bytes),
        cmocka_unit_test(names_with_nul_differ_behind_it),
        cmocka_unit_test(the_first_that_does_not_come_before_a_text_is_found),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
