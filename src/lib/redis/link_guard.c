/* SPDX-License-Identifier: MIT
 *
 * What a link expects to read: one answer to each command; then, if it has subscribed, messages and confirmations.
 * hiredis ends the program for anything else.
 */
#include <string.h>

#include "redis/link_private.h"

/* hiredis says of a nil, too, that it is a string. */
static bool is_string(const struct guard_part *part)
{
    return part->task->type == REDIS_REPLY_STRING && part->text;
}

static bool has_text(const struct guard_part *part, const char *text)
{
    return is_string(part) && part->n == strlen(text) && memcmp(part->text, text, part->n) == 0;
}

/* An element of what was pushed: {"message", channel, bytes} or {"subscribe", channel, count}. */
static bool is_pushed_part(const struct guard_part *part)
{
    const redisReply *push = part->task->parent->obj;
    if (part->task->parent->parent)
        return false;
    if (part->task->idx == 0)
        return has_text(part, "message") || has_text(part, "subscribe");
    if (part->task->idx == 1)
        return is_string(part);
    return *push->element[0]->str == 'm' ? is_string(part) : part->task->type == REDIS_REPLY_INTEGER;
}

/* An error that comes unasked, as at the limit of clients, ends the connection in hiredis. */
static bool is_expected(void *arg, const struct guard_part *part)
{
    const struct link *l = arg;
    if (l->outstanding > 0)
        return true;
    if (part->task->parent)
        return is_pushed_part(part);
    bool is_subscribed = l->context && (l->context->c.flags & REDIS_SUBSCRIBED);
    return part->task->type == REDIS_REPLY_ERROR ||
           (is_subscribed && part->task->type == REDIS_REPLY_ARRAY && part->n == 3);
}

void link_guard(struct link *l, redisAsyncContext *context)
{
    guard_attach(&l->guard, context->c.reader, is_expected, l);
}
