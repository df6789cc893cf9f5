/* SPDX-License-Identifier: MIT
 *
 * Suspects run alone: while one runs in a life, nothing else does. Only those count here that are suspects for certain,
 * because the holder of their last run died beneath it.
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
    return !other->told_at_ms && !strcmp(other->began->life, suspect->began->life) &&
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

void judge_alone(struct book *b)
{
    for (size_t i = 0; i < b->n_runs; i++)
        if (b->runs[i].is_suspect && !b->runs[i].told_at_ms)
            judge_one(b, &b->runs[i]);
}
