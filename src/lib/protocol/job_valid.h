/* SPDX-License-Identifier: MIT
 *
 * Checks of a job's data. Each answers MUSTER_OK, or the error; then `*why` says in words what is wrong.
 */
#ifndef JOB_VALID_H
#define JOB_VALID_H

#include <muster/job.h>

#define JOB_EVERY_MIN_MS 1000
/* The longest time that is counted from now: with it Redis' numbers are still exact, and are written as whole ones. */
#define SPAN_MAX_MS (INT64_MAX / 4096)
/* The end of the year 9999. */
#define JOB_AT_MAX_MS ((int64_t)253402300799999)

int job_valid_id(const char *id, const char **why);
int job_valid_tags(const char *const *tags, size_t n, const char **why);
/* NULL: none. */
int job_valid_key(const char *key, const char **why);
/* The jobs that another waits for. */
int job_valid_after(const char *const *ids, size_t n, const char **why);
/* The same in all ways: until they are complete, have ended, have failed. No job is in two of these lists. */
#define JOB_VALID_WAYS 3
struct job_valid_list {
    const char *const *ids;
    size_t n;
};
int job_valid_ways(const struct job_valid_list lists[JOB_VALID_WAYS], const char **why);
/* 0 and MUSTER_ZERO are always allowed: 0 means "default" or "as it is", MUSTER_ZERO means 0. */
int job_valid_number(const char *what, int64_t number, int64_t least, int64_t most, const char **why);
/* How often a recurring job makes another. */
int job_valid_interval(int64_t every_ms, const char **why);
int job_valid_backoff(const struct muster_backoff *b, const char **why);

#endif
