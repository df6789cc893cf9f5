/* SPDX-License-Identifier: MIT
 *
 * What the files of the takes that wait share.
 *
 *   async_watch.c       the queues for which somebody waits, and who wakes when
 *   async_watch_look.c  a look whether a take would find something, by plain commands
 *   async_watch_hear.c  the hearing link: subscriptions and messages
 */
#ifndef ASYNC_WATCH_PRIVATE_H
#define ASYNC_WATCH_PRIVATE_H

#include "async/async.h"

#define ASYNC_WATCH_NEVER INT64_MAX

/* A take that has found nothing. */
struct async_sleeper {
    struct async_sleeper *next;
    struct async_call *take;
    const char *caller; /* its name */
    int64_t wake_ms;    /* it takes then, at the latest */
};

/* A queue. Times are those of clock_ms(). */
struct async_watch {
    struct muster_async *async;
    struct async_sleeper *first, **end; /* the one that has waited longest first */
    bool is_asked, is_subscribed;
    unsigned n_subscribed; /* how often it was */
    struct event *timer;
    int64_t look_ms, looked_ms; /* the next look, ASYNC_WATCH_NEVER: none is planned; the last one */
    int64_t stagger_ms;         /* how long after a message without names a look follows, at most */
    int64_t idle_ms;            /* if nobody sleeps then, the queue is left */

    /* A look that is under way. */
    size_t n_to_come, n_come; /* answers; 0 to come: there is none */
    int64_t due_ms, now_ms;   /* by Redis' clock; -1: not known */
    uint64_t waiting;
    bool has_failed;

    char queue[];
};

/* ---- async_watch.c ---- */

/* NULL: nobody waits there. `len` of the queue's name. */
struct async_watch *async_watch_find(struct muster_async *a, const char *queue, size_t len);
/* Takes it off the list of those that sleep. */
struct async_call *async_watch_take_out(struct async_watch *w, struct async_sleeper **at);
/* The same, and sends it. */
void async_watch_wake(struct async_watch *w, struct async_sleeper **at);
/* After a change of what is to be done when. */
void async_watch_set_timer(struct async_watch *w);
/* Look in so many ms, or sooner. */
void async_watch_plan_look(struct async_watch *w, int64_t in_ms);

/* ---- async_watch_look.c ---- */

/* Somebody sleeps, and nobody looks. */
void async_watch_look(struct async_watch *w);

/* ---- async_watch_hear.c ---- */

/* The hearing link is made when it is first needed. */
int async_watch_open_link(struct muster_async *a);
void async_watch_subscribe(struct async_watch *w);

#endif
