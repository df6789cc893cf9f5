/* SPDX-License-Identifier: MIT
 *
 * Years count from March here: so the leap day is the last one of its year, and the lengths of the months before it
 * follow one rule.
 */
#include "base/civil.h"

#define ERA_YEARS 400
#define ERA_DAYS 146097
/* From 0000-03-01 to 1970-01-01. */
#define EPOCH_DAYS 719468

static int64_t floor_div(int64_t n, int64_t by)
{
    return n / by - (n % by < 0);
}

/* How many days of the year, from March on, lie before the month that is `month` months after March. */
static int days_before(int month)
{
    return (153 * month + 2) / 5;
}

int64_t civil_days(int64_t year, int month, int day)
{
    int64_t from_march = month > 2 ? year : year - 1;
    int64_t era = floor_div(from_march, ERA_YEARS), in_era = from_march - era * ERA_YEARS;
    int64_t leap_days = in_era / 4 - in_era / 100;
    return era * ERA_DAYS + in_era * 365 + leap_days + days_before((month + 9) % 12) + day - 1 - EPOCH_DAYS;
}

struct civil civil_date(int64_t days)
{
    int64_t from_march = days + EPOCH_DAYS;
    int64_t era = floor_div(from_march, ERA_DAYS), in_era = from_march - era * ERA_DAYS;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / (ERA_DAYS - 1)) / 365;
    int day = (int)(in_era - (365 * year + year / 4 - year / 100));
    int month = (5 * day + 2) / 153;
    return (struct civil){.year = era * ERA_YEARS + year + (month >= 10),
                          .month = month < 10 ? month + 3 : month - 9,
                          .day = day - days_before(month) + 1};
}

int civil_weekday(int64_t days)
{
    return (int)(days + 4 - floor_div(days + 4, 7) * 7);
}

int civil_month_length(int64_t year, int month)
{
    int64_t next_year = month == 12 ? year + 1 : year;
    return (int)(civil_days(next_year, month % 12 + 1, 1) - civil_days(year, month, 1));
}
