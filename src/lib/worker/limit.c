/* SPDX-License-Identifier: MIT
 *
 * Time limits: how long a handler may run on one process. They are counted here, on this machine's clock; Redis knows
 * nothing of them. When nine tenths are over the program is told. At the end the handler is told to stop.
 */
#include <event2/event.h>

#include "base/clock.h"
#include "base/timer.h"
#include "worker/worker.h"

/* The program may end the process inside its callback, so the process is not touched afterwards. */
static void on_limit_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_process *p = arg;
    int64_t now_ms = clock_ms();
    (void)fd, (void)what;
    if (!process_is(p, IS_RUNNING) || (p->is_disowned && !p->is_ended))
        return;
    if (p->limit_near_ms > 0 && now_ms < p->limit_near_ms) { /* the loop's clock is coarser: a timer may come early */
        timer_after_ms(p->limit_timer, p->limit_near_ms - now_ms);
    } else if (p->limit_near_ms > 0) { /* late or not: the program gets the chance to give it more time */
        p->limit_near_ms = 0;
        timer_after_ms(p->limit_timer, p->limit_at_ms > now_ms ? p->limit_at_ms - now_ms : 0);
        tell_event(p->worker, MUSTER_EVENT_NEAR_LIMIT, MUSTER_OK, NULL, p);
    } else if (now_ms < p->limit_at_ms) {
        timer_after_ms(p->limit_timer, p->limit_at_ms - now_ms);
    } else {
        figures_add(&p->worker->figures.limits, 1);
        process_tell_stop(p, MUSTER_STOP_LIMIT);
    }
}

static bool has_timer(struct muster_process *p)
{
    if (!p->limit_timer)
        p->limit_timer = evtimer_new(p->worker->base, on_limit_timer, p);
    return p->limit_timer != NULL;
}

void limit_set(struct muster_process *p, int64_t limit_ms)
{
    if (limit_ms == 0) {
        if (p->limit_timer)
            event_del(p->limit_timer);
        return;
    }
    if (!has_timer(p))
        return;
    p->limit_at_ms = clock_in_ms(limit_ms);
    p->limit_near_ms = p->limit_at_ms - limit_ms / 10;
    timer_after_ms(p->limit_timer, limit_ms - limit_ms / 10);
}

static int64_t limit_of(const struct muster_process *p)
{
    return p->job && p->job->job.limit_ms > 0 ? p->job->job.limit_ms : p->worker->limit_ms;
}

int limit_keep(struct muster_process *p)
{
    return limit_of(p) == 0 || has_timer(p) ? MUSTER_OK : MUSTER_E_NOMEM;
}

void limit_begin(struct muster_process *p)
{
    if (limit_of(p) > 0)
        limit_set(p, limit_of(p));
}

void limit_clear(struct muster_process *p)
{
    if (p->limit_timer)
        event_free(p->limit_timer);
    p->limit_timer = NULL;
}
