/* SPDX-License-Identifier: MIT
 *
 * Length-prefixed parts: what is there is read, and nothing beyond it. Each text lies in memory of exactly its length,
 * so that the sanitizer sees a byte too many.
 */
#include "protocol/frame.h"

#include <stdlib.h>
#include <string.h>

#include "testing.h"

static struct muster_bytes exactly(const char *text)
{
    size_t len = strlen(text);
    char *data = malloc(len + !len);
    memcpy(data, text, len);
    return (struct muster_bytes){data, len};
}

static void a_length_is_digits_up_to_a_colon(void **state)
{
    static const struct {
        const char *text;
        long len; /* -1: refused */
        size_t rest;
    } cases[] = {
        {"0:", 0, 0},
        {"7:abc", 7, 3},
        {"007:", 7, 0},
        {"999999999999:x", 999999999999, 1},
        {"9999999999999:x", -1, 0},
        {"", -1, 0},
        {":", -1, 0},
        {"7", -1, 0},
        {"-7:", -1, 0},
        {"-:", -1, 0},
        {"+7:", -1, 0},
        {" 7:", -1, 0},
        {"7 :", -1, 0},
        {"0x7:", -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct muster_bytes whole = exactly(cases[i].text), rest = whole;
        size_t len;
        int result = frame_length(&rest, &len);
        if (result != (cases[i].len < 0 ? -1 : 0))
            fail_msg("'%s': %d", cases[i].text, result);
        if (result == 0) {
            assert_int_equal(len, cases[i].len);
            assert_int_equal(rest.len, cases[i].rest);
        }
        free((void *)whole.data);
    }
}

static void a_part_is_there_whole_or_refused(void **state)
{
    struct muster_bytes whole = exactly("abc"), rest = whole, part;
    (void)state;
    assert_int_equal(frame_part(&rest, 4, &part), -1);
    assert_int_equal(frame_part(&rest, SIZE_MAX, &part), -1);
    assert_int_equal(frame_part(&rest, 2, &part), 0);
    assert_memory_equal(part.data, "ab", 2);
    assert_int_equal(part.len, 2);
    assert_int_equal(frame_part(&rest, 1, &part), 0);
    assert_memory_equal(part.data, "c", 1);
    assert_int_equal(frame_part(&rest, 0, &part), 0);
    assert_int_equal(frame_part(&rest, 1, &part), -1);
    free((void *)whole.data);
    rest = (struct muster_bytes){NULL, 0};
    assert_int_equal(frame_part(&rest, 0, &part), -1);
    assert_int_equal(frame_field(&rest, &part), -1);
}

static void a_field_ends_before_the_colon(void **state)
{
    struct muster_bytes whole = exactly("ab::c"), rest = whole, field;
    (void)state;
    assert_int_equal(frame_field(&rest, &field), 0);
    assert_int_equal(field.len, 2);
    assert_memory_equal(field.data, "ab", 2);
    assert_int_equal(frame_field(&rest, &field), 0);
    assert_int_equal(field.len, 0);
    assert_int_equal(frame_field(&rest, &field), -1);
    assert_int_equal(rest.len, 1);
    free((void *)whole.data);
}

static void a_text_has_room_and_no_nul(void **state)
{
    char out[4] = "";
    (void)state;
    assert_int_equal(frame_text(out, sizeof out, (struct muster_bytes){"abc", 3}), 0);
    assert_string_equal(out, "abc");
    assert_int_equal(frame_text(out, sizeof out, (struct muster_bytes){"", 0}), 0);
    assert_string_equal(out, "");
    assert_int_equal(frame_text(out, sizeof out, (struct muster_bytes){"abcd", 4}), -1);
    assert_int_equal(frame_text(out, sizeof out, (struct muster_bytes){"a\0b", 3}), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_is_digits_up_to_a_colon),
        cmocka_unit_test(a_part_is_there_whole_or_refused),
        cmocka_unit_test(a_field_ends_before_the_colon),
        cmocka_unit_test(a_text_has_room_and_no_nul),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
