/* SPDX-License-Identifier: MIT
 *
 * The worker's two connections: a data link for calls, a subscription for messages.
 *
 * Connections come and go within one life of the id, without a change of the worker's state:
 *   - On each new data connection the first call is the read-back under a new connection number (`is_read_back` from
 *     then on), so that nothing which a dead connection still delivers can count. Then unanswered ends are sent again,
 *     and the worker takes.
 *   - On each confirmed subscription: a read-back, because hand-overs may have been missed; then the worker takes.
 *   - Both must be at the same server (pair.h): a replica passes on what its master publishes, hand-overs too that nobody
 *     heard there and that were undone. A heartbeat says how many heard its echo where it was published. Until somebody
 *     did, messages start nothing: they are reasons for a read-back.
 *   - A master that a Sentinel has replaced goes on for a while, and at the new one the worker has no heartbeat: its peers
 *     there would take it for dead. So a lookout asks the Sentinel.
 *   - Registration waits for the confirmed subscription: from its first moment on, hand-overs reach the worker.
 */
#include "worker/connection.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "protocol/keys.h"
#include "worker/worker.h"

/* The longest pause between attempts to connect: a sixth of the ttl, so that everybody is back in time after an
 * outage, but never so long that work would wait for it. */
#define DELAY_MAX_MS 1000
/* With an answer outstanding, a connection without a byte for this long is dead: a half-open one never says so. */
#define SILENCE_MIN_MS 500
#define SILENCE_MAX_MS 5000
/* Not shorter than the log's pause between two lines of a kind. */
#define DOWN_PAUSE_MS 10000
/* Before a reason that tells more. Both connections break in this time. */
#define DOWN_PAUSE_SHORT_MS 1000

static void tell_up(struct muster_worker *w)
{
    struct connection *c = &w->connection;
    bool was_told = c->data_down_told.err || c->subscription_down_told.err;
    if (was_told && link_is_up(c->data) && c->is_subscribed && !c->is_replica && c->pair.n_elsewhere == 0) {
        c->data_down_told = c->subscription_down_told = (struct down_told){.err = MUSTER_OK};
        tell_event(w, MUSTER_EVENT_UP, MUSTER_OK, NULL, NULL);
    }
}

void connection_accepted(struct muster_worker *w)
{
    w->connection.is_replica = false;
    tell_up(w);
}

bool connection_is_there(const struct muster_worker *w)
{
    return link_is_up(w->connection.data) || w->connection.is_replica;
}

/* Before the first registration a refusal is final: a wrong password does not mend itself. Whatever else a server says,
 * may pass, but for its version. */
static bool is_final(const struct muster_worker *w, const struct link *link)
{
    bool may_pass = link_cause(link)->err == MUSTER_E_REDIS && !link_is_too_old(link);
    return !w->was_started && link_is_hopeless(link) && !may_pass;
}

/* In one outage the reason is told again when another one is known, but not often. That nobody is there any more adds
 * nothing to a connection that has ended. */
static bool is_news(const struct down_told *told, const struct cause *cause, int64_t since_ms)
{
    if (told->err == MUSTER_OK)
        return true;
    bool is_other_why = cause->rank > CAUSE_NOBODY && strncmp(told->why, cause->why, sizeof told->why - 1) != 0;
    if (told->err == cause->err && !is_other_why)
        return false;
    return since_ms >= (cause->rank > told->rank ? DOWN_PAUSE_SHORT_MS : DOWN_PAUSE_MS);
}

static void tell_down(struct muster_worker *w, struct down_told *told, const struct cause *cause)
{
    struct connection *c = &w->connection;
    if (!is_news(told, cause, clock_ms() - c->down_told_at_ms))
        return;
    *told = (struct down_told){.err = cause->err, .rank = cause->rank};
    snprintf(told->why, sizeof told->why, "%.*s", (int)sizeof told->why - 1, cause->why);
    tell_event(w, MUSTER_EVENT_DOWN, cause->err, cause->text, NULL);
    c->down_told_at_ms = clock_ms();
}

/* DOWN says that the worker goes on trying. */
static void went_down(struct muster_worker *w, const struct link *link, struct down_told *told)
{
    const struct cause *cause = link_cause(link);
    if (w->state == WORKER_STOPPED || w->stop.is_at_once || w->is_free_due)
        return;
    bool is_over = is_final(w, link);
    if (!is_over && link_can_reconnect(link))
        tell_down(w, told, cause);
    tell_error(w, "%s", cause->text);
    if (!is_over && link_can_reconnect(link))
        return;
    tell_why(w, is_over ? cause->err : MUSTER_E_CONN, "%s", cause->text);
    stop_at_once(w);
}

static void on_data_down(void *arg, int err, const char *text)
{
    struct muster_worker *w = arg;
    w->connection.is_read_back = w->connection.pair.is_here = false;
    w->probe.knows_time = false; /* the next connection may lead to another server's clock */
    w->connection.is_replica = err == MUSTER_E_BUSY && strstr(text, LINK_READONLY);
    went_down(w, w->connection.data, &w->connection.data_down_told);
}

static void note_subscribed(struct muster_worker *w, bool is_subscribed)
{
    w->connection.is_subscribed = is_subscribed;
    pair_subscribed(&w->connection.pair, is_subscribed);
    figures_set(&w->figures.subscribed, is_subscribed);
}

static void on_subscription_down(void *arg, int err, const char *text)
{
    struct muster_worker *w = arg;
    (void)err, (void)text;
    note_subscribed(w, false);
    went_down(w, w->connection.subscription, &w->connection.subscription_down_told);
}

static void begin_connection(struct muster_worker *w)
{
    w->connection.is_read_back = false;
    w->caller.conn++;
    readback_ask(w);
}

void connection_out_of_step(struct muster_worker *w)
{
    if (w->connection.is_read_back)
        begin_connection(w);
}

bool connection_counted(struct muster_worker *w, unsigned subscription, uint64_t n)
{
    bool is_known = pair_counted(&w->connection.pair, subscription, n);
    tell_up(w);
    return is_known;
}

/* Connections that were handed in may differ; by a URL both are in its database. */
static bool is_one_database(struct muster_worker *w)
{
    int data = link_db(w->connection.data), subscription = link_db(w->connection.subscription);
    if (data == subscription)
        return true;
    tell_why(w, MUSTER_E_INVALID, "the data connection is in database %d, the subscription in %d", data, subscription);
    return false;
}

static void register_when_ready(struct muster_worker *w)
{
    if (w->state == WORKER_REGISTERING)
        registration_begin(w);
    else if (w->state == WORKER_CONNECTING && link_is_up(w->connection.data) && w->connection.is_subscribed) {
        if (is_one_database(w))
            worker_enter(w, WORKER_REGISTERING);
        else
            stop_at_once(w);
    }
}

static void on_data_up(void *arg)
{
    struct muster_worker *w = arg;
    figures_add(&w->figures.data_reconnects, w->connection.data_was_up);
    w->connection.data_was_up = true;
    key_channels(w->root.channels, w->prefix, link_db(w->connection.data));
    link_follow(w->connection.subscription, w->connection.data);
    tell_up(w);
    too_large_ask(w);
    if (registration_is_there(w))
        begin_connection(w);
    else
        register_when_ready(w);
}

static void on_subscription_up(void *arg)
{
    struct muster_worker *w = arg;
    figures_add(&w->figures.subscription_reconnects, w->connection.subscription_was_up);
    w->connection.subscription_was_up = true;
    key_channels(w->root.channels, w->prefix, link_db(w->connection.subscription));
    if (wake_subscribe(w) != MUSTER_OK)
        link_break(w->connection.subscription, MUSTER_E_NOMEM, "cannot subscribe");
}

/* Also after a further queue's channel was confirmed. */
static void on_subscribed(void *arg)
{
    struct muster_worker *w = arg;
    note_subscribed(w, true);
    tell_up(w);
    if (registration_is_there(w))
        readback_ask(w);
    else
        register_when_ready(w);
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    wake_message(arg, channel, message);
}

bool connection_can_call(const struct muster_worker *w)
{
    return registration_is_there(w) && w->connection.is_read_back && link_is_up(w->connection.data) &&
           !w->is_free_due && (w->state == WORKER_WORKING || w->state == WORKER_DRAINING);
}

/* What all of them have in common. */
static struct link_options options_for(struct muster_worker *w, const struct url *url, char root[KEY_MAX])
{
    const int silence = w->ttl_ms * 2 / 3;
    key_root(root, w->prefix);
    return (struct link_options){
        .base = w->base,
        .url = url,
        .prefix = w->prefix,
        .root_key = root,
        .delay_max_ms = w->ttl_ms / 6 < DELAY_MAX_MS ? w->ttl_ms / 6 : DELAY_MAX_MS,
        .sends_again = true,
        .silence_ms = silence < SILENCE_MIN_MS   ? SILENCE_MIN_MS
                      : silence > SILENCE_MAX_MS ? SILENCE_MAX_MS
                                                 : silence,
        .arg = w,
    };
}

int connection_branch(struct muster_worker *w, struct link **out, const char *name,
                      const struct link_callbacks *callbacks)
{
    char root[KEY_MAX];
    const struct url *url = link_url(w->connection.data);
    *out = NULL;
    if (!url)
        return MUSTER_E_STATE;
    struct link_options lo = options_for(w, url, root);
    lo.name = name;
    lo.callbacks = *callbacks;
    int err = link_new(out, &lo);
    if (err == MUSTER_OK)
        link_follow(*out, w->connection.data);
    return err;
}

int connection_new(struct muster_worker *w, const struct muster_worker_options *o, const struct url *url)
{
    char root[KEY_MAX];
    struct link_options lo = options_for(w, options_want_url(o) ? url : NULL, root);
    lo.handed_in = o->data;
    lo.name = "data";
    lo.callbacks = (struct link_callbacks){.up = on_data_up, .down = on_data_down};
    int err = link_new(&w->connection.data, &lo);
    if (err != MUSTER_OK)
        return err;
    lo.handed_in = o->subscription;
    lo.name = "subscription";
    lo.callbacks = (struct link_callbacks){on_subscription_up, on_subscription_down, on_subscribed, on_message};
    err = link_new(&w->connection.subscription, &lo);
    if (err != MUSTER_OK)
        link_forget_handed_in(w->connection.data);
    w->connection.pair = (struct pair){.asks = w->connection.data, .hears = w->connection.subscription};
    if (err != MUSTER_OK || o->data || o->subscription || !lo.url)
        return err;
    return lookout_new(&w->connection.lookout, w->base, url,
                       (struct link *const[]){w->connection.data, w->connection.subscription});
}

void connection_open(struct muster_worker *w)
{
    link_connect(w->connection.subscription);
    link_connect(w->connection.data);
    lookout_open(w->connection.lookout);
}

static void end_lookout(struct muster_worker *w)
{
    lookout_free(w->connection.lookout);
    w->connection.lookout = NULL;
}

void connection_close(struct muster_worker *w)
{
    end_lookout(w);
    link_close(w->connection.data);
    link_close(w->connection.subscription);
    figures_set(&w->figures.subscribed, 0);
}

void connection_free(struct muster_worker *w)
{
    end_lookout(w);
    link_free(w->connection.subscription);
    link_free(w->connection.data);
}
