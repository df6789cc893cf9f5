/* SPDX-License-Identifier: MIT
 *
 * A private Redis Cluster of a test: nodes on loopback, each a server of redis_server.h, which die with the test
 * program. The masters share the slots evenly, in order: the first ones belong to nodes[0]. The replicas come after the
 * masters, in their order: of 3 masters with a replica each, nodes[3] is the replica of nodes[0].
 *
 * A node is killed, restarted, frozen and looked at by the calls of redis_server.h; redis_cluster_await() then waits
 * until the nodes that run agree. All calls fail the test when they fail.
 */
#ifndef REDIS_CLUSTER_H
#define REDIS_CLUSTER_H

#include "redis_server.h"

#define REDIS_CLUSTER_NODES 10

struct redis_cluster_options {
    int masters, replicas_each;
    bool aof;
    const char *password;
};

struct redis_cluster {
    struct redis_server nodes[REDIS_CLUSTER_NODES];
    char ids[REDIS_CLUSTER_NODES][41];
    int n;
    char url[256]; /* redis+cluster:// with all the nodes that it began with */
};

/* Start it, and return when all nodes agree on who has which slots, and each replica has its master's data. */
void redis_cluster_start(struct redis_cluster *c, const struct redis_cluster_options *o);
void redis_cluster_remove(struct redis_cluster *c);

/* Wait until the nodes that run say that all is well, and agree. */
void redis_cluster_await(struct redis_cluster *c);

/* The slot of a key, as of the root of a namespace, "{mail}:". */
int redis_cluster_slot(struct redis_cluster *c, const char *key);

/* Who has the slot, as the node says that runs and comes first; -1: nobody. */
int redis_cluster_owner(struct redis_cluster *c, int slot);

/* A replica of this master that runs; -1: there is none. */
int redis_cluster_replica(struct redis_cluster *c, int master);

/*
 * A slot moves in steps: it is said on both sides; keys go over; it is said that it has moved. Between these steps the
 * test may do what it likes. Keys without an expiry and with one go over alike.
 *
 *   redis_cluster_move_keys  at most `n` of the slot's keys; returns how many went
 *   redis_cluster_move_end   all nodes are told, the target first
 *   redis_cluster_move_undo  nobody moves it any more. The keys must be where they were
 *   redis_cluster_move       all of it, from whoever has it, `batch` keys at a time
 */
void redis_cluster_move_begin(struct redis_cluster *c, int slot, int from, int to);
int redis_cluster_move_keys(struct redis_cluster *c, int slot, int from, int to, int n);
void redis_cluster_move_end(struct redis_cluster *c, int slot, int from, int to);
void redis_cluster_move_undo(struct redis_cluster *c, int slot, int from, int to);
void redis_cluster_move(struct redis_cluster *c, int slot, int to, int batch);

/* A replica takes over from its master, as by hand; returns when it is the master. The other masters vote for that only
 * once in 4 s; meanwhile the master holds up its clients. */
void redis_cluster_failover(struct redis_cluster *c, int replica);

/* A node more, without slots; returns its number. */
int redis_cluster_join(struct redis_cluster *c);
/* The last node leaves for good. It must have no slots. */
void redis_cluster_leave(struct redis_cluster *c);

#endif
