/* SPDX-License-Identifier: MIT
 *
 * An entry of the failed list, whose format stands in lua/include/task/failed.lua.
 */
#ifndef FAILED_H
#define FAILED_H

#include <muster/client.h>

#include "protocol/token.h"

struct failed_entry {
    char token[TOKEN_LEN + 1], worker[MUSTER_WORKER_ID_MAX + 1], group[MUSTER_GROUP_MAX + 1];
    struct muster_bytes message;
    int is_job;
    struct muster_bytes task; /* of a job its id; up to the end of the member, so with its NUL */
};

/* 0, or -1 if it is malformed. Borrows the member. */
int failed_entry_parse(struct failed_entry *e, struct muster_bytes member);

#endif
