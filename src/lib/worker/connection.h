/* SPDX-License-Identifier: MIT
 *
 * The worker's two connections: see connection.c.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <muster/worker.h>
#include <stdbool.h>
#include <stdint.h>

#include "redis/lookout.h"
#include "redis/pair.h"

/* What DOWN told of a connection in this outage. */
struct down_told {
    int err; /* MUSTER_OK: nothing */
    enum cause_rank rank;
    char why[160];
};

struct connection {
    struct link *data;
    struct link *subscription;
    struct lookout *lookout; /* NULL: no Sentinel names the master, or connections were handed in */
    bool is_subscribed;      /* all channels of this connection's first subscription are confirmed */
    struct pair pair;        /* both of them: are they at the same server? */
    /* A read-back has announced this data connection: nothing from an older one can count. registration.c and
     * readback.c set it. */
    bool is_read_back;
    /* The last attempt of the data connection led to a replica, and no write was accepted since. */
    bool is_replica;
    bool data_was_up, subscription_was_up; /* ever */
    struct down_told data_down_told;
    struct down_told subscription_down_told;
    int64_t down_told_at_ms;
};

int connection_new(struct muster_worker *w, const struct muster_worker_options *o, const struct url *url);
void connection_free(struct muster_worker *w);
void connection_open(struct muster_worker *w);
void connection_close(struct muster_worker *w);
/* One more link to where the data connection is, which is not connected yet; the caller's. E_NOMEM, or E_STATE: that
 * connection was handed in. */
int connection_branch(struct muster_worker *w, struct link **out, const char *name,
                      const struct link_callbacks *callbacks);
/* Registered, working or draining, and this data connection may be used for all calls. */
bool connection_can_call(const struct muster_worker *w);
/* Is there a Redis, even if it refuses? */
bool connection_is_there(const struct muster_worker *w);
/* A write of this data connection was accepted. */
void connection_accepted(struct muster_worker *w);
/* A heartbeat's answer, which tells how many heard its echo; pair_counted() says what it returns. */
bool connection_counted(struct muster_worker *w, unsigned subscription, uint64_t n);
/* Redis knows another connection number than this one: begin like a new connection, with a higher number. Several calls
 * of the old number may be refused; only the first one counts. */
void connection_out_of_step(struct muster_worker *w);

#endif
