/* SPDX-License-Identifier: MIT
 *
 * The timer of the namespace, if this worker keeps it. See timer_keeper.c.
 */
#ifndef TIMER_KEEPER_H
#define TIMER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct muster_worker;

struct timer_keeper {
    struct event *timer;
    bool keeps;            /* this worker is the keeper, as far as it knows */
    int64_t due_at_ms;     /* by the local clock; -1: nothing is due */
    bool promoting;        /* the script that moves what is due is in flight */
    bool promote_again;    /* something earlier was told meanwhile */
    unsigned n_handing_on; /* calls of the script that hands the timer on, in flight */
    unsigned n_void;       /* so many of them, the first ones, say nothing: the timer came back since */
    int64_t held_up_ms;    /* how long the last inline handler held up the loop */
};

int timer_keeper_new(struct muster_worker *w);
void timer_keeper_free(struct muster_worker *w);
/* A heartbeat said how long it is until something is due, or that another worker keeps the timer: see struct
 * script_heard. */
void timer_keeper_apply_heartbeat(struct muster_worker *w, int64_t next_due_ms);
/* Something is due earlier than everything before it; or this worker has just become the keeper. */
void timer_keeper_sooner(struct muster_worker *w);
void timer_keeper_stop(struct muster_worker *w);
/* An inline handler is about to begin on a process of this queue; it has returned after `took_ms`. */
void timer_keeper_before_handler(struct muster_worker *w, const char *queue);
void timer_keeper_after_handler(struct muster_worker *w, int64_t took_ms);
/* Any other worker is to keep the timer: this one cannot do all that is due. */
void timer_keeper_pass_on(struct muster_worker *w);

#endif
