/* SPDX-License-Identifier: MIT
 *
 * The gaps of service: around each fault of Redis the longest time between two tasks that were acknowledged, two that
 * were acknowledged or are there at least, and two that began. A fault lasts until it is healed: a slot's move until all
 * nodes know of it. Gaps that no such fault touches are told, too, for comparison: one a round.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

/* Of one that is over at once. */
#define AFTER_MS 1000

#define GAP_NAME(gap, name) name,
static const char *const gap_names[GAP_COUNT] = {GAPS(GAP_NAME)};
#undef GAP_NAME
static const char *const signs[GAP_COUNT] = {"A", "AV", "B"};

static void add(struct gaps *g, int64_t ms)
{
    if (g->n == g->room) {
        g->room = g->room ? 2 * g->room : 64;
        g->ms = realloc(g->ms, g->room * sizeof *g->ms);
        if (!g->ms)
            exit(2);
    }
    g->ms[g->n++] = ms;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool is_of_redis(const struct line *l, char kind)
{
    return l->kind == kind && l->life[0] == '-' && !strcmp(l->name, "-");
}

static int64_t end_of(const struct book *b, const struct line *fault)
{
    int64_t end = INT64_MAX;
    for (size_t i = 0; i < b->n; i++) {
        const struct line *l = &b->lines[i];
        if (is_of_redis(l, 'H') && !strcmp(l->word, fault->word) && l->at_ms >= fault->at_ms && l->at_ms < end)
            end = l->at_ms;
    }
    return end < INT64_MAX ? end : fault->at_ms + AFTER_MS;
}

/* When faults of Redis began and ended, in pairs. Those of one round are few. */
static void list_faults(struct book *b, struct gaps *spans)
{
    for (size_t i = 0; i < b->n; i++)
        if (is_of_redis(&b->lines[i], 'F')) {
            int64_t from = b->lines[i].at_ms, to = end_of(b, &b->lines[i]);
            add(spans, from);
            add(spans, to);
            add(&b->figures->lasted[book_fault(b->lines[i].word)], to - from);
        }
}

static bool is_calm(const struct gaps *spans, int64_t from, int64_t to)
{
    for (size_t i = 0; i < spans->n; i += 2)
        if (spans->ms[i] <= to && spans->ms[i + 1] >= from)
            return false;
    return true;
}

/* The longest gap that this time touches; without a time, the longest that no fault touches. */
static int64_t longest(const struct gaps *signs_at, const int64_t *span, const struct gaps *spans)
{
    int64_t most = 0;
    for (size_t i = 1; i < signs_at->n; i++) {
        int64_t from = signs_at->ms[i - 1], to = signs_at->ms[i];
        bool counts = span ? span[0] <= to && span[1] >= from : is_calm(spans, from, to);
        if (counts && to - from > most)
            most = to - from;
    }
    return most;
}

/* After that, waiting is no gap. */
static int64_t last_put_of(const struct book *b)
{
    int64_t last = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->lines[i].kind == 'I' && b->lines[i].at_ms > last)
            last = b->lines[i].at_ms;
    return last;
}

static void note_gaps(struct book *b, enum gap gap, const struct gaps *spans)
{
    struct gaps signs_at = {0};
    size_t n = 0;
    int64_t last = last_put_of(b);
    for (size_t i = 0; i < b->n; i++)
        if (strchr(signs[gap], b->lines[i].kind) && b->lines[i].at_ms <= last)
            add(&signs_at, b->lines[i].at_ms);
    if (signs_at.n)
        qsort(signs_at.ms, signs_at.n, sizeof *signs_at.ms, by_size);
    for (size_t i = 0; i < b->n; i++)
        if (is_of_redis(&b->lines[i], 'F'))
            add(&b->figures->gaps[book_fault(b->lines[i].word)][gap], longest(&signs_at, &spans->ms[2 * n++], NULL));
    add(&b->figures->gaps[FAULT_NONE][gap], longest(&signs_at, NULL, spans));
    free(signs_at.ms);
}

void gaps_note(struct book *b)
{
    struct gaps spans = {0};
    list_faults(b, &spans);
    for (int gap = 0; gap < GAP_COUNT; gap++)
        note_gaps(b, (enum gap)gap, &spans);
    free(spans.ms);
}

static void print_one(const char *name, const struct gaps *g)
{
    qsort(g->ms, g->n, sizeof *g->ms, by_size);
    printf(" %s=%" PRId64 "/%" PRId64, name, g->ms[g->n / 2], g->ms[g->n - 1]);
}

void gaps_print(const struct figures *f)
{
    puts("longest gaps around each fault, and how long it lasted, in ms, median/maximum:");
    for (int i = 0; i <= FAULT_NONE; i++) {
        if (!f->gaps[i][0].n)
            continue;
        printf("%10s n=%zu", i == FAULT_NONE ? "none" : fault_names[i], f->gaps[i][0].n);
        for (int gap = 0; gap < GAP_COUNT; gap++)
            print_one(gap_names[gap], &f->gaps[i][gap]);
        if (i < FAULT_NONE)
            print_one("lasted", &f->lasted[i]);
        puts("");
    }
}

void gaps_free(struct figures *f)
{
    for (int i = 0; i <= FAULT_NONE; i++)
        for (int gap = 0; gap < GAP_COUNT; gap++)
            free(f->gaps[i][gap].ms);
    for (int i = 0; i < FAULT_COUNT; i++)
        free(f->lasted[i].ms);
}
