/* SPDX-License-Identifier: MIT
 *
 * muster queues: a row for each queue of the namespace.
 */
#include "command.h"
#include "list.h"
#include "out.h"

static const struct out_column columns[] = {
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
    {"OLDEST", "oldest_ms", OUT_SPAN},
    {NULL, "oldest_error_ms", OUT_SPAN},
    {NULL, "in", OUT_COUNT},
    {NULL, "out", OUT_COUNT},
    {NULL, NULL, OUT_TEXT},
};

static int print_queue(const struct muster_queue_info *queue, void *arg)
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
    };
    return out_row(arg, cells);
}

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_queue_list(client, print_queue, table);
}

static int run(const struct call *call)
{
    return list_print(call, columns, list);
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_queues = {
    .name = "queues",
    .operands = "",
    .summary = "List the queues: what waits, runs, is delayed or has failed, and how many workers are idle",
    .about =
        "The counts are of tasks and jobs; scheduled jobs count as delayed. Jobs that depend on others, recurring\n"
        "jobs and complete jobs are counted in the JSON and by `muster jobs`. FAILED-BYTES is what the failed list\n"
        "holds in Redis; `muster replay` or `muster drop` makes room. In the JSON, failed_dropped counts the failures\n"
        "that a bound of the list (`muster config keep_failed`) has dropped.\n"
        "\n"
        "OLDEST is for how long at least the oldest of what waits has waited. A task is bytes without a time, so this\n"
        "is a bound: never more than the true age, and in the JSON oldest_error_ms says how much less it may be. It "
        "is\n"
        "null where that is not known, and oldest_ms where nothing waits. in and out count what has ever come "
        "into\n"
        "the queue and left its line: differences are rates.\n",
    .examples = "muster queues\nmuster queues --json\n",
    .options = options,
    .run = run,
};
