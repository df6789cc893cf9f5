/* SPDX-License-Identifier: MIT
 *
 * muster help: the overview, or the help of one verb.
 */
#include "help.h"
#include "verbs.h"

static int run(const struct call *call)
{
    if (call->n_operands == 0) {
        help_overview(verbs_all);
        return EXIT_DONE;
    }
    const struct command *command = verbs_find(call->operands[0]);
    if (!command)
        return verbs_refuse(call->operands[0], call->common[OPT_JSON].set);
    help_command(command);
    return EXIT_DONE;
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "Show help for muster or for one of its commands",
    .examples = "muster help\nmuster help work\n",
    .options = options,
    .max_operands = 1,
    .run = run,
};
