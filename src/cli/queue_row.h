/* SPDX-License-Identifier: MIT
 *
 * A queue as a row of a table, for all that lists queues.
 */
#ifndef CLI_QUEUE_ROW_H
#define CLI_QUEUE_ROW_H

#include <muster/client.h>

#include "out.h"

extern const struct out_column queue_row_columns[];

/* Add a row to the `struct out_table` at `arg`, which has these columns. Returns as out_row(). */
int queue_row_print(const struct muster_queue_info *queue, void *arg);

#endif
