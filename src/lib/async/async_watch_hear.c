/* SPDX-License-Identifier: MIT
 *
 * The hearing link of takes that wait: subscriptions, and whom a message calls.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "async/async_watch_private.h"
#include "base/timer.h"
#include "protocol/keys.h"
#include "protocol/take_name.h"
#include "protocol/waiting_times.h"

#define PING_MS 5000
#define DELAY_MAX_MS 1000

void async_watch_subscribe(struct async_watch *w)
{
    char channel[CHANNEL_MAX];
    struct link *link = w->async->watches.link;
    key_channel(channel, w->async->root.channels, w->queue, CHANNEL_WORK);
    if (w->is_asked || !link_is_up(link))
        return;
    if (link_subscribe(link, WIRE_CLASSIC, channel) != MUSTER_OK)
        link_break(link, MUSTER_E_NOMEM, "out of memory");
    w->is_asked = true;
}

/* ---- the hearing link ---- */

static void on_up(void *arg)
{
    struct muster_async *a = arg;
    char root[KEY_MAX];
    key_root(root, a->prefix);
    if (pair_subscribe_ear(&a->watches.pair, root) != MUSTER_OK)
        link_break(a->watches.link, MUSTER_E_NOMEM, "out of memory");
    for (size_t i = 0; i < a->watches.n; i++)
        async_watch_subscribe(a->watches.all[i]);
}

/* Redis confirms in order. What came before a subscription is found by a take after it. */
static void on_subscribed(void *arg)
{
    struct muster_async *a = arg;
    pair_subscribed(&a->watches.pair, true);
    if (!a->watches.pair.is_here)
        pair_ask(&a->watches.pair);
    for (size_t i = 0; i < a->watches.n; i++) {
        struct async_watch *w = a->watches.all[i];
        bool is_new = w->is_asked && !w->is_subscribed;
        w->is_subscribed = w->is_asked;
        w->n_subscribed += is_new;
        while (is_new && w->first)
            async_watch_wake(w, &w->first);
        async_watch_set_timer(w);
    }
}

/* One who may not listen would wait in vain. */
static void on_down(void *arg, int err, const char *text)
{
    struct muster_async *a = arg;
    const bool is_over = link_is_hopeless(a->watches.link);
    pair_subscribed(&a->watches.pair, false);
    for (size_t i = 0; i < a->watches.n; i++) {
        struct async_watch *w = a->watches.all[i];
        w->is_asked = w->is_subscribed = false;
        while (is_over && w->first)
            async_hear_failed(async_watch_take_out(w, &w->first), err, text);
        async_watch_set_timer(w);
    }
}

/* A message may be for several takes: each that is named takes. If none is, a look is planned, also where nobody sleeps:
 * one that is named may be under way. */
static void hear(struct async_watch *w, struct muster_bytes message)
{
    enum take_called most = TAKE_CALLS_OTHERS;
    for (struct async_sleeper **at = &w->first; *at;) {
        enum take_called called = take_name_called(message, (*at)->caller);
        most = called > most ? called : most;
        if (called == TAKE_CALLS_THIS_ONE)
            async_watch_wake(w, at);
        else
            at = &(*at)->next;
    }
    if (most != TAKE_CALLS_THIS_ONE)
        async_watch_plan_look(w, waiting_times_look_in(most == TAKE_CALLS_OTHERS, w->stagger_ms));
    async_watch_set_timer(w);
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    struct muster_async *a = arg;
    const size_t root = strlen(a->root.channels);
    const char *what = channel ? strrchr(channel, '_') : NULL;
    if (!what || strncmp(channel, a->root.channels, root) != 0 || channel[root] != '_' || what == channel + root)
        return;
    struct async_watch *w = async_watch_find(a, channel + root + 1, (size_t)(what - channel) - root - 1);
    if (w && message.data && strcmp(what + 1, CHANNEL_WORK) == 0)
        hear(w, message);
}

/* It may hear nothing for long. If no answer comes, it is dead, and breaks; or it is at another server than the takes. */
static void on_pinger(evutil_socket_t fd, short what, void *arg)
{
    struct muster_async *a = arg;
    (void)fd, (void)what;
    link_ping(a->watches.link);
    pair_ask(&a->watches.pair);
    timer_after_ms(a->watches.pinger, PING_MS);
}

/* Made when it is first needed. */
int async_watch_open_link(struct muster_async *a)
{
    char root[KEY_MAX];
    if (a->watches.link)
        return MUSTER_OK;
    if (!a->watches.pinger && !(a->watches.pinger = evtimer_new(a->base, on_pinger, a)))
        return MUSTER_E_NOMEM;
    key_root(root, a->prefix);
    int err =
        link_new(&a->watches.link, &(struct link_options){.base = a->base,
                                                          .url = a->watches.url,
                                                          .prefix = a->prefix,
                                                          .root_key = root,
                                                          .name = "hearing",
                                                          .delay_max_ms = DELAY_MAX_MS,
                                                          .silence_ms = a->timeout_ms,
                                                          .callbacks = {on_up, on_down, on_subscribed, on_message},
                                                          .arg = a});
    if (err == MUSTER_OK)
        err = lookout_new(&a->watches.lookout, a->base, a->watches.url,
                          (struct link *const[]){a->watches.link, a->line.link});
    if (err != MUSTER_OK) {
        link_free(a->watches.link);
        a->watches.link = NULL;
        return err;
    }
    a->watches.pair = (struct pair){.asks = a->line.link, .hears = a->watches.link};
    link_connect(a->watches.link);
    lookout_open(a->watches.lookout);
    timer_after_ms(a->watches.pinger, PING_MS);
    return MUSTER_OK;
}
