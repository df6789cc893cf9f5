/* SPDX-License-Identifier: MIT
 *
 * Every script against a Redis that refuses it: nothing at all is done then, nothing is told to anybody, and the answer
 * is Redis' refusal, which no script swallows.
 *
 *   - In a cluster while the namespace's slot moves to another node, wherever its keys are by then. The root, the only
 *     key that a script declares, is never there: so the source answers ASK, and runs nothing.
 *   - Where there are too few replicas, and on a replica. There Redis runs the script, and refuses its first write. A
 *     script that would write nothing may answer.
 *
 * And what becomes of plain commands while the slot moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "redis_cluster.h"
#include "script_rows.h"

#define PREFIX "{mail}"
#define KEYS_MAX 1000

/* The first element of an answer, or all of it, as text. */
static void describe(const redisReply *reply, char *out, size_t size)
{
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 ? reply->element[0] : reply;
    if (first->type == REDIS_REPLY_INTEGER)
        snprintf(out, size, "%lld", first->integer);
    else
        snprintf(out, size, "%s", first->str ? first->str : "an empty answer");
}

static bool is_refusal(const redisReply *reply, const char *code)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, code, strlen(code)) == 0;
}

/* ---- a slot on its way ---- */

/* A namespace in a cluster of two masters. */
struct moving {
    struct redis_cluster cluster;
    struct script_world world;
    int slot, source, target;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(redisReply *const *)a)->str, (*(redisReply *const *)b)->str);
}

/* All keys of the slot that this node has, with content and expiry; to be freed. Their order is not the server's, which
 * may change by itself. An importing node is asked as one that has the slot. */
static char *dump_of_slot(struct moving *m, int node, size_t *len)
{
    char *text = NULL;
    struct redisContext *redis = m->cluster.nodes[node].redis;
    FILE *out = open_memstream(&text, len);
    redisReply *keys = raw(redis, "CLUSTER GETKEYSINSLOT %d %d", m->slot, KEYS_MAX);
    if (keys->elements > 0)
        qsort(keys->element, keys->elements, sizeof *keys->element, compare_keys);
    for (size_t i = 0; i < keys->elements; i++) {
        const char *key = keys->element[i]->str;
        raw_do(redis, "ASKING");
        redisReply *dump = raw(redis, "DUMP %s", key);
        raw_do(redis, "ASKING");
        fprintf(out, "%s %lld ", key, (long long)raw_int(redis, "PEXPIRETIME %s", key));
        fwrite(dump->str, 1, dump->len, out);
        freeReplyObject(dump);
    }
    freeReplyObject(keys);
    fclose(out);
    return text;
}

static int64_t messages_of(struct redis_server *s)
{
    return redis_server_calls(s, "publish") + redis_server_calls(s, "spublish");
}

static void assert_refused(struct moving *m, const struct script_row *row, int node, const char *code)
{
    struct redis_server *server = &m->cluster.nodes[node];
    char said[200];
    m->world.s->server = server;
    redisReply *reply = script_row_call(row, &m->world);
    describe(reply, said, sizeof said);
    bool is_refused = is_refusal(reply, code);
    freeReplyObject(reply);
    if (!is_refused)
        fail_msg("%s: node %d answers %s, not %s", row->name, node, said, code);
}

/* A script that was refused by both may have changed a key that the next one changes back; so each is looked at. */
static void assert_all_refused(struct moving *m)
{
    const int nodes[] = {m->source, m->target};
    char *before[2];
    size_t lens[2], len;
    int64_t messages[2];
    for (size_t n = 0; n < 2; n++) {
        before[n] = dump_of_slot(m, nodes[n], &lens[n]);
        messages[n] = messages_of(&m->cluster.nodes[nodes[n]]);
    }
    for (size_t r = 0; r < n_script_rows; r++) {
        assert_refused(m, &script_rows[r], m->source, "ASK ");
        assert_refused(m, &script_rows[r], m->target, "MOVED ");
        for (size_t n = 0; n < 2; n++) {
            char *after = dump_of_slot(m, nodes[n], &len);
            if (len != lens[n] || memcmp(before[n], after, len) != 0)
                fail_msg("%s: node %d was changed", script_rows[r].name, nodes[n]);
            free(after);
        }
    }
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(messages_of(&m->cluster.nodes[nodes[n]]), messages[n]);
        free(before[n]);
    }
    m->world.s->server = &m->cluster.nodes[m->source];
}

static void begin_moving(struct moving *m, struct scene *s)
{
    redis_cluster_start(&m->cluster, &(struct redis_cluster_options){.masters = 2});
    snprintf(s->prefix, sizeof s->prefix, PREFIX);
    m->slot = redis_cluster_slot(&m->cluster, PREFIX ":");
    m->source = redis_cluster_owner(&m->cluster, m->slot);
    m->target = 1 - m->source;
    scene_move(s, &m->cluster.nodes[m->source]);
}

static int count_keys(struct moving *m, int node)
{
    return (int)raw_int(m->cluster.nodes[node].redis, "CLUSTER COUNTKEYSINSLOT %d", m->slot);
}

static void a_slot_on_its_way_refuses_every_script_whole(void **state)
{
    struct scene *s = *state;
    struct moving m;
    begin_moving(&m, s);
    script_world_make(&m.world, s);
    script_world_keep_timer(&m.world);
    int all = count_keys(&m, m.source);
    assert_int_equal(raw_int(s->server->redis, "DBSIZE"), all); /* channels and keys have one slot */
    assert_int_equal(redis_cluster_slot(&m.cluster, PREFIX "@3:wake:w"), m.slot);
    redis_cluster_move_begin(&m.cluster, m.slot, m.source, m.target);
    assert_all_refused(&m);
    assert_int_equal(redis_cluster_move_keys(&m.cluster, m.slot, m.source, m.target, all / 2), all / 2);
    assert_all_refused(&m);
    redis_cluster_move_keys(&m.cluster, m.slot, m.source, m.target, all);
    assert_int_equal(count_keys(&m, m.target), all);
    assert_all_refused(&m);

    /* Where it has arrived, it goes on as if nothing had been. */
    redis_cluster_move_end(&m.cluster, m.slot, m.source, m.target);
    s->server = &m.cluster.nodes[m.target];
    assert_ok(acting_heartbeat(&m.world.w));
    invariant_assert(s->server->redis, s->prefix);
    acting_forget(&m.world.heir);
    redis_cluster_remove(&m.cluster);
}

/* ---- plain commands ---- */

/* One command that the library sends, as formatted by hiredis; how it is answered while its key is there, and while
 * there is none. */
static void assert_says(struct moving *m, int node, const char *expected, const char *command)
{
    redisReply *reply = redisCommand(m->cluster.nodes[node].redis, command);
    char said[200];
    describe(reply, said, sizeof said);
    freeReplyObject(reply);
    if (strncmp(said, expected, strlen(expected)) != 0)
        fail_msg("%s at node %d: %s, expected %s", command, node, said, expected);
}

static void a_plain_command_goes_to_its_key_or_is_refused(void **state)
{
    static const char *const plain[] = {"LPUSH {mail}:queues:q task",
                                        "RPUSH {mail}:queues:q task",
                                        "HMGET {mail}:queue:q named",
                                        "GET {mail}:format",
                                        "SET {mail}:format 4 NX",
                                        "HGET {mail}:processing:w:q 1",
                                        "PEXPIRE {mail}:alive:w 60000 GT",
                                        "ZADD {mail}:registry XX GT CH 1 w",
                                        "ZRANGE {mail}:registry 0 0",
                                        "LLEN {mail}:queues:q",
                                        "EXISTS {mail}:idle:q",
                                        "LRANGE {mail}:queues:q 0 -1",
                                        "HSCAN {mail}:processing:w:q 0"};
    struct moving m;
    struct scene *s = *state;
    begin_moving(&m, s);
    struct redisContext *source = m.cluster.nodes[m.source].redis;
    raw_do(source, "LPUSH {mail}:queues:q first");
    redis_cluster_move_begin(&m.cluster, m.slot, m.source, m.target);
    /* What is not there might have moved. So nothing is made on the source which the move would miss. */
    assert_says(&m, m.source, "ASK ", "LPUSH {mail}:queues:other task");
    assert_says(&m, m.source, "ASK ", "SET {mail}:format 4 NX");
    assert_says(&m, m.source, "2", "LPUSH {mail}:queues:q second");
    /* A sharded message needs no key, so it is sent until the slot has moved; its receivers stay until then. */
    assert_says(&m, m.source, "0", "SPUBLISH {mail}:wake:w echo");
    for (size_t i = 0; i < N_OF(plain); i++)
        assert_says(&m, m.target, "MOVED ", plain[i]);
    redis_cluster_move_keys(&m.cluster, m.slot, m.source, m.target, KEYS_MAX);
    for (size_t i = 0; i < N_OF(plain); i++) {
        assert_says(&m, m.source, "ASK ", plain[i]);
        assert_says(&m, m.target, "MOVED ", plain[i]);
    }
    redis_cluster_move_end(&m.cluster, m.slot, m.source, m.target);
    for (size_t i = 0; i < N_OF(plain); i++)
        assert_says(&m, m.source, "MOVED ", plain[i]);
    assert_says(&m, m.target, "2", "LLEN {mail}:queues:q");
    s->server = &m.cluster.nodes[m.target];
    redis_cluster_remove(&m.cluster);
}

/* ---- a Redis that runs scripts, and refuses writes ---- */

struct refusal {
    const char *code, *begin, *end;
};

static void configure(struct redis_server *server, const char *command)
{
    redisReply *reply = redisCommand(server->redis, command);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

/* What a call says, and whether it has changed anything or told anybody. */
struct outcome {
    char said[200];
    bool is_error, has_changed, has_told;
};

static void call_and_look(struct script_world *world, const struct script_row *row, const struct refusal *refusal,
                          struct outcome *out)
{
    struct redis_server *server = world->s->server;
    script_world_restore(world);
    char *before = dump_of_all(world->s);
    int64_t told = messages_of(server);
    if (refusal)
        configure(server, refusal->begin);
    redisReply *reply = script_row_call(row, world);
    if (refusal)
        configure(server, refusal->end);
    char *after = dump_of_all(world->s);
    describe(reply, out->said, sizeof out->said);
    out->is_error = refusal && is_refusal(reply, refusal->code);
    out->has_changed = strcmp(before, after) != 0;
    out->has_told = messages_of(server) != told;
    freeReplyObject(reply);
    free(before);
    free(after);
}

static bool is_refused_whole(struct script_world *world, const struct script_row *row, const struct refusal *refusal)
{
    struct outcome free_to, refused;
    call_and_look(world, row, NULL, &free_to);
    call_and_look(world, row, refusal, &refused);
    bool is_whole = !refused.has_changed && !refused.has_told &&
                    (refused.is_error || (!free_to.has_changed && strcmp(free_to.said, refused.said) == 0));
    if (!is_whole)
        print_error("%s: answers %s, has %schanged something and has %stold somebody; where it may write, it answers "
                    "%s and has %schanged something\n",
                    row->name, refused.said, refused.has_changed ? "" : "not ", refused.has_told ? "" : "not ",
                    free_to.said, free_to.has_changed ? "" : "not ");
    return is_whole;
}

static void assert_refused_whole(struct scene *s, const struct refusal *refusal)
{
    size_t bad = 0;
    for (size_t r = 0; r < n_script_rows; r++) {
        struct script_world world;
        script_row_set_up(&script_rows[r], &world, s, false);
        bad += !is_refused_whole(&world, &script_rows[r], refusal);
        script_world_end(&world);
    }
    if (bad > 0)
        fail_msg("%zu scripts go on although Redis answers %s", bad, refusal->code);
}

static void too_few_replicas_refuse_whole_what_writes(void **state)
{
    assert_refused_whole(*state, &(struct refusal){"NOREPLICAS ", "CONFIG SET min-replicas-to-write 1",
                                                   "CONFIG SET min-replicas-to-write 0"});
}

static void a_replica_refuses_whole_what_writes(void **state)
{
    assert_refused_whole(*state, &(struct refusal){"READONLY ", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_slot_on_its_way_refuses_every_script_whole),
        live_test(a_plain_command_goes_to_its_key_or_is_refused),
        live_test(too_few_replicas_refuse_whole_what_writes),
        live_test(a_replica_refuses_whole_what_writes),
    };
    return scene_run(tests, argc, argv);
}
