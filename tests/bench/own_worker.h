/* SPDX-License-Identifier: MIT
 *
 * A worker in this process, on a loop of its own that runs only while something is waited for.
 */
#ifndef OWN_WORKER_H
#define OWN_WORKER_H

#include <stdbool.h>

#include <muster/worker.h>

#include "bench.h"

struct event_base;

struct own_worker {
    struct event_base *base;
    struct muster_worker *worker;
    bool registered, stopped;
};

/* Make it with these options (where it lives is filled in), and return when it is registered. */
void own_worker_start(struct own_worker *w, const struct run *run, const struct muster_worker_options *options);

/* Run the loop until the worker has stopped, which something else must bring about. own_worker_stop() then frees. */
void own_worker_run(struct own_worker *w);

/* Stop it politely and free it. */
void own_worker_stop(struct own_worker *w);

#endif
