/* SPDX-License-Identifier: MIT
 *
 * muster take: tasks under a lease, for scripts and people that are no workers. A task that could not be printed is
 * given back at once, because nobody knows the id of its process. For the same reason a signal interrupts the call,
 * which then gives back what it has not printed; it ends the program only after that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command.h"
#include "complain.h"
#include "known.h"
#include "need.h"
#include "out.h"
#include "process_row.h"
#include "progress.h"
#include "text.h"

enum { LEASE, WAIT, COUNT, HOLDER };

static const struct opt take_options[] = {
    [LEASE] = {.name = "lease",
               .kind = OPT_DURATION,
               .argument = "TIME",
               .help = "how long the lease lasts; then the task goes back to the queue",
               .fallback = "30s",
               .min = 1,
               .max = MUSTER_LEASE_MAX_MS},
    [WAIT] = {.name = "wait",
              .kind = OPT_DURATION,
              .argument = "TIME",
              .help = "how long to wait for the first task",
              .fallback = "0s",
              .max = DAY_MS},
    [COUNT] = {.letter = 'n',
               .kind = OPT_COUNT,
               .argument = "N",
               .help = "at most N tasks",
               .fallback = "1",
               .min = 1,
               .max = MUSTER_LEASE_TAKE_MAX},
    [HOLDER] = {.name = "holder",
                .kind = OPT_STRING,
                .argument = "NAME",
                .help = "whose leases they are: `muster ps` shows it, `muster fail-worker` ends all of a name",
                .check = muster_worker_id_check},
    {.help = NULL},
};

/* Taken tasks on their way out. `unseen`: the ids of processes that could not be printed. */
struct taking {
    struct out_table table;
    char *unseen[MUSTER_LEASE_TAKE_MAX];
    size_t n_unseen;
};

static void print_raw(const struct muster_process_info *process)
{
    out_text("%s\t", process->id);
    out_bytes(process->task, process->len);
    out_bytes("\n", 1);
}

/* Each row is flushed, so that it is known of each whether it was printed. */
static int print_taken(const struct muster_process_info *process, void *arg)
{
    struct taking *t = arg;
    if (t->table.json)
        process_row_add(&t->table, process);
    else
        print_raw(process);
    if (out_flush() != 0)
        t->unseen[t->n_unseen++] = need(strdup(process->id));
    return 0;
}

/* What became of those that could not be printed. */
struct back {
    size_t n_given, n_ended, n_left;
};

/* A task that could not be given back comes back by itself. */
static void report_unseen(const struct call *call, const struct back *b)
{
    char n[TEXT_NUMBER_SIZE], words[OUT_BUT_SIZE];
    int len = snprintf(words, sizeof words, "%s given back", text_number_of(n, b->n_given, "task was", "tasks were"));
    if (b->n_ended > 0)
        len += snprintf(words + len, sizeof words - (size_t)len, ", %s by then",
                        text_number_of(n, b->n_ended, "lease had ended", "leases had ended"));
    if (b->n_left > 0)
        snprintf(words + len, sizeof words - (size_t)len, ", %s back when the lease of %s is over",
                 text_number_of(n, b->n_left, "comes", "come"), call->own[LEASE].text);
    out_set_but(words);
}

/* The last one first, which restores their order. */
static void give_back_unseen(const struct call *call, struct taking *t, struct muster_client *client)
{
    struct back back = {0};
    if (t->n_unseen == 0)
        return;
    while (t->n_unseen > 0) {
        char *id = t->unseen[--t->n_unseen];
        int err = muster_lease_give_back(client, id);
        bool has_ended = err == MUSTER_E_LOST || err == MUSTER_E_CANCELLED;
        *(err == MUSTER_OK ? &back.n_given : has_ended ? &back.n_ended : &back.n_left) += 1;
        free(id);
    }
    report_unseen(call, &back);
}

/* Whoever waits for a queue makes it known. */
static int report_nothing(const struct call *call, struct muster_client *client)
{
    const char *queue = call->operands[0];
    char *why = need(strdup(muster_client_error(client)));
    if (call->own[WAIT].number > 0)
        complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND), "nothing came from '%s' within %s", queue,
                         call->own[WAIT].text);
    else if (known_need(call, client, queue, "") != MUSTER_E_NOT_FOUND)
        complain_refusal(call, muster_err_name(MUSTER_E_NOT_FOUND), "%s", why);
    free(why);
    return EXIT_NOT_FOUND;
}

static int run(const struct call *call)
{
    struct taking t = {.table = {.columns = process_row_columns, .json = call->common[OPT_JSON].set}};
    const struct opt_value *own = call->own;
    const struct muster_take_options options = {
        .size = sizeof options,
        .n = (size_t)own[COUNT].number,
        .lease_ms = own[LEASE].number,
        .wait_ms = own[WAIT].number,
        .holder = own[HOLDER].text,
    };
    struct muster_client *client;
    int code = client_open(call, &client);
    if (code)
        return code;
    progress_begin_wait(call, client);
    int err = muster_lease_take_as(client, call->operands[0], &options, print_taken, &t);
    progress_end_wait();
    code = err == MUSTER_E_NOT_FOUND ? report_nothing(call, client)
                                     : complain_error(call, err, muster_client_error(client));
    give_back_unseen(call, &t, client);
    muster_client_free(client);
    return code;
}

const struct command cmd_take = {
    .name = "take",
    .operands = "QUEUE",
    .summary = "Take tasks under a lease; print for each the id of its process, a tab, and the task",
    .about =
        "The process is yours until its lease ends. To end it, give its id to `muster finish`, `give-back`, `retry`\n"
        "or `fail`; to keep it for longer, to `muster extend`. If the lease lapses, the task goes back to the front\n"
        "of the queue, and from then on it is taken alone, even with -n; when three more leases of it have lapsed,\n"
        "it goes to the failed list (`muster config max_crashes`).\n"
        "\n"
        "The default lease is short, so that the task of a script that died is soon back; ask for more if the work\n"
        "takes longer. It is 5 s longer for each 256 KiB, or part of that, of an answer of 16 KiB or more: so long\n"
        "may that be on its way with the default --timeout. With a longer one, ask for a longer lease, too.\n"
        "\n"
        "Idle workers of the queue are served first. If there is no task (with --wait: in that time), the exit code\n"
        "is 3. If tasks can hold newlines, take them one by one (-n 1, the default) or with --json.\n"
        "A task for which there is no memory goes back, and what is behind it is taken; if that is nothing, the exit\n"
        "code is 1. If a signal ends it (Ctrl-C), nothing stays leased that was not printed.\n",
    .examples = "muster take mail\n"
                "muster take mail --wait 1m --lease 5m\n"
                "muster take mail -n 100 --json\n"
                "muster take mail --holder \"$HOSTNAME\"\n"
                "muster take mail | { IFS=$(printf '\\t') read -r process task && ./send-mail \"$task\" &&\n"
                "    muster finish \"$process\"; }\n",
    .options = take_options,
    .min_operands = 1,
    .max_operands = 1,
    .n_queues = 1,
    .run = run,
};
