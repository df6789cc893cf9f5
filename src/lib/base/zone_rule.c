/* SPDX-License-Identifier: MIT
 *
 * Reads a rule, and tells when local time changes by it in a year.
 */
#include "base/zone_rule.h"

#include "base/civil.h"

#define HOUR 3600
#define DAY (24 * (int64_t)HOUR)

struct reader {
    const char *at, *end;
};

static bool takes(struct reader *r, char c)
{
    bool is_there = r->at < r->end && *r->at == c;
    r->at += is_there;
    return is_there;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool number(struct reader *r, int most, int *out)
{
    const char *first = r->at;
    for (*out = 0; r->at < r->end && is_digit(*r->at) && *out <= most; r->at++)
        *out = *out * 10 + (*r->at - '0');
    return r->at > first && *out <= most;
}

/* An abbreviation: letters, or anything in angle brackets. Nobody needs it. */
static bool name(struct reader *r)
{
    const char *first = r->at;
    if (takes(r, '<')) {
        while (r->at < r->end && *r->at != '>')
            r->at++;
        return takes(r, '>');
    }
    while (r->at < r->end && is_letter(*r->at))
        r->at++;
    return r->at - first >= 3;
}

/* [+-]hh[:mm[:ss]], as seconds */
static bool span(struct reader *r, int32_t *out)
{
    int hours, minutes = 0, seconds = 0;
    bool is_negative = takes(r, '-');
    if (!is_negative)
        takes(r, '+');
    if (!number(r, 167, &hours) || (takes(r, ':') && !number(r, 59, &minutes)) ||
        (takes(r, ':') && !number(r, 59, &seconds)))
        return false;
    int32_t sum = hours * HOUR + minutes * 60 + seconds;
    *out = is_negative ? -sum : sum;
    return true;
}

static bool day(struct reader *r, struct zone_rule_day *d)
{
    *d = (struct zone_rule_day){.kind = ZONE_RULE_YEARDAY, .seconds = 2 * HOUR};
    if (takes(r, 'M')) {
        d->kind = ZONE_RULE_WEEKDAY;
        if (!number(r, 12, &d->month) || d->month < 1 || !takes(r, '.') || !number(r, 5, &d->week) || d->week < 1 ||
            !takes(r, '.') || !number(r, 6, &d->day))
            return false;
    } else {
        if (takes(r, 'J'))
            d->kind = ZONE_RULE_JULIAN;
        if (!number(r, 365, &d->day) || (d->kind == ZONE_RULE_JULIAN && d->day < 1))
            return false;
    }
    return !takes(r, '/') || span(r, &d->seconds);
}

/* The text says how far UTC is from local time: so the sign is the other one. Without an offset of its own summer time
 * is an hour ahead. */
bool zone_rule_read(struct zone_rule *rule, const char *text, size_t len)
{
    struct reader r = {text, text + len};
    int32_t behind;
    *rule = (struct zone_rule){.has_summer = false};
    if (!name(&r) || !span(&r, &behind))
        return false;
    rule->winter = -behind;
    if (r.at == r.end)
        return true;
    rule->summer = rule->winter + HOUR;
    rule->has_summer = true;
    if (!name(&r))
        return false;
    if (r.at < r.end && *r.at != ',') {
        if (!span(&r, &behind))
            return false;
        rule->summer = -behind;
    }
    return takes(&r, ',') && day(&r, &rule->begins) && takes(&r, ',') && day(&r, &rule->ends) && r.at == r.end;
}

/* J counts without 29 February. */
static int64_t day_of_year(const struct zone_rule_day *d, int64_t year)
{
    int64_t first = civil_days(year, 1, 1);
    if (d->kind == ZONE_RULE_YEARDAY)
        return first + d->day;
    if (d->kind == ZONE_RULE_JULIAN)
        return first + d->day - 1 + (d->day >= 60 && civil_month_length(year, 2) == 29);
    int64_t month = civil_days(year, d->month, 1);
    int date = (d->day - civil_weekday(month) + 7) % 7 + (d->week - 1) * 7;
    return month + (date >= civil_month_length(year, d->month) ? date - 7 : date);
}

static int64_t second_of_year(const struct zone_rule_day *d, int64_t year, int32_t offset)
{
    return day_of_year(d, year) * DAY + d->seconds - offset;
}

/* Summer time that ends when that of the next year begins never ends. */
size_t zone_rule_changes(const struct zone_rule *rule, int64_t year, struct zone_rule_change out[ZONE_RULE_CHANGES])
{
    struct zone_rule_change changes[] = {{second_of_year(&rule->begins, year, rule->winter), rule->summer},
                                         {second_of_year(&rule->ends, year, rule->summer), rule->winter}};
    bool goes_on = changes[1].at == second_of_year(&rule->begins, year + 1, rule->winter);
    bool went_on = changes[0].at == second_of_year(&rule->ends, year - 1, rule->summer);
    size_t first = changes[1].at < changes[0].at, n = 0;
    if (!rule->has_summer || changes[0].at == changes[1].at)
        return 0;
    for (size_t i = 0; i < ZONE_RULE_CHANGES; i++) {
        size_t which = i == 0 ? first : 1 - first;
        if (!(which == 0 ? went_on : goes_on))
            out[n++] = changes[which];
    }
    return n;
}
