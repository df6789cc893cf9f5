/* SPDX-License-Identifier: MIT
 *
 * Is the master still where we are? What follows from a sentinel's answers.
 */
#include "redis/master.h"

#include "testing.h"

static const struct place_node old_one = {"old", 1}, new_one = {"new", 1};

struct answer {
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
        assert_int_equal(master_judge(&m, a->named, a->named == at, a->at_ms, a->at_ms), a->verdict);
        at = a->verdict == MASTER_STAYS ? at : a->named;
    }
}

#define ASSERT_JUDGED(at, ...)                              \
    assert_judged(at, (const struct answer[]){__VA_ARGS__}, \
                  sizeof((const struct answer[]){__VA_ARGS__}) / sizeof(struct answer))

static void another_master_than_before_is_gone_to_at_once(void **state)
{
    (void)state;
    ASSERT_JUDGED(&old_one, {&old_one, 1000, MASTER_STAYS}, {&old_one, 2000, MASTER_STAYS},
                  {&new_one, 3000, MASTER_LEAVES}, {&new_one, 4000, MASTER_STAYS}, {&old_one, 13000, MASTER_LEAVES});
}

/* The one that has told of it is gone, and another one does not know it yet. */
static void a_sentinel_that_is_late_sends_nobody_back_to_what_was_left(void **state)
{
    (void)state;
    ASSERT_JUDGED(&old_one, {&old_one, 1000, MASTER_STAYS}, {&new_one, 2000, MASTER_LEAVES},
                  {&old_one, 3000, MASTER_STAYS}, {&new_one, 4000, MASTER_STAYS});
    ASSERT_JUDGED(&new_one, {&old_one, 1000, MASTER_STAYS}, {&new_one, 2000, MASTER_STAYS},
                  {&old_one, 3000, MASTER_STAYS}, {&new_one, 4000, MASTER_STAYS});
    ASSERT_JUDGED(&old_one, {&old_one, 1000, MASTER_STAYS}, {&new_one, 2000, MASTER_LEAVES},
                  {&old_one, 3000, MASTER_STAYS}, {&old_one, 5000, MASTER_STAYS},
                  {&old_one, 6000, MASTER_LEAVES_DOUBTED}, {&new_one, 7000, MASTER_LEAVES});
}

/* We have found the new one by another sentinel. */
static void a_sentinel_that_is_late_sends_nobody_back(void **state)
{
    (void)state;
    ASSERT_JUDGED(&new_one, {&old_one, 1000, MASTER_STAYS}, {&old_one, 2000, MASTER_STAYS},
                  {&new_one, 3000, MASTER_STAYS}, {&new_one, 4000, MASTER_STAYS});
}

static void what_a_sentinel_says_for_a_while_counts_though_it_may_be_wrong(void **state)
{
    (void)state;
    ASSERT_JUDGED(&old_one, {&new_one, 1000, MASTER_STAYS}, {&new_one, 2000, MASTER_STAYS},
                  {&new_one, 3000, MASTER_STAYS}, {&new_one, 4000, MASTER_LEAVES_DOUBTED},
                  {&new_one, 5000, MASTER_STAYS});
}

static void it_is_told_how_long_ago_the_old_master_was_known_to_be_one(void **state)
{
    char why[MASTER_WHY_MAX];
    struct master m = {.agreed_ms = 0};
    (void)state;
    (void)master_judge(&m, &new_one, false, 900, 1000);
    master_say(&m, 1000, why, sizeof why);
    assert_string_equal(why, "the Sentinel names another master now, new port 1");
    (void)master_judge(&m, &old_one, true, 1900, 2000);
    (void)master_judge(&m, &new_one, false, 2900, 3000);
    master_say(&m, 3000, why, sizeof why);
    assert_string_equal(why, "the Sentinel names another master now, new port 1; 1100 ms ago it still named this one");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_master_than_before_is_gone_to_at_once),
        cmocka_unit_test(a_sentinel_that_is_late_sends_nobody_back),
        cmocka_unit_test(a_sentinel_that_is_late_sends_nobody_back_to_what_was_left),
        cmocka_unit_test(what_a_sentinel_says_for_a_while_counts_though_it_may_be_wrong),
        cmocka_unit_test(it_is_told_how_long_ago_the_old_master_was_known_to_be_one),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
