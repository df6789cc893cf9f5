/* SPDX-License-Identifier: MIT
 *
 * What other threads say of a process: that its handler has returned, muster_process_end() and the like. A thread posts
 * it under one lock and wakes the loop; the loop carries it out in its next round (round.c). So everything but the
 * handler stays in the loop's thread.
 *
 * An outcome can come before the handler has answered MUSTER_LATER, from a third thread: it waits for that answer.
 */
#include <pthread.h>
#include <stdlib.h>

#include "worker/worker.h"

/* What was posted of a process; bits. */
enum posted_what {
    POSTED_NOTHING = 0,
    POSTED_ENDED = 1,    /* muster_process_end() was called */
    POSTED_NOTE = 2,     /* muster_process_progress() */
    POSTED_EXTENDED = 4, /* muster_process_extend() */
    POSTED_DATA = 8,     /* muster_process_set_data() */
    POSTED_STAY = 16     /* muster_process_stay() */
};

TAILQ_HEAD(posted_list, muster_process);

struct posted {
    pthread_mutex_t lock;
    struct posted_list list; /* processes with something posted */
    size_t n;                /* on the list */
    /* Those whose handlers have returned on the worker's threads, or that the program has ended, the last one first:
     * without a lock, because each task comes here. While there is one, the loop has been woken, and has not come
     * since. */
    _Atomic(struct muster_process *) returned;
};

/* ---- any thread ---- */

/* The loop's thread reads the process' fields that are written between these two together with `what`. */
static struct muster_worker *begin_post(struct muster_process *p)
{
    pthread_mutex_lock(&p->worker->posted->lock);
    return p->worker;
}

/* The worker is an argument because the process may be gone once the lock is free. While something is on the list, the
 * loop has been woken, and has not come since, or not to the list's end. */
static void end_post(struct muster_worker *w, struct muster_process *p, enum posted_what what)
{
    bool is_first = TAILQ_EMPTY(&w->posted->list);
    if (atomic_fetch_or(&p->posted, (int)what) == POSTED_NOTHING) {
        TAILQ_INSERT_TAIL(&w->posted->list, p, in_posted);
        w->posted->n++;
    }
    pthread_mutex_unlock(&w->posted->lock);
    if (is_first)
        stop_wake(w);
}

void posted_returned_all(struct muster_worker *w, struct muster_process *last, struct muster_process *first)
{
    _Atomic(struct muster_process *) *returned = &w->posted->returned;
    struct muster_process *before = atomic_load(returned);
    do
        first->next_returned = before;
    while (!atomic_compare_exchange_weak(returned, &before, last));
    if (!before)
        stop_wake(w); /* the processes may be gone */
}

void posted_returned(struct muster_process *p, enum muster_outcome outcome)
{
    p->handler_outcome = outcome;
    posted_returned_all(p->worker, p, p);
}

void posted_end(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = begin_post(p);
    p->end_outcome = outcome;
    end_post(w, p, POSTED_ENDED);
}

void posted_note(struct muster_process *p, char *note)
{
    struct muster_worker *w = begin_post(p);
    free(p->note);
    p->note = note;
    end_post(w, p, POSTED_NOTE);
}

void posted_data(struct muster_process *p, struct muster_bytes data)
{
    struct muster_worker *w = begin_post(p);
    free((void *)p->new_data.data);
    p->new_data = data;
    end_post(w, p, POSTED_DATA);
}

void posted_extension(struct muster_process *p, int64_t limit_ms)
{
    struct muster_worker *w = begin_post(p);
    p->extend_ms = limit_ms;
    end_post(w, p, POSTED_EXTENDED);
}

void posted_stay(struct muster_process *p, int64_t for_ms)
{
    struct muster_worker *w = begin_post(p);
    p->stay_ms = for_ms;
    end_post(w, p, POSTED_STAY);
}

/* ---- the loop's thread ---- */

/* With the lock. */
static void take_off(struct posted *posted, struct muster_process *p)
{
    TAILQ_REMOVE(&posted->list, p, in_posted);
    posted->n--;
    atomic_store(&p->posted, POSTED_NOTHING);
}

void posted_forget(struct muster_process *p)
{
    struct posted *posted = p->worker->posted;
    pthread_mutex_lock(&posted->lock);
    if (atomic_load(&p->posted) != POSTED_NOTHING)
        take_off(posted, p);
    pthread_mutex_unlock(&posted->lock);
}

/* What was posted of one process, off the list; the note and the data are the caller's. */
struct said {
    int what;
    char *note;
    struct muster_bytes data;
    int64_t extend_ms;
    int64_t stay_ms;
};

/* With the lock. */
static void take_said(struct muster_process *p, struct said *said)
{
    *said = (struct said){atomic_load(&p->posted), p->note, p->new_data, p->extend_ms, p->stay_ms};
    take_off(p->worker->posted, p);
    p->note = NULL;
    p->new_data = (struct muster_bytes){NULL, 0};
}

static struct muster_process *next_posted(struct posted *posted, struct said *said)
{
    pthread_mutex_lock(&posted->lock);
    struct muster_process *p = TAILQ_FIRST(&posted->list);
    if (p)
        take_said(p, said);
    pthread_mutex_unlock(&posted->lock);
    return p;
}

/* All but its end. */
static void apply_rest(struct muster_process *p, const struct said *said)
{
    if (said->what & POSTED_NOTE)
        extend_note(p, said->note);
    free(said->note);
    if (said->what & POSTED_DATA)
        extend_data(p, said->data);
    if (said->what & POSTED_EXTENDED)
        limit_set(p, said->extend_ms);
    if (said->what & POSTED_STAY)
        share_stay(p, said->stay_ms);
    p->is_end_posted |= (said->what & POSTED_ENDED) != 0;
}

static void apply(struct muster_process *p, const struct said *said)
{
    dispatch_note(p);
    apply_rest(p, said);
    if (p->is_later && p->is_end_posted)
        end_by_handler(p, p->end_outcome);
}

void posted_before_end(struct muster_process *p)
{
    struct said said;
    if (atomic_load(&p->posted) == POSTED_NOTHING)
        return;
    pthread_mutex_lock(&p->worker->posted->lock);
    take_said(p, &said);
    pthread_mutex_unlock(&p->worker->posted->lock);
    apply_rest(p, &said);
}

static void apply_return(struct muster_process *p)
{
    dispatch_note(p);
    p->is_later |= p->handler_outcome == MUSTER_LATER;
    if (p->handler_outcome != MUSTER_LATER)
        end_by_handler(p, p->handler_outcome);
    else if (p->is_end_posted)
        end_by_handler(p, p->end_outcome);
}

/* The first one first. */
static struct muster_process *take_returned(struct posted *posted)
{
    struct muster_process *all = atomic_exchange(&posted->returned, NULL), *in_order = NULL, *next;
    for (; all; all = next) {
        next = all->next_returned;
        all->next_returned = in_order;
        in_order = all;
    }
    return in_order;
}

static size_t count_posted(struct posted *posted)
{
    pthread_mutex_lock(&posted->lock);
    size_t n = posted->n;
    pthread_mutex_unlock(&posted->lock);
    return n;
}

/* What a handler has posted comes before its return, and so does what it has left for the loop: so the returned ones
 * are taken first and carried out last. The same for an end that was posted. Who goes on posting waits for another turn
 * of the loop, which has sockets and timers to look at. */
void posted_take(struct muster_worker *w)
{
    struct muster_process *p, *next, *returned = take_returned(w->posted);
    struct said said;
    calls_run(w);
    for (size_t n = count_posted(w->posted); n > 0 && (p = next_posted(w->posted, &said)) != NULL; n--) {
        if (said.what & POSTED_ENDED)
            calls_run(w);
        apply(p, &said);
    }
    for (p = returned; p; p = next) {
        next = p->next_returned;
        apply_return(p);
    }
    if (count_posted(w->posted) > 0)
        stop_wake(w);
}

int posted_new(struct muster_worker *w)
{
    w->posted = calloc(1, sizeof *w->posted);
    if (!w->posted)
        return MUSTER_E_NOMEM;
    pthread_mutex_init(&w->posted->lock, NULL);
    TAILQ_INIT(&w->posted->list);
    return MUSTER_OK;
}

void posted_free(struct muster_worker *w)
{
    if (!w->posted)
        return;
    pthread_mutex_destroy(&w->posted->lock);
    free(w->posted);
    w->posted = NULL;
}
