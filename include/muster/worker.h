/* SPDX-License-Identifier: MIT
 *
 * The worker. It registers under an id with a liveness key that expires, takes tasks into its own in-process sets, is
 * woken by messages instead of polling, runs a handler for each task, and gives back what it cannot finish.
 *
 * What a worker may rely on
 *   - A task is in one worker's hands at a time. Each take gives the task a new token, and tokens only rise. Show the
 *     token to whatever the handler writes to; it must refuse a token older than the newest it has seen.
 *   - A task goes back to the front of its queue when its worker dies, stops or is lost. So a task can run more than
 *     once (at least once). For at most once, finish before you start the work: answer MUSTER_LATER, call
 *     muster_process_end(p, MUSTER_FINISH), then do the work. If MUSTER_EVENT_UNCOUNTED comes for the process, another
 *     worker has the task or may have it.
 *   - What a worker held when it died runs alone from then on: nothing else runs beside it here (MUSTER_EVENT_ALONE).
 *     If it kills its worker again, it fails in the end, and nothing else does (the setting max_crashes, job.h; 0: it
 *     neither runs alone nor fails).
 *   - The end of a process counts once. A worker that no longer owns the process gets MUSTER_E_LOST, and nothing is
 *     changed.
 *
 * Threads and the loop. A worker lives on one libevent loop: its own, which muster_worker_run() runs; the caller's
 * (option `base`); or one on a thread of the library (option `own_thread`). All calls must be made on that loop's
 * thread, except those marked "any thread". No call blocks but muster_worker_run(), and those that say so. Handlers and
 * callbacks run inside the loop. The worker's heartbeat waits while an inline handler runs, so an inline handler must
 * be much shorter than the ttl: a third of it or less (the log warns of a longer one). A longer handler answers
 * MUSTER_LATER and works elsewhere, or runs on a thread (option `threads`), or is a command
 * (muster_worker_serve_command()).
 *
 * With `threads`, handlers run on threads of the worker's own, several at once; the program must protect what `arg`
 * points to. Events still come on the loop's thread. On such a thread a handler may make every
 * muster_process_...() call on its own process until it returns, and the calls marked "any thread".
 *
 * Any event loop. With `own_thread` a program needs no libevent. muster_worker_fd() is readable when there is something
 * for it, and muster_worker_next() hands out, without blocking:
 *   - processes of queues that are served without a handler (muster_worker_serve() with NULL). They are the program's
 *     until it ends them, by muster_process_end() or muster_process_end_many(), from any thread;
 *   - events, if there is no `on_event`, and the program has asked for the descriptor;
 *   - answers to what it enqueues or puts without a function.
 * epoll, libuv, GLib, asyncio and others watch the descriptor, and call muster_worker_next() until it returns less than
 * was asked for. Handlers (if there are no `threads`), `on_event`, `on_end`, and what is given to
 * muster_worker_post() and the like still run inside the loop, which is then the library's thread. No signal is
 * delivered there.
 *
 * Every call but _run and _new may be made from inside a handler or callback in the loop. _free takes effect when the
 * callback has returned; a handler on a thread of the worker's must not call it.
 *
 * The library installs no signal handlers, and starts no threads except those asked for, and a short one for each
 * look-up of a host's name (client.h). It needs Linux 5.3 or later.
 * After a fork() a worker is the parent's, with its processes. In the child each call that the loop or Redis would
 * have to hear of returns MUSTER_E_STATE, or nothing, and waits for nobody; muster_worker_stop() and
 * muster_worker_free() do nothing. A program may call exit() while a worker has a thread: that waits for nobody, and
 * says nothing to Redis, so peers give back what the worker held when its ttl has passed.
 *
 * What a program must not do
 *   - A handler or callback in C++ must not let an exception out: there is nobody to catch it, on the worker's threads
 *     least of all, and the program is aborted.
 *   - A program that runs commands (muster_worker_serve_command()) must not reap all its children, as with waitpid(-1),
 *     or ignore SIGCHLD: the exit status of a command would be lost, and its outcome with it.
 *   - No thread may be cancelled (pthread_cancel()) in a call of this library, and no handler's: others would wait for
 *     ever for what it holds. muster_worker_stop() ends muster_worker_run().
 *   - Pointers to workers, processes and callbacks must not be NULL, where nothing says that they may be.
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
struct muster_job_spec;

#define MUSTER_TTL_MIN_MS 100
#define MUSTER_TTL_DEFAULT_MS 3000
#define MUSTER_HANDS_MAX 10000
#define MUSTER_WORKER_QUEUES_MAX 1000
#define MUSTER_DRAIN_DEFAULT_MS 30000
#define MUSTER_RETRY_DELAY_DEFAULT_MS 1000
#define MUSTER_STAY_DEFAULT_MS 600000
#define MUSTER_MOVE_TIME_DEFAULT_MS 5000
#define MUSTER_RESULT_DEFAULT ((size_t)64 * 1024)
#define MUSTER_UNREAD_MAX 10000
#define MUSTER_UNREAD_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define MUSTER_ANSWERS_MAX 100000

/* How a handler ends its process. */
enum muster_outcome {
    MUSTER_FINISH,    /* done: the task is gone for good */
    MUSTER_GIVE_BACK, /* not done: back to the front of the queue, at once, for any idle worker */
    MUSTER_RETRY,     /* not done: to the end of the queue, after a delay (muster_process_set_retry()) */
    MUSTER_FAIL,      /* out of the queue and onto its failed list (muster_process_set_failure()) */
    MUSTER_LATER      /* still running: muster_process_end() will end it */
};

/* What a running handler is told. The reason changes at most once, from MUSTER_GO_ON to one of the others; but
 * MUSTER_STOP_MOVE may be followed by another one, or by MUSTER_GO_ON when the process stays. */
enum muster_stop_reason {
    MUSTER_GO_ON,

    /* The task was cancelled: stop, and end the process. MUSTER_FINISH still counts as done; after any other outcome
     * the task is gone. A job is gone already: then a finish is told by MUSTER_EVENT_UNCOUNTED, E_CANCELLED. */
    MUSTER_STOP_CANCELLED,

    /* The ttl ran out without a confirmed heartbeat (unless the option `on_doubt` lets handlers run on), or the worker
     * was failed by its peers, or somebody else ended the process: the task may be in other hands. Stop, and still end
     * the process: Redis decides whether it counts. */
    MUSTER_STOP_LOST,

    /* It ran longer than its limit (`limit_ms`). MUSTER_GIVE_BACK now means what the option `on_limit` says. */
    MUSTER_STOP_LIMIT,

    /* The worker stops and its drain time is over, or the worker leaves the queue: the task was given back, or will
     * be. */
    MUSTER_STOP_DRAIN,

    /* The queue shares evenly (the setting `share`, job.h), this worker holds more than its share, and another worker
     * is to go on with the task. Stop and give it back within muster_process_move_ms(): then that worker has it at
     * once. Or let it stay: muster_process_stay(). MUSTER_FINISH and the others count as always. */
    MUSTER_STOP_MOVE
};

/*
 * Runs one task, on the loop's thread or on one of the worker's threads. `p` belongs to the worker. It is valid until
 * the handler returns; after MUSTER_LATER, until muster_process_end(). A process gets exactly one end. If the handler
 * returns a number that is no outcome, the task or job fails, group "no-outcome", with a message that has the number.
 */
typedef enum muster_outcome muster_handler_fn(struct muster_process *p, void *arg);

enum muster_event_type {
    /* The worker is registered, for the first time or again after it was lost. It takes tasks from now on. */
    MUSTER_EVENT_STARTED,

    /* The ttl passed without a confirmed heartbeat. No handler starts until a heartbeat is confirmed. */
    MUSTER_EVENT_DOUBT,

    /* The registration is gone: the worker's tasks are in other hands, or will be. The worker registers again; or stops,
     * if it was to: `text` says so. */
    MUSTER_EVENT_LOST,

    /* A connection to Redis broke or could not be made; `err` and `text` say why. The worker goes on trying. This event
     * comes once per outage and connection, not once per attempt; and once more when the reason is another one, a
     * second later at the earliest if it tells more, else ten seconds later. Before the start what trying does not mend
     * ends the worker instead. */
    MUSTER_EVENT_DOWN,

    /* Both connections work again. While Redis is a read-only replica, they do not. */
    MUSTER_EVENT_UP,

    /* `process` is told to stop; muster_process_stop_reason() says why. */
    MUSTER_EVENT_STOP,

    /* The end of `process` did not count; `err` is mostly MUSTER_E_LOST. MUSTER_E_CANCELLED: it was to finish a job
     * that had been cancelled. With MUSTER_E_CONN nobody knows whether it counted: it was sent, its answer was lost,
     * and when it was sent again the process was not this worker's any more. Its first sending may have counted, or
     * another worker may have the task. */
    MUSTER_EVENT_UNCOUNTED,

    /* This worker gave the tasks of a failed worker back to their queues; `text` names that worker and how many, and
     * how many failed, group "crashed", if any did. */
    MUSTER_EVENT_SWEPT,

    /* A message on `<prefix>_<queue>_cancel` says that `task` of `queue` is cancelled. It came from a foreign program,
     * or from muster, which publishes it if somebody listens to the queue. A process of this worker that muster
     * cancelled is told by MUSTER_EVENT_STOP as well. If a foreign program cancels a task, your program itself must
     * find and end the process. */
    MUSTER_EVENT_CANCEL,

    /* The queue of `process` was deleted. The process may still finish; after any other outcome the task is gone. */
    MUSTER_EVENT_DELETED,

    /* `process` has used nine tenths of its time limit; muster_process_extend() gives it more. */
    MUSTER_EVENT_NEAR_LIMIT,

    /* muster_worker_leave() of `queue` is done: its tasks are back, and the queue may be served again. It comes once more
     * if Redis forgets that, as after a failover, and hands something of the queue over again: that has gone back. */
    MUSTER_EVENT_LEFT,

    /* Redis refused a call; `err` and `text` say why. The worker goes on and tries again. With MUSTER_E_TOO_BIG it is a
     * process that this Redis does not let through for its size, and that fails, group "too-large": its result, which is
     * lost then, or its task, which no handler has had; or a task for which this worker has no memory, while it has
     * no other. `text` names the process and how many bytes. Or, once, that tasks which it asks
     * for together are more than this Redis sends in one answer: then it asks for fewer. Or the system refused
     * something: with MUSTER_E_NOMEM it lacks what a command needs, or the memory for a task beside others here, which is
     * asked for again in longer and longer pauses, and when these have ended; with MUSTER_E_DENIED and a process that one's
     * command takes no signal (see struct muster_command). */
    MUSTER_EVENT_REFUSED,

    /* A former holder of `process` died. So the process runs alone, and that takes long: it has waited for 30 s until
     * the others end, or until muster_worker_next() is called for it; or has run for 30 s while they wait. `text` says
     * which, and what can be done. It comes once for waiting, and once for running. */
    MUSTER_EVENT_ALONE,

    /* A former life of the worker's id held tasks of a queue that the worker does not serve. They went back to the
     * front of that queue; `text` names it, and how many (option `resume`). */
    MUSTER_EVENT_NOT_RESUMED,

    /* The worker has deregistered, or has given up: `err`, and `text` says why. None of its commands runs any more. This
     * is the last event, and the last item of muster_worker_next(); the worker may be freed. */
    MUSTER_EVENT_STOPPED,

    /* Failures of `queue` were dropped for good, because its failed list is beyond a bound that was set; `text` says
     * how many and which setting. Told to the worker whose process failed; if there is none, to one of the namespace.
     * If the message is lost, only the queue's counter tells it. */
    MUSTER_EVENT_DROPPED,

    /* This Redis would lose tasks when it is full: `text` says why, and what to do. Told once in a worker's life, as
     * soon as Redis has answered, to a user with the right to INFO. */
    MUSTER_EVENT_RISK,

    /* The command of `process` printed more than its result may have (`result_max`): the result has the beginning of
     * it. `text` says how much. */
    MUSTER_EVENT_CUT,

    /* The end of `process` has counted. `text` says what it was ended with: "finished", "given back", "retried" or
     * "failed". A job that was retried and has no retries left has failed, and a task that was cancelled is gone. It
     * comes for a command that has ended its process by itself, by its id (see struct muster_command), and is left
     * to exit; `text` is "" then, if it had exited before that was known. With the option `tell_ended` it comes for
     * every process whose end has counted. */
    MUSTER_EVENT_ENDED,

    /* Events were left out, because too many had not been fetched by muster_worker_next(), or there was no memory for
     * them; `text` says how many. That a process has ended, or its end did not count, is never one of them. */
    MUSTER_EVENT_LEFT_OUT
};

/* What becomes of the handlers that run when the worker falls into doubt (MUSTER_EVENT_DOUBT). Nothing new starts
 * either way. */
enum muster_on_doubt {
    MUSTER_DOUBT_STOP, /* they are told MUSTER_STOP_LOST: no task runs in two places for long */
    MUSTER_DOUBT_RUN /* they run on. When Redis answers again: if the worker is still registered, nothing has happened;
                        * if its peers have swept it, they are told MUSTER_STOP_LOST then */
};

/*
 * What happened; borrowed until the callback returns. An event without an error has MUSTER_OK in `err`, and one without
 * a text has "" in `text`. `process`, `queue` and `task` are NULL except for the events that name them above.
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
 * How a handler has ended its process; borrowed until the callback returns. Redis has not counted it yet: if it does
 * not count, MUSTER_EVENT_UNCOUNTED follows for the same process; after MUSTER_EVENT_STOPPED neither comes. If what it
 * has handed on is refused, it ends otherwise (muster_worker_enqueue()), and MUSTER_EVENT_ENDED says how. A process whose
 * handler never began ends unseen.
 */
struct muster_end {
    struct muster_process *process;
    enum muster_outcome outcome; /* never MUSTER_LATER. Past a limit, what `on_limit` makes of it */
    const char *group;           /* of muster_process_set_failure(), or of a command's exit status; "" if none */
    const char *message;         /* the same */
    int64_t waited_ms;           /* how long the job had waited when it was taken, by Redis' clock; -1: unknown, as of a
                                  * task, which is bytes without a time */
    int64_t ran_ms;              /* from the start of its handler to its end */
    int by_command; /* non-zero: its command had ended it so by itself (MUSTER_EVENT_ENDED); it has counted */
};
typedef void muster_end_fn(struct muster_worker *w, const struct muster_end *end, void *arg);

/* Zero or NULL means the default. All strings are copied. */
struct muster_worker_options {
    size_t size; /* sizeof(struct muster_worker_options); the head of client.h says why */

    /* As in struct muster_client_options: also the variables MUSTER_URL and MUSTER_PREFIX, if these are NULL. */
    const char *url;
    const char *prefix;

    /* The worker's id. Only one live worker can have an id. Default: made from host name, pid and random digits. */
    const char *id;

    /* The loop to live on. It stays the caller's and must outlive the worker. Default: a loop of the worker's own, for
     * muster_worker_run(). */
    struct event_base *base;

    /* Used instead of connecting: two separate connected hiredis contexts, authenticated, with the database selected,
     * not attached to a loop, without outstanding replies. Give both or none. When muster_worker_new() succeeds, they
     * belong to the worker, which takes their sockets, frees the rest when it starts, and asks for their database
     * (CLIENT INFO). One with TLS of its own is refused (E_INVALID). If the two differ, or differ from that of
     * `url`, the worker stops with E_INVALID. When one breaks, the worker connects by `url`; without a `url` it stops
     * with E_CONN, and does not look at MUSTER_URL. */
    struct redisAsyncContext *data;
    struct redisAsyncContext *subscription;

    /* The worker counts as failed when this long has passed without a heartbeat. Default 3000; at least 100, at most a
     * day. A heartbeat is sent every third of the shortest ttl in the namespace, or of this one if that is shorter.
     * While one waits behind a large result or task that crosses a slow line, a third connection keeps the worker's life
     * up; not where `data` was handed in.
     *
     * The tasks of a dead worker wait for a ttl. An outage of Redis or of the network that is longer than the ttl puts
     * the worker in doubt. So choose it longer than the outages that should pass unnoticed, and not longer than a task
     * may wait. */
    int ttl_ms;

    /* How many handlers run at once, over all queues. Default 1; with `threads`, their number. */
    int hands;

    /* Run the handlers of muster_worker_serve() on this many threads of the worker's own; 0: inline, in the loop. Each
     * hand needs a thread, so `hands` must not be larger. */
    int threads;

    /* How many more tasks are taken in advance; hands + prefetch is at most 10 000. They are the first to be given back
     * when the worker stops. For large numbers of tasks that are shorter than a round trip. With `threads`, a thread
     * begins them one after the other, in their order, also while the loop is busy; but not beyond the ttl since the
     * last confirmed heartbeat. */
    int prefetch;

    /* The worker never counts as failed. Its life ends only by a stop, by muster_worker_fail(), or by a new start of
     * its id, which must be given. For hosts that come back. The ttl then says only how long the worker is handed work
     * after its last heartbeat. */
    int permanent;

    /* If an earlier life of this id died and left tasks in its hands, take them up again instead of giving them back to
     * the front of their queues, before anything else is taken. Serve the same queues, right after
     * muster_worker_start(): what belongs to others goes back, and MUSTER_EVENT_NOT_RESUMED tells.
     * The id must be given. */
    int resume;

    /* How long muster_worker_stop(w, -1) lets handlers run on. Default 30 000. */
    int drain_ms;

    /* Stop when the queues hand out nothing and nothing runs, and all that was handed to muster_worker_enqueue() and
     * _put() is answered. Work that is due is taken first; delayed work is not waited for. What workers hold that are
     * past their end (their ttl, when Redis has looked) is work too: the worker sweeps them first. If they have time yet
     * to show themselves, because nobody wrote a heartbeat for long, it waits for that, two ttls of its own at most; then
     * a warning of the log says how many are left. A worker that died less than its ttl ago is not known to be dead, and
     * is not waited for. If a registration, a heartbeat, or what a former life held (`resume`) is refused for a damaged
     * key, it ends with E_REDIS as soon as nothing runs, and what has ended was sent and answered. One that serves no
     * queue, not yet or not any more, does not end by this: it may be given one. */
    int burst;

    /* Each take begins with the next queue, instead of always with the first one served (qless's round robin). */
    int in_turn;

    /* Stop when this many tasks were started and have ended, and what they ended with was sent and answered; 0: no limit. */
    uint64_t max_tasks;

    /* How long a handler may run on one task, or on a job that has no limit of its own, at most a year; 0: as long as it
     * likes. After that it is told MUSTER_STOP_LIMIT. An inline handler cannot be told until it returns to the loop. */
    int64_t limit_ms;

    /* What MUSTER_GIVE_BACK means for a process past its limit: MUSTER_FAIL, MUSTER_RETRY or MUSTER_GIVE_BACK. 0: a
     * task fails, a job is retried by its own retries and backoff. The group is "limit", unless the handler has set
     * one. */
    enum muster_outcome on_limit;

    /* What becomes of running handlers when the ttl runs out without a confirmed heartbeat. MUSTER_DOUBT_RUN is for
     * long handlers, and for tasks that may run in two places at once: while only this worker is cut off, its peers
     * take its tasks, and it does not know. A permanent worker is never in doubt, so it cannot be chosen together with
     * `permanent`. */
    enum muster_on_doubt on_doubt;

    /* Called for each event. NULL: events that are warnings go to the log (muster_log_set()), which writes them to
     * standard error unless the program replaces it. */
    muster_event_fn *on_event;

    /* Called for each process whose handler has ended it, on the loop's thread. NULL: nothing is measured for it. */
    muster_end_fn *on_end;

    /* Passed to `on_event` and `on_end`. */
    void *arg;

    /* The login, if the URL has none. With a Sentinel it is the master's. */
    const char *user;
    const char *password;

    /* As the parameters of the URL with these names, over which they win. One that has no effect is refused, as
     * `tls_ca` without `rediss://`, or `password` with `data` and no `url`; and without a `url` `data` and `replicas` or
     * `fsync` do not go together, because what asks for these has a connection of its own. */
    const char *tls_ca;
    const char *tls_cert;
    const char *tls_key;
    const char *tls_server_name;
    const char *sentinel_user;
    const char *sentinel_password;
    int tls_insecure;
    int replicas;    /* at most MUSTER_REPLICAS_MAX */
    int replicas_ms; /* at most MUSTER_REPLICAS_MS_MAX */
    int fsync;

    /* The worker's loop runs on a thread of the library, which muster_worker_start() starts and muster_worker_free()
     * waits for. Not together with `base`. */
    int own_thread;

    /* Tell MUSTER_EVENT_ENDED for every process whose end has counted. For each process that the program has ended, or
     * its handler, comes exactly one of MUSTER_EVENT_ENDED and MUSTER_EVENT_UNCOUNTED, after any outage; but after
     * MUSTER_EVENT_STOPPED nothing more is told, and nothing counts. */
    int tell_ended;
};

/*
 * Make a worker. Nothing is sent. `o` may be NULL for all defaults.
 *
 * On success the caller owns `*out` and frees it with muster_worker_free(). On failure it is NULL, and contexts that
 * were passed in are still the caller's.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM (also: no descriptors), or MUSTER_E_INVALID: an option is not allowed;
 * muster_worker_options_check() says which, and why.
 */
MUSTER_API int muster_worker_new(struct muster_worker **out, const struct muster_worker_options *o) MUSTER_MUST_CHECK;

/*
 * Check options, as muster_worker_new() does. Returns NULL if they are allowed, or words that name the option, its
 * value and what is allowed. Of a URL, which may hold a password, the words say only what is wrong with it. `o` may be
 * NULL: then MUSTER_URL and MUSTER_PREFIX are checked. The words are valid until the thread's next call of this
 * library. Nothing is sent. Any thread.
 */
MUSTER_API const char *muster_worker_options_check(const struct muster_worker_options *o);

/*
 * Free the worker at once, without telling Redis: its peers give back what it holds when its ttl has passed. To leave
 * politely, stop it first and free it after MUSTER_EVENT_STOPPED. Commands that it runs are killed; one that is still
 * there a second later, because it hangs in the kernel or is another user's, is left, and the log names it. Processes that
 * answered MUSTER_LATER, or that muster_worker_next() has handed out, end with the worker: their pointers are dead, and
 * so are items and the descriptor. Handlers on threads are told MUSTER_STOP_LOST, and this call waits for them. NULL is
 * allowed.
 *
 * With `own_thread` it is called on the loop's thread, from a callback; or on any other but those of handlers, while
 * nobody else calls anything about this worker. It then waits for the loop's thread, and so for the callback that runs
 * there.
 */
MUSTER_API void muster_worker_free(struct muster_worker *w);

/*
 * Start the worker: connect, subscribe, register. The call returns at once; MUSTER_EVENT_STARTED tells when this is
 * done. While there is no Redis, the worker goes on trying.
 *
 * Some things found at this first attempt end the worker, with MUSTER_EVENT_STOPPED and an error: a live worker has
 * this id (E_EXISTS), the namespace has another format (E_FORMAT), access is denied (E_DENIED), Redis is older than 7.0
 * (E_REDIS), or connections that were handed in are of different databases (E_INVALID). A permission that is lost later
 * is an outage: the worker goes on trying.
 *
 * With `own_thread` its thread begins. Any thread.
 *
 * Returns MUSTER_OK; MUSTER_E_STATE: it was started before; or MUSTER_E_NOMEM: the thread could not be made.
 */
MUSTER_API int muster_worker_start(struct muster_worker *w) MUSTER_MUST_CHECK;

/*
 * Serve a queue: take its tasks and run `fn` for each. If the worker serves several queues, a take looks at them in the
 * order in which they were served, or in turn (option `in_turn`). At most `hands` processes of this queue run at once;
 * 0: as many as the worker has hands.
 *
 * With `own_thread` `fn` may be NULL, and `arg` means nothing then: the queue's processes come by muster_worker_next().
 * One occupies a hand from when it is handed out until it is ended. Before that it is only ready: it has no time limit
 * yet, and it goes back, or elsewhere, without the program's having known it, when the worker stops or leaves the
 * queue, or when it is cancelled.
 *
 * With `own_thread` any thread may call; another one than the loop's waits until the loop has carried out the call. So
 * the loop's thread must not wait for the caller. Nothing is waited for that comes from Redis.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, or
 *   MUSTER_E_NOT_STARTED  muster_worker_start() was not called yet
 *   MUSTER_E_INVALID      the queue's name, `hands`, or no `fn`; muster_worker_error() says which
 *   MUSTER_E_EXISTS       the worker serves this queue already
 *   MUSTER_E_STATE        the worker stops; or it is leaving this queue (MUSTER_EVENT_LEFT tells when that is done); or
 *                         it serves MUSTER_WORKER_QUEUES_MAX queues, counting those that it left
 */
MUSTER_API int muster_worker_serve(struct muster_worker *w, const char *queue, int hands, muster_handler_fn *fn,
                                   void *arg) MUSTER_MUST_CHECK;

enum muster_on_move {
    MUSTER_MOVE_AWAY, /* the child is told to stop, and the task moves */
    MUSTER_MOVE_STAY  /* the task stays */
};

/* What becomes of a child's standard output. */
enum muster_on_stdout {
    MUSTER_STDOUT_PASS,  /* it is the program's */
    MUSTER_STDOUT_RESULT /* it is the result of a child that exits with 0, byte by byte; it goes nowhere else */
};

/* What becomes of a child's standard error. */
enum muster_on_stderr {
    /* It goes to the program's standard error, and its last lines are the message of a failure: at most 1 KiB, without
     * control characters. What the child leaves running in the background can write there until the worker stops, and
     * gets SIGPIPE then. If the program may open too few files for a pipe beside each child (ulimit -n), some are
     * started without, and fail with the message of their exit status. */
    MUSTER_STDERR_MESSAGE,
    MUSTER_STDERR_PASS /* it is the program's; a failure's message tells the exit status only */
};

/*
 * A command to run for each task; copied by muster_worker_serve_command().
 *
 * The child gets the task on standard input. Its output goes where the program's output goes, but for what `on_stdout`
 * and `on_stderr` say. It runs in a process group of its own. Its environment has MUSTER_QUEUE, MUSTER_PROCESS,
 * MUSTER_TOKEN (in base 32: strtoull(text, NULL, 32) is the number) and MUSTER_WORKER; for a job also MUSTER_JOB (its
 * id), MUSTER_ATTEMPT (1 for the first) and, if it is a member of a batch, MUSTER_BATCH. If the
 * program dies, the kernel sends the child SIGTERM, and only the child: what that has started goes on, unless the child
 * ends it.
 *
 * The exit status says what becomes of the task:
 *   0             finished
 *   75            retried (EX_TEMPFAIL); a job keeps the group "exit-75"
 *   any other     failed, group "exit-N"; death by a signal: failed, group "signal-N". A job is retried by its own
 *                 settings instead of failed, and keeps that group
 * The message is what the child said last on standard error; if it said nothing, how it ended.
 *
 * Or the child ends its process itself, by the id in MUSTER_PROCESS: with `muster finish`, `fail`, `retry` or
 * `give-back`, or muster_lease_finish() and the like, in any program that has that variable from it. That end counts at
 * once. The child is left to exit when it wants to, and keeps its hand and its time limit until then; its exit status
 * and its output mean nothing any more.
 *
 * If the program cannot be executed when a task comes (it was removed, its interpreter is missing, or its arguments and
 * environment are too long for the system), the task is given back, and the worker stops with E_NOT_FOUND. If only the
 * system lacks something at that moment (descriptors, memory, processes), or somebody writes the program's file, the task
 * or job is given back: that costs no retry, and does not count for `max_tasks`. MUSTER_EVENT_REFUSED (E_NOMEM) tells
 * what, once until nothing was lacking for ten seconds, and the worker takes nothing for a second.
 *
 * What children leave running in the background may hold the pipes of their results. These are bounded: if the program
 * may open too few files (ulimit -n), no command with a result begins until some have ended, as if the system lacked them.
 *
 * A child is told to stop when its task was cancelled or lost, is past its limit, or at the end of a drain. It then
 * gets SIGTERM, and after `grace_ms` SIGKILL: the child, wherever it has moved, and the process group that it was started
 * in. What it has started in other groups (setsid, `set -m`) is for it to end. If it was told to move before, it gets
 * SIGTERM again, and has `grace_ms` from then on. When a child that was told anything has exited, the rest of its group
 * gets SIGKILL. A child that takes no signal, because another user runs it, is told (MUSTER_EVENT_REFUSED, E_DENIED) and
 * waited for: its task must not start elsewhere meanwhile. If it does not exit with 0, its task is
 * given back; a cancelled task is then gone.
 */
struct muster_command {
    size_t size; /* sizeof(struct muster_command) */

    /* The program and its arguments, with NULL at the end. The program is looked up in PATH when it is served. */
    const char *const *argv;

    /* If not NULL: each occurrence of this string in the arguments is replaced by the task's bytes. A task that holds a
     * NUL, or is too long for an argument, then fails, group "bad-argument". */
    const char *replace;

    /* As in muster_worker_serve(). */
    int hands;

    /* The delay of a task's retry after exit status 75; default 1000. A job's retry waits for the job's own backoff. */
    int retry_delay_ms;

    /* The time from SIGTERM to SIGKILL; default 5000. */
    int grace_ms;

    /* What becomes of a task that is to move to another worker (MUSTER_STOP_MOVE), and the time from SIGTERM to SIGKILL
     * then; default 5000. Whatever the child's exit status is, but for 0, its task moves. */
    enum muster_on_move on_move;
    int move_ms;

    /* What becomes of what it prints. */
    enum muster_on_stdout on_stdout;
    enum muster_on_stderr on_stderr;

    /* With MUSTER_STDOUT_RESULT: the most bytes of a result; default MUSTER_RESULT_DEFAULT, at most 64 MiB. What is
     * printed beyond them is cut off (MUSTER_EVENT_CUT). */
    size_t result_max;
};

/* As muster_worker_serve(), also for threads; and MUSTER_E_NOT_FOUND if the program is not found or cannot be executed,
 * and E_INVALID for anything in `command` that is not allowed. muster_worker_error() says what. */
MUSTER_API int muster_worker_serve_command(struct muster_worker *w, const char *queue,
                                           const struct muster_command *command) MUSTER_MUST_CHECK;

/*
 * Stop serving a queue. Nothing more of it starts here, and this worker's own processes of it go back to the front;
 * those of other workers stay. Handlers that still run on it are told MUSTER_STOP_DRAIN, and their outcomes no longer
 * count. Commands are ended before their tasks go back. MUSTER_EVENT_LEFT tells when it is done; without a connection,
 * that is after the worker has connected again. (worqr's stopWork.)
 *
 * Which threads may call, and what they wait for: as muster_worker_serve().
 *
 * Returns MUSTER_OK, also when it is leaving already; or
 *   MUSTER_E_NOT_FOUND  it does not serve this queue
 *   MUSTER_E_STATE      the worker stops
 */
MUSTER_API int muster_worker_leave(struct muster_worker *w, const char *queue) MUSTER_MUST_CHECK;

/* Called once for each muster_worker_enqueue(), by the loop, perhaps after MUSTER_EVENT_STOPPED: `err` and `waiting` as
 * of muster_task_enqueue(). Not called after the worker was freed. */
typedef void muster_done_fn(struct muster_worker *w, int err, uint64_t waiting, void *arg);

/*
 * Enqueue a task to any queue without blocking, over the worker's own connection. The bytes are copied. Any thread.
 * `fn` (may be NULL) is called from the loop with the answer. With `own_thread`, and a NULL for `fn`, an `arg` that is
 * not NULL asks for the answer as a MUSTER_ITEM_ANSWER of muster_worker_next(), whose `user` it is. MUSTER_E_CONN means
 * that the connection broke before the answer came: the task may or may not be enqueued. The same holds if the worker
 * is freed before the answer came.
 *
 * It goes to Redis at the end of this turn of the loop, together with its neighbours for the same queue, at most 200
 * tasks and 256 KiB in a call; each has its own answer. Redis takes all tasks of a call or refuses all of them. The
 * order of the calls is kept, over all queues, unless Redis forgets a script in between.
 *
 * A process that ends after this call ends after the task is there: its end waits for the answer. That costs a round
 * trip, and only a process that has handed something on pays it. If the task is refused, or nobody knows whether it is
 * there, the process does not finish, nor fail as it was to: it goes back, and its handler runs again. So what is handed
 * on is there at least once. MUSTER_EVENT_REFUSED tells of it, and MUSTER_EVENT_ENDED says "given back". For a reason
 * that passes with time (Redis is full, a key is damaged) it goes back with the next heartbeat. What Redis will never
 * take (for a job: MUSTER_E_STATE, _NOT_FOUND, _INVALID; a task that is too large for this Redis) fails the process,
 * group "not-handed-on" or "too-large". MUSTER_RETRY and MUSTER_GIVE_BACK stay what they are.
 *   - Whose is it? That of the process whose handler makes the call. What is handed on outside of any handler may be
 *     that of each process that had begun by then; and the end of a process that the program ends itself (MUSTER_LATER,
 *     muster_worker_next()) follows everything that was handed on before it, wherever.
 *   - A program that ends a process itself after it was told of a refusal (`fn`; a MUSTER_ITEM_ANSWER that
 *     muster_worker_next() has handed out) has decided with it in mind: then the outcome counts as it is. That is for ends
 *     by muster_process_end() alone: what a handler returns never counts beside a refusal of what it has handed on itself,
 *     also if it has waited for the answer on its thread.
 *   - If there is no process that has handed it on, and nobody asked for the answer, MUSTER_EVENT_REFUSED tells as well.
 *
 * With `replicas` or `fsync` `fn` gets MUSTER_E_UNCONFIRMED for a task that is enqueued and was not confirmed in time.
 * Such tasks go over a connection of their own, which is made by the first of these calls, so that no heartbeat waits
 * for replicas; the ends that follow them do. An unconfirmed task counts as handed on: a handler that must know more
 * answers MUSTER_LATER, and ends its process in `fn`. A server that cannot say what its disk has is told by
 * MUSTER_E_UNCONFIRMED, too.
 *
 * On another thread than the loop's, the call only leaves the task for the loop. Tasks of one thread keep their order,
 * and go before the end of a process that the thread ends, or whose handler returns, afterwards. What only the loop can
 * know is told as the answer: E_CONN, E_NOT_STARTED and E_STATE, with nothing sent.
 *
 * Returns MUSTER_OK when there will be an answer; or, with nothing sent and no answer,
 *   MUSTER_E_INVALID      the queue's name, or NULL with a length
 *   MUSTER_E_TOO_BIG      over 64 MiB
 *   MUSTER_E_CONN         not connected
 *   MUSTER_E_NOT_STARTED  not registered
 *   MUSTER_E_STATE        the worker has stopped
 *   MUSTER_E_BUSY         MUSTER_ANSWERS_MAX answers are outstanding, or not fetched by muster_worker_next()
 *   MUSTER_E_NOMEM
 */
MUSTER_API int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len,
                                     muster_done_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* Called once for each muster_worker_put(), by the loop: `err` as of muster_job_put(), and the job's id, borrowed until
 * it returns. If it was refused, muster_worker_error() says why. Not called after the worker was freed. */
typedef void muster_put_done_fn(struct muster_worker *w, int err, const char *id, void *arg);

/*
 * Put a job (struct muster_job_spec, job.h) without blocking, over the worker's own connection: as muster_job_put(),
 * and in everything else as muster_worker_enqueue(), also for threads, answers and confirmation. The spec and all that
 * it points to are copied. Puts and enqueues keep their order, and a process that ends after this call ends after the
 * job is there; it is, with MUSTER_E_EXISTS. But while the last job of its id is still let go (E_EXISTS), or runs and its
 * queue was deleted (E_STATE; muster_job_put()), the process goes back, and its handler puts it again. A schedule (`cron`)
 * is refused: that needs Redis' time first.
 *
 * Returns as muster_worker_enqueue(); MUSTER_E_INVALID and MUSTER_E_TOO_BIG also for what the spec must not have, and
 * muster_worker_error() says what.
 */
MUSTER_API int muster_worker_put(struct muster_worker *w, const char *queue, const struct muster_job_spec *spec,
                                 muster_put_done_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* What muster_worker_next() hands out. */
enum muster_item_type {
    MUSTER_ITEM_PROCESS = 1, /* a task or job of a queue that is served without a handler: the program's to end */
    MUSTER_ITEM_EVENT,       /* as `on_event` would have told it */
    MUSTER_ITEM_ANSWER       /* to a call that was made with an `arg` and without a function */
};

/*
 * One of them. Members that mean nothing for its type are 0 or NULL. The strings and bytes of a process live as long as
 * it does; those of the others until the next muster_worker_next().
 */
struct muster_item {
    size_t size; /* of out[0], set by the caller: sizeof(struct muster_item), also the distance of two items */
    int type;    /* enum muster_item_type */
    int event;   /* EVENT: enum muster_event_type */
    int err;     /* EVENT, ANSWER */
    int reserved;

    /* PROCESS. EVENT about a process: the process, or NULL if the program had ended it by this call, or it is freed. Use
     * that of an event only if it was handed out to you: one with a handler may be freed at any moment. */
    struct muster_process *process;

    /* EVENT about a process: its user pointer. ANSWER: the `arg` of the call. */
    void *user;

    const char *id;    /* PROCESS, EVENT about one: the process' id */
    const char *queue; /* the process' queue; that of the event, of an answer */
    const char *job;   /* the job's id, if the process is a job; ANSWER to a put: that of the job */
    const char *text;  /* EVENT: words, never NULL */
    const void *task;  /* PROCESS, EVENT about a task: its bytes, as muster_process_task() */
    size_t len;
    uint64_t token;   /* PROCESS, EVENT about one */
    uint64_t waiting; /* ANSWER to an enqueue, as of muster_done_fn */
};

/*
 * The descriptor of a worker with `own_thread`, for epoll, poll and the like: it is readable while muster_worker_next()
 * has something. It stays the worker's: do not read, write or close it. From the first call of this on, events go to
 * muster_worker_next() if there is no `on_event`; before, they go where `on_event` says. Call it before
 * muster_worker_start() to miss none. Any thread.
 *
 * Returns the descriptor, or MUSTER_E_STATE: the worker has no `own_thread`.
 */
MUSTER_API int muster_worker_fd(struct muster_worker *w);

/*
 * Take at most `max` items, without blocking: answers and events first, in their order, then processes. Any thread, but
 * one at a time. If it returns `max`, there may be more: who is told of changes of the descriptor only (EPOLLET) must
 * call again.
 *
 * A call may find nothing though the descriptor was readable: the worker then hears that the program comes, and has
 * something for the next call. What a dead worker held begins in this way.
 *
 * At most as many processes are out as the worker has hands. Nothing begins while the worker is in doubt, or once its
 * ttl has passed without a confirmed heartbeat. An event about a process comes after the process.
 *
 * What is not fetched stays, up to a bound. From MUSTER_UNREAD_MAX events, or MUSTER_UNREAD_BYTES_MAX bytes of them, on
 * the worker begins nothing more, so that what it must tell of its processes stays bounded, and is not left out for that.
 * Other events, but for MUSTER_EVENT_STOPPED, are left out then: warnings among them go to the log, and
 * MUSTER_EVENT_LEFT_OUT tells how many they were. Answers are bounded by the calls that ask for them (E_BUSY).
 *
 * Returns how many; 0 also if the worker has no `own_thread`, or out[0].size is wrong: muster_worker_error() says so.
 */
MUSTER_API size_t muster_worker_next(struct muster_worker *w, struct muster_item *out, size_t max);

/* Called by muster_worker_post(). */
typedef void muster_post_fn(struct muster_worker *w, void *arg);

/*
 * Have `fn` called once by the worker's loop, soon. Any thread. Functions are called in the order of the calls; those
 * of one thread also after what it has enqueued before, and before the end of a process that it ends afterwards. If the
 * worker is freed before, they are called in muster_worker_free(), on its thread or on the loop's.
 *
 * Returns MUSTER_OK; or, and `fn` is not called, MUSTER_E_STATE: the worker has stopped, MUSTER_E_NOMEM, or
 * MUSTER_E_INVALID: `fn` is NULL.
 */
MUSTER_API int muster_worker_post(struct muster_worker *w, muster_post_fn *fn, void *arg);

/*
 * Run the worker's own loop until the worker has stopped. Only for a worker without a `base` of the caller's, and
 * without `own_thread`.
 *
 * Returns MUSTER_OK after a stop that was asked for; MUSTER_E_STATE if the worker has no loop to be run, or was not
 * started; otherwise the error that ended it: see muster_worker_start(), struct muster_command, and
 * muster_worker_error().
 */
MUSTER_API int muster_worker_run(struct muster_worker *w) MUSTER_MUST_CHECK;

/* Called by muster_worker_set_pulse(). */
typedef void muster_pulse_fn(struct muster_worker *w, void *arg);

/*
 * Call `fn` from the worker's loop every `every_ms`, from the next turn of the loop until the worker has stopped: in
 * whatever state it is, also while there is no Redis. What keeps the loop from its work keeps `fn` from being called:
 * so it can feed a watchdog. Another call replaces the first one; 0: call no more. Which threads may call, and what
 * they wait for: as muster_worker_serve().
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, MUSTER_E_INVALID: `every_ms` is negative or more than a day, or `fn` is NULL; or
 * MUSTER_E_STATE: the worker has stopped.
 */
MUSTER_API int muster_worker_set_pulse(struct muster_worker *w, int64_t every_ms, muster_pulse_fn *fn, void *arg);

/*
 * Stop the worker. It takes nothing more, gives back what has not started, and lets running handlers end, and what was
 * handed to muster_worker_enqueue() and _put() be answered, for up to `drain_ms`; then it gives back the rest and
 * deregisters, in one script. -1: the worker's option `drain_ms`; 0: give back at once. A second call with a shorter time
 * shortens it. Handlers that still run when the time is over are told MUSTER_STOP_DRAIN, and their outcomes no longer
 * count. If Redis cannot be reached or refuses, the worker tries again until the drain time and one ttl are over; if it
 * holds nothing, for one ttl, and without a connection for three seconds at most. Then it ends with E_CONN, or with the
 * error of the refusal, and its peers give back what it held. If a key of a wrong type prevents that, it ends at once with
 * E_REDIS; muster_worker_error() names the key, and the peers give back what it held when that is mended. If it loses its
 * registration before what runs has ended, it ends with E_GONE. It never ends while a command runs: commands have their
 * grace in any case.
 *
 * Any thread, and from a signal handler: the call only leaves a note for the loop. MUSTER_EVENT_STOPPED tells when the
 * worker has stopped.
 *
 * Returns MUSTER_OK, also when the worker has stopped already.
 */
MUSTER_API int muster_worker_stop(struct muster_worker *w, int drain_ms);

/* The worker's id, and its last error in words for people ("" if none). After MUSTER_EVENT_STOPPED with an error it is
 * why the worker has ended, whatever was refused since. The id is valid until the worker is freed, the error until the
 * next call or event. With `own_thread` any thread: on another one than the loop's the error is a copy, valid until this
 * thread's next call of this function. It is the worker's last one, whoever it was told. */
MUSTER_API const char *muster_worker_id(const struct muster_worker *w);
MUSTER_API const char *muster_worker_error(const struct muster_worker *w);

/* A process' id `<worker>:<token>:<queue>`, its queue, and its token. The strings live as long as the process. */
MUSTER_API const char *muster_process_id(struct muster_process *p);
MUSTER_API const char *muster_process_queue(const struct muster_process *p);
MUSTER_API uint64_t muster_process_token(const struct muster_process *p);

/* The task's bytes, borrowed as long as the process lives. A NUL follows them that `len` does not count. `len` may be
 * NULL. */
MUSTER_API const void *muster_process_task(const struct muster_process *p, size_t *len);

/* The process' job; NULL for a task, also for a unique one. Borrowed as long as the process lives. It is a copy of the
 * record as it was when the job was taken, without history, `after` and `before`. Its data is also what
 * muster_process_task() returns. It names its `parents`; muster_job_parents() has their results. */
MUSTER_API const struct muster_job *muster_process_job(const struct muster_process *p);

/* The worker that runs it. */
MUSTER_API struct muster_worker *muster_process_worker(const struct muster_process *p);

/* Whether the handler must stop, and why. Any thread; call it as often as you like. */
MUSTER_API enum muster_stop_reason muster_process_stop_reason(const struct muster_process *p);

/* How long the handler still has to give back what is to move (MUSTER_STOP_MOVE), in ms; 0: the time is over, and what
 * it gives back now goes to any idle worker. -1: it was not asked to. Any thread. */
MUSTER_API int64_t muster_process_move_ms(const struct muster_process *p);

/*
 * The process stays in this worker's hands: it is not asked to move (MUSTER_STOP_MOVE) for `for_ms` from now on, at
 * most a year; 0: for MUSTER_STAY_DEFAULT_MS. If it is asked already, that is over: its stop reason is MUSTER_GO_ON
 * again, unless it got another one meanwhile. A handler that does not answer in time stays as if by this call, for the
 * default time; its stop reason stays what it is. Any thread.
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: the time is negative or too long.
 */
MUSTER_API int muster_process_stay(struct muster_process *p, int64_t for_ms);

/* A pointer of the program's, which the library only keeps, and tells with events about the process (struct
 * muster_item). NULL at first. Any thread, until the process is ended. */
MUSTER_API void muster_process_set_user(struct muster_process *p, void *user);
MUSTER_API void *muster_process_user(const struct muster_process *p);

/*
 * What the end of a process brings along: retry time, failure, result, next queue. While a handler runs they are the
 * handler's to set; after MUSTER_LATER, or for a process that muster_worker_next() has handed out, any thread's until
 * the process is ended. One thread at a time: two of these calls for one process, or one of them and its end, must not
 * overlap. Other processes do not matter.
 *
 * For an end with MUSTER_RETRY: retry after this many ms, counted by Redis; 0: at once. By default a task is retried
 * after a second (MUSTER_RETRY_DELAY_DEFAULT_MS), a job after its own backoff. A job that has had all its retries goes
 * onto the failed list instead. The group is that of muster_process_set_failure(), of this retry or of the last one
 * that set it; "failed-retries" if none did. The message says that the retries are used up.
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: it is negative, or too long to count.
 */
MUSTER_API int muster_process_set_retry(struct muster_process *p, int64_t delay_ms);

/*
 * For an end with MUSTER_FAIL, or with MUSTER_RETRY of a job: a group (1 to 200 bytes without control characters;
 * default "failed") and a message (up to 64 KiB; default none). Both are copied. A plain task that is retried has no
 * record that could keep them: only `on_end` tells them.
 *
 * Returns MUSTER_OK; or MUSTER_E_INVALID, MUSTER_E_TOO_BIG or MUSTER_E_NOMEM: what was set before stays.
 */
MUSTER_API int muster_process_set_failure(struct muster_process *p, const char *group, const char *message);

/*
 * For an end with MUSTER_FINISH: a result, bytes of any kind for those who listen to the queue (muster_queue_listen()),
 * and for a job's record. Copied; at most 64 MiB. A result of no bytes is a result, too. A producer that waits for the
 * result puts a job (muster_job_put(), muster_job_wait()).
 *
 * Returns MUSTER_OK; or MUSTER_E_TOO_BIG, MUSTER_E_NOMEM, or MUSTER_E_INVALID (NULL with a length): what was set before
 * stays.
 */
MUSTER_API int muster_process_set_result(struct muster_process *p, const void *result, size_t len);

/*
 * For an end with MUSTER_FINISH of a job: the job is done in this queue, and goes on to the queue `next` after
 * `delay_ms`, when the `n_after` jobs `after` are complete; one that does not exist is not waited for. The counts of
 * its retries and crashes begin at 0 again, and jobs that wait for it go on waiting. All arguments are copied. NULL for
 * `next`: it goes nowhere.
 *
 * If it cannot wait for one of them (itself, one that waits for it, a recurring one), it fails: group "dependency",
 * with a message that names the other job. MUSTER_EVENT_UNCOUNTED tells then, with E_INVALID; or with E_TOO_BIG, if too
 * many jobs are tied together to see. A replay runs it again in the queue where it was. A job that was cancelled
 * meanwhile goes nowhere: it is gone. (qless's advance.)
 *
 * Returns MUSTER_OK; or, with what was set before unchanged,
 *   MUSTER_E_INVALID  a name or the delay
 *   MUSTER_E_TOO_BIG  more than MUSTER_JOB_AFTER_MAX jobs
 *   MUSTER_E_STATE    the process is no job
 *   MUSTER_E_NOMEM
 */
MUSTER_API int muster_process_set_next(struct muster_process *p, const char *next, int64_t delay_ms,
                                       const char *const *after, size_t n_after);

/*
 * Give the job new data. Its record has them from then on, and its next taker gets them: after a retry, for example, or
 * in the queue of muster_process_set_next(). Copied, and kept until Redis has them or newer ones; at most 64 MiB. Any
 * thread. They are sent at once, again over the next connection if there is no answer, and after the next heartbeat if
 * they are refused, which MUSTER_EVENT_REFUSED tells; not again, if the job's record is gone (E_STATE). The process' end
 * waits for them. If its worker or queue is left before a full Redis takes them, it goes back with the data that it had;
 * if they are too large for this Redis, it fails, group "too-large". (qless's heartbeat with data.)
 *
 * Returns MUSTER_OK, MUSTER_E_TOO_BIG, MUSTER_E_NOMEM, MUSTER_E_INVALID (NULL with a length), or MUSTER_E_STATE: the
 * process is no job.
 */
MUSTER_API int muster_process_set_data(struct muster_process *p, const void *data, size_t len);

/*
 * Say how far the work is: a note that the list of processes (`muster ps`) shows. Copied; at most MUSTER_PROGRESS_MAX
 * bytes (client.h). A later note replaces it; NULL or "" removes it. Any thread. The note is sent by the loop, one after the
 * other: of those that come before Redis has answered, only the newest is. Without a connection it is lost.
 *
 * Returns MUSTER_OK, MUSTER_E_TOO_BIG or MUSTER_E_NOMEM.
 */
MUSTER_API int muster_process_progress(struct muster_process *p, const char *note);

/*
 * Set the process' time limit: it ends `limit_ms` from now, whether it had a limit or not; 0: it has no limit any more.
 * Any thread. A process that was told MUSTER_STOP_LIMIT stays told.
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: it is negative, or too long to count.
 */
MUSTER_API int muster_process_extend(struct muster_process *p, int64_t limit_ms);

/*
 * End a process whose handler answered MUSTER_LATER, or that muster_worker_next() has handed out, once; `p` is dead
 * afterwards, so the E_STATE of a second end is for threads that race, not to be relied on later. If the end does not
 * count, or nobody knows whether it did, MUSTER_EVENT_UNCOUNTED tells; but one that comes when the worker has stopped
 * does not count either, also if the program has not read MUSTER_EVENT_STOPPED yet. Any thread, while the worker is not
 * freed. If the handler runs on a thread, or the call comes on another thread than the loop's, it may also come before
 * the handler has returned: then it waits for that, and the handler must answer MUSTER_LATER. So a `fn` of
 * muster_worker_enqueue() may end the process.
 *
 * Returns MUSTER_OK; or, with nothing changed,
 *   MUSTER_E_INVALID  `o` is MUSTER_LATER, or no outcome
 *   MUSTER_E_STATE    its handler, in the loop's thread, has not answered MUSTER_LATER, or the process was ended before
 */
MUSTER_API int muster_process_end(struct muster_process *p, enum muster_outcome o);

/*
 * The same for `n` processes of any workers at once, cheaper for many. Each that can be ended is ended, in this order:
 * first those whose handlers answered MUSTER_LATER, then those that were handed out.
 *
 * Returns MUSTER_OK; MUSTER_E_INVALID, with nothing changed: `o`; or MUSTER_E_STATE: at least one could not be ended,
 * the others are.
 */
MUSTER_API int muster_process_end_many(struct muster_process *const *p, size_t n, enum muster_outcome o);

#ifdef __cplusplus
}
#endif
#endif
