/* SPDX-License-Identifier: MIT
 *
 * Takes that wait for work. The library's thread alone.
 */
#ifndef ASYNC_WATCH_H
#define ASYNC_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "async/async_call.h"
#include "redis/lookout.h"
#include "redis/pair.h"

struct async_watch;
struct event;
struct link;
struct muster_async;
struct url;

struct async_watches {
    struct url *url;         /* where the hearing link goes */
    struct link *link;       /* NULL: nobody has waited yet */
    struct pair pair;        /* it, and the one over which takes go */
    struct lookout *lookout; /* the same: where a sentinel says that both must be */
    struct event *pinger;
    struct async_watch **all; /* a queue each, in their order */
    size_t n, cap;
};

int async_watch_init(struct muster_async *a, const struct url *url);
void async_watch_clear(struct muster_async *a);

/* The take has found nothing, and waits: it is sent again when it may find something, at last at `until_ms`.
 * `next_due_ms`: in so many ms something becomes ready; -1: nothing will. `caller`: its name, which must stay. E_NOMEM:
 * it cannot wait, and is the caller's. */
int async_watch_sleep(struct async_call *take, const char *queue, const char *caller, int64_t next_due_ms,
                      int64_t until_ms);

/* A take goes out: it sees all that was announced until then. Returns async_watch_hears(). */
unsigned async_watch_begin(struct muster_async *a, const char *queue);
/* Are messages of the queue heard? Then a take may say that it waits if it finds nothing. 0: no. Otherwise another number
 * after each time that some may have been missed. */
unsigned async_watch_hears(struct muster_async *a, const char *queue);

/* A take has found something: there may be more. */
void async_watch_found(struct muster_async *a, const char *queue);

#endif
