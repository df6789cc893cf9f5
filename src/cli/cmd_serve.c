/* SPDX-License-Identifier: MIT
 *
 * muster serve: runs a Redis fit for a queue in the foreground, until it is told to stop. This file watches the Redis;
 * serve_place.c prepares its directory and addresses, serve_redis.c its settings.
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
#include "out.h"
#include "serve_place.h"
#include "serve_redis.h"

#define PORT_DEFAULT 6379
#define START_LIMIT_MS 60000
#define POLL_MS 10
#define ANSWER_LIMIT_MS 1000

enum { PORT, SOCKET, DIRECTORY, TEMPORARY };

static const struct opt options[] = {
    [PORT] = {.name = "port",
              .kind = OPT_COUNT,
              .argument = "N",
              .help = "the TCP port on 127.0.0.1; 0: none (default 6379, or none with --socket or --temporary)",
              .max = 65535},
    [SOCKET] = {.name = "socket", .kind = OPT_STRING, .argument = "PATH", .help = "a Unix socket to listen on"},
    [DIRECTORY] = {.name = "dir",
                   .kind = OPT_STRING,
                   .argument = "DIR",
                   .help = "the directory of data and log (default $XDG_DATA_HOME/muster or ~/.local/share/muster)"},
    [TEMPORARY] = {.name = "temporary", .help = "use a new directory, with a socket in it, and remove it at the end"},
    {.help = NULL},
};

/* ---- the child ---- */

/* A Redis that is watched. */
struct watch {
    const struct call *call;
    const struct place *place;
    sigset_t signals;
    pid_t pid;
    int status; /* its exit status, once it has ended */
};

enum what { NOTHING, ASKED_TO_STOP, HAS_ENDED };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the next signal; returns NOTHING after `limit_ms`. -1: no limit. */
static enum what wait_signal(struct watch *w, int limit_ms)
{
    const struct timespec limit = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000L};
    int signo = sigtimedwait(&w->signals, NULL, limit_ms < 0 ? NULL : &limit);
    if (signo == SIGCHLD)
        return waitpid(w->pid, &w->status, WNOHANG) == w->pid ? HAS_ENDED : NOTHING;
    return signo > 0 ? ASKED_TO_STOP : NOTHING;
}

/* A second signal to stop means: at once. */
static int stop_redis(struct watch *w)
{
    enum what what = NOTHING;
    kill(w->pid, SIGTERM);
    while (what != HAS_ENDED) {
        what = wait_signal(w, -1);
        if (what == ASKED_TO_STOP)
            kill(w->pid, SIGKILL);
    }
    return EXIT_DONE;
}

static int report_end(const struct watch *w)
{
    char last[256];
    serve_place_last_line(w->place, last, sizeof last);
    if (WIFEXITED(w->status) && WEXITSTATUS(w->status) == REDIS_NOT_RUN)
        complain(w->call, "%s; install it, on Debian: apt-get install redis-server", last);
    else if (WIFSIGNALED(w->status))
        complain(w->call, "Redis was ended by signal %d; its last message: %s", WTERMSIG(w->status), last);
    else
        complain(w->call, "Redis ended by itself; its last message: %s", last);
    return EXIT_FAILED;
}

/* ---- from start to end ---- */

/* Does Redis take connections? Any answer but "not yet" means yes. */
static bool is_answering(struct muster_client *client)
{
    uint64_t waiting;
    int err = muster_queue_length(client, "start", &waiting);
    return err != MUSTER_E_CONN && err != MUSTER_E_TIMEOUT && err != MUSTER_E_BUSY;
}

/* Returns NOTHING when Redis is ready, and also when the time is over, with `*is_ready` false. */
static enum what wait_ready(struct watch *w, struct muster_client *client, bool *is_ready)
{
    const struct opt_value *timeout = &w->call->common[OPT_TIMEOUT];
    int64_t end = now_ms() + (timeout->set ? timeout->number : START_LIMIT_MS);
    enum what what = NOTHING;
    *is_ready = false;
    while (what == NOTHING && !*is_ready && now_ms() < end) {
        what = wait_signal(w, POLL_MS);
        *is_ready = what == NOTHING && is_answering(client);
    }
    return what;
}

static int report_late(struct watch *w)
{
    char last[256];
    serve_place_last_line(w->place, last, sizeof last);
    stop_redis(w);
    complain(w->call, "Redis does not take connections yet; its last message: %s; give it more time with --timeout",
             last);
    return EXIT_TIMEOUT;
}

static bool announce(const struct watch *w)
{
    static const struct out_column columns[] = {
        {NULL, "url", OUT_TEXT},
        {NULL, "pid", OUT_COUNT},
        {NULL, "dir", OUT_TEXT},
        {NULL, NULL, OUT_TEXT},
    };
    const struct out_cell cells[] = {{.text = w->place->url}, {.number = w->pid}, {.text = w->place->dir}};
    if (w->call->common[OPT_JSON].set)
        out_json(columns, cells);
    else
        out_text("%s\nexport MUSTER_URL=%s\n", w->place->url, w->place->url);
    if (out_flush() != 0)
        return false;
    complain(w->call, "Redis runs, with its data and log in '%s'; Ctrl-C ends it", w->place->dir);
    return true;
}

static int watch_redis(struct watch *w, struct muster_client *client)
{
    bool is_ready;
    enum what what = wait_ready(w, client, &is_ready);
    if (what == NOTHING && !is_ready)
        return report_late(w);
    if (what == NOTHING && !announce(w))
        return stop_redis(w);
    while (what == NOTHING)
        what = wait_signal(w, -1);
    return what == HAS_ENDED ? report_end(w) : stop_redis(w);
}

static int start(struct watch *w, const sigset_t *mask)
{
    const struct muster_client_options o = {.size = sizeof o, .url = w->place->url, .timeout_ms = ANSWER_LIMIT_MS};
    struct muster_client *client;
    int err = muster_client_new(&client, &o);
    if (err != MUSTER_OK)
        return complain_error(w->call, err, "");
    w->pid = serve_redis_start(w->place, mask);
    int code = EXIT_FAILED;
    if (w->pid < 0)
        complain(w->call, "cannot start redis-server: %s", strerror(errno));
    else
        code = watch_redis(w, client);
    muster_client_free(client);
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

static int run(const struct call *call)
{
    const struct opt_value *own = call->own;
    struct place place = PLACE_EMPTY;
    struct watch w = {.call = call, .place = &place};
    sigset_t mask;
    bool has_socket = own[SOCKET].set || own[TEMPORARY].set;
    if (own[TEMPORARY].set && own[DIRECTORY].set)
        return complain_usage(call, "--temporary makes a directory of its own; leave --dir out");
    if (own[PORT].set && own[PORT].number == 0 && !has_socket)
        return complain_usage(call, "--port 0 leaves no way to reach it without --socket");
    place.port = own[PORT].set ? (int)own[PORT].number : has_socket ? 0 : PORT_DEFAULT;
    place.is_temporary = own[TEMPORARY].set;
    block_signals(&w.signals, &mask);
    int code = serve_place_open(call, &place, own[DIRECTORY].text, own[SOCKET].text);
    if (!code)
        code = start(&w, &mask);
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
        "--timeout limits the start (default 60s), because much data takes long to load.\n",
    .examples = "muster serve\nmuster serve --temporary\nmuster serve --socket ./redis.sock --dir ./data\n",
    .options = options,
    .run = run,
};
