/* SPDX-License-Identifier: MIT
 *
 * The verbs of the command, as its help lists them.
 */
#ifndef VERBS_H
#define VERBS_H

#include <stdbool.h>
#include <stddef.h>

/* A test that goes through the verbs has a row for each: `has_row` says so. Returns how many verbs there are. */
size_t verbs_assert_rows(const char *command, bool (*has_row)(const char *verb));

#endif
