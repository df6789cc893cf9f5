/* SPDX-License-Identifier: MIT
 *
 * Copying a worker's figures, for any thread.
 */
#include "worker/figures.h"

#include "base/clock.h"
#include "worker/worker.h"

static int64_t heard_ms(const struct worker_figures *f)
{
    int64_t at_ms = figures_read_gauge(&f->heard_at_ms);
    return at_ms > 0 ? clock_ms() - at_ms : -1;
}

int muster_worker_stats(const struct muster_worker *w, struct muster_worker_stats *out)
{
    const struct worker_figures *f = &w->figures;
    struct muster_worker_stats stats = {0};
    if (sized_clear(SIZED_WORKER_STATS, out))
        return MUSTER_E_INVALID;
#define READ(name, words) stats.name = figures_read(&f->name);
    MUSTER_WORKER_COUNTERS(READ)
#undef READ
    figures_read_times(&f->wait, &stats.wait);
    figures_read_times(&f->run, &stats.run);
    figures_read_times(&f->lag, &stats.lag);
    stats.hands = w->hands;
    stats.running = figures_read_gauge(&f->running);
    stats.held = figures_read_gauge(&f->held);
    stats.registered = figures_read_gauge(&f->registered);
    stats.subscribed = figures_read_gauge(&f->subscribed);
    stats.in_doubt = figures_read_gauge(&f->in_doubt);
    stats.stopping = figures_read_gauge(&f->stopping);
    stats.heard_ms = heard_ms(f);
    sized_write(SIZED_WORKER_STATS, out, &stats);
    return MUSTER_OK;
}
