/* SPDX-License-Identifier: MIT
 *
 * The worker: registers under an id with a liveness key that expires, takes tasks into its own in-process sets, is
 * woken by messages instead of polling, runs a handler per task, and gives back what it cannot finish.
 *
 * What a worker may rely on
 *   - A task is in one worker's hands at a time. Each time it is taken it gets a new token, and tokens only rise:
 *     show it to whatever the handler writes to, and let that refuse an older one than it has seen.
 *   - A task whose worker dies, stops or is lost goes back to the front of its queue. So a task can run more than
 *     once (at least once). To have it at most once, finish first and work afterwards: with MUSTER_LATER, call
 *     muster_process_end(p, MUSTER_FINISH), then do the work; if MUSTER_EVENT_UNCOUNTED comes for it, somebody else may
 *     have the task, too.
 *   - The end of a process counts once. Who no longer owns it gets MUSTER_E_LOST, and nothing is changed.
 *
 * Threads and the loop. A worker lives on one libevent loop: one that it makes and runs itself (muster_worker_run()),
 * or the caller's. All calls are for that loop's thread, except those marked "any thread". None of them blocks but
 * muster_worker_run(). Handlers and callbacks run inside the loop; while an inline handler runs, the worker's
 * heartbeat waits, so such a handler must be much shorter than the ttl: a third of it or less (a longer one is warned
 * of in the log). A longer one answers MUSTER_LATER and works elsewhere, or runs on a thread (the option `threads`), or
 * is a command (muster_worker_serve_command()).
 *
 * With `threads`, handlers run on threads of the worker's own, several at once; `arg` is theirs to protect. Events
 * still come in the loop's thread. A handler may use its process until it returns, and the calls marked "any thread".
 *
 * Every call but _free, _run and _new may be made from inside a handler or callback; _free there is deferred until the
 * callback has returned.
 *
 * The library installs no signal handlers and starts no threads but those asked for. It needs a Linux kernel of 5.3 or
 * later. After a fork the child must leave a worker that it inherited alone.
 */
#ifndef MUSTER_WORKER_H
#define MUSTER_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

struct event_base;
struct redisAsyncContext;
struct muster_worker;
struct muster_process;
struct muster_job;

#define MUSTER_TTL_MIN_MS 100
#define MUSTER_TTL_DEFAULT_MS 3000
#define MUSTER_HANDS_MAX 10000
#define MUSTER_WORKER_QUEUES_MAX 1000
#define MUSTER_DRAIN_DEFAULT_MS 30000

/* How a handler ends its process. */
enum muster_outcome {
    MUSTER_FINISH,    /* done: the task is gone for good */
    MUSTER_GIVE_BACK, /* not done: back to the front of the queue, for whoever is idle, at once */
    MUSTER_RETRY,     /* not done: to the end of the queue, after a delay (muster_process_set_retry) */
    MUSTER_FAIL,      /* out of the queue, onto its failed list (muster_process_set_failure) */
    MUSTER_LATER      /* still running: muster_process_end() will tell */
};

/* What a running handler is told. Only MUSTER_GO_ON can still change, and only once. */
enum muster_stop_reason {
    MUSTER_GO_ON,
    MUSTER_STOP_CANCELLED, /* the task was cancelled: stop, and end the process. Only MUSTER_FINISH still counts as
                              done; with any other outcome the task is gone */
    MUSTER_STOP_LOST,      /* the ttl ran out without a confirmed heartbeat, or the worker was failed by its peers, or
                              somebody else ended the process: the task may be in other hands. Stop; still end the
                              process, Redis decides whether it counts */
    MUSTER_STOP_LIMIT,     /* it ran longer than it may (`limit_ms`). MUSTER_GIVE_BACK now means what `on_limit` says */
    MUSTER_STOP_DRAIN      /* the worker stops and its drain time is over, or it leaves the queue: the task was, or
                              will be, given back */
};

/*
 * Runs one task, in the loop's thread or on one of the worker's. `p` is the worker's and valid until the handler
 * returns; after MUSTER_LATER until muster_process_end(). A process gets exactly one end.
 */
typedef enum muster_outcome muster_handler_fn(struct muster_process *p, void *arg);

enum muster_event_type {
    MUSTER_EVENT_STARTED,    /* registered, for the first time or anew (after it was lost); takes tasks from now on */
    MUSTER_EVENT_DOUBT,      /* the ttl passed without a confirmed heartbeat: nothing starts until one is confirmed */
    MUSTER_EVENT_LOST,       /* the registration is gone: its tasks are or will be in other hands; it registers anew */
    MUSTER_EVENT_DOWN,       /* a connection to Redis broke or could not be made; `err` and `text` say why. It goes on
                                trying by itself. Once per outage and connection, not once per attempt */
    MUSTER_EVENT_UP,         /* both connections work again */
    MUSTER_EVENT_STOP,       /* `process` is told to stop; muster_process_stop_reason() says why */
    MUSTER_EVENT_UNCOUNTED,  /* the end of `process` did not count (`err`, mostly MUSTER_E_LOST) */
    MUSTER_EVENT_SWEPT,      /* it gave the tasks of a failed worker back to their queues; `text` tells whose, how
                                many */
    MUSTER_EVENT_CANCEL,     /* somebody announced on `<prefix>_<queue>_cancel` that `task` of `queue` is cancelled: a
                                foreign program, or muster on a queue to which somebody listens. A process of this
                                worker that was cancelled by muster is told by MUSTER_EVENT_STOP besides; what a
                                foreign program cancels, is the program's to find and end */
    MUSTER_EVENT_DELETED,    /* the queue of `process` was deleted: it may finish; with any other outcome the task is
                                gone */
    MUSTER_EVENT_NEAR_LIMIT, /* `process` has used nine tenths of its time limit; muster_process_extend() gives it
                                more */
    MUSTER_EVENT_LEFT,       /* muster_worker_leave() of `queue` is done: its tasks are back, it may be served again */
    MUSTER_EVENT_REFUSED,    /* Redis refused a call; `err`, `text`. The worker goes on and will try again */
    MUSTER_EVENT_STOPPED     /* deregistered, or given up (`err`): the last event. The worker may be freed */
};

/*
 * What happened, borrowed until the callback returns. `err` is MUSTER_OK and `text` "" where the event has none;
 * `process`, `queue` and `task` are NULL except where stated above.
 */
struct muster_event {
    enum muster_event_type type;
    int err;
    const char *text;
    struct muster_process *process;
    const char *queue;
    const void *task;
    size_t len;
};
typedef void muster_event_fn(struct muster_worker *w, const struct muster_event *e, void *arg);

/*
 * Zero means default. All strings are copied.
 *
 *   size          sizeof(struct muster_worker_options)
 *   url, prefix   as in struct muster_client_options
 *   id            the worker's id; default: made from host name, pid and random digits. Only one live worker can have
 *                 an id
 *   base          the loop to live on; stays the caller's, must outlive the worker. Default: one of its own, for
 *                 muster_worker_run()
 *   data, subscription
 *                 two separate connected hiredis contexts, authenticated, database selected, not attached to a loop,
 *                 without replies outstanding: used instead of connecting. They are the worker's from
 *                 muster_worker_new()'s success on. Both or none. When one breaks, the worker connects by `url`, or,
 *                 if none was given, stops with E_CONN.
 *   ttl_ms        the worker counts as failed after so long without a heartbeat: default 3000, at least 100, at most
 *                 a day. The heartbeat comes every third of the shortest ttl in the namespace
 *   hands         how many handlers run at once, over all queues; default 1
 *   threads       run the handlers of muster_worker_serve() on so many threads of the worker's own; 0: inline, in the
 *                 loop. Each hand needs one: hands is at most this, and by default this
 *   prefetch      how many tasks more are taken in advance; hands + prefetch at most 10 000. They are given back first
 *                 when the worker stops. For many tasks shorter than a round trip
 *   permanent     never counts as failed: it ends only by stop, by muster_worker_fail(), or by its id starting anew.
 *                 For hosts that come back. Its ttl then only says how long it is handed work without being heard
 *   resume        a former life of this id that died left tasks in its hands: take them up again, instead of giving
 *                 them back to the front of their queues. Serve the same queues
 *   burst         stop when the queues hand out nothing and nothing runs. Work that is due is taken first, delayed
 *                 work is not waited for
 *   max_tasks     stop when so many tasks were started and have ended; 0: no limit
 *   in_turn       each take begins with the next queue, instead of always with the first one served (qless's round
 *                 robin)
 *   limit_ms      how long a handler may run on one task, or on a job without a limit of its own; past it, it is told
 *                 MUSTER_STOP_LIMIT; 0: as long as it likes. An inline handler cannot be told while it does not return
 *                 to the loop
 *   on_limit      what MUSTER_GIVE_BACK means for a process past its limit: MUSTER_FAIL (group "limit"; the default),
 *                 MUSTER_RETRY or MUSTER_GIVE_BACK
 *   drain_ms      how long muster_worker_stop(w, -1) lets handlers run on; default 30 000
 *   on_event, arg called on each event; may be NULL
 */
struct muster_worker_options {
    size_t size;
    const char *url, *prefix, *id;
    struct event_base *base;
    struct redisAsyncContext *data, *subscription;
    int ttl_ms, hands, threads, prefetch, permanent, resume, drain_ms, burst, in_turn;
    uint64_t max_tasks;
    int64_t limit_ms;
    enum muster_outcome on_limit;
    muster_event_fn *on_event;
    void *arg;
};

/*
 * Make a worker. Nothing is sent. `o` may be NULL for all defaults.
 *
 * On success `*out` is the caller's, to be freed with muster_worker_free(); on failure it is NULL, and contexts that
 * were handed in are still the caller's.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, or MUSTER_E_INVALID: a URL, name or number is not allowed.
 */
MUSTER_API int muster_worker_new(struct muster_worker **out, const struct muster_worker_options *o) MUSTER_MUST_CHECK;

/*
 * Free the worker at once, without telling Redis: what it holds is given back by its peers when its ttl has passed. To
 * leave politely, stop first and free after MUSTER_EVENT_STOPPED. Commands that it runs are killed. Processes that
 * answered MUSTER_LATER end with it: their pointers are dead. Handlers on threads are told MUSTER_STOP_LOST and waited
 * for. NULL is allowed.
 */
MUSTER_API void muster_worker_free(struct muster_worker *w);

/*
 * Begin: connect, subscribe, register. Returns at once; MUSTER_EVENT_STARTED tells when it is done. As long as there
 * is no Redis, the worker goes on trying.
 *
 * If a live worker has this id, or the namespace has another format, or access is denied at this first attempt, the
 * worker ends with MUSTER_EVENT_STOPPED and E_EXISTS, E_FORMAT or E_DENIED. (A permission lost later is an outage: it
 * goes on trying.)
 *
 * Returns MUSTER_OK, or MUSTER_E_STATE: it was started before.
 */
MUSTER_API int muster_worker_start(struct muster_worker *w) MUSTER_MUST_CHECK;

/*
 * Serve a queue: take its tasks and run `fn` for each. Several queues are looked at in the order in which they were
 * served, or in turn (option `in_turn`). At most `hands` of its processes at once; 0: as many as the worker has hands.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, or
 *   MUSTER_E_NOT_STARTED  muster_worker_start() comes first
 *   MUSTER_E_INVALID      the queue's name, or `hands`
 *   MUSTER_E_EXISTS       it serves this queue already
 *   MUSTER_E_STATE        the worker stops, is just leaving this queue (MUSTER_EVENT_LEFT tells when that is done), or
 *                         serves MUSTER_WORKER_QUEUES_MAX queues, counting those it left
 */
MUSTER_API int muster_worker_serve(struct muster_worker *w, const char *queue, int hands, muster_handler_fn *fn,
                                   void *arg) MUSTER_MUST_CHECK;

/*
 * A command to run for each task, copied by muster_worker_serve_command().
 *
 *   size             sizeof(struct muster_command)
 *   argv             the program and its arguments, NULL at the end. The program is looked up in PATH when the queue
 *                    is served
 *   replace          if not NULL: each occurrence of this string in the arguments is replaced by the task's bytes. A
 *                    task that holds a NUL then fails, group "bad-argument"
 *   hands            as in muster_worker_serve()
 *   retry_delay_ms   delay after exit status 75; default 1000
 *   grace_ms         from SIGTERM to SIGKILL when a child is told to stop; default 5000
 *
 * The child gets the task on standard input, its output goes where the program's goes, and it runs in a process group
 * of its own. Its environment has MUSTER_QUEUE, MUSTER_PROCESS, MUSTER_TOKEN and MUSTER_WORKER. If the program dies,
 * the kernel sends the child SIGTERM. For a job there are MUSTER_JOB, its id, and MUSTER_ATTEMPT, 1 for the first.
 *
 * Exit status 0 finishes the task; 75 (EX_TEMPFAIL) retries it; 126 and 127 (cannot be run, not found) give it back
 * and stop the worker with E_NOT_FOUND; any other fails it, group "exit-N"; death by a signal fails it, group
 * "signal-N". A job is retried by its own settings instead of failed, and keeps that group. A child that is told to
 * stop (cancelled, lost, past its limit, or at the end of a drain) gets SIGTERM, and SIGKILL after `grace_ms`, with its
 * whole process group; if it does not exit with 0 its task is given back, which for a cancelled one means that it is
 * gone.
 */
struct muster_command {
    size_t size;
    const char *const *argv;
    const char *replace;
    int hands, retry_delay_ms, grace_ms;
};

/* As muster_worker_serve(), and MUSTER_E_NOT_FOUND if the program is not found or cannot be executed. */
MUSTER_API int muster_worker_serve_command(struct muster_worker *w, const char *queue,
                                           const struct muster_command *command) MUSTER_MUST_CHECK;

/*
 * Stop serving a queue: nothing more of it starts, and this worker's own processes of it go back to the front, no other
 * worker's. Handlers that still run on it are told MUSTER_STOP_DRAIN and their outcome no longer counts; commands are
 * ended first. MUSTER_EVENT_LEFT tells when it is done; without a connection that is when there is one again. (worqr's
 * stopWork.)
 *
 * Returns MUSTER_OK, also when it is leaving already; MUSTER_E_NOT_FOUND: it does not serve this queue; MUSTER_E_STATE:
 * the worker stops.
 */
MUSTER_API int muster_worker_leave(struct muster_worker *w, const char *queue) MUSTER_MUST_CHECK;

/* Told once per muster_worker_enqueue(): `err` as of muster_task_enqueue(), and how many wait. Not after the worker
 * was freed. */
typedef void muster_done_fn(struct muster_worker *w, int err, uint64_t waiting, void *arg);

/*
 * Enqueue a task without blocking, over the worker's own connection, to any queue. The bytes are copied. `fn` (may be
 * NULL) is called from the loop with the answer: MUSTER_E_CONN when the connection broke before it came, so that it is
 * unknown.
 *
 * Returns MUSTER_OK: sent; or, with nothing sent and `fn` not called, MUSTER_E_INVALID: the queue's name;
 * MUSTER_E_TOO_BIG: over 64 MiB; MUSTER_E_CONN: not connected; MUSTER_E_NOT_STARTED: not registered; MUSTER_E_NOMEM.
 */
MUSTER_API int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len,
                                     muster_done_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Run the worker's own loop until the worker has stopped; only without a `base` of the caller's.
 *
 * Returns MUSTER_OK after a stop that was asked for, MUSTER_E_STATE if it has no loop of its own or was not started,
 * else what ended it: see muster_worker_start(), struct muster_command, and muster_worker_error().
 */
MUSTER_API int muster_worker_run(struct muster_worker *w) MUSTER_MUST_CHECK;

/*
 * Stop: take nothing more, give back what has not started, let running handlers end for up to `drain_ms`, then give
 * back the rest and deregister, in one script. -1: the worker's `drain_ms` option; 0: give back at once. A second call
 * with a shorter time shortens it. Handlers that are still running then are told MUSTER_STOP_DRAIN and their outcome no
 * longer counts. If Redis cannot be reached the worker waits for it until the drain time and one ttl are over, and then
 * ends with E_CONN: its peers give back what it held.
 *
 * Any thread, and from a signal handler: it only leaves a note for the loop. MUSTER_EVENT_STOPPED tells the end.
 *
 * Returns MUSTER_OK, also when it has stopped already.
 */
MUSTER_API int muster_worker_stop(struct muster_worker *w, int drain_ms);

/* The worker's id, and what it last met, in words for people ("" if nothing). Valid until the worker is freed, the
 * error until the next call or event. */
MUSTER_API const char *muster_worker_id(const struct muster_worker *w);
MUSTER_API const char *muster_worker_error(const struct muster_worker *w);

/* The process: its id `<worker>:<token>:<queue>`, its queue, its token. Strings live as long as the process. */
MUSTER_API const char *muster_process_id(struct muster_process *p);
MUSTER_API const char *muster_process_queue(const struct muster_process *p);
MUSTER_API uint64_t muster_process_token(const struct muster_process *p);

/* The task's bytes, borrowed as long as the process lives; followed by a NUL that does not count. `len` may be NULL. */
MUSTER_API const void *muster_process_task(const struct muster_process *p, size_t *len);

/* The job that it is, NULL for a plain task; its data are what muster_process_task() gives. Borrowed as long as the
 * process lives; a copy of the record as it was when the job was taken, without history, `after` and `before`. */
MUSTER_API const struct muster_job *muster_process_job(const struct muster_process *p);

/* The worker that runs it. */
MUSTER_API struct muster_worker *muster_process_worker(const struct muster_process *p);

/* Shall the handler stop? Any thread, as often as liked. */
MUSTER_API enum muster_stop_reason muster_process_stop_reason(const struct muster_process *p);

/*
 * For an end with MUSTER_RETRY: after so many ms, counted by Redis. Default: a task at once, a job after its own
 * backoff. A job that has had all its retries goes onto the failed list instead, group "failed-retries"; group and
 * message of muster_process_set_failure(), if set, are kept in its record. E_INVALID if negative.
 */
MUSTER_API int muster_process_set_retry(struct muster_process *p, int64_t delay_ms);

/*
 * For an end with MUSTER_FAIL: a group (1 to 200 bytes without control characters; default "failed"), and a message (up
 * to 64 KiB; default none). Both are copied. E_INVALID, E_TOO_BIG or E_NOMEM: the old ones stay.
 */
MUSTER_API int muster_process_set_failure(struct muster_process *p, const char *group, const char *message);

/*
 * For an end with MUSTER_FINISH: bytes of any kind for those who listen to the queue (muster_queue_listen()), and for a
 * job's record; copied, at most 64 MiB. No bytes are a result too. E_TOO_BIG or E_NOMEM: the old one stays.
 */
MUSTER_API int muster_process_set_result(struct muster_process *p, const void *result, size_t len);

/*
 * For an end with MUSTER_FINISH of a job: it is done here, and goes on to the queue `next`, after `delay_ms`, and when
 * the `n_after` jobs `after` are complete; its retries and crashes begin anew, and jobs that wait for it go on waiting.
 * All is copied; NULL for `next`: nowhere. A job for which it cannot wait (itself, one that waits for it, a recurring
 * one) is passed over: the end counts. A job that was cancelled meanwhile goes nowhere, it is complete. (qless's
 * advance.)
 *
 * Returns MUSTER_OK; or MUSTER_E_NOMEM; MUSTER_E_INVALID: a name or the delay; MUSTER_E_TOO_BIG: over
 * MUSTER_JOB_AFTER_MAX; MUSTER_E_STATE: it is no job. Then what was set before stays.
 */
MUSTER_API int muster_process_set_next(struct muster_process *p, const char *next, int64_t delay_ms,
                                       const char *const *after, size_t n_after);

/*
 * Give the job new data, which its record has from then on, and its next taker gets: after a retry, say, or in the
 * queue of muster_process_set_next(). Copied, at most 64 MiB. Any thread. It is sent when the loop comes to it, before
 * the process' end, and lost without a connection. (qless's heartbeat with data.)
 *
 * Returns MUSTER_OK, MUSTER_E_TOO_BIG, MUSTER_E_NOMEM, or MUSTER_E_STATE: it is no job.
 */
MUSTER_API int muster_process_set_data(struct muster_process *p, const void *data, size_t len);

/*
 * Say how far the work is: a note that the list of processes (`muster ps`) shows, copied, at most MUSTER_PROGRESS_MAX
 * bytes (client.h); a later one takes its place. Any thread. It is sent when the loop comes to it, and lost without a
 * connection.
 *
 * Returns MUSTER_OK, MUSTER_E_TOO_BIG or MUSTER_E_NOMEM.
 */
MUSTER_API int muster_process_progress(struct muster_process *p, const char *note);

/* Its time limit ends `limit_ms` from now, whether it had one or not; 0: it has none any more. Any thread. E_INVALID if
 * negative. Once told MUSTER_STOP_LIMIT it stays told. */
MUSTER_API int muster_process_extend(struct muster_process *p, int64_t limit_ms);

/*
 * End a process whose handler answered MUSTER_LATER, once; `p` is dead afterwards. `o` must not be MUSTER_LATER. If the
 * end does not count, MUSTER_EVENT_UNCOUNTED tells. Any thread, as long as the worker is not freed; from another thread
 * than the loop's it may also come before the handler has returned, which then must answer MUSTER_LATER.
 *
 * Returns MUSTER_OK, or MUSTER_E_STATE: its handler has not answered MUSTER_LATER, or it was ended before; nothing was
 * changed.
 */
MUSTER_API int muster_process_end(struct muster_process *p, enum muster_outcome o);

#ifdef __cplusplus
}
#endif
#endif
