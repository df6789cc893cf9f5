/* SPDX-License-Identifier: MIT
 *
 * muster ps: the processes, which are the tasks in the hands of workers, a row each. The start is printed as a point in
 * time by Redis' clock; an age against the local clock would be wrong on another host.
 */
#include <string.h>

#include "command.h"
#include "list.h"

static const struct out_column columns[] = {
    {"PROCESS", "process", OUT_TEXT},
    {NULL, "worker", OUT_TEXT},
    {NULL, "queue", OUT_TEXT},
    {NULL, "token", OUT_TEXT},
    {"STARTED", "started_at_ms", OUT_TIME},
    {"LEN", "len", OUT_COUNT},
    {"TASK", "task", OUT_BYTES},
    {NULL, NULL, OUT_TEXT},
};

/* The token as everybody writes it, which is the middle part of the process' id. */
static void copy_token(char *out, size_t size, const char *id)
{
    const char *token = strchr(id, ':');
    size_t len = token ? strcspn(token + 1, ":") : 0;
    len = len < size ? len : size - 1;
    if (len)
        memcpy(out, token + 1, len);
    out[len] = '\0';
}

static int print_process(const struct muster_process_info *process, void *arg)
{
    char token[32];
    copy_token(token, sizeof token, process->id);
    const struct out_cell cells[] = {
        {.text = process->id},
        {.text = process->worker},
        {.text = process->queue},
        {.text = token},
        {.number = process->started_at_ms},
        {.number = (int64_t)process->len},
        {.text = process->task, .len = process->len},
    };
    return out_row(arg, cells);
}

enum { QUEUE, WORKER, TASK };

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "only tasks of this queue",
               .check = muster_queue_check},
    [WORKER] = {.name = "worker",
                .kind = OPT_STRING,
                .argument = "ID",
                .help = "only what this worker has in hand",
                .check = muster_worker_id_check},
    [TASK] = {.name = "task", .kind = OPT_STRING, .argument = "TASK", .help = "only tasks of exactly these bytes"},
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
    };
    return muster_process_list(client, &filter, print_process, table);
}

static int run(const struct call *call)
{
    return list_print(call, columns, list);
}

const struct command cmd_ps = {
    .name = "ps",
    .operands = "",
    .summary = "List the processes: the tasks that workers have in hand",
    .about = "The table shows the beginning of each task, with control characters escaped; --json has all of it.\n",
    .examples = "muster ps\nmuster ps --queue mail --json\nmuster ps --worker host-4711-8c1f2a\n",
    .options = options,
    .run = run,
};
