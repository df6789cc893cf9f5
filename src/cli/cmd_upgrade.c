/* SPDX-License-Identifier: MIT
 *
 * muster upgrade: moves a namespace that an older release has written to the format of this one.
 */
#include "client.h"
#include "command.h"
#include "complain.h"
#include "out.h"
#include "progress.h"
#include "text.h"

static int report_stopped(const struct call *call, uint64_t n)
{
    char changes[TEXT_NUMBER_SIZE];
    return complain_stopped(call, "%s made; nobody can use the namespace until it is done: run it again",
                            text_number_of(changes, n, "change was", "changes were"));
}

static int run(const struct call *call)
{
    static const struct out_column columns[] = {{NULL, "changed", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    char changed[TEXT_NUMBER_SIZE];
    struct muster_client *client;
    uint64_t n = 0;
    int code = client_open(call, &client);
    if (code)
        return code;
    progress_begin(call);
    muster_client_set_progress(client, progress_on_step, (void *)"looked at");
    int err = muster_client_upgrade(client, &n);
    code = err == MUSTER_E_STOPPED ? report_stopped(call, n) : complain_error(call, err, muster_client_error(client));
    client_free(client);
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, &(struct out_cell){.number = (int64_t)n});
    else
        out_text("%s made; the namespace is up to date\n", text_number_of(changed, n, "change", "changes"));
    out_set_done();
    return EXIT_DONE;
}

static const struct opt options[] = {{.help = NULL}};

const struct command cmd_upgrade = {
    .name = "upgrade",
    .operands = "",
    .summary = "Move a namespace that an older release has written to the format of this one",
    .about =
        "Stop the workers and producers of the older release first: as long as one of its workers is alive, the\n"
        "upgrade is refused and names it. Nobody can use the namespace until the upgrade is done. If it is\n"
        "interrupted, run it again: it goes on. Tasks and jobs stay what and where they are; what dead workers\n"
        "held stays with them, until they start again or are swept. Counts of crashes of format 1 are forgotten.\n",
    .examples = "muster upgrade\n",
    .options = options,
    .run = run,
};
