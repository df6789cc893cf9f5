/* SPDX-License-Identifier: MIT
 *
 * Redis without muster, blocking.
 */
#include "raw.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <muster/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "redis/url.h"

#define COLLECT_BYTES ((size_t)1024 * 1024)
#define COLLECT_MAX 1000

/* Some commands of a benchmark take long, but none takes this long. */
static int timeout_ms = 60000;

void raw_set_timeout(int ms)
{
    timeout_ms = ms;
}

static struct redisContext *try_connect(const struct url *url)
{
    return url->path ? redisConnectUnix(url->path) : redisConnect(url->nodes[0].host, url->nodes[0].port);
}

static void log_in(struct redisContext *c, const struct url *url)
{
    if (url->password && url->user)
        raw_do(c, "AUTH %s %s", url->user, url->password);
    else if (url->password)
        raw_do(c, "AUTH %s", url->password);
    if (url->db > 0)
        raw_do(c, "SELECT %d", url->db);
}

struct redisContext *raw_connect(const char *text)
{
    struct url url;
    const char *why;
    char place[160];
    if (url_parse(&url, text, &why) != MUSTER_OK)
        fail("the URL: %s", why);
    if (url.tls.is_on || url.kind != URL_SINGLE)
        fail("the benchmark measures at redis:// and unix:// only");
    url_describe(&url, place, sizeof place);
    struct redisContext *c = try_connect(&url);
    if (!c || c->err)
        fail("no Redis at %s: %s", place, c ? c->errstr : "out of memory");
    redisSetTimeout(c, (struct timeval){timeout_ms / 1000, timeout_ms % 1000 * 1000});
    log_in(c, &url);
    raw_do(c, "PING");
    url_clear(&url);
    return c;
}

bool raw_answers(const char *text)
{
    struct url url;
    const char *why;
    if (url_parse(&url, text, &why) != MUSTER_OK)
        return 0;
    struct redisContext *c = try_connect(&url);
    struct redisReply *reply = c && !c->err ? redisCommand(c, "PING") : NULL;
    bool answers = reply != NULL;
    freeReplyObject(reply);
    if (c)
        redisFree(c);
    url_clear(&url);
    return answers;
}

static struct redisReply *checked(struct redisContext *c, struct redisReply *reply)
{
    if (!reply && c->err == REDIS_ERR_IO && errno == EAGAIN)
        fail("Redis gave no answer within %d ms", timeout_ms);
    if (!reply)
        fail("Redis went away: %s", c->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        fail("Redis refused: %s", reply->str);
    return reply;
}

static bool has_type(const struct redisReply *reply, int type)
{
    return reply->type == type || (type == REDIS_REPLY_STRING && reply->type == REDIS_REPLY_STATUS);
}

const struct redisReply *raw_typed(const struct redisReply *reply, int type)
{
    if (!has_type(reply, type))
        fail("an answer is none that a Redis gives: is this another server?");
    return reply;
}

const struct redisReply *raw_element(const struct redisReply *reply, size_t i, int type)
{
    raw_typed(reply, REDIS_REPLY_ARRAY);
    if (i >= reply->elements)
        fail("an answer is shorter than one of a Redis: is this another server?");
    return raw_typed(reply->element[i], type);
}

static struct redisReply *command(struct redisContext *c, const char *format, va_list args)
{
    return checked(c, redisvCommand(c, format, args));
}

struct redisReply *raw_command(struct redisContext *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct redisReply *reply = command(c, format, args);
    va_end(args);
    return reply;
}

int64_t raw_integer(struct redisContext *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct redisReply *reply = command(c, format, args);
    va_end(args);
    if (reply->type != REDIS_REPLY_INTEGER)
        fail("Redis answered a %s without a number", format);
    int64_t n = reply->integer;
    freeReplyObject(reply);
    return n;
}

void raw_do(struct redisContext *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    freeReplyObject(command(c, format, args));
    va_end(args);
}

struct redisReply *raw_reply(struct redisContext *c)
{
    void *reply = NULL;
    redisGetReply(c, &reply);
    return checked(c, reply);
}

static double field(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (!at)
        fail("INFO has no %s", name);
    return strtod(at + strlen(name), NULL);
}

struct raw_info raw_info(struct redisContext *c)
{
    struct redisReply *reply = raw_command(c, "INFO clients memory stats cpu");
    raw_typed(reply, REDIS_REPLY_STRING);
    struct raw_info info = {
        .cpu_us = 1e6 * (field(reply->str, "\nused_cpu_user:") + field(reply->str, "\nused_cpu_sys:")),
        .commands = (int64_t)field(reply->str, "\ntotal_commands_processed:"),
        .memory = (int64_t)field(reply->str, "\nused_memory:"),
        .clients = (int64_t)field(reply->str, "\nconnected_clients:"),
        .to_free = (int64_t)field(reply->str, "\nlazyfree_pending_objects:"),
    };
    freeReplyObject(reply);
    return info;
}

struct raw_calls raw_script_calls(struct redisContext *c)
{
    struct redisReply *reply = raw_command(c, "INFO commandstats");
    raw_typed(reply, REDIS_REPLY_STRING);
    const char *line = strstr(reply->str, "\ncmdstat_evalsha:");
    struct raw_calls calls = {0};
    if (line)
        calls = (struct raw_calls){.n = (int64_t)field(line, "calls="), .us = field(line, ",usec=")};
    freeReplyObject(reply);
    return calls;
}

/* Calls `visit` with each key that matches, and returns the sum of its answers. A key may come more than once. */
static uint64_t visit_keys(struct redisContext *c, const char *pattern,
                           uint64_t (*visit)(struct redisContext *c, const struct redisReply *key, void *arg),
                           void *arg)
{
    uint64_t sum = 0;
    char cursor[24] = "0";
    do {
        struct redisReply *page = raw_command(c, "SCAN %s MATCH %s COUNT 1000", cursor, pattern);
        const struct redisReply *keys = raw_element(page, 1, REDIS_REPLY_ARRAY);
        const char *next = raw_element(page, 0, REDIS_REPLY_STRING)->str;
        if (strcmp(next, cursor) == 0 && strcmp(next, "0") != 0)
            fail("SCAN stands still: is this a Redis?");
        snprintf(cursor, sizeof cursor, "%s", next);
        for (size_t i = 0; i < keys->elements; i++)
            sum += visit(c, raw_element(keys, i, REDIS_REPLY_STRING), arg);
        freeReplyObject(page);
    } while (strcmp(cursor, "0") != 0);
    return sum;
}

static uint64_t remove_key(struct redisContext *c, const struct redisReply *key, void *unused)
{
    (void)unused;
    return (uint64_t)(raw_integer(c, "UNLINK %b", key->str, key->len) > 0);
}

/* Commands of a process that was just killed may be carried out after the first pass. */
void raw_remove(struct redisContext *c, const char *prefix)
{
    char pattern[RAW_KEY_MAX];
    snprintf(pattern, sizeof pattern, "%s*", prefix);
    while (visit_keys(c, pattern, remove_key, NULL) > 0)
        ;
}

void raw_collect(struct redisContext *c, const char *key, struct tally *out)
{
    for (size_t last = 1, n = 1; last > 0;) {
        struct redisReply *reply = raw_command(c, "RPOP %s %d", key, (int)n);
        size_t bytes = 0;
        last = reply->type == REDIS_REPLY_NIL ? 0 : raw_typed(reply, REDIS_REPLY_ARRAY)->elements;
        for (size_t i = 0; i < last; i++) {
            const struct redisReply *task = raw_element(reply, i, REDIS_REPLY_STRING);
            tally_add(out, task->str, task->len);
            bytes += task->len;
        }
        freeReplyObject(reply);
        n = bytes ? COLLECT_BYTES * last / bytes + 1 : n;
        n = n < COLLECT_MAX ? n : COLLECT_MAX;
    }
}

static uint64_t collect_hash(struct redisContext *c, const struct redisReply *key, void *out)
{
    struct redisReply *reply = raw_command(c, "HVALS %b", key->str, key->len);
    raw_typed(reply, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < reply->elements; i++) {
        const struct redisReply *value = raw_element(reply, i, REDIS_REPLY_STRING);
        tally_add(out, value->str, value->len);
    }
    freeReplyObject(reply);
    return remove_key(c, key, NULL);
}

void raw_collect_hashes(struct redisContext *c, const char *pattern, struct tally *out)
{
    visit_keys(c, pattern, collect_hash, out);
}

void raw_load_script(struct redisContext *c, const char *body, char sha[41])
{
    struct redisReply *reply = raw_command(c, "SCRIPT LOAD %s", body);
    snprintf(sha, 41, "%s", raw_typed(reply, REDIS_REPLY_STRING)->str);
    freeReplyObject(reply);
}

void raw_key(char out[RAW_KEY_MAX], const char *prefix, const char *name)
{
    snprintf(out, RAW_KEY_MAX, "%s:%s", prefix, name);
}
