/* SPDX-License-Identifier: MIT
 *
 * The rows of one look of `muster top`: what stands in them as text, and a number to sort by.
 */
#ifndef CLI_TOP_LIST_H
#define CLI_TOP_LIST_H

#include "out.h"

#define TOP_COLUMNS_MAX 16
/* What is kept of a look. Rows beyond it are counted. */
#define TOP_ROWS_MAX 20000

struct top_row {
    char *name;     /* the first column, as it is: what actions name */
    bool is_marked; /* paused, cancelled, not alive: shown in another color */
    char *texts[TOP_COLUMNS_MAX];
    double numbers[TOP_COLUMNS_MAX];
};

struct top_list {
    struct out_column columns[TOP_COLUMNS_MAX];
    size_t n_columns;
    struct top_row **rows;
    size_t n_rows, n_more;          /* kept; not kept */
    size_t widths[TOP_COLUMNS_MAX]; /* of the widest text, in columns of the terminal */
    double sums[TOP_COLUMNS_MAX];   /* of all rows, also those that are not kept */
};

/* A list with those of these columns that a table shows. */
struct top_list *top_list_new(const struct out_column *columns);
void top_list_free(struct top_list *l);

/* Add a column. Each row that is added must be given its cell by top_list_set(). Returns its index. */
size_t top_list_add_column(struct top_list *l, const struct out_column *column);

/* Add a row of the table whose columns the list was made of. Returns it, or NULL: it was counted and not kept. */
struct top_row *top_list_add(struct top_list *l, const struct out_column *columns, const struct out_cell *cells);
void top_list_set(struct top_list *l, struct top_row *row, size_t column, const struct out_cell *cell);

/* Is a column one of numbers, which stand on the right and are sorted with the greatest first? */
bool top_list_is_number(const struct out_column *column);
bool top_list_is_sized(const struct out_column *column);

/* The index of the column with this heading, or 0. */
size_t top_list_find(const struct top_list *l, const char *heading);

/* Does a text of the row have this in it, whether in capitals or not? */
bool top_list_matches(const struct top_list *l, const struct top_row *row, const char *filter);

/* Put rows in order: by this column, then by name. */
void top_list_sort(const struct top_list *l, struct top_row **rows, size_t n, size_t column, bool is_descending);

#endif
