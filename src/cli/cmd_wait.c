/* SPDX-License-Identifier: MIT
 *
 * muster wait: until jobs have ended.
 */
#include <muster/job.h>
#include <stdint.h>

#include "await.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "parse.h"

enum { RESULT };

static const struct opt options[] = {
    [RESULT] = {.name = "result", .help = "print only the results, byte by byte, in the order in which the jobs end"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct muster_client *client;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (!code && call->own[RESULT].set && call->common[OPT_JSON].set)
        code = complain_usage(call, "--result and --json exclude each other");
    if (!code)
        code = client_open(call, &client);
    if (code)
        return code;
    code = await_jobs(call, client, (const char *const *)call->operands, call->n_operands, call->own[RESULT].set);
    client_free(client);
    return code;
}

const struct command cmd_wait = {
    .name = "wait",
    .operands = "ID...",
    .summary = "Wait until jobs have ended, and print how, with their results",
    .about = AWAIT_ABOUT
    "\n"
    "A job that is retried has not ended. One that has failed has, also if it is replayed later. Nothing is polled:\n"
    "it listens to what happens to jobs, and goes on when Redis comes back within a minute. Jobs that have ended\n"
    "already are told at once. A recurring job ends after its last time (--until, --count) or when it is cancelled;\n"
    "without these, wait for the jobs that it makes.\n",
    .examples = "muster wait invoice-17\n"
                "muster wait resize-1 resize-2 --timeout 10m --json\n"
                "muster wait resize-17 --result >small.jpg\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run,
};
