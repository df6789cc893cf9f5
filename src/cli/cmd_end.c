/* SPDX-License-Identifier: MIT
 *
 * muster finish, give-back, retry, fail and extend: what the owner of a process says about it, by its id. They are for
 * the holder of a lease (`muster take`), but a worker's process can be ended in the same way.
 */
#include <muster/job.h>
#include <stdint.h>
#include <string.h>

#include "after.h"
#include "command.h"
#include "complain.h"
#include "each.h"

#define DELAY_MAX_MS (365 * DAY_MS)

/* ---- finish ---- */

enum { RESULT, TO, TO_DELAY, AFTER };

static const struct opt finish_options[] = {
    [RESULT] = {.name = "result",
                .kind = OPT_STRING,
                .argument = "TEXT",
                .help = "the result, for listeners of the queue and for the job's record"},
    [TO] = {.name = "to",
            .kind = OPT_STRING,
            .argument = "QUEUE",
            .help = "for a job: it goes on to this queue, instead of being complete",
            .check = muster_queue_check},
    [TO_DELAY] = {.name = "delay",
                  .kind = OPT_DURATION,
                  .argument = "TIME",
                  .help = "with --to: how long the job waits there before it can run",
                  .fallback = "0s",
                  .max = MUSTER_JOB_MS_MAX},
    [AFTER] = {.name = "after",
               .kind = OPT_LIST,
               .argument = "ID",
               .help = "with --to: run it only after this job is complete, see above; may be given more than once",
               .check = muster_job_id_check},
    {.help = NULL},
};

static int finish(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    const struct opt_value *own = call->own;
    const char *text = own[RESULT].text;
    const struct muster_bytes result = {text, text ? strlen(text) : 0};
    const struct muster_finish_options o = {
        .size = sizeof o,
        .result = text ? &result : NULL,
        .next = own[TO].text,
        .delay_ms = own[TO_DELAY].number,
        .after = own[AFTER].texts,
        .n_after = own[AFTER].n_texts,
    };
    int err = muster_lease_finish(client, process, &o);
    if (err == MUSTER_OK)
        after_warn(call, client, o.after, o.n_after);
    return each_print_process(call, process, "finished", err);
}

static int run_finish(const struct call *call)
{
    if (!call->own[TO].set && (call->own[TO_DELAY].set || call->own[AFTER].set))
        return complain_usage(call, "--delay and --after are for a job that goes on --to a queue");
    return each_process(call, finish, NULL);
}

const struct command cmd_finish = {
    .name = "finish",
    .operands = "PROCESS...",
    .summary = "End processes as done: their tasks are gone for good, their jobs are complete",
    .about =
        "A process that no longer exists, for example because its lease has lapsed, is refused with exit code 1. So\n"
        "is --to for a task that is not a job.\n"
        "\n"
        "A job of --after that does not exist is not waited for, because the work is done by then; a line on standard\n"
        "error names it.\n",
    .examples = "muster finish .lease:08h2v5k3q01:mail\n"
                "muster finish .lease:08h2v5k3q01:resize --to upload --after consent-17\n"
                "muster finish .lease:08h2v5k3q01:mail --result 'sent in 3 parts'\n",
    .options = finish_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run_finish,
};

/* ---- give-back ---- */

static int give_back(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    return each_print_process(call, process, "given back", muster_lease_give_back(client, process));
}

static int run_give_back(const struct call *call)
{
    return each_process(call, give_back, NULL);
}

static const struct opt give_back_options[] = {{.help = NULL}};

const struct command cmd_give_back = {
    .name = "give-back",
    .operands = "PROCESS...",
    .summary = "End processes as not done: their tasks go back to the front of their queues",
    .about = "Given back, tasks come out before all others, in the order in which they were taken, whatever the order\n"
             "here. That of a process that was cancelled is gone instead, which is said (exit code 1).\n",
    .examples = "muster give-back .lease:08h2v5k3q01:mail\n",
    .options = give_back_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run_give_back,
};

/* ---- retry ---- */

enum { DELAY, RETRY_GROUP, RETRY_MESSAGE };

static const struct opt retry_options[] = {
    [DELAY] = {.name = "delay",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long until it can run again (default: 0s for a task, its --backoff for a job)",
               .max = DELAY_MAX_MS},
    [RETRY_GROUP] = {.name = "group",
                     .kind = OPT_STRING,
                     .argument = "GROUP",
                     .help = "for a job: the cause, which is the group of its failure when its retries are used up",
                     .check = opt_check_group},
    [RETRY_MESSAGE] = {.name = "message",
                       .kind = OPT_STRING,
                       .argument = "TEXT",
                       .help = "for a job: what happened (group `retried` without --group)"},
    {.help = NULL},
};

static int retry(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    const struct opt_value *own = call->own;
    int64_t delay_ms = own[DELAY].set ? own[DELAY].number : -1;
    return each_print_process(
        call, process, "retried",
        muster_lease_retry_as(client, process, delay_ms, own[RETRY_GROUP].text, own[RETRY_MESSAGE].text));
}

static int run_retry(const struct call *call)
{
    return each_process(call, retry, NULL);
}

const struct command cmd_retry = {
    .name = "retry",
    .operands = "PROCESS...",
    .summary = "End processes as not done: their tasks go to the end of their queues, after a delay",
    .about =
        "A job that has used up its retries fails instead, which is said (exit code 1). Its group is that of this\n"
        "retry, otherwise that of the last retry that had one, otherwise \"failed-retries\". A plain task keeps\n"
        "neither group nor message, so both are refused for it (exit code 1).\n"
        "\n"
        "A COMMAND of `muster work` retries its own process so; then its exit status means nothing.\n",
    .examples = "muster retry .lease:08h2v5k3q01:mail --delay 5m\n"
                "muster retry .lease:08h2v5k3q01:mail --group greylisted --message '451 try again later'\n"
                "muster retry \"$MUSTER_PROCESS\" --delay 1h --message 'the host is down'\n",
    .options = retry_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run_retry,
};

/* ---- fail ---- */

enum { GROUP, MESSAGE };

static const struct opt fail_options[] = {
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "the kind of failure, by which `muster failed`, `replay` and `drop` choose",
               .fallback = "failed",
               .check = opt_check_group},
    [MESSAGE] = {.name = "message", .kind = OPT_STRING, .argument = "TEXT", .help = "what happened"},
    {.help = NULL},
};

static int fail(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    const struct opt_value *own = call->own;
    return each_print_process(call, process, "failed",
                              muster_lease_fail(client, process, own[GROUP].text, own[MESSAGE].text));
}

static int run_fail(const struct call *call)
{
    return each_process(call, fail, NULL);
}

const struct command cmd_fail = {
    .name = "fail",
    .operands = "PROCESS...",
    .summary = "End processes as failed: their tasks go to the failed lists of their queues",
    .about = "`muster failed` lists failed tasks, `muster replay` puts them back.\n",
    .examples = "muster fail .lease:08h2v5k3q01:mail --group bounced --message 'no such mailbox'\n",
    .options = fail_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run_fail,
};

/* ---- extend ---- */

static const char *check_progress(const char *text)
{
    return strlen(text) > MUSTER_PROGRESS_MAX ? "a note has at most 4096 bytes" : NULL;
}

_Static_assert(MUSTER_PROGRESS_MAX == 4096, "check_progress() tells the limit");

enum { LEASE, PROGRESS, DATA };

static const struct opt extend_options[] = {
    [LEASE] = {.name = "lease",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long the lease lasts, counted from now",
               .min = 1,
               .max = MUSTER_LEASE_MAX_MS},
    [PROGRESS] = {.name = "progress",
                  .kind = OPT_STRING,
                  .argument = "TEXT",
                  .help = "a note on how far the work is, shown by `muster ps`; '' removes it",
                  .check = check_progress},
    [DATA] = {.name = "data",
              .kind = OPT_STRING,
              .argument = "DATA",
              .help = "the job's new data, for whatever takes it next"},
    {.help = NULL},
};

static int extend(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    const char *text = call->own[DATA].text;
    const struct muster_bytes data = {text, text ? strlen(text) : 0};
    const struct muster_extend_options o = {
        .size = sizeof o,
        .lease_ms = call->own[LEASE].number,
        .progress = call->own[PROGRESS].text,
        .data = text ? &data : NULL,
    };
    return each_print_process(call, process, "extended", muster_lease_extend(client, process, &o));
}

static int run_extend(const struct call *call)
{
    if (!call->own[LEASE].set && !call->own[PROGRESS].set && !call->own[DATA].set)
        return complain_usage(call, "--lease, --progress or --data is missing");
    return each_process(call, extend, NULL);
}

const struct command cmd_extend = {
    .name = "extend",
    .operands = "PROCESS...",
    .summary = "Extend leases, note how far the work of processes is, or give their jobs new data",
    .about =
        "A worker's process has no lease, but it can have a note. A cancelled process gets neither a longer lease\n"
        "nor a note (exit code 1): so if you extend a lease now and then, you learn when the work is no longer\n"
        "wanted. --data is refused for a task that is not a job.\n",
    .examples = "muster extend .lease:08h2v5k3q01:mail --lease 5m\n"
                "muster extend \"$MUSTER_PROCESS\" --progress '40 of 100 pages'\n",
    .options = extend_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run_extend,
};
