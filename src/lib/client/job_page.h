/* SPDX-License-Identifier: MIT
 *
 * Some jobs' records, read together: in one round trip, in two if one of them is running.
 */
#ifndef JOB_PAGE_H
#define JOB_PAGE_H

#include <muster/job.h>

#include "client/client.h"
#include "protocol/job_record.h"

/* Data can be large: few of them at once. */
#define JOB_PAGE 16

enum { JOB_RECORD, JOB_HISTORY, JOB_AFTER, JOB_BEFORE, JOB_PARTS };

struct job_page {
    struct job_page_row {
        const char *id; /* borrowed */
        int err;        /* MUSTER_OK; E_NOT_FOUND: there is none; E_REDIS: its record cannot be read */
        struct job_record record;
        struct redisReply *parts[JOB_PARTS];
        char *history_text;
        struct muster_job_event_line *history;
        const char **after, **before;
    } rows[JOB_PAGE];
    size_t n;
};

/* Fill in n and the ids, of a page that is otherwise zero. `whole`: with history, `after` and `before`. After any
 * return, job_page_clear(). */
int job_page_read(struct muster_client *c, struct job_page *page, int whole);
void job_page_clear(struct job_page *page);

#endif
