/* SPDX-License-Identifier: MIT
 *
 * Lists queues, workers and processes with the rows of `muster queues`, `workers` and `ps`. The rates of a queue are
 * the differences of its totals between two looks.
 */
#include "top_views.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "now.h"
#include "process_row.h"
#include "queue_row.h"
#include "worker_row.h"

/* What is beside the line of a queue in which nothing happens may be so old. */
#define QUIET_MS 5000

const struct top_view top_views[TOP_VIEWS] = {
    [TOP_QUEUES] = {.name = "queues",
                    .sort = "NAME",
                    .sums = {"WAITING", "RUNNING", "DELAYED", "FAILED"},
                    .spare = {"FAILED-BYTES", "IDLE", "DELAYED", "OUT/S", "IN/S", "OLDEST"},
                    .mark = "PAUSED",
                    .marked = true},
    [TOP_WORKERS] = {.name = "workers",
                     .sort = "ID",
                     .sums = {"ALIVE", "HELD", "HANDS"},
                     .spare = {"PID", "TTL", "HOST", "HEARD"},
                     .mark = "ALIVE",
                     .marked = false},
    [TOP_PROCESSES] = {.name = "processes",
                       .sort = "ELAPSED",
                       .spare = {"LEN", "LEASE-ENDS", "JOB", "PROGRESS", "CANCELLED"},
                       .mark = "CANCELLED",
                       .marked = true},
};

/* ---- rates ---- */

struct total {
    char *name;
    uint64_t in, out;
    double at_s;
};

/* Those of the last look, by name; the newer ones are put beside them until the look has ended. */
struct top_totals {
    struct total *old, *new;
    size_t n_old, n_new;
};

struct top_totals *top_views_totals(void)
{
    return need(calloc(1, sizeof(struct top_totals)));
}

static void free_list(struct total *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].name);
    free(list);
}

void top_views_totals_free(struct top_totals *t)
{
    free_list(t->old, t->n_old);
    free_list(t->new, t->n_new);
    free(t);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct total *)a)->name, ((const struct total *)b)->name);
}

static void turn_over(struct top_totals *t)
{
    free_list(t->old, t->n_old);
    t->old = t->new;
    t->n_old = t->n_new;
    t->new = NULL;
    t->n_new = 0;
    if (t->n_old)
        qsort(t->old, t->n_old, sizeof *t->old, compare);
}

static const struct total *note(struct top_totals *t, const struct muster_queue_info *queue)
{
    if ((t->n_new & (t->n_new - 1)) == 0)
        t->new = need(reallocarray(t->new, t->n_new ? 2 * t->n_new : 1, sizeof *t->new));
    struct total *total = &t->new[t->n_new++];
    *total = (struct total){need(strdup(queue->name)), queue->in, queue->out, (double)now_ms() / 1000};
    return total;
}

/* -1: not known. A total that went back is that of a queue that was deleted. */
static double rate(uint64_t from, uint64_t to, double s)
{
    return to < from || s <= 0 ? -1 : (double)(to - from) / s;
}

/* ---- filling ---- */

struct filling {
    struct top_list *list;
    struct top_totals *totals;
    struct top_row *row; /* the last one */
    const struct top_view *view;
    size_t in, out, mark;
};

static int add_row(const struct out_column *columns, const struct out_cell *cells, void *arg)
{
    struct filling *f = arg;
    f->row = top_list_add(f->list, columns, cells);
    if (f->row)
        f->row->is_marked = (f->row->numbers[f->mark] != 0) == f->view->marked;
    return 0;
}

static int add_queue(const struct muster_queue_info *queue, void *arg)
{
    struct out_table *table = arg;
    struct filling *f = table->arg;
    queue_row_print(queue, table);
    if (!f->row)
        return 0;
    const struct total *new = note(f->totals, queue), *old = NULL;
    if (f->totals->n_old)
        old = bsearch(new, f->totals->old, f->totals->n_old, sizeof *old, compare);
    double s = old ? new->at_s - old->at_s : 0;
    top_list_set(f->list, f->row, f->in, &(const struct out_cell){.real = old ? rate(old->in, new->in, s) : -1});
    top_list_set(f->list, f->row, f->out, &(const struct out_cell){.real = old ? rate(old->out, new->out, s) : -1});
    return 0;
}

static int add_process(const struct muster_process_info *process, void *arg)
{
    return process_row_add(arg, process);
}

static int ask(enum top_view_id view, struct muster_client *client, const char *queue, struct filling *f,
               struct out_table *table)
{
    const struct muster_process_filter filter = {.size = sizeof filter, .queue = queue};
    int64_t redis_ms;
    int err;
    switch (view) {
    case TOP_QUEUES:
        err = muster_queue_list_cached(client, QUIET_MS, add_queue, table);
        turn_over(f->totals);
        return err;
    case TOP_WORKERS:
        return muster_worker_list(client, worker_row_print, table);
    default:
        err = muster_client_time(client, &redis_ms);
        if (err == MUSTER_OK)
            out_set_now(redis_ms);
        return err == MUSTER_OK ? muster_process_list(client, &filter, add_process, table) : err;
    }
}

int top_views_fill(enum top_view_id view, struct muster_client *client, const char *queue, struct top_totals *totals,
                   struct top_list **out)
{
    static const struct out_column *const columns[TOP_VIEWS] = {queue_row_columns, worker_row_columns,
                                                                process_row_columns};
    struct filling f = {.list = top_list_new(columns[view]), .totals = totals, .view = &top_views[view]};
    struct out_table table = {.columns = columns[view], .to = add_row, .arg = &f};
    f.mark = top_list_find(f.list, f.view->mark);
    if (view == TOP_QUEUES) {
        f.in = top_list_add_column(f.list, &(const struct out_column){"IN/S", NULL, OUT_REAL});
        f.out = top_list_add_column(f.list, &(const struct out_column){"OUT/S", NULL, OUT_REAL});
    }
    *out = f.list;
    return ask(view, client, queue, &f, &table);
}
