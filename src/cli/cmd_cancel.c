/* SPDX-License-Identifier: MIT
 *
 * muster cancel: tasks by their bytes, all copies of them in a queue; single processes, or jobs, by their ids. What
 * becomes of one that runs is between its owner and Redis; this only tells how many were met.
 */
#include <inttypes.h>
#include <muster/job.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "out.h"
#include "parse.h"
#include "text.h"

#define TASK_COLUMNS 60

enum { PROCESS, JOB, DEPENDENTS };

static void print_cancelled(const struct call *call, const char *task, uint64_t waiting, uint64_t running)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT},    {NULL, "task", OUT_BYTES}, {NULL, "waiting", OUT_COUNT},
        {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.text = call->operands[0]},
        {.text = task, .len = strlen(task)},
        {.number = (int64_t)waiting},
        {.number = (int64_t)running},
    };
    if (call->common[OPT_JSON].set) {
        out_json(columns, cells);
        return;
    }
    char *shown = text_printable(task, strlen(task), TASK_COLUMNS);
    out_text("%s: %" PRIu64 " waiting removed, %" PRIu64 " running told to stop\n", shown, waiting, running);
    free(shown);
}

static int cancel_task(const struct call *call, struct muster_client *client, const char *task, void *arg)
{
    (void)arg;
    uint64_t waiting, running;
    int err = muster_task_cancel(client, call->operands[0], task, strlen(task), &waiting, &running);
    if (err == MUSTER_OK)
        print_cancelled(call, task, waiting, running);
    return err;
}

static int cancel_process(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    return each_print_process(call, process, "cancelled", muster_process_cancel(client, process));
}

/* All in one call: jobs that wait for one another can only go together. */
static int cancel_jobs(const struct call *call)
{
    static const struct out_column columns[] = {{NULL, "cancelled", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    struct muster_client *client;
    uint64_t n = 0;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (!code)
        code = client_open(call, &client);
    if (code)
        return code;
    code = client_close(call, client,
                        muster_job_cancel(client, (const char *const *)call->operands, call->n_operands,
                                          call->own[DEPENDENTS].set, &n));
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.number = (int64_t)n}});
    else
        out_text("%" PRIu64 " cancelled\n", n);
    if (n == 0)
        complain(call, "none of these jobs is there, or they are complete");
    return n > 0 ? EXIT_DONE : EXIT_NOT_FOUND;
}

static const struct opt options[] = {
    [PROCESS] = {.name = "process", .help = "the operands are ids of processes, from `muster ps`"},
    [JOB] = {.name = "job", .help = "the operands are ids of jobs"},
    [DEPENDENTS] = {.name = "dependents", .help = "with --job: and all jobs that wait for them"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    if (own[PROCESS].set && own[JOB].set)
        return complain_usage(call, "--process and --job exclude each other");
    if (own[DEPENDENTS].set && !own[JOB].set)
        return complain_usage(call, "--dependents is for jobs: muster cancel --job ID...");
    if (call->n_operands == 0)
        return complain_usage(call, "%s is missing", own[JOB].set ? "ID" : own[PROCESS].set ? "PROCESS" : "QUEUE");
    if (own[JOB].set)
        return cancel_jobs(call);
    if (own[PROCESS].set)
        return each_process(call, cancel_process, NULL);
    int code = parse_check_operands(call, 0, 1, "QUEUE", muster_queue_check);
    if (!code && call->n_operands == 1)
        return complain_usage(call, "TASK is missing");
    return code ? code : each_operand(call, 1, cancel_task, NULL);
}

const struct command cmd_cancel = {
    .name = "cancel",
    .operands = "QUEUE TASK... | --process PROCESS... | --job ID...",
    .summary = "Cancel tasks, all copies of them in a queue; single processes; or jobs",
    .about =
        "What waits or is delayed is removed. The owner of what runs is told to stop, and only a finish still counts:\n"
        "given back, retried or failed, it is gone. A COMMAND of `muster work` gets SIGTERM, and SIGKILL if it goes "
        "on.\n"
        "That there is no such task is no error; that there is no such process is, and that there is none of the "
        "jobs.\n"
        "A job that others wait for is refused without --dependents, unless they are among the IDs. Failed jobs and\n"
        "recurring ones are cancelled, too; what a recurring one has made stays.\n",
    .examples = "muster cancel mail alice@example.org\n"
                "muster cancel --process host-4711-8c1f2a:08h2v5k3q01:mail\n"
                "muster cancel --job order-17 --dependents\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .run = run,
};
