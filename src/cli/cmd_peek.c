/* SPDX-License-Identifier: MIT
 *
 * muster peek: the next tasks of a queue, which stay there. Raw, so that they can be piped on; who does not know what
 * is in them takes --json.
 */
#include <stdint.h>

#include "command.h"
#include "connect.h"
#include "out.h"

static const struct out_column columns[] = {
    {NULL, "position", OUT_COUNT},
    {NULL, "task", OUT_BYTES},
    {NULL, NULL, OUT_TEXT},
};

static int print_raw(const struct muster_task *task, void *arg)
{
    (void)arg;
    out_bytes(task->data, task->len);
    return out_bytes("\n", 1);
}

static int print_json(const struct muster_task *task, void *arg)
{
    (void)arg;
    const struct out_cell cells[] = {
        {.number = (int64_t)task->position},
        {.text = task->data, .len = task->len},
    };
    return out_json(columns, cells);
}

enum { COUNT, OFFSET };

static const struct opt options[] = {
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "so many tasks at most",
               .fallback = "10",
               .min = 1,
               .max = INT64_MAX},
    [OFFSET] = {.name = "offset",
                .kind = OPT_COUNT,
                .argument = "N",
                .help = "leave out so many tasks at the front",
                .fallback = "0",
                .max = INT64_MAX},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err =
        muster_task_peek(client, call->operands[0], (uint64_t)call->own[OFFSET].number,
                         (uint64_t)call->own[COUNT].number, call->common[OPT_JSON].set ? print_json : print_raw, NULL);
    return client_close(call, client, err);
}

const struct command cmd_peek = {
    .name = "peek",
    .operands = "QUEUE",
    .summary = "Print the next tasks of a queue, one per line, and leave them there",
    .examples = "muster peek mail\nmuster peek mail -n 100 --offset 100 --json\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .run = run,
};
