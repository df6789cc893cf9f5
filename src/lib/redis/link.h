/* SPDX-License-Identifier: MIT
 *
 * A link: one of the worker's connections to Redis, on an event_base. It connects, logs in, tells when it is up,
 * carries commands and scripts or a subscription, and notices silence. After a break it tries again by itself, with a
 * jittered, growing delay. It knows nothing of what it carries.
 *
 * Laws
 *   - A command that was accepted is answered exactly once: with its reply, or with NULL when the link broke.
 *   - `down` comes once per break or failed attempt, after all outstanding commands got their NULL. Being sent on while
 *     it connects, by a sentinel or by a node of a cluster, is neither.
 *   - Nothing is called back from inside link_call() and its like, and never after link_free().
 *   - link_free() must not be called from inside a callback of the same link.
 *
 * Heavy calls
 *   A call is heavy if its request is large (COMMAND_LARGE), or if its answer may be (`is_heavy` of the command). A
 *   server may refuse it by closing the connection, which ends everything else that is under way, too. So after a
 *   break one heavy call goes at a time, and nothing beside it: what breaks the connection again is known. With each
 *   heavy answer twice as many may be under way, until all may. A call may be as heavy as several. At half of what was under
 *   way together when the connection ended, this stops: for some minutes, or until link_set_room_most().
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>

#include "redis/cause.h"
#include "redis/command.h"
#include "redis/place.h"
#include "redis/reply.h"
#include "redis/wire.h"

/* Why a link broke that leads to a replica (E_BUSY): it connects again, because the name may lead to the new master. */
#define LINK_READONLY PLACE_REPLICA

/* Why a subscription broke (E_BUSY): its slot has another owner now. */
#define LINK_MOVED "the slot of the channel has moved"
/* Why a link broke that follows another one (E_BUSY), where a Sentinel names the master. */
#define LINK_REPLACED "the Sentinel has named another master"

struct event_base;
struct link;
struct redisAsyncContext;

struct link_callbacks {
    void (*up)(void *arg);
    void (*down)(void *arg, int err, const char *text); /* what link_cause() has */
    /* Redis has confirmed every channel that the link was told to subscribe to. */
    void (*subscribed)(void *arg);
    void (*message)(void *arg, const char *channel, struct muster_bytes message);
};

struct link_options {
    struct event_base *base;
    const struct url *url;               /* copied; NULL: there is only the context handed in, and no reconnecting */
    struct redisAsyncContext *handed_in; /* a context to use first, or NULL; the link's own once link_new() succeeds */
    const char *prefix;                  /* of the namespace, for people; copied, as is */
    const char *root_key;                /* its root: it connects to where that is */
    const char *format_key;              /* holds its format: another one than the library's is a break, E_FORMAT. NULL:
                                            any will do */
    const char *name;                    /* for traces: "data", "subscription" */
    int delay_max_ms;                    /* the longest delay between attempts */
    /* While an answer is outstanding, or a connection is made: this long without a sign of life is a break. Signs are
     * whole replies, and each WIRE_STRIDE bytes of one. A place that is one of several has a third of it to connect, at
     * least a second. An answer behind requests of some size may have longer, and so may one of which a part has come. */
    int silence_ms;
    /* After a break its owner asks for the same again: so these have twice as long each time. Those of a greeting have it in
     * any case. */
    bool sends_again;
    bool stays_at_sentinel; /* it is up at a sentinel, and knows nothing of the namespace */
    bool counts_replicas;   /* link_replicas() tells how many there are */
    /* A refusal that leads elsewhere breaks the connection at once; or only when all that was asked before is answered:
     * so it is known of each command that was refused. Nothing more is accepted meanwhile. */
    bool answers_first;
    struct link_callbacks callbacks;
    void *arg;
};

int link_new(struct link **out, const struct link_options *o);
void link_free(struct link *l);

/* Why this context cannot be taken over, in words that go on after its name; NULL: it can. */
const char *link_refusal(const struct redisAsyncContext *context);

/* Give up a context that was handed in, before link_connect(): it is its owner's again. */
void link_forget_handed_in(struct link *l);

/* Begin. The first attempt is at once. */
void link_connect(struct link *l);

/* The other link, which is up, has come to another server: go there, too, if this one is not there. */
void link_follow(struct link *l, const struct link *other);

/* The server there is the right one: go there, and anew if it is there already. The link breaks, E_BUSY, at once; or with
 * `answers_first`, when all is answered. */
void link_go_to(struct link *l, const struct place_node *node, const char *why);
/* Where it is, or goes next. */
const struct place *link_place(const struct link *l);

/* Break the connection and make a new one. It is only noted here, and carried out by the loop. */
void link_break(struct link *l, int err, const char *why);

/* The server is not the right one, E_BUSY: break the connection, with `answers_first` when all is answered. */
void link_leave(struct link *l, const char *why);

/* Close for good: no attempt follows and `down` is not called. Outstanding commands get their NULL. */
void link_close(struct link *l);

bool link_is_up(const struct link *l);
/* Why it is down: of the last attempt or, where there are several places, of the most telling one among the last. */
const struct cause *link_cause(const struct link *l);
/* Is it of no use to wait until it is up again, before somebody mends what that says? */
bool link_is_hopeless(const struct link *l);
/* Was the server that was last greeted too old to be of use? */
bool link_is_too_old(const struct link *l);
/* The number of the database, while the link is up. */
int link_db(const struct link *l);
/* Has the namespace the format of this library? False: it had none when the link greeted. */
bool link_is_format_known(const struct link *l);
/* How many replicas follow the server, while the link is up; -1: it does not say. */
int link_replicas(const struct link *l);
bool link_can_reconnect(const struct link *l);
/* By which it has connected; NULL: its connection was handed in. It is the link's. */
const struct url *link_url(const struct link *l);
/* In its `down`: has an attempt failed at each server that it knows, since it was up? Then none can be reached. */
bool link_has_tried_all(const struct link *l);

/* An answer; NULL when the link broke. The reply is borrowed until the function returns. */
typedef void link_reply_fn(const struct redisReply *reply, void *arg);

/* Only in such a function, when it gets NULL: the server closed the connection while this heavy call alone was under
 * way. */
bool link_was_alone(const struct link *l);
/* The same, but whatever else was under way: the connection ended because there was no memory here for the answer of this
 * heavy call. */
bool link_had_no_memory(const struct link *l);
/* What weight of heavy calls may be under way. What can be asked for in parts should be asked for in as few. */
size_t link_room(const struct link *l);
/* It comes to no more than this; 0: to any. */
size_t link_room_most(const struct link *l);
void link_set_room_most(struct link *l, size_t most);
/* The next call, if it is heavy, may be why connections end: nothing else is under way beside it, whatever else comes
 * through meanwhile. */
void link_next_goes_alone(struct link *l);

/* Only in such a function: the reply is the caller's from now on, to be freed by redis_reply_free(), but not in the
 * function. */
void link_keep_reply(struct link *l);

/* Send a command, or a script's command (EVALSHA; if Redis does not know the script, it is sent again with its body).
 * E_CONN: the link is not up. E_NOMEM. After an error nothing was accepted, and fn is not called. */
int link_call(struct link *l, struct command *c, link_reply_fn *fn, void *arg);
int link_script(struct link *l, struct command *c, link_reply_fn *fn, void *arg);

/* The same for a script that later commands must not overtake: over each connection its first call carries its body. */
int link_script_in_order(struct link *l, struct command *c, link_reply_fn *fn, void *arg);

/* Write now what was sent, instead of at the end of this turn of the loop. Not from inside a callback of this link. */
void link_flush(struct link *l);

/* Subscribe to one more channel. A break forgets all of them. */
int link_subscribe(struct link *l, enum wire_channels channels, const char *channel);
/* No more messages of a channel of the whole server; a few may still come. If this user may not do that, the link breaks
 * once, E_CONN, and from then on messages of channels that were ended go on until the next break. */
int link_unsubscribe(struct link *l, const char *channel);
/* Is something on its way that may take long, so that what is asked behind it is late? Requests of some size together have no
 * answer yet, or of an answer a part has come. */
bool link_is_busy(const struct link *l);
/* Ask for a sign of life, if none is waited for: without one the link breaks. That there is one is enough. */
void link_ping(struct link *l);

#endif
