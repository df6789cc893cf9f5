/* SPDX-License-Identifier: MIT
 *
 * Workers in processes of their own, all serving one queue.
 */
#ifndef CREW_H
#define CREW_H

#include <sys/types.h>

#include "bench.h"
#include "inbox.h"

#define CREW_MAX 10 /* processes */

/* What a handler does: receives its task; receives one with a time stamp; receives it and keeps it for ever. */
enum duty { DUTY_RECEIVE, DUTY_STAMPED, DUTY_KEEP };

/*
 *   queue      its name
 *   processes  each with `workers` workers on one loop
 *   spread_ms  the starts are spread over this time
 *   others     zero: muster's default
 */
struct crew_options {
    const char *queue;
    int processes, workers, spread_ms, hands, prefetch, ttl_ms;
    enum duty duty;
};

/* One process, as it and its parent see it. */
struct crew_member {
    struct inbox inbox;
    atomic_int registered;
    _Atomic int64_t stopped_ns;
    struct crew_options options;
    char url[256], prefix[64];
    pid_t pid;
    int control;
};

struct crew {
    size_t n;
    int workers;
    struct crew_member *members; /* shared */
};

/* Start it, and return when all are registered. They serve nothing yet. */
void crew_start(struct crew *c, const struct run *run, const struct crew_options *o);

/* Let them serve the queue. */
void crew_serve(struct crew *c);

/* Wait until all of them are idle on the queue. Returns how many commands Redis was sent for that. */
uint64_t crew_await_idle(const struct crew *c, const struct run *run);

/* Wait until they have received `n` tasks in all. */
void crew_await(struct crew *c, uint64_t n);

/* Stop them politely. Returns when the last one had stopped. */
int64_t crew_stop(struct crew *c);

/* Kill them. */
void crew_kill(struct crew *c);

/* Returns all that they received, which crew_stop() and crew_kill() leave there, and frees the crew. */
struct tally crew_end(struct crew *c);

#endif
