/* SPDX-License-Identifier: MIT
 *
 * Help, printed from the tables of commands, options and exit codes.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

/* Print the help of one verb, or the overview. `commands` ends with NULL. */
void help_command(const struct command *command);
void help_overview(const struct command *const *commands);

#endif
