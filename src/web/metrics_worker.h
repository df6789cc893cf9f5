/* SPDX-License-Identifier: MIT
 *
 * The metrics of one worker, which tells them itself.
 */
#ifndef WEB_METRICS_WORKER_H
#define WEB_METRICS_WORKER_H

#include <stdbool.h>

struct muster_worker_stats;

struct metrics_worker {
    const struct muster_worker_stats *stats;
    bool is_well;
    double silent_s; /* since the worker's loop went round */
};

/* To be freed. */
char *metrics_worker_text(const struct metrics_worker *m);

#endif
