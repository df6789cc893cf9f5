/* SPDX-License-Identifier: MIT
 *
 * Reads a schedule. What crontab(5) leaves open, or forgives, is refused with words: a step that reaches beyond its
 * range, a range that runs backwards, a day that no month has.
 */
#include "base/cron.h"

#include <string.h>
#include <strings.h>

#include "base/civil.h"
#include "base/words.h"

struct field {
    const char *what;
    int least, most;
    const char *const *names; /* of `least`, and so on */
    int n_names;
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {{"minute", 0, 59, NULL, 0},
                                            {"hour", 0, 23, NULL, 0},
                                            {"day of the month", 1, 31, NULL, 0},
                                            {"month", 1, 12, months, 12},
                                            {"day of the week", 0, 7, weekdays, 7}};

static const char *const nicknames[][2] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

#define NAME_LEN 3

/* A number, or a name of three letters. */
static bool read_value(const struct field *f, const char **at, int *out)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits > 0 && digits <= 2) {
        *out = (*at)[0] - '0';
        if (digits == 2)
            *out = *out * 10 + ((*at)[1] - '0');
        *at += digits;
        return *out >= f->least && *out <= f->most;
    }
    for (int i = 0; i < f->n_names; i++)
        if (strncasecmp(*at, f->names[i], NAME_LEN) == 0) {
            *out = f->least + i;
            *at += NAME_LEN;
            return true;
        }
    return false;
}

/* "*", a value, or two with a hyphen between; then maybe "/step". A range that ends with the name of Sunday ends with
 * the week. */
static bool read_part(const struct field *f, const char **at, uint64_t *bits)
{
    int first = f->least, last = f->most, step = 1;
    bool is_range = **at == '*';
    *at += is_range;
    if (!is_range) {
        if (!read_value(f, at, &first))
            return false;
        last = first;
        is_range = **at == '-';
        if (is_range) {
            ++*at;
            bool is_name = **at < '0' || **at > '9';
            if (!read_value(f, at, &last))
                return false;
            last = f == &fields[WEEKDAY] && is_name && last == 0 ? 7 : last;
        }
    }
    if (**at == '/') {
        size_t digits = strspn(++*at, "0123456789");
        if (!is_range || digits < 1 || digits > 2)
            return false;
        step = digits == 2 ? ((*at)[0] - '0') * 10 + (*at)[1] - '0' : (*at)[0] - '0';
        *at += digits;
    }
    if (last < first || step < 1 || step > f->most)
        return false;
    for (int value = first; value <= last; value += step)
        *bits |= (uint64_t)1 << value;
    return true;
}

/* Parts with commas between, up to a blank or the end. */
static const char *read_field(const struct field *f, const char **at, uint64_t *bits)
{
    const char *text = *at;
    size_t len = strcspn(text, " \t");
    do {
        if (!read_part(f, at, bits) || (**at != ',' && *at != text + len))
            return words_say(
                "the %s '%.*s' of a schedule is not %d to %d%s, a range a-b, '*', any of these with a step "
                "/n, or a list of them with commas",
                f->what, (int)len, text, f->least, f->most, f->names ? ", a name like mon or jan" : "");
    } while (*(*at)++ == ',');
    *at = text + len + strspn(text + len, " \t");
    return NULL;
}

bool cron_has_day(const struct cron *c, int64_t day)
{
    struct civil date = civil_date(day);
    bool in_month = c->months >> date.month & 1, fits = c->days >> date.day & 1;
    bool is_weekday = c->weekdays >> civil_weekday(day) & 1;
    if (c->any_day || c->any_weekday)
        return in_month && fits && is_weekday;
    return in_month && (fits || is_weekday);
}

/* Years of every kind, and all that a day of the week can be in them, come within 400 years; nearly all within 40. */
static bool ever_comes(const struct cron *c)
{
    for (int64_t day = 0; day < (int64_t)40 * 366; day++)
        if (cron_has_day(c, day))
            return true;
    return false;
}

static const char *spell_out(const char *text)
{
    for (size_t i = 0; i < sizeof nicknames / sizeof *nicknames; i++)
        if (strcasecmp(text, nicknames[i][0]) == 0)
            return nicknames[i][1];
    return text;
}

const char *cron_read(struct cron *c, const char *text)
{
    uint64_t bits[FIELDS] = {0};
    bool is_any[FIELDS];
    const char *at = spell_out(text), *why = NULL;
    if (*at == '@')
        return "a schedule's nickname is @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly";
    at += strspn(at, " \t");
    for (int i = 0; i < FIELDS; i++) {
        if (!*at)
            return "a schedule has five fields: minute, hour, day of the month, month, day of the week";
        is_any[i] = *at == '*';
        why = read_field(&fields[i], &at, &bits[i]);
        if (why)
            return why;
    }
    if (*at)
        return "a schedule has five fields, and nothing after them: no seconds, no year, no command";
    *c = (struct cron){.minutes = bits[MINUTE],
                       .hours = (uint32_t)bits[HOUR],
                       .days = (uint32_t)bits[DAY],
                       .months = (uint32_t)bits[MONTH],
                       .weekdays = (uint32_t)(bits[WEEKDAY] | bits[WEEKDAY] >> 7),
                       .any_day = is_any[DAY],
                       .any_weekday = is_any[WEEKDAY],
                       .is_frequent = is_any[MINUTE] || is_any[HOUR]};
    return ever_comes(c) ? NULL : "a schedule must have a day that comes: no month has this one";
}
