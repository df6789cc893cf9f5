/* SPDX-License-Identifier: MIT
 *
 * Rows are gathered in any order, up to twice as many as a page has; then they are sorted, and those of them that are
 * too many go.
 */
#include "client/job_ages.h"

#include <stdlib.h>
#include <string.h>

/* A page's rows at most: a few MB of ids. */
#define PAGE_MAX 100000
#define PAGE_MIN 50

static int compare(const void *a, const void *b)
{
    const struct job_age *x = a, *y = b;
    int by_time = (x->put_ms > y->put_ms) - (x->put_ms < y->put_ms);
    return by_time ? by_time : strcmp(x->id, y->id);
}

static int compare_newest(const void *a, const void *b)
{
    return compare(b, a);
}

static int (*order_of(const struct job_ages *a))(const void *, const void *)
{
    return a->filter->order == MUSTER_JOBS_NEWEST ? compare_newest : compare;
}

static void drop_rows(struct job_ages *a, size_t from)
{
    for (size_t i = from; i < a->n; i++)
        free(a->rows[i].id);
    a->n = from < a->n ? from : a->n;
}

void job_ages_begin(struct job_ages *a, const struct muster_job_filter *f)
{
    uint64_t wanted = f->n > 0 && f->n < PAGE_MAX && f->offset < PAGE_MAX ? f->n + f->offset : PAGE_MAX;
    *a = (struct job_ages){.filter = f, .most = wanted < PAGE_MIN ? PAGE_MIN : wanted};
    if (f->past_id)
        a->past = (struct job_age){strdup(f->past_id), f->past_ms};
    a->is_cut = f->past_id && !a->past.id; /* no memory: told by the first page */
}

/* Sorts the rows, and drops those that are there twice, or too many. */
static void settle(struct job_ages *a)
{
    size_t n = 0;
    qsort(a->rows, a->n, sizeof *a->rows, order_of(a));
    for (size_t i = 0; i < a->n; i++) {
        if (n > 0 && compare(&a->rows[n - 1], &a->rows[i]) == 0)
            free(a->rows[i].id);
        else
            a->rows[n++] = a->rows[i];
    }
    a->n = n;
    a->is_cut |= n > a->most;
    drop_rows(a, a->most);
}

static int add(const struct job_chosen *job, void *arg)
{
    struct job_ages *a = arg;
    struct job_age row = {(char *)job->id, job->put_ms};
    if (a->past.id && order_of(a)(&row, &a->past) <= 0)
        return MUSTER_OK;
    if (a->is_cut && order_of(a)(&row, &a->rows[a->most - 1]) >= 0) /* the first `most` rows are in their order */
        return MUSTER_OK;
    if (a->n == a->size) {
        size_t size = a->size ? 2 * a->size : PAGE_MIN;
        struct job_age *rows = realloc(a->rows, size * sizeof *rows);
        if (!rows)
            return MUSTER_E_NOMEM;
        a->rows = rows;
        a->size = size;
    }
    row.id = strdup(job->id);
    if (!row.id)
        return MUSTER_E_NOMEM;
    a->rows[a->n++] = row;
    if (a->n >= 2 * a->most)
        settle(a);
    return MUSTER_OK;
}

/* The last row of this page is where the next one begins. */
static int go_past(struct job_ages *a)
{
    if (a->n == 0)
        return MUSTER_OK;
    free(a->past.id);
    a->past = (struct job_age){strdup(a->rows[a->n - 1].id), a->rows[a->n - 1].put_ms};
    return a->past.id ? MUSTER_OK : MUSTER_E_NOMEM;
}

int job_ages_next(struct muster_client *c, struct job_ages *a)
{
    if (a->is_cut && a->n == 0)
        return MUSTER_E_NOMEM;
    int err = go_past(a);
    drop_rows(a, 0);
    a->is_cut = false;
    if (err == MUSTER_OK)
        err = job_select(c, a->filter, add, a);
    if (err == MUSTER_OK && a->n > 0)
        settle(a);
    a->is_last = !a->is_cut;
    return err;
}

void job_ages_end(struct job_ages *a)
{
    drop_rows(a, 0);
    free(a->rows);
    free(a->past.id);
}
