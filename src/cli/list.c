/* SPDX-License-Identifier: MIT
 *
 * Prints a list, as a table or as JSON lines.
 */
#include "list.h"

#include "client.h"

int list_print(const struct call *call, const struct out_column *columns, list_fn *fn)
{
    struct muster_client *client;
    struct out_table table = {.columns = columns, .json = call->common[OPT_JSON].set};
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = fn(call, client, &table);
    if (err == MUSTER_OK)
        out_headings(&table);
    out_table_end(&table);
    return client_close(call, client, err);
}
