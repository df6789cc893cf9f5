/* SPDX-License-Identifier: MIT
 *
 * muster work: a worker that runs a command for each task, or prints the tasks. This file has its options, its start
 * and end, and its signals. The library runs the commands and reads their exit status; work_print.c prints.
 */
#include <muster/client.h>
#include <muster/worker.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "command.h"
#include "complain.h"
#include "connection.h"
#include "notify.h"
#include "work_print.h"
#include "work_status.h"
#include "work_story.h"

/* ---- signals: their handlers can only reach globals ---- */

static struct muster_worker *worker;
static int drain_ms;
static volatile sig_atomic_t too_late;
static atomic_int stops_asked; /* threads that print read it */

static void on_stop_signal(int signo)
{
    (void)signo;
    notify_say(NOTIFY_STOPPING);
    muster_worker_stop(worker, stops_asked ? 0 : drain_ms);
    stops_asked = 1;
}

static void on_alarm(int signo)
{
    (void)signo;
    too_late = !stops_asked;
    muster_worker_stop(worker, 0);
}

/* One after the other, so that the first one is known for the reason. */
static void set_signal(int signo, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(signo, &action, NULL);
}

/* Under nohup(1) a hang-up stays ignored. */
static void set_signals(void (*on_stop)(int), void (*on_time)(int))
{
    struct sigaction hang_up;
    sigaction(SIGHUP, NULL, &hang_up);
    if (hang_up.sa_handler != SIG_IGN)
        set_signal(SIGHUP, on_stop);
    set_signal(SIGTERM, on_stop);
    set_signal(SIGINT, on_stop);
    set_signal(SIGALRM, on_time);
}

static void set_timer(int64_t ms)
{
    const struct itimerval timer = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_started(void)
{
    set_timer(0);
    notify_say(NOTIFY_READY);
}

/* ---- options ---- */

/* The ends that --on-limit can name. */
static const struct {
    const char *name;
    enum muster_outcome outcome;
} on_limits[] = {{"fail", MUSTER_FAIL}, {"retry", MUSTER_RETRY}, {"give-back", MUSTER_GIVE_BACK}};

/* Returns -1 if there is no such end. */
static int find_on_limit(const char *name)
{
    for (size_t i = 0; i < sizeof on_limits / sizeof *on_limits; i++)
        if (strcmp(on_limits[i].name, name) == 0)
            return (int)on_limits[i].outcome;
    return -1;
}

static const char *check_on_limit(const char *name)
{
    return find_on_limit(name) < 0 ? "it must be one of fail, retry and give-back" : NULL;
}

/* What --on-doubt can name. */
static const struct {
    const char *name;
    enum muster_on_doubt on_doubt;
} on_doubts[] = {{"stop", MUSTER_DOUBT_STOP}, {"run", MUSTER_DOUBT_RUN}};

/* Returns -1 if there is no such thing. */
static int find_on_doubt(const char *name)
{
    for (size_t i = 0; i < sizeof on_doubts / sizeof *on_doubts; i++)
        if (strcmp(on_doubts[i].name, name) == 0)
            return (int)on_doubts[i].on_doubt;
    return -1;
}

static const char *check_on_doubt(const char *name)
{
    return find_on_doubt(name) < 0 ? "it must be one of stop and run" : NULL;
}

/* What --on-move can name. */
static const struct {
    const char *name;
    enum muster_on_move on_move;
} on_moves[] = {{"move", MUSTER_MOVE_AWAY}, {"stay", MUSTER_MOVE_STAY}};

/* Returns -1 if there is no such thing. */
static int find_on_move(const char *name)
{
    for (size_t i = 0; i < sizeof on_moves / sizeof *on_moves; i++)
        if (strcmp(on_moves[i].name, name) == 0)
            return (int)on_moves[i].on_move;
    return -1;
}

static const char *check_on_move(const char *name)
{
    return find_on_move(name) < 0 ? "it must be one of move and stay" : NULL;
}

static const char *check_result(const char *name)
{
    return strcmp(name, "stdout") != 0 && strcmp(name, "none") != 0 ? "it must be one of stdout and none" : NULL;
}

static const char *check_message(const char *name)
{
    return strcmp(name, "stderr") != 0 && strcmp(name, "exit") != 0 ? "it must be one of stderr and exit" : NULL;
}

static bool has_result(const struct opt_value *result)
{
    return result->text && strcmp(result->text, "stdout") == 0;
}

enum {
    HANDS,
    ID,
    TTL,
    PERMANENT,
    RESUME,
    DRAIN,
    PREFETCH,
    RETRY_DELAY,
    REPLACE,
    BURST,
    MAX_TASKS,
    IN_TURN,
    LIMIT,
    ON_LIMIT,
    ON_DOUBT,
    ON_MOVE,
    MOVE_TIME,
    RESULT,
    RESULT_MAX,
    MESSAGE,
    PRINT,
    LOG,
    LOG_FILE,
    STATUS,
    STATUS_TOKEN_FILE
};

static const struct opt options[] = {
    [HANDS] = {.letter = 'c',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "hands: how many tasks run at once, over all queues; with --print at most 64",
               .fallback = "1",
               .min = 1,
               .max = MUSTER_HANDS_MAX},
    [ID] = {.name = "id",
            .kind = OPT_STRING,
            .argument = "ID",
            .help = "the worker's id (default: host name, pid and random digits)",
            .check = muster_worker_id_check},
    [TTL] = {.name = "ttl",
             .kind = OPT_DURATION,
             .argument = "TIME",
             .help = "the worker counts as dead after this time without a heartbeat",
             .fallback = "3s",
             .min = MUSTER_TTL_MIN_MS,
             .max = DAY_MS},
    [PERMANENT] = {.name = "permanent",
                   .help =
                       "never counts as dead; only a stop, `muster fail-worker` or a new start of its --id ends it"},
    [RESUME] = {.name = "resume",
                .help = "go on with the tasks that an earlier worker with this --id held when it died"},
    [DRAIN] = {.name = "drain",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long running tasks may go on after a signal to stop",
               .fallback = "30s",
               .max = 7 * DAY_MS},
    [PREFETCH] = {.name = "prefetch",
                  .kind = OPT_COUNT,
                  .argument = "N",
                  .help = "how many more tasks are taken in advance",
                  .fallback = "0",
                  .max = MUSTER_HANDS_MAX},
    [RETRY_DELAY] = {.name = "retry-delay",
                     .kind = OPT_DURATION,
                     .argument = "TIME",
                     .help = "after COMMAND exits with 75: how long until its task comes back",
                     .fallback = "1s",
                     .min = 1,
                     .max = 7 * DAY_MS},
    [REPLACE] = {.letter = 'I',
                 .kind = OPT_STRING,
                 .argument = "STR",
                 .help = "put the task in place of each STR in COMMAND's arguments"},
    [BURST] = {.name = "burst",
               .help = "end when nothing is handed out, nothing runs, nobody dead is to sweep; delayed tasks stay"},
    [MAX_TASKS] = {.name = "max-tasks",
                   .kind = OPT_COUNT,
                   .argument = "N",
                   .help = "end after N tasks",
                   .min = 1,
                   .max = INT64_MAX},
    [IN_TURN] = {.name = "in-turn", .help = "take from the queues in turn, instead of from the first one first"},
    [LIMIT] = {.name = "limit",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long COMMAND may run on one task",
               .min = 1,
               .max = 365 * DAY_MS},
    [ON_LIMIT] = {.name = "on-limit",
                  .kind = OPT_STRING,
                  .argument = "END",
                  .help = "how a task past its limit ends: fail, retry or give-back (default fail; of a job, retry)",
                  .check = check_on_limit},
    [ON_DOUBT] = {.name = "on-doubt",
                  .kind = OPT_STRING,
                  .argument = "WHAT",
                  .help = "when Redis is away for longer than the ttl, COMMANDs that run: stop, or run on",
                  .fallback = "stop",
                  .check = check_on_doubt},
    [ON_MOVE] = {.name = "on-move",
                 .kind = OPT_STRING,
                 .argument = "WHAT",
                 .help = "what a task does that is to go to another worker: move, or stay",
                 .fallback = "move",
                 .check = check_on_move},
    [MOVE_TIME] = {.name = "move-time",
                   .kind = OPT_DURATION,
                   .argument = "TIME",
                   .help = "how long COMMAND may take to end then, before it is killed",
                   .fallback = "5s",
                   .min = 1,
                   .max = DAY_MS},
    [RESULT] = {.name = "result",
                .kind = OPT_STRING,
                .argument = "WHAT",
                .help = "stdout: what COMMAND prints is the task's result; none: it is passed through",
                .fallback = "none",
                .check = check_result},
    [RESULT_MAX] = {.name = "result-max",
                    .kind = OPT_COUNT,
                    .argument = "BYTES",
                    .help = "a longer result is cut off there",
                    .fallback = "65536",
                    .min = 1,
                    .max = MUSTER_TASK_MAX_DEFAULT},
    [MESSAGE] = {.name = "message",
                 .kind = OPT_STRING,
                 .argument = "WHAT",
                 .help = "a failure's message: the end of COMMAND's stderr, or its exit status (exit)",
                 .fallback = "stderr",
                 .check = check_message},
    [PRINT] = {.name = "print",
               .help = "without COMMAND: print each task as a line, and finish it; while nobody reads, it goes back"},
    [LOG] = {.name = "log",
             .kind = OPT_STRING,
             .argument = "FORM",
             .help = "standard error, see above: failures, text, json or none",
             .fallback = "failures",
             .env = "MUSTER_LOG",
             .check = work_log_check},
    [LOG_FILE] = {.name = "log-file",
                  .kind = OPT_STRING,
                  .argument = "FILE",
                  .help = "append the lines of --log text or json to this file; standard error is the COMMANDs' then"},
    [STATUS] = {.name = "status",
                .kind = OPT_STRING,
                .argument = "ADDR:PORT",
                .help = "serve this worker's /metrics and /healthz there, over HTTP",
                .env = "MUSTER_STATUS",
                .check = work_status_check},
    [STATUS_TOKEN_FILE] = {.name = "status-token-file",
                           .kind = OPT_STRING,
                           .argument = "FILE",
                           .help = "who shows its first line may ask; needed beyond loopback",
                           .env = "MUSTER_STATUS_TOKEN_FILE"},
    {.help = NULL},
};

/* Printing finishes the tasks, so it must be asked for: a forgotten `--` makes queues of the words of a command. */
static int check_command(const struct call *call)
{
    if (call->rest && call->own[PRINT].set)
        return complain_usage(call, "--print is instead of a COMMAND");
    if (!call->rest && !call->own[PRINT].set)
        return complain_usage(call,
                              "there is no COMMAND: put `--` before it, as in `muster work %s -- COMMAND`; or "
                              "--print, which prints the tasks and finishes them",
                              call->operands[0]);
    return EXIT_DONE;
}

/* Each hand that prints needs a thread, and prints while no other one does. */
#define PRINTING_HANDS_MAX 64

static int check_options(const struct call *call)
{
    const struct opt_value *own = call->own;
    if (own[HANDS].number + own[PREFETCH].number > MUSTER_HANDS_MAX)
        return complain_usage(call, "-c and --prefetch are together more than %d", MUSTER_HANDS_MAX);
    if (!call->rest && own[HANDS].number > PRINTING_HANDS_MAX)
        return complain_usage(call, "-c: with --print at most %d", PRINTING_HANDS_MAX);
    if (own[IN_TURN].set && own[PREFETCH].number > 0)
        return complain_usage(call, "--in-turn and --prefetch exclude each other: what is taken in advance comes from "
                                    "one queue, as far as that has it");
    if ((own[PERMANENT].set || own[RESUME].set) && !own[ID].set)
        return complain_usage(call, "--permanent and --resume need an --id, under which the worker comes back");
    if (own[REPLACE].set && !*own[REPLACE].text)
        return complain_usage(call, "-I: there is nothing to replace");
    if (!call->rest && (own[REPLACE].set || own[RETRY_DELAY].set || own[LIMIT].set || own[ON_LIMIT].set))
        return complain_usage(
            call, "-I, --retry-delay, --limit and --on-limit are for a command: muster work QUEUE -- COMMAND");
    if (!call->rest && (own[ON_MOVE].set || own[MOVE_TIME].set))
        return complain_usage(call, "--on-move and --move-time are for a command: muster work QUEUE -- COMMAND");
    if (!call->rest && (own[RESULT].set || own[RESULT_MAX].set || own[MESSAGE].set))
        return complain_usage(call, "--result and --message are for a command: muster work QUEUE -- COMMAND");
    if (own[RESULT_MAX].set && !has_result(&own[RESULT]))
        return complain_usage(call, "--result-max has no effect without --result stdout");
    if (own[MOVE_TIME].set && find_on_move(own[ON_MOVE].text) == MUSTER_MOVE_STAY)
        return complain_usage(call, "--move-time has no effect with --on-move stay");
    if (own[ON_DOUBT].set && (!call->rest || own[PERMANENT].set))
        return complain_usage(call, "--on-doubt is for a command of a worker that is not --permanent");
    for (size_t i = 0; i < call->n_operands; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(call->operands[i], call->operands[j]) == 0)
                return complain_usage(call, "the queue '%s' is given twice", call->operands[i]);
    return check_command(call);
}

/* ---- start and end ---- */

/* Complains itself if there can be none. Returns an exit code. */
static int make_worker(const struct call *call, struct work_story *story)
{
    struct connection connection;
    int code = connection_read(call, &connection);
    if (!code && call->rest)
        code = connection_pass_on(call, &connection);
    if (code)
        return code;
    const struct muster_worker_options o = {
        .size = sizeof o,
        CONNECTION_OPTIONS(&connection),
        .id = call->own[ID].text,
        .ttl_ms = (int)call->own[TTL].number,
        .hands = (int)call->own[HANDS].number,
        .prefetch = (int)call->own[PREFETCH].number,
        .permanent = call->own[PERMANENT].set,
        .resume = call->own[RESUME].set,
        .burst = call->own[BURST].set,
        .max_tasks = (uint64_t)call->own[MAX_TASKS].number,
        .in_turn = call->own[IN_TURN].set,
        .limit_ms = call->own[LIMIT].number,
        .on_limit =
            call->own[ON_LIMIT].set ? (enum muster_outcome)find_on_limit(call->own[ON_LIMIT].text) : MUSTER_FINISH,
        .on_doubt = (enum muster_on_doubt)find_on_doubt(call->own[ON_DOUBT].text),
        .threads = call->rest ? 0 : (int)call->own[HANDS].number, /* which print: work_print.c */
        .drain_ms = drain_ms,
        .on_event = work_story_event,
        .on_end = story->log.form == WORK_LOG_NONE ? NULL : work_story_end,
        .arg = story,
    };
    int err = muster_worker_new(&worker, &o);
    const char *why = err == MUSTER_E_INVALID ? muster_worker_options_check(&o) : NULL;
    connection_clear(&connection);
    return complain_error(call, err, why ? why : "");
}

/* The loop goes round. */
static void on_pulse(struct muster_worker *w, void *arg)
{
    (void)w;
    status_beat(arg);
    notify_pulse();
}

static int64_t pulse_ms(const struct status *status)
{
    int64_t manager_ms = notify_pulse_ms();
    if (!status)
        return manager_ms;
    return manager_ms > 0 && manager_ms < STATUS_BEAT_MS ? manager_ms : STATUS_BEAT_MS;
}

/* A log that is read slowly must not cost the registration, nor hold up a stop. */
#define PATIENCE_MAX_MS 500
static int patience_ms(const struct call *call)
{
    int of_ttl_ms = (int)call->own[TTL].number / 6;
    return of_ttl_ms < PATIENCE_MAX_MS ? of_ttl_ms : PATIENCE_MAX_MS;
}

static int serve_queues(const struct call *call, struct printer *printer, struct status *status)
{
    const struct muster_command command = {
        .size = sizeof command,
        .argv = (const char *const *)call->rest,
        .replace = call->own[REPLACE].text,
        .retry_delay_ms = (int)call->own[RETRY_DELAY].number,
        .on_move = (enum muster_on_move)find_on_move(call->own[ON_MOVE].text),
        .move_ms = call->own[MOVE_TIME].set ? (int)call->own[MOVE_TIME].number : 0,
        .on_stdout = has_result(&call->own[RESULT]) ? MUSTER_STDOUT_RESULT : MUSTER_STDOUT_PASS,
        .on_stderr = strcmp(call->own[MESSAGE].text, "exit") == 0 ? MUSTER_STDERR_PASS : MUSTER_STDERR_MESSAGE,
        .result_max = has_result(&call->own[RESULT]) ? (size_t)call->own[RESULT_MAX].number : 0,
    };
    int err = muster_worker_set_pulse(worker, pulse_ms(status), on_pulse, status);
    if (err == MUSTER_OK)
        err = muster_worker_start(worker);
    for (size_t i = 0; i < call->n_operands && err == MUSTER_OK; i++)
        err = call->rest ? muster_worker_serve_command(worker, call->operands[i], &command)
                         : muster_worker_serve(worker, call->operands[i], 0, work_print_task, printer);
    return err;
}

/* Explains an end that nobody asked for. */
static int report_end(const struct call *call, int err, bool was_serving)
{
    if (too_late) {
        const char *why = muster_worker_error(worker);
        complain_refusal(call, muster_err_name(MUSTER_E_TIMEOUT), "%s: not registered within --timeout %s: %s",
                         muster_worker_id(worker), call->common[OPT_TIMEOUT].text, *why ? why : "no answer");
        return EXIT_TIMEOUT;
    }
    if (err == MUSTER_E_NOT_FOUND && !was_serving) {
        complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND),
                         "the command '%s' is not found or cannot be executed", call->rest[0]);
        return EXIT_NOT_FOUND;
    }
    if (err == MUSTER_E_EXISTS) {
        complain_refusal(
            call, muster_err_name(MUSTER_E_EXISTS),
            "another live worker has the id '%s'; choose another --id or, if that worker has crashed, try again "
            "after its ttl",
            muster_worker_id(worker));
        return EXIT_EXISTS;
    }
    return complain_error(call, err, muster_worker_error(worker));
}

/* Complains itself if the status cannot be served. Returns an exit code. */
static int begin_status(struct work_status *status, struct work_story *story)
{
    int code = work_status_begin(status, worker);
    story->status = status->status;
    if (status->status)
        work_story_status(story, worker);
    return code;
}

/* The status is there before the worker tries to register: its port may be taken, and its health tells why it cannot.
 * Returns an exit code. */
static int make_all(const struct call *call, struct work_status *status, struct work_story *story)
{
    int code = make_worker(call, story);
    if (code)
        return code;
    status->options.ttl_ms = call->own[TTL].number;
    code = begin_status(status, story);
    if (code)
        muster_worker_free(worker);
    return code;
}

static int run(const struct call *call)
{
    struct work_story story = {.on_started = on_started};
    struct work_status status;
    struct printer printer;
    int code = check_options(call);
    if (!code)
        code = work_status_read(&status, call, &call->own[STATUS], &options[STATUS_TOKEN_FILE],
                                &call->own[STATUS_TOKEN_FILE]);
    if (code)
        return code;
    work_print_init(&printer, call->common[OPT_JSON].set, patience_ms(call), &stops_asked);
    drain_ms = (int)call->own[DRAIN].number;
    notify_open();
    code = work_log_begin(&story.log, call, call->own[LOG].text, call->own[LOG_FILE].text, patience_ms(call));
    if (code) {
        work_status_end(&status);
        return code;
    }
    code = make_all(call, &status, &story);
    if (code) {
        work_status_end(&status);
        work_log_end(&story.log);
        return code;
    }
    set_signals(on_stop_signal, on_alarm);
    if (call->common[OPT_TIMEOUT].set)
        set_timer(call->common[OPT_TIMEOUT].number);
    int err = serve_queues(call, &printer, status.status);
    bool was_serving = err == MUSTER_OK;
    if (was_serving)
        err = muster_worker_run(worker);
    notify_say(NOTIFY_STOPPING);
    set_timer(0);
    set_signals(SIG_IGN, SIG_IGN); /* a late signal must not find a worker that is gone */
    code = report_end(call, err, was_serving);
    work_status_end(&status);
    muster_worker_free(worker);
    if (printer.n_torn > 0)
        complain(call, "nobody read standard output: printed only in part, and given back: %u", printer.n_torn);
    work_log_end(&story.log);
    return code;
}

const struct command cmd_work = {
    .name = "work",
    .operands = "QUEUE... {-- COMMAND [ARGUMENT...] | --print}",
    .summary = "Run a worker, which runs COMMAND for each task, or prints (--print) and finishes it",
    .about =
        "COMMAND receives the task on standard input, and MUSTER_QUEUE, MUSTER_PROCESS, MUSTER_TOKEN and\n"
        "MUSTER_WORKER in its environment. For a job there are also MUSTER_JOB, its id, MUSTER_BATCH, the batch of\n"
        "which it is a member, and MUSTER_ATTEMPT, which is 1 for the first attempt.\n"
        "\n"
        "The exit status of COMMAND decides. 0 finishes the task. 75 retries it after --retry-delay. Any other\n"
        "status, or death by a signal, puts it on the failed list. A plain task is retried without limit. A job is\n"
        "retried in all these cases, by its own retries and backoff; when no retry is left, it fails.\n"
        "If COMMAND cannot be executed, its task is given back, and the worker ends.\n"
        "\n"
        "Or COMMAND ends its process itself: `muster finish \"$MUSTER_PROCESS\" --result ...`, or fail, retry or\n"
        "give-back. That counts at once, and COMMAND exits when it wants to; its exit status means nothing then. The\n"
        "options of the worker's connection, such as --url, are in COMMAND's environment.\n"
        "\n"
        "What COMMAND prints on standard error is passed through, and its last lines, at most 1 KiB, are the message\n"
        "of a failure or of a job's retry; `muster failed` and `muster job` show it. With --message exit it is not\n"
        "read, and the message tells the exit status only. With --result stdout what COMMAND prints on standard\n"
        "output becomes the result, byte by byte, of a task that is finished: a job's record keeps it (`muster job\n"
        "ID --result`), and listeners of the queue get it. It is not passed through then. What is longer than\n"
        "--result-max is cut off, and a line tells so.\n"
        "\n"
        "What a worker held when it died is suspect, and runs alone in the next one, even with -c. Three more\n"
        "deaths beside which nothing else ran, so four in all, put it on the failed list, group `crashed`. `muster\n"
        "replay QUEUE --group crashed` puts it back, and it is suspect no more. For tasks that never end switch all\n"
        "this off: `muster config --queue QUEUE max_crashes=0`.\n"
        "\n"
        "SIGTERM and SIGINT let running tasks end and give back those that have not started; a second signal gives\n"
        "back all. Without Redis the worker keeps trying; with --timeout it gives up if it is not registered in\n"
        "that time.\n"
        "\n"
        "Choose a --ttl longer than the pauses of Redis and of the network that should pass unnoticed; a dead "
        "worker's\n"
        "tasks wait that long. After a longer pause COMMANDs get SIGTERM, because the tasks may be in other hands. "
        "With\n"
        "--on-doubt run they run on, and are stopped only if it turns out that the worker was swept meanwhile; then a\n"
        "task can run in two places at once.\n"
        "\n"
        "If the task is cancelled (`muster cancel`) or runs past --limit, COMMAND and its process group get SIGTERM,\n"
        "and SIGKILL if they go on. What COMMAND starts in other groups (setsid, `set -m`) it must end itself. If\n"
        "COMMAND still exits with 0, its task is finished, but not a job that was cancelled: that is gone, and a line\n"
        "tells that the end did not count.\n"
        "\n"
        "If the task is to move to another worker (`muster config --queue QUEUE share=even`), they get SIGTERM, and\n"
        "SIGKILL after --move-time; any other reason to stop does not wait for that. The task moves whatever the exit\n"
        "status is, but 0 finishes it: a COMMAND that is to go on elsewhere must not exit with 0 then. With --on-move\n"
        "stay they are left alone.\n"
        "\n"
        "Standard error tells events, and the tasks that fail. With --log text or --log json each line has the time\n"
        "and a level, and each task that ends has one: its outcome, how long it ran, and, of a job, how long it had\n"
        "waited. doc/json.md has the keys. --log none tells only why the worker ends. A line that nobody reads in\n"
        "time is left out, which the next one says.\n"
        "What COMMANDs write on their standard error goes there as it is, between the lines of the log. So a program\n"
        "that reads the log as JSON had better get it by --log-file FILE.\n"
        "\n"
        "With --status the worker tells over HTTP how it is: /healthz is 200 while it is registered, heard, and its\n"
        "loop goes round, else 503 and why; /metrics has its counters for Prometheus; / says who it is. A thread of\n"
        "its own answers, so a loop that stands still is told, and whoever asks holds up no task.\n",
    .examples = "muster work mail -- ./send-mail\n"
                "muster work images -c 4 -I {} -- convert {} -resize 50% {}.small.jpg\n"
                "muster work mail --burst --limit 1m -- ./send-mail\n"
                "muster work mail --log json -- ./send-mail 2>>mail.log\n"
                "muster work sizes --result stdout -- wc -c\n"
                "muster work mail --status 127.0.0.1:9300 -- ./send-mail\n"
                "muster work mail images --print | tee tasks\n",
    .options = options,
    .min_operands = 1,
    .max_operands = OPERANDS_ALL,
    .n_queues = OPERANDS_ALL,
    .takes_command = true,
    .run = run,
};
