/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace, and what it found.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "scene.h"

int checked_note(const struct muster_damage *damage, void *arg)
{
    struct checked *c = arg;
    size_t len = strlen(c->prefix), at = strlen(c->keys);
    bool is_inside = strncmp(damage->key, c->prefix, len) == 0 && damage->key[len] == ':';
    snprintf(c->keys + at, sizeof c->keys - at, "%s ", damage->key + (is_inside ? len + 1 : 0));
    at = strlen(c->what);
    snprintf(c->what + at, sizeof c->what - at, "%s %s\n", damage->key, damage->what);
    c->n++;
    c->n_repaired += damage->repaired;
    return c->n == c->enough;
}

struct checked checked_with(struct muster_client *client, const char *prefix, enum checked_mode mode)
{
    struct checked c = {.prefix = prefix};
    int err = muster_client_check(client, mode == CHECKED_REPAIR, checked_note, &c);
    if (err)
        fail_msg("check: %s: %s", muster_err_name(err), muster_client_error(client));
    return c;
}

struct checked checked_find(struct scene *s)
{
    return checked_with(s->client, s->prefix, CHECKED_FIND);
}

struct checked checked_repair(struct scene *s)
{
    return checked_with(s->client, s->prefix, CHECKED_REPAIR);
}

void checked_assert_clean(struct scene *s)
{
    struct checked f = checked_find(s);
    if (f.n > 0)
        fail_msg("amiss: %s", f.what);
}

void checked_assert_left_alone(struct scene *s, const char *keys)
{
    char before[41], after[41];
    redis_server_digest(s->server, before);
    for (enum checked_mode mode = CHECKED_FIND; mode <= CHECKED_REPAIR; mode++) {
        struct checked found = checked_with(s->client, s->prefix, mode);
        assert_string_equal(found.keys, keys);
        assert_int_equal(found.n_repaired, 0);
    }
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

struct checked checked_repair_when_full(struct scene *s)
{
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    struct checked found = {.prefix = s->prefix};
    int err = muster_client_check(s->client, 1, checked_note, &found);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_ok(err);
    assert_int_equal(found.n, found.n_repaired);
    checked_assert_clean(s);
    return found;
}
