/* SPDX-License-Identifier: MIT
 *
 * muster events: prints what happens to jobs as JSON lines, until a signal ends it. The signal may come at any time. It
 * is blocked while a line is written, so that no line is cut off; nothing else needs cleaning up.
 */
#include <muster/job.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "event_row.h"
#include "known.h"
#include "out.h"

enum { QUEUE, TRACKED };

static const struct opt options[] = {
    [QUEUE] = {.name = "queue",
               .kind = OPT_STRING,
               .argument = "QUEUE",
               .help = "only jobs of this queue",
               .check = muster_queue_check},
    [TRACKED] = {.name = "tracked", .help = "only jobs that are tracked"},
    {.help = NULL},
};

static void on_stop_signal(int signo)
{
    (void)signo;
    _exit(EXIT_DONE);
}

static void set_signals(sigset_t *set)
{
    const struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART};
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

struct listening {
    const struct call *call;
    sigset_t signals;
};

static int print_event(const struct muster_job_event *event, void *arg)
{
    struct listening *l = arg;
    if (l->call->own[TRACKED].set && !event->tracked)
        return 0;
    sigprocmask(SIG_BLOCK, &l->signals, NULL);
    event_row_print(event);
    int err = out_flush();
    sigprocmask(SIG_UNBLOCK, &l->signals, NULL);
    return err;
}

static int print_ready(void *arg)
{
    struct listening *l = arg;
    complain(l->call, "listens");
    return 0;
}

static int run(const struct call *call)
{
    const struct opt_value *timeout = &call->common[OPT_TIMEOUT];
    struct listening listening = {.call = call};
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    set_signals(&listening.signals);
    if (call->own[QUEUE].set)
        (void)known_look(call, client, call->own[QUEUE].text, " yet");
    int err = muster_job_listen(client, call->own[QUEUE].text, timeout->set ? timeout->number : INT64_MAX, print_ready,
                                print_event, &listening);
    if (err != MUSTER_E_TIMEOUT)
        return client_close(call, client, err);
    muster_client_free(client);
    return EXIT_TIMEOUT;
}

const struct command cmd_events = {
    .name = "events",
    .operands = "",
    .summary = "Print what happens to jobs, one JSON object per line, until it is interrupted",
    .about = "It prints what happens after it says that it listens. With --timeout it ends after that time, with exit\n"
             "code 124. If the connection breaks, it ends with 69; if a slot of a cluster moves for longer than the\n"
             "answer of Redis may take, with 75. Start it again then, and see `muster job` for what it missed.\n",
    .examples = "muster events --queue mail\n"
                "muster events --tracked --timeout 1h | tee events\n",
    .options = options,
    .run = run,
};
