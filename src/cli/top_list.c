/* SPDX-License-Identifier: MIT
 *
 * Makes texts and numbers of the cells of a look, once, so that drawing, sorting and searching cost little.
 */
#include "top_list.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "top_text.h"

struct top_list *top_list_new(const struct out_column *columns)
{
    struct top_list *l = need(calloc(1, sizeof *l));
    for (; columns->heading || columns->key; columns++)
        if (columns->heading)
            (void)top_list_add_column(l, columns);
    return l;
}

void top_list_free(struct top_list *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_rows; i++) {
        for (size_t column = 0; column < l->n_columns; column++)
            free(l->rows[i]->texts[column]);
        free(l->rows[i]->name);
        free(l->rows[i]);
    }
    free(l->rows);
    free(l);
}

size_t top_list_add_column(struct top_list *l, const struct out_column *column)
{
    l->columns[l->n_columns] = *column;
    if (column->kind == OUT_SPAN) /* to the ms it would be restless */
        l->columns[l->n_columns].kind = OUT_AGE;
    return l->n_columns++;
}

bool top_list_is_number(const struct out_column *column)
{
    return column->kind == OUT_COUNT || column->kind == OUT_INTEGER || column->kind == OUT_REAL;
}

bool top_list_is_sized(const struct out_column *column)
{
    return top_list_is_number(column) || column->kind == OUT_YES || column->kind == OUT_SPAN ||
           column->kind == OUT_AGE || column->kind == OUT_TIME || column->kind == OUT_SINCE;
}

/* What has lasted longest began first. */
static double number_of(const struct out_column *column, const struct out_cell *cell)
{
    if (column->kind == OUT_REAL)
        return cell->real;
    if (column->kind == OUT_SINCE && cell->number >= 0)
        return -(double)cell->number;
    return (double)cell->number;
}

static char *text_of(const struct out_column *column, const struct out_cell *cell)
{
    bool is_unknown = column->kind == OUT_REAL && cell->real < 0;
    return is_unknown ? need(strdup("-")) : out_cell_text(column, cell);
}

void top_list_set(struct top_list *l, struct top_row *row, size_t column, const struct out_cell *cell)
{
    row->numbers[column] = number_of(&l->columns[column], cell);
    row->texts[column] = text_of(&l->columns[column], cell);
    size_t width = top_text_width(row->texts[column]);
    l->widths[column] = width > l->widths[column] ? width : l->widths[column];
}

static struct top_row *add_row(struct top_list *l, const char *name)
{
    if ((l->n_rows & (l->n_rows - 1)) == 0) /* its room is a power of two */
        l->rows = need(reallocarray(l->rows, l->n_rows ? 2 * l->n_rows : 1, sizeof(struct top_row *)));
    struct top_row *row = need(calloc(1, sizeof *row));
    row->name = need(strdup(name));
    return l->rows[l->n_rows++] = row;
}

struct top_row *top_list_add(struct top_list *l, const struct out_column *columns, const struct out_cell *cells)
{
    bool is_kept = l->n_rows < TOP_ROWS_MAX;
    struct top_row *row = is_kept ? add_row(l, cells[0].text) : NULL;
    l->n_more += !is_kept;
    for (size_t i = 0, column = 0; columns[i].heading || columns[i].key; i++) {
        if (!columns[i].heading)
            continue;
        if (columns[i].kind == OUT_COUNT || columns[i].kind == OUT_YES)
            l->sums[column] += (double)cells[i].number;
        if (row)
            top_list_set(l, row, column, &cells[i]);
        column++;
    }
    return row;
}

size_t top_list_find(const struct top_list *l, const char *heading)
{
    for (size_t i = 0; i < l->n_columns; i++)
        if (strcmp(l->columns[i].heading, heading) == 0)
            return i;
    return 0;
}

bool top_list_matches(const struct top_list *l, const struct top_row *row, const char *filter)
{
    for (size_t i = 0; i < l->n_columns; i++)
        if (!top_list_is_sized(&l->columns[i]) && strcasestr(row->texts[i], filter))
            return true;
    return false;
}

/* ---- order ---- */

struct order {
    size_t column;
    bool is_sized, is_descending;
};

static int compare(const void *a, const void *b, void *arg)
{
    const struct order *o = arg;
    const struct top_row *x = *(struct top_row *const *)a, *y = *(struct top_row *const *)b;
    double p = x->numbers[o->column], q = y->numbers[o->column];
    int order = o->is_sized ? (p > q) - (p < q) : strcmp(x->texts[o->column], y->texts[o->column]);
    order = o->is_descending ? -order : order;
    return order ? order : strcmp(x->name, y->name);
}

void top_list_sort(const struct top_list *l, struct top_row **rows, size_t n, size_t column, bool is_descending)
{
    struct order o = {column, top_list_is_sized(&l->columns[column]), is_descending};
    if (n > 1)
        qsort_r(rows, n, sizeof *rows, compare, &o);
}
