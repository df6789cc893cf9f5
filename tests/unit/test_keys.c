/* SPDX-License-Identifier: MIT
 *
 * Keys, channels, tokens and process ids: their texts, that the longest of them fit, and that a token's text sorts as
 * its number counts. What is in the keys is for the live tests.
 */
#include <string.h>

#include "protocol/keys.h"
#include "testing.h"

#define TOKEN_LAST ((UINT64_C(1) << 5 * TOKEN_LEN) - 1)
#define PAIRS 100000

static char *name_of(char *out, char c, size_t len)
{
    memset(out, c, len);
    out[len] = '\0';
    return out;
}

static void each_key_has_its_text(void **state)
{
    static const struct {
        enum key key;
        const char *name, *text;
    } cases[] = {
        {KEY_ALIVE, "w", "p:alive:w"},
        {KEY_BEAT, "", "p:beat"},
        {KEY_COMPLETE, "q", "p:complete:q"},
        {KEY_CONFIG, "", "p:config"},
        {KEY_CRASHES, "q", "p:crashes:q"},
        {KEY_DELAYED, "q", "p:delayed:q"},
        {KEY_DEPENDENCIES, "id-1", "p:dependencies:id-1"},
        {KEY_DEPENDENTS, "id-1", "p:dependents:id-1"},
        {KEY_DEPENDS, "q", "p:depends:q"},
        {KEY_DUE, "", "p:due"},
        {KEY_EVENTS, "", "p:events"},
        {KEY_FAILED, "q", "p:failed:q"},
        {KEY_FAILURES, "q", "p:failures:q"},
        {KEY_FORMAT, "", "p:format"},
        {KEY_HISTORY, "id-1", "p:history:id-1"},
        {KEY_IDLE, "q", "p:idle:q"},
        {KEY_JOB, "id-1", "p:job:id-1"},
        {KEY_LEASES, "q", "p:leases:q"},
        {KEY_MARKS, "w", "p:marks:w"},
        {KEY_NAMES, "", "p:names"},
        {KEY_NOTES, "w", "p:notes:w"},
        {KEY_PROCESSING, "w:q", "p:processing:w:q"},
        {KEY_QUEUE, "q", "p:queue:q"},
        {KEY_QUEUES, "a:b*%s", "p:queues:a:b*%s"},
        {KEY_RECURRING, "q", "p:recurring:q"},
        {KEY_REGISTRY, "", "p:registry"},
        {KEY_REQUEST, "r 1", "p:request:r 1"},
        {KEY_RUNNING, "q", "p:running:q"},
        {KEY_SCHEDULED, "q", "p:scheduled:q"},
        {KEY_STATS, "20000:q", "p:stats:20000:q"},
        {KEY_TAG, "a tag", "p:tag:a tag"},
        {KEY_TAGS, "", "p:tags"},
        {KEY_TIMER, "", "p:timer"},
        {KEY_TOKEN, "", "p:token"},
        {KEY_TRACKED, "", "p:tracked"},
        {KEY_TTLS, "", "p:ttls"},
        {KEY_WAITING, "q", "p:waiting:q"},
        {KEY_WAKE, "w", "p:wake:w"},
        {KEY_WORKER, "w", "p:worker:w"},
    };
    char key[KEY_MAX];
    (void)state;
    assert_int_equal(N_OF(cases), KEY_COUNT);
    for (size_t i = 0; i < N_OF(cases); i++) {
        assert_int_equal(cases[i].key, i);
        assert_int_equal(key_of(key, "p", cases[i].key, cases[i].name), strlen(cases[i].text));
        assert_string_equal(key, cases[i].text);
    }
    assert_int_equal(key_root(key, "{p}"), 4);
    assert_string_equal(key, "{p}:");
    assert_int_equal(key_processing(key, "p", "w", "a:b"), 18);
    assert_string_equal(key, "p:processing:w:a:b");
    assert_int_equal(channel_of(key, "p", "q", CHANNEL_WORK), 8);
    assert_string_equal(key, "p_q_work");
    assert_int_equal(channel_of(key, "p", "a:b", CHANNEL_DELETE), 12);
    assert_string_equal(key, "p_a:b_delete");
}

static void the_longest_names_fit(void **state)
{
    char prefix[MUSTER_PREFIX_MAX + 1], worker[MUSTER_WORKER_ID_MAX + 1], queue[MUSTER_QUEUE_MAX + 1];
    char key[KEY_MAX], id[PROCESS_ID_MAX];
    (void)state;
    name_of(prefix, 'p', MUSTER_PREFIX_MAX);
    name_of(worker, 'w', MUSTER_WORKER_ID_MAX);
    name_of(queue, 'q', MUSTER_QUEUE_MAX);

    size_t len = key_processing(key, prefix, worker, queue);
    assert_int_equal(len, 64 + strlen(":processing:") + 64 + 1 + 200);
    assert_int_equal(strlen(key), len);
    assert_true(len < KEY_MAX);
    static const char *const whats[] = {CHANNEL_WORK, CHANNEL_CANCEL, CHANNEL_DELETE, CHANNEL_DONE};
    for (size_t i = 0; i < N_OF(whats); i++) {
        assert_int_equal(channel_of(key, prefix, queue, whats[i]), 64 + 1 + 200 + 1 + strlen(whats[i]));
        assert_string_equal(key + strlen(key) - strlen(whats[i]), whats[i]);
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        len = key_of(key, prefix, (enum key)i, queue);
        assert_int_equal(strlen(key), len);
        assert_int_equal(key[strlen(key) - 1], 'q');
    }
    process_id_format(id, worker, "00000000001", queue);
    assert_int_equal(strlen(id), 64 + 1 + TOKEN_LEN + 1 + 200);
}

static void a_process_id_is_worker_token_queue(void **state)
{
    char id[PROCESS_ID_MAX];
    (void)state;
    process_id_format(id, "w-1", "0000000000v", "a:b");
    assert_string_equal(id, "w-1:0000000000v:a:b");
}

/* ---- tokens ---- */

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

/* Of all sizes; and the second of a pair as often near the first as far from it. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_has_its_text),
        cmocka_unit_test(the_longest_names_fit),
        cmocka_unit_test(a_process_id_is_worker_token_queue),
        cmocka_unit_test(a_token_is_eleven_digits_of_base_32),
        cmocka_unit_test(a_tokens_text_sorts_as_its_number_counts),
        cmocka_unit_test(what_is_no_token_is_refused),
        cmocka_unit_test(a_token_tells_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
