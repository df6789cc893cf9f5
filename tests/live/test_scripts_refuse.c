/* SPDX-License-Identifier: MIT
 *
 * Every script in a damaged namespace, that has something of everything: each key that the script touches in a wrong
 * type, and each field of a record, of settings and of counters, and each string, with nonsense. What a full Redis
 * refuses: test_scripts_full.c.
 *
 * A script refuses and names the key, and then nothing at all has changed; or it passes over what is damaged, and then
 * no task is lost and a key of a wrong type is as it was.
 *
 * Each key gets one wrong type, and each fourth field one nonsense, other ones for each row. With MUSTER_TEST_EVERY in
 * the environment each key gets each type, and each field each nonsense, which takes half an hour.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/keys.h"

#include "script_damage.h"
#include "taken.h"

/* More than a call of any row adds. */
enum { MADE_MOST = 20 };

static bool every(void)
{
    return getenv("MUSTER_TEST_EVERY") != NULL;
}

static const char *const names[] = {
#define KEY_NAME(key, name) name,
    KEYS(KEY_NAME)
#undef KEY_NAME
};
static bool is_tried[N_OF(names)];

static void note_tried(const char *key)
{
    for (size_t i = 0; i < N_OF(names); i++) {
        size_t len = strlen(names[i]);
        is_tried[i] |= strncmp(key, names[i], names[i][len - 1] == ':' ? len : len + 1) == 0;
    }
}

/* What is amiss with the outcome, or NULL. */
static const char *amiss(const struct script_damage *damage, const struct script_row *row,
                         const struct script_outcome *out)
{
    static const char *const raised[] = {"registry", "ttls", "names", "token", "beat", "format", "worker:", "request:"};
    bool may_raise = false, is_check = strncmp(row->name, "check", 5) == 0;
    for (size_t i = 0; i < N_OF(raised) && !is_check; i++)
        may_raise |= strncmp(damage->key, raised[i], strlen(raised[i])) == 0;
    if (*out->refusal && out->has_changed)
        return "refused, but something changed";
    if (out->is_raised && !may_raise)
        return "raises an error";
    if (*out->refusal && !out->is_raised && strcmp(out->refusal, damage->key) != 0)
        return "names another key";
    if (out->lost > row->vanish)
        return "loses something";
    if (out->lost < -MADE_MOST)
        return "makes too many";
    /* The liveness key goes with its worker, whatever is in it; a history with its job. */
    if (!*out->refusal && !damage->field && out->is_over && strncmp(damage->key, "alive:", 6) != 0 &&
        strncmp(damage->key, "history:", 8) != 0)
        return "overwrites it";
    return NULL;
}

/* A lease cannot have lapsed in a damaged list of leases. And the oldest layout had sets where zsets are now, and a hash
 * that goes. */
static bool may_be_damaged(const struct script_row *row, const struct script_damage *damage)
{
    if (row->prepare == script_world_lapse && !strcmp(damage->key, "leases:q"))
        return false;
    if (row->id == SCRIPT_UPGRADE_KEYS && !strncmp(damage->key, "dependents:", 11))
        return false;
    if (row->id == SCRIPT_UPGRADE_KEYS && !strncmp(damage->key, "crashes:", 8) && damage->value &&
        !strcmp(damage->value, "hash"))
        return false;
    return !row->is_bare || (strcmp(damage->key, "token") != 0 && strcmp(damage->key, "beat") != 0);
}

/* What is told of all calls. */
struct tally {
    size_t n, bad;
    const char *world;
};

static void note_outcome(const struct script_damage *damage, const struct script_row *row,
                         const struct script_outcome *out, void *arg)
{
    struct tally *t = arg;
    if (!may_be_damaged(row, damage))
        return;
    const char *what = amiss(damage, row, out);
    note_tried(damage->key);
    t->n++;
    t->bad += what != NULL;
    if (what)
        print_error("%s (%s), %s %s is '%s': %s: %s (%d lost)\n", row->name, t->world, damage->key,
                    damage->field ? damage->field : "", damage->value ? damage->value : "missing", what, out->refusal,
                    out->lost);
}

static void try_row(size_t r, struct scene *s, bool is_fair, struct tally *t)
{
    static struct script_damages damages;
    struct script_world world;
    script_row_set_up(&script_rows[r], &world, s, is_fair);
    script_damages_find(&damages, &script_rows[r], &world, every(), r + is_fair);
    t->world = is_fair ? "fair" : "plain";
    script_damages_try(&damages, &script_rows[r], &world, note_outcome, t);
    script_damages_clear(&damages);
    script_world_end(&world);
}

static void assert_each_kind_was_damaged(void)
{
    for (size_t i = 0; i < N_OF(names); i++)
        if (!is_tried[i])
            fail_msg("no call touches a key %s: add one to tests/support/script_rows.c", names[i]);
}

static void with_a_damaged_key_nothing_changes_or_no_task_is_lost(void **state)
{
    struct tally tally = {0};
    struct scene *s = *state;
    const struct timeval long_enough = {.tv_sec = 30};
    redisSetTimeout(s->server->redis, long_enough);
    for (size_t r = 0; r < n_script_rows; r++)
        for (int is_fair = 0; is_fair <= 1; is_fair++)
            try_row(r, s, is_fair, &tally);
    printf("%zu calls in damaged namespaces\n", tally.n);
    assert_each_kind_was_damaged();
    assert_int_equal(tally.bad, 0);
}

static redisReply *load(const struct scene *s, const char *before, const struct lua_script *script)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%.*s", before, (int)script->len, (const char *)script->body) > 0);
    redisReply *reply = redisCommand(s->server->redis, "SCRIPT LOAD %s", text);
    free(text);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s.lua: %s", script->name, reply->str);
    return reply;
}

/* Lua allows 200 names at once, and what many scripts include grows: a script that has one too many never runs. */
static void redis_takes_every_script_and_each_has_names_left(void **state)
{
    for (size_t id = 0; id < SCRIPT_COUNT; id++) {
        redisReply *reply = load(*state, "", &lua_scripts[id]);
        assert_string_equal(reply->str, lua_scripts[id].sha1);
        freeReplyObject(reply);
        freeReplyObject(load(*state, "local left1, left2, left3\n", &lua_scripts[id]));
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_script_has_a_row),
        live_test(redis_takes_every_script_and_each_has_names_left),
        live_test(with_a_damaged_key_nothing_changes_or_no_task_is_lost),
    };
    return scene_run(tests, argc, argv);
}
