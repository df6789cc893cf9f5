/* SPDX-License-Identifier: MIT
 *
 * What the files of a link share: its state, and what one of them asks of another.
 *
 *   link.c                making and freeing a link
 *   link_connect.c        making its connection: resolve, connect, greet; breaking and trying again
 *   link_subscriptions.c  its subscriptions, and its question for a sign of life
 *   link_call.c           the way of a command and its answer
 *   link_io.c             its wire on the loop: reading and writing
 *   link_state.c          its states, and silence
 *
 * Each calls only files that stand below it. What was read goes upwards by `hears`.
 */
#ifndef LINK_PRIVATE_H
#define LINK_PRIVATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "redis/greeting.h"
#include "redis/link.h"
#include "redis/resolver.h"
#include "redis/secret.h"
#include "redis/tls.h"
#include "redis/wire.h"

/* A connection remembers this many scripts that it has sent with their body. Others are sent with it each time. */
#define LINK_IN_ORDER_MAX 8

enum link_state { LINK_NEW, LINK_DOWN, LINK_RESOLVING, LINK_CONNECTING, LINK_GREETING, LINK_UP };

/* What was read, borrowed; NULL: the wire has connected. */
typedef void link_heard_fn(struct link *l, const struct redisReply *reply);

struct link {
    /* From the options. */
    struct event_base *base;
    struct url url;
    bool has_url;
    char *prefix;
    char *root_key;
    char *format_key; /* NULL: nothing is asked */
    const char *name;
    int delay_max_ms;
    int silence_ms;
    bool answers_first;
    bool sends_again;
    bool stays_at_sentinel;
    bool counts_replicas;
    struct link_callbacks callbacks;
    void *arg;

    /* Its life. */
    enum link_state state;
    struct redisAsyncContext *handed_in; /* by the program, and not used yet */
    bool is_handed_in;                   /* the connection was, and may be in any database */
    struct wire *wire;                   /* NULL: there is no connection */
    struct greeting greeting;            /* of the last connection */
    struct event *breaker;               /* carries out a break, outside of all callbacks */
    bool is_closed;
    bool is_break_due;
    bool is_leaving; /* a break for this reason follows the answers that are outstanding */
    int break_err;
    char why[CAUSE_WHY_MAX]; /* of the break */
    struct cause cause;      /* of being down */
    int64_t up_since_ms;

    /* Silence. */
    struct event *watch;
    size_t outstanding; /* answers, without subscriptions */
    size_t outstanding_bytes;
    size_t largest;       /* the bytes of the largest request since nothing was outstanding */
    unsigned n_slow;      /* connections in a row that were silent while it was busy */
    size_t slow_request;  /* the largest one had so many bytes then; of several connections the least */
    size_t slow_answer;   /* so much of one had come, the same; SIZE_MAX: it was none, as above */
    size_t unconfirmed;   /* subscriptions */
    size_t ending;        /* subscriptions that were ended here, and not there yet */
    bool keeps_channels;  /* this user may not end subscriptions: nobody tries it again */
    int64_t last_sign_ms; /* of life; also when waiting began */
    bool is_late;         /* one since the last reply has come later than is usual */
    unsigned marks;       /* the wire's, at that time */

    /* The wire on the loop. */
    link_heard_fn *hears; /* gets what is read */
    struct event *reader;
    struct event *writer;
    bool is_reply_kept;    /* the one that is being told */
    struct event *flusher; /* writes at the end of a turn of the loop */
    bool is_flush_due;

    /* Commands that have no answer yet, in the order in which they were sent. */
    struct call *calls, **calls_end;
    struct call *held, **held_end; /* not sent yet: see link_call.c */
    size_t room;                   /* of what weight heavy ones may be under way; 0: any */
    size_t room_most;              /* it comes to no more: at twice as much the connection ended; 0: to any */
    int64_t room_most_until_ms;    /* for so long */
    size_t n_heavy;                /* so many heavy ones are under way */
    size_t weight;                 /* and have this weight together */
    bool is_alone;                 /* what is under way is one heavy call, and nothing else */
    bool is_next_alone;            /* the next one that is heavy is to be such a one */
    bool was_alone;                /* the call that gets its NULL now, when the server closed the connection */
    bool had_no_memory;            /* the call that gets its NULL now, when there was no memory for its answer */
    bool lacked_memory;            /* for what was read last */
    bool is_fruitless;             /* the connection ended with a heavy call, and has answered none */
    bool has_answered_heavy;       /* this connection */

    /* Connecting. */
    struct event *connector; /* the next attempt */
    struct resolver resolver;
    struct lookup *lookup;     /* the resolver's, while it resolves */
    struct event *looker;      /* hears of it */
    char address[ADDRESS_MAX]; /* of the host, which is tried; "": none is */
    size_t n_addresses;        /* of the host that was looked up last, beside this one; they stay while it is looked up
                                  anew: so a refusal by one is not taken for that of all */
    struct tls_context *tls;   /* of the last connection */
    unsigned attempts;
    struct place place; /* where it is, or goes next */
    bool is_sent_on;    /* this break leads there at once */
    char where[300];    /* the last attempt led to, for people */

    /* The scripts that went with their body over this connection; NULL after the last one. */
    const struct lua_script *sent_with_body[LINK_IN_ORDER_MAX];
};

/* ---- link.c ---- */

/* How many places it knows: the URL's, those of the cluster, and the addresses of a host. */
size_t link_n_places(const struct link *l);

/* ---- link_state.c: whatever an _init() returned, its _clear() frees ---- */

int link_state_init(struct link *l);
void link_state_clear(struct link *l);

void link_enter(struct link *l, enum link_state state);

/* Call this before one more answer is waited for. Silence counts from here if nothing was outstanding. */
void link_begin_waiting(struct link *l);
/* Call this whenever something may have been read. */
void link_note_sign(struct link *l);
/* Call this with each reply, and with how many bytes its request had: the line may be slow no more. */
void link_note_reply(struct link *l, size_t request);

/* ---- link_io.c ---- */

int link_io_init(struct link *l);
void link_io_clear(struct link *l);

/* Put a wire on the loop. It is the link's from now on, and freed if this fails. */
int link_io_attach(struct link *l, struct wire *wire);
/* Close it. */
void link_io_detach(struct link *l);

/* Write at the end of this turn of the loop; write now. Nothing is called back. */
void link_io_flush_later(struct link *l);
void link_io_flush(struct link *l);

/* ---- link_call.c ---- */

void link_call_init(struct link *l);
/* All outstanding commands get their NULL. */
void link_call_forget(struct link *l);
/* What is held goes, as far as there is room. */
void link_call_let_go(struct link *l);
/* An answer to the first of them. */
link_heard_fn link_call_hear;

/* ---- link_subscriptions.c ---- */

/* What a link hears that is up. */
link_heard_fn link_hear;

/* ---- link_connect.c ---- */

int link_connect_init(struct link *l);
/* Also drops the connection: outstanding commands get their NULL in here. Nothing new is accepted then. */
void link_connect_clear(struct link *l);

#endif
