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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_place_the_last_reason_counts),
        cmocka_unit_test(of_several_places_the_most_telling_one_counts_for_a_round),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
