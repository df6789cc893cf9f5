/* SPDX-License-Identifier: MIT
 *
 * The states of a link: breaking, trying again, silence.
 *
 * Design notes
 *
 * hiredis 0.14 decides much of the shape of a link:
 *   - It frees a context by itself after a failed connect and after a disconnect, and must not be told to free one
 *     inside the connect callback. So a break is only noted where it is noticed. `breaker`, an event that runs outside
 *     of hiredis, carries it out. `context` is NULL from the moment when hiredis is about to free it.
 *   - At teardown it answers every outstanding command with NULL, before the disconnect callback. Nothing new is
 *     accepted then: `is_break_due` prevents it when the breaker does the teardown, hiredis' own flags when hiredis
 *     does.
 *   - It has no timeouts: while anything is outstanding, `watch` looks at the time of the last byte.
 *   - It asserts on answers that it has not asked for, and on strange ones on a subscribed connection. link_guard.c
 *     refuses them before. There is one channel per SUBSCRIBE, and no other command follows, not even UNSUBSCRIBE.
 *   - Its libevent adapter waits for writability before every write. Here all that was appended during a turn of the
 *     loop is written at the end of that turn, by `flusher`. Writability is waited for only when the socket was full.
 *   - Its getaddrinfo() would block the loop. So it only gets addresses (resolver.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "redis/link_private.h"

#define DELAY_FIRST_MS 50
/* A link that held this long has recovered: the next break begins with short delays again. */
#define STABLE_MS 1000

static const char *const state_names[] = {"new", "down", "resolving", "connecting", "greeting", "up"};

void link_enter(struct link *l, enum link_state state)
{
    if (l->state != state)
        trace_line(TRACE_STATE, "%s link: %s -> %s", l->name, state_names[l->state], state_names[state]);
    l->state = state;
}

bool link_is_up(const struct link *l)
{
    return l->state == LINK_UP && l->context && !l->is_break_due;
}

/* ---- breaking ---- */

void link_break(struct link *l, int err, const char *why)
{
    if (l->is_break_due || l->state == LINK_DOWN || l->state == LINK_NEW)
        return;
    l->is_break_due = true;
    l->break_err = err;
    snprintf(l->why, sizeof l->why, "%s", why);
    event_active(l->breaker, EV_TIMEOUT, 1);
}

static int64_t next_delay_ms(struct link *l)
{
    int64_t most = DELAY_FIRST_MS;
    for (unsigned i = 0; i < l->attempts && most < l->delay_max_ms; i++)
        most *= 2;
    if (most > l->delay_max_ms)
        most = l->delay_max_ms;
    l->attempts++;
    return (int64_t)arc4random_uniform((uint32_t)most + 1);
}

void link_go_down(struct link *l, int err, const char *why)
{
    char where[160] = "the connection that was handed in";
    char text[448];
    if (l->state == LINK_DOWN)
        return;
    if (l->state == LINK_UP && clock_ms() - l->up_since_ms >= STABLE_MS)
        l->attempts = 0;
    link_enter(l, LINK_DOWN);
    l->is_connected = l->is_flush_due = l->is_break_due = l->is_handed_in = false;
    l->unconfirmed = 0;
    event_del(l->watch);
    if (l->is_closed)
        return;
    if (l->has_url) {
        url_describe(&l->url, where, sizeof where);
        timer_after_ms(l->connector, next_delay_ms(l));
    }
    snprintf(text, sizeof text, "%s: %s", where, why);
    trace_line(TRACE_STATE, "%s link: %s", l->name, text);
    l->callbacks.down(l->arg, err, text);
}

void link_drop_context(struct link *l)
{
    redisAsyncContext *context = l->context;
    l->context = NULL;
    if (l->resolver)
        resolver_cancel(l->resolver);
    if (context)
        redisAsyncFree(context);
}

static void on_breaker(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!l->is_break_due)
        return;
    int err = l->break_err;
    char why[sizeof l->why];
    memcpy(why, l->why, sizeof why);
    /* The break stays noted until the end: a call from inside is not accepted, and no second break is noted. */
    link_drop_context(l);
    link_go_down(l, err, why);
}

/* ---- silence ---- */

static bool is_waiting(const struct link *l)
{
    return l->outstanding > 0 || l->unconfirmed > 0 || (l->state > LINK_DOWN && l->state < LINK_UP);
}

void link_begin_waiting(struct link *l)
{
    if (!is_waiting(l))
        l->last_byte_ms = clock_ms();
    if (!evtimer_pending(l->watch, NULL))
        timer_after_ms(l->watch, l->silence_ms);
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!is_waiting(l))
        return;
    int64_t silent_ms = clock_ms() - l->last_byte_ms;
    if (silent_ms < l->silence_ms) {
        timer_after_ms(l->watch, l->silence_ms - silent_ms);
        return;
    }
    char why[64];
    snprintf(why, sizeof why, "no answer for %d ms", l->silence_ms);
    link_break(l, MUSTER_E_TIMEOUT, why);
}

int link_state_init(struct link *l)
{
    l->breaker = event_new(l->base, -1, 0, on_breaker, l);
    l->watch = evtimer_new(l->base, on_watch, l);
    return l->breaker && l->watch ? MUSTER_OK : MUSTER_E_NOMEM;
}

void link_state_clear(struct link *l)
{
    if (l->breaker)
        event_free(l->breaker);
    if (l->watch)
        event_free(l->watch);
}
