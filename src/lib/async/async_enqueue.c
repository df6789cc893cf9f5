/* SPDX-License-Identifier: MIT
 *
 * Enqueueing: neighbours for one queue go in one call.
 */
#include <string.h>

#include "async/async.h"
#include "protocol/enqueue_run.h"

struct enqueue {
    struct async_call call;
    const char *queue; /* behind the bytes */
    size_t len;
    char bytes[];
};

static struct enqueue *enqueue_of(struct async_call *call)
{
    return (struct enqueue *)call;
}

static size_t bytes_of_run(const struct async_call *first)
{
    size_t n = first->n_run, bytes = 0;
    for (const struct async_call *call = first; n > 0; call = call->next, n--)
        bytes += call->weight;
    return bytes;
}

/* An answer is of the whole run. */
static void on_enqueued(const struct redisReply *reply, void *arg)
{
    struct async_call *call = arg, *next;
    size_t behind = call->n_run;
    if (!async_hear_reply(call, bytes_of_run(call), reply))
        return;
    const int err = reply_status(reply);
    const uint64_t waiting = reply_count(reply);
    for (; behind > 0; call = next) {
        next = call->next;
        call->waiting = enqueue_run_waiting(waiting, --behind);
        if (err == MUSTER_OK)
            async_hear_done(call);
        else
            async_hear_refused(call, err, reply);
    }
}

static int send_run(struct async_call *first)
{
    struct muster_async *a = first->async;
    struct async_list *waiting = &a->line.waiting, run_calls;
    struct enqueue_run run;
    struct command c = COMMAND_EMPTY;
    run.n = run.bytes = 0;
    for (struct async_call *call = first; call && call->kind == first->kind; call = call->next) {
        const struct enqueue *e = enqueue_of(call);
        if (!enqueue_run_add(&run, e->queue, (struct muster_bytes){e->bytes, e->len}))
            break;
    }
    enqueue_run_say(&c, &a->root, &run);
    int err = link_script_in_order(a->line.link, &c, on_enqueued, first);
    command_clear(&c);
    async_list_cut(waiting, run.n, &run_calls);
    first->n_run = run.n;
    if (err == MUSTER_OK)
        async_hear_sent(first, bytes_of_run(first));
    else
        async_hear_fail_all(&run_calls, err, NULL);
    return err;
}

static const struct async_kind kind_enqueue = {.writes = true, .adds = true, .send = send_run};

int muster_async_enqueue(struct muster_async *a, const char *queue, const void *task, size_t len, muster_async_fn *fn,
                         void *arg)
{
    const struct muster_bytes bytes = {task, len};
    int err = async_enter(a);
    if (err == MUSTER_OK)
        err = async_thread_check_queue(queue);
    if (err == MUSTER_OK)
        err = async_check_bytes(a, &bytes);
    if (err != MUSTER_OK)
        return err;
    const size_t name = strlen(queue) + 1;
    struct enqueue *e = async_call_new(a, &kind_enqueue, sizeof *e + len + name, fn, arg);
    if (!e)
        return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
    e->call.weight = len;
    e->len = len;
    e->queue = memcpy(e->bytes + len, queue, name);
    if (len > 0)
        memcpy(e->bytes, task, len);
    return async_inbox_post(a, &e->call);
}
