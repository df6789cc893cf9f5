/* SPDX-License-Identifier: MIT
 *
 * The listener's two connections. One is subscribed, and can do nothing else. Over the other the scripts are told again
 * and again that somebody listens: they forget it after ten seconds.
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

/* The scripts are told so often; and they cannot be relied on to remember for longer than FRESH_MS. */
#define TELL_MS 3000
#define FRESH_MS 9000
/* At most so many scripts are under way. */
#define UNDER_WAY_MAX 32
#define TICK_MS 250
#define PING_MS 5000
#define DELAY_MAX_MS 1000

/* ---- telling the scripts ---- */

/* A script under way. The ear may be gone, or another one, when it is answered. */
struct telling {
    struct muster_listener *listener;
    int64_t sent_ms;
    char queue[MUSTER_QUEUE_MAX + 1]; /* "": of jobs */
};

static struct listener_told *told_of(struct telling *t)
{
    struct muster_listener *l = t->listener;
    struct listener_ear *ear = *t->queue ? listener_ear_find(l, t->queue, strlen(t->queue)) : NULL;
    return !*t->queue ? &l->ears.jobs : ear ? &ear->told : NULL;
}

/* Those that are told of by this. */
static bool is_about(const struct telling *t, const struct listener_ear *ear)
{
    if (!*t->queue)
        return listener_ear_is_of_jobs(ear);
    return ear->queue && listener_ear_is_of_queue(ear) && strcmp(ear->queue, t->queue) == 0;
}

static void refused(struct telling *t, int err, const struct redisReply *reply)
{
    struct muster_listener *l = t->listener;
    char why[512];
    snprintf(why, sizeof why, "%s", muster_err_text(err));
    if (reply_kind(reply) == REPLY_ERROR)
        reply_refusal_words(why, sizeof why, reply_text(reply));
    for (size_t i = 0; i < l->ears.n; i++)
        if (is_about(t, l->ears.all[i]) && !l->ears.all[i]->is_ready)
            listener_ear_miss(l, l->ears.all[i], err, why);
}

/* Of whom nobody listens to any more the scripts are not told again: what they were told then says nothing later. */
static bool is_wanted(const struct telling *t)
{
    const struct listener_ears *ears = &t->listener->ears;
    bool is = false;
    for (size_t i = 0; i < ears->n; i++)
        is |= is_about(t, ears->all[i]);
    return is;
}

void listener_links_forget(struct listener_told *told)
{
    told->at_ms = told->try_ms = 0;
}

static void on_told(const struct redisReply *reply, void *arg)
{
    struct telling *t = arg;
    struct muster_listener *l = t->listener;
    struct listener_told *told = told_of(t);
    const int err = reply ? reply_status(reply) : MUSTER_E_CONN;
    l->n_telling--;
    if (told)
        told->is_under_way = false;
    if (told && !is_wanted(t)) {
        listener_links_forget(told);
    } else if (told && err == MUSTER_OK) {
        told->at_ms = t->sent_ms;
        for (size_t i = 0; i < l->ears.n; i++)
            if (is_about(t, l->ears.all[i]))
                listener_ear_settle(l, l->ears.all[i]);
    } else if (told && reply) {
        refused(t, err, reply);
    } else if (told) {
        told->try_ms = 0;
    }
    free(t);
    listener_links_tell_soon(l);
}

static int tell(struct muster_listener *l, struct listener_told *told, const char *queue)
{
    struct telling *t = malloc(sizeof *t);
    struct command c = COMMAND_EMPTY;
    if (!t)
        return MUSTER_E_NOMEM;
    *t = (struct telling){.listener = l, .sent_ms = clock_ms()};
    snprintf(t->queue, sizeof t->queue, "%s", queue);
    script_queue_call(&c, SCRIPT_LISTEN, &l->root, queue);
    int err = link_script(l->telling, &c, on_told, t);
    command_clear(&c);
    if (err != MUSTER_OK) {
        free(t);
        return err;
    }
    told->is_under_way = true;
    told->try_ms = t->sent_ms + TELL_MS;
    l->n_telling++;
    return MUSTER_OK;
}

static bool is_due(const struct muster_listener *l, const struct listener_told *told)
{
    return !told->is_under_way && clock_ms() >= told->try_ms && l->n_telling < UNDER_WAY_MAX;
}

static void tell_all_due(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    int err = link_is_up(l->telling) && l->is_claimed ? MUSTER_OK : MUSTER_E_CONN;
    if (err == MUSTER_OK && ears->n_jobs > 0 && is_due(l, &ears->jobs))
        err = tell(l, &ears->jobs, "");
    for (size_t i = 0; i < ears->n && err == MUSTER_OK; i++)
        if (listener_ear_is_of_queue(ears->all[i]) && is_due(l, &ears->all[i]->told))
            err = tell(l, &ears->all[i]->told, ears->all[i]->queue);
}

void listener_links_tell_soon(struct muster_listener *l)
{
    timer_after_ms(l->ticker, 0);
}

/* ---- ticks ---- */

static bool has_gone_stale(struct listener_told *told)
{
    bool is_stale = told->at_ms > 0 && clock_ms() - told->at_ms > FRESH_MS;
    if (is_stale)
        told->at_ms = 0;
    return is_stale;
}

static void note_stale(struct muster_listener *l)
{
    struct listener_ears *ears = &l->ears;
    const struct cause *cause = link_cause(l->telling);
    const int err = cause->err != MUSTER_OK ? cause->err : MUSTER_E_TIMEOUT;
    const char *why = *cause->text ? cause->text : "the scripts could not be told in time that somebody listens";
    bool are_jobs_stale = ears->n_jobs > 0 && has_gone_stale(&ears->jobs);
    for (size_t i = 0; i < ears->n; i++) {
        struct listener_ear *ear = ears->all[i];
        bool is_stale = listener_ear_is_of_queue(ear) && has_gone_stale(&ear->told);
        if (is_stale || (are_jobs_stale && listener_ear_is_of_jobs(ear)))
            listener_ear_miss(l, ear, err, why);
    }
}

static void ignore_reply(const struct redisReply *reply, void *arg)
{
    (void)reply, (void)arg;
}

/* If no answer comes, the link breaks. Who hears the ear is asked then, too. */
static void ping(struct muster_listener *l)
{
    struct command c = COMMAND_EMPTY;
    if (!link_is_up(l->hearing) || clock_ms() - l->pinged_ms < PING_MS)
        return;
    l->pinged_ms = clock_ms();
    command_text(&c, "PING");
    if (link_call(l->hearing, &c, ignore_reply, NULL) != MUSTER_OK)
        link_break(l->hearing, MUSTER_E_NOMEM, "out of memory");
    command_clear(&c);
    pair_ask(&l->pair);
}

static void on_ticker(evutil_socket_t fd, short what, void *arg)
{
    struct muster_listener *l = arg;
    (void)fd, (void)what;
    note_stale(l);
    tell_all_due(l);
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
        listener_links_forget(&ears->jobs);
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
    listener_links_forget(&l->ears.jobs);
    for (size_t i = 0; i < l->ears.n; i++) {
        l->ears.all[i]->is_asked = l->ears.all[i]->is_subscribed = false;
        listener_links_forget(&l->ears.all[i]->told);
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

/* Who is ready stays it, for as long as the scripts remember. */
static void on_telling_down(void *arg, int err, const char *text)
{
    struct muster_listener *l = arg;
    l->is_claimed = false;
    for (size_t i = 0; i < l->ears.n; i++)
        if (!l->ears.all[i]->is_ready)
            miss(l, l->telling, l->ears.all[i], err, text);
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
