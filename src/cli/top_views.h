/* SPDX-License-Identifier: MIT
 *
 * The views of `muster top`: what each one lists, and how it is asked for.
 */
#ifndef CLI_TOP_VIEWS_H
#define CLI_TOP_VIEWS_H

#include <muster/client.h>

#include "top_list.h"

enum top_view_id { TOP_QUEUES, TOP_WORKERS, TOP_PROCESSES, TOP_VIEWS };

/*
 *   name    in the line of views
 *   sort    the heading of the column that it is sorted by at first
 *   sums    headings of columns whose sums stand above, ended by NULL
 *   spare   headings of columns that go, one after the other, if the terminal is too narrow; ended by NULL
 *   mark    a row with `marked` in this column of yes and no is shown in another color
 */
struct top_view {
    const char *name, *sort, *sums[5], *spare[7], *mark;
    bool marked;
};
extern const struct top_view top_views[TOP_VIEWS];

/* What one look leaves for the next one: how many tasks had come into each queue and left it. */
struct top_totals;
struct top_totals *top_views_totals(void);
void top_views_totals_free(struct top_totals *t);

/* Ask Redis for the rows of a view; `queue`: only processes of this one, or NULL. Sets `*out`, also if it fails. Returns
 * the library's error. */
int top_views_fill(enum top_view_id view, struct muster_client *client, const char *queue, struct top_totals *totals,
                   struct top_list **out);

#endif
