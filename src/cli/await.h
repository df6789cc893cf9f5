/* SPDX-License-Identifier: MIT
 *
 * Waiting for jobs: muster wait, and --wait of the verbs that put them.
 */
#ifndef CLI_AWAIT_H
#define CLI_AWAIT_H

#include <muster/client.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"

/* Prints a line for each job as it ends, or with `results_only` its result, byte by byte. With --timeout it waits for so
 * long. Returns the highest of their exit codes, and complains itself about what has no line. */
int await_jobs(const struct call *call, struct muster_client *client, const char *const *ids, size_t n,
               bool results_only);

/* What the help of these verbs says of it. */
#define AWAIT_ABOUT                                                                                                   \
    "There is a line for each: the id, complete, failed, cancelled or gone (no record is left), and the result, or\n" \
    "group and message of the failure. The exit code is the highest of: 0 complete; 1 failed or cancelled; 3 gone;\n" \
    "124 some have not ended within --timeout, without which there is no limit.\n"

#endif
