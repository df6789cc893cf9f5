/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace, and what it found.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "testing.h"

int checked_note(const struct muster_damage *damage, void *arg)
{
    struct checked *c = arg;
    size_t len = strlen(c->prefix), at = strlen(c->keys);
    int is_inside = strncmp(damage->key, c->prefix, len) == 0 && damage->key[len] == ':';
    snprintf(c->keys + at, sizeof(c->keys) - at, "%s ", damage->key + (is_inside ? len + 1 : 0));
    at = strlen(c->what);
    snprintf(c->what + at, sizeof(c->what) - at, "%s %s\n", damage->key, damage->what);
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
