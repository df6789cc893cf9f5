/* SPDX-License-Identifier: MIT
 *
 * Before the first call that writes the namespace gets its format, as by the blocking client; where somebody asks for
 * disks, it is looked whether the server has them.
 */
#include "async/async.h"
#include "async/async_claim.h"
#include "protocol/keys.h"

/* Nothing can be written. What is under way is in nobody's way: it only reads. */
static void give_up_claim(struct muster_async *a, int err, const char *why)
{
    a->line.claim = ASYNC_UNCLAIMED;
    link_break(a->line.link, err, why);
}

/* Who only reads needs no format, and goes on, before those that write when the reason has passed. Are there such? */
static bool refuse_writers(struct muster_async *a, const struct redisReply *reply, int err, const char *why)
{
    struct async_list all, put_off;
    async_list_init(&all);
    async_list_init(&put_off);
    async_list_append(&all, &a->line.waiting);
    for (struct async_call *call; (call = async_list_pop(&all)) != NULL;)
        if (!call->kind->writes)
            async_list_add(&a->line.waiting, call);
        else if (async_hear_is_put_off(call, reply))
            async_list_add(&put_off, call);
        else if (call->kind->is_own)
            call->kind->refused(call, err, why);
        else
            async_hear_failed(call, err, why);
    const bool are_put_off = put_off.first;
    async_list_append(&a->line.waiting, &put_off);
    return are_put_off;
}

/* As any call that writes may be refused, and nobody else is in its way. */
static bool is_refusal(int err)
{
    return err == MUSTER_E_DENIED || err == MUSTER_E_FULL || err == MUSTER_E_BUSY;
}

static void go_on_as(struct muster_async *a, enum async_claim claim)
{
    a->line.claim = claim;
    a->line.down_since_ms = 0;
    async_line_go_on(a);
}

static void put_off(struct muster_async *a)
{
    a->line.claim = ASYNC_PUT_OFF;
    async_hear_pause(a);
    async_line_go_on(a);
}

static void on_claimed(const struct redisReply *reply, void *arg)
{
    struct muster_async *a = arg;
    char why[CAUSE_WHY_MAX];
    if (!reply) /* the connection broke */
        return;
    int err = async_claim_hear(reply, a->prefix, why, sizeof why);
    if (err == MUSTER_OK)
        go_on_as(a, ASYNC_CLAIMED);
    else if (!is_refusal(err))
        give_up_claim(a, err, why);
    else if (refuse_writers(a, reply, err, why))
        put_off(a);
    else
        go_on_as(a, ASYNC_UNCLAIMED);
}

/* Whatever else it answers, the question itself will tell. */
static void on_probed(const struct redisReply *reply, void *arg)
{
    struct muster_async *a = arg;
    const char *why = reply_kind(reply) == REPLY_ERROR ? confirm_refusal(reply_text(reply)) : NULL;
    if (why)
        give_up_claim(a, MUSTER_E_REDIS, why);
    else if (reply && link_is_format_known(a->line.link))
        go_on_as(a, ASYNC_CLAIMED);
}

static int probe(struct muster_async *a)
{
    struct command c = COMMAND_EMPTY;
    confirm_say_probe(&c);
    int err = link_call(a->line.link, &c, on_probed, a);
    command_clear(&c);
    return err;
}

static int say_claim(struct muster_async *a)
{
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    async_claim_say(&c, key, a->prefix);
    int err = link_call(a->line.link, &c, on_claimed, a);
    command_clear(&c);
    return err;
}

/* The answer of the one that others wait for comes last. Where the format is there nothing is written: that may be refused,
 * and hinder what is not. */
void async_format_claim(struct muster_async *a)
{
    struct async_line *l = &a->line;
    int err = MUSTER_OK;
    l->claim = ASYNC_CLAIMING;
    if (l->confirm.fsync)
        err = probe(a);
    if (err == MUSTER_OK && !link_is_format_known(l->link))
        err = say_claim(a);
    if (err != MUSTER_OK)
        link_break(l->link, err, "out of memory");
}
