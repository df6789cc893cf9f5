/* SPDX-License-Identifier: MIT
 *
 * Lists of names, for who must know each name once that he meets many times: filled first, then sorted, and only then
 * looked into. What a name's flag means is up to its user.
 */
#ifndef SORTED_H
#define SORTED_H

#include <stddef.h>

struct name {
    char *text; /* with a NUL behind it, and perhaps some in it */
    size_t len;
    int is_doubtful;
};

/* All zero: empty. */
struct names {
    struct name *at;
    size_t n, size;
};

/* A copy is added. MUSTER_OK or E_NOMEM. */
int names_add(struct names *names, const char *text, size_t len);
/* By their bytes; each is there once afterwards. */
void names_sort(struct names *names);
/* In a sorted list the place of the first one that does not come before this text. */
size_t names_from(const struct names *names, char *text, size_t len);
void names_clear(struct names *names);

#endif
