/* SPDX-License-Identifier: MIT
 *
 * The rows of a view of `muster top`: their order, the filter, the bar.
 */
#ifndef CLI_TOP_PANE_H
#define CLI_TOP_PANE_H

#include "top.h"

/* Take a sight, which did not fail, in place of the one before. */
void top_pane_take(struct top_pane *p, struct top_sight *sight, const char *filter);
void top_pane_free(struct top_pane *p);

/* Let only rows through with these letters. */
void top_pane_filter(struct top_pane *p, const char *filter);

/* Sort by the column that many further on; 0: the other way round. */
void top_pane_sort(struct top_pane *p, int by, const char *filter);

/* Move the bar by rows, as far as there are rows. */
void top_pane_move(struct top_pane *p, long by);

/* The row under the bar, or NULL. */
const struct top_row *top_pane_row(const struct top_pane *p);

/* Scroll so that the bar is among the `page` rows that are seen. */
void top_pane_scroll(struct top_pane *p, size_t page);

#endif
