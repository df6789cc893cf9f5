/* SPDX-License-Identifier: MIT
 *
 * What the files of a link share: its state, and what one of them asks of another.
 *
 *   link.c          making and freeing a link
 *   link_connect.c  making its connection: resolve, connect, log in
 *   link_call.c     the way of a command and its answer; subscriptions
 *   link_io.c       its socket: hiredis' hooks into the loop, reading and writing
 *   link_guard.c    what it expects to read
 *   link_state.c    its states: breaking, trying again, silence
 *
 * Each calls only files that stand below it.
 */
#ifndef LINK_PRIVATE_H
#define LINK_PRIVATE_H

#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "redis/guard.h"
#include "redis/link.h"
#include "redis/resolver.h"

/* A connection remembers this many scripts that it has sent with their body. Others are sent with it each time. */
#define LINK_IN_ORDER_MAX 4

enum link_state { LINK_NEW, LINK_DOWN, LINK_RESOLVING, LINK_CONNECTING, LINK_GREETING, LINK_UP };

struct link {
    /* From the options. */
    struct event_base *base;
    struct url url;
    bool has_url;
    const char *name;
    int delay_max_ms;
    int silence_ms;
    struct link_callbacks callbacks;
    void *arg;

    /* Its life. */
    enum link_state state;
    redisAsyncContext *context;
    bool is_handed_in;     /* the context was made by the program, which may have selected any database */
    int db;                /* the database; known while the link is up */
    bool is_too_old;       /* the server, when last greeted */
    struct event *breaker; /* carries out a break, outside of hiredis */
    bool is_closed;
    bool is_break_due;
    int break_err;
    char why[256]; /* of the break */
    int64_t up_since_ms;

    /* Silence. */
    struct event *watch;
    size_t outstanding;   /* answers, without subscriptions */
    size_t unconfirmed;   /* subscriptions */
    int64_t last_byte_ms; /* also when waiting began */

    /* The socket. */
    struct guard guard;
    struct event *reader;
    struct event *writer;
    struct event *flusher; /* writes at the end of a turn of the loop */
    bool is_connected;
    bool is_flushing;
    bool is_flush_due;

    /* Connecting. */
    struct event *connector; /* the next attempt */
    struct resolver *resolver;
    char address[ADDRESS_MAX];
    unsigned attempts;

    /* The scripts that went with their body over this connection; NULL after the last one. */
    const struct lua_script *sent_with_body[LINK_IN_ORDER_MAX];
};

/* ---- link_state.c: whatever an _init() returned, its _clear() frees ---- */

int link_state_init(struct link *l);
void link_state_clear(struct link *l);

void link_enter(struct link *l, enum link_state state);

/* The context is gone, or about to be: forget it, tell, and try again later. Only the first call per break counts. */
void link_go_down(struct link *l, int err, const char *why);

/* Drop what there is of a connection. Outstanding commands get their NULL in here. Nothing new is accepted then. */
void link_drop_context(struct link *l);

/* Call this before one more answer is waited for. Silence counts from here if nothing was outstanding. */
void link_begin_waiting(struct link *l);

/* ---- link_io.c ---- */

int link_io_init(struct link *l);
void link_io_clear(struct link *l);

/* Hook the context into the loop; it is the link's from now on. E_NOMEM: nothing has happened. */
int link_io_attach(struct link *l, redisAsyncContext *context);

/* Write now. Inside of it hiredis may find the connection broken. */
void link_io_write(struct link *l);

/* ---- link_guard.c ---- */

/* From now on only what was asked for is read. */
void link_guard(struct link *l, redisAsyncContext *context);

/* ---- link_connect.c ---- */

int link_connect_init(struct link *l);
void link_connect_clear(struct link *l);

/* ---- link_call.c ---- */

/* One command of fixed words, up to NULL, while the link greets. */
int link_call_words(struct link *l, link_reply_fn *fn, const char *const *words);

#endif
