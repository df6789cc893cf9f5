/* SPDX-License-Identifier: MIT
 *
 * Decides what is allowed in the spec of a job, as far as it can be known before anything is sent.
 */
#include "protocol/job_spec.h"

#include <muster/batch.h>
#include <string.h>

#include "base/sized.h"
#include "protocol/cron_spec.h"
#include "protocol/job_valid.h"
#include "protocol/names.h"

static int check_times(const struct muster_job_spec *s, const char **why)
{
    int err = job_valid_number("a job's delay", s->delay_ms, 0, MUSTER_JOB_MS_MAX, why);
    if (err == MUSTER_OK)
        err = job_valid_number("the time at which a job becomes ready", s->at_ms, 0, JOB_AT_MAX_MS, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a job's limit", s->limit_ms, 0, MUSTER_JOB_MS_MAX, why);
    if (err == MUSTER_OK)
        err = job_valid_interval(s->every_ms, why);
    if (err == MUSTER_OK)
        err = job_valid_number("a recurring job's offset", s->offset_ms, 0, MUSTER_JOB_MS_MAX, why);
    return err == MUSTER_OK ? job_valid_number("a recurring job's backlog", s->backlog, 0, INT32_MAX, why) : err;
}

static int check_ready(const struct muster_job_spec *s, const char **why)
{
    if (s->delay_ms == 0 || s->at_ms == 0)
        return MUSTER_OK;
    *why = "a job becomes ready after a delay or at a time, not both";
    return MUSTER_E_INVALID;
}

static int check_batch(const char *id, const char **why)
{
    *why = id ? muster_batch_id_check(id) : NULL;
    return *why ? MUSTER_E_INVALID : MUSTER_OK;
}

int job_spec_check(const struct muster_job_spec *s, size_t max_task_len, const char **why)
{
    int err = s->id ? job_valid_id(s->id, why) : MUSTER_OK;
    if (err == MUSTER_OK)
        err = check_batch(s->batch, why);
    if (err == MUSTER_OK)
        err = job_valid_key(s->key, why);
    if (err == MUSTER_OK)
        err = names_check_task(&s->data, max_task_len, why);
    if (err == MUSTER_OK)
        err = job_valid_tags(s->tags, s->n_tags, why);
    if (err == MUSTER_OK)
        err = job_valid_ways((const struct job_valid_list[]){{s->after, s->n_after},
                                                             {s->after_end, s->n_after_end},
                                                             {s->after_failure, s->n_after_failure}},
                             why);
    if (err == MUSTER_OK)
        err = job_valid_number("a job's number of retries", s->retries, 0, MUSTER_JOB_RETRIES_MAX, why);
    if (err == MUSTER_OK)
        err = check_times(s, why);
    if (err == MUSTER_OK)
        err = check_ready(s, why);
    if (err == MUSTER_OK)
        err = cron_spec_check(s, why);
    return err == MUSTER_OK && s->backoff ? job_valid_backoff(s->backoff, why) : err;
}

const char *muster_job_spec_check(const struct muster_job_spec *spec)
{
    struct muster_job_spec s;
    const char *why = sized_read(SIZED_JOB_SPEC, &s, spec);
    if (why)
        return why;
    return job_spec_check(&s, MUSTER_TASK_MAX, &why) == MUSTER_OK ? NULL : why;
}
