/* SPDX-License-Identifier: MIT
 *
 * Putting jobs, and unique tasks. lua/job/put.lua says what it means.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/full.h"
#include "client/job_cron.h"
#include "protocol/job_put.h"
#include "protocol/job_say.h"
#include "protocol/job_spec.h"
#include "protocol/script_job.h"

/* Sends the command, which puts the job `put_id`, "": a unique task. `id`, if not NULL, gets the job's id: this one, or
 * the one that the script made. */
static int put(struct muster_client *c, struct command *command, const char *queue, const char *put_id, char *id)
{
    struct redisReply *reply = NULL;
    int err = full_explain(c, client_run_confirmed(c, command, REDIS_WAKES_NOBODY, &reply));
    const char *what = reply_text(reply_at(reply, 1));
    const char *made = err == MUSTER_OK ? what : err == MUSTER_E_EXISTS ? reply_text(reply_at(reply, 2)) : NULL;
    if (id && made)
        snprintf(id, MUSTER_JOB_ID_MAX + 1, "%s", made);
    if (err == MUSTER_E_EXISTS && !*put_id)
        redis_error_set(c->redis, "an equal task is %s in the queue '%s', under the id '%s'; nothing was enqueued",
                        what ? what : "alive", queue, made ? made : "");
    else
        client_say(c, job_say_refusal(err, put_id, reply));
    /* The one that is there already may be what this call put the last time, when it was not confirmed. */
    bool is_there = job_put_is_there(err, reply);
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
        err = job_cron_ticks(c, &s, &ticks, &why);
    if (why)
        return client_answer(c, err, &why);
    if (err != MUSTER_OK)
        return err;
    job_put_begin(&command, &c->root, queue);
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
    script_put_said(&command, "data", data);
    return put(c, &command, queue, "", id);
}
