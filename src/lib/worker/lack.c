/* SPDX-License-Identifier: MIT
 *
 * A command cannot begin, because the system lacks something: descriptors, memory, processes; or somebody writes the
 * program's file just now. That says nothing about its task or job, so it costs no retry and is no failure: it goes back,
 * for a worker whose system lacks nothing. This one takes nothing for a moment, or it would get the same task again at
 * once. Then it looks at its next queue first, which may need less.
 */
#include "worker/lack.h"

#include <event2/event.h>

#include "base/timer.h"
#include "worker/worker.h"

#define PAUSE_MS 1000

void lack_begin(struct muster_worker *w, const struct served *s, const char *text)
{
    w->turns.first_queue = serve_number(w, s) + 1;
    w->turns.must_state_hands = true;
    w->lack.is_on = timer_after_ms(w->lack.pause, PAUSE_MS);
    if (!w->lack.was_told)
        tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, text, NULL);
    w->lack.was_told = true;
    end_all_unstarted(w);
}

bool lack_is_on(const struct muster_worker *w)
{
    return w->lack.is_on;
}

bool lack_is_over(struct muster_worker *w)
{
    bool was_told = w->lack.was_told;
    w->lack.was_told = false;
    return was_told;
}

void lack_goes_on(struct muster_worker *w)
{
    w->lack.was_told = true;
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    w->lack.is_on = false;
    w->turns.must_state_hands = true;
    turn_want_take(w);
}

int lack_new(struct muster_worker *w)
{
    w->lack.pause = evtimer_new(w->base, on_pause_over, w);
    return w->lack.pause ? MUSTER_OK : MUSTER_E_NOMEM;
}

void lack_stop(struct muster_worker *w)
{
    event_del(w->lack.pause);
    w->lack.is_on = false;
}

void lack_free(struct muster_worker *w)
{
    if (w->lack.pause)
        event_free(w->lack.pause);
}
