/* SPDX-License-Identifier: MIT
 *
 * `muster top`: what it shows at this moment, and what it waits for.
 */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "top_look.h"

#define TOP_FILTER_SIZE 120

struct top_options {
    const struct call *call;
    struct muster_client *client; /* becomes the verb's own */
    int64_t interval_ms;
    bool is_read_only;
};

enum top_mode { TOP_BROWSE, TOP_TYPE_FILTER, TOP_ASK, TOP_SHOW_HELP };

/* A view as it is shown. `name` is that of the row on which the bar is; it stays there when rows come and go. */
struct top_pane {
    struct top_sight sight; /* the last one that did not fail; its list is NULL before the first */
    struct top_row **rows;  /* those that the filter lets through, in order */
    size_t n_rows, at, first;
    size_t sort;
    bool is_sorted, is_descending;
    char *name;
};

struct top {
    const struct top_options *options;
    struct top_look *look;
    struct top_pane panes[TOP_VIEWS];
    enum top_view_id view;
    enum top_mode mode;
    bool is_ending;
    char *queue;                  /* only processes of this one; NULL: all */
    char filter[TOP_FILTER_SIZE]; /* "": none */
    char *trouble;                /* why the last look failed; NULL: it did not */
    char *message;                /* in the last line, until the next key; NULL: none */
    enum top_action action;       /* that is asked about */
    char *object;                 /* the same; to be freed */
    char *where;                  /* Redis */
    size_t page;                  /* how many rows there is room for */
};

/* Run it until it is left. Takes the client. Returns the exit code. */
int top_run(const struct top_options *o);

#endif
