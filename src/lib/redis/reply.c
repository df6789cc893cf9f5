/* SPDX-License-Identifier: MIT
 *
 * Reads hiredis' replies, and knows what Redis' errors mean. It uses only hiredis' struct; the files of the link and of
 * the blocking connection call hiredis' functions.
 */
#include "redis/reply.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

enum reply_kind reply_kind(const struct redisReply *r)
{
    if (!r)
        return REPLY_NONE;
    switch (r->type) {
    case REDIS_REPLY_INTEGER:
        return REPLY_INTEGER;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        return REPLY_TEXT;
    case REDIS_REPLY_ARRAY:
        return REPLY_LIST;
    case REDIS_REPLY_ERROR:
        return REPLY_ERROR;
    }
    return REPLY_NIL;
}

long long reply_integer(const struct redisReply *r)
{
    return reply_kind(r) == REPLY_INTEGER ? r->integer : 0;
}

uint64_t reply_count(const struct redisReply *r)
{
    long long n = reply_number(r, 0);
    return n > 0 ? (uint64_t)n : 0;
}

struct muster_bytes reply_bytes(const struct redisReply *r)
{
    if (reply_kind(r) == REPLY_TEXT || reply_kind(r) == REPLY_ERROR)
        return (struct muster_bytes){r->str, r->len};
    return (struct muster_bytes){NULL, 0};
}

const char *reply_text(const struct redisReply *r)
{
    return reply_bytes(r).data;
}

size_t reply_len(const struct redisReply *r)
{
    return reply_kind(r) == REPLY_LIST ? r->elements : 0;
}

const struct redisReply *reply_at(const struct redisReply *r, size_t i)
{
    return i < reply_len(r) ? r->element[i] : NULL;
}

struct redisReply *reply_take(struct redisReply *r, size_t i)
{
    struct redisReply *one = i < reply_len(r) ? r->element[i] : NULL;
    if (one)
        r->element[i] = NULL;
    return one;
}

bool reply_is(const struct redisReply *r, const char *text)
{
    struct muster_bytes bytes = reply_bytes(r);
    return bytes.data && bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

const struct redisReply *reply_field(const struct redisReply *flat, const char *name)
{
    for (size_t i = 0; i + 1 < reply_len(flat); i += 2)
        if (reply_is(reply_at(flat, i), name))
            return reply_at(flat, i + 1);
    return NULL;
}

struct muster_bytes reply_head(const struct redisReply *text, uint64_t *whole)
{
    bool is_cut = reply_len(text) == 2;
    struct muster_bytes bytes = reply_bytes(is_cut ? reply_at(text, 1) : text);
    *whole = is_cut ? reply_count(reply_at(text, 0)) : bytes.len;
    if (*whole < bytes.len)
        *whole = bytes.len;
    return bytes;
}

long long reply_number(const struct redisReply *r, long long otherwise)
{
    if (reply_kind(r) == REPLY_INTEGER)
        return r->integer;
    if (reply_kind(r) != REPLY_TEXT || r->len == 0)
        return otherwise;
    char *end;
    long long number = strtoll(r->str, &end, 10);
    const size_t fraction = *end == '.' ? 1 + strspn(end + 1, "0123456789") : 0;
    bool is_number = end > r->str && end + fraction == r->str + r->len;
    return is_number ? number : otherwise;
}

/* Some thirty thousand years. */
#define SECONDS_MAX 1000000000000

int64_t reply_time_ms(const struct redisReply *r)
{
    long long seconds = reply_number(reply_at(r, 0), -1), us = reply_number(reply_at(r, 1), -1);
    bool is_time = seconds >= 0 && seconds <= SECONDS_MAX && us >= 0 && us < 1000000;
    return is_time ? seconds * 1000 + us / 1000 : -1;
}

/* Redis' error codes that say more than that it refused. */
static const struct code {
    const char *code;
    int err;
    bool is_passing;
} codes[] = {
    {"OOM", MUSTER_E_FULL, false},         {"BUSY", MUSTER_E_BUSY, false},       {"MISCONF", MUSTER_E_BUSY, false},
    {"LOADING", MUSTER_E_BUSY, true},      {"READONLY", MUSTER_E_BUSY, true},    {"NOREPLICAS", MUSTER_E_BUSY, true},
    {"MASTERDOWN", MUSTER_E_BUSY, true},   {"CLUSTERDOWN", MUSTER_E_BUSY, true}, {"TRYAGAIN", MUSTER_E_BUSY, true},
    {"MOVED", MUSTER_E_BUSY, true},        {"ASK", MUSTER_E_BUSY, true},         {"NOAUTH", MUSTER_E_DENIED, false},
    {"WRONGPASS", MUSTER_E_DENIED, false}, {"NOPERM", MUSTER_E_DENIED, false},   {"DENIED", MUSTER_E_DENIED, false},
};

static const struct code *code_of(const char *text)
{
    size_t len = strcspn(text, " ");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strlen(codes[i].code) == len && memcmp(text, codes[i].code, len) == 0)
            return &codes[i];
    return NULL;
}

/* It closes the connection then. */
static bool is_too_long(const char *text)
{
    return strstr(text, "Protocol error: invalid bulk length");
}

static bool has_code(const char *text, const char *code)
{
    size_t len = strlen(code);
    return strncmp(text, code, len) == 0 && strchr(" :", text[len]);
}

static bool is_by_replica(const char *text)
{
    return has_code(text, "READONLY") || has_code(text, "MASTERDOWN");
}

void reply_refusal_words(char *out, size_t size, const char *text)
{
    const char *script = code_of(text) ? strstr(text, " script: ") : NULL;
    if (is_by_replica(text))
        snprintf(out, size, "%s", REPLY_REPLICA);
    else if (is_too_long(text))
        snprintf(out, size, "%s", REPLY_TOO_LONG);
    else
        snprintf(out, size, "%.*s", script ? (int)(script - text) : (int)strlen(text), text);
}

bool reply_is_refusal(const struct redisReply *r, const char *code)
{
    return reply_kind(r) == REPLY_ERROR && has_code(r->str, code);
}

bool reply_is_by_replica(const struct redisReply *r)
{
    return reply_kind(r) == REPLY_ERROR && is_by_replica(r->str);
}

bool reply_is_passing(const struct redisReply *r)
{
    const struct code *code = reply_kind(r) == REPLY_ERROR ? code_of(r->str) : NULL;
    return code && code->is_passing;
}

static bool has_any(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

#define HAS_ANY(text, words) has_any(text, words, sizeof(words) / sizeof *(words))

/* Redis 7.0 says it in other words than later ones and Valkey. */
enum reply_right reply_missing_right(const char *text)
{
    static const char *const keys[] = {"one of the keys", "to access a key"};
    static const char *const channels[] = {"one of the channels", "to the channel", "to access a channel"};
    return HAS_ANY(text, keys) ? REPLY_KEY : HAS_ANY(text, channels) ? REPLY_CHANNEL : REPLY_COMMAND;
}

int reply_err_of_text(const char *text)
{
    const struct code *code = code_of(text);
    if (code)
        return code->err;
    if (strstr(text, "max number of clients"))
        return MUSTER_E_BUSY;
    if (is_too_long(text))
        return MUSTER_E_TOO_BIG;
    /* Before 6.0 a wrong password has no code. The others come from a script whose user may not do what it does. */
    static const char *const denials[] = {
        "invalid password",       "without any password",         "ACL failure in script",
        "can't run this command", "can't publish to the channel", "can't access at least one of the keys"};
    return HAS_ANY(text, denials) ? MUSTER_E_DENIED : MUSTER_E_REDIS;
}

int reply_err(const struct redisReply *r)
{
    if (!r)
        return MUSTER_E_CONN;
    return r->type == REDIS_REPLY_ERROR ? reply_err_of_text(r->str) : MUSTER_OK;
}

/* What a caller of this library does to its own call is no answer of a script. */
static bool is_error(long long number)
{
    if (number == MUSTER_E_STOPPED || number == MUSTER_E_INTERRUPTED)
        return false;
    switch (number) {
#define ERROR_CASE(name, value, text) \
    case value:                       \
        return true;
        MUSTER_ERRORS(ERROR_CASE)
#undef ERROR_CASE
    }
    return false;
}

int reply_status(const struct redisReply *r)
{
    int err = reply_err(r);
    if (err != MUSTER_OK)
        return err;
    const struct redisReply *first = reply_kind(r) == REPLY_LIST ? reply_at(r, 0) : r;
    if (reply_kind(first) != REPLY_INTEGER)
        return MUSTER_E_REDIS;
    if (first->integer >= 0)
        return MUSTER_OK;
    return is_error(first->integer) ? (int)first->integer : MUSTER_E_REDIS;
}
