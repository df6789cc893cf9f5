/* SPDX-License-Identifier: MIT
 *
 * The program is called from time to time by the loop, in whatever state the worker is. It is a timer like any other,
 * so that whatever keeps the loop from its work keeps it from this, too.
 */
#include <event2/event.h>

#include "worker/worker.h"

#define PULSE_MAX_MS ((int64_t)24 * 3600 * 1000)

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    w->tell.depth++; /* the program may free the worker, which waits for the reaper then */
    w->pulse.fn(w, w->pulse.arg);
    w->tell.depth--;
    if (w->is_free_due)
        event_active(w->reaper, EV_TIMEOUT, 1);
}

struct wish {
    int64_t every_ms;
    muster_pulse_fn *fn;
    void *arg;
};

static int set(struct muster_worker *w, const void *arg)
{
    const struct wish *wish = arg;
    if (w->state == WORKER_STOPPED) /* nothing would end it */
        return tell_error_as(w, MUSTER_E_STATE, "the worker has stopped");
    if (!w->pulse.timer)
        w->pulse.timer = event_new(w->base, -1, EV_PERSIST, on_timer, w);
    if (!w->pulse.timer)
        return MUSTER_E_NOMEM;
    event_del(w->pulse.timer);
    w->pulse.fn = wish->fn;
    w->pulse.arg = wish->arg;
    const struct timeval every = {wish->every_ms / 1000, wish->every_ms % 1000 * 1000};
    return wish->every_ms == 0 || event_add(w->pulse.timer, &every) == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

int muster_worker_set_pulse(struct muster_worker *w, int64_t every_ms, muster_pulse_fn *fn, void *arg)
{
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    if (every_ms < 0 || every_ms > PULSE_MAX_MS)
        return tell_error_as(w, MUSTER_E_INVALID, "every_ms is %lld; it must be 0 (no pulse) to %lld",
                             (long long)every_ms, (long long)PULSE_MAX_MS);
    if (every_ms > 0 && !fn)
        return tell_error_as(w, MUSTER_E_INVALID, "a pulse needs a function to call");
    return calls_carry_out(w, set, &(struct wish){every_ms, fn, arg});
}

void pulse_free(struct muster_worker *w)
{
    if (w->pulse.timer)
        event_free(w->pulse.timer);
    w->pulse.timer = NULL;
}
