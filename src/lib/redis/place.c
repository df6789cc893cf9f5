/* SPDX-License-Identifier: MIT
 *
 * Where to connect to next.
 *
 * After a failure it begins with a seed, although the old address may be back soon: a seed knows who has the slot now,
 * and an address that was promoted away from may answer as a master for a while. That costs one connection.
 */
#include "redis/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "redis/resolver.h"
#include "redis/url_text.h"

/* More redirections than a cluster that is changing makes in a row. */
#define HOPS_MAX 5
#define PORT_MAX 65535
/* Of a host that is none. */
#define SHOWN_MAX 100

void place_init(struct place *p, const struct url *url)
{
    *p = (struct place){.url = url};
}

static size_t n_nodes(const struct place *p)
{
    return (size_t)p->url->n_nodes;
}

static const char *seed_host(const struct place *p, int *port)
{
    size_t at = p->seed - n_nodes(p);
    bool is_learned = p->seed >= n_nodes(p);
    *port = is_learned ? p->learned[at].port : p->url->nodes[p->seed].port;
    return is_learned ? p->learned[at].host : p->url->nodes[p->seed].host;
}

/* A cluster behind one name answers MOVED with addresses, and its nodes' certificates are for the name. */
static const char *server_name(const struct place *p, const char *host)
{
    int port;
    if (p->url->tls.server_name || p->url->path)
        return p->url->tls.server_name;
    const char *seed = p->seed < n_nodes(p) ? seed_host(p, &port) : p->url->nodes->host;
    bool is_by_name = p->url->kind != URL_SENTINEL && resolver_is_address(host) && !resolver_is_address(seed);
    return is_by_name ? seed : host;
}

struct place_target place_target(const struct place *p)
{
    struct place_target t = {.role = PLACE_SERVER};
    if (p->url->path && !p->is_sent_on) {
        t.path = p->url->path;
        return t;
    }
    if (p->is_sent_on) {
        t.host = p->node.host;
        t.port = p->node.port;
    } else {
        t.host = seed_host(p, &t.port);
        t.role = p->url->kind == URL_SENTINEL ? PLACE_SENTINEL : PLACE_SERVER;
    }
    t.server_name = server_name(p, t.host);
    return t;
}

bool place_is_named(const struct place *p)
{
    return p->is_sent_on && p->url->kind == URL_SENTINEL;
}

void place_describe(const struct place *p, char *out, size_t size)
{
    struct place_target t = place_target(p);
    if (t.path)
        snprintf(out, size, "%s", t.path);
    else
        snprintf(out, size, strchr(t.host, ':') ? "[%s]:%d" : "%s:%d", t.host, t.port);
}

/* A seed that led to the right server is asked again first. One that leads nowhere may be cut off itself. */
void place_failed(struct place *p)
{
    size_t n = n_nodes(p) + p->n_learned;
    if (n > 0 && !(p->is_sent_on && p->is_reached))
        p->seed = (p->seed + 1) % n;
    p->is_sent_on = p->is_reached = false;
    p->hops = 0;
}

static void refuse(struct place *p, const char *why)
{
    snprintf(p->why, sizeof p->why, "%.*s", PLACE_WHY_MAX - 1, why);
}

/* Only an IPv6 address has colons. */
static bool is_host(const char *host, size_t len)
{
    char text[PLACE_HOST_MAX + 1];
    if (len > PLACE_HOST_MAX || !url_text_is_host(host, len))
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return !strchr(text, ':') || resolver_is_address(text);
}

/* The address that a server has named. False: `why` says what is wrong with it. */
static bool read_node(struct place *p, const char *host, size_t len, long long port, struct place_node *out)
{
    bool is_unknown = len == 0 || (len == 1 && *host == '?');
    if (is_unknown && (host = place_target(p).host))
        len = strlen(host);
    p->why[0] = '\0';
    if (!host)
        refuse(p, "it names a port without a host, and behind a Unix socket there is none");
    else if (!is_host(host, len))
        refuse(p, words_say("it names '%.*s', which is no host", len < SHOWN_MAX ? (int)len : SHOWN_MAX, host));
    else if (port < 1 || port > PORT_MAX)
        refuse(p, words_say("it names the port %lld, which is none", port));
    if (*p->why)
        return false;
    *out = (struct place_node){.port = (int)port};
    memcpy(out->host, host, len);
    return true;
}

static bool send_on(struct place *p, const char *host, size_t len, long long port)
{
    struct place_node node; /* `host` may lie in the place itself */
    if (!read_node(p, host, len, port, &node))
        return false;
    place_go_to(p, &node);
    return true;
}

void place_go_to(struct place *p, const struct place_node *node)
{
    p->node = *node;
    p->is_sent_on = true;
    p->is_reached = false;
}

/* "MOVED 3999 10.0.0.7:6381". */
bool place_moved(struct place *p, const char *text)
{
    const char *slot = strchr(text, ' '), *to = slot ? strchr(slot + 1, ' ') : NULL;
    const char *colon = to ? strrchr(to, ':') : NULL;
    char *end;
    p->why[0] = '\0';
    if (++p->hops > HOPS_MAX)
        return false;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;
    if (colon && *end == '\0')
        return send_on(p, to + 1, (size_t)(colon - to - 1), port);
    refuse(p, "it names no host and port");
    return false;
}

bool place_master(struct place *p, const char *host, long long port)
{
    return host && send_on(p, host, strlen(host), port);
}

/* ---- the nodes of a cluster ---- */

static bool is_node(const struct place_node *node, const char *host, int port)
{
    return node->port == port && strcmp(node->host, host) == 0;
}

static bool is_of_url(const struct place *p, const struct place_node *node)
{
    for (size_t i = 0; i < n_nodes(p); i++)
        if (is_node(node, p->url->nodes[i].host, p->url->nodes[i].port))
            return true;
    return false;
}

/* Where it is among the learned ones, or may be put. */
static size_t room_for(struct place *p, const struct place_node *node)
{
    for (size_t i = 0; i < p->n_learned; i++)
        if (is_node(node, p->learned[i].host, p->learned[i].port))
            return i;
    return p->n_learned < PLACE_LEARNED_MAX ? p->n_learned++ : PLACE_LEARNED_MAX - 1;
}

static void remember(struct place *p, const struct place_node *node)
{
    if (p->url->kind != URL_CLUSTER || is_of_url(p, node))
        return;
    size_t i = room_for(p, node);
    if (i >= p->n_fresh) { /* the one that was there goes to where this one was */
        p->learned[i] = p->learned[p->n_fresh];
        i = p->n_fresh;
        p->n_fresh += p->n_fresh < PLACE_LEARNED_MAX - 1;
    }
    p->learned[i] = *node;
}

/* A learned seed that is asked stays the target, wherever the list puts it from now on. */
void place_learn_anew(struct place *p)
{
    p->n_fresh = 0;
    if (!p->is_sent_on && p->seed >= n_nodes(p) && p->n_learned > 0)
        place_go_to(p, &p->learned[p->seed - n_nodes(p)]);
}

void place_learn(struct place *p, const char *host, long long port)
{
    struct place_node node;
    if (read_node(p, host ? host : "", host ? strlen(host) : 0, port, &node))
        remember(p, &node);
}

void place_reached(struct place *p)
{
    p->hops = 0;
    p->is_reached = true;
    if (p->n_fresh > 0)
        p->n_learned = p->n_fresh;
    if (p->is_sent_on)
        remember(p, &p->node);
    if (p->seed >= n_nodes(p) + p->n_learned)
        p->seed = 0;
}

bool place_is_same(const struct place *p, const struct place *other)
{
    struct place_target a = place_target(p), b = place_target(other);
    if (a.path || b.path)
        return a.path && b.path && strcmp(a.path, b.path) == 0;
    return a.port == b.port && strcmp(a.host, b.host) == 0;
}

/* As a cluster finds the part of a key that decides its slot: what stands in the first braces, if anything does. */
const char *place_refuse_prefix(const char *prefix)
{
    const char *open = strchr(prefix, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    if (close && close > open + 1)
        return NULL;
    return words_say("the server is a node of a cluster, where the keys of the prefix '%s' would lie on several nodes: "
                     "choose a prefix with a part in braces, such as '{%s}'",
                     prefix, *prefix && !strpbrk(prefix, "{}") ? prefix : "mail");
}
