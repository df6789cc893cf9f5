/* SPDX-License-Identifier: MIT
 *
 * For verbs that print a list: opens a client, prints the rows, closes it. The rows and columns are each verb's own.
 */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <muster/client.h>

#include "command.h"
#include "out.h"

/* Gets the rows from the library and adds each to the table. Returns the library's error. */
typedef int list_fn(const struct call *call, struct muster_client *client, struct out_table *table);

/* Print the table that `fn` fills. Returns the exit code. */
int list_print(const struct call *call, const struct out_column *columns, list_fn *fn);

#endif
