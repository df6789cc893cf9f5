/* SPDX-License-Identifier: MIT
 *
 * Turns bytes and times into text for people and for JSON. Tasks and names may come from anyone, so whatever would
 * control a terminal is escaped here. The caller chooses the form.
 */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "need.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* ---- UTF-8 ---- */

/* The length of the character at `s`, or 0 if it is invalid: cut off, overlong, a surrogate, or beyond U+10FFFF. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (len < 2 || len > left)
        return len == 1;
    uint32_t point = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        point = point << 6 | (s[i] & 0x3f);
    }
    return point < smallest[len] || point > 0x10ffff || point >> 11 == 0x1b ? 0 : len;
}

bool text_is_utf8(const void *data, size_t len)
{
    const unsigned char *s = data;
    for (size_t i = 0; i < len;) {
        size_t step = s[i] ? utf8_len(s + i, len - i) : 0;
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text >> 6) != 2;
    return columns;
}

void text_cut(char *text, size_t columns)
{
    char *last = text;
    if (columns == 0 || text_columns(text) <= columns)
        return;
    for (size_t n = 0; n < columns; n++) {
        last = text;
        text += utf8_len((const unsigned char *)text, strlen(text));
    }
    memcpy(last, ELLIPSIS, sizeof ELLIPSIS);
}

/* ---- safe for a terminal ---- */

/* U+0080 to U+009F are control characters, too: 8-bit terminals obey them. */
static bool is_plain(const unsigned char *s, size_t len)
{
    if (len == 1)
        return s[0] >= 0x20 && s[0] != 0x7f;
    return len > 2 || (len == 2 && !(s[0] == 0xc2 && s[1] < 0xa0));
}

static size_t escape(char out[5], unsigned char byte)
{
    static const char shorts[] = "\\\\\nn\tt\rr";
    for (const char *c = shorts; *c; c += 2)
        if (*c == byte)
            return (size_t)snprintf(out, 5, "\\%c", c[1]);
    return (size_t)snprintf(out, 5, "\\x%02x", byte);
}

char *text_printable(const void *data, size_t len, size_t columns)
{
    const unsigned char *s = data;
    /* A column is at most 4 bytes, an escape has as many columns as bytes. */
    size_t room = len < columns ? len : columns;
    char *out = need(malloc(room * 4 + 4 + sizeof ELLIPSIS)), *end = out;
    size_t used = 0;
    for (size_t i = 0; i < len && used <= columns;) {
        size_t step = utf8_len(s + i, len - i);
        bool plain = s[i] != '\\' && is_plain(s + i, step);
        if (plain)
            memcpy(end, s + i, step);
        size_t wrote = plain ? step : escape(end, s[i]);
        end += wrote;
        used += plain ? 1 : wrote;
        i += plain ? step : 1;
    }
    *end = '\0';
    text_cut(out, columns);
    return out;
}

char *text_safe(const void *data, size_t len)
{
    const unsigned char *s = data;
    char *out = need(malloc(len * 4 + 1)), *end = out;
    for (size_t i = 0; i < len;) {
        size_t step = utf8_len(s + i, len - i);
        bool plain = is_plain(s + i, step);
        if (plain)
            end = (char *)mempcpy(end, s + i, step);
        else
            end += escape(end, s[i]);
        i += plain ? step : 1;
    }
    *end = '\0';
    return out;
}

char *text_base64(const void *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *s = data;
    char *out = need(malloc(len / 3 * 4 + 5)), *end = out;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0);
        *end++ = digits[bits >> 18];
        *end++ = digits[bits >> 12 & 63];
        *end++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *end++ = left > 2 ? digits[bits & 63] : '=';
    }
    *end = '\0';
    return out;
}

/* The value of a digit; -1: it is none. */
static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

char *text_of_base64(const char *text, size_t *len)
{
    size_t n = strlen(text), digits = n;
    while (digits > 0 && n - digits < 2 && text[digits - 1] == '=')
        digits--;
    char *out = need(malloc(n / 4 * 3 + 1)), *end = out;
    uint32_t bits = 0;
    bool is_good = n % 4 == 0;
    for (size_t i = 0; i < digits && is_good; i++) {
        int digit = digit_of(text[i]);
        is_good = digit >= 0;
        bits = bits << 6 | (uint32_t)(digit & 63);
        if (i % 4 > 0)
            *end++ = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *end = '\0';
    *len = (size_t)(end - out);
    if (is_good)
        return out;
    free(out);
    return NULL;
}

const char *text_number_of(char out[TEXT_NUMBER_SIZE], uint64_t n, const char *one, const char *several)
{
    snprintf(out, TEXT_NUMBER_SIZE, "%" PRIu64 " %s", n, n == 1 ? one : several);
    return out;
}

/* ---- time ---- */

const struct text_unit text_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                       {"h", 3600000}, {"d", 86400000}, {NULL, 0}};

/* Digits only: neither a sign nor a space, which strtoll() would let pass. */
bool text_read_number(const char **text, int64_t *number)
{
    const char *c = *text;
    *number = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *c - '0', number))
            return false;
    bool any = c != *text;
    *text = c;
    return any;
}

bool text_read_span(const char **text, int64_t *ms)
{
    if (!text_read_number(text, ms))
        return false;
    size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz");
    for (const struct text_unit *unit = text_units; unit->name; unit++)
        if (len == strlen(unit->name) && strncmp(*text, unit->name, len) == 0) {
            *text += len;
            return !__builtin_mul_overflow(*ms, unit->ms, ms);
        }
    return false;
}

const char *text_span(char out[TEXT_SPAN_SIZE], int64_t ms)
{
    const struct text_unit *unit = text_units;
    while (unit[1].name && ms && ms % unit[1].ms == 0)
        unit++;
    snprintf(out, TEXT_SPAN_SIZE, "%" PRId64 "%s", ms / unit->ms, unit->name);
    return out;
}

const char *text_time(char out[TEXT_TIME_SIZE], int64_t at_ms)
{
    struct tm tm;
    time_t seconds = at_ms / 1000;
    size_t len = gmtime_r(&seconds, &tm) ? strftime(out, TEXT_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
    snprintf(out + len, TEXT_TIME_SIZE - len, ".%03dZ", (int)(at_ms % 1000));
    return out;
}

#define MINUTE_MS ((int64_t)60 * 1000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAYS_MS (24 * HOUR_MS)

static void print_two(char out[TEXT_TIME_SIZE], int64_t more, const char *large, int64_t less, const char *small)
{
    int len = snprintf(out, TEXT_TIME_SIZE, "%" PRId64 " %s", more, large);
    if (less > 0)
        snprintf(out + len, TEXT_TIME_SIZE - (size_t)len, " %" PRId64 " %s", less, small);
}

/* Two clocks may differ a little, so a time may seem to lie ahead. */
const char *text_age(char out[TEXT_TIME_SIZE], int64_t ms)
{
    ms = ms < 0 ? 0 : ms;
    if (ms < 10000)
        snprintf(out, TEXT_TIME_SIZE, "%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
    else if (ms < MINUTE_MS)
        snprintf(out, TEXT_TIME_SIZE, "%" PRId64 " s", ms / 1000);
    else if (ms < HOUR_MS)
        print_two(out, ms / MINUTE_MS, "min", ms % MINUTE_MS / 1000, "s");
    else if (ms < DAYS_MS)
        print_two(out, ms / HOUR_MS, "h", ms % HOUR_MS / MINUTE_MS, "min");
    else
        print_two(out, ms / DAYS_MS, "d", ms % DAYS_MS / HOUR_MS, "h");
    return out;
}

static const struct text_unit ago_units[] = {
    {"s", 1000}, {"min", MINUTE_MS}, {"h", HOUR_MS}, {"days", 2 * DAYS_MS}, {NULL, 0}};

const char *text_ago(char out[TEXT_TIME_SIZE], int64_t now_ms, int64_t at_ms)
{
    bool is_ahead = at_ms > now_ms;
    int64_t ms = is_ahead ? at_ms - now_ms : now_ms - (at_ms > 0 ? at_ms : 0); /* any number may stand there */
    const struct text_unit *unit = ago_units;
    while (unit[1].name && ms >= unit[1].ms)
        unit++;
    int64_t unit_ms = unit->ms > DAYS_MS ? DAYS_MS : unit->ms; /* "30 h" until it is two days */
    if (ms < 1000)
        snprintf(out, TEXT_TIME_SIZE, "now");
    else
        snprintf(out, TEXT_TIME_SIZE, "%s%" PRId64 " %s%s", is_ahead ? "in " : "", ms / unit_ms, unit->name,
                 is_ahead ? "" : " ago");
    return out;
}

const char *text_day(char out[TEXT_DAY_SIZE], int64_t day)
{
    struct tm tm;
    time_t seconds = day * (24 * 3600);
    if (!gmtime_r(&seconds, &tm) || strftime(out, TEXT_DAY_SIZE, "%Y-%m-%d", &tm) == 0)
        snprintf(out, TEXT_DAY_SIZE, "%" PRId64, day);
    return out;
}

/* A text that does not come back unchanged is no day: 2026-02-30, 2026-1-1. */
bool text_read_day(const char *text, int64_t *day)
{
    struct tm tm = {0};
    char again[TEXT_DAY_SIZE];
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    time_t seconds = end && !*end ? timegm(&tm) : -1;
    *day = seconds / (24 * 3600);
    return seconds >= 0 && strcmp(text, text_day(again, *day)) == 0;
}

/* Two digits at `*text`, up to `most`, after the character `before` (0: none). */
static bool read_two(const char **text, char before, int most, int *out)
{
    const char *c = *text + (before != 0);
    if ((before && **text != before) || c[0] < '0' || c[0] > '9' || c[1] < '0' || c[1] > '9')
        return false;
    *out = (c[0] - '0') * 10 + (c[1] - '0');
    *text = c + 2;
    return *out <= most;
}

/* ":SS", then maybe a point and up to three digits, as ms. None of it is no seconds. */
static bool read_seconds(const char **text, int64_t *ms)
{
    int seconds, unit = 100;
    *ms = 0;
    if (**text != ':')
        return true;
    if (!read_two(text, ':', 59, &seconds))
        return false;
    *ms = (int64_t)seconds * 1000;
    if (**text != '.')
        return true;
    const char *digits = ++*text;
    for (; **text >= '0' && **text <= '9' && unit > 0; ++*text, unit /= 10)
        *ms += (**text - '0') * unit;
    return *text > digits;
}

/* "Z", or the distance of local time from UTC. */
static bool read_distance(const char **text, int64_t *ms)
{
    int hours, minutes;
    char sign = **text;
    *ms = 0;
    if (sign == 'Z')
        return ++*text;
    if ((sign != '+' && sign != '-') || !read_two(text, sign, 23, &hours) || !read_two(text, ':', 59, &minutes))
        return false;
    *ms = (sign == '-' ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS);
    return true;
}

bool text_read_moment(const char *text, int64_t *at_ms)
{
    char date[] = "YYYY-MM-DD";
    int64_t day, seconds_ms, distance_ms;
    int hour, minute;
    if (strlen(text) < sizeof date)
        return false;
    memcpy(date, text, sizeof date - 1);
    text += sizeof date - 1;
    if (!text_read_day(date, &day) || !read_two(&text, 'T', 23, &hour) || !read_two(&text, ':', 59, &minute) ||
        !read_seconds(&text, &seconds_ms) || !read_distance(&text, &distance_ms) || *text)
        return false;
    *at_ms = day * DAYS_MS + hour * HOUR_MS + minute * MINUTE_MS + seconds_ms - distance_ms;
    return *at_ms > 0;
}

const char *text_check_moment(const char *text)
{
    int64_t at_ms;
    return text_read_moment(text, &at_ms)
               ? NULL
               : "a time is a date, T, hours and minutes, and its distance from UTC: 2026-12-24T18:00+01:00, "
                 "2026-12-24T17:00:30Z";
}
