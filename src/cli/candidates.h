/* SPDX-License-Identifier: MIT
 *
 * What can stand at the end of a command line that is being typed.
 */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "command.h"

/* Print a line for each word that can take the place of the last one of `words`: the word, a tab, and what it is. An
 * empty word stands for what the shell completes itself: `file`, or `command` for a program. `words` are those after
 * `muster`; there is at least one. */
void candidates_print(const struct call *call, char **words);

#endif
