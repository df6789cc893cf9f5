/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace (muster_client_check()), and what it found.
 */
#ifndef CHECKED_H
#define CHECKED_H

#include <muster/client.h>

/*
 *   keys    of the finds in their order, without prefix and colon, a blank after each
 *   what    a line for each find, with its whole key
 *   enough  given: after this many finds the check is told to stop; 0: never
 */
struct checked {
    const char *prefix;
    int enough;
    char keys[8192], what[8192];
    int n, n_repaired;
};

struct scene;

/* The scene's namespace, or any. Fails the test if the check itself fails. */
enum checked_mode { CHECKED_FIND, CHECKED_REPAIR };
struct checked checked_find(struct scene *s);
struct checked checked_repair(struct scene *s);
struct checked checked_with(struct muster_client *client, const char *prefix, enum checked_mode mode);

/* For tests that call the check themselves: `arg` is a struct checked *. */
int checked_note(const struct muster_damage *damage, void *arg);

/* No damage is found. */
void checked_assert_clean(struct scene *s);

/* These keys are found, nothing is repaired, and nothing changes, neither without nor with repair. */
void checked_assert_left_alone(struct scene *s, const char *keys);

/* A full Redis keeps no repair from being done: all that is found is put right. Returns what was found. */
struct checked checked_repair_when_full(struct scene *s);

#endif
