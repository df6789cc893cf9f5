/* SPDX-License-Identifier: MIT
 *
 * The blocking client: enqueue tasks, take them under a lease, cancel, pause and delete, and look at queues, workers,
 * processes and failures.
 *
 * A client holds one connection to Redis. One thread per client at a time; different clients are independent. Every
 * call blocks for its round trips, none of which waits longer than the client's `timeout_ms` without a byte moving.
 * After E_CONN or E_TIMEOUT the next call connects again by itself (not with a connection that was handed in).
 *
 * The library installs no signal handlers, and a dead connection raises no SIGPIPE in the program.
 *
 * Names. A queue's name is 1 to 200 bytes without control characters (bytes below 0x20, and 0x7f). A worker's id is 1
 * to 64 of [A-Za-z0-9._-] and does not begin with a dot. A prefix is the same with `{` and `}` allowed.
 *
 * Rows. Lists are handed out a row at a time: the row and all it points to are borrowed until the callback returns;
 * non-zero from it ends the listing, which then returns MUSTER_OK. A callback must not use the same client.
 *
 * Any call that talks to Redis may answer MUSTER_E_NOMEM, _E_CONN, _E_TIMEOUT, _E_BUSY, _E_DENIED, _E_REDIS or
 * _E_FORMAT with the meaning given in error.h; below, a call lists those errors that say something more.
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
#define MUSTER_MESSAGE_MAX ((size_t)64 * 1024)
#define MUSTER_TASK_MAX_DEFAULT ((size_t)64 * 1024 * 1024)
#define MUSTER_TASK_MAX ((size_t)512 * 1024 * 1024)

/* Bytes of any value and length; `data` may be NULL when `len` is 0. */
struct muster_bytes {
    const void *data;
    size_t len;
};

/*
 * Zero means default. All strings are copied.
 *
 *   size          sizeof(struct muster_client_options)
 *   url           `redis://[user][:password]@host:port/db` or `unix:///path/to.sock?db=n`; `%XX` in user, password and
 *                 path. Default: redis://127.0.0.1:6379. No TLS: `rediss://` is refused.
 *   prefix        what all keys of the namespace begin with; default "muster". `{mail}` keeps all of it in one slot
 *                 of a cluster.
 *   timeout_ms    how long connecting may take, and how long an answer may keep the caller waiting; default 5000
 *   max_task_len  larger tasks are refused with E_TOO_BIG; default 64 MiB, at most 512 MiB (what Redis takes)
 *   redis         a connected hiredis context, authenticated and with its database selected, instead of `url`. It
 *                 stays the caller's, who frees it after the client and must not use it during a call. Once broken,
 *                 each call answers E_CONN.
 */
struct muster_client_options {
    size_t size;
    const char *url;
    const char *prefix;
    int timeout_ms;
    size_t max_task_len;
    struct redisContext *redis;
};

/*
 * Make a client. Nothing is sent: the first call connects. `o` may be NULL for all defaults.
 *
 * On success `*out` is the caller's, to be freed with muster_client_free(); on failure it is NULL.
 *
 * Returns MUSTER_OK, MUSTER_E_NOMEM, or
 *   MUSTER_E_INVALID  the URL, the prefix or a number is not allowed. Why: muster_url_check(), muster_prefix_check().
 */
MUSTER_API int muster_client_new(struct muster_client **out, const struct muster_client_options *o) MUSTER_MUST_CHECK;

/* Close the connection and free the client. NULL is allowed. */
MUSTER_API void muster_client_free(struct muster_client *c);

/* What the last failed call of this client met, in words for people: what happened, to what. "" before the first
 * failure. Valid until the next call on the client. */
MUSTER_API const char *muster_client_error(const struct muster_client *c);

/*
 * Is this name allowed? NULL if so, else a static string that says what is wrong with it. `name` may be NULL (wrong).
 * Nothing is sent. Any thread.
 */
MUSTER_API const char *muster_queue_check(const char *name);
MUSTER_API const char *muster_worker_id_check(const char *id);
MUSTER_API const char *muster_prefix_check(const char *prefix);
MUSTER_API const char *muster_url_check(const char *url);
MUSTER_API const char *muster_process_id_check(const char *process);

/*
 * Enqueue one task: at once into the hands of an idle worker of the queue, else to the end of the queue.
 *
 * The bytes go as they are; the empty task is allowed. One round trip. `waiting`, if not NULL, gets how
 * many tasks wait in the queue afterwards (0 when a worker got it). What is in the queue is the plain bytes in a Redis
 * list, so `LPUSH <prefix>:queues:<queue> <task>` by any program does the same, only without the hand-over.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID  the queue's name; nothing was sent
 *   MUSTER_E_TOO_BIG  the task is longer than `max_task_len`; nothing was sent
 *   MUSTER_E_FULL     nothing was enqueued
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  the task may or may not be enqueued; enqueueing it again may do so twice
 */
MUSTER_API int muster_task_enqueue(struct muster_client *c, const char *queue, const void *task, size_t len,
                                   uint64_t *waiting) MUSTER_MUST_CHECK;

/*
 *   size        sizeof(struct muster_enqueue_options)
 *   at_front    the tasks are the next out, tasks[0] first
 *   request_id  1 to 200 bytes without control characters, copied: sent again under the same id within an hour, as
 *               after E_CONN, the same call adds nothing and answers as the first did. Costs a record in Redis for that
 *               time, which outlives the queue, should it be deleted
 */
struct muster_enqueue_options {
    size_t size;
    int at_front;
    const char *request_id;
};

/* Up to so many tasks of together so many bytes are enqueued atomically, by one script. */
#define MUSTER_ENQUEUE_ATOMIC_TASKS 1000
#define MUSTER_ENQUEUE_ATOMIC_BYTES ((size_t)1024 * 1024)

/*
 * Enqueue `n` tasks, in their order. `o` may be NULL. With `n` 0 nothing is enqueued and `*waiting` tells the length.
 *
 * Up to MUSTER_ENQUEUE_ATOMIC_TASKS tasks and _BYTES bytes go in one script: all or none. More go in pipelined chunks:
 * workers begin with the first chunk while the rest is on its way, and a failure in between leaves a part enqueued, of
 * which a heartbeat tells the workers.
 *
 * With a request id every chunk goes by its own script, one after the other; after a failure in between, the same call
 * under the same id enqueues what is missing, and only that.
 *
 * Returns as muster_task_enqueue(); names and lengths of all tasks are checked before anything is sent. And
 *   MUSTER_E_EXISTS  the request id was used with another queue or other tasks; nothing was enqueued
 */
MUSTER_API int muster_task_enqueue_many(struct muster_client *c, const char *queue, const struct muster_bytes *tasks,
                                        size_t n, const struct muster_enqueue_options *o,
                                        uint64_t *waiting) MUSTER_MUST_CHECK;

/* One waiting task. `position` 0 is the next out. */
struct muster_task {
    uint64_t position;
    const void *data;
    size_t len;
};
typedef int muster_task_fn(const struct muster_task *task, void *arg);

/*
 * Look at up to `n` waiting tasks from position `from` on, in the order in which they will come out; nothing is taken.
 * Read in pages (LRANGE), so under a moving queue a task may be seen twice or not at all. A queue that does not exist
 * is an empty one.
 */
MUSTER_API int muster_task_peek(struct muster_client *c, const char *queue, uint64_t from, uint64_t n,
                                muster_task_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* How many tasks wait in the queue (LLEN); 0 for one that does not exist. */
MUSTER_API int muster_queue_length(struct muster_client *c, const char *queue, uint64_t *waiting) MUSTER_MUST_CHECK;

/*
 *   name       valid until the callback returns
 *   waiting    tasks and jobs that can be taken
 *   running    processes: tasks and jobs in the hands of workers
 *   delayed    tasks that wait for a retry's delay to pass, and scheduled jobs
 *   depends    jobs that wait for other jobs
 *   recurring  jobs that make others
 *   complete   jobs whose records are kept
 *   failed     tasks and jobs on the queue's failed list
 *   cancelled  tasks that were cancelled, since the queue was last deleted or tidied away
 *   idle       workers that wait for a task of this queue
 *   paused     nothing is handed out
 */
struct muster_queue_info {
    const char *name;
    uint64_t waiting, running, delayed, depends, recurring, complete, failed, cancelled, idle;
    int paused;
};
typedef int muster_queue_fn(const struct muster_queue_info *queue, void *arg);

/* The queues of the namespace, oldest name first: those that hold something, and those that workers serve. A queue that
 * only a bare LPUSH has made is among them once a worker serves it or a call of muster has used it. */
MUSTER_API int muster_queue_list(struct muster_client *c, muster_queue_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Pause a queue: from now on nothing of it is taken or handed over; what runs goes on, what is enqueued waits. Resume
 * hands over what waits to whoever is idle. Both are OK when it was so already, and for a queue that does not exist
 * yet. (qless's pause and unpause.)
 *
 * Returns MUSTER_OK or MUSTER_E_INVALID: the queue's name.
 */
MUSTER_API int muster_queue_pause(struct muster_client *c, const char *queue) MUSTER_MUST_CHECK;
MUSTER_API int muster_queue_resume(struct muster_client *c, const char *queue) MUSTER_MUST_CHECK;

/*
 * Delete a queue: everything of it that waits, is delayed or has failed is gone for good, and so are its settings, and
 * all its jobs but those in work (1 000 per script; jobs elsewhere that wait for one of them fail, group "dependency").
 * What is in work may finish; its owners are told (MUSTER_EVENT_DELETED), and whatever else becomes of it, it is
 * dropped. Workers go on serving the name: what is enqueued afterwards is a new queue. `waiting` gets how many waited
 * or were delayed, `running` how many were in work; either may be NULL. (worqr's deleteQueue, without its
 * resurrection.)
 *
 * Returns MUSTER_OK, MUSTER_E_INVALID: the queue's name, or MUSTER_E_REDIS: a key of it has a wrong type, and nothing
 * was changed.
 */
MUSTER_API int muster_queue_delete(struct muster_client *c, const char *queue, uint64_t *waiting,
                                   uint64_t *running) MUSTER_MUST_CHECK;

/*
 *   id              the worker's
 *   epoch           which life of that id: larger is later
 *   host, version   as the worker stated them; "" if it did not
 *   pid             of its process on that host
 *   alive           its liveness key is there
 *   permanent       it is never swept
 *   heard_ms        how long ago it was last heard; -1: unknown (not alive)
 *   ttl_ms          after so long without a heartbeat it counts as failed
 *   started_at_ms   Unix time by Redis' clock
 *   hands, held     how many processes it can hold at once, and how many it holds
 *   queues          n_queues names: what it has served in this life
 */
struct muster_worker_info {
    const char *id;
    uint64_t epoch;
    const char *host, *version;
    int64_t pid;
    int alive, permanent;
    int64_t heard_ms, ttl_ms, started_at_ms;
    uint64_t hands, held;
    const char *const *queues;
    size_t n_queues;
};
typedef int muster_worker_fn(const struct muster_worker_info *worker, void *arg);

/* The registered workers, by when their life ends without another heartbeat. */
MUSTER_API int muster_worker_list(struct muster_client *c, muster_worker_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 *   id             `<worker>:<token>:<queue>`
 *   worker, queue  whose hands, and from where
 *   token          rises with every take in the namespace: the fencing token
 *   started_at_ms  when it was taken, Unix time by Redis' clock
 *   ends_at_ms     a lease's end, Unix time by Redis' clock; 0: it is a worker's
 *   cancelled      it, or its queue, was cancelled or deleted: only a finish still counts
 *   progress       the last note of muster_process_progress() or muster_lease_extend(); "" if there is none
 *   task, len      the task's bytes, or a job's data
 *   job            the job's id; NULL: a plain task
 *   record         muster_lease_take() only: the job's record, without history, `after` and `before`; else NULL
 */
struct muster_job;
struct muster_process_info {
    const char *id, *worker, *queue, *job;
    const struct muster_job *record;
    uint64_t token;
    int64_t started_at_ms, ends_at_ms;
    int cancelled;
    const char *progress;
    const void *task;
    size_t len;
};
typedef int muster_process_row_fn(const struct muster_process_info *process, void *arg);

/*
 * Which processes to list; a NULL member does not restrict.
 *
 *   size    sizeof(struct muster_process_filter)
 *   queue   only of this queue
 *   worker  only of this worker
 *   task    only with exactly these bytes
 */
struct muster_process_filter {
    size_t size;
    const char *queue, *worker;
    const struct muster_bytes *task;
};

/* The worker's id under which tasks are that somebody holds by a lease. */
#define MUSTER_LEASE_ID ".lease"

/*
 * The processes: tasks in the hands of registered workers, worker by worker and queue by queue, in no order within
 * one, then those under leases. `f` may be NULL. Read in pages (HSCAN): one that ends or begins meanwhile may or may
 * not be seen, or be seen twice.
 */
MUSTER_API int muster_process_list(struct muster_client *c, const struct muster_process_filter *f,
                                   muster_process_row_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 * Declare a worker dead, alive or not: its life of that id ends, its tasks go back to the front of their queues in the
 * order in which it took them. If it lives, it learns it from its next call and registers anew; ends of what it had in
 * hand no longer count. `given_back`, if not NULL, gets the number of tasks. The only way, but a new start of its id,
 * to end a permanent worker that does not come back. (worqr's failWorker.)
 *
 * Returns MUSTER_OK, or MUSTER_E_INVALID: the id; MUSTER_E_NOT_FOUND: no such worker; MUSTER_E_REDIS: a key of it has a
 * wrong type. Then nothing was changed.
 */
MUSTER_API int muster_worker_fail(struct muster_client *c, const char *worker, uint64_t *given_back) MUSTER_MUST_CHECK;

/*
 * Sweep all dead workers now, as every worker's heartbeat does: those whose life has ended and whose grace after a
 * stall of Redis is over. `workers`, if not NULL, gets how many this call swept. (worqr's cleanupWorkers.)
 *
 * Returns MUSTER_OK, or MUSTER_E_REDIS: a worker with a key of a wrong type was passed over, unchanged, and all others
 * were swept. muster_client_error() names the last such worker and its key.
 */
MUSTER_API int muster_client_sweep(struct muster_client *c, uint64_t *workers) MUSTER_MUST_CHECK;

/*
 * Cancel a task: all its copies in this queue. Those that wait or are delayed are removed at once and never start;
 * `waiting` gets how many. Those in work are marked, `running` gets how many: their owners are told, by a message and
 * by every heartbeat (MUSTER_STOP_CANCELLED), and from now on only a finish still counts: given back, retried, failed
 * or swept, they are gone. So each ends finished or cancelled. Either pointer may be NULL. Copies on the failed list
 * stay. O(what waits and runs in the queue). (worqr's cancelTasks.)
 *
 * Returns MUSTER_OK, also when there was no copy; MUSTER_E_INVALID: the queue's name; MUSTER_E_REDIS: a key has a wrong
 * type, and nothing was changed.
 */
MUSTER_API int muster_task_cancel(struct muster_client *c, const char *queue, const void *task, size_t len,
                                  uint64_t *waiting, uint64_t *running) MUSTER_MUST_CHECK;

/* Cancel one process. As muster_task_cancel(); MUSTER_E_LOST: there is no such process (any more). */
MUSTER_API int muster_process_cancel(struct muster_client *c, const char *process) MUSTER_MUST_CHECK;

/* ---- leases: tasks without a worker ---- */

#define MUSTER_LEASE_MAX_MS ((int64_t)30 * 24 * 3600 * 1000)
#define MUSTER_LEASE_TAKE_MAX 1000

/*
 * Take up to `n` tasks (at most MUSTER_LEASE_TAKE_MAX) under a lease of `lease_ms`, counted by Redis' clock. Who knows
 * a process' id is its owner: any client may end it. When the lease lapses first, the task goes back to the front of
 * the queue and the process is nobody's; that counts as a crash (three, and the task is on the failed list). Delayed
 * tasks that are due and leases that have lapsed are moved first. (redis-work-queue's lease.)
 *
 * With `wait_ms` over 0 it waits up to so long for the first task: woken by whoever enqueues, never polling, on a
 * second connection of the client's. Not with a connection that was handed in: MUSTER_E_STATE. Workers that are idle on
 * the queue are served before those who wait here.
 *
 * Once tasks are taken `fn` is called for each, until it returns non-zero; the others are leased all the same.
 *
 * Returns MUSTER_OK: at least one was taken; or
 *   MUSTER_E_NOT_FOUND  there was none (in time), or the queue is paused
 *   MUSTER_E_INVALID    the queue's name, n, lease_ms (1 to MUSTER_LEASE_MAX_MS) or wait_ms
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  some may have been taken: they come back when the lease lapses
 */
MUSTER_API int muster_lease_take(struct muster_client *c, const char *queue, size_t n, int64_t lease_ms,
                                 int64_t wait_ms, muster_process_row_fn *fn, void *arg) MUSTER_MUST_CHECK;

/*
 *   size      sizeof(struct muster_finish_options)
 *   result    bytes for those who listen (muster_queue_listen()), and for a job's record; NULL: none, which is not the
 *             same as no bytes
 *   next      a job only: done here, it goes on to this queue, after `delay_ms`, and when the n_after jobs `after` are
 *             complete (muster_process_set_next()); NULL: nowhere
 */
struct muster_finish_options {
    size_t size;
    const struct muster_bytes *result;
    const char *next;
    int64_t delay_ms;
    const char *const *after;
    size_t n_after;
};

/*
 * End a process by its id: of a lease, or of a worker, who is then told MUSTER_STOP_LOST. The same ends as a handler's:
 * finish; give back to the front of the queue (a job: to where it was); retry after `delay_ms` at the end of the queue
 * (-1: a task at once, a job after its own backoff; a job that has had all its retries fails instead, group
 * "failed-retries"); fail onto the failed list with a group (NULL: "failed"; 1 to 200 bytes without control characters)
 * and a message (NULL: none; up to 64 KiB). `o` may be NULL.
 *
 * Returns MUSTER_OK, once for each process; or
 *   MUSTER_E_STATE    `next` for a task that is no job; nothing was changed
 *   MUSTER_E_INVALID  `after` names a job for which it cannot wait: itself, one that waits for it, a recurring one;
 *                     nothing was changed
 *   MUSTER_E_LOST     it was ended before, its lease lapsed, or there never was one; nothing was changed
 *   MUSTER_E_INVALID, MUSTER_E_TOO_BIG  the id or another argument; nothing was sent
 *   MUSTER_E_REDIS    a key of its queue has a wrong type; nothing was changed
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  unknown. Said again, E_LOST may then mean that the first one counted
 */
MUSTER_API int muster_lease_finish(struct muster_client *c, const char *process,
                                   const struct muster_finish_options *o) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_give_back(struct muster_client *c, const char *process) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_retry(struct muster_client *c, const char *process, int64_t delay_ms) MUSTER_MUST_CHECK;
MUSTER_API int muster_lease_fail(struct muster_client *c, const char *process, const char *group,
                                 const char *message) MUSTER_MUST_CHECK;

#define MUSTER_PROGRESS_MAX 4096

/*
 *   size      sizeof(struct muster_extend_options)
 *   lease_ms  the lease ends so long from now; 0: as it is
 *   progress  a note that the list of processes shows, up to MUSTER_PROGRESS_MAX bytes; "": none any more; NULL: as it
 *             is
 *   data      a job only: its new data, which the next taker gets; NULL: as they are
 */
struct muster_extend_options {
    size_t size;
    int64_t lease_ms;
    const char *progress;
    const struct muster_bytes *data;
};

/*
 * Extend a lease, say how far the work is, or give a job new data. MUSTER_E_STATE: the process was cancelled (it is
 * still the caller's to finish or give back), a lease was asked for on a worker's process, which has none, or data for
 * a task that is no job; nothing was changed. Else as muster_lease_finish().
 */
MUSTER_API int muster_lease_extend(struct muster_client *c, const char *process,
                                   const struct muster_extend_options *o) MUSTER_MUST_CHECK;

/* ---- the failed list ---- */

/* The failed list of a queue keeps its newest entries: so many, of so many bytes together, for so long. */
#define MUSTER_FAILED_MAX 10000
#define MUSTER_FAILED_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define MUSTER_FAILED_AGE_MAX_MS ((int64_t)7 * 24 * 3600 * 1000)

/*
 * A task that failed.
 *
 *   entry           names it: for muster_failed_replay() and _drop()
 *   process         whose end it was; its worker and token are in it; "" for a job that was in nobody's hands
 *   group, message  why
 *   failed_at_ms    Unix time by Redis' clock
 *   job             the job's id, NULL: a plain task
 *   task, len       the task's bytes, or the job's data
 */
struct muster_failure {
    const char *entry, *queue, *process, *worker, *group;
    struct muster_bytes message;
    int64_t failed_at_ms;
    const char *job;
    const void *task;
    size_t len;
};
typedef int muster_failure_fn(const struct muster_failure *failure, void *arg);

/*
 * Which failures.
 *
 *   size     sizeof(struct muster_failed_filter)
 *   queue    of this queue; must be given
 *   group    only of this group; NULL: of all
 *   entries  n_entries of them, only these; NULL: all. Not together with `group`
 *   offset   leave out so many first; only for muster_failed_list()
 *   n        so many at most; 0: all
 */
struct muster_failed_filter {
    size_t size;
    const char *queue, *group;
    const char *const *entries;
    size_t n_entries;
    uint64_t offset, n;
};

/* The failures of a queue, newest first. Read in pages: one that comes or goes meanwhile may be missing or seen twice.
 * */
MUSTER_API int muster_failed_list(struct muster_client *c, const struct muster_failed_filter *f, muster_failure_fn *fn,
                                  void *arg) MUSTER_MUST_CHECK;

struct muster_failed_group {
    const char *queue, *group;
    uint64_t n;
};
typedef int muster_failed_group_fn(const struct muster_failed_group *group, void *arg);

/* How many failures each group of a queue has; `queue` NULL: of every queue. (qless's failed.) */
MUSTER_API int muster_failed_groups(struct muster_client *c, const char *queue, muster_failed_group_fn *fn,
                                    void *arg) MUSTER_MUST_CHECK;

/*
 * Replay: put failed tasks and jobs back to the end of their queue, the oldest failure first; a job's retries and
 * crashes begin anew; drop: forget them, a job with its record: jobs that wait for it fail, group "dependency". `n`, if
 * not NULL, gets how many. Many go in bounded steps; a failure in between leaves the rest on the list. (qless's
 * unfail.)
 *
 * Returns MUSTER_OK; MUSTER_E_INVALID: the filter; MUSTER_E_NOT_FOUND: one of the entries is not (any more) on the
 * list, the others were seen to; MUSTER_E_REDIS: a key of the queue has a wrong type, nothing was changed.
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

/*
 *   process  done: whose end it was; else NULL
 *   worker   done: its owner; else NULL
 *   task     done, cancelled: the task's bytes
 *   result   done: what the finish brought along, NULL if nothing; else NULL
 */
struct muster_queue_event {
    enum muster_queue_event_type type;
    const char *queue, *process, *worker;
    const void *task;
    size_t len;
    const struct muster_bytes *result;
};
typedef int muster_queue_event_fn(const struct muster_queue_event *event, void *arg);

/*
 * Listen to what happens in a queue, for `wait_ms` or until `fn` returns non-zero. Events are published only while
 * somebody listens (or the queue's `broadcast` setting is there), on the channels `<prefix>_<queue>_done`, `_cancel`
 * and `_delete`, and are heard at most once: who must not miss one looks at the queue. `ready`, if not NULL, is called
 * once when listening has begun: what happens from then on is heard. It may use another client, not this one. (worqr's
 * events.)
 *
 * Returns MUSTER_OK when fn or `ready` ended it, MUSTER_E_TIMEOUT when the time is over, MUSTER_E_INVALID: the queue's
 * name or wait_ms; MUSTER_E_STATE: the client's connection was handed in.
 */
MUSTER_API int muster_queue_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                                   muster_queue_event_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* ---- check ---- */

/*
 * Something that no rule allows.
 *
 *   key       where; the queue's name at its end may hold any byte but control characters
 *   what      what is wrong with it, and what was done or can be done
 *   repaired  it was put right
 */
struct muster_damage {
    const char *key, *what;
    int repaired;
};
typedef int muster_damage_fn(const struct muster_damage *damage, void *arg);

/*
 * Look through all keys of the namespace (SCAN, in bounded steps, on a live system) for what no rule allows: sets
 * without a registered worker, liveness keys and idle entries of nobody, work beside an idle worker, marks without a
 * process, counts that do not add up, keys of a wrong type or unknown kind; and jobs that are not in the one place that
 * their record says, that wait for nothing or for what is gone, or that only tags, histories and lists still name.
 * With `repair` what can be put right without losing anything is, each in one script; a key of a wrong or unknown type,
 * and a job's record that cannot be read, are left to people. `fn` is called for each.
 *
 * Returns MUSTER_OK when it looked through all, or `fn` ended it.
 */
MUSTER_API int muster_client_check(struct muster_client *c, int repair, muster_damage_fn *fn,
                                   void *arg) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
