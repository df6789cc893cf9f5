/* SPDX-License-Identifier: MIT
 *
 * Putting jobs.
 */
#include <stdlib.h>

#include "async/async.h"
#include "async/async_asked.h"
#include "base/sized.h"
#include "protocol/job_put.h"
#include "protocol/job_say.h"
#include "protocol/job_spec.h"

static const char *refusal(const struct async_asked *asked, int err, const struct redisReply *reply)
{
    return reply_text(reply_at(reply, 1)) ? job_say_refusal(err, asked->name, reply) : NULL;
}

/* One that is alive already may be what this call put the last time, when it was not confirmed: so it is confirmed. */
static void on_put(const struct redisReply *reply, void *arg)
{
    struct async_asked *asked = arg;
    if (!async_hear_reply(&asked->call, asked->bytes, reply))
        return;
    const int err = reply_status(reply);
    const bool is_there = job_put_is_there(err, reply);
    const char *why = refusal(asked, err, reply);
    if (err == MUSTER_OK) {
        async_hear_done(&asked->call);
    } else if (is_there) {
        async_call_fail(&asked->call, err, why);
        async_hear_done(&asked->call);
    } else if (why && err != MUSTER_E_REDIS) {
        async_hear_failed(&asked->call, err, why);
    } else {
        async_hear_refused(&asked->call, err, reply);
    }
}

static int send_put(struct async_call *call)
{
    return async_asked_send((struct async_asked *)call, on_put);
}

static void tell_id(const struct async_call *call, struct muster_answer *answer)
{
    answer->id = ((const struct async_asked *)call)->name;
}

static const struct async_kind kind_put = {
    .writes = true, .adds = true, .send = send_put, .tell = tell_id, .clear = async_asked_clear};

static int check(const struct muster_async *a, const char *queue, const struct muster_job_spec *spec,
                 struct muster_job_spec *s)
{
    int err = async_enter(a);
    if (err != MUSTER_OK)
        return err;
    const char *why = sized_read(SIZED_JOB_SPEC, s, spec);
    if (!why)
        why = muster_queue_check(queue);
    if (!why && s->cron)
        why = "a job with a schedule is put by muster_job_put(), which asks Redis for the time";
    err = why ? MUSTER_E_INVALID : job_spec_check(s, a->max_task_len, &why);
    return err == MUSTER_OK ? err : async_thread_refuse(err, why);
}

int muster_async_put(struct muster_async *a, const char *queue, const struct muster_job_spec *spec, muster_async_fn *fn,
                     void *arg)
{
    struct muster_job_spec s;
    struct command c = COMMAND_EMPTY;
    char made[MUSTER_JOB_ID_MAX + 1];
    int err = check(a, queue, spec, &s);
    if (err != MUSTER_OK)
        return err;
    if (!s.id)
        job_put_make_id(made);
    const char *id = s.id ? s.id : made;
    job_put_begin(&c, &a->root, queue);
    job_put_add(&c, &s, id, NULL);
    return async_asked_post(a, async_asked_new(a, &kind_put, sizeof(struct async_asked), &c, id, fn, arg));
}
