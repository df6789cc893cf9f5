/* SPDX-License-Identifier: MIT
 *
 * The book of a round: all lines of its record, ordered by task, and what is judged from them. Of a task's runs the one
 * with the highest token counts: Redis has given that token last.
 */
#ifndef BOOK_H
#define BOOK_H

#include <muster/client.h>

#include <limits.h>
#include <stddef.h>

#include "campaign.h"

/* What is on the failed lists is a line of the kind X, with the group as its word. Lines without a name come first in
 * the order, '-' being less than any name. */
struct book {
    const struct campaign *campaign;
    struct muster_client *client;
    struct figures *figures;
    struct line *lines;
    size_t n, room;
    struct run *runs; /* all that began */
    size_t n_runs, runs_room;
    uint64_t n_wrong;
};

/* One process, in one worker's hands. */
struct run {
    uint64_t token;
    const struct line *began;
    const struct line *ended;
    int64_t told_at_ms;      /* when it was told to stop; 0: never */
    int64_t uncounted_at_ms; /* when its end was said not to count; 0: never */
    int64_t died_at_ms;      /* when the holder died, for certain, while it ran; 0: it did not */
    bool is_suspect;         /* for certain */
    bool may_have_died;      /* the holder, or it was taken for dead */
    bool is_crashed;         /* its task is failed so */
    bool is_blameless;       /* no death counts against its task, which may run beside a suspect */
};

#define OF_A_LIFE (BIT(FAULT_KILL) | BIT(FAULT_STOP) | BIT(FAULT_TERM) | BIT(FAULT_POISON))
#define DEADLY (BIT(FAULT_KILL) | BIT(FAULT_POISON))
/* They last for a part of a ttl, and workers may be lost for them. */
#define REFUSALS (BIT(FAULT_FULL) | BIT(FAULT_ACL))
#define OF_REDIS (REFUSALS | BIT(FAULT_REDIS) | BIT(FAULT_CUT) | OF_A_CLUSTER)
/* What Redis answered may be forgotten after them, if it was this short before: a replica has not heard of it. */
#define FORGETFUL BIT(FAULT_OWNER)
#define FORGOTTEN_MS 2000

enum fault book_fault(const char *word);
/* Has one of these faults hit this life, or Redis, in this time? */
bool book_has_fault(const struct book *b, const char *life, unsigned faults, int64_t from, int64_t to);
/* May Redis have forgotten what it did for a life at this time? */
bool book_may_forget(const struct book *b, int64_t at_ms);
/* When the life died, at this time or later; INT64_MAX: it did not. */
int64_t book_death(const struct book *b, const char *life, int64_t from);
/* Says what is wrong with it. */
void book_blame(struct book *b, const char *name, const char *what);

void judge_tasks(struct book *b);
/* Whether those that were for certain suspects ran alone, and whether only such deaths were counted. */
void judge_alone(struct book *b);
/* Whether each token was given once, and later ones were given later. Orders the runs by token. */
void judge_tokens(struct book *b);

/* Measures what the gaps are. */
void gaps_note(struct book *b);

#endif
