/* SPDX-License-Identifier: MIT
 *
 * The blocking client: enqueue tasks, take them under a lease, cancel, pause and delete, and look at queues, workers,
 * processes and failures.
 *
 * A client holds one connection to Redis. Only one thread may use a client at a time; different clients are
 * independent. muster_client_interrupt() is for any thread. Every call blocks for its round trips. It gives up when an
 * answer is not there within the client's `timeout_ms`; a large one may take that long for each 256 KiB of it.
 *
 * After E_CONN or E_TIMEOUT the next call connects again by itself, except on a connection that the caller passed in.
 *
 * What Redis has refused without executing it, for a reason that passes, is sent again until `timeout_ms` is over: it
 * is loading, a replica, cut off from its replicas; or the namespace's slot moves, or has no master just now. The call
 * goes where the cluster or the Sentinel says meanwhile, and tries their nodes in turn. After that it is E_BUSY, or
 * E_CONN if no server could be reached. Such a call may take up to twice as long.
 *
 * A connection that is refused is E_CONN: at once, if the URL names one server and none of its addresses takes it; where
 * it names several, or one that has sent the client on to another node of its cluster, they are tried in turn until
 * `timeout_ms` is over. A Unix socket on which too many wait for a connection is tried again, too; after that it is
 * E_BUSY.
 *
 * The library installs no signal handlers, and a dead connection raises no SIGPIPE in the program. For each look-up of
 * a host's name it starts a thread, with all signals blocked, which ends when the system has answered, maybe after the
 * call.
 *
 * After a fork() a client is the parent's. In the child each call that talks to Redis returns MUSTER_E_STATE, and
 * muster_client_free() sends nothing: a child makes a client of its own.
 *
 * No thread may be cancelled (pthread_cancel()) in a call of this library, of whatever header: others would wait for
 * ever for what it holds. muster_client_interrupt() ends a call that waits.
 *
 * Names. A queue's name is 1 to 200 bytes without control characters (bytes below 0x20, and 0x7f). A worker's id is 1
 * to 64 of [A-Za-z0-9._-] and does not begin with a dot. A prefix follows the same rule, and may also hold `{` and `}`.
 *
 * Rows. A list is passed to a callback one row at a time. The row and everything it points to are borrowed until the
 * callback returns. If the callback returns non-zero, the listing ends and returns MUSTER_OK. A callback must not use
 * the same client.
 *
 * Any call that talks to Redis may return MUSTER_E_NOMEM, _E_CONN, _E_TIMEOUT, _E_BUSY, _E_DENIED, _E_REDIS, _E_FORMAT
 * or, after muster_client_interrupt(), _E_INTERRUPTED, with the meaning given in error.h; and MUSTER_E_INVALID, if only
 * connecting shows that an option is not allowed: a file of TLS that cannot be read, a Sentinel at a `redis://`, a
 * prefix without a tag at a cluster. Below, a call lists only the errors that mean something more.
 *
 * NULL. Clients and callbacks must be given. A name that is NULL is not allowed, like an empty one (E_INVALID). Bytes
 * may be NULL if their length is 0. Where a call says of another pointer that it may be NULL, it may; `_free(NULL)`
 * does nothing.
 *
 * Confirmation. With `replicas=N,MS` in the URL, what a call adds is acknowledged only when N replicas have it. If
 * N is the number of all replicas, it survives the failure of this Redis, and a failover of one that lives: whichever
 * takes its place has it. With fewer, one may be promoted that has it not; then the first call that is confirmed says
 * so in the log, with a level of MUSTER_LOG_WARN (doc/engines.md tells more; it needs `+role`). The question goes out in
 * the same write (WAIT); MS is how long Redis may wait for them, by default half of `timeout_ms`, and always less than it. With
 * `fsync=1` it must be on the disk of this Redis, and of the N replicas if they are asked for, too (WAITAOF; Redis 7.2
 * or Valkey with an append only file; else nothing is added and the call returns E_REDIS, in words). If fewer confirm
 * it, the call returns E_UNCONFIRMED: all of it is there, maybe on this server only. A repetition under the same
 * request id adds nothing, and is confirmed as soon as they have it; so is one under the same job's id, as long as that
 * job is alive: one that is complete or failed by then is put again. So is one under the same batch's id. These calls ask:
 * muster_task_enqueue(), _enqueue_many() and _enqueue_unique(), muster_job_put() and _put_many(), muster_batch_open(),
 * muster_worker_enqueue() and _put(), muster_async_enqueue() and _put(). All others need not: if a finish is lost
 * with its server, the task runs again, and a lost replay can be done again.
 *
 * Sizes. `size` is the first field of every struct that the program fills in for the library, and of those that the
 * library fills in for the program. Set it to the struct's sizeof. A program and a library of different versions then
 * understand each other: fields that an older program does not have count as 0, and a newer program's struct is
 * accepted as long as the fields that this library does not know are 0, and have at most 1024 bytes together. Any other
 * size is refused with E_INVALID, 0 too: otherwise a forgotten size would drop every option without a word. Where NULL
 * is allowed instead of a struct, it means all defaults.
 *
 *     struct muster_client_options options = {.size = sizeof options, .url = "redis://queue.example.org"};
 */
#ifndef MUSTER_CLIENT_H
#define MUSTER_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "export.h"

#ifdef __cplusplus
extern "C" {
#endif

struct redisContext;
struct muster_client;

#define MUSTER_QUEUE_MAX 200
#define MUSTER_WORKER_ID_MAX 64
#define MUSTER_PREFIX_MAX 64
#define MUSTER_GROUP_MAX 200
#define MUSTER_REPLICAS_MAX 100
#define MUSTER_REPLICAS_MS_MAX 3600000
#define MUSTER_MESSAGE_MAX ((size_t)64 * 1024)
#define MUSTER_TASK_MAX_DEFAULT ((size_t)64 * 1024 * 1024)
#define MUSTER_TASK_MAX ((size_t)512 * 1024 * 1024)
/* Lists show at most so many bytes of a task: its beginning. Redis sends no more of it. */
#define MUSTER_HEAD_MAX ((size_t)64 * 1024)

/* Bytes of any value and length; `data` may be NULL when `len` is 0. */
struct muster_bytes {
    const void *data;
    size_t len;
};

/* Zero or NULL means the default. All strings are copied. */
struct muster_client_options {
    size_t size; /* sizeof(struct muster_client_options) */

    /* Where Redis is. NULL: the environment variable MUSTER_URL; if that is not set or empty, redis://127.0.0.1:6379.
     *
     *     redis://[user][:password]@host:port/db
     *     unix://[user][:password]@/path/to.sock?db=n
     *     redis+cluster://[user][:password]@host:port,host:port           some nodes of a cluster
     *     redis+sentinel://[user][:password]@host:port,host:port/name/db  some sentinels, the master's name
     *     redis-sentinel://[[user:]password@]host,host/db?sentinelMasterId=name  the same, as Lettuce writes it
     *
     * With `rediss` in place of `redis` all connections use TLS. Without a port it is 6379, a sentinel's 26379. An IPv6
     * address stands in [brackets]. User, password, path, name and the values of parameters may hold `%XX`.
     *
     * After a '?' parameters may follow, with '&' between them. One that is unknown or has no effect is refused:
     *
     *     tls_ca=FILE            the CA to trust, a file or a directory; else those of the system
     *     tls_cert=FILE, tls_key=FILE  the client's own certificate and its key
     *                            (these files, and those of the system, are read again for a new connection when they
     *                            have changed or the last handshake failed, so they may be renewed while programs run)
     *     tls_server_name=NAME   whom the certificate must name; else the host
     *     tls_insecure=1         no certificate is verified: whoever is in between can read and change all
     *     sentinel_user=USER, sentinel_password=PASSWORD  the sentinels' login; `user` and `password` are the master's
     *     password_file=FILE, sentinel_password_file=FILE  in place of `password` and `sentinel_password`: a regular file
     *                            whose first line is it. It is read again before each connection, so it may be changed
     *     replicas=N, replicas=N,MS  so many replicas must confirm what is added, within so many milliseconds
     *     fsync=1                what is added must be on the disk */
    const char *url;

    /* All keys of the namespace begin with it. NULL: the environment variable MUSTER_PREFIX; if that is not set or
     * empty, "muster". A prefix with a part in braces, such as `{mail}`, keeps the whole namespace in one slot of a
     * cluster; there any other one is refused (E_INVALID). */
    const char *prefix;

    /* How long connecting may take (looking up the host's name included), and each answer; default 5000, at most a day.
     * What is larger than 256 KiB, sent or received, may take that long again for each further 256 KiB. So a slow line
     * is no failure, and no server can hold a call for ever, whatever it sends. */
    int timeout_ms;

    /* Larger tasks are refused with E_TOO_BIG. Default 64 MiB; at most 512 MiB, the limit of Redis. */
    size_t max_task_len;

    /* Used instead of `url`: a connected hiredis context, authenticated, with its database selected. It stays the
     * caller's: free it after the client, and do not use it during a call. Before the first call the client asks it for
     * its database (CLIENT INFO; E_DENIED if its user may not), which must not change. Before each call everything that
     * was asked for on it must have been read. Once it is broken, each call returns E_CONN. One with TLS of its own is
     * refused (E_INVALID): muster speaks to its socket. */
    struct redisContext *redis;

    /* The login, if the URL has none. With a Sentinel it is the master's. */
    const char *user;
    const char *password;

    /* As the parameters of the URL with these names, over which they win. One that has no effect is refused, as
     * `tls_ca` without `rediss://`, or `password` with `redis`. */
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
};

/*
 * Make a client. Nothing is sent: the first call connects. `o` may be NULL for all defaults.
 *
 * On success the caller owns `*out` and frees it with muster_client_free(). On failure it is NULL.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, or
 *   MUSTER_E_INVALID  an option is not allowed; muster_client_options_check() says which, and why
 */
MUSTER_API int muster_client_new(struct muster_client **out, const struct muster_client_options *o) MUSTER_MUST_CHECK;

/*
 * Check options, as muster_client_new() does. Returns NULL if they are allowed, or words that name the option, its
 * value and what is allowed. Of a URL, which may hold a password, the words say only what is wrong with it. `o` may be
 * NULL: then MUSTER_URL and MUSTER_PREFIX are checked. The words are valid until the thread's next call of this
 * library. Nothing is sent. Any thread.
 */
MUSTER_API const char *muster_client_options_check(const struct muster_client_options *o);

/* Close the connection and free the client. NULL is allowed. If the last muster_lease_take() got no answer, what it
 * took is given back first, if Redis can be reached: that may take as long as a call. */
MUSTER_API void muster_client_free(struct muster_client *c);

/*
 * End the call of this client that waits for Redis, for a task, or for what it listens to, as soon as it does: it
 * returns MUSTER_E_INTERRUPTED. Any thread, and signal handlers; not once muster_client_free() has begun. This call
 * waits for nothing.
 *
 * No interrupt is lost. If no call runs, or the one that runs has what it wanted, the interrupt stays, and the next
 * call that would ask Redis for something returns E_INTERRUPTED instead; nothing was sent then. One that has returned
 * E_INTERRUPTED has used it up; several interrupts before that are one. muster_client_interrupt_take_back() takes one
 * back that is not used up, on the client's own thread: call it when the wait that was to be interrupted is over. It
 * returns 1 if there was one, else 0.
 *
 * A call that was interrupted is like one without an answer (E_CONN): what it asked for may or may not have been done,
 * and a call of several steps has done some of them. But muster_lease_take() leaves nothing taken that `fn` did not
 * get: before it returns, it gives back what Redis took. If Redis does not answer within a second, or another
 * interrupt comes, that is left to the client's next take, or to muster_client_free(), which no interrupt ends; the
 * words of muster_client_error() say which. An enqueue that was done, but not confirmed, is E_UNCONFIRMED, and
 * the interrupt stays.
 *
 * The client can be used as before. Its next call makes a new connection if an answer was to come on the old one. A
 * connection that was passed in is broken then.
 *
 * What is not ended: the first 10 ms for which a call waits for an answer, unless a signal ends them.
 *
 * muster_client_interrupt() always returns MUSTER_OK.
 */
MUSTER_API int muster_client_interrupt(struct muster_client *c);
MUSTER_API int muster_client_interrupt_take_back(struct muster_client *c);

/* Why the last failed call of this client failed, in words for people; "" before the first failure. The string is valid
 * until the next call on the client. */
MUSTER_API const char *muster_client_error(const struct muster_client *c);

/*
 * How far a call of several steps is. `total` is 0 where that is not known, and may change: others work beside it.
 *
 *   muster_task_enqueue_many(), under a request id   tasks that were sent
 *   muster_job_put_many()                            jobs that were put
 *   muster_batch_cancel()                            jobs that were cancelled
 *   muster_queue_delete()                            jobs that are gone
 *   muster_failed_replay(), muster_failed_drop()     failures that were moved
 *   muster_job_bulk()                                jobs that were tried; first 0 of those that are chosen
 *   muster_client_check()                            what was looked at: keys, then jobs, workers, queues and so on
 *   muster_client_upgrade()                          keys that were looked at
 */
struct muster_progress {
    uint64_t done;
    uint64_t total;
};
typedef int muster_progress_fn(const struct muster_progress *progress, void *arg);

/*
 * Call `fn` between the steps of these calls from now on, on their thread; NULL: no more. If it returns non-zero, the
 * call ends with MUSTER_E_STOPPED: what its steps have done stays done, and its results count that. The same call again
 * does the rest, but for three: a check begins anew, and nobody can use the namespace until the upgrade is done; of
 * named failures those that were moved are E_NOT_FOUND; and `n` of a filter counts anew. `fn` must not use this client.
 * Of these, only muster_job_bulk() calls it if one step is enough.
 */
MUSTER_API void muster_client_set_progress(struct muster_client *c, muster_progress_fn *fn, void *arg);

/*
 * Check whether a name is allowed. Returns NULL if it is, or a static string that says what is wrong with it. `name`
 * may be NULL, which is not allowed as a name. Nothing is sent. Any thread.
 */
MUSTER_API const char *muster_queue_check(const char *name);
MUSTER_API const char *muster_worker_id_check(const char *id);
MUSTER_API const char *muster_prefix_check(const char *prefix);
MUSTER_API const char *muster_process_id_check(const char *process);

/* The same for a URL alone. What an option may add is not missed in it: the password of a user, the key of a
 * certificate. muster_client_options_check() sees it all together. */
MUSTER_API const char *muster_url_check(const char *url);

/*
 * Enqueue one task. It goes straight to an idle worker of the queue, or to the end of the queue if none is idle.
 *
 * The bytes are stored as they are; an empty task is allowed. The call takes one round trip; if jobs wait in the queue,
 * it may take two. `waiting`, if not NULL, receives how many tasks and jobs then wait in the queue, as
 * muster_queue_length() counts them (0 when a worker got it). A queue is a Redis list of plain bytes, so
 * `LPUSH <prefix>:queues:<queue> <task>` by any program does the same, but does not hand the task to an idle worker.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID  the queue's name; nothing was sent
 *   MUSTER_E_TOO_BIG  the task is longer than `max_task_len`, or than this Redis takes; nothing was enqueued
 *   MUSTER_E_FULL     nothing was enqueued
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  the task may or may not be enqueued; if you enqueue it again, it may be there
 *                     twice
 *   MUSTER_E_UNCONFIRMED  the task is enqueued; if you enqueue it again, it is there twice
 */
MUSTER_API int muster_task_enqueue(struct muster_client *c, const char *queue, const void *task, size_t len,
                                   uint64_t *waiting) MUSTER_MUST_CHECK;

/* Zero or NULL means the default. */
struct muster_enqueue_options {
    size_t size; /* sizeof(struct muster_enqueue_options) */

    /* Put the tasks at the front of the queue: they are the next out, tasks[0] first. */
    int at_front;

    /* 1 to 200 bytes without control characters, copied. If the same call is sent again under this id within an hour
     * (after E_CONN, for example), it adds nothing and returns what the first call returned. An id costs one record in
     * Redis for that hour; the record stays even if the queue is deleted. */
    const char *request_id;
};

/* At most this many tasks, and this many bytes in total, are enqueued atomically, by one script. */
#define MUSTER_ENQUEUE_ATOMIC_TASKS 1000
#define MUSTER_ENQUEUE_ATOMIC_BYTES ((size_t)1024 * 1024)

/*
 * Enqueue `n` tasks in their order. `o` may be NULL. If `n` is 0, nothing is enqueued and `*waiting` receives what
 * muster_queue_length() says.
 *
 * Up to MUSTER_ENQUEUE_ATOMIC_TASKS tasks and MUSTER_ENQUEUE_ATOMIC_BYTES bytes go in one script: all or none. More are
 * sent in pipelined chunks. Workers begin with the first chunk while the rest is on its way. A failure in between
 * leaves a part enqueued; workers find it at their next heartbeat.
 *
 * With a request id each chunk is a script of its own, and one is sent after the other. After a failure in between, the
 * same call under the same id enqueues what is missing, and nothing else.
 *
 * The names and lengths of all tasks are checked before anything is sent. Returns as muster_task_enqueue(), and
 *   MUSTER_E_TOO_BIG  a task is longer than `max_task_len`, and nothing was sent; or Redis does not take a request that
 *                    is so large, and a part may be enqueued
 *   MUSTER_E_EXISTS  the request id was used with another queue, other tasks or another `at_front`; nothing was
 *                    enqueued
 *   MUSTER_E_UNCONFIRMED  all tasks are enqueued; under a request id the same call is safe
 */
MUSTER_API int muster_task_enqueue_many(struct muster_client *c, const char *queue, const struct muster_bytes *tasks,
                                        size_t n, const struct muster_enqueue_options *o,
                                        uint64_t *waiting) MUSTER_MUST_CHECK;

/* Something that waits: a task, or a job. `position` 0 is the next out. */
struct muster_task {
    uint64_t position;
    const void *data; /* the task's bytes, or the job's data; at most MUSTER_HEAD_MAX of them */
    size_t len;
    const char *job;    /* the job's id; NULL: a task, or a unique one */
    uint64_t whole_len; /* how many bytes it has */
};
typedef int muster_task_fn(const struct muster_task *task, void *arg);

/*
 * Look at up to `n` waiting tasks and jobs from position `from` on. Nothing is taken. Jobs of negative priority come
 * first, then the tasks, then all other jobs; each of these in the order in which they will come out. (When they are
 * taken, tasks and jobs of priority 0 come in turn.) The queue is read in pages: if it changes meanwhile, a row may be
 * seen twice or not at all. A job whose record cannot be read is left out and mentioned in the log. A queue that does
 * not exist is empty. `fn` is called for each row until it returns non-zero.
 */
MUSTER_API int muster_task_peek(struct muster_client *c, const char *queue, uint64_t from, uint64_t n,
                                muster_task_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* A plain task that was retried and waits out its delay. `position` 0 is due first. */
struct muster_delayed_task {
    uint64_t position;
    int64_t due_at_ms; /* Unix time by Redis' clock */
    const void *data;  /* at most MUSTER_HEAD_MAX bytes */
    size_t len;
    uint64_t whole_len; /* how many bytes the task has */
};
typedef int muster_delayed_task_fn(const struct muster_delayed_task *task, void *arg);

/*
 * Look at up to `n` delayed tasks of a queue from position `from` on, in the order in which they are due. Scheduled
 * jobs are not among them: muster_job_list() lists these. Otherwise as muster_task_peek().
 */
MUSTER_API int muster_task_peek_delayed(struct muster_client *c, const char *queue, uint64_t from, uint64_t n,
                                        muster_delayed_task_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * How many tasks and jobs wait in the queue: what a worker could take now, also if the queue is paused or at its limit
 * `max_running`. Delayed tasks, and jobs that are scheduled, held or depend on others, do not wait yet. 0 if the queue
 * does not exist. All calls that say how much waits say this number.
 */
MUSTER_API int muster_queue_length(struct muster_client *c, const char *queue, uint64_t *waiting) MUSTER_MUST_CHECK;

/* A queue, and how much it holds. */
struct muster_queue_info {
    const char *name;        /* valid until the callback returns */
    uint64_t waiting;        /* tasks and jobs that wait, as muster_queue_length() counts them */
    uint64_t running;        /* processes: tasks and jobs in the hands of workers, or leased */
    uint64_t delayed;        /* tasks that wait until a retry's delay is over, and scheduled jobs */
    uint64_t depends;        /* jobs that wait for other jobs */
    uint64_t recurring;      /* jobs that make others */
    uint64_t complete;       /* complete jobs whose records are kept */
    uint64_t failed;         /* tasks and jobs on the queue's failed list */
    uint64_t cancelled;      /* tasks that were cancelled since the queue was last deleted or tidied away */
    uint64_t idle;           /* workers that wait for a task of this queue */
    int paused;              /* non-zero: nothing is handed out */
    uint64_t failed_bytes;   /* the bytes of the failed list's entries; a failed job's data are not among them */
    uint64_t failed_dropped; /* how many entries the bounds of its failed list have dropped (keep_failed), since the
                                queue was last deleted or tidied away */

    /* How many tasks and jobs have ever come into the queue, and how many have left its line: taken, or, of tasks,
     * cancelled there. Differences are rates. What foreign programs LPUSH counts like any other; a task that is retried
     * or replayed comes once more when it waits again; one that was given back does not. Jobs that are scheduled or
     * depend have come. Both begin at 0 again when the queue was deleted or tidied away. */
    uint64_t in;
    uint64_t out;

    /* For how long at least the oldest of what waits has waited, in ms; -1: nothing waits. A task is bytes without a
     * time, so its age is bounded by how many had come and left by when. The bound is never above the true age, in
     * whatever order tasks leave, as long as nobody but muster takes them out of the list. The true age is at most
     * `oldest_error_ms` more; -1: that is not known. That holds as long as no foreign program adds at the front.
     *
     * The points of time are noted by workers, with each heartbeat of one of them; by the enqueue of the first task
     * where no worker lives; and each client remembers those at which it looked itself. So a client that looks every
     * second knows it to a second, also without any worker and without a right to write. The error of those that are
     * long here is a part of their age, not a fixed span. For what came back the age is that since its first take; for
     * jobs since they came to wait, of the first one in line if their priorities differ. */
    int64_t oldest_ms;
    int64_t oldest_error_ms;

    int share_even; /* non-zero: what runs moves until every worker has its share of it (setting `share`) */
    uint64_t hands; /* how many hands serve the queue, over all workers */
    uint64_t moved; /* how many processes have moved to another worker, for its share, since the queue was last deleted
                       or tidied away */
    uint64_t held;  /* jobs that are held, because as many of their key run as may (max_running_per_key) */

    /* Since the queue was last deleted or tidied away: how many tasks and jobs had a lease that lapsed; how many a worker
     * held when it died. muster_stats_get() has both by the day. */
    uint64_t stalled;
    uint64_t died;
};
typedef int muster_queue_fn(const struct muster_queue_info *queue, void *arg);

/* List the queues of the namespace, oldest name first: those that hold something and those that workers serve. A queue
 * that was made by a bare LPUSH appears once a worker serves it or a call of muster has used it. Read in pages: one that
 * is there the whole time is listed once, whatever comes and goes meanwhile. */
MUSTER_API int muster_queue_list(struct muster_client *c, muster_queue_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * The same for a program that lists again and again, such as a dashboard: it costs Redis a third where little happens.
 * waiting, running, cancelled, failed_dropped, paused, in, out, share_even, hands, moved, stalled, died and the age of
 * tasks are always those of now. The others (delayed, depends, recurring, complete, held, failed, failed_bytes, idle) are asked
 * for if any of these has changed since this client asked last, if something came back that still waits, or that is
 * `max_age_ms` ago; else they are those of then. 0: they are asked for.
 * A client remembers 20 000 queues; it asks for all of the others.
 */
MUSTER_API int muster_queue_list_cached(struct muster_client *c, int64_t max_age_ms, muster_queue_fn *fn,
                                        void *arg) MUSTER_MUST_CHECK;

/*
 * One queue's row, as muster_queue_list() gives it; `info->name` is `queue` itself. A queue begins when something is
 * put into it, when a worker serves it, or when a setting of it is set; it goes by itself when nothing of that is left.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_NOT_FOUND  there is no such queue; the row is that of an empty one: 0, and -1 for the age
 *   MUSTER_E_INVALID    the queue's name
 *   MUSTER_E_REDIS      a key of the queue has a wrong type
 */
MUSTER_API int muster_queue_get(struct muster_client *c, const char *queue,
                                struct muster_queue_info *info) MUSTER_MUST_CHECK;

/*
 * Pause a queue: nothing of it is taken or handed over from now on. Running processes go on; tasks that are enqueued
 * wait. Resuming hands waiting tasks to idle workers. Pausing a paused queue or resuming one that is not paused is no
 * error; neither is a queue that does not exist yet. (qless's pause and unpause.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID  the queue's name
 *   MUSTER_E_FULL     a pause: Redis is full, and the namespace is new
 */
MUSTER_API int muster_queue_pause(struct muster_client *c, const char *queue) MUSTER_MUST_CHECK;
MUSTER_API int muster_queue_resume(struct muster_client *c, const char *queue) MUSTER_MUST_CHECK;

/*
 * Delete a queue. Everything of it that waits, is delayed or has failed is gone for good, and so are its settings and
 * all its jobs except those that run. Jobs go 300 per script; jobs of other queues that wait until one of them is
 * complete fail, group "dependency". Running processes may finish: their owners are told (MUSTER_EVENT_DELETED), and
 * after any other end they are dropped. Workers go on serving the name: tasks that are enqueued afterwards are in a new
 * queue. `removed` receives how many tasks and jobs are gone that were still to run: they waited, were delayed,
 * scheduled or held, or depended. What had failed or is complete, and recurring jobs, are not counted. `running`
 * receives how many run. Either may be NULL. (worqr's deleteQueue, without its resurrection.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID  the queue's name
 *   MUSTER_E_STATE    jobs were put faster than they were deleted; many are gone, the queue is there: stop what puts
 *                     them
 *   MUSTER_E_REDIS    a key of the queue has a wrong type; nothing was changed
 */
MUSTER_API int muster_queue_delete(struct muster_client *c, const char *queue, uint64_t *removed,
                                   uint64_t *running) MUSTER_MUST_CHECK;

/* What a worker holds of a queue that shares evenly. All is even when everybody holds something from its least to its
 * most. */
struct muster_worker_share {
    const char *queue;
    uint64_t hands; /* how many of its hands serve the queue */
    uint64_t holds;
    uint64_t least; /* its share of what runs, rounded down */
    uint64_t most;  /* the same, rounded up */
};

/* A registered worker. */
struct muster_worker_info {
    const char *id;
    uint64_t epoch;            /* which life of this id: a larger one is later */
    const char *host;          /* as the worker stated it; "" if it did not */
    const char *version;       /* the same */
    int64_t pid;               /* of the worker's program on that host */
    int alive;                 /* non-zero: its liveness key exists */
    int permanent;             /* non-zero: it is never swept */
    int64_t heard_ms;          /* how long ago it was last heard; -1: unknown (not alive) */
    int64_t ttl_ms;            /* it counts as failed when this long has passed without a heartbeat */
    int64_t started_at_ms;     /* Unix time by Redis' clock */
    uint64_t hands;            /* how many processes it can hold at once */
    uint64_t held;             /* how many it holds */
    const char *const *queues; /* n_queues names: the queues that it has served in this life */
    size_t n_queues;
    const struct muster_worker_share *shares; /* n_shares: of those of its queues that share evenly */
    size_t n_shares;
};
typedef int muster_worker_fn(const struct muster_worker_info *worker, void *arg);

/* List the workers that are registered when the call begins. The first one is the one whose life would end first without
 * another heartbeat. One that leaves before its row is read is not listed. */
MUSTER_API int muster_worker_list(struct muster_client *c, muster_worker_fn *fn, void *arg) MUSTER_MUST_CHECK;

struct muster_job;

/* A process: a task or job in somebody's hands. */
struct muster_process_info {
    const char *id;     /* `<worker>:<token>:<queue>` */
    const char *worker; /* in whose hands it is */
    const char *queue;  /* where it came from */
    const char *job;    /* the job's id; NULL: a task, or a unique one */

    /* muster_lease_take() only: the job's record, without history, `after` and `before`; NULL otherwise. */
    const struct muster_job *record;

    uint64_t token;        /* rises with every take in the namespace: the fencing token */
    int64_t started_at_ms; /* when it was taken, Unix time by Redis' clock */
    int64_t ends_at_ms;    /* when its lease ends, Unix time by Redis' clock; 0: it is a worker's and has no lease */
    int cancelled;         /* non-zero: it was cancelled, or its queue was deleted: only a finish still counts */
    const char *progress;  /* the last note of muster_process_progress() or muster_lease_extend(); "" if none */
    const void *task;      /* the task's bytes, or the job's data; muster_process_list() gives at most
                            * MUSTER_HEAD_MAX of them */
    size_t len;
    const char *holder; /* the name under which its lease was taken; NULL: none, or it is a worker's */
    uint64_t whole_len; /* how many bytes the task has */
};
typedef int muster_process_row_fn(const struct muster_process_info *process, void *arg);

/* Which processes to list. A NULL field does not restrict. */
struct muster_process_filter {
    size_t size;                     /* sizeof(struct muster_process_filter) */
    const char *queue;               /* only of this queue */
    const char *worker;              /* only of this worker */
    const struct muster_bytes *task; /* only with exactly these bytes */
    const char *holder;              /* only under leases that were taken under this name */
};

/* The worker id that owns leased tasks. */
#define MUSTER_LEASE_ID ".lease"

/*
 * List the processes. Those of registered workers come first, worker by worker and queue by queue, in no order within
 * one; then those under leases. `f` may be NULL. The list is read in pages (HSCAN): a process that begins or ends
 * meanwhile may be missing, or be seen twice.
 */
MUSTER_API int muster_process_list(struct muster_client *c, const struct muster_process_filter *f,
                                   muster_process_row_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Declare a worker dead, alive or not. This life of its id ends, and its tasks go back to the front of their queues in
 * the order in which it took them. If it is alive, the answer to its next call says so; it registers again, and the
 * ends of the tasks that it had in hand no longer count. `given_back`, if not NULL, receives how many tasks and jobs
 * went back; those that were cancelled are gone instead, and one that is blamed for the deaths of its holders may fail
 * (max_crashes). A permanent worker that does not come back can be ended only by this call or by a new start of its id.
 * (worqr's failWorker.)
 *
 * The leases that were taken under this name (muster_lease_take_as()) end, too, also if no worker has it as its id: the
 * tasks go back in the same order. It counts as a give-back of each, and against none: what holds a lease shows no sign
 * of life, so that it is failed says nothing of its tasks. A lease that is over by then has lapsed, which counts.
 * Leases end in steps of at most 200; what is taken under the name meanwhile ends, too, or stays.
 *
 * Returns MUSTER_OK; or
 *   MUSTER_E_INVALID    the id; nothing was changed
 *   MUSTER_E_NOT_FOUND  there is no such worker, and no lease under this name; nothing was changed
 *   MUSTER_E_REDIS      a key of the worker has a wrong type: nothing was changed; or one of a queue: then only the
 *                       leases of that queue stay. muster_client_error() names it
 *   any other error     some of the leases may have ended: call again
 */
MUSTER_API int muster_worker_fail(struct muster_client *c, const char *worker, uint64_t *given_back) MUSTER_MUST_CHECK;

/*
 * Sweep all dead workers now, as every worker's heartbeat does. A worker is dead when its life has ended and any grace
 * after a stall of Redis is over. `workers`, if not NULL, receives how many this call swept. (worqr's cleanupWorkers.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_REDIS  a worker that has a key of a wrong type was left unchanged, and all others were swept;
 *                   muster_client_error() names the last such worker and its key. Or a queue had more beyond its bounds
 *                   than one sweep removes, 300 000 complete jobs: sweep again
 */
MUSTER_API int muster_client_sweep(struct muster_client *c, uint64_t *workers) MUSTER_MUST_CHECK;

/*
 * Cancel a task: all its copies in this queue, a unique one too. Copies that wait or are delayed are removed at once
 * and never start; `removed` receives how many. Copies that run are marked; `running` receives how many. A worker that
 * holds one is told by a message and by every heartbeat (MUSTER_STOP_CANCELLED), the holder of a lease when it extends
 * it. From now on only a finish of such a copy counts: if it is given back, retried, failed or swept, it is gone. So
 * each copy ends either finished or cancelled. Either pointer may be NULL. Copies on the failed list stay. The cost is
 * O(tasks that wait and run in the queue). (worqr's cancelTasks.)
 *
 * Returns MUSTER_OK, also when there was no copy; or
 *   MUSTER_E_INVALID  the queue's name
 *   MUSTER_E_REDIS    a key has a wrong type; nothing was changed
 */
MUSTER_API int muster_task_cancel(struct muster_client *c, const char *queue, const void *task, size_t len,
                                  uint64_t *removed, uint64_t *running) MUSTER_MUST_CHECK;

/* Cancel one process: it is marked, as muster_task_cancel() does with copies that run, and may still finish. If it is
 * that of a job, the job is gone at once, as by muster_job_cancel(); jobs that wait until it is complete fail, group
 * "dependency".
 * MUSTER_E_LOST: the process does not exist, or no longer exists. */
MUSTER_API int muster_process_cancel(struct muster_client *c, const char *process) MUSTER_MUST_CHECK;

/* ---- leases: tasks without a worker ---- */

#define MUSTER_LEASE_MAX_MS ((int64_t)30 * 24 * 3600 * 1000)
#define MUSTER_LEASE_TAKE_MAX 1000

/*
 * Take up to `n` tasks (at most MUSTER_LEASE_TAKE_MAX) under a lease of `lease_ms`, counted by Redis' clock, and 5 s
 * more for each 256 KiB, or part of that, of an answer of 16 KiB or more: it may be on its way for so long. A client with
 * a longer `timeout_ms` waits longer for its answers, and so needs a longer lease where its line is slow.
 *
 * The process id is all that an owner needs: any client that knows it may end the process. If the lease lapses first, the
 * task goes back to the front of the queue and the process is nobody's. The task is a suspect then, which is taken
 * alone; if that lease lapses, too, it counts, and after the third time (max_crashes) the task goes to the failed list.
 * So fewer than `n` may come although more wait. Before anything is taken, delayed tasks that are due and leases that
 * have lapsed are moved, and jobs of whatever queue are let go that waited for a job which has ended.
 * (redis-work-queue's lease.)
 *
 * If `wait_ms` is above 0, the call waits up to that long for the first task. It does not poll: it listens on a second
 * connection of the client, and every call of muster that makes work available wakes it. A bare LPUSH is found within
 * five seconds, or at once after its PUBLISH. A connection that dies meanwhile, also in silence, is replaced; only if no
 * new one can be made, the call ends with that error. A client whose connection was passed in cannot wait: MUSTER_E_STATE. Idle
 * workers of the queue are served before callers that wait here.
 *
 * `fn` is called for each task that was taken, until it returns non-zero. The remaining tasks are leased all the same.
 *
 * Many tasks are taken in several steps. If one fails, its error is returned, and what `fn` got before is leased.
 *
 * A task that Redis does not send for its size (client-output-buffer-limit) fails, group "too-large", when it has ended
 * two connections by itself, unless Redis says that it has no such limit; the log names it, and the call goes on behind
 * it.
 *
 * A task for which this program has no memory goes back to the front of its queue at the end of the call, which gets what is
 * behind it first. The log names it then; if there is nothing else, the call ends with MUSTER_E_NOMEM.
 *
 * Returns MUSTER_OK when at least one task was taken, or
 *   MUSTER_E_NOT_FOUND  there was no task (in time), or the queue is paused, or at a limit
 *   MUSTER_E_INVALID    the queue's name, n, lease_ms (1 to MUSTER_LEASE_MAX_MS) or wait_ms
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  some tasks may have been taken without being known here. The next take of this
 *                       client gives them back first, and so does muster_client_free(); nothing of it counts. So free a
 *                       client that takes no more. If neither comes within ten minutes, for which Redis knows what a
 *                       take got, or the connection was passed in and is broken, they come back when the lease lapses.
 *                       Such an error may also come from giving back: then nothing more was taken
 *   MUSTER_E_NOMEM      nothing was taken, because there is no memory for it, however few are taken at once; the client's
 *                       error names the task or job, and says how many bytes it has. It has gone back to the front of
 *                       its queue, for a taker that has more memory, and nothing of it counts. If that cannot be done
 *                       now, it is done as with MUSTER_E_CONN. The call does not wait beside such a one
 *   MUSTER_E_INTERRUPTED  what `fn` got is leased, and nothing else is: see muster_client_interrupt()
 */
MUSTER_API int muster_lease_take(struct muster_client *c, const char *queue, size_t n, int64_t lease_ms,
                                 int64_t wait_ms, muster_process_row_fn *fn, void *arg) MUSTER_MUST_CHECK;

#define MUSTER_LEASE_DEFAULT_MS ((int64_t)30000)

/* Zero or NULL means the default. All strings are copied. */
struct muster_take_options {
    size_t size; /* sizeof(struct muster_take_options) */

    /* At most so many tasks; default 1. */
    size_t n;

    /* How long the lease lasts; default 30 s, MUSTER_LEASE_DEFAULT_MS. */
    int64_t lease_ms;

    /* How long to wait for the first task; default 0, not at all. */
    int64_t wait_ms;

    /* Under which name: that of a worker's id, by the same rule. It says who has the lease, in muster_process_list(), and
     * muster_worker_fail() ends all leases of a name at once. It may be that of a registered worker; then that call
     * ends both. Several clients may use one name. NULL: none. */
    const char *holder;
};

/*
 * The same as muster_lease_take(), with options, of which `o` may be NULL. Each lease that has a holder's name costs
 * Redis two small entries as long as it lasts.
 *
 * Returns as muster_lease_take(), and MUSTER_E_INVALID: the holder's name; nothing was sent.
 */
MUSTER_API int muster_lease_take_as(struct muster_client *c, const char *queue, const struct muster_take_options *o,
                                    muster_process_row_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* What a finish does besides ending the process. Zero or NULL: nothing. */
struct muster_finish_options {
    size_t size; /* sizeof(struct muster_finish_options) */

    /* Bytes for those who listen (muster_queue_listen()), and for a job's record. NULL: no result, which differs from a
     * result of no bytes. */
    const struct muster_bytes *result;

    /* A job only: it is done in this queue and goes on to this one, as muster_process_set_next() says. NULL: it goes
     * nowhere. */
    const char *next;

    /* With `next`: how long the job waits there. */
    int64_t delay_ms;

    /* With `next`: the ids of n_after jobs that must be complete before it. One that does not exist is not waited for.
     * */
    const char *const *after;
    size_t n_after;
};

/*
 * End a process by its id. The process is a lease's or a worker's; in the second case the worker's handler is told
 * MUSTER_STOP_LOST. But if this program is the command that runs the process, or was started by it, it is left to exit
 * by itself (worker.h, struct muster_command): then the variable MUSTER_PROCESS has this id. The ends are those of a
 * handler:
 *   finish     done; `o` may be NULL
 *   give back  to the front of the queue; a job goes to where it was
 *   retry      to the end of the queue after `delay_ms`. With -1 a task is retried at once, a job after its own
 *              backoff. A job that has had all its retries fails instead (E_EXHAUSTED). muster_lease_retry_as() says why:
 *              a job's record keeps group and message (see muster_lease_fail(); both NULL: they stay as they are; a
 *              message without a group has the group "retried"), and a job without retries left fails with them.
 *              Without any the group is "failed-retries"
 *   fail       onto the failed list, with a group (NULL: "failed"; 1 to 200 bytes without control characters) and a
 *              message (NULL: none; up to 64 KiB)
 *
 * Returns MUSTER_OK only once for each process; or
 *   MUSTER_E_CANCELLED  give back, retry, fail: it was cancelled, or its queue was deleted. It has ended, and its task
 *                       or job is gone instead. A finish, too, if it is the process of a job that was cancelled
 *   MUSTER_E_EXHAUSTED  retry: the job had no retry left. It has ended, and the job is on the failed list instead
 *   MUSTER_E_STATE    `next`, or a retry's group or message, for a task that is no job; nothing was changed
 *   MUSTER_E_INVALID  `after` names a job for which this one cannot wait: itself, a job that waits for it, or a
 *                     recurring one; nothing was changed
 *   MUSTER_E_TOO_BIG  `after`, and too many jobs are tied to this one to see whether it would wait for itself (see
 *                     muster_job_put()); nothing was changed
 *   MUSTER_E_LOST     it was ended before, its lease lapsed, or it never existed; nothing was changed
 *   MUSTER_E_INVALID, MUSTER_E_TOO_BIG  the id or another argument; nothing was sent
 *   MUSTER_E_REDIS    a key of its queue has a wrong type; nothing was changed
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  it may or may not have ended. If you call again, E_LOST may mean that the first
 *                     call counted
 */
MUSTER_API int muster_lease_finish(struct muster_client *c, const char *process,
                                   const struct muster_finish_options *o) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_give_back(struct muster_client *c, const char *process) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_retry(struct muster_client *c, const char *process, int64_t delay_ms) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_retry_as(struct muster_client *c, const char *process, int64_t delay_ms, const char *group,
                                     const char *message) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_fail(struct muster_client *c, const char *process, const char *group,
                                 const char *message) MUSTER_MUST_CHECK;

/* One end of many. All fields but `size`, `process` and `outcome` may be 0 or NULL. A field that has no effect for its
 * outcome is refused. */
struct muster_lease_end {
    size_t size; /* sizeof(struct muster_lease_end); the same in all of an array */

    const char *process; /* its id */

    /* An enum muster_outcome (worker.h): MUSTER_FINISH, MUSTER_GIVE_BACK, MUSTER_RETRY or MUSTER_FAIL. */
    int outcome;

    /* Of a finish: as in struct muster_finish_options. */
    const struct muster_bytes *result;

    /* Of a retry and a failure: as in muster_lease_retry_as() and muster_lease_fail(). */
    const char *group;
    const char *message;

    /* Of a retry: how long the task waits; -1: a job by its own backoff. Of a finish with `next`: how long the job waits
     * there. */
    int64_t delay_ms;

    /* Of a finish: as in struct muster_finish_options. */
    const char *next;
    const char *const *after;
    size_t n_after;
};

/*
 * End `n` processes, of any queues, each in its own way. They go together: up to 200 of them in one script call, as
 * long as these have at most 1 MiB of results and messages, and move at most 4 MiB of tasks. Each is carried out by
 * itself, in their order: errs[i] receives what the single call would have returned for ends[i], and none depends on
 * another. What is not allowed in one of them (MUSTER_E_INVALID, MUSTER_E_TOO_BIG) is told in its place, and the
 * others go on. The array and all that it points to are borrowed until the call returns.
 *
 * Returns MUSTER_OK if each has ended as asked; otherwise the first error in errs[], whose words muster_client_error()
 * has. So after any error errs[] says how each stands:
 *   MUSTER_E_LOST       and so on: as muster_lease_finish() says of it
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT, MUSTER_E_INTERRUPTED  there was no answer: this one may or may not have ended. All
 *                       that come after the first such one have the same error, also those that were not sent. Call
 *                       again with these: E_LOST may then mean that the first call counted
 *   MUSTER_E_FULL, MUSTER_E_BUSY, MUSTER_E_DENIED, MUSTER_E_FORMAT, MUSTER_E_NOMEM  the same for all that come after
 *                       it; none of these has ended
 *   MUSTER_E_INVALID    for all: `ends` or `errs` is NULL, or a size is wrong; nothing was sent
 */
MUSTER_API int muster_lease_end_many(struct muster_client *c, const struct muster_lease_end *ends, size_t n,
                                     int *errs) MUSTER_MUST_CHECK;

#define MUSTER_PROGRESS_MAX 4096

/* What to change of a process. Zero or NULL leaves it as it is. */
struct muster_extend_options {
    size_t size; /* sizeof(struct muster_extend_options) */

    /* The lease ends this long from now. */
    int64_t lease_ms;

    /* A note that the list of processes shows, up to MUSTER_PROGRESS_MAX bytes; "" removes the note. */
    const char *progress;

    /* A job only: its new data, which the next taker gets. */
    const struct muster_bytes *data;
};

/*
 * Extend a lease, say how far the work is, or give a job new data. If Redis stood still or was away when the lease
 * ended, and workers of the namespace tell so by their silence, that time does not count: the lease can be extended as
 * if it had ended that much later. Without workers nobody can tell, and it has lapsed. Returns as
 * muster_lease_finish(), and
 *   MUSTER_E_STATE  the process was cancelled, or its queue was deleted (the caller may still finish it, but for a job
 *                   that was cancelled); or a lease was asked for on a worker's process, which has none; or data for a
 *                   task that is no job. Nothing was changed
 */
MUSTER_API int muster_lease_extend(struct muster_client *c, const char *process,
                                   const struct muster_extend_options *o) MUSTER_MUST_CHECK;

/*
 * The same for `n` processes, of any queues, with the same options for each. They go together, and errs[] receives how
 * each stands, as with muster_lease_end_many(): that one of them is lost keeps none of the others from being extended.
 *
 * Returns MUSTER_OK if each was extended; otherwise the first error in errs[]. If an option is not allowed, it is the
 * error of all, and nothing was sent.
 */
MUSTER_API int muster_lease_extend_many(struct muster_client *c, const char *const *processes, size_t n,
                                        const struct muster_extend_options *o, int *errs) MUSTER_MUST_CHECK;

/* ---- the failed list ---- */

/*
 * The failed list of a queue keeps all its entries until they are replayed or dropped. The settings keep_failed,
 * keep_failed_bytes and keep_failed_ms (job.h) bound it: then the oldest entries go, jobs with their records. The
 * newest one stays, however many bytes it has; but past keep_failed_ms it goes, too. muster_config_set() says in which
 * steps. What goes so is counted (`failed_dropped` of a queue's row), and told to a worker (MUSTER_EVENT_DROPPED) and
 * as an event of jobs ("dropped").
 */

/* A task or job that failed. */
struct muster_failure {
    const char *entry;           /* names this failure: for muster_failed_replay() and muster_failed_drop() */
    const char *queue;           /* on whose failed list it is */
    const char *process;         /* which process ended so; "" for a job that was in nobody's hands */
    const char *worker;          /* who held that process */
    const char *group;           /* why: its group */
    struct muster_bytes message; /* why, in more words */
    int64_t failed_at_ms;        /* Unix time by Redis' clock */
    const char *job;             /* the job's id; NULL: a task, or a unique one */
    const void *task;            /* the task's bytes, or the job's data; at most MUSTER_HEAD_MAX of them */
    size_t len;
    uint64_t whole_len; /* how many bytes it has */
    const char *holder; /* the name under which the lease of that process was taken; NULL: none, or it was a worker's */
};
typedef int muster_failure_fn(const struct muster_failure *failure, void *arg);

/* Which failures. */
struct muster_failed_filter {
    size_t size;                /* sizeof(struct muster_failed_filter) */
    const char *queue;          /* of this queue; must be given */
    const char *group;          /* only of this group; NULL: of all */
    const char *const *entries; /* only these n_entries, of 0 none; NULL: all. Not together with `group` */
    size_t n_entries;
    uint64_t offset; /* how many to leave out first; only for muster_failed_list() */
    uint64_t n;      /* at most this many; 0: all */
};

/* List the failures of a queue, newest first. The list is read in pages: a failure that comes or goes meanwhile may be
 * missing, or be seen twice. */
MUSTER_API int muster_failed_list(struct muster_client *c, const struct muster_failed_filter *f, muster_failure_fn *fn,
                                  void *arg) MUSTER_MUST_CHECK;

struct muster_failed_group {
    const char *queue;
    const char *group;
    uint64_t n;
};
typedef int muster_failed_group_fn(const struct muster_failed_group *group, void *arg);

/* Count the failures of each group of a queue; `queue` NULL: of every queue. (qless's failed.) */
MUSTER_API int muster_failed_groups(struct muster_client *c, const char *queue, muster_failed_group_fn *fn,
                                    void *arg) MUSTER_MUST_CHECK;

/*
 * Replay failures, or drop them. A replay puts tasks and jobs back to the end of their queue, the oldest failure first;
 * the counts of a job's retries and crashes begin at 0 again. A drop forgets them, a job with its record; jobs that
 * wait until such a job is complete fail, group "dependency". `n`, if not NULL, receives how many were replayed or
 * dropped. Large numbers go in bounded steps: a failed step leaves the rest on the list. (qless's unfail.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID    the filter
 *   MUSTER_E_NOT_FOUND  one of the entries is not, or no longer, on the list; or it is that of a unique task whose
 *                       equal is alive, and stays. The others were replayed or dropped
 *   MUSTER_E_REDIS      a key of the queue has a wrong type; nothing was changed
 */
MUSTER_API int muster_failed_replay(struct muster_client *c, const struct muster_failed_filter *f,
                                    uint64_t *n) MUSTER_MUST_CHECK;
MUSTER_API int muster_failed_drop(struct muster_client *c, const struct muster_failed_filter *f,
                                  uint64_t *n) MUSTER_MUST_CHECK;

/* ---- listening ---- */

enum muster_queue_event_type {
    MUSTER_QUEUE_DONE,      /* a process was finished */
    MUSTER_QUEUE_CANCELLED, /* a task was cancelled: all its copies */
    MUSTER_QUEUE_DELETED    /* the queue was deleted */
};

/* Something that happened in a queue. A field that the event does not have is NULL. */
struct muster_queue_event {
    enum muster_queue_event_type type;
    const char *queue;
    const char *process; /* done: which one */
    const char *worker;  /* done: who held it */
    const void *task;    /* done, cancelled: the task's bytes */
    size_t len;
    const struct muster_bytes *result; /* done: the result that was given with the finish; NULL if none */
    const char *holder;                /* done: the name under which its lease was taken; NULL: none */
};
typedef int muster_queue_event_fn(const struct muster_queue_event *event, void *arg);

/*
 * Listen to what happens in a queue, for `wait_ms` or until `fn` returns non-zero. Events are published on the channels
 * `<prefix>_<queue>_done`, `_cancel` and `_delete` (`<prefix>@<db>_...` in databases other than 0), and only while
 * somebody listens or the queue's setting `broadcast` is on. An event is heard at most once: a program that must not
 * miss one has to look at the queue itself. `ready`, if not NULL, is called once when listening has begun: everything
 * that happens after that is heard. If it returns non-zero, listening ends. It may use another client, but not this
 * one. (worqr's events.)
 *
 * Returns MUSTER_OK when `fn` or `ready` ended it, or
 *   MUSTER_E_TIMEOUT  `wait_ms` is over
 *   MUSTER_E_INVALID  the queue's name or wait_ms
 *   MUSTER_E_STATE    the client's connection was passed in
 *   MUSTER_E_FULL     Redis is full, and cannot note that somebody listens. That is noted anew now and then, so this may
 *                     also end it in the middle
 *   MUSTER_E_CONN     the connection broke, Redis did not answer in time, a Sentinel names another master now, or the
 *                     other connection leads to another server now: what happens there is not heard here. Or `fn` has
 *                     taken more than nine seconds, or the program stood still for so long: Redis may have published
 *                     nothing meanwhile. muster_listener_new() is for programs that take their time
 */
MUSTER_API int muster_queue_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                                   muster_queue_event_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* What time it is by Redis' clock, by which all times of muster are: Unix time in ms. */
MUSTER_API int muster_client_time(struct muster_client *c, int64_t *now_ms) MUSTER_MUST_CHECK;

/* What the server of the namespace tells of itself. A number that it does not tell is -1, a text "". */
struct muster_server_info {
    size_t size; /* sizeof(struct muster_server_info); set it before the call */

    char engine[32];        /* "Redis" or "Valkey" */
    char version[32];       /* "7.0.15" */
    char eviction[32];      /* maxmemory-policy; anything but "noeviction" loses queues when Redis is full */
    int64_t memory;         /* bytes that it uses */
    int64_t memory_max;     /* bytes that it may use; 0: no bound */
    int64_t clients;        /* connections, of muster and of others */
    int64_t commands_per_s; /* of the last moment, by its own count */
    int64_t cpu_ms;         /* of the processor, since it began */
    int64_t uptime_s;       /* since when it runs */
    int64_t replicas;       /* that are connected */
    int64_t append_only;    /* 1: it writes an append-only file; 0: it does not */
    int64_t unsaved;        /* changes since the last snapshot */
};

/*
 * Ask the server what it is and how much it has to do (INFO, one command). In a cluster it is the node that has the
 * namespace.
 *
 * Returns MUSTER_OK; any error of a call; or
 *   MUSTER_E_INVALID  `out->size` is wrong; nothing was sent
 *   MUSTER_E_DENIED   this user may not ask (ACL: +info); nothing else of muster needs that but muster_client_advise()
 */
MUSTER_API int muster_client_server(struct muster_client *c, struct muster_server_info *out) MUSTER_MUST_CHECK;

/* What muster_client_probe() tries. */
enum muster_probe {
    MUSTER_PROBE_READ, /* a key is looked for */
    MUSTER_PROBE_WRITE /* a key is written, which goes by itself after a second, and which a check knows */
};

/*
 * Try whether Redis answers, and does what this user asks of it: one command, for a probe of a program's health. A full
 * Redis and a replica refuse a write, and answer a read.
 *
 * Returns MUSTER_OK; any error of a call; or MUSTER_E_INVALID: there is no such probe. After E_CONN and E_TIMEOUT the
 * key may be there for its second; after other errors nothing was changed.
 */
MUSTER_API int muster_client_probe(struct muster_client *c, enum muster_probe what) MUSTER_MUST_CHECK;

/* ---- advice ---- */

enum muster_advice_level {
    MUSTER_ADVICE_GOOD,
    MUSTER_ADVICE_UNKNOWN, /* this user may not see it */
    MUSTER_ADVICE_MEND     /* something to mend */
};

/* What is known of one thing; borrowed until the callback returns. */
struct muster_advice {
    enum muster_advice_level level;
    const char *subject; /* "eviction", "rights", ... */
    const char *what;    /* how it is */
    const char *advice;  /* what to do, mostly a command of Redis; "" if nothing. USER stands for the user's name */
};
typedef int muster_advice_fn(const struct muster_advice *advice, void *arg);

/* What a user of Redis is for; examples/users.acl has a rule for each. */
enum muster_role {
    MUSTER_ROLE_ALL,      /* all that muster asks for */
    MUSTER_ROLE_PRODUCER, /* adds tasks and jobs */
    MUSTER_ROLE_WORKER,   /* takes and ends them, with a worker or under leases */
    MUSTER_ROLE_VIEWER,   /* looks, and writes nothing */
    MUSTER_ROLE_OPERATOR  /* looks, and changes what is there: replays, cancels, pauses, deletes, repairs */
};

/*
 * Look whether this Redis loses nothing, and whether this user may do all that `role` asks for: version, eviction,
 * memory, disk, replicas, settings, clock, each right, a write, a script, a message. It writes one key, which goes at
 * once; for a viewer none. A user with few rights gets what he may see; `fn` is called for each thing until it returns
 * non-zero.
 */
MUSTER_API int muster_client_advise(struct muster_client *c, enum muster_role role, muster_advice_fn *fn,
                                    void *arg) MUSTER_MUST_CHECK;

/* ---- check ---- */

/* Something that no rule allows. */
struct muster_damage {
    const char *key;  /* where; a queue's name at its end may hold any byte but control characters */
    const char *what; /* what is wrong with it, and what was done or can be done */
    int repaired;     /* non-zero: it was put right */
};
typedef int muster_damage_fn(const struct muster_damage *damage, void *arg);

/*
 * Look through all keys of the namespace for what no rule allows. It uses SCAN, in bounded steps, and may run on a
 * live system. It finds: sets without a registered worker; liveness keys and idle entries that belong to nobody;
 * work beside an idle worker; marks without a process; what came back and lies nowhere, or is listed nowhere;
 * suspicions of nobody; counts that do not add up, of hands and moves of even shares, too; reservations of moves that
 * nobody will make; a queue that should share evenly, and has not for longer than it may; settings that are no numbers
 * or beyond what is allowed; times of heartbeats that cannot be; a timer that no registered worker keeps; keys of a
 * wrong type or an unknown kind; jobs that are not in the one place that their record states; jobs that wait for
 * nothing, or for a job that is gone; jobs of a key that are held though there is room; schedules that nobody would go
 * on with; batches whose counts and members differ, or whose followers are missing; and jobs that only tags, histories
 * and lists still name.
 *
 * With `repair`, whatever can be put right without losing anything is put right, each in one script. A key of a wrong
 * or unknown type, a job's record that cannot be read, and a queue that stays uneven are left to people. `fn` is called
 * for each finding. If `<prefix>:format` has a wrong type, that is the only finding: nobody knows what the rest should
 * look like.
 *
 * Returns MUSTER_OK when it looked through all keys, or when `fn` ended it.
 */
MUSTER_API int muster_client_check(struct muster_client *c, int repair, muster_damage_fn *fn,
                                   void *arg) MUSTER_MUST_CHECK;

/*
 * Move a namespace that an older release has written to the format of this one. Stop its workers and its producers
 * first: theirs would neither wake workers of this release nor hear of work. From the first step to the last nobody
 * else can use the namespace: they are answered MUSTER_E_FORMAT, also if the upgrade is interrupted; the next call goes
 * on with it. The steps are short scripts, as many as there are keys to change; from format 2 or 3 it is one step.
 * `changed`, if not NULL, receives how many keys this call has changed, `<prefix>:format` among them. What dead workers
 * held stays with them until they start again or are swept. Counts of crashes of format 1 are forgotten.
 *
 * Returns MUSTER_OK, also if there was nothing to do, or
 *   MUSTER_E_STATE   workers of the older release are alive; muster_client_error() names them, and nothing was changed
 *   MUSTER_E_FORMAT  this release does not know the format; nothing was changed
 *   any other error  the upgrade may have begun: call again
 */
MUSTER_API int muster_client_upgrade(struct muster_client *c, uint64_t *changed) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
