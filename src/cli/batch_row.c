/* SPDX-License-Identifier: MIT
 *
 * Which fields of a batch are shown, and how: one list of cells, for the row and for the record. A time or a text that a
 * batch does not have is null in JSON, or left out.
 */
#include "batch_row.h"

#include <string.h>

/* X(heading of the table's column, name of the record's line, key in JSON, kind) */
#define CELLS(X)                                        \
    X("ID", "id", "id", OUT_TEXT)                       \
    X("STATE", "state", "state", OUT_TEXT)              \
    X("MEMBERS", "members", "members", OUT_COUNT)       \
    X("LEFT", "left", "left", OUT_COUNT)                \
    X("COMPLETE", "complete", "complete", OUT_COUNT)    \
    X("FAILED", "failed", "failed", OUT_COUNT)          \
    X("CANCELLED", "cancelled", "cancelled", OUT_COUNT) \
    X(NULL, "gone", "gone", OUT_COUNT)                  \
    X(NULL, "is cancelled", "is_cancelled", OUT_YES)    \
    X("SINCE", "since", "since_ms", OUT_TIME)           \
    X("CLOSES", "closes", "due_at_ms", OUT_TIME)        \
    X(NULL, "opened", "opened_at_ms", OUT_TIME)         \
    X(NULL, "closed", "closed_at_ms", OUT_TIME)         \
    X(NULL, "closed by", "closed_by", OUT_TEXT)         \
    X(NULL, "ttl", "ttl_ms", OUT_SPAN)                  \
    X("BATCH", "batch", "batch", OUT_TEXT)              \
    X(NULL, "depth", "depth", OUT_COUNT)                \
    X(NULL, "first failed", "first_failed", OUT_TEXT)   \
    X(NULL, "on end", "on_end", OUT_TEXT)               \
    X(NULL, "end job", "end_job", OUT_TEXT)             \
    X(NULL, "on complete", "on_complete", OUT_TEXT)     \
    X(NULL, "complete job", "complete_job", OUT_TEXT)   \
    X(NULL, "on failure", "on_failure", OUT_TEXT)       \
    X(NULL, "failure job", "failure_job", OUT_TEXT)

#define AS_COLUMN(heading, name, key, kind) {heading, key, kind},
#define AS_FIELD(heading, name, key, kind) {name, key, kind},
#define COUNT(heading, name, key, kind) +1
#define N_CELLS (0 CELLS(COUNT))

const struct out_column batch_row_columns[] = {CELLS(AS_COLUMN){NULL, NULL, OUT_TEXT}};

static const struct out_column fields[] = {CELLS(AS_FIELD){NULL, NULL, OUT_TEXT}};

static const char *text_or_none(const char *text)
{
    return *text ? text : NULL;
}

static int64_t time_or_none(int64_t at_ms)
{
    return at_ms > 0 ? at_ms : -1;
}

static void fill(struct out_cell *cells, const struct muster_batch *batch)
{
    const struct out_cell filled[N_CELLS] = {
        {.text = batch->id},
        {.text = muster_batch_state_name(batch->state)},
        {.number = (int64_t)batch->members},
        {.number = (int64_t)batch->left},
        {.number = (int64_t)batch->complete},
        {.number = (int64_t)batch->failed},
        {.number = (int64_t)batch->cancelled},
        {.number = (int64_t)batch->gone},
        {.number = batch->is_cancelled},
        {.number = time_or_none(batch->since_ms)},
        {.number = time_or_none(batch->due_at_ms)},
        {.number = time_or_none(batch->opened_at_ms)},
        {.number = time_or_none(batch->closed_at_ms)},
        {.text = text_or_none(batch->closed_by)},
        {.number = batch->ttl_ms},
        {.text = text_or_none(batch->batch)},
        {.number = batch->depth},
        {.text = text_or_none(batch->first_failed)},
        {.text = text_or_none(batch->on_end.queue)},
        {.text = text_or_none(batch->on_end.job)},
        {.text = text_or_none(batch->on_complete.queue)},
        {.text = text_or_none(batch->on_complete.job)},
        {.text = text_or_none(batch->on_failure.queue)},
        {.text = text_or_none(batch->on_failure.job)},
    };
    memcpy(cells, filled, sizeof filled);
}

int batch_row_add(struct out_table *table, const struct muster_batch *batch)
{
    struct out_cell cells[N_CELLS];
    fill(cells, batch);
    return out_row(table, cells);
}

int batch_row_print(const struct muster_batch *batch, bool json)
{
    struct out_cell cells[N_CELLS];
    fill(cells, batch);
    return json ? out_json(fields, cells) : out_record(fields, cells);
}
