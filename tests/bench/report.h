/* SPDX-License-Identifier: MIT
 *
 * What the samples of a row come to, as a line of a table or as JSON.
 */
#ifndef REPORT_H
#define REPORT_H

#include "bench.h"

void report_head(void);

/* Prints the row. Returns whether its goal was missed. */
int report_row(const struct row *row, const struct samples *samples, int as_json);

/* The rows, with what they are and their goals. */
void report_list(void);

#endif
