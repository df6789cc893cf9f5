/* SPDX-License-Identifier: MIT
 *
 * What puts of one job and of many share: a spec as words of the script, and its refusals in words.
 */
#ifndef JOB_PUT_H
#define JOB_PUT_H

#include <muster/job.h>

#include "client/client.h"
#include "client/job_cron.h"

/* Begin the script's command; the jobs follow. */
void job_put_begin(struct muster_client *c, struct command *command, const char *queue);
/* Add one job. The spec was checked; its texts, `id` and `ticks` (job_cron.h) are borrowed until the command is sent. */
void job_put_add(struct command *command, const struct muster_job_spec *spec, const char *id,
                 const struct cron_ticks *ticks);

/* An id for a job that has none. */
void job_put_make_id(char id[MUSTER_JOB_ID_MAX + 1]);

/* Set the error text for what the script has refused: the job `id`. */
void job_put_say_refusal(struct muster_client *c, int err, const char *id, const struct redisReply *reply);

#endif
