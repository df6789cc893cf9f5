/* SPDX-License-Identifier: MIT
 *
 * Answers on their way to the program.
 */
#ifndef ASYNC_OUTBOX_H
#define ASYNC_OUTBOX_H

#include <muster/async.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "async/async_call.h"

struct async_outbox {
    pthread_mutex_t lock;
    pthread_cond_t all_answered;
    struct async_list answered;
    atomic_size_t n_unanswered; /* lowered under the lock, so that who waits there misses nothing */
    int fd;                     /* readable while something is in `answered` or `taken` */

    /* The thread that takes answers. */
    struct async_list taken;  /* off `answered`, and still to be handed out */
    struct async_list handed; /* lent to the program */
    bool is_dispatching;
    bool is_free_due; /* the client is freed as soon as it is not */
};

int async_outbox_init(struct async_outbox *out);
void async_outbox_clear(struct async_outbox *out);

/* An answer is to come. */
void async_outbox_expect(struct async_outbox *out);
/* These n are answered. */
void async_outbox_put(struct async_outbox *out, struct async_list *calls, size_t n);

#endif
