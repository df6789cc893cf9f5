/* SPDX-License-Identifier: MIT
 *
 * Recurring jobs: what is allowed in their specs, and the first ticks of a schedule. See cron_spec.c.
 */
#ifndef CRON_SPEC_H
#define CRON_SPEC_H

#include <muster/job.h>

#include "base/cron_ticks.h"
#include "redis/command.h"

/* MUSTER_OK, or the error; then `*why` says what is not allowed, and what is. */
int cron_spec_check(const struct muster_job_spec *s, const char **why);

/* The first ticks of the spec's schedule, which it has, if it is now `now_ms` by Redis' clock. */
int cron_spec_ticks(struct cron_ticks *out, const struct muster_job_spec *s, int64_t now_ms, const char **why);
/* The same for any schedule, whose first time may be `from_ms`. */
int cron_spec_first(struct cron_ticks *out, struct cron_wanted *wanted, int64_t from_ms, int64_t now_ms,
                    const char **why);

/* Adds what a put says of them. Without a schedule `ticks` means nothing. */
void cron_spec_add(struct command *command, const struct muster_job_spec *s, const struct cron_ticks *ticks);

#endif
