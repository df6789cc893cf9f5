/* SPDX-License-Identifier: MIT
 *
 * The listener's two connections. One is subscribed, and can do nothing else. Over the other the scripts are told that
 * somebody listens (listener_tell.c).
 *
 * A connection that hears nothing may be a quiet one, or dead, or at another server than the scripts. So it is asked for a
 * sign of life now and then, and the other one who hears its ear (pair.h).
 *
 * What was told counts only for the server that the hearing connection is at. When that breaks, the scripts are told
 * anew: Redis may have restarted without its data.
 *
 * A master that a Sentinel has replaced may go on for a while, with both connections. So a lookout asks the Sentinel.
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "async/async_claim.h"
#include "async/listener.h"
#include "base/clock.h"
#include "base/timer.h"
#include "protocol/events.h"
#include "protocol/script_queue.h"

#define TICK_MS 250
#define PING_MS 5000
#define DELAY_MAX_MS 1000

void listener_links_tell_soon(struct muster_listener *l)
{
    timer_after_ms(l->ticker, 0);
}

/* ---- ticks ---- */

/* Who hears the ear is asked then, too. */
static void ping(struct muster_listener *l)
{
    if (!link_is_up(l->hearing) || clock_ms() - l->pinged_ms < PING_MS)
        return;
    l->pinged_ms = clock_ms();
    link_ping(l->hearing);
    pair_ask(&l->pair);
}

static void on_ticker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_listener *l = arg;
    (void)fd, (void)what;
    listener_tell_stale(l);
    listener_tell_due(l);
    listener_ear_go_on(l);
    if (l->wishes.are_left)
        listener_wake(l);
    ping(l);
    timer_after_ms(l->ticker, TICK_MS);
}

/* ---- subscriptions ---- */

static void subscribe(struct muster_listener *l, const char *channel)
{
    if (link_subscribe(l->hearing, WIRE_CLASSIC, channel) == MUSTER_E_NOMEM)
        link_break(l->hearing, MUSTER_E_NOMEM, "out of memory");
}

static void unsubscribe(struct muster_listener *l, const char *channel)
{
    if (link_unsubscribe(l->hearing, channel) == MUSTER_E_NOMEM)
        link_break(l->hearing, MUSTER_E_NOMEM, "out of memory");
}

/* The events of all jobs have one channel, which is subscribed to as long as anybody hears jobs. */
static void subscribe_to_jobs(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    char channel[CHANNEL_MAX];
    key_events(channel, l->root.channels);
    if (ears->n_jobs > 0 && !ears->is_jobs_asked) {
        subscribe(l, channel);
        ears->is_jobs_asked = true;
    } else if (ears->n_jobs == 0 && ears->is_jobs_asked) {
        unsubscribe(l, channel);
        ears->is_jobs_asked = ears->is_jobs_subscribed = false;
        listener_tell_forget(&ears->jobs);
    }
}

static const int kind_of[EVENTS_OF_QUEUE] = {[MUSTER_QUEUE_DONE] = MUSTER_LISTEN_DONE,
                                             [MUSTER_QUEUE_CANCELLED] = MUSTER_LISTEN_CANCELLED,
                                             [MUSTER_QUEUE_DELETED] = MUSTER_LISTEN_DELETED};

void listener_links_subscribe(struct muster_listener *l, struct listener_ear *ear, int kinds_before)
{
    if (!link_is_up(l->hearing))
        return;
    for (int type = 0; type < EVENTS_OF_QUEUE && ear->queue; type++) {
        char channel[CHANNEL_MAX];
        const int was = kinds_before & kind_of[type], is = ear->kinds & kind_of[type];
        key_channel(channel, l->root.channels, ear->queue, events_what((enum muster_queue_event_type)type));
        if (is && !was) {
            subscribe(l, channel);
            ear->is_asked = true;
            ear->is_subscribed = false;
        } else if (was && !is) {
            unsubscribe(l, channel);
        }
    }
    subscribe_to_jobs(l);
}

/* ---- the hearing link ---- */

static void on_hearing_up(void *arg)
{
    struct muster_listener *l = arg;
    l->pinged_ms = clock_ms();
    if (pair_subscribe_ear(&l->pair, l->root_key) != MUSTER_OK)
        link_break(l->hearing, MUSTER_E_NOMEM, "out of memory");
    for (size_t i = 0; i < l->ears.n; i++)
        listener_links_subscribe(l, l->ears.all[i], 0);
}

/* Redis confirms in order: so whoever has asked by now is subscribed. */
static void on_subscribed(void *arg)
{
    struct muster_listener *l = arg;
    l->ears.is_jobs_subscribed = l->ears.is_jobs_asked;
    for (size_t i = 0; i < l->ears.n; i++)
        l->ears.all[i]->is_subscribed = l->ears.all[i]->is_asked;
    pair_subscribed(&l->pair, true);
    if (!l->pair.is_here)
        pair_ask(&l->pair);
    listener_ear_settle_all(l);
}

static void on_here(void *arg)
{
    listener_ear_settle_all(arg);
}

/* Whoever has heard nothing yet hears that a server cannot be reached, or refuses, only if all do: another one may
 * answer. */
static void miss(struct muster_listener *l, const struct link *link, struct listener_ear *ear, int err,
                 const char *text)
{
    bool is_told = err == MUSTER_E_BUSY || link_is_hopeless(link);
    if (ear->is_ready || ear->is_gap || is_told || link_has_tried_all(link))
        listener_ear_miss(l, ear, err, text);
}

static void on_hearing_down(void *arg, int err, const char *text)
{
    struct muster_listener *l = arg;
    l->ears.is_jobs_asked = l->ears.is_jobs_subscribed = false;
    pair_subscribed(&l->pair, false);
    listener_tell_forget(&l->ears.jobs);
    for (size_t i = 0; i < l->ears.n; i++) {
        l->ears.all[i]->is_asked = l->ears.all[i]->is_subscribed = false;
        listener_tell_forget(&l->ears.all[i]->told);
        miss(l, l->hearing, l->ears.all[i], err, text);
    }
    listener_links_tell_soon(l);
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    listener_hear(arg, channel, message);
}

/* ---- the telling link ---- */

static void on_claimed(const struct redisReply *reply, void *arg)
{
    struct muster_listener *l = arg;
    char why[CAUSE_WHY_MAX];
    if (!reply)
        return;
    int err = async_claim_hear(reply, l->prefix, why, sizeof why);
    l->is_claimed = err == MUSTER_OK;
    if (l->is_claimed)
        listener_links_tell_soon(l);
    else
        link_break(l->telling, err, why);
}

static void claim(struct muster_listener *l)
{
    struct command c = COMMAND_EMPTY;
    char key[KEY_MAX];
    async_claim_say(&c, key, l->prefix);
    if (link_call(l->telling, &c, on_claimed, l) != MUSTER_OK)
        link_break(l->telling, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
}

static void on_telling_up(void *arg)
{
    struct muster_listener *l = arg;
    link_follow(l->hearing, l->telling);
    pair_ask(&l->pair);
    l->is_claimed = link_is_format_known(l->telling);
    if (l->is_claimed)
        listener_links_tell_soon(l);
    else
        claim(l);
}

/* Who is ready stays it, for as long as the scripts remember. For all others what was told over this connection does not
 * count: the next one may lead to another server. */
static void on_telling_down(void *arg, int err, const char *text)
{
    struct muster_listener *l = arg;
    bool are_jobs_heard = false;
    l->is_claimed = false;
    for (size_t i = 0; i < l->ears.n; i++) {
        struct listener_ear *ear = l->ears.all[i];
        are_jobs_heard |= ear->is_ready && listener_ear_is_of_jobs(ear);
        if (ear->is_ready)
            continue;
        listener_tell_forget(&ear->told);
        miss(l, l->telling, ear, err, text);
    }
    if (!are_jobs_heard)
        listener_tell_forget(&l->ears.jobs);
}

/* ---- their life ---- */

int listener_links_init(struct muster_listener *l, const struct url *url)
{
    char format[KEY_MAX];
    key_root(l->root_key, l->prefix);
    key_of(format, l->prefix, KEY_FORMAT, "");
    struct link_options o = {.base = l->base,
                             .url = url,
                             .prefix = l->prefix,
                             .root_key = l->root_key,
                             .format_key = format,
                             .name = "hearing",
                             .delay_max_ms = DELAY_MAX_MS,
                             .silence_ms = l->timeout_ms,
                             .callbacks = {on_hearing_up, on_hearing_down, on_subscribed, on_message},
                             .arg = l};
    int err = link_new(&l->hearing, &o);
    o.name = "telling";
    o.callbacks = (struct link_callbacks){.up = on_telling_up, .down = on_telling_down};
    if (err == MUSTER_OK)
        err = link_new(&l->telling, &o);
    l->pair = (struct pair){.asks = l->telling, .hears = l->hearing, .here = on_here, .arg = l};
    if (err == MUSTER_OK)
        err = lookout_new(&l->lookout, l->base, url, (struct link *const[]){l->hearing, l->telling});
    l->ticker = evtimer_new(l->base, on_ticker, l);
    if (err != MUSTER_OK || !l->ticker || !timer_after_ms(l->ticker, TICK_MS))
        return MUSTER_E_NOMEM;
    link_connect(l->hearing);
    link_connect(l->telling);
    lookout_open(l->lookout);
    return MUSTER_OK;
}

void listener_links_clear(struct muster_listener *l)
{
    lookout_free(l->lookout);
    link_free(l->hearing);
    link_free(l->telling);
    if (l->ticker)
        event_free(l->ticker);
}
