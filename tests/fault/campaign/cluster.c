/* SPDX-License-Identifier: MIT
 *
 * The cluster of a campaign, and what befalls it. That takes long, and the campaign goes on meanwhile: so a process of
 * its own keeps the cluster. It gets one order at a time, and answers when the order is done and all nodes agree again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "campaign.h"
#include "child.h"
#include "raw.h"
#include "redis_cluster.h"

#define PREFIX "{muster}"
#define SLOTS 16384
#define MASTERS 3
#define LOOK_MS 10
#define BATCH_MAX 50
#define PAUSE_MS 40
/* All pauses of a move together. */
#define PAUSES_MS 1000
#define SLOW_MS 10000
#define STAY_MS 1500
#define AWAY_MS 1500
/* Shorter than the nodes' timeout, with its start: so nobody takes over. */
#define OUTAGE_MS 500
#define REFUSAL_MS 1000
#define UP_MS 90000
#define TAKE_OVER_MS 30000

struct keeper {
    struct redis_cluster cluster;
    int slot;
    struct random dice;
};

struct order {
    enum fault fault;
    struct random dice;
};

/* ---- what befalls it; each is over when it returns ---- */

static int owner(struct keeper *k)
{
    return redis_cluster_owner(&k->cluster, k->slot);
}

static struct redisContext *owner_link(struct keeper *k)
{
    return k->cluster.nodes[owner(k)].redis;
}

/* Each master has one third of the slots, but for the one that moves. */
static int another_master(struct keeper *k)
{
    int third = 1 + (int)random_below(&k->dice, MASTERS - 1), from = owner(k), to;
    do
        to = redis_cluster_owner(&k->cluster, (k->slot + third++ * (SLOTS / MASTERS)) % SLOTS);
    while (to == from);
    return to;
}

/* With pauses now and then. Only these two nodes know at once that it has moved; owner() asks whichever comes first. */
static void move_slot(struct keeper *k, int from, int to)
{
    int64_t pauses_ms = PAUSES_MS;
    redis_cluster_move_begin(&k->cluster, k->slot, from, to);
    while (redis_cluster_move_keys(&k->cluster, k->slot, from, to, 1 + (int)random_below(&k->dice, BATCH_MAX)))
        if (pauses_ms > 0 && random_chance(&k->dice, 25)) {
            int64_t ms = (int64_t)random_below(&k->dice, PAUSE_MS);
            sleep_ms(ms);
            pauses_ms -= ms;
        }
    redis_cluster_move_end(&k->cluster, k->slot, from, to);
}

static void move_about(struct keeper *k)
{
    int from = owner(k), to = another_master(k);
    move_slot(k, from, to);
    if (random_chance(&k->dice, 50))
        move_slot(k, to, from);
}

/* The first keys go, and then for long nothing does. */
static void move_slowly(struct keeper *k)
{
    int from = owner(k), to = another_master(k);
    redis_cluster_move_begin(&k->cluster, k->slot, from, to);
    redis_cluster_move_keys(&k->cluster, k->slot, from, to, BATCH_MAX);
    sleep_ms(SLOW_MS);
    while (redis_cluster_move_keys(&k->cluster, k->slot, from, to, BATCH_MAX))
        continue;
    redis_cluster_move_end(&k->cluster, k->slot, from, to);
}

static void fail_over(struct keeper *k)
{
    redis_cluster_failover(&k->cluster, redis_cluster_replica(&k->cluster, owner(k)));
}

struct heir {
    struct keeper *keeper;
    int dead;
};

static bool has_taken_over(void *arg)
{
    struct heir *h = arg;
    return owner(h->keeper) != h->dead;
}

static void kill_owner(struct keeper *k)
{
    struct heir h = {k, owner(k)};
    redis_server_kill(&k->cluster.nodes[h.dead]);
    if (!wait_for(NULL, has_taken_over, &h, TAKE_OVER_MS)) {
        fputs("campaign: the owner is dead, and no replica takes over\n", stderr);
        abort();
    }
    sleep_ms((int64_t)random_below(&k->dice, AWAY_MS));
    redis_server_restart(&k->cluster.nodes[h.dead]);
}

/* Its replica might take over while it loads its data: what it forgot then would be a fault of another kind. */
static void restart_owner(struct keeper *k)
{
    int dead = owner(k), replica = redis_cluster_replica(&k->cluster, dead);
    raw_do(k->cluster.nodes[replica].redis, "CONFIG SET cluster-replica-no-failover yes");
    redis_server_kill(&k->cluster.nodes[dead]);
    sleep_ms((int64_t)random_below(&k->dice, OUTAGE_MS));
    redis_server_restart(&k->cluster.nodes[dead]);
    redis_cluster_await(&k->cluster);
    raw_do(k->cluster.nodes[replica].redis, "CONFIG SET cluster-replica-no-failover no");
}

static void join(struct keeper *k)
{
    int from = owner(k), guest = redis_cluster_join(&k->cluster);
    move_slot(k, from, guest);
    sleep_ms((int64_t)random_below(&k->dice, STAY_MS));
    move_slot(k, guest, from);
    redis_cluster_await(&k->cluster);
    redis_cluster_leave(&k->cluster);
}

static void cut(struct keeper *k)
{
    if (random_chance(&k->dice, 50))
        raw_do(owner_link(k), "CLIENT KILL TYPE normal SKIPME yes");
    else
        raw_do(owner_link(k), "CLIENT KILL TYPE pubsub");
}

static void refuse_for_a_while(struct keeper *k, enum fault fault)
{
    struct redisContext *redis = owner_link(k);
    raw_do(redis, fault == FAULT_FULL ? "CONFIG SET maxmemory 1" : "ACL SETUSER default -@scripting");
    sleep_ms(1 + (int64_t)random_below(&k->dice, REFUSAL_MS));
    raw_do(redis, fault == FAULT_FULL ? "CONFIG SET maxmemory 0" : "ACL SETUSER default +@all");
}

static void obey(struct keeper *k, enum fault fault)
{
    if (fault == FAULT_MOVE)
        move_about(k);
    else if (fault == FAULT_SLOW)
        move_slowly(k);
    else if (fault == FAULT_FAILOVER)
        fail_over(k);
    else if (fault == FAULT_OWNER)
        kill_owner(k);
    else if (fault == FAULT_JOIN)
        join(k);
    else if (fault == FAULT_REDIS)
        restart_owner(k);
    else if (fault == FAULT_CUT)
        cut(k);
    else
        refuse_for_a_while(k, fault);
    redis_cluster_await(&k->cluster);
}

/* ---- its keeper ---- */

static _Noreturn void keep(int orders)
{
    struct keeper k;
    struct order o;
    redis_cluster_start(&k.cluster,
                        &(struct redis_cluster_options){.masters = MASTERS, .replicas_each = 1, .aof = true});
    k.slot = redis_cluster_slot(&k.cluster, PREFIX ":");
    send(orders, k.cluster.url, strlen(k.cluster.url) + 1, MSG_NOSIGNAL);
    while (recv(orders, &o, sizeof o, 0) == sizeof o) {
        k.dice = o.dice;
        obey(&k, o.fault);
        send(orders, "", 1, MSG_NOSIGNAL);
    }
    redis_cluster_remove(&k.cluster);
    _exit(0);
}

static _Noreturn void say_it_failed(void)
{
    fputs("campaign: the cluster has failed\n", stderr);
    exit(2);
}

void cluster_start(struct server *s, struct campaign *c)
{
    int ends[2];
    char url[256];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        say_it_failed();
    s->pid = child_fork();
    if (s->pid == 0) {
        close(ends[0]);
        keep(ends[1]);
    }
    close(ends[1]);
    s->keeper = ends[0];
    if (recv(s->keeper, url, sizeof url, 0) <= 0)
        say_it_failed();
    c->prefix = PREFIX;
    snprintf(c->url, sizeof c->url, "%s?replicas=1", url);
}

void cluster_hurt(struct server *s, struct random *r)
{
    struct order o = {s->fault, random_from(random_next(r))};
    s->is_hurt = true;
    if (send(s->keeper, &o, sizeof o, MSG_NOSIGNAL) != sizeof o)
        say_it_failed();
}

bool cluster_is_healed(struct server *s)
{
    char done;
    ssize_t n = recv(s->keeper, &done, 1, MSG_DONTWAIT);
    if (n == 0)
        say_it_failed();
    return n == 1;
}
