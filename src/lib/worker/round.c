/* SPDX-License-Identifier: MIT
 *
 * A round: what a worker does after the callbacks of a turn of its loop, in its one order:
 *
 *   answers   libevent calls a function for everything that came in: answers and messages of the links, ends of child
 *             processes, timers, the note of another thread. These functions change the table of processes and what the
 *             worker knows, tell the program, and ask for the steps below by round_due(). They start no handler, and
 *             send no end.
 * ends what other threads have left for the loop (calls.c), and what they have said of their processes (posted.c)
 *   dispatch  handlers start while hands are free (dispatch.c). Inline ones end here
 *   say       what waits for memory is fetched (accept.c); the worker goes on resuming (resume.c); new data of jobs go to
 *             Redis (extend.c), then the ends for which all is there (follow.c), and how many to take (turn.c); then the
 *             worker goes on leaving queues (leave.c)
 *   drain     is it time to stop, or to leave (stop.c)?
 *
 * If a step needs something that an earlier step does, another round follows at once, before the loop looks at its
 * sockets: for example when a handler ends while its queue is left. So no step calls back to an earlier one, and no
 * handler runs inside another one.
 */
#include <event2/event.h>

#include "base/timer.h"
#include "worker/worker.h"

void round_due(struct muster_worker *w)
{
    if (w->round.is_due)
        return;
    w->round.is_due = true;
    if (!w->round.is_running)
        event_active(w->round.event, EV_TIMEOUT, 1);
}

static void on_round(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (!round_is_in_loop(w))
        round_set_thread(w, pthread_self()); /* once, before any handler could read it */
    w->round.is_running = true;
    posted_take(w);
    bool is_more_ready = dispatch_ready(w);
    w->round.is_due = false; /* what was asked for up to here is done below */
    accept_go_on(w);
    resume_go_on(w);
    extend_go_on(w);
    follow_go_on(w);
    turn_say(w);
    share_go_on(w);
    leave_go_on(w);
    stop_check(w);
    w->round.is_running = false;
    if (is_more_ready) {
        w->round.is_due = true;
        if (!timer_after_ms(w->round.event, 0)) /* a timer, so that sockets are looked at first */
            event_active(w->round.event, EV_TIMEOUT, 1);
    } else if (w->round.is_due) {
        event_active(w->round.event, EV_TIMEOUT, 1);
    }
}

bool round_is_in_loop(const struct muster_worker *w)
{
    return pthread_equal(atomic_load(&w->round.thread), pthread_self());
}

void round_set_thread(struct muster_worker *w, pthread_t thread)
{
    atomic_store(&w->round.thread, thread);
}

int round_new(struct muster_worker *w)
{
    round_set_thread(w, pthread_self()); /* until a turn of the loop shows another one */
    w->round.event = event_new(w->base, -1, 0, on_round, w);
    return w->round.event ? MUSTER_OK : MUSTER_E_NOMEM;
}

void round_free(struct muster_worker *w)
{
    if (w->round.event)
        event_free(w->round.event);
}
