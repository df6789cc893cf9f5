/* SPDX-License-Identifier: MIT
 *
 * Schedules: what is read and what is refused, the day of the month or the week, zones, and both changes of the clocks.
 * test_cron_years.c compares ten years with another program.
 */
#include <muster/cron.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testing.h"

/* "2026-03-29 01:00", UTC, as Unix time in ms. */
static int64_t utc(const char *text)
{
    struct tm tm = {.tm_sec = 0};
    assert_non_null(strptime(text, "%Y-%m-%d %H:%M", &tm));
    return (int64_t)timegm(&tm) * 1000;
}

/* The times of a schedule from `after` on are these, UTC, with blanks for separators of "HH:MM" and a date first where
 * it changes. */
static void assert_times(const char *cron, const char *zone, const char *after, size_t n, const char *const *expected)
{
    int64_t at[16];
    size_t found;
    assert_ok(muster_cron_next(cron, zone, utc(after), at, n, &found));
    assert_int_equal(found, n);
    for (size_t i = 0; i < n; i++) {
        char text[32];
        time_t seconds = (time_t)(at[i] / 1000);
        struct tm tm;
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", gmtime_r(&seconds, &tm));
        assert_string_equal(text, expected[i]);
    }
}
#define TIMES(cron, zone, after, ...)                                                             \
    assert_times(cron, zone, after, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *), \
                 (const char *[]){__VA_ARGS__})

static void fields_are_values_ranges_steps_lists_and_names(void **state)
{
    (void)state;
    TIMES("30 4 * * *", NULL, "2026-01-01 04:30", "2026-01-02 04:30", "2026-01-03 04:30");
    TIMES("*/20 1,3-4 * * *", NULL, "2026-01-01 01:00", "2026-01-01 01:20", "2026-01-01 01:40", "2026-01-01 03:00");
    TIMES("5-59/25 0 * * *", NULL, "2026-01-01 00:00", "2026-01-01 00:05", "2026-01-01 00:30", "2026-01-01 00:55",
          "2026-01-02 00:05");
    TIMES("0 3 * * mon-fri", NULL, "2026-01-01 12:00", "2026-01-02 03:00", "2026-01-05 03:00");
    TIMES("0 0 1 JAN,Jul *", NULL, "2026-01-01 00:00", "2026-07-01 00:00", "2027-01-01 00:00");
    TIMES("  0\t3   * *  * ", NULL, "2026-01-01 00:00", "2026-01-01 03:00");
}

static void nought_and_seven_are_sunday(void **state)
{
    (void)state;
    TIMES("0 0 * * 0", NULL, "2026-01-01 00:00", "2026-01-04 00:00", "2026-01-11 00:00");
    TIMES("0 0 * * 7", NULL, "2026-01-01 00:00", "2026-01-04 00:00", "2026-01-11 00:00");
    TIMES("0 0 * * sun", NULL, "2026-01-01 00:00", "2026-01-04 00:00");
    TIMES("0 0 * * sun-sun", NULL, "2026-01-01 00:00", "2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00");
    TIMES("0 0 * * 0-sun", NULL, "2026-01-01 00:00", "2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00");
    TIMES("0 0 * * 0-7", NULL, "2026-01-01 00:00", "2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00");
    TIMES("0 0 * * sat-sun", NULL, "2026-01-01 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-10 00:00");
    TIMES("0 0 * * 5-7", NULL, "2026-01-01 00:00", "2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00",
          "2026-01-09 00:00");
}

static void one_word_stands_for_five_fields(void **state)
{
    (void)state;
    TIMES("@hourly", NULL, "2026-01-01 00:00", "2026-01-01 01:00", "2026-01-01 02:00");
    TIMES("@daily", NULL, "2026-01-01 00:00", "2026-01-02 00:00");
    TIMES("@midnight", NULL, "2026-01-01 00:00", "2026-01-02 00:00");
    TIMES("@weekly", NULL, "2026-01-01 00:00", "2026-01-04 00:00");
    TIMES("@Monthly", NULL, "2026-01-01 00:00", "2026-02-01 00:00");
    TIMES("@yearly", NULL, "2026-01-01 00:00", "2027-01-01 00:00");
    TIMES("@annually", NULL, "2026-01-01 00:00", "2027-01-01 00:00");
}

/* As in cron(8): both must fit if one of them begins with '*', otherwise one is enough. */
static void a_day_of_the_month_or_one_of_the_week(void **state)
{
    (void)state;
    TIMES("0 0 13 * fri", NULL, "2026-02-01 00:00", "2026-02-06 00:00", "2026-02-13 00:00", "2026-02-20 00:00",
          "2026-02-27 00:00", "2026-03-06 00:00", "2026-03-13 00:00");
    TIMES("0 0 14 * fri", NULL, "2026-02-10 00:00", "2026-02-13 00:00", "2026-02-14 00:00", "2026-02-20 00:00");
    TIMES("0 0 */2 * fri", NULL, "2026-02-10 00:00", "2026-02-13 00:00", "2026-02-27 00:00");
    TIMES("0 0 13 * *", NULL, "2026-02-10 00:00", "2026-02-13 00:00", "2026-03-13 00:00");
}

static void the_last_days_of_a_month_are_counted_from_its_end(void **state)
{
    (void)state;
    TIMES("0 0 L * *", NULL, "2024-01-31 00:00", "2024-02-29 00:00", "2024-03-31 00:00", "2024-04-30 00:00");
    TIMES("0 0 L 2 *", NULL, "2026-01-01 00:00", "2026-02-28 00:00", "2027-02-28 00:00", "2028-02-29 00:00");
    TIMES("0 0 15,l * *", NULL, "2026-02-01 00:00", "2026-02-15 00:00", "2026-02-28 00:00", "2026-03-15 00:00");
    TIMES("0 0 L-1 * *", NULL, "2026-02-01 00:00", "2026-02-27 00:00", "2026-03-30 00:00");
    TIMES("0 0 L-30 * *", NULL, "2026-02-01 00:00", "2026-03-01 00:00", "2026-05-01 00:00");
    TIMES("0 0 * * friL", NULL, "2026-01-01 00:00", "2026-01-30 00:00", "2026-02-27 00:00", "2026-03-27 00:00");
    TIMES("0 0 * * 0L,7L,Monl", NULL, "2026-02-01 00:00", "2026-02-22 00:00", "2026-02-23 00:00", "2026-03-29 00:00");
    TIMES("0 0 L * fri", NULL, "2026-02-20 00:00", "2026-02-27 00:00", "2026-02-28 00:00", "2026-03-06 00:00");
    TIMES("0 0 */2 * friL", NULL, "2026-01-01 00:00", "2026-02-27 00:00", "2026-03-27 00:00", "2026-05-29 00:00");
    /* The clocks of Berlin change on the last Sundays of March and October. */
    TIMES("30 2 * 3,10 sunL", "Europe/Berlin", "2026-01-01 00:00", "2026-03-29 01:00", "2026-10-25 00:30",
          "2027-03-28 01:00");
    TIMES("0 0 L * *", "Pacific/Apia", "2011-12-01 00:00", "2011-12-30 10:00", "2012-01-30 10:00");
}

static void days_of_the_week_and_months_go_round(void **state)
{
    (void)state;
    TIMES("0 0 * * fri-mon", NULL, "2026-01-01 00:00", "2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00",
          "2026-01-05 00:00", "2026-01-09 00:00");
    TIMES("0 0 * * 5-1/2", NULL, "2026-01-01 00:00", "2026-01-02 00:00", "2026-01-04 00:00", "2026-01-09 00:00");
    TIMES("0 0 * * 7-1", NULL, "2026-01-01 00:00", "2026-01-04 00:00", "2026-01-05 00:00", "2026-01-11 00:00");
    TIMES("0 0 1 nov-feb *", NULL, "2026-01-01 00:00", "2026-02-01 00:00", "2026-11-01 00:00", "2026-12-01 00:00",
          "2027-01-01 00:00");
}

static void days_that_come_rarely_are_found(void **state)
{
    (void)state;
    TIMES("0 0 29 2 *", NULL, "2026-01-01 00:00", "2028-02-29 00:00", "2032-02-29 00:00");
    TIMES("0 0 29 2 *", "Europe/Berlin", "2096-03-01 00:00", "2104-02-28 23:00");
    TIMES("0 0 31 * *", NULL, "2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00");
}

static void what_cannot_be_meant_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "* * * *",
                                      "* * * * * *",
                                      "60 * * * *",
                                      "* 24 * * *",
                                      "* * 0 * *",
                                      "* * 32 * *",
                                      "* * * 13 *",
                                      "* * * 0 *",
                                      "* * * * 8",
                                      "5-3 * * * *",
                                      "*/0 * * * *",
                                      "*/60 * * * *",
                                      "5/10 * * * *",
                                      "1, * * * *",
                                      ",1 * * * *",
                                      "1-2-3 * * * *",
                                      "mon * * * *",
                                      "* * * foo *",
                                      "0 0 30 2 *",
                                      "0 0 31 4,6 *",
                                      "@reboot",
                                      "@dayly",
                                      "-1 * * * *",
                                      "001 * * * *",
                                      "*5 * * * *",
                                      "1 2 3 4 5 ;",
                                      "* * * * monday",
                                      "L * * * *",
                                      "* L * * *",
                                      "* * * L *",
                                      "* * * * L",
                                      "* * * * L5",
                                      "* * L-0 * *",
                                      "* * L-31 * *",
                                      "* * L- * *",
                                      "* * L/2 * *",
                                      "* * 28-L * *",
                                      "* * LW * *",
                                      "* * 5L * *",
                                      "* * * * mon-friL",
                                      "* * * * friL/2",
                                      "* * * * friLL",
                                      "0 0 L-30 2,4 *",
                                      "* 22-2 * * *",
                                      "* * 28-2 * *"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t at;
        size_t found = 7;
        if (!muster_cron_check(bad[i]))
            fail_msg("'%s' is not refused", bad[i]);
        assert_int_equal(muster_cron_next(bad[i], NULL, 0, &at, 1, &found), MUSTER_E_INVALID);
        assert_int_equal(found, 0);
    }
    assert_non_null(muster_cron_check(NULL));
    assert_non_null(strstr(muster_cron_check("0 25 * * *"), "the hour '25'"));
    assert_non_null(strstr(muster_cron_check("0 0 30 2 *"), "no month has this one"));
}

static void a_zone_is_a_name_that_the_system_knows(void **state)
{
    static const char *const bad[] = {"",  "Europe/Berlim", "../zoneinfo/UTC", "/etc/passwd", "Europe", "Europe/",
                                      ".", "zone.tab",      "right/UTC",       "a b"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!muster_zone_check(bad[i]))
            fail_msg("'%s' is not refused", bad[i]);
    assert_null(muster_zone_check("UTC"));
    assert_null(muster_zone_check("America/Argentina/Buenos_Aires"));
    assert_null(muster_zone_check("Etc/GMT+5"));
    assert_non_null(strstr(muster_zone_check("Europe/Berlim"), "no time zone 'Europe/Berlim'"));
    assert_non_null(strstr(muster_zone_check("Europe/Berlim"), "tzdata"));
}

static void times_are_those_of_the_zone(void **state)
{
    (void)state;
    TIMES("0 3 * * *", "Europe/Berlin", "2026-01-10 00:00", "2026-01-10 02:00", "2026-01-11 02:00");
    TIMES("0 3 * * *", "Europe/Berlin", "2026-07-10 00:00", "2026-07-10 01:00");
    TIMES("0 3 * * *", "Asia/Kathmandu", "2026-07-10 00:00", "2026-07-10 21:15");
    TIMES("0 9 * * mon", "Pacific/Auckland", "2026-01-01 00:00", "2026-01-04 20:00");
    TIMES("0 3 * * *", "Europe/Berlin", "2060-07-10 00:00", "2060-07-10 01:00"); /* beyond the list, by the rule */
    TIMES("0 3 * * *", "Europe/Berlin", "2060-01-10 00:00", "2060-01-10 02:00");
    TIMES("0 3 * * *", "America/New_York", "2060-07-10 00:00", "2060-07-10 07:00");
}

/* On 2026-03-29 Berlin goes from 02:00 to 03:00, at 01:00 UTC. */
static void what_is_skipped_comes_at_once(void **state)
{
    (void)state;
    TIMES("30 2 * * *", "Europe/Berlin", "2026-03-28 00:00", "2026-03-28 01:30", "2026-03-29 01:00",
          "2026-03-30 00:30");
    TIMES("0,15,30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00", "2026-03-30 00:00");
    TIMES("0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 01:00", "2026-03-30 00:00",
          "2026-03-30 01:00");
    TIMES("30 2 29 3 *", "Europe/Berlin", "2026-01-01 00:00", "2026-03-29 01:00", "2027-03-29 00:30");
    TIMES("30 1 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-29 00:30", "2026-03-29 23:30");
}

/* On 2026-10-25 it goes from 03:00 back to 02:00, at 01:00 UTC. */
static void what_comes_twice_is_taken_once(void **state)
{
    (void)state;
    TIMES("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:30", "2026-10-26 01:30");
    TIMES("0,30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:00", "2026-10-25 00:30",
          "2026-10-26 01:00");
    TIMES("30 2 * * *", "Europe/Berlin", "2026-10-25 00:45", "2026-10-26 01:30");
    TIMES("0 3 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 02:00");
}

static void a_frequent_schedule_goes_by_the_time_that_passes(void **state)
{
    (void)state;
    TIMES("*/30 * * * *", "Europe/Berlin", "2026-03-29 00:00", "2026-03-29 00:30", "2026-03-29 01:00",
          "2026-03-29 01:30");
    TIMES("*/30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", "2026-03-30 00:00");
    TIMES("*/30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "2026-10-25 00:00", "2026-10-25 00:30",
          "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-26 01:00");
    TIMES("@hourly", "Europe/Berlin", "2026-10-24 23:00", "2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00");
}

/* Half an hour; a whole day that Samoa left out; a clock that goes back at midnight. */
static void other_changes_are_no_different(void **state)
{
    (void)state;
    TIMES("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 00:00", "2026-10-03 15:30", "2026-10-04 15:15");
    TIMES("45 1 * * *", "Australia/Lord_Howe", "2026-04-03 20:00", "2026-04-04 14:45", "2026-04-05 15:15");
    TIMES("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", "2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00");
    TIMES("30 23 * * *", "America/Havana", "2026-10-31 12:00", "2026-11-01 03:30", "2026-11-02 04:30");
}

static void nothing_of_the_program_is_changed(void **state)
{
    (void)state;
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    TIMES("0 3 * * *", "Europe/Berlin", "2026-01-10 00:00", "2026-01-10 02:00");
    assert_string_equal(getenv("TZ"), "Asia/Tokyo");
    assert_int_equal(timezone, -9 * 3600);
    unsetenv("TZ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_values_ranges_steps_lists_and_names),
        cmocka_unit_test(nought_and_seven_are_sunday),
        cmocka_unit_test(one_word_stands_for_five_fields),
        cmocka_unit_test(a_day_of_the_month_or_one_of_the_week),
        cmocka_unit_test(the_last_days_of_a_month_are_counted_from_its_end),
        cmocka_unit_test(days_of_the_week_and_months_go_round),
        cmocka_unit_test(days_that_come_rarely_are_found),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
        cmocka_unit_test(a_zone_is_a_name_that_the_system_knows),
        cmocka_unit_test(times_are_those_of_the_zone),
        cmocka_unit_test(what_is_skipped_comes_at_once),
        cmocka_unit_test(what_comes_twice_is_taken_once),
        cmocka_unit_test(a_frequent_schedule_goes_by_the_time_that_passes),
        cmocka_unit_test(other_changes_are_no_different),
        cmocka_unit_test(nothing_of_the_program_is_changed),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
