/* SPDX-License-Identifier: MIT
 *
 * The figures of queues, asked for together.
 */
#ifndef QUEUE_ROW_H
#define QUEUE_ROW_H

#include "client/page.h"
#include "client/waiting.h"

/* What tells that something has come or gone, and what else there is. */
enum { QUEUE_ROW_SETTINGS, QUEUE_ROW_LINE, QUEUE_ROW_FIRST = QUEUE_ROW_LINE + WAITING_PARTS };
enum queue_row_rest {
    QUEUE_ROW_DELAYED,
    QUEUE_ROW_FAILED,
    QUEUE_ROW_FAILURES,
    QUEUE_ROW_IDLE,
    QUEUE_ROW_SCHEDULED,
    QUEUE_ROW_DEPENDS,
    QUEUE_ROW_RECURRING,
    QUEUE_ROW_COMPLETE,
    QUEUE_ROW_HELD,
    QUEUE_ROW_REST
};

struct queue_row {
    char *name;   /* set by the caller, as `born` */
    int64_t born; /* when the name was noted */
    struct muster_queue_info info;

    /* while it is asked for */
    struct ages_look look;
    struct redisReply *first[QUEUE_ROW_FIRST], *rest[QUEUE_ROW_REST];
    struct redisReply *jobs[2], *returned; /* the first and the last job that waits; the first that came back */
    bool is_known;                         /* the rest is as it was */
};

/* Fill in `info` of n rows, in two round trips. The rest of a row is remembered for `max_age_ms` as long as nothing
 * comes or goes; 0: it is asked for. Rows that were read free themselves; after an error, `info` is not set. */
int queue_row_read(struct muster_client *c, struct queue_row *rows, size_t n, int64_t max_age_ms, page_read_fn *read);

#endif
