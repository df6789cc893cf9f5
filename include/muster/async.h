/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client: calls that never block, for programs with any event loop, or with none.
 *
 * A call is handed to a thread of the library's own, which talks to Redis over one connection. Its answer comes back by
 * muster_async_next(), or by muster_async_dispatch(), which calls the function that was given with the call. The
 * descriptor of muster_async_fd() is readable while there are answers: give it to epoll, libuv, GLib, asyncio or
 * another loop. Thousands of calls may be in flight; tasks for one queue that are enqueued one after the other go to
 * Redis together.
 *
 * Threads. Any thread may call, at any time, also from a function that muster_async_dispatch() calls. Everything that
 * is given is copied. Only muster_async_next() and muster_async_dispatch() are for one thread at a time, and
 * muster_async_free() is the last call of all. The library's thread has all signals blocked, and calls nothing of the
 * program but the log sink (error.h).
 *
 * Order. Calls reach Redis in the order in which they were made, and answers come in that order, too. The exceptions:
 *   - What Redis has refused for a reason that passes is sent again, behind what it has executed meanwhile. So are the
 *     calls in flight when Redis forgets its scripts (SCRIPT FLUSH), and a take that has moved other things and taken
 *     nothing yet.
 *   - A take that waits is answered when there is something.
 *   - A job's record is asked for in more than one step if it is long, or if the user may run no script.
 *   - What must be confirmed is answered when it is. Calls that were sent together with it are answered before, those
 *     that are sent later wait for it.
 *
 * Answers. Each call that returned MUSTER_OK has exactly one answer, unless the client is freed before. It comes in
 * bounded time:
 *   - While there is no connection a call waits for one, until `timeout_ms` after it was made, or after the connection
 *     was lost if that was later; then it is answered with why there is none, mostly E_CONN. It was not sent. If
 *     connections break again and again, this time begins anew with each break before which Redis has executed
 *     something: then a call may wait as long as calls before it need. Where waiting does not help - a wrong password
 *     (E_DENIED), another format (E_FORMAT), a file of TLS that cannot be read (E_INVALID) - the answer comes at once.
 *   - If Redis answers nothing at all for `timeout_ms`, or the connection breaks, all that was sent and not answered is
 *     answered with E_TIMEOUT or E_CONN: it may or may not have been done. The client connects again by itself.
 *   - What Redis has refused without executing it, for a reason that passes (it is loading, its slot moves, it has no
 *     master), is sent again, until `timeout_ms` after the call was made, or after Redis began to refuse if that was
 *     later; then it is E_BUSY. As above, this time begins anew when Redis has executed something in between.
 *
 * A take that waits for work has its `wait_ms` besides.
 *
 * Any answer may be MUSTER_E_NOMEM, _E_CONN, _E_TIMEOUT, _E_BUSY, _E_DENIED, _E_FULL, _E_REDIS, _E_FORMAT or _E_INVALID
 * with the meaning given in error.h. Below, a call lists what it returns itself, and the answers that mean something
 * more.
 *
 * A call itself returns MUSTER_OK, and then its answer follows; or an error, and then nothing was queued and no answer
 * follows:
 *   MUSTER_E_BUSY     `max_in_flight` calls, or `max_bytes` bytes, are in flight: take answers first
 *   MUSTER_E_NOMEM
 *   MUSTER_E_STATE    in a child of fork(): the library's thread is the parent's, and so is the client. In the child
 *                     all calls return this, muster_async_next() and _dispatch() return 0, and muster_async_free() does
 *                     nothing. A function that muster_async_dispatch() has called may fork: the child is handed no more
 *                     answers
 *   MUSTER_E_INVALID, MUSTER_E_TOO_BIG  as the call says; muster_async_error() has the words
 *
 * In flight is a call from when it was made until its answer is handed out by muster_async_next() or
 * muster_async_dispatch(). So a program that does not take its answers is refused more calls, and memory is bounded.
 *
 *     void enqueued(const struct muster_answer *answer, void *arg);
 *
 *     struct muster_async *a;
 *     muster_async_new(&a, NULL);
 *     for (int i = 0; i < n; i++)
 *         if (muster_async_enqueue(a, "mails", mails[i].text, mails[i].len, enqueued, &mails[i]) != MUSTER_OK)
 *             complain(muster_async_error(a));
 *     if (muster_async_wait(a, -1) == MUSTER_OK)
 *         while (muster_async_dispatch(a, 0) > 0)
 *             ;
 */
#ifndef MUSTER_ASYNC_H
#define MUSTER_ASYNC_H

#include "client.h"
#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

struct muster_async;
struct muster_answer;

#define MUSTER_ASYNC_IN_FLIGHT_DEFAULT 100000
#define MUSTER_ASYNC_BYTES_DEFAULT ((size_t)256 * 1024 * 1024)

/* Called by muster_async_dispatch(), on its thread, with the `arg` of the call. The answer is borrowed until it
 * returns. */
typedef void muster_async_fn(const struct muster_answer *answer, void *arg);

/* Zero or NULL means the default. */
struct muster_async_options {
    size_t size; /* sizeof(struct muster_async_options) */

    /* Where Redis is, and all else that a blocking client is told (client.h); NULL: all defaults. `redis`, a connection
     * of the caller's, is not for an asynchronous client (E_INVALID): give it a URL. With `replicas` or `fsync` what is
     * enqueued or put is answered only when it is confirmed, or E_UNCONFIRMED: it is there, maybe on this server
     * only. Calls behind it wait for the confirmation, too. */
    const struct muster_client_options *client;

    /* How many calls may be in flight, and how many bytes of tasks, results and the like they may have together. A call
     * that alone has more bytes is accepted when nothing else is in flight. What an answer brings is not counted: a
     * take brings up to about 4 MiB, or one larger task. */
    size_t max_in_flight; /* MUSTER_ASYNC_IN_FLIGHT_DEFAULT */
    size_t max_bytes;     /* MUSTER_ASYNC_BYTES_DEFAULT */
};

/* The answer to a call. What does not belong to the call is 0 or NULL. Everything that it points to is valid until the
 * next muster_async_next() or muster_async_dispatch(). */
struct muster_answer {
    size_t size;         /* of the first one that is given to muster_async_next(), set by the caller: the stride, too */
    muster_async_fn *fn; /* what was given with the call */
    void *arg;
    int err;          /* MUSTER_OK, or an error */
    int reserved;     /* 0 */
    const char *text; /* the error in words for people; "" if there is none */

    uint64_t waiting; /* enqueue, length: how many tasks and jobs wait in the queue, as muster_queue_length() counts */
    const struct muster_process_info *processes; /* take: n of them */
    size_t n;
    const struct muster_job *job; /* job: its record */
    const char *id;               /* put: the job's id, also after an error */
};

/*
 * Make a client. It starts the library's thread and begins to connect. `o` may be NULL for all defaults.
 *
 * On success the caller owns `*out` and frees it with muster_async_free(). On failure it is NULL.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM (also: no thread, no descriptors), or
 *   MUSTER_E_INVALID  an option is not allowed; muster_async_options_check() says which, and why
 */
MUSTER_API int muster_async_new(struct muster_async **out, const struct muster_async_options *o) MUSTER_MUST_CHECK;

/* Check options, as muster_async_new() does: NULL, or what is wrong with them in words, as
 * muster_client_options_check() says it. */
MUSTER_API const char *muster_async_options_check(const struct muster_async_options *o);

/*
 * End the library's thread, close the connection, and free the client; NULL is allowed. It calls nothing of the
 * program. What was not sent is not done. What was sent and not answered may or may not have been done. To have all
 * done and answered, call muster_async_wait() and take the answers first.
 *
 * What takes have taken, or may have taken, without the program having taken their answers, is given back first. That
 * may take as long as `timeout_ms`, also for a connection that is not there. Without such takes nothing is waited for.
 *
 * In a function that muster_async_dispatch() calls it takes effect when that function has returned: no other one is
 * called, and the client is gone when muster_async_dispatch() returns. No other call of the client may follow.
 */
MUSTER_API void muster_async_free(struct muster_async *a);

/* Why the last call of this thread to an asynchronous client or a listener returned an error, in words for people; ""
 * before the first one. The string is valid until the thread's next such call. */
MUSTER_API const char *muster_async_error(const struct muster_async *a);

/* The descriptor that is readable while there are answers. It stays the client's: wait for it, and do nothing else with
 * it. It is the same as long as the client lives. */
MUSTER_API int muster_async_fd(struct muster_async *a);

/*
 * Take up to `max` answers, without blocking. It calls nothing: `fn` and `arg` are given as they were. `out[0].size`
 * must be set. Returns how many there are; 0 if there is none, or if the size is wrong, which the log tells. One thread
 * at a time.
 */
MUSTER_API size_t muster_async_next(struct muster_async *a, struct muster_answer *out, size_t max);

/*
 * Take up to `max` answers, 0: all that are there now, without blocking, and call the `fn` of each on this thread; an
 * answer whose `fn` is NULL is taken and dropped. `fn` may make calls, and free the client, but must not take
 * answers. Returns how many were taken. One thread at a time.
 */
MUSTER_API size_t muster_async_dispatch(struct muster_async *a, size_t max);

/*
 * Wait until each call that was made has its answer, at most `timeout_ms`, -1: for ever. It hands out nothing. Any
 * thread.
 *
 * Returns MUSTER_OK; MUSTER_E_TIMEOUT: some have no answer yet; MUSTER_E_INVALID: the time is below -1; or
 * MUSTER_E_STATE, as all calls.
 */
MUSTER_API int muster_async_wait(struct muster_async *a, int64_t timeout_ms) MUSTER_MUST_CHECK;

/*
 * Enqueue one task, as muster_task_enqueue(): straight to an idle worker, or to the end of the queue. Neighbours, calls
 * for the same queue without another call between them, go in one script, up to 200 tasks or 256 KiB: all of them are
 * there or none is, and each has its own answer.
 *
 * Returns as all calls, and
 *   MUSTER_E_INVALID  the queue's name, or bytes that are NULL with a length
 *   MUSTER_E_TOO_BIG  the task is longer than `max_task_len`
 * Answers `waiting`; or
 *   MUSTER_E_FULL     nothing was enqueued
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  the task may or may not be enqueued, if it was sent; enqueued again, it may be
 *                     there twice
 *   MUSTER_E_UNCONFIRMED  the task is enqueued; enqueued again, it is there twice
 */
MUSTER_API int muster_async_enqueue(struct muster_async *a, const char *queue, const void *task, size_t len,
                                    muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Put a job, as muster_job_put(). A schedule (`cron`) is refused: that needs Redis' time first. Without an id of its
 * own the job gets one, which the answer tells.
 *
 * Returns as all calls, and
 *   MUSTER_E_INVALID, MUSTER_E_TOO_BIG  the queue's name, or what the spec must not have
 * Answers `id`; or what the blocking call returns:
 *   MUSTER_E_EXISTS   a job of this id is alive. After E_CONN or E_TIMEOUT the same put is safe: this says then that it
 *                     had been put
 *   MUSTER_E_UNCONFIRMED  it is put; the same put again, of an id of your own, is confirmed as soon as it can be
 */
MUSTER_API int muster_async_put(struct muster_async *a, const char *queue, const struct muster_job_spec *spec,
                                muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Take up to `n` tasks and jobs (at most MUSTER_LEASE_TAKE_MAX) under a lease of `lease_ms`, as muster_lease_take(), in
 * one call of the script: what one may move, about 4 MiB.
 *
 * If `wait_ms` is above 0 and there is nothing, the answer comes as soon as there is something, at the latest after
 * this time, counted from the call, and a last look, which may take `timeout_ms`. Nobody polls: every call of muster
 * that makes work available tells it, over a second connection. A bare LPUSH is found within five seconds, or at once
 * after its PUBLISH. Any number of takes may wait, of many queues; those of one queue take turns, also with other
 * programs. Idle workers are served first. While it waits other calls go on. What Redis does not send for its size fails,
 * and what there is no memory for goes back, as by muster_lease_take().
 *
 * Returns as all calls, and
 *   MUSTER_E_INVALID  the queue's name, n, lease_ms (1 to MUSTER_LEASE_MAX_MS) or wait_ms
 * Answers the processes, at least one; or
 *   MUSTER_E_NOT_FOUND  there was no task (in time), or the queue is paused or at a limit
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  some may have been taken. They are given back as soon as there is a connection,
 *                     before anything else is sent, and nothing of it counts; where Redis refuses that, again each
 *                     second, beside other calls. If it is not done before the client is freed, or within ten minutes,
 *                     for which Redis knows what a take got, they come back when the lease lapses
 *   MUSTER_E_NOMEM    also: there is a process for whose bytes there is no memory, and nothing behind it; `text` names it, and
 *                     says how many bytes it has. It goes back to the front of its queue, for a taker that has more
 *                     memory, and nothing of it counts
 */
MUSTER_API int muster_async_take(struct muster_async *a, const char *queue, size_t n, int64_t lease_ms, int64_t wait_ms,
                                 muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * End a process by its id, as muster_lease_finish(), _give_back(), _retry(), _retry_as() and _fail(). `o` may be NULL.
 *
 * Each returns as all calls, and
 *   MUSTER_E_INVALID, MUSTER_E_TOO_BIG  the id or another argument
 * and answers what the blocking call returns: MUSTER_OK only once for each process.
 */
MUSTER_API int muster_async_finish(struct muster_async *a, const char *process, const struct muster_finish_options *o,
                                   muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;
MUSTER_API int muster_async_give_back(struct muster_async *a, const char *process, muster_async_fn *fn,
                                      void *arg) MUSTER_MUST_CHECK;
MUSTER_API int muster_async_retry(struct muster_async *a, const char *process, int64_t delay_ms, muster_async_fn *fn,
                                  void *arg) MUSTER_MUST_CHECK;
MUSTER_API int muster_async_retry_as(struct muster_async *a, const char *process, int64_t delay_ms, const char *group,
                                     const char *message, muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;
MUSTER_API int muster_async_fail(struct muster_async *a, const char *process, const char *group, const char *message,
                                 muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* Extend a lease, say how far the work is, or give a job new data, as muster_lease_extend(). Returns and answers as the
 * ends above, and as that call. */
MUSTER_API int muster_async_extend(struct muster_async *a, const char *process, const struct muster_extend_options *o,
                                   muster_async_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Look at one job's record. It is that of muster_job_get(), without history, `after`, `before` and the like,
 * `blocked_by`, `holder` and `cancelled`, which take more than one round trip: these are empty, whatever there is.
 *
 * Returns as all calls, and MUSTER_E_INVALID: the id. Answers the job; or
 *   MUSTER_E_NOT_FOUND  there is no such job (any more)
 *   MUSTER_E_REDIS    its record cannot be read
 *   MUSTER_E_TOO_BIG  Redis closes the connection rather than send it for its size (client-output-buffer-limit): in
 *                     words with its id, its bytes and the limit. Nothing else is under way when that is tried, so the
 *                     other calls go on
 */
MUSTER_API int muster_async_job(struct muster_async *a, const char *id, muster_async_fn *fn,
                                void *arg) MUSTER_MUST_CHECK;

/* How much waits in a queue, as muster_queue_length(). Returns as all calls, and MUSTER_E_INVALID: the queue's name.
 * Answers `waiting`. */
MUSTER_API int muster_async_length(struct muster_async *a, const char *queue, muster_async_fn *fn,
                                   void *arg) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
