/* SPDX-License-Identifier: MIT
 *
 * The worker's loop on a thread of the library's own. From its start until its end everything but what headers mark
 * "any thread" happens there; before, and after the thread was waited for, on the thread that makes and frees the
 * worker.
 *
 * Nothing is registered for exit(): a thread that runs then is simply gone, with its connections, as after a kill.
 */
#include "worker/own_thread.h"

#include <event2/event.h>

#include "base/thread.h"
#include "worker/worker.h"

static void *run(void *arg)
{
    struct muster_worker *w = arg;
    pthread_mutex_lock(
        &w->calls.lock); /* until whoever has started it needs the worker no more: it may be freed here */
    pthread_mutex_unlock(&w->calls.lock);
    worker_enter(w, WORKER_CONNECTING);
    worker_loop(w);
    if (w->state != WORKER_STOPPED && !w->is_free_due) {
        tell_why(w, MUSTER_E_NOMEM, "the loop of its own thread has failed");
        worker_stopped(w);
    }
    if (w->is_free_due && !atomic_load(&w->own_thread.must_end)) { /* freed in a callback: nobody waits */
        pthread_detach(pthread_self());
        worker_free_now(w);
    }
    return NULL;
}

bool own_thread_was_started(const struct muster_worker *w)
{
    return atomic_load(&w->own_thread.was_started);
}

/* Whoever has started it must not be taken for the loop's thread any more when this returns. */
int own_thread_start(struct muster_worker *w)
{
    struct own_thread *t = &w->own_thread;
    if (atomic_exchange(&t->was_started, true))
        return tell_error_as(w, MUSTER_E_STATE, "the worker was started before");
    pthread_mutex_lock(&w->calls.lock);
    int err = thread_start(&t->thread, run, w);
    if (err == MUSTER_OK)
        round_set_thread(w, t->thread);
    else
        atomic_store(&t->was_started, false);
    pthread_mutex_unlock(&w->calls.lock);
    return err;
}

bool own_thread_end(struct muster_worker *w)
{
    struct own_thread *t = &w->own_thread;
    if (!own_thread_was_started(w))
        return true;
    if (round_is_in_loop(w))
        return false;
    atomic_store(&t->must_end, true);
    stop_wake(w);
    pthread_join(t->thread, NULL);
    round_set_thread(w, pthread_self());
    return true;
}

void own_thread_check(struct muster_worker *w)
{
    if (!atomic_load(&w->own_thread.must_end))
        return;
    w->is_free_due = true;
    event_base_loopbreak(w->base);
}
