/* SPDX-License-Identifier: MIT
 *
 * What workers did.
 *
 * An entry is claimed by raising the counter and published by its own flag: a worker killed in between leaves a hole
 * that readers pass over.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "journal.h"
#include "testing.h"
#include "wait.h"

#define ENTRIES_MAX 200000

struct journal {
    atomic_size_t n;
    struct journal_entry entries[ENTRIES_MAX];
};

struct journal *journal_open(void)
{
    void *p =
        mmap(NULL, sizeof(struct journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        fail_msg("no memory for the journal");
    return p;
}

void journal_close(struct journal *j)
{
    munmap(j, sizeof *j);
}

/* Past the end there is nowhere to write and, in a child, nobody to tell: journal_size() tells the test. */
static struct journal_entry *claim(struct journal *j, enum journal_kind kind, int what)
{
    static struct journal_entry nowhere;
    size_t at = atomic_fetch_add(&j->n, 1);
    struct journal_entry *e = at < ENTRIES_MAX ? &j->entries[at] : &nowhere;
    e->kind = kind;
    e->what = what;
    e->at_ms = now_ms();
    return e;
}

static void describe(struct journal_entry *e, struct muster_process *p)
{
    const char *task = muster_process_task(p, &e->task_len);
    e->token = muster_process_token(p);
    snprintf(e->queue, sizeof e->queue, "%s", muster_process_queue(p));
    snprintf(e->task, sizeof e->task, "%s", task);
}

void journal_process(struct journal *j, enum journal_kind kind, int what, struct muster_process *p)
{
    struct journal_entry *e = claim(j, kind, what);
    describe(e, p);
    snprintf(e->worker, sizeof e->worker, "%s", muster_worker_id(muster_process_worker(p)));
    atomic_store(&e->written, 1);
}

/* As its start does. */
static void describe_ended(struct journal *j, struct journal_entry *e, uint64_t token)
{
    size_t at = atomic_load(&j->n);
    e->token = token;
    for (at = at < ENTRIES_MAX ? at : ENTRIES_MAX; at-- > 0;) {
        const struct journal_entry *start = journal_at(j, at);
        if (!start || start->kind != JOURNAL_START || start->token != token)
            continue;
        e->task_len = start->task_len;
        memcpy(e->task, start->task, sizeof e->task);
        return;
    }
}

void journal_event(struct journal *j, struct muster_worker *w, const struct muster_event *event, uint64_t token)
{
    struct journal_entry *e = claim(j, JOURNAL_EVENT, (int)event->type);
    e->err = event->err;
    snprintf(e->text, sizeof e->text, "%s", event->text);
    if (event->process)
        describe(e, event->process);
    else if (token != 0)
        describe_ended(j, e, token);
    if (event->queue)
        snprintf(e->queue, sizeof e->queue, "%s", event->queue);
    snprintf(e->worker, sizeof e->worker, "%s", muster_worker_id(w));
    atomic_store(&e->written, 1);
}

void journal_kill(struct journal *j, const char *worker)
{
    struct journal_entry *e = claim(j, JOURNAL_KILL, 0);
    snprintf(e->worker, sizeof e->worker, "%s", worker);
    atomic_store(&e->written, 1);
}

size_t journal_size(struct journal *j)
{
    size_t n = atomic_load(&j->n);
    if (n > ENTRIES_MAX)
        fail_msg("the journal is full");
    return n;
}

const struct journal_entry *journal_at(struct journal *j, size_t position)
{
    struct journal_entry *e = &j->entries[position];
    return atomic_load(&e->written) ? e : NULL;
}

static bool fits(const struct journal_entry *e, enum journal_kind kind, int what, const char *worker, const char *task)
{
    return e && e->kind == kind && (what < 0 || e->what == what) && (!worker || !strcmp(e->worker, worker)) &&
           (!task || !strcmp(e->task, task));
}

const struct journal_entry *journal_find(struct journal *j, size_t from, enum journal_kind kind, int what,
                                         const char *worker, const char *task)
{
    for (size_t i = from, n = journal_size(j); i < n; i++) {
        const struct journal_entry *e = journal_at(j, i);
        if (fits(e, kind, what, worker, task))
            return e;
    }
    return NULL;
}

size_t journal_count(struct journal *j, enum journal_kind kind, int what, const char *worker, const char *task)
{
    size_t count = 0;
    for (size_t i = 0, n = journal_size(j); i < n; i++)
        count += fits(journal_at(j, i), kind, what, worker, task);
    return count;
}
