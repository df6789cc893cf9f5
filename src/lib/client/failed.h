/* SPDX-License-Identifier: MIT
 *
 * The failed list: an entry, and which ones a filter chooses. lua/include/task/failed.lua has the format of an entry.
 */
#ifndef FAILED_H
#define FAILED_H

#include <muster/client.h>
#include <stdbool.h>

#include "protocol/token.h"

struct failed_entry {
    char token[TOKEN_LEN + 1];
    char worker[MUSTER_WORKER_ID_MAX + 1];
    char holder[MUSTER_WORKER_ID_MAX + 1]; /* "": none */
    char group[MUSTER_GROUP_MAX + 1];
    struct muster_bytes message;
    bool is_job;
    struct muster_bytes task; /* of a job: its id. It is the end of the member, so a NUL follows */
};

/* That of a job has no more bytes; a task may. Who looks for jobs reads no more of each, and a few together. */
#define FAILED_JOB_MAX (MUSTER_MESSAGE_MAX + 1024)
#define FAILED_JOBS_PAGE 8

/* 0, or -1 if it is malformed. The member is borrowed. */
int failed_entry_parse(struct failed_entry *e, struct muster_bytes member);

/* MUSTER_OK, or what is wrong with the filter, with the reason as the client's error text. */
int failed_check_filter(struct muster_client *c, const struct muster_failed_filter *f);

/* The filter's entries, oldest first, each once. (Tokens sort as they count.) To be freed, whatever is returned. */
int failed_sort_entries(struct muster_client *c, const struct muster_failed_filter *f, const char ***sorted, size_t *n);

#endif
