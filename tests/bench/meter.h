/* SPDX-License-Identifier: MIT
 *
 * The measures of a block: time, Redis' CPU and commands, and latencies.
 */
#ifndef METER_H
#define METER_H

#include "bench.h"
#include "raw.h"

struct meter {
    struct redisContext *redis;
    struct raw_info info;
    int64_t at_ns;
};

/* INFO is asked for outside of the time that counts. */
void meter_start(struct meter *m, struct redisContext *redis);

/* `tasks` were done since the start, up to now or, if it is not 0, up to `until_ns`. */
void meter_stop(const struct meter *m, uint64_t tasks, int64_t until_ns, struct block *out);

/* Sorts the latencies. */
void meter_latencies(int64_t *ns, size_t n, struct block *out);

double median_of(double *values, size_t n);

#endif
