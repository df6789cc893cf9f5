/* SPDX-License-Identifier: MIT
 *
 * muster replay and muster drop: failed tasks go back to their queue, or are removed for good. Both need an explicit
 * choice, so that nothing happens by a forgotten operand. They differ in one call and one word.
 */
#include <inttypes.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "known.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "text.h"

typedef int move_fn(struct muster_client *client, const struct muster_failed_filter *filter, uint64_t *n);

/* What is done with the entries, and with how many it was done. */
struct move {
    move_fn *fn;
    const char *word;
    uint64_t n;
};

enum { GROUP, COUNT, ALL, QUEUE, TAG, ANY, DRY_RUN };

static const struct opt options[] = {
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "only those of this group",
               .check = opt_check_group},
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "at most N, the oldest first",
               .min = 1,
               .max = INT64_MAX},
    [ALL] = {.name = "all", .help = "all that failed in the queue"},
    [QUEUE] = BULK_QUEUE("queue"),
    [TAG] = BULK_TAG,
    [ANY] = BULK_ANY,
    [DRY_RUN] = BULK_DRY_RUN,
    {.help = NULL},
};

static int check_choice(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool has_entries = call->n_operands > 1, has_filter = own[GROUP].set || own[COUNT].set;
    if (!has_entries && !has_filter && !own[ALL].set)
        return complain_usage(call, "say which ones: ENTRY, --group, -n or --all is missing");
    if (has_entries + has_filter + own[ALL].set > 1)
        return complain_usage(call, "ENTRY, --all, and --group or -n exclude each other");
    return EXIT_DONE;
}

static int move_entry(const struct call *call, struct muster_client *client, const char *entry, void *arg)
{
    struct move *move = arg;
    uint64_t n = 0;
    const struct muster_failed_filter filter = {
        .size = sizeof filter, .queue = call->operands[0], .entries = &entry, .n_entries = 1};
    int err = move->fn(client, &filter, &n);
    move->n += n;
    return err;
}

static int report_chosen(const struct call *call, const struct muster_client *client, const struct move *move, int err)
{
    char *detail = NULL, moved[TEXT_NUMBER_SIZE];
    const char *words = err == MUSTER_E_STOPPED ? "interrupted" : muster_client_error(client);
    if (err == MUSTER_OK || (move->n == 0 && err != MUSTER_E_STOPPED))
        return complain_error(call, err, words);
    text_number_of(moved, move->n, "was", "were");
    if (asprintf(&detail, "%s; the first %s %s", *words ? words : muster_err_text(err), moved, move->word) < 0)
        need(NULL);
    int code = complain_tried(move->n > 0, complain_error(call, err, detail));
    free(detail);
    return code;
}

/* How many have failed, and how many of them are in the group `name`; NULL: all are. */
struct groups {
    const char *name;
    uint64_t n, n_chosen;
};

static int note_group(const struct muster_failed_group *group, void *arg)
{
    struct groups *groups = arg;
    groups->n += group->n;
    if (!groups->name || strcmp(group->group, groups->name) == 0)
        groups->n_chosen += group->n;
    return 0;
}

static int count_groups(const struct call *call, struct muster_client *client, struct groups *groups)
{
    *groups = (struct groups){.name = call->own[GROUP].text};
    return muster_failed_groups(client, call->operands[0], note_group, groups);
}

/* Why nothing was moved. Who names a group or queue that is not there hears it by the exit code, too. */
static int explain_none(const struct call *call, struct muster_client *client, const char *word)
{
    const char *queue = call->operands[0];
    struct groups groups;
    int code = known_exit(call, client, queue);
    if (code || count_groups(call, client, &groups) != MUSTER_OK)
        return code;
    if (groups.name && groups.n_chosen == 0) {
        complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND),
                         "the failed list of the queue '%s' has nothing of the group '%s'", queue, groups.name);
        return EXIT_NOT_FOUND;
    }
    if (groups.n == 0)
        complain(call, "the failed list of the queue '%s' is empty", queue);
    else
        complain(call,
                 "what was chosen stays on the failed list of the queue '%s': it is not %s while an equal unique "
                 "task is alive",
                 queue, word);
    return EXIT_DONE;
}

/* What was replayed may have failed again meanwhile: so it counts what was there before, too. */
static void tell_left(const struct call *call, struct muster_client *client, const struct groups *before,
                      const struct move *move)
{
    struct groups after;
    char stay[TEXT_NUMBER_SIZE];
    const uint64_t most = (uint64_t)call->own[COUNT].number;
    uint64_t wanted = most > 0 && most < before->n_chosen ? most : before->n_chosen;
    if (wanted <= move->n || count_groups(call, client, &after) != MUSTER_OK || after.n_chosen == 0)
        return;
    uint64_t left = wanted - move->n < after.n_chosen ? wanted - move->n : after.n_chosen;
    complain(call, "%s on the failed list of the queue '%s': not %s while an equal unique task is alive",
             text_number_of(stay, left, "stays", "stay"), call->operands[0], move->word);
}

static int move_chosen(const struct call *call, struct move *move)
{
    const struct muster_failed_filter filter = {
        .size = sizeof filter,
        .queue = call->operands[0],
        .group = call->own[GROUP].text,
        .n = (uint64_t)call->own[COUNT].number,
    };
    struct muster_client *client;
    struct groups before;
    int code = client_open(call, &client);
    if (code)
        return code;
    if (count_groups(call, client, &before) != MUSTER_OK)
        before.n_chosen = 0; /* then the move says what is wrong */
    muster_client_set_progress(client, progress_on_step, (void *)move->word);
    code = report_chosen(call, client, move, move->fn(client, &filter, &move->n));
    if (!code && move->n == 0)
        code = explain_none(call, client, move->word);
    else if (!code)
        tell_left(call, client, &before, move);
    client_free(client);
    return code;
}

static void print_moved(const struct call *call, const struct move *move)
{
    const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT}, {NULL, move->word, OUT_COUNT}, {NULL, NULL, OUT_TEXT}};
    const char *queue = call->operands[0];
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = queue}, {.number = (int64_t)move->n}});
    else
        out_text("%s: %" PRIu64 " %s\n", queue, move->n, move->word);
}

static int run_bulk(const struct call *call, enum muster_job_action action, const char *word)
{
    const struct opt_value *own = call->own;
    const struct bulk_choice choice = {.queue = &own[QUEUE],
                                       .group = &own[GROUP],
                                       .any = &own[ANY],
                                       .dry_run = &own[DRY_RUN],
                                       .tags = own[TAG].texts,
                                       .n_tags = own[TAG].n_texts};
    if (!bulk_is_chosen(&choice))
        return complain_usage(call, "QUEUE is missing, or an option that chooses jobs: --tag, --group or --queue");
    if (own[COUNT].set || own[ALL].set)
        return complain_usage(call, "-n and --all are for a QUEUE, which is missing");
    return bulk_run(call, &choice, &(struct muster_job_bulk){.size = sizeof(struct muster_job_bulk), .action = action},
                    word);
}

/* With single entries, those that could be moved are counted, even if others failed. */
static int run(const struct call *call, move_fn *fn, enum muster_job_action action, const char *word)
{
    const struct opt_value *own = call->own;
    struct move move = {fn, word, 0};
    bool has_entries = call->n_operands > 1;
    if (call->n_operands == 0)
        return run_bulk(call, action, word);
    if (own[QUEUE].set || own[TAG].set || own[ANY].set || own[DRY_RUN].set)
        return complain_usage(call, "--queue, --tag, --any and --dry-run choose jobs, and exclude operands");
    int code = check_choice(call);
    if (code)
        return code;
    progress_begin(call);
    code = has_entries ? each_operand(call, 1, move_entry, &move) : move_chosen(call, &move);
    if (!code || (has_entries && move.n > 0))
        print_moved(call, &move);
    return code;
}

static int run_replay(const struct call *call)
{
    return run(call, muster_failed_replay, MUSTER_JOBS_REPLAY, "replayed");
}

static int run_drop(const struct call *call)
{
    return run(call, muster_failed_drop, MUSTER_JOBS_DROP, "dropped");
}

const struct command cmd_replay = {
    .name = "replay",
    .operands = "QUEUE [ENTRY...] | --tag TAG ...",
    .summary = "Put failed tasks and jobs back to the end of their queue, the oldest failure first",
    .about =
        "Say which ones: ENTRYs (see `muster failed QUEUE`), a --group, a number with -n, or --all. A job starts\n"
        "again with all its retries, and what had `crashed` is no suspect any more.\n"
        "\n"
        "Without a QUEUE, the failed jobs of all queues for which --tag, --group and --queue hold are replayed, in\n"
        "steps of up to 100; plain tasks are not.\n",
    .examples = "muster replay mail --group exit-1\n"
                "muster replay mail -n 10\n"
                "muster replay mail --all\n"
                "muster replay --tag spring-sale --dry-run\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .n_queues = 1,
    .changes = true,
    .run = run_replay,
};

const struct command cmd_drop = {
    .name = "drop",
    .operands = "QUEUE [ENTRY...] | --tag TAG ...",
    .summary = "Remove failed tasks and jobs for good",
    .about =
        "Say which ones: ENTRYs (see `muster failed QUEUE`), a --group, a number with -n, or --all. The record of a\n"
        "job is removed, too, and jobs that follow it by --after fail, in the group \"dependency\".\n"
        "\n"
        "Without a QUEUE, the failed jobs of all queues for which --tag, --group and --queue hold are dropped, in\n"
        "steps of up to 100; plain tasks are not.\n",
    .examples = "muster drop mail --group bounced\nmuster drop mail --all\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .n_queues = 1,
    .changes = true,
    .run = run_drop,
};
