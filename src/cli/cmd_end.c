/* SPDX-License-Identifier: MIT
 *
 * muster finish, give-back, retry, fail and extend: what the owner of a process says of it, by its id. It is for those
 * who hold a lease (`muster take`), but a worker's process can be ended in the same way.
 */
#include <muster/job.h>
#include <stdint.h>
#include <string.h>

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
                .help = "what those who listen to the queue, and a job's record, get"},
    [TO] = {.name = "to",
            .kind = OPT_STRING,
            .argument = "QUEUE",
            .help = "a job: done here, it goes on to this queue",
            .check = muster_queue_check},
    [TO_DELAY] = {.name = "delay",
                  .kind = OPT_DURATION,
                  .argument = "TIME",
                  .help = "there not before so long from now",
                  .fallback = "0s",
                  .max = MUSTER_JOB_MS_MAX},
    [AFTER] = {.name = "after",
               .kind = OPT_LIST,
               .argument = "ID",
               .help = "there not before this job is complete; may be given more than once",
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
    return each_print_process(call, process, "finished", muster_lease_finish(client, process, &o));
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
    .summary = "End processes as done: their tasks are gone for good, their jobs complete",
    .about = "One that is not there (any more), as when its lease has lapsed, is refused with exit code 1. So is --to "
             "for a\n"
             "task that is no job.\n",
    .examples = "muster finish .lease:08h2v5k3q01:mail\n"
                "muster finish .lease:08h2v5k3q01:resize --to upload --after consent-17\n"
                "muster finish .lease:08h2v5k3q01:mail --result 'sent in 3 parts'\n",
    .options = finish_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
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
    .about = "Each goes to the front: give several back in reverse order, and they come out as they did before.\n",
    .examples = "muster give-back .lease:08h2v5k3q01:mail\n",
    .options = give_back_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_give_back,
};

/* ---- retry ---- */

enum { DELAY };

static const struct opt retry_options[] = {
    [DELAY] = {.name = "delay",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "not before so long from now (a task at once, a job by its --backoff)",
               .max = DELAY_MAX_MS},
    {.help = NULL},
};

static int retry(const struct call *call, struct muster_client *client, const char *process, void *arg)
{
    (void)arg;
    int64_t delay_ms = call->own[DELAY].set ? call->own[DELAY].number : -1;
    return each_print_process(call, process, "retried", muster_lease_retry(client, process, delay_ms));
}

static int run_retry(const struct call *call)
{
    return each_process(call, retry, NULL);
}

const struct command cmd_retry = {
    .name = "retry",
    .operands = "PROCESS...",
    .summary = "End processes as not done: their tasks go to the end of their queues, after a delay",
    .about = "A job that has had all its retries fails instead, group \"failed-retries\".\n",
    .examples = "muster retry .lease:08h2v5k3q01:mail --delay 5m\n",
    .options = retry_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_retry,
};

/* ---- fail ---- */

enum { GROUP, MESSAGE };

static const struct opt fail_options[] = {
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "the kind of failure: lists, replays and drops go by it",
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
    .about = "`muster failed` shows what is there, `muster replay` puts it back.\n",
    .examples = "muster fail .lease:08h2v5k3q01:mail --group bounced --message 'no such mailbox'\n",
    .options = fail_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
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
               .help = "the lease ends so long from now",
               .min = 1,
               .max = MUSTER_LEASE_MAX_MS},
    [PROGRESS] = {.name = "progress",
                  .kind = OPT_STRING,
                  .argument = "TEXT",
                  .help = "how far the work is, for `muster ps`; '' removes the note",
                  .check = check_progress},
    [DATA] = {.name = "data", .kind = OPT_STRING, .argument = "DATA", .help = "a job's new data, for its next taker"},
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
    .summary = "Extend the leases of processes, say how far their work is, or give jobs new data",
    .about =
        "A process of a worker has no lease, but may get a note. One that was cancelled gets neither (exit code 1):\n"
        "so who extends a lease now and then learns that the work is not wanted any more. Nor does a task that is no "
        "job\n"
        "get new data.\n",
    .examples = "muster extend .lease:08h2v5k3q01:mail --lease 5m\n"
                "muster extend \"$MUSTER_PROCESS\" --progress '40 of 100 pages'\n",
    .options = extend_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_extend,
};
