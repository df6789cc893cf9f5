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

/* What a list is restricted to. If it has no row, and there is no such queue or worker, that is refused with
 * EXIT_NOT_FOUND. NULL: it is not restricted. */
struct list_of {
    const char *queue, *worker;
};
int list_print_of(const struct call *call, const struct out_column *columns, list_fn *fn, const struct list_of *of);

#endif
