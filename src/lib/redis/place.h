/* SPDX-License-Identifier: MIT
 *
 * Where to connect to next, so as to reach the Redis that has the namespace: one server, the owner of a slot in a
 * cluster, or the master that a Sentinel names. Only the decision: a link or a blocking connection carries it out, and
 * tells what it met.
 *
 *   one server   that one. If it says MOVED, it is a node of a cluster: then where MOVED says
 *   a cluster    the URL's nodes in turn, then those that the cluster has named; each says MOVED, or is the owner
 *   Sentinel     the URL's sentinels in turn, until one names the master; then the master
 *
 * A host that a server names obeys the rule for hosts of a URL. If it is "" or "?", or if there is none, the server does
 * not know it: it is the one that was asked.
 *
 * ASK is never followed: a script that went there would find a namespace that is empty, or half of one.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/reply.h"
#include "redis/url.h"

#define PLACE_HOST_MAX 255
/* Nodes that a cluster has named, beside those of the URL. */
#define PLACE_LEARNED_MAX 32

/* Of several places one that is silent must leave the others their share of the time. */
#define PLACE_SHARES 3

/* Why a server is left that has the data, but is no master. */
#define PLACE_REPLICA REPLY_REPLICA

enum place_role { PLACE_SERVER, PLACE_SENTINEL };

/* Valid until the place is told something. */
struct place_target {
    enum place_role role;
    const char *path; /* of a Unix socket; NULL: host and port */
    const char *host;
    int port;
    const char *server_name; /* what its certificate must be made out to */
};

/* Why an address that was named leads nowhere. */
#define PLACE_WHY_MAX 160

struct place_node {
    char host[PLACE_HOST_MAX + 1];
    int port;
};

struct place {
    const struct url *url; /* borrowed */
    size_t seed;           /* which of the URL's nodes, then of the learned ones */
    bool is_sent_on;       /* `node` counts: by MOVED, or by a sentinel */
    bool is_reached;       /* the target was */
    struct place_node node;
    unsigned hops;             /* since a server was reached */
    size_t n_learned, n_fresh; /* those that were named last come first */
    struct place_node learned[PLACE_LEARNED_MAX];
    char why[PLACE_WHY_MAX]; /* the address that was named last leads nowhere; "": it does, or was one too many */
};

/* `url` must outlive the place. */
void place_init(struct place *p, const struct url *url);
struct place_target place_target(const struct place *p);

/* Is it a master that a sentinel has named? */
bool place_is_named(const struct place *p);

/* "h:6379", or the path: for people. */
void place_describe(const struct place *p, char *out, size_t size);

/* The target is connected, greeted, and the right one: it is remembered, and what it has not named is forgotten. */
void place_reached(struct place *p);
/* The target could not be reached, broke, or is no master any more: look anew from the next seed. */
void place_failed(struct place *p);
/* Go exactly there, if the namespace is known to be there. */
void place_go_to(struct place *p, const struct place_node *node);

/* The target has answered MOVED. False: that leads nowhere, or it was sent on too often: the target has failed. */
bool place_moved(struct place *p, const char *text);
/* A sentinel has named the master. False: the host or port is none: the sentinel has failed. */
bool place_master(struct place *p, const char *host, long long port);
/* The cluster names its nodes, from the first on. */
void place_learn_anew(struct place *p);
/* The cluster has named one of its nodes. NULL: it names no host. */
void place_learn(struct place *p, const char *host, long long port);

/* Do both lead to the same server? */
bool place_is_same(const struct place *p, const struct place *other);

/* What keeps a prefix off a cluster, in words; NULL: nothing. Its keys must lie in one slot. */
const char *place_refuse_prefix(const char *prefix);

#endif
