/* SPDX-License-Identifier: MIT
 *
 * Tokens: their text, and that it sorts as the number counts.
 */
#include <string.h>

#include "protocol/token.h"
#include "testing.h"

#define TOKEN_LAST ((UINT64_C(1) << 5 * TOKEN_LEN) - 1)
#define PAIRS 100000

static void a_token_is_eleven_digits_of_base_32(void **state)
{
    static const struct {
        uint64_t token;
        const char *text;
    } cases[] = {
        {0, "00000000000"},          {1, "00000000001"},  {9, "00000000009"},    {10, "0000000000a"},
        {31, "0000000000v"},         {32, "00000000010"}, {1023, "000000000vv"}, {UINT64_C(1) << 53, "80000000000"},
        {TOKEN_LAST, "vvvvvvvvvvv"},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[TOKEN_LEN + 1];
        uint64_t token = ~UINT64_C(0);
        token_format(text, cases[i].token);
        assert_string_equal(text, cases[i].text);
        assert_ok(token_parse(text, TOKEN_LEN, &token));
        assert_true(token == cases[i].token);
    }
}

/* xorshift: the same numbers each time, so that a failure can be repeated. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int sign(int64_t n)
{
    return (n > 0) - (n < 0);
}

/* Numbers of all sizes. In half of the pairs the second is near the first. */
static void a_tokens_text_sorts_as_its_number_counts(void **state)
{
    uint64_t seed = 20230610;
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        char left_text[TOKEN_LEN + 1], right_text[TOKEN_LEN + 1];
        uint64_t back, shift = next_random(&seed) % 55;
        uint64_t left = (next_random(&seed) & TOKEN_LAST) >> shift, other = next_random(&seed);
        uint64_t right = i % 2 ? other & TOKEN_LAST : left ^ other % 2048;
        token_format(left_text, left);
        token_format(right_text, right);
        if (sign(strcmp(left_text, right_text)) != sign((int64_t)left - (int64_t)right))
            fail_msg("%s and %s do not sort as they count", left_text, right_text);
        assert_ok(token_parse(left_text, TOKEN_LEN, &back));
        assert_true(back == left);
    }
}

static void what_is_no_token_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"", 0},
        {"0", 1},
        {"0000000000", 10},
        {"000000000000", 12},
        {"00000000000x", 12},
        {"0000000000w", 11},
        {"0000000000V", 11},
        {"A0000000000", 11},
        {"-0000000001", 11},
        {" 0000000001", 11},
        {"0000000001 ", 11},
        {"00000:00000", 11},
        {"0000000000\xff", 11},
        {"0000000000\0", 11},
        {"\0"
         "0000000000",
         11},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        uint64_t token = 7;
        if (token_parse(cases[i].text, cases[i].len, &token) != MUSTER_E_INVALID || token != 7)
            fail_msg("'%s' of %zu bytes was not refused", cases[i].text, cases[i].len);
    }
}

static void a_token_tells_its_time(void **state)
{
    (void)state;
    assert_int_equal(token_at_ms(0), 0);
    assert_int_equal(token_at_ms(999), 0);
    assert_int_equal(token_at_ms(UINT64_C(1700000000123456)), INT64_C(1700000000123));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_eleven_digits_of_base_32),
        cmocka_unit_test(a_tokens_text_sorts_as_its_number_counts),
        cmocka_unit_test(what_is_no_token_is_refused),
        cmocka_unit_test(a_token_tells_its_time),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
