/* SPDX-License-Identifier: MIT
 *
 * A private Redis Cluster of a test.
 */
#include "redis_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "raw.h"
#include "testing.h"
#include "wait.h"

#define SLOTS 16384
/* A node that was killed is missed after twice the time of its timeout, and then there is a vote. */
#define AGREE_MS 30000
#define MOVE_LIMIT_MS "60000"
#define VIEW_MAX 8192

/* ---- what a node knows: the lines of CLUSTER NODES ---- */

/*
 *   flags   as "myself,master"
 *   link    "connected", or not
 *   slots   up to the end of the line, as "0-5460 7000 [42->-id]"
 */
struct line {
    char id[41], flags[64], master[41], link[16], slots[1024];
};

/* The next line; false: there is none. */
static bool next_line(const char **text, struct line *line)
{
    int head = 0;
    *line = (struct line){.slots = ""};
    const char *end = strchr(*text, '\n');
    if (!end || sscanf(*text, "%40s %*s %63s %40s %*s %*s %*s %15s%n", line->id, line->flags, line->master, line->link,
                       &head) != 4)
        return false;
    int len = (int)(end - (*text + head));
    if (len > 0)
        snprintf(line->slots, sizeof line->slots, "%.*s", len, *text + head + 1);
    *text = end + 1;
    return true;
}

/* Flags are words; "fail?" is one node's suspicion of "fail", and "nofailover" another thing. */
static bool has_flag(const struct line *line, const char *flag)
{
    size_t len = strlen(flag);
    for (const char *at = line->flags; (at = strstr(at, flag)); at += len)
        if ((at == line->flags || at[-1] == ',') && strchr(",?", at[len]))
            return true;
    return false;
}

/* Is it among these slots? What is on its way stands in brackets, and is no range. */
static bool has_slot(const struct line *line, int slot)
{
    char slots[sizeof line->slots], *rest = slots;
    snprintf(slots, sizeof slots, "%s", line->slots);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        int first, last;
        int n = sscanf(word, "%d-%d", &first, &last);
        if (n >= 1 && slot >= first && slot <= (n == 2 ? last : first))
            return true;
    }
    return false;
}

static int index_of(const struct redis_cluster *c, const char *id)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->ids[i], id) == 0)
            return i;
    return -1;
}

static bool runs(const struct redis_cluster *c, int i)
{
    return c->nodes[i].pid != 0;
}

/* The first node that runs. */
static struct redis_server *any(struct redis_cluster *c)
{
    for (int i = 0; i < c->n; i++)
        if (runs(c, i))
            return &c->nodes[i];
    fail_msg("no node runs");
    return NULL;
}

int redis_cluster_slot(struct redis_cluster *c, const char *key)
{
    return (int)raw_int(any(c)->redis, "CLUSTER KEYSLOT %s", key);
}

int redis_cluster_owner(struct redis_cluster *c, int slot)
{
    int owner = -1;
    char *text = raw_string(any(c)->redis, "CLUSTER NODES");
    const char *rest = text;
    for (struct line line; owner < 0 && next_line(&rest, &line);)
        if (has_slot(&line, slot))
            owner = index_of(c, line.id);
    free(text);
    return owner;
}

int redis_cluster_replica(struct redis_cluster *c, int master)
{
    int replica = -1;
    char *text = raw_string(any(c)->redis, "CLUSTER NODES");
    const char *rest = text;
    for (struct line line; replica < 0 && next_line(&rest, &line);)
        if (strcmp(line.master, c->ids[master]) == 0 && index_of(c, line.id) >= 0 && runs(c, index_of(c, line.id)))
            replica = index_of(c, line.id);
    free(text);
    return replica;
}

/* ---- agreeing ---- */

/* Who is whose replica and has which slots, in the order of the nodes; what is on its way only the two sides know. */
static bool tell_view(struct redis_cluster *c, int of, char *view, size_t size)
{
    bool is_whole = true;
    size_t len = 0;
    int n = 0;
    char *text = raw_string(c->nodes[of].redis, "CLUSTER NODES");
    for (int i = 0; i < c->n; i++) {
        const char *rest = text;
        for (struct line line; next_line(&rest, &line);) {
            if (strcmp(line.id, c->ids[i]) != 0)
                continue;
            char *bracket = strstr(line.slots, " [");
            if (bracket)
                *bracket = '\0';
            bool is_well = !has_flag(&line, "fail") && !has_flag(&line, "handshake") && !has_flag(&line, "noaddr") &&
                           strcmp(line.link, "connected") == 0;
            is_whole = is_whole && (is_well || !runs(c, i));
            n += is_well || has_flag(&line, "fail");
            len += (size_t)snprintf(view + len, size - len, "%d %s %s %s\n", i,
                                    runs(c, i) ? (has_flag(&line, "master") ? "master" : "replica") : "dead",
                                    line.master, line.slots);
            assert_true(len < size);
        }
    }
    free(text);
    return is_whole && n == c->n;
}

static bool is_synced(struct redis_cluster *c, int i)
{
    char *text = raw_string(c->nodes[i].redis, "INFO replication");
    bool is_well = !strstr(text, "role:slave") || strstr(text, "master_link_status:up");
    free(text);
    return is_well;
}

static bool is_ok(struct redis_cluster *c, int i)
{
    char *text = raw_string(c->nodes[i].redis, "CLUSTER INFO");
    bool is_well = strstr(text, "cluster_state:ok") != NULL;
    free(text);
    return is_well;
}

static bool agrees(void *arg)
{
    struct redis_cluster *c = arg;
    char first[VIEW_MAX] = "", view[VIEW_MAX];
    for (int i = 0; i < c->n; i++) {
        if (!runs(c, i))
            continue;
        if (!is_ok(c, i) || !is_synced(c, i) || !tell_view(c, i, view, sizeof view))
            return false;
        if (*first && strcmp(first, view) != 0)
            return false;
        memcpy(first, view, sizeof first);
    }
    return true;
}

void redis_cluster_await(struct redis_cluster *c)
{
    if (wait_for(NULL, agrees, c, AGREE_MS))
        return;
    for (int i = 0; i < c->n; i++) {
        char *text = runs(c, i) ? raw_string(c->nodes[i].redis, "CLUSTER NODES") : NULL;
        print_error("node %d, on port %d: %s\n", i, c->nodes[i].port, text ? text : "does not run");
        free(text);
    }
    fail_msg("the nodes do not agree within %d ms", AGREE_MS);
}

/* ---- its making ---- */

static void start_node(struct redis_cluster *c, const struct redis_cluster_options *o)
{
    const struct redis_server_options node = {.cluster = true, .aof = o->aof, .password = o->password};
    assert_true(c->n < REDIS_CLUSTER_NODES);
    redis_server_start(&c->nodes[c->n], &node);
    char *id = raw_string(c->nodes[c->n].redis, "CLUSTER MYID");
    snprintf(c->ids[c->n], sizeof c->ids[0], "%s", id);
    free(id);
    /* Masters of equal epochs would quarrel about it for a while. */
    raw_do(c->nodes[c->n].redis, "CLUSTER SET-CONFIG-EPOCH %d", c->n + 1);
    c->n++;
}

static void meet(struct redis_cluster *c, int i)
{
    for (int other = 0; other < c->n; other++)
        if (other != i && runs(c, other))
            raw_do(c->nodes[i].redis, "CLUSTER MEET 127.0.0.1 %d", c->nodes[other].port);
}

static bool knows_all(void *arg)
{
    struct redis_cluster *c = arg;
    for (int i = 0; i < c->n; i++) {
        char view[VIEW_MAX];
        if (runs(c, i) && !tell_view(c, i, view, sizeof view))
            return false;
    }
    return true;
}

static void name_url(struct redis_cluster *c, const char *password)
{
    size_t len = (size_t)snprintf(c->url, sizeof c->url, "redis+cluster://%s%s%s", password ? ":" : "",
                                  password ? password : "", password ? "@" : "");
    for (int i = 0; i < c->n; i++)
        len += (size_t)snprintf(c->url + len, sizeof c->url - len, "%s127.0.0.1:%d", i ? "," : "", c->nodes[i].port);
    assert_true(len < sizeof c->url);
}

void redis_cluster_start(struct redis_cluster *c, const struct redis_cluster_options *o)
{
    *c = (struct redis_cluster){.n = 0};
    for (int i = 0; i < o->masters * (1 + o->replicas_each); i++)
        start_node(c, o);
    for (int i = 1; i < c->n; i++)
        meet(c, i);
    wait_until(knows_all, c, AGREE_MS);
    for (int i = 0; i < o->masters; i++)
        raw_do(c->nodes[i].redis, "CLUSTER ADDSLOTSRANGE %d %d", SLOTS * i / o->masters,
               SLOTS * (i + 1) / o->masters - 1);
    for (int i = o->masters; i < c->n; i++)
        raw_do(c->nodes[i].redis, "CLUSTER REPLICATE %s", c->ids[i % o->masters]);
    redis_cluster_await(c);
    name_url(c, o->password);
}

void redis_cluster_remove(struct redis_cluster *c)
{
    while (c->n > 0)
        redis_server_remove(&c->nodes[--c->n]);
}

int redis_cluster_join(struct redis_cluster *c)
{
    const struct redis_server_options *o = &c->nodes[0].options;
    start_node(c, &(struct redis_cluster_options){.aof = o->aof, .password = o->password});
    /* It stays a master when it has no slot any more. */
    raw_do(c->nodes[c->n - 1].redis, "CONFIG SET cluster-allow-replica-migration no");
    meet(c, c->n - 1);
    redis_cluster_await(c);
    return c->n - 1;
}

void redis_cluster_leave(struct redis_cluster *c)
{
    int gone = c->n - 1;
    redis_server_remove(&c->nodes[gone]);
    c->n--;
    for (int i = 0; i < c->n; i++)
        if (runs(c, i))
            raw_do(c->nodes[i].redis, "CLUSTER FORGET %s", c->ids[gone]);
    redis_cluster_await(c);
}

/* ---- a slot moves ---- */

void redis_cluster_move_begin(struct redis_cluster *c, int slot, int from, int to)
{
    raw_do(c->nodes[to].redis, "CLUSTER SETSLOT %d IMPORTING %s", slot, c->ids[from]);
    raw_do(c->nodes[from].redis, "CLUSTER SETSLOT %d MIGRATING %s", slot, c->ids[to]);
}

/* Format strings have a fixed number of arguments; these keys have not. */
static void migrate(struct redis_cluster *c, const struct redisReply *keys, int from, int to)
{
    const char *argv[12 + 1000];
    size_t lens[12 + 1000], n = 0;
    char port[8];
    snprintf(port, sizeof port, "%d", c->nodes[to].port);
    const char *const head[] = {"MIGRATE", "127.0.0.1", port, "", "0", MOVE_LIMIT_MS};
    for (; n < N_OF(head); n++)
        argv[n] = head[n];
    if (c->nodes[to].options.password) {
        argv[n++] = "AUTH";
        argv[n++] = c->nodes[to].options.password;
    }
    argv[n++] = "KEYS"; /* an option of MIGRATE: several at once */
    for (size_t i = 0; i < n; i++)
        lens[i] = strlen(argv[i]);
    for (size_t i = 0; i < keys->elements; i++, n++) {
        argv[n] = keys->element[i]->str;
        lens[n] = keys->element[i]->len;
    }
    struct redisReply *reply = redisCommandArgv(c->nodes[from].redis, (int)n, argv, lens);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("MIGRATE: %s", reply ? reply->str : c->nodes[from].redis->errstr);
    freeReplyObject(reply);
}

int redis_cluster_move_keys(struct redis_cluster *c, int slot, int from, int to, int n)
{
    assert_true(n <= 1000);
    struct redisReply *keys = raw(c->nodes[from].redis, "CLUSTER GETKEYSINSLOT %d %d", slot, n);
    int moved = (int)keys->elements;
    if (moved > 0)
        migrate(c, keys, from, to);
    freeReplyObject(keys);
    return moved;
}

void redis_cluster_move_end(struct redis_cluster *c, int slot, int from, int to)
{
    raw_do(c->nodes[to].redis, "CLUSTER SETSLOT %d NODE %s", slot, c->ids[to]);
    raw_do(c->nodes[from].redis, "CLUSTER SETSLOT %d NODE %s", slot, c->ids[to]);
}

void redis_cluster_move_undo(struct redis_cluster *c, int slot, int from, int to)
{
    raw_do(c->nodes[from].redis, "CLUSTER SETSLOT %d STABLE", slot);
    raw_do(c->nodes[to].redis, "CLUSTER SETSLOT %d STABLE", slot);
}

void redis_cluster_move(struct redis_cluster *c, int slot, int to, int batch)
{
    int from = redis_cluster_owner(c, slot);
    assert_true(from >= 0);
    if (from == to)
        return;
    redis_cluster_move_begin(c, slot, from, to);
    while (redis_cluster_move_keys(c, slot, from, to, batch) > 0)
        ;
    redis_cluster_move_end(c, slot, from, to);
    redis_cluster_await(c);
}

/* ---- failover ---- */

static bool is_master(void *arg)
{
    struct redis_server *s = arg;
    char *text = raw_string(s->redis, "INFO replication");
    bool is = strstr(text, "role:master") != NULL;
    free(text);
    return is;
}

void redis_cluster_failover(struct redis_cluster *c, int replica)
{
    raw_do(c->nodes[replica].redis, "CLUSTER FAILOVER");
    wait_until(is_master, &c->nodes[replica], AGREE_MS);
    redis_cluster_await(c);
}
