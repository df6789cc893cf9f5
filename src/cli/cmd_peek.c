/* SPDX-License-Identifier: MIT
 *
 * muster peek: prints the next tasks and jobs of a queue, which stay there. They are printed raw, so that they can be
 * piped on; --json is for tasks that may hold anything.
 */
#include <inttypes.h>
#include <muster/client.h>
#include <stdint.h>
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "known.h"
#include "out.h"
#include "text.h"

static const struct out_column columns[] = {
    {NULL, "position", OUT_COUNT}, {NULL, "job", OUT_TEXT}, {NULL, "len", OUT_COUNT},
    {NULL, "task", OUT_BYTES},     {NULL, NULL, OUT_TEXT},
};

static const struct out_column delayed_columns[] = {
    {NULL, "position", OUT_COUNT}, {NULL, "due_at_ms", OUT_TIME}, {NULL, "len", OUT_COUNT},
    {NULL, "task", OUT_BYTES},     {NULL, NULL, OUT_TEXT},
};

struct looking {
    bool is_json;
    uint64_t n; /* rows printed */
};

/* What is piped on must not be cut in silence. */
static void warn_of_cut(uint64_t position, size_t len, uint64_t whole)
{
    if (whole > len)
        fprintf(stderr,
                "muster peek: the task at position %" PRIu64 " has %" PRIu64 " bytes: only its first %zu are shown\n",
                position, whole, len);
}

static int print_row(const struct muster_task *row, void *arg)
{
    struct looking *looking = arg;
    const struct out_cell cells[] = {
        {.number = (int64_t)row->position},
        {.text = row->job},
        {.number = (int64_t)row->whole_len},
        {.text = row->len > 0 ? row->data : "", .len = row->len},
    };
    looking->n++;
    if (looking->is_json)
        return out_json(columns, cells), out_error() != 0;
    warn_of_cut(row->position, row->len, row->whole_len);
    if (out_bytes(row->data, row->len) == 0)
        out_bytes("\n", 1);
    return out_error() != 0;
}

/* When it is due stands before the task, as the process does in what `muster take` prints. */
static int print_delayed(const struct muster_delayed_task *row, void *arg)
{
    struct looking *looking = arg;
    char due[TEXT_TIME_SIZE];
    const struct out_cell cells[] = {
        {.number = (int64_t)row->position},
        {.number = row->due_at_ms},
        {.number = (int64_t)row->whole_len},
        {.text = row->data, .len = row->len},
    };
    looking->n++;
    if (looking->is_json)
        return out_json(delayed_columns, cells), out_error() != 0;
    warn_of_cut(row->position, row->len, row->whole_len);
    if (out_text("%s\t", text_time(due, row->due_at_ms)) == 0 && out_bytes(row->data, row->len) == 0)
        out_bytes("\n", 1);
    return out_error() != 0;
}

enum { COUNT, OFFSET, DELAYED };

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
    [DELAYED] = {.name = "delayed",
                 .help = "the plain tasks that wait out a retry's delay, each after the time when it is due and a tab"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct looking looking = {.is_json = call->common[OPT_JSON].set};
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    uint64_t from = (uint64_t)call->own[OFFSET].number, n = (uint64_t)call->own[COUNT].number;
    int err = call->own[DELAYED].set
                  ? muster_task_peek_delayed(client, call->operands[0], from, n, print_delayed, &looking)
                  : muster_task_peek(client, call->operands[0], from, n, print_row, &looking);
    if (err == MUSTER_OK && looking.n == 0)
        code = known_exit(call, client, call->operands[0]);
    int closed = client_close(call, client, err);
    return closed ? closed : code;
}

const struct command cmd_peek = {
    .name = "peek",
    .operands = "QUEUE",
    .summary = "Print the next tasks of a queue, one per line, and leave them there",
    .about =
        "Of a task of more than 64 KiB its beginning is printed, and a warning says how long it is.\n"
        "For a job its data is printed, and with --json also its id. Jobs of negative priority stand before the\n"
        "tasks, all other jobs after them. When workers take them, tasks and jobs of priority 0 come in turn.\n"
        "With --delayed the task that is due first is the first; `muster jobs --state scheduled` lists delayed jobs.\n",
    .examples = "muster peek mail\nmuster peek mail -n 100 --offset 100 --json\nmuster peek mail --delayed\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .run = run,
};
