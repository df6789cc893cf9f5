/* SPDX-License-Identifier: MIT
 *
 * A link: one of the worker's connections to Redis, on an event_base. It connects, logs in, tells when it is up,
 * carries commands and scripts or a subscription, notices silence, and after a break tries again by itself with a
 * jittered, growing delay. It knows nothing of what it carries.
 *
 * Laws
 *   - A command that was accepted is answered exactly once: with its reply, or with NULL when the link broke.
 *   - `down` comes once per break or failed attempt, after all outstanding commands got their NULL.
 *   - Nothing is called back from inside link_call() and friends, and never after link_free().
 *   - link_free() may not be called from inside a callback of the same link.
 */
#ifndef LINK_H
#define LINK_H

#include "redis/command.h"
#include "redis/reply.h"
#include "redis/url.h"

struct event_base;
struct link;
struct redisAsyncContext;

struct link_callbacks {
    void (*up)(void *arg);
    void (*down)(void *arg, int err, const char *text);
    /* The link was told to subscribe, and all its channels are confirmed. */
    void (*subscribed)(void *arg);
    void (*message)(void *arg, const char *channel, struct muster_bytes message);
};

/*
 *   url          copied; NULL: only `given`, no reconnecting
 *   given        a context to use first, or NULL; the link's from its success on
 *   name         for traces: "data", "subscription"
 *   delay_max_ms the longest delay between attempts
 *   silence_ms   with an answer outstanding (or a connection being made), so long without a byte is a break
 */
struct link_options {
    struct event_base *base;
    const struct url *url;
    struct redisAsyncContext *given;
    const char *name;
    int delay_max_ms, silence_ms;
    struct link_callbacks callbacks;
    void *arg;
};

int link_new(struct link **out, const struct link_options *o);
void link_free(struct link *l);

/* Can this context be taken over: not broken, not attached to a loop? */
int link_can_take(const struct redisAsyncContext *given);

/* Give up a context that was handed in, before link_connect(): it is its owner's again. */
void link_forget_given(struct link *l);

/* Begin; the first attempt is at once. */
void link_connect(struct link *l);

/* Break the connection: it is made anew. For a subscription that is open but silent. */
void link_break(struct link *l, int err, const char *why);

/* Close for good: no attempt follows and `down` is not told. Outstanding commands get their NULL. */
void link_close(struct link *l);

int link_is_up(const struct link *l);
int link_can_reconnect(const struct link *l);

/* Answers: NULL when the link broke. The reply is borrowed until the function returns. */
typedef void link_reply_fn(const struct redisReply *reply, void *arg);

/* Send a command, or a script's command (as scripts.c built it: EVALSHA, sent again whole if Redis does not know it).
 * E_CONN when the link is not up, E_NOMEM: not accepted, and fn is not called. */
int link_call(struct link *l, struct command *c, link_reply_fn *fn, void *arg);
int link_script(struct link *l, struct command *c, link_reply_fn *fn, void *arg);

/* The same for a script that what is sent behind it must not overtake: over each connection it is sent whole first. */
int link_script_in_order(struct link *l, struct command *c, link_reply_fn *fn, void *arg);

/* Write what was sent now, instead of at the end of this turn of the loop; not from inside a callback of this link. */
void link_flush(struct link *l);

/* Subscribe to one more channel, on a link that carries nothing else. A break forgets all of them. */
int link_subscribe(struct link *l, const char *channel);

#endif
