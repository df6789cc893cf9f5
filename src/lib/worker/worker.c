/* SPDX-License-Identifier: MIT
 *
 * The worker's life: its states, and making, running and freeing it.
 *
 * Design notes
 *
 *   new -> connecting -> registering -> working -> draining -> leaving -> stopped
 *                            ^             |
 *                            +--- gone ----+
 *
 * A life of the id (an epoch) begins with `start` and ends with `stop`, or with E_GONE to any call. Connections come
 * and go within it (connection.c). No timer polls for work: the heartbeat puts right a worker that lost a message
 * (heartbeat.c). round.c says what happens in a round, and in which order.
 */
#include "worker/worker.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/owner.h"

static const char *const state_names[] = {
#define STATE_NAME(name, text) [name] = (text),
    WORKER_STATES(STATE_NAME)
#undef STATE_NAME
};

/* ---- states ---- */

static uint64_t held_still(const struct muster_worker *w)
{
    return w->processes.n_known - process_count(w, IS_DUE | IS_SENT);
}

int worker_capacity(const struct muster_worker *w)
{
    int capacity = w->hands + w->prefetch - (int)w->processes.n_disowned;
    uint64_t allowed = process_allowed(w);
    if (w->state != WORKER_WORKING || capacity <= 0 || resume_is_under_way(w))
        return 0;
    if ((suspect_keeps_hands(w) || lack_is_on(w)) && allowed > held_still(w))
        allowed = held_still(w); /* nothing more while one of them has to run alone, or no command can begin */
    return allowed < (uint64_t)capacity ? (int)allowed : capacity;
}

static void begin_working(struct muster_worker *w)
{
    w->was_started = true;
    tell_event(w, MUSTER_EVENT_STARTED, MUSTER_OK, NULL, NULL);
    stop_check(w); /* the last task that max_tasks allows may have ended while the worker was not registered */
    if (w->state != WORKER_WORKING)
        return; /* it was told to stop while it registered, and the time for that is over */
    if (stop_is_wished(w))
        stop_begin_drain(w);
    else
        serve_announce(w);
}

static void end_everything(struct muster_worker *w)
{
    heartbeat_stop(w);
    turn_stop(w);
    suspect_stop(w);
    wake_stop(w);
    stop_done(w);
    lack_stop(w);
    pulse_free(w);
    produce_close(w);
    connection_close(w);
}

/* All entry actions are here. */
void worker_enter(struct muster_worker *w, enum worker_state state)
{
    if (w->state == state)
        return;
    trace_line(TRACE_STATE, "worker %s: %s -> %s", w->id, state_names[w->state], state_names[state]);
    w->state = state;
    figures_set(&w->figures.stopping, state >= WORKER_DRAINING);
    switch (state) {
    case WORKER_CONNECTING:
        connection_open(w);
        break;
    case WORKER_REGISTERING:
        registration_begin(w);
        break;
    case WORKER_WORKING:
        begin_working(w);
        break;
    case WORKER_LEAVING:
        heartbeat_stop(w);
        registration_end(w);
        break;
    case WORKER_STOPPED:
        end_everything(w);
        break;
    case WORKER_NEW:
    case WORKER_DRAINING:
        break;
    }
}

void worker_stopped(struct muster_worker *w)
{
    if (w->state == WORKER_STOPPED)
        return;
    worker_enter(w, WORKER_STOPPED);
    output_stop(w);
    dispatch_call_off(w);
    calls_close(w);
    posted_take(w);
    end_tell_rest(w);
    tell_stopped(w);
    if (w->owns_base)
        event_base_loopbreak(w->base);
}

/* ---- making and freeing ---- */

void worker_free_now(struct muster_worker *w)
{
    w->state = WORKER_STOPPED; /* for those whose outstanding calls are answered NULL now */
    calls_close(w);
    executor_threads_free(w);
    produce_free(w);
    connection_free(w);
    process_free_table(w);
    output_free_all(w);
    posted_free(w);
    marks_free(w);
    serve_free(w);
    heartbeat_free(w);
    fence_free(w);
    lifeline_free(w);
    timer_keeper_free(w);
    wake_free(w);
    turn_free(w);
    suspect_free(w);
    round_free(w);
    stop_free(w);
    lack_free(w);
    pulse_free(w);
    outbox_free(w);
    calls_free(w);
    tell_free(w);
    if (w->reaper)
        event_free(w->reaper);
    if (w->owns_base && w->base) {
        event_base_loop(w->base, EVLOOP_NONBLOCK); /* for what the resolver has deferred */
        event_base_free(w->base);
    }
    free(w);
}

static void on_reaper(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (w->is_running_loop)
        event_base_loopbreak(w->base); /* muster_worker_run() frees it: a loop cannot free itself */
    else
        worker_free_now(w);
}

/* Its own timers and those of its links; of each hand a time limit, a command's grace, and what that prints. */
#define TIMERS_OWN 64
#define TIMERS_OF_A_HAND 4

static int new_parts(struct muster_worker *w)
{
    static int (*const parts[])(struct muster_worker *) = {
        outbox_new, stop_new,  heartbeat_new,     fence_new,       lifeline_new, timer_keeper_new, wake_new,
        turn_new,   round_new, process_new_table, output_new_list, posted_new,   suspect_new,      executor_threads_new,
        lack_new};
    int err = loop_keep_room(w->base, TIMERS_OWN + TIMERS_OF_A_HAND * (size_t)w->hands);
    w->reaper = event_new(w->base, -1, 0, on_reaper, w);
    if (!w->reaper)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; err == MUSTER_OK && i < sizeof parts / sizeof *parts; i++)
        err = parts[i](w);
    return err;
}

static int init(struct muster_worker *w, const struct muster_worker_options *o, const struct url *url)
{
    options_set(w, o, url->db);
    w->caller.worker = w->id;
    w->stop.wake_fd = -1;
    tell_new(w);
    calls_new(w);
    w->owns_base = o->base == NULL;
    w->base = o->base ? o->base : loop_new();
    int err = w->base ? produce_new(w, url) : MUSTER_E_NOMEM;
    if (err == MUSTER_OK)
        err = new_parts(w);
    return err == MUSTER_OK ? connection_new(w, o, url) : err;
}

int muster_worker_new(struct muster_worker **out, const struct muster_worker_options *options)
{
    struct muster_worker_options o;
    struct url url;
    *out = NULL;
    if (sized_read(SIZED_WORKER_OPTIONS, &o, options) || options_check(&o))
        return MUSTER_E_INVALID;
    int err = options_make_url(&url, &o);
    if (err != MUSTER_OK)
        return err;
    struct muster_worker *w = calloc(1, sizeof *w);
    if (w)
        w->owner = owner_this();
    err = w ? init(w, &o, &url) : MUSTER_E_NOMEM;
    url_clear(&url);
    if (err != MUSTER_OK) {
        muster_worker_free(w);
        return err;
    }
    *out = w;
    return MUSTER_OK;
}

bool worker_is_own(const struct muster_worker *w)
{
    return w->owner == owner_this();
}

void muster_worker_free(struct muster_worker *w)
{
    if (!w || !worker_is_own(w))
        return;
    own_thread_end(w);
    bool is_on_stack = w->tell.depth > 0 || w->is_running_loop;
    bool was_due = w->is_free_due;
    w->is_free_due = true;
    if (!is_on_stack)
        worker_free_now(w);
    else if (!was_due && w->tell.depth == 0)
        event_active(w->reaper, EV_TIMEOUT, 1);
}

/* ---- what the program calls ---- */

int muster_worker_start(struct muster_worker *w)
{
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    if (w->own_thread.is_wanted)
        return own_thread_start(w);
    if (w->state != WORKER_NEW)
        return tell_error_as(w, MUSTER_E_STATE, "the worker was started before");
    worker_enter(w, WORKER_CONNECTING);
    return MUSTER_OK;
}

void worker_loop(struct muster_worker *w)
{
    w->is_running_loop = true;
    while (w->state != WORKER_STOPPED && !w->is_free_due)
        if (event_base_loop(w->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            break;
    if (w->state == WORKER_STOPPED && !w->is_free_due) /* its connections are dropped: what had no answer is told so */
        event_base_loop(w->base, EVLOOP_NONBLOCK);
    w->is_running_loop = false;
}

/* Why this call cannot run the loop; NULL: it can. */
static const char *find_other_loop(const struct muster_worker *w)
{
    if (w->own_thread.is_wanted)
        return "with own_thread a thread of the library runs the loop";
    if (!w->owns_base)
        return "the worker lives on the loop of the option `base`, which the program runs";
    if (w->state == WORKER_NEW)
        return "muster_worker_start() comes before muster_worker_run()";
    return w->is_running_loop ? "the loop runs already" : NULL;
}

int muster_worker_run(struct muster_worker *w)
{
    if (!worker_is_own(w))
        return MUSTER_E_STATE;
    const char *why = find_other_loop(w);
    if (why)
        return tell_error_as(w, MUSTER_E_STATE, "%s", why);
    worker_loop(w);
    int result = w->result;
    if (w->is_free_due)
        worker_free_now(w);
    return result;
}

const char *muster_worker_id(const struct muster_worker *w)
{
    return w->id;
}
