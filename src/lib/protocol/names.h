/* SPDX-License-Identifier: MIT
 *
 * What the library itself asks of names and texts, besides the public checks.
 */
#ifndef NAMES_H
#define NAMES_H

#include <muster/client.h>
#include <stdbool.h>
#include <stddef.h>

/* Is there a control character in the text? */
bool names_have_control(const char *text);

/* A failure's group and message; either may be NULL. MUSTER_OK, or E_INVALID or E_TOO_BIG with a static string in
 * `why`. */
#define FAILURE_GROUP_DEFAULT "failed"
#define FAILURE_GROUP_TOO_LARGE "too-large"
#define FAILURE_GROUP_NOT_HANDED_ON "not-handed-on"
#define RETRY_GROUP_DEFAULT "retried"
int names_check_failure(const char *group, const char *message, const char **why);

/* A task's bytes, or a job's data. MUSTER_OK, or E_INVALID or E_TOO_BIG with words in `why`. */
int names_check_task(const struct muster_bytes *task, size_t max_len, const char **why);

/* The prefix that counts: the option `given`, else MUSTER_PREFIX, else the default. And what is wrong with it, in words
 * that name where it comes from. */
const char *names_prefix(const char *given);
const char *names_check_prefix_option(const char *given);

/* Joins ids, or other texts without control characters, each with a line feed after it. The result is to be freed; NULL
 * if memory ran out. */
char *names_join(const char *const *names, size_t n);

#endif
