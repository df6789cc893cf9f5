/* SPDX-License-Identifier: MIT
 *
 * Lists of names that turn up many times and are kept once. A list is filled first, then sorted, and only then
 * searched.
 */
#ifndef NAME_LIST_H
#define NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct name {
    char *text; /* ends with a NUL, which is not counted; it may hold others */
    size_t len;
    bool is_doubtful; /* for the user of the list */
};

/* All zero: an empty list. */
struct name_list {
    struct name *at;
    size_t n;
    size_t size; /* how many have room */
};

/* Add a copy. MUSTER_OK or E_NOMEM. */
int name_list_add(struct name_list *names, const char *text, size_t len);
/* Sort by bytes. Afterwards each name is there once. */
void name_list_sort(struct name_list *names);
/* The place in a sorted list of the first name that does not come before this text. */
size_t name_list_find(const struct name_list *names, char *text, size_t len);
void name_list_clear(struct name_list *names);

#endif
