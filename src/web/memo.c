/* SPDX-License-Identifier: MIT
 *
 * Of each row that was listed its name, a number and a mark are kept.
 */
#include "memo.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"

#define BUCKETS 4096

struct entry {
    struct entry *next;
    size_t slot;
    uint64_t mark; /* of what stands in the row, but for the numbers of its ages */
    bool is_told;  /* a row with this mark was */
    unsigned round;
    char name[];
};

struct memo {
    struct entry *buckets[BUCKETS];
    size_t n_slots;
    size_t *unused, n_unused; /* slots below n_slots; there is room for all */
    unsigned round;
    struct memo_listing listing;
};

bool memo_is_age(const char *key)
{
    static const char *const ages[] = {"heard_ms", "oldest_ms", "oldest_error_ms"};
    for (size_t i = 0; key && i < sizeof ages / sizeof *ages; i++)
        if (strcmp(key, ages[i]) == 0)
            return true;
    return false;
}

/* ---- marks ---- */

#define MARK_START 14695981039346656037u

/* FNV-1a */
static uint64_t mix(uint64_t mark, const void *bytes, size_t len)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < len; i++)
        mark = (mark ^ b[i]) * 1099511628211u;
    return mark;
}

static uint64_t mix_text(uint64_t mark, const char *text)
{
    return text ? mix(mark, text, strlen(text) + 1) : mix(mark, "\1", 1);
}

/* Of text and numbers. */
static uint64_t mix_rows(uint64_t mark, const struct out_rows *rows)
{
    const struct out_cell *cell = rows->cells;
    for (size_t i = 0; i < rows->n; i++)
        for (const struct out_column *column = rows->columns; column->heading || column->key; column++, cell++)
            mark = mix(mix_text(mark, cell->text), &cell->number, sizeof cell->number);
    return mark;
}

static uint64_t mix_cell(uint64_t mark, const struct out_column *column, const struct out_cell *cell)
{
    if (column->kind == OUT_TEXT)
        return mix_text(mark, cell->text);
    mark = mix(mark, &cell->number, sizeof cell->number);
    if (column->kind == OUT_ROWS)
        mark = mix_rows(mark, cell->rows);
    for (int64_t i = 0; column->kind == OUT_NAMES && i < cell->number; i++)
        mark = mix_text(mark, cell->names[i]);
    return mark;
}

/* Whether there is an age counts, and not how much it is. */
static uint64_t mark_of(const struct out_column *columns, const struct out_cell *cells, int64_t ages[MEMO_AGES])
{
    uint64_t mark = MARK_START;
    size_t n_ages = 0;
    for (; columns->heading || columns->key; columns++, cells++)
        if (n_ages < MEMO_AGES && memo_is_age(columns->key)) {
            ages[n_ages++] = cells->number;
            mark = mix(mark, cells->number < 0 ? "-" : "+", 1);
        } else {
            mark = mix_cell(mark, columns, cells);
        }
    return mark;
}

/* ---- names ---- */

static struct entry **place_of(struct memo *m, const char *name)
{
    struct entry **at = &m->buckets[mix_text(MARK_START, name) % BUCKETS];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static size_t take_slot(struct memo *m)
{
    if (m->n_unused > 0)
        return m->unused[--m->n_unused];
    m->unused = need(realloc(m->unused, (m->n_slots + 1) * sizeof *m->unused));
    return m->n_slots++;
}

static struct entry *find_or_add(struct memo *m, const char *name)
{
    struct entry **at = place_of(m, name);
    if (*at)
        return *at;
    struct entry *e = need(calloc(1, sizeof *e + strlen(name) + 1));
    strcpy(e->name, name);
    e->slot = take_slot(m);
    e->round = m->round - 1;
    return *at = e;
}

static void forget_gone(struct memo *m)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry **at = &m->buckets[i]; *at;) {
            struct entry *e = *at;
            if (e->round == m->round) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            m->unused[m->n_unused++] = e->slot;
            free(e);
        }
}

static void forget_rows(struct memo *m)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct entry *e = m->buckets[i]; e; e = e->next)
            e->is_told = false;
}

/* ---- listings ---- */

void memo_listing_clear(struct memo_listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        cJSON_Delete(l->rows[i].row);
    free(l->rows);
    *l = (struct memo_listing){.rows = NULL};
}

static void add_found(struct memo_listing *l, const struct memo_row *row)
{
    if (l->n == l->room) {
        l->room = l->room ? l->room * 2 : 64;
        l->rows = need(realloc(l->rows, l->room * sizeof *l->rows));
    }
    l->rows[l->n++] = *row;
}

void memo_begin(struct memo *m)
{
    memo_listing_clear(&m->listing);
    m->round++;
}

int memo_add(const struct out_column *columns, const struct out_cell *cells, void *arg)
{
    struct memo *m = arg;
    struct memo_row row = {.ages = {-1, -1}};
    struct entry *e = find_or_add(m, cells[0].text);
    if (e->round == m->round)
        return 0;
    uint64_t mark = mark_of(columns, cells, row.ages);
    row.slot = e->slot;
    if (!e->is_told || e->mark != mark)
        row.row = out_json_object(columns, cells);
    e->mark = mark;
    e->is_told = true;
    e->round = m->round;
    add_found(&m->listing, &row);
    return 0;
}

struct memo_listing memo_end(struct memo *m, bool is_good)
{
    struct memo_listing told = {.rows = NULL};
    if (is_good) {
        told = m->listing;
        m->listing = (struct memo_listing){.rows = NULL};
        forget_gone(m);
    } else {
        forget_rows(m);
        memo_listing_clear(&m->listing);
    }
    return told;
}

/* ---- its life ---- */

struct memo *memo_new(void)
{
    return need(calloc(1, sizeof(struct memo)));
}

void memo_free(struct memo *m)
{
    memo_listing_clear(&m->listing);
    m->round++;
    forget_gone(m);
    free(m->unused);
    free(m);
}
