/* SPDX-License-Identifier: MIT
 *
 * Ending processes, and extending their leases.
 */
#include <stdlib.h>

#include "async/async.h"
#include "async/async_asked.h"
#include "base/sized.h"
#include "protocol/end_by_id.h"
#include "protocol/names.h"

static void on_ended(const struct redisReply *reply, void *arg)
{
    struct async_asked *asked = arg;
    if (!async_hear_reply(&asked->call, asked->bytes, reply))
        return;
    const int err = reply_status(reply);
    const char *why = end_by_id_words((enum end_by_id_kind)asked->what, err, asked->name, reply);
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

/* What a call is made of. */
struct ending {
    struct muster_async *async;
    const char *process;
    enum end_by_id_kind kind;
    muster_async_fn *fn;
    void *arg;
    struct end_by_id end;
};

static int begin(struct ending *e)
{
    int err = async_enter(e->async);
    const char *why = err == MUSTER_OK ? end_by_id_parse(&e->end, e->process) : NULL;
    return why ? async_thread_refuse(MUSTER_E_INVALID, why) : err;
}

static int post(struct ending *e, struct command *c)
{
    struct async_asked *asked = async_asked_new(e->async, &kind_end, sizeof *asked, c, e->process, e->fn, e->arg);
    if (asked)
        asked->what = e->kind;
    return async_asked_post(e->async, asked);
}

int muster_async_finish(struct muster_async *a, const char *process, const struct muster_finish_options *options,
                        muster_async_fn *fn, void *arg)
{
    struct ending e = {.async = a, .process = process, .kind = END_BY_ID_FINISH, .fn = fn, .arg = arg};
    struct muster_finish_options o;
    struct command c = COMMAND_EMPTY;
    int err = begin(&e);
    const char *why = err == MUSTER_OK ? sized_read(SIZED_FINISH_OPTIONS, &o, options) : NULL;
    if (err == MUSTER_OK)
        err = why ? MUSTER_E_INVALID : end_by_id_check_finish(&o, a->max_task_len, &why);
    if (err != MUSTER_OK)
        return why ? async_thread_refuse(err, why) : err;
    char *after = o.next ? names_join(o.after, o.n_after) : NULL;
    if (o.next && !after)
        return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
    if (o.next)
        e.kind = END_BY_ID_NEXT;
    end_by_id_finish(&c, &a->root, &e.end, &o, after);
    err = post(&e, &c);
    free(after);
    return err;
}

int muster_async_give_back(struct muster_async *a, const char *process, muster_async_fn *fn, void *arg)
{
    struct ending e = {.async = a, .process = process, .kind = END_BY_ID_BACK, .fn = fn, .arg = arg};
    struct command c = COMMAND_EMPTY;
    int err = begin(&e);
    if (err != MUSTER_OK)
        return err;
    end_by_id_plainly(&c, &a->root, &e.end, "back");
    return post(&e, &c);
}

int muster_async_retry(struct muster_async *a, const char *process, int64_t delay_ms, muster_async_fn *fn, void *arg)
{
    struct ending e = {.async = a, .process = process, .kind = END_BY_ID_RETRY, .fn = fn, .arg = arg};
    struct command c = COMMAND_EMPTY;
    const char *why = NULL;
    int err = begin(&e);
    if (err != MUSTER_OK)
        return err;
    err = end_by_id_check_retry(delay_ms, NULL, NULL, &why);
    if (err != MUSTER_OK)
        return async_thread_refuse(err, why);
    end_by_id_retry(&c, &a->root, &e.end, delay_ms, NULL, NULL);
    return post(&e, &c);
}

int muster_async_fail(struct muster_async *a, const char *process, const char *group, const char *message,
                      muster_async_fn *fn, void *arg)
{
    struct ending e = {.async = a, .process = process, .kind = END_BY_ID_FAIL, .fn = fn, .arg = arg};
    struct command c = COMMAND_EMPTY;
    const char *why = NULL;
    int err = begin(&e);
    if (err != MUSTER_OK)
        return err;
    err = names_check_failure(group, message, &why);
    if (err != MUSTER_OK)
        return async_thread_refuse(err, why);
    end_by_id_fail(&c, &a->root, &e.end, group, message);
    return post(&e, &c);
}

int muster_async_extend(struct muster_async *a, const char *process, const struct muster_extend_options *options,
                        muster_async_fn *fn, void *arg)
{
    struct ending e = {.async = a, .process = process, .kind = END_BY_ID_EXTEND, .fn = fn, .arg = arg};
    struct muster_extend_options o;
    struct command c = COMMAND_EMPTY;
    int err = begin(&e);
    const char *why = err == MUSTER_OK ? sized_read(SIZED_EXTEND_OPTIONS, &o, options) : NULL;
    if (err == MUSTER_OK)
        err = why ? MUSTER_E_INVALID : end_by_id_check_extend(&o, a->max_task_len, &why);
    if (err != MUSTER_OK)
        return why ? async_thread_refuse(err, why) : err;
    end_by_id_extend(&c, &a->root, &e.end, &o);
    return post(&e, &c);
}
