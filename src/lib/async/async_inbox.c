/* SPDX-License-Identifier: MIT
 *
 * Calls on their way to the library's thread. A call costs one lock, and a wake-up only if nothing was there before.
 *
 * What is in flight is counted without the lock: a call is counted before it is put in, and counted off when its answer
 * is handed out. Threads that come at once near the limit may all be refused; none is let through beyond it.
 */
#include "async/async_inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "async/async.h"

static void wake(struct async_inbox *in)
{
    const uint64_t one = 1;
    ssize_t written = write(in->wake_fd, &one, sizeof one); /* it fails only if it would wake already */
    (void)written;
}

/* A call of more bytes than are allowed goes alone. */
static bool count_in(struct async_inbox *in, size_t weight)
{
    size_t calls = atomic_fetch_add(&in->n_calls, 1), bytes = atomic_fetch_add(&in->n_bytes, weight);
    if (calls < in->max_calls && (calls == 0 || bytes + weight <= in->max_bytes))
        return true;
    atomic_fetch_sub(&in->n_bytes, weight);
    atomic_fetch_sub(&in->n_calls, 1);
    return false;
}

void async_inbox_release(struct async_inbox *in, const struct async_call *call)
{
    atomic_fetch_sub(&in->n_bytes, call->weight);
    atomic_fetch_sub(&in->n_calls, 1);
}

int async_inbox_post(struct muster_async *a, struct async_call *call)
{
    struct async_inbox *in = &a->inbox;
    if (!count_in(in, call->weight)) {
        async_call_free(call);
        return async_thread_refuse(
            MUSTER_E_BUSY, "max_in_flight calls, or max_bytes bytes, are in flight: take answers before the next call");
    }
    async_outbox_expect(&a->outbox);
    pthread_mutex_lock(&in->lock);
    bool was_empty = !in->calls.first;
    async_list_add(&in->calls, call);
    pthread_mutex_unlock(&in->lock);
    if (was_empty)
        wake(in);
    return MUSTER_OK;
}

void async_inbox_close(struct async_inbox *in)
{
    pthread_mutex_lock(&in->lock);
    in->is_closing = true;
    pthread_mutex_unlock(&in->lock);
    wake(in);
}

bool async_inbox_take(struct async_inbox *in, struct async_list *out)
{
    uint64_t notes;
    ssize_t got = read(in->wake_fd, &notes, sizeof notes); /* before the look: what comes after it wakes again */
    (void)got;
    async_list_init(out);
    pthread_mutex_lock(&in->lock);
    async_list_append(out, &in->calls);
    bool goes_on = !in->is_closing;
    pthread_mutex_unlock(&in->lock);
    return goes_on;
}

int async_inbox_init(struct async_inbox *in)
{
    async_list_init(&in->calls);
    pthread_mutex_init(&in->lock, NULL);
    in->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return in->wake_fd >= 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

void async_inbox_clear(struct async_inbox *in)
{
    for (struct async_call *call; (call = async_list_pop(&in->calls)) != NULL;)
        async_call_free(call);
    if (in->wake_fd >= 0)
        close(in->wake_fd);
    pthread_mutex_destroy(&in->lock);
}
