/* SPDX-License-Identifier: MIT
 *
 * Putting jobs, and unique tasks. lua/job/put.lua says what it means. Refusals get their words here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/full.h"
#include "client/job_spec.h"
#include "client/job_valid.h"
#include "protocol/script_job.h"

/* The fields to send, with the texts of their numbers. */
struct fields {
    struct script_field rows[16];
    char numbers[16][24];
    size_t n;
};

static void add_bytes(struct fields *f, const char *name, struct muster_bytes value)
{
    f->rows[f->n++] = (struct script_field){name, value};
}

static void add_number(struct fields *f, const char *name, int64_t number)
{
    char *text = f->numbers[f->n];
    int len = snprintf(text, sizeof f->numbers[0], "%lld", (long long)(number == MUSTER_ZERO ? 0 : number));
    add_bytes(f, name, (struct muster_bytes){text, (size_t)len});
}

/* A 0 is not sent: a new record gets the default, an old one keeps what it has. */
static void add_given(struct fields *f, const char *name, int64_t number)
{
    if (number != 0)
        add_number(f, name, number);
}

static void add_backoff(struct fields *f, const struct muster_backoff *b)
{
    const char *kind = b->exponential ? "exponential" : "fixed";
    add_number(f, "backoff", b->delay_ms);
    add_number(f, "backoff_max", b->max_ms);
    add_number(f, "jitter", b->jitter_percent);
    add_bytes(f, "backoff_kind", (struct muster_bytes){kind, strlen(kind)});
}

static void add_spec(struct fields *f, const struct muster_job_spec *s)
{
    if (!s->replace || s->data.data)
        add_bytes(f, "data", s->data);
    add_given(f, "priority", s->priority);
    add_given(f, "retries", s->retries);
    add_number(f, "new_retries", MUSTER_JOB_RETRIES_DEFAULT);
    add_given(f, "tracked", s->track != 0);
    add_given(f, "limit", s->limit_ms);
    add_given(f, "every", s->every_ms);
    add_given(f, "backlog", s->backlog);
    add_given(f, "delay", s->delay_ms != 0 ? s->delay_ms : s->offset_ms);
    if (s->backoff)
        add_backoff(f, s->backoff);
}

static void make_id(char id[MUSTER_JOB_ID_MAX + 1])
{
    for (int i = 0; i < 4; i++)
        snprintf(id + 8 * i, 9, "%08x", arc4random());
}

/* Put the script's refusal into words. `what` follows the status in its answer; `recurs`: another part follows `what`.
 */
static void say_not_put(struct muster_client *c, int err, const char *id, const char *what, bool recurs)
{
    if (err == MUSTER_E_EXISTS && what && strcmp(what, "ending") == 0)
        redis_error_set(c->redis,
                        "the last job '%s' has ended, and the jobs that waited for it are still let go: put it again "
                        "in a moment; nothing was changed",
                        id);
    else if (err == MUSTER_E_EXISTS)
        redis_error_set(c->redis, "the job '%s' is %s: replace or cancel it, or choose another id; nothing was changed",
                        id, what ? what : "alive");
    if (err == MUSTER_E_INVALID && recurs)
        redis_error_set(
            c->redis,
            "the job '%s' recurs, or would: no job can wait for it, and it cannot wait for others; nothing was changed",
            id);
    else if (err == MUSTER_E_INVALID || err == MUSTER_E_TOO_BIG)
        job_valid_say_obstacle(c, err, id, what);
}

/* `id`, if not NULL, gets the job's id: that of `put`, or the one that the script made. */
static int put(struct muster_client *c, const struct script_put *put, char *id)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    int err = client_begin_adding(c);
    if (err != MUSTER_OK)
        return err;
    script_put(&command, &c->root, put);
    err = full_explain(c, client_run_confirmed(c, &command, REDIS_WAKES_NOBODY, &reply));
    const char *what = reply_text(reply_at(reply, 1));
    const char *made = err == MUSTER_OK ? what : reply_text(reply_at(reply, 2));
    if (id && made)
        snprintf(id, MUSTER_JOB_ID_MAX + 1, "%s", made);
    if (err == MUSTER_E_EXISTS && !*put->id)
        redis_error_set(c->redis, "an equal task is %s in the queue '%s', under the id '%s'; nothing was enqueued",
                        what ? what : "alive", put->queue, made ? made : "");
    else
        say_not_put(c, err, put->id, what, made != NULL);
    /* The one that is there already may be what this call put the last time, when it was not confirmed. */
    bool is_there = err == MUSTER_OK || (err == MUSTER_E_EXISTS && !(what && strcmp(what, "ending") == 0));
    redis_reply_free(reply);
    return is_there && c->confirmed.err != MUSTER_OK ? client_confirmed(c) : err;
}

int muster_job_put(struct muster_client *c, const char *queue, const struct muster_job_spec *spec, char *id)
{
    struct muster_job_spec s;
    struct fields fields = {.n = 0};
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
        make_id(own);
    else
        snprintf(own, sizeof own, "%s", s.id);
    if (id) /* also if it stays unknown whether it was put: the caller can look the id up */
        memcpy(id, own, strlen(own) + 1);
    add_spec(&fields, &s);
    return put(c,
               &(struct script_put){.queue = queue,
                                    .id = own,
                                    .replace = s.replace,
                                    .tags = s.tags,
                                    .n_tags = s.n_tags,
                                    .after = s.after,
                                    .n_after = s.n_after,
                                    .fields = fields.rows,
                                    .n_fields = fields.n},
               NULL);
}

int muster_task_enqueue_unique(struct muster_client *c, const char *queue, const void *task, size_t len, char *id)
{
    const struct muster_bytes data = {task, len};
    struct fields fields = {.n = 0};
    if (id)
        *id = '\0';
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = client_check_task(c, &data);
    if (err != MUSTER_OK)
        return err;
    add_bytes(&fields, "data", data);
    /* Redis makes the id. */
    return put(c, &(struct script_put){.queue = queue, .id = "", .fields = fields.rows, .n_fields = fields.n}, id);
}
