/* SPDX-License-Identifier: MIT
 *
 * Heading, views, sums, table, and the last line. What has no room in a small terminal is left out from the top.
 */
#include "top_draw.h"

#include <muster/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "need.h"
#include "now.h"
#include "text.h"
#include "top_keys.h"
#include "top_pane.h"
#include "top_screen.h"
#include "top_table.h"
#include "top_text.h"

#define LINES_FOR_ALL 8
#define LINES_FOR_TABS 4

__attribute__((format(printf, 1, 2))) static char *format(const char *words, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, words);
    if (vasprintf(&text, words, args) < 0)
        need(NULL);
    va_end(args);
    return text;
}

/* A line of its own; frees the text. */
static void draw_line(size_t line, char *text, enum top_style style)
{
    size_t lines, columns;
    top_screen_size(&lines, &columns);
    top_screen_put(line, 0, text, columns, style);
    free(text);
}

#define WHERE_COLUMNS_MIN 10

/* A long address gives way: the prefix tells which of several namespaces this is. */
static char *heading_of(const struct top *t, size_t columns)
{
    const char *prefix = t->options->call->common[OPT_PREFIX].text;
    size_t others = strlen("muster     prefix ") + strlen(muster_version()) + strlen(prefix);
    size_t room = columns > others + WHERE_COLUMNS_MIN ? columns - others : WHERE_COLUMNS_MIN;
    char *where = format("%s    ", t->where); /* room for an ellipsis */
    where[strlen(t->where)] = '\0';
    text_cut(where, room);
    char *text = format("muster %s  %s  prefix %s", muster_version(), where, prefix);
    free(where);
    return text;
}

/* Left and right; the right one is whole, if there is room for it. */
static void draw_heading(const struct top *t, size_t line, size_t columns)
{
    const struct top_pane *p = &t->panes[t->view];
    char clock[16], every[TEXT_SPAN_SIZE];
    time_t now = time(NULL);
    struct tm tm;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &tm));
    char *right = format(" look %lld ms, every %s  %s", (long long)p->sight.took_ms,
                         text_span(every, t->options->interval_ms), clock);
    size_t width = strlen(right) < columns ? strlen(right) : 0;
    char *left = heading_of(t, columns - width);
    top_screen_put(line, 0, left, columns - width, TOP_BOLD);
    top_screen_put(line, columns - width, right, width, TOP_PLAIN);
    free(left);
    free(right);
}

static void draw_tabs(const struct top *t, size_t line)
{
    size_t at = 0;
    for (size_t i = 0; i < TOP_VIEWS; i++) {
        bool is_here = i == t->view;
        char *text = format("%c%zu %s%c", is_here ? '[' : ' ', i + 1, top_views[i].name, is_here ? ']' : ' ');
        top_screen_put(line, at, text, strlen(text), is_here ? TOP_BOLD : TOP_PLAIN);
        at += strlen(text) + 1;
        free(text);
    }
    char *queue = t->queue ? text_printable(t->queue, strlen(t->queue), SIZE_MAX) : NULL;
    char *text = format("%s%s%s%s%s", t->options->is_read_only ? " read-only" : "", queue ? " of " : "",
                        queue ? queue : "", *t->filter ? "  filter: " : "", t->filter);
    top_screen_put(line, at, text, top_text_width(text), TOP_PLAIN);
    free(queue);
    free(text);
}

static char *sums_text(const struct top *t)
{
    const struct top_pane *p = &t->panes[t->view];
    const struct top_list *l = p->sight.list;
    char number[TEXT_NUMBER_SIZE], *text = NULL;
    size_t len = 0;
    if (!l)
        return need(strdup("Redis is asked ..."));
    FILE *stream = need(open_memstream(&text, &len));
    if (p->n_rows < l->n_rows)
        fprintf(stream, "%zu of ", p->n_rows);
    fputs(text_number_of(number, l->n_rows + l->n_more, "row", "rows"), stream);
    if (l->n_more)
        fprintf(stream, ", %zu not shown", l->n_more);
    for (const char *const *sum = top_views[t->view].sums; *sum; sum++)
        fprintf(stream, "  %s %.0f", *sum, l->sums[top_list_find(l, *sum)]);
    fclose(stream);
    return need(text);
}

/* With what is to be known of the look. */
static char *look_text(const struct top *t)
{
    const char *note = t->panes[t->view].sight.note;
    char *sums = sums_text(t), *text = note ? format("%s; %s", note, sums) : sums;
    if (note)
        free(sums);
    return text;
}

static void draw_state(const struct top *t, size_t line)
{
    const struct top_pane *p = &t->panes[t->view];
    char age[TEXT_TIME_SIZE];
    if (!t->trouble)
        draw_line(line, look_text(t), p->sight.note ? TOP_TROUBLE : TOP_PLAIN);
    else if (p->sight.list)
        draw_line(line, format("OLD, %s: %s", text_age(age, now_ms() - p->sight.at_ms), t->trouble), TOP_TROUBLE);
    else
        draw_line(line, format("NO ROWS: %s", t->trouble), TOP_TROUBLE);
}

/* ---- the last line ---- */

static char *question_text(const struct top *t)
{
    static const char *const words[] = {
        [TOP_PAUSE] = "pause queue", [TOP_RESUME] = "resume queue", [TOP_CANCEL] = "cancel process"};
    char *shown = text_printable(t->object, strlen(t->object), SIZE_MAX);
    char *text = format("%s %s? y/n", words[t->action], shown);
    free(shown);
    return text;
}

static char *hints_text(const struct top *t)
{
    char *text = NULL;
    size_t len = 0;
    FILE *stream = need(open_memstream(&text, &len));
    for (size_t i = 0; i < top_keys_n; i++) {
        const struct top_key *k = &top_keys[i];
        bool fits =
            k->deed == TOP_DO_PAUSE ? t->view == TOP_QUEUES : k->deed != TOP_DO_CANCEL || t->view == TOP_PROCESSES;
        if (k->hint && fits && !(t->options->is_read_only && top_keys_is_action(k->deed)))
            fprintf(stream, "%c %s  ", k->keys[0], k->hint);
    }
    fprintf(stream, "Tab views");
    fclose(stream);
    return need(text);
}

/* Sets where the cursor is to stand; -1: nowhere. */
static void draw_last(const struct top *t, size_t line, int *cursor)
{
    *cursor = -1;
    if (t->mode == TOP_TYPE_FILTER) {
        *cursor = 1 + (int)top_text_width(t->filter);
        draw_line(line, format("/%s", t->filter), TOP_PLAIN);
    } else if (t->mode == TOP_ASK) {
        draw_line(line, question_text(t), TOP_BOLD);
    } else if (t->message) {
        draw_line(line, need(strdup(t->message)), TOP_BOLD);
    } else {
        draw_line(line, hints_text(t), TOP_PLAIN);
    }
}

static void draw_help(const struct top *t, size_t lines)
{
    size_t line = 0;
    for (size_t i = 0; i < top_keys_n && line < lines; i++) {
        const struct top_key *k = &top_keys[i];
        if (!(t->options->is_read_only && top_keys_is_action(k->deed)))
            draw_line(line++, format("%-12s %s", k->shown, k->help), TOP_PLAIN);
    }
}

void top_draw(struct top *t)
{
    size_t lines, columns, line = 0;
    int cursor = -1;
    struct top_pane *p = &t->panes[t->view];
    top_screen_size(&lines, &columns);
    top_screen_clear();
    if (t->mode == TOP_SHOW_HELP) {
        draw_help(t, lines);
        top_screen_show(-1, 0);
        return;
    }
    if (lines >= LINES_FOR_ALL)
        draw_heading(t, line++, columns);
    if (lines >= LINES_FOR_TABS && (lines >= LINES_FOR_ALL || !t->trouble))
        draw_tabs(t, line++);
    if (lines >= LINES_FOR_ALL || t->trouble)
        draw_state(t, line++);
    t->page = lines > line + 2 ? lines - line - 2 : 0;
    top_pane_scroll(p, t->page);
    if (p->sight.list && lines > line + 1)
        top_table_draw(p, top_views[t->view].spare, line, t->page);
    draw_last(t, lines - 1, &cursor);
    top_screen_show(cursor < 0 ? -1 : (int)lines - 1, cursor);
}
