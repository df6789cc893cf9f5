/* SPDX-License-Identifier: MIT
 *
 * A token is given once, and later ones are given later: what has seen a later one can refuse an earlier one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

static int by_token(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* Who was stopped or lost may begin late what it has no more. */
static bool may_begin_late(const struct book *b, const struct run *r)
{
    return r->told_at_ms || r->uncounted_at_ms || r->began->word[0] != '-' ||
           book_has_fault(b, r->began->life, OF_A_LIFE | REFUSALS, r->began->at_ms - 3 * TTL_MS, r->began->at_ms);
}

static void judge_order(struct book *b)
{
    char what[160];
    for (size_t i = 1; i < b->n_runs; i++) {
        const struct run *r = &b->runs[i - 1], *next = &b->runs[i];
        if (strcmp(r->began->name, next->began->name) != 0 || r->began->at_ms <= next->began->at_ms ||
            may_begin_late(b, r))
            continue;
        snprintf(what, sizeof what, "its token %" PRIu64 " came after the later one %" PRIu64, r->token, next->token);
        book_blame(b, r->began->name, what);
    }
}

void judge_tokens(struct book *b)
{
    char what[160];
    judge_order(b);
    if (b->n_runs)
        qsort(b->runs, b->n_runs, sizeof *b->runs, by_token);
    for (size_t i = 1; i < b->n_runs; i++) {
        const struct run *r = &b->runs[i - 1], *next = &b->runs[i];
        if (r->token != next->token)
            continue;
        snprintf(what, sizeof what, "its token %" PRIu64 " was given to %s, too", r->token, next->began->name);
        book_blame(b, r->began->name, what);
    }
}
