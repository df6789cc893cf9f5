/* SPDX-License-Identifier: MIT
 *
 * Checks of a job's data. Each answers MUSTER_OK, or the error; then the reason is the client's error text.
 */
#ifndef JOB_VALID_H
#define JOB_VALID_H

#include <muster/job.h>

#include "client/client.h"

#define JOB_EVERY_MIN_MS 1000

int job_valid_id(struct muster_client *c, const char *id);
int job_valid_tags(struct muster_client *c, const char *const *tags, size_t n);
/* The jobs that another waits for. */
int job_valid_after(struct muster_client *c, const char *const *ids, size_t n);
/* 0 and MUSTER_ZERO are always allowed: 0 means "default" or "as it is", MUSTER_ZERO means 0. */
int job_valid_number(struct muster_client *c, const char *what, int64_t number, int64_t least, int64_t most);

/* Set the error text for a job that cannot wait for others. `err` is E_INVALID, and `other` the job that the script has
 * named, or NULL; or E_TOO_BIG. */
void job_valid_say_obstacle(struct muster_client *c, int err, const char *id, const char *other);

#endif
