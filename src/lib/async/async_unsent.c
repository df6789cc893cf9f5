/* SPDX-License-Identifier: MIT
 *
 * A take whose answer Redis does not send for its size (client-output-buffer-limit), as unsent.c of the blocking client.
 *
 * What it took goes back, it is asked again for one, and in the end what is too large fails, by its name. Nobody is told
 * but the log, and those who listen to the queue; the take goes on behind it. All this goes out in the take's own place:
 * so it has its answer in time, and what it may hold then goes back as that of each take that fails.
 */
#include "async/async_unsent.h"

#include <stdio.h>

#include "async/async.h"
#include "base/log.h"
#include "protocol/names.h"
#include "protocol/process_name.h"

/* Those at which several came, and then those of one. */
#define ROUNDS_MAX (SIZE_LIMIT_BREAKS + 1)
/* Whatever the answers say, Redis is not asked for ever. */
#define CALLS_MAX 100

static int note_sent(struct async_unsent *u, int err)
{
    if (err == MUSTER_OK)
        async_hear_sent(u->take, 0);
    else
        async_hear_failed(u->take, err, NULL);
    return err;
}

static void go_on(struct async_unsent *u)
{
    u->taker->may_hold = false;
    u->send = NULL;
    async_line_add_first(u->take->async, u->take);
}

/* ---- it goes back ---- */

static void on_limits(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    byte_limits_hear(&u->limits, reply);
}

/* It is answered before what goes behind it. */
static void ask_limits(struct async_unsent *u)
{
    struct command c = COMMAND_EMPTY;
    u->limits = (struct byte_limits){0};
    byte_limits_ask(&c);
    (void)!link_call(u->take->async->line.link, &c, on_limits, u);
    command_clear(&c);
}

/* A Redis without such a limit has lost its connections for another reason. */
static bool can_go_on(struct async_unsent *u)
{
    size_limit_note_break(&u->suspect, &u->back);
    return size_limit_due(&u->suspect) == 0 || byte_limits_may_end(&u->limits, BYTE_LIMITS_ANSWER, u->suspect.n_bytes);
}

static void on_untaken(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    struct muster_async *a = u->take->async;
    if (!async_hear_reply(u->take, 0, reply))
        return;
    int err = script_untaken(reply, &u->back);
    if (err == MUSTER_OK && u->back.is_more && ++u->n_calls < CALLS_MAX)
        async_line_add_first(a, u->take);
    else if (err == MUSTER_OK && can_go_on(u))
        go_on(u);
    else
        async_hear_failed(u->take, MUSTER_E_CONN, "the connection ended before the answer came");
}

static int send_untake(struct async_unsent *u)
{
    struct muster_async *a = u->take->async;
    struct command c = COMMAND_EMPTY;
    if (u->suspect.n_breaks > 0 && u->n_calls == 0)
        ask_limits(u);
    script_untake(&c, &a->root, u->taker->queue, u->taker->name, 0);
    int err = link_script_in_order(a->line.link, &c, on_untaken, u);
    command_clear(&c);
    return note_sent(u, err);
}

bool async_unsent_asks_again(struct async_unsent *u)
{
    if (!link_was_alone(u->take->async->line.link) || u->n_rounds == ROUNDS_MAX)
        return false;
    u->n_rounds++;
    u->is_for_one = true;
    u->n_calls = 0;
    u->back = (struct script_untaken){0};
    u->send = send_untake;
    async_hear_unsent(u->take);
    return true;
}

/* ---- it is asked again ---- */

void async_unsent_ask(const struct async_unsent *u, struct script_take_lease *what)
{
    const size_t room = link_room(u->take->async->line.link);
    what->n = u->is_for_one ? 1 : what->n < room ? what->n : room;
    what->held_back = size_limit_due(&u->suspect);
}

void async_unsent_heard(struct async_unsent *u)
{
    u->is_for_one = false;
    u->n_rounds = 0;
    u->suspect = (struct size_suspect){0};
}

/* ---- it fails ---- */

/* Whatever the answer is: a process that was not failed comes back when its lease is over. */
static void on_failed(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    if (async_hear_reply(u->take, 0, reply))
        go_on(u);
}

static int send_fail(struct async_unsent *u)
{
    struct muster_async *a = u->take->async;
    struct command c = COMMAND_EMPTY;
    script_end(&c, &a->root, MUSTER_LEASE_ID);
    script_end_fail(&c, u->taker->queue, u->token, FAILURE_GROUP_TOO_LARGE, u->words);
    int err = link_script_in_order(a->line.link, &c, on_failed, u);
    command_clear(&c);
    return note_sent(u, err);
}

void async_unsent_fail(struct async_unsent *u, const struct script_leased_one *one)
{
    char id[PROCESS_ID_MAX], line[SIZE_LIMIT_LINE];
    token_format(u->token, one->token);
    size_limit_words(u->words, one->job ? LARGE_RECORD : LARGE_TASK, one->held_back);
    process_name_format(id, MUSTER_LEASE_ID, u->token, u->taker->queue);
    size_limit_line(line, id, u->words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    async_unsent_heard(u);
    u->send = send_fail;
    async_line_add_first(u->take->async, u->take);
}
