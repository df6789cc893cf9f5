/* SPDX-License-Identifier: MIT
 *
 * Takers, and giving back what was not heard of.
 *
 * A take whose answer is lost may have taken something, or still will: its request may lie in a socket that Redis has not
 * read. `untake` gives that back, and makes the name void. It goes out before anything else, over the next connection.
 * Until it is answered the taker has no other take: Redis remembers only the last one of each.
 */
#include "async/async_taker.h"

#include <stdio.h>
#include <stdlib.h>

#include "async/async.h"
#include "base/clock.h"
#include "protocol/script_task.h"

/* Whatever the answers say, Redis is not asked for ever. */
#define CALLS_MAX 100

/* A call of the client's own: nobody is told its answer. */
struct untake {
    struct async_call call;
    struct async_taker *taker;
    int n_calls;
    bool was_refused;
};

static struct untake *untake_of(struct async_call *call)
{
    return (struct untake *)call;
}

static void end(struct untake *u)
{
    async_taker_release(u->call.async, u->taker);
    async_hear_own_done(&u->call);
}

/* A refusal may pass, if there is still time. But a damaged key stays damaged: the lease's end does it then. */
static void refused(struct async_call *call, int err, const char *why)
{
    struct untake *u = untake_of(call);
    const bool is_tried_again = err != MUSTER_E_REDIS && !call->async->line.is_closing;
    if (!u->was_refused || !is_tried_again)
        take_name_say_left(u->taker->queue, is_tried_again, why);
    u->was_refused = true;
    if (is_tried_again)
        async_line_add_later(call->async, call);
    else
        end(u);
}

static void on_untaken(const struct redisReply *reply, void *arg)
{
    struct untake *u = arg;
    struct script_untaken back = {0};
    char why[CAUSE_WHY_MAX];
    if (!async_hear_reply(&u->call, 0, reply))
        return;
    int err = script_untaken(reply, &back);
    if (err != MUSTER_OK) {
        reply_refusal_words(why, sizeof why,
                            reply_kind(reply) == REPLY_ERROR ? reply_text(reply) : muster_err_text(err));
        refused(&u->call, err, why);
    } else if (back.is_more && ++u->n_calls < CALLS_MAX) {
        async_line_add_first(u->call.async, &u->call);
    } else {
        end(u);
    }
}

static int send_untake(struct async_call *call)
{
    struct untake *u = untake_of(call);
    struct muster_async *a = call->async;
    struct command c = COMMAND_EMPTY;
    async_list_pop(&a->line.waiting);
    script_untake(&c, &a->root, u->taker->queue, u->taker->name, 0);
    int err = link_script_in_order(a->line.link, &c, on_untaken, u);
    command_clear(&c);
    if (err == MUSTER_OK)
        async_hear_sent(call, 0);
    else
        refused(call, err, muster_err_text(err));
    return err;
}

static const struct async_kind kind_untake = {.writes = true, .is_own = true, .send = send_untake, .refused = refused};

static struct untake *new_untake(struct muster_async *a, struct async_taker *taker)
{
    struct untake *u = async_call_new(a, &kind_untake, sizeof *u, NULL, NULL);
    if (!u)
        return NULL;
    u->taker = taker;
    u->n_calls = 0;
    u->was_refused = false;
    return u;
}

void async_taker_give_back(struct muster_async *a, struct async_taker *taker)
{
    struct untake *u = taker->untake;
    taker->may_hold = false;
    taker->untake = NULL;
    if (!u) /* it is on its way already */
        return;
    u->call.made_ms = clock_ms();
    a->line.n_own++;
    async_line_add_first(a, &u->call);
}

bool async_taker_give_back_all(struct muster_async *a)
{
    pthread_mutex_lock(&a->takers.lock);
    struct async_taker *all = a->takers.all;
    pthread_mutex_unlock(&a->takers.lock);
    for (struct async_taker *taker = all; taker; taker = taker->next)
        if (taker->may_hold)
            async_taker_give_back(a, taker);
    return a->line.n_own > 0;
}

/* ---- having one ---- */

struct async_taker *async_taker_get(struct muster_async *a, const char *queue)
{
    struct async_takers *t = &a->takers;
    pthread_mutex_lock(&t->lock);
    struct async_taker *taker = t->free;
    if (taker) {
        t->free = taker->next_free;
    } else if ((taker = calloc(1, sizeof *taker)) != NULL) {
        taker->next = t->all;
        t->all = taker;
    }
    pthread_mutex_unlock(&t->lock);
    if (taker && !taker->untake && !(taker->untake = new_untake(a, taker))) {
        async_taker_release(a, taker);
        return NULL;
    }
    if (taker)
        snprintf(taker->queue, sizeof taker->queue, "%s", queue);
    return taker;
}

void async_taker_release(struct muster_async *a, struct async_taker *taker)
{
    struct async_takers *t = &a->takers;
    if (!taker)
        return;
    pthread_mutex_lock(&t->lock);
    taker->may_hold = false;
    taker->next_free = t->free;
    t->free = taker;
    pthread_mutex_unlock(&t->lock);
}

void async_taker_init(struct async_takers *t)
{
    pthread_mutex_init(&t->lock, NULL);
}

void async_taker_clear(struct async_takers *t)
{
    for (struct async_taker *next; t->all; t->all = next) {
        next = t->all->next;
        if (t->all->untake)
            async_call_free(&t->all->untake->call);
        free(t->all);
    }
    pthread_mutex_destroy(&t->lock);
}
