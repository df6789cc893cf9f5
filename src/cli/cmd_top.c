/* SPDX-License-Identifier: MIT
 *
 * muster top: queues, workers and processes, live in the terminal.
 */
#include <unistd.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "top.h"

enum { INTERVAL, READ_ONLY };

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000

static const struct opt options[] = {
    [INTERVAL] = {.name = "interval",
                  .kind = OPT_DURATION,
                  .argument = "TIME",
                  .help = "how long after one look the next one begins",
                  .fallback = "1s",
                  .env = "MUSTER_TOP_INTERVAL",
                  .min = INTERVAL_MIN_MS,
                  .max = INTERVAL_MAX_MS},
    [READ_ONLY] = {.name = "read-only", .help = "show everything, change nothing", .env = "MUSTER_TOP_READ_ONLY"},
    {.help = NULL},
};

static int run(const struct call *call)
{
    struct top_options o = {
        .call = call, .interval_ms = call->own[INTERVAL].number, .is_read_only = call->own[READ_ONLY].set};
    const struct opt_value *json = &call->common[OPT_JSON];
    if (json->set && !json->from_environment)
        return complain_usage(call, "--json has no effect here: `muster queues`, `workers` and `ps` have it");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        complain_refusal(call, COMPLAIN_SYSTEM,
                         "standard input and output must be a terminal; "
                         "for a program: `muster queues`, `muster workers`, `muster ps`");
        return EXIT_FAILED;
    }
    int code = client_open(call, &o.client);
    return code ? code : top_run(&o);
}

const struct command cmd_top = {
    .name = "top",
    .operands = "",
    .summary = "Show queues, workers and processes live in the terminal; pause a queue, cancel a process",
    .about =
        "Tab goes from view to view, ? tells the keys, q quits. The columns are those of `muster queues`, `workers`\n"
        "and `ps`; IN/S and OUT/S are how many tasks came into a queue and left it, per second, since the look\n"
        "before. If Redis does not answer, the last rows stay, marked as old, and it is asked again.\n"
        "\n"
        "A look asks only for the view that is shown, and begins --interval after the last one has ended. At most\n"
        "20 000 rows are kept, and the others counted. DELAYED, FAILED and IDLE of a queue in which nothing comes or\n"
        "goes may be 5 seconds old. With NO_COLOR in the environment there are no colors.\n",
    .examples = "muster top\nmuster top --interval 500ms --read-only\n",
    .options = options,
    .run = run,
};
