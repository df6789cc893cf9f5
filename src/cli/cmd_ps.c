/* SPDX-License-Identifier: MIT
 *
 * muster ps: a row for each process, which is a task that a worker or a lease holds.
 */
#include <string.h>

#include "command.h"
#include "complain.h"
#include "list.h"
#include "out.h"
#include "process_row.h"

static int print_process(const struct muster_process_info *process, void *arg)
{
    return process_row_add(arg, process);
}

enum { QUEUE, WORKER, TASK, HOLDER };

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "only tasks of this queue",
               .check = muster_queue_check},
    [WORKER] = {.name = "worker",
                .kind = OPT_STRING,
                .argument = "ID",
                .help = "only tasks that this worker holds",
                .check = muster_worker_id_check},
    [TASK] = {.name = "task", .kind = OPT_STRING, .argument = "TASK", .help = "only tasks with exactly these bytes"},
    [HOLDER] = {.name = "holder",
                .kind = OPT_STRING,
                .argument = "NAME",
                .help = "only tasks under leases that were taken under this name",
                .check = muster_worker_id_check},
    {.help = NULL},
};

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const char *text = call->own[TASK].text;
    const struct muster_bytes task = {text, text ? strlen(text) : 0};
    const struct muster_process_filter filter = {
        .size = sizeof filter,
        .queue = call->own[QUEUE].text,
        .worker = call->own[WORKER].text,
        .task = text ? &task : NULL,
        .holder = call->own[HOLDER].text,
    };
    return muster_process_list(client, &filter, print_process, table);
}

static int run(const struct call *call)
{
    if (call->own[WORKER].set && call->own[HOLDER].set)
        return complain_usage(call, "--worker and --holder exclude each other: a lease is no worker's");
    const struct list_of of = {.queue = call->own[QUEUE].text, .worker = call->own[WORKER].text};
    return list_print_of(call, process_row_columns, list, &of);
}

const struct command cmd_ps = {
    .name = "ps",
    .operands = "",
    .summary = "List the processes: the tasks that workers hold, and those under leases",
    .about = "The table shows the beginning of each task, with control characters escaped; --json\n"
             "has all of it up to 64 KiB. LEN is its length.\n",
    .examples = "muster ps\nmuster ps --queue mail --json\nmuster ps --worker host-4711-8c1f2a\n",
    .options = options,
    .run = run,
};
