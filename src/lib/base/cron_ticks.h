/* SPDX-License-Identifier: MIT
 *
 * The next ticks of a recurring job, as its record has them: see lua/include/job/job_recur.lua.
 */
#ifndef CRON_TICKS_H
#define CRON_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many ticks a record has at most. With a backlog that is limited, at most so many missed ones are counted at once. */
#define CRON_TICKS_MAX 48
#define CRON_TICKS_COUNTED 20000

/* What they are computed of. All up to `last_ms` are dealt with; none is later than `until_ms` (0: no limit); of those up
 * to `now_ms`, at most `backlog` (0: all) are made up for. */
struct cron_wanted {
    const char *cron, *zone;
    int64_t last_ms, until_ms, now_ms, backlog;
};

struct cron_ticks {
    char text[CRON_TICKS_MAX * 21]; /* with blanks between */
    size_t n;
    bool is_final;    /* no others come */
    int64_t last_ms;  /* those up to this time are dealt with, or left out */
    uint64_t over;    /* how many are left out, because they are beyond the backlog */
    int64_t known_ms; /* all up to this time are known, or left out; 0: there were too many to count */
};

/* NULL, or words that say what is wrong with the schedule or the zone. */
const char *cron_ticks(struct cron_ticks *out, const struct cron_wanted *wanted);

#endif
