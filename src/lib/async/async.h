/* SPDX-License-Identifier: MIT
 *
 * What the files of the asynchronous client share: its handle.
 *
 *   async.c          making and freeing a client, its thread
 *   async_thread.c   the thread, and words for those who call
 *   async_inbox.c    calls on their way to the library's thread
 *   async_outbox.c   answers on their way to the program
 *   async_line.c     the connection, and what is to be sent over it
 *   async_format.c   may something be written there?
 *   async_role.c     is the server a master still?
 *   async_hear.c     what becomes of what was sent: answered, refused, lost; confirmed
 *   async_call.c     a call, from when it is made until its answer is handed out
 *   async_asked.c    a call that is one command
 *   async_watch.c    takes that wait for work
 *   async_taker.c    the names of takes, and giving back what nobody heard of
 *   async_enqueue.c, async_put.c, async_take.c, async_end.c, async_job.c, async_look.c: what the calls do
 *
 * A call has one owner at a time: the thread that makes it, the inbox, the library's thread with one of its lists, the
 * outbox, the thread that takes answers.
 */
#ifndef ASYNC_H
#define ASYNC_H

#include <muster/async.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "async/async_inbox.h"
#include "async/async_line.h"
#include "async/async_outbox.h"
#include "async/async_taker.h"
#include "async/async_thread.h"
#include "async/async_watch.h"
#include "protocol/script.h"

struct event;
struct event_base;

struct muster_async {
    /* Set once, and read by all threads. */
    uint64_t owner; /* the process that has made it: a child of fork() has no such thread */
    char prefix[MUSTER_PREFIX_MAX + 1];
    struct script_root root;
    size_t max_task_len;
    int timeout_ms;
    pthread_t thread;
    bool has_thread;

    struct async_takers takers;
    struct async_inbox inbox;
    struct async_outbox outbox;

    /* The library's thread alone. */
    struct event_base *base;
    struct event *waker; /* something came to the inbox */
    struct async_line line;
    struct async_watches watches;
};

/* MUSTER_OK, or E_STATE: this process is a child of the one that has the client. */
int async_enter(const struct muster_async *a);

/* MUSTER_OK, or the error with its words. */
int async_check_bytes(const struct muster_async *a, const struct muster_bytes *bytes);

#endif
