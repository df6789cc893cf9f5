/* SPDX-License-Identifier: MIT
 *
 * Making a link's connection: resolve the host, connect, greet; and what follows a break: trying again.
 */
#include <hiredis/async.h>
#include <muster/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "base/words.h"
#include "redis/link_private.h"

#define DELAY_FIRST_MS 50
/* A link that held this long has recovered: the next break begins with short delays again. But one that has only tried
 * something large, at which it broke, has come no further. */
#define STABLE_MS 1000

/* ---- greeting ---- */

static void greet(struct link *l)
{
    int err = MUSTER_OK;
    link_enter(l, LINK_GREETING);
    memset(l->sent_with_body, 0, sizeof l->sent_with_body);
    l->greeting = (struct greeting){.url = l->has_url ? &l->url : NULL,
                                    .place = l->has_url ? &l->place : NULL,
                                    .needs_master = true,
                                    .stays_at_sentinel = l->stays_at_sentinel,
                                    .is_handed_in = l->is_handed_in,
                                    .db = l->url.db,
                                    .prefix = l->prefix,
                                    .counts_replicas = l->counts_replicas,
                                    .n_replicas = -1,
                                    .root_key = l->root_key,
                                    .format_key = l->format_key};
    while (err == MUSTER_OK) {
        struct command c = COMMAND_EMPTY;
        if (!greeting_say(&l->greeting, &c))
            break;
        err = wire_say(l->wire, &c, 1);
        command_clear(&c);
    }
    if (err != MUSTER_OK)
        link_break(l, err, muster_err_text(err));
    link_io_flush(l);
}

static void hear_greeting(struct link *l, const struct redisReply *reply)
{
    if (!reply) {
        greet(l);
        return;
    }
    int err = greeting_hear(&l->greeting, reply);
    link_note_reply(l, 0);
    if (err != MUSTER_OK) {
        l->is_sent_on = l->greeting.is_sent_on;
        link_break(l, err, l->greeting.why);
    } else if (greeting_is_over(&l->greeting)) {
        l->up_since_ms = clock_ms();
        place_reached(&l->place);
        resolver_forget(&l->resolver);
        l->cause = (struct cause){.err = MUSTER_OK};
        l->hears = link_hear;
        link_enter(l, LINK_UP);
        l->callbacks.up(l->arg);
    }
}

/* ---- connecting ---- */

/* NULL: there was no memory for it. */
static void use_wire(struct link *l, struct wire *wire)
{
    l->hears = hear_greeting;
    link_begin_waiting(l);
    link_enter(l, LINK_CONNECTING);
    if (!wire || link_io_attach(l, wire) != MUSTER_OK)
        link_break(l, MUSTER_E_NOMEM, "out of memory");
}

static void connect_to(struct link *l, const struct wire_place *place)
{
    const struct url_tls *tls = &l->url.tls;
    struct wire *wire;
    char why[400];
    int err = secret_renew(&l->url, why, sizeof why);
    if (err == MUSTER_OK && tls->is_on)
        err = tls_context_renew(&l->tls, tls, why, sizeof why);
    if (wire_new(&wire) == MUSTER_OK) {
        if (l->tls)
            wire_secure(wire, l->tls, place_target(&l->place).server_name);
        wire_connect(wire, place);
    }
    use_wire(l, wire);
    if (err != MUSTER_OK)
        link_break(l, err, err == MUSTER_E_NOMEM ? "out of memory" : why);
}

/* The shell is freed without closing the socket, which is the wire's. What the program has left unread is no answer to
 * anything that the link asks. */
static void take_handed_in(struct link *l)
{
    redisAsyncContext *context = l->handed_in;
    bool is_clean = context->c.reader->len == context->c.reader->pos && !*context->c.obuf;
    struct wire *wire;
    l->handed_in = NULL;
    l->is_handed_in = true;
    if (wire_new(&wire) == MUSTER_OK) {
        wire_take(wire, context->c.fd);
        context->c.fd = -1;
    }
    redisAsyncFree(context);
    use_wire(l, wire);
    if (!is_clean)
        link_break(l, MUSTER_E_CONN,
                   "the connection that was handed in has a command that was not sent, or an answer not read");
}

static void on_looker(evutil_socket_t fd, short what, void *arg);

/* Until something has failed, this is why it is not up. */
static void say_what_is_waited_for(struct link *l, const char *what)
{
    if (l->cause.err != MUSTER_OK)
        return;
    snprintf(l->cause.text, sizeof l->cause.text, "%s: %s", l->where, what);
    if (!*what)
        l->cause.text[0] = '\0';
}

static void wait_for_lookup(struct link *l)
{
    int ms = lookup_wait_ms(l->lookup);
    say_what_is_waited_for(l, lookup_why(l->lookup));
    if (!l->looker)
        l->looker = event_new(l->base, lookup_fd(l->lookup), EV_READ, on_looker, l);
    const struct timeval time = {ms / 1000, ms % 1000 * 1000};
    if (!l->looker || event_add(l->looker, &time) != 0)
        link_break(l, MUSTER_E_NOMEM, "out of memory");
}

/* Connecting has its own time: how long the lookup took is nothing that the server has to do with. */
static void go_on_by_lookup(struct link *l)
{
    bool has_ended = lookup_step(l->lookup);
    size_t n_others;
    const char *address = resolver_pick(&l->resolver, l->lookup, l->resolver.n_failures, &n_others);
    if (address || has_ended)
        l->n_addresses = n_others;
    if (address) {
        snprintf(l->address, sizeof l->address, "%s", address);
        l->last_sign_ms = clock_ms();
        say_what_is_waited_for(l, "");
        connect_to(l, &(struct wire_place){.address = l->address, .port = place_target(&l->place).port});
    } else if (has_ended) {
        link_break(l, MUSTER_E_CONN, lookup_why(l->lookup));
    } else {
        wait_for_lookup(l);
    }
}

static void on_looker(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (l->state == LINK_RESOLVING && !l->is_break_due)
        go_on_by_lookup(l);
}

static void look_up(struct link *l, const char *host)
{
    link_begin_waiting(l);
    link_enter(l, LINK_RESOLVING);
    l->lookup = resolver_ask(&l->resolver, host, true);
    if (l->lookup)
        go_on_by_lookup(l);
    else
        link_break(l, MUSTER_E_NOMEM, "no memory, thread or descriptor for a name lookup");
}

static void try_connect(struct link *l)
{
    struct place_target to = place_target(&l->place);
    place_describe(&l->place, l->where, sizeof l->where);
    if (!to.path && !resolver_is_address(to.host)) {
        look_up(l, to.host);
        return;
    }
    l->n_addresses = 0;
    connect_to(l, &(struct wire_place){.path = to.path, .address = to.host, .port = to.port});
}

static void on_connector(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    try_connect(l);
}

void link_connect(struct link *l)
{
    if (l->state != LINK_NEW)
        return;
    if (l->handed_in)
        take_handed_in(l);
    else
        try_connect(l);
}

/* ---- a break ---- */

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

static void drop(struct link *l)
{
    if (l->looker)
        event_free(l->looker);
    l->looker = NULL;
    l->lookup = NULL;
    if (l->handed_in)
        redisAsyncFree(l->handed_in);
    l->handed_in = NULL;
    link_io_detach(l);
    link_call_forget(l);
}

/* Where the next attempt leads, and when. */
static void plan_attempt(struct link *l, bool is_at_once)
{
    if (!l->is_sent_on)
        place_failed(&l->place);
    timer_after_ms(l->connector, is_at_once ? 0 : next_delay_ms(l));
}

/* Before the connection is dropped. */
static enum cause_rank rank_of(const struct link *l, int err)
{
    if (err != MUSTER_E_CONN && err != MUSTER_E_TIMEOUT)
        return CAUSE_TOLD;
    if (l->state < LINK_GREETING)
        return l->wire && wire_is_shaking(l->wire) ? CAUSE_TOLD : CAUSE_NOBODY;
    return l->state == LINK_GREETING && *l->greeting.why ? CAUSE_TOLD : CAUSE_SILENT;
}

static void tell_down(struct link *l, struct cause *cause)
{
    snprintf(cause->text, sizeof cause->text, "%s: %s", l->where, cause->why);
    words_clean(cause->text);
    trace_line(TRACE_STATE, "%s link: %s", l->name, cause->text);
    cause_note(&l->cause, cause, link_n_places(l));
    l->callbacks.down(l->arg, l->cause.err, l->cause.text);
}

/* Tell of the break, and try again later; or go on silently to where it was sent on its way. */
static void go_down(struct link *l, struct cause *cause)
{
    bool was_up = l->state == LINK_UP,
         was_stable = was_up && !l->is_fruitless && clock_ms() - l->up_since_ms >= STABLE_MS;
    if (l->state == LINK_DOWN)
        return;
    if (was_stable)
        l->attempts = 0;
    if (!was_stable || cause->err == MUSTER_E_BUSY)
        resolver_note_failure(&l->resolver, l->address);
    l->address[0] = '\0';
    link_enter(l, LINK_DOWN);
    cause->is_reached = was_up;
    bool is_silent = l->is_sent_on && !was_up && !l->is_handed_in;
    /* Servers that send a link on although it has just come to the right one must not keep it busy. */
    bool is_at_once = l->is_sent_on && (was_stable || !was_up);
    l->is_break_due = l->is_leaving = l->is_handed_in = false;
    l->unconfirmed = l->ending = 0;
    event_del(l->watch);
    if (l->is_closed)
        return;
    if (l->has_url)
        plan_attempt(l, is_at_once);
    l->is_sent_on = false;
    if (!is_silent)
        tell_down(l, cause);
}

static void on_breaker(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    if (!l->is_break_due)
        return;
    struct cause cause = {.err = l->break_err,
                          .rank = rank_of(l, l->break_err),
                          .is_named = place_is_named(&l->place),
                          .addresses = *l->address && l->n_addresses > 0 ? l->n_addresses + 1 : 0};
    if (l->break_err == MUSTER_E_DENIED && l->ending > 0) { /* what it was denied is not worth more than a connection */
        l->keeps_channels = true;
        cause.err = MUSTER_E_CONN;
    }
    memcpy(cause.why, l->why, sizeof cause.why);
    if (!l->is_closed)
        wire_throw_away(l->wire);
    /* The break stays noted until the end: a call from inside is not accepted, and no second break is noted. */
    drop(l);
    go_down(l, &cause);
}

int link_connect_init(struct link *l)
{
    l->connector = evtimer_new(l->base, on_connector, l);
    l->breaker = event_new(l->base, -1, 0, on_breaker, l);
    return l->connector && l->breaker ? MUSTER_OK : MUSTER_E_NOMEM;
}

void link_connect_clear(struct link *l)
{
    drop(l);
    resolver_forget(&l->resolver);
    tls_context_free(l->tls);
    if (l->connector)
        event_free(l->connector);
    if (l->breaker)
        event_free(l->breaker);
}
