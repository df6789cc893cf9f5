/* SPDX-License-Identifier: MIT
 *
 * Calls on their way to the library's thread: any thread puts them in.
 */
#ifndef ASYNC_INBOX_H
#define ASYNC_INBOX_H

#include <muster/async.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "async/async_call.h"

struct async_inbox {
    pthread_mutex_t lock;
    struct async_list calls; /* the thread has been woken since the first of them came */
    bool is_closing;
    int wake_fd;
    size_t max_calls, max_bytes;
    atomic_size_t n_calls, n_bytes; /* in flight */
};

int async_inbox_init(struct async_inbox *in);
void async_inbox_clear(struct async_inbox *in);

/* MUSTER_OK: the call is on its way. E_BUSY: too much is in flight; the call is freed. */
int async_inbox_post(struct muster_async *a, struct async_call *call);

/* Its answer is handed out. */
void async_inbox_release(struct async_inbox *in, const struct async_call *call);

/* No call follows. */
void async_inbox_close(struct async_inbox *in);

/* The library's thread: takes all of them. False: it shall end. */
bool async_inbox_take(struct async_inbox *in, struct async_list *out);

#endif
