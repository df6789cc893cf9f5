/* SPDX-License-Identifier: MIT
 *
 * Is the master still where we are? What follows from a sentinel's answers.
 */
#include "redis/master.h"

#include "testing.h"

static const struct place_node old_one = {"old", 1}, new_one = {"new", 1};

struct answer {
    size_t sentinel;
    const struct place_node *named;
    int64_t at_ms;
    enum master_verdict verdict;
};

/* We are at `at`, and go where a verdict leads. */
static void assert_judged(const struct place_node *at, const struct answer *answers, size_t n)
{
    struct master m = {.agreed_ms = 0};
    for (size_t i = 0; i < n; i++) {
        const struct answer *a = &answers[i];
        const struct place named = {.seed = a->sentinel, .node = *a->named};
        assert_int_equal(master_judge(&m, &named, a->named == at, a->at_ms, a->at_ms), a->verdict);
        at = a->verdict == MASTER_LEAVES ? a->named : at;
    }
}

#define ASSERT_JUDGED(at, ...)                              \
    assert_judged(at, (const struct answer[]){__VA_ARGS__}, \
                  sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

static void another_master_than_before_is_gone_to_at_once(void **state)
{
    (void)state;
    ASSERT_JUDGED(&old_one, {0, &old_one, 1000, MASTER_STAYS}, {0, &old_one, 2000, MASTER_STAYS},
                  {0, &new_one, 3000, MASTER_LEAVES}, {0, &new_one, 4000, MASTER_STAYS},
                  {0, &old_one, 6000, MASTER_LEAVES});
}

/* We have found the new one by another sentinel. */
static void a_sentinel_that_is_late_sends_nobody_back(void **state)
{
    (void)state;
    ASSERT_JUDGED(&new_one, {0, &old_one, 1000, MASTER_STAYS}, {0, &old_one, 2000, MASTER_STAYS},
                  {0, &new_one, 3000, MASTER_STAYS}, {0, &new_one, 4000, MASTER_STAYS});
}

/* The one that has told us of the new one is gone, at once or long after; and the next one has not heard of it. */
static void nor_does_one_that_is_asked_next(void **state)
{
    (void)state;
    ASSERT_JUDGED(&old_one, {0, &old_one, 1000, MASTER_STAYS}, {0, &new_one, 2000, MASTER_LEAVES},
                  {1, &old_one, 3000, MASTER_STAYS}, {1, &old_one, 4000, MASTER_STAYS},
                  {1, &new_one, 5000, MASTER_STAYS});
    ASSERT_JUDGED(&new_one, {0, &new_one, 1000, MASTER_STAYS}, {0, &new_one, 60000, MASTER_STAYS},
                  {1, &old_one, 61000, MASTER_STAYS}, {1, &old_one, 63900, MASTER_STAYS},
                  {1, &new_one, 64000, MASTER_STAYS});
}

/* It is cut off, and the next one says so. */
static void one_that_is_wrong_for_good_sends_nobody_away(void **state)
{
    (void)state;
    ASSERT_JUDGED(&new_one, {0, &old_one, 1000, MASTER_STAYS}, {0, &old_one, 3900, MASTER_STAYS},
                  {0, &old_one, 4000, MASTER_ASKS_ANOTHER}, {1, &new_one, 4100, MASTER_STAYS},
                  {0, &old_one, 90000, MASTER_STAYS}, {0, &old_one, 93000, MASTER_ASKS_ANOTHER});
}

/* Or there is no other one. */
static void what_two_sentinels_say_for_a_while_counts(void **state)
{
    (void)state;
    for (size_t next = 0; next < 2; next++)
        ASSERT_JUDGED(&old_one, {0, &new_one, 1000, MASTER_STAYS}, {0, &new_one, 3000, MASTER_STAYS},
                      {0, &new_one, 4000, MASTER_ASKS_ANOTHER}, {next, &new_one, 4100, MASTER_LEAVES},
                      {next, &new_one, 5000, MASTER_STAYS});
}

static void what_was_believed_wrongly_is_left_at_once(void **state)
{
    (void)state;
    ASSERT_JUDGED(&new_one, {0, &new_one, 500, MASTER_STAYS}, {0, &new_one, 900, MASTER_STAYS},
                  {0, &old_one, 1000, MASTER_LEAVES}, {0, &old_one, 2000, MASTER_STAYS},
                  {0, &old_one, 3000, MASTER_STAYS}, {0, &new_one, 4000, MASTER_LEAVES});
}

static void it_is_told_how_long_ago_the_old_master_was_known_to_be_one(void **state)
{
    char why[MASTER_WHY_MAX];
    struct master m = {.agreed_ms = 0};
    const struct place at_old = {.node = old_one}, at_new = {.node = new_one};
    (void)state;
    (void)master_judge(&m, &at_new, false, 900, 1000);
    master_say(&m, 1000, why, sizeof why);
    assert_string_equal(why, "the Sentinel names another master now, new port 1");
    (void)master_judge(&m, &at_old, true, 1900, 2000);
    (void)master_judge(&m, &at_new, false, 2900, 3000);
    master_say(&m, 3000, why, sizeof why);
    assert_string_equal(why, "the Sentinel names another master now, new port 1; 1100 ms ago it still named this one");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_master_than_before_is_gone_to_at_once),
        cmocka_unit_test(a_sentinel_that_is_late_sends_nobody_back),
        cmocka_unit_test(nor_does_one_that_is_asked_next),
        cmocka_unit_test(what_was_believed_wrongly_is_left_at_once),
        cmocka_unit_test(one_that_is_wrong_for_good_sends_nobody_away),
        cmocka_unit_test(what_two_sentinels_say_for_a_while_counts),
        cmocka_unit_test(it_is_told_how_long_ago_the_old_master_was_known_to_be_one),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
