/* SPDX-License-Identifier: MIT
 *
 * Reads a schedule. What crontab(5) leaves open, or forgives, is refused with words: a step that reaches beyond its
 * range, a range of numbers that runs backwards, a day that no month has. Days of the week and months go round, so their
 * ranges may, and `L` counts days from the end of a month.
 */
#include "base/cron.h"

#include <string.h>

#include "base/c_locale.h"
#include "base/civil.h"
#include "base/words.h"

struct field {
    const char *what;
    int least, most;
    const char *const *names; /* of `least`, and so on; after the last one comes the first */
    int n_names;
    const char *last; /* words about `L` */
};

/* What a field says: a bit for each value; and for each `L`, which counts from the end of the month. */
struct said {
    uint64_t values;
    uint32_t last;
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    {"minute", 0, 59, NULL, 0, ""},
    {"hour", 0, 23, NULL, 0, ""},
    {"day of the month", 1, 31, NULL, 0, ", L for the last day or L-3 for three days before it"},
    {"month", 1, 12, months, 12, ""},
    {"day of the week", 0, 7, weekdays, 7, ", friL for the last Friday of a month"}};

static const char *const nicknames[][2] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

#define NAME_LEN 3

/* One or two digits. */
static bool read_number(const char **at, int *out)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits < 1 || digits > 2)
        return false;
    *out = digits == 2 ? ((*at)[0] - '0') * 10 + (*at)[1] - '0' : (*at)[0] - '0';
    *at += digits;
    return true;
}

/* A number, or a name of three letters. */
static bool read_value(const struct field *f, const char **at, int *out)
{
    if (read_number(at, out))
        return *out >= f->least && *out <= f->most;
    for (int i = 0; i < f->n_names; i++)
        if (c_locale_is_word(*at, f->names[i], NAME_LEN)) {
            *out = f->least + i;
            *at += NAME_LEN;
            return true;
        }
    return false;
}

static bool is_letter_l(char c)
{
    return c == 'L' || c == 'l';
}

/* A range that ends with the name of Sunday ends with the week; from Sunday to Sunday it is that day. One of months or days of the week may go on behind the
 * last one. */
static bool read_end(const struct field *f, const char **at, int first, int *last)
{
    bool is_name = **at < '0' || **at > '9';
    if (!read_value(f, at, last))
        return false;
    if (f == &fields[WEEKDAY] && is_name && *last == 0 && first > 0)
        *last = 7;
    if (*last < first)
        *last += f->n_names;
    return *last >= first;
}

/* "L", the last day of a month, or "L-3", three days before it. */
static bool read_last_day(const char **at, uint32_t *last)
{
    int before = 0;
    ++*at;
    if (**at == '-') {
        ++*at;
        if (!read_number(at, &before) || before < 1 || before > 30)
            return false;
    }
    *last |= (uint32_t)1 << before;
    return true;
}

/* "*", a value, or two with a hyphen between; then maybe "/step". Or one that has an `L`. */
static bool read_part(const struct field *f, const char **at, struct said *said)
{
    int first = f->least, last = f->most, step = 1;
    bool is_range = **at == '*';
    if (f == &fields[DAY] && is_letter_l(**at))
        return read_last_day(at, &said->last);
    *at += is_range;
    if (!is_range) {
        if (!read_value(f, at, &first))
            return false;
        if (f == &fields[WEEKDAY] && is_letter_l(**at)) {
            ++*at;
            said->last |= (uint32_t)1 << first;
            return true;
        }
        last = first;
        is_range = **at == '-';
        if (is_range) {
            ++*at;
            if (!read_end(f, at, first, &last))
                return false;
        }
    }
    if (**at == '/') {
        ++*at;
        if (!is_range || !read_number(at, &step))
            return false;
    }
    if (step < 1 || step > f->most)
        return false;
    for (int value = first; value <= last; value += step)
        said->values |= (uint64_t)1 << (value > f->most ? value - f->n_names : value);
    return true;
}

/* Parts with commas between, up to a blank or the end. */
static const char *read_field(const struct field *f, const char **at, struct said *said)
{
    const char *text = *at;
    size_t len = strcspn(text, " \t");
    do {
        if (!read_part(f, at, said) || (**at != ',' && *at != text + len))
            return words_say(
                "the %s '%.*s' of a schedule is not %d to %d%s, a range a-b, '*', any of these with a step "
                "/n%s, or a list of them with commas",
                f->what, (int)len, text, f->least, f->most, f->names ? ", a name like mon or jan" : "", f->last);
    } while (*(*at)++ == ',');
    *at = text + len + strspn(text + len, " \t");
    return NULL;
}

bool cron_has_day(const struct cron *c, int64_t day)
{
    struct civil date = civil_date(day);
    int left = civil_month_length(date.year, date.month) - date.day, weekday = civil_weekday(day);
    bool in_month = c->months >> date.month & 1;
    bool fits = c->days >> date.day & 1 || c->last_days >> left & 1;
    bool is_weekday = c->weekdays >> weekday & 1 || (left < 7 && c->last_weekdays >> weekday & 1);
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
        if (c_locale_is_word(text, nicknames[i][0], strlen(nicknames[i][0]) + 1))
            return nicknames[i][1];
    return text;
}

const char *cron_read(struct cron *c, const char *text)
{
    struct said said[FIELDS] = {{0, 0}};
    bool is_any[FIELDS];
    const char *at = spell_out(text), *why = NULL;
    if (*at == '@')
        return "a schedule's nickname is @yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly";
    at += strspn(at, " \t");
    for (int i = 0; i < FIELDS; i++) {
        if (!*at)
            return "a schedule has five fields: minute, hour, day of the month, month, day of the week";
        is_any[i] = *at == '*';
        why = read_field(&fields[i], &at, &said[i]);
        if (why)
            return why;
    }
    if (*at)
        return "a schedule has five fields, and nothing after them: no seconds, no year, no command";
    *c = (struct cron){.minutes = said[MINUTE].values,
                       .hours = (uint32_t)said[HOUR].values,
                       .days = (uint32_t)said[DAY].values,
                       .last_days = said[DAY].last,
                       .months = (uint32_t)said[MONTH].values,
                       .weekdays = (uint32_t)(said[WEEKDAY].values | said[WEEKDAY].values >> 7),
                       .last_weekdays = said[WEEKDAY].last | said[WEEKDAY].last >> 7,
                       .any_day = is_any[DAY],
                       .any_weekday = is_any[WEEKDAY],
                       .is_frequent = is_any[MINUTE] || is_any[HOUR]};
    return ever_comes(c) ? NULL : "a schedule must have a day that comes: no month has this one";
}
