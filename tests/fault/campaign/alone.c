/* SPDX-License-Identifier: MIT
 *
 * Suspects run alone: while one runs in a life, nothing else does, but what no death counts against. Only those count
 * here that are suspects for certain, because the holder of their last run died beneath it. And only deaths of those
 * that ran alone are counted.
 */
#include <stdio.h>
#include <string.h>

#include "book.h"

static int64_t end_of(const struct book *b, const struct run *r)
{
    return r->ended ? r->ended->at_ms : book_death(b, r->began->life, r->began->at_ms);
}

/* A run that was told to stop may have been lost: then others have it, and it runs on as nobody's. */
static bool are_together(const struct book *b, const struct run *suspect, const struct run *other)
{
    return !other->told_at_ms && !other->is_blameless && !strcmp(other->began->life, suspect->began->life) &&
           other->began->at_ms < end_of(b, suspect) && suspect->began->at_ms < end_of(b, other);
}

static void judge_one(struct book *b, const struct run *suspect)
{
    char what[200];
    for (size_t i = 0; i < b->n_runs; i++) {
        const struct run *other = &b->runs[i];
        if (other == suspect || !are_together(b, suspect, other))
            continue;
        snprintf(what, sizeof what, "it ran in %s beside %s, which had to run alone", suspect->began->life,
                 suspect->began->name);
        book_blame(b, other->began->name, what);
    }
}

static bool is_shared_death(const struct book *b, const struct run *r)
{
    for (size_t i = 0; i < b->n_runs && r->died_at_ms; i++) {
        const struct run *other = &b->runs[i];
        if (other != r && !other->is_blameless && other->died_at_ms == r->died_at_ms &&
            !strcmp(other->began->life, r->began->life))
            return true;
    }
    return false;
}

static bool ran_anything(const struct book *b, const char *life, int64_t at_ms)
{
    for (size_t i = 0; i < b->n_runs; i++) {
        const struct run *r = &b->runs[i];
        if (!strcmp(r->began->life, life) && r->began->at_ms <= at_ms && end_of(b, r) >= at_ms)
            return true;
    }
    return false;
}

/* A command may die with its worker before it has written that it began; nobody else can. */
static bool may_have_died_unseen(const struct book *b, int64_t from, int64_t to)
{
    for (size_t i = 0; i < b->n && !strcmp(b->lines[i].name, "-"); i++) {
        const struct line *l = &b->lines[i];
        if (l->kind == 'F' && l->life[0] == LIFE_OF_COMMANDS && l->at_ms >= from && l->at_ms <= to &&
            (BIT(FAULT_KILL) | BIT(FAULT_STOP)) & BIT(book_fault(l->word)) && !ran_anything(b, l->life, l->at_ms))
            return true;
    }
    return false;
}

/* `first` and those after it are the runs of one task. */
static void judge_crashed(struct book *b, size_t first, size_t end)
{
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        n += b->runs[i].may_have_died && !is_shared_death(b, &b->runs[i]);
    if (n < MAX_CRASHES &&
        !may_have_died_unseen(b, b->runs[first].began->at_ms, b->runs[end - 1].began->at_ms + 3 * TTL_MS))
        book_blame(b, b->runs[first].began->name, "it is failed as crashed, but did not run alone in so many deaths");
}

void judge_alone(struct book *b)
{
    for (size_t i = 0, next; i < b->n_runs; i = next) {
        for (next = i; next < b->n_runs && !strcmp(b->runs[next].began->name, b->runs[i].began->name); next++)
            if (b->runs[next].is_suspect && !b->runs[next].told_at_ms)
                judge_one(b, &b->runs[next]);
        if (b->runs[i].is_crashed)
            judge_crashed(b, i, next);
    }
}
