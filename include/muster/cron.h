/* SPDX-License-Identifier: MIT
 *
 * Schedules: when a recurring job makes its next jobs, as crontab(5) says it. doc/cron.md tells more, with examples.
 *
 * What a schedule is
 *   - Five fields with blanks between: minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or jan-dec),
 *     day of the week (0-7 or sun-sat; 0 and 7 are Sunday). A field is `*`, a value, a range `a-b`, one of `*` and
 *     ranges with a step `/n`, or a list of these with commas between. Ranges of months and of days of the week may go
 *     over the end (fri-mon). A day of the month may be `L`, its last day, or `L-3`, three days before that (1 to 30);
 *     a day of the week `friL` or `5L`, the month's last one. Or one word: @yearly, @annually, @monthly, @weekly,
 *     @daily, @midnight, @hourly.
 *   - If neither the day of the month nor that of the week begins with `*`, a day fits when one of them does; otherwise
 *     both must.
 *   - Its times are those of a time zone, as the system's zone data (/usr/share/zoneinfo) have it.
 *   - When clocks go forward, a schedule whose minute and hour do not begin with `*` has what was skipped at once, as
 *     one time. When they go back, it has each of its times once, the first of the two. A schedule whose minute or hour
 *     begins with `*` goes by the time that passes: no time is added, and those of an hour that comes twice come twice.
 */
#ifndef MUSTER_CRON_H
#define MUSTER_CRON_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The greatest lengths of a schedule and of a zone's name. */
#define MUSTER_CRON_MAX 200
#define MUSTER_ZONE_MAX 100
/* The greatest backlog of a recurring job that has a schedule. */
#define MUSTER_CRON_BACKLOG_MAX 10000
/* The zone of a schedule that does not name one. */
#define MUSTER_ZONE_DEFAULT "UTC"

/* NULL if the schedule, or the zone, can be used, or words that say what is wrong with it. The words are valid until
 * the thread's next call of this library. A zone is read from the system's zone data. Nothing is sent. Any thread. */
MUSTER_API const char *muster_cron_check(const char *cron);
MUSTER_API const char *muster_zone_check(const char *zone);

/*
 * The next `n` times of a schedule after `after_ms`, as Unix times in ms. `zone` NULL: MUSTER_ZONE_DEFAULT. `*found`
 * receives how many there are: fewer than n if no more come within a hundred years. Nothing is sent. Any thread.
 *
 * Returns MUSTER_OK, or, with `*found` 0,
 *   MUSTER_E_INVALID  the schedule, the zone or the time; the functions above say what is wrong
 */
MUSTER_API int muster_cron_next(const char *cron, const char *zone, int64_t after_ms, int64_t *at_ms, size_t n,
                                size_t *found) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
