/* SPDX-License-Identifier: MIT
 *
 * The option own_thread: see own_thread.c.
 */
#ifndef OWN_THREAD_H
#define OWN_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct muster_worker;

struct own_thread {
    bool is_wanted;
    atomic_bool was_started;
    atomic_bool must_end; /* the worker is freed by another thread, which waits */
    pthread_t thread;
};

/* Does it have one, and does that run, or has it run? */
bool own_thread_was_started(const struct muster_worker *w);
/* Starts the worker there. E_STATE: it was started before. */
int own_thread_start(struct muster_worker *w);
/* Ends it, and waits for it, if it was started and is not the caller. False: it is the caller. */
bool own_thread_end(struct muster_worker *w);
/* The loop was woken: shall it end? */
void own_thread_check(struct muster_worker *w);

#endif
