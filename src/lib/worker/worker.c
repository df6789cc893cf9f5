/* SPDX-License-Identifier: MIT
 *
 * The worker's life: its states, its two connections, serving, and stopping. What it says to Redis in between is in
 * heartbeat.c, wake.c and turn.c; what it does with tasks in process.c.
 *
 * Design notes
 *
 *   new -> connecting -> registering -> working -> draining -> leaving -> stopped
 *                            ^             |
 *                            +--- gone ----+
 *
 * A life of the id (an epoch) begins with `start` and ends with `stop`, or with E_GONE to any call. Connections come
 * and go within it without a change of state:
 *   - On each new data connection the first call is the read-back under a new connection number (`synced` from then
 *     on), so that nothing a dead connection still delivers can count. Then what ended is sent again, and a take.
 *   - On each confirmed subscription: a read-back, for hand-overs may have been missed, and a take.
 *   - Registration waits for the confirmed subscription: from its first moment on, hand-overs reach the worker.
 * No timer polls for work. Whoever loses a message is put right by the heartbeat (heartbeat.c).
 */
#include "worker/worker.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define TTL_MAX_MS (24 * 3600 * 1000)
#define LIMIT_MAX_MS ((int64_t)365 * TTL_MAX_MS)
/* The longest pause between attempts to connect: a sixth of the ttl, so that everybody is back in time after an
 * outage, and never so long that work would wait for it. */
#define DELAY_MAX_MS 1000
/* With an answer outstanding, so long without a byte is a dead connection: half-open ones never say so. */
#define SILENCE_MIN_MS 500
#define SILENCE_MAX_MS 5000

static const char *const state_names[] = {
#define STATE_NAME(name, text) [name] = (text),
    WORKER_STATES(STATE_NAME)
#undef STATE_NAME
};

/* ---- telling the program ---- */

void worker_enter_callback(struct muster_worker *w)
{
    w->depth++;
}

void worker_leave_callback(struct muster_worker *w)
{
    if (--w->depth == 0 && w->free_due)
        event_active(w->reaper, EV_TIMEOUT, 1);
}

static void tell(struct muster_worker *w, const struct muster_event *e)
{
    if (!w->on_event || w->free_due)
        return;
    worker_enter_callback(w);
    w->on_event(w, e, w->arg);
    worker_leave_callback(w);
}

void worker_tell(struct muster_worker *w, enum muster_event_type type, int err, const char *text,
                 struct muster_process *process)
{
    if (text && text != w->error && err != MUSTER_OK)
        snprintf(w->error, sizeof w->error, "%s", text);
    tell(w, &(struct muster_event){.type = type, .err = err, .text = text ? text : "", .process = process});
}

void worker_tell_of(struct muster_worker *w, enum muster_event_type type, const char *queue, struct muster_bytes task)
{
    tell(w, &(struct muster_event){.type = type, .text = "", .queue = queue, .task = task.data, .len = task.len});
}

static const char *const saying_names[] = {
#define SAYING_NAME(name, text) [name] = (text),
    SAYINGS(SAYING_NAME)
#undef SAYING_NAME
};

void worker_refused(struct muster_worker *w, enum saying what, int err, const char *text)
{
    char line[400];
    if (w->refused_told & 1u << what)
        return;
    w->refused_told |= 1u << what;
    snprintf(line, sizeof line, "%s was refused: %s", saying_names[what], text ? text : muster_err_text(err));
    worker_tell(w, MUSTER_EVENT_REFUSED, err, line, NULL);
}

void worker_accepted(struct muster_worker *w, enum saying what)
{
    w->refused_told &= ~(1u << what);
}

void worker_damaged(struct muster_worker *w, const char *key)
{
    char line[KEY_MAX + 80];
    if (!key || w->damaged_told) {
        w->damaged_told &= key != NULL;
        return;
    }
    w->damaged_told = 1;
    snprintf(line, sizeof line, "the key '%s' has a wrong type; its queue or worker is passed over", key);
    worker_tell(w, MUSTER_EVENT_REFUSED, MUSTER_E_REDIS, line, NULL);
}

/* ---- states ---- */

int worker_is_registered(const struct muster_worker *w)
{
    return w->who.epoch[0] != '\0';
}

int worker_can_call(const struct muster_worker *w)
{
    return worker_is_registered(w) && w->synced && link_is_up(w->data) && !w->free_due &&
           (w->state == WORKER_WORKING || w->state == WORKER_DRAINING);
}

int worker_capacity(const struct muster_worker *w)
{
    int capacity = w->hands + w->prefetch - (int)w->foreign;
    uint64_t allowed = process_allowed(w);
    if (w->state != WORKER_WORKING || capacity <= 0)
        return 0;
    return allowed < (uint64_t)capacity ? (int)allowed : capacity;
}

/* All entry actions are here. */
void worker_enter(struct muster_worker *w, enum worker_state state)
{
    if (w->state == state)
        return;
    trace_line(TRACE_STATE, "worker %s: %s -> %s", w->id, state_names[w->state], state_names[state]);
    w->state = state;
    switch (state) {
    case WORKER_CONNECTING:
        link_connect(w->subscription);
        link_connect(w->data);
        break;
    case WORKER_REGISTERING:
        heartbeat_register(w);
        break;
    case WORKER_WORKING:
        w->was_started = 1;
        worker_tell(w, MUSTER_EVENT_STARTED, MUSTER_OK, NULL, NULL);
        stop_check_max(w); /* the last one may have ended while it was not registered */
        if (stop_is_wished(w))
            stop_begin_drain(w);
        else
            serve_announce(w);
        break;
    case WORKER_LEAVING:
        heartbeat_stop(w);
        heartbeat_leave(w);
        break;
    case WORKER_STOPPED:
        heartbeat_stop(w);
        turn_forget(w);
        event_del(w->work_timer);
        event_del(w->drain_timer);
        event_del(w->waker);
        link_close(w->data);
        link_close(w->subscription);
        break;
    case WORKER_NEW:
    case WORKER_DRAINING:
        break;
    }
}

void worker_stopped(struct muster_worker *w, int err)
{
    if (w->state == WORKER_STOPPED)
        return;
    w->result = err;
    worker_enter(w, WORKER_STOPPED);
    worker_tell(w, MUSTER_EVENT_STOPPED, err, err == MUSTER_OK ? NULL : w->error, NULL);
    if (w->own_base)
        event_base_loopbreak(w->base);
}

/* ---- connections ---- */

static void tell_up(struct muster_worker *w)
{
    if ((w->data_down || w->subscription_down) && link_is_up(w->data) && w->subscribed) {
        w->data_down = w->subscription_down = 0;
        worker_tell(w, MUSTER_EVENT_UP, MUSTER_OK, NULL, NULL);
    }
}

/* Before the first registration a refusal is final: a wrong password does not mend itself. */
static int is_final(const struct muster_worker *w, int err)
{
    return !w->was_started && (err == MUSTER_E_DENIED || err == MUSTER_E_FORMAT || err == MUSTER_E_EXISTS);
}

static void went_down(struct muster_worker *w, const struct link *link, int *told, int err, const char *text)
{
    if (w->state == WORKER_STOPPED || w->free_due)
        return;
    if (!*told) {
        *told = 1;
        worker_tell(w, MUSTER_EVENT_DOWN, err, text, NULL);
    }
    snprintf(w->error, sizeof w->error, "%s", text);
    if (is_final(w, err))
        worker_stopped(w, err);
    else if (!link_can_reconnect(link))
        worker_stopped(w, MUSTER_E_CONN);
}

static void on_data_down(void *arg, int err, const char *text)
{
    struct muster_worker *w = arg;
    w->synced = 0;
    went_down(w, w->data, &w->data_down, err, text);
}

static void on_subscription_down(void *arg, int err, const char *text)
{
    struct muster_worker *w = arg;
    w->subscribed = 0;
    went_down(w, w->subscription, &w->subscription_down, err, text);
}

static void begin_connection(struct muster_worker *w)
{
    w->synced = 0;
    w->who.conn++;
    wake_read_back(w);
}

void worker_out_of_step(struct muster_worker *w)
{
    if (w->synced)
        begin_connection(w);
}

static void on_data_up(void *arg)
{
    struct muster_worker *w = arg;
    tell_up(w);
    if (worker_is_registered(w)) {
        begin_connection(w);
    } else if (w->state == WORKER_REGISTERING) {
        heartbeat_register(w);
    } else if (w->state == WORKER_CONNECTING && w->subscribed) {
        worker_enter(w, WORKER_REGISTERING);
    }
}

static void on_subscription_up(void *arg)
{
    struct muster_worker *w = arg;
    if (wake_subscribe(w) != MUSTER_OK)
        link_break(w->subscription, MUSTER_E_NOMEM, "cannot subscribe");
}

/* Also after a further queue's channel was confirmed. */
static void on_subscribed(void *arg)
{
    struct muster_worker *w = arg;
    w->subscribed = 1;
    tell_up(w);
    if (worker_is_registered(w))
        wake_read_back(w);
    else if (w->state == WORKER_REGISTERING)
        heartbeat_register(w);
    else if (w->state == WORKER_CONNECTING && link_is_up(w->data))
        worker_enter(w, WORKER_REGISTERING);
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    wake_message(arg, channel, message);
}

/* ---- life ---- */

static void on_reaper(evutil_socket_t fd, short what, void *arg);

static int new_events(struct muster_worker *w)
{
    w->reaper = event_new(w->base, -1, 0, on_reaper, w);
    if (!w->reaper || stop_new_events(w) || heartbeat_new_events(w) || timer_keeper_new_events(w) ||
        wake_new_events(w) || turn_new_events(w))
        return MUSTER_E_NOMEM;
    int err = process_new_table(w);
    return err == MUSTER_OK ? pool_new(w, w->threads) : err;
}

static int new_links(struct muster_worker *w, const struct muster_worker_options *o, const struct url *url)
{
    int silence = w->ttl_ms * 2 / 3;
    struct link_options lo = {
        .base = w->base,
        .url = o->data && !o->url ? NULL : url,
        .given = o->data,
        .name = "data",
        .delay_max_ms = w->ttl_ms / 6 < DELAY_MAX_MS ? w->ttl_ms / 6 : DELAY_MAX_MS,
        .silence_ms = silence < SILENCE_MIN_MS   ? SILENCE_MIN_MS
                      : silence > SILENCE_MAX_MS ? SILENCE_MAX_MS
                                                 : silence,
        .callbacks = {.up = on_data_up, .down = on_data_down},
        .arg = w,
    };
    int err = link_new(&w->data, &lo);
    if (err != MUSTER_OK)
        return err;
    lo.given = o->subscription;
    lo.name = "subscription";
    lo.callbacks = (struct link_callbacks){on_subscription_up, on_subscription_down, on_subscribed, on_message};
    err = link_new(&w->subscription, &lo);
    if (err != MUSTER_OK)
        link_forget_given(w->data);
    return err;
}

/* host-pid-random, in the alphabet of ids. */
static void make_id(char out[MUSTER_WORKER_ID_MAX + 1])
{
    char host[40] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        snprintf(host, sizeof host, "host");
    for (char *c = host; *c; c++) {
        const char one[2] = {*c, '\0'};
        if (muster_worker_id_check(one) && *c != '.')
            *c = '-';
    }
    if (host[0] == '.')
        host[0] = '-';
    snprintf(out, MUSTER_WORKER_ID_MAX + 1, "%s-%ld-%08x", host, (long)getpid(), arc4random());
}

static int options_are_wrong(const struct muster_worker_options *o)
{
    if ((o->prefix && muster_prefix_check(o->prefix)) || (o->id && muster_worker_id_check(o->id)))
        return 1;
    if (!o->data != !o->subscription || (o->data && o->data == o->subscription))
        return 1;
    if (o->data && (!link_can_take(o->data) || !link_can_take(o->subscription)))
        return 1;
    if (o->ttl_ms != 0 && (o->ttl_ms < MUSTER_TTL_MIN_MS || o->ttl_ms > TTL_MAX_MS))
        return 1;
    if (o->hands < 0 || o->prefetch < 0 || o->drain_ms < 0 || o->threads < 0)
        return 1;
    if (o->threads > 0 && o->hands > o->threads)
        return 1;
    if (o->limit_ms < 0 || o->limit_ms > LIMIT_MAX_MS || o->on_limit >= MUSTER_LATER)
        return 1;
    int hands = o->hands ? o->hands : o->threads ? o->threads : 1;
    return hands > MUSTER_HANDS_MAX || o->prefetch > MUSTER_HANDS_MAX - hands;
}

static void set_options(struct muster_worker *w, const struct muster_worker_options *o)
{
    snprintf(w->prefix, sizeof w->prefix, "%s", o->prefix ? o->prefix : "muster");
    script_root_init(&w->root, w->prefix);
    if (o->id)
        snprintf(w->id, sizeof w->id, "%s", o->id);
    else
        make_id(w->id);
    w->who.worker = w->id;
    w->ttl_ms = o->ttl_ms ? o->ttl_ms : MUSTER_TTL_DEFAULT_MS;
    w->threads = o->threads;
    w->hands = o->hands ? o->hands : o->threads ? o->threads : 1;
    w->prefetch = o->prefetch;
    w->permanent = o->permanent != 0;
    w->resume = o->resume != 0;
    w->drain_ms = o->drain_ms ? o->drain_ms : MUSTER_DRAIN_DEFAULT_MS;
    w->burst = o->burst != 0;
    w->in_turn = o->in_turn != 0;
    w->max_tasks = o->max_tasks;
    w->limit_ms = o->limit_ms;
    w->on_limit = o->on_limit == MUSTER_FINISH ? MUSTER_FAIL : o->on_limit;
    w->on_event = o->on_event;
    w->arg = o->arg;
}

int muster_worker_new(struct muster_worker **out, const struct muster_worker_options *options)
{
    struct muster_worker_options o = {0};
    struct url url;
    const char *why;
    *out = NULL;
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    int err = options_are_wrong(&o) ? MUSTER_E_INVALID : url_parse(&url, o.url, &why);
    if (err != MUSTER_OK)
        return err;
    struct muster_worker *w = calloc(1, sizeof *w);
    err = w ? MUSTER_OK : MUSTER_E_NOMEM;
    if (w) {
        set_options(w, &o);
        w->loop_thread = pthread_self(); /* until a callback of the loop shows another one */
        w->wake_fd = -1;
        w->own_base = o.base == NULL;
        w->base = o.base ? o.base : event_base_new();
        err = w->base ? new_events(w) : MUSTER_E_NOMEM;
        if (err == MUSTER_OK)
            err = new_links(w, &o, &url);
    }
    url_clear(&url);
    if (err != MUSTER_OK) {
        muster_worker_free(w);
        return err;
    }
    *out = w;
    return MUSTER_OK;
}

/* The pool waits for them. */
static void tell_threads_to_stop(struct muster_worker *w)
{
    struct muster_process *p;
    if (!w->buckets || w->threads == 0)
        return;
    TAILQ_FOREACH(p, &w->lists[PROCESS_RUNNING], in_list) {
        int go_on = MUSTER_GO_ON;
        atomic_compare_exchange_strong(&p->stop_reason, &go_on, MUSTER_STOP_LOST);
    }
}

static void free_now(struct muster_worker *w)
{
    struct event **events[] = {&w->beat_timer,  &w->fence_timer, &w->due_timer,   &w->work_timer, &w->turner,
                               &w->retry_timer, &w->dispatcher,  &w->drain_timer, &w->waker,      &w->reaper};
    w->state = WORKER_STOPPED; /* for those whose outstanding calls are answered NULL now */
    tell_threads_to_stop(w);
    pool_free(w);
    link_free(w->subscription);
    link_free(w->data);
    process_free_table(w);
    marks_free(w);
    for (size_t i = 0; i < w->n_served; i++) {
        if (w->served[i]->executor && w->served[i]->executor->clear)
            w->served[i]->executor->clear(w->served[i]);
        free(w->served[i]);
    }
    free(w->served);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (*events[i])
            event_free(*events[i]);
    if (w->own_base && w->base) {
        event_base_loop(w->base, EVLOOP_NONBLOCK); /* for what the resolver has deferred */
        event_base_free(w->base);
    }
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    free(w);
}

static void on_reaper(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    (void)fd, (void)what;
    if (w->running_loop)
        event_base_loopbreak(w->base); /* muster_worker_run() frees it: a loop cannot free itself */
    else
        free_now(w);
}

void muster_worker_free(struct muster_worker *w)
{
    if (!w)
        return;
    if (w->depth == 0 && !w->running_loop) {
        w->free_due = 1;
        free_now(w);
    } else if (!w->free_due) {
        w->free_due = 1;
        if (w->depth == 0)
            event_active(w->reaper, EV_TIMEOUT, 1);
    }
}

int muster_worker_start(struct muster_worker *w)
{
    if (w->state != WORKER_NEW)
        return MUSTER_E_STATE;
    worker_enter(w, WORKER_CONNECTING);
    return MUSTER_OK;
}

int muster_worker_run(struct muster_worker *w)
{
    if (!w->own_base || w->state == WORKER_NEW || w->running_loop)
        return MUSTER_E_STATE;
    w->running_loop = 1;
    while (w->state != WORKER_STOPPED && !w->free_due)
        if (event_base_loop(w->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            break;
    w->running_loop = 0;
    int result = w->result;
    if (w->free_due)
        free_now(w);
    return result;
}

const char *muster_worker_id(const struct muster_worker *w)
{
    return w->id;
}

const char *muster_worker_error(const struct muster_worker *w)
{
    return w->error;
}
