/* SPDX-License-Identifier: MIT
 *
 * What the workers of a page hold of the queues that share evenly, and what their shares are.
 */
#ifndef WORKER_SHARES_H
#define WORKER_SHARES_H

#include "client/client.h"

/* All zero: none. */
struct worker_shares {
    struct muster_worker_share *at;
    size_t n;
};

/* Fill in the shares of n workers, whose records are given; an empty record has none. The names are the records'. One
 * round trip for all queues that they serve, and one more if any of these shares evenly. */
int worker_shares_read(struct muster_client *c, const char *const *ids, const struct redisReply *const *records,
                       size_t n, struct worker_shares *shares);
void worker_shares_free(struct worker_shares *shares, size_t n);

#endif
