/* SPDX-License-Identifier: MIT
 *
 * muster job: everything known about single jobs. A job that does not exist is named, and the others are printed all
 * the same.
 */
#include <inttypes.h>
#include <muster/job.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "job_row.h"
#include "list.h"
#include "out.h"
#include "parse.h"

struct printing {
    const struct call *call;
    bool json;
    size_t n;
};

/* What is piped on must not be cut in silence. */
static void warn_of_cut(const struct printing *p, const struct muster_job *job, const char *what, size_t len,
                        uint64_t whole)
{
    if (whole > len)
        complain(p->call, "the %s of the job '%s' has %" PRIu64 " bytes: only its first %zu are shown", what, job->id,
                 whole, len);
}

static int print_job(const struct muster_job *job, void *arg)
{
    struct printing *p = arg;
    if (p->n++ > 0 && !p->json)
        out_text("\n");
    if (!p->json) {
        warn_of_cut(p, job, "data", job->data.len, job->whole_len);
        warn_of_cut(p, job, "result", job->result.len, job->whole_result_len);
        if (job->whole_before > job->n_before)
            complain(p->call, "%" PRIu64 " jobs wait for the job '%s': only %zu of them are shown", job->whole_before,
                     job->id, job->n_before);
    }
    return job_row_print(job, p->json);
}

static int print_data(const struct muster_job *job, void *arg)
{
    warn_of_cut(arg, job, "data", job->data.len, job->whole_len);
    return out_bytes(job->data.data, job->data.len);
}

static int print_result(const struct muster_job *job, void *arg)
{
    warn_of_cut(arg, job, "result", job->result.len, job->whole_result_len);
    return out_bytes(job->result.data, job->result.len);
}

/* ---- what a job was put to wait for ---- */

static const struct out_column parent_columns[] = {{"ID", "id", OUT_TEXT},          {"STATE", "state", OUT_TEXT},
                                                   {"QUEUE", "queue", OUT_TEXT},    {"SINCE", "since_ms", OUT_TIME},
                                                   {"GROUP", "group", OUT_TEXT},    {"MESSAGE", "message", OUT_BYTES},
                                                   {"RESULT", "result", OUT_BYTES}, {NULL, NULL, OUT_TEXT}};

static const char *text_or_none(const char *text)
{
    return *text ? text : NULL;
}

static int add_parent(const struct muster_job_parent *parent, void *table)
{
    const struct muster_job *job = parent->job;
    if (!job)
        return out_row(table, (const struct out_cell[]){{.text = parent->id},
                                                        {.text = muster_job_end_name(MUSTER_JOB_END_GONE)},
                                                        {.text = NULL},
                                                        {.number = -1},
                                                        {.text = NULL},
                                                        {.text = NULL},
                                                        {.text = NULL}});
    return out_row(table, (const struct out_cell[]){
                              {.text = job->id},
                              {.text = muster_job_state_name(job->state)},
                              {.text = job->queue},
                              {.number = job->since_ms},
                              {.text = text_or_none(job->group)},
                              {.text = job->message.len > 0 ? job->message.data : NULL, .len = job->message.len},
                              {.text = job->result.data, .len = job->result.len}});
}

static int list_parents(const struct call *call, struct muster_client *client, struct out_table *table)
{
    return muster_job_parents(client, call->operands[0], add_parent, table);
}

enum { DATA, RESULT, HEAD, PARENTS };

static const struct opt options[] = {
    [DATA] = {.name = "data", .help = "print only its data, byte by byte"},
    [RESULT] = {.name = "result", .help = "print only its result, byte by byte"},
    [HEAD] = {.name = "head", .help = "of data and result at most the first 64 KiB, of the history 100 lines"},
    [PARENTS] = {.name = "parents", .help = "list the jobs that it was put to wait for, with their states and results"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    struct printing printing = {.call = call, .json = call->common[OPT_JSON].set};
    muster_job_fn *print = own[DATA].set ? print_data : own[RESULT].set ? print_result : print_job;
    struct muster_client *client;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (code)
        return code;
    if (own[DATA].set + own[RESULT].set + printing.json > 1)
        return complain_usage(call, "--data, --result and --json exclude each other");
    if (own[PARENTS].set && own[DATA].set + own[RESULT].set + own[HEAD].set > 0)
        return complain_usage(call, "--parents excludes --data, --result and --head");
    if (own[PARENTS].set && call->n_operands != 1)
        return complain_usage(call, "--parents is of one ID");
    if (own[PARENTS].set)
        return list_print(call, parent_columns, list_parents);
    code = client_open(call, &client);
    if (code)
        return code;
    const char *const *ids = (const char *const *)call->operands;
    return client_close(
        call, client,
        (own[HEAD].set ? muster_job_peek : muster_job_get)(client, ids, call->n_operands, print, &printing));
}

const struct command cmd_job = {
    .name = "job",
    .operands = "ID...",
    .summary = "Show jobs: their state, data, result and history, and which jobs they wait for",
    .about =
        "The states are scheduled (its time has not come), depends (it waits for other jobs), waiting, held (as many\n"
        "jobs of its key run or wait as may run), running, failed, complete and recurring. If a job does not\n"
        "exist, the exit code is 3. --head is for one that is large: Redis sends no more of it.\n"
        "\n"
        "A job that waits for one which has failed is blocked by it, and waits until that is replayed.\n"
        "--parents lists all jobs that it was put to wait for, as they were named: those of --after, then of\n"
        "--after-end, then of --after-failure. For a COMMAND of `muster work` it is\n"
        "`muster job \"$MUSTER_JOB\" --parents`. A job without a record is gone.\n",
    .examples = "muster job invoice-17\n"
                "muster job invoice-17 --json\n"
                "muster job resize-17 --result >small.jpg\n"
                "muster job publish-17 --parents --json\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run,
};
