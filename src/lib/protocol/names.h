/* SPDX-License-Identifier: MIT
 *
 * What the library itself asks of names, beside the public checks: the parts of a process' id, and whether a failure
 * may be called so. Why not is a static string, as with the public ones.
 */
#ifndef NAMES_H
#define NAMES_H

#include "protocol/keys.h"

/* "<worker>:<token>:<queue>"; the worker may be MUSTER_LEASE_ID. */
struct process_name {
    char worker[MUSTER_WORKER_ID_MAX + 1], token[TOKEN_LEN + 1];
    const char *queue; /* within the text that was parsed */
};

/* NULL, or what is wrong with it. */
const char *process_name_parse(struct process_name *out, const char *text);

/* Ids, or other texts without control characters, with a line feed behind each; to be freed. NULL if memory ran out. */
char *names_join(const char *const *names, size_t n);

/* Is there a control character in it? */
int text_has_control(const char *text);

/* A failure's group and message; either may be NULL. MUSTER_OK, E_INVALID or E_TOO_BIG. */
#define FAILURE_GROUP_DEFAULT "failed"
int failure_check(const char *group, const char *message, const char **why);

#endif
