/* SPDX-License-Identifier: MIT
 *
 * The account of a journal: its entries are sorted by task and token, and then judged task by task.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"

struct run {
    const struct journal_entry *e;
    size_t at;
};

static int by_task(const void *a, const void *b)
{
    const struct run *l = a, *r = b;
    int order = strcmp(l->e->task, r->e->task);
    if (order)
        return order;
    if (l->e->token != r->e->token)
        return l->e->token < r->e->token ? -1 : 1;
    return l->at < r->at ? -1 : l->at > r->at;
}

static size_t collect(struct scene *s, struct run *runs)
{
    size_t n = 0, size = journal_size(s->journal);
    for (size_t i = 0; i < size; i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->token)
            runs[n++] = (struct run){e, i};
    }
    qsort(runs, n, sizeof *runs, by_task);
    return n;
}

static bool was_swept(struct scene *s, size_t from, const char *worker)
{
    for (size_t i = from, n = journal_size(s->journal); i < n; i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_EVENT && e->what == MUSTER_EVENT_SWEPT && strstr(e->text, worker))
            return true;
    }
    return false;
}

/* Whether some of the entries of one token says why it did not count. */
static bool is_explained(struct scene *s, const struct run *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct journal_entry *e = runs[i].e;
        if (e->kind == JOURNAL_EVENT && (e->what == MUSTER_EVENT_UNCOUNTED || e->what == MUSTER_EVENT_STOP))
            return true;
    }
    const char *worker = runs[0].e->worker;
    return journal_find(s->journal, runs[0].at, JOURNAL_EVENT, MUSTER_EVENT_LOST, worker, NULL) ||
           journal_find(s->journal, runs[0].at, JOURNAL_KILL, -1, worker, NULL) || was_swept(s, runs[0].at, worker);
}

static size_t token_len(const struct run *runs, size_t n)
{
    size_t len = 0;
    while (len < n && runs[len].e->token == runs[0].e->token)
        len++;
    return len;
}

static size_t count(const struct run *runs, size_t n, enum journal_kind kind, int what)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += runs[i].e->kind == kind && runs[i].e->what == what;
    return found;
}

/* All entries of one task. */
static void judge(struct scene *s, const struct run *runs, size_t n, struct audit *a)
{
    const char *task = runs[0].e->task;
    size_t unexplained = 0;
    if (!count(runs, n, JOURNAL_END, MUSTER_FINISH))
        fail_msg("%s never finished", task);
    for (size_t i = 0, len; i < n; i += len) {
        len = token_len(runs + i, n - i);
        size_t starts = count(runs + i, len, JOURNAL_START, 0);
        if (starts > 1)
            fail_msg("%s was started %zu times under one token", task, starts);
        a->starts += starts;
        a->uncounted += count(runs + i, len, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED);
        unexplained += starts && !is_explained(s, runs + i, len);
    }
    if (unexplained > 1)
        fail_msg("%s ran to an end that counted %zu times", task, unexplained);
}

static bool is_due(const char *task, const char *stem)
{
    size_t len = strlen(stem);
    return !strncmp(task, stem, len) && task[len] >= '0' && task[len] <= '9';
}

struct audit audit_finished(struct scene *s, const char *stem, size_t n_due)
{
    struct audit a = {0};
    struct run *runs = calloc(journal_size(s->journal) + 1, sizeof *runs);
    size_t n = collect(s, runs);
    for (size_t i = 0, len; i < n; i += len) {
        for (len = 1; i + len < n && !strcmp(runs[i].e->task, runs[i + len].e->task);)
            len++;
        if (!is_due(runs[i].e->task, stem))
            continue;
        a.tasks++;
        judge(s, runs + i, len, &a);
    }
    free(runs);
    a.again = a.starts - a.tasks;
    if (a.tasks != n_due)
        fail_msg("%zu of the %zu tasks %s... ever began", a.tasks, n_due, stem);
    return a;
}
