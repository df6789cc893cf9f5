/* SPDX-License-Identifier: MIT
 *
 * Checks of a job's data, before anything is sent.
 */
#include "client/job_valid.h"

#include <string.h>

int job_valid_number(struct muster_client *c, const char *what, int64_t number, int64_t least, int64_t most)
{
    if (number == 0 || number == MUSTER_ZERO || (number >= least && number <= most))
        return MUSTER_OK;
    redis_error_set(c->redis, "%s must be %lld to %lld, not %lld; nothing was sent", what, (long long)least,
                    (long long)most, (long long)number);
    return MUSTER_E_INVALID;
}

int job_valid_id(struct muster_client *c, const char *id)
{
    const char *why = muster_job_id_check(id);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

int job_valid_tags(struct muster_client *c, const char *const *tags, size_t n)
{
    if (n > MUSTER_JOB_TAGS_MAX) {
        redis_error_set(c->redis, "%zu tags are over the limit of %d; nothing was sent", n, MUSTER_JOB_TAGS_MAX);
        return MUSTER_E_TOO_BIG;
    }
    for (size_t i = 0; i < n; i++) {
        const char *why = muster_tag_check(tags ? tags[i] : NULL);
        if (why)
            return client_refuse(c, why);
    }
    return MUSTER_OK;
}

int job_valid_after(struct muster_client *c, const char *const *ids, size_t n)
{
    int err = MUSTER_OK;
    if (n > MUSTER_JOB_AFTER_MAX) {
        redis_error_set(c->redis, "%zu jobs to wait for are over the limit of %d; nothing was sent", n,
                        MUSTER_JOB_AFTER_MAX);
        return MUSTER_E_TOO_BIG;
    }
    for (size_t i = 0; err == MUSTER_OK && i < n; i++)
        err = job_valid_id(c, ids ? ids[i] : NULL);
    return err;
}

void job_valid_say_obstacle(struct muster_client *c, int err, const char *id, const char *other)
{
    if (err == MUSTER_E_TOO_BIG)
        redis_error_set(c->redis,
                        "too many jobs are tied to the job '%s' by what they wait for: nobody can see in time whether "
                        "it would wait for itself; nothing was changed",
                        id);
    else if (!other || strcmp(id, other) == 0)
        redis_error_set(c->redis, "the job '%s' would wait for itself; nothing was changed", id);
    else
        redis_error_set(
            c->redis,
            "one of the jobs '%s' and '%s' would wait for itself, or for a recurring job; nothing was changed", id,
            other);
}
