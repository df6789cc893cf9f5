/* SPDX-License-Identifier: MIT
 *
 * Where a namespace lies: which master the sentinels name, whether a cluster covers all slots, and how far the replicas
 * are behind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/doctor.h"
#include "redis/info.h"

#define SLOTS 16384
/* A replica asks its master each second. */
#define LAG_MAX_S 10

/* "ip=127.0.0.1,port=7001,state=online,offset=1,lag=0" */
static bool field_of(const char *line, const char *name, char out[INFO_VALUE_SIZE])
{
    size_t len = strlen(name);
    for (const char *field = line; field; field = strchr(field, ',')) {
        field += *field == ',';
        if (strncmp(field, name, len) != 0 || field[len] != '=')
            continue;
        snprintf(out, INFO_VALUE_SIZE, "%.*s", (int)strcspn(field + len + 1, ","), field + len + 1);
        return true;
    }
    return false;
}

static void look_at_replica(struct doctor *d, const char *line)
{
    char host[INFO_VALUE_SIZE] = "?", port[INFO_VALUE_SIZE] = "?", state[INFO_VALUE_SIZE], lag[INFO_VALUE_SIZE];
    (void)field_of(line, "ip", host);
    (void)field_of(line, "port", port);
    if (field_of(line, "state", state) && strcmp(state, "online") != 0)
        doctor_say(d, MUSTER_ADVICE_MEND, "replicas", "wait until it has all, or look at its log",
                   "the replica %s:%s is not in step: its state is %s", host, port, state);
    else if (field_of(line, "lag", lag) && strtoll(lag, NULL, 10) > LAG_MAX_S)
        doctor_say(d, MUSTER_ADVICE_MEND, "replicas", "look at its host and the network",
                   "the replica %s:%s was last heard %s s ago", host, port, lag);
}

void doctor_look_at_confirmation(struct doctor *d, int64_t n)
{
    int asked = redis_replicas_asked(d->client->redis);
    char advice[80];
    if (asked == 0 || n < 0 || n == asked)
        return;
    snprintf(advice, sizeof advice, n > asked ? "say replicas=%d" : "start the others, or say replicas=%d", (int)n);
    if (n > asked)
        doctor_say(d, MUSTER_ADVICE_MEND, "replicas", advice,
                   "replicas=%d, but %" PRId64 " replicas are connected: a failover to one that has not confirmed "
                   "loses what others have",
                   asked, n);
    else
        doctor_say(d, MUSTER_ADVICE_MEND, "replicas", n > 0 ? advice : "start them, or leave `replicas` out",
                   "replicas=%d, but only %" PRId64 " %s connected: nothing is confirmed", asked, n,
                   n == 1 ? "is" : "are");
}

void doctor_look_at_replicas(struct doctor *d, const char *info)
{
    int64_t n = info_number(info, "connected_slaves");
    char name[32], line[INFO_VALUE_SIZE];
    if (info_is(info, "role", "slave")) {
        d->is_replica = true;
        doctor_say(d, MUSTER_ADVICE_MEND, "replicas", "name its master with --url or MUSTER_URL",
                   "this Redis is a replica, which takes no task");
        doctor_say(d, MUSTER_ADVICE_UNKNOWN, "rights", "ask its master",
                   "whether a write, a script and a message go well can be tried only there");
        return;
    }
    doctor_say(d, MUSTER_ADVICE_GOOD, "replicas", "", "it is a master, and %" PRId64 " %s connected", n,
               n == 1 ? "replica is" : "replicas are");
    for (int64_t i = 0; i < n; i++) { /* a number that nobody can have ends with the lines */
        snprintf(name, sizeof name, "slave%" PRId64, i);
        if (!info_text(info, name, line))
            break;
        look_at_replica(d, line);
    }
    doctor_look_at_confirmation(d, n);
}

static void say_cluster(struct doctor *d, const char *info, const char *where)
{
    char state[INFO_VALUE_SIZE];
    int64_t covered = info_number(info, "cluster_slots_ok"), masters = info_number(info, "cluster_size");
    (void)info_text(info, "cluster_state", state);
    if (strcmp(state, "ok") == 0 && covered == SLOTS)
        doctor_say(d, MUSTER_ADVICE_GOOD, "cluster", "", "%s owns this namespace; %" PRId64 " masters cover all slots",
                   where, masters);
    else
        doctor_say(d, MUSTER_ADVICE_MEND, "cluster", "`redis-cli --cluster check HOST:PORT` says where they were",
                   "its state is %s: %" PRId64 " of %d slots have an owner that answers", state, covered, SLOTS);
}

static int look_at_cluster(struct doctor *d, const char *where)
{
    struct redisReply *reply = NULL;
    int err = client_ask(d->client, &reply, (const char *const[]){"CLUSTER", "INFO", NULL});
    const char *info = err == MUSTER_OK ? reply_text(reply) : NULL;
    if (info)
        say_cluster(d, info, where);
    else if (!doctor_is_over(err))
        doctor_say(d, MUSTER_ADVICE_UNKNOWN, "cluster", "ACL SETUSER USER +cluster|info",
                   "whether all slots are covered cannot be seen: %s", redis_error(d->client->redis));
    redis_reply_free(reply);
    return doctor_is_over(err) ? err : MUSTER_OK;
}

int doctor_look_at_place(struct doctor *d, const char *info)
{
    char where[256];
    bool is_sentinel = redis_where(d->client->redis, where, sizeof where);
    if (is_sentinel && !info_is(info, "role", "slave"))
        doctor_say(d, MUSTER_ADVICE_GOOD, "sentinel", "", "the sentinels name %s as the master", where);
    return info_is(info, "cluster_enabled", "1") ? look_at_cluster(d, where) : MUSTER_OK;
}
