/* SPDX-License-Identifier: MIT
 *
 * What workers did, in the order in which they did it: handlers started, ends asked for, events. The journal lies in
 * memory that the test shares with its children, so a worker's entries outlive its kill, and writing one never blocks.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <muster/client.h>
#include <muster/worker.h>

enum journal_kind {
    JOURNAL_START, /* a handler began */
    JOURNAL_END,   /* it ended with outcome `what` */
    JOURNAL_EVENT, /* event `what` with `err` */
    JOURNAL_KILL   /* the test killed the worker */
};

/* `task` holds the beginning of the task, ended by a NUL; `task_len` is its true length. */
struct journal_entry {
    atomic_int written;
    enum journal_kind kind;
    int what, err;
    int64_t at_ms;
    uint64_t token;
    size_t task_len;
    char worker[MUSTER_WORKER_ID_MAX + 1], queue[32], task[32], text[96];
};

struct journal;

struct journal *journal_open(void);
void journal_close(struct journal *j);

/* Called by workers. The event may have no process; `token` says then which one it is about, if any: one that has begun,
 * and that the program has ended. Otherwise 0. */
void journal_process(struct journal *j, enum journal_kind kind, int what, struct muster_process *p);
void journal_event(struct journal *j, struct muster_worker *w, const struct muster_event *e, uint64_t token);

/* Called by the test. */
void journal_kill(struct journal *j, const char *worker);

/*
 * The first entry from position `from` on that fits, or NULL. `worker` and `task` NULL and `what` -1 fit all.
 * Positions begin with 0; journal_size() is where the next one will be.
 */
const struct journal_entry *journal_find(struct journal *j, size_t from, enum journal_kind kind, int what,
                                         const char *worker, const char *task);
size_t journal_count(struct journal *j, enum journal_kind kind, int what, const char *worker, const char *task);
size_t journal_size(struct journal *j);

/* The entry at a position, or NULL if it was not written to its end. */
const struct journal_entry *journal_at(struct journal *j, size_t position);

#endif
