/* SPDX-License-Identifier: MIT
 *
 * A vigil: a caller that waits for work to take under a lease.
 */
#ifndef VIGIL_H
#define VIGIL_H

#include <stdint.h>

struct muster_client;
struct redis;

/*
 * Begin with the client and the queue, and the rest 0.
 *   looked_at_ms  when it looked last
 *   stagger_ms    how long after a message that names nobody it looks, at most
 */
struct vigil {
    struct muster_client *client;
    const char *queue;
    struct redis *listener;
    int64_t looked_at_ms, stagger_ms;
};

/* Listens from now on, if it does not yet. The caller must take after it, and before it sleeps. */
int vigil_listen(struct vigil *v);

/* Sleeps until a take may bring something, at most `ms`, and no longer than until something is due; -1: nothing is.
 * MUSTER_OK, or E_INTERRUPTED. */
int vigil_sleep(struct vigil *v, int64_t next_due_ms, int64_t ms);

void vigil_end(struct vigil *v);

#endif
