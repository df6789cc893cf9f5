/* SPDX-License-Identifier: MIT
 *
 * The timer: of all workers of a namespace one moves what becomes due, in all queues, at its time. So work that is due
 * costs the same however many workers are idle, and waits for nobody's heartbeat.
 *
 * Who that is stands in P:timer. A heartbeat that finds nobody there makes its worker the keeper, and renews it as long
 * as its worker lives; the script that retires a keeper hands the timer on.
 *
 * Design notes
 *
 *   1. Nothing depends on there being one keeper: to move what is due is a script that anybody may call at any time.
 *      Takes and heartbeats on a queue go on looking at what is due there.
 *   2. How long until the next is due is told by each answer of that script, and by each heartbeat. All of them are
 *      answers on one connection, so the last one is the newest.
 *   3. A message says that something is due earlier. Whether the script that is on its way has seen it is not known: so
 *      it is called once more when it is answered.
 *   4. A message that is lost costs until the next heartbeat. Without a connection there is no timer: the heartbeat
 *      that a new one begins with sets it.
 *   5. While an inline handler runs, its worker's timer waits. So a keeper whose last one took long hands the timer on
 *      before the next one, to a worker that is idle: work that is due is late only where nobody is free anyway.
 *   6. A message comes to whoever stands in P:timer. So it makes a worker that does not know it yet the keeper.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

#define NOTHING_DUE (-1)
#define REFUSED_PAUSE_MS 200
/* A handler that held up the loop for so long is one for which the timer is handed on. */
#define LONG_HANDLER_MS 10

static void promote(struct muster_worker *w);

static void set_timer(struct muster_worker *w, int64_t after_ms)
{
    w->due_at_ms = after_ms < 0 ? NOTHING_DUE : clock_ms() + after_ms;
    if (after_ms < 0)
        event_del(w->due_timer);
    else
        timer_after_ms(w->due_timer, after_ms);
}

static void keep(struct muster_worker *w)
{
    if (!w->keeps_timer)
        trace_line(TRACE_STATE, "worker %s keeps the timer", w->id);
    w->keeps_timer = 1;
}

void timer_keeper_stop(struct muster_worker *w)
{
    if (w->keeps_timer)
        trace_line(TRACE_STATE, "worker %s keeps the timer no longer", w->id);
    w->keeps_timer = 0;
    event_del(w->due_timer);
}

/* The answer comes in any case; what was asked for meanwhile is asked for again. */
static void on_promoted(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    int64_t next_ms;
    int again = w->promote_again;
    w->promoting = w->promote_again = 0;
    if (!reply || !w->keeps_timer)
        return;
    int err = script_promoted(reply, &next_ms);
    if (err != MUSTER_OK) {
        worker_refused(w, SAID_PROMOTE, err, reply_text(reply));
        set_timer(w, REFUSED_PAUSE_MS);
        return;
    }
    worker_accepted(w, SAID_PROMOTE);
    if (again)
        promote(w);
    else
        set_timer(w, next_ms);
}

static void promote(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (w->promoting) {
        w->promote_again = 1;
        return;
    }
    if (!worker_can_call(w))
        return;
    script_promote(&c, &w->root);
    w->promoting = link_script(w->data, &c, on_promoted, w) == MUSTER_OK;
    command_clear(&c);
    if (!w->promoting)
        set_timer(w, REFUSED_PAUSE_MS);
}

static void on_due_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    int64_t left_ms = w->due_at_ms - clock_ms();
    (void)fd, (void)what;
    if (!w->keeps_timer || w->due_at_ms == NOTHING_DUE)
        return;
    if (left_ms > 0) /* the loop's clock is coarser: a timer may come early */
        timer_after_ms(w->due_timer, left_ms);
    else
        promote(w);
}

void timer_keeper_heard(struct muster_worker *w, int64_t next_due_ms)
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
    w->handing_on = 0; /* it has come back before the answer that it went */
    keep(w);
    promote(w);
}

static void on_handed_on(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    if (w->handing_on && reply_integer(reply) == 1)
        timer_keeper_stop(w);
    w->handing_on = 0;
}

/* Written now, for the loop will not come to it. */
void timer_keeper_before_handler(struct muster_worker *w, const char *queue)
{
    struct command c = COMMAND_EMPTY;
    if (!w->keeps_timer || w->inline_ms < LONG_HANDLER_MS || w->handing_on || !worker_can_call(w))
        return;
    script_hand_on(&c, &w->root, w->id, queue);
    w->handing_on = link_script_in_order(w->data, &c, on_handed_on, w) == MUSTER_OK;
    command_clear(&c);
    if (w->handing_on)
        link_flush(w->data);
}

int timer_keeper_new_events(struct muster_worker *w)
{
    w->due_at_ms = NOTHING_DUE;
    w->due_timer = evtimer_new(w->base, on_due_timer, w);
    return w->due_timer ? MUSTER_OK : MUSTER_E_NOMEM;
}
