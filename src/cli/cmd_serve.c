/* SPDX-License-Identifier: MIT
 *
 * muster serve: runs a Redis fit for a queue in the foreground, or a cluster of three for trying, until it is told to
 * stop. This file watches what runs; serve_place.c prepares its directory and addresses, serve_cluster.c those of a
 * cluster, serve_redis.c the settings.
 *
 * All signals that matter are blocked before the first directory is made, and are only waited for: so no signal can
 * leave a directory or a Redis behind.
 */
#include <errno.h>
#include <muster/client.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "connection.h"
#include "now.h"
#include "out.h"
#include "serve_cluster.h"
#include "serve_place.h"
#include "serve_redis.h"

#define PORT_DEFAULT 6379
#define CLUSTER_PORT_DEFAULT 7000
#define START_LIMIT_MS 60000
#define POLL_MS 10
#define ANSWER_LIMIT_MS 1000

enum { PORT, SOCKET, DIRECTORY, TEMPORARY, CLUSTER };

static const struct opt options[] = {
    [PORT] = {.name = "port",
              .kind = OPT_COUNT,
              .argument = "N",
              .help =
                  "the TCP port on 127.0.0.1; 0: none (default 6379, or none with --socket or --temporary);\n"
                  "                           with --cluster the first of three (default 7000, or any free ones with\n"
                  "                           --temporary)",
              .max = 65535},
    [SOCKET] = {.name = "socket", .kind = OPT_STRING, .argument = "PATH", .help = "a Unix socket to listen on"},
    [DIRECTORY] = {.name = "dir",
                   .kind = OPT_STRING,
                   .argument = "DIR",
                   .help = "the directory of data and log (default $XDG_DATA_HOME/muster or ~/.local/share/muster)"},
    [TEMPORARY] = {.name = "temporary", .help = "use a new directory, with a socket in it, and remove it at the end"},
    [CLUSTER] = {.name = "cluster", .help = "run a cluster of three nodes without replicas, for trying"},
    {.help = NULL},
};

/* ---- the child ---- */

/* What is watched: one Redis, or the nodes of a cluster. Some may have ended, or may not have been started. */
struct watch {
    const struct call *call;
    const struct place *place;  /* what is told to people */
    const struct place *places; /* of each Redis */
    size_t n;
    sigset_t signals;
    pid_t pids[CLUSTER_NODES];                    /* 0: it does not run */
    size_t ended;                                 /* the last one that has ended */
    int status;                                   /* its exit status */
    struct muster_client *clients[CLUSTER_NODES]; /* for looking whether it answers */
};

enum what { NOTHING, ASKED_TO_STOP, HAS_ENDED };

static enum what reap(struct watch *w)
{
    enum what what = NOTHING;
    for (size_t i = 0; i < w->n; i++) {
        if (w->pids[i] > 0 && waitpid(w->pids[i], &w->status, WNOHANG) == w->pids[i]) {
            w->pids[i] = 0;
            w->ended = i;
            what = HAS_ENDED;
        }
    }
    return what;
}

/* Waits for the next signal; returns NOTHING after `limit_ms`. -1: no limit. */
static enum what wait_signal(struct watch *w, int limit_ms)
{
    const struct timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
    int signo = sigtimedwait(&w->signals, NULL, limit_ms < 0 ? NULL : &limit);
    if (signo == SIGCHLD)
        return reap(w);
    return signo > 0 ? ASKED_TO_STOP : NOTHING;
}

static bool signal_all(const struct watch *w, int signo)
{
    bool runs = false;
    for (size_t i = 0; i < w->n; i++) {
        if (w->pids[i] > 0)
            kill(w->pids[i], signo);
        runs = runs || w->pids[i] > 0;
    }
    return runs;
}

/* A second signal to stop means: at once. */
static int stop_redis(struct watch *w)
{
    signal_all(w, SIGTERM);
    while (signal_all(w, 0))
        if (wait_signal(w, -1) == ASKED_TO_STOP)
            signal_all(w, SIGKILL);
    return EXIT_DONE;
}

/* Of a cluster the others are stopped. */
static int report_end(struct watch *w)
{
    char last[256];
    const size_t which = w->ended;
    const int status = w->status;
    serve_place_last_line(&w->places[which], last, sizeof last);
    if (WIFEXITED(status) && WEXITSTATUS(status) == REDIS_NOT_RUN)
        complain_refusal(w->call, COMPLAIN_SYSTEM, "%s; install it, on Debian: apt-get install redis-server", last);
    else if (WIFSIGNALED(status))
        complain_refusal(w->call, COMPLAIN_SYSTEM, "Redis was ended by signal %d; its last message: %s",
                         WTERMSIG(status), last);
    else
        complain_refusal(w->call, COMPLAIN_SYSTEM, "Redis ended by itself; its last message: %s", last);
    stop_redis(w);
    return EXIT_FAILED;
}

/* ---- from start to end ---- */

/* Does Redis take connections? Any answer but "not yet" means yes; a node says so until it reaches the others. */
static bool is_answering(struct muster_client *client)
{
    uint64_t waiting;
    int err = muster_queue_length(client, "start", &waiting);
    return err != MUSTER_E_CONN && err != MUSTER_E_TIMEOUT && err != MUSTER_E_BUSY;
}

static bool are_answering(const struct watch *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!is_answering(w->clients[i]))
            return false;
    return true;
}

/* Returns NOTHING when Redis is ready, and also when the time is over, with `*is_ready` false. */
static enum what wait_ready(struct watch *w, bool *is_ready)
{
    const struct opt_value *timeout = &w->call->common[OPT_TIMEOUT];
    int64_t end = now_ms() + (timeout->set ? timeout->number : START_LIMIT_MS);
    enum what what = NOTHING;
    *is_ready = false;
    while (what == NOTHING && !*is_ready && now_ms() < end) {
        what = wait_signal(w, POLL_MS);
        *is_ready = what == NOTHING && are_answering(w);
    }
    return what;
}

static int report_late(struct watch *w)
{
    char last[256];
    serve_place_last_line(&w->places[0], last, sizeof last);
    stop_redis(w);
    complain_refusal(w->call, muster_err_name(MUSTER_E_TIMEOUT),
                     "Redis does not take connections yet; its last message: %s; give it more time with --timeout",
                     last);
    return EXIT_TIMEOUT;
}

static void announce_redis(const struct watch *w)
{
    static const struct out_column columns[] = {
        {NULL, "url", OUT_TEXT},
        {NULL, "pid", OUT_COUNT},
        {NULL, "dir", OUT_TEXT},
        {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {{.text = w->place->url}, {.number = w->pids[0]}, {.text = w->place->dir}};
    if (w->call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%s\nexport MUSTER_URL=%s\n", w->place->url, w->place->url);
}

static void announce_cluster(const struct watch *w)
{
    static const struct out_column columns[] = {
        {NULL, "url", OUT_TEXT},
        {NULL, "prefix", OUT_TEXT},
        {NULL, "dir", OUT_TEXT},
        {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {{.text = w->place->url}, {.text = CLUSTER_PREFIX}, {.text = w->place->dir}};
    if (w->call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%s\nexport MUSTER_URL=%s MUSTER_PREFIX='" CLUSTER_PREFIX "'\n", w->place->url, w->place->url);
}

static bool announce(const struct watch *w)
{
    bool is_cluster = w->n > 1;
    (is_cluster ? announce_cluster : announce_redis)(w);
    if (out_flush() != 0)
        return false;
    complain(w->call, "%s runs, with its data and log%s in '%s'; Ctrl-C ends it", is_cluster ? "A cluster" : "Redis",
             is_cluster ? "s" : "", w->place->dir);
    return true;
}

static int watch_redis(struct watch *w)
{
    bool is_ready;
    enum what what = wait_ready(w, &is_ready);
    if (what == NOTHING && !is_ready)
        return report_late(w);
    if (what == NOTHING && !announce(w)) {
        (void)wait_signal(w, 0); /* one that has ended the wait for a reader is no second one */
        return stop_redis(w);
    }
    while (what == NOTHING)
        what = wait_signal(w, -1);
    return what == HAS_ENDED ? report_end(w) : stop_redis(w);
}

static int open_clients(struct watch *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct muster_client_options o = {.size = sizeof o,
                                                .url = w->places[i].url,
                                                .prefix = w->n > 1 ? CLUSTER_PREFIX : NULL,
                                                .timeout_ms = ANSWER_LIMIT_MS};
        int err = muster_client_new(&w->clients[i], &o);
        if (err != MUSTER_OK)
            return complain_error(w->call, err, "");
    }
    return EXIT_DONE;
}

static int start_all(struct watch *w, const sigset_t *mask)
{
    for (size_t i = 0; i < w->n; i++) {
        pid_t pid = serve_redis_start(&w->places[i], mask);
        if (pid < 0) {
            complain_refusal(w->call, COMPLAIN_SYSTEM, "cannot start redis-server: %s", strerror(errno));
            stop_redis(w);
            return EXIT_FAILED;
        }
        w->pids[i] = pid;
    }
    return EXIT_DONE;
}

static int start(struct watch *w, const sigset_t *mask)
{
    int code = open_clients(w);
    if (!code)
        code = start_all(w, mask);
    if (!code)
        code = watch_redis(w);
    for (size_t i = 0; i < w->n; i++)
        muster_client_free(w->clients[i]);
    return code;
}

/* ---- the verb ---- */

/* Under nohup(1) a hang-up is ignored. */
static void block_signals(sigset_t *signals, sigset_t *old)
{
    static const int stops[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction hang_up;
    sigaction(SIGHUP, NULL, &hang_up);
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (stops[i] != SIGHUP || hang_up.sa_handler != SIG_IGN)
            sigaddset(signals, stops[i]);
    sigprocmask(SIG_BLOCK, signals, old);
}

/* They name a Redis and a namespace for the other verbs, which may have them from the environment. */
static const enum opt_common without_effect[] = {OPT_URL, OPT_PREFIX};

static int check_options(const struct call *call)
{
    const struct opt_value *own = call->own;
    int code = connection_refuse(call, "it has no effect on the Redis that is started");
    if (code)
        return code;
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (call->common[without_effect[i]].set && !call->common[without_effect[i]].from_environment)
            return complain_usage(call, "--%s: it has no effect on the Redis that is started",
                                  opt_common[without_effect[i]].name);
    bool has_socket = own[SOCKET].set || own[TEMPORARY].set;
    if (own[TEMPORARY].set && own[DIRECTORY].set)
        return complain_usage(call, "--temporary makes a directory of its own; leave --dir out");
    if (own[CLUSTER].set && own[SOCKET].set)
        return complain_usage(call, "the nodes of a cluster have ports, and no socket; leave --socket out");
    if (own[CLUSTER].set && own[PORT].set && (own[PORT].number == 0 || own[PORT].number > CLUSTER_PORT_MAX))
        return complain_usage(call, "the first port of a cluster is from 1 to %d: each node has another, %d above",
                              CLUSTER_PORT_MAX, CLUSTER_BUS_ABOVE);
    if (own[PORT].set && own[PORT].number == 0 && !has_socket)
        return complain_usage(call, "--port 0 leaves no way to reach it without --socket");
    return EXIT_DONE;
}

static int serve_one(struct watch *w, struct place *place, const sigset_t *mask)
{
    const struct opt_value *own = w->call->own;
    bool has_socket = own[SOCKET].set || own[TEMPORARY].set;
    place->port = own[PORT].set ? (int)own[PORT].number : has_socket ? 0 : PORT_DEFAULT;
    w->places = place;
    w->n = 1;
    int code = serve_place_open(w->call, place, own[DIRECTORY].text, own[SOCKET].text);
    return code ? code : start(w, mask);
}

static int serve_three(struct watch *w, struct place *place, const sigset_t *mask)
{
    const struct opt_value *own = w->call->own;
    struct place nodes[CLUSTER_NODES] = {PLACE_EMPTY, PLACE_EMPTY, PLACE_EMPTY};
    place->port = own[PORT].set ? (int)own[PORT].number : own[TEMPORARY].set ? 0 : CLUSTER_PORT_DEFAULT;
    w->places = nodes;
    w->n = CLUSTER_NODES;
    int code = serve_place_open_directory(w->call, place, own[DIRECTORY].text);
    if (!code)
        code = serve_cluster_open(w->call, place, nodes);
    if (!code)
        code = start(w, mask);
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        serve_place_close(&nodes[i]);
    return code;
}

static int run(const struct call *call)
{
    struct place place = PLACE_EMPTY;
    struct watch w = {.call = call, .place = &place};
    sigset_t mask;
    int code = check_options(call);
    if (code)
        return code;
    place.is_temporary = call->own[TEMPORARY].set;
    block_signals(&w.signals, &mask);
    code = call->own[CLUSTER].set ? serve_three(&w, &place, &mask) : serve_one(&w, &place, &mask);
    serve_place_close(&place);
    return code;
}

const struct command cmd_serve = {
    .name = "serve",
    .operands = "",
    .summary = "Run a Redis with settings fit for a queue, until Ctrl-C",
    .about =
        "Once Redis takes connections, two lines are printed: its URL, and an export of MUSTER_URL that points the\n"
        "other commands of a shell to it. A change that Redis has acknowledged is on disk a second later.\n"
        "--timeout limits the start (default 60s), because much data takes long to load.\n"
        "With --cluster the second line exports MUSTER_PREFIX, too: in a cluster a prefix must be a hash tag.\n",
    .examples = "muster serve\nmuster serve --temporary\nmuster serve --socket ./redis.sock --dir ./data\n"
                "muster serve --cluster --temporary\n",
    .options = options,
    .has_no_connection = true,
    .run = run,
};
