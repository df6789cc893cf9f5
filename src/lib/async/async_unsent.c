/* SPDX-License-Identifier: MIT
 *
 * A process that Redis does not send for its size (client-output-buffer-limit): it fails, by its name. Nobody is told but
 * the log, and those who listen to the queue; the take that met it goes on behind it. As unsent.c of the blocking client.
 */
#include "async/async_unsent.h"

#include <stdio.h>

#include "async/async.h"
#include "base/log.h"
#include "protocol/names.h"
#include "protocol/process_name.h"
#include "protocol/size_limit.h"

/* A call of the client's own. The take waits for its answer: so the next connection that ends, ends at the take alone. */
struct failing {
    struct async_call call, *take;
    char queue[MUSTER_QUEUE_MAX + 1], token[TOKEN_LEN + 1], words[SIZE_LIMIT_WORDS];
};

static struct failing *failing_of(struct async_call *call)
{
    return (struct failing *)(void *)call;
}

/* Whatever the answer is: a process that was not failed comes back when its lease is over. */
static void go_on(struct failing *f)
{
    struct muster_async *a = f->call.async;
    if (!a->line.is_closing) {
        async_line_add_first(a, f->take);
        f->take = NULL;
    }
    async_hear_own_done(&f->call);
}

static void on_failed(const struct redisReply *reply, void *arg)
{
    struct failing *f = arg;
    if (async_hear_reply(&f->call, 0, reply))
        go_on(f);
}

static void clear_failing(struct async_call *call)
{
    struct failing *f = failing_of(call);
    if (f->take)
        async_call_free(f->take);
}

static int send_failing(struct async_call *call)
{
    struct failing *f = failing_of(call);
    struct muster_async *a = call->async;
    struct command c = COMMAND_EMPTY;
    async_list_pop(&a->line.waiting);
    script_end(&c, &a->root, MUSTER_LEASE_ID);
    script_end_fail(&c, f->queue, f->token, FAILURE_GROUP_TOO_LARGE, f->words);
    int err = link_script_in_order(a->line.link, &c, on_failed, f);
    command_clear(&c);
    if (err == MUSTER_OK)
        async_hear_sent(call, 0);
    else
        go_on(f);
    return err;
}

static const struct async_kind kind_failing = {
    .writes = true, .is_own = true, .send = send_failing, .clear = clear_failing};

void async_unsent_fail(struct async_call *take, const char *queue, const struct script_leased_one *one)
{
    struct muster_async *a = take->async;
    struct failing *f = async_call_new(a, &kind_failing, sizeof *f, NULL, NULL);
    char id[PROCESS_ID_MAX], line[SIZE_LIMIT_LINE];
    if (!f) { /* it comes back when its lease is over */
        async_line_add_first(a, take);
        return;
    }
    f->take = take;
    snprintf(f->queue, sizeof f->queue, "%s", queue);
    token_format(f->token, one->token);
    size_limit_words(f->words, one->job ? "record" : "task", one->measured);
    process_name_format(id, MUSTER_LEASE_ID, f->token, queue);
    size_limit_line(line, id, f->words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    a->line.n_own++;
    async_line_add_first(a, &f->call);
}
