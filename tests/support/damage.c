/* SPDX-License-Identifier: MIT
 *
 * Damage that is planted for a check to find.
 */
#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"

enum { DAMAGES_MAX = 200 };

void damage_plant(struct scene *s, const char *lua)
{
    char script[2048], root[32];
    int len = snprintf(script, sizeof script,
                       "local P, call = KEYS[1], redis.call\n"
                       "local function member(id) return call('HGET', P .. 'job:' .. id, 'place') .. id end\n%s",
                       lua);
    assert_in_range(len, 0, sizeof script - 1);
    snprintf(root, sizeof root, "%s:", s->prefix);
    raw_do(s->server->redis, "EVAL %s 1 %s", script, root);
}

static void remove_line(char *text, const char *line)
{
    char *at = strstr(text, line);
    if (at)
        memmove(at, at + strlen(line), strlen(at + strlen(line)) + 1);
}

void damage_assert_same(const struct damage_house *house, char *before, char *after)
{
    if (house->may_go && !strstr(after, house->may_go))
        remove_line(before, house->may_go);
    if (house->must_go)
        remove_line(before, house->must_go);
    if (strcmp(before, after) != 0)
        fail_msg("there were %s, now there are %s", before, after);
    free(before);
    free(after);
}

void damage_each_key(struct scene *s, void (*fn)(struct scene *s, const char *key), void (*restored)(struct scene *s))
{
    char *keys = raw_string(s->server->redis, "EVAL %s 1 %s:*",
                            "return redis.call('SCAN', 0, 'MATCH', KEYS[1], 'COUNT', 10000)[2]", s->prefix),
         *rest;
    for (char *key = strtok_r(keys, "\n", &rest); key; key = strtok_r(NULL, "\n", &rest)) {
        const char *name = key + strlen(s->prefix) + 1;
        if (strcmp(name, "format") == 0) /* without it no call is made at all */
            continue;
        raw_do(s->server->redis, "RENAME %s away", key);
        raw_do(s->server->redis, "XADD %s * field value", key);
        fn(s, name);
        raw_do(s->server->redis, "RENAME away %s", key);
        restored(s);
    }
    free(keys);
}

/* ---- a case for each damage ---- */

static const struct damage_house *house;
static const struct damage *planted;

static void assert_found(const struct checked *f, int n_repaired)
{
    if (strcmp(f->keys, planted->keys) != 0 || f->n_repaired != n_repaired)
        fail_msg("%s:\nexpected %s\nfound %s, %d repaired:\n%s", planted->plant, planted->keys, f->keys, f->n_repaired,
                 f->what);
}

static void find_and_repair(struct scene *s)
{
    char before[41], after[41];
    redis_server_digest(s->server, before);
    struct checked found = checked_find(s);
    redis_server_digest(s->server, after);
    assert_found(&found, 0);
    assert_string_equal(before, after);

    struct checked repaired = checked_repair(s);
    assert_found(&repaired, repaired.n);
    checked_assert_clean(s);
    invariant_assert(s->server->redis, s->prefix);
}

static void damage_is_found_and_repaired(void **state)
{
    struct scene *s = *state;
    house->furnish(s);
    damage_plant(s, planted->plant);
    char *before = house->inventory(s);
    find_and_repair(s);
    damage_assert_same(house, before, house->inventory(s));
    if (house->also)
        house->also(s);
}

/* Nothing of an earlier case is left on the server: the digest is of all keys, and what Redis lets expire meanwhile
 * would be taken for a change. */
static int begin(void **state)
{
    planted = *state;
    int failed = scene_begin(state);
    if (!failed)
        raw_do(((struct scene *)*state)->server->redis, "FLUSHALL");
    return failed;
}

int damage_run(const struct damage_house *h, const struct damage *damages, size_t n_damages,
               const struct CMUnitTest *cases, size_t n_cases, CMFixtureFunction tear_down, int argc, char **argv)
{
    static struct CMUnitTest all[DAMAGES_MAX];
    static char names[DAMAGES_MAX][64];
    assert_true(n_cases + n_damages <= DAMAGES_MAX);
    house = h;
    memcpy(all, cases, n_cases * sizeof *cases);
    for (size_t i = 0; i < n_damages; i++) {
        snprintf(names[i], sizeof names[i], "damage_%zu_at_%.*s", i + 1, (int)strcspn(damages[i].keys, " "),
                 damages[i].keys);
        all[n_cases + i] = (struct CMUnitTest){names[i], damage_is_found_and_repaired, begin, tear_down,
                                               (void *)(uintptr_t)&damages[i]};
    }
    return testing_run_cases(all, n_cases + n_damages, scene_start, scene_stop, argc, argv);
}
