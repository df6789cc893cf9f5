/* SPDX-License-Identifier: MIT
 *
 * The threads executor: handlers on threads, as many as the option `threads` says. The loop hands processes to the
 * threads; the thread that ran one posts what came of it (posted.c). So a busy handler never delays the heartbeat.
 *
 * They go through a ring (ring.h). What the loop has started is sure there: its hand is counted. Behind it lies, ahead,
 * what would start next, for as long as nothing speaks against it (dispatch.c). A thread whose handler has ended takes
 * the next one from there without waiting for the loop: the hand of the first is the next one's. It takes before it
 * posts the end, so the loop hears of both together. What a thread has taken ahead begins for the loop when it looks
 * (executor_threads_note_begun); whoever decides about processes that have not begun calls the others off first.
 *
 * A handler that answers MUSTER_LATER keeps its hand. Its thread takes only what is sure.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "worker/ring.h"
#include "worker/worker.h"

struct threads {
    struct muster_worker *worker;
    struct ring ring;
    pthread_mutex_t lock;
    pthread_cond_t work;
    int n_waiting;  /* threads */
    bool is_waking; /* one of these was woken, and has not come yet */
    atomic_bool closing;
    pthread_t *threads;
    int n;
};

/* ---- a thread ---- */

/* Whoever leaves something for others wakes one of them, and that one the next: many short handlers are run by few
 * threads that stay awake. The caller has the lock, and signals when it is free. */
static bool wakes_one(struct threads *t)
{
    bool wakes = ring_has_sure(&t->ring) && t->n_waiting > 0 && !t->is_waking;
    t->is_waking |= wakes;
    return wakes;
}

static struct muster_process *wait_for_one(struct threads *t)
{
    struct muster_process *p = NULL;
    pthread_mutex_lock(&t->lock);
    while (!atomic_load(&t->closing) && !(p = ring_take(&t->ring, RING_SURE))) {
        t->n_waiting++;
        pthread_cond_wait(&t->work, &t->lock);
        t->n_waiting--;
        t->is_waking = false;
    }
    bool wakes = wakes_one(t);
    pthread_mutex_unlock(&t->lock);
    if (wakes)
        pthread_cond_signal(&t->work);
    return p;
}

/* NULL: nothing is there that this thread may begin. */
static struct muster_process *take_next(struct threads *t, enum muster_outcome outcome, int64_t now_us)
{
    bool has_a_hand = outcome != MUSTER_LATER && !fence_has_passed(t->worker, now_us);
    return atomic_load(&t->closing) ? NULL : ring_take(&t->ring, has_a_hand ? RING_ALL : RING_SURE);
}

static void *run(void *arg)
{
    struct threads *t = arg;
    struct muster_process *p, *next = NULL;
    int64_t now_us = 0;
    while ((p = next ? next : wait_for_one(t)) != NULL) {
        if (!next)
            now_us = clock_us();
        atomic_store_explicit(&p->taken_at_us, now_us, memory_order_relaxed);
        follow_enter_handler(p);
        enum muster_outcome outcome = p->handler(p, p->handler_arg);
        follow_enter_handler(NULL);
        now_us = clock_us();
        if (outcome != MUSTER_LATER)
            p->ended_us = now_us;
        next = take_next(t, outcome, now_us);
        posted_returned(p, outcome);
    }
    return NULL;
}

/* ---- the loop's thread ---- */

static void put(struct threads *t, struct muster_process *p)
{
    p->handler = p->served->handler;
    p->handler_arg = p->served->handler_arg;
    p->in_ring = ring_put(&t->ring, p);
    p->is_ahead = true;
}

static void start(struct muster_process *p)
{
    struct threads *t = p->worker->threads;
    if (!p->is_ahead && ring_last_ahead(&t->ring))
        executor_threads_call_off(p->worker); /* it comes before those */
    if (!p->is_ahead)
        put(t, p);
    p->is_ahead = false;
    ring_make_sure(&t->ring, p->in_ring);
}

static struct muster_process *first_to_put(const struct muster_worker *w)
{
    struct muster_process *last = ring_last_ahead(&w->threads->ring);
    return last ? process_next(last, IS_READY) : process_first(w, IS_READY);
}

void executor_threads_put_ahead(struct muster_worker *w)
{
    struct threads *t = w->threads;
    struct muster_process *p = t ? first_to_put(w) : NULL;
    for (; p && (p->is_ahead || dispatch_may_go_ahead(p)); p = process_next(p, IS_READY))
        if (!p->is_ahead && !ring_has_room(&t->ring, (uint32_t)w->hands))
            break;
        else if (!p->is_ahead)
            put(t, p);
}

void executor_threads_release(struct muster_worker *w)
{
    struct threads *t = w->threads;
    if (!t)
        return;
    ring_publish(&t->ring);
    if (!ring_has_sure(&t->ring))
        return;
    pthread_mutex_lock(&t->lock);
    bool wakes = wakes_one(t);
    pthread_mutex_unlock(&t->lock);
    if (wakes)
        pthread_cond_signal(&t->work);
}

/* A thread that has it and has not said since when has not called its handler either. So the clock is read before the thread
 * is asked: what is handed on from then on may be this one's (follow.c). */
static void note_begun(struct muster_process *p)
{
    int64_t now_us = atomic_load(&p->taken_at_us) ? 0 : clock_us();
    int64_t at_us = atomic_load(&p->taken_at_us);
    p->is_ahead = false;
    dispatch_has_begun(p, at_us ? at_us : now_us);
}

void executor_threads_has_begun(struct muster_process *p)
{
    if (!p->is_ahead)
        return;
    ring_forget(&p->worker->threads->ring, p->in_ring);
    note_begun(p);
}

void executor_threads_note_begun(struct muster_worker *w)
{
    struct muster_process *p;
    while (w->threads && process_count(w, IS_RUNNING) < (size_t)w->hands &&
           (p = ring_next_taken(&w->threads->ring)) != NULL)
        note_begun(p);
}

static void call_off(void *process)
{
    ((struct muster_process *)process)->is_ahead = false;
}

void executor_threads_call_off(struct muster_worker *w)
{
    struct muster_process *p;
    if (!w->threads)
        return;
    ring_call_back(&w->threads->ring, call_off);
    while ((p = ring_next_taken(&w->threads->ring)) != NULL)
        note_begun(p);
}

const struct executor executor_threads = {.start = start};

/* ---- life ---- */

static int start_threads(struct threads *t, int n)
{
    int err = MUSTER_OK;
    while (t->n < n && err == MUSTER_OK) {
        err = thread_start(&t->threads[t->n], run, t);
        t->n += err == MUSTER_OK;
    }
    return err;
}

int executor_threads_new(struct muster_worker *w)
{
    if (w->n_threads == 0)
        return MUSTER_OK;
    struct threads *t = calloc(1, sizeof *t);
    if (!t)
        return MUSTER_E_NOMEM;
    w->threads = t;
    t->worker = w;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    /* Those that run, the ones that were told to end not yet, and as many as it may hold. */
    bool has_ring = ring_new(&t->ring, 2 * ((size_t)w->hands + (size_t)w->prefetch) + 1);
    t->threads = calloc((size_t)w->n_threads, sizeof *t->threads);
    return has_ring && t->threads ? start_threads(t, w->n_threads) : MUSTER_E_NOMEM;
}

/* The program gets no event any more; only the handlers can see the stop reason. */
static void set_stop_reasons(struct muster_worker *w)
{
    struct muster_process *p;
    PROCESS_EACH(p, w, IS_RUNNING) {
        int go_on = MUSTER_GO_ON;
        atomic_compare_exchange_strong(&p->stop_reason, &go_on, MUSTER_STOP_LOST);
    }
}

void executor_threads_free(struct muster_worker *w)
{
    struct threads *t = w->threads;
    if (!t)
        return;
    executor_threads_call_off(w);
    set_stop_reasons(w);
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->closing, true);
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->n; i++)
        pthread_join(t->threads[i], NULL);
    w->threads = NULL;
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    ring_free(&t->ring);
    free(t->threads);
    free(t);
}
