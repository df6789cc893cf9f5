/* SPDX-License-Identifier: MIT
 *
 * Jobs: tasks with an identity. A job has an id and a record: data, priority, delay, retries, dependencies, tags, a
 * history, a result. It waits in the same queues as plain tasks, is taken by the same workers or under the same leases,
 * and its process ends by the same calls (worker.h, client.h).
 *
 * What a job may rely on
 *   - A job is in exactly one state, and each change of state is one script. An id names one job in the whole
 *     namespace.
 *   - A queue hands out jobs of negative priority first, lower ones before higher ones; then plain tasks and jobs of
 *     priority 0 in turn; then jobs of positive priority. Jobs of equal priority come out in the order in which they
 *     began to wait, unless their keys take turns (setting fair). O(log n). "In turn" goes by the take's token, odd or
 *     even, which all queues draw: it holds on average, not from one take to the next.
 *   - Two numbers are counted, each against its own limit: how often the job was retried (against its own `retries`),
 *     and how often its worker died while it ran alone (against the setting `max_crashes`). What a worker held when it
 *     died runs alone from then on. More retries than `retries`, or `max_crashes` such deaths, put the job onto the
 *     failed list.
 *   - All times are by Redis' clock.
 *
 * The rules for clients, threads, names, rows and errors are those at the head of client.h. Arguments are copied, or
 * sent before the call returns. A job's id is 1 to 200 bytes without control characters, like a queue's name; so are
 * tags and groups. After E_INVALID and E_TOO_BIG nothing was changed, and mostly nothing was sent. After E_REDIS
 * because of a key of the wrong type nothing was changed either. After E_CONN and E_TIMEOUT a change may or may not
 * have been made.
 */
#ifndef MUSTER_JOB_H
#define MUSTER_JOB_H

#include "client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_JOB_ID_MAX 200
#define MUSTER_TAG_MAX 200
#define MUSTER_JOB_KEY_MAX 200
/* The most tags that one job can have, and the most jobs that it can wait for. */
#define MUSTER_JOB_TAGS_MAX 100
#define MUSTER_JOB_AFTER_MAX 1000
/* Of the jobs that wait for one at most so many are listed. Any number may wait. */
#define MUSTER_JOB_BEFORE_MAX 300
/* muster_job_peek() brings at most so many lines of a history: the first one and the newest ones. */
#define MUSTER_JOB_HISTORY_MAX 100
#define MUSTER_JOB_RETRIES_DEFAULT 5
#define MUSTER_JOB_RETRIES_MAX 1000000
/* The backoff of a job that was put without one: exponential, from the first of these up to the second, shortened by a
 * random part of up to so many percent. */
#define MUSTER_JOB_BACKOFF_DEFAULT_MS 1000
#define MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS 3600000
#define MUSTER_JOB_BACKOFF_DEFAULT_JITTER 20
#define MUSTER_JOB_LOG_MAX 4096
/* One call cancels at most this many jobs, including those that wait for them; and at most so many that are named. */
#define MUSTER_JOB_CANCEL_MAX 5000
#define MUSTER_JOB_CANCEL_NAMED_MAX 500
/* Delays, intervals and limits are at most this long: ten years. */
#define MUSTER_JOB_MS_MAX ((int64_t)10 * 366 * 24 * 3600 * 1000)

/*
 * The states of a job: X(state, name). Every job is in exactly one of them.
 *
 *   scheduled  becomes ready at a certain time: put with a delay, or retried with one
 *   depends    waits for other jobs: until they are complete, have ended, or have failed
 *   waiting    can be taken
 *   running    in the hands of a worker, or under a lease
 *   failed     on the failed list of its queue
 *   complete   done, or recurring and past its last time; its record is kept for a while (settings keep_jobs,
 *              keep_jobs_ms)
 *   recurring  never runs itself: makes jobs, at an interval or by a schedule
 *   held       would wait, but as many jobs of its key run or wait as may run (setting max_running_per_key)
 */
#define MUSTER_JOB_STATES(X)             \
    X(MUSTER_JOB_SCHEDULED, "scheduled") \
    X(MUSTER_JOB_DEPENDS, "depends")     \
    X(MUSTER_JOB_WAITING, "waiting")     \
    X(MUSTER_JOB_RUNNING, "running")     \
    X(MUSTER_JOB_FAILED, "failed")       \
    X(MUSTER_JOB_COMPLETE, "complete")   \
    X(MUSTER_JOB_RECURRING, "recurring") \
    X(MUSTER_JOB_HELD, "held")

enum muster_job_state {
#define MUSTER_JOB_STATE_ENUM(state, name) state,
    MUSTER_JOB_STATES(MUSTER_JOB_STATE_ENUM)
#undef MUSTER_JOB_STATE_ENUM
        MUSTER_JOB_STATE_COUNT
};

/* The name of a state; "unknown" for a number that is no state. And the state of a name; -1 if no state has that name.
 */
MUSTER_API const char *muster_job_state_name(enum muster_job_state state);
MUSTER_API int muster_job_state_of(const char *name);

/* NULL if the id, tag or key is allowed, or a static string that says what is wrong with it. Any thread. */
MUSTER_API const char *muster_job_id_check(const char *id);
MUSTER_API const char *muster_tag_check(const char *tag);
MUSTER_API const char *muster_job_key_check(const char *key);

/*
 * What a recurring job does when its time comes, and the job that it made last has not ended: X(overlap, name).
 *
 *   allow  it makes the next one
 *   skip   it leaves this time out, which its history and an event tell
 *   queue  it makes the next one when the other one ends
 */
#define MUSTER_OVERLAPS(X)           \
    X(MUSTER_OVERLAP_ALLOW, "allow") \
    X(MUSTER_OVERLAP_SKIP, "skip")   \
    X(MUSTER_OVERLAP_QUEUE, "queue")

/* 0, which has no name, means the default or "leave it as it is". */
enum muster_overlap {
    MUSTER_OVERLAP_NONE,
#define MUSTER_OVERLAP_ENUM(overlap, name) overlap,
    MUSTER_OVERLAPS(MUSTER_OVERLAP_ENUM)
#undef MUSTER_OVERLAP_ENUM
        MUSTER_OVERLAP_COUNT
};

/* The name of an overlap; "unknown" for a number that is none. And the overlap of a name; -1 if none has that name. */
MUSTER_API const char *muster_overlap_name(enum muster_overlap overlap);
MUSTER_API int muster_overlap_of(const char *name);

/* How long a retry waits if it does not state a delay of its own. */
struct muster_backoff {
    int64_t delay_ms;   /* before the first retry, and before each one unless `exponential` */
    int64_t max_ms;     /* the longest delay; 0: MUSTER_JOB_MS_MAX */
    int exponential;    /* non-zero: the delay doubles with each retry */
    int jitter_percent; /* 0 to 100: each delay is shortened by a random part of up to this much of it */
};

/* Means the number 0 in a field where a plain 0 means "the default" or "leave it as it is". */
#define MUSTER_ZERO (-1000000007)

/*
 * What to put. Zero or NULL means the default. With `replace`, zero or NULL instead leaves what the job has, also the
 * time at which it becomes ready or makes the next job; MUSTER_ZERO then means 0.
 */
struct muster_job_spec {
    size_t size; /* sizeof(struct muster_job_spec) */

    /* The job's id. NULL: it is made (32 hex digits). A recurring job's id has at most 180 bytes. */
    const char *id;

    /* The bytes that its handler gets as its task; at most `max_task_len`. With `replace`, data that is NULL leaves
     * them as they are, also those of a complete job whose place this one takes; without a record it is E_NOT_FOUND. */
    struct muster_bytes data;

    /* A lower number runs sooner. Any int but MUSTER_ZERO; default 0. */
    int priority;

    /* How many retries it may have. Default MUSTER_JOB_RETRIES_DEFAULT; MUSTER_ZERO: none. */
    int retries;

    /* Its events are marked as tracked, and it is on the list of tracked jobs. */
    int track;

    /* If a job of this id is scheduled, depends, waits, runs, has failed or recurs: change it to this spec and move it
     * to this queue, instead of refusing. If it runs, its holder loses it (MUSTER_STOP_LOST), and the event "put" names
     * that one. A recurring job goes on recurring, and one that waits in this queue keeps its turn. What is tried is
     * tried anew: retries and crashes are counted from 0. doc/attributes.md says what becomes of all that a job has. */
    int replace;

    /* Recurring: when its times passed while no one was there, at most this many of them are made up for; 0: all. */
    int backlog;

    /* It becomes ready this long from now. With `after` as well, not before that time. With `replace`, MUSTER_ZERO
     * means at once; a job that recurs at an interval makes its next job then, one with a schedule refuses it. */
    int64_t delay_ms;

    /* How long a handler may run on it (worker.h: limit_ms). */
    int64_t limit_ms;

    /* Recurring: every interval, or at each time of `cron`, it makes a job `<id>-<n>`, n = 1, 2, ..., with this data,
     * priority, retries, limit, backoff, tags and key, also while its queue is paused. The first one is made at once,
     * after `offset_ms`, or at `from_ms`. At least 1000. A recurring job waits for no other (`after` and the like), and
     * no other may wait for it. */
    int64_t every_ms;

    /* Recurring: the first job is made this long from now. */
    int64_t offset_ms;

    /* n_tags tags. */
    const char *const *tags;
    size_t n_tags;

    /* The ids of n_after jobs that must be complete before this one becomes ready. One that is complete is not waited
     * for. One that has failed is, because it may be replayed. One that does not exist is refused (E_NOT_FOUND), unless
     * `may_be_missing` says that it is not waited for. */
    const char *const *after;
    size_t n_after;

    /* NULL: the first retry waits MUSTER_JOB_BACKOFF_DEFAULT_MS, and each further one twice as long, up to
     * MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS. One whose `delay_ms` is 0: retries come at once. */
    const struct muster_backoff *backoff;

    /* The batch that it is a member of, which must be open (batch.h); not for a recurring job. NULL: none. With
     * `replace` a job that is in no batch joins this one; it never leaves its batch for another. */
    const char *batch;

    /* It becomes ready at this Unix time in ms, which may be over: then at once. In place of a delay; not for a
     * recurring job. */
    int64_t at_ms;

    /* Recurring: in place of an interval, it makes its jobs at the times of this schedule (cron.h) in this time zone;
     * NULL: MUSTER_ZONE_DEFAULT. Such a job has no offset, and a backlog of at most MUSTER_CRON_BACKLOG_MAX. It is not
     * put under a request id: its first times depend on when it is put. */
    const char *cron;
    const char *zone;

    /* Recurring: its first time is not before `from_ms`, its last one not after `until_ms`, Unix times in ms. One that
     * has no time between is refused (E_INVALID). And it makes `count` jobs in all. 0: no such bound. After its last
     * time it is complete. If the id `<id>-<n>` is that of another job which is alive or has failed, the job that it
     * makes is called `<id>-<n>-<place of the recurring job>`, and the history tells it.
     *
     * With `replace`, a schedule or an interval takes the place of the one that the job had, and of these three; the
     * jobs that it has made are counted. The same interval, or the same schedule in the same zone, goes on where it is:
     * with its next time, those that it has missed, and one that waits. Another interval counts from the next time on,
     * and another schedule from now on. An offset, or a first time that lies ahead and is another one, is the next
     * time. */
    int64_t from_ms;
    int64_t until_ms;
    int64_t count;

    /* Recurring: what it does when its time comes, and the job that it made last has not ended. Default
     * MUSTER_OVERLAP_ALLOW. */
    enum muster_overlap overlap;

    /* Non-zero: jobs of `after` and `after_end` that do not exist are not waited for, as if they were complete. For ids
     * whose job may be done and gone by now: a complete job's record is kept for a while only (setting keep_jobs_ms).
     * */
    int may_be_missing;

    /* Its key, as 1 to 200 bytes like a tag: with the queue's setting max_running_per_key at most so many jobs of one
     * key run at once. Those beyond are held, block nobody, and keep their order. NULL: none, and no such limit. The
     * jobs that a recurring one makes have its key. A job that is cancelled while it runs makes room at once, though
     * its process goes on until it stops. With the queue's setting fair the keys take turns within a priority: who puts
     * many jobs delays those of other keys by one job each. NULL is a key then, too. */
    const char *key;

    /* The ids of n_after_end jobs that must have ended before this one becomes ready: complete, failed, cancelled or
     * gone. One that has ended is not waited for; one that does not exist is as in `after`. */
    const char *const *after_end;
    size_t n_after_end;

    /* The ids of n_after_failure jobs that must have failed. One that has failed is not waited for. One that does not
     * exist is refused (E_NOT_FOUND), also with `may_be_missing`, and one that is complete, too (E_STATE). If one of
     * them ends in any other way, this job can never run: it is cancelled, and its event says why. So is it, and not
     * counted, if that one is cancelled.
     *
     * An end that came counts, also if the job is replayed later: who follows is not recalled, and does not wait anew.
     * An id stands in one of the three lists only; together they have at most MUSTER_JOB_AFTER_MAX. */
    const char *const *after_failure;
    size_t n_after_failure;
};

/*
 * Put a job. It goes to an idle worker, or into its queue; or it is scheduled, or waits for other jobs. `id`, if not
 * NULL, must have room for MUSTER_JOB_ID_MAX + 1 bytes and receives the job's id. An id whose job is complete or failed
 * may be put again: the new job takes its place. (qless's put and recur; redis-work-queue's add_item.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_EXISTS   a job of this id is alive; muster_client_error() names its state; nothing was changed. Also with
 *                     `replace`, if it is a unique task. Or more than 400 jobs waited for the last job of this id,
 *                     and are still let go: put it again in a moment
 *   MUSTER_E_INVALID  a name or a number; or a dependency on itself, in a circle, or of or on a recurring job; or it
 *                     would recur, and has no time up to its last one; nothing was changed
 *   MUSTER_E_NOT_FOUND  there is no batch `batch`; there is no job of an id in `after` or `after_end`, without
 *                     `may_be_missing`, or in `after_failure`; or with `replace` and without data there is no job of
 *                     this id; nothing was changed
 *   MUSTER_E_STATE    the batch is not open; or with `replace` the job is in another one, or recurs; or one of
 *                     `after_failure` is complete; or the job of this id runs, and its queue was deleted: it is dropped
 *                     unless it is finished, so put it again after its end. Nothing was changed
 *   MUSTER_E_TOO_BIG  the data, the tags or the dependencies; nothing was sent. Or others wait for this job, and more
 *                     than 10 000 jobs or 50 000 pairs of jobs are tied to it in both directions, too many to see
 *                     whether it would wait for itself; nothing was changed. A new job is never refused so
 *   MUSTER_E_FULL     nothing was put
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  it may or may not have been put. If you put it again under the same id, at most
 *                     one such job is alive: E_EXISTS then mostly means that the first call had put it. But if the
 *                     first job is complete or failed by then, it is put a second time
 *   MUSTER_E_UNCONFIRMED  it is put; or, with E_EXISTS in place of this once it is confirmed, it was alive already. To
 *                     put it again under the same id is as safe as after E_CONN
 */
MUSTER_API int muster_job_put(struct muster_client *c, const char *queue, const struct muster_job_spec *spec,
                              char *id) MUSTER_MUST_CHECK;

/* At most this many jobs, with so many bytes of data in total, and so many tags and jobs to wait for together, are put
 * atomically, by one script. */
#define MUSTER_JOB_PUT_ATOMIC_JOBS 200
#define MUSTER_JOB_PUT_ATOMIC_BYTES ((size_t)1024 * 1024)
#define MUSTER_JOB_PUT_ATOMIC_NAMES 2000

struct muster_job_put_options {
    size_t size; /* sizeof(struct muster_job_put_options) */

    /* 1 to 200 bytes without control characters, copied. If the same call is sent again under this id within an hour
     * (after E_CONN, for example), it puts what is missing, and nothing else. A job without an id of its own is then
     * called "<request id>:<number in the call, from 1>". An id costs one record in Redis for that hour. */
    const char *request_id;

    /* Room for the ids of n jobs: receives all of them, also those whose put stays unknown; "" after a refusal that
     * came before they were named. NULL: nobody asks. */
    char (*ids)[MUSTER_JOB_ID_MAX + 1];

    /* Receives which job was refused, from 1; 0: none, or none in particular. NULL: nobody asks. */
    size_t *refused;
};

/*
 * Put `n` jobs into a queue, in their order, as muster_job_put() puts one. `specs` are n pointers. `o` may be NULL. An
 * earlier job of the call counts as existing for a later one, which may wait for it. Two jobs of one id are refused,
 * with `replace`, too. `put`, if not NULL, receives how many are put: those are the first ones.
 *
 * Up to MUSTER_JOB_PUT_ATOMIC_JOBS jobs, ..._BYTES and ..._NAMES go in one script: all or none. More go in chunks of a
 * hundred, each of them all or none, one after the other. Workers begin with the first chunk while the rest is on its
 * way: so a job of an earlier chunk may be complete by then, or cancelled and gone, and counts as what it is. A refusal
 * ends the call: what came before that chunk is put. muster_client_error() names the job and says how many are put.
 * With a request id the same call again puts the rest, once what stood in the way is gone.
 *
 * All specs are checked, as far as that needs no Redis, before anything is sent. Returns as muster_job_put(), and
 *   MUSTER_E_INVALID      also `size` of a spec, and a request id that is too long to name jobs that have no id;
 *                         nothing was put
 *   MUSTER_E_EXISTS       also two jobs of one id, or a request id that was used with other content; nothing was put
 *   MUSTER_E_TOO_BIG      as there; all jobs of a chunk together may be tied to so many others
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  the next chunk after the first `*put` jobs may or may not have been put. Under a
 *                         request id the same call is safe
 *   MUSTER_E_UNCONFIRMED  all jobs are put; under a request id the same call is safe
 *   MUSTER_E_STOPPED      the progress function has stopped it: the first `*put` are put
 */
MUSTER_API int muster_job_put_many(struct muster_client *c, const char *queue,
                                   const struct muster_job_spec *const *specs, size_t n,
                                   const struct muster_job_put_options *o, size_t *put) MUSTER_MUST_CHECK;

/*
 * Enqueue a task unless an equal one that was enqueued by this call is alive in this queue. An equal task is accepted
 * again as soon as this one is finished, failed, deleted or cancelled; if it was running when it was cancelled, or its
 * queue deleted, as soon as it ends: until then the answer is E_STATE, because nobody would do the work. So it is, too,
 * while more than 400 jobs that waited for it are let go, and if a job that is no unique task has its id (see below), and
 * is alive or has failed. Plain tasks with the same bytes do not count and are always accepted. (worqr's unique queues,
 * without markers that outlive their task.)
 *
 * It is a task to all who meet it: muster_task_cancel(), muster_task_peek(), muster_queue_length(), lists and handlers
 * treat it so, it fails by its first MUSTER_FAIL, and nothing of it stays after its end. Unique tasks come out in their
 * order, in turn with other tasks. A failed one is replayed as a unique one; while an equal one is alive, its entry
 * stays on the failed list.
 *
 * While it is alive it has a record as a job has one, under an id that is made of the queue's name and the bytes: SHA-1
 * of "<length of the name>:<name><bytes>", in hexadecimal. muster_job_get() and muster_job_cancel() know that id; jobs
 * may wait for it; it cannot be changed.
 *
 * `id`, if not NULL, must have room for MUSTER_JOB_ID_MAX + 1 bytes. It receives the id, with E_UNCONFIRMED, too; with
 * E_EXISTS the id of the one that is alive; after any other error "". Returns as muster_job_put().
 */
MUSTER_API int muster_task_enqueue_unique(struct muster_client *c, const char *queue, const void *task, size_t len,
                                          char *id) MUSTER_MUST_CHECK;

/*
 * Check a spec, as muster_job_put() does, but for the client's `max_task_len` and what only Redis knows. Returns NULL
 * if it is allowed, or words that say what is not, and what is allowed. The words are valid until the thread's next
 * call of this library. Nothing is sent. Any thread.
 */
MUSTER_API const char *muster_job_spec_check(const struct muster_job_spec *spec);

/* A line of a job's history. */
struct muster_job_event_line {
    int64_t at_ms;    /* when */
    const char *what; /* what happened: "put", "taken", "retried", ... or "log" */
    const char *text; /* more about it */
};

/* A job's record. Texts are never NULL: "" if there is none. Times are Unix times by Redis' clock. */
struct muster_job {
    const char *id;
    const char *queue;
    enum muster_job_state state;
    struct muster_bytes data;
    int priority;
    int retries;       /* how many retries it may have */
    int retried;       /* how many it has had: this attempt is number retried + 1 */
    int crashes;       /* how often its worker died, or its lease lapsed, while it ran alone */
    int tracked;       /* non-zero: its events are marked as tracked */
    int cancelled;     /* non-zero: a unique task that runs, but was cancelled: only a finish still counts */
    int backlog;       /* recurring: as in the spec */
    int64_t put_at_ms; /* when it was put */
    int64_t since_ms;  /* since when it is in its state */
    int64_t due_at_ms; /* scheduled: when it becomes ready; recurring: when it makes the next job; otherwise 0 */
    int64_t limit_ms;  /* a span, as in the spec */
    int64_t every_ms;  /* recurring: a span, as in the spec */
    struct muster_backoff backoff;
    uint64_t made;               /* recurring: how many jobs it has made */
    const char *worker;          /* running: who holds it */
    const char *process;         /* running: under which process id */
    const char *group;           /* failed: why; otherwise the group of the last retry, if one was given */
    struct muster_bytes message; /* the same */
    struct muster_bytes result;  /* given with its finish, also one into a next queue; data NULL: none */
    const char *const *tags;     /* n_tags of them */
    size_t n_tags;
    const char *const *after; /* n_after ids: the jobs that it still waits for until they are complete */
    size_t n_after;
    const char *const *before; /* n_before ids: the first ones of the whole_before jobs that wait for it, in any way */
    size_t n_before;
    const struct muster_job_event_line *history; /* oldest first: its first line and its newest ones (keep_history) */
    size_t n_history;
    int unique;        /* non-zero: a unique task (muster_task_enqueue_unique()) */
    const char *batch; /* the batch of which it is a member (batch.h) */
    const char *cron;  /* recurring: as in the spec, with its zone; "" if it recurs at an interval */
    const char *zone;
    const int64_t *ticks; /* n_ticks times of its schedule: the next ones; more are computed before they run out */
    size_t n_ticks;
    int64_t from_ms; /* recurring: as in the spec */
    int64_t until_ms;
    int64_t count;
    enum muster_overlap overlap; /* recurring: as in the spec */
    int queued;          /* non-zero: its time has come, and it waits for the end of the job that it made last */
    const char *made_by; /* the recurring job that made it */
    const char *key;     /* as in the spec */
    const char *const *after_end; /* n_after_end ids: the jobs that it still waits for until they have ended */
    size_t n_after_end;
    const char *const *after_failure; /* n_after_failure ids: the same, until they have failed */
    size_t n_after_failure;
    const char *const *parents; /* n_parents ids: the jobs that it was put to wait for, also those that have ended */
    size_t n_parents;
    /* n_blocked_by ids: those of `after` that have failed. As long as there is one, the job cannot run: replay that
     * one, drop it, or change what this job waits for. */
    const char *const *blocked_by;
    size_t n_blocked_by;
    const char *holder; /* running: the name under which its lease was taken */
    /* How many bytes its data and its result have. Lists and muster_job_peek() bring at most MUSTER_HEAD_MAX of each. */
    uint64_t whole_len;
    uint64_t whole_result_len;
    uint64_t whole_before; /* how many jobs wait for it; `before` has at most MUSTER_JOB_BEFORE_MAX of them */
};
typedef int muster_job_fn(const struct muster_job *job, void *arg);

/*
 * Get jobs by their ids. `fn` is called for each job that exists, in the order of the ids. (qless's get and multiget.)
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_INVALID    an id; nothing was sent
 *   MUSTER_E_NOT_FOUND  one or more do not exist, or no longer exist; muster_client_error() names the first. `fn` was
 *                       called for the others
 *   MUSTER_E_REDIS      the record of one cannot be read; muster_client_error() names it. `fn` was called for the
 *                       others
 *   MUSTER_E_TOO_BIG    Redis closes the connection rather than send one for its size (client-output-buffer-limit);
 *                       muster_client_error() names it, its bytes and the limit. `fn` was called for the others.
 *                       muster_job_peek() brings its beginning
 */
MUSTER_API int muster_job_get(struct muster_client *c, const char *const *ids, size_t n, muster_job_fn *fn,
                              void *arg) MUSTER_MUST_CHECK;

/* As muster_job_get(), but of data and result only the first MUSTER_HEAD_MAX bytes; `whole_len` and `whole_result_len`
 * say how many there are; and of a history at most MUSTER_JOB_HISTORY_MAX lines. For a user who may run no
 * script each of them that has more than 512 KiB is missing: there is only its length. */
MUSTER_API int muster_job_peek(struct muster_client *c, const char *const *ids, size_t n, muster_job_fn *fn,
                               void *arg) MUSTER_MUST_CHECK;

/* A job that another one was put to wait for. `job` is its record, with its state and its result; NULL: it has none
 * (any more). Borrowed until the callback returns. */
struct muster_job_parent {
    const char *id;
    const struct muster_job *job;
};
typedef int muster_job_parent_fn(const struct muster_job_parent *parent, void *arg);

/*
 * List the jobs that this one was put to wait for, in the order in which they were named, whether they have ended or
 * not: so a handler finds the results of what came before it (muster_process_job() tells the id). A complete job's
 * record is kept for a while (settings keep_jobs, keep_jobs_ms). At most MUSTER_JOB_AFTER_MAX are known, the newest
 * ones; a job that went into a next queue knows those that it waited for there, if there were any. The records have no
 * history, `after`, `before` and `blocked_by`. If `fn` returns non-zero, the list ends.
 *
 * Returns MUSTER_OK, also when there is none; or
 *   MUSTER_E_INVALID    the id; nothing was sent
 *   MUSTER_E_NOT_FOUND  there is no job of this id (any more)
 *   MUSTER_E_REDIS      its record, or that of a parent, cannot be read; muster_client_error() names it. `fn` was
 *                       called for the others
 *   MUSTER_E_TOO_BIG    Redis does not send that of a parent, as after muster_job_get()
 */
MUSTER_API int muster_job_parents(struct muster_client *c, const char *id, muster_job_parent_fn *fn,
                                  void *arg) MUSTER_MUST_CHECK;

/* How a job has ended: X(end, name). */
#define MUSTER_JOB_ENDS(X)                                                     \
    X(MUSTER_JOB_END_COMPLETE, "complete")                                     \
    X(MUSTER_JOB_END_FAILED, "failed") /* it is, or was, on the failed list */ \
    X(MUSTER_JOB_END_CANCELLED, "cancelled")                                   \
    X(MUSTER_JOB_END_GONE, "gone") /* it has no record (any more) */

enum muster_job_end {
#define MUSTER_JOB_END_ENUM(end, name) end,
    MUSTER_JOB_ENDS(MUSTER_JOB_END_ENUM)
#undef MUSTER_JOB_END_ENUM
        MUSTER_JOB_END_COUNT
};

/* The name of an end; "unknown" for a number that is none. */
MUSTER_API const char *muster_job_end_name(enum muster_job_end how);

/* A job that has ended. `job` is its record, with its result or why it failed; NULL: it has none, because it was
 * cancelled or is gone, or the id has a job that has not ended again by now. Of what Redis does not send for its size it
 * has the beginning (`whole_len`, `whole_result_len`). Borrowed until the callback returns. */
struct muster_job_ended {
    const char *id;
    enum muster_job_end how;
    const struct muster_job *job;
};
typedef int muster_job_wait_fn(const struct muster_job_ended *ended, void *arg);

/*
 * Wait until each of these jobs has ended: it is complete, failed, was cancelled, or has no record. `fn` (may be NULL)
 * is called for each of them as soon as it has; if it returns non-zero, the waiting is over. It may use another client,
 * but not this one. Blocks for `timeout_ms`; -1: for ever; 0: it looks, and does not wait.
 *
 * It does not poll: it listens on a second connection, and looks at the records first and every five seconds, or less
 * often if they are many, in case an event was lost. While Redis is full, or if this user must not write, it looks
 * every second. An end that is heard counts, also if the job is replayed or put again before its record can be read.
 * What ended before the call is known by its record only: a job without one is gone, whether it was cancelled, its
 * record is not kept (keep_jobs), or it never was. So is a unique task, of which nothing stays. A recurring job ends
 * after its last time, or when it is cancelled, if ever. If Redis goes away meanwhile, the waiting goes on when Redis
 * is back within a minute.
 *
 * Returns MUSTER_OK when all have ended, or `fn` has ended it; or
 *   MUSTER_E_TIMEOUT  `timeout_ms` is over; muster_client_error() says how many have not ended. Also if Redis does not
 *                     answer the first question
 *   MUSTER_E_INVALID  an id or the time
 *   MUSTER_E_STATE    the client's connection was passed in
 *   MUSTER_E_REDIS    the key of a record has a wrong type
 *   MUSTER_E_DENIED   this user must not hear the events of jobs, or read their records; also if that is so from now on
 *   MUSTER_E_CONN, MUSTER_E_BUSY  Redis cannot be reached at first, or was away for a minute
 */
MUSTER_API int muster_job_wait(struct muster_client *c, const char *const *ids, size_t n, int64_t timeout_ms,
                               muster_job_wait_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* In which order jobs are listed. By age means by when they were put; those of one millisecond by their ids. */
enum muster_jobs_order {
    MUSTER_JOBS_AS_THEY_ARE, /* see muster_job_list() */
    MUSTER_JOBS_OLDEST,      /* the oldest first */
    MUSTER_JOBS_NEWEST       /* the newest first */
};

/* Which jobs are meant: those for which all of this holds that is given. */
struct muster_job_filter {
    size_t size; /* sizeof(struct muster_job_filter) */

    /* Jobs of this queue. NULL: of all queues. */
    const char *queue;

    /* Jobs with this tag. */
    const char *tag;

    /* With `tag`: only those that have these n_tags tags, too; with `any_tag`, those that have at least one of all. */
    const char *const *tags;
    size_t n_tags;

    /* Failed jobs of this group. */
    const char *group;

    /* Jobs in this state, if it is not 0 or `by_state` is set. 0 is MUSTER_JOB_SCHEDULED. */
    enum muster_job_state state;
    int by_state;

    /* Tracked jobs. */
    int tracked;

    uint64_t offset; /* how many to leave out first */
    uint64_t n;      /* at most this many; 0: all */

    int any_tag;

    enum muster_jobs_order order;

    /* With an order by age, the list goes on behind the job that was put at this time and has this id: the put_at_ms
     * and id of the last row of the page before. The job need not be there any more. NULL: it begins at the beginning.
     * */
    const char *past_id;
    int64_t past_ms;
};

/*
 * List jobs. With a queue, a tag, `tracked`, a state or a group something must be given, or an order by age, which may
 * be alone.
 *
 * As they are: waiting jobs come in the order in which they come out; scheduled and recurring ones by when they are
 * due; failed ones newest first; others by since when they are in their state; and if no queue is given, queue by
 * queue, the oldest name first. With a tag, or tracked, the oldest comes first. Such a list is read in pages: a job
 * that comes or goes meanwhile may make another one be missing, or be seen twice. Any other choice (no state,
 * `any_tag`, a group or tracked jobs with a tag) is listed with the oldest first.
 *
 * By age: no job that stays in its state and queue is missing, with a tag or tracked none that is there the whole time;
 * and none is seen twice. For each page of up to 100 000 rows all
 * jobs that are meant are looked at: a few fields each, a hundred in a round trip. The ids of a page are kept in
 * memory.
 *
 * A job whose record cannot be read is left out and mentioned in the log. The rows have no history, and do not tell
 * what they wait for and what waits for them, but for `blocked_by`; use muster_job_get() for these. Of data and result
 * they have at most MUSTER_HEAD_MAX bytes, and of the names of `parents` those that are in as many.
 *
 * Returns MUSTER_OK, also when there is none; or MUSTER_E_INVALID: the filter.
 */
MUSTER_API int muster_job_list(struct muster_client *c, const struct muster_job_filter *f, muster_job_fn *fn,
                               void *arg) MUSTER_MUST_CHECK;

/* How many jobs of a queue are in each state; all 0 if it does not exist. MUSTER_E_INVALID: the queue's name;
 * MUSTER_E_REDIS: a key of the queue has a wrong type. */
MUSTER_API int muster_job_counts(struct muster_client *c, const char *queue,
                                 uint64_t counts[MUSTER_JOB_STATE_COUNT]) MUSTER_MUST_CHECK;

/* Takes the counts of one queue; the name and they are borrowed until it returns. Non-zero ends the list. */
typedef int muster_job_counts_fn(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *arg);

/* The same for each queue, oldest name first: a hundred queues cost two round trips. A key of the wrong type counts as
 * 0, with a line in the log. */
MUSTER_API int muster_job_counts_list(struct muster_client *c, muster_job_counts_fn *fn, void *arg) MUSTER_MUST_CHECK;

struct muster_tag {
    const char *name;
    uint64_t jobs; /* how many jobs have it */
};
typedef int muster_tag_fn(const struct muster_tag *tag, void *arg);

/* List up to `n` tags from `offset` on, the one that most jobs have first. Read in pages, as muster_job_list(). */
MUSTER_API int muster_tag_list(struct muster_client *c, uint64_t offset, uint64_t n, muster_tag_fn *fn,
                               void *arg) MUSTER_MUST_CHECK;

/* What to change of a job. Zero or NULL leaves it as it is. */
struct muster_job_change {
    size_t size; /* sizeof(struct muster_job_change) */

    /* Move the job to this queue. It waits there from now on, at the end of its priority. A scheduled, depending or
     * recurring job stays in its state there. Not while it runs, is failed or is complete. */
    const char *queue;

    /* MUSTER_ZERO: 0. The job keeps its age among the jobs of its new priority. */
    int priority;

    /* 1: track it; -1: no longer. */
    int track;

    /* Wait for no other job any longer. Only while it depends. */
    int not_after_all;

    /* n_tag tags to add. A tag that it has already is no error. */
    const char *const *tag;
    size_t n_tag;

    /* n_untag tags to remove. A tag that it does not have is no error. */
    const char *const *untag;
    size_t n_untag;

    /* The ids of n_after more jobs to wait for. Only while it depends. One that is complete is no error, and one that
     * does not exist is none with `may_be_missing`. */
    const char *const *after;
    size_t n_after;

    /* The ids of n_not_after jobs to wait for no longer, in no way. Only while it depends. A job that it does not wait
     * for is no error. Once it waits for none it becomes ready. */
    const char *const *not_after;
    size_t n_not_after;

    /* A line for its history, up to MUSTER_JOB_LOG_MAX bytes without control characters. */
    const char *log;

    /* Recurring: the new interval, from the next time on. */
    int64_t every_ms;

    /* New data. Data that is NULL leaves it as it is. */
    struct muster_bytes data;

    /* When it becomes ready: this long from now (MUSTER_ZERO: at once), by Redis' clock; or at this Unix time in ms,
     * which may be over. One of the two. A scheduled job comes earlier or later, a waiting one is scheduled if the time
     * is still to come, and one that depends is not ready before it. Not while it runs, is failed, is complete or
     * recurs. A job that waits already and is to be ready at once keeps its place. */
    int64_t delay_ms;
    int64_t at_ms;

    /* A new limit, new retries and a new backoff, as in the spec (MUSTER_ZERO: 0); how often it was retried stays. Not
     * when it is complete. While it runs they count from the end of this run on, and the limit from the next run. */
    int64_t limit_ms;
    const struct muster_backoff *backoff;
    int retries;

    /* Change it only if it is in one of these states, MUSTER_JOB_IN(state) added up. 0: in any. */
    unsigned only_if;

    /* Recurring: another overlap. */
    enum muster_overlap overlap;

    /* Recurring, and it has a schedule: another one, another zone, or both. NULL: it keeps the one that it has. Its
     * next time is the first one of these after now; those that were missed until now are not made up for. */
    const char *cron;
    const char *zone;

    /* Non-zero: jobs of `after` and `after_end` that do not exist are not waited for; without it they are refused
     * (E_NOT_FOUND). */
    int may_be_missing;

    /* A new key, as in the spec; "": none any more. Not while it runs, is failed or is complete. A job that waits or is
     * held keeps its age. */
    const char *key;

    /* The ids of n_after_end and n_after_failure more jobs to wait for, as in the spec. Only while it depends. If it
     * waits for one of them in another way, it waits in this way from now on; the same holds for `after`. */
    const char *const *after_end;
    size_t n_after_end;
    const char *const *after_failure;
    size_t n_after_failure;
};

/* A state as a bit of `only_if`. */
#define MUSTER_JOB_IN(state) (1U << (state))

/*
 * Change a job: everything that was asked for, or nothing. A second identical call changes nothing more, but adds
 * another line of `log`, and counts a delay from then on. What is possible in which state:
 *
 *               scheduled  depends  waiting  running  failed  complete  recurring
 *                                   or held
 *   queue, key  x          x        x                                   x
 *   delay, at   x          x        x
 *   after                  x
 *   retries, limit, backoff
 *               x          x        x        x        x                 x
 *   every, cron, zone, overlap                                          x
 *   all others  x          x        x        x        x       x         x
 *
 * Returns MUSTER_OK; or, with nothing changed,
 *   MUSTER_E_NOT_FOUND  the job does not exist, or no longer exists; or one of `after` or `after_end` does not, without
 *                       `may_be_missing`, or one of `after_failure`
 *   MUSTER_E_STATE      the change is not possible in the job's state (see above), or `only_if` has other states;
 *                       muster_client_error() names the state. Or one of `after_failure` is complete; or it is a
 *                       unique task; or it recurs at an interval and not by a schedule, or the other way round
 *   MUSTER_E_INVALID    a name or a number; or a dependency on itself, in a circle, or on a recurring job
 *   MUSTER_E_TOO_BIG    the data or the line; or it would have too many tags or dependencies; or too many jobs are
 *                       tied to it to see whether it would wait for itself (see muster_job_put())
 *   MUSTER_E_FULL       Redis is full
 * After MUSTER_E_CONN or MUSTER_E_TIMEOUT it may or may not have been changed. If you call again, E_STATE may mean that
 * the first call counted.
 */
MUSTER_API int muster_job_change(struct muster_client *c, const char *id,
                                 const struct muster_job_change *change) MUSTER_MUST_CHECK;

/*
 * Cancel jobs, failed and recurring ones too. A cancelled recurring job makes no more jobs; those that it has made
 * stay. The records of cancelled jobs go, and their ids are free (at once, if nobody waits for their end or failure).
 * The owner of a running one is told to stop; its process is its own until it ends that, but no end counts, a finish
 * neither (MUSTER_E_CANCELLED), and a new job of that id is not touched by it. Only a unique task that runs stays until
 * its process ends, and may still finish, because an equal one must not run beside it. Complete jobs, and ids that do
 * not exist, are passed over. With `dependents` the jobs that wait until the named ones are complete, directly or
 * through others, are cancelled as well. Who waits for any end of one that goes becomes ready, and who waits for its
 * failure is cancelled, and not counted. `removed` receives how many were in nobody's hands, `running` how many were
 * running. Either may be NULL. One script decides all of it: from then on the jobs are gone for every call that takes
 * or ends, and none of them begins. Of many dependents the records go step by step; the call returns after the last
 * one. If it ends before that (a timeout, a broken connection), it has counted all the same, and the rest goes by
 * itself within a second, or without any worker with the next takes, of whatever queue. Until then lists may still show
 * them. Who waits for any end or for the failure of a job is let go in steps, too, of up to 400: by this call only the
 * first ones, the others by the workers, or the next takes. The id is free when the last one has gone; until then it
 * cannot be put again (MUSTER_E_EXISTS). (qless's cancel.)
 *
 * Returns MUSTER_OK, also when there was none; or, with nothing changed,
 *   MUSTER_E_STATE    a job that is not among them waits until one of them is complete; muster_client_error() names it
 *   MUSTER_E_TOO_BIG  more than MUSTER_JOB_CANCEL_NAMED_MAX ids, whether they exist or not: nothing was sent; or more
 *                     than MUSTER_JOB_CANCEL_MAX jobs in all
 *   MUSTER_E_INVALID  an id
 * After E_CONN or E_TIMEOUT cancel again: jobs that were cancelled are then passed over.
 */
MUSTER_API int muster_job_cancel(struct muster_client *c, const char *const *ids, size_t n, int dependents,
                                 uint64_t *removed, uint64_t *running) MUSTER_MUST_CHECK;

/* ---- many jobs ---- */

/* What is done with the jobs that a filter means. */
enum muster_job_action {
    MUSTER_JOBS_CANCEL, /* muster_job_cancel(): all but complete ones */
    MUSTER_JOBS_REPLAY, /* failed ones only: muster_failed_replay() */
    MUSTER_JOBS_DROP,   /* failed ones only: muster_failed_drop() */
    MUSTER_JOBS_CHANGE  /* muster_job_change() */
};

/* A job that refuses; `err` and `why` say why, and it is as it was. Borrowed until the callback returns. If it returns
 * non-zero, no other step follows (MUSTER_E_STOPPED). */
typedef int muster_job_refused_fn(const char *id, int err, const char *why, void *arg);

struct muster_job_bulk {
    size_t size; /* sizeof(struct muster_job_bulk) */
    enum muster_job_action action;
    int dependents;                         /* cancel: also all jobs that wait until they are complete */
    const struct muster_job_change *change; /* change: what */
    int dry_run;                            /* non-zero: they are counted, and nothing is changed */
    muster_job_refused_fn *refused;         /* NULL: refused ones are only counted */
    void *arg;
};

struct muster_job_bulk_counts {
    size_t size;     /* sizeof(struct muster_job_bulk_counts) */
    uint64_t chosen; /* jobs that the filter meant when the call began */
    uint64_t done;   /* with cancel and `dependents` also those that waited for them: there may be more than `chosen` */
    uint64_t running; /* cancel: how many of `done` ran, and were told to stop */
    uint64_t passed;  /* were in another state or queue by now, or gone: they were left alone. With `dependents` it may
                       * be more, because those are counted in `done` */
    uint64_t refused;
};

/*
 * Do the same with all jobs that a filter means: of those that are there when it begins. One that moves between states
 * or queues while they are looked for may be missed, unless a tag or `tracked` chooses it. The filter needs a queue, a
 * tag, a state, a group or `tracked`, so that nobody means all jobs by accident; `order` and `past_id` are not for it,
 * `offset` and `n` neither. Blocks, in steps of 100 jobs at most: other clients work in between, and the progress
 * function (muster_client_set_progress()) is called. The ids of all of them are kept in memory, about 100 bytes each.
 *
 * Each step looks at its jobs again: one that is in another state or queue by now, or was put anew under its id, is
 * left alone (`passed`); so is one that is gone. Its tags, its group and its being tracked are not looked at again.
 * When jobs are cancelled, those that wait go before those for which they wait. So none becomes ready because another
 * one has gone. One refuses, without `dependents`, if a job that is not meant waits until it is complete. Replay, drop
 * and change begin with the oldest. A dry run counts `chosen`, and asks nobody whether he would refuse.
 *
 * Progress is told between steps, and once before the first one (muster_client_set_progress()).
 *
 * `counts` receives how many; also after a failure, for the steps before it. NULL: nobody asks.
 *
 * Returns MUSTER_OK, also if some refused or none was meant; or
 *   MUSTER_E_INVALID  the filter, or what is to be done; nothing was changed
 *   MUSTER_E_STOPPED  the progress function or `refused` has stopped it
 *   MUSTER_E_CONN, MUSTER_E_TIMEOUT  the step of up to 100 jobs after those that are counted may or may not be done.
 *                     The same call again does the rest; a change may then be made twice, which only its `log` shows
 */
MUSTER_API int muster_job_bulk(struct muster_client *c, const struct muster_job_filter *f,
                               const struct muster_job_bulk *bulk,
                               struct muster_job_bulk_counts *counts) MUSTER_MUST_CHECK;

/* ---- statistics ---- */

/* Histograms count times by powers of two: bucket 0 is below 1 ms, bucket i from 2^(i-1) up to 2^i ms. */
#define MUSTER_STATS_BUCKETS 48

struct muster_times {
    uint64_t n; /* how many times were measured */
    double mean_ms;
    double deviation_ms;
    uint64_t histogram[MUSTER_STATS_BUCKETS];
};

/* What happened to the jobs of a queue on one day (UTC); kept for 30 days. Plain tasks pay nothing for it: of them only
 * stalls and deaths are counted. */
struct muster_stats {
    size_t size; /* sizeof(struct muster_stats); set it before the call */
    int64_t day; /* days since 1970-01-01 */

    /* How often each of these happened. */
    uint64_t put;
    uint64_t taken;
    uint64_t completed;
    uint64_t failed;
    uint64_t retried;
    uint64_t crashed;
    uint64_t cancelled;

    struct muster_times wait; /* from when a job could be taken to when it was taken */
    struct muster_times run;  /* from when it was taken to its finish */

    /* Of tasks, too. */
    uint64_t stalled; /* how many had a lease that lapsed */
    uint64_t died;    /* how many a worker held when it died */
};

/* The statistics of one day. `day` counts from 1970-01-01; -1 is today by Redis' clock. A day on which nothing happened
 * has counts of 0; so has `*out` after an error. MUSTER_E_INVALID: the queue's name, the day or
 * `out->size`. */
MUSTER_API int muster_stats_get(struct muster_client *c, const char *queue, int64_t day,
                                struct muster_stats *out) MUSTER_MUST_CHECK;

/* ---- events ---- */

/*
 * Something happened to a job.
 *
 *   what     "dropped" (failed, and its entry went: `text` is the setting that bounds the failed list, or "" if
 *            somebody dropped it), "put" (`text`: "in place", if it had been put and stays where it is), "ready" (its
 *            time came, or what it waited for has come), "scheduled" (what it waited for has come, but its time has
 *            not), "taken", "completed", "advanced" (completed into the next queue `text`), "retried" (`text`: group),
 *            "exhausted" (it had all its retries, `text` of them, and fails next), "given-back", "handed-on" (to the
 *            worker `text`, whose share it is), "crashed" (its worker died while it ran alone), "failed" (`text`:
 *            group), "replayed", "cancelled" (`text`: why, if nobody has asked for it), "moved" (from the queue
 *            `text`), "changed", "stalled" (`text`: its lease lapsed, or its worker died, and it is a suspect now or to
 *            blame), "tracked", "untracked", "skipped" (recurring: it made no job; `text` is the id, for which none was
 *            free, or says how many times were beyond the backlog, or that "<id> has not ended" (overlap)), "renamed"
 *            (recurring: the job that it made has the id `text`, because another one has the usual id), "log" (`text`).
 *            And what happens to a batch (batch.h), whose id stands in `id`, with `queue` "": "batch-opened",
 *            "batch-closed" (`text`: ttl, if nobody had closed it in time; cancel), "batch-cancelled", "batch-ended"
 *            (`text`: complete, failed or cancelled). Ignore a word that you do not know
 *   worker   who holds it, or held it: a worker, or the name under which its lease was taken; "" if nobody
 *   text     as above; with "put" after "advanced": the queue that it comes from; otherwise the worker again, or ""
 *   at_ms    when, Unix time by Redis' clock
 *   tracked  non-zero: the job is tracked
 */
struct muster_job_event {
    const char *what;
    const char *id;
    const char *queue;
    const char *worker;
    const char *text;
    int64_t at_ms;
    int tracked;
};
typedef int muster_job_event_fn(const struct muster_job_event *event, void *arg);

/*
 * Listen to what happens to the jobs of one queue, or of all queues (`queue` NULL). It works as muster_queue_listen()
 * does: events are published only while somebody listens, and are heard at most once; `wait_ms`, `ready` and the return
 * values are the same. (qless's ql:log and its tracked events.)
 */
MUSTER_API int muster_job_listen(struct muster_client *c, const char *queue, int64_t wait_ms, int (*ready)(void *arg),
                                 muster_job_event_fn *fn, void *arg) MUSTER_MUST_CHECK;

/* ---- settings ---- */

/*
 * The one list: X(name, default, least, most, of a queue only, what it is). Settings live in Redis. A queue's own value
 * comes first, then the namespace's, then the default. muster_config_set() says when a change takes effect.
 */
#define MUSTER_SETTINGS(X)                                                                                         \
    X(broadcast, 0, 0, 1, 1, "1: publish worqr's announcements even when nobody listens through muster")           \
    X(fair, 0, 0, 1, 1, "1: the keys of jobs of equal priority take turns; jobs without a key are one key")        \
    X(keep_failed, 0, 0, 1000000000, 0, "how many entries a queue's failed list keeps, the newest; 0: all")        \
    X(keep_failed_bytes, 0, 0, 999999999999999, 0, "how many bytes a queue's failed list keeps; 0: all")           \
    X(keep_failed_ms, 0, 0, 316224000000, 0, "how long a failed list keeps its entries, in ms; 0: for ever")       \
    X(keep_history, 100, 2, 10000, 0, "how many lines of a job's history are kept")                                \
    X(keep_jobs, 50000, 0, 10000000, 0, "how many complete jobs of a queue are kept; 0: none")                     \
    X(keep_jobs_ms, 604800000, 0, 31622400000, 0, "how long complete jobs are kept, in ms; 0: not at all")         \
    X(max_crashes, 3, 0, 1000000, 0, "how many deaths of workers that ran it alone make a task fail; 0: no limit") \
    X(max_running, 0, 0, 1000000, 1, "how many of the queue may run at once, over all workers; 0: no limit")       \
    X(max_running_per_key, 0, 0, 1000000, 1, "how many jobs of one key may run at once; 0: no limit")              \
    X(rate, 0, 0, 1000000000, 1, "how many of the queue may be taken in rate_ms, over all workers; 0: no limit")   \
    X(rate_burst, 0, 0, 1000000000, 1, "how many of them at once, beyond the rate; 0: as many as rate")            \
    X(rate_ms, 1000, 1, 31622400000, 1, "the time that rate is about, in ms")                                      \
    X(share, 0, 0, 1, 1, "1 (even): what runs moves, until every worker has its share of it")                      \
    X(share_moves, 0, 0, 1000000, 1, "how many move at once; 0: as many as there are too many")                    \
    X(share_ms, 30000, 100, 86400000, 1, "how long a handler may take to give back what is to move, in ms")

struct muster_setting {
    const char *name;
    const char *what; /* what it is, in a few words */
    const char *from; /* where its value is set: "default", "namespace" or "queue" */
    int64_t value;    /* the value that counts for the queue or namespace */
    int64_t fallback; /* the default */
    int64_t least;    /* the smallest value that is allowed */
    int64_t most;     /* the largest */
};
typedef int muster_setting_fn(const struct muster_setting *setting, void *arg);

/*
 * Read the settings that count for a queue; `queue` NULL: for the namespace, without the settings that only a queue can
 * have. `name` NULL: all of them; otherwise only this one.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_NOT_FOUND  there is no such setting
 *   MUSTER_E_INVALID    the queue, or a setting that only a queue can have, without a queue
 *   MUSTER_E_REDIS      the key with the settings has a wrong type: nobody knows which count
 */
MUSTER_API int muster_config_get(struct muster_client *c, const char *queue, const char *name, muster_setting_fn *fn,
                                 void *arg) MUSTER_MUST_CHECK;

/*
 * Set one setting of a queue, or of the namespace (`queue` NULL); `value` NULL: unset it. The value counts from the
 * next call of any client or worker on. If max_running or rate is raised, the work that may now run is handed over at
 * once. Jobs that a higher max_running_per_key no longer holds come to wait in steps, and so do the turns of keys when
 * fair is new: by the worker that keeps the timer, or by the next takes.
 *
 * What is beyond a bound (keep_failed, keep_failed_bytes, keep_failed_ms, keep_jobs, keep_jobs_ms) goes in steps. This
 * call makes the first one: of the queue, or of the first hundred queues of the namespace, it removes at most 200
 * failures, or 4 MiB of them, and 300 complete jobs. The worker that keeps the timer removes the rest, within some
 * seconds; each failure also removes up to 200 of its queue, each completion ten. Without a worker
 * muster_client_sweep() removes all of it.
 *
 * Settings can be set when Redis is full, too: a bound makes room.
 *
 * Returns MUSTER_OK; or, with nothing changed,
 *   MUSTER_E_NOT_FOUND  there is no such setting
 *   MUSTER_E_INVALID    the queue; the value; or a setting that only a queue can have, without a queue
 *   MUSTER_E_FULL       Redis is full, and the namespace is new
 */
MUSTER_API int muster_config_set(struct muster_client *c, const char *queue, const char *name,
                                 const int64_t *value) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
