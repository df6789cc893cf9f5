/* SPDX-License-Identifier: MIT
 *
 * muster enqueue: tasks from the command line or from standard input. They are sent in batches. The library
 * enqueues all tasks of a batch or none, so a failure names how many were enqueued
 * before it, and how many perhaps were if no answer came.
 * input.c reads the input.
 */
#include <errno.h>
#include <inttypes.h>
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await.h"
#include "client.h"
#include "command.h"
#include "complain.h"
#include "input.h"
#include "need.h"
#include "out.h"
#include "progress.h"
#include "put_lines.h"
#include "text.h"

#define HOW_FAR_SIZE 640

/* A run of the verb: where the tasks go, and how many went. */
struct flow {
    const struct call *call;
    struct muster_client *client;
    const char *queue;
    struct muster_enqueue_options options;
    bool is_unique, is_awaited;
    uint64_t enqueued, existed, unsure, unconfirmed, waiting;
    uint64_t too_big,
        too_big_len;      /* the number of the task that Redis does not take for its size, and its length; 0: none */
    bool goes_one_by_one; /* because a batch was too large */
    struct input *input;  /* NULL: the tasks are operands */
    const char **ids;     /* of unique tasks, with --json, and of those awaited: as many as were enqueued or existed */
    char last_id[MUSTER_JOB_ID_MAX + 1]; /* that of the one that was tried last; "": none is known */
};

/* Is the task there after this? */
static bool is_there(const struct flow *f, int err)
{
    return err == MUSTER_OK || err == MUSTER_E_UNCONFIRMED || (f->is_unique && err == MUSTER_E_EXISTS);
}

static void keep_id(struct flow *f, const char *id)
{
    size_t n = (size_t)(f->enqueued + f->existed);
    if (!f->is_awaited && !f->call->common[OPT_JSON].set)
        return;
    if ((n & (n - 1)) == 0) /* room for twice as many */
        f->ids = need(realloc(f->ids, 2 * (n + 1) * sizeof *f->ids));
    f->ids[n] = need(strdup(id));
}

static void forget_ids(struct flow *f)
{
    for (uint64_t i = 0; f->ids && i < f->enqueued + f->existed; i++)
        free((char *)f->ids[i]);
    free(f->ids);
}

/* How many tasks go in one batch: from the beginning, or from the end if they go to the front of the queue. */
static size_t batch_size(const struct muster_bytes *tasks, size_t n, bool from_end)
{
    size_t count = 0, bytes = 0;
    while (count < n && count < MUSTER_ENQUEUE_ATOMIC_TASKS) {
        size_t len = tasks[from_end ? n - 1 - count : count].len;
        if (count > 0 && bytes + len > MUSTER_ENQUEUE_ATOMIC_BYTES)
            break;
        bytes += len;
        count++;
    }
    return count;
}

/* After each step. E_STOPPED: there are more tasks, but the user has interrupted. */
static int go_on(const struct flow *f, bool is_more)
{
    progress_show_part("enqueued", f->enqueued + f->existed, f->input ? input_part(f->input) : -1);
    return is_more && progress_is_stopped() ? MUSTER_E_STOPPED : MUSTER_OK;
}

/* Counts what became of the next `n` tasks. What is not confirmed is there, and what exists already stops no other: both
 * are told at the end. Returns what ends the verb. */
static int count(struct flow *f, int err, size_t n)
{
    bool exists = f->is_unique && err == MUSTER_E_EXISTS;
    f->unsure = err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT ? n : 0;
    f->enqueued += is_there(f, err) && !exists ? n : 0;
    f->unconfirmed += err == MUSTER_E_UNCONFIRMED ? n : 0;
    f->existed += exists;
    return is_there(f, err) ? MUSTER_OK : err;
}

/* Redis does not take these. The largest of them is too large if any is; `first`: the number of the first. */
static void note_too_big(struct flow *f, const struct muster_bytes *tasks, size_t n, uint64_t first)
{
    size_t largest = 0;
    for (size_t i = 1; i < n; i++)
        largest = tasks[i].len > tasks[largest].len ? i : largest;
    f->too_big = first + largest;
    f->too_big_len = tasks[largest].len;
}

static int enqueue_batch(struct flow *f, const struct muster_bytes *tasks, size_t n)
{
    return count(f, muster_task_enqueue_many(f->client, f->queue, tasks, n, &f->options, &f->waiting), n);
}

/* With --wait it becomes a job: nothing that happens to a plain task could be told for certain. */
static int enqueue_named(struct flow *f, const struct muster_bytes *task, char *id)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .data = *task, .retries = MUSTER_ZERO};
    return f->is_unique ? muster_task_enqueue_unique(f->client, f->queue, task->data, task->len, id)
                        : muster_job_put(f->client, f->queue, &spec, id);
}

/* One by one: each has an id. */
static int enqueue_each(struct flow *f, const struct muster_bytes *tasks, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        err = enqueue_named(f, &tasks[i], f->last_id);
        if (is_there(f, err))
            keep_id(f, f->last_id);
        if (err == MUSTER_E_TOO_BIG)
            note_too_big(f, &tasks[i], 1, f->enqueued + f->existed + 1);
        err = count(f, err, 1);
        if (err == MUSTER_OK)
            err = go_on(f, i + 1 < n);
    }
    return err;
}

/* For the front of the queue the last batch is sent first, so that each batch comes to stand before the one after it. A
 * request is sent whole: if it is repeated it must be split as before, and only the library knows how. */
static int enqueue_all(struct flow *f, const struct muster_bytes *tasks, size_t n)
{
    const struct muster_bytes *first = tasks;
    const uint64_t before = f->enqueued + f->existed;
    int err = MUSTER_OK;
    if (f->is_unique || f->is_awaited)
        return enqueue_each(f, tasks, n);
    if (f->options.request_id && n > 0 && (err = enqueue_batch(f, tasks, n)) == MUSTER_E_TOO_BIG)
        note_too_big(f, tasks, n, 1);
    while (!f->options.request_id && n > 0 && err == MUSTER_OK) {
        size_t count = f->goes_one_by_one ? 1 : batch_size(tasks, n, f->options.at_front);
        const struct muster_bytes *batch = f->options.at_front ? tasks + n - count : tasks;
        err = enqueue_batch(f, batch, count);
        if (err == MUSTER_E_TOO_BIG && count > 1) { /* maybe only together */
            f->goes_one_by_one = true;
            err = MUSTER_OK;
            continue;
        }
        if (err == MUSTER_E_TOO_BIG)
            note_too_big(f, batch, count, before + (uint64_t)(batch - first) + 1);
        n -= count;
        if (!f->options.at_front)
            tasks += count;
        if (err == MUSTER_OK)
            err = go_on(f, n > 0);
    }
    return err;
}

/* How to go on. */
static const char *say_advice(const struct flow *f)
{
    if (f->is_awaited && f->enqueued > 0)
        return "; `muster wait` knows the ids on standard output";
    if (!f->unconfirmed)
        return "";
    return f->is_unique ? "; the same call adds none that is alive: status 74 until all are confirmed, then 4"
                        : ": only with --request can they be sent again";
}

/* How many tasks went, for the end of a message. For a request only Redis knows, and the user need not. */
static const char *say_how_far(const struct flow *f, bool is_all, char out[HOW_FAR_SIZE])
{
    char tasks[TEXT_NUMBER_SIZE], unsure[MUSTER_JOB_ID_MAX + 64] = "", unconfirmed[64] = "";
    if (f->options.request_id)
        return is_all ? "the same call with the same --request adds nothing, and tells when it is confirmed"
                      : "the same call with the same --request adds only what is missing";
    if (f->unconfirmed)
        snprintf(unconfirmed, sizeof unconfirmed, ", %" PRIu64 " of them unconfirmed", f->unconfirmed);
    if (f->unsure)
        snprintf(unsure, sizeof unsure, ", and perhaps the %" PRIu64 " %s%s%s", f->unsure,
                 f->options.at_front ? "before" : "after", *f->last_id ? " under the id " : "", f->last_id);
    bool is_old = f->existed || (f->is_unique && f->unconfirmed); /* some may have been there before */
    text_number_of(tasks, f->enqueued + f->existed, is_old ? "task is" : "task was",
                   is_old ? "tasks are" : "tasks were");
    snprintf(out, HOW_FAR_SIZE, "%s%s %s%s%s%s", f->options.at_front && !is_all ? "the last " : "", tasks,
             is_old ? "there" : "enqueued", unconfirmed, unsure, say_advice(f));
    return out;
}

static int report_flow(const struct flow *f, int err)
{
    char text[HOW_FAR_SIZE], detail[HOW_FAR_SIZE + 320], task[64] = "";
    if (err == MUSTER_E_EXISTS) { /* other tasks are there under this id: not "there already" */
        (void)complain_error(f->call, err, muster_client_error(f->client));
        return EXIT_FAILED;
    }
    if (err == MUSTER_E_TOO_BIG && f->too_big > 0)
        snprintf(task, sizeof task, "task %" PRIu64 ", of %" PRIu64 " bytes: ", f->too_big, f->too_big_len);
    snprintf(detail, sizeof detail, "%s%s; %s", task,
             err == MUSTER_E_STOPPED ? "interrupted" : muster_client_error(f->client),
             say_how_far(f, err == MUSTER_E_UNCONFIRMED, text));
    return complain_tried(f->enqueued + f->existed > 0, complain_error(f->call, err, detail));
}

static int enqueue_operands(struct flow *f)
{
    size_t n = f->call->n_operands - 1;
    struct muster_bytes *tasks = need(calloc(n, sizeof *tasks));
    for (size_t i = 0; i < n; i++) {
        const char *text = f->call->operands[i + 1];
        tasks[i] = (struct muster_bytes){text, strlen(text)};
    }
    int err = enqueue_all(f, tasks, n);
    free(tasks);
    return report_flow(f, err);
}

static int report_input(const struct flow *f, const struct input *in, enum input_state state)
{
    char text[HOW_FAR_SIZE];
    const int error = errno;
    if (state == INPUT_FAILED && progress_is_stopped())
        return report_flow(f, MUSTER_E_STOPPED);
    if (state == INPUT_FAILED)
        complain_refusal(f->call, COMPLAIN_SYSTEM, "cannot read standard input: %s; %s", strerror(error),
                         say_how_far(f, false, text));
    else
        complain_refusal(
            f->call, muster_err_name(MUSTER_E_TOO_BIG),
            "task %" PRIu64 " is longer than %zu MiB; %s; store the data elsewhere and enqueue where it is",
            f->enqueued + f->existed + in->n + 1, MUSTER_TASK_MAX_DEFAULT >> 20, say_how_far(f, false, text));
    return EXIT_FAILED;
}

static int enqueue_input(struct flow *f, struct input *in)
{
    enum input_state state = INPUT_MORE;
    int code = EXIT_DONE;
    f->input = in;
    while (state == INPUT_MORE && !code) {
        state = input_next(in);
        int err = state <= INPUT_END ? enqueue_all(f, in->tasks, in->n) : MUSTER_OK;
        if (err == MUSTER_OK && state == INPUT_MORE)
            err = go_on(f, true);
        code = state <= INPUT_END ? report_flow(f, err) : report_input(f, in, state);
    }
    input_clear(in);
    return code;
}

static void print_result(const struct flow *f)
{
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT},
        {NULL, "enqueued", OUT_COUNT},
        {NULL, "waiting", OUT_COUNT},
        {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.text = f->queue},
        {.number = (int64_t)f->enqueued},
        {.number = (int64_t)f->waiting},
    };
    if (f->call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%" PRIu64 " enqueued, %" PRIu64 " waiting\n", f->enqueued, f->waiting);
}

/* Tasks that exist already are no error for --unique, but a caller may want to know: hence the exit code. */
static int print_unique(const struct flow *f)
{
    char tasks[TEXT_NUMBER_SIZE];
    static const struct out_column columns[] = {
        {NULL, "queue", OUT_TEXT}, {NULL, "enqueued", OUT_COUNT}, {NULL, "existed", OUT_COUNT},
        {NULL, "ids", OUT_NAMES},  {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.text = f->queue},
        {.number = (int64_t)f->enqueued},
        {.number = (int64_t)f->existed},
        {.number = (int64_t)(f->enqueued + f->existed), .names = f->ids},
    };
    if (f->call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%" PRIu64 " enqueued, %" PRIu64 " there already\n", f->enqueued, f->existed);
    if (f->existed > 0)
        complain_refusal(f->call, muster_err_name(MUSTER_E_EXISTS),
                         "not enqueued again, because equal ones wait or run in '%s': %s", f->queue,
                         text_number_of(tasks, f->existed, "task", "tasks"));
    return f->existed > 0 ? EXIT_EXISTS : EXIT_DONE;
}

/* Of those that nobody waits for now. */
static void print_ids(const struct flow *f)
{
    for (uint64_t i = 0; i < f->enqueued; i++)
        put_print(f->call, f->ids[i]);
}

static const char *check_request(const char *id)
{
    if (muster_queue_check(id))
        return "a request's id has 1 to 200 bytes and no control characters";
    return NULL;
}

enum { NUL, WHOLE, FRONT, REQUEST, UNIQUE, WAIT };

static const struct opt options[] = {
    [NUL] = {.letter = '0', .help = "tasks on standard input end with a NUL byte, not with a newline"},
    [WHOLE] = {.name = "whole", .help = "all of standard input is one task"},
    [FRONT] = {.name = "front", .help = "put the tasks at the front of the queue; the first one comes out first"},
    [REQUEST] = {.name = "request",
                 .kind = OPT_STRING,
                 .argument = "ID",
                 .help = "for safe repetition: the same tasks under the same ID within an hour add nothing",
                 .check = check_request},
    [UNIQUE] = {.name = "unique", .help = "skip a task if an equal one, also enqueued with --unique, waits or runs"},
    [WAIT] = {.name = "wait", .help = "wait until the tasks have ended, and print their results; see above"},
    {.help = NULL},
};

/* The length is asked first: if there is no Redis, this shows before any input is read or any task is in doubt. */
static int enqueue(struct flow *f)
{
    const struct opt_value *own = f->call->own;
    struct input in = {
        .delimiter = own[WHOLE].set ? INPUT_WHOLE
                     : own[NUL].set ? '\0'
                                    : '\n',
        .at_once = own[FRONT].set || own[REQUEST].set,
    };
    int err = muster_queue_length(f->client, f->queue, &f->waiting);
    if (err != MUSTER_OK)
        return complain_error(f->call, err, muster_client_error(f->client));
    int code = f->call->n_operands > 1 ? enqueue_operands(f) : enqueue_input(f, &in);
    return code == EXIT_DONE && f->unconfirmed ? report_flow(f, MUSTER_E_UNCONFIRMED) : code;
}

static int check_options(const struct call *call)
{
    const struct opt_value *own = call->own;
    if (own[NUL].set && own[WHOLE].set)
        return complain_usage(call, "-0 and --whole exclude each other");
    if (call->n_operands > 1 && (own[NUL].set || own[WHOLE].set))
        return complain_usage(call, "-0 and --whole are for tasks on standard input, but there are TASK operands");
    if (own[UNIQUE].set && (own[FRONT].set || own[REQUEST].set))
        return complain_usage(call, "--unique excludes --front and --request");
    if (own[WAIT].set && (own[FRONT].set || own[REQUEST].set || own[UNIQUE].set))
        return complain_usage(call, "--wait excludes --front, --request and --unique");
    return EXIT_DONE;
}

static int run(const struct call *call)
{
    struct flow f = {.call = call,
                     .queue = call->operands[0],
                     .is_unique = call->own[UNIQUE].set,
                     .is_awaited = call->own[WAIT].set};
    f.options = (struct muster_enqueue_options){
        .size = sizeof f.options, .at_front = call->own[FRONT].set, .request_id = call->own[REQUEST].text};
    int code = check_options(call);
    if (!code)
        code = client_open(call, &f.client);
    if (!code) {
        progress_begin(call);
        muster_client_set_progress(f.client, progress_on_step, (void *)"enqueued");
        code = enqueue(&f);
    }
    if (!code && f.is_awaited)
        code = await_jobs(call, f.client, f.ids, f.enqueued, false);
    else if (f.is_awaited)
        print_ids(&f);
    client_free(f.client);
    if (!code && f.is_unique)
        code = print_unique(&f);
    else if (!code && !f.is_awaited)
        print_result(&f);
    forget_ids(&f);
    return code;
}

const struct command cmd_enqueue = {
    .name = "enqueue",
    .operands = "QUEUE [TASK...]",
    .summary = "Add tasks to a queue: the TASKs, or each line of standard input",
    .about =
        "A task may hold any bytes. Put `--` before a TASK that begins with '-'. Standard input is sent as it\n"
        "arrives, except with --front, --request and --whole, which read all of it first. The answer says how many\n"
        "tasks and jobs wait in the queue afterwards. With --unique the exit code is 4 if one of the tasks was there\n"
        "already; the others were enqueued. While a unique task is alive it has an id, which --json shows; `muster "
        "job\n"
        "ID` and `muster cancel --job ID` know it.\n"
        "\n"
        "With --wait each TASK is put as a job with an id of its own and without retries, because how a plain task\n"
        "ends is told to nobody for certain: a worker gets the same bytes, and MUSTER_JOB. All are put first. Then it\n"
        "waits as `muster wait` does.\n" AWAIT_ABOUT,
    .examples = "muster enqueue mail alice@example.org bob@example.org\n"
                "find . -name '*.jpg' -print0 | muster enqueue -0 images\n"
                "muster enqueue photos --whole <picture.jpg\n"
                "muster enqueue mail --request 2026-06-01 <addresses\n"
                "muster enqueue index --unique page-17\n"
                "muster enqueue mail --front -- -urgent-\n"
                "muster enqueue sizes --wait --timeout 10s 'some text'\n",
    .options = options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .n_queues = 1,
    .changes = true,
    .run = run,
};
