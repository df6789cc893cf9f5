/* SPDX-License-Identifier: MIT
 *
 * The id of a process, "<worker>:<token>:<queue>", and its parts.
 */
#ifndef PROCESS_NAME_H
#define PROCESS_NAME_H

#include <muster/client.h>

#include "protocol/token.h"

#define PROCESS_ID_MAX (MUSTER_WORKER_ID_MAX + 1 + TOKEN_LEN + 1 + MUSTER_QUEUE_MAX + 1)

struct process_name {
    char worker[MUSTER_WORKER_ID_MAX + 1]; /* may be MUSTER_LEASE_ID */
    char token[TOKEN_LEN + 1];
    const char *queue; /* within the text that was parsed */
};

/* NULL, or what is wrong with it: a static string. */
const char *process_name_parse(struct process_name *out, const char *text);

void process_name_format(char out[PROCESS_ID_MAX], const char *worker, const char *token, const char *queue);
/* Of one that was taken under a lease. */
void process_name_of_lease(char out[PROCESS_ID_MAX], uint64_t token, const char *queue);

#endif
