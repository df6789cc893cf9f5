/* SPDX-License-Identifier: MIT
 *
 * Stopping: see stop.c.
 */
#ifndef STOP_H
#define STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct event;
struct muster_worker;

struct stop {
    int wake_fd; /* an eventfd, by which other threads wake the loop */
    struct event *waker;
    struct event *drain_timer;
    atomic_llong wish_ms;    /* the shortest drain time that was asked for; -1: nobody wants the worker to stop */
    int64_t leave_before_ms; /* when it stops even if it could not deregister; 0: not known yet */
    bool drain_is_over;
    bool had_children; /* when the loop looked last */
    bool is_at_once;   /* Redis is told nothing more: only children are waited for */
};

int stop_new(struct muster_worker *w);
void stop_free(struct muster_worker *w);
bool stop_is_wished(const struct muster_worker *w);
/* Stop after an error that waiting does not mend; `text` says which. What runs is drained. */
void stop_give_up(struct muster_worker *w, int err, const char *text);
/* It tells Redis nothing more, and takes nothing: it has stopped when its children have ended. These are told to stop. */
void stop_at_once(struct muster_worker *w);
void stop_begin_drain(struct muster_worker *w);
/* Is it time to stop, or to leave? It is asked in each round, and when work begins. */
void stop_check(struct muster_worker *w);
/* Wakes the loop, from any thread: something was left for it. */
void stop_wake(struct muster_worker *w);
/* No further event of these: the worker has stopped. */
void stop_done(struct muster_worker *w);

#endif
