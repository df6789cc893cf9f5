/* SPDX-License-Identifier: MIT
 *
 * The program ends processes, on any thread. What was handed out by muster_worker_next() gives its hand back here, at
 * once (outbox.c); everything else is the loop's.
 */
#include "worker/worker.h"

/* The handler has it on a thread, and what it answers has not come here yet. */
static bool is_on_thread(const struct muster_process *p)
{
    return p->handler && !p->is_later;
}

/* An answer to what a handler has handed on may come before the handler's own: then the end waits for that. */
static int end_in_loop(struct muster_process *p, enum muster_outcome outcome)
{
    dispatch_note(p);
    if (!process_is(p, IS_RUNNING) || (!p->is_later && !is_on_thread(p)) || atomic_exchange(&p->end_called, 1))
        return MUSTER_E_STATE;
    p->told = follow_told(p->worker);
    if (is_on_thread(p)) {
        p->end_outcome = outcome;
        p->is_end_posted = true;
        return MUSTER_OK;
    }
    if (p->is_by_next)
        outbox_ended(p->worker, 1);
    end_by_handler(p, outcome);
    return MUSTER_OK;
}

/* Processes of one worker that the loop is to hear of together, by next_returned. */
struct batch {
    struct muster_worker *worker;
    struct muster_process *first, *last;
    int n;
};

static void post(struct batch *b)
{
    if (b->n > 0) {
        outbox_ended(b->worker, b->n);
        posted_returned_all(b->worker, b->last, b->first);
    }
    *b = (struct batch){.n = 0};
}

static void add(struct batch *b, struct muster_process *p, enum muster_outcome outcome)
{
    if (b->worker != p->worker)
        post(b);
    p->handler_outcome = outcome;
    p->next_returned = b->last;
    b->worker = p->worker;
    b->first = b->first ? b->first : p;
    b->last = p;
    b->n++;
}

static int end_one(struct batch *b, struct muster_process *p, enum muster_outcome outcome)
{
    if (!worker_is_own(p->worker))
        return MUSTER_E_STATE;
    if (round_is_in_loop(p->worker))
        return end_in_loop(p, outcome);
    if (atomic_exchange(&p->end_called, 1))
        return MUSTER_E_STATE;
    p->told = follow_told(p->worker);
    if (p->is_by_next)
        add(b, p, outcome);
    else
        posted_end(p, outcome);
    return MUSTER_OK;
}

int muster_process_end_many(struct muster_process *const *p, size_t n, enum muster_outcome outcome)
{
    struct batch batch = {.n = 0};
    int result = MUSTER_OK;
    if ((unsigned)outcome >= MUSTER_LATER)
        return MUSTER_E_INVALID;
    for (size_t i = 0; i < n; i++) {
        int err = end_one(&batch, p[i], outcome);
        result = err != MUSTER_OK ? err : result;
    }
    post(&batch);
    return result;
}

int muster_process_end(struct muster_process *p, enum muster_outcome outcome)
{
    return muster_process_end_many(&p, 1, outcome);
}
