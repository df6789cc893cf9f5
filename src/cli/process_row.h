/* SPDX-License-Identifier: MIT
 *
 * A process as a row of a table, for the verbs that show processes.
 */
#ifndef CLI_PROCESS_ROW_H
#define CLI_PROCESS_ROW_H

#include <muster/client.h>

#include "out.h"

extern const struct out_column process_row_columns[];

/* Add a row to a table with these columns. Returns as out_row(). */
int process_row_add(struct out_table *table, const struct muster_process_info *process);

#endif
