/* SPDX-License-Identifier: MIT
 *
 * Time zones: how far local time is from UTC, and when that changes. They are read from the system's zone data, never
 * through the program's environment: so the program's own local time is left alone, and any thread may read any zone.
 */
#ifndef ZONE_H
#define ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "base/zone_rule.h"

/* A zone's name has at most so many bytes. */
#define ZONE_NAME_MAX 100

/* `from` up to, but without, `until` local time is UTC + `offset`; before `from` it was UTC + `offset_before`. Seconds;
 * INT64_MIN and INT64_MAX: there is no change. */
struct zone_span {
    int64_t from, until;
    int32_t offset, offset_before;
};

struct zone {
    int64_t *changes; /* n_changes points in time, ascending */
    int32_t *offsets; /* offsets[0] before the first change, offsets[i + 1] from changes[i] on */
    size_t n_changes;
    struct zone_rule rule; /* after the last of them */
};

/* NULL, or words that say why there is no such zone; then `z` is empty. zone_clear() must follow in any case. */
const char *zone_load(struct zone *z, const char *name);
void zone_clear(struct zone *z);
/* That of a point in time, seconds since 1970. */
struct zone_span zone_span(const struct zone *z, int64_t at);

#endif
