/* SPDX-License-Identifier: MIT
 *
 * Which fields of a process are shown, and how. The start and the end of its lease are points in time by the clock of
 * Redis; the table shows them as seen from now, by the same clock.
 */
#include "process_row.h"

#include <string.h>

const struct out_column process_row_columns[] = {
    {"PROCESS", "process", OUT_TEXT},
    {NULL, "worker", OUT_TEXT},
    {NULL, "queue", OUT_TEXT},
    {NULL, "token", OUT_TEXT},
    {"ELAPSED", "started_at_ms", OUT_SINCE},
    {"LEASE-ENDS", "lease_ends_at_ms", OUT_TIME},
    {"CANCELLED", "cancelled", OUT_YES},
    {"PROGRESS", "progress", OUT_NOTE},
    {"JOB", "job", OUT_TEXT},
    {"HOLDER", "holder", OUT_TEXT},
    {"LEN", "len", OUT_COUNT},
    {"TASK", "task", OUT_BYTES},
    {NULL, NULL, OUT_TEXT},
};

/* The token in its usual form, which is the middle part of the process id. */
static void copy_token(char *out, size_t size, const char *id)
{
    const char *token = strchr(id, ':');
    size_t len = token ? strcspn(token + 1, ":") : 0;
    len = len < size ? len : size - 1;
    if (len)
        memcpy(out, token + 1, len);
    out[len] = '\0';
}

int process_row_add(struct out_table *table, const struct muster_process_info *process)
{
    char token[32];
    copy_token(token, sizeof token, process->id);
    const struct out_cell cells[] = {
        {.text = process->id},
        {.text = process->worker},
        {.text = process->queue},
        {.text = token},
        {.number = process->started_at_ms},
        {.number = process->ends_at_ms ? process->ends_at_ms : -1},
        {.number = process->cancelled},
        {.text = process->progress, .len = strlen(process->progress)},
        {.text = process->job},
        {.text = process->holder},
        {.number = (int64_t)process->whole_len},
        {.text = process->task, .len = process->len},
    };
    return out_row(table, cells);
}
