/* SPDX-License-Identifier: MIT
 *
 * Without a token everybody on this host may come in, and so might a page of another site that a browser here has open.
 * It cannot read the answers, and it can change nothing without the secret. A name of its own that it lets point to this
 * host (DNS rebinding) is refused, because the browser says it in Host.
 */
#include "guard.h"

#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "need.h"

#define COOKIE "muster_session="

static bool draw(char out[GUARD_SECRET_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[(GUARD_SECRET_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * sizeof bytes] = '\0';
    return true;
}

bool guard_init(struct guard *g, const struct guard_place *place)
{
    g->place = place;
    return draw(g->csrf) && draw(g->session);
}

bool guard_is_same(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b);
    unsigned char difference = len_a != len_b;
    for (size_t i = 0; i < len_b; i++)
        difference |= (unsigned char)(b[i] ^ (i < len_a ? a[i] : 0));
    return difference == 0;
}

static const char *header(struct evhttp_request *request, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

/* ---- the site ---- */

/* Of two of a name another program may have believed the other one. */
static size_t count_headers(struct evhttp_request *request, const char *name)
{
    size_t n = 0;
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    for (const struct evkeyval *h = headers->tqh_first; h; h = h->next.tqe_next)
        n += strcasecmp(h->key, name) == 0;
    return n;
}

/* A host of HTTP without its port. */
static size_t host_len(const char *host)
{
    const char *end = *host == '[' ? strchr(host, ']') : NULL;
    return end ? (size_t)(end + 1 - host) : strcspn(host, ":");
}

static bool is_host(const char *host, const char *name)
{
    size_t len = host_len(host);
    bool has_brackets = *host == '[' && *name != '[';
    if (has_brackets)
        return len == strlen(name) + 2 && strncasecmp(host + 1, name, len - 2) == 0;
    return len == strlen(name) && strncasecmp(host, name, len) == 0;
}

static bool is_ours(const struct guard_place *p, const char *host)
{
    static const char *const local[] = {"localhost", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (is_host(host, local[i]))
            return true;
    for (size_t i = 0; i < p->n_names; i++)
        if (is_host(host, p->names[i]))
            return true;
    return is_host(host, p->host);
}

/* "http://host:port" for a Host of "host:port"; a proxy may have added the s. */
static bool is_origin(const char *origin, const char *host)
{
    if (strncmp(origin, "http://", 7) == 0)
        origin += 7;
    else if (strncmp(origin, "https://", 8) == 0)
        origin += 8;
    else
        return false;
    return strcasecmp(origin, host) == 0;
}

/* With a token a foreign name is harmless: no browser has this site's cookie under it. */
const char *guard_refuse_site(const struct guard *g, struct evhttp_request *request)
{
    const char *host = header(request, "Host"), *origin = header(request, "Origin");
    const char *site = header(request, "Sec-Fetch-Site");
    bool is_read = evhttp_request_get_command(request) != EVHTTP_REQ_POST;
    if (!host || !*host || count_headers(request, "Host") > 1)
        return "the request names no Host, or several";
    if (!g->place->token && !is_ours(g->place, host))
        return g->place->unknown_host;
    if (is_read)
        return NULL;
    if (origin && !is_origin(origin, host))
        return "the request comes from another site";
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return "the request comes from another site";
    return NULL;
}

/* ---- the token ---- */

bool guard_is_token(const struct guard *g, const char *token)
{
    return !g->place->token || guard_is_same(g->place->token, token);
}

static bool has_cookie(const struct guard *g, const char *cookies)
{
    for (const char *at = cookies; at; at = strchr(at, ';')) {
        at += strspn(at, "; ");
        if (strncmp(at, COOKIE, strlen(COOKIE)) != 0)
            continue;
        char *value = need(strndup(at + strlen(COOKIE), strcspn(at + strlen(COOKIE), "; ")));
        bool is_session = guard_is_same(g->session, value);
        free(value);
        if (is_session)
            return true;
    }
    return false;
}

bool guard_knows(const struct guard *g, struct evhttp_request *request)
{
    const char *said = header(request, "Authorization"), *cookies = header(request, "Cookie");
    if (!g->place->token)
        return true;
    if (said && strncasecmp(said, "Bearer ", 7) == 0)
        return guard_is_token(g, said + 7 + strspn(said + 7, " "));
    return cookies && has_cookie(g, cookies);
}

bool guard_has_csrf(const struct guard *g, struct evhttp_request *request)
{
    const char *shown = header(request, "X-Muster-CSRF");
    return shown && guard_is_same(g->csrf, shown);
}
