/* SPDX-License-Identifier: MIT
 *
 * muster sweep: gives back the tasks of dead workers and of lapsed leases, now. Every worker does this by itself; the
 * verb is for when no worker is left.
 */
#include "client.h"
#include "command.h"
#include "out.h"
#include "text.h"

static int run(const struct call *call)
{
    static const struct out_column columns[] = {{NULL, "workers", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    char swept[TEXT_NUMBER_SIZE];
    struct muster_client *client;
    uint64_t workers;
    int code = client_open(call, &client);
    if (code)
        return code;
    code = client_close(call, client, muster_client_sweep(client, &workers));
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, &(struct out_cell){.number = (int64_t)workers});
    else
        out_text("%s swept\n", text_number_of(swept, workers, "dead worker", "dead workers"));
    return EXIT_DONE;
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_sweep = {
    .name = "sweep",
    .operands = "",
    .summary = "Give back the tasks of dead workers and of lapsed leases, as every worker does by itself",
    .about =
        "A worker is dead when its ttl has passed without a heartbeat; after a stall of Redis it has more time.\n"
        "Leases (`muster take`) whose time is over are ended, too, but only workers are counted.\n"
        "Only workers compute the next times of a schedule (`muster put --cron`): without one it makes the jobs of\n"
        "the times that its record has, and then waits.\n",
    .examples = "muster sweep\n",
    .options = options,
    .changes = true,
    .run = run,
};
