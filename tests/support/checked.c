/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace, and what it found.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "scene.h"

int checked_note(const struct muster_damage *damage, void *arg)
{
    struct checked *c = arg;
    size_t len = strlen(c->prefix), at = strlen(c->keys);
    int is_inside = strncmp(damage->key, c->prefix, len) == 0 && damage->key[len] == ':';
    snprintf(c->keys + at, sizeof c->keys - at, "%s ", damage->key + (is_inside ? len + 1 : 0));
    at = strlen(c->what);
    snprintf(c->what + at, sizeof c->what - at, "%s %s\n", damage->key, damage->what);
    c->n++;
    c->n_repaired += damage->repaired;
    return c->n == c->enough;
}

struct checked checked_now(struct muster_client *client, const char *prefix, int repair)
{
    struct checked c = {.prefix = prefix};
    int err = muster_client_check(client, repair, checked_note, &c);
    if (err)
        fail_msg("check: %s: %s", muster_err_name(err), muster_client_error(client));
    return c;
}

void checked_assert_clean(struct scene *s)
{
    struct checked f = checked_now(s->client, s->prefix, 0);
    if (f.n > 0)
        fail_msg("amiss: %s", f.what);
}

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

static void assert_found(const struct checked *f, const struct damage *d, int repaired)
{
    if (strcmp(f->keys, d->keys) != 0 || f->n_repaired != (repaired ? f->n : 0))
        fail_msg("%s:\nexpected %s\nfound %s, %d repaired:\n%s", d->plant, d->keys, f->keys, f->n_repaired, f->what);
}

void damage_find_and_repair(struct scene *s, const struct damage *d)
{
    char before[41], after[41];
    redis_server_digest(s->server, before);
    struct checked found = checked_now(s->client, s->prefix, 0);
    redis_server_digest(s->server, after);
    assert_found(&found, d, 0);
    assert_string_equal(before, after);

    struct checked repaired = checked_now(s->client, s->prefix, 1);
    assert_found(&repaired, d, 1);
    checked_assert_clean(s);
    invariant_assert(s->server->redis, s->prefix);
}
