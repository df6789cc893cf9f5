/* SPDX-License-Identifier: MIT
 *
 * A take whose answer Redis does not send for its size (client-output-buffer-limit), as unsent.c of the blocking client;
 * or for whose answer there is no memory here.
 *
 * What it took goes back, it is asked again for one, and in the end what is too large fails, by its name. Nobody is told
 * but the log, and those who listen to the queue; the take goes on behind it. All this goes out in the take's own place:
 * so it has its answer in time, and what it may hold then goes back as that of each take that fails.
 *
 * What there is no memory for is set aside: the taker that has it keeps it until the take is answered, which goes on under
 * the name of another one. If it went back before, it would be the next that is taken, again and again.
 */
#include "async/async_unsent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* This is sent next; NULL: the take. */
static void send_next(struct async_unsent *u, int (*send)(struct async_unsent *u))
{
    u->send = send;
    async_line_add_first(u->take->async, u->take);
}

/* The same, and its taker holds nothing. */
static void go_on(struct async_unsent *u, int (*send)(struct async_unsent *u))
{
    u->taker->may_hold = false;
    send_next(u, send);
}

static void give_up(struct async_unsent *u)
{
    async_hear_failed(u->take, MUSTER_E_CONN, "the connection ended before the answer came");
}

/* ---- it goes back ---- */

/* A Redis without such a limit has lost its connections for another reason. */
static void on_limits(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    struct byte_limits limits;
    if (!async_hear_reply(u->take, 0, reply))
        return;
    byte_limits_hear(&limits, reply);
    if (byte_limits_may_end(&limits, BYTE_LIMITS_ANSWER, u->suspect.n_bytes))
        go_on(u, NULL);
    else
        give_up(u);
}

static int send_limits(struct async_unsent *u)
{
    struct command c = COMMAND_EMPTY;
    byte_limits_ask(&c);
    int err = link_call(u->take->async->line.link, &c, on_limits, u);
    command_clear(&c);
    return note_sent(u, err);
}

/* What is small does not lack memory for its size: there is none for anything. */
static void went_back(struct async_unsent *u)
{
    const bool is_one = u->back.n == 1 && u->back.n_bytes >= COMMAND_LARGE;
    if (!u->lacks_memory) {
        size_limit_note_break(&u->suspect, &u->back);
        go_on(u, size_limit_due(&u->suspect) > 0 ? send_limits : NULL);
    } else if (is_one || u->back.n > 1) {
        u->too_much = is_one ? u->back.n_bytes : 0;
        go_on(u, NULL);
    } else {
        u->taker->may_hold = false;
        async_hear_failed(u->take, MUSTER_E_NOMEM, u->said);
    }
}

static void on_untaken(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    if (!async_hear_reply(u->take, 0, reply))
        return;
    if (script_untaken(reply, &u->back) != MUSTER_OK)
        give_up(u);
    else if (u->back.is_more && ++u->n_calls < CALLS_MAX)
        async_line_add_first(u->take->async, u->take);
    else
        went_back(u);
}

static int send_untake(struct async_unsent *u)
{
    struct muster_async *a = u->take->async;
    struct command c = COMMAND_EMPTY;
    script_untake(&c, &a->root, u->taker->queue, u->taker->name, 0);
    int err = link_script_in_order(a->line.link, &c, on_untaken, u);
    command_clear(&c);
    return note_sent(u, err);
}

static void ask_for_one(struct async_unsent *u, bool lacks_memory)
{
    u->is_for_one = true;
    u->lacks_memory = lacks_memory;
    u->too_much = 0;
    u->n_calls = 0;
    u->back = (struct script_untaken){0};
    u->send = send_untake;
}

bool async_unsent_is_taken_care_of(struct async_unsent *u)
{
    const struct link *link = u->take->async->line.link;
    const bool lacks_memory = link_had_no_memory(link);
    if (!(link_was_alone(link) || lacks_memory) || u->n_rounds == ROUNDS_MAX)
        return false;
    u->n_rounds++;
    ask_for_one(u, lacks_memory);
    async_hear_unsent(u->take);
    return true;
}

/* ---- it is asked again ---- */

void async_unsent_ask(const struct async_unsent *u, struct script_take_lease *what)
{
    const size_t room = link_room(u->take->async->line.link);
    what->n = u->is_for_one ? 1 : what->n < room ? what->n : room;
    what->held_back = u->too_much > 0 ? u->too_much : size_limit_due(&u->suspect);
}

void async_unsent_heard(struct async_unsent *u)
{
    u->is_for_one = false;
    u->too_much = 0;
    u->n_rounds = 0;
    u->suspect = (struct size_suspect){0};
}

/* ---- it fails ---- */

/* Whatever the answer is: a process that was not failed comes back when its lease is over. */
static void on_failed(const struct redisReply *reply, void *arg)
{
    struct async_unsent *u = arg;
    if (async_hear_reply(u->take, 0, reply))
        go_on(u, NULL);
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

static void fail(struct async_unsent *u, const struct script_leased_one *one)
{
    char id[PROCESS_ID_MAX], line[SIZE_LIMIT_LINE];
    process_name_of_lease(id, one->token, u->taker->queue);
    token_format(u->token, one->token);
    size_limit_words(u->words, one->job ? LARGE_RECORD : LARGE_TASK, one->held_back);
    size_limit_line(line, id, u->words);
    log_line(MUSTER_LOG_WARN, "%s", line);
    async_unsent_heard(u);
    send_next(u, send_fail);
}

/* ---- it is set aside ---- */

/* Without another taker that was the last one. */
static void set_aside(struct async_unsent *u, const struct script_leased_one *one)
{
    struct muster_async *a = u->take->async;
    char id[PROCESS_ID_MAX], line[SIZE_LIMIT_LINE];
    struct async_taker *next = u->n_aside < SIZE_LIMIT_ASIDE_MAX ? async_taker_get(a, u->taker->queue) : NULL;
    process_name_of_lease(id, one->token, u->taker->queue);
    size_limit_aside(line, id, one);
    if (!u->said)
        u->said = strdup(line);
    async_unsent_heard(u);
    u->is_for_one = true;
    if (!next) {
        async_hear_failed(u->take, MUSTER_E_NOMEM, line);
        return;
    }
    u->taker->next_aside = u->aside;
    u->aside = u->taker;
    u->n_aside++;
    u->taker = next;
    send_next(u, NULL);
}

void async_unsent_lacks_memory(struct async_unsent *u, size_t n, const struct script_leased_one *one)
{
    if (n > 1) {
        ask_for_one(u, true);
        async_line_add_first(u->take->async, u->take);
    } else if (script_leased_bytes(one) >= COMMAND_LARGE) {
        set_aside(u, one);
    } else {
        async_hear_failed(u->take, MUSTER_E_NOMEM, NULL);
    }
}

void async_unsent_pass_over(struct async_unsent *u, const struct script_leased_one *one)
{
    (u->too_much > 0 ? set_aside : fail)(u, one);
}

bool async_unsent_has_failed(struct async_unsent *u)
{
    if (!u->aside)
        return false;
    async_hear_failed(u->take, MUSTER_E_NOMEM, u->said);
    return true;
}

void async_unsent_give_aside_back(struct async_unsent *u, bool is_told)
{
    if (u->aside && !is_told && u->said)
        log_line(MUSTER_LOG_WARN, "%s", u->said);
    for (struct async_taker *taker; (taker = u->aside) != NULL;) {
        u->aside = taker->next_aside;
        if (taker->may_hold) /* otherwise it is being given back: the client is closed */
            async_taker_give_back(u->take->async, taker);
    }
}

void async_unsent_clear(struct async_unsent *u)
{
    async_taker_release(u->take->async, u->taker);
    free(u->said);
}
