/* SPDX-License-Identifier: MIT
 *
 * muster delete: removes a queue with all that waits in it. It asks no question, because it may run in a script; --yes
 * is the answer.
 */
#include <string.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "out.h"
#include "text.h"

enum { YES };

static const struct opt options[] = {
    [YES] = {.name = "yes", .help = "yes, delete it; without this nothing is deleted"},
    {.help = NULL},
};

static void print_deleted(const struct call *call, uint64_t waiting, uint64_t running)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT}, {NULL, "waiting", OUT_COUNT}, {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    char waits[TEXT_NUMBER_SIZE], runs[TEXT_NUMBER_SIZE];
    const char *queue = call->operands[0];
    const struct out_cell cells[] = {{.text = queue}, {.number = (int64_t)waiting}, {.number = (int64_t)running}};
    if (call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%s: deleted, with %s; %s\n", queue, text_number_of(waits, waiting, "waiting task", "waiting tasks"),
                 text_number_of(runs, running, "is still running", "are still running"));
}

struct search {
    const char *queue;
    bool is_there;
};

static int compare_queue(const struct muster_queue_info *info, void *arg)
{
    struct search *search = arg;
    search->is_there = strcmp(info->name, search->queue) == 0;
    return search->is_there;
}

static int run(const struct call *call)
{
    const char *queue = call->operands[0];
    struct muster_client *client;
    struct search search = {.queue = queue};
    uint64_t waiting = 0, running = 0;
    if (!call->own[YES].set)
        return complain_usage(call,
                              "nothing was deleted; say --yes to delete all that waits, is delayed or has failed in "
                              "the queue '%s', for good, and its settings",
                              queue);
    int code = client_open(call, &client);
    if (code)
        return code;
    /* It is deleted in any case: a queue that a bare LPUSH has made is in no list. What is wrong with other queues is no
     * matter here. */
    muster_log_set(muster_log_silent, NULL);
    int err = muster_queue_list(client, compare_queue, &search);
    muster_log_set(NULL, NULL);
    if (err == MUSTER_OK)
        err = muster_queue_delete(client, queue, &waiting, &running);
    code = client_close(call, client, err);
    if (!code && !search.is_there && waiting + running == 0) {
        complain(call, "there is no queue '%s'", queue);
        return EXIT_NOT_FOUND;
    }
    if (!code)
        print_deleted(call, waiting, running);
    return code;
}

const struct command cmd_delete = {
    .name = "delete",
    .operands = "QUEUE",
    .summary = "Delete a queue with all that waits, is delayed or has failed in it, and its settings",
    .about =
        "Running tasks may finish; with any other end they are gone, too. Workers go on serving the name: what is\n"
        "enqueued afterwards is a new queue. If there is no such queue, the exit code is 3.\n",
    .examples = "muster delete mail --yes\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .changes = true,
    .run = run,
};
