/* SPDX-License-Identifier: MIT
 *
 * Histograms of times. Their bounds double, so a bucket is found without a search.
 */
#include "base/figures.h"

#define FIRST_US 125

static const int64_t bounds_us[] = {
#define BOUND(us, seconds) (us##LL),
    MUSTER_HISTOGRAM_BOUNDS(BOUND)
#undef BOUND
};

#define N_BOUNDS (MUSTER_HISTOGRAM_BUCKETS - 1)

static size_t bucket_of(uint64_t us)
{
    uint64_t rest = us / FIRST_US;
    size_t bucket = rest == 0 ? 0 : 64 - (size_t)__builtin_clzll(rest);
    return bucket < N_BOUNDS ? bucket : N_BOUNDS;
}

void figures_add_time(struct figure_times *t, int64_t us)
{
    uint64_t time = us > 0 ? (uint64_t)us : 0;
    figures_add(&t->sum_us, time);
    figures_add(&t->buckets[bucket_of(time)], 1);
}

/* The number is that of the buckets, so that the two agree whatever is added meanwhile. */
void figures_read_times(const struct figure_times *t, struct muster_histogram *out)
{
    out->n = 0;
    out->sum_us = figures_read(&t->sum_us);
    for (size_t i = 0; i < MUSTER_HISTOGRAM_BUCKETS; i++) {
        out->buckets[i] = figures_read(&t->buckets[i]);
        out->n += out->buckets[i];
    }
}

int64_t muster_histogram_bound_us(int bucket)
{
    return bucket >= 0 && bucket < N_BOUNDS ? bounds_us[bucket] : -1;
}
