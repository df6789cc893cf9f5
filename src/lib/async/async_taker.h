/* SPDX-License-Identifier: MIT
 *
 * Takers: the names under which takes go. A take has one of its own from when it is made until its answer is handed out
 * to the program. Until then what it took, or may still take, can be given back under its name.
 */
#ifndef ASYNC_TAKER_H
#define ASYNC_TAKER_H

#include <muster/client.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/take_name.h"

struct muster_async;
struct untake;

struct async_taker {
    struct async_taker *next_free, *next; /* of those that nobody has; of all */
    struct async_taker *next_aside;       /* of a take: async_unsent.h */
    char name[TAKE_NAME_MAX];             /* of the last take */
    uint64_t n;
    char queue[MUSTER_QUEUE_MAX + 1];
    bool may_hold; /* the last take was sent, and nobody knows yet what it brought */
    struct untake
        *untake; /* gives that back; it is made beforehand, for there may be no memory then. NULL: it does so now */
};

struct async_takers {
    pthread_mutex_t lock;
    struct async_taker *free, *all;
};

void async_taker_init(struct async_takers *t);
void async_taker_clear(struct async_takers *t);

/* For takes of this queue; NULL: no memory. Any thread. */
struct async_taker *async_taker_get(struct muster_async *a, const char *queue);
/* Somebody else may have it. Any thread; NULL is allowed. */
void async_taker_release(struct muster_async *a, struct async_taker *taker);

/* The library's thread: give back what its last take took, or will take. It is released then. Whatever was made before
 * that and is still to be sent comes behind it. */
void async_taker_give_back(struct muster_async *a, struct async_taker *taker);

/* The library's thread, at the end: give back all that nobody will hear of. False: there is nothing. */
bool async_taker_give_back_all(struct muster_async *a);

#endif
