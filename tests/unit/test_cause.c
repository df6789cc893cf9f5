/* SPDX-License-Identifier: MIT
 *
 * Which of several reasons is told: the most telling one, for one round of the places.
 */
#include "redis/cause.h"

#include <string.h>

#include "testing.h"

static void note(struct cause *most, enum cause_rank rank, const char *why, size_t places)
{
    struct cause now = {.err = MUSTER_E_CONN, .rank = rank};
    strcpy(now.why, why);
    cause_note(most, &now, places);
}

static void of_one_place_the_last_reason_counts(void **state)
{
    struct cause most = {.err = MUSTER_OK};
    (void)state;
    note(&most, CAUSE_TOLD, "told", 1);
    note(&most, CAUSE_NOBODY, "nobody", 1);
    assert_string_equal(most.why, "nobody");
}

static void of_several_places_the_most_telling_one_counts_for_a_round(void **state)
{
    struct cause most = {.err = MUSTER_OK};
    (void)state;
    note(&most, CAUSE_NOBODY, "a", 3);
    note(&most, CAUSE_TOLD, "b", 3);
    note(&most, CAUSE_SILENT, "c", 3);
    note(&most, CAUSE_NOBODY, "a", 3);
    assert_string_equal(most.why, "b");
    note(&most, CAUSE_TOLD, "b again", 3);
    note(&most, CAUSE_SILENT, "c", 3);
    note(&most, CAUSE_NOBODY, "a", 3);
    assert_string_equal(most.why, "b again");
    note(&most, CAUSE_SILENT, "b has ended", 3);
    assert_string_equal(most.why, "b has ended");
}

static void fail_with(struct cause *most, int err, bool is_reached)
{
    const bool is_told = err != MUSTER_E_CONN;
    cause_note(most, &(struct cause){.err = err, .rank = is_told ? CAUSE_TOLD : CAUSE_NOBODY, .is_reached = is_reached},
               3);
}

static void a_refusal_is_the_end_only_when_all_places_refuse_one_after_the_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const int err = i ? MUSTER_E_REDIS : MUSTER_E_DENIED;
        struct cause most = {.err = MUSTER_OK};
        fail_with(&most, err, false);
        fail_with(&most, MUSTER_E_DENIED, false);
        assert_false(cause_is_final(&most, 3));
        fail_with(&most, MUSTER_E_CONN, false);
        fail_with(&most, err, false);
        fail_with(&most, MUSTER_E_DENIED, false);
        assert_false(cause_is_final(&most, 3));
        fail_with(&most, err, false);
        assert_true(cause_is_final(&most, 3));
        most = (struct cause){.err = MUSTER_OK};
        fail_with(&most, err, true);
        assert_true(cause_is_final(&most, 3));
    }
}

/* Of a URL with more than the one name it may be the place that would accept. */
static void an_address_of_the_name_at_which_nobody_is_does_not_put_the_end_off(void **state)
{
    const struct cause refused = {.err = MUSTER_E_DENIED, .rank = CAUSE_TOLD, .addresses = 2},
                       nobody = {.err = MUSTER_E_CONN, .rank = CAUSE_NOBODY, .addresses = 2},
                       silent = {.err = MUSTER_E_TIMEOUT, .rank = CAUSE_SILENT, .addresses = 2};
    (void)state;
    for (size_t places = 2; places <= 3; places++)
        for (int refuses_first = 0; refuses_first < 2; refuses_first++) {
            struct cause most = {.err = MUSTER_OK};
            cause_note(&most, refuses_first ? &refused : &nobody, places);
            assert_false(cause_is_final(&most, places));
            cause_note(&most, refuses_first ? &nobody : &refused, places);
            assert_int_equal(cause_is_final(&most, places), places == 2);
        }
    struct cause most = {.err = MUSTER_OK};
    for (int i = 0; i < 4; i++)
        cause_note(&most, &nobody, 2);
    assert_false(cause_is_final(&most, 2));
    cause_note(&most, &silent, 2);
    cause_note(&most, &refused, 2);
    assert_false(cause_is_final(&most, 2));
}

/* Of three sentinels the one that is away would lead to the same master. But one that refuses itself says nothing of the
 * others, and neither does a master that is away. */
static void a_sentinel_that_is_away_does_not_put_off_that_the_master_refuses(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++)
        for (int away = 0; away < 2; away++) {
            const struct cause refused = {.err = MUSTER_E_DENIED, .rank = CAUSE_TOLD, .is_named = named},
                               nobody = {.err = MUSTER_E_CONN, .rank = CAUSE_NOBODY, .is_named = away};
            struct cause most = {.err = MUSTER_OK};
            cause_note(&most, &nobody, 3);
            for (int i = 0; i < 2; i++)
                cause_note(&most, &refused, 3);
            assert_false(cause_is_final(&most, 3));
            cause_note(&most, &nobody, 3);
            assert_int_equal(cause_is_final(&most, 3), named && !away);
        }
}

static void what_is_the_same_everywhere_is_the_end_at_once_and_what_passes_never_is(void **state)
{
    const int final[] = {MUSTER_E_INVALID, MUSTER_E_FORMAT, MUSTER_E_FULL},
              passing[] = {MUSTER_OK, MUSTER_E_NOMEM, MUSTER_E_CONN, MUSTER_E_TIMEOUT, MUSTER_E_BUSY};
    (void)state;
    for (size_t i = 0; i < N_OF(final); i++)
        assert_true(cause_is_final(&(struct cause){.err = final[i]}, 3));
    for (size_t i = 0; i < N_OF(passing); i++)
        assert_false(cause_is_final(&(struct cause){.err = passing[i]}, 1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_place_the_last_reason_counts),
        cmocka_unit_test(of_several_places_the_most_telling_one_counts_for_a_round),
        cmocka_unit_test(a_refusal_is_the_end_only_when_all_places_refuse_one_after_the_other),
        cmocka_unit_test(an_address_of_the_name_at_which_nobody_is_does_not_put_the_end_off),
        cmocka_unit_test(a_sentinel_that_is_away_does_not_put_off_that_the_master_refuses),
        cmocka_unit_test(what_is_the_same_everywhere_is_the_end_at_once_and_what_passes_never_is),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
