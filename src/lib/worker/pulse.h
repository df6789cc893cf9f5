/* SPDX-License-Identifier: MIT
 *
 * A sign of life for others than Redis: the program's call, made by the loop.
 */
#ifndef WORKER_PULSE_H
#define WORKER_PULSE_H

#include <muster/worker.h>

struct event;

struct pulse {
    struct event *timer; /* NULL: none was ever asked for */
    muster_pulse_fn *fn;
    void *arg;
};

/* No more of it. It may be called again. */
void pulse_free(struct muster_worker *w);

#endif
