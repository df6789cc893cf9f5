/* SPDX-License-Identifier: MIT
 *
 * Changing and cancelling jobs, for calls that choose many of them.
 */
#ifndef JOB_CHANGE_H
#define JOB_CHANGE_H

#include "client/client.h"
#include "protocol/script_job.h"

/* What a job was when it was chosen. */
struct job_guard {
    const char *queue; /* NULL: any */
    int64_t put_ms;
};

/* MUSTER_OK, or E_INVALID or E_TOO_BIG with words. */
int job_change_check(struct muster_client *c, const char *id, const struct muster_job_change *change);

/* Change a job that job_change_check() allows. `guard` may be NULL. `*passes` after an error: the job is none of those
 * that are meant, because it is gone, or in another state or queue; nothing was changed. */
int job_change(struct muster_client *c, const char *id, const struct muster_job_change *change,
               const struct job_guard *guard, bool *passes);

/* Run a command of the script that cancels jobs, and go on until all records are gone. */
int job_cancel_run(struct muster_client *c, struct command *command, struct script_cancelled *count);

#endif
