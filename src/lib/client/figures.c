/* SPDX-License-Identifier: MIT
 *
 * Copying a client's figures, for any thread.
 */
#include "client/client.h"

_Static_assert(-MUSTER_E_EXHAUSTED < MUSTER_CLIENT_STATS_ERRORS, "each error has its place");

int muster_client_stats(const struct muster_client *c, struct muster_client_stats *out)
{
    const struct redis_figures *f = redis_figures(c->redis);
    struct muster_client_stats stats = {0};
    if (sized_clear(SIZED_CLIENT_STATS, out))
        return MUSTER_E_INVALID;
#define READ(name, words) stats.name = figures_read(&f->name);
    MUSTER_CLIENT_COUNTERS(READ)
#undef READ
    for (size_t i = 0; i < MUSTER_CLIENT_STATS_ERRORS; i++)
        stats.errors[i] = figures_read(&f->errors[i]);
    figures_read_times(&f->time, &stats.time);
    sized_write(SIZED_CLIENT_STATS, out, &stats);
    return MUSTER_OK;
}
