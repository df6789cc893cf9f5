/* SPDX-License-Identifier: MIT
 *
 * A spec of a job as words of the script `put`: of one job and of many.
 */
#ifndef JOB_PUT_H
#define JOB_PUT_H

#include <muster/job.h>
#include <stdbool.h>

#include "base/cron_ticks.h"
#include "protocol/script.h"

/* Begin the script's command; the jobs follow. */
void job_put_begin(struct command *command, const struct script_root *root, const char *queue);
/* Add one job. The spec was checked; its texts, `id` and `ticks` (cron_spec.h) are borrowed until the command is sent.
 * */
void job_put_add(struct command *command, const struct muster_job_spec *spec, const char *id,
                 const struct cron_ticks *ticks);

/* A put was answered so: is its job there? It may have been before, by the same call, when that was not confirmed. But not
 * while the last job of its id has ended, and others are still let go: nothing of it was put then. */
bool job_put_is_there(int err, const struct redisReply *reply);

/* A put was refused for what is in its way for a moment: what has ended is still let go, or what runs will be dropped. */
bool job_put_may_pass(int err, const struct redisReply *reply);

/* An id for a job that has none. */
void job_put_make_id(char id[MUSTER_JOB_ID_MAX + 1]);

#endif
