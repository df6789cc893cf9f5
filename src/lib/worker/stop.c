/* SPDX-License-Identifier: MIT
 *
 * Stopping: a note that any thread or signal handler can leave, the drain, and the moment to leave. Deregistering is in
 * registration.c.
 */
#include "worker/stop.h"

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
/* So long a worker that holds nothing waits for a connection, to deregister. */
#define EMPTY_MAX_MS 3000

void stop_give_up(struct muster_worker *w, int err, const char *text)
{
    tell_why(w, err, "%s", text);
    muster_worker_stop(w, NO_WISH);
}

void stop_wake(struct muster_worker *w)
{
    const uint64_t one = 1;
    ssize_t written = write(w->stop.wake_fd, &one, sizeof one); /* it fails only if a note is there already */
    (void)written;
}

int muster_worker_stop(struct muster_worker *w, int drain_ms)
{
    long long wish = drain_ms < 0 ? w->drain_ms : drain_ms;
    long long old = atomic_load(&w->stop.wish_ms);
    while ((old == NO_WISH || wish < old) && !atomic_compare_exchange_weak(&w->stop.wish_ms, &old, wish))
        ;
    stop_wake(w);
    return MUSTER_OK;
}

/* The time to deregister does not run while a child is still ending. */
static bool children_are_gone(struct muster_worker *w)
{
    if (w->processes.n_children == 0 && w->stop.had_children && w->stop.drain_is_over) {
        w->stop.leave_before_ms = clock_in_ms(w->ttl_ms);
        timer_after_ms(w->stop.drain_timer, w->ttl_ms);
    }
    w->stop.had_children = w->processes.n_children > 0;
    return !w->stop.had_children;
}

/* Or has something to say yet, for its program. */
static bool holds_something(const struct muster_worker *w)
{
    return w->processes.n_known > 0 || w->processes.n_children > 0 || follow_is_open(w);
}

/* A Redis that is there and refuses is not told as one that is away. */
static void stop_too_late(struct muster_worker *w)
{
    int err;
    const char *why = tell_refusal(w, &err);
    if (!why || !connection_is_there(w)) {
        why = "no answer";
        err = MUSTER_E_CONN;
    }
    tell_why(w, err, "could not deregister in time; its peers %s: %.250s",
             holds_something(w) ? "give back what it held" : "forget it, and it held nothing", why);
    stop_at_once(w);
}

/*
 * Leave once nothing runs, all that was handed on is answered, and nothing is left to be said; Redis gives back the
 * rest. When the drain time is over, handlers that do not end are left running, but never a child process: its task must
 * not start elsewhere while it still runs here, and it has its grace. So each way to the end of a worker comes by here.
 */
static void check_drained(struct muster_worker *w)
{
    bool is_over = w->stop.drain_is_over;
    if (w->state == WORKER_STOPPED || !children_are_gone(w))
        return;
    if (w->stop.is_at_once) {
        worker_stopped(w);
    } else if (is_over && clock_ms() >= w->stop.leave_before_ms) {
        stop_too_late(w);
    } else if (w->state == WORKER_DRAINING && process_count(w, IS_HELD | IS_DUE | IS_SENT) == 0 &&
               w->turns.in_flight == 0 && !w->turns.must_state_hands &&
               ((process_count(w, IS_RUNNING) == 0 && !follow_is_open(w)) || is_over)) {
        worker_enter(w, WORKER_LEAVING);
    }
}

static bool has_child(const struct muster_process *p, const void *arg)
{
    (void)arg;
    return p->child != NULL;
}

void stop_at_once(struct muster_worker *w)
{
    if (w->stop.is_at_once || w->state == WORKER_STOPPED)
        return;
    w->stop.is_at_once = true;
    if (w->state == WORKER_WORKING)
        worker_enter(w, WORKER_DRAINING); /* nothing begins any more */
    if (w->processes.n_children > 0) {
        process_tell_running(w, MUSTER_STOP_LOST, has_child, NULL);
        if (!stop_is_wished(w)) /* one that has ended its process itself is told when the drain time is over */
            muster_worker_stop(w, NO_WISH);
    }
    check_drained(w);
}

/* After `drain_ms`, and so long for the way out. */
static void drain_for(struct muster_worker *w, int64_t drain_ms, int64_t leave_ms)
{
    int64_t leave_before = clock_in_ms(drain_ms + leave_ms);
    if (w->stop.leave_before_ms != 0 && leave_before >= w->stop.leave_before_ms)
        return;
    w->stop.leave_before_ms = leave_before;
    timer_after_ms(w->stop.drain_timer, drain_ms);
}

/* The drain time is for what it holds. Without a connection there is nothing to wait for but that one comes back. */
static void leave_empty(struct muster_worker *w)
{
    const bool waits_long = w->ttl_ms > EMPTY_MAX_MS && !connection_is_there(w);
    if (w->stop.leave_before_ms != 0 && !holds_something(w))
        drain_for(w, 0, waits_long ? EMPTY_MAX_MS : w->ttl_ms);
}

/* Option max_tasks: all were started, and have ended. An end that is under way, is to be sent again, or waits for what goes
 * before it, takes the time it needs, as in a burst. */
static bool is_max_reached(const struct muster_worker *w)
{
    return w->max_tasks > 0 && w->processes.n_begun >= w->max_tasks && w->state == WORKER_WORKING &&
           process_count(w, IS_RUNNING | IS_HELD | IS_DUE | IS_SENT) == 0;
}

void stop_check(struct muster_worker *w)
{
    if (!stop_is_wished(w) && (burst_is_over(w) || is_max_reached(w)))
        muster_worker_stop(w, NO_WISH);
    leave_empty(w);
    check_drained(w);
}

/* It fires when the drain time is over, and again when the time to deregister is over too. */
static void on_drain_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (!w->stop.drain_is_over) {
        trace_line(TRACE_STATE, "worker %s: drain time is over, %zu still running", w->id,
                   process_count(w, IS_RUNNING));
        w->stop.drain_is_over = true;
        process_tell_running(w, MUSTER_STOP_DRAIN, NULL, NULL);
    }
    int64_t left_ms = w->stop.leave_before_ms - clock_ms();
    if (left_ms > 0) /* also when this came a little early: the loop's clock is coarser */
        timer_after_ms(w->stop.drain_timer, left_ms);
    round_due(w);
}

void stop_begin_drain(struct muster_worker *w)
{
    worker_enter(w, WORKER_DRAINING);
    w->turns.must_state_hands = true;
    end_all_unstarted(w);
    round_due(w);
}

/* The note of muster_worker_stop() has reached the loop. */
static void on_waker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    uint64_t notes;
    (void)what;
    ssize_t got = read(fd, &notes, sizeof notes);
    own_thread_check(w);
    round_due(w); /* the round carries out what threads have posted */
    int64_t wish = atomic_load(&w->stop.wish_ms);
    if (got < 0 || wish == NO_WISH || w->state >= WORKER_LEAVING)
        return;
    drain_for(w, wish, w->ttl_ms);
    if (!registration_is_there(w) && !w->registration.starting)
        stop_at_once(w);
    else if (w->state == WORKER_WORKING) /* a worker that registers begins to drain as soon as it has */
        stop_begin_drain(w);
}

bool stop_is_wished(const struct muster_worker *w)
{
    return atomic_load(&w->stop.wish_ms) != NO_WISH;
}

int stop_new(struct muster_worker *w)
{
    atomic_init(&w->stop.wish_ms, NO_WISH);
    w->stop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->stop.wake_fd < 0)
        return MUSTER_E_NOMEM;
    w->stop.waker = event_new(w->base, w->stop.wake_fd, EV_READ | EV_PERSIST, on_waker, w);
    w->stop.drain_timer = evtimer_new(w->base, on_drain_timer, w);
    return w->stop.waker && w->stop.drain_timer && event_add(w->stop.waker, NULL) == 0 ? MUSTER_OK : MUSTER_E_NOMEM;
}

void stop_done(struct muster_worker *w)
{
    event_del(w->stop.drain_timer);
    event_del(w->stop.waker);
}

void stop_free(struct muster_worker *w)
{
    if (w->stop.waker)
        event_free(w->stop.waker);
    if (w->stop.drain_timer)
        event_free(w->stop.drain_timer);
    if (w->stop.wake_fd >= 0)
        close(w->stop.wake_fd);
}
