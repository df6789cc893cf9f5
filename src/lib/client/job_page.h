/* SPDX-License-Identifier: MIT
 *
 * The records of some jobs, read together in one round trip, or in a few if they are long; in one more if one of the
 * jobs is running.
 */
#ifndef JOB_PAGE_H
#define JOB_PAGE_H

#include <muster/job.h>

#include "client/client.h"
#include "client/job_too_big.h"
#include "protocol/job_record.h"

/* Data can be large: only a few at once. */
#define JOB_PAGE 16

/* Of a history the first line and so many of the newest ones come with the record. */
#define JOB_HISTORY_NEWEST (MUSTER_JOB_HISTORY_MAX - 1)

enum {
    JOB_RECORD,
    JOB_FIRST_LINE,
    JOB_HISTORY,
    JOB_N_HISTORY,
    JOB_AFTER,
    JOB_BEFORE,
    JOB_FOLLOWERS,
    JOB_N_BEFORE,
    JOB_N_FOLLOWERS,
    JOB_PARTS
};
/* The ways to wait for a job, by what follows its id in P:dependencies: nothing, "\ne", "\nf". */
enum { UNTIL_COMPLETE, UNTIL_ENDED, UNTIL_FAILED, WAYS };

struct job_page {
    struct job_page_row {
        const char *id; /* borrowed */
        int err;        /* MUSTER_OK; E_NOT_FOUND: there is no such job; E_REDIS: its record cannot be read; E_TOO_BIG:
                         * Redis does not send it */
        struct job_too_big too_big;
        struct job_record record;
        struct redisReply *parts[JOB_PARTS];
        struct redisReply *holder; /* running: the name under which its lease was taken */
        char *history_text;
        struct muster_job_event_line *history;
        char *names_text;
        const char **after[WAYS];
        const char **before;
        const char **blocked_by;
    } rows[JOB_PAGE];
    size_t n;
};

/* The lists: history, what it waits for, and `before`. `blocked_by` is there always. */
enum job_page_parts { RECORDS_ONLY, WITH_LISTS };

/* Fill in n and the ids of a page that is otherwise zero. Of a value of more than `most` bytes only the beginning is
 * read (heads.h). job_page_clear() must follow, whatever this returns. */
int job_page_read(struct muster_client *c, struct job_page *page, enum job_page_parts parts, size_t most);
void job_page_clear(struct job_page *page);

/* Rows of these pages that are there and cannot be had: the last one of each kind. Begin with 0. */
struct job_page_refused {
    const char *broken, *too_big;
    struct job_too_big how_big;
};
/* Is this row one of them? */
bool job_page_note_refused(struct job_page_refused *r, const struct job_page_row *row);
/* MUSTER_OK: there is none; or E_REDIS or E_TOO_BIG, in words with its id. */
int job_page_say_refused(struct muster_client *c, const struct job_page_refused *r);

#endif
