/* SPDX-License-Identifier: MIT
 *
 * The measures of a block.
 */
#include "meter.h"

#include <stdlib.h>

void meter_start(struct meter *m, struct redisContext *redis)
{
    m->redis = redis;
    m->info = raw_info(redis);
    m->at_ns = now_ns();
}

void meter_stop(const struct meter *m, uint64_t tasks, int64_t until_ns, struct block *out)
{
    int64_t end_ns = until_ns ? until_ns : now_ns();
    struct raw_info info = raw_info(m->redis);
    out->tasks = tasks;
    out->seconds = (double)(end_ns - m->at_ns) / 1e9;
    out->cpu_us = info.cpu_us - m->info.cpu_us;
    out->commands = (double)(info.commands - m->info.commands - 1); /* without the first INFO */
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void meter_latencies(int64_t *ns, size_t n, struct block *out)
{
    if (n == 0)
        return;
    qsort(ns, n, sizeof *ns, compare_ns);
    out->p50_us = (double)ns[n / 2] / 1e3;
    out->p99_us = (double)ns[n - 1 - n / 100] / 1e3;
    out->p999_us = (double)ns[n - 1 - n / 1000] / 1e3;
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_values);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
