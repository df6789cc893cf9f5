/* SPDX-License-Identifier: MIT
 *
 * Calls that other threads leave for the loop, which carries them out in their order, in its next round, before the
 * ends that come after them, wherever these are made (posted.c, follow.c). Each that was accepted is carried out exactly
 * once: when the worker stops or is freed, at the latest.
 *
 * Some callers wait for their answer. They never wait for Redis, and never for a loop that may not run: only an own
 * thread surely comes round.
 */
#include "worker/calls.h"

#include <stdlib.h>

#include "worker/worker.h"

/* ---- any thread ---- */

bool calls_leave(struct muster_worker *w, struct call *c)
{
    struct calls *calls = &w->calls;
    c->next = NULL;
    pthread_mutex_lock(&calls->lock);
    bool is_accepted = !calls->is_closed, is_first = !calls->left;
    if (is_accepted) {
        *calls->left_end = c;
        calls->left_end = &c->next;
        atomic_fetch_add(&calls->n_left, 1);
    }
    pthread_mutex_unlock(&calls->lock);
    if (is_accepted && is_first)
        stop_wake(w);
    return is_accepted;
}

struct waited_call {
    struct call call;
    call_fn *fn;
    const void *arg;
    int err;
    bool is_done;
};

static void run_waited(struct call *c, struct muster_worker *w)
{
    struct waited_call *waited = (struct waited_call *)c;
    int err = waited->fn(w, waited->arg);
    pthread_mutex_lock(&w->calls.lock);
    waited->err = err;
    waited->is_done = true; /* from here on it may be gone */
    pthread_cond_broadcast(&w->calls.done);
    pthread_mutex_unlock(&w->calls.lock);
}

int calls_carry_out(struct muster_worker *w, call_fn *fn, const void *arg)
{
    struct waited_call waited = {.call = {.run = run_waited}, .fn = fn, .arg = arg};
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    if (!own_thread_was_started(w) || round_is_in_loop(w))
        return fn(w, arg);
    if (!calls_leave(w, &waited.call))
        return tell_error_as(w, MUSTER_E_STATE, "the worker has stopped");
    pthread_mutex_lock(&w->calls.lock);
    while (!waited.is_done)
        pthread_cond_wait(&w->calls.done, &w->calls.lock);
    pthread_mutex_unlock(&w->calls.lock);
    return waited.err;
}

struct post {
    struct call call;
    muster_post_fn *fn;
    void *arg;
};

static void run_post(struct call *c, struct muster_worker *w)
{
    struct post post = *(struct post *)c;
    free(c);
    tell_enter(w);
    post.fn(w, post.arg);
    tell_leave(w);
}

int muster_worker_post(struct muster_worker *w, muster_post_fn *fn, void *arg)
{
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    if (!fn)
        return tell_error_as(w, MUSTER_E_INVALID, "there is no function to call");
    struct post *post = malloc(sizeof *post);
    if (!post)
        return MUSTER_E_NOMEM;
    *post = (struct post){.call = {.run = run_post}, .fn = fn, .arg = arg};
    if (calls_leave(w, &post->call))
        return MUSTER_OK;
    free(post);
    return tell_error_as(w, MUSTER_E_STATE, "the worker has stopped");
}

/* ---- the loop's thread ---- */

static void take_due(struct calls *calls)
{
    struct call **end = &calls->due;
    while (*end)
        end = &(*end)->next;
    pthread_mutex_lock(&calls->lock);
    *end = calls->left;
    calls->left = NULL;
    calls->left_end = &calls->left;
    pthread_mutex_unlock(&calls->lock);
}

static void run_due(struct muster_worker *w)
{
    struct call *c = w->calls.due;
    w->calls.due = c->next; /* first: a function may stop the worker, which carries out the rest */
    w->calls.n_run++;
    c->run(c, w);
}

/* A worker that is freed by one of them carries out the others when nothing of it is on the stack. */
void calls_run(struct muster_worker *w)
{
    take_due(&w->calls);
    while (w->calls.due && !w->is_free_due)
        run_due(w);
}

void calls_close(struct muster_worker *w)
{
    struct calls *calls = &w->calls;
    pthread_mutex_lock(&calls->lock);
    calls->is_closed = true;
    pthread_mutex_unlock(&calls->lock);
    take_due(calls);
    while (calls->due)
        run_due(w);
}

/* ---- life ---- */

int calls_new(struct muster_worker *w)
{
    struct calls *calls = &w->calls;
    calls->left_end = &calls->left;
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->done, NULL);
    return MUSTER_OK;
}

void calls_free(struct muster_worker *w)
{
    pthread_cond_destroy(&w->calls.done);
    pthread_mutex_destroy(&w->calls.lock);
}
