/* SPDX-License-Identifier: MIT
 *
 * Starting handlers: what is ready, in the order in which it became ready, while hands are free and the worker is not
 * in doubt. A suspect starts when nothing else runs (suspect.c).
 */
#include "base/clock.h"
#include "worker/worker.h"

/* Inline handlers run this long at a stretch. Then the loop looks at its sockets and timers, the heartbeat's too. */
#define STRETCH_US 5000

static bool has_a_hand(const struct served *s)
{
    return s->serving == SERVING && (s->limit == 0 || s->in_hands < s->limit);
}

/* The first suspect keeps its place, even if the queue of an earlier process gets a hand while it waits. */
static struct muster_process *first_ready(struct muster_worker *w)
{
    struct muster_process *p = w->suspects.first;
    if (p)
        return process_is(p, IS_READY) && p->served->serving == SERVING ? p : NULL;
    PROCESS_EACH(p, w, IS_READY)
        if (has_a_hand(p->served) && !p->is_put_off)
            return p;
    return NULL;
}

/* Nothing begins: the worker stops, or too much is unread, or for a moment the system lacks what commands need. */
static bool is_held_back(const struct muster_worker *w)
{
    return w->state != WORKER_WORKING || stop_is_wished(w) || w->is_free_due || w->round.is_held_back || lack_is_on(w);
}

static struct muster_process *next_to_start(struct muster_worker *w, int64_t now_us)
{
    size_t n = process_count(w, HAS_HAND);
    bool has_hands = n < (size_t)w->hands;
    if (is_held_back(w) || process_allowed(w) <= n || (!has_hands && !w->outbox.is_there))
        return NULL;
    struct muster_process *p = first_ready(w);
    if (!p || (!has_hands && (p->is_suspect || p->served->executor != &executor_next)))
        return NULL;
    return !fence_is_closed(w, now_us) && suspect_may_start(p) ? p : NULL;
}

void dispatch_has_begun(struct muster_process *p, int64_t at_us)
{
    struct muster_worker *w = p->worker;
    w->processes.n_begun++;
    p->has_begun = true;
    p->began_us = at_us;
    figures_add(&w->figures.started, 1);
    process_move(p, PROCESS_RUNNING);
    if (p->is_suspect)
        suspect_starts(p);
    if (process_allowed(w) < (uint64_t)(w->hands + w->prefetch))
        w->turns.must_state_hands = true; /* so that Redis hands over no more than max_tasks allows */
    limit_begin(p);
}

static void start(struct muster_process *p, int64_t now_us)
{
    struct muster_worker *w = p->worker;
    if (p->served->executor != &executor_next) /* whose processes begin when they are handed out */
        dispatch_has_begun(p, now_us);
    if (p->served->executor != &executor_threads)
        executor_threads_release(w); /* they do not wait for this one */
    p->served->executor->start(p);
}

static bool start_ready(struct muster_worker *w)
{
    struct muster_process *p;
    int64_t now_us = clock_us(), until_us = now_us + STRETCH_US;
    while ((p = next_to_start(w, now_us)) != NULL) {
        if (p->mark) { /* its mark came before it did */
            end_unstarted(p);
            continue;
        }
        if (now_us >= until_us)
            return true;
        start(p, now_us);
        turn_say_if_full(w);
        now_us = clock_us();
    }
    return false;
}

/* Does nothing speak against a start that the loop hears of later? It counts for max_tasks, a time limit has a timer of
 * the loop, a suspect waits until nothing has begun, and others until the end of one is confirmed. */
static bool may_go_ahead(struct muster_worker *w)
{
    return w->threads && !is_held_back(w) && w->max_tasks == 0 && w->limit_ms == 0 && w->suspects.n == 0 &&
           !w->suspects.first && !fence_is_closed(w, clock_us());
}

bool dispatch_may_go_ahead(const struct muster_process *p)
{
    return p->served->executor == &executor_threads && p->served->serving == SERVING && p->served->limit == 0 &&
           p->mark == MARK_NONE && !p->is_suspect && !p->is_put_off && !(p->job && p->job->job.limit_ms > 0);
}

/* Does nothing speak against what the program may take at any time? */
static bool may_be_offered(struct muster_worker *w)
{
    return w->outbox.is_there && !is_held_back(w) && !fence_is_closed(w, clock_us());
}

void dispatch_call_off(struct muster_worker *w)
{
    executor_threads_call_off(w);
    executor_next_call_off(w);
}

void dispatch_note(struct muster_process *p)
{
    executor_threads_has_begun(p);
    executor_next_has_begun(p);
}

bool dispatch_ready(struct muster_worker *w)
{
    w->round.is_held_back = outbox_is_full(w);
    executor_threads_note_begun(w);
    executor_next_note_begun(w);
    if (!may_go_ahead(w))
        executor_threads_call_off(w);
    if (!may_be_offered(w))
        executor_next_call_off(w);
    suspect_go_on(w);
    bool is_more_ready = start_ready(w);
    if (may_go_ahead(w))
        executor_threads_put_ahead(w);
    executor_threads_release(w);
    executor_next_release(w);
    return is_more_ready;
}
