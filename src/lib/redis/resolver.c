/* SPDX-License-Identifier: MIT
 *
 * Looks up hosts with libevent's resolver. It reads /etc/hosts and /etc/resolv.conf at the first lookup.
 */
#include "redis/resolver.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <muster/error.h>
#include <stdlib.h>

struct resolver {
    struct event_base *base;
    struct evdns_base *dns;
    struct evdns_getaddrinfo_request *lookup;
    unsigned attempt;
    resolver_fn *fn;
    void *arg;
};

bool resolver_is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

int resolver_new(struct resolver **out, struct event_base *base, resolver_fn *fn, void *arg)
{
    struct resolver *r = calloc(1, sizeof *r);
    *out = r;
    if (!r)
        return MUSTER_E_NOMEM;
    r->base = base;
    r->fn = fn;
    r->arg = arg;
    return MUSTER_OK;
}

static void free_dns(evutil_socket_t fd, short what, void *dns)
{
    (void)fd, (void)what;
    evdns_base_free(dns, 0);
}

void resolver_free(struct resolver *r)
{
    const struct timeval now = {0, 0};
    if (!r)
        return;
    resolver_cancel(r);
    /* Cancelled lookups, also earlier ones, leave deferred callbacks that still read `dns`: it is freed after them. */
    if (r->dns && event_base_once(r->base, -1, EV_TIMEOUT, free_dns, r->dns, &now) != 0)
        evdns_base_free(r->dns, 0);
    free(r);
}

void resolver_cancel(struct resolver *r)
{
    struct evdns_getaddrinfo_request *lookup = r->lookup;
    r->lookup = NULL;
    if (lookup)
        evdns_getaddrinfo_cancel(lookup);
}

static const char *address_text(const struct evutil_addrinfo *a, char out[ADDRESS_MAX])
{
    if (a->ai_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr, out, ADDRESS_MAX);
    if (a->ai_family == AF_INET6)
        return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr, out,
                         ADDRESS_MAX);
    return NULL;
}

static const char *pick(const struct evutil_addrinfo *list, unsigned attempt, char out[ADDRESS_MAX])
{
    unsigned n = 0;
    for (const struct evutil_addrinfo *a = list; a; a = a->ai_next)
        n++;
    for (unsigned i = n ? attempt % n : 0; i > 0; i--)
        list = list->ai_next;
    return list ? address_text(list, out) : NULL;
}

static void on_resolved(int result, struct evutil_addrinfo *list, void *arg)
{
    struct resolver *r = arg;
    char text[ADDRESS_MAX];
    if (result == EVUTIL_EAI_CANCEL)
        return;
    r->lookup = NULL;
    const char *address = result == 0 ? pick(list, r->attempt, text) : NULL;
    if (list)
        evutil_freeaddrinfo(list);
    r->fn(address, result != 0 ? evutil_gai_strerror(result) : "the host has no address", r->arg);
}

void resolver_start(struct resolver *r, const char *host, unsigned attempt)
{
    const struct evutil_addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    if (!r->dns) {
        r->dns = evdns_base_new(r->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
        if (r->dns)
            evdns_base_resolv_conf_parse(r->dns, DNS_OPTIONS_ALL, "/etc/resolv.conf");
    }
    if (!r->dns) {
        r->fn(NULL, "out of memory", r->arg);
        return;
    }
    r->attempt = attempt;
    /* If it answers before it returns, it returns NULL. */
    struct evdns_getaddrinfo_request *lookup = evdns_getaddrinfo(r->dns, host, NULL, &hints, on_resolved, r);
    if (lookup)
        r->lookup = lookup;
}
