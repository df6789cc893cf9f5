/* SPDX-License-Identifier: MIT
 *
 * Answers on their way to the program. The library's thread puts them in together, at the end of a turn of its loop.
 */
#include "async/async_outbox.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "async/async.h"
#include "base/log.h"
#include "base/sized.h"

/* ---- the library's thread, and those that call ---- */

void async_outbox_expect(struct async_outbox *out)
{
    atomic_fetch_add(&out->n_unanswered, 1);
}

/* Under the lock, so that what is readable agrees with what is there. */
static void set_readable(struct async_outbox *out)
{
    const uint64_t one = 1;
    ssize_t written = write(out->fd, &one, sizeof one);
    (void)written;
}

static void set_unreadable(struct async_outbox *out)
{
    uint64_t notes;
    ssize_t got = read(out->fd, &notes, sizeof notes);
    (void)got;
}

void async_outbox_put(struct async_outbox *out, struct async_list *calls, size_t n)
{
    pthread_mutex_lock(&out->lock);
    if (!out->answered.first)
        set_readable(out);
    async_list_append(&out->answered, calls);
    if (atomic_fetch_sub(&out->n_unanswered, n) == n)
        pthread_cond_broadcast(&out->all_answered);
    pthread_mutex_unlock(&out->lock);
}

/* ---- the thread that takes answers ---- */

static void free_handed(struct async_outbox *out)
{
    for (struct async_call *call; (call = async_list_pop(&out->handed)) != NULL;)
        async_call_free(call);
}

static void collect(struct async_outbox *out)
{
    pthread_mutex_lock(&out->lock);
    async_list_append(&out->taken, &out->answered);
    pthread_mutex_unlock(&out->lock);
}

static void note_emptiness(struct async_outbox *out)
{
    if (out->taken.first)
        return;
    pthread_mutex_lock(&out->lock);
    if (!out->answered.first)
        set_unreadable(out);
    pthread_mutex_unlock(&out->lock);
}

static struct async_call *hand_out(struct muster_async *a)
{
    struct async_call *call = async_list_pop(&a->outbox.taken);
    if (!call)
        return NULL;
    async_inbox_release(&a->inbox, call);
    if (call->kind->handed)
        call->kind->handed(call);
    async_list_add(&a->outbox.handed, call);
    return call;
}

size_t muster_async_next(struct muster_async *a, struct muster_answer *out, size_t max)
{
    struct async_outbox *box = &a->outbox;
    size_t n = 0;
    if (max == 0 || async_enter(a) != MUSTER_OK || box->is_dispatching)
        return 0;
    const char *why = sized_clear(SIZED_ANSWER, out);
    if (why) {
        log_line(MUSTER_LOG_ERROR, "muster_async_next: %s: no answer is handed out", why);
        return 0;
    }
    const size_t stride = out->size;
    free_handed(box);
    collect(box);
    for (struct async_call *call; n < max && (call = hand_out(a)) != NULL; n++) {
        struct muster_answer answer;
        void *to = (char *)out + n * stride;
        async_call_tell(call, &answer);
        memcpy(to, &stride, sizeof stride);
        sized_clear(SIZED_ANSWER, to);
        sized_write(SIZED_ANSWER, to, &answer);
    }
    note_emptiness(box);
    return n;
}

size_t muster_async_dispatch(struct muster_async *a, size_t max)
{
    struct async_outbox *box = &a->outbox;
    size_t n = 0;
    if (async_enter(a) != MUSTER_OK || box->is_dispatching)
        return 0;
    box->is_dispatching = true;
    free_handed(box);
    collect(box);
    for (struct async_call *call; (max == 0 || n < max) && !box->is_free_due && (call = hand_out(a)) != NULL; n++) {
        struct muster_answer answer;
        async_call_tell(call, &answer);
        if (call->fn)
            call->fn(&answer, call->arg);
        if (async_enter(a) != MUSTER_OK) /* the function has forked, and this is the child */
            return n + 1;
        free_handed(box);
    }
    note_emptiness(box);
    box->is_dispatching = false;
    if (box->is_free_due)
        muster_async_free(a);
    return n;
}

/* ---- waiting ---- */

#define NS_PER_S 1000000000

static struct timespec deadline(int64_t timeout_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(timeout_ms / 1000);
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (at.tv_nsec >= NS_PER_S) {
        at.tv_nsec -= NS_PER_S;
        at.tv_sec++;
    }
    return at;
}

/* A time beyond all that there will be is for ever. */
#define WAIT_MAX_MS (INT64_MAX / 1000000)

int muster_async_wait(struct muster_async *a, int64_t timeout_ms)
{
    struct async_outbox *out = &a->outbox;
    int failure = 0, err = async_enter(a);
    if (err == MUSTER_OK && timeout_ms < -1)
        err = async_thread_refuse(MUSTER_E_INVALID, "a time to wait must not be negative, except -1: for ever");
    if (err != MUSTER_OK)
        return err;
    const bool has_end = timeout_ms >= 0 && timeout_ms < WAIT_MAX_MS;
    const struct timespec at = deadline(has_end ? timeout_ms : 0);
    pthread_mutex_lock(&out->lock);
    while (atomic_load(&out->n_unanswered) > 0 && failure != ETIMEDOUT)
        failure = has_end ? pthread_cond_timedwait(&out->all_answered, &out->lock, &at)
                          : pthread_cond_wait(&out->all_answered, &out->lock);
    bool is_done = atomic_load(&out->n_unanswered) == 0;
    pthread_mutex_unlock(&out->lock);
    return is_done ? MUSTER_OK : async_thread_refuse(MUSTER_E_TIMEOUT, "some calls have no answer yet");
}

int muster_async_fd(struct muster_async *a)
{
    return a->outbox.fd;
}

/* ---- its life ---- */

int async_outbox_init(struct async_outbox *out)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->all_answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    async_list_init(&out->answered);
    async_list_init(&out->taken);
    async_list_init(&out->handed);
    out->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return out->fd >= 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

void async_outbox_clear(struct async_outbox *out)
{
    collect(out);
    async_list_append(&out->handed, &out->taken);
    free_handed(out);
    if (out->fd >= 0)
        close(out->fd);
    pthread_cond_destroy(&out->all_answered);
    pthread_mutex_destroy(&out->lock);
}
