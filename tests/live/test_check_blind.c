/* SPDX-License-Identifier: MIT
 *
 * What a check sees beside damage that it cannot read. In a namespace that has something of everything one key gets a
 * wrong type, or one field nonsense, and other things are amiss, too: the check names the key, raises no error, finds
 * all the rest that does not depend on that key, and a repair loses nothing.
 *
 * One key of each kind is tried, and each field with one nonsense; with MUSTER_TEST_EVERY in the environment each key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "damage.h"
#include "script_world.h"

/* What else is amiss: at which key, what is said of it, and beginnings of keys without which nobody can tell. */
static const struct {
    const char *plant, *said, *needs[6];
} others[] = {
    {"call('HSET', P .. 'queue:q', 'running', 77)",
     "says that 77 run",
     {"queue:q", "processing:", "home:", "registry", "worker:"}},
    {"call('HSET', P .. 'failures:q', 'jobs', 99)", "does not agree with the failed list", {"queue:q", "fail"}},
    {"call('ZADD', P .. 'complete:o', 0, '00000000001ghost')", "complete:o names 1 job", {"complete:"}},
    {"call('HSET', P .. 'job:scheduled', 'due', 7)", "job:scheduled is in", {"scheduled:q", "job:"}},
    {"call('RPUSH', P .. 'history:nobody', 'x')", "history:nobody is the history of no job", {"history:"}},
    {"call('ZADD', P .. 'ttls', 1234, 'w')", "worker:w has a ttl", {"ttls", "worker:"}},
    {"call('ZADD', P .. 'leases:q', 1, '00000000001')",
     "leases:q has 1 lease without",
     {"leases:q", "queue:q", "processing:"}},
};

static bool every(void)
{
    return getenv("MUSTER_TEST_EVERY") != NULL;
}

/* A sound namespace, but for these others, and its copy. */
static void make_amiss(struct script_world *world, struct scene *s)
{
    script_world_make_fair(world, s);
    checked_repair(s);
    checked_assert_clean(s);
    for (size_t i = 0; i < N_OF(others); i++)
        damage_plant(s, others[i].plant);
    script_world_keep(world);
}

static bool is_needed(const char *const *needs, const char *key)
{
    for (size_t i = 0; needs[i]; i++)
        if (strncmp(key, needs[i], strlen(needs[i])) == 0)
            return true;
    return false;
}

static void assert_others_found(const struct checked *found, const char *key)
{
    for (size_t i = 0; i < N_OF(others); i++)
        if (!is_needed(others[i].needs, key) && !strstr(found->what, others[i].said))
            fail_msg("with %s of a wrong type it is not told that something %s:\n%s", key, others[i].said, found->what);
}

static void try_key(struct script_world *world, const char *key)
{
    struct scene *s = world->s;
    script_world_restore(world);
    raw_do(s->server->redis, "RENAME %s:%s away", s->prefix, key);
    raw_do(s->server->redis, "XADD %s:%s * field value", s->prefix, key);
    struct checked found = checked_find(s);
    if (!strstr(found.keys, key) || !strstr(found.what, "has the wrong type"))
        fail_msg("%s is not found: %s", key, found.what);
    assert_others_found(&found, key);

    checked_repair(s);
    raw_do(s->server->redis, "RENAME away %s:%s", s->prefix, key);
    checked_repair(s);
    checked_assert_clean(s);
}

/* Up to the first colon, if that is not the last of a kind that is known. */
static bool is_new_kind(char *kinds, size_t size, const char *key)
{
    char kind[40];
    size_t len = strlen(kinds);
    snprintf(kind, sizeof kind, " %.*s:", (int)strcspn(key, ":"), key);
    if (strstr(kinds, kind))
        return false;
    snprintf(kinds + len, size - len, "%s", kind);
    return true;
}

static char *all_keys(struct scene *s)
{
    return raw_string(s->server->redis, "EVAL %s 1 %s:*",
                      "local keys = redis.call('SCAN', 0, 'MATCH', KEYS[1], 'COUNT', 10000)[2] table.sort(keys)\n"
                      "for i, key in ipairs(keys) do keys[i] = string.sub(key, #KEYS[1]) end return keys",
                      s->prefix);
}

static void a_key_of_a_wrong_type_hides_nothing_that_does_not_depend_on_it(void **state)
{
    struct script_world world;
    char kinds[1000] = " format:", *rest; /* without that one no call is made at all */
    make_amiss(&world, *state);
    char *keys = all_keys(*state);
    for (char *key = strtok_r(keys, "\n", &rest); key; key = strtok_r(NULL, "\n", &rest))
        if (is_new_kind(kinds, sizeof kinds, key) || (every() && strcmp(key, "format") != 0))
            try_key(&world, key);
    free(keys);
    script_world_end(&world);
}

/* ---- fields ---- */

static void try_field(struct script_world *world, const char *key, const char *field, const char *value)
{
    struct scene *s = world->s;
    script_world_restore(world);
    int64_t before = script_world_count(world);
    if (value)
        raw_do(s->server->redis, "HSET %s:%s %s %s", s->prefix, key, field, value);
    else
        raw_do(s->server->redis, "HDEL %s:%s %s", s->prefix, key, field);
    struct checked found = checked_repair(s);
    int64_t after = script_world_count(world);
    /* Nobody can count a job without a state, queue or place. What was cancelled is dropped when its worker is
     * retired. */
    bool may_go = strncmp(key, "job:", 4) == 0 || strncmp(key, "worker:", 7) == 0;
    if (after + may_go < before)
        fail_msg("%s %s was %s: %d tasks and jobs, %d before:\n%s", key, field, value ? value : "missing", (int)after,
                 (int)before, found.what);
}

static void try_fields(struct script_world *world, const char *key, size_t *turn)
{
    static const char *const nonsense[] = {NULL, "", "text", "-5", "1e400", "1152921504606846976", " 0", "1.5"};
    redisReply *fields = raw(world->s->server->redis, "HKEYS %s:%s", world->s->prefix, key);
    for (size_t f = 0; f < fields->elements; f++, ++*turn)
        for (size_t i = 0; i < (every() ? N_OF(nonsense) : 1); i++)
            try_field(world, key, fields->element[f]->str, nonsense[(*turn + i) % N_OF(nonsense)]);
    freeReplyObject(fields);
}

static void a_field_with_nonsense_ends_no_check_and_a_repair_loses_nothing(void **state)
{
    static const char *const keys[] = {"job:waiting",   "job:second", "job:held",    "job:cron",
                                       "job:recurring", "job:failed", "job:depends", "worker:w",
                                       "queue:q",       "config",     "beat",        "batch:batch"};
    struct script_world world;
    size_t turn = 0;
    make_amiss(&world, *state);
    for (size_t k = 0; k < N_OF(keys); k++) {
        script_world_restore(&world);
        try_fields(&world, keys[k], &turn);
    }
    script_world_end(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_key_of_a_wrong_type_hides_nothing_that_does_not_depend_on_it),
        live_test(a_field_with_nonsense_ends_no_check_and_a_repair_loses_nothing),
    };
    return scene_run(tests, argc, argv);
}
