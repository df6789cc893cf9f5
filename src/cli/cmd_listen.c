/* SPDX-License-Identifier: MIT
 *
 * muster listen: prints what happens in queues, an event a line, until a signal or --timeout ends it. It goes on by
 * itself when a connection breaks, and says on standard error when something may have been missed.
 *
 * If listening cannot begin, it ends like other verbs; only what has begun is worth waiting for.
 */
#include <errno.h>
#include <muster/listen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "connection.h"
#include "known.h"
#include "need.h"
#include "now.h"
#include "out.h"
#include "stream.h"
#include "text.h"

enum { KIND };

static const char *check_kind(const char *text);

static const struct opt options[] = {
    [KIND] = {.name = "kind",
              .kind = OPT_LIST,
              .argument = "KIND",
              .help = "only done, cancelled or deleted; more than one may be given",
              .check = check_kind},
    {.help = NULL},
};

/* What can be heard of a queue; `bit` asks for it. */
static const struct {
    const char *name;
    int bit, type;
} kinds[] = {
    {"done", MUSTER_LISTEN_DONE, MUSTER_HEARD_DONE},
    {"cancelled", MUSTER_LISTEN_CANCELLED, MUSTER_HEARD_CANCELLED},
    {"deleted", MUSTER_LISTEN_DELETED, MUSTER_HEARD_DELETED},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static size_t kind_of(const char *name)
{
    size_t i = 0;
    while (i < KINDS && strcmp(kinds[i].name, name) != 0)
        i++;
    return i;
}

static const char *check_kind(const char *text)
{
    return kind_of(text) < KINDS ? NULL : "must be done, cancelled or deleted";
}

static int wanted_kinds(const struct opt_value *value)
{
    int wanted = 0;
    for (size_t i = 0; i < value->n_texts; i++)
        wanted |= kinds[kind_of(value->texts[i])].bit;
    return value->set ? wanted : MUSTER_LISTEN_DONE | MUSTER_LISTEN_CANCELLED | MUSTER_LISTEN_DELETED;
}

/* ---- what was heard ---- */

/*
 *   is_ready   of these operands everything is heard
 *   has_begun  of all of them, once
 *   gap_err    somebody has been told of a gap for this reason; MUSTER_OK: of none
 *   code       of an end before it has begun
 */
struct listening {
    const struct call *call;
    struct muster_listener *listener;
    bool *is_ready;
    bool has_begun, is_over;
    int gap_err;
    int code;
};

static const char *name_of(int type)
{
    size_t i = 0;
    while (i < KINDS - 1 && kinds[i].type != type)
        i++;
    return kinds[i].name;
}

static void print_json(const struct muster_heard *e)
{
    static const struct out_column columns[] = {
        {NULL, "what", OUT_TEXT},   {NULL, "queue", OUT_TEXT}, {NULL, "process", OUT_TEXT}, {NULL, "worker", OUT_TEXT},
        {NULL, "holder", OUT_TEXT}, {NULL, "task", OUT_BYTES}, {NULL, "result", OUT_BYTES}, {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {
        {.text = name_of(e->type)},
        {.text = e->queue},
        {.text = e->process},
        {.text = e->worker},
        {.text = e->holder},
        {.text = e->task, .len = e->len},
        {.text = e->result ? e->result->data : NULL, .len = e->result ? e->result->len : 0},
    };
    out_json(columns, cells);
}

static void print_cell(const void *data, size_t len)
{
    char *text = text_printable(data, len, SIZE_MAX);
    out_text("\t%s", text);
    free(text);
}

/* A line for people and shells: whatever the bytes are, it stays one line. */
static void print_line(const struct muster_heard *e)
{
    out_text("%s", name_of(e->type));
    print_cell(e->queue, strlen(e->queue));
    if (e->type != MUSTER_HEARD_DELETED) {
        const char *process = e->process ? e->process : "-";
        print_cell(process, strlen(process));
        print_cell(e->task, e->len);
    }
    out_text("\n");
}

/* Returns whether all are ready now. */
static bool mark(struct listening *l, const char *queue, bool is_ready)
{
    bool are_all = true;
    for (size_t i = 0; i < l->call->n_operands; i++) {
        if (strcmp(l->call->operands[i], queue) == 0)
            l->is_ready[i] = is_ready;
        are_all &= l->is_ready[i];
    }
    return are_all;
}

static void note_ready(struct listening *l, const struct muster_heard *ready)
{
    if (!mark(l, ready->queue, true) || (l->has_begun && l->gap_err == MUSTER_OK))
        return;
    complain(l->call, l->has_begun ? "listens again" : "listens");
    l->has_begun = true;
    l->gap_err = MUSTER_OK;
}

/* One line for all queues: they mostly go together. Another one if the reason is another: the first was perhaps only
 * that the connection broke. */
static void note_gap(struct listening *l, const struct muster_heard *gap)
{
    const int told = l->gap_err;
    mark(l, gap->queue, false);
    l->gap_err = gap->err;
    if (!l->has_begun) {
        l->code = complain_error(l->call, gap->err, gap->text);
        l->is_over = true;
    } else if (told != gap->err) {
        complain(l->call, "%s: %s", told == MUSTER_OK ? "from now on events may be missed" : "keeps trying", gap->text);
    }
}

static void note(struct listening *l, const struct muster_heard *e)
{
    if (e->type == MUSTER_HEARD_READY)
        note_ready(l, e);
    else if (e->type == MUSTER_HEARD_GAP)
        note_gap(l, e);
    else if (l->call->common[OPT_JSON].set)
        print_json(e);
    else
        print_line(e);
}

/* No more at a time: a signal, or the time, ends it also where more is heard than can be printed. */
#define TAKEN_AT_ONCE 64

static void take(struct listening *l)
{
    struct muster_heard heard[TAKEN_AT_ONCE];
    heard[0].size = sizeof heard[0];
    size_t n = muster_listener_next(l->listener, heard, TAKEN_AT_ONCE);
    for (size_t i = 0; i < n && !l->is_over; i++)
        note(l, &heard[i]);
    l->is_over |= out_flush() != 0;
}

/* ---- until it ends ---- */

static volatile sig_atomic_t is_stopped;

/* The second one ends the program as ever. */
static void on_stop_signal(int signo)
{
    (void)signo;
    is_stopped = 1;
    stream_hurry();
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void set_signals(sigset_t *stops)
{
    struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART};
    sigemptyset(stops);
    sigaddset(stops, SIGINT);
    sigaddset(stops, SIGTERM);
    action.sa_mask = *stops;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* A signal between the look for one and the wait would be missed: there it is held back. False: the time is over. */
static bool wait_for_more(const struct listening *l, int64_t until_ms, const sigset_t *stops)
{
    struct pollfd p = {.fd = muster_listener_fd(l->listener), .events = POLLIN};
    const int64_t left_ms = until_ms - now_ms();
    const struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
    sigset_t waiting;
    if (left_ms <= 0)
        return false;
    sigprocmask(SIG_BLOCK, stops, &waiting);
    if (!is_stopped)
        ppoll(&p, 1, until_ms < INT64_MAX ? &left : NULL, &waiting);
    sigprocmask(SIG_SETMASK, &waiting, NULL);
    return true;
}

static int time_is_over(const struct listening *l)
{
    for (size_t i = 0; i < l->call->n_operands && !l->has_begun; i++)
        if (!l->is_ready[i])
            complain_refusal(l->call, muster_err_name(MUSTER_E_TIMEOUT),
                             "the time was over before it listened to the queue '%s': give it longer with --timeout",
                             l->call->operands[i]);
    return EXIT_TIMEOUT;
}

static int listen(struct listening *l)
{
    const int64_t wait_ms = opt_wait_ms(&l->call->common[OPT_TIMEOUT], -1);
    const int64_t until_ms = wait_ms < 0 ? INT64_MAX : now_ms() + wait_ms;
    sigset_t stops;
    set_signals(&stops);
    for (size_t i = 0; i < l->call->n_operands; i++) {
        int err = muster_listener_add(l->listener, l->call->operands[i], wanted_kinds(&l->call->own[KIND]));
        if (err != MUSTER_OK)
            return complain_error(l->call, err, muster_listener_error(l->listener));
    }
    while (!l->is_over && !is_stopped) {
        if (!wait_for_more(l, until_ms, &stops))
            return time_is_over(l);
        take(l);
    }
    return l->code;
}

/* A name that was misspelt looks like a queue in which nothing happens. */
static int look_at_queues(const struct call *call)
{
    struct muster_client *client;
    int err = MUSTER_OK, code = client_open(call, &client);
    if (code)
        return code;
    for (size_t i = 0; i < call->n_operands && (err == MUSTER_OK || err == MUSTER_E_NOT_FOUND); i++)
        err = known_look(call, client, call->operands[i], " yet");
    return client_close(call, client, err == MUSTER_E_NOT_FOUND ? MUSTER_OK : err);
}

static int open_listener(const struct call *call, struct muster_listener **out)
{
    struct connection connection;
    int code = connection_read(call, &connection);
    if (code)
        return code;
    const struct muster_client_options client = {
        .size = sizeof client,
        CONNECTION_OPTIONS(&connection),
    };
    const struct muster_listener_options o = {.size = sizeof o, .client = &client};
    int err = muster_listener_new(out, &o);
    code = complain_error(call, err, err == MUSTER_OK ? "" : muster_listener_error(NULL));
    connection_clear(&connection);
    return code;
}

static int run(const struct call *call)
{
    struct listening l = {.call = call};
    for (size_t i = 0; i < call->n_operands; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(call->operands[i], call->operands[j]) == 0)
                return complain_usage(call, "the queue '%s' is given twice", call->operands[i]);
    int code = look_at_queues(call);
    if (code == EXIT_DONE)
        code = open_listener(call, &l.listener);
    if (code != EXIT_DONE)
        return code;
    l.is_ready = need(calloc(call->n_operands, sizeof *l.is_ready));
    code = listen(&l);
    muster_listener_free(l.listener);
    free(l.is_ready);
    return code;
}

const struct command cmd_listen = {
    .name = "listen",
    .operands = "QUEUE...",
    .summary = "Print what happens in queues, a line for each event, until it is interrupted",
    .about =
        "A line has tabs between its words: `done`, the queue, the process and the task; `cancelled`, the queue, a\n"
        "dash and the task; or `deleted` and the queue. Bytes that do not print are escaped; --json has them, and the\n"
        "result that a process was finished with.\n"
        "\n"
        "It prints what happens after it says that it listens. If the connection breaks, it connects again by itself,\n"
        "and says on standard error that events may have been missed meanwhile. With --timeout it listens for that\n"
        "long, and ends with exit code 124; without it, a signal ends it, with 0. For what happens to jobs see `muster "
        "events`.\n",
    .examples = "muster listen mail\n"
                "muster listen mail images --kind done --json\n"
                "muster listen mail --timeout 1h | while IFS=$(printf '\\t') read -r what queue process task; do\n"
                "    echo \"$what: $task\"; done\n",
    .options = options,
    .min_operands = 1,
    .max_operands = OPERANDS_ALL,
    .n_queues = OPERANDS_ALL,
    .run = run,
};
