/* SPDX-License-Identifier: MIT
 *
 * A job as a row of a list, and as a record of its own with all that is known of it.
 */
#ifndef CLI_JOB_ROW_H
#define CLI_JOB_ROW_H

#include <muster/job.h>
#include <stdbool.h>

#include "out.h"

extern const struct out_column job_row_columns[];

/* Adds a row to a table with these columns. Returns as out_row(). */
int job_row_add(struct out_table *table, const struct muster_job *job);

/* Prints the record, also its history, what it waits for and what waits for it. Returns as out_bytes(). */
int job_row_print(const struct muster_job *job, bool json);

#endif
