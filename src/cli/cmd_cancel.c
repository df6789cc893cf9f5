/* SPDX-License-Identifier: MIT
 *
 * muster cancel: tasks by their bytes, all copies of them in a queue; single processes, or jobs, by their ids. The
 * owner of a running task and Redis decide what becomes of it; this only prints how many were found.
 */
#include <inttypes.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "known.h"
#include "need.h"
#include "out.h"
#include "parse.h"
#include "text.h"

#define TASK_COLUMNS 60

enum { PROCESS, JOB, DEPENDENTS, QUEUE, STATE, GROUP, TAG, ANY, DRY_RUN };

static void print_cancelled(const struct call *call, const char *task, uint64_t removed, uint64_t running)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT},    {NULL, "task", OUT_BYTES}, {NULL, "removed", OUT_COUNT},
        {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.text = call->operands[0]},
        {.text = task, .len = strlen(task)},
        {.number = (int64_t)removed},
        {.number = (int64_t)running},
    };
    if (call->common[OPT_JSON].set) {
        out_json(columns, cells);
        return;
    }
    char *shown = text_printable(task, strlen(task), TASK_COLUMNS);
    out_text("%s: %" PRIu64 " removed, %" PRIu64 " running told to stop\n", shown, removed, running);
    free(shown);
}

/* `arg`: the exit code if there is no such queue. */
static int cancel_task(const struct call *call, struct muster_client *client, const char *task, void *arg)
{
    int *refused = arg;
    uint64_t removed, running;
    if (*refused)
        return MUSTER_OK;
    int err = muster_task_cancel(client, call->operands[0], task, strlen(task), &removed, &running);
    if (err == MUSTER_OK && removed + running == 0 && task == call->operands[1] &&
        known_is_missing(client, call->operands[0]))
        *refused = known_exit(call, client, call->operands[0]);
    if (err == MUSTER_OK && !*refused)
        print_cancelled(call, task, removed, running);
    return err;
}

static int cancel_process(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    return each_print_process(call, process, "told to stop", muster_process_cancel(client, process));
}

/* Which of the operands are jobs that can be cancelled. */
struct seen {
    const struct call *call;
    bool *is_there;
};

static int see(const struct muster_job *job, void *arg)
{
    struct seen *seen = arg;
    for (size_t i = 0; i < seen->call->n_operands; i++)
        seen->is_there[i] |= job->state != MUSTER_JOB_COMPLETE && strcmp(job->id, seen->call->operands[i]) == 0;
    return 0;
}

/* The ids that a call passes over. Of one id its counts say it. */
static int look_at_jobs(const struct call *call, struct muster_client *client, struct seen *seen)
{
    seen->is_there = need(calloc(call->n_operands, sizeof *seen->is_there));
    if (call->n_operands == 1)
        return MUSTER_OK;
    int err = muster_job_peek(client, (const char *const *)call->operands, call->n_operands, see, seen);
    return err == MUSTER_E_NOT_FOUND ? MUSTER_OK : err;
}

static int report_passed(const struct call *call, const struct seen *seen, uint64_t n_cancelled)
{
    size_t n = 0, first = 0;
    char others[TEXT_NUMBER_SIZE], rest[TEXT_NUMBER_SIZE + 16] = "";
    for (size_t i = call->n_operands; i-- > 0;)
        if (!seen->is_there[i]) {
            first = i;
            n++;
        }
    if (n_cancelled == 0) {
        complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND),
                         "none of these jobs exists, or those that do are complete");
        return EXIT_NOT_FOUND;
    }
    if (n == 0 || call->n_operands == 1)
        return EXIT_DONE;
    if (n > 1)
        snprintf(rest, sizeof rest, ", and so %s", text_number_of(others, n - 1, "other is", "others are"));
    complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND), "the job '%s' does not exist or is complete%s",
                     call->operands[first], rest);
    return EXIT_NOT_FOUND;
}

/* All in one call, because jobs that wait for one another can only be cancelled together. */
static int cancel_jobs(const struct call *call)
{
    static const struct out_column columns[] = {
        {NULL, "removed", OUT_COUNT}, {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    struct muster_client *client;
    uint64_t removed = 0, running = 0;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (!code)
        code = client_open(call, &client);
    if (code)
        return code;
    struct seen seen = {.call = call};
    int err = look_at_jobs(call, client, &seen);
    if (err == MUSTER_OK)
        err = muster_job_cancel(client, (const char *const *)call->operands, call->n_operands,
                                call->own[DEPENDENTS].set, &removed, &running);
    code = client_close(call, client, err);
    if (!code && call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.number = (int64_t)removed}, {.number = (int64_t)running}});
    else if (!code)
        out_text("%" PRIu64 " removed, %" PRIu64 " running told to stop\n", removed, running);
    if (!code)
        code = report_passed(call, &seen, removed + running);
    free(seen.is_there);
    return code;
}

static const struct opt options[] = {
    [PROCESS] = {.name = "process", .help = "the operands are ids of processes, as `muster ps` prints them"},
    [JOB] = {.name = "job", .help = "the operands are ids of jobs"},
    [DEPENDENTS] = {.name = "dependents",
                    .help = "with jobs: also cancel all jobs that wait until they are complete (put --after)"},
    [QUEUE] = BULK_QUEUE("queue"),
    [STATE] = BULK_STATE,
    [GROUP] = BULK_GROUP,
    [TAG] = BULK_TAG,
    [ANY] = BULK_ANY,
    [DRY_RUN] = BULK_DRY_RUN,
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    const struct bulk_choice choice = {&own[QUEUE],   &own[STATE],    &own[GROUP],     &own[ANY],
                                       &own[DRY_RUN], own[TAG].texts, own[TAG].n_texts};
    if (own[PROCESS].set && own[JOB].set)
        return complain_usage(call, "--process and --job exclude each other");
    if (bulk_is_chosen(&choice) && (own[PROCESS].set || own[JOB].set))
        return complain_usage(call,
                              "--process and --job name what to cancel, and exclude the options that choose jobs");
    if (bulk_is_chosen(&choice))
        return bulk_run(call, &choice,
                        &(struct muster_job_bulk){.size = sizeof(struct muster_job_bulk),
                                                  .action = MUSTER_JOBS_CANCEL,
                                                  .dependents = own[DEPENDENTS].set},
                        "cancelled");
    if (own[ANY].set || own[DRY_RUN].set)
        return complain_usage(call,
                              "--any and --dry-run are for jobs that are chosen: --tag, --state, --group, --queue");
    if (own[DEPENDENTS].set && !own[JOB].set)
        return complain_usage(call, "--dependents is for jobs: muster cancel --job ID...");
    if (call->n_operands == 0)
        return complain_usage(call, "%s is missing", own[JOB].set ? "ID" : own[PROCESS].set ? "PROCESS" : "QUEUE");
    if (own[JOB].set)
        return cancel_jobs(call);
    if (own[PROCESS].set)
        return each_process(call, cancel_process, NULL);
    int refused = EXIT_DONE, code = parse_check_operands(call, 0, 1, "QUEUE", muster_queue_check);
    if (!code && call->n_operands == 1)
        return complain_usage(call, "TASK is missing");
    if (!code)
        code = each_operand(call, 1, cancel_task, &refused);
    return code ? code : refused;
}

const struct command cmd_cancel = {
    .name = "cancel",
    .operands = "QUEUE TASK... | --process PROCESS... | --job ID... | --tag TAG ...",
    .summary = "Cancel all copies of tasks in a queue, single processes, or jobs",
    .about =
        "Waiting and delayed tasks are removed. The owner of a running task is told to stop, and only a finish\n"
        "still counts: if the task is given back, retried or failed, it is gone. A COMMAND of `muster work` gets\n"
        "SIGTERM, and SIGKILL if it goes on. The holder of a lease is told when it calls `muster extend`.\n"
        "\n"
        "Jobs are gone at once, also those that run, and their ids are free. Whoever runs one is told to stop in the\n"
        "same way, but no end of it counts any more. --process with the process of a job cancels that job.\n"
        "\n"
        "It is no error if a TASK does not exist. It is an error if its QUEUE or a PROCESS does not exist, if one of\n"
        "the jobs does not exist or is complete (the others are cancelled), or if nothing has the tag or group that\n"
        "chooses. A job is refused\n"
        "without --dependents if others wait until it is complete (put --after), unless these are among the IDs. With\n"
        "or without it, who waits for its end (--after-end) becomes ready, and who waits for its failure\n"
        "(--after-failure) is cancelled, and not counted. Failed and recurring jobs can be cancelled, too; the jobs\n"
        "that a recurring one has made stay. One call takes at most 500 IDs, and cancels at most 5000 jobs with\n"
        "--dependents. --process PROCESS never refuses: who waits until its job is complete fails.\n"
        "\n"
        "--queue, --state, --group and --tag choose all jobs for which these hold, but complete ones, however many\n"
        "they are, in steps of up to 100. Those that wait go before those for which they wait. One that is in another\n"
        "state or queue when its step comes, or is gone, is left alone, and counted. One refuses without --dependents\n"
        "if a job waits until it is complete that is not chosen (exit code 1). --dry-run only counts the chosen ones:\n"
        "it does not tell which would refuse.\n",
    .examples = "muster cancel mail alice@example.org\n"
                "muster cancel --process host-4711-8c1f2a:08h2v5k3q01:mail\n"
                "muster cancel --job invoice-17 --dependents\n"
                "muster cancel --tag spring-sale --state scheduled --dry-run\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run,
};
