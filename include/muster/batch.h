/* SPDX-License-Identifier: MIT
 *
 * Batches: jobs that belong together, and what is to happen when they have ended.
 *
 * What a batch is
 *   - Its members are the jobs that are put with its id (job.h: `batch` of the spec), from anywhere, also by its own
 *     jobs, and other batches that are opened with its id. Any number of them may come while it is open. When it is
 *     closed no more come, and when all of them have ended, it has ended. An empty one ends as soon as it is closed.
 *   - A job ends when it is complete, failed, cancelled, or gone in any other way (its queue was deleted). A job that
 *     is retried or goes on to a next queue has not ended. A nested batch is one member of the batch around it, and
 *     ends when it has ended: complete if all in it are complete, otherwise failed or cancelled.
 *   - Up to three jobs follow a batch. Each is put once, by the script that makes it due, whoever is killed meanwhile:
 *       end       when the batch has ended
 *       complete  when it has ended, and all of its members are complete
 *       failure   when the first member has failed, at once; also when this happens in a batch within
 *     Their ids are "<id>-end", "<id>-complete" and "<id>-failure"; if a job of that id is alive or has failed, the
 *     batch's `place` in Redis follows. They are jobs with default settings, and members of no batch.
 *   - A member that failed can be replayed. Then the batch has not ended, and ends again when it does. Followers that
 *     were put stay, and are not put again. One that was not put still can be: "complete", when a replay repaired the
 *     last failure.
 *   - A batch that nobody closes is closed when its ttl has passed since the last member came: by the worker that keeps
 *     the timer, which logs it, or by muster_client_sweep(). What is told of it is the event "batch-closed".
 *   - A record is kept after the end as complete jobs are (settings keep_jobs, keep_jobs_ms of the namespace). Members
 *     that are replayed later are jobs like others.
 *   - The end of a member costs the same, however many members there are.
 *
 * The rules for clients, threads, names, rows and errors are those at the head of client.h. A batch's id is 1 to
 * MUSTER_BATCH_ID_MAX bytes without control characters. After E_INVALID, E_TOO_BIG and E_STATE nothing was changed.
 * After E_REDIS because of a key of the wrong type nothing was changed either. After E_CONN and E_TIMEOUT a change may
 * or may not have been made.
 */
#ifndef MUSTER_BATCH_H
#define MUSTER_BATCH_H

#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for what a follower's id adds to it. */
#define MUSTER_BATCH_ID_MAX 160
/* How many batches may lie within each other, the outermost one counted. */
#define MUSTER_BATCH_DEPTH_MAX 16
/* The ttl of a batch that does not say one: a day. */
#define MUSTER_BATCH_TTL_DEFAULT_MS ((int64_t)24 * 3600 * 1000)

/* The states of a batch: X(state, name). */
#define MUSTER_BATCH_STATES(X)       \
    X(MUSTER_BATCH_OPEN, "open")     \
    X(MUSTER_BATCH_CLOSED, "closed") \
    X(MUSTER_BATCH_ENDED, "ended")

enum muster_batch_state {
#define MUSTER_BATCH_STATE_ENUM(state, name) state,
    MUSTER_BATCH_STATES(MUSTER_BATCH_STATE_ENUM)
#undef MUSTER_BATCH_STATE_ENUM
        MUSTER_BATCH_STATE_COUNT
};

/* The name of a state; "unknown" for a number that is no state. And the state of a name; -1 if no state has that name.
 */
MUSTER_API const char *muster_batch_state_name(enum muster_batch_state state);
MUSTER_API int muster_batch_state_of(const char *name);

/* NULL if the id is allowed, or a static string that says what is wrong with it. Any thread. */
MUSTER_API const char *muster_batch_id_check(const char *id);

/* A job that is put when something has become true of a batch. */
struct muster_follower {
    const char *queue;        /* where; NULL: there is none */
    struct muster_bytes data; /* its data; data NULL: the batch's id */
};

/* A batch to open. Zero or NULL means the default. */
struct muster_batch_spec {
    size_t size; /* sizeof(struct muster_batch_spec) */

    /* Its id. NULL: it is made (32 hex digits). */
    const char *id;

    /* The batch around it, which must be open. NULL: none. */
    const char *batch;

    /* It is closed this long after the last member came, if nobody has closed it: 1000 to MUSTER_JOB_MS_MAX. 0:
     * MUSTER_BATCH_TTL_DEFAULT_MS. */
    int64_t ttl_ms;

    /* What follows it. */
    struct muster_follower on_end;
    struct muster_follower on_complete;
    struct muster_follower on_failure;
};

/*
 * Open a batch. `id`, if not NULL, must have room for MUSTER_BATCH_ID_MAX + 1 bytes and receives its id. An id whose
 * batch has ended may be used again.
 *
 * Returns MUSTER_OK; or, with nothing changed,
 *   MUSTER_E_EXISTS     a batch of this id has not ended; or it has, and a job that follows it could not be put yet
 *   MUSTER_E_NOT_FOUND  there is no batch `batch`
 *   MUSTER_E_STATE      the batch `batch` is not open
 *   MUSTER_E_INVALID    an id, a queue, or the ttl; nothing was sent
 *   MUSTER_E_TOO_BIG    a follower's data, and nothing was sent; or it would be nested too deep
 *   MUSTER_E_FULL       Redis is full
 * After MUSTER_E_CONN or MUSTER_E_TIMEOUT open it again under the same id: E_EXISTS then means that the first call has
 * opened it. After MUSTER_E_UNCONFIRMED it is open, maybe on this server only: a repetition under the same id is
 * E_EXISTS once it is confirmed, and E_UNCONFIRMED until then.
 */
MUSTER_API int muster_batch_open(struct muster_client *c, const struct muster_batch_spec *spec,
                                 char *id) MUSTER_MUST_CHECK;

/*
 * Close a batch: no more members come. If none is left it ends at once. To close it again changes nothing.
 *
 * Returns MUSTER_OK; or, with nothing changed,
 *   MUSTER_E_NOT_FOUND  there is no such batch (any more)
 *   MUSTER_E_INVALID    the id; nothing was sent
 *   MUSTER_E_FULL       Redis is full
 */
MUSTER_API int muster_batch_close(struct muster_client *c, const char *id) MUSTER_MUST_CHECK;

/*
 * Cancel a batch: no more members come, and all that have not ended are cancelled, those of nested batches, too, as by
 * muster_job_cancel(). A job that waits for a member, and is no member, fails as if the member was cancelled alone. Of
 * the followers only that of the end is put, and that of a failure if one came before. `removed` receives how many jobs
 * were in nobody's hands, `running` how many were running: these are gone, too. Either may be NULL.
 *
 * Members are cancelled a hundred at a time; the call returns after the last one. If it ends before that (a timeout, a
 * broken connection), the worker that keeps the timer goes on, or without any the next takes. To cancel it again
 * changes nothing more.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_NOT_FOUND  there is no such batch (any more); nothing was changed
 *   MUSTER_E_STATE      it has ended without being cancelled; nothing was changed
 *   MUSTER_E_STOPPED    the progress function has stopped the call; the rest goes by itself, as said above
 *   MUSTER_E_INVALID    the id; nothing was sent
 *   MUSTER_E_REDIS      a key of the wrong type: what it forbids to cancel is tried again every second
 */
MUSTER_API int muster_batch_cancel(struct muster_client *c, const char *id, uint64_t *removed,
                                   uint64_t *running) MUSTER_MUST_CHECK;

/* A follower of a batch, and what became of it. Texts are never NULL. */
struct muster_followed {
    const char *queue; /* "": there is none */
    const char *job;   /* the id under which it was put; "": it was not put yet */
};

/* A batch's record. Texts are never NULL: "" if there is none. Times are Unix times by Redis' clock. */
struct muster_batch {
    const char *id;
    enum muster_batch_state state;
    const char *batch;     /* the batch around it */
    int depth;             /* 1: there is none around it */
    int is_cancelled;      /* non-zero: muster_batch_cancel() */
    const char *closed_by; /* "ttl": nobody had closed it in time; "cancel"; "" if it is open, or somebody closed it */
    int64_t opened_at_ms;
    int64_t closed_at_ms; /* 0: it is open */
    int64_t since_ms;     /* since when it is in its state */
    int64_t due_at_ms;    /* open: when it is closed if nobody does and no member comes; otherwise 0 */
    int64_t ttl_ms;
    uint64_t members;         /* how many have come */
    uint64_t left;            /* how many of them have not ended */
    uint64_t complete;        /* how many are complete */
    uint64_t failed;          /* how many have failed, and were not replayed */
    uint64_t cancelled;       /* how many were cancelled */
    uint64_t gone;            /* how many are gone in any other way */
    const char *first_failed; /* the first job that failed, also in a batch within */
    struct muster_followed on_end;
    struct muster_followed on_complete;
    struct muster_followed on_failure;
};
typedef int muster_batch_fn(const struct muster_batch *batch, void *arg);

/*
 * Get a batch's record; `fn` is called once. All counts are of one moment.
 *
 * Returns MUSTER_OK, or
 *   MUSTER_E_NOT_FOUND  there is no such batch (any more)
 *   MUSTER_E_INVALID    the id; nothing was sent
 *   MUSTER_E_REDIS      its record cannot be read, or the list that says when it is closed
 */
MUSTER_API int muster_batch_get(struct muster_client *c, const char *id, muster_batch_fn *fn,
                                void *arg) MUSTER_MUST_CHECK;

/* List all batches: those that have not ended, open ones first by when they are due, then the others, the longest ended
 * first. Read in pages: one that keeps its place in this order the whole time is listed once. */
MUSTER_API int muster_batch_list(struct muster_client *c, muster_batch_fn *fn, void *arg) MUSTER_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
