/* SPDX-License-Identifier: MIT
 *
 * The columns of a worker, and what stands in them. For how long a worker was not heard stands there instead of a point
 * in time, because hosts' clocks differ: only the clock of Redis is the same for all of them.
 */
#include "worker_row.h"

#include <stdlib.h>

#include "need.h"

const struct out_column worker_row_columns[] = {
    {"ID", "worker", OUT_TEXT},    {"ALIVE", "alive", OUT_YES}, {"HEARD", "heard_ms", OUT_AGE},
    {"HANDS", "hands", OUT_COUNT}, {"HELD", "held", OUT_COUNT}, {"TTL", "ttl_ms", OUT_SPAN},
    {"HOST", "host", OUT_TEXT},    {"PID", "pid", OUT_COUNT},   {"QUEUES", "queues", OUT_NAMES},
    {NULL, "permanent", OUT_YES},  {NULL, "version", OUT_TEXT}, {NULL, "started_at_ms", OUT_TIME},
    {NULL, "epoch", OUT_TEXT},     {NULL, "shares", OUT_ROWS},  {NULL, NULL, OUT_TEXT},
};

/* As a token: base 32, of a fixed length, so that later ones sort behind. */
#define EPOCH_LEN 11
static const char *epoch_text(char out[EPOCH_LEN + 1], uint64_t epoch)
{
    out[EPOCH_LEN] = '\0';
    for (int i = EPOCH_LEN - 1; i >= 0; i--, epoch /= 32)
        out[i] = "0123456789abcdefghijklmnopqrstuv"[epoch % 32];
    return out;
}

static const struct out_column share_columns[] = {
    {NULL, "queue", OUT_TEXT},  {NULL, "hands", OUT_COUNT}, {NULL, "holds", OUT_COUNT},
    {NULL, "least", OUT_COUNT}, {NULL, "most", OUT_COUNT},  {NULL, NULL, OUT_TEXT},
};
enum { SHARE_COLUMNS = sizeof share_columns / sizeof *share_columns - 1 };

/* To be freed. */
static struct out_cell *share_cells(const struct muster_worker_info *worker)
{
    struct out_cell *cells = need(calloc(worker->n_shares + 1, SHARE_COLUMNS * sizeof *cells));
    for (size_t i = 0; i < worker->n_shares; i++) {
        const struct muster_worker_share *share = &worker->shares[i];
        struct out_cell *row = &cells[i * SHARE_COLUMNS];
        row[0].text = share->queue;
        row[1].number = (int64_t)share->hands;
        row[2].number = (int64_t)share->holds;
        row[3].number = (int64_t)share->least;
        row[4].number = (int64_t)share->most;
    }
    return cells;
}

int worker_row_print(const struct muster_worker_info *worker, void *arg)
{
    char epoch[EPOCH_LEN + 1];
    struct out_cell *shares = share_cells(worker);
    const struct out_cell cells[] = {
        {.text = worker->id},
        {.number = worker->alive},
        {.number = worker->heard_ms},
        {.number = (int64_t)worker->hands},
        {.number = (int64_t)worker->held},
        {.number = worker->ttl_ms},
        {.text = worker->host},
        {.number = worker->pid},
        {.names = worker->queues, .number = (int64_t)worker->n_queues},
        {.number = worker->permanent},
        {.text = worker->version},
        {.number = worker->started_at_ms},
        {.text = epoch_text(epoch, worker->epoch)},
        {.rows = &(struct out_rows){share_columns, shares, worker->n_shares}},
    };
    int failed = out_row(arg, cells);
    free(shares);
    return failed;
}
