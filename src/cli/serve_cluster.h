/* SPDX-License-Identifier: MIT
 *
 * The places of a cluster that `muster serve --cluster` runs: three nodes with a third of the slots each, in folders of
 * their own within one directory, on three ports in a row. There are no replicas: it is for trying.
 */
#ifndef CLI_SERVE_CLUSTER_H
#define CLI_SERVE_CLUSTER_H

#include "serve_place.h"

#define CLUSTER_NODES 3
/* A node is reached by the others on a port so much higher than its own. */
#define CLUSTER_BUS_ABOVE 10000
#define CLUSTER_PORT_MAX (65535 - CLUSTER_BUS_ABOVE - CLUSTER_NODES + 1)
/* All keys of a namespace must lie in one slot, so a prefix must be a hash tag. */
#define CLUSTER_PREFIX "{muster}"

/*
 * Make the places of the nodes in `base`, which is open, on the ports from base->port on; 0: on any that are free. Each
 * node's folder has the list of all nodes, which an earlier start may have left. Sets the URL of `base`. Returns
 * EXIT_DONE, or another exit code after a line about the error. In either case serve_place_close() must be called for
 * each of the nodes.
 */
int serve_cluster_open(const struct call *call, struct place *base, struct place nodes[CLUSTER_NODES]);

#endif
