/* SPDX-License-Identifier: MIT
 *
 * The threads executor: handlers on a pool of threads, as many as the worker has hands. The loop hands a process to the
 * pool; the thread that ran it posts what came of it, and the loop goes on with it. So everything but the handler stays
 * in the loop's thread, and a busy handler never delays the heartbeat.
 *
 * What passes between threads does so under one lock: a process on its way to a thread (queued), and outcomes on their
 * way back (posted). An outcome can come before the handler has answered MUSTER_LATER, from a third thread: it waits
 * for that answer.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/worker.h"

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct posted_list queued, posted;
    pthread_t *threads;
    int n_threads, closing;
};

/* ---- what came of it ---- */

/* What is written of the process between these two is read by the loop's thread together with `what`. */
static struct muster_worker *begin_post(struct muster_process *p)
{
    pthread_mutex_lock(&p->worker->pool->lock);
    return p->worker;
}

/* The worker is given, for once the lock is free the process may be gone. */
static void end_post(struct muster_worker *w, struct muster_process *p, enum posted what)
{
    if (p->posted == POSTED_NOTHING)
        TAILQ_INSERT_TAIL(&w->pool->posted, p, in_pool);
    p->posted |= what;
    pthread_mutex_unlock(&w->pool->lock);
    stop_wake(w);
}

static void post_returned(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = begin_post(p);
    p->handler_outcome = outcome;
    end_post(w, p, POSTED_RETURNED);
}

void pool_post_end(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = begin_post(p);
    p->end_outcome = outcome;
    end_post(w, p, POSTED_ENDED);
}

void pool_post_note(struct muster_process *p, char *note)
{
    struct muster_worker *w = begin_post(p);
    free(p->note);
    p->note = note;
    end_post(w, p, POSTED_NOTE);
}

void pool_post_data(struct muster_process *p, struct muster_bytes data)
{
    struct muster_worker *w = begin_post(p);
    free((void *)p->new_data.data);
    p->new_data = data;
    end_post(w, p, POSTED_DATA);
}

void pool_post_extension(struct muster_process *p, int64_t limit_ms)
{
    struct muster_worker *w = begin_post(p);
    p->extend_ms = limit_ms;
    end_post(w, p, POSTED_EXTENDED);
}

void pool_forget(struct muster_process *p)
{
    struct pool *pool = p->worker->pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    if (p->posted != POSTED_NOTHING)
        TAILQ_REMOVE(&pool->posted, p, in_pool);
    p->posted = POSTED_NOTHING;
    pthread_mutex_unlock(&pool->lock);
}

/* What was posted for one process, and is taken off the list; a note and data are the caller's. */
struct posting {
    int what;
    char *note;
    struct muster_bytes data;
    int64_t extend_ms;
};

static struct muster_process *next_posted(struct pool *pool, struct posting *posting)
{
    pthread_mutex_lock(&pool->lock);
    struct muster_process *p = TAILQ_FIRST(&pool->posted);
    if (p) {
        TAILQ_REMOVE(&pool->posted, p, in_pool);
        *posting = (struct posting){p->posted, p->note, p->new_data, p->extend_ms};
        p->posted = POSTED_NOTHING;
        p->note = NULL;
        p->new_data = (struct muster_bytes){NULL, 0};
    }
    pthread_mutex_unlock(&pool->lock);
    return p;
}

void pool_take_posted(struct muster_worker *w)
{
    struct muster_process *p;
    struct posting posting;
    while (w->pool && (p = next_posted(w->pool, &posting)) != NULL) {
        int what = posting.what;
        if (what & POSTED_NOTE)
            process_send_note(p, posting.note);
        free(posting.note);
        if (what & POSTED_DATA)
            process_send_data(p, posting.data);
        free((void *)posting.data.data);
        if (what & POSTED_EXTENDED)
            limit_set(p, posting.extend_ms);
        p->is_ended |= (what & POSTED_ENDED) != 0;
        if (what & POSTED_RETURNED && p->handler_outcome != MUSTER_LATER)
            process_ended(p, p->handler_outcome);
        else if ((p->is_later |= (what & POSTED_RETURNED) != 0) && p->is_ended)
            process_ended(p, p->end_outcome);
    }
}

/* ---- the threads ---- */

static struct muster_process *next_queued(struct pool *pool)
{
    struct muster_process *p = NULL;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing && TAILQ_EMPTY(&pool->queued))
        pthread_cond_wait(&pool->work, &pool->lock);
    if (!pool->closing) {
        p = TAILQ_FIRST(&pool->queued);
        TAILQ_REMOVE(&pool->queued, p, in_pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return p;
}

static void *run(void *arg)
{
    struct pool *pool = arg;
    struct muster_process *p;
    while ((p = next_queued(pool)) != NULL)
        post_returned(p, p->served->handler(p, p->served->handler_arg));
    return NULL;
}

static void start(struct muster_process *p)
{
    struct pool *pool = p->worker->pool;
    muster_process_id(p); /* made now: later two threads could make it at once */
    pthread_mutex_lock(&pool->lock);
    TAILQ_INSERT_TAIL(&pool->queued, p, in_pool);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

const struct executor executor_threads = {.start = start};

/* ---- life ---- */

/* The threads take no signals: they are the program's, and one that comes here would only interrupt a handler. */
static int start_threads(struct pool *pool, int n)
{
    sigset_t all, old;
    int err = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool->n_threads < n && err == 0) {
        err = pthread_create(&pool->threads[pool->n_threads], NULL, run, pool);
        pool->n_threads += err == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

int pool_new(struct muster_worker *w, int n)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return MUSTER_E_NOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    TAILQ_INIT(&pool->queued);
    TAILQ_INIT(&pool->posted);
    w->pool = pool;
    if (n == 0)
        return MUSTER_OK;
    pool->threads = calloc((size_t)n, sizeof *pool->threads);
    return pool->threads ? start_threads(pool, n) : MUSTER_E_NOMEM;
}

void pool_free(struct muster_worker *w)
{
    struct pool *pool = w->pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    w->pool = NULL;
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}
