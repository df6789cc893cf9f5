/* SPDX-License-Identifier: MIT
 *
 * The figures of a row's samples, as a line of a table or as JSON.
 */
#ifndef REPORT_H
#define REPORT_H

#include "bench.h"

enum report_format { REPORT_TABLE, REPORT_JSON };

void report_head(void);

/* Prints the row. Returns whether its goal was missed. */
bool report_row(const struct row *row, const struct samples *samples, enum report_format format);

/* The rows, with what they measure and their goals. */
void report_list(void);

#endif
