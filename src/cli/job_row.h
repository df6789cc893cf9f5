/* SPDX-License-Identifier: MIT
 *
 * A job as a row of a list, and as a record with all that is known about it.
 */
#ifndef CLI_JOB_ROW_H
#define CLI_JOB_ROW_H

#include <muster/job.h>
#include <stdbool.h>

#include "out.h"

extern const struct out_column job_row_columns[];

/* Add a row to a table with these columns. Returns as out_row(). */
int job_row_add(struct out_table *table, const struct muster_job *job);

/* Print the record: also the history, the jobs it waits for and the jobs that wait for it. Returns as out_bytes(). */
int job_row_print(const struct muster_job *job, bool json);

#endif
