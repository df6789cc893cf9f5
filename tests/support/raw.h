/* SPDX-License-Identifier: MIT
 *
 * Redis commands without the library, to look at what it left there. Each fails the test with Redis' own words if the
 * answer is an error, or not of the type that was asked for.
 *
 * Formats are hiredis': blanks separate the arguments, and an interpolated value is always one argument. Only %s, %d,
 * %ld and the like are understood.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct redisContext;
struct redisReply;

#define RAW_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))

/* Any answer but an error; to be freed with freeReplyObject(). */
struct redisReply *raw(struct redisContext *redis, const char *format, ...) RAW_FORMAT(2, 3);

/* For its effect: the answer is not looked at. */
void raw_do(struct redisContext *redis, const char *format, ...) RAW_FORMAT(2, 3);

/* An integer, or a string that is one; nil and the empty list count as 0. */
int64_t raw_int(struct redisContext *redis, const char *format, ...) RAW_FORMAT(2, 3);

/* A string, to be freed; NULL for nil. A list's strings are joined, each ended by a newline. */
char *raw_string(struct redisContext *redis, const char *format, ...) RAW_FORMAT(2, 3);

/* Wait until the integer is the expected one; with a `base` its loop runs meanwhile. */
void raw_await(struct redisContext *redis, struct event_base *base, int64_t expected, const char *format, ...)
    RAW_FORMAT(4, 5);

/* LPUSH of any bytes, as a foreign producer would. */
void raw_push(struct redisContext *redis, const char *key, const void *data, size_t len);

/* How many commands have been sent by these calls; and by those that do something, raw_do() and raw_push(). */
uint64_t raw_sent(void);
uint64_t raw_written(void);

#endif
