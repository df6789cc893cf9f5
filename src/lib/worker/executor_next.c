/* SPDX-License-Identifier: MIT
 *
 * The executor of queues without a handler: the program takes processes by muster_worker_next(), on a thread of its
 * own.
 *
 * Until then they are not begun: they lie offered in the outbox (outbox.c), have no hand and no time limit, and whoever
 * decides about processes that have not begun calls them off first. What was handed out begins for the loop when it
 * looks: once in a dispatch, up to the number of hands, because an end that frees the next one's hand may be on its
 * way; and all of it before anything is decided.
 *
 * Others that are ready, for handlers or commands, keep their place among them: none of those that became ready later
 * is offered while one of them waits for a hand (dispatch.c). They count what is offered as if it had its hands
 * already; so the two never take the same one.
 */
#include "base/clock.h"
#include "worker/worker.h"

static void offer(struct muster_process *p)
{
    struct outbox *o = &p->worker->outbox;
    process_move(p, PROCESS_OFFERED);
    p->is_by_next = true;
    p->next_in_outbox = NULL;
    *o->offering_end = p;
    o->offering_end = &p->next_in_outbox;
}

const struct executor executor_next = {.start = offer};

static void forget_offering(struct outbox *o)
{
    o->offering = NULL;
    o->offering_end = &o->offering;
}

void executor_next_release(struct muster_worker *w)
{
    const size_t *count = w->processes.count;
    if (count[PROCESS_OFFERED] == 0)
        return;
    outbox_offer(w, w->outbox.offering, w->hands - ((int)count[PROCESS_RUNNING] - w->outbox.n_running));
    forget_offering(&w->outbox);
}

static void note(struct muster_worker *w, size_t max)
{
    struct muster_process *next, *p = max > 0 ? outbox_taken(w, max) : NULL;
    for (; p; p = next) {
        next = p->next_in_outbox;
        p->is_later = true;
        dispatch_has_begun(p, atomic_load_explicit(&p->taken_at_us, memory_order_relaxed));
    }
}

void executor_next_note_begun(struct muster_worker *w)
{
    const size_t *count = w->processes.count, hands = (size_t)w->hands;
    if (count[PROCESS_OFFERED] > 0)
        note(w, count[PROCESS_RUNNING] < hands ? hands - count[PROCESS_RUNNING] : 0);
}

void executor_next_has_begun(struct muster_process *p)
{
    if (p->state == PROCESS_OFFERED)
        note(p->worker, SIZE_MAX);
}

void executor_next_call_off(struct muster_worker *w)
{
    struct muster_process *p;
    if (w->processes.count[PROCESS_OFFERED] == 0)
        return;
    outbox_call_off(w);
    note(w, SIZE_MAX);
    forget_offering(&w->outbox);
    while ((p = TAILQ_LAST(&w->processes.list[PROCESS_OFFERED], process_list)) != NULL)
        process_call_back(p);
}
