/* SPDX-License-Identifier: MIT
 *
 * Looking: how much waits in a queue.
 */
#include <stdlib.h>
#include <string.h>

#include "async/async.h"
#include "base/words.h"
#include "protocol/keys.h"
#include "protocol/waiting_parts.h"
#include "redis/redis.h"

/* Several commands, whose answers are one. */
struct count {
    struct async_call call;
    size_t n_left;
    struct redisReply *worst; /* an error among the answers */
    size_t worst_part;        /* what was asked for with it */
    bool is_lost;             /* one has no answer */
    char queue[];
};

static struct count *count_of(const struct async_call *call)
{
    return (struct count *)(void *)call;
}

static void forget_worst(struct count *t)
{
    redis_reply_free(t->worst);
    t->worst = NULL;
}

/* Redis does not say which key it is. */
static void say_wrong_type(struct count *t)
{
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    waiting_parts_say(&c, t->worst_part, key, t->call.async->prefix, t->queue);
    command_clear(&c);
    async_hear_failed(&t->call, MUSTER_E_REDIS,
                      words_say("the key '%s' has a wrong type: another program wrote it", key));
}

/* The worst of the answers is that of the call. */
static void all_counted(struct count *t, const struct redisReply *last)
{
    const struct redisReply *reply = t->is_lost ? NULL : t->worst ? t->worst : last;
    if (!async_hear_reply(&t->call, 0, reply))
        return;
    if (!t->worst) {
        async_hear_done(&t->call);
        return;
    }
    t->call.waiting = 0;
    if (reply_is_refusal(reply, "WRONGTYPE"))
        say_wrong_type(t);
    else
        async_hear_refused(&t->call, reply_err(reply), reply);
}

static void on_part(const struct redisReply *reply, void *arg)
{
    struct count *t = arg;
    t->is_lost |= !reply;
    t->call.waiting += reply_count(reply);
    if (reply_kind(reply) == REPLY_ERROR && (!t->worst || reply_is_passing(reply))) {
        forget_worst(t);
        t->worst = (struct redisReply *)reply;
        t->worst_part = WAITING_PARTS - t->n_left;
        link_keep_reply(t->call.async->line.link);
    }
    if (--t->n_left == 0)
        all_counted(t, reply);
}

static int send_count(struct async_call *call)
{
    struct count *t = count_of(call);
    struct muster_async *a = call->async;
    int err = MUSTER_OK;
    async_list_pop(&a->line.waiting);
    t->call.waiting = 0;
    t->is_lost = false;
    forget_worst(t);
    for (size_t i = 0; i < WAITING_PARTS && err == MUSTER_OK; i++) {
        struct command c = COMMAND_EMPTY;
        char key[KEY_MAX];
        waiting_parts_say(&c, i, key, a->prefix, t->queue);
        err = link_call(a->line.link, &c, on_part, t);
        command_clear(&c);
        t->n_left += err == MUSTER_OK;
    }
    if (err == MUSTER_OK || t->n_left > 0)
        async_hear_sent(call, 0);
    if (err != MUSTER_OK && t->n_left > 0) /* those that were sent tell it when they are lost */
        link_break(a->line.link, err, "out of memory");
    else if (err != MUSTER_OK)
        async_hear_failed(call, err, NULL);
    return err;
}

static void clear_count(struct async_call *call)
{
    forget_worst(count_of(call));
}

static const struct async_kind kind_count = {.send = send_count, .clear = clear_count};

int muster_async_length(struct muster_async *a, const char *queue, muster_async_fn *fn, void *arg)
{
    int err = async_enter(a);
    if (err == MUSTER_OK)
        err = async_thread_check_queue(queue);
    if (err != MUSTER_OK)
        return err;
    const size_t len = strlen(queue) + 1;
    struct count *t = async_call_new(a, &kind_count, sizeof *t + len, fn, arg);
    if (!t)
        return async_thread_refuse(MUSTER_E_NOMEM, "out of memory");
    t->n_left = 0;
    t->worst = NULL;
    t->is_lost = false;
    memcpy(t->queue, queue, len);
    return async_inbox_post(a, &t->call);
}
