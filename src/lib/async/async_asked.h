/* SPDX-License-Identifier: MIT
 *
 * A call that is one command: it is laid out on the thread that calls, and sent as it is.
 */
#ifndef ASYNC_ASKED_H
#define ASYNC_ASKED_H

#include "async/async_call.h"
#include "redis/command.h"
#include "redis/link.h"

struct async_asked {
    struct async_call call;
    struct command command; /* it borrows nothing */
    size_t bytes;
    char *name; /* what the call is about, for words; a copy */
    int what;   /* the kind's own */
};

/* A call of this kind, whose struct has this size and begins with a struct async_asked. The command is moved there, with
 * copies of all that it borrows, and is empty afterwards. NULL: no memory. */
void *async_asked_new(struct muster_async *a, const struct async_kind *kind, size_t size, struct command *c,
                      const char *name, muster_async_fn *fn, void *arg);
/* Sends it, and takes it off the list of those that wait. */
int async_asked_send(struct async_asked *asked, link_reply_fn *hear);
/* The kind's clear. */
void async_asked_clear(struct async_call *call);

/* Hand it over, or say that there was no memory for it. */
int async_asked_post(struct muster_async *a, struct async_asked *asked);

#endif
