/* SPDX-License-Identifier: MIT
 *
 * The times of a schedule. Between two changes of local time, time passes on the wall as anywhere. So the search goes
 * from change to change, and only at these it asks what local time does.
 *
 * A schedule by the wall has each of its times once. Of an hour that comes twice it takes the first; what an hour that
 * is skipped had comes at once when it is skipped, all in one. A frequent one needs nothing of that: in an hour that
 * comes twice it goes on, and in one that is skipped no time has passed.
 */
#include "base/civil.h"
#include "base/cron.h"

#define MINUTE 60
#define DAY_MINUTES (24 * 60)
#define DAYS_MAX (100 * 366)

static int64_t floor_div(int64_t n, int64_t by)
{
    return n / by - (n % by < 0);
}

static int64_t minutes_up(int64_t seconds)
{
    return floor_div(seconds + MINUTE - 1, MINUTE);
}

/* The first minute of a day that fits, from this one on; -1: none. */
static int minute_of_day(const struct cron *c, int from)
{
    for (int hour = from / 60; hour < 24; hour++) {
        int first = hour == from / 60 ? from % 60 : 0;
        uint64_t minutes = c->hours >> hour & 1 ? c->minutes >> first << first : 0;
        if (minutes)
            return hour * 60 + __builtin_ctzll(minutes);
    }
    return -1;
}

/* The first local minute that fits, from this one on. Minutes since 1970. */
static bool next_minute(const struct cron *c, int64_t from, int64_t *out)
{
    int64_t first = floor_div(from, DAY_MINUTES);
    for (int64_t day = first; day < first + DAYS_MAX; day++) {
        int minute = cron_has_day(c, day) ? minute_of_day(c, day == first ? (int)(from - first * DAY_MINUTES) : 0) : -1;
        if (minute >= 0) {
            *out = day * DAY_MINUTES + minute;
            return true;
        }
    }
    return false;
}

/* Did the change that begins the span skip a time that fits? */
static bool is_skipped(const struct cron *c, const struct zone_span *s)
{
    int64_t minute;
    return s->offset > s->offset_before && next_minute(c, minutes_up(s->from + s->offset_before), &minute) &&
           minute * MINUTE < s->from + s->offset;
}

bool cron_next(const struct cron *c, const struct zone *z, int64_t after, int64_t *at)
{
    int64_t from = after + 1, minute;
    while (from - after < (int64_t)DAYS_MAX * DAY_MINUTES * MINUTE) {
        struct zone_span s = zone_span(z, from);
        if (!c->is_frequent && from == s.from && is_skipped(c, &s)) {
            *at = from;
            return true;
        }
        int64_t local = from + s.offset;
        if (!c->is_frequent && s.from > INT64_MIN && local < s.from + s.offset_before)
            local = s.from + s.offset_before; /* what was there before the clock went back */
        if (!next_minute(c, minutes_up(local), &minute))
            return false;
        *at = minute * MINUTE - s.offset;
        if (*at < s.until)
            return true;
        from = s.until;
    }
    return false;
}
