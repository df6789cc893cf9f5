/* SPDX-License-Identifier: MIT
 *
 * What is allowed in the spec of a job.
 */
#ifndef JOB_SPEC_H
#define JOB_SPEC_H

#include <muster/job.h>

/* MUSTER_OK, or the error; then `*why` says in words what is wrong. The data may have up to `max_task_len` bytes. */
int job_spec_check(const struct muster_job_spec *s, size_t max_task_len, const char **why);

#endif
