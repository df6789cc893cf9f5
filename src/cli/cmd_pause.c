/* SPDX-License-Identifier: MIT
 *
 * muster pause and muster resume: whether tasks of a queue are handed out.
 */
#include "client.h"
#include "command.h"
#include "known.h"
#include "out.h"

enum wish { RESUME, PAUSE };

static int set_paused(const struct call *call, enum wish wish)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT}, {NULL, "paused", OUT_YES}, {NULL, NULL, OUT_TEXT}};
    const char *queue = call->operands[0];
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = wish == PAUSE ? known_look(call, client, queue, " yet; it begins paused")
                            : known_need(call, client, queue, "; nothing was resumed");
    if (err == MUSTER_E_NOT_FOUND && wish == RESUME) {
        client_free(client);
        return EXIT_NOT_FOUND;
    }
    if (err == MUSTER_OK || err == MUSTER_E_NOT_FOUND)
        err = wish == PAUSE ? muster_queue_pause(client, queue) : muster_queue_resume(client, queue);
    code = client_close(call, client, err);
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = queue}, {.number = wish == PAUSE}});
    else
        out_text("%s: %s\n", queue, wish == PAUSE ? "paused" : "resumed");
    return EXIT_DONE;
}

static int run_pause(const struct call *call)
{
    return set_paused(call, PAUSE);
}

static int run_resume(const struct call *call)
{
    return set_paused(call, RESUME);
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_pause = {
    .name = "pause",
    .operands = "QUEUE",
    .summary = "Pause a queue: none of its tasks are handed out until it is resumed",
    .about =
        "Running tasks go on, and newly enqueued tasks wait. A queue that does not exist yet can be paused, too.\n",
    .examples = "muster pause mail\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .changes = true,
    .run = run_pause,
};

const struct command cmd_resume = {
    .name = "resume",
    .operands = "QUEUE",
    .summary = "Resume a paused queue: its waiting tasks go to idle workers",
    .about = "It is no error if the queue is not paused. If there is no such queue, the exit code is 3.\n",
    .examples = "muster resume mail\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .changes = true,
    .run = run_resume,
};
