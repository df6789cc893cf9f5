/* SPDX-License-Identifier: MIT
 *
 * The judgement of each task: what was acknowledged has one end, what was refused never ran, whatever ran again was put
 * back by its own handler or by a fault of the one that had it, and only what its holders died of is failed for that.
 */
#include <muster/job.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

#define RUNS_MAX 200
/* One death that makes a suspect, and those of which it is guilty. */
#define POISON_RUNS_MAX (1 + MAX_CRASHES)

struct task {
    const char *name;
    bool is_acknowledged, is_refused, is_unconfirmed, is_cancelled, is_job, is_poison, is_endless;
    int n_failures;
    const char *group;
    struct run runs[RUNS_MAX];
    size_t n_runs;
};

/* ---- its lines ---- */

static struct run *run_of(struct task *t, uint64_t token)
{
    if (!t->n_runs || t->runs[t->n_runs - 1].token != token) {
        if (t->n_runs == RUNS_MAX)
            return NULL;
        t->runs[t->n_runs++] = (struct run){.token = token};
    }
    return &t->runs[t->n_runs - 1];
}

/* Redis may have forgotten that it ended: who has it runs it again. Nobody else may have it under this token. */
static void judge_again(struct book *b, const struct task *t, const struct run *r, const struct line *began)
{
    if (strcmp(r->began->life, began->life) != 0)
        book_blame(b, t->name, "two had it under one token");
    else if (!r->ended || !book_may_forget(b, r->ended->at_ms))
        book_blame(b, t->name, "it began twice under one token");
    b->figures->forgotten++;
}

static void add_to_run(struct book *b, struct task *t, const struct line *l)
{
    struct run *r = run_of(t, l->token);
    if (!r)
        return;
    if (l->kind == 'B' && r->began)
        judge_again(b, t, r, l);
    if (l->kind == 'B')
        *r = (struct run){.token = l->token, .began = l};
    else if (l->kind == 'E')
        r->ended = l;
    else if (l->kind == 'S')
        r->told_at_ms = l->at_ms;
    else
        r->uncounted_at_ms = l->at_ms;
}

static void add_to_task(struct book *b, struct task *t, const struct line *l)
{
    t->is_acknowledged |= l->kind == 'A';
    t->is_refused |= l->kind == 'N';
    t->is_unconfirmed |= l->kind == 'V';
    t->is_cancelled |= l->kind == 'C';
    b->figures->faults[FAULT_CANCEL] += l->kind == 'C';
    if (l->kind == 'I') {
        t->is_job = !strcmp(l->word, "job");
        t->is_poison = !strcmp(l->word, "poison");
        t->is_endless = !strcmp(l->word, "endless");
    } else if (l->kind == 'X') {
        t->n_failures++;
        t->group = l->word;
    } else if (strchr("BESU", l->kind)) {
        add_to_run(b, t, l);
    }
}

/* A run that was told to stop before its handler began has no B. */
static void drop_not_begun(struct task *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].began)
            t->runs[n++] = t->runs[i];
    t->n_runs = n;
}

/* ---- its runs ---- */

static bool ended_as(const struct run *r, const char *how)
{
    return r->ended && !strcmp(r->ended->word, how);
}

/* Redis may not know that it ended, or that it ever began. */
static bool is_forgotten(const struct book *b, const struct run *r)
{
    return book_may_forget(b, r->ended ? r->ended->at_ms : r->began->at_ms);
}

/* Why there is a run after this one. */
static bool is_explained(const struct book *b, const struct run *r, const struct run *next)
{
    if (ended_as(r, "retry") || ended_as(r, "back") || ended_as(r, "lapse") || r->told_at_ms)
        return true;
    int64_t to = next->began->at_ms > r->began->at_ms ? next->began->at_ms : r->began->at_ms;
    if (r->began->word[0] != '-' && to >= strtoll(r->began->word, NULL, 10))
        return true;
    return book_has_fault(b, r->began->life, OF_A_LIFE | REFUSALS, r->began->at_ms - TTL_MS, to);
}

/* Its holder died, or was taken for dead, while it ran. */
static bool may_be_a_death(const struct book *b, const struct run *r)
{
    if (r->ended && !r->told_at_ms && !r->uncounted_at_ms && !ended_as(r, "lapse"))
        return false;
    int64_t to = r->ended ? r->ended->at_ms : INT64_MAX;
    return ended_as(r, "lapse") || r->began->word[0] != '-' ||
           book_has_fault(b, r->began->life, OF_A_LIFE | REFUSALS, r->began->at_ms - TTL_MS, to);
}

/* The worker died for certain while it ran; so the next one is a suspect's run. */
static bool is_death(const struct book *b, const struct run *r)
{
    return !r->ended && !r->told_at_ms && book_death(b, r->began->life, r->began->at_ms) != INT64_MAX;
}

static void keep_run(struct book *b, const struct task *t, struct run *r)
{
    r->died_at_ms = is_death(b, r) ? book_death(b, r->began->life, r->began->at_ms) : 0;
    r->may_have_died = may_be_a_death(b, r);
    r->is_blameless = t->is_endless;
    r->is_crashed = t->n_failures && !strcmp(t->group, "crashed");
    if (b->n_runs == b->runs_room) {
        b->runs_room = b->runs_room ? 2 * b->runs_room : 1024;
        b->runs = realloc(b->runs, b->runs_room * sizeof *b->runs);
        if (!b->runs)
            exit(2);
    }
    b->runs[b->n_runs++] = *r;
}

/* Its holder knew before the next one had it that it is not its own any more, or could not know. */
static bool had_let_go(const struct book *b, const struct run *r, const struct run *next)
{
    int64_t at = next->began->at_ms, death = book_death(b, r->began->life, r->began->at_ms);
    return (r->ended && r->ended->at_ms <= at) || (r->told_at_ms && r->told_at_ms <= at) || death <= at ||
           book_has_fault(b, r->began->life, BIT(FAULT_STOP), r->began->at_ms - TTL_MS, at) || is_forgotten(b, r);
}

static void judge_rerun(struct book *b, const struct task *t, const struct run *r, struct run *next)
{
    char what[160];
    b->figures->reruns++;
    next->is_suspect = !t->is_endless && !is_forgotten(b, r) &&
                       (is_death(b, r) || (r->is_suspect && ended_as(r, "back") && !r->told_at_ms));
    b->figures->alone += next->is_suspect;
    b->figures->resumed += is_death(b, r) && !strcmp(r->began->life, next->began->life);
    if (t->is_endless && !had_let_go(b, r, next))
        book_blame(b, t->name, "it began before who had it knew that it is let go");
    if (is_explained(b, r, next))
        return;
    if (is_forgotten(b, r)) {
        b->figures->forgotten++;
        return;
    }
    snprintf(what, sizeof what,
             "it ran again under token %" PRIu64 ", though nothing hurt %s, which had it as %" PRIu64, next->token,
             r->began->life, r->token);
    book_blame(b, t->name, what);
}

static void judge_runs(struct book *b, struct task *t)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        struct run *r = &t->runs[i];
        if (i > 0)
            judge_rerun(b, t, r - 1, r);
        keep_run(b, t, r);
        b->figures->faults[FAULT_LAPSE] += ended_as(r, "lapse");
    }
    b->figures->runs += t->n_runs;
}

/* ---- its end ---- */

static void judge_poison(struct book *b, const struct task *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        n += !t->runs[i].told_at_ms && !is_forgotten(b, &t->runs[i]);
    if (n > POISON_RUNS_MAX)
        book_blame(b, t->name, "it is poison, and ran too often");
    if (t->n_failures && strcmp(t->group, "crashed"))
        book_blame(b, t->name, "it is poison, but not failed as crashed");
    b->figures->poisoned += t->n_failures > 0;
}

/* The group, and how a handler ends that has it; NULL: it does not end. */
static const struct {
    const char *group, *ends[2];
} reasons[] = {{"asked", {"fail", NULL}},
               {"exit-1", {"fail", "retry"}},
               {"exit-75", {"retry", NULL}},
               {"failed-retries", {"retry", NULL}},
               {"crashed", {NULL, NULL}}};

static void judge_failure(struct book *b, const struct task *t, const struct run *last)
{
    size_t i = 0;
    while (i < N_OF(reasons) && strcmp(reasons[i].group, t->group))
        i++;
    b->figures->failed++;
    if (t->n_failures > 1)
        book_blame(b, t->name, "it is on the failed list more than once");
    if (i == N_OF(reasons))
        book_blame(b, t->name, "it is on the failed list in a group that nobody gave it");
    else if (!last)
        book_blame(b, t->name, "it is on the failed list, but never began");
    else if (reasons[i].ends[0] && !ended_as(last, reasons[i].ends[0]) &&
             (!reasons[i].ends[1] || !ended_as(last, reasons[i].ends[1])))
        book_blame(b, t->name, "it is on the failed list, but its last run did not end so");
}

static int note_state(const struct muster_job *job, void *arg)
{
    *(enum muster_job_state *)arg = job->state;
    return 0;
}

/* A job that is cancelled is gone at once, so its finish does not count. */
static bool is_cut(const struct task *t, const struct run *last)
{
    return t->is_job && t->is_cancelled && last->uncounted_at_ms;
}

static void judge_finish(struct book *b, const struct task *t, const struct run *last)
{
    enum muster_job_state state = MUSTER_JOB_STATE_COUNT;
    b->figures->finished++;
    /* An answer that is lost leaves it open whether the end counted. */
    if (last->uncounted_at_ms &&
        !book_has_fault(b, last->began->life, OF_A_LIFE | OF_REDIS, last->began->at_ms - TTL_MS, last->uncounted_at_ms))
        book_blame(b, t->name, "its last run finished it, but that did not count");
    if (t->is_job && !t->is_cancelled &&
        (muster_job_get(b->client, &t->name, 1, note_state, &state) || state != MUSTER_JOB_COMPLETE))
        book_blame(b, t->name, "it is finished, but not complete");
}

static void judge_end(struct book *b, const struct task *t)
{
    const struct run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    if (t->is_refused && (last || t->n_failures))
        book_blame(b, t->name, "it ran or failed, though its producer was refused");
    b->figures->acknowledged += t->is_acknowledged;
    b->figures->refused += t->is_refused;
    b->figures->unconfirmed += t->is_unconfirmed;
    b->figures->unknown += !t->is_acknowledged && !t->is_refused && !t->is_unconfirmed;
    if (t->n_failures)
        judge_failure(b, t, last);
    else if (last && ended_as(last, "finish") && !is_cut(t, last))
        judge_finish(b, t, last);
    else if (t->is_cancelled)
        b->figures->cancelled++;
    else if (t->is_acknowledged)
        book_blame(b, t->name, last ? "it is lost: its last run did not finish it" : "it is lost: it never began");
    else if (last && !is_forgotten(b, last))
        book_blame(b, t->name, "it is lost after it began, though its producer had no answer");
}

void judge_tasks(struct book *b)
{
    size_t i = 0;
    while (i < b->n && !strcmp(b->lines[i].name, "-"))
        i++;
    while (i < b->n) {
        struct task t = {.name = b->lines[i].name};
        for (; i < b->n && !strcmp(b->lines[i].name, t.name); i++)
            add_to_task(b, &t, &b->lines[i]);
        drop_not_begun(&t);
        judge_runs(b, &t);
        if (t.is_poison)
            judge_poison(b, &t);
        judge_end(b, &t);
    }
}
