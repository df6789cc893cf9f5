/* SPDX-License-Identifier: MIT
 *
 * Keeps order and bar over the looks.
 */
#include "top_pane.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"

const struct top_row *top_pane_row(const struct top_pane *p)
{
    return p->at < p->n_rows ? p->rows[p->at] : NULL;
}

static void note_bar(struct top_pane *p)
{
    const struct top_row *row = top_pane_row(p);
    free(p->name);
    p->name = row ? need(strdup(row->name)) : NULL;
}

/* The bar stays on its row; if that is gone, on the place. */
static void find_bar(struct top_pane *p)
{
    for (size_t i = 0; p->name && i < p->n_rows; i++)
        if (strcmp(p->rows[i]->name, p->name) == 0) {
            p->at = i;
            return;
        }
    if (p->at >= p->n_rows)
        p->at = p->n_rows ? p->n_rows - 1 : 0;
    if (p->n_rows)
        note_bar(p);
}

void top_pane_filter(struct top_pane *p, const char *filter)
{
    const struct top_list *l = p->sight.list;
    free(p->rows);
    p->rows = NULL;
    p->n_rows = 0;
    if (!l || l->n_rows == 0)
        return;
    p->rows = need(calloc(l->n_rows, sizeof *p->rows));
    for (size_t i = 0; i < l->n_rows; i++)
        if (!*filter || top_list_matches(l, l->rows[i], filter))
            p->rows[p->n_rows++] = l->rows[i];
    top_list_sort(l, p->rows, p->n_rows, p->sort, p->is_descending);
    find_bar(p);
}

static bool is_greatest_first(const struct top_list *l, size_t column)
{
    return top_list_is_sized(&l->columns[column]);
}

/* Not each look asks for all, so not each one warns of what is wrong all the time. */
#define NOTE_MS 10000

static void keep_note(struct top_sight *sight, struct top_sight *before)
{
    if (sight->note || sight->at_ms - before->note_at_ms >= NOTE_MS)
        return;
    sight->note = before->note;
    sight->note_at_ms = before->note_at_ms;
    before->note = NULL;
}

void top_pane_take(struct top_pane *p, struct top_sight *sight, const char *filter)
{
    keep_note(sight, &p->sight);
    top_look_clear(&p->sight);
    p->sight = *sight;
    *sight = (struct top_sight){.list = NULL};
    if (!p->is_sorted) {
        p->sort = top_list_find(p->sight.list, top_views[p->sight.view].sort);
        p->is_descending = is_greatest_first(p->sight.list, p->sort);
        p->is_sorted = true;
    }
    top_pane_filter(p, filter);
}

void top_pane_free(struct top_pane *p)
{
    top_look_clear(&p->sight);
    free(p->rows);
    free(p->name);
}

void top_pane_sort(struct top_pane *p, int by, const char *filter)
{
    const struct top_list *l = p->sight.list;
    if (!l)
        return;
    if (by == 0) {
        p->is_descending = !p->is_descending;
    } else {
        p->sort = (p->sort + l->n_columns + (size_t)by) % l->n_columns;
        p->is_descending = is_greatest_first(l, p->sort);
    }
    top_pane_filter(p, filter);
}

void top_pane_move(struct top_pane *p, long by)
{
    size_t room = p->n_rows ? p->n_rows - 1 - p->at : 0;
    if (by < 0)
        p->at -= p->at < (size_t)-by ? p->at : (size_t)-by;
    else
        p->at += room < (size_t)by ? room : (size_t)by;
    note_bar(p);
}

void top_pane_scroll(struct top_pane *p, size_t page)
{
    if (p->at < p->first)
        p->first = p->at;
    if (page && p->at >= p->first + page)
        p->first = p->at - page + 1;
    if (p->first + page > p->n_rows)
        p->first = p->n_rows > page ? p->n_rows - page : 0;
}
