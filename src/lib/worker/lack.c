/* SPDX-License-Identifier: MIT
 *
 * A command cannot begin, because the system lacks something: descriptors, memory, processes; or somebody writes the
 * program's file just now. That says nothing about its task or job, so it costs no retry and is no failure: it goes back,
 * for a worker whose system lacks nothing. This one takes nothing for a moment, or it would get the same task again at
 * once. Then it looks at its next queue first, which may need less.
 *
 * It is told once for as long as it comes again and again. That a command has begun says little: a child may find only later
 * that it cannot become its program, and of several that try at once some may.
 */
#include "worker/lack.h"

#include <event2/event.h>

#include "base/clock.h"
#include "base/timer.h"
#include "worker/worker.h"

#define PAUSE_MS 1000
#define QUIET_MS 10000

void lack_begin(struct muster_worker *w, const struct served *s, const char *text)
{
    w->turns.first_queue = serve_number(w, s) + 1;
    w->turns.must_state_hands = true;
    w->lack.is_on = timer_after_ms(w->lack.pause, PAUSE_MS);
    const bool is_news = clock_ms() >= w->lack.quiet_until_ms;
    w->lack.quiet_until_ms = clock_in_ms(QUIET_MS);
    if (is_news)
        tell_event(w, MUSTER_EVENT_REFUSED, MUSTER_E_NOMEM, text, NULL);
    end_all_unstarted(w);
}

bool lack_is_on(const struct muster_worker *w)
{
    return w->lack.is_on;
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
