/* SPDX-License-Identifier: MIT
 *
 * A ring: one thread puts things in, many take them out, each thing once and in order, without a lock. What nobody has
 * taken can be called back. The first part of it is sure: anybody may take that. The rest is ahead: whoever takes of it
 * must have a right to more, which is the takers' affair.
 *
 * Numbers of things rise by one and wrap around; two of them are compared by their distance.
 */
#ifndef RING_H
#define RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
    _Atomic(void *) *slots;
    uint32_t mask;
    _Atomic uint64_t ends; /* number of the first thing to take, and below it the one behind the last */
    _Atomic uint32_t sure; /* number behind the last sure thing */
    uint32_t filled;       /* what was put in, published or not; the putting thread's, as the next one */
    uint32_t seen;         /* what ring_next_taken() has told */
};

enum ring_part { RING_SURE, RING_ALL };

/* For at least n things; false: out of memory. */
bool ring_new(struct ring *r, size_t n);
void ring_free(struct ring *r);

/* ---- any thread ---- */
/* NULL: there is nothing. */
void *ring_take(struct ring *r, enum ring_part part);
/* Is there a sure thing to take? */
bool ring_has_sure(const struct ring *r);

/* ---- the thread that puts in ---- */
/* Is there room, with `spare` places left? */
bool ring_has_room(const struct ring *r, uint32_t spare);
/* Its number. Nobody can take it before ring_publish(). */
uint32_t ring_put(struct ring *r, void *thing);
void ring_publish(struct ring *r);
/* All up to this number, with it, are sure. */
void ring_make_sure(struct ring *r, uint32_t number);
/* The last thing that is ahead and was not taken; NULL: there is none. */
void *ring_last_ahead(const struct ring *r);
/* Calls back all that is ahead and was not taken, and tells each, in order. */
void ring_call_back(struct ring *r, void (*tell)(void *thing));
/* The next thing that was taken while it was ahead, in order; NULL: there is no more. Made sure later, it is not told. */
void *ring_next_taken(struct ring *r);
/* One that was taken, but not told yet, is not to be told. */
void ring_forget(struct ring *r, uint32_t number);

#endif
