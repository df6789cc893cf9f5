/* SPDX-License-Identifier: MIT
 *
 * Makes and parses the ids of processes.
 */
#include "protocol/process_name.h"

#include <stdio.h>
#include <string.h>

/* Only a queue's name can hold a colon. So the first colon ends the worker, and the second ends the token. */
const char *process_name_parse(struct process_name *out, const char *text)
{
    static const char shape[] = "a process' id has the form <worker>:<token>:<queue>, as w1:1j0sfv40rim:mail";
    uint64_t token;
    const char *worker_end = text ? strchr(text, ':') : NULL;
    const char *token_end = worker_end ? strchr(worker_end + 1, ':') : NULL;
    if (!token_end || token_parse(worker_end + 1, (size_t)(token_end - worker_end - 1), &token) != MUSTER_OK)
        return shape;
    size_t len = (size_t)(worker_end - text);
    if (len > MUSTER_WORKER_ID_MAX)
        return muster_worker_id_check(text);
    memcpy(out->worker, text, len);
    out->worker[len] = '\0';
    token_format(out->token, token);
    out->queue = token_end + 1;
    const char *why = strcmp(out->worker, MUSTER_LEASE_ID) == 0 ? NULL : muster_worker_id_check(out->worker);
    return why ? why : muster_queue_check(out->queue);
}

void process_name_format(char out[PROCESS_ID_MAX], const char *worker, const char *token, const char *queue)
{
    snprintf(out, PROCESS_ID_MAX, "%s:%s:%s", worker, token, queue);
}

void process_name_of_lease(char out[PROCESS_ID_MAX], uint64_t token, const char *queue)
{
    char text[TOKEN_LEN + 1];
    token_format(text, token);
    process_name_format(out, MUSTER_LEASE_ID, text, queue);
}

const char *muster_process_id_check(const char *process)
{
    struct process_name parts;
    return process_name_parse(&parts, process);
}
