/* SPDX-License-Identifier: MIT
 *
 * What programs ask of schedules. Times are those of whole minutes: so the ms of a time do not matter.
 */
#include <muster/cron.h>
#include <string.h>

#include "base/cron.h"
#include "base/words.h"

#define SECOND_MS 1000
/* The year 9999: what lies beyond is a mistake. */
#define AT_MAX_MS ((int64_t)253402300800 * SECOND_MS)

const char *muster_cron_check(const char *cron)
{
    struct cron c;
    if (!cron || strlen(cron) > MUSTER_CRON_MAX)
        return words_say("a schedule has 1 to %d bytes", MUSTER_CRON_MAX);
    return cron_read(&c, cron);
}

const char *muster_zone_check(const char *zone)
{
    struct zone z;
    const char *why = zone ? zone_load(&z, zone) : "a time zone is a name like Europe/Berlin";
    if (!why)
        zone_clear(&z);
    return why;
}

int muster_cron_next(const char *cron, const char *zone, int64_t after_ms, int64_t *at_ms, size_t n, size_t *found)
{
    struct cron c;
    struct zone z;
    *found = 0;
    if (muster_cron_check(cron) || cron_read(&c, cron) || after_ms < 0 || after_ms > AT_MAX_MS ||
        zone_load(&z, zone ? zone : MUSTER_ZONE_DEFAULT))
        return MUSTER_E_INVALID;
    int64_t at = after_ms / SECOND_MS;
    while (*found < n && cron_next(&c, &z, at, &at))
        at_ms[(*found)++] = at * SECOND_MS;
    zone_clear(&z);
    return MUSTER_OK;
}
