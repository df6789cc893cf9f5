/* SPDX-License-Identifier: MIT
 *
 * A spec of a job as words of the script `put`.
 */
#include "protocol/job_put.h"

#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/cron_spec.h"
#include "protocol/script_job.h"

static void add_bytes(struct command *f, const char *name, struct muster_bytes value)
{
    script_put_said(f, name, value);
}

static void add_number(struct command *f, const char *name, int64_t number)
{
    script_put_number(f, name, number == MUSTER_ZERO ? 0 : number);
}

/* A 0 is not sent: a new record gets the default, an old one keeps what it has. */
static void add_given(struct command *f, const char *name, int64_t number)
{
    if (number != 0)
        add_number(f, name, number);
}

static void add_backoff(struct command *f, const struct muster_backoff *b)
{
    const char *kind = b->exponential ? "exponential" : "fixed";
    add_number(f, "backoff", b->delay_ms);
    add_number(f, "backoff_max", b->max_ms);
    add_number(f, "jitter", b->jitter_percent);
    add_bytes(f, "backoff_kind", (struct muster_bytes){kind, strlen(kind)});
}

static void add_spec(struct command *f, const struct muster_job_spec *s)
{
    if (!s->replace || s->data.data)
        add_bytes(f, "data", s->data);
    add_given(f, "priority", s->priority);
    add_given(f, "retries", s->retries);
    add_given(f, "tracked", s->track != 0);
    add_given(f, "limit", s->limit_ms);
    add_given(f, "every", s->every_ms);
    add_given(f, "backlog", s->backlog);
    add_given(f, "delay", s->delay_ms != 0 ? s->delay_ms : s->offset_ms);
    add_given(f, "at", s->at_ms);
    if (s->backoff)
        add_backoff(f, s->backoff);
    if (s->batch)
        add_bytes(f, "batch", (struct muster_bytes){s->batch, strlen(s->batch)});
    if (s->key)
        add_bytes(f, "key", (struct muster_bytes){s->key, strlen(s->key)});
}

void job_put_begin(struct command *command, const struct script_root *root, const char *queue)
{
    script_put(command, root, queue);
    script_put_number(command, "new_retries", MUSTER_JOB_RETRIES_DEFAULT);
}

void job_put_add(struct command *command, const struct muster_job_spec *spec, const char *id,
                 const struct cron_ticks *ticks)
{
    script_put_job(command, &(struct script_put_job){.id = id,
                                                     .replace = spec->replace,
                                                     .tags = spec->tags,
                                                     .n_tags = spec->n_tags,
                                                     .after = spec->after,
                                                     .n_after = spec->n_after,
                                                     .may_be_missing = spec->may_be_missing,
                                                     .after_end = spec->after_end,
                                                     .n_after_end = spec->n_after_end,
                                                     .after_failure = spec->after_failure,
                                                     .n_after_failure = spec->n_after_failure});
    add_spec(command, spec);
    cron_spec_add(command, spec, ticks);
}

void job_put_make_id(char id[MUSTER_JOB_ID_MAX + 1])
{
    for (int i = 0; i < 4; i++)
        snprintf(id + 8 * i, 9, "%08x", arc4random());
}

/* With other errors there is the id of a job, which may be one of these words. */
bool job_put_may_pass(int err, const struct redisReply *reply)
{
    return (err == MUSTER_E_EXISTS || err == MUSTER_E_STATE) &&
           (reply_is(reply_at(reply, 1), "ending") || reply_is(reply_at(reply, 1), "dropped"));
}

bool job_put_is_there(int err, const struct redisReply *reply)
{
    return err == MUSTER_OK || (err == MUSTER_E_EXISTS && !job_put_may_pass(err, reply));
}
