/* SPDX-License-Identifier: MIT
 *
 * muster check: looks for damage in the namespace and prints a row for each find. The library decides what counts as
 * damage, and what can be repaired.
 */
#include <inttypes.h>
#include <stdio.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "out.h"
#include "progress.h"
#include "text.h"

static const struct out_column columns[] = {
    {"KEY", "key", OUT_TEXT},
    {"REPAIRED", "repaired", OUT_YES},
    {"WHAT", "what", OUT_TEXT},
    {NULL, NULL, OUT_TEXT},
};

struct finds {
    struct out_table table;
    uint64_t n, n_left;
};

static int print_damage(const struct muster_damage *damage, void *arg)
{
    struct finds *finds = arg;
    const struct out_cell cells[] = {{.text = damage->key}, {.number = damage->repaired}, {.text = damage->what}};
    finds->n++;
    finds->n_left += !damage->repaired;
    return out_row(&finds->table, cells);
}

enum { REPAIR };

static const struct opt options[] = {
    [REPAIR] = {.name = "repair", .help = "repair what can be repaired without losing anything"},
    {.help = NULL},
};

static int report_finds(const struct call *call, const struct finds *finds)
{
    if (finds->n == 0)
        complain(call, "no damage was found");
    else if (finds->n_left > 0)
        complain(call, "damage is left: %" PRIu64 " of %" PRIu64 " finds; %s", finds->n_left, finds->n,
                 call->own[REPAIR].set ? "the list says what can be done"
                                       : "`muster check --repair` repairs what it can");
    return finds->n_left > 0 ? EXIT_FAILED : EXIT_DONE;
}

static int report_stopped(const struct call *call, const struct finds *finds)
{
    char number[TEXT_NUMBER_SIZE];
    return complain_stopped(call, "%s so far, but not all was looked at: run it again",
                            finds->n ? text_number_of(number, finds->n, "find", "finds") : "no damage was found");
}

static int run(const struct call *call)
{
    struct finds finds = {.table = {.columns = columns, .json = call->common[OPT_JSON].set}};
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    progress_begin(call);
    muster_client_set_progress(client, progress_on_step, (void *)"looked at");
    int err = muster_client_check(client, call->own[REPAIR].set, print_damage, &finds);
    out_table_end(&finds.table);
    if (call->own[REPAIR].set) /* it ends where a line cannot be written */
        out_set_but("what was found until then is repaired; run it again for the rest");
    if (err == MUSTER_E_STOPPED)
        code = report_stopped(call, &finds);
    else
        code = complain_error(call, err, muster_client_error(client));
    client_free(client);
    return code ? code : report_finds(call, &finds);
}

const struct command cmd_check = {
    .name = "check",
    .operands = "",
    .summary = "Find damage in the namespace, and repair it with --repair",
    .about =
        "It reads all keys of the namespace in small steps and can run beside live workers. The exit code is 1 if\n"
        "damage is left.\n",
    .examples = "muster check\nmuster check --repair\n",
    .options = options,
    .run = run,
};
