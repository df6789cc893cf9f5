/* SPDX-License-Identifier: MIT
 *
 * muster change: changes jobs while they exist. With several ids each job gets the same change; a job that refuses it
 * is named.
 */
#include <muster/cron.h>
#include <muster/job.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "bulk.h"
#include "command.h"
#include "complain.h"
#include "each.h"
#include "need.h"
#include "overlap.h"
#include "parse.h"
#include "text.h"

enum {
    QUEUE,
    PRIORITY,
    DELAY,
    NOW,
    RETRIES,
    BACKOFF,
    LIMIT,
    TAG,
    AFTER,
    TRACK,
    UNTRACK,
    LOG,
    EVERY,
    DATA,
    IF,
    MAY_BE_MISSING,
    AT,
    CRON,
    ZONE,
    OVERLAP,
    KEY,
    AFTER_END,
    AFTER_FAILURE,
    IN_QUEUE,
    STATE,
    GROUP,
    ANY,
    DRY_RUN
};

#define ALL "-all"

static bool has_sign(const char *text)
{
    return *text == '+' || *text == '-';
}

static const char *check_tag(const char *text)
{
    return muster_tag_check(has_sign(text) ? text + 1 : text);
}

static const char *check_after(const char *text)
{
    return has_sign(text) ? muster_job_id_check(text + 1) : "+ or - is missing before it";
}

static const char *check_added(const char *text)
{
    return *text == '+' ? muster_job_id_check(text + 1) : "+ is missing before it; --after -ID waits for it no longer";
}

static const char *check_log(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "a line of the history must not have control characters";
    return strlen(text) > MUSTER_JOB_LOG_MAX ? "a line of the history can have at most 4096 bytes" : NULL;
}

_Static_assert(MUSTER_JOB_LOG_MAX == 4096, "check_log() tells the limit");

static const char *check_key(const char *key)
{
    return *key ? muster_job_key_check(key) : NULL;
}

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "move the job to this queue",
               .check = muster_queue_check},
    [PRIORITY] = {.name = "priority",
                  .kind = OPT_INTEGER,
                  .argument = "N",
                  .help = "lower runs sooner",
                  .min = -1000000000,
                  .max = 1000000000},
    [DELAY] = {.name = "delay",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "let it become ready this long from now",
               .max = MUSTER_JOB_MS_MAX},
    [NOW] = {.name = "now", .help = "let it become ready at once"},
    [RETRIES] = {.name = "retries",
                 .kind = OPT_COUNT,
                 .argument = "N",
                 .help = "how often it may be retried, with the retries that it has had",
                 .max = MUSTER_JOB_RETRIES_MAX},
    [BACKOFF] = {.name = "backoff",
                 .kind = OPT_STRING,
                 .argument = "WAIT",
                 .help = "how long a retry waits: 10s, 10s..1h, ... as for put",
                 .check = backoff_check},
    [LIMIT] = {.name = "limit",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long a handler may run on it, from its next run on; 0s: without limit",
               .max = MUSTER_JOB_MS_MAX},
    [TAG] = {.name = "tag",
             .kind = OPT_LIST,
             .argument = "+TAG|-TAG|TAG",
             .help = "add or remove a tag; or choose all jobs with this tag; may be given more than once",
             .check = check_tag},
    [AFTER] = {.name = "after",
               .kind = OPT_LIST,
               .argument = "+ID|-ID",
               .help = "wait for this job, too, or no longer; -all: wait for none; may be given more than once",
               .check = check_after},
    [MAY_BE_MISSING] = {.name = "may-be-missing",
                        .help = "jobs of --after and --after-end that do not exist are not waited for"},
    [TRACK] = {.name = "track", .help = "put the job on the list of tracked jobs"},
    [UNTRACK] = {.name = "untrack", .help = "take it off that list"},
    [LOG] = {.name = "log",
             .kind = OPT_STRING,
             .argument = "TEXT",
             .help = "add a line to its history",
             .check = check_log},
    [EVERY] = {.name = "every",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "recurring: the new interval, from the next time on",
               .min = 1000,
               .max = MUSTER_JOB_MS_MAX},
    [DATA] = {.name = "data", .kind = OPT_STRING, .argument = "DATA", .help = "its new data"},
    [IF] = {.name = "if",
            .kind = OPT_LIST,
            .argument = "STATE",
            .help = "change it only in this state; may be given more than once",
            .check = bulk_check_state},
    [AT] = {.name = "at",
            .kind = OPT_STRING,
            .argument = "WHEN",
            .help = "let it become ready then: 2026-12-24T18:00+01:00, or with Z for UTC",
            .check = text_check_moment},
    [CRON] = {.name = "cron",
              .kind = OPT_STRING,
              .argument = "WHEN",
              .help = "recurring: another schedule, from now on",
              .check = muster_cron_check},
    [ZONE] = {.name = "zone",
              .kind = OPT_STRING,
              .argument = "ZONE",
              .help = "recurring: another time zone of its schedule, from now on",
              .check = muster_zone_check},
    [OVERLAP] = {.name = "overlap",
                 .kind = OPT_STRING,
                 .argument = "allow|skip|queue",
                 .help = "recurring: what it does if the last job has not ended at the next time",
                 .check = overlap_check},
    [KEY] = {.name = "key",
             .kind = OPT_STRING,
             .argument = "KEY",
             .help = "its new key, as for put; '': none any more",
             .check = check_key},
    [AFTER_END] = {.name = "after-end",
                   .kind = OPT_LIST,
                   .argument = "+ID",
                   .help = "wait for this job until it has ended, however that is; may be given more than once",
                   .check = check_added},
    [AFTER_FAILURE] = {.name = "after-failure",
                       .kind = OPT_LIST,
                       .argument = "+ID",
                       .help = "the same, until it has failed",
                       .check = check_added},
    [IN_QUEUE] = BULK_QUEUE("in-queue"),
    [STATE] = BULK_STATE,
    [GROUP] = BULK_GROUP,
    [ANY] = BULK_ANY,
    [DRY_RUN] = BULK_DRY_RUN,
    {.help = NULL},
};

/* A list of texts, sorted by their signs. */
struct signed_list {
    const char **added, **removed, **plain;
    size_t n_added, n_removed, n_plain;
    bool all_removed;
};

static struct signed_list sort_out(const struct opt_value *value, const char *all)
{
    struct signed_list list = {
        .added = need(calloc(value->n_texts + 1, sizeof *list.added)),
        .removed = need(calloc(value->n_texts + 1, sizeof *list.removed)),
        .plain = need(calloc(value->n_texts + 1, sizeof *list.plain)),
    };
    for (size_t i = 0; i < value->n_texts; i++) {
        const char *text = value->texts[i];
        if (all && strcmp(text, all) == 0)
            list.all_removed = true;
        else if (*text == '+')
            list.added[list.n_added++] = text + 1;
        else if (*text == '-')
            list.removed[list.n_removed++] = text + 1;
        else
            list.plain[list.n_plain++] = text;
    }
    return list;
}

static void clear(struct signed_list *list)
{
    free(list->added);
    free(list->removed);
    free(list->plain);
}

static int change(const struct call *call, struct muster_client *client, const char *id, void *arg)
{
    const struct muster_job_change *wanted = arg;
    int err = muster_job_change(client, id, wanted);
    return each_print(call, "id", id, "changed", err);
}

/* For the library, 0 means "as it is"; a 0 that was given is MUSTER_ZERO. */
static int64_t number_of(const struct opt_value *value)
{
    return value->set && value->number == 0 ? MUSTER_ZERO : value->number;
}

static unsigned states_of(const struct opt_value *value)
{
    unsigned states = 0;
    for (size_t i = 0; i < value->n_texts; i++)
        states |= MUSTER_JOB_IN(muster_job_state_of(value->texts[i]));
    return states;
}

static int change_chosen(const struct call *call, const struct bulk_choice *choice,
                         const struct muster_job_change *wanted)
{
    if (bulk_is_chosen(choice))
        return bulk_run(call, choice,
                        &(struct muster_job_bulk){
                            .size = sizeof(struct muster_job_bulk), .action = MUSTER_JOBS_CHANGE, .change = wanted},
                        "changed");
    if (choice->any->set || choice->dry_run->set)
        return complain_usage(call, "--any and --dry-run are for jobs that are chosen: --tag TAG, --state, --group, "
                                    "--in-queue");
    return each_operand(call, 0, change, (void *)wanted);
}

static int change_all(const struct call *call)
{
    const struct opt_value *own = call->own;
    struct signed_list tags = sort_out(&own[TAG], NULL), after = sort_out(&own[AFTER], ALL);
    struct signed_list end = sort_out(&own[AFTER_END], NULL), failure = sort_out(&own[AFTER_FAILURE], NULL);
    struct muster_backoff backoff;
    struct muster_job_change wanted = {
        .size = sizeof wanted,
        .queue = own[QUEUE].text,
        .priority = (int)number_of(&own[PRIORITY]),
        .track = own[TRACK].set - own[UNTRACK].set,
        .tag = tags.added,
        .n_tag = tags.n_added,
        .untag = tags.removed,
        .n_untag = tags.n_removed,
        .after = after.added,
        .n_after = after.n_added,
        .not_after = after.removed,
        .n_not_after = after.n_removed,
        .not_after_all = after.all_removed,
        .log = own[LOG].text,
        .every_ms = own[EVERY].number,
        .data = {own[DATA].text, own[DATA].text ? strlen(own[DATA].text) : 0},
        .delay_ms = own[NOW].set ? MUSTER_ZERO : number_of(&own[DELAY]),
        .limit_ms = number_of(&own[LIMIT]),
        .backoff = own[BACKOFF].set && backoff_read(own[BACKOFF].text, &backoff) ? &backoff : NULL,
        .retries = (int)number_of(&own[RETRIES]),
        .only_if = states_of(&own[IF]),
        .overlap = own[OVERLAP].set ? (enum muster_overlap)muster_overlap_of(own[OVERLAP].text) : MUSTER_OVERLAP_NONE,
        .cron = own[CRON].text,
        .zone = own[ZONE].text,
        .may_be_missing = own[MAY_BE_MISSING].set,
        .key = own[KEY].text,
        .after_end = end.added,
        .n_after_end = end.n_added,
        .after_failure = failure.added,
        .n_after_failure = failure.n_added,
    };
    if (own[AT].set)
        (void)text_read_moment(own[AT].text, &wanted.at_ms);
    const struct bulk_choice choice = {&own[IN_QUEUE], &own[STATE], &own[GROUP], &own[ANY],
                                       &own[DRY_RUN],  tags.plain,  tags.n_plain};
    int code = change_chosen(call, &choice, &wanted);
    clear(&tags);
    clear(&after);
    clear(&end);
    clear(&failure);
    return code;
}

static bool has_signed(const struct opt_value *tags)
{
    for (size_t i = 0; i < tags->n_texts; i++)
        if (has_sign(tags->texts[i]))
            return true;
    return false;
}

static bool chooses_any(const struct opt_value *own)
{
    bool has_plain = false;
    for (size_t i = 0; i < own[TAG].n_texts; i++)
        has_plain |= !has_sign(own[TAG].texts[i]);
    return has_plain || own[IN_QUEUE].set || own[STATE].set || own[GROUP].set || own[DRY_RUN].set || own[ANY].set;
}

static bool adds_any(const struct opt_value *after)
{
    for (size_t i = 0; i < after->n_texts; i++)
        if (*after->texts[i] == '+')
            return true;
    return false;
}

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool any = false;
    int code = parse_check_operands(call, 0, call->n_operands, "ID", muster_job_id_check);
    if (code)
        return code;
    for (size_t i = 0; options[i].help; i++)
        any |= own[i].set && i != IF && i != MAY_BE_MISSING && i < IN_QUEUE && (i != TAG || has_signed(&own[TAG]));
    if (call->n_operands == 0 && !chooses_any(own))
        return complain_usage(call, "ID is missing, or an option that chooses jobs");
    if (!any && call->n_operands > 0 && own[TAG].set)
        return complain_usage(call, "--tag %s chooses jobs: +%s adds the tag to the IDs, -%s removes it",
                              own[TAG].texts[0], own[TAG].texts[0], own[TAG].texts[0]);
    if (!any)
        return complain_usage(call, "there is nothing to change; at least one option is missing");
    if (own[TRACK].set && own[UNTRACK].set)
        return complain_usage(call, "--track and --untrack exclude each other");
    if (own[MAY_BE_MISSING].set && !adds_any(&own[AFTER]) && !own[AFTER_END].set)
        return complain_usage(call,
                              "--may-be-missing is for the jobs of --after +ID or --after-end +ID, of which there "
                              "is none");
    if (own[DELAY].set + own[NOW].set + own[AT].set > 1)
        return complain_usage(call, "--delay, --now and --at exclude each other");
    return change_all(call);
}

const struct command cmd_change = {
    .name = "change",
    .operands = "ID... | --tag TAG ...",
    .summary = "Change jobs: queue, priority, time, retries, tags, the jobs they wait for, data; or log a line",
    .about =
        "For each job either all changes are made or none. A job that runs, has failed or is complete is not moved,\n"
        "and only a job that waits for others can get other jobs to wait for (exit code 1). A job that no longer\n"
        "waits for any other is ready. --delay, --at and --now are for jobs that are scheduled or held, wait, or wait\n"
        "for others: a waiting job becomes scheduled, and one that waits for others is not ready before that time.\n"
        "While a job runs, new retries and a new backoff count from the end of this run on.\n"
        "\n"
        "With --if STATE, a job in another state is left as it is, and named (exit code 1); of jobs that are chosen\n"
        "by their tags or the like, it is only counted.\n"
        "\n"
        "--in-queue, --state, --group and --tag TAG without a sign choose all jobs for which these hold, in place of\n"
        "IDs. They are changed from the oldest on. One that is in another state or queue when its turn comes is left\n"
        "alone, and counted.\n",
    .examples = "muster change invoice-17 --priority -5 --tag +urgent --tag -bulk\n"
                "muster change ship-17 --after -invoice-17 --tag +urgent\n"
                "muster change clean-17 --after-end +invoice-17\n"
                "muster change invoice-17 --delay 1h\n"
                "muster change invoice-17 --now --retries 10 --if scheduled\n"
                "muster change invoice-17 --queue mail-slow --log 'the customer is in no hurry'\n"
                "muster change --tag bulk --state waiting --priority 10 --dry-run\n",
    .options = options,
    .max_operands = SIZE_MAX,
    .changes = true,
    .run = run,
};
