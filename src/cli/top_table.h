/* SPDX-License-Identifier: MIT
 *
 * The table of `muster top`: which columns there is room for, and its rows.
 */
#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H

#include "top.h"

/* Draw the headings at `line`, and `page` rows below. */
void top_table_draw(const struct top_pane *p, const char *const *spare, size_t line, size_t page);

#endif
