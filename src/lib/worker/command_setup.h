/* SPDX-License-Identifier: MIT
 *
 * A command as the program has described it: see command_setup.c.
 */
#ifndef COMMAND_SETUP_H
#define COMMAND_SETUP_H

#include <muster/worker.h>

struct executor_command {
    char *path;  /* the program, as it was found */
    char **argv; /* ends with NULL */
    char *replace;
    int retry_delay_ms;
    int grace_ms;
    enum muster_on_move on_move;
    int move_ms;
    enum muster_on_stdout on_stdout;
    enum muster_on_stderr on_stderr;
    size_t result_max;
};

/* Checks the command, finds the program, and copies all of it. On an error `why` gets the words. */
int command_setup_new(struct executor_command **out, const struct muster_command *command, char *why, size_t size);
void command_setup_free(struct executor_command *setup);

#endif
