/* SPDX-License-Identifier: MIT
 *
 * A check of a namespace (muster_client_check()), and what it found.
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

/* Fails the test if the check itself fails. */
struct checked checked_now(struct muster_client *client, const char *prefix, int repair);

/* The pieces for who must not fail: `arg` is a struct checked *. */
int checked_note(const struct muster_damage *damage, void *arg);

#endif
