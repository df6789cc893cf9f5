/* SPDX-License-Identifier: MIT
 *
 * The beginning and the end of a life of the worker's id.
 */
#ifndef REGISTRATION_H
#define REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/token.h"

struct muster_worker;

/* A life of the id. Each call that is about one keeps it: its answer means nothing in another. */
struct life {
    char epoch[TOKEN_LEN + 1];
};

struct registration {
    /* Of `start`, kept until it has succeeded, so that asking again is the same call; empty: the next one draws it. */
    char nonce[17];
    bool starting;         /* `start` is in flight */
    bool stopping;         /* `stop` is in flight */
    bool may_have_stopped; /* it was, and had no answer */
    int64_t not_before_ms; /* the next life may begin: a registration that goes at once is not made again at once */
};

/* Option resume: what a former life of the id held is taken up first. */
struct resuming {
    enum {
        RESUME_DONE,      /* there is nothing to take up, or no more */
        RESUME_TAKES_UP,  /* some of it may still have to be moved into the worker's sets */
        RESUME_READS_BACK /* all is there; the next read-back names it */
    } stage;
    bool in_flight;
    bool is_refused; /* not again before the next heartbeat */
    bool has_left;   /* a former life has left something for this one */
};

bool registration_is_there(const struct muster_worker *w);
/* This one; all zeros: there is none. Is it still that one? */
struct life registration_life(const struct muster_worker *w);
bool registration_is_life(const struct muster_worker *w, const struct life *life);
/* Registers, if both connections are ready. */
void registration_begin(struct muster_worker *w);
/* A call was answered E_GONE: the registration is gone. The worker loses all its processes; it registers again, or
 * stops if it was leaving. */
void registration_gone(struct muster_worker *w);
/* Deregisters, if this connection was read back. */
void registration_end(struct muster_worker *w);

/* ---- resume.c ---- */
/* The worker is registered; `n_left`: what a former life has left for this one. */
void resume_begin(struct muster_worker *w, uint64_t n_left);
/* A new connection: a Redis that came back older does not know that what was left was taken up. */
void resume_begin_again(struct muster_worker *w);
/* Until it is over nothing else is taken. */
bool resume_is_under_way(const struct muster_worker *w);
/* Does what can be done now; asked in each round. */
void resume_go_on(struct muster_worker *w);
/* A heartbeat is confirmed: what Redis refused is tried again. */
void resume_try_again(struct muster_worker *w);
/* A read-back was applied. */
void resume_apply_readback(struct muster_worker *w);
/* The registration is gone. */
void resume_forget(struct muster_worker *w);

#endif
