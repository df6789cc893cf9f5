/* SPDX-License-Identifier: MIT
 *
 * Calls of scripts in a damaged namespace.
 */
#include "script_damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {"string", "list", "set", "zset", "hash", "stream"};
static const char *const nonsense[] = {
    NULL, "", "text", "-5", "1e400", "1152921504606846976", " 0", "1.5", "nan", "9223372036854775807", "not a token"};

/* ---- which damages there are ---- */

/* The type that a key of this name should have, whether it is there or not. */
static const char *type_of(const char *key)
{
    static const struct {
        const char *type, *names[24];
    } kinds[] = {{"set", {"dependencies:"}},
                 {"list", {"history:", "queues:"}},
                 {"string", {"alive:", "timer", "token", "format", "take:"}},
                 {"hash",
                  {"processing:", "holders:", "marks:", "notes:", "failures:", "home:", "firsts:", "suspects:",
                   "request:", "worker:", "beat", "queue:", "stats:", "job:", "batch:", "config"}}};
    for (size_t i = 0; i < N_OF(kinds); i++)
        for (size_t n = 0; kinds[i].names[n]; n++)
            if (strncmp(key, kinds[i].names[n], strlen(kinds[i].names[n])) == 0)
                return kinds[i].type;
    return "zset";
}

/* Hashes of records, settings and counters: the fields of others are tokens, or what a task is. */
static bool has_fields(const char *key)
{
    static const char *const names[] = {
        "worker:", "beat", "queue:", "stats:", "job:", "batch:", "config", "failures:", "firsts:", "suspects:"};
    for (size_t i = 0; i < N_OF(names); i++)
        if (strncmp(key, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *keep_name(struct script_damages *d, const char *name)
{
    for (size_t i = 0; i < d->n_names; i++)
        if (!strcmp(d->names[i], name))
            return d->names[i];
    assert_true(d->n_names < SCRIPT_DAMAGES);
    return d->names[d->n_names++] = strdup(name);
}

static void add(struct script_damages *d, const char *key, const char *field, const char *value)
{
    assert_true(d->n < SCRIPT_DAMAGES);
    d->at[d->n++] = (struct script_damage){keep_name(d, key), field ? keep_name(d, field) : NULL, value};
}

static bool is_known(const struct script_damages *d, size_t from, const char *key, const char *field)
{
    for (size_t i = from; i < d->n; i++)
        if (!strcmp(d->at[i].key, key) && !strcmp(d->at[i].field ? d->at[i].field : "", field ? field : "") &&
            !d->at[i].field == !field)
            return true;
    return false;
}

/* Without `every` this part of the fields is tried, by turns. */
enum { FIELD_PART = 4 };

/* With `every`, all of them; else one, by turns. */
static void add_each(struct script_damages *d, const char *key, const char *field, const char *type, bool every,
                     size_t turn)
{
    const char *const *values = field ? nonsense : types;
    size_t n = field ? N_OF(nonsense) : N_OF(types);
    for (size_t i = 0; i < (every ? n : 1); i++) {
        const char *value = values[(turn + d->n + i) % n];
        if (!field && !strcmp(value, type))
            value = values[(turn + d->n + i + 1) % n];
        if (!(field && !*field && !value)) /* a key that is not there is no damage */
            add(d, key, field, value);
    }
}

/* The fields of a hash, and those that the call asks for. */
static void add_fields(struct script_damages *d, const char *key, const char *const *asked, size_t n_asked,
                       struct script_world *world, bool every, size_t turn)
{
    size_t from = d->n;
    redisReply *fields = raw(world->s->server->redis, "HKEYS %s:%s", world->s->prefix, key);
    for (size_t i = 0; i < fields->elements; i++)
        if (every || (turn + i) % FIELD_PART == 0)
            add_each(d, key, fields->element[i]->str, "", every, turn);
    for (size_t i = 0; i < n_asked; i++)
        if ((every || (turn + i) % FIELD_PART == 0) && !is_known(d, from, key, asked[i]))
            add_each(d, key, asked[i], "", every, turn);
    freeReplyObject(fields);
}

enum { WORDS_MAX = 4000, LINES_MAX = 4000 };

/* The words of a line of MONITOR, which are quoted; they lie in the line. */
static size_t split(char *line, char **words)
{
    size_t n = 0;
    for (char *at = strchr(line, '"'); at && n < WORDS_MAX; at = strchr(at, '"')) {
        char *out = words[n++] = ++at;
        for (; *at && *at != '"'; at++) {
            unsigned byte;
            if (*at == '\\' && at[1] == 'x' && sscanf(at + 2, "%2x", &byte) == 1) {
                *out++ = (char)byte;
                at += 3;
            } else if (*at == '\\') {
                *out++ = *++at == 'n' ? '\n' : *at;
            } else {
                *out++ = *at;
            }
        }
        if (*at)
            at++;
        *out = '\0';
    }
    return n;
}

/* What a call's commands name: keys, and of each key the fields that are asked for. */
struct touched {
    struct {
        char *key;
        char *fields[400];
        size_t n;
    } keys[400];
    size_t n;
};

static size_t place_of_key(struct touched *t, const char *key)
{
    size_t i = 0;
    while (i < t->n && strcmp(t->keys[i].key, key) != 0)
        i++;
    if (i == t->n) {
        assert_true(t->n < N_OF(t->keys));
        t->keys[t->n].key = strdup(key);
        t->keys[t->n++].n = 0;
    }
    return i;
}

static void note_line(struct touched *t, char *line, const char *root)
{
    char *words[WORDS_MAX];
    size_t n = split(line, words), len = strlen(root);
    if (n < 2 || strstr(words[0], "PUBLISH") || !strncmp(words[0], "EVAL", 4))
        return;
    for (size_t i = 1; i < n; i++) {
        if (strncmp(words[i], root, len) != 0 || !words[i][len])
            continue;
        size_t k = place_of_key(t, words[i] + len);
        if (strcmp(words[0], "HGET") != 0 && strcmp(words[0], "HMGET") != 0)
            continue;
        for (size_t f = 2; f < n && t->keys[k].n < N_OF(t->keys[k].fields); f++)
            t->keys[k].fields[t->keys[k].n++] = strdup(words[f]);
    }
}

static void forget(struct touched *t)
{
    for (size_t k = 0; k < t->n; k++) {
        for (size_t f = 0; f < t->keys[k].n; f++)
            free(t->keys[k].fields[f]);
        free(t->keys[k].key);
    }
    free(t);
}

static void watch(struct touched *t, const struct script_row *row, struct script_world *world)
{
    char root[24];
    struct redisContext *ear = redisConnectUnix(world->s->server->socket);
    snprintf(root, sizeof root, "%s:", world->s->prefix);
    raw_do(ear, "MONITOR");
    freeReplyObject(script_row_call(row, world));
    raw_do(world->s->server->redis, "ECHO the-end");
    for (bool is_end = false; !is_end;) {
        redisReply *line = NULL;
        assert_int_equal(redisGetReply(ear, (void **)&line), REDIS_OK);
        is_end = strstr(line->str, "the-end") != NULL;
        if (strstr(line->str, " lua] "))
            note_line(t, line->str, root);
        freeReplyObject(line);
    }
    redisFree(ear);
}

void script_damages_find(struct script_damages *d, const struct script_row *row, struct script_world *world, bool every,
                         size_t turn)
{
    struct touched *t = calloc(1, sizeof *t);
    d->n = d->n_names = 0;
    watch(t, row, world);
    script_world_restore(world);
    for (size_t k = 0; k < t->n; k++) {
        const char *key = t->keys[k].key;
        bool is_there = raw_int(world->s->server->redis, "EXISTS %s:%s", world->s->prefix, key);
        add_each(d, key, NULL, type_of(key), every, turn);
        if (is_there && has_fields(key))
            add_fields(d, key, (const char *const *)t->keys[k].fields, t->keys[k].n, world, every, turn);
        else if (is_there && !strcmp(type_of(key), "string"))
            add_each(d, key, "", "", every, turn);
    }
    forget(t);
}

void script_damages_clear(struct script_damages *d)
{
    for (size_t i = 0; i < d->n_names; i++)
        free(d->names[i]);
    d->n = d->n_names = 0;
}

/* ---- calls ---- */

/* Restores the world, plants the damage, and looks; or only looks: how much is to be done, a digest of all that there
 * is, and the type of the damaged key. */
static const char lua_cell[] =
    "local key, how, value, field = KEYS[2], ARGV[1], ARGV[2], ARGV[3]\n"
    "local make = {string = {'SET', 'x'}, list = {'RPUSH', 'x'}, set = {'SADD', 'x'}, zset = {'ZADD', 0, 'x'},\n"
    "  hash = {'HSET', 'x', 'x'}, stream = {'XADD', '1-1', 'x', 'x'}}\n"
    "if how ~= 'look' then copy_all('1', '0') end\n"
    "redis.call('SELECT', '0')\n"
    "if how == 'type' then\n"
    "  redis.call('DEL', key)\n"
    "  redis.call(make[value][1], key, unpack(make[value], 2))\n"
    "elseif how == 'string' then redis.call('SET', key, value, 'KEEPTTL')\n"
    "elseif how == 'field' then redis.call('HSET', key, field, value)\n"
    "elseif how == 'missing' then redis.call('HDEL', key, field) end\n"
    "local keys = redis.call('SCAN', '0', 'COUNT', 1000000)[2]\n"
    "table.sort(keys)\n"
    "for i, name in ipairs(keys) do keys[i] = name .. redis.call('DUMP', name) end\n"
    "return {count_all(KEYS[1]), redis.sha1hex(table.concat(keys)), redis.call('TYPE', key).ok}";

static void load_cell(struct scene *s, char sha1[41])
{
    static char lua[8000];
    int len = snprintf(lua, sizeof lua, "%s%s%s", script_world_lua_copy, script_world_lua_count, lua_cell);
    assert_in_range(len, 1, sizeof lua - 1);
    char *loaded = raw_string(s->server->redis, "SCRIPT LOAD %s", lua);
    snprintf(sha1, 41, "%s", loaded);
    free(loaded);
    raw_do(s->server->redis, "CONFIG SET rdbcompression no"); /* a dump is only compared */
}

static void append_cell(const struct script_damage *damage, const char *sha1, const struct script_row *row,
                        struct script_world *world)
{
    redisContext *redis = world->s->server->redis;
    const char *prefix = world->s->prefix, *field = damage->field ? damage->field : "";
    const char *how = !damage->field ? "type" : !*field ? "string" : damage->value ? "field" : "missing";
    redisAppendCommand(redis, "EVALSHA %s 2 %s: %s:%s %s %s %s", sha1, prefix, prefix, damage->key, how,
                       damage->value ? damage->value : "", field);
    script_row_append(row, world);
    redisAppendCommand(redis, "EVALSHA %s 2 %s: %s:%s look", sha1, prefix, prefix, damage->key);
}

static redisReply *next_reply(struct script_world *world, const struct script_damage *damage,
                              const struct script_row *row)
{
    redisReply *reply = NULL;
    if (redisGetReply(world->s->server->redis, (void **)&reply) != REDIS_OK)
        fail_msg("%s with a damaged %s %s: no answer: %s", row->name, damage->key, damage->field ? damage->field : "",
                 world->s->server->redis->errstr);
    return reply;
}

static void understand(const redisReply *reply, struct scene *s, struct script_outcome *out)
{
    size_t root = strlen(s->prefix) + 1;
    *out = (struct script_outcome){.is_raised = reply->type == REDIS_REPLY_ERROR};
    if (out->is_raised) {
        snprintf(out->refusal, sizeof out->refusal, "%s", reply->str);
        return;
    }
    const redisReply *first = reply->type == REDIS_REPLY_ARRAY ? reply->element[0] : NULL;
    if (!first || first->type != REDIS_REPLY_INTEGER || first->integer != MUSTER_E_REDIS)
        return;
    const char *key = reply->elements > 1 && reply->element[1]->str ? reply->element[1]->str : "";
    snprintf(out->refusal, sizeof out->refusal, "%s", strlen(key) > root ? key + root : "nothing");
}

static void read_cell(const struct script_damage *damage, const struct script_row *row, struct script_world *world,
                      struct script_outcome *out)
{
    redisReply *before = next_reply(world, damage, row), *reply = next_reply(world, damage, row),
               *after = next_reply(world, damage, row);
    if (before->type != REDIS_REPLY_ARRAY || after->type != REDIS_REPLY_ARRAY)
        fail_msg("%s with a damaged %s: %s", row->name, damage->key, before->str ? before->str : after->str);
    understand(reply, world->s, out);
    out->has_changed = strcmp(before->element[1]->str, after->element[1]->str) != 0;
    out->is_over = strcmp(before->element[2]->str, after->element[2]->str) != 0;
    out->lost = *out->refusal ? 0 : (int)(before->element[0]->integer - after->element[0]->integer);
    freeReplyObject(before);
    freeReplyObject(reply);
    freeReplyObject(after);
}

void script_damages_try(const struct script_damages *d, const struct script_row *row, struct script_world *world,
                        script_outcome_fn *fn, void *arg)
{
    enum { AT_ONCE = 50 };
    char sha1[41];
    load_cell(world->s, sha1);
    for (size_t from = 0; from < d->n; from += AT_ONCE) {
        size_t to = d->n - from < AT_ONCE ? d->n : from + AT_ONCE;
        for (size_t i = from; i < to; i++)
            append_cell(&d->at[i], sha1, row, world);
        for (size_t i = from; i < to; i++) {
            struct script_outcome out;
            read_cell(&d->at[i], row, world, &out);
            fn(&d->at[i], row, &out, arg);
        }
    }
}
