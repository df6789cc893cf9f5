/* SPDX-License-Identifier: MIT
 *
 * Redis commands without the library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "raw.h"
#include "testing.h"
#include "wait.h"

static uint64_t n_sent, n_written;

uint64_t raw_sent(void)
{
    return n_sent;
}

uint64_t raw_written(void)
{
    return n_written;
}

static struct redisReply *checked(struct redisContext *redis, struct redisReply *reply, const char *what)
{
    n_sent++;
    if (!reply)
        fail_msg("%s: no answer from Redis: %s", what, redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR) {
        char text[256];
        snprintf(text, sizeof text, "%s", reply->str);
        freeReplyObject(reply);
        fail_msg("%s: Redis answers %s", what, text);
    }
    return reply;
}

static struct redisReply *vraw(struct redisContext *redis, const char *format, va_list args)
{
    return checked(redis, redisvCommand(redis, format, args), format);
}

struct redisReply *raw(struct redisContext *redis, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct redisReply *reply = vraw(redis, format, args);
    va_end(args);
    return reply;
}

void raw_do(struct redisContext *redis, const char *format, ...)
{
    va_list args;
    n_written++;
    va_start(args, format);
    freeReplyObject(vraw(redis, format, args));
    va_end(args);
}

/* Frees the reply. */
static int64_t to_int(struct redisReply *reply, const char *what)
{
    bool is_int = reply->type == REDIS_REPLY_INTEGER;
    bool is_text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    bool is_nothing = reply->type == REDIS_REPLY_NIL || (reply->type == REDIS_REPLY_ARRAY && !reply->elements);
    char *end = NULL;
    int64_t n = is_int ? reply->integer : is_text ? strtoll(reply->str, &end, 10) : 0;
    bool good = is_int || is_nothing || (is_text && end != reply->str && !*end);
    freeReplyObject(reply);
    if (!good)
        fail_msg("%s: the answer is no integer", what);
    return n;
}

int64_t raw_int(struct redisContext *redis, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int64_t n = to_int(vraw(redis, format, args), format);
    va_end(args);
    return n;
}

static char *joined(const struct redisReply *list)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (size_t i = 0; i < list->elements; i++) {
        fwrite(list->element[i]->str, 1, (size_t)list->element[i]->len, out);
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

char *raw_string(struct redisContext *redis, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct redisReply *reply = vraw(redis, format, args);
    va_end(args);
    char *text = reply->type == REDIS_REPLY_NIL     ? NULL
                 : reply->type == REDIS_REPLY_ARRAY ? joined(reply)
                                                    : strndup(reply->str, (size_t)reply->len);
    freeReplyObject(reply);
    return text;
}

struct expectation {
    struct redisContext *redis;
    char *command, *shown;
    int len;
    int64_t expected, seen;
};

static bool is_met(void *arg)
{
    struct expectation *e = arg;
    void *reply = NULL;
    redisAppendFormattedCommand(e->redis, e->command, (size_t)e->len);
    redisGetReply(e->redis, &reply);
    e->seen = to_int(checked(e->redis, reply, e->shown), e->shown);
    return e->seen == e->expected;
}

void raw_await(struct redisContext *redis, struct event_base *base, int64_t expected, const char *format, ...)
{
    struct expectation e = {.redis = redis, .expected = expected};
    char shown[256];
    va_list args;
    va_start(args, format);
    e.len = redisvFormatCommand(&e.command, format, args);
    va_end(args);
    va_start(args, format);
    vsnprintf(shown, sizeof shown, format, args);
    va_end(args);
    e.shown = shown;
    bool met = wait_for(base, is_met, &e, SOON_MS);
    redisFreeCommand(e.command);
    if (!met)
        fail_msg("%s is %lld, and did not become %lld", shown, (long long)e.seen, (long long)expected);
}

void raw_push(struct redisContext *redis, const char *key, const void *data, size_t len)
{
    const char *argv[] = {"LPUSH", key, data};
    size_t lens[] = {strlen("LPUSH"), strlen(key), len};
    n_written++;
    freeReplyObject(checked(redis, redisCommandArgv(redis, 3, argv, lens), "LPUSH"));
}
