/* SPDX-License-Identifier: MIT
 *
 * muster events: prints what happens to jobs as JSON lines, until a signal ends it. That is how it ends as a rule, so the
 * status is 0 then. No line is cut off by it.
 */
#include <muster/job.h>
#include <signal.h>
#include <stdint.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "event_row.h"
#include "known.h"
#include "out.h"
#include "progress.h"

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

static int print_event(const struct muster_job_event *event, void *arg)
{
    const struct call *call = arg;
    if (call->own[TRACKED].set && !event->tracked)
        return 0;
    event_row_print(event);
    return out_flush();
}

static int print_ready(void *arg)
{
    complain(arg, "listens");
    return 0;
}

static int run(const struct call *call)
{
    const int64_t wait_ms = opt_wait_ms(&call->common[OPT_TIMEOUT], INT64_MAX);
    struct muster_client *client;
    int err = MUSTER_OK, code = client_open(call, &client);
    if (code)
        return code;
    signal(SIGINT, SIG_DFL); /* it ends also what a shell has started in the background, which ignores it */
    progress_begin_wait(call, client);
    if (call->own[QUEUE].set)
        err = known_look(call, client, call->own[QUEUE].text, " yet");
    if (err != MUSTER_E_INTERRUPTED)
        err = muster_job_listen(client, call->own[QUEUE].text, wait_ms, print_ready, print_event, (void *)call);
    progress_end_wait();
    if (err != MUSTER_E_TIMEOUT && err != MUSTER_E_INTERRUPTED)
        return client_close(call, client, err);
    muster_client_free(client);
    return err == MUSTER_E_TIMEOUT ? EXIT_TIMEOUT : EXIT_DONE;
}

const struct command cmd_events = {
    .name = "events",
    .operands = "",
    .summary = "Print what happens to jobs, one JSON object per line, until it is interrupted",
    .about = "It prints what happens after it says that it listens. With --timeout it ends after that time, with exit\n"
             "code 124. If the connection breaks, or nobody reads what it prints for more than nine seconds, it ends\n"
             "with 69; if a slot of a cluster moves for longer than the answer of Redis may take, with 75. Start it\n"
             "again then, and see `muster job` for what it missed.\n",
    .examples = "muster events --queue mail\n"
                "muster events --tracked --timeout 1h | tee events\n",
    .options = options,
    .run = run,
};
