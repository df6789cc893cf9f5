/* SPDX-License-Identifier: MIT
 *
 * Enqueueing and putting, as the program calls it, on any thread.
 */
#include <stdio.h>

#include "base/words.h"
#include "protocol/job_put.h"
#include "protocol/job_spec.h"
#include "worker/posting.h"
#include "worker/worker.h"

/* Of another thread, which can be told only by an answer. */
static void accept_call(struct call *c, struct muster_worker *w)
{
    struct posting *posting = (struct posting *)c;
    follow_begin(posting);
    posting->err = produce_take_over(w, posting);
    if (posting->err != MUSTER_OK)
        posting_finish(posting);
}

/* What the caller is told is no answer. */
static int take_over(struct muster_worker *w, struct posting *posting)
{
    int err = produce_take_over(w, posting);
    if (err == MUSTER_OK)
        follow_begin(posting);
    return err;
}

/* It goes to the loop, or is gone. */
static int hand_in(struct posting *posting)
{
    struct muster_worker *w = posting->worker;
    posting->call.run = accept_call;
    follow_hand_in(posting);
    int err = posting->put.failed ? MUSTER_E_NOMEM : posting_expect_answer(posting);
    if (err == MUSTER_OK && round_is_in_loop(w))
        err = take_over(w, posting);
    else if (err == MUSTER_OK)
        err = calls_leave(w, &posting->call) ? MUSTER_OK : tell_error_as(w, MUSTER_E_STATE, "the worker has stopped");
    if (err != MUSTER_OK)
        posting_discard(posting);
    return err;
}

int muster_worker_enqueue(struct muster_worker *w, const char *queue, const void *task, size_t len, muster_done_fn *fn,
                          void *arg)
{
    const struct muster_bytes one = {task, len};
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    const char *why = muster_queue_check(queue);
    if (!why && !task && len > 0)
        why = "a task is NULL, and has a length";
    if (why)
        return tell_error_as(w, MUSTER_E_INVALID, "%s", why);
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return tell_error_as(w, MUSTER_E_TOO_BIG, "a task has at most %zu bytes", MUSTER_TASK_MAX_DEFAULT);
    struct posting *posting = posting_new(w, queue, &one);
    if (!posting)
        return MUSTER_E_NOMEM;
    posting->fn = fn;
    posting->arg = arg;
    return hand_in(posting);
}

/* Redis would have to tell the time first. */
static int check_put(const char *queue, const struct muster_job_spec *spec, struct muster_job_spec *s, const char **why)
{
    *why = sized_read(SIZED_JOB_SPEC, s, spec);
    if (!*why)
        *why = muster_queue_check(queue);
    if (!*why && s->cron)
        *why = "a job with a schedule is put by muster_job_put(), which asks Redis for the time";
    return *why ? MUSTER_E_INVALID : job_spec_check(s, MUSTER_TASK_MAX_DEFAULT, why);
}

int muster_worker_put(struct muster_worker *w, const char *queue, const struct muster_job_spec *spec,
                      muster_put_done_fn *fn, void *arg)
{
    struct muster_job_spec s;
    const char *why;
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    int err = check_put(queue, spec, &s, &why);
    if (err != MUSTER_OK)
        return tell_error_as(w, err, "%s", why);
    struct posting *posting = posting_new(w, queue, &(struct muster_bytes){NULL, 0});
    if (!posting)
        return MUSTER_E_NOMEM;
    posting->put_fn = fn;
    posting->arg = arg;
    if (s.id)
        snprintf(posting->job, sizeof posting->job, "%s", s.id);
    else
        job_put_make_id(posting->job);
    job_put_begin(&posting->put, &w->root, posting->queue);
    job_put_add(&posting->put, &s, posting->job, NULL);
    command_own(&posting->put);
    return hand_in(posting);
}
