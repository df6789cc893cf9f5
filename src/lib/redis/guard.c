/* SPDX-License-Identifier: MIT
 *
 * A guard on what is read. It stands in for the functions that make the parts of a reply; if one of them returns NULL,
 * hiredis' reader takes it for a lack of memory and stops.
 */
#include "redis/guard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A part of a reply. `text` is that of a string, a status or an error, otherwise NULL; `n` its length, a list's length,
 * or 0. */
struct part {
    const redisReadTask *task;
    const char *text;
    size_t n;
};

/* What a server pushes: {word, channel, bytes}, or {word, channel, count}. */
static const struct {
    const char *word;
    int type; /* of the last element */
} pushes[] = {
    {"message", REDIS_REPLY_STRING},     {"subscribe", REDIS_REPLY_INTEGER},    {"smessage", REDIS_REPLY_STRING},
    {"ssubscribe", REDIS_REPLY_INTEGER}, {"sunsubscribe", REDIS_REPLY_INTEGER}, {"unsubscribe", REDIS_REPLY_INTEGER},
};
#define PUSHES (sizeof pushes / sizeof *pushes)
#define PUSH_LEN 3

/* Its place in the list; PUSHES: it is none. */
static size_t push_of(const char *word, size_t len)
{
    size_t i = 0;
    while (i < PUSHES && (strlen(pushes[i].word) != len || memcmp(pushes[i].word, word, len) != 0))
        i++;
    return i;
}

bool guard_is_push(const redisReply *r)
{
    if (r->type != REDIS_REPLY_ARRAY || r->elements != PUSH_LEN || r->element[0]->type != REDIS_REPLY_STRING)
        return false;
    size_t i = push_of(r->element[0]->str, r->element[0]->len);
    return i < PUSHES && r->element[1]->type == REDIS_REPLY_STRING && r->element[2]->type == pushes[i].type;
}

/* The reader says of a nil, too, that it is a string. */
static bool is_string(const struct part *part)
{
    return part->task->type == REDIS_REPLY_STRING && part->text;
}

static bool is_pushed_part(const struct part *part)
{
    const redisReply *push = part->task->parent->obj;
    if (part->task->parent->parent)
        return false;
    if (part->task->idx == 0)
        return is_string(part) && push_of(part->text, part->n) < PUSHES;
    if (part->task->idx == 1)
        return is_string(part);
    size_t i = push_of(push->element[0]->str, push->element[0]->len);
    return part->task->type == pushes[i].type && (part->text || pushes[i].type != REDIS_REPLY_STRING);
}

/* An error that comes unasked, as at the limit of clients, says why the connection ends. */
static bool is_expected(const struct guard *g, const struct part *part)
{
    if (g->asked > 0)
        return true;
    if (part->task->parent)
        return is_pushed_part(part);
    return part->task->type == REDIS_REPLY_ERROR ||
           (g->listens && part->task->type == REDIS_REPLY_ARRAY && part->n == PUSH_LEN);
}

static int depth_of(const redisReadTask *task)
{
    int depth = 0;
    for (; task; task = task->parent)
        depth++;
    return depth;
}

static const char *refusal(struct guard *g, const struct part *part)
{
    const redisReadTask *task = part->task;
    if (!task->parent)
        g->elements = g->bytes = 0;
    if (task->type > REDIS_REPLY_ERROR)
        return "an answer has a part of a kind that was not agreed on";
    if (task->type == REDIS_REPLY_ARRAY) {
        if (part->n > GUARD_ELEMENTS_MAX - g->elements)
            return "an answer has more elements than muster ever asks for";
        g->elements += part->n;
        if (depth_of(task) > GUARD_DEPTH_MAX)
            return "an answer has lists in lists, deeper than muster ever asks for";
    } else {
        g->bytes += part->n;
        if (g->bytes > GUARD_BYTES_MAX)
            return "an answer is longer than muster ever asks for";
    }
    return is_expected(g, part) ? NULL : "it answers what was not asked";
}

static bool is_let_through(struct guard *g, const struct part *part)
{
    g->refused = refusal(g, part);
    return !g->refused;
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    struct guard *g = task->privdata;
    const struct part part = {task, text, len};
    return is_let_through(g, &part) ? g->plain->createString(task, text, len) : NULL;
}

#if HIREDIS_MAJOR >= 1
typedef size_t list_len;
#else
typedef int list_len;
#endif

static void *make_array(const redisReadTask *task, list_len n)
{
    struct guard *g = task->privdata;
    const struct part part = {task, NULL, n > 0 ? (size_t)n : 0};
    return is_let_through(g, &part) ? g->plain->createArray(task, n) : NULL;
}

static void *make_integer(const redisReadTask *task, long long number)
{
    struct guard *g = task->privdata;
    const struct part part = {task, NULL, 0};
    return is_let_through(g, &part) ? g->plain->createInteger(task, number) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
    struct guard *g = task->privdata;
    const struct part part = {task, NULL, 0};
    return is_let_through(g, &part) ? g->plain->createNil(task) : NULL;
}

/* Later versions of hiredis know kinds that a server sends only if it was asked to: these are refused, by their type. */
#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double number, char *text, size_t len)
{
    (void)number;
    return make_string(task, text, len);
}

static void *make_bool(const redisReadTask *task, int truth)
{
    return make_integer(task, truth);
}
#endif

void guard_attach(struct guard *g, redisReader *reader)
{
    *g = (struct guard){.functions = *reader->fn, .plain = reader->fn};
    g->functions.createString = make_string;
    g->functions.createArray = make_array;
    g->functions.createInteger = make_integer;
    g->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
    g->functions.createDouble = make_double;
    g->functions.createBool = make_bool;
#endif
    reader->fn = &g->functions;
    reader->privdata = g;
}

/* The reader has taken everything that is whole. So if there is the end of a line, it is that of a text's length. */
bool guard_may_wait(struct guard *g, const redisReader *reader)
{
    size_t unread = reader->len - reader->pos;
    if (unread == 0)
        return true;
    const char *at = reader->buf + reader->pos;
    const char *end = memmem(at, unread < GUARD_LINE_MAX ? unread : GUARD_LINE_MAX, "\r\n", 2);
    if (!end && unread >= GUARD_LINE_MAX)
        g->refused = "an answer has a line without an end";
    else if (end && strtoull(at, NULL, 10) > GUARD_TEXT_MAX)
        g->refused = "an answer has a text that is longer than Redis allows";
    return !g->refused;
}
