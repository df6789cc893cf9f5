/* SPDX-License-Identifier: MIT
 *
 * Rows as they were seen last: what has changed since, what has come and gone, and what is counted of each.
 */
#ifndef WEB_SEEN_H
#define WEB_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memo.h"

struct cJSON;
struct history;

#define SEEN_COUNTS 13
#define SEEN_RATES 2

/* `counts`, `rates`, `history`: what the caller keeps of it; at first they are 0 and NULL. The history is freed. */
struct seen_row {
    char *name; /* NULL: there is no such row */
    struct cJSON *row, *ages[MEMO_AGES];
    unsigned round;
    double counts[SEEN_COUNTS], rates[SEEN_RATES];
    struct history *history;
};

struct seen {
    const char *key;        /* that of the name in a row */
    struct cJSON *list;     /* of the rows, in the order in which they were listed */
    struct seen_row *slots; /* by their number in the listings */
    size_t n_slots;
    unsigned round;
};

void seen_clear(struct seen *s);

/* The row of a name; NULL if there is none. */
const struct seen_row *seen_find(const struct seen *s, const char *name);

/* What an age was; NAN: there is none. */
double seen_age(const struct seen_row *row, size_t which);

/* SEEN_NEW: the name was not there before. SEEN_CHANGED: its row is another object. SEEN_SAME: but for its ages. */
enum seen_how { SEEN_NEW, SEEN_CHANGED, SEEN_SAME };

/* Called for each row, which may be added to. Returns whether a row that is the same has become another one by it. */
typedef bool seen_fn(void *arg, struct seen_row *row, enum seen_how how);

/* Take this listing in the place of the one before, and clear it. {"items": rows that are new or changed, "gone": names};
 * to be deleted before the next update, because the items are those of `list`.
 * A row in which nothing but an age has changed is told at each tenth call: if it were told each time, every row would
 * be told each time. */
struct cJSON *seen_update(struct seen *s, struct memo_listing *listing, seen_fn *fn, void *arg);

#endif
