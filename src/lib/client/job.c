/* SPDX-License-Identifier: MIT
 *
 * Putting jobs, and unique tasks. lua/job/put.lua says what it means. Refusals get their words here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/full.h"
#include "client/job_put.h"
#include "client/job_say.h"
#include "client/job_spec.h"
#include "protocol/script_job.h"

/* ---- a spec, as words of the script: a field's name and its value ---- */

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

void job_put_begin(struct muster_client *c, struct command *command, const char *queue)
{
    script_put(command, &c->root, queue);
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
    job_cron_add(command, spec, ticks);
}

void job_put_make_id(char id[MUSTER_JOB_ID_MAX + 1])
{
    for (int i = 0; i < 4; i++)
        snprintf(id + 8 * i, 9, "%08x", arc4random());
}

/* ---- the script's answer ---- */

void job_put_say_refusal(struct muster_client *c, int err, const char *id, const struct redisReply *reply)
{
    const char *what = reply_text(reply_at(reply, 1)), *more = reply_text(reply_at(reply, 2));
    if (err == MUSTER_E_EXISTS && what && strcmp(what, "ending") == 0)
        redis_error_set(c->redis,
                        "the last job '%s' has ended, and the jobs that waited for it are still let go: put it again "
                        "in a moment; nothing was changed",
                        id);
    else if (err == MUSTER_E_EXISTS)
        redis_error_set(c->redis, "the job '%s' is %s: replace or cancel it, or choose another id; nothing was changed",
                        id, what ? what : "alive");
    if (err == MUSTER_E_INVALID && more && strcmp(more, "recurs") == 0)
        redis_error_set(
            c->redis,
            "the job '%s' recurs, or would: no job can wait for it, and it cannot wait for others; nothing was changed",
            id);
    else if (err == MUSTER_E_INVALID && more && strcmp(more, "timed") == 0)
        redis_error_set(c->redis,
                        "the job '%s' recurs: its interval or schedule says when, no time or delay of its own; give it "
                        "another one, or cancel it first; nothing was changed",
                        id);
    else if (err == MUSTER_E_INVALID && more && strcmp(more, "over") == 0)
        redis_error_set(c->redis,
                        "the job '%s' would never recur: its interval has no time up to its last one; nothing "
                        "was changed",
                        id);
    else if (err == MUSTER_E_INVALID || err == MUSTER_E_TOO_BIG)
        job_say_obstacle(c, err, id, what);
    if (job_say_is_about_missing(err, what))
        job_say_missing(c, what, id, more);
    else if (err == MUSTER_E_NOT_FOUND && what && strcmp(what, "data") == 0)
        redis_error_set(c->redis,
                        "there is no job '%s' whose data could stay: put it with data of its own; nothing was changed",
                        id);
    else
        job_say_batch(c, err, what, more);
}

/* ---- calls ---- */

/* Sends the command, which puts the job `put_id`, "": a unique task. `id`, if not NULL, gets the job's id: this one, or
 * the one that the script made. */
static int put(struct muster_client *c, struct command *command, const char *queue, const char *put_id, char *id)
{
    struct redisReply *reply = NULL;
    int err = full_explain(c, client_run_confirmed(c, command, REDIS_WAKES_NOBODY, &reply));
    const char *what = reply_text(reply_at(reply, 1));
    const char *made = err == MUSTER_OK ? what : reply_text(reply_at(reply, 2));
    if (id && made)
        snprintf(id, MUSTER_JOB_ID_MAX + 1, "%s", made);
    if (err == MUSTER_E_EXISTS && !*put_id)
        redis_error_set(c->redis, "an equal task is %s in the queue '%s', under the id '%s'; nothing was enqueued",
                        what ? what : "alive", queue, made ? made : "");
    else
        job_put_say_refusal(c, err, put_id, reply);
    /* The one that is there already may be what this call put the last time, when it was not confirmed. */
    bool is_there = err == MUSTER_OK || (err == MUSTER_E_EXISTS && !(what && strcmp(what, "ending") == 0));
    redis_reply_free(reply);
    return is_there && c->confirmed.err != MUSTER_OK ? client_confirmed(c) : err;
}

int muster_job_put(struct muster_client *c, const char *queue, const struct muster_job_spec *spec, char *id)
{
    struct muster_job_spec s;
    struct command command = COMMAND_EMPTY;
    struct cron_ticks ticks;
    char own[MUSTER_JOB_ID_MAX + 1];
    const char *why = NULL;
    if (id)
        *id = '\0';
    int err = client_read(c, SIZED_JOB_SPEC, &s, spec);
    if (err == MUSTER_OK)
        err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = client_answer(c, job_spec_check(&s, c->max_task_len, &why), &why);
    if (err != MUSTER_OK)
        return err;
    if (!s.id)
        job_put_make_id(own);
    else
        snprintf(own, sizeof own, "%s", s.id);
    if (id) /* also if it stays unknown whether it was put: the caller can look the id up */
        memcpy(id, own, strlen(own) + 1);
    err = client_begin_adding(c);
    if (err == MUSTER_OK)
        err = job_cron_ticks(c, &s, &ticks);
    if (err != MUSTER_OK)
        return err;
    job_put_begin(c, &command, queue);
    job_put_add(&command, &s, own, &ticks);
    return put(c, &command, queue, own, NULL);
}

int muster_task_enqueue_unique(struct muster_client *c, const char *queue, const void *task, size_t len, char *id)
{
    const struct muster_bytes data = {task, len};
    struct command command = COMMAND_EMPTY;
    if (id)
        *id = '\0';
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = client_check_task(c, &data);
    if (err == MUSTER_OK)
        err = client_begin_adding(c);
    if (err != MUSTER_OK)
        return err;
    script_put(&command, &c->root, queue);
    script_put_job(&command, &(struct script_put_job){.id = ""}); /* Redis makes the id */
    add_bytes(&command, "data", data);
    return put(c, &command, queue, "", id);
}
