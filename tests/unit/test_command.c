/* SPDX-License-Identifier: MIT
 *
 * Building a command: any bytes, any number of arguments, and numbers that keep their texts. What happens when memory
 * runs out meanwhile is for test_nomem.c.
 */
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "testing.h"

#define MANY 5000

static void assert_argument(const struct command *c, size_t i, const void *data, size_t len)
{
    assert_true(i < c->n);
    assert_int_equal(c->lens[i], len);
    assert_memory_equal(c->argv[i], data, len);
}

static void any_bytes_are_an_argument(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    command_text(&c, "HSET");
    command_text(&c, "");
    command_bytes(&c, "a\0b\r\n", 5);
    command_bytes(&c, "", 0);
    command_bytes(&c, NULL, 0);
    command_bytes(&c, "long", 2);
    assert_int_equal(c.n, 6);
    assert_argument(&c, 0, "HSET", 4);
    assert_argument(&c, 1, "", 0);
    assert_argument(&c, 2, "a\0b\r\n", 5);
    assert_argument(&c, 3, "", 0);
    assert_argument(&c, 4, "", 0);
    assert_non_null(c.argv[4]); /* who copies the arguments need not ask */
    assert_argument(&c, 5, "lo", 2);
    assert_false(c.failed);
    command_clear(&c);
}

static void bytes_are_borrowed(void **state)
{
    static const char bytes[] = "bytes";
    struct command c = COMMAND_EMPTY;
    (void)state;
    command_bytes(&c, bytes, sizeof bytes);
    command_text(&c, bytes);
    assert_ptr_equal(c.argv[0], bytes);
    assert_ptr_equal(c.argv[1], bytes);
    command_clear(&c);
}

static void numbers_are_decimal(void **state)
{
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-1, "-1"},
        {1234567890123, "1234567890123"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    struct command c = COMMAND_EMPTY;
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        command_number(&c, cases[i].number);
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_argument(&c, i, cases[i].text, strlen(cases[i].text));
    command_clear(&c);
}

/* The arguments are looked at only when all are there: one that grows or is added must not move an earlier one. */
static void many_arguments_keep_what_they_were(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        command_number(&c, i);
        command_text(&c, i % 2 ? "odd" : "even");
    }
    assert_int_equal(c.n, 2 * MANY);
    for (size_t i = 0; i < MANY; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "%zu", i);
        assert_argument(&c, 2 * i, text, (size_t)len);
        assert_argument(&c, 2 * i + 1, i % 2 ? "odd" : "even", i % 2 ? 3 : 4);
    }
    command_clear(&c);
}

static void a_cleared_command_is_empty_and_can_be_built_again(void **state)
{
    struct command c = COMMAND_EMPTY;
    (void)state;
    command_clear(&c);
    command_number(&c, 1);
    c.failed = 1;
    command_clear(&c);
    assert_int_equal(c.n, 0);
    assert_false(c.failed);
    command_number(&c, 2);
    assert_int_equal(c.n, 1);
    assert_argument(&c, 0, "2", 1);
    command_clear(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_are_an_argument),
        cmocka_unit_test(bytes_are_borrowed),
        cmocka_unit_test(numbers_are_decimal),
        cmocka_unit_test(many_arguments_keep_what_they_were),
        cmocka_unit_test(a_cleared_command_is_empty_and_can_be_built_again),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
