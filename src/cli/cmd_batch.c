/* SPDX-License-Identifier: MIT
 *
 * muster batch: open, close and cancel batches, and show one; muster batches: list them. `muster put --batch` adds jobs.
 */
#include <inttypes.h>
#include <muster/batch.h>
#include <stdlib.h>
#include <string.h>

#include "batch_row.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "list.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "text.h"

enum { ON_END, ON_COMPLETE, ON_FAILURE, TTL, BATCH };

/* ---- open ---- */

/* "QUEUE[=DATA]". `*queue`, to be freed, is the queue's name. */
static int read_follower(const struct call *call, int option, struct muster_follower *out, char **queue)
{
    const char *text = call->own[option].text;
    if (!text)
        return EXIT_DONE;
    size_t len = strcspn(text, "=");
    *queue = need(strndup(text, len));
    const char *why = muster_queue_check(*queue);
    if (why)
        return complain_usage(call, "--%s: '%s' is no queue: %s", call->command->options[option].name, *queue, why);
    out->queue = *queue;
    if (text[len] == '=')
        out->data = (struct muster_bytes){text + len + 1, strlen(text + len + 1)};
    return EXIT_DONE;
}

static void print_id(const struct call *call, const char *id)
{
    static const struct out_column columns[] = {{NULL, "id", OUT_TEXT}, {NULL, NULL, OUT_TEXT}};
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = id}});
    else
        out_text("%s\n", id);
}

static int open_batch(const struct call *call, const struct muster_batch_spec *spec)
{
    char made[MUSTER_BATCH_ID_MAX + 1] = "";
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    int err = muster_batch_open(client, spec, made);
    if (err == MUSTER_OK || err == MUSTER_E_UNCONFIRMED)
        print_id(call, made);
    code = complain_adding(call, err, muster_client_error(client), made);
    client_free(client);
    return code;
}

static int run_open(const struct call *call, const char *id)
{
    const struct opt_value *own = call->own;
    char *queues[3] = {NULL, NULL, NULL};
    struct muster_batch_spec spec = {
        .size = sizeof spec, .id = id, .batch = own[BATCH].text, .ttl_ms = own[TTL].number};
    int code = read_follower(call, ON_END, &spec.on_end, &queues[0]);
    if (!code)
        code = read_follower(call, ON_COMPLETE, &spec.on_complete, &queues[1]);
    if (!code)
        code = read_follower(call, ON_FAILURE, &spec.on_failure, &queues[2]);
    if (!code)
        code = open_batch(call, &spec);
    for (size_t i = 0; i < 3; i++)
        free(queues[i]);
    return code;
}

/* ---- close, cancel, show ---- */

static int run_close(const struct call *call, const char *id)
{
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    return client_close(call, client, each_print(call, "id", id, "closed", muster_batch_close(client, id)));
}

static int report_cancel(const struct call *call, struct muster_client *client, int err, uint64_t n)
{
    char jobs[TEXT_NUMBER_SIZE];
    return err == MUSTER_E_STOPPED
               ? complain_stopped(call, "%s cancelled; a worker, or without any the next take, cancels the others",
                                  text_number_of(jobs, n, "job is", "jobs are"))
               : complain_error(call, err, muster_client_error(client));
}

static int run_cancel(const struct call *call, const char *id)
{
    static const struct out_column columns[] = {
        {NULL, "removed", OUT_COUNT}, {NULL, "running", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    struct muster_client *client;
    uint64_t removed = 0, running = 0;
    int code = client_open(call, &client);
    if (code)
        return code;
    progress_begin(call);
    muster_client_set_progress(client, progress_on_step, (void *)"jobs cancelled");
    int err = muster_batch_cancel(client, id, &removed, &running);
    code = progress_end(report_cancel(call, client, err, removed + running));
    client_free(client);
    if (code)
        return code;
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.number = (int64_t)removed}, {.number = (int64_t)running}});
    else
        out_text("%" PRIu64 " removed, %" PRIu64 " running told to stop\n", removed, running);
    return EXIT_DONE;
}

static int print_batch(const struct muster_batch *batch, void *arg)
{
    const struct call *call = arg;
    return batch_row_print(batch, call->common[OPT_JSON].set);
}

static int run_show(const struct call *call, const char *id)
{
    struct muster_client *client;
    int code = client_open(call, &client);
    return code ? code : client_close(call, client, muster_batch_get(client, id, print_batch, (void *)call));
}

/* ---- the verbs ---- */

static const struct opt options[] = {
    [ON_END] = {.name = "on-end",
                .kind = OPT_STRING,
                .argument = "QUEUE[=DATA]",
                .help = "open: when it has ended, put a job to this queue (default data: its ID)"},
    [ON_COMPLETE] = {.name = "on-complete",
                     .kind = OPT_STRING,
                     .argument = "QUEUE[=DATA]",
                     .help = "open: the same when it has ended and all members are complete"},
    [ON_FAILURE] = {.name = "on-failure",
                    .kind = OPT_STRING,
                    .argument = "QUEUE[=DATA]",
                    .help = "open: the same as soon as the first member has failed"},
    [TTL] = {.name = "ttl",
             .kind = OPT_DURATION,
             .argument = "TIME",
             .help = "open: close it so long after the last member came, if nobody does (default 1d)",
             .min = 1000,
             .max = MUSTER_JOB_MS_MAX},
    [BATCH] = {.name = "batch",
               .kind = OPT_STRING,
               .argument = "ID",
               .help = "open: make it a member of this batch",
               .check = muster_batch_id_check},
    {.help = NULL},
};

/* The words that an ID alone cannot be. */
static const struct action {
    const char *name;
    int (*run)(const struct call *call, const char *id);
    bool needs_id, takes_options;
} actions[] = {{"open", run_open, false, true}, {"close", run_close, true, false}, {"cancel", run_cancel, true, false}};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static int run(const struct call *call)
{
    static const struct action show = {"", run_show, true, false};
    if (call->n_operands == 0)
        return complain_usage(call, "say what to do: open, close ID, cancel ID, or ID alone, which shows it");
    const struct action *action = find_action(call->operands[0]);
    const char *id = action ? (call->n_operands > 1 ? call->operands[1] : NULL) : call->operands[0];
    if (!action && call->n_operands > 1)
        return complain_usage(call, "'%s' is none of open, close and cancel", call->operands[0]);
    action = action ? action : &show;
    if (!id && action->needs_id)
        return complain_usage(call, "ID is missing");
    for (int i = 0; i <= BATCH; i++)
        if (call->own[i].set && !action->takes_options)
            return complain_usage(call, "--%s is for `muster batch open`", options[i].name);
    const char *why = id ? muster_batch_id_check(id) : NULL;
    if (!why && id && action->takes_options && find_action(id))
        why = "`muster batch` could not name it: it is a word of its own";
    return why ? complain_usage(call, "ID '%s': %s", id, why) : action->run(call, id);
}

const struct command cmd_batch = {
    .name = "batch",
    .operands = "open [ID] | close ID | cancel ID | ID",
    .summary = "Open, close, cancel or show a batch: jobs that belong together, and what follows them",
    .about =
        "`muster put --batch ID` adds jobs while the batch is open, also from its own jobs: a COMMAND of\n"
        "`muster work` finds the ID in MUSTER_BATCH. When the batch is closed and all of its members have ended\n"
        "(complete, failed, cancelled or gone), it has ended. Each follower is put once: at the end, when all are\n"
        "complete, when the first has failed. Their ids are ID-end, ID-complete and ID-failure. A failed member can\n"
        "be replayed: then the batch ends again, and what was not put yet can still be. A batch in another one\n"
        "counts as one member; they may lie 16 deep. The name of a QUEUE ends at the first =.\n"
        "\n"
        "open prints the ID (default: a new one of 32 hex digits). cancel cancels all members that have not ended;\n"
        "of the followers it lets only the one of the end be put. With an ID alone, the batch is shown. If there is\n"
        "no such batch, the exit code is 3.\n",
    .examples = "muster batch open night-17 --on-complete publish --on-failure alarm='night 17 has failed'\n"
                "muster put encode film-1.mov --batch night-17\n"
                "muster batch close night-17\n"
                "muster batch night-17\n",
    .options = options,
    .max_operands = 2,
    .changes = true,
    .run = run,
};

static int print_row(const struct muster_batch *batch, void *arg)
{
    return batch_row_add(arg, batch);
}

static int list(const struct call *call, struct muster_client *client, struct out_table *table)
{
    (void)call;
    return muster_batch_list(client, print_row, table);
}

static int run_list(const struct call *call)
{
    return list_print(call, batch_row_columns, list);
}

static const struct opt no_options[] = {{.help = NULL}};

const struct command cmd_batches = {
    .name = "batches",
    .operands = "",
    .summary = "List the batches: how many members each has, and what became of them",
    .about =
        "Those that have not ended come first. One that nobody has closed in time has closed_by ttl in the JSON.\n",
    .examples = "muster batches\nmuster batches --json\n",
    .options = no_options,
    .run = run_list,
};
