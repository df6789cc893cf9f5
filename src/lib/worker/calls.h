/* SPDX-License-Identifier: MIT
 *
 * Calls that other threads leave for the loop: see calls.c.
 */
#ifndef CALLS_H
#define CALLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct muster_worker;

/* One of them, the first member of what it is about. `run` is called once, by the loop, and sees to its memory. */
struct call {
    struct call *next;
    void (*run)(struct call *c, struct muster_worker *w);
};

struct calls {
    pthread_mutex_t lock;
    pthread_cond_t done; /* somebody's call was carried out */
    struct call *left, **left_end;
    _Atomic uint64_t n_left; /* ever: an end waits for those that were left before it (follow.c) */
    bool is_closed;          /* nothing more is accepted */
    struct call *due;        /* the loop's: taken and not carried out yet */
    uint64_t n_run;          /* the loop's, ever */
};

int calls_new(struct muster_worker *w);
void calls_free(struct muster_worker *w);

/* ---- any thread ---- */
/* Leave one. False: the worker has stopped, and the call is still the caller's. */
bool calls_leave(struct muster_worker *w, struct call *c);
/* Have the loop carry out `fn`, wait for that, and return what it has: with an own thread. Without one, or on the
 * loop's thread, it is simply called. E_STATE: the worker has stopped. */
typedef int call_fn(struct muster_worker *w, const void *arg);
int calls_carry_out(struct muster_worker *w, call_fn *fn, const void *arg);

/* ---- the loop's thread ---- */
void calls_run(struct muster_worker *w);
/* Carries out what is left, and accepts nothing more. */
void calls_close(struct muster_worker *w);

#endif
