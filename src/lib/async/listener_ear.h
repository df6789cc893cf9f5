/* SPDX-License-Identifier: MIT
 *
 * Ears: what is listened to, and from when on nothing of it is missed.
 */
#ifndef LISTENER_EAR_H
#define LISTENER_EAR_H

#include <muster/listen.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct muster_listener;

/* Somebody whom the scripts must be told of: they forget him after ten seconds. */
struct listener_told {
    int64_t at_ms;     /* when they were last told with success; 0: never */
    int64_t try_ms;    /* when to tell them again */
    bool is_under_way; /* the script is */
};

struct listener_ear {
    char *queue; /* NULL: the jobs of all queues */
    int kinds;
    bool is_asked, is_subscribed; /* to all its channels, over this connection */
    struct listener_told told;    /* of the queue's own events */
    bool is_ready;                /* READY was the last that was said */
    bool is_gap;                  /* GAP was */
    bool is_refusal;              /* and it said what somebody must mend */
    bool owes_gap;                /* it could not be said: there was no memory */
    bool is_dropping;             /* until there is room again */
};

struct listener_ears {
    struct listener_ear **all; /* in the order of their queues; NULL comes first */
    size_t n, cap;
    size_t next_told;          /* whose turn it is to be told of; it may be beyond the last one */
    struct listener_told jobs; /* somebody listens to jobs */
    size_t n_jobs;             /* so many ears do */
    bool is_jobs_asked, is_jobs_subscribed;
};

/* NULL: there is none. `len` of the queue's name; `queue` NULL: of all queues. */
struct listener_ear *listener_ear_find(struct muster_listener *l, const char *queue, size_t len);
/* The kinds that it is to hear; 0: it goes. E_NOMEM. */
int listener_ear_wish(struct muster_listener *l, const char *queue, int kinds);
void listener_ear_clear(struct muster_listener *l);

/* Do its scripts have to be told, of the queue itself or of jobs? */
bool listener_ear_is_of_queue(const struct listener_ear *ear);
bool listener_ear_is_of_jobs(const struct listener_ear *ear);

/* READY, if all that it needs is there. */
void listener_ear_settle(struct muster_listener *l, struct listener_ear *ear);
/* GAP, if that is news: it is one also when an outage turns out to be a refusal. */
void listener_ear_miss(struct muster_listener *l, struct listener_ear *ear, int err, const char *why);
/* For those that are told by this; NULL: by their queue. */
void listener_ear_settle_all(struct muster_listener *l);

/* Something that this ear hears. */
void listener_ear_hears(struct muster_listener *l, struct listener_ear *ear, const struct muster_heard *heard);
/* Something that it would have heard is lost. */
void listener_ear_drops(struct muster_listener *l, struct listener_ear *ear);
/* There may be room again. */
void listener_ear_go_on(struct muster_listener *l);

#endif
