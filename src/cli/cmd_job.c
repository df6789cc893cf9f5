/* SPDX-License-Identifier: MIT
 *
 * muster job: everything known about single jobs. A job that does not exist is named, and the others are printed all
 * the same.
 */
#include <muster/job.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "job_row.h"
#include "out.h"
#include "parse.h"

struct printing {
    bool json;
    size_t n;
};

static int print_job(const struct muster_job *job, void *arg)
{
    struct printing *p = arg;
    if (p->n++ > 0 && !p->json)
        out_text("\n");
    return job_row_print(job, p->json);
}

static int print_data(const struct muster_job *job, void *arg)
{
    (void)arg;
    return out_bytes(job->data.data, job->data.len);
}

static int print_result(const struct muster_job *job, void *arg)
{
    (void)arg;
    return out_bytes(job->result.data, job->result.len);
}

enum { DATA, RESULT };

static const struct opt options[] = {
    [DATA] = {.name = "data", .help = "print only its data, byte by byte"},
    [RESULT] = {.name = "result", .help = "print only its result, byte by byte"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    struct printing printing = {.json = call->common[OPT_JSON].set};
    muster_job_fn *print = own[DATA].set ? print_data : own[RESULT].set ? print_result : print_job;
    struct muster_client *client;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (code)
        return code;
    if (own[DATA].set + own[RESULT].set + printing.json > 1)
        return complain_usage(call, "--data, --result and --json exclude each other");
    code = client_open(call, &client);
    if (code)
        return code;
    return client_close(
        call, client, muster_job_get(client, (const char *const *)call->operands, call->n_operands, print, &printing));
}

const struct command cmd_job = {
    .name = "job",
    .operands = "ID...",
    .summary = "Show jobs: their state, data, result and history, and which jobs they wait for",
    .about = "The states are scheduled (its time has not come), depends (it waits for other jobs), waiting, running,\n"
             "failed, complete and recurring. If a job does not exist, the exit code is 3.\n",
    .examples = "muster job invoice-17\n"
                "muster job invoice-17 --json\n"
                "muster job resize-17 --result >small.jpg\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run,
};
