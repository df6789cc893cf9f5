/* SPDX-License-Identifier: MIT
 *
 * Bytes, durations and points in time as text. A string that is returned as `char *` is the caller's to free; if memory
 * runs out the program ends.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is it valid UTF-8 without NUL? */
bool text_is_utf8(const void *data, size_t len);

char *text_base64(const void *data, size_t len);
/* The inverse, with a NUL behind its `*len` bytes; NULL if the text is no base64. */
char *text_of_base64(const char *text, size_t *len);

/*
 * One line of UTF-8 that a terminal shows as it is: control characters, bytes that are not UTF-8, and backslashes are
 * escaped. If it would take more than `columns` columns, one for each character, it is cut off with an ellipsis.
 */
char *text_printable(const void *data, size_t len, size_t columns);

/* The same of any length, with backslashes as they are: for words that may have been made printable before. */
char *text_safe(const void *data, size_t len);

/* How many columns a printable text takes. */
size_t text_columns(const char *text);

/* Cut a text after `columns` columns, with an ellipsis. Only for text of text_printable(), which leaves room for it. */
void text_cut(char *text, size_t columns);

/* The units of durations, the shortest first. The last one has a NULL name. */
struct text_unit {
    const char *name;
    int64_t ms;
};
extern const struct text_unit text_units[];

/* Read a number, or a duration with its unit, at `*text`, and set `*text` to what follows it. Returns false if there is
 * none, or if it is too great. */
bool text_read_number(const char **text, int64_t *number);
bool text_read_span(const char **text, int64_t *ms);

/* A duration in the form that options take, in the longest unit that makes it a whole number. Returns `out`. */
#define TEXT_SPAN_SIZE 24
const char *text_span(char out[TEXT_SPAN_SIZE], int64_t ms);

/* A number with its noun, which may be followed by a verb: "1 task", "3 tasks were". Returns `out`. */
#define TEXT_NUMBER_SIZE 64
const char *text_number_of(char out[TEXT_NUMBER_SIZE], uint64_t n, const char *one, const char *several);

/* Unix time in ms as ISO 8601, UTC. Returns `out`. */
#define TEXT_TIME_SIZE 40
const char *text_time(char out[TEXT_TIME_SIZE], int64_t at_ms);

/* How long something lasted or lasts, in two units at most: "0.7 s", "12 s", "3 min 12 s", "2 h 5 min", "3 d 4 h".
 * Returns `out`. */
const char *text_age(char out[TEXT_TIME_SIZE], int64_t ms);

/* How long ago something was, or when it will be: "now", "12 s ago", "in 3 min", "5 h ago", "9 days ago". Returns
 * `out`. */
const char *text_ago(char out[TEXT_TIME_SIZE], int64_t now_ms, int64_t at_ms);

/* A day, counted from 1970-01-01, as YYYY-MM-DD. Returns `out`. text_read_day() is the inverse; it returns false if
 * there is no such day. */
#define TEXT_DAY_SIZE 24
const char *text_day(char out[TEXT_DAY_SIZE], int64_t day);
bool text_read_day(const char *text, int64_t *day);

/* A point in time as "2026-12-24T18:00+01:00": with its distance from UTC, or `Z`; seconds and their parts are optional.
 * text_read_moment() returns false if there is no such time; text_check_moment() is a `check` of options. */
bool text_read_moment(const char *text, int64_t *at_ms);
const char *text_check_moment(const char *text);

#endif
