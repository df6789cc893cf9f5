/* SPDX-License-Identifier: MIT
 *
 * The rule that a zone follows after its last listed change: a text like "CET-1CEST,M3.5.0,M10.5.0/3", which POSIX
 * defines for the variable TZ, at the end of each file of zone data.
 */
#ifndef ZONE_RULE_H
#define ZONE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A day of each year, and when on it, seconds of local time from midnight; it may lie before or after that day. */
struct zone_rule_day {
    enum { ZONE_RULE_WEEKDAY, ZONE_RULE_JULIAN, ZONE_RULE_YEARDAY } kind;
    int month, week, day; /* Mm.w.d; of the other kinds only the day */
    int32_t seconds;
};

/* `has_summer` false: `winter` alone counts. Offsets from UTC, seconds. */
struct zone_rule {
    bool has_summer;
    int32_t winter, summer;
    struct zone_rule_day begins, ends; /* of summer time */
};

/* A change: from this second on local time is UTC + `offset`. */
struct zone_rule_change {
    int64_t at;
    int32_t offset;
};
/* The changes of a year, in their order. Two that cancel each other out are none. */
#define ZONE_RULE_CHANGES 2

bool zone_rule_read(struct zone_rule *rule, const char *text, size_t len);
size_t zone_rule_changes(const struct zone_rule *rule, int64_t year, struct zone_rule_change out[ZONE_RULE_CHANGES]);

#endif
