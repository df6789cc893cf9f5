/* SPDX-License-Identifier: MIT
 *
 * What a program asks of a process and says about it: its names and bytes, what its end brings along, how far the work
 * is. Notes and new data go to Redis at once (extend.c); everything else waits for the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/job_valid.h"
#include "protocol/names.h"
#include "worker/worker.h"

const char *muster_process_id(struct muster_process *p)
{
    char *id = atomic_load(&p->id), *made;
    if (id)
        return id;
    if (!(made = malloc(PROCESS_ID_MAX)))
        return "";
    process_name_format(made, p->worker->id, p->token_text, p->served->name);
    if (atomic_compare_exchange_strong(&p->id, &id, made))
        return made;
    free(made); /* another thread was faster */
    return id;
}

const char *muster_process_queue(const struct muster_process *p)
{
    return p->served->name;
}

uint64_t muster_process_token(const struct muster_process *p)
{
    return p->token;
}

const void *muster_process_task(const struct muster_process *p, size_t *len)
{
    if (len)
        *len = p->len;
    return p->task;
}

const struct muster_job *muster_process_job(const struct muster_process *p)
{
    return p->job && !p->job->job.unique ? &p->job->job : NULL;
}

struct muster_worker *muster_process_worker(const struct muster_process *p)
{
    return p->worker;
}

enum muster_stop_reason muster_process_stop_reason(const struct muster_process *p)
{
    return (enum muster_stop_reason)atomic_load(&p->stop_reason);
}

void muster_process_set_user(struct muster_process *p, void *user)
{
    atomic_store_explicit(&p->user, user, memory_order_release);
}

void *muster_process_user(const struct muster_process *p)
{
    return atomic_load_explicit(&p->user, memory_order_acquire);
}

int muster_process_set_retry(struct muster_process *p, int64_t delay_ms)
{
    if (delay_ms < 0 || delay_ms > SPAN_MAX_MS)
        return MUSTER_E_INVALID;
    p->retry_delay_ms = delay_ms;
    return MUSTER_OK;
}

int muster_process_set_failure(struct muster_process *p, const char *group, const char *message)
{
    const char *why;
    int err = names_check_failure(group, message, &why);
    if (err != MUSTER_OK)
        return err;
    char *new_group = strdup(group ? group : FAILURE_GROUP_DEFAULT);
    char *new_message = strdup(message ? message : "");
    if (!new_group || !new_message) {
        free(new_group);
        free(new_message);
        return MUSTER_E_NOMEM;
    }
    free(p->group);
    free(p->message);
    p->group = new_group;
    p->message = new_message;
    return MUSTER_OK;
}

int muster_process_set_result(struct muster_process *p, const void *result, size_t len)
{
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return MUSTER_E_TOO_BIG;
    if (!result && len > 0)
        return MUSTER_E_INVALID;
    char *copy = malloc(len + 1); /* an empty result is a result, too */
    if (!copy)
        return MUSTER_E_NOMEM;
    if (len > 0)
        memcpy(copy, result, len);
    free(p->result);
    p->result = copy;
    p->result_len = len;
    return MUSTER_OK;
}

/* Is a next queue sound, with its delay and the jobs to wait for? */
static int check_next(const char *next, int64_t delay_ms, const char *const *after, size_t n_after)
{
    if (muster_queue_check(next) || delay_ms < 0 || delay_ms > MUSTER_JOB_MS_MAX)
        return MUSTER_E_INVALID;
    if (n_after > MUSTER_JOB_AFTER_MAX)
        return MUSTER_E_TOO_BIG;
    for (size_t i = 0; i < n_after; i++)
        if (muster_queue_check(after ? after[i] : NULL)) /* the same rule as for ids of jobs */
            return MUSTER_E_INVALID;
    return MUSTER_OK;
}

int muster_process_set_next(struct muster_process *p, const char *next, int64_t delay_ms, const char *const *after,
                            size_t n_after)
{
    if (!muster_process_job(p))
        return MUSTER_E_STATE;
    char *new_next = NULL, *new_after = NULL;
    int err = next ? check_next(next, delay_ms, after, n_after) : MUSTER_OK;
    if (err == MUSTER_OK && next && (!(new_next = strdup(next)) || !(new_after = names_join(after, n_after))))
        err = MUSTER_E_NOMEM;
    if (err != MUSTER_OK) {
        free(new_next);
        return err;
    }
    free(p->next);
    free(p->next_after);
    p->next = new_next;
    p->next_after = new_after;
    p->next_delay_ms = delay_ms;
    return MUSTER_OK;
}

int muster_process_progress(struct muster_process *p, const char *note)
{
    note = note ? note : "";
    if (!worker_is_own(p->worker))
        return MUSTER_E_STATE;
    if (strlen(note) > MUSTER_PROGRESS_MAX)
        return MUSTER_E_TOO_BIG;
    if (round_is_in_loop(p->worker)) {
        extend_note(p, note);
        return MUSTER_OK;
    }
    char *copy = strdup(note);
    if (!copy)
        return MUSTER_E_NOMEM;
    posted_note(p, copy);
    return MUSTER_OK;
}

int muster_process_set_data(struct muster_process *p, const void *data, size_t len)
{
    if (!muster_process_job(p) || !worker_is_own(p->worker))
        return MUSTER_E_STATE;
    if (len > MUSTER_TASK_MAX_DEFAULT)
        return MUSTER_E_TOO_BIG;
    if (!data && len > 0)
        return MUSTER_E_INVALID;
    char *copy = malloc(len + 1);
    if (!copy)
        return MUSTER_E_NOMEM;
    if (len > 0)
        memcpy(copy, data, len);
    const struct muster_bytes own = {copy, len};
    if (!round_is_in_loop(p->worker)) {
        posted_data(p, own);
        return MUSTER_OK;
    }
    dispatch_note(p); /* data are sent of what has begun */
    extend_data(p, own);
    return MUSTER_OK;
}

int muster_process_extend(struct muster_process *p, int64_t limit_ms)
{
    if (!worker_is_own(p->worker))
        return MUSTER_E_STATE;
    if (limit_ms < 0 || limit_ms > SPAN_MAX_MS)
        return MUSTER_E_INVALID;
    if (!round_is_in_loop(p->worker)) {
        posted_extension(p, limit_ms);
        return MUSTER_OK;
    }
    dispatch_note(p); /* which sets the limit that it begins with */
    limit_set(p, limit_ms);
    return MUSTER_OK;
}
