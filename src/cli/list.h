/* SPDX-License-Identifier: MIT
 *
 * What the verbs that print a list share: open, list, close; the rows and their columns are each verb's own.
 */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <muster/client.h>

#include "command.h"
#include "out.h"

/* Asks the library for the rows and has each added to the table. Returns the library's error. */
typedef int list_fn(const struct call *call, struct muster_client *client, struct out_table *table);

/* Returns the exit code. */
int list_print(const struct call *call, const struct out_column *columns, list_fn *fn);

#endif
