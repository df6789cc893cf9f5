/* SPDX-License-Identifier: MIT
 *
 * The lookups of one owner, and which address is tried next.
 */
#include "redis/resolver.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool resolver_is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* One that is used up makes room for another one of the same host; else the oldest place does. */
struct lookup *resolver_ask(struct resolver *r, const char *host, bool is_anew)
{
    size_t at = 0;
    while (at < RESOLVER_HOSTS_MAX && !(r->lookups[at] && lookup_is_of(r->lookups[at], host)))
        at++;
    if (at < RESOLVER_HOSTS_MAX && !lookup_is_used_up(r->lookups[at], is_anew))
        return r->lookups[at];
    if (at == RESOLVER_HOSTS_MAX)
        at = r->next++ % RESOLVER_HOSTS_MAX;
    lookup_free(r->lookups[at]);
    r->lookups[at] = lookup_new(host);
    return r->lookups[at];
}

void resolver_forget(struct resolver *r)
{
    for (size_t i = 0; i < RESOLVER_HOSTS_MAX; i++) {
        lookup_free(r->lookups[i]);
        r->lookups[i] = NULL;
    }
}

/* ---- which address ---- */

static uint64_t failed_at(const struct resolver *r, const char *address)
{
    for (size_t i = 0; i < LOOKUP_ADDRESSES_MAX; i++)
        if (r->failures[i].at && strcmp(r->failures[i].address, address) == 0)
            return r->failures[i].at;
    return 0;
}

const char *resolver_pick(const struct resolver *r, const struct lookup *l, uint64_t since, size_t *n_others)
{
    const char *best = NULL;
    uint64_t best_at = since + 1;
    size_t n = 0;
    for (size_t i = 0; i < lookup_n(l); i++) {
        uint64_t at = failed_at(r, lookup_address(l, i));
        n += at <= since;
        if (at < best_at) {
            best = lookup_address(l, i);
            best_at = at;
        }
    }
    *n_others = best ? n - 1 : 0;
    return best;
}

void resolver_note_failure(struct resolver *r, const char *address)
{
    struct resolver_failure *place = r->failures;
    if (!*address)
        return;
    for (size_t i = 0; i < LOOKUP_ADDRESSES_MAX; i++) {
        struct resolver_failure *f = &r->failures[i];
        if (f->at && strcmp(f->address, address) == 0) {
            place = f;
            break;
        }
        if (f->at < place->at)
            place = f;
    }
    place->at = ++r->n_failures;
    snprintf(place->address, sizeof place->address, "%s", address);
}

void resolver_note_failures_of(struct resolver *r, const struct resolver *other)
{
    memcpy(r->failures, other->failures, sizeof r->failures);
    r->n_failures = other->n_failures;
}
