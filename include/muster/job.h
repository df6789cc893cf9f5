/* SPDX-License-Identifier: MIT
 *
 * Jobs: tasks with an identity. A job has an id and a record: data, priority, delay, retries, dependencies, tags, a
 * history, a result. It waits in the same queues as plain tasks, is taken by the same workers, under the same leases,
 * and its process ends by the same calls (worker.h, client.h).
 *
 * What a job may rely on
 *   - It is in exactly one state, and each change of state is one script. An id is one job in the whole namespace.
 *   - Of one queue come out: jobs of negative priority first, lower ones before higher ones; then plain tasks and jobs
 *     of priority 0 in turn; then jobs of positive priority. Jobs of equal priority in the order in which they began to
 *     wait. O(log n).
 *   - What becomes of it is counted: how often it was retried (against its own `retries`), and apart from that how
 *     often the worker that held it died (against the setting `max_crashes`). Either limit puts it onto the failed
 *     list.
 *   - Its times are Redis' clock's.
 *
 * Rules for clients, threads, names, rows and errors are those at the head of client.h. What a call is given is copied,
 * or sent before it returns. An id of a job is like a queue's name: 1 to 200 bytes without control characters. So are
 * tags and groups. After E_INVALID and E_TOO_BIG nothing was changed, mostly not even sent; after E_REDIS, for a key of
 * the wrong type, nothing either. After E_CONN and E_TIMEOUT of a call that changes something it may have been done.
 */
#ifndef MUSTER_JOB_H
#define MUSTER_JOB_H

#include "client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_JOB_ID_MAX 200
#define MUSTER_TAG_MAX 200
/* How many tags, and how many jobs that it waits for, one job has at most. */
#define MUSTER_JOB_TAGS_MAX 100
#define MUSTER_JOB_AFTER_MAX 1000
#define MUSTER_JOB_RETRIES_DEFAULT 5
#define MUSTER_JOB_RETRIES_MAX 1000000
#define MUSTER_JOB_LOG_MAX 4096
/* So many jobs are cancelled by one call at most, those that wait for them included. */
#define MUSTER_JOB_CANCEL_MAX 10000
/* Delays, intervals and limits are at most this long: ten years. */
#define MUSTER_JOB_MS_MAX ((int64_t)10 * 366 * 24 * 3600 * 1000)

/*
 * Where a job is: X(state, name). Every job is in exactly one of these.
 *
 *   scheduled  becomes ready at a time: put with a delay, or retried with one
 *   depends    waits for other jobs to be complete
 *   waiting    can be taken
 *   running    in the hands of a worker, or under a lease
 *   failed     on the failed list of its queue
 *   complete   done; its record is kept for a while (settings keep_jobs, keep_jobs_ms)
 *   recurring  no job to run itself: makes one every interval
 */
#define MUSTER_JOB_STATES(X)             \
    X(MUSTER_JOB_SCHEDULED, "scheduled") \
    X(MUSTER_JOB_DEPENDS, "depends")     \
    X(MUSTER_JOB_WAITING, "waiting")     \
    X(MUSTER_JOB_RUNNING, "running")     \
    X(MUSTER_JOB_FAILED, "failed")       \
    X(MUSTER_JOB_COMPLETE, "complete")   \
    X(MUSTER_JOB_RECURRING, "recurring")

enum muster_job_state {
#define MUSTER_JOB_STATE_ENUM(state, name) state,
    MUSTER_JOB_STATES(MUSTER_JOB_STATE_ENUM)
#undef MUSTER_JOB_STATE_ENUM
        MUSTER_JOB_STATE_COUNT
};

/* The name of a state; "unknown" for what is none. And back: -1 for what names none. */
MUSTER_API const char *muster_job_state_name(enum muster_job_state state);
MUSTER_API int muster_job_state_of(const char *name);

/* NULL if allowed, else what is wrong with it. Any thread. */
MUSTER_API const char *muster_job_id_check(const char *id);
MUSTER_API const char *muster_tag_check(const char *tag);

/*
 * How long a retry waits, unless the retry itself says so: `delay_ms`, doubled with each retry if `exponential`, at
 * most `max_ms` (0: MUSTER_JOB_MS_MAX), less a random part of up to `jitter_percent` (0 to 100) of it.
 */
struct muster_backoff {
    int64_t delay_ms, max_ms;
    int exponential, jitter_percent;
};

/* A number in a spec that is not 0 but means 0, for a member whose 0 means "default" or "as it is". */
#define MUSTER_ZERO (-1000000007)

/*
 * What to put. Zero means default, except with `replace`: then zero or NULL leaves what the job has (MUSTER_ZERO: 0),
 * also the time when it is ready or makes the next one.
 *
 *   size       sizeof(struct muster_job_spec); 0 is refused, for then nothing else would count
 *   id         the job's; NULL: made (32 hex digits). Of a recurring one at most 180 bytes
 *   data       what its handler gets as its task; up to `max_task_len`
 *   priority   lower runs sooner; any int but MUSTER_ZERO; default 0
 *   retries    how many retries it may have; default MUSTER_JOB_RETRIES_DEFAULT; MUSTER_ZERO: none
 *   track      its events are marked as tracked, and it stands on the list of tracked jobs
 *   replace    a job of this id that is scheduled, depends, waits, runs, failed or recurs: change it to this and move
 *              it to this queue, instead of refusing. Whoever runs it loses it (MUSTER_STOP_LOST). One that recurs goes
 *              on recurring
 *   delay_ms   ready so long from now; with `after` too: not before that time. With `replace` MUSTER_ZERO: at once
 *   limit_ms   how long a handler may run on it (worker.h: limit_ms)
 *   every_ms   recurring: makes a job `<id>-<n>`, n = 1, 2, ..., with these data, priority, retries, limit, backoff and
 *              tags, every so long, the first one at once or after `offset_ms`; also while its queue is paused. At
 *              least 1000. It waits for no other (`after`), nor any other for it
 *   offset_ms  recurring: the first one so long from now
 *   backlog    recurring: of the times that passed while nobody was there, so many are made up for at most; 0: all
 *   tags       n_tags of them
 *   after      ids of n_after jobs that must be complete before. One that does not exist, or is complete, is met; one
 *              that has failed is waited for: it may be replayed
 *   backoff    NULL: retries come at once
 */
struct muster_job_spec {
    size_t size;
    const char *id;
    struct muster_bytes data;
    int priority, retries, track, replace, backlog;
    int64_t delay_ms, limit_ms, every_ms, offset_ms;
    const char *const *tags;
    size_t n_tags;
    const char *const *after;
    size_t n_after;
    const struct muster_backoff *backoff;
};

/*
 * Put a job: into the hands of an idle worker, or into its queue; or scheduled, or waiting for others. `id`, if not
 * NULL, must have MUSTER_JOB_ID_MAX + 1 bytes and gets its id. An id whose job is complete or failed may be put again:
 * the new job takes its place. (qless's put and recur; redis-work-queue's add_item.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_EXISTS   a job of this id is alive; muster_client_error() tells its state; nothing was changed
 *   MUSTER_E_INVALID  a name, a number, or a dependency on itself, in a circle, or of or on a recurring job; nothing
 *                     was changed
 *   MUSTER_E_TOO_BIG  the data, the tags or the dependencies; nothing was sent
 *   MUSTER_E_FULL     nothing was put
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  unknown. Put again under the same id it is alive at most once: E_EXISTS then
 *                     mostly means that it had been. One that was put, and is complete or failed by then, is put anew
 */
MUSTER_API int muster_job_put(struct muster_client *c, const char *queue, const struct muster_job_spec *spec,
                              char *id) MUSTER_MUST_CHECK;

/*
 * Enqueue a task unless an equal one, enqueued by this call, is alive in this queue: a job whose id is made of the
 * queue's name and the bytes (SHA-1). Accepted again as soon as that one is finished, failed, deleted or cancelled (one
 * in work: as soon as it ends). Plain tasks with the same bytes are another matter and always accepted. (worqr's unique
 * queues, without markers that outlive their task.)
 *
 * `id`, if not NULL, must have MUSTER_JOB_ID_MAX + 1 bytes and gets the job's id, with E_EXISTS that of the other one;
 * after any other error "". Returns as muster_job_put().
 */
MUSTER_API int muster_task_enqueue_unique(struct muster_client *c, const char *queue, const void *task, size_t len,
                                          char *id) MUSTER_MUST_CHECK;

/* A line of a job's history: what happened ("put", "taken", "retried", ... or "log"), when, and more about it. */
struct muster_job_event_line {
    int64_t at_ms;
    const char *what, *text;
};

/*
 * A job's record. Texts are never NULL ("" if there is none).
 *
 *   retries, retried  how many retries it may have, and has had; its attempt is retried + 1
 *   crashes           how often the worker that held it died since it was put or replayed
 *   put_at_ms         when it was put;  since_ms: since when it is in its state
 *   due_at_ms         scheduled: when it becomes ready; recurring: when it makes the next one; else 0
 *   worker, process   running: whose hands
 *   cancelled         running, but cancelled: only a finish still counts
 *   group, message    failed: why; else of the last retry, if one was given
 *   result            what its finish brought along, also one that sent it on to another queue; data NULL: nothing
 *   tags, after, before  its tags; the jobs that it still waits for; those that wait for it
 *   history           oldest first: the first line and the newest ones (setting keep_history)
 */
struct muster_job {
    const char *id, *queue;
    enum muster_job_state state;
    struct muster_bytes data;
    int priority, retries, retried, crashes, tracked, cancelled, backlog;
    int64_t put_at_ms, since_ms, due_at_ms, limit_ms, every_ms;
    struct muster_backoff backoff;
    uint64_t made; /* recurring: how many jobs it has made */
    const char *worker, *process, *group;
    struct muster_bytes message, result;
    const char *const *tags;
    size_t n_tags;
    const char *const *after;
    size_t n_after;
    const char *const *before;
    size_t n_before;
    const struct muster_job_event_line *history;
    size_t n_history;
};
typedef int muster_job_fn(const struct muster_job *job, void *arg);

/*
 * Get jobs by their ids, in this order, `fn` called for each that exists. (qless's get and multiget.)
 *
 * Returns MUSTER_OK, MUSTER_E_INVALID: an id, nothing was sent; or, when the others were told,
 *   MUSTER_E_NOT_FOUND  one or more do not exist (any more); muster_client_error() names the first
 *   MUSTER_E_REDIS      the record of one cannot be read; muster_client_error() names it
 */
MUSTER_API int muster_job_get(struct muster_client *c, const char *const *ids, size_t n, muster_job_fn *fn,
                              void *arg) MUSTER_MUST_CHECK;

/*
 * Which jobs to list. Exactly one of these: a queue with a state, a tag, `tracked`, or a queue with a group of its
 * failed list.
 *
 *   size     sizeof(struct muster_job_filter)
 *   queue    of this queue; with `tag` or `tracked` it restricts, NULL: of all
 *   state    0: MUSTER_JOB_SCHEDULED, and so on; with `tag` or `tracked` not looked at unless `by_state`
 *   by_state `state` restricts
 *   tag      with this tag
 *   tracked  those that are tracked
 *   group    failed: of this group
 *   offset   leave out so many first;  n: so many at most, 0: all
 */
struct muster_job_filter {
    size_t size;
    const char *queue, *tag, *group;
    enum muster_job_state state;
    int by_state, tracked;
    uint64_t offset, n;
};

/*
 * List jobs: waiting ones in the order in which they come out, scheduled and recurring ones by when they are due,
 * failed ones newest first, others by since when they are so; by tag or tracked, oldest first. Read in pages: one that
 * comes or goes meanwhile may be missing or seen twice, and one whose record cannot be read is left out, which the log
 * tells. History, `after` and `before` are left out: see muster_job_get().
 *
 * Returns MUSTER_OK, also when there is none; or MUSTER_E_INVALID: the filter.
 */
MUSTER_API int muster_job_list(struct muster_client *c, const struct muster_job_filter *f, muster_job_fn *fn,
                               void *arg) MUSTER_MUST_CHECK;

/* How many jobs of a queue are in each state; all 0 for one that does not exist. MUSTER_E_INVALID: the queue's name. */
MUSTER_API int muster_job_counts(struct muster_client *c, const char *queue,
                                 uint64_t counts[MUSTER_JOB_STATE_COUNT]) MUSTER_MUST_CHECK;

struct muster_tag {
    const char *name;
    uint64_t jobs;
};
typedef int muster_tag_fn(const struct muster_tag *tag, void *arg);

/* Tags by how many jobs have them, most used first: up to `n` from `offset` on. Read in pages, as muster_job_list(). */
MUSTER_API int muster_tag_list(struct muster_client *c, uint64_t offset, uint64_t n, muster_tag_fn *fn,
                               void *arg) MUSTER_MUST_CHECK;

/*
 * Changes of a job; NULL and 0 leave things as they are.
 *
 *   size       sizeof(struct muster_job_change); 0 is refused
 *   queue      move it there: waits there from now on, at the end of its priority; one whose time has not come, that
 *              waits for others, or recurs, goes on doing so there. Not while it runs, is failed or complete
 *   priority   MUSTER_ZERO: 0. It keeps its age among the jobs of its new priority
 *   tag, untag         n_tag, n_untag of them; one that it has or has not already is fine
 *   after, not_after   n_after, n_not_after ids, to wait for, and no longer; not_after_all: all of them. Only while it
 *                      depends; ids that it does not wait for, or need not, are fine. Once it waits for nothing any
 *                      more it becomes ready
 *   track      1: track it, -1: no longer
 *   log        a line into its history, up to MUSTER_JOB_LOG_MAX bytes without control characters
 *   every_ms   recurring: from the next time on
 *   data       NULL data: as it is
 */
struct muster_job_change {
    size_t size;
    const char *queue;
    int priority, track, not_after_all;
    const char *const *tag;
    size_t n_tag;
    const char *const *untag;
    size_t n_untag;
    const char *const *after;
    size_t n_after;
    const char *const *not_after;
    size_t n_not_after;
    const char *log;
    int64_t every_ms;
    struct muster_bytes data;
};

/*
 * Change a job; all of it, or nothing. Done twice it is as done once, but for another line of `log`.
 *
 * Returns MUSTER_OK, or, with nothing changed,
 *   MUSTER_E_NOT_FOUND  no such job (any more)
 *   MUSTER_E_STATE      not in the state that it is in, see above; muster_client_error() tells which
 *   MUSTER_E_INVALID    a name or number, a dependency on itself, in a circle, or on a recurring job
 *   MUSTER_E_TOO_BIG    the data or the line; or it would have too many tags or dependencies
 *   MUSTER_E_FULL
 * With MUSTER_E_CONN or MUSTER_E_TIMEOUT it is unknown; said again, E_STATE may mean that the first one counted.
 */
MUSTER_API int muster_job_change(struct muster_client *c, const char *id,
                                 const struct muster_job_change *change) MUSTER_MUST_CHECK;

/*
 * Cancel jobs, also recurring ones (which ends them; what they have made stays) and failed ones. Their records go; a
 * running one is marked: its owner is told, and only a finish still counts. Ids that do not exist and complete jobs are
 * passed over. With `dependents` the jobs that wait for them, and so on, are cancelled along. `cancelled`, if not NULL,
 * gets how many, running ones included. All of it in one script. (qless's cancel.)
 *
 * Returns MUSTER_OK, also when there was none; or, with nothing changed,
 *   MUSTER_E_STATE    another job waits for one of them, and is not among them; muster_client_error() names it
 *   MUSTER_E_TOO_BIG  over MUSTER_JOB_CANCEL_MAX jobs
 *   MUSTER_E_INVALID  an id
 * After E_CONN or E_TIMEOUT cancel again: what was cancelled is passed over then.
 */
MUSTER_API int muster_job_cancel(struct muster_client *c, const char *const *ids, size_t n, int dependents,
                                 uint64_t *cancelled) MUSTER_MUST_CHECK;

/* ---- statistics ---- */

/* Histograms count times by powers of two: bucket 0 below 1 ms, bucket i from 2^(i-1) up to 2^i ms. */
#define MUSTER_STATS_BUCKETS 48

struct muster_times {
    uint64_t n;
    double mean_ms, deviation_ms;
    uint64_t histogram[MUSTER_STATS_BUCKETS];
};

/*
 * What happened to the jobs of a queue on one day (UTC), kept for 30 days. Jobs only: plain tasks pay nothing.
 *
 *   put, taken, completed, failed, retried, crashed, cancelled   how often
 *   wait   from when a job could be taken to when it was
 *   run    from then to its finish
 */
struct muster_stats {
    int64_t day;
    uint64_t put, taken, completed, failed, retried, crashed, cancelled;
    struct muster_times wait, run;
};

/* `day`: days since 1970-01-01; -1: today by Redis' clock. A day without any is all zero, as it is after an error.
 * MUSTER_E_INVALID: the queue's name or the day. */
MUSTER_API int muster_stats_get(struct muster_client *c, const char *queue, int64_t day,
                                struct muster_stats *out) MUSTER_MUST_CHECK;

/* ---- events ---- */

/*
 * Something happened to a job.
 *
 *   what     "put", "ready" (its time came, or what it waited for is complete), "scheduled" (what it waited for is
 *            complete, but its time has not come), "taken", "completed", "advanced" (completed into the next queue
 *            `text`), "retried" (`text`: group), "given-back", "crashed" (its worker died), "failed" (`text`: group),
 *            "replayed", "cancelled", "moved" (from the queue `text`), "changed", "stalled" (`text`: its lease lapsed,
 *            or its worker died), "tracked", "untracked", "log" (`text`). Pass over what you do not know
 *   worker   whose hands it is or was in; "" else
 *   text     as above; put by being advanced: the queue it comes from; else the worker again, or ""
 *   tracked  the job is tracked
 */
struct muster_job_event {
    const char *what, *id, *queue, *worker, *text;
    int64_t at_ms;
    int tracked;
};
typedef int muster_job_event_fn(const struct muster_job_event *event, void *arg);

/*
 * Listen to what happens to jobs: of all queues (`queue` NULL), or of one. As muster_queue_listen(): published only
 * while somebody listens, heard at most once; `wait_ms`, `ready`, what it returns. (qless's ql:log and its tracked
 * events.)
 */
MUSTER_API int muster_job_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                                 muster_job_event_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* ---- settings ---- */

/*
 * X(name, default, least, most, of a queue only, what it is). One list; live in Redis; a queue's own value counts
 * before the namespace's, that before the default.
 */
#define MUSTER_SETTINGS(X)                                                                                        \
    X(broadcast, 0, 0, 1, 1, "publish worqr's announcements even while nobody of muster's listens")               \
    X(keep_history, 100, 2, 10000, 0, "so many lines of a job's history")                                         \
    X(keep_jobs, 50000, 0, 10000000, 0, "so many complete jobs of a queue; 0: none")                              \
    X(keep_jobs_ms, 604800000, 0, 31622400000, 0, "for so long, ms")                                              \
    X(max_crashes, 3, 0, 1000000, 0, "so many deaths of its worker put a task onto the failed list; 0: no limit") \
    X(max_running, 0, 0, 1000000, 1, "so many of the queue are in work at once, over all workers; 0: no limit")

/*
 *   name, value    what counts for the queue (or namespace) that was asked of
 *   from           "default", "namespace" or "queue": where that is set
 *   fallback       the default;  least, most: what is allowed
 */
struct muster_setting {
    const char *name, *what, *from;
    int64_t value, fallback, least, most;
};
typedef int muster_setting_fn(const struct muster_setting *setting, void *arg);

/* The settings as they count for a queue; `queue` NULL: for the namespace, without those of queues only. By name (not
 * NULL): only this one. MUSTER_E_NOT_FOUND: there is no such setting; MUSTER_E_INVALID: the queue, or a setting of
 * queues only without one. */
MUSTER_API int muster_config_get(struct muster_client *c, const char *queue, const char *name, muster_setting_fn *fn,
                                 void *arg) MUSTER_MUST_CHECK;

/*
 * Set one for a queue or (NULL) the namespace; `value` NULL: unset. It counts from the next call of anybody on; work
 * that a raised max_running lets out is handed over at once.
 *
 * Returns MUSTER_OK; or, with nothing changed, MUSTER_E_NOT_FOUND: no such setting; MUSTER_E_INVALID: the queue, the
 * value, or a setting of queues only without one; MUSTER_E_FULL.
 */
MUSTER_API int muster_config_set(struct muster_client *c, const char *queue, const char *name,
                                 const int64_t *value) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
