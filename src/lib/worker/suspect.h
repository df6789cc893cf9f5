/* SPDX-License-Identifier: MIT
 *
 * Suspects: processes one of whose holders died. They run alone: see suspect.c.
 */
#ifndef SUSPECT_H
#define SUSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/script_worker.h"
#include "worker/process.h"

struct event;
struct muster_worker;

enum suspect_stage {
    SUSPECT_WAITS,     /* it is the next to start, but others run or have ends to be confirmed */
    SUSPECT_MAY_RUN,   /* Redis knows that it begins alone: dispatch.c starts it */
    SUSPECT_RUNS,      /* it was started; its end is not confirmed yet */
    SUSPECT_STEPS_BACK /* it does not begin now, or does not end here: Redis is to hear of that before others begin */
};

struct suspects {
    struct event *timer;
    size_t n;                     /* suspects whose handler has not ended yet, */
    size_t n_put_off;             /* and those among them that a damaged key keeps from beginning */
    struct muster_process *first; /* nothing starts but this one, until its end is confirmed; NULL: there is none */
    enum suspect_stage stage;     /* of `first` */
    bool is_noted;                /* Redis may have noted that `first` begins */
    int64_t since_ms;             /* when its stage began; waiting and being allowed are one */
    int64_t allowed_ms;           /* when it was allowed to run */
    bool in_flight;               /* a call about `first` */
    bool is_refused;              /* such a call was: not again before the next heartbeat */
    size_t beside_most;           /* while it waits Redis is asked only if no more than these run */
    bool was_told;                /* the program knows that it takes long */
    int64_t tell_after_ms;        /* of waiting, or of running alone */
    int64_t acquit_after_ms;      /* of running alone */
    int64_t untaken_after_ms;     /* of being allowed, without being taken by the program */
};

int suspect_new(struct muster_worker *w);
void suspect_free(struct muster_worker *w);
/* No further call. */
void suspect_stop(struct muster_worker *w);
/* It has arrived, and Redis says that it is one. */
void suspect_note(struct muster_process *p);
/* Does the worker take nothing more, because one of them is to run alone? */
bool suspect_keeps_hands(const struct muster_worker *w);
/* The first one does not begin before the next heartbeat: a key is damaged. Others start meanwhile. */
void suspect_put_off(struct muster_process *p);
/* May this process start, which is the next one? If it is a suspect, what has to come first is begun. */
bool suspect_may_start(struct muster_process *p);
/* Its handler starts, by leave of suspect_may_start(). */
void suspect_starts(struct muster_process *p);
/* Its handler has ended, or it goes back without having begun: it enters a state with these answers. */
void suspect_moves_on(struct muster_process *p, unsigned answers);
/* It is no suspect any more: it is gone, or belongs to somebody else. */
void suspect_let_go(struct muster_process *p);
/* Must the queue still be served, because Redis is to hear first that a suspect of it begins no more? */
bool suspect_must_step_back(struct muster_worker *w, const struct served *s);
/* Does what can be done now about one that steps back. */
void suspect_go_on(struct muster_worker *w);
/* A heartbeat is confirmed: what Redis refused is tried again. */
void suspect_try_again(struct muster_worker *w);
/* There is no first one. */
void suspect_unset_first(struct muster_worker *w);

/* ---- suspect_call.c ---- */
/* Tells Redis about the first one. The next heartbeat tries again if it cannot be sent. */
void suspect_ask(struct muster_process *p, enum script_alone what);

#endif
