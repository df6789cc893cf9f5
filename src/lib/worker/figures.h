/* SPDX-License-Identifier: MIT
 *
 * A worker's figures, which muster_worker_stats() copies. The file in which something happens counts it here; all of
 * that is on the loop's thread.
 */
#ifndef WORKER_FIGURES_H
#define WORKER_FIGURES_H

#include "base/figures.h"

struct worker_figures {
#define FIGURES_COUNTER(name, words) figure_counter name;
    MUSTER_WORKER_COUNTERS(FIGURES_COUNTER)
#undef FIGURES_COUNTER
    struct figure_times wait, run, lag;
    /* Those of the gauges that change. */
    figure_gauge running, held, registered, subscribed, in_doubt, stopping;
    figure_gauge heard_at_ms; /* 0: never */
};

#endif
