/* SPDX-License-Identifier: MIT
 *
 * A worker under test in a process of its own, so that it can be killed. It is a live worker (live_worker.h) on a loop
 * of its own, writes to the scene's journal, and gets its orders through a socket. Owned by the scene.
 */
#ifndef WORKER_PROCESS_H
#define WORKER_PROCESS_H

#include <sys/types.h>

#include "live_worker.h"

/* `pid` is 0 once it has been killed or reaped. */
struct worker_process {
    struct worker_process *next;
    struct journal *journal;
    pid_t pid;
    int orders;
    char id[MUSTER_WORKER_ID_MAX + 1];
};

/* The spec needs an id. Returns at once. */
struct worker_process *worker_process_start(struct scene *s, const struct worker_spec *spec);

/* The same, and wait until it is idle on all its queues. */
struct worker_process *worker_process_idle(struct scene *s, const struct worker_spec *spec);

/* One that dies by SIGKILL at this failpoint, "SCRIPT:WHERE:N:kill". And wait until it has, and reap it. */
struct worker_process *worker_process_start_to_die(struct scene *s, const struct worker_spec *spec, const char *point);
void worker_process_await_death(struct worker_process *w);

/* As live_worker_end(), live_worker_answer() and muster_worker_stop(); none waits for it to be done. */
void worker_process_end(struct worker_process *w, enum muster_outcome outcome);
void worker_process_answer(struct worker_process *w, enum muster_outcome outcome);
void worker_process_stop(struct worker_process *w, int drain_ms);

/* SIGKILL, and reap. */
void worker_process_kill(struct worker_process *w);

/* Wait for it to end by itself, as it does when its worker has stopped: 0, or 1 if that ended with an error. */
int worker_process_reap(struct worker_process *w);

/* The same. True also if it says that its peers have taken it for dead (E_GONE), or that Redis did not answer its stop in
 * time (E_CONN): both happen when the machine keeps it from its heartbeats, or when it is cut off as it ends. */
bool worker_process_reap_hurt(struct worker_process *w);

#endif
