/* SPDX-License-Identifier: MIT
 *
 * muster jobs: how many jobs of a queue are in each state, the jobs of one state, tag or group of failures, or the
 * tags.
 */
#include <ctype.h>
#include <muster/job.h>
#include <pthread.h>
#include <stdint.h>

#include "command.h"
#include "complain.h"
#include "each.h"
#include "job_row.h"
#include "known.h"
#include "list.h"
#include "out.h"

enum { QUEUE, STATE, TAG, GROUP, TRACKED, TAGS, COUNT, OFFSET };

/* ---- how many ---- */

#define STATE_COLUMN(state, name) {NULL, name, OUT_COUNT},
static struct out_column count_columns[] = {{"QUEUE", "queue", OUT_TEXT},
                                            MUSTER_JOB_STATES(STATE_COLUMN){NULL, NULL, OUT_TEXT}};

static pthread_once_t are_named = PTHREAD_ONCE_INIT;

/* Headings are in capitals, as in all tables. Once: the threads of `muster web` list jobs at the same time. */
static void name_states_once(void)
{
    static char headings[MUSTER_JOB_STATE_COUNT][16];
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++) {
        const char *name = muster_job_state_name((enum muster_job_state)i);
        for (size_t j = 0; name[j] && j + 1 < sizeof headings[i]; j++)
            headings[i][j] = (char)toupper((unsigned char)name[j]);
        count_columns[i + 1].heading = headings[i];
    }
}

static bool are_none(const uint64_t counts[MUSTER_JOB_STATE_COUNT])
{
    for (size_t i = 0; i < MUSTER_JOB_STATE_COUNT; i++)
        if (counts[i] > 0)
            return false;
    return true;
}

static int add_counts(const char *queue, const uint64_t counts[MUSTER_JOB_STATE_COUNT], void *table)
{
    struct out_cell cells[MUSTER_JOB_STATE_COUNT + 1] = {{.text = queue}};
    for (size_t i = 0; i < MUSTER_JOB_STATE_COUNT; i++)
        cells[i + 1].number = (int64_t)counts[i];
    return out_row(table, cells);
}

static int count_one(struct muster_client *client, const char *queue, struct out_table *table)
{
    uint64_t counts[MUSTER_JOB_STATE_COUNT];
    int err = muster_job_counts(client, queue, counts);
    if (err == MUSTER_OK && !(are_none(counts) && known_is_missing(client, queue)))
        add_counts(queue, counts, table);
    return err;
}

static int list_counts(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const char *queue = call->own[QUEUE].text;
    return queue ? count_one(client, queue, table) : muster_job_counts_list(client, add_counts, table);
}

/* ---- which ones ---- */

static int print_job(const struct muster_job *job, void *arg)
{
    return job_row_add(arg, job);
}

static int list_jobs(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const struct opt_value *own = call->own;
    const struct muster_job_filter filter = {
        .size = sizeof filter,
        .queue = own[QUEUE].text,
        .tag = own[TAG].set ? own[TAG].texts[0] : NULL,
        .tags = own[TAG].set ? own[TAG].texts + 1 : NULL,
        .n_tags = own[TAG].set ? own[TAG].n_texts - 1 : 0,
        .group = own[GROUP].text,
        .state = own[STATE].set ? (enum muster_job_state)muster_job_state_of(own[STATE].text) : MUSTER_JOB_SCHEDULED,
        .by_state = own[STATE].set,
        .tracked = own[TRACKED].set,
        .offset = (uint64_t)own[OFFSET].number,
        .n = (uint64_t)own[COUNT].number,
    };
    return muster_job_list(client, &filter, print_job, table);
}

/* ---- tags ---- */

static const struct out_column tag_columns[] = {
    {"TAG", "tag", OUT_TEXT}, {"JOBS", "jobs", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};

static int print_tag(const struct muster_tag *tag, void *arg)
{
    return out_row(arg, (const struct out_cell[]){{.text = tag->name}, {.number = (int64_t)tag->jobs}});
}

#define TAGS_SHOWN 25

static int list_tags(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const struct opt_value *own = call->own;
    return muster_tag_list(client, (uint64_t)own[OFFSET].number,
                           own[COUNT].set ? (uint64_t)own[COUNT].number : TAGS_SHOWN, print_tag, table);
}

/* ---- the verb ---- */

#define STATE_WORD(state, name) " " name

static const char *check_state(const char *name)
{
    return muster_job_state_of(name) < 0 ? "it must be one of" MUSTER_JOB_STATES(STATE_WORD) : NULL;
}

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "only jobs of this queue; alone: count those in each state",
               .check = muster_queue_check},
    [STATE] = {.name = "state",
               .kind = OPT_STRING,
               .argument = "STATE",
               .help = "only jobs in this state; needs --queue, --tag or --tracked",
               .check = check_state},
    [TAG] = {.name = "tag",
             .kind = OPT_LIST,
             .argument = "TAG",
             .help = "only jobs with this tag; given more than once, with all of them",
             .check = muster_tag_check},
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "only failed jobs in this group; needs --queue",
               .check = opt_check_group},
    [TRACKED] = {.name = "tracked", .help = "only tracked jobs"},
    [TAGS] = {.name = "tags", .help = "list tags instead, those with the most jobs first (default 25 of them)"},
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "at most N (default all)",
               .min = 1,
               .max = INT64_MAX},
    [OFFSET] = {.name = "offset",
                .kind = OPT_COUNT,
                .argument = "N",
                .help = "skip the first N",
                .fallback = "0",
                .max = INT64_MAX},
    {.help = NULL},
};

static int run_tags(const struct call *call)
{
    const struct opt_value *own = call->own;
    if (own[QUEUE].set || own[STATE].set || own[TAG].set || own[GROUP].set || own[TRACKED].set)
        return complain_usage(call, "--tags lists the tags of all jobs, and goes only with -n and --offset");
    return list_print(call, tag_columns, list_tags);
}

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool by_state = own[STATE].set, by_group = own[GROUP].set, by_other = own[TAG].set || own[TRACKED].set;
    if (own[TAGS].set)
        return run_tags(call);
    if (own[TAG].set && own[TRACKED].set)
        return complain_usage(call, "--tag and --tracked exclude each other");
    if (by_group && (by_state || by_other))
        return complain_usage(call, "--group chooses failed jobs of a --queue, and excludes every other choice");
    if ((by_group || (by_state && !by_other)) && !own[QUEUE].set)
        return complain_usage(call, "--state and --group need a --queue, which is missing");
    if (by_state || by_group || by_other)
        return list_print_of(call, job_row_columns, list_jobs, &(const struct list_of){.queue = own[QUEUE].text});
    if (own[COUNT].set || own[OFFSET].set)
        return complain_usage(call, "-n and --offset are for a list: add --state, --tag, --group, --tracked or --tags");
    (void)pthread_once(&are_named, name_states_once);
    return list_print_of(call, count_columns, list_counts, &(const struct list_of){.queue = own[QUEUE].text});
}

const struct command cmd_jobs = {
    .name = "jobs",
    .operands = "",
    .summary = "List jobs by state, tag or group of failures; or count them; or list their tags",
    .about =
        "If no option selects jobs, this counts the jobs in each state, queue by queue. Waiting jobs are listed in\n"
        "the order in which they are taken, scheduled and recurring jobs by when they are due, failed jobs newest\n"
        "first, and all others by when they entered their state. With --tag or --tracked, the oldest job comes\n"
        "first.\n",
    .examples = "muster jobs\n"
                "muster jobs --queue mail --state scheduled -n 20\n"
                "muster jobs --tag order-17 --json\n"
                "muster jobs --queue mail --group exit-1\n"
                "muster jobs --tags\n",
    .options = options,
    .run = run,
};
