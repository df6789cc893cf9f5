/* SPDX-License-Identifier: MIT
 *
 * Recurring jobs: the ticks of a schedule, of the time that Redis tells. See job_cron.c.
 */
#ifndef JOB_CRON_H
#define JOB_CRON_H

#include <muster/job.h>

#include "base/cron_ticks.h"
#include "client/client.h"

/* The first ticks of the spec's schedule, if it has one; otherwise nothing is asked, and `out` is empty. `*why`: what is
 * wrong with the schedule; NULL: nothing. */
int job_cron_ticks(struct muster_client *c, const struct muster_job_spec *s, struct cron_ticks *out, const char **why);

/* What a change of the job's schedule says, besides the schedule and the zone. `ticks` and `record` are borrowed until the
 * command is sent. MUSTER_E_NOT_FOUND: there is no such job; E_STATE: it has no schedule. */
struct job_cron_changed {
    struct cron_ticks ticks;
    struct redisReply *record; /* to be freed */
    const char *cron, *zone;   /* the job's, or NULL */
};
int job_cron_change(struct muster_client *c, const char *id, const struct muster_job_change *change,
                    struct job_cron_changed *out);
void job_cron_add_change(struct command *command, const struct muster_job_change *change,
                         const struct job_cron_changed *changed);

#endif
