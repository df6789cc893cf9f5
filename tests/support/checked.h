/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace (muster_client_check()), and what it found; and damage that is planted for it to find.
 */
#ifndef CHECKED_H
#define CHECKED_H

#include <muster/client.h>

/*
 *   keys    of the finds in their order, without prefix and colon, a blank behind each
 *   what    a line for each find, with its whole key
 *   enough  given: after so many finds no more is wanted; 0: all
 */
struct checked {
    const char *prefix;
    int enough;
    char keys[8192], what[8192];
    int n, n_repaired;
};

struct scene;

/* Fails the test if the check itself fails. */
struct checked checked_now(struct muster_client *client, const char *prefix, int repair);

/* The pieces for who must not fail: `arg` is a struct checked *. */
int checked_note(const struct muster_damage *damage, void *arg);

/* Nothing is amiss. */
void checked_assert_clean(struct scene *s);

/* What is planted, and at which keys that is found, in this order. */
struct damage {
    const char *plant, *keys;
};

/* A Lua script with P, the root, `call`, and member(id), how a job stands in the indexes. */
void damage_plant(struct scene *s, const char *lua);

/* Damage that was planted is found at its keys and at no other, looking changes nothing, a repair puts it right, and
 * afterwards nothing is amiss. */
void damage_find_and_repair(struct scene *s, const struct damage *d);

#endif
