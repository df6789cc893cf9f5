/* SPDX-License-Identifier: MIT
 *
 * What becomes of what was sent: answered, refused for a reason that passes, or lost with the connection; and the
 * confirmation of what was added.
 *
 * A call that Redis has not executed is sent again until its time is over. Before that all that is under way is
 * answered, and nothing new is sent: so the order among those that were refused stays.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "async/async.h"
#include "base/clock.h"
#include "base/timer.h"

/* Before something is sent again. Others that were refused at the same time must not come all at once. */
#define PAUSE_MS 20
#define PAUSE_SPREAD_MS 30

/* ---- answers ---- */

static void answered(struct async_call *call)
{
    struct muster_async *a = call->async;
    async_list_add(&a->line.answered, call);
    a->line.n_answered++;
    async_line_go_on(a);
}

void async_hear_done(struct async_call *call)
{
    struct async_line *l = &call->async->line;
    if (call->kind->adds && confirm_is_wanted(&l->confirm))
        async_list_add(&l->added, call);
    else
        answered(call);
}

void async_hear_failed(struct async_call *call, int err, const char *words)
{
    async_call_fail(call, err, words);
    if (call->kind->failed)
        call->kind->failed(call);
    answered(call);
}

void async_hear_refused(struct async_call *call, int err, const struct redisReply *reply)
{
    char words[512] = "";
    const char *key = err == MUSTER_E_REDIS ? reply_text(reply_at(reply, 1)) : NULL;
    if (reply_kind(reply) == REPLY_ERROR)
        reply_refusal_words(words, sizeof words, reply_text(reply));
    else if (key)
        snprintf(words, sizeof words, "the key '%s' has a wrong type: another program wrote it", key);
    else if (err == MUSTER_E_REDIS)
        snprintf(words, sizeof words, "the answer is none that a script of muster gives: is this another server?");
    async_hear_failed(call, err, *words ? words : NULL);
}

void async_hear_own_done(struct async_call *call)
{
    struct muster_async *a = call->async;
    a->line.n_own--;
    async_call_free(call);
    async_line_close_if_done(a);
}

void async_hear_fail_all(struct async_list *calls, int err, const char *words)
{
    struct async_list all;
    async_list_init(&all);
    async_list_append(&all, calls);
    for (struct async_call *call; (call = async_list_pop(&all)) != NULL;)
        async_hear_failed(call, err, words);
}

/* ---- sent again, or lost ---- */

void async_hear_sent(struct async_call *call, size_t bytes)
{
    struct async_line *l = &call->async->line;
    l->n_sent++;
    l->sent_bytes += bytes;
    l->n_unasked += call->kind->adds;
}

void async_hear_unsent(struct async_call *call)
{
    call->async->line.n_sent--;
    async_line_add_first(call->async, call);
}

void async_hear_given_up(struct async_call *call, int err, const char *words)
{
    call->async->line.n_sent--;
    async_hear_failed(call, err, words);
}

/* The run, whose first one is `call`. */
static void add_run(struct async_list *list, struct async_call *call)
{
    size_t n = call->n_run;
    for (struct async_call *next; n > 0; call = next, n--) {
        next = call->next;
        call->n_run = 1;
        async_list_add(list, call);
    }
}

/* For a reason that passes? Since when Redis refuses is noted: it may execute what reads while it refuses what writes. */
static bool is_refused(const struct async_call *call, const struct redisReply *reply)
{
    int64_t *since_ms = &call->async->line.refused_since_ms[call->kind->writes];
    const bool is = reply_is_passing(reply);
    if (!is)
        *since_ms = 0;
    else if (*since_ms == 0)
        *since_ms = clock_ms();
    return is;
}

/* A call that waited behind others for longer than its time has this time from when Redis began to refuse. One of the
 * client's own, too: what is sent again goes before all others, and nothing goes alone meanwhile. */
static bool has_time(const struct async_call *call)
{
    const int64_t since_ms = call->async->line.refused_since_ms[call->kind->writes];
    const int64_t from_ms = call->made_ms > since_ms ? call->made_ms : since_ms;
    return clock_ms() - from_ms < call->async->timeout_ms;
}

bool async_hear_is_put_off(const struct async_call *call, const struct redisReply *reply)
{
    return is_refused(call, reply) && has_time(call);
}

void async_hear_pause(struct muster_async *a)
{
    timer_after_ms(a->line.pauser, PAUSE_MS + arc4random_uniform(PAUSE_SPREAD_MS));
}

bool async_hear_reply(struct async_call *call, size_t bytes, const struct redisReply *reply)
{
    struct muster_async *a = call->async;
    struct async_line *l = &a->line;
    const bool comes_again = reply ? async_hear_is_put_off(call, reply) : call->kind->is_own;
    l->n_sent--;
    l->sent_bytes -= bytes;
    async_line_go_on(a);
    if (comes_again)
        add_run(&l->again, call);
    else if (!reply)
        add_run(&l->broken, call);
    else
        l->down_since_ms = 0;
    if (l->again.first && l->n_sent == 0)
        async_hear_pause(a);
    return reply && !comes_again;
}

void async_hear_down(struct muster_async *a, int err, const char *words)
{
    struct async_line *l = &a->line;
    l->n_unasked = 0;
    l->is_asking = false;
    async_hear_fail_all(&l->broken, err == MUSTER_E_TIMEOUT ? err : MUSTER_E_CONN, words);
    async_hear_fail_all(&l->added, MUSTER_E_UNCONFIRMED, words);
}

/* ---- confirmation ---- */

/* All that was answered before this answer was executed before this question. */
static void on_confirmed(const struct redisReply *reply, void *arg)
{
    struct muster_async *a = arg;
    struct async_line *l = &a->line;
    char why[256];
    if (!reply) /* the connection broke: async_hear_down() follows */
        return;
    l->is_asking = false;
    async_line_go_on(a);
    int err = confirm_hear(&l->confirm, reply, NULL, why, sizeof why);
    if (err == MUSTER_OK)
        confirm_warn(&l->confirm, link_replicas(l->link));
    struct async_list all;
    async_list_init(&all);
    async_list_append(&all, &l->added);
    for (struct async_call *call; (call = async_list_pop(&all)) != NULL;) {
        if (err != MUSTER_OK)
            async_call_fail(call, err, why);
        answered(call);
    }
}

/* One question at a time: Redis carries them out one after the other, and each may take its whole time. The next one is
 * for all that came meanwhile; also for one that was answered behind its question, because it was sent twice. */
void async_hear_ask(struct muster_async *a)
{
    struct async_line *l = &a->line;
    struct command c = COMMAND_EMPTY;
    bool is_due = !l->is_asking && (l->n_unasked > 0 || l->added.first);
    if (!confirm_is_wanted(&l->confirm) || !is_due || !link_is_up(l->link))
        return;
    confirm_say(&l->confirm, &c);
    l->is_asking = link_call(l->link, &c, on_confirmed, a) == MUSTER_OK;
    if (!l->is_asking)
        link_break(l->link, MUSTER_E_NOMEM, "out of memory");
    l->n_unasked = 0;
    command_clear(&c);
}
