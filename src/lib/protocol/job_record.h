/* SPDX-License-Identifier: MIT
 *
 * A job's record as the scripts answer it, {field, value, ...} of P:job:<id>, read into a struct muster_job.
 * doc/keys.md says what the fields are.
 */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include <muster/job.h>

#include "protocol/process_name.h"
#include "redis/reply.h"

/* The job, and what its pointers need beside the reply. It must not be moved: job.process may point into it. */
struct job_record {
    struct muster_job job;
    char *copy; /* NULL, or all texts: then it does not need the reply any more */
    char *tags_text;
    const char **tags;
    char process[PROCESS_ID_MAX];
};

/* Borrows `flat` and `id`. E_REDIS: it is no job's record; E_NOMEM. After OK, job_record_clear() frees it. History,
 * `after` and `before` are left empty. */
int job_record_read(struct job_record *out, const char *id, const struct redisReply *flat);
/* The same, copied, as taken by `worker` under `token` of `queue`: a taken job's record is answered as it was before
 * that. */
int job_record_take(struct job_record *out, const char *id, const struct redisReply *flat, const char *worker,
                    const char *token, const char *queue);
void job_record_clear(struct job_record *record);

#endif
