/* SPDX-License-Identifier: MIT
 *
 * muster jobs: how many jobs of a queue are in each state, the jobs of one state, tag or group of failures, or the
 * tags.
 */
#include <ctype.h>
#include <errno.h>
#include <muster/job.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "bulk.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "job_row.h"
#include "known.h"
#include "list.h"
#include "out.h"

/* Rows, if no number is given where all could be many. */
#define SHOWN 25

enum { QUEUE, STATE, TAG, ANY, GROUP, TRACKED, NEWEST, OLDEST, PAST, TAGS, COUNT, OFFSET };

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

/* "<when it was put, Unix ms>:<id>", as of the last row of a page. NULL: it has another form. */
static const char *past_id(const char *text, int64_t *put_ms)
{
    char *end;
    errno = 0;
    *put_ms = strtoll(text, &end, 10);
    return isdigit((unsigned char)*text) && errno == 0 && *end == ':' ? end + 1 : NULL;
}

static bool is_by_age(const struct opt_value *own)
{
    return own[NEWEST].set || own[OLDEST].set;
}

static int list_jobs(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const struct opt_value *own = call->own;
    struct muster_job_filter filter = {
        .size = sizeof filter,
        .queue = own[QUEUE].text,
        .tag = own[TAG].set ? own[TAG].texts[0] : NULL,
        .tags = own[TAG].set ? own[TAG].texts + 1 : NULL,
        .n_tags = own[TAG].set ? own[TAG].n_texts - 1 : 0,
        .group = own[GROUP].text,
        .state = own[STATE].set ? (enum muster_job_state)muster_job_state_of(own[STATE].text) : MUSTER_JOB_SCHEDULED,
        .by_state = own[STATE].set,
        .any_tag = own[ANY].set,
        .tracked = own[TRACKED].set,
        .order = own[NEWEST].set   ? MUSTER_JOBS_NEWEST
                 : own[OLDEST].set ? MUSTER_JOBS_OLDEST
                                   : MUSTER_JOBS_AS_THEY_ARE,
        .offset = (uint64_t)own[OFFSET].number,
        .n = is_by_age(own) && !own[COUNT].set ? SHOWN : (uint64_t)own[COUNT].number,
    };
    if (own[PAST].set)
        filter.past_id = past_id(own[PAST].text, &filter.past_ms);
    return muster_job_list(client, &filter, print_job, table);
}

/* ---- tags ---- */

static const struct out_column tag_columns[] = {
    {"TAG", "tag", OUT_TEXT}, {"JOBS", "jobs", OUT_COUNT}, {NULL, NULL, OUT_TEXT}};

static int print_tag(const struct muster_tag *tag, void *arg)
{
    return out_row(arg, (const struct out_cell[]){{.text = tag->name}, {.number = (int64_t)tag->jobs}});
}

static int list_tags(const struct call *call, struct muster_client *client, struct out_table *table)
{
    const struct opt_value *own = call->own;
    return muster_tag_list(client, (uint64_t)own[OFFSET].number, own[COUNT].set ? (uint64_t)own[COUNT].number : SHOWN,
                           print_tag, table);
}

/* ---- the verb ---- */

static const char *check_past(const char *text)
{
    int64_t put_ms;
    const char *id = past_id(text, &put_ms);
    return id ? muster_job_id_check(id) : "it must be the Unix time in ms when a job was put, a colon, and its id";
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
               .help = "only jobs in this state",
               .check = bulk_check_state},
    [TAG] = {.name = "tag",
             .kind = OPT_LIST,
             .argument = "TAG",
             .help = "only jobs with this tag; given more than once, with all of them",
             .check = muster_tag_check},
    [ANY] = {.name = "any", .help = "with --tag: jobs with at least one of these tags"},
    [GROUP] = {.name = "group",
               .kind = OPT_STRING,
               .argument = "GROUP",
               .help = "only failed jobs in this group",
               .check = opt_check_group},
    [TRACKED] = {.name = "tracked", .help = "only tracked jobs"},
    [NEWEST] = {.name = "newest", .help = "those first that were put last (default 25 of them)"},
    [OLDEST] = {.name = "oldest", .help = "those first that were put first (default 25 of them)"},
    [PAST] = {.name = "past",
              .kind = OPT_STRING,
              .argument = "MS:ID",
              .help = "with --newest or --oldest: go on behind the job that was put then and has this id",
              .check = check_past},
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

static bool is_list(const struct opt_value *own)
{
    return own[STATE].set || own[TAG].set || own[GROUP].set || own[TRACKED].set || is_by_age(own);
}

static int run_tags(const struct call *call)
{
    if (is_list(call->own) || call->own[QUEUE].set)
        return complain_usage(call, "--tags lists the tags of all jobs, and goes only with -n and --offset");
    return list_print(call, tag_columns, list_tags);
}

static const char *contradiction(const struct opt_value *own)
{
    if (own[GROUP].set && own[STATE].set && muster_job_state_of(own[STATE].text) != MUSTER_JOB_FAILED)
        return "--group chooses failed jobs, and excludes every other --state";
    if (own[ANY].set && own[TAG].n_texts < 2)
        return "--any is for two or more --tag";
    if (own[NEWEST].set && own[OLDEST].set)
        return "--newest and --oldest exclude each other";
    if (own[PAST].set && !is_by_age(own))
        return "--past is for a list by --newest or --oldest";
    return NULL;
}

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    const char *why = contradiction(own);
    if (why)
        return complain_usage(call, "%s", why);
    if (own[TAGS].set)
        return run_tags(call);
    if (is_list(own))
        return list_print_of(call, job_row_columns, list_jobs, &(const struct list_of){.queue = own[QUEUE].text});
    if (own[COUNT].set || own[OFFSET].set)
        return complain_usage(call, "-n and --offset are for a list: add --state, --tag, --group, --tracked, --newest, "
                                    "--oldest or --tags");
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
        "first, and all others by when they entered their state; without --queue, queue by queue. With --tag or\n"
        "--tracked, the oldest job comes first. --newest and --oldest list by when jobs were put, over all queues or\n"
        "with any choice: no job that stays in its state and queue is left out, from page to page neither.\n"
        "--json has up to 64 KiB of a job's data and of its result; `muster job ID` has all of them.\n",
    .examples = "muster jobs\n"
                "muster jobs --queue mail --state scheduled -n 20\n"
                "muster jobs --tag order-17 --json\n"
                "muster jobs --queue mail --group exit-1\n"
                "muster jobs --newest -n 10\n"
                "muster jobs --tag urgent --tag late --any --state failed --oldest\n"
                "muster jobs --tags\n",
    .options = options,
    .run = run,
};
