/* SPDX-License-Identifier: MIT
 *
 * A task or job on its way: what it is, and who is told of its answer. produce.c sends it.
 */
#include "worker/posting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/job_put.h"
#include "protocol/job_say.h"
#include "worker/worker.h"

struct posting *posting_new(struct muster_worker *w, const char *queue, const struct muster_bytes *task)
{
    struct posting *posting = malloc(sizeof *posting + task->len);
    if (!posting)
        return NULL;
    *posting = (struct posting){.worker = w};
    snprintf(posting->queue, sizeof posting->queue, "%s", queue);
    posting->len = task->len;
    if (task->len > 0)
        memcpy(posting->bytes, task->data, task->len);
    return posting;
}

void posting_discard(struct posting *posting)
{
    if (posting->answer)
        outbox_no_answer(posting->worker, posting->answer);
    command_clear(&posting->put);
    free(posting);
}

static void answer(struct posting *posting, uint64_t waiting)
{
    posting->answer->item.err = posting->err;
    posting->answer->item.waiting = waiting;
    outbox_answer(posting->worker, posting->answer);
    posting->answer = NULL;
}

bool posting_is_job(const struct posting *posting)
{
    return posting->put.n > 0;
}

bool posting_is_there(const struct posting *posting)
{
    return posting->err == MUSTER_OK || posting->err == MUSTER_E_UNCONFIRMED ||
           (posting->err == MUSTER_E_EXISTS && posting->was_there);
}

bool posting_is_told(const struct posting *posting)
{
    return posting->fn || posting->put_fn || posting->answer;
}

size_t posting_bytes(const struct posting *posting)
{
    size_t n = posting->len;
    for (size_t i = 0; i < posting->put.n; i++)
        n += posting->put.lens[i];
    return n;
}

static void call_back(const struct posting *posting, uint64_t waiting)
{
    struct muster_worker *w = posting->worker;
    tell_enter(w);
    if (posting->put_fn)
        posting->put_fn(w, posting->err, posting->job, posting->arg);
    else
        posting->fn(w, posting->err, waiting, posting->arg);
    tell_leave(w);
}

/* STOPPED is the last that muster_worker_next() hands out. */
void posting_finish(struct posting *posting)
{
    struct muster_worker *w = posting->worker;
    const bool is_there = posting->err == MUSTER_OK || posting->err == MUSTER_E_UNCONFIRMED;
    const uint64_t waiting = is_there ? posting->waiting : 0;
    figures_add(&w->figures.enqueued, is_there);
    follow_end(posting);
    if ((posting->fn || posting->put_fn) && !w->is_free_due)
        call_back(posting, waiting);
    else if (posting->answer && !w->is_free_due && !w->tell.is_over)
        answer(posting, waiting);
    posting_discard(posting);
}

int posting_note_put(struct posting *posting, const struct redisReply *reply)
{
    int err = reply_status(reply);
    posting->was_there = job_put_is_there(err, reply);
    posting->may_pass = job_put_may_pass(err, reply);
    const bool is_told = err != MUSTER_OK && reply_text(reply_at(reply, 1));
    const char *words = is_told ? job_say_refusal(err, posting->job, reply) : NULL;
    if (words)
        tell_error(posting->worker, "%s", words);
    else if (err != MUSTER_OK)
        tell_error(posting->worker, "the job '%s' was not put: %s", posting->job,
                   reply_text(reply) ? reply_text(reply) : muster_err_text(err));
    return err;
}

int posting_expect_answer(struct posting *posting)
{
    struct muster_worker *w = posting->worker;
    if (posting->fn || posting->put_fn || !posting->arg || !w->outbox.is_there)
        return MUSTER_OK;
    int err = outbox_expect_answer(w);
    if (err != MUSTER_OK)
        return err;
    posting->answer =
        outbox_item_of_answer(posting->queue, posting_is_job(posting) ? posting->job : NULL, posting->arg);
    if (!posting->answer)
        outbox_no_answer(w, NULL);
    return posting->answer ? MUSTER_OK : MUSTER_E_NOMEM;
}
