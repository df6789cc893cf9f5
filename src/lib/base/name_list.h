/* SPDX-License-Identifier: MIT
 *
 * Lists of names, for who must know each name once that he meets many times: filled first, then sorted, and only then
 * looked into. What a name's flag means is up to its user.
 */
#ifndef NAME_LIST_H
#define NAME_LIST_H

#include <stddef.h>

struct name {
    char *text; /* with a NUL behind it, and perhaps some in it */
    size_t len;
    int is_doubtful;
};

/* All zero: empty. */
struct name_list {
    struct name *at;
    size_t n, size;
};

/* A copy is added. MUSTER_OK or E_NOMEM. */
int name_list_add(struct name_list *names, const char *text, size_t len);
/* By their bytes; each is there once afterwards. */
void name_list_sort(struct name_list *names);
/* In a sorted list the place of the first one that does not come before this text. */
size_t name_list_from(const struct name_list *names, char *text, size_t len);
void name_list_clear(struct name_list *names);

#endif
