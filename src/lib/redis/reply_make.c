/* SPDX-License-Identifier: MIT */
#include "redis/reply_make.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

static struct redisReply *make(int type, size_t n)
{
    struct redisReply *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->type = type;
    r->elements = n;
    r->element = n > 0 ? calloc(n, sizeof(struct redisReply *)) : NULL;
    if (n > 0 && !r->element) {
        free(r);
        return NULL;
    }
    return r;
}

/* {len, text}; the text is taken over. */
static struct redisReply *make_head(uint64_t len, struct redisReply *text)
{
    struct redisReply *head = make(REDIS_REPLY_ARRAY, 2), *number = make(REDIS_REPLY_INTEGER, 0);
    if (!head || !number || !text) {
        freeReplyObject(head);
        freeReplyObject(number);
        return NULL;
    }
    number->integer = len < INT64_MAX ? (long long)len : INT64_MAX;
    head->element[0] = number;
    head->element[1] = text;
    return head;
}

struct redisReply *reply_left_out(uint64_t len)
{
    struct redisReply *text = make(REDIS_REPLY_STRING, 0);
    if (text)
        text->str = calloc(1, 1);
    struct redisReply *head = text && text->str ? make_head(len, text) : NULL;
    if (!head)
        freeReplyObject(text);
    return head;
}

bool reply_cut(struct redisReply **r, size_t most)
{
    bool is_done = true;
    for (size_t i = 0; i < reply_len(*r); i++)
        is_done &= reply_cut(&(*r)->element[i], most);
    if (reply_kind(*r) != REPLY_TEXT || (*r)->len <= most)
        return is_done;
    struct redisReply *text = *r, *head = make_head(text->len, text);
    if (!head)
        return false;
    text->len = most;
    text->str[most] = '\0';
    *r = head;
    return true;
}

bool reply_put(struct redisReply *list, size_t i, struct redisReply *one)
{
    if (!one || i >= reply_len(list)) {
        freeReplyObject(one);
        return false;
    }
    freeReplyObject(list->element[i]);
    list->element[i] = one;
    return true;
}

struct redisReply *reply_join(struct redisReply *list, struct redisReply *more)
{
    size_t n = reply_len(list), n_more = reply_len(more);
    struct redisReply *joined = list ? make(REDIS_REPLY_ARRAY, n + n_more) : more;
    for (size_t i = 0; list && joined && i < n + n_more; i++)
        joined->element[i] = i < n ? reply_take(list, i) : reply_take(more, i - n);
    if (joined != more)
        freeReplyObject(more);
    freeReplyObject(list);
    return joined;
}

struct redisReply *reply_pairs(struct redisReply *names, struct redisReply *values)
{
    size_t n = reply_len(names) < reply_len(values) ? reply_len(names) : reply_len(values);
    struct redisReply *pairs = make(REDIS_REPLY_ARRAY, 2 * n);
    for (size_t i = 0; pairs && i < n; i++) {
        pairs->element[2 * i] = reply_take(names, i);
        pairs->element[2 * i + 1] = reply_take(values, i);
    }
    return pairs;
}

struct redisReply *reply_spread(struct redisReply *names)
{
    struct redisReply *pairs = make(REDIS_REPLY_ARRAY, 2 * reply_len(names));
    for (size_t i = 0; pairs && i < reply_len(names); i++)
        pairs->element[2 * i] = reply_take(names, i);
    freeReplyObject(names);
    return pairs;
}

struct redisReply *reply_scanned(struct redisReply *pairs)
{
    struct redisReply *scanned = make(REDIS_REPLY_ARRAY, 2), *cursor = make(REDIS_REPLY_STRING, 0);
    if (cursor)
        cursor->str = strdup("0");
    if (!scanned || !cursor || !cursor->str) {
        freeReplyObject(scanned);
        freeReplyObject(cursor);
        freeReplyObject(pairs);
        return NULL;
    }
    cursor->len = 1;
    scanned->element[0] = cursor;
    scanned->element[1] = pairs;
    return scanned;
}
