/* SPDX-License-Identifier: MIT
 *
 * What a list said last. Most rows of a look are those of the look before: no JSON is made of these again.
 */
#ifndef WEB_MEMO_H
#define WEB_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out.h"

struct cJSON;
struct memo;

/* How many columns of a row are ages, at most. They grow between any two looks. */
#define MEMO_AGES 2

/*
 *   slot  the number of this name for as long as it is listed; then another name may have it
 *   row   to be deleted; NULL: as it was in the listing before, but for its ages
 *   ages  in the order of the columns; -1: there is none
 */
struct memo_row {
    size_t slot;
    struct cJSON *row;
    int64_t ages[MEMO_AGES];
};

struct memo_listing {
    struct memo_row *rows;
    size_t n, room;
};

struct memo *memo_new(void);
void memo_free(struct memo *m);

bool memo_is_age(const char *key);

/* A listing begins, ... */
void memo_begin(struct memo *m);
/* ... its rows come, with `m` as `arg`; the first column is the name. One that comes twice is left out ... */
int memo_add(const struct out_column *columns, const struct out_cell *cells, void *arg);
/* ... and it ends. `is_good` false: it is not told, and the next one has all rows as a whole. */
struct memo_listing memo_end(struct memo *m, bool is_good);

void memo_listing_clear(struct memo_listing *l);

#endif
