/* SPDX-License-Identifier: MIT
 *
 * muster peek: prints the next tasks and jobs of a queue, which stay there. They are printed raw, so that they can be
 * piped on; --json is for tasks that may hold anything.
 */
#include <muster/job.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "out.h"

static const struct out_column columns[] = {
    {NULL, "position", OUT_COUNT},
    {NULL, "job", OUT_TEXT},
    {NULL, "task", OUT_BYTES},
    {NULL, NULL, OUT_TEXT},
};

/* Jobs of negative priority come before the tasks, all others after them. */
enum part { BEFORE_TASKS, AFTER_TASKS };

/*
 * One pass through a queue: jobs before the tasks, the tasks, jobs after them. Only one list can be read at a time, so
 * the jobs are read twice.
 *
 *   part      which jobs are being read
 *   position  the position of the next entry
 *   from, to  the first position to print, and the first not to print any more
 */
struct peeking {
    bool json;
    enum part part;
    uint64_t position, from, to;
};

/* Returns non-zero if nothing more is to be printed. */
static int print(struct peeking *p, const char *job, const void *data, size_t len)
{
    const struct out_cell cells[] = {
        {.number = (int64_t)p->position},
        {.text = job},
        {.text = len > 0 ? data : "", .len = len},
    };
    p->position++;
    if (p->json)
        out_json(columns, cells);
    else if (out_bytes(data, len) == 0)
        out_bytes("\n", 1);
    return out_error() || p->position >= p->to;
}

static int print_task(const struct muster_task *task, void *arg)
{
    return print(arg, NULL, task->data, task->len);
}

/* Jobs come in the order in which workers take them, so after the first job of the later part none of the earlier part
 * follows. */
static int print_job(const struct muster_job *job, void *arg)
{
    struct peeking *p = arg;
    enum part part = job->priority < 0 ? BEFORE_TASKS : AFTER_TASKS;
    if (part != p->part)
        return p->part == BEFORE_TASKS;
    if (p->position >= p->from)
        return print(p, job->id, job->data.data, job->data.len);
    p->position++;
    return 0;
}

static int peek_jobs(struct muster_client *client, const char *queue, struct peeking *p, enum part part)
{
    const struct muster_job_filter filter = {.size = sizeof filter, .queue = queue, .state = MUSTER_JOB_WAITING};
    p->part = part;
    return p->position < p->to ? muster_job_list(client, &filter, print_job, p) : MUSTER_OK;
}

static int peek_tasks(struct muster_client *client, const char *queue, struct peeking *p)
{
    uint64_t length = 0;
    if (p->position >= p->to)
        return MUSTER_OK;
    int err = muster_queue_length(client, queue, &length);
    uint64_t skipped = p->from > p->position ? p->from - p->position : 0;
    skipped = skipped < length ? skipped : length;
    p->position += skipped;
    if (err == MUSTER_OK && skipped < length)
        err = muster_task_peek(client, queue, skipped, p->to - p->position, print_task, p);
    return err;
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
    const char *queue = call->operands[0];
    const uint64_t from = (uint64_t)call->own[OFFSET].number, n = (uint64_t)call->own[COUNT].number;
    struct peeking p = {.json = call->common[OPT_JSON].set, .from = from, .to = from + n};
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = peek_jobs(client, queue, &p, BEFORE_TASKS);
    if (err == MUSTER_OK)
        err = peek_tasks(client, queue, &p);
    if (err == MUSTER_OK)
        err = peek_jobs(client, queue, &p, AFTER_TASKS);
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
