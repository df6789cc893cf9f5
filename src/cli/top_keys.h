/* SPDX-License-Identifier: MIT
 *
 * What the keys of `muster top` do. One table makes the keys, their help and the hints in the last line.
 */
#ifndef CLI_TOP_KEYS_H
#define CLI_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum top_deed {
    TOP_DO_NOTHING,
    TOP_DO_QUIT,
    TOP_DO_HELP,
    TOP_DO_NEXT_VIEW,
    TOP_DO_QUEUES,
    TOP_DO_WORKERS,
    TOP_DO_PROCESSES,
    TOP_DO_UP,
    TOP_DO_DOWN,
    TOP_DO_PAGE_UP,
    TOP_DO_PAGE_DOWN,
    TOP_DO_FIRST,
    TOP_DO_LAST,
    TOP_DO_ENTER,
    TOP_DO_FILTER,
    TOP_DO_CLEAR,
    TOP_DO_SORT_NEXT,
    TOP_DO_SORT_BEFORE,
    TOP_DO_REVERSE,
    TOP_DO_PAUSE,
    TOP_DO_CANCEL
};

struct top_key {
    int keys[3]; /* as top_screen_key() has them; 0: none */
    enum top_deed deed;
    const char *shown, *help;
    const char *hint; /* in the last line; NULL: not there */
};
extern const struct top_key top_keys[];
extern const size_t top_keys_n;

enum top_deed top_keys_find(int key);

/* Does it change something in Redis? */
bool top_keys_is_action(enum top_deed deed);

#endif
