/* SPDX-License-Identifier: MIT
 *
 * The columns of a queue, and what stands in them.
 */
#include "queue_row.h"

const struct out_column queue_row_columns[] = {
    {"NAME", "queue", OUT_TEXT},
    {"WAITING", "waiting", OUT_COUNT},
    {"RUNNING", "running", OUT_COUNT},
    {"DELAYED", "delayed", OUT_COUNT},
    {"FAILED", "failed", OUT_COUNT},
    {"FAILED-BYTES", "failed_bytes", OUT_COUNT},
    {"IDLE", "idle", OUT_COUNT},
    {"PAUSED", "paused", OUT_YES},
    {NULL, "depends", OUT_COUNT},
    {NULL, "recurring", OUT_COUNT},
    {NULL, "complete", OUT_COUNT},
    {NULL, "cancelled", OUT_COUNT},
    {NULL, "failed_dropped", OUT_COUNT},
    {"OLDEST", "oldest_ms", OUT_AGE},
    {NULL, "oldest_error_ms", OUT_SPAN},
    {NULL, "in", OUT_COUNT},
    {NULL, "out", OUT_COUNT},
    {NULL, "share", OUT_TEXT},
    {NULL, "hands", OUT_COUNT},
    {NULL, "moved", OUT_COUNT},
    {NULL, "held", OUT_COUNT},
    {NULL, "stalled", OUT_COUNT},
    {NULL, "died", OUT_COUNT},
    {NULL, NULL, OUT_TEXT},
};

int queue_row_print(const struct muster_queue_info *queue, void *arg)
{
    const struct out_cell cells[] = {
        {.text = queue->name},
        {.number = (int64_t)queue->waiting},
        {.number = (int64_t)queue->running},
        {.number = (int64_t)queue->delayed},
        {.number = (int64_t)queue->failed},
        {.number = (int64_t)queue->failed_bytes},
        {.number = (int64_t)queue->idle},
        {.number = queue->paused},
        {.number = (int64_t)queue->depends},
        {.number = (int64_t)queue->recurring},
        {.number = (int64_t)queue->complete},
        {.number = (int64_t)queue->cancelled},
        {.number = (int64_t)queue->failed_dropped},
        {.number = queue->oldest_ms},
        {.number = queue->oldest_error_ms},
        {.number = (int64_t)queue->in},
        {.number = (int64_t)queue->out},
        {.text = queue->share_even ? "even" : "none"},
        {.number = (int64_t)queue->hands},
        {.number = (int64_t)queue->moved},
        {.number = (int64_t)queue->held},
        {.number = (int64_t)queue->stalled},
        {.number = (int64_t)queue->died},
    };
    return out_row(arg, cells);
}
