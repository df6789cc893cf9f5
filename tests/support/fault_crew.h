/* SPDX-License-Identifier: MIT
 *
 * A crew of worker processes that are hurt one after the other: killed, frozen for two ttls, ended by SIGTERM, cut off
 * from Redis. A worker that ends is replaced at once. The first one is never hurt, so that somebody can always sweep.
 */
#ifndef FAULT_CREW_H
#define FAULT_CREW_H

#include "worker_process.h"

#define FAULT_CREW_MAX 8

enum fault { FAULT_KILLED, FAULT_FROZEN, FAULT_TERMINATED, FAULT_CUT, FAULT_COUNT };

/* `n_hurt` counts by fault. */
struct fault_crew {
    struct scene *scene;
    struct worker_spec specs[FAULT_CREW_MAX];
    struct worker_process *places[FAULT_CREW_MAX];
    int n_places, n_lives, n_steps, n_hurt[FAULT_COUNT], frozen;
    int64_t thaw_at_ms;
};

/* One worker for each spec. Without an id it gets a new one for each life. */
void fault_crew_start(struct fault_crew *c, struct scene *s, const struct worker_spec *specs, int n);

/* The next worker in the next way, in turn, until each worker has been hurt in each way. One at a time is frozen. */
void fault_crew_hurt(struct fault_crew *c);

void fault_crew_kill(struct fault_crew *c, int place);

/* The frozen worker goes on, if there is one. */
void fault_crew_thaw(struct fault_crew *c);

/* Stop all workers, and wait until they have ended as worker_process_reap_hurt() wants it. */
void fault_crew_stop(struct fault_crew *c);

/*
 * For handlers: from the first call in a worker's process on, `tick` is called with the worker every `every_ms`.
 * The first call seeds rand() with the process' token, too.
 */
void fault_crew_tick(struct live_worker *w, const struct muster_process *p, event_callback_fn tick, int every_ms);

#endif
