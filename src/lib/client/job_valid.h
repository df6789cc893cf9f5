/* SPDX-License-Identifier: MIT
 *
 * Checks of what is said of jobs: MUSTER_OK, or what is wrong with it, with the reason as the client's error.
 */
#ifndef JOB_VALID_H
#define JOB_VALID_H

#include <muster/job.h>

#include "client/client.h"

#define JOB_EVERY_MIN_MS 1000

/* A size that was forgotten: every member would count as not given. */
int job_valid_size(struct muster_client *c, size_t size);
int job_valid_id(struct muster_client *c, const char *id);
int job_valid_tags(struct muster_client *c, const char *const *tags, size_t n);
/* The jobs that another waits for. */
int job_valid_after(struct muster_client *c, const char *const *ids, size_t n);
/* 0 and MUSTER_ZERO are allowed everywhere: they mean "default" or "as it is", and 0. */
int job_valid_number(struct muster_client *c, const char *what, int64_t number, int64_t least, int64_t most);

/* The words for a dependency that cannot be: `other` is what the script has named, may be NULL. */
void job_say_circle(struct muster_client *c, const char *id, const char *other);

#endif
