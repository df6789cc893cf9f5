/* SPDX-License-Identifier: MIT
 *
 * Figures that one thread counts and any thread may read: counters, gauges, histograms of times.
 *
 * Each has one writer, the thread that owns the worker or uses the client. So adding needs neither a lock nor a locked
 * instruction: it is a load and a store that readers never see half done. Readers see each figure as it was at some
 * moment, not all of them at the same one.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <muster/stats.h>
#include <stdatomic.h>

typedef _Atomic uint64_t figure_counter;
typedef _Atomic int64_t figure_gauge;

struct figure_times {
    figure_counter sum_us, buckets[MUSTER_HISTOGRAM_BUCKETS];
};

static inline void figures_add(figure_counter *f, uint64_t n)
{
    atomic_store_explicit(f, atomic_load_explicit(f, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void figures_set(figure_gauge *f, int64_t value)
{
    atomic_store_explicit(f, value, memory_order_relaxed);
}

static inline uint64_t figures_read(const figure_counter *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

static inline int64_t figures_read_gauge(const figure_gauge *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

/* A time that is negative, by a clock that was set back, counts as none at all: 0. */
void figures_add_time(struct figure_times *t, int64_t us);
void figures_read_times(const struct figure_times *t, struct muster_histogram *out);

#endif
