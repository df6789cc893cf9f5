/* SPDX-License-Identifier: MIT
 *
 * Reads a job's record into a struct muster_job. The scripts answer it as {field, value, ...} of P:job:<id>;
 * doc/keys.md says what the fields are.
 */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include <muster/job.h>
#include <stdbool.h>

#include "protocol/process_name.h"
#include "redis/reply.h"

/* The job, and what its pointers need besides the reply. It must not be moved: job.process may point into it. */
struct job_record {
    struct muster_job job;
    char *copy; /* NULL, or a copy of all texts: then the reply is no longer needed */
    char *tags_text;
    const char **tags;
    int64_t *ticks;
    char *parents_text;
    const char **parents;
    char process[PROCESS_ID_MAX];
    int64_t waited_ms; /* of one that was taken: how long it could have been, as far as its record tells */
    bool is_suspect;   /* it runs alone: lua/include/task/suspects.lua says why */
};

/* Borrows `flat` and `id`. E_REDIS: it is no job's record; E_NOMEM. After MUSTER_OK job_record_clear() must follow.
 * History, `after` and `before` stay empty. Long values may be cut (reply_head()). */
int job_record_read(struct job_record *out, const char *id, const struct redisReply *flat);
/* The same for a job that `worker` has taken under `token` of `queue`, with all texts copied. The script answers the
 * record as it was before the take; here it becomes what it is after it. */
int job_record_take(struct job_record *out, const char *id, const struct redisReply *flat, const char *worker,
                    const char *token, const char *queue);
void job_record_clear(struct job_record *record);

#endif
