/* SPDX-License-Identifier: MIT
 *
 * The executor of queues without a handler: the program takes processes by muster_worker_next(), on a thread of its
 * own.
 *
 * Until then they are not begun: they lie offered in the outbox (outbox.c), have no hand and no time limit, and whoever
 * decides about processes that have not begun calls them off first; the next round offers them again. What was handed
 * out begins for the loop when it looks: once in a dispatch, up to the number of hands, because an end that frees the
 * next one's hand may be on its way; and all of it before anything is decided.
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

/* How many may be out: handlers and commands have the others. */
static int hands_for(const struct muster_worker *w)
{
    return w->hands - ((int)process_count(w, IS_RUNNING) - w->outbox.n_running);
}

void executor_next_release(struct muster_worker *w)
{
    if (process_count(w, IS_OFFERED) == 0)
        return;
    outbox_offer(w, w->outbox.offering, hands_for(w));
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
    size_t hands = (size_t)w->hands, n_running = process_count(w, IS_RUNNING);
    if (process_count(w, IS_OFFERED) > 0)
        note(w, n_running < hands ? hands - n_running : 0);
}

void executor_next_has_begun(struct muster_process *p)
{
    if (process_is(p, IS_OFFERED))
        note(p->worker, SIZE_MAX);
}

void executor_next_call_off(struct muster_worker *w)
{
    struct muster_process *p;
    if (process_count(w, IS_OFFERED) == 0 && !w->outbox.is_inviting)
        return;
    outbox_call_off(w);
    note(w, SIZE_MAX);
    forget_offering(&w->outbox);
    while ((p = process_last(w, IS_OFFERED)) != NULL)
        process_call_back(p);
    round_due(w); /* nothing else may come that offers them again, or invites */
}

bool executor_next_is_wanted(struct muster_worker *w)
{
    return outbox_invite(w, hands_for(w));
}
