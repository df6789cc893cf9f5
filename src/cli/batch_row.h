/* SPDX-License-Identifier: MIT
 *
 * Which fields of a batch are shown, and how.
 */
#ifndef CLI_BATCH_ROW_H
#define CLI_BATCH_ROW_H

#include <muster/batch.h>
#include <stdbool.h>

#include "out.h"

extern const struct out_column batch_row_columns[];

/* Add a row to a table with these columns. */
int batch_row_add(struct out_table *table, const struct muster_batch *batch);

/* Print one batch for people, or as JSON. Both return as out_bytes(). */
int batch_row_print(const struct muster_batch *batch, bool json);

#endif
