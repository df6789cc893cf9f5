/* SPDX-License-Identifier: MIT
 *
 * Enqueueing without blocking, over the worker's own data connection: a handler's follow-up work needs no client.
 */
#include <stdlib.h>
#include <string.h>

#include "protocol/script_task.h"
#include "worker/worker.h"

struct posting {
    struct muster_worker *worker;
    muster_done_fn *fn;
    void *arg;
};

static void on_enqueued(const struct redisReply *reply, void *arg)
{
    const struct posting posting = *(struct posting *)arg;
    struct muster_worker *w = posting.worker;
    free(arg);
    if (!posting.fn || w->is_free_due)
        return;
    int err = reply ? reply_status(reply) : MUSTER_E_CONN;
    tell_enter(w);
    posting.fn(w, err, err == MUSTER_OK ? reply_count(reply) : 0, posting.arg);
    tell_leave(w);
}

int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len, muster_done_fn *fn,
                          void *arg)
{
    const struct muster_bytes one = {task, len};
    struct command c = COMMAND_EMPTY;
    if (muster_queue_check(queue) || (!task && len > 0))
        return MUSTER_E_INVALID;
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return MUSTER_E_TOO_BIG;
    if (!registration_is_there(w))
        return MUSTER_E_NOT_STARTED;
    struct posting *posting = malloc(sizeof *posting);
    if (!posting)
        return MUSTER_E_NOMEM;
    *posting = (struct posting){w, fn, arg};
    script_enqueue(&c, &w->root, &(struct script_enqueue){.queue = queue, .chunk = 1, .of = 1, .tasks = &one, .n = 1});
    int err = link_script(w->connection.data, &c, on_enqueued, posting);
    command_clear(&c);
    if (err != MUSTER_OK)
        free(posting);
    return err;
}
