/* SPDX-License-Identifier: MIT
 *
 * Enqueueing without blocking: see produce.c.
 */
#ifndef PRODUCE_H
#define PRODUCE_H

#include <muster/worker.h>
#include <stdbool.h>

#include "redis/confirm.h"
#include "redis/link.h"

struct event;
struct posting;

struct produce {
    struct confirm confirm; /* what must have a task that the worker enqueues; nothing: the data link will do */
    struct url url;         /* where the connection of its own goes; empty without confirmation */
    struct link *link;      /* NULL: it was not needed yet */
    struct event *turn_end;
    struct posting *waiting, **waiting_end; /* to be sent, in their order */
    struct posting *refused, **refused_end; /* could not be sent, and are told so by the loop */
    struct posting *sent, **sent_end;       /* before the question that is under way */
    size_t n_unanswered;                    /* calls before the question, or sent once more behind it */
    bool is_asking;
};

int produce_new(struct muster_worker *w, const struct url *url);
void produce_free(struct muster_worker *w);
/* The loop has this one: it is to be sent, or the error says why it cannot be. */
int produce_take_over(struct muster_worker *w, struct posting *posting);
void produce_close(struct muster_worker *w);

#endif
