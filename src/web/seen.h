/* SPDX-License-Identifier: MIT
 *
 * Rows as they were seen last, by name: what has changed since, what has come and gone, and how fast their counts rise.
 */
#ifndef WEB_SEEN_H
#define WEB_SEEN_H

#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct history;

/* `in`, `out`, `failed`: totals; NAN: unknown. */
struct seen_row {
    char *name;
    uint64_t mark; /* of what stands in the row, but for what only grows older */
    double in, out, failed;
    struct history *history;
};

struct seen {
    const char *key; /* that of the name in a row */
    struct seen_row *rows;
    size_t n;
    unsigned round;
};

void seen_clear(struct seen *s);

/* The row of a name; NULL if there is none. */
struct seen_row *seen_find(const struct seen *s, const char *name);

/* Take these rows in the place of those before. {"items": those that are new or changed, "gone": names}; to be deleted.
 * A row in which nothing but an age has changed is told at each tenth call: if it were told each time, every row would
 * be told each time.
 * Called for each row before it is compared: `before` is NULL for a new one. */
typedef void seen_fn(void *arg, struct cJSON *row, struct seen_row *now, const struct seen_row *before);
struct cJSON *seen_update(struct seen *s, struct cJSON *rows, seen_fn *fn, void *arg);

#endif
