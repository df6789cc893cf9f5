/* SPDX-License-Identifier: MIT
 *
 * The beginning and the end of a life of the worker's id.
 */
#ifndef REGISTRATION_H
#define REGISTRATION_H

#include <stdbool.h>

struct muster_worker;

struct registration {
    /* Of `start`, kept until it has succeeded, so that asking again is the same call; empty: the next one draws it. */
    char nonce[17];
    bool starting; /* `start` is in flight */
    bool stopping; /* `stop` is in flight */
};

bool registration_is_there(const struct muster_worker *w);
/* Registers, if both connections are ready. */
void registration_begin(struct muster_worker *w);
/* A call was answered E_GONE: the registration is gone. The worker loses all its processes; it registers again, or
 * stops if it was leaving. */
void registration_gone(struct muster_worker *w);
/* Deregisters, if this connection was read back. */
void registration_end(struct muster_worker *w);

#endif
