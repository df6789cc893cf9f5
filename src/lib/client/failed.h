/* SPDX-License-Identifier: MIT
 *
 * An entry of the failed list. lua/include/task/failed.lua has its format.
 */
#ifndef FAILED_H
#define FAILED_H

#include <muster/client.h>
#include <stdbool.h>

#include "protocol/token.h"

struct failed_entry {
    char token[TOKEN_LEN + 1];
    char worker[MUSTER_WORKER_ID_MAX + 1];
    char group[MUSTER_GROUP_MAX + 1];
    struct muster_bytes message;
    bool is_job;
    struct muster_bytes task; /* of a job: its id. It is the end of the member, so a NUL follows */
};

/* 0, or -1 if it is malformed. Borrows the member. */
int failed_entry_parse(struct failed_entry *e, struct muster_bytes member);

#endif
