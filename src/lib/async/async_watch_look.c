/* SPDX-License-Identifier: MIT
 *
 * A look whether a take would find something: how much waits, and when something is due. Plain commands, so that many
 * who are woken do not all call a script.
 */
#include "async/async_watch_private.h"
#include "base/clock.h"
#include "protocol/keys.h"
#include "protocol/waiting_parts.h"
#include "protocol/waiting_times.h"

/* The answers of a look: when something is due, what time it is, and how much waits. */
enum { LOOK_DUE, LOOK_TIME, LOOK_PARTS };

/* For what is due later another look is planned: whoever sleeps now may have left by then. */
static void look_is_over(struct async_watch *w)
{
    const bool is_due = w->due_ms >= 0 && w->now_ms >= 0 && w->due_ms <= w->now_ms;
    if (w->first && (w->has_failed || w->waiting > 0 || is_due))
        async_watch_wake(w, &w->first);
    else if (w->first && w->due_ms >= 0 && w->now_ms >= 0)
        async_watch_plan_look(w, w->due_ms - w->now_ms);
    async_watch_set_timer(w);
}

static void on_look(const struct redisReply *reply, void *arg)
{
    struct async_watch *w = arg;
    w->has_failed |= reply_err(reply) != MUSTER_OK;
    if (w->n_come == LOOK_DUE)
        w->due_ms = reply_number(reply, -1);
    else if (w->n_come == LOOK_TIME)
        w->now_ms = reply_time_ms(reply);
    else
        w->waiting += reply_count(reply);
    w->n_come++;
    if (--w->n_to_come == 0)
        look_is_over(w);
}

static int ask(struct async_watch *w, const char *const *words)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, words);
    int err = link_call(w->async->line.link, &c, on_look, w);
    command_clear(&c);
    w->n_to_come += err == MUSTER_OK;
    return err;
}

static int ask_part(struct async_watch *w, size_t i)
{
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    waiting_parts_say(&c, i, key, w->async->prefix, w->queue);
    int err = link_call(w->async->line.link, &c, on_look, w);
    command_clear(&c);
    w->n_to_come += err == MUSTER_OK;
    return err;
}

/* Without a connection the take itself waits for one. */
void async_watch_look(struct async_watch *w)
{
    char key[KEY_MAX];
    w->look_ms = ASYNC_WATCH_NEVER;
    w->looked_ms = clock_ms();
    w->stagger_ms = waiting_times_stagger(w->stagger_ms);
    w->n_come = 0;
    w->waiting = 0;
    w->has_failed = false;
    w->due_ms = w->now_ms = -1;
    key_of(key, w->async->prefix, KEY_QUEUE, w->queue);
    int err = ask(w, (const char *const[]){"HGET", key, "due", NULL});
    if (err == MUSTER_OK)
        err = ask(w, (const char *const[]){"TIME", NULL});
    for (size_t i = 0; i < WAITING_PARTS && err == MUSTER_OK; i++)
        err = ask_part(w, i);
    if (err != MUSTER_OK && w->n_to_come == 0)
        async_watch_wake(w, &w->first);
}
