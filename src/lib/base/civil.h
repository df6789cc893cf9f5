/* SPDX-License-Identifier: MIT
 *
 * The calendar: days counted from 1970-01-01, and the dates that they are.
 */
#ifndef CIVIL_H
#define CIVIL_H

#include <stdint.h>

struct civil {
    int64_t year;
    int month, day; /* 1 to 12, 1 to 31 */
};

int64_t civil_days(int64_t year, int month, int day);
struct civil civil_date(int64_t days);
/* 0 is Sunday. */
int civil_weekday(int64_t days);
int civil_month_length(int64_t year, int month);

#endif
