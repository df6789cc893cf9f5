/* SPDX-License-Identifier: MIT
 *
 * muster peek: prints the next tasks and jobs of a queue, which stay there. They are printed raw, so that they can be
 * piped on; --json is for tasks that may hold anything.
 */
#include <muster/client.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "known.h"
#include "out.h"

static const struct out_column columns[] = {
    {NULL, "position", OUT_COUNT},
    {NULL, "job", OUT_TEXT},
    {NULL, "task", OUT_BYTES},
    {NULL, NULL, OUT_TEXT},
};

struct looking {
    bool is_json;
    uint64_t n; /* rows printed */
};

static int print_row(const struct muster_task *row, void *arg)
{
    struct looking *looking = arg;
    const struct out_cell cells[] = {
        {.number = (int64_t)row->position},
        {.text = row->job},
        {.text = row->len > 0 ? row->data : "", .len = row->len},
    };
    looking->n++;
    if (looking->is_json)
        out_json(columns, cells);
    else if (out_bytes(row->data, row->len) == 0)
        out_bytes("\n", 1);
    return out_error() != 0;
}

enum { COUNT, OFFSET };

static const struct opt options[] = {
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "at most N tasks",
               .fallback = "10",
               .min = 1,
               .max = INT64_MAX},
    [OFFSET] = {.name = "offset",
                .kind = OPT_COUNT,
                .argument = "N",
                .help = "skip the first N tasks",
                .fallback = "0",
                .max = INT64_MAX},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct looking looking = {.is_json = call->common[OPT_JSON].set};
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = muster_task_peek(client, call->operands[0], (uint64_t)call->own[OFFSET].number,
                               (uint64_t)call->own[COUNT].number, print_row, &looking);
    if (err == MUSTER_OK && looking.n == 0)
        (void)known_look(call, client, call->operands[0], "");
    return client_close(call, client, err);
}

const struct command cmd_peek = {
    .name = "peek",
    .operands = "QUEUE",
    .summary = "Print the next tasks of a queue, one per line, and leave them there",
    .about = "For a job its data is printed, and with --json also its id. Jobs of negative priority stand before the\n"
             "tasks, all other jobs after them. When workers take them, tasks and jobs of priority 0 come in turn.\n",
    .examples = "muster peek mail\nmuster peek mail -n 100 --offset 100 --json\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .run = run,
};
