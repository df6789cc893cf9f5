/* SPDX-License-Identifier: MIT
 *
 * muster delete: removes a queue with all that waits in it. It asks no question, because it may run in a script; --yes
 * is the answer.
 */
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "known.h"
#include "out.h"
#include "progress.h"
#include "text.h"

enum { YES };

static const struct opt options[] = {
    [YES] = {.name = "yes", .help = "yes, delete it; without this nothing is deleted"},
    {.help = NULL},
};

static void print_deleted(const struct call *call, uint64_t removed, uint64_t running)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT}, {NULL, "removed", OUT_COUNT}, {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    char tasks[TEXT_NUMBER_SIZE], runs[TEXT_NUMBER_SIZE];
    const char *queue = call->operands[0];
    const struct out_cell cells[] = {{.text = queue}, {.number = (int64_t)removed}, {.number = (int64_t)running}};
    if (call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%s: deleted, with %s; %s\n", queue,
                 text_number_of(tasks, removed, "task that was still to run", "tasks that were still to run"),
                 text_number_of(runs, running, "is still running", "are still running"));
}

static int report_stopped(const struct call *call, uint64_t removed)
{
    char number[TEXT_NUMBER_SIZE];
    return complain_stopped(
        call, "%s deleted, and maybe some that had failed or were complete; run it again to delete the rest",
        text_number_of(number, removed, "task that was still to run is", "tasks that were still to run are"));
}

static int run(const struct call *call)
{
    const char *queue = call->operands[0];
    struct muster_client *client;
    struct muster_queue_info info;
    uint64_t removed = 0, running = 0;
    if (!call->own[YES].set)
        return complain_usage(call,
                              "nothing was deleted; say --yes to delete all that waits, is delayed or has failed in "
                              "the queue '%s', for good, and its settings",
                              queue);
    int code = client_open(call, &client);
    if (code)
        return code;
    /* It is deleted in any case: its settings may be all that is there. A damaged key is named by the deletion. */
    int there = muster_queue_get(client, queue, &info);
    int err = there == MUSTER_E_NOT_FOUND || there == MUSTER_E_REDIS ? MUSTER_OK : there;
    progress_begin(call);
    muster_client_set_progress(client, progress_on_step, (void *)"jobs deleted");
    if (err == MUSTER_OK)
        err = muster_queue_delete(client, queue, &removed, &running);
    if (err == MUSTER_E_STOPPED)
        code = report_stopped(call, removed);
    else
        code = complain_error(call, err, muster_client_error(client));
    const bool is_missing = !code && there == MUSTER_E_NOT_FOUND && removed + running == 0;
    if (is_missing)
        code = known_exit(call, client, queue);
    client_free(client);
    if (!code)
        print_deleted(call, removed, running);
    return code;
}

const struct command cmd_delete = {
    .name = "delete",
    .operands = "QUEUE",
    .summary = "Delete a queue with all that waits, is delayed or has failed in it, and its settings",
    .about =
        "It says how many tasks and jobs were still to run: they waited, were delayed or depended on others. Failed\n"
        "and complete ones go, too, and are not counted. Running tasks may finish; with any other end they are gone.\n"
        "Workers go on serving the name: what is enqueued afterwards is a new queue. If there is no such queue, the\n"
        "exit code is 3.\n",
    .examples = "muster delete mail --yes\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .changes = true,
    .run = run,
};
