/* SPDX-License-Identifier: MIT
 *
 * Users of Redis with the rules of examples/users.acl, for a scene's namespace instead of `muster`.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "scene.h"

#define RIGHTS_MAX 64

/* The rule of a role, word by word: a command, a group of them, keys, channels. */
struct rights {
    size_t n;
    char words[RIGHTS_MAX][64];
};

/* The roles; NULL after the last one. */
extern const char *const rights_roles[];

void rights_read(struct rights *r, const char *role, const char *prefix);

/* The user has these rights from now on, but for the one word `less` (NULL: none); also where it is connected. */
void rights_give(struct scene *s, const char *user, const struct rights *r, const char *less);

/* Where this user logs in to the scene's server. */
void rights_url(struct scene *s, const char *user, char out[160]);

/* A client of this user that the caller frees. */
struct muster_client *rights_client(struct scene *s, const char *user);

#endif
