/* SPDX-License-Identifier: MIT
 *
 * Ids of jobs that another job is to wait for.
 */
#ifndef CLI_AFTER_H
#define CLI_AFTER_H

#include <muster/job.h>

#include "command.h"

/* Print a line for each of these ids that no job has: such a job is not waited for, and the id may be a slip of the
 * pen.
 */
void after_warn(const struct call *call, struct muster_client *client, const char *const *ids, size_t n);

#endif
