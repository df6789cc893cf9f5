/* SPDX-License-Identifier: MIT
 *
 * Prints a list, as a table or as JSON lines.
 */
#include "list.h"

#include "client.h"
#include "known.h"

int list_print(const struct call *call, const struct out_column *columns, list_fn *fn)
{
    return list_print_of(call, columns, fn, &(const struct list_of){.queue = NULL});
}

static bool has_time(const struct out_column *columns)
{
    for (; columns->heading || columns->key; columns++)
        if (columns->heading && (columns->kind == OUT_TIME || columns->kind == OUT_SINCE))
            return true;
    return false;
}

int list_print_of(const struct call *call, const struct out_column *columns, list_fn *fn, const struct list_of *of)
{
    struct muster_client *client;
    struct out_table table = {.columns = columns, .json = call->common[OPT_JSON].set};
    int code = client_open(call, &client);
    if (code)
        return code;
    if (has_time(columns))
        client_look_at_clock(call, client);
    int err = fn(call, client, &table);
    if (err == MUSTER_OK && !table.has_rows && of->queue)
        code = known_exit(call, client, of->queue);
    if (err == MUSTER_OK && !code && !table.has_rows && of->worker)
        code = known_exit_worker(call, client, of->worker);
    if (err == MUSTER_OK && !code)
        out_headings(&table);
    out_table_end(&table);
    int closed = client_close(call, client, err);
    return closed ? closed : code;
}
