/* SPDX-License-Identifier: MIT
 *
 * muster failed: the failed lists, as counts per group or entry by entry. cmd_replay.c puts entries back or removes
 * them.
 */
#include <stdint.h>

#include "command.h"
#include "complain.h"
#include "list.h"
#include "out.h"
#include "parse.h"

/* ---- groups ---- */

static const struct out_column group_columns[] = {
    {"QUEUE", "queue", OUT_TEXT},
    {"GROUP", "group", OUT_TEXT},
    {"FAILED", "failed", OUT_COUNT},
    {NULL, NULL, OUT_TEXT},
};

static int print_group(const struct muster_failed_group *group, void *arg)
{
    const struct out_cell cells[] = {{.text = group->queue}, {.text = group->group}, {.number = (int64_t)group->n}};
    return out_row(arg, cells);
}

static int list_groups(const struct call *call, struct muster_client *client, struct out_table *table)
{
    return muster_failed_groups(client, call->n_operands > 0 ? call->operands[0] : NULL, print_group, table);
}

/* ---- entries ---- */

enum { GROUPS, COUNT, OFFSET, GROUP };

static const struct out_column entry_columns[] = {
    {"ENTRY", "entry", OUT_TEXT},         {NULL, "queue", OUT_TEXT},
    {NULL, "process", OUT_TEXT},          {NULL, "worker", OUT_TEXT},
    {"FAILED", "failed_at_ms", OUT_TIME}, {"GROUP", "group", OUT_TEXT},
    {"MESSAGE", "message", OUT_NOTE},     {"JOB", "job", OUT_TEXT},
    {"HOLDER", "holder", OUT_TEXT},       {"LEN", "len", OUT_COUNT},
    {"TASK", "task", OUT_BYTES},          {NULL, NULL, OUT_TEXT},
};

static int print_entry(const struct muster_failure *failure, void *arg)
{
    const struct out_cell cells[] = {
        {.text = failure->entry},
        {.text = failure->queue},
        {.text = failure->process},
        {.text = failure->worker},
        {.number = failure->failed_at_ms},
        {.text = failure->group},
        {.text = failure->message.data, .len = failure->message.len},
        {.text = failure->job},
        {.text = failure->holder},
        {.number = (int64_t)failure->whole_len},
        {.text = failure->task, .len = failure->len},
    };
    return out_row(arg, cells);
}

static const char *group_of(const struct call *call)
{
    return call->n_operands > 1 ? call->operands[1] : call->own[GROUP].text;
}

static int list_entries(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const struct muster_failed_filter filter = {
        .size = sizeof filter,
        .queue = call->operands[0],
        .group = group_of(call),
        .offset = (uint64_t)call->own[OFFSET].number,
        .n = (uint64_t)call->own[COUNT].number,
    };
    return muster_failed_list(client, &filter, print_entry, table);
}

/* ---- the verb ---- */

static const struct opt options[] = {
    [GROUPS] = {.name = "groups", .help = "with QUEUE: list its groups instead of its entries"},
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "at most N entries (default all)",
               .min = 1,
               .max = INT64_MAX},
    [OFFSET] = {.name = "offset",
                .kind = OPT_COUNT,
                .argument = "N",
                .help = "skip the newest N",
                .fallback = "0",
                .max = INT64_MAX},
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "the same as the operand GROUP, as for `muster replay` and `muster drop`",
               .check = opt_check_group},
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool of_groups = own[GROUPS].set || call->n_operands == 0;
    int code = parse_check_operands(call, 1, 1, "GROUP", opt_check_group);
    if (code)
        return code;
    if (own[GROUP].set && call->n_operands > 1)
        return complain_usage(call, "GROUP is given twice: as an operand and by --group");
    if (call->n_operands == 0 && (own[COUNT].set || own[OFFSET].set || own[GROUP].set))
        return complain_usage(call, "-n, --offset and --group are for the entries of a QUEUE, which is missing");
    if (own[GROUPS].set && (own[COUNT].set || own[OFFSET].set))
        return complain_usage(call, "-n and --offset are for the entries of a QUEUE");
    if (own[GROUPS].set && group_of(call))
        return complain_usage(call, "--groups lists all groups of a QUEUE, but a GROUP is given");
    const struct list_of of = {.queue = call->n_operands > 0 ? call->operands[0] : NULL};
    return of_groups ? list_print_of(call, group_columns, list_groups, &of)
                     : list_print_of(call, entry_columns, list_entries, &of);
}

const struct command cmd_failed = {
    .name = "failed",
    .operands = "[QUEUE [GROUP]]",
    .summary = "List failures: without QUEUE the groups of all queues, with QUEUE its entries",
    .about =
        "Entries are listed newest first. The table shows the beginning of each message and of each task or job's\n"
        "data; --json has the whole message, and up to 64 KiB of the task or data. LEN is how many bytes it has.\n"
        "`muster replay` puts entries back, `muster drop` removes them for good.\n",
    .examples = "muster failed\n"
                "muster failed mail\n"
                "muster failed mail exit-1 -n 10 --json\n"
                "muster failed mail --groups\n",
    .options = options,
    .max_operands = 2,
    .n_queues = 1,
    .run = run,
};
