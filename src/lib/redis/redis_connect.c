/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: greeting, and from place to place until one is right.
 *
 * Before a command goes out on a connection that was idle, a look at the socket tells whether the server has closed it
 * meanwhile: then no command is in doubt yet, and connecting again spares the caller an E_CONN.
 */
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "redis/greeting.h"
#include "redis/redis_private.h"

/* ---- greeting ---- */

/* How many answers it has, in `n`. */
static int say_greeting(struct redis *r, struct greeting *g, size_t *n)
{
    int err = MUSTER_OK;
    for (*n = 0; err == MUSTER_OK; ++*n) {
        struct command c = COMMAND_EMPTY;
        if (!greeting_say(g, &c))
            return MUSTER_OK;
        err = wire_say(r->wire, &c, 1);
        command_clear(&c);
    }
    return redis_break(r, err, "out of memory");
}

static void tell_refusal(struct redis *r, const struct greeting *g)
{
    char where[300];
    redis_describe(r, where, sizeof where);
    if (g->is_not_the_place || (r->borrowed && strncmp(g->why, where, strlen(where)) == 0))
        redis_error_set(r, "%s", g->why);
    else
        redis_error_set(r, "%s: %s", where, g->why);
}

/* All answers are read, also after a refusal: a connection that is borrowed must be left empty. */
static int hear_greeting(struct redis *r, struct greeting *g, size_t n)
{
    int refused = MUSTER_OK;
    for (; n > 0 && (refused == MUSTER_OK || r->borrowed); n--) {
        struct redisReply *reply;
        int err = redis_answer(r, &reply);
        if (err != MUSTER_OK)
            return refused == MUSTER_OK ? err : refused;
        if (refused == MUSTER_OK)
            refused = greeting_hear(g, reply);
        redis_reply_free(reply);
    }
    return refused;
}

/* A failure to greet leaves no connection. */
static int greet(struct redis *r, struct greeting *g, enum greeting_begin from)
{
    size_t n;
    *g = (struct greeting){.url = r->borrowed ? NULL : &r->url,
                           .place = r->borrowed ? NULL : &r->place,
                           .stays_at_sentinel = r->stays_at_sentinel,
                           .is_handed_in = r->borrowed,
                           .root_key = r->root_key,
                           .format_key = r->format == REDIS_OWN_FORMAT ? r->format_key : NULL,
                           .prefix = r->prefix,
                           .counts_replicas = r->confirm.replicas > 0,
                           .n_replicas = -1,
                           .said = from};
    int err = say_greeting(r, g, &n);
    if (err == MUSTER_OK)
        err = hear_greeting(r, g, n);
    if (err != MUSTER_OK) {
        if (*g->why)
            tell_refusal(r, g);
        redis_leave(r);
        return err;
    }
    r->is_greeted = true;
    r->role_due_ms = clock_in_ms(ROLE_LOOK_MS);
    r->is_format_known = g->is_format_known;
    if (from == GREETING_WHOLE)
        r->n_replicas = g->n_replicas;
    if (r->borrowed && from == GREETING_WHOLE)
        r->selected(r->arg, g->db);
    return MUSTER_OK;
}

/* ---- connecting ---- */

/* What the program has left unread or unsent would be taken for muster's. */
static int borrow(struct redis *r)
{
    const struct redisContext *c = r->borrowed;
    if (c->reader->len != c->reader->pos || *c->obuf) {
        redis_error_set(r, "the connection that was handed in has a command that was not sent, or an answer not read");
        return MUSTER_E_CONN;
    }
    if (wire_new(&r->wire) != MUSTER_OK) {
        redis_error_set(r, "out of memory");
        return MUSTER_E_NOMEM;
    }
    wire_borrow(r->wire, c->fd);
    return MUSTER_OK;
}

#define PAUSE_MS 20
#define PAUSE_SPREAD_MS 30

bool redis_pause(struct redis *r)
{
    int ms = PAUSE_MS + (int)arc4random_uniform(PAUSE_SPREAD_MS);
    if (clock_in_ms(ms) >= r->until_ms)
        return false;
    redis_sleep(r, ms);
    return true;
}

/* Is there another place than the one where it goes? For one server that has sent it on: that server. */
static bool has_another_place(const struct redis *r)
{
    return r->url.kind != URL_SINGLE || r->place.is_sent_on;
}

/* May another address of the same host do? One that was silent in its share of the time has what the others have left. */
static bool has_next_address(struct redis *r, int err)
{
    if (!*r->address || !cause_is_of_one_place(err) || clock_ms() >= r->host_by_ms)
        return false;
    bool is_silent = r->n_untried == 0 && r->n_addresses > 0 && r->cause.err == MUSTER_E_TIMEOUT;
    if (is_silent)
        r->tried_since = r->resolver.n_failures;
    return is_silent || r->n_untried > 0;
}

/* Greet what is connected. *goes_on: the server has named another one. */
static int try_greet(struct redis *r, bool *goes_on)
{
    struct greeting g;
    int err = greet(r, &g, GREETING_WHOLE);
    *goes_on = err != MUSTER_OK && g.is_sent_on && clock_ms() < r->until_ms;
    if (err != MUSTER_OK && err != MUSTER_E_INTERRUPTED && !*goes_on)
        redis_note_cause(r, err, *g.why ? CAUSE_TOLD : CAUSE_SILENT);
    return err;
}

/* May another attempt follow those that have failed? The last one says little: nobody may be at the last of a host's
 * addresses, while the server at another one is loading. */
static bool may_try_again(struct redis *r)
{
    const int err = r->cause.err;
    const bool is_elsewhere = has_another_place(r) && cause_is_of_one_place(err);
    place_failed(&r->place);
    const bool may_pass = err == MUSTER_E_BUSY || (is_elsewhere && !cause_is_final(&r->cause, redis_n_places(r)));
    return may_pass && redis_pause(r);
}

/* From address to address and from place to place, until one is right. If none is, the most telling cause counts. */
static int connect_somewhere(struct redis *r)
{
    for (bool is_there = false;;) {
        bool goes_on = false;
        if (!is_there) {
            r->host_by_ms = clock_in_ms(r->patience_ms);
            r->tried_since = r->resolver.n_failures;
        }
        int err = redis_check_interrupt(r);
        if (err == MUSTER_OK)
            err = redis_reach(r);
        if (err == MUSTER_OK)
            err = try_greet(r, &goes_on);
        if (err == MUSTER_OK || err == MUSTER_E_INTERRUPTED)
            return err;
        is_there = !goes_on && has_next_address(r, err);
        if (!goes_on && !is_there && !may_try_again(r))
            break;
    }
    redis_error_set(r, "%s", r->cause.text);
    return r->cause.err;
}

static int connect_in_time(struct redis *r)
{
    r->cause = (struct cause){.err = MUSTER_OK};
    if (has_another_place(r))
        r->patience_ms = r->timeout_ms / PLACE_SHARES + 1;
    int err = connect_somewhere(r);
    r->patience_ms = r->timeout_ms;
    r->greeted_by_ms = 0;
    if (err != MUSTER_OK)
        return err;
    r->cause = (struct cause){.err = MUSTER_OK};
    resolver_forget(&r->resolver);
    place_reached(&r->place);
    figures_add(&r->figures.connections, 1);
    return MUSTER_OK;
}

/* Has the server closed the connection while nothing was outstanding? It never speaks without being asked. */
static bool was_closed_while_idle(struct redis *r)
{
    struct pollfd p = {.fd = wire_fd(r->wire), .events = POLLIN};
    return !r->asked && poll(&p, 1, 0) > 0;
}

static int greet_borrowed(struct redis *r)
{
    struct greeting g;
    if (r->borrowed->err) {
        redis_error_set(r, "the connection that was handed in is broken: %s", r->borrowed->errstr);
        return MUSTER_E_CONN;
    }
    int err = r->wire ? MUSTER_OK : borrow(r);
    return err == MUSTER_OK && !r->is_greeted ? greet(r, &g, GREETING_WHOLE) : err;
}

/* What is refused for a reason that passes is asked again: of the same server, as there is no other. */
static int connect_borrowed(struct redis *r)
{
    int err;
    do
        err = greet_borrowed(r);
    while (err == MUSTER_E_BUSY && !r->asked && redis_pause(r));
    return err;
}

bool redis_is_connected(const struct redis *r)
{
    return r->wire && (!r->borrowed || wire_fd(r->wire) == r->borrowed->fd);
}

int redis_check_owner(struct redis *r)
{
    if (redis_is_own(r))
        return MUSTER_OK;
    redis_error_set(r, "this client is the parent's: a child of fork() makes its own; nothing was sent");
    return MUSTER_E_STATE;
}

int redis_connect(struct redis *r)
{
    bool goes_on = false;
    int err = redis_check_owner(r);
    if (err == MUSTER_OK && !r->asked)
        err = redis_check_interrupt(r);
    if (err != MUSTER_OK)
        return err; /* nothing was sent yet */
    if (r->wire && (!redis_is_connected(r) || (!r->borrowed && was_closed_while_idle(r))))
        redis_leave(r);
    if (!r->asked)
        redis_begin_time(r);
    if (r->borrowed)
        return connect_borrowed(r);
    if ((err = redis_look_at_role(r)) != MUSTER_OK)
        return err;
    if (r->wire && r->is_greeted)
        return MUSTER_OK;
    if (!r->wire)
        return connect_in_time(r);
    err = try_greet(r, &goes_on);
    if (err == MUSTER_E_INTERRUPTED)
        return err;
    return goes_on || (err != MUSTER_OK && may_try_again(r)) ? connect_in_time(r) : err;
}

/* ---- the format ---- */

void redis_expect_format(struct redis *r, enum redis_format format)
{
    r->format = format;
    r->is_greeted = r->is_format_known = false; /* the next call looks again */
}

int redis_claim_format(struct redis *r)
{
    struct redisReply *reply;
    if (r->wire && r->is_greeted && r->is_format_known)
        return MUSTER_OK; /* the next call looks whether it is still connected */
    int err = redis_open(r);
    if (err != MUSTER_OK || r->is_format_known)
        return err;
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"SET", r->format_key, FORMAT_VERSION, "NX", NULL});
    err = redis_call(r, &c, &reply);
    command_clear(&c);
    redis_reply_free(reply);
    if (err != MUSTER_OK)
        return err;
    /* Another program may have been first, with another format. */
    struct greeting g;
    err = greet(r, &g, GREETING_FORMAT);
    return redis_count(r, err == MUSTER_E_BUSY ? redis_connect(r) : err); /* the whole greeting has the look, too */
}
