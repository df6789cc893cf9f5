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
    unsigned ear;            /* which subscription it is; 0: there is none */
    unsigned n_ears;         /* so many there were */
    bool is_ear_here;        /* the server that the data connection is at has counted it as a receiver */
    unsigned n_elsewhere;    /* subscriptions in a row that were not counted */
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
/* Registered, working or draining, and this data connection may be used for all calls. */
bool connection_can_call(const struct muster_worker *w);
/* Is there a Redis, even if it refuses? */
bool connection_is_there(const struct muster_worker *w);
/* A write of this data connection was accepted. */
void connection_accepted(struct muster_worker *w);
/* Has its server still to say, and at once, whether it counts this subscription? */
bool connection_should_ask(const struct muster_worker *w);
/* The data connection's server says how many heard a message on the worker's own channel, published when `ear` was the
 * subscription. Nobody: it listens at another server. False: the subscription is another one now, so that says nothing. */
bool connection_counted(struct muster_worker *w, unsigned ear, uint64_t n);
/* Redis knows another connection number than this one: begin like a new connection, with a higher number. Several calls
 * of the old number may be refused; only the first one counts. */
void connection_out_of_step(struct muster_worker *w);

#endif
