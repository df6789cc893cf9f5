/* SPDX-License-Identifier: MIT
 *
 * The subscriptions of a link, and its question for a sign of life.
 */
#include <muster/error.h>
#include <string.h>

#include "base/log.h"
#include "redis/link_private.h"

static void hear_push(struct link *l, const struct redisReply *push)
{
    const char *word = reply_text(reply_at(push, 0)), *channel = reply_text(reply_at(push, 1));
    if (strcmp(word, "message") == 0 || strcmp(word, "smessage") == 0) {
        l->callbacks.message(l->arg, channel, reply_bytes(reply_at(push, 2)));
    } else if (strcmp(word, "sunsubscribe") == 0) {
        link_break(l, MUSTER_E_BUSY, LINK_MOVED);
    } else if (strcmp(word, "unsubscribe") == 0) {
        if (l->ending == 0)
            link_break(l, MUSTER_E_CONN, "the server has ended a subscription");
        l->ending -= l->ending > 0;
    } else if (l->unconfirmed > 0) {
        trace_line(TRACE_STATE, "%s link: subscribed to %s", l->name, channel);
        if (--l->unconfirmed == 0)
            l->callbacks.subscribed(l->arg);
    }
    link_call_let_go(l);
}

int link_subscribe(struct link *l, enum wire_channels channels, const char *channel)
{
    if (!link_is_up(l))
        return MUSTER_E_CONN;
    int err = wire_subscribe(l->wire, channels, channel);
    if (err != MUSTER_OK)
        return err;
    link_begin_waiting(l);
    link_io_flush_later(l);
    l->unconfirmed++;
    return MUSTER_OK;
}

int link_unsubscribe(struct link *l, const char *channel)
{
    if (!link_is_up(l))
        return MUSTER_E_CONN;
    if (l->keeps_channels)
        return MUSTER_OK;
    int err = wire_unsubscribe(l->wire, channel);
    if (err != MUSTER_OK)
        return err;
    link_begin_waiting(l);
    link_io_flush_later(l);
    l->ending++;
    return MUSTER_OK;
}

static void ignore_reply(const struct redisReply *reply, void *arg)
{
    (void)reply, (void)arg;
}

/* A confirmation that is due is such a sign; a call would be held until it has come (link_call.c). */
void link_ping(struct link *l)
{
    struct command c = COMMAND_EMPTY;
    if (!link_is_up(l) || l->unconfirmed > 0 || l->ending > 0)
        return;
    command_text(&c, "PING");
    if (link_call(l, &c, ignore_reply, NULL) != MUSTER_OK)
        link_break(l, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
}

void link_hear(struct link *l, const struct redisReply *reply)
{
    if (wire_was_pushed(l->wire))
        hear_push(l, reply);
    else
        link_call_hear(l, reply);
}
