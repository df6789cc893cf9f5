/* SPDX-License-Identifier: MIT
 *
 * Ending processes, and extending their leases.
 */
#include "async/async.h"
#include "async/async_asked.h"
#include "base/sized.h"
#include "protocol/end_by_id.h"
#include "protocol/script_task.h"

static void on_ended(const struct redisReply *reply, void *arg)
{
    struct async_asked *asked = arg;
    if (!async_hear_reply(&asked->call, asked->bytes, reply))
        return;
    const int err = reply_status(reply);
    const char *why =
        end_by_id_words((enum end_by_id_kind)asked->what, err, asked->name, reply_text(reply_at(reply, 1)));
    if (err == MUSTER_OK)
        async_hear_done(&asked->call);
    else if (why)
        async_hear_failed(&asked->call, err, why);
    else
        async_hear_refused(&asked->call, err, reply);
}

static int send_end(struct async_call *call)
{
    return async_asked_send((struct async_asked *)call, on_ended);
}

static const struct async_kind kind_end = {.writes = true, .send = send_end, .clear = async_asked_clear};

static int post(struct muster_async *a, struct command *c, enum end_by_id_kind kind, const char *process,
                muster_async_fn *fn, void *arg)
{
    struct async_asked *asked = async_asked_new(a, &kind_end, sizeof *asked, c, process, fn, arg);
    if (asked)
        asked->what = kind;
    return async_asked_post(a, asked);
}

static int end(struct muster_async *a, const struct muster_lease_end *e, muster_async_fn *fn, void *arg)
{
    struct command c = COMMAND_EMPTY;
    struct end_by_id named;
    const char *why = NULL;
    int err = end_by_id_check(&named, e, a->max_task_len, &why);
    if (err != MUSTER_OK)
        return async_thread_refuse(err, why);
    script_end(&c, &a->root, named.holder);
    end_by_id_say(&c, &named, e);
    err = post(a, &c, end_by_id_kind(e), e->process, fn, arg);
    end_by_id_clear(&named);
    return err;
}

int muster_async_finish(struct muster_async *a, const char *process, const struct muster_finish_options *options,
                        muster_async_fn *fn, void *arg)
{
    struct muster_finish_options o;
    int err = async_enter(a);
    const char *why = err == MUSTER_OK ? sized_read(SIZED_FINISH_OPTIONS, &o, options) : NULL;
    if (err != MUSTER_OK || why)
        return why ? async_thread_refuse(MUSTER_E_INVALID, why) : err;
    const struct muster_lease_end e = end_by_id_finish(process, &o);
    return end(a, &e, fn, arg);
}

int muster_async_give_back(struct muster_async *a, const char *process, muster_async_fn *fn, void *arg)
{
    int err = async_enter(a);
    return err == MUSTER_OK
               ? end(a, &(struct muster_lease_end){.process = process, .outcome = MUSTER_GIVE_BACK}, fn, arg)
               : err;
}

int muster_async_retry(struct muster_async *a, const char *process, int64_t delay_ms, muster_async_fn *fn, void *arg)
{
    return muster_async_retry_as(a, process, delay_ms, NULL, NULL, fn, arg);
}

int muster_async_retry_as(struct muster_async *a, const char *process, int64_t delay_ms, const char *group,
                          const char *message, muster_async_fn *fn, void *arg)
{
    const struct muster_lease_end e = {
        .process = process, .outcome = MUSTER_RETRY, .delay_ms = delay_ms, .group = group, .message = message};
    int err = async_enter(a);
    return err == MUSTER_OK ? end(a, &e, fn, arg) : err;
}

int muster_async_fail(struct muster_async *a, const char *process, const char *group, const char *message,
                      muster_async_fn *fn, void *arg)
{
    const struct muster_lease_end e = {.process = process, .outcome = MUSTER_FAIL, .group = group, .message = message};
    int err = async_enter(a);
    return err == MUSTER_OK ? end(a, &e, fn, arg) : err;
}

int muster_async_extend(struct muster_async *a, const char *process, const struct muster_extend_options *options,
                        muster_async_fn *fn, void *arg)
{
    struct muster_extend_options o;
    struct process_name p;
    struct command c = COMMAND_EMPTY;
    int err = async_enter(a);
    const char *why = err == MUSTER_OK ? sized_read(SIZED_EXTEND_OPTIONS, &o, options) : NULL;
    if (err == MUSTER_OK && !why)
        why = process_name_parse(&p, process);
    if (err == MUSTER_OK)
        err = why ? MUSTER_E_INVALID : end_by_id_check_extend(&o, a->max_task_len, &why);
    if (err != MUSTER_OK)
        return why ? async_thread_refuse(err, why) : err;
    script_extend(&c, &a->root, p.worker, p.token, p.queue, o.lease_ms, o.progress, o.data);
    return post(a, &c, END_BY_ID_EXTEND, process, fn, arg);
}
