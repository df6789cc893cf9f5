/* SPDX-License-Identifier: MIT
 *
 * The places of a cluster. Its nodes need not be introduced to each other: each begins with a list of all of them, as a
 * node keeps one for its next start (nodes.conf). A list that is there already stays: slots may have been moved since.
 */
#include "serve_cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"

#define SLOTS 16384
#define ID_BYTES 20
#define ID_SIZE (2 * ID_BYTES + 1)
/* Below the ports that the kernel gives to those who call somebody. */
#define ANY_PORT_MIN 12000
#define ANY_PORTS 10000
#define ANY_PORT_TRIES 1000

static void list_path(const struct place *node, char path[PATH_MAX + 16])
{
    snprintf(path, PATH_MAX + 16, "%s/nodes.conf", node->dir);
}

static int cannot_write(const struct call *call, const char *path)
{
    complain_refusal(call, COMPLAIN_SYSTEM, "cannot write '%s': %s", path, strerror(errno));
    return EXIT_FAILED;
}

/* ---- ports ---- */

static bool are_free(int port)
{
    for (int i = 0; i < CLUSTER_NODES; i++)
        if (!serve_place_is_port_free(port + i) || !serve_place_is_port_free(port + i + CLUSTER_BUS_ABOVE))
            return false;
    return true;
}

static int any_ports(const struct call *call, struct place *base)
{
    for (int i = 0; i < ANY_PORT_TRIES; i++) {
        base->port = ANY_PORT_MIN + (int)arc4random_uniform(ANY_PORTS);
        if (are_free(base->port))
            return EXIT_DONE;
    }
    complain_refusal(call, COMPLAIN_SYSTEM, "no %d free ports in a row; name the first one with --port", CLUSTER_NODES);
    return EXIT_FAILED;
}

static int take_ports(const struct call *call, struct place nodes[CLUSTER_NODES])
{
    for (int i = 0; i < CLUSTER_NODES; i++) {
        int code = serve_place_take_port(call, &nodes[i]);
        if (!code)
            code = serve_place_check_port(call, nodes[i].port + CLUSTER_BUS_ABOVE);
        if (code)
            return code;
    }
    return EXIT_DONE;
}

/* ---- the lists of nodes ---- */

/* The port of a node in the list that an earlier start has left; 0: there is none. */
static int port_before(const struct place *node)
{
    char path[PATH_MAX + 16], line[4096];
    int port = 0;
    list_path(node, path);
    FILE *f = fopen(path, "re");
    while (f && port == 0 && fgets(line, sizeof line, f))
        if (strstr(line, "myself") && sscanf(line, "%*s %*[^:]:%d", &port) != 1)
            port = 0;
    if (f)
        fclose(f);
    return port;
}

static int check_lists(const struct call *call, const struct place *base, const struct place *nodes)
{
    for (int i = 0; i < CLUSTER_NODES; i++) {
        int before = port_before(&nodes[i]);
        if (before == 0 || before == nodes[i].port)
            continue;
        complain_refusal(call, COMPLAIN_SYSTEM,
                         "the cluster in '%s' has the ports %d to %d: use --port %d, or another directory", base->dir,
                         before - i, before - i + CLUSTER_NODES - 1, before - i);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static void draw_id(char id[ID_SIZE])
{
    unsigned char bytes[ID_BYTES];
    arc4random_buf(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

static bool write_list(FILE *f, int self, const struct place *nodes, char ids[][ID_SIZE])
{
    for (int i = 0; i < CLUSTER_NODES; i++)
        fprintf(f, "%s 127.0.0.1:%d@%d %smaster - 0 0 %d connected %d-%d\n", ids[i], nodes[i].port,
                nodes[i].port + CLUSTER_BUS_ABOVE, i == self ? "myself," : "", i + 1, SLOTS * i / CLUSTER_NODES,
                SLOTS * (i + 1) / CLUSTER_NODES - 1);
    fprintf(f, "vars currentEpoch %d lastVoteEpoch 0\n", CLUSTER_NODES);
    return fclose(f) == 0;
}

/* All of them, before the first node is started. */
static int make_lists(const struct call *call, const struct place *nodes)
{
    char ids[CLUSTER_NODES][ID_SIZE], path[PATH_MAX + 16];
    for (int i = 0; i < CLUSTER_NODES; i++)
        draw_id(ids[i]);
    for (int i = 0; i < CLUSTER_NODES; i++) {
        list_path(&nodes[i], path);
        FILE *f = fopen(path, "we");
        if (!f || !write_list(f, i, nodes, ids))
            return cannot_write(call, path);
    }
    return EXIT_DONE;
}

static bool has_run(const struct place *node)
{
    struct stat log;
    return fstat(node->log, &log) == 0 && log.st_size > 0;
}

/* A start that was interrupted may have left some: they are made anew. But nodes that have run know each other and their
 * slots by their lists alone, so no list is written over then. */
static int check_or_make_lists(const struct call *call, const struct place *base, const struct place *nodes)
{
    int missing = -1;
    bool have_run = false;
    for (int i = 0; i < CLUSTER_NODES; i++) {
        missing = port_before(&nodes[i]) == 0 ? i : missing;
        have_run = have_run || has_run(&nodes[i]);
    }
    if (missing < 0)
        return EXIT_DONE;
    if (!have_run)
        return make_lists(call, nodes);
    complain_refusal(call, COMPLAIN_SYSTEM,
                     "'%s/nodes.conf', the list of the cluster's nodes, is missing or damaged: restore it, or use "
                     "another directory than '%s'",
                     nodes[missing].dir, base->dir);
    return EXIT_FAILED;
}

/* ---- all of it ---- */

static int open_node(const struct call *call, const struct place *base, struct place *node, int i)
{
    int len = snprintf(node->dir, sizeof node->dir, "%s/node%d", base->dir, i + 1);
    node->port = base->port + i;
    node->is_node = true;
    snprintf(node->url, sizeof node->url, "redis://127.0.0.1:%d", node->port);
    node->is_temporary = base->is_temporary;
    node->is_new = len < (int)sizeof node->dir && mkdir(node->dir, 0700) == 0;
    if (node->is_new || (len < (int)sizeof node->dir && errno == EEXIST))
        return serve_place_open_log(call, node);
    complain_refusal(call, COMPLAIN_SYSTEM, "cannot use '%s': %s; name another directory with --dir", base->dir,
                     strerror(errno));
    return EXIT_FAILED;
}

static void set_url(struct place *base)
{
    size_t len = (size_t)snprintf(base->url, sizeof base->url, "redis+cluster://");
    for (int i = 0; i < CLUSTER_NODES; i++)
        len +=
            (size_t)snprintf(base->url + len, sizeof base->url - len, "%s127.0.0.1:%d", i ? "," : "", base->port + i);
}

int serve_cluster_open(const struct call *call, struct place *base, struct place nodes[CLUSTER_NODES])
{
    int code = base->port ? EXIT_DONE : any_ports(call, base);
    for (int i = 0; i < CLUSTER_NODES; i++)
        nodes[i] = (struct place)PLACE_EMPTY;
    for (int i = 0; i < CLUSTER_NODES && !code; i++)
        code = open_node(call, base, &nodes[i], i);
    if (!code)
        code = check_lists(call, base, nodes);
    if (!code)
        code = take_ports(call, nodes);
    if (!code)
        code = check_or_make_lists(call, base, nodes);
    set_url(base);
    return code;
}
