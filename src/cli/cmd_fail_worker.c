/* SPDX-License-Identifier: MIT
 *
 * muster fail-worker: declares a worker dead, whether it is alive or not. It is for permanent workers that do not come
 * back, and for a worker whose handler hangs while its heartbeat goes on.
 */
#include "client.h"
#include "command.h"
#include "complain.h"
#include "out.h"
#include "text.h"

static int run(const struct call *call)
{
    static const struct out_column columns[] = {
        {NULL, "worker", OUT_TEXT}, {NULL, "given_back", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    const char *worker = call->operands[0], *why = muster_worker_id_check(worker);
    char tasks[TEXT_NUMBER_SIZE];
    struct muster_client *client;
    uint64_t given_back;
    if (why)
        return complain_usage(call, "%s", why);
    int code = client_open(call, &client);
    if (code)
        return code;
    code = client_close(call, client, muster_worker_fail(client, worker, &given_back));
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = worker}, {.number = (int64_t)given_back}});
    else
        out_text("%s: %s given back\n", worker, text_number_of(tasks, given_back, "task", "tasks"));
    return EXIT_DONE;
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_fail_worker = {
    .name = "fail-worker",
    .operands = "WORKER",
    .summary = "Declare a worker or a holder of leases dead: its tasks go back to the front of their queues",
    .about = "The leases that were taken under this name (`muster take --holder`) end, too, also if no worker has it.\n"
             "If the worker is alive after all, it learns this from its next heartbeat and registers again; the tasks\n"
             "that it held are no longer its own. `muster workers` lists the ids, `muster ps`\n"
             "the holders.\n",
    .examples = "muster fail-worker mailer-1\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .changes = true,
    .run = run,
};
