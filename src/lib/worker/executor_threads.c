/* SPDX-License-Identifier: MIT
 *
 * The threads executor: handlers on threads, as many as the option `threads` says. The loop hands processes to the
 * threads; the thread that ran one posts what came of it (posted.c). So a busy handler never delays the heartbeat.
 *
 * What starts in one round goes to the threads together: to lock, and to wake a thread, for each one costs more than
 * most handlers. They take one at a time, in the order in which they started.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "worker/worker.h"

TAILQ_HEAD(queued_list, muster_process);

struct threads {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct queued_list queued; /* running, by their state, but no thread has them yet */
    int n_waiting;             /* threads */
    bool is_waking;            /* one of these was woken, and has not come yet */
    pthread_t *threads;
    int n;
    bool closing;
    struct queued_list started; /* in this round; the loop's thread alone uses it */
};

/* Whoever leaves something for others wakes one of them, and that one the next: many short handlers are run by few
 * threads that stay awake. The caller has the lock, and signals when it is free. */
static bool wakes_one(struct threads *t)
{
    bool wakes = !TAILQ_EMPTY(&t->queued) && t->n_waiting > 0 && !t->is_waking;
    t->is_waking |= wakes;
    return wakes;
}

static struct muster_process *next_queued(struct threads *t)
{
    struct muster_process *p = NULL;
    pthread_mutex_lock(&t->lock);
    while (!t->closing && TAILQ_EMPTY(&t->queued)) {
        t->n_waiting++;
        pthread_cond_wait(&t->work, &t->lock);
        t->n_waiting--;
        t->is_waking = false;
    }
    if (!t->closing) {
        p = TAILQ_FIRST(&t->queued);
        TAILQ_REMOVE(&t->queued, p, in_queued);
    }
    bool wakes = wakes_one(t);
    pthread_mutex_unlock(&t->lock);
    if (wakes)
        pthread_cond_signal(&t->work);
    return p;
}

static void *run(void *arg)
{
    struct threads *t = arg;
    struct muster_process *p;
    while ((p = next_queued(t)) != NULL)
        posted_returned(p, p->handler(p, p->handler_arg));
    return NULL;
}

static void start(struct muster_process *p)
{
    struct threads *t = p->worker->threads;
    p->handler = p->served->handler;
    p->handler_arg = p->served->handler_arg;
    muster_process_id(p); /* made now: later two threads could make it at once */
    TAILQ_INSERT_TAIL(&t->started, p, in_queued);
}

void executor_threads_release(struct muster_worker *w)
{
    struct threads *t = w->threads;
    if (!t || TAILQ_EMPTY(&t->started))
        return;
    pthread_mutex_lock(&t->lock);
    TAILQ_CONCAT(&t->queued, &t->started, in_queued);
    bool wakes = wakes_one(t);
    pthread_mutex_unlock(&t->lock);
    if (wakes)
        pthread_cond_signal(&t->work);
}

const struct executor executor_threads = {.start = start};

/* ---- life ---- */

/* The threads take no signals: those are the program's, and one that comes here would only interrupt a handler. */
static int start_threads(struct threads *t, int n)
{
    sigset_t all, old;
    int err = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (t->n < n && err == 0) {
        err = pthread_create(&t->threads[t->n], NULL, run, t);
        t->n += err == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

int executor_threads_new(struct muster_worker *w)
{
    if (w->n_threads == 0)
        return MUSTER_OK;
    struct threads *t = calloc(1, sizeof *t);
    if (!t)
        return MUSTER_E_NOMEM;
    w->threads = t;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    TAILQ_INIT(&t->queued);
    TAILQ_INIT(&t->started);
    t->threads = calloc((size_t)w->n_threads, sizeof *t->threads);
    return t->threads ? start_threads(t, w->n_threads) : MUSTER_E_NOMEM;
}

/* The program gets no event any more; only the handlers can see the stop reason. */
static void set_stop_reasons(struct muster_worker *w)
{
    struct muster_process *p;
    TAILQ_FOREACH(p, &w->processes.list[PROCESS_RUNNING], in_list) {
        int go_on = MUSTER_GO_ON;
        atomic_compare_exchange_strong(&p->stop_reason, &go_on, MUSTER_STOP_LOST);
    }
}

void executor_threads_free(struct muster_worker *w)
{
    struct threads *t = w->threads;
    if (!t)
        return;
    set_stop_reasons(w);
    pthread_mutex_lock(&t->lock);
    t->closing = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->n; i++)
        pthread_join(t->threads[i], NULL);
    w->threads = NULL;
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    free(t->threads);
    free(t);
}
