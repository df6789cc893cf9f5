/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: reaching a server, by a socket's path, an address or a name; and why that failed.
 */
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "redis/redis_private.h"

size_t redis_n_places(const struct redis *r)
{
    return (size_t)r->url.n_nodes + r->place.n_learned + r->n_addresses;
}

void redis_note_cause(struct redis *r, int err, enum cause_rank rank)
{
    bool is_away = err == MUSTER_E_CONN || err == MUSTER_E_TIMEOUT;
    struct cause now = {.err = err,
                        .rank = is_away ? rank : CAUSE_TOLD,
                        .is_named = place_is_named(&r->place),
                        .addresses = r->n_addresses > 0 ? r->n_addresses + 1 : 0};
    snprintf(now.text, sizeof now.text, "%s", (r->listens_for ? r->listens_for : r)->error);
    cause_note(&r->cause, &now, redis_n_places(r));
    resolver_note_failure(&r->resolver, r->address);
}

static int give_up_place(struct redis *r, int err)
{
    enum cause_rank rank = wire_is_shaking(r->wire) ? CAUSE_TOLD : CAUSE_NOBODY;
    (void)redis_break(r, err, wire_why(r->wire));
    redis_note_cause(r, err, rank);
    return err;
}

/* One address. */
static int try_place(struct redis *r, const struct wire_place *place)
{
    if (wire_new(&r->wire) != MUSTER_OK) {
        redis_error_set(r, "out of memory");
        redis_note_cause(r, MUSTER_E_NOMEM, CAUSE_TOLD);
        return MUSTER_E_NOMEM;
    }
    if (r->tls)
        wire_secure(r->wire, r->tls, place_target(&r->place).server_name);
    wire_connect(r->wire, place);
    while (!wire_is_ready(r->wire)) {
        struct redisReply *none;
        int err = wire_next(r->wire, &none);
        if (err != MUSTER_OK)
            return give_up_place(r, err);
        if ((err = redis_check_interrupt(r)) != MUSTER_OK) {
            redis_leave(r);
            return err;
        }
        if (!redis_wait(r, r->greeted_by_ms))
            return give_up_place(r, MUSTER_E_TIMEOUT);
    }
    return MUSTER_OK;
}

static int give_up_lookup(struct redis *r, const char *host, int err, const char *why)
{
    if (err == MUSTER_E_TIMEOUT)
        redis_error_set(r, "%s: the name lookup has had no answer within %d ms", host, r->timeout_ms);
    else
        redis_error_set(r, "%s: %s", host, why);
    redis_note_cause(r, err, CAUSE_NOBODY);
    return err;
}

/* The next address of the host that was not tried yet for this connection, in r->address. */
static int look_up(struct redis *r, const char *host)
{
    struct lookup *l = resolver_ask(&r->resolver, host, r->tried_since == r->resolver.n_failures);
    if (!l)
        return give_up_lookup(r, host, MUSTER_E_NOMEM, "no memory, thread or descriptor for a name lookup");
    for (;;) {
        const bool has_ended = lookup_step(l);
        const char *address = resolver_pick(&r->resolver, l, r->tried_since, &r->n_untried);
        int err = redis_check_interrupt(r);
        int64_t left_ms = r->host_by_ms - clock_ms();
        short ready;
        r->n_untried += !has_ended; /* there may be one */
        r->n_addresses = lookup_n(l) > 0 ? lookup_n(l) - 1 : 0;
        if (err != MUSTER_OK)
            return err;
        if (address) {
            snprintf(r->address, sizeof r->address, "%s", address);
            return MUSTER_OK;
        }
        if (has_ended || left_ms <= 0)
            return lookup_n(l) > 0
                       ? r->cause.err
                       : give_up_lookup(r, host, has_ended ? MUSTER_E_CONN : MUSTER_E_TIMEOUT, lookup_why(l));
        int ms = lookup_wait_ms(l);
        (void)interrupt_wait(r->interrupt, lookup_fd(l), POLLIN, left_ms < ms ? (int)left_ms : ms, &ready);
    }
}

/* An address of several that is silent leaves the others their share of the time. */
static int connect_by_name(struct redis *r, const struct place_target *to)
{
    int err = look_up(r, to->host);
    if (err != MUSTER_OK)
        return err;
    const int64_t left_ms = r->host_by_ms - clock_ms();
    const int64_t share_ms = left_ms > 0 ? left_ms / ((int64_t)r->n_untried + 1) : 0;
    r->greeted_by_ms = clock_in_ms(share_ms);
    return try_place(r, &(struct wire_place){.address = r->address, .port = to->port});
}

/* What lies in files is read again before each connection. */
static int prepare(struct redis *r)
{
    char why[400];
    int err = secret_renew(&r->url, why, sizeof why);
    if (err == MUSTER_OK && r->url.tls.is_on)
        err = tls_context_renew(&r->tls, &r->url.tls, why, sizeof why);
    if (err != MUSTER_OK)
        redis_error_set(r, "%s", err == MUSTER_E_NOMEM ? "out of memory" : why);
    return err;
}

int redis_reach(struct redis *r)
{
    struct place_target to = place_target(&r->place);
    int err = prepare(r);
    r->n_addresses = r->n_untried = 0;
    r->address[0] = '\0';
    r->greeted_by_ms = r->host_by_ms;
    if (err != MUSTER_OK) {
        redis_note_cause(r, err, CAUSE_TOLD);
        return err;
    }
    if (to.path)
        return try_place(r, &(struct wire_place){.path = to.path});
    if (resolver_is_address(to.host))
        return try_place(r, &(struct wire_place){.address = to.host, .port = to.port});
    return connect_by_name(r, &to);
}
