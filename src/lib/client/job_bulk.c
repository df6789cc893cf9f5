/* SPDX-License-Identifier: MIT
 *
 * The same for many jobs: all that a filter means are noted first, so that a job that comes meanwhile, or is met again
 * in another queue, is not done a second time. Then they are done step by step.
 */
#include <muster/job.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/job_change.h"
#include "client/job_order.h"
#include "client/job_select.h"

#define STEP 100

/* A job that is meant. Id, queue and parents are one allocation, which begins with the id. */
struct meant {
    char *id;
    const char *queue, *parents;
    int64_t put_ms;
    char entry[TOKEN_LEN + 1];
};

struct bulk {
    struct muster_job_filter filter;
    struct muster_job_bulk what;
    struct muster_job_change change;
    struct muster_job_bulk_counts counts;
    struct meant *rows;
    size_t n, size;
};

/* ---- choosing ---- */

static int check_jobs(struct muster_client *c, const struct muster_job_filter *f)
{
    if (!job_select_is_any(f))
        return client_refuse(c, "say which jobs: a queue, a state, a tag, a group, or the tracked ones");
    if (f->order != MUSTER_JOBS_AS_THEY_ARE || f->offset > 0 || f->n > 0)
        return client_refuse(c, "all jobs that are meant are done: an order, an offset and a number are for lists");
    return job_select_check(c, f);
}

static int read_change(struct muster_client *c, struct bulk *b)
{
    if (!b->what.change)
        return client_refuse(c, "`change` says what to change, and is missing");
    int err = client_read(c, SIZED_JOB_CHANGE, &b->change, b->what.change);
    if (job_select_by_state(&b->filter)) {
        unsigned state = MUSTER_JOB_IN(job_select_state(&b->filter));
        if (b->change.only_if && !(b->change.only_if & state))
            return client_refuse(c, "`only_if` excludes the state of the jobs that are meant");
        b->change.only_if = state;
    }
    return err == MUSTER_OK ? job_change_check(c, "id", &b->change) : err;
}

/* Replay and drop are for failed jobs, whatever else chooses them. */
static int read_action(struct muster_client *c, struct bulk *b)
{
    bool is_failed = !job_select_by_state(&b->filter) || job_select_state(&b->filter) == MUSTER_JOB_FAILED;
    if ((b->what.change && b->what.action != MUSTER_JOBS_CHANGE) ||
        (b->what.dependents && b->what.action != MUSTER_JOBS_CANCEL))
        return client_refuse(c, "`change` is for MUSTER_JOBS_CHANGE, and `dependents` for MUSTER_JOBS_CANCEL");
    switch (b->what.action) {
    case MUSTER_JOBS_CANCEL:
        if (job_select_by_state(&b->filter) && job_select_state(&b->filter) == MUSTER_JOB_COMPLETE)
            return client_refuse(c, "complete jobs cannot be cancelled");
        return MUSTER_OK;
    case MUSTER_JOBS_REPLAY:
    case MUSTER_JOBS_DROP:
        b->filter.state = MUSTER_JOB_FAILED;
        return is_failed ? MUSTER_OK : client_refuse(c, "only failed jobs are replayed or dropped");
    case MUSTER_JOBS_CHANGE:
        return read_change(c, b);
    default:
        return client_refuse(c, "there is no such action");
    }
}

static int note(const struct job_chosen *job, void *arg)
{
    struct bulk *b = arg;
    const char *order = b->what.action == MUSTER_JOBS_CANCEL ? job->parents : "";
    size_t id = strlen(job->id) + 1, queue = strlen(job->queue) + 1, parents = strlen(order) + 1;
    if (b->what.action == MUSTER_JOBS_CANCEL && job->state == MUSTER_JOB_COMPLETE)
        return MUSTER_OK;
    if (b->n == b->size) {
        size_t size = b->size ? 2 * b->size : STEP;
        struct meant *rows = realloc(b->rows, size * sizeof *rows);
        if (!rows)
            return MUSTER_E_NOMEM;
        b->rows = rows;
        b->size = size;
    }
    char *texts = malloc(id + queue + parents);
    if (!texts)
        return MUSTER_E_NOMEM;
    memcpy(texts, job->id, id);
    memcpy(texts + id, job->queue, queue);
    memcpy(texts + id + queue, order, parents);
    struct meant *row = &b->rows[b->n++];
    *row = (struct meant){.id = texts, .queue = texts + id, .parents = texts + id + queue, .put_ms = job->put_ms};
    token_format(row->entry, job->entry);
    return MUSTER_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct meant *)a)->id, ((const struct meant *)b)->id);
}

static int compare_ages(const void *a, const void *b)
{
    const struct meant *x = a, *y = b;
    int by_time = (x->put_ms > y->put_ms) - (x->put_ms < y->put_ms);
    return by_time ? by_time : strcmp(x->id, y->id);
}

/* Failed lists are a queue's. */
static int compare_queues(const void *a, const void *b)
{
    const struct meant *x = a, *y = b;
    int by_queue = strcmp(x->queue, y->queue);
    return by_queue ? by_queue : strcmp(x->entry, y->entry);
}

/* Those that wait come before those for which they wait. The rows are in the order of their ids. */
static int order_to_cancel(struct bulk *b)
{
    struct job_order_row *ids = malloc(b->n * sizeof *ids);
    struct meant *rows = malloc(b->n * sizeof *rows);
    size_t *order = malloc(b->n * sizeof *order);
    for (size_t i = 0; ids && i < b->n; i++)
        ids[i] = (struct job_order_row){b->rows[i].id, b->rows[i].parents};
    int err = ids && rows && order ? job_order_waiters_first(ids, b->n, order) : MUSTER_E_NOMEM;
    if (err == MUSTER_OK) {
        memcpy(rows, b->rows, b->n * sizeof *rows);
        for (size_t i = 0; i < b->n; i++)
            b->rows[i] = rows[order[i]];
    }
    free(ids);
    free(rows);
    free(order);
    return err;
}

static int order_rows(struct bulk *b)
{
    if (b->what.action == MUSTER_JOBS_CANCEL)
        return order_to_cancel(b);
    qsort(b->rows, b->n, sizeof *b->rows, b->what.action == MUSTER_JOBS_CHANGE ? compare_ages : compare_queues);
    return MUSTER_OK;
}

/* A job may have been met twice, also in two queues. */
static int choose(struct muster_client *c, struct bulk *b)
{
    size_t n = 0;
    int err = job_select(c, &b->filter, note, b);
    if (b->n == 0 || err != MUSTER_OK)
        return err;
    qsort(b->rows, b->n, sizeof *b->rows, compare_ids);
    for (size_t i = 0; i < b->n; i++) {
        if (n > 0 && strcmp(b->rows[n - 1].id, b->rows[i].id) == 0)
            free(b->rows[i].id);
        else
            b->rows[n++] = b->rows[i];
    }
    b->n = n;
    b->counts.chosen = n;
    return order_rows(b);
}

/* ---- doing ---- */

static int refuse_one(struct muster_client *c, struct bulk *b, const char *id, int err)
{
    b->counts.refused++;
    return b->what.refused && b->what.refused(id, err, muster_client_error(c), b->what.arg) ? MUSTER_E_STOPPED
                                                                                            : MUSTER_OK;
}

/* Does an error concern the job alone? Any other one ends the call. */
static bool is_of_job(int err)
{
    return err == MUSTER_E_STATE || err == MUSTER_E_NOT_FOUND || err == MUSTER_E_TOO_BIG || err == MUSTER_E_INVALID ||
           err == MUSTER_E_EXISTS;
}

static int cancel_rows(struct muster_client *c, struct bulk *b, const struct meant *rows, size_t n,
                       struct script_cancelled *count)
{
    const struct muster_job_filter *f = &b->filter;
    const char *state = job_select_by_state(f) ? muster_job_state_name(job_select_state(f)) : NULL;
    struct command command = COMMAND_EMPTY;
    script_cancel_begin_chosen(&command, &c->root, b->what.dependents ? CANCEL_AND_DEPENDENTS : CANCEL_THESE, state,
                               f->queue);
    for (size_t i = 0; i < n; i++)
        script_cancel_chosen(&command, rows[i].id, rows[i].put_ms);
    int err = job_cancel_run(c, &command, count);
    if (err != MUSTER_OK)
        return err;
    uint64_t done = count->removed + count->running;
    b->counts.done += done;
    b->counts.running += count->running;
    b->counts.passed += done < n ? n - done : 0;
    return MUSTER_OK;
}

/* If one of them refuses, nothing of the step is done: then each of them alone. */
static int cancel_step(struct muster_client *c, struct bulk *b, const struct meant *rows, size_t n)
{
    struct script_cancelled count;
    int err = cancel_rows(c, b, rows, n, &count);
    if (err == MUSTER_OK || !is_of_job(err))
        return err;
    err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        err = cancel_rows(c, b, &rows[i], 1, &count);
        if (is_of_job(err))
            err = refuse_one(c, b, rows[i].id, err);
    }
    return err;
}

static int change_step(struct muster_client *c, struct bulk *b, const struct meant *rows, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        bool passes;
        const struct job_guard guard = {b->filter.queue, rows[i].put_ms};
        err = job_change(c, rows[i].id, &b->change, &guard, &passes);
        b->counts.done += err == MUSTER_OK;
        b->counts.passed += passes;
        if (passes)
            err = MUSTER_OK;
        else if (is_of_job(err))
            err = refuse_one(c, b, rows[i].id, err);
    }
    return err;
}

/* One step of this call, whatever it takes: its own steps are none to tell of. */
static int move_named(struct muster_client *c, const struct bulk *b, const struct muster_failed_filter *f,
                      uint64_t *moved)
{
    muster_progress_fn *told = c->progress.fn;
    c->progress.fn = NULL;
    int err =
        b->what.action == MUSTER_JOBS_REPLAY ? muster_failed_replay(c, f, moved) : muster_failed_drop(c, f, moved);
    c->progress.fn = told;
    return err;
}

/* The rows of one queue among the next n. An entry that is not on the list any more is passed over. */
static int move_step(struct muster_client *c, struct bulk *b, const struct meant *rows, size_t n)
{
    int err = MUSTER_OK;
    for (size_t at = 0, end; at < n && err == MUSTER_OK; at = end) {
        const char *entries[STEP];
        uint64_t moved = 0;
        for (end = at; end < n && strcmp(rows[end].queue, rows[at].queue) == 0; end++)
            entries[end - at] = rows[end].entry;
        const struct muster_failed_filter f = {
            .size = sizeof f, .queue = rows[at].queue, .entries = entries, .n_entries = end - at};
        err = move_named(c, b, &f, &moved);
        b->counts.done += moved;
        if (err == MUSTER_OK || err == MUSTER_E_NOT_FOUND) {
            b->counts.passed += end - at - moved;
            err = MUSTER_OK;
        }
    }
    return err;
}

static int do_step(struct muster_client *c, struct bulk *b, const struct meant *rows, size_t n)
{
    if (b->what.action == MUSTER_JOBS_CANCEL)
        return cancel_step(c, b, rows, n);
    return b->what.action == MUSTER_JOBS_CHANGE ? change_step(c, b, rows, n) : move_step(c, b, rows, n);
}

static int do_all(struct muster_client *c, struct bulk *b)
{
    int err = MUSTER_OK;
    for (size_t at = 0; at < b->n && err == MUSTER_OK; at += STEP) {
        err = do_step(c, b, &b->rows[at], b->n - at < STEP ? b->n - at : STEP);
        if (err == MUSTER_OK && at + STEP < b->n)
            err = client_step(c, at + STEP, b->n);
    }
    return err;
}

int muster_job_bulk(struct muster_client *c, const struct muster_job_filter *f, const struct muster_job_bulk *bulk,
                    struct muster_job_bulk_counts *counts)
{
    struct bulk b = {.n = 0};
    const char *why = counts ? sized_clear(SIZED_JOB_BULK_COUNTS, counts) : NULL;
    int err = why ? client_refuse(c, why) : client_read(c, SIZED_JOB_FILTER, &b.filter, f);
    if (err == MUSTER_OK)
        err = client_read(c, SIZED_JOB_BULK, &b.what, bulk);
    if (err == MUSTER_OK)
        err = check_jobs(c, &b.filter);
    if (err == MUSTER_OK)
        err = read_action(c, &b);
    if (err == MUSTER_OK)
        err = choose(c, &b);
    if (err == MUSTER_OK && b.n > 0) /* to choose takes its time: whoever wants it to stop by now is heard */
        err = client_step(c, 0, b.n);
    if (err == MUSTER_OK && !b.what.dry_run)
        err = do_all(c, &b);
    if (counts && !why)
        sized_write(SIZED_JOB_BULK_COUNTS, counts, &b.counts);
    for (size_t i = 0; i < b.n; i++)
        free(b.rows[i].id);
    free(b.rows);
    return err;
}
