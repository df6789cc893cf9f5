/* SPDX-License-Identifier: MIT
 *
 * muster workers: a row for each registered worker.
 */
#include "command.h"
#include "list.h"
#include "worker_row.h"

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_worker_list(client, worker_row_print, table);
}

static int run(const struct call *call)
{
    return list_print(call, worker_row_columns, list);
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_workers = {
    .name = "workers",
    .operands = "",
    .summary = "List the workers: whether they are alive, when they were last heard, how many tasks they hold",
    .examples = "muster workers\nmuster workers --json\n",
    .options = options,
    .run = run,
};
