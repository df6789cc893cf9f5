/* SPDX-License-Identifier: MIT
 *
 * Schedules of five fields, as crontab(5) has them, and their times. <muster/cron.h> says what they mean.
 */
#ifndef CRON_H
#define CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/zone.h"

/* A bit for each value that fits; of the last days, for how many days before a month's last one, of the last days of the
 * week, for which one. A field that begins with '*' does not restrict the day. A schedule whose minute or hour
 * begins so goes by the time that passes; the others by the clock on the wall. */
struct cron {
    uint64_t minutes;
    uint32_t hours, days, last_days, months, weekdays, last_weekdays;
    bool any_day, any_weekday, is_frequent;
};

/* NULL, or words that say what is wrong with it. */
const char *cron_read(struct cron *c, const char *text);

/* Does the day fit? Days since 1970. */
bool cron_has_day(const struct cron *c, int64_t day);

/* The first time after `after`, seconds since 1970. False: there is none within a hundred years. */
bool cron_next(const struct cron *c, const struct zone *z, int64_t after, int64_t *at);

#endif
