/* SPDX-License-Identifier: MIT
 *
 * Stopping: a note that any thread or signal handler can leave (the loop takes outcomes that threads have posted on the
 * same occasion), the drain, and the moment to leave. Deregistering itself
 * is in heartbeat.c.
 */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

#define NO_WISH (-1)

void stop_give_up(struct muster_worker *w, int err, const char *text)
{
    snprintf(w->error, sizeof w->error, "%s", text);
    w->result = err;
    muster_worker_stop(w, NO_WISH);
}

void stop_wake(struct muster_worker *w)
{
    const uint64_t one = 1;
    ssize_t written = write(w->wake_fd, &one, sizeof one); /* fails only when a note is there already */
    (void)written;
}

int muster_worker_stop(struct muster_worker *w, int drain_ms)
{
    long long wish = drain_ms < 0 ? w->drain_ms : drain_ms;
    long long old = atomic_load(&w->stop_wish_ms);
    while ((old == NO_WISH || wish < old) && !atomic_compare_exchange_weak(&w->stop_wish_ms, &old, wish))
        ;
    stop_wake(w);
    return MUSTER_OK;
}

/* The time to deregister does not run while a child takes its time to end. */
static int children_are_gone(struct muster_worker *w)
{
    if (w->children == 0 && w->had_children && w->drain_over) {
        w->leave_before_ms = clock_ms() + w->ttl_ms;
        timer_after_ms(w->drain_timer, w->ttl_ms);
    }
    w->had_children = w->children > 0;
    return !w->had_children;
}

/*
 * Leave once nothing runs and nothing is to be said any more; the rest is Redis' to give back. When the drain time is
 * over, handlers that do not end are left behind, but never a child process: its task must not start elsewhere while
 * it still runs here.
 */
void stop_check_drained(struct muster_worker *w)
{
    if (w->state < WORKER_REGISTERING || w->state == WORKER_STOPPED || !children_are_gone(w))
        return;
    if (w->drain_over && clock_ms() >= w->leave_before_ms) {
        snprintf(w->error, sizeof w->error, "could not deregister in time; what it held is given back by its peers");
        worker_stopped(w, MUSTER_E_CONN);
    } else if (w->state == WORKER_DRAINING && w->counts[PROCESS_ENDED] == 0 && w->counts[PROCESS_SENT] == 0 &&
               w->turns == 0 && !w->state_hands_due && (w->counts[PROCESS_RUNNING] == 0 || w->drain_over)) {
        worker_enter(w, WORKER_LEAVING);
    }
}

void stop_check_burst(struct muster_worker *w)
{
    if (w->burst && w->state == WORKER_WORKING && w->n_known == 0 && w->foreign == 0 && w->turns == 0 &&
        serve_all_announced(w))
        muster_worker_stop(w, NO_WISH);
}

void stop_check_max(struct muster_worker *w)
{
    if (w->max_tasks > 0 && w->n_begun >= w->max_tasks && w->state == WORKER_WORKING && w->counts[PROCESS_RUNNING] == 0)
        muster_worker_stop(w, NO_WISH);
}

static void give_back_unstarted(struct muster_worker *w)
{
    for (int state = PROCESS_FETCHING; state <= PROCESS_READY; state++)
        while (!TAILQ_EMPTY(&w->lists[state]))
            process_give_back(TAILQ_FIRST(&w->lists[state]));
}

/* Comes when the drain time is over, and again when the time to deregister is over as well. */
static void on_drain_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (!w->drain_over) {
        trace_line(TRACE_STATE, "worker %s: drain time is over, %zu still running", w->id, w->counts[PROCESS_RUNNING]);
        w->drain_over = 1;
        process_tell_all_stop(w, MUSTER_STOP_DRAIN);
    }
    int64_t left_ms = w->leave_before_ms - clock_ms();
    if (left_ms > 0) /* also when this came a little early: the loop's clock is coarser */
        timer_after_ms(w->drain_timer, left_ms);
    stop_check_drained(w);
}

static void drain_for(struct muster_worker *w, int64_t drain_ms)
{
    int64_t leave_before = clock_ms() + drain_ms + w->ttl_ms;
    if (w->leave_before_ms != 0 && leave_before >= w->leave_before_ms)
        return;
    w->leave_before_ms = leave_before;
    timer_after_ms(w->drain_timer, drain_ms);
}

void stop_begin_drain(struct muster_worker *w)
{
    worker_enter(w, WORKER_DRAINING);
    w->state_hands_due = 1;
    give_back_unstarted(w);
    turn_due(w);
}

/* The note of muster_worker_stop() has reached the loop. */
static void on_waker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    uint64_t notes;
    (void)what;
    ssize_t got = read(fd, &notes, sizeof notes);
    pool_take_posted(w);
    int64_t wish = atomic_load(&w->stop_wish_ms);
    if (got < 0 || wish == NO_WISH || w->state >= WORKER_LEAVING)
        return;
    if (!worker_is_registered(w) && !w->starting) {
        worker_stopped(w, w->result);
        return;
    }
    drain_for(w, wish);
    if (w->state == WORKER_WORKING) /* while registering: as soon as that is done */
        stop_begin_drain(w);
}

int stop_is_wished(const struct muster_worker *w)
{
    return atomic_load(&w->stop_wish_ms) != NO_WISH;
}

int stop_new_events(struct muster_worker *w)
{
    atomic_init(&w->stop_wish_ms, NO_WISH);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake_fd < 0)
        return MUSTER_E_NOMEM;
    w->waker = event_new(w->base, w->wake_fd, EV_READ | EV_PERSIST, on_waker, w);
    w->drain_timer = evtimer_new(w->base, on_drain_timer, w);
    return w->waker && w->drain_timer && event_add(w->waker, NULL) == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}
