/* SPDX-License-Identifier: MIT
 *
 * Every script against every key in the wrong type. What a full Redis refuses: test_scripts_full.c.
 *
 * With a damaged key a script refuses and names the key, and then nothing has changed; or it passes over what is
 * damaged, and then no task is lost and the damaged key is as it was. Redis' own error will do where the key is one of
 * the namespace's own, or the caller's record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/keys.h"

#include "script_rows.h"
#include "taken.h"

/* The name of a queue's statistics holds the day, which the server tells. */
static char stats_today[40] = "stats:";

static const char *const keys[] = {
    stats_today,
    "queues:q",
    "processing:w:q",
    "processing:dead:q",
    "processing:.lease:q",
    "leases:q",
    "holders:q",
    "holds:holder",
    "marks:w",
    "marks:.lease",
    "notes:w",
    "notes:.lease",
    "worker:w",
    "worker:dead",
    "alive:w",
    "alive:dead",
    "registry",
    "ttls",
    "idle:q",
    "gaps:q",
    "moves:q",
    "batch:batch",
    "members:batch",
    "batches",
    "past",
    "takers:q",
    "queue:q",
    "names",
    "delayed:q",
    "failed:q",
    "failures:q",
    "marks:dead",
    "notes:dead",
    "returned:q",
    "home:-:q",
    "firsts:w:q",
    "suspects:q",
    "request:request",
    "take:0123456789abcdef",
    "take:0123456789abcdef:2",
    "token",
    "beat",
    "format",
    "waiting:q",
    "scheduled:q",
    "depends:q",
    "running:q",
    "complete:q",
    "held:q",
    "keyed:q",
    "recurring:q",
    "waiting:o",
    "scheduled:o",
    "running:o",
    "job:waiting",
    "job:held",
    "job:leased",
    "job:died with",
    "job:due",
    "job:recurring",
    "job:cron",
    "crons",
    "job:recurring-1",
    "job:depends",
    "job:failed",
    "job:complete",
    "job:new",
    "history:held",
    "history:waiting",
    "history:new",
    "dependencies:depends",
    "dependencies:new",
    "dependents:held",
    "dependents:failed",
    "dependents:waiting",
    "followers:held",
    "followers:failed",
    "followers:waiting",
    "ended",
    "freed:dnew",
    "freed:enew",
    "freed:fnew",
    "freed:cheld",
    "upgrade:held",
    "tag:blue",
    "tags",
    "tracked",
    "due",
    "config",
    "timer",
};

/* Does the answer refuse, as it should for this key? */
static bool is_refused(struct scene *s, const redisReply *reply, const struct script_row *row, const char *key)
{
    static const char *const raised[] = {"registry", "ttls", "names", "token", "beat", "format", "worker:", "request:"};
    char full_key[80];
    if (reply->type == REDIS_REPLY_ERROR) {
        for (size_t i = 0; i < N_OF(raised); i++)
            if (strncmp(key, raised[i], strlen(raised[i])) == 0)
                return true;
        fail_msg("%s with a damaged %s: %s", row->name, key, reply->str);
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->element[0]->integer != MUSTER_E_REDIS)
        return false;
    snprintf(full_key, sizeof full_key, "%s:%s", s->prefix, key);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, full_key);
    return true;
}

/* Is it a set, as it should be? All others become one. */
static bool is_set(const char *key)
{
    return strncmp(key, "depende", 7) == 0;
}

static void damage(struct scene *s, const char *key)
{
    raw_do(s->server->redis, "DEL %s:%s", s->prefix, key);
    if (is_set(key))
        raw_do(s->server->redis, "SET %s:%s damaged", s->prefix, key);
    else
        raw_do(s->server->redis, "SADD %s:%s damaged", s->prefix, key);
}

static bool is_damaged(struct scene *s, const char *key)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:%s %s",
                   "return redis.call('TYPE', KEYS[1]).ok == ARGV[1] and 1 or 0", s->prefix, key,
                   is_set(key) ? "string" : "set");
}

static void try_damaged(struct script_world *world, const struct script_row *row, const char *key)
{
    struct scene *s = world->s;
    script_world_restore(world);
    damage(s, key);
    int64_t tasks = script_world_count(world);
    char *before = dump_of_all(s);
    redisReply *reply = script_row_call(row, world);
    bool refused = is_refused(s, reply, row, key);
    freeReplyObject(reply);
    char *after = dump_of_all(s);
    if (refused && strcmp(before, after) != 0)
        fail_msg("%s with a damaged %s: refused, but something changed:\n%s\n%s", row->name, key, before, after);
    int64_t left = refused ? tasks : script_world_count(world);
    if (left + row->vanish < tasks)
        fail_msg("%s with a damaged %s: %d tasks, %d before", row->name, key, (int)left, (int)tasks);
    /* The liveness key goes with its worker, whatever is in it; a history with its job. */
    if (!is_damaged(s, key) && strncmp(key, "alive:", 6) != 0 && strncmp(key, "history:", 8) != 0)
        fail_msg("%s with a damaged %s: overwritten", row->name, key);
    free(before);
    free(after);
}

/* A lease cannot have lapsed in a damaged list of leases. */
static bool may_be_damaged(const struct script_row *row, const char *key)
{
    if (row->prepare == script_world_lapse && !strcmp(key, "leases:q"))
        return false;
    return !row->is_bare || (strcmp(key, "token") != 0 && strcmp(key, "beat") != 0);
}

static void with_a_damaged_key_nothing_changes_or_no_task_is_lost(void **state)
{
    snprintf(stats_today, sizeof stats_today, "stats:%lld:q", (long long)server_now_ms(*state) / 86400000);
    for (size_t r = 0; r < n_script_rows; r++) {
        struct script_world world;
        script_row_set_up(&script_rows[r], &world, *state);
        for (size_t k = 0; k < N_OF(keys); k++)
            if (may_be_damaged(&script_rows[r], keys[k]))
                try_damaged(&world, &script_rows[r], keys[k]);
        script_world_end(&world);
    }
}

static void every_script_has_a_row(void **state)
{
    (void)state;
    for (size_t id = 0; id < SCRIPT_COUNT; id++) {
        size_t r = 0;
        while (r < n_script_rows && script_rows[r].id != id)
            r++;
        if (r == n_script_rows)
            fail_msg("%s.lua is not called: add a row to tests/support/script_rows.c", lua_scripts[id].name);
    }
}

static void each_kind_of_key_is_damaged(void **state)
{
    static const char *const names[] = {
#define KEY_NAME(key, name) name,
        KEYS(KEY_NAME)
#undef KEY_NAME
    };
    (void)state;
    for (size_t i = 0; i < N_OF(names); i++) {
        size_t k = 0, len = strlen(names[i]);
        bool is_whole = names[i][len - 1] != ':'; /* no name follows */
        while (k < N_OF(keys) && strncmp(keys[k], names[i], len + is_whole) != 0)
            k++;
        if (k == N_OF(keys))
            fail_msg("%s: add one to the list of keys to damage", names[i]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_script_has_a_row),
        cmocka_unit_test(each_kind_of_key_is_damaged),
        live_test(with_a_damaged_key_nothing_changes_or_no_task_is_lost),
    };
    return scene_run(tests, argc, argv);
}
