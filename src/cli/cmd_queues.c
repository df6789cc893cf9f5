/* SPDX-License-Identifier: MIT
 *
 * muster queues: a row for each queue of the namespace.
 */
#include "command.h"
#include "list.h"
#include "queue_row.h"

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_queue_list(client, queue_row_print, table);
}

static int run(const struct call *call)
{
    return list_print(call, queue_row_columns, list);
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_queues = {
    .name = "queues",
    .operands = "",
    .summary = "List the queues: what waits, runs, is delayed or has failed, and how many workers are idle",
    .about =
        "The counts are of tasks and jobs; scheduled jobs count as delayed. Jobs that depend on others or are held,\n"
        "recurring jobs and complete jobs are counted in the JSON and by `muster jobs`. FAILED-BYTES is what the\n"
        "failed list holds in Redis; `muster replay` or `muster drop` makes room. In the JSON, failed_dropped counts\n"
        "the failures that a bound of the list (`muster config keep_failed`) has dropped.\n"
        "\n"
        "OLDEST is for how long at least the oldest of what waits has waited. A task is bytes without a time, so this\n"
        "is a bound: never more than the true age, and in the JSON oldest_error_ms says how much less it may be. It "
        "is\n"
        "null where that is not known, and oldest_ms where nothing waits. in and out count what has ever come "
        "into\n"
        "the queue and left its line: differences are rates. share, hands and moved tell how the queue shares what "
        "runs:\n"
        "even or none, how many hands serve it, and how much has moved to another worker for that.\n",
    .examples = "muster queues\nmuster queues --json\n",
    .options = options,
    .run = run,
};
