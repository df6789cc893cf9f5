/* SPDX-License-Identifier: MIT
 *
 * A worker as a row of a table, for all that lists workers.
 */
#ifndef CLI_WORKER_ROW_H
#define CLI_WORKER_ROW_H

#include <muster/client.h>

#include "out.h"

extern const struct out_column worker_row_columns[];

/* Add a row to the `struct out_table` at `arg`, which has these columns. Returns as out_row(). */
int worker_row_print(const struct muster_worker_info *worker, void *arg);

#endif
