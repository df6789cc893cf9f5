/* SPDX-License-Identifier: MIT
 *
 * muster put: one job. Its data comes from the command line or, whole, from standard input; the rest are options. An
 * option that is not given means the library's default, or with --replace what the job has.
 */
#include <errno.h>
#include <limits.h>
#include <muster/batch.h>
#include <muster/cron.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "await.h"
#include "backoff.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "input.h"
#include "out.h"
#include "overlap.h"
#include "progress.h"
#include "put_json.h"
#include "put_lines.h"
#include "text.h"

enum {
    ID,
    PRIORITY,
    DELAY,
    RETRIES,
    BACKOFF,
    LIMIT,
    TAG,
    AFTER,
    MAY_BE_MISSING,
    TRACK,
    REPLACE,
    EVERY,
    OFFSET,
    BACKLOG,
    WAIT,
    BATCH,
    AT,
    KEY,
    CRON,
    ZONE,
    FROM,
    UNTIL,
    COUNT,
    OVERLAP,
    LINES,
    JSON_LINES,
    REQUEST,
    AFTER_END,
    AFTER_FAILURE
};

static const char *check_request(const char *id)
{
    return muster_queue_check(id) ? "a request's id has 1 to 200 bytes and no control characters" : NULL;
}

static const struct opt options[] = {
    [ID] = {.name = "id",
            .kind = OPT_STRING,
            .argument = "ID",
            .help = "the job's id (default: a new one of 32 hex digits)",
            .check = muster_job_id_check},
    [PRIORITY] = {.name = "priority",
                  .kind = OPT_INTEGER,
                  .argument = "N",
                  .help = "lower runs sooner: below 0 before all plain tasks, above 0 after them (default 0)",
                  .min = -1000000000,
                  .max = 1000000000},
    [DELAY] = {.name = "delay",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long the job waits before it can run (default 0s)",
               .max = MUSTER_JOB_MS_MAX},
    [RETRIES] = {.name = "retries",
                 .kind = OPT_COUNT,
                 .argument = "N",
                 .help = "how often the job is retried before it fails (default 5)",
                 .max = MUSTER_JOB_RETRIES_MAX},
    [BACKOFF] = {.name = "backoff",
                 .kind = OPT_STRING,
                 .argument = "WAIT",
                 .help = "how long a retry waits, see above (default 1s..1h,jitter=20%)",
                 .check = backoff_check},
    [LIMIT] = {.name = "limit",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long a handler may run on it; 0s: without limit (default 0s)",
               .max = MUSTER_JOB_MS_MAX},
    [TAG] = {.name = "tag",
             .kind = OPT_LIST,
             .argument = "TAG",
             .help = "add a tag; may be given more than once",
             .check = muster_tag_check},
    [AFTER] = {.name = "after",
               .kind = OPT_LIST,
               .argument = "ID",
               .help = "run it only after this job is complete, see above; may be given more than once",
               .check = muster_job_id_check},
    [MAY_BE_MISSING] = {.name = "may-be-missing",
                        .help = "jobs of --after and --after-end that do not exist are not waited for"},
    [TRACK] = {.name = "track", .help = "put it on the list of tracked jobs, and mark its events"},
    [REPLACE] = {.name = "replace", .help = "if the job of this --id is alive, change it and move it to QUEUE"},
    [EVERY] = {.name = "every",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "make it recurring: one job per interval, with the ids ID-1, ID-2, ...",
               .min = 1000,
               .max = MUSTER_JOB_MS_MAX},
    [OFFSET] = {.name = "offset",
                .kind = OPT_DURATION,
                .argument = "TIME",
                .help = "recurring: how long until the first job (default 0s)",
                .max = MUSTER_JOB_MS_MAX},
    [BACKLOG] = {.name = "backlog",
                 .kind = OPT_COUNT,
                 .argument = "N",
                 .help = "recurring: make up for at most N missed times; 0: for all (default 0)",
                 .max = INT_MAX},
    [WAIT] = {.name = "wait", .help = "wait until the job has ended; --timeout limits that"},
    [BATCH] = {.name = "batch",
               .kind = OPT_STRING,
               .argument = "ID",
               .help = "make it a member of this batch, which must be open (see `muster batch`)",
               .check = muster_batch_id_check},
    [AT] = {.name = "at",
            .kind = OPT_STRING,
            .argument = "WHEN",
            .help = "when it can run, instead of a delay: 2026-12-24T18:00+01:00, or with Z for UTC",
            .check = text_check_moment},
    [KEY] = {.name = "key",
             .kind = OPT_STRING,
             .argument = "KEY",
             .help = "its key, as a customer: for max_running_per_key and fair (see `muster config`)",
             .check = muster_job_key_check},
    [CRON] = {.name = "cron",
              .kind = OPT_STRING,
              .argument = "WHEN",
              .help = "make it recurring: one job at each of these times, as '0 3 * * mon-fri' or @daily",
              .check = muster_cron_check,
              .group = "Recurring jobs"},
    [ZONE] = {.name = "zone",
              .kind = OPT_STRING,
              .argument = "ZONE",
              .help = "the time zone of --cron, as Europe/Berlin (default UTC)",
              .check = muster_zone_check},
    [FROM] = {.name = "from",
              .kind = OPT_STRING,
              .argument = "WHEN",
              .help = "recurring: no job before this time, as for --at",
              .check = text_check_moment},
    [UNTIL] = {.name = "until",
               .kind = OPT_STRING,
               .argument = "WHEN",
               .help = "recurring: no job after this time",
               .check = text_check_moment},
    [COUNT] = {.name = "count",
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "recurring: N jobs in all; one whose ID-n is taken gets a longer ID",
               .min = 1,
               .max = INT_MAX},
    [OVERLAP] = {.name = "overlap",
                 .kind = OPT_STRING,
                 .argument = "allow|skip|queue",
                 .help = "recurring: if the last job has not ended at the next time (default allow)",
                 .check = overlap_check},
    [LINES] = {.name = "lines",
               .help = "put a job for each line of standard input, which is its data",
               .group = "Many jobs"},
    [JSON_LINES] = {.name = "json-lines",
                    .help = "the same; a line is an object of JSON: data, and options by their names"},
    [REQUEST] = {.name = "request",
                 .kind = OPT_STRING,
                 .argument = "ID",
                 .help = "for safe repetition: the same jobs under the same ID within an hour add nothing",
                 .check = check_request},
    [AFTER_END] = {.name = "after-end",
                   .kind = OPT_LIST,
                   .argument = "ID",
                   .help = "run it only after this job has ended, whether complete, failed, cancelled or gone",
                   .check = muster_job_id_check,
                   .group = "Other ends to wait for"},
    [AFTER_FAILURE] = {.name = "after-failure",
                       .kind = OPT_LIST,
                       .argument = "ID",
                       .help = "run it only after this job has failed; if it ends otherwise, this one is cancelled",
                       .check = muster_job_id_check},
    {.help = NULL},
};

_Static_assert(MUSTER_JOB_RETRIES_DEFAULT == 5, "the help of --retries tells the default");
_Static_assert(MUSTER_JOB_BACKOFF_DEFAULT_MS == 1000 && MUSTER_JOB_BACKOFF_DEFAULT_MAX_MS == 3600000 &&
                   MUSTER_JOB_BACKOFF_DEFAULT_JITTER == 20,
               "the help of --backoff tells the default");

static int check_recurring(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool recurs = own[EVERY].set || own[CRON].set, has_times = own[OFFSET].set || own[BACKLOG].set;
    if (!recurs && !own[REPLACE].set && has_times)
        return complain_usage(
            call, "--offset and --backlog are for a recurring job: --every is missing (for --backlog, or --cron)");
    if ((recurs || has_times) &&
        (own[DELAY].set || own[AT].set || own[AFTER].set || own[AFTER_END].set || own[AFTER_FAILURE].set))
        return complain_usage(call, "--delay, --at and --after are not for a recurring job; --offset, or --from, sets "
                                    "its first time");
    if (!recurs && (own[FROM].set || own[UNTIL].set || own[COUNT].set || own[OVERLAP].set))
        return complain_usage(
            call, "--from, --until, --count and --overlap are for a recurring job: --cron or --every is missing");
    if (own[ZONE].set && !own[CRON].set)
        return complain_usage(call, "--zone is for a schedule: --cron is missing");
    if (own[CRON].set && (own[EVERY].set || own[OFFSET].set))
        return complain_usage(call, "--cron excludes --every and --offset");
    if (own[OFFSET].set && own[FROM].set)
        return complain_usage(call, "--offset and --from exclude each other");
    if (own[WAIT].set && recurs)
        return complain_usage(call, "--wait is not for a recurring job, which does not end");
    return EXIT_DONE;
}

int put_check_options(const struct call *call)
{
    const struct opt_value *own = call->own;
    if (own[REPLACE].set && !own[ID].set)
        return complain_usage(call, "--replace needs the --id of a job");
    if (own[MAY_BE_MISSING].set && !own[AFTER].set && !own[AFTER_END].set)
        return complain_usage(call, "--may-be-missing is for the jobs of --after and --after-end, which are missing");
    if (own[DELAY].set && own[AT].set)
        return complain_usage(call, "--delay and --at exclude each other");
    return check_recurring(call);
}

/* For the library, 0 means "not given"; a 0 that was given is MUSTER_ZERO. */
static int64_t number_of(const struct opt_value *value)
{
    return value->set && value->number == 0 ? MUSTER_ZERO : value->number;
}

static int64_t moment_of(const struct opt_value *value)
{
    int64_t at_ms;
    return value->set && text_read_moment(value->text, &at_ms) ? at_ms : 0;
}

void put_read_spec(const struct call *call, struct muster_bytes data, struct put_spec *out)
{
    const struct opt_value *own = call->own;
    out->spec = (struct muster_job_spec){
        .size = sizeof out->spec,
        .id = own[ID].text,
        .data = data,
        .priority = (int)number_of(&own[PRIORITY]),
        .retries = (int)number_of(&own[RETRIES]),
        .track = own[TRACK].set,
        .replace = own[REPLACE].set,
        .backlog = (int)number_of(&own[BACKLOG]),
        .delay_ms = number_of(&own[DELAY]),
        .limit_ms = number_of(&own[LIMIT]),
        .every_ms = own[EVERY].number,
        .offset_ms = number_of(&own[OFFSET]),
        .tags = own[TAG].texts,
        .n_tags = own[TAG].n_texts,
        .after = own[AFTER].texts,
        .n_after = own[AFTER].n_texts,
        .backoff = own[BACKOFF].set && backoff_read(own[BACKOFF].text, &out->backoff) ? &out->backoff : NULL,
        .batch = own[BATCH].text,
        .at_ms = moment_of(&own[AT]),
        .cron = own[CRON].text,
        .zone = own[ZONE].text,
        .from_ms = moment_of(&own[FROM]),
        .until_ms = moment_of(&own[UNTIL]),
        .count = own[COUNT].number,
        .overlap = own[OVERLAP].set ? (enum muster_overlap)muster_overlap_of(own[OVERLAP].text) : MUSTER_OVERLAP_NONE,
        .may_be_missing = own[MAY_BE_MISSING].set,
        .key = own[KEY].text,
        .after_end = own[AFTER_END].texts,
        .n_after_end = own[AFTER_END].n_texts,
        .after_failure = own[AFTER_FAILURE].texts,
        .n_after_failure = own[AFTER_FAILURE].n_texts,
    };
}

/* `*is_other`: the request has put another job before. */
static int put(const struct call *call, struct muster_client *client, const struct muster_bytes *data, char *id,
               bool *is_other)
{
    struct put_spec own;
    size_t refused = 0;
    *is_other = false;
    put_read_spec(call, *data, &own);
    if (!call->own[REQUEST].set)
        return muster_job_put(client, call->operands[0], &own.spec, id);
    char ids[1][MUSTER_JOB_ID_MAX + 1] = {""};
    const struct muster_job_spec *one = &own.spec;
    const struct muster_job_put_options o = {
        .size = sizeof o, .request_id = call->own[REQUEST].text, .ids = ids, .refused = &refused};
    int err = muster_job_put_many(client, call->operands[0], &one, 1, &o, NULL);
    *is_other = err == MUSTER_E_EXISTS && refused == 0;
    snprintf(id, sizeof ids[0], "%s", ids[0]);
    return err;
}

void put_print(const struct call *call, const char *id)
{
    static const struct out_column columns[] = {
        {NULL, "id", OUT_TEXT}, {NULL, "queue", OUT_TEXT}, {NULL, NULL, OUT_TEXT}};
    if (call->common[OPT_JSON].set)
        out_json(columns, (const struct out_cell[]){{.text = id}, {.text = call->operands[0]}});
    else
        out_text("%s\n", id);
}

/* The job is there, so its id is printed. */
static int report_unconfirmed(const struct call *call, const struct muster_client *client, const char *id)
{
    char detail[640], again[400];
    snprintf(
        again, sizeof again,
        "`muster put` with --id %s again adds no second one as long as the job is alive: status 74, and 4 once it is "
        "confirmed; with --request also a job that has ended is not put again",
        id);
    const char *how =
        call->own[REQUEST].set
            ? "the same `muster put` with the same --request adds nothing, and succeeds once it is confirmed"
        : call->own[REPLACE].set ? "the same `muster put` changes it again, and succeeds once it is confirmed"
                                 : again;
    snprintf(detail, sizeof detail, "%s; %s", muster_client_error(client), how);
    return complain_error(call, MUSTER_E_UNCONFIRMED, detail);
}

static int put_data(const struct call *call, const struct muster_bytes *data)
{
    char id[MUSTER_JOB_ID_MAX + 1] = "";
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    bool is_other;
    int err = put(call, client, data, id, &is_other);
    code = err == MUSTER_E_UNCONFIRMED ? report_unconfirmed(call, client, id)
                                       : complain_adding(call, err, muster_client_error(client), id);
    if (is_other) /* not "there already" */
        code = EXIT_FAILED;
    bool waits = call->own[WAIT].set && err == MUSTER_OK;
    if (waits)
        code = await_jobs(call, client, (const char *const[]){id}, 1, false);
    client_free(client);
    if (!waits && (err == MUSTER_OK || err == MUSTER_E_UNCONFIRMED))
        put_print(call, id);
    return code;
}

/* A job that is changed keeps its data if standard input has none. */
static bool is_none(const struct call *call, const struct muster_bytes *data)
{
    return call->own[REPLACE].set && data->len == 0;
}

static int put_input(const struct call *call)
{
    struct input in = {.delimiter = INPUT_WHOLE, .at_once = true};
    int code = EXIT_FAILED;
    progress_begin(call);
    enum input_state state = input_next(&in);
    if (state == INPUT_END)
        code = put_data(call, is_none(call, in.tasks) ? &(const struct muster_bytes){NULL, 0} : in.tasks);
    else if (state == INPUT_FAILED && progress_is_stopped())
        code = complain_stopped(call, "no job was put");
    else if (state == INPUT_FAILED)
        complain_refusal(call, COMPLAIN_SYSTEM, "cannot read standard input: %s", strerror(errno));
    else
        complain_refusal(call, muster_err_name(MUSTER_E_TOO_BIG),
                         "the data is longer than %zu MiB; store them elsewhere and put where they are",
                         MUSTER_TASK_MAX_DEFAULT >> 20);
    input_clear(&in);
    return code;
}

/* Are lines asked for as they can be? */
static int check_lines(const struct call *call)
{
    const struct opt_value *own = call->own;
    bool is_many = own[LINES].set || own[JSON_LINES].set;
    if (own[LINES].set && own[JSON_LINES].set)
        return complain_usage(call, "--lines and --json-lines exclude each other");
    if (is_many && call->n_operands > 1)
        return complain_usage(call, "the data of --lines and --json-lines come from standard input, but there is DATA");
    if (own[LINES].set && own[ID].set)
        return complain_usage(call, "--id names one job, not one for each line: --json-lines can name each");
    if (is_many && own[WAIT].set)
        return complain_usage(call, "--wait is for one job: `muster wait` waits for many, by the ids that are printed");
    for (size_t i = 0; own[JSON_LINES].set && options[i].help; i++)
        if (own[i].set && !put_json_is_of_a_call(options[i].name))
            return complain_usage(call, "with --json-lines each line has its own '%s'", options[i].name);
    return EXIT_DONE;
}

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    int code = check_lines(call);
    if (!code)
        code = put_check_options(call);
    if (code)
        return code;
    if (own[LINES].set || own[JSON_LINES].set)
        return put_lines(call, own[LINES].set ? PUT_LINES_DATA : PUT_LINES_JSON, own[REQUEST].text);
    if (call->n_operands == 1 && own[REPLACE].set && isatty(STDIN_FILENO))
        return put_data(call, &(const struct muster_bytes){NULL, 0});
    if (call->n_operands == 1)
        return put_input(call);
    const char *text = call->operands[1];
    return put_data(call, &(const struct muster_bytes){text, strlen(text)});
}

const struct command cmd_put = {
    .name = "put",
    .operands = "QUEUE [DATA]",
    .summary = "Put a job into a queue and print its id; its data is DATA, or all of standard input",
    .about =
        "A job is a task with an id, a record and a history (see `muster job`). Workers take it like any task, and\n"
        "receive its data.\n"
        "\n"
        "WAIT has one of three forms. 10s: each retry waits 10 seconds. 10s..1h: the wait doubles with each retry,\n"
        "up to an hour. 10s..: it doubles without limit. With ,jitter=20% after it, each wait is shortened by a\n"
        "random part of up to 20%. 0s: a retry comes at once.\n"
        "\n"
        "A job that --after names and that is complete is not waited for. One that does not exist is refused (exit\n"
        "code 3): put the jobs that others wait for first. With --may-be-missing it is not waited for; that is for\n"
        "jobs that may be done and gone by now.\n"
        "\n"
        "--after waits on if the job fails, until it is replayed; `muster job` names those that have failed. "
        "--after-end\n"
        "follows any end. --after-failure follows a failure; if the job ends otherwise, the one that waits for its\n"
        "failure is cancelled, with an event that says why. Who has followed is not recalled by a replay. All jobs\n"
        "that these options name must have ended so before this one runs.\n"
        "\n"
        "An ID whose job is alive is refused (exit code 4); an ID whose job is complete or failed can be put again.\n"
        "With --replace, a live job gets the new data and the options that are given, and keeps all others; a\n"
        "worker that runs it loses it. Without DATA, and with standard input empty or a terminal, it keeps its data\n"
        "too, also one that is complete and is put again; DATA '' empties it. If there is no such job, that is\n"
        "refused (exit code 3).\n"
        "\n"
        "With --cron or --every the job recurs: it makes jobs with its data and options, which then run. --cron has "
        "the\n"
        "five fields of crontab(5): minute, hour, day of the month, month, day of the week; doc/cron.md tells all of\n"
        "it, and what happens when clocks change. --overlap skip leaves a time out while the job that was made last\n"
        "has not ended, and queue makes the next job when it does.\n"
        "\n"
        "With --wait it waits until the job has ended, as `muster wait` does, and prints what that prints instead of\n"
        "the id.\n"
        "\n"
        "With --lines each line of standard input is a job, and the options are for all of them. With --json-lines\n"
        "each line says its own: {\"id\": \"a\", \"data\": \"text\", \"priority\": 2, \"tag\": [\"red\", \"blue\"],\n"
        "\"after\": [\"b\"], \"track\": true}. Its members are named as the options, and data; data that is no\n"
        "text is the job's data as it stands in the line. The ids are printed in the order of the lines. Lines\n"
        "go to Redis in batches of up to 200 lines, 1 MiB and 2000 tags and ids of --after, each of them all or none;\n"
        "a line may wait for an earlier one. The first line that is refused ends it: its number, the reason and how\n"
        "many jobs were put are told. One that is wrong in itself lets those before it be put, but with --request\n"
        "nothing is put then.\n",
    .examples = "muster put mail '{\"to\": \"alice@example.org\"}'\n"
                "muster put mail --id invoice-17 --retries 8 --backoff 10s..1h,jitter=20% <invoice.json\n"
                "muster put ship 17 --id ship-17 --after invoice-17 --tag order-17\n"
                "muster put clean 17 --id clean-17 --after-end ship-17\n"
                "muster put mail 'merry christmas' --at 2026-12-24T18:00+01:00\n"
                "muster put resize photo-17 --wait --timeout 1m\n"
                "muster put mail --lines --tag news --request news-17 <addresses\n"
                "muster put report --id hourly --every 1h --backlog 1 '{}'\n"
                "muster put report --id nightly --cron '0 3 * * mon-fri' --zone Europe/Berlin --overlap skip '{}'\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .n_queues = 1,
    .changes = true,
    .run = run,
};
