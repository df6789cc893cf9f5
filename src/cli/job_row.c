/* SPDX-License-Identifier: MIT
 *
 * Which fields of a job are shown, and how: one list of cells, for the row and for the record. A number that a job does
 * not have, such as a due time, is null in JSON; a text that it does not have is left out.
 */
#include "job_row.h"

#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "need.h"

/* X(heading of the table's column, name of the record's line, key in JSON, kind) */
#define CELLS(X)                                        \
    X("ID", "id", "id", OUT_TEXT)                       \
    X("QUEUE", "queue", "queue", OUT_TEXT)              \
    X("STATE", "state", "state", OUT_TEXT)              \
    X("PRIORITY", "priority", "priority", OUT_INTEGER)  \
    X(NULL, "retries", "retries", OUT_COUNT)            \
    X("RETRIED", "retried", "retried", OUT_COUNT)       \
    X(NULL, "crashes", "crashes", OUT_COUNT)            \
    X(NULL, "tracked", "tracked", OUT_YES)              \
    X(NULL, "unique", "unique", OUT_YES)                \
    X(NULL, "cancelled", "cancelled", OUT_YES)          \
    X(NULL, "put", "put_at_ms", OUT_TIME)               \
    X("SINCE", "since", "since_ms", OUT_TIME)           \
    X("DUE", "due", "due_at_ms", OUT_TIME)              \
    X(NULL, "limit", "limit_ms", OUT_SPAN)              \
    X(NULL, "every", "every_ms", OUT_SPAN)              \
    X(NULL, "cron", "cron", OUT_TEXT)                   \
    X(NULL, "zone", "zone", OUT_TEXT)                   \
    X(NULL, "from", "from_ms", OUT_TIME)                \
    X(NULL, "until", "until_ms", OUT_TIME)              \
    X(NULL, "count", "count", OUT_COUNT)                \
    X(NULL, "overlap", "overlap", OUT_TEXT)             \
    X(NULL, "queued", "queued", OUT_YES)                \
    X(NULL, "made by", "made_by", OUT_TEXT)             \
    X(NULL, "backlog", "backlog", OUT_COUNT)            \
    X(NULL, "made", "made", OUT_COUNT)                  \
    X(NULL, "backoff", "backoff", OUT_TEXT)             \
    X(NULL, NULL, "backoff_ms", OUT_SPAN)               \
    X(NULL, NULL, "backoff_max_ms", OUT_SPAN)           \
    X(NULL, NULL, "backoff_exponential", OUT_YES)       \
    X(NULL, NULL, "backoff_jitter_percent", OUT_COUNT)  \
    X("BLOCKED", "blocked by", "blocked_by", OUT_NAMES) \
    X("TAGS", "tags", "tags", OUT_NAMES)                \
    X(NULL, "batch", "batch", OUT_TEXT)                 \
    X(NULL, "key", "key", OUT_TEXT)                     \
    X(NULL, "worker", "worker", OUT_TEXT)               \
    X(NULL, "holder", "holder", OUT_TEXT)               \
    X(NULL, "process", "process", OUT_TEXT)             \
    X(NULL, "group", "group", OUT_TEXT)                 \
    X(NULL, "message", "message", OUT_BYTES)            \
    X(NULL, NULL, "result_len", OUT_COUNT)              \
    X(NULL, "result", "result", OUT_BYTES)              \
    X("LEN", NULL, "len", OUT_COUNT)                    \
    X("DATA", "data", "data", OUT_BYTES)

#define AS_COLUMN(heading, name, key, kind) {heading, key, kind},
#define AS_FIELD(heading, name, key, kind) {name, key, kind},
#define COUNT(heading, name, key, kind) +1
#define N_CELLS (0 CELLS(COUNT))

const struct out_column job_row_columns[] = {CELLS(AS_COLUMN){NULL, NULL, OUT_TEXT}};

static const struct out_column fields[] = {
    CELLS(AS_FIELD){"after", "after", OUT_NAMES},
    {"after end", "after_end", OUT_NAMES},
    {"after failure", "after_failure", OUT_NAMES},
    {"before", "before", OUT_NAMES},
    {NULL, "before_count", OUT_COUNT},
    {"parents", "parents", OUT_NAMES},
    {"ticks", "ticks", OUT_ROWS},
    {"history", "history", OUT_ROWS},
    {NULL, NULL, OUT_TEXT},
};
#define N_FIELDS (N_CELLS + 8)

static const char *text_or_none(const char *text)
{
    return *text ? text : NULL;
}

static int64_t number_or_none(int64_t number)
{
    return number > 0 ? number : -1;
}

/* `backoff` is the job's backoff as text. */
static void fill(struct out_cell *cells, const struct muster_job *job, const char *backoff)
{
    bool is_recurring = job->state == MUSTER_JOB_RECURRING;
    const struct out_cell filled[N_CELLS] = {
        {.text = job->id},
        {.text = job->queue},
        {.text = muster_job_state_name(job->state)},
        {.number = job->priority},
        {.number = job->retries},
        {.number = job->retried},
        {.number = job->crashes},
        {.number = job->tracked},
        {.number = job->unique},
        {.number = job->cancelled},
        {.number = job->put_at_ms},
        {.number = job->since_ms},
        {.number = number_or_none(job->due_at_ms)},
        {.number = number_or_none(job->limit_ms)},
        {.number = number_or_none(job->every_ms)},
        {.text = text_or_none(job->cron)},
        {.text = text_or_none(job->zone)},
        {.number = number_or_none(job->from_ms)},
        {.number = number_or_none(job->until_ms)},
        {.number = number_or_none(job->count)},
        {.text = is_recurring ? muster_overlap_name(job->overlap) : NULL},
        {.number = job->queued},
        {.text = text_or_none(job->made_by)},
        {.number = is_recurring ? job->backlog : -1},
        {.number = is_recurring || job->made > 0 ? (int64_t)job->made : -1},
        {.text = job->backoff.delay_ms > 0 ? backoff : NULL},
        {.number = job->backoff.delay_ms},
        {.number = number_or_none(job->backoff.max_ms)},
        {.number = job->backoff.exponential},
        {.number = job->backoff.jitter_percent},
        {.number = (int64_t)job->n_blocked_by, .names = job->blocked_by},
        {.number = (int64_t)job->n_tags, .names = job->tags},
        {.text = text_or_none(job->batch)},
        {.text = text_or_none(job->key)},
        {.text = text_or_none(job->worker)},
        {.text = text_or_none(job->holder)},
        {.text = text_or_none(job->process)},
        {.text = text_or_none(job->group)},
        {.text = job->message.len > 0 ? job->message.data : NULL, .len = job->message.len},
        {.number = job->result.data ? (int64_t)job->whole_result_len : -1},
        {.text = job->result.data, .len = job->result.len},
        {.number = (int64_t)job->whole_len},
        {.text = job->data.len > 0 ? job->data.data : "", .len = job->data.len},
    };
    memcpy(cells, filled, sizeof filled);
}

int job_row_add(struct out_table *table, const struct muster_job *job)
{
    char backoff[BACKOFF_TEXT_SIZE];
    struct out_cell cells[N_CELLS];
    fill(cells, job, backoff_text(backoff, &job->backoff));
    return out_row(table, cells);
}

/* ---- the record ---- */

static const struct out_column history_columns[] = {
    {"at", "at_ms", OUT_TIME}, {"what", "what", OUT_TEXT}, {"text", "text", OUT_TEXT}, {NULL, NULL, OUT_TEXT}};
#define HISTORY_CELLS 3

static struct out_cell *history_cells(const struct muster_job *job)
{
    struct out_cell *cells = need(calloc(job->n_history + 1, HISTORY_CELLS * sizeof *cells)), *cell = cells;
    for (size_t i = 0; i < job->n_history; i++) {
        cell++->number = job->history[i].at_ms;
        cell++->text = job->history[i].what;
        cell++->text = job->history[i].text;
    }
    return cells;
}

static const struct out_column tick_columns[] = {{"at", "at_ms", OUT_TIME}, {NULL, NULL, OUT_TEXT}};

/* JSON has all. */
#define TICKS_SHOWN 5

static struct out_cell *tick_cells(const struct muster_job *job)
{
    struct out_cell *cells = need(calloc(job->n_ticks + 1, sizeof *cells));
    for (size_t i = 0; i < job->n_ticks; i++)
        cells[i].number = job->ticks[i];
    return cells;
}

int job_row_print(const struct muster_job *job, bool json)
{
    char backoff[BACKOFF_TEXT_SIZE];
    struct out_cell cells[N_FIELDS], *lines = history_cells(job), *times = tick_cells(job);
    const struct out_rows history = {history_columns, lines, job->n_history};
    const struct out_rows ticks = {tick_columns, times,
                                   json || job->n_ticks < TICKS_SHOWN ? job->n_ticks : TICKS_SHOWN};
    fill(cells, job, backoff_text(backoff, &job->backoff));
    const struct out_cell lists[] = {
        {.number = (int64_t)job->n_after, .names = job->after},
        {.number = (int64_t)job->n_after_end, .names = job->after_end},
        {.number = (int64_t)job->n_after_failure, .names = job->after_failure},
        {.number = (int64_t)job->n_before, .names = job->before},
        {.number = (int64_t)job->whole_before},
        {.number = (int64_t)job->n_parents, .names = job->parents},
        {.rows = &ticks},
        {.rows = &history},
    };
    memcpy(cells + N_CELLS, lists, sizeof lists);
    int err = json ? out_json(fields, cells) : out_record(fields, cells);
    free(lines);
    free(times);
    return err;
}
