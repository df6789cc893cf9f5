/* SPDX-License-Identifier: MIT
 *
 * The public structs that begin with their size, and the one way to read them. A program and the library may come from
 * different versions: an older program has a shorter struct, whose missing fields are 0; a newer one has a longer
 * struct, whose unknown fields must be 0. Any other size is an error of the program, and is refused: a struct whose
 * size was forgotten would otherwise count as empty.
 */
#ifndef SIZED_H
#define SIZED_H

#include <muster/async.h>
#include <muster/batch.h>
#include <muster/job.h>
#include <muster/listen.h>
#include <muster/stats.h>
#include <muster/worker.h>

enum sized_null { SIZED_NEEDED, SIZED_MAY_BE_NULL };

/*
 * The one list: X(id, struct, last, null).
 *
 *   last  the last field in the first release: no program has a shorter struct. A field that is added later stands
 *         behind it, is not larger than the struct's alignment, and does not lie in what was padding
 *   null  may the program give NULL instead, for all defaults?
 */
#define SIZED_STRUCTS(X)                                                             \
    X(SIZED_CLIENT_OPTIONS, muster_client_options, fsync, SIZED_MAY_BE_NULL)         \
    X(SIZED_ENQUEUE_OPTIONS, muster_enqueue_options, request_id, SIZED_MAY_BE_NULL)  \
    X(SIZED_PROCESS_FILTER, muster_process_filter, holder, SIZED_MAY_BE_NULL)        \
    X(SIZED_TAKE_OPTIONS, muster_take_options, holder, SIZED_MAY_BE_NULL)            \
    X(SIZED_FINISH_OPTIONS, muster_finish_options, n_after, SIZED_MAY_BE_NULL)       \
    X(SIZED_LEASE_END, muster_lease_end, n_after, SIZED_NEEDED)                      \
    X(SIZED_EXTEND_OPTIONS, muster_extend_options, data, SIZED_MAY_BE_NULL)          \
    X(SIZED_FAILED_FILTER, muster_failed_filter, n, SIZED_NEEDED)                    \
    X(SIZED_JOB_SPEC, muster_job_spec, n_after_failure, SIZED_NEEDED)                \
    X(SIZED_JOB_PUT_OPTIONS, muster_job_put_options, refused, SIZED_MAY_BE_NULL)     \
    X(SIZED_BATCH_SPEC, muster_batch_spec, on_failure, SIZED_MAY_BE_NULL)            \
    X(SIZED_JOB_FILTER, muster_job_filter, past_ms, SIZED_NEEDED)                    \
    X(SIZED_JOB_CHANGE, muster_job_change, n_after_failure, SIZED_NEEDED)            \
    X(SIZED_JOB_BULK, muster_job_bulk, arg, SIZED_NEEDED)                            \
    X(SIZED_JOB_BULK_COUNTS, muster_job_bulk_counts, refused, SIZED_MAY_BE_NULL)     \
    X(SIZED_STATS, muster_stats, died, SIZED_NEEDED)                                 \
    X(SIZED_WORKER_OPTIONS, muster_worker_options, tell_ended, SIZED_MAY_BE_NULL)    \
    X(SIZED_COMMAND, muster_command, result_max, SIZED_NEEDED)                       \
    X(SIZED_ITEM, muster_item, waiting, SIZED_NEEDED)                                \
    X(SIZED_WORKER_STATS, muster_worker_stats, moves_made, SIZED_NEEDED)             \
    X(SIZED_CLIENT_STATS, muster_client_stats, received_bytes, SIZED_NEEDED)         \
    X(SIZED_SERVER_INFO, muster_server_info, unsaved, SIZED_NEEDED)                  \
    X(SIZED_ASYNC_OPTIONS, muster_async_options, max_bytes, SIZED_MAY_BE_NULL)       \
    X(SIZED_ANSWER, muster_answer, id, SIZED_NEEDED)                                 \
    X(SIZED_LISTENER_OPTIONS, muster_listener_options, max_bytes, SIZED_MAY_BE_NULL) \
    X(SIZED_HEARD, muster_heard, holder, SIZED_NEEDED)

enum sized {
#define SIZED_ENUM(id, name, last, null) id,
    SIZED_STRUCTS(SIZED_ENUM)
#undef SIZED_ENUM
};

/* Each answers NULL if the struct can be used, or a static string that says what is wrong with it. */

/* Copy what the program gives into `out`, the library's own struct of this kind; NULL: all fields are 0. After a
 * refusal they are 0, too. */
const char *sized_read(enum sized what, void *out, const void *given);

/* Make a struct of the program's ready for what the library tells in it: all fields but its size become 0. */
const char *sized_clear(enum sized what, void *out);

/* Copy the library's own struct into one that was cleared, as far as the program knows its fields. */
void sized_write(enum sized what, void *out, const void *own);

#endif
