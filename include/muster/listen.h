/* SPDX-License-Identifier: MIT
 *
 * The listener: what happens in any number of queues, and to jobs, heard on one handle that never blocks and connects
 * again by itself. It is for programs with any event loop, or with none; muster_queue_listen() and muster_job_listen()
 * are the same for one queue and a thread that has nothing else to do.
 *
 * A thread of the library's own listens. What it hears is taken by muster_listener_next(); the descriptor of
 * muster_listener_fd() is readable while there is something.
 *
 * Events are published only while somebody listens, and are heard at most once. So a listener says of each queue from
 * when on nothing is missed, and when something may have been:
 *   READY  everything that happens in the queue from now on is heard. It comes once after muster_listener_add(), and
 *          again after each GAP
 *   GAP    between here and the next READY of this queue events may have been missed. It comes when a connection breaks,
 *          when the scripts cannot be told for too long that somebody listens, and when the program has taken nothing for
 *          so long that the bound is reached (`max_heard`, `max_bytes`). Before the first READY it comes once, if
 *          listening cannot begin, with the reason: a server refuses, or none of the URL can be reached. It comes again
 *          if an outage turns out to be what somebody must mend: E_DENIED, E_FORMAT, E_INVALID
 * A program that must not miss anything looks at the queue, or the jobs, after each READY. Events that are missed for
 * another reason: Redis lost its data (FLUSHALL); a cluster's nodes were cut off from each other.
 *
 * When a Sentinel replaces a master that lives (SENTINEL FAILOVER), that one goes on as a master for up to ten seconds. So
 * a listener asks a sentinel every second which one it is. The GAP comes within about two seconds then, and is about as
 * long before it as well: its words say how long ago the old master was still named. If no sentinel can be asked
 * meanwhile, it comes when the old one becomes a replica.
 *
 * Threads. muster_listener_add(), _remove() and _error() may be called by any thread. Only muster_listener_next() is
 * for one thread at a time, and muster_listener_free() is the last call of all. In a child of fork() calls that may
 * fail return MUSTER_E_STATE, muster_listener_next() returns 0, and muster_listener_free() does nothing.
 */
#ifndef MUSTER_LISTEN_H
#define MUSTER_LISTEN_H

#include "client.h"
#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

struct muster_listener;

#define MUSTER_LISTENER_HEARD_DEFAULT 100000
#define MUSTER_LISTENER_BYTES_DEFAULT ((size_t)64 * 1024 * 1024)

/* Zero or NULL means the default. */
struct muster_listener_options {
    size_t size; /* sizeof(struct muster_listener_options) */

    /* Where Redis is, and all else that a blocking client is told (client.h); NULL: all defaults. `redis`, a connection
     * of the caller's, is not for a listener (E_INVALID): give it a URL. `replicas` and `fsync` ask for nothing here,
     * because a listener adds nothing. */
    const struct muster_client_options *client;

    /* So much is kept that the program has not taken: events, and bytes of theirs. What comes beyond is dropped, and a
     * GAP tells so. One event with more bytes is kept if nothing else is there. Each READY and GAP is kept: three at
     * most for each queue and outage. */
    size_t max_heard; /* MUSTER_LISTENER_HEARD_DEFAULT */
    size_t max_bytes; /* MUSTER_LISTENER_BYTES_DEFAULT */
};

/* What to hear; bits. */
enum muster_listen_kind {
    MUSTER_LISTEN_DONE = 1,      /* processes that were finished */
    MUSTER_LISTEN_CANCELLED = 2, /* tasks that were cancelled */
    MUSTER_LISTEN_DELETED = 4,   /* that the queue was deleted */
    MUSTER_LISTEN_JOBS = 8       /* what happens to its jobs: struct muster_job_event */
};
#define MUSTER_LISTEN_ALL 15

enum muster_heard_type {
    MUSTER_HEARD_READY = 1,
    MUSTER_HEARD_GAP,
    MUSTER_HEARD_DONE,
    MUSTER_HEARD_CANCELLED,
    MUSTER_HEARD_DELETED,
    MUSTER_HEARD_JOB
};

/* Something that was heard. A field that it does not have is NULL or 0. Everything that it points to is valid until the
 * next muster_listener_next(). */
struct muster_heard {
    size_t size; /* of the first one that is given to muster_listener_next(), set by the caller: the stride, too */
    int type;    /* enum muster_heard_type */
    int err;     /* GAP: why: E_CONN and the like; E_TOO_BIG: the bound is reached */
    const char *queue;   /* of which queue; JOB of a batch: "". READY, GAP: NULL for the jobs of all queues */
    const char *text;    /* GAP: why, in words for people */
    const char *process; /* DONE: which one */
    const char *worker;  /* DONE: who held it */
    const void *task;    /* DONE, CANCELLED: the task's bytes */
    size_t len;
    const struct muster_bytes *result;  /* DONE: the result that was given with the finish; NULL if none */
    const struct muster_job_event *job; /* JOB */
    const char *holder;                 /* DONE: the name under which its lease was taken; NULL: none */
};

/*
 * Make a listener, which listens to nothing yet. It starts the library's thread and begins to connect. `o` may be NULL
 * for all defaults.
 *
 * On success the caller owns `*out` and frees it with muster_listener_free(). On failure it is NULL.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM (also: no thread, no descriptors), or
 *   MUSTER_E_INVALID  an option is not allowed; muster_listener_options_check() says which, and why
 */
MUSTER_API int muster_listener_new(struct muster_listener **out,
                                   const struct muster_listener_options *o) MUSTER_MUST_CHECK;

/* Check options, as muster_listener_new() does: NULL, or what is wrong with them in words, as
 * muster_client_options_check() says it. */
MUSTER_API const char *muster_listener_options_check(const struct muster_listener_options *o);

/* End the library's thread, close the connections, and free the listener; NULL is allowed. It waits for nothing. */
MUSTER_API void muster_listener_free(struct muster_listener *l);

/* Why the last call of this thread to a listener or an asynchronous client returned an error, in words for people; ""
 * before the first one. The string is valid until the thread's next such call. */
MUSTER_API const char *muster_listener_error(const struct muster_listener *l);

/* The descriptor that is readable while there is something to take. It stays the listener's: wait for it, and do nothing
 * else with it. It is the same as long as the listener lives. */
MUSTER_API int muster_listener_fd(struct muster_listener *l);

/*
 * Take up to `max` of what was heard, in its order, without blocking. `out[0].size` must be set. Returns how many there
 * are; 0 if there is nothing, or if the size is wrong, which the log tells. One thread at a time.
 */
MUSTER_API size_t muster_listener_next(struct muster_listener *l, struct muster_heard *out, size_t max);

/*
 * Listen to a queue: `kinds` are bits of enum muster_listen_kind. `queue` NULL, with MUSTER_LISTEN_JOBS alone: the
 * jobs of all queues, and batches. The name is copied. Another call for the same queue replaces its kinds: another
 * READY follows. Who listens to a queue's jobs and to those of all queues hears each once. The queue need not exist.
 * Nothing is waited for: READY comes when listening has begun.
 *
 * Redis is told every three seconds by a short script for each queue that somebody listens, and once for jobs.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, MUSTER_E_STATE (see above), or
 *   MUSTER_E_INVALID  the queue's name, or the kinds: none, one that there is not, or for all queues others than jobs
 */
MUSTER_API int muster_listener_add(struct muster_listener *l, const char *queue, int kinds) MUSTER_MUST_CHECK;

/*
 * Listen to a queue no more; `queue` NULL: to the jobs of all queues no more. What was heard before the library's
 * thread carried it out may still come. If this user of Redis may not UNSUBSCRIBE, the first removal costs a GAP.
 *
 * Returns MUSTER_OK, also if it was not listened to, MUSTER_E_NOMEM, MUSTER_E_STATE, or MUSTER_E_INVALID: the queue's
 * name.
 */
MUSTER_API int muster_listener_remove(struct muster_listener *l, const char *queue) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
