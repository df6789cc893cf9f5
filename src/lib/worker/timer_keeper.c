/* SPDX-License-Identifier: MIT
 *
 * The timer: one worker of a namespace moves what becomes due, in all queues, at its time. So work that is due costs
 * the same however many workers are idle, and waits for nobody's heartbeat.
 *
 * P:timer names the keeper. A heartbeat that finds nobody there makes its worker the keeper, and renews the key as long
 * as the worker lives. The script that retires a keeper hands the timer on.
 *
 * Design notes
 *
 *   1. Nothing depends on there being one keeper: anybody may call the script that moves what is due, at any time.
 *      Takes and heartbeats on a queue go on looking at what is due there.
 *   2. Each answer of that script, and each heartbeat, tells how long it is until the next thing is due. All of them
 *      are answers on one connection, so the last one is the newest.
 *   3. A message says that something is due earlier. It is not known whether the script in flight has seen it: so the
 *      worker calls it once more when it is answered.
 *   4. A message that is lost costs until the next heartbeat. Without a connection there is no timer: the heartbeat
 *      with which a new one begins sets it.
 *   5. While an inline handler runs, its worker's timer waits. So a keeper whose last handler took long hands the timer
 *      on before the next one, to a worker that is idle: work that is due is late only where nobody is free anyway.
 *   6. The message goes to the worker that P:timer names. So it makes a worker that does not know it yet the keeper.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "protocol/script_timer.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

#define NOTHING_DUE (-1)
#define REFUSED_PAUSE_MS 200
/* More is due already. */
#define AGAIN_MS 1
/* After a handler that held up the loop this long, the timer is handed on before the next one. */
#define LONG_HANDLER_MS 10

static void promote(struct muster_worker *w);

static void set_timer(struct muster_worker *w, int64_t after_ms)
{
    w->keeper.due_at_ms = after_ms < 0 ? NOTHING_DUE : clock_in_ms(after_ms);
    if (after_ms < 0)
        event_del(w->keeper.timer);
    else
        timer_after_ms(w->keeper.timer, after_ms);
}

static void keep(struct muster_worker *w)
{
    if (!w->keeper.keeps)
        trace_line(TRACE_STATE, "worker %s keeps the timer", w->id);
    w->keeper.keeps = true;
}

void timer_keeper_stop(struct muster_worker *w)
{
    if (w->keeper.keeps)
        trace_line(TRACE_STATE, "worker %s keeps the timer no longer", w->id);
    w->keeper.keeps = false;
    event_del(w->keeper.timer);
}

/* Somebody has forgotten these, or died before. */
static void tell_closed(struct muster_worker *w, const struct redisReply *batches)
{
    for (size_t i = 0; i < reply_len(batches); i++) {
        const char *id = reply_text(reply_at(batches, i));
        if (id)
            log_line(MUSTER_LOG_WARN, "worker %s: closed the batch '%s': nobody else had done so within its ttl", w->id,
                     id);
    }
}

/* If a call was asked for meanwhile, it follows now. */
static void on_promoted(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct script_promoted promoted;
    bool again = w->keeper.promote_again;
    w->keeper.promoting = w->keeper.promote_again = false;
    if (!reply || !w->keeper.keeps)
        return;
    int err = script_promoted(reply, &promoted);
    if (err != MUSTER_OK) {
        tell_refused(w, REQUEST_PROMOTE, err, reply_text(reply));
        set_timer(w, REFUSED_PAUSE_MS);
        return;
    }
    tell_accepted(w, REQUEST_PROMOTE);
    tell_closed(w, promoted.closed);
    crons_refill(w, promoted.crons, promoted.now_ms);
    if (again)
        promote(w);
    else
        set_timer(w, promoted.next_ms == 0 ? AGAIN_MS : promoted.next_ms);
}

static void promote(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (w->keeper.promoting) {
        w->keeper.promote_again = true;
        return;
    }
    if (!connection_can_call(w))
        return;
    script_promote(&c, &w->root);
    w->keeper.promoting = link_script(w->connection.data, &c, on_promoted, w) == MUSTER_OK;
    command_clear(&c);
    if (!w->keeper.promoting)
        set_timer(w, REFUSED_PAUSE_MS);
}

static void on_due_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    int64_t left_ms = w->keeper.due_at_ms - clock_ms();
    (void)fd, (void)what;
    if (!w->keeper.keeps || w->keeper.due_at_ms == NOTHING_DUE)
        return;
    if (left_ms > 0) /* the loop's clock is coarser: a timer may come early */
        timer_after_ms(w->keeper.timer, left_ms);
    else
        promote(w);
}

void timer_keeper_apply_heartbeat(struct muster_worker *w, int64_t next_due_ms)
{
    if (next_due_ms < NOTHING_DUE) {
        timer_keeper_stop(w);
        return;
    }
    keep(w);
    set_timer(w, next_due_ms);
}

void timer_keeper_sooner(struct muster_worker *w)
{
    w->keeper.n_void = w->keeper.n_handing_on; /* the timer came back before the answer that it went */
    keep(w);
    promote(w);
}

static void on_handed_on(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    struct timer_keeper *k = &w->keeper;
    const int err = reply_err(reply);
    if (k->n_void == 0 && reply_integer(reply) == 1)
        timer_keeper_stop(w);
    k->n_void -= k->n_void > 0;
    k->n_handing_on--;
    if (reply && err != MUSTER_OK)
        tell_refused(w, REQUEST_HAND_ON, err, reply_text(reply));
    else if (reply)
        tell_accepted(w, REQUEST_HAND_ON);
}

/* In their order: which of several answers says nothing is known by that. */
static bool hand_on(struct muster_worker *w, const char *queue)
{
    struct command c = COMMAND_EMPTY;
    struct timer_keeper *k = &w->keeper;
    if (!k->keeps || k->n_handing_on > k->n_void || !connection_can_call(w))
        return false;
    script_hand_on(&c, &w->root, w->id, queue);
    bool is_sent = link_script_in_order(w->connection.data, &c, on_handed_on, w) == MUSTER_OK;
    command_clear(&c);
    k->n_handing_on += is_sent;
    return is_sent;
}

/* Write it at once: while the handler runs, the loop cannot. */
void timer_keeper_before_handler(struct muster_worker *w, const char *queue)
{
    if (w->keeper.held_up_ms >= LONG_HANDLER_MS && hand_on(w, queue))
        link_flush(w->connection.data);
}

void timer_keeper_pass_on(struct muster_worker *w)
{
    (void)hand_on(w, "");
}

int timer_keeper_new(struct muster_worker *w)
{
    w->keeper.due_at_ms = NOTHING_DUE;
    w->keeper.timer = evtimer_new(w->base, on_due_timer, w);
    return w->keeper.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void timer_keeper_after_handler(struct muster_worker *w, int64_t took_ms)
{
    w->keeper.held_up_ms = took_ms;
}

void timer_keeper_free(struct muster_worker *w)
{
    if (w->keeper.timer)
        event_free(w->keeper.timer);
}
