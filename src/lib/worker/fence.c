/* SPDX-License-Identifier: MIT
 *
 * The fence: peers may sweep this worker when its ttl has passed since Redis got its last heartbeat. The worker counts
 * the same ttl from when it sent the last heartbeat that was confirmed, which is earlier. So it knows first. From then
 * on it is in doubt: nothing starts, and handlers were told MUSTER_STOP_LOST, unless they may run on (on_doubt). A
 * doubt ends with the next confirmed heartbeat and a read-back after it. E_GONE means instead that peers have swept it,
 * and it registers again.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

static int64_t left_ms(const struct muster_worker *w, int64_t now_us)
{
    return atomic_load_explicit(&w->fence.confirmed_at_ms, memory_order_relaxed) + w->ttl_ms - now_us / 1000;
}

bool fence_has_passed(const struct muster_worker *w, int64_t now_us)
{
    return !w->permanent && left_ms(w, now_us) <= 0;
}

static void enter_doubt(struct muster_worker *w)
{
    w->fence.in_doubt = true;
    dispatch_call_off(w);
    figures_add(&w->figures.doubts, 1);
    figures_set(&w->figures.in_doubt, 1);
    trace_line(TRACE_STATE, "worker %s: no confirmed heartbeat for %d ms, in doubt", w->id, w->ttl_ms);
    tell_event(w, MUSTER_EVENT_DOUBT, MUSTER_OK, NULL, NULL);
    if (w->on_doubt == MUSTER_DOUBT_STOP)
        process_tell_running(w, MUSTER_STOP_LOST, NULL, NULL);
}

bool fence_is_closed(struct muster_worker *w, int64_t now_us)
{
    if (!w->fence.in_doubt && registration_is_there(w) && fence_has_passed(w, now_us))
        enter_doubt(w);
    return w->fence.in_doubt;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    /* The loop's clock is another one and coarser: a timer may come a little early. */
    int64_t now_us = clock_us();
    if (registration_is_there(w) && !fence_is_closed(w, now_us))
        timer_after_ms(w->fence.timer, left_ms(w, now_us));
}

void fence_confirm(struct muster_worker *w, int64_t sent_ms)
{
    if (sent_ms < atomic_load_explicit(&w->fence.confirmed_at_ms, memory_order_relaxed))
        return; /* a heartbeat that had to wait: its lifeline was later */
    atomic_store_explicit(&w->fence.confirmed_at_ms, sent_ms, memory_order_relaxed);
    figures_set(&w->figures.heard_at_ms, sent_ms);
    if (!w->permanent) /* its peers never sweep it */
        timer_after_ms(w->fence.timer, left_ms(w, clock_us()));
}

void fence_open(struct muster_worker *w)
{
    if (!w->fence.in_doubt)
        return;
    w->fence.in_doubt = false;
    figures_set(&w->figures.in_doubt, 0);
    trace_line(TRACE_STATE, "worker %s: still registered, goes on", w->id);
    turn_want_take(w);
}

void fence_stop(struct muster_worker *w)
{
    event_del(w->fence.timer);
}

void fence_forget(struct muster_worker *w)
{
    w->fence.in_doubt = false;
    figures_set(&w->figures.in_doubt, 0);
    fence_stop(w);
}

int fence_new(struct muster_worker *w)
{
    w->fence.timer = evtimer_new(w->base, on_timer, w);
    return w->fence.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void fence_free(struct muster_worker *w)
{
    if (w->fence.timer)
        event_free(w->fence.timer);
}
