/* SPDX-License-Identifier: MIT
 *
 * Fits columns into the terminal: the widest of those that may be cut gives way, then whole columns do.
 */
#include "top_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "top_screen.h"

#define GAP 1
#define GAP_WIDE 2
#define NAME_MIN 14
#define NAME_MAX 60

struct widths {
    size_t of[TOP_COLUMNS_MAX]; /* 0: not shown */
    size_t gap;
};

/* With the mark of the order, if it is sorted by this column. */
static size_t natural(const struct top_pane *p, size_t i)
{
    const struct top_list *l = p->sight.list;
    size_t heading = strlen(l->columns[i].heading) + (i == p->sort),
           width = l->widths[i] > heading ? l->widths[i] : heading;
    return width > NAME_MAX && !top_list_is_sized(&l->columns[i]) ? NAME_MAX : width;
}

static size_t total(const struct widths *w, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += w->of[i] ? w->of[i] + w->gap : 0;
    return sum;
}

/* Returns false if no column can give way any more. */
static bool narrow(const struct top_list *l, struct widths *w)
{
    size_t widest = l->n_columns;
    for (size_t i = 0; i < l->n_columns; i++)
        if (!top_list_is_sized(&l->columns[i]) && w->of[i] > NAME_MIN &&
            (widest == l->n_columns || w->of[i] > w->of[widest]))
            widest = i;
    if (widest == l->n_columns)
        return false;
    w->of[widest]--;
    return true;
}

/* Headings that a look lacks are those of another view, and there are none of these. */
static void leave_out(const struct top_list *l, struct widths *w, const char *heading)
{
    w->of[top_list_find(l, heading)] = 0;
}

static struct widths fit(const struct top_pane *p, const char *const *spare, size_t room)
{
    const struct top_list *l = p->sight.list;
    struct widths w = {.gap = GAP};
    for (size_t i = 0; i < l->n_columns; i++)
        w.of[i] = natural(p, i);
    struct widths all = w;
    if (total(&w, l->n_columns) <= room) { /* there is room to spare */
        w.gap = GAP_WIDE;
        w.gap = total(&w, l->n_columns) <= room ? GAP_WIDE : GAP;
    }
    while (total(&w, l->n_columns) > room + w.gap)
        if (!narrow(l, &w)) {
            if (!*spare)
                return w;
            leave_out(l, &all, *spare++);
            w = all;
        }
    return w;
}

static void draw_cell(const struct out_column *column, const char *text, size_t line, size_t at, size_t width,
                      enum top_style style)
{
    size_t len = strlen(text), before = top_list_is_number(column) && len < width ? width - len : 0;
    top_screen_put(line, at, "", before, style);
    top_screen_put(line, at + before, text, width - before, style);
}

static void draw_headings(const struct top_pane *p, const struct widths *w, size_t line)
{
    const struct top_list *l = p->sight.list;
    for (size_t i = 0, at = 0; i < l->n_columns; i++) {
        char heading[32];
        snprintf(heading, sizeof heading, "%s%s", l->columns[i].heading,
                 i != p->sort       ? ""
                 : p->is_descending ? "v"
                                    : "^");
        if (w->of[i]) {
            draw_cell(&l->columns[i], heading, line, at, w->of[i], TOP_BOLD);
            at += w->of[i] + w->gap;
        }
    }
}

static void draw_row(const struct top_list *l, const struct top_row *row, const struct widths *w, size_t line,
                     enum top_style style)
{
    size_t lines, columns;
    top_screen_size(&lines, &columns);
    top_screen_put(line, 0, "", columns, style);
    for (size_t i = 0, at = 0; i < l->n_columns; i++)
        if (w->of[i]) {
            draw_cell(&l->columns[i], row->texts[i], line, at, w->of[i], style);
            at += w->of[i] + w->gap;
        }
}

void top_table_draw(const struct top_pane *p, const char *const *spare, size_t line, size_t page)
{
    size_t lines, columns;
    const struct top_list *l = p->sight.list;
    top_screen_size(&lines, &columns);
    struct widths w = fit(p, spare, columns);
    draw_headings(p, &w, line);
    for (size_t i = 0; i < page && p->first + i < p->n_rows; i++) {
        const struct top_row *row = p->rows[p->first + i];
        bool is_chosen = p->first + i == p->at;
        draw_row(l, row, &w, line + 1 + i, is_chosen ? TOP_CHOSEN : row->is_marked ? TOP_MARKED : TOP_PLAIN);
    }
}
