/* SPDX-License-Identifier: MIT
 *
 * muster queues: a row for each queue of the namespace, or for those that are named. A name that is no queue's is told, and
 * the others are listed all the same.
 */
#include <muster/client.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "known.h"
#include "list.h"
#include "queue_row.h"

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_queue_list(client, queue_row_print, table);
}

/* Returns an exit code. */
static int list_one(const struct call *call, struct muster_client *client, const char *name, struct out_table *table)
{
    struct muster_queue_info info;
    int err = muster_queue_get(client, name, &info);
    if (err == MUSTER_E_NOT_FOUND)
        return known_exit(call, client, name);
    if (err == MUSTER_OK)
        queue_row_print(&info, table);
    return complain_error(call, err, muster_client_error(client));
}

static int list_named(const struct call *call)
{
    struct muster_client *client;
    struct out_table table = {.columns = queue_row_columns, .json = call->common[OPT_JSON].set};
    int code = client_open(call, &client), one = code;
    for (size_t i = 0; i < call->n_operands && (one == EXIT_DONE || one == EXIT_NOT_FOUND); i++) {
        one = list_one(call, client, call->operands[i], &table);
        code = complain_higher(code, one);
    }
    out_table_end(&table);
    client_free(client);
    return code;
}

static int run(const struct call *call)
{
    return call->n_operands > 0 ? list_named(call) : list_print(call, queue_row_columns, list);
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_queues = {
    .name = "queues",
    .operands = "[QUEUE...]",
    .max_operands = SIZE_MAX,
    .n_queues = SIZE_MAX,
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
        "even or none, how many hands serve it, and how much has moved to another worker for that. stalled\n"
        "counts the tasks and jobs whose lease has lapsed, died those that a worker held when it died; `muster stats`\n"
        "has both by the day.\n",
    .examples = "muster queues\nmuster queues mail print\nmuster queues --json\n",
    .options = options,
    .run = run,
};
