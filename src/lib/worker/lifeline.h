/* SPDX-License-Identifier: MIT
 *
 * The lifeline: a third connection, which keeps the worker's life up while its heartbeats wait behind something large.
 * See lifeline.c.
 */
#ifndef LIFELINE_H
#define LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/registration.h"

struct event;
struct link;
struct muster_worker;

struct lifeline {
    struct event *timer;
    struct link *link; /* NULL: none is needed */
    /* What is under way over it; */
    bool in_flight, is_renewed;
    int64_t sent_ms;  /* when it was sent, */
    struct life life; /* and for what */
    uint64_t conn;
};

int lifeline_new(struct muster_worker *w);
void lifeline_free(struct muster_worker *w);
/* A heartbeat has gone out: see whether it comes to wait. */
void lifeline_watch(struct muster_worker *w);
/* It is answered, or its connection broke: nothing is in its way any more. Not from inside what the lifeline calls. */
void lifeline_end(struct muster_worker *w);

#endif
