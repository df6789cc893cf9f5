/* SPDX-License-Identifier: MIT
 *
 * The gate: what no server here serves, whatever it is for.
 */
#include "http.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ask.h"
#include "complain.h"
#include "conns.h"
#include "need.h"
#include "server_reply.h"

#define HEADERS_MAX (16 * 1024)
#define BODY_MAX (1024 * 1024)
_Static_assert(HEADERS_MAX + BODY_MAX <= CONNS_INPUT_MAX, "a request would never be whole");
#define IDLE_S 60
#define METHODS (EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST)
/* They are refused here, in JSON; libevent answers in HTML. */
#define OTHER_METHODS (EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH | EVHTTP_REQ_OPTIONS)

struct http {
    struct guard guard;
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    struct conns *conns;
    http_fn *fn;
    void *arg;
};

/* ---- answers ---- */

void http_reply(struct http *h, struct evhttp_request *request, int status, const char *type, const char *body,
                size_t len)
{
    conns_end(h->conns, request);
    server_reply(request, status, type, body, len);
}

void http_refuse(struct http *h, struct evhttp_request *request, int status, const char *error, const char *message)
{
    char *text = ask_error_text(error, message);
    http_reply(h, request, status, SERVER_JSON, text, strlen(text));
    free(text);
}

void http_reply_json(struct http *h, struct evhttp_request *request, int status, struct cJSON *object)
{
    char *text = need(cJSON_PrintUnformatted(object));
    http_reply(h, request, status, SERVER_JSON, text, strlen(text));
    free(text);
    cJSON_Delete(object);
}

/* ---- requests ---- */

/* Each '%' stands before two digits, but not those of NUL: what is behind it would be lost without a word. */
static bool is_encoded(const char *text)
{
    for (const char *at = text ? strchr(text, '%') : NULL; at; at = strchr(at + 1, '%'))
        if (!isxdigit((unsigned char)at[1]) || !isxdigit((unsigned char)at[2]) || strncmp(at, "%00", 3) == 0)
            return false;
    return true;
}

static void serve(struct http *h, struct evhttp_request *request, const char *path, const char *query)
{
    const char *why = guard_refuse_site(&h->guard, request);
    if (why)
        http_refuse(h, request, 403, "E_DENIED", why);
    else
        h->fn(h->arg, request, path, query);
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct http *h = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    conns_begin(h->conns, request);
    if (!(evhttp_request_get_command(request) & METHODS))
        http_refuse(h, request, 405, "E_INVALID", "the methods are GET, HEAD and POST");
    else if (!path || path[0] != '/')
        http_refuse(h, request, 400, "E_INVALID", "the path must begin with a slash");
    else if (!is_encoded(path) || !is_encoded(evhttp_uri_get_query(uri)))
        http_refuse(h, request, 400, "E_INVALID", "a '%' stands before two digits, and is not %00");
    else
        serve(h, request, path, evhttp_uri_get_query(uri));
}

/* ---- its life ---- */

/* The end of a long answer would wait for up to 40 ms until its beginning is acknowledged. Connections have the options
 * of their listener. */
static void send_at_once(struct evconnlistener *l)
{
    (void)setsockopt(evconnlistener_get_fd(l), IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static struct evconnlistener *listen_at(const struct call *call, struct event_base *base,
                                        const struct guard_place *place)
{
    struct evutil_addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = EVUTIL_AI_PASSIVE}, *list = NULL;
    char port[16];
    snprintf(port, sizeof port, "%d", place->port);
    int err = getaddrinfo(place->host, port, &hints, &list);
    if (err) {
        complain_refusal(call, COMPLAIN_SYSTEM, "%s: %s", place->host, gai_strerror(err));
        return NULL;
    }
    struct evconnlistener *l = NULL;
    for (const struct evutil_addrinfo *a = list; a && !l; a = a->ai_next) /* a host may lack the first, as ::1 */
        l = evconnlistener_new_bind(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                                    64, a->ai_addr, (int)a->ai_addrlen);
    if (l)
        send_at_once(l);
    else
        complain_refusal(call, COMPLAIN_SYSTEM, "cannot listen at %s port %d: %s", place->host, place->port,
                         strerror(errno));
    freeaddrinfo(list);
    return l;
}

struct http *http_new(const struct call *call, struct event_base *base, const struct guard_place *place, http_fn *fn,
                      void *arg)
{
    struct http *h = need(calloc(1, sizeof *h));
    *h = (struct http){.fn = fn, .arg = arg};
    bool has_secrets = guard_init(&h->guard, place);
    if (!has_secrets)
        complain_refusal(call, COMPLAIN_SYSTEM, "the system gives no random bytes: %s", strerror(errno));
    h->listener = has_secrets ? listen_at(call, base, place) : NULL;
    if (!h->listener) {
        free(h);
        return NULL;
    }
    h->evhttp = need(evhttp_new(base));
    evhttp_set_max_headers_size(h->evhttp, HEADERS_MAX);
    evhttp_set_max_body_size(h->evhttp, BODY_MAX);
    evhttp_set_timeout(h->evhttp, IDLE_S);
    evhttp_set_allowed_methods(h->evhttp, METHODS | OTHER_METHODS);
    evhttp_set_gencb(h->evhttp, on_request, h);
    if (!evhttp_bind_listener(h->evhttp, h->listener))
        need(NULL);
    h->conns = conns_new(call, base, h->evhttp, h->listener, place->connections);
    return h;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    evhttp_free(h->evhttp);
    conns_free(h->conns);
    free(h);
}

char *http_url(const struct http *h)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[NI_MAXHOST], port[NI_MAXSERV], *text;
    if (getsockname(evconnlistener_get_fd(h->listener), (struct sockaddr *)&a, &len) != 0 ||
        getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return need(strdup("an unknown address"));
    if (asprintf(&text, strchr(host, ':') ? "http://[%s]:%s/" : "http://%s:%s/", host, port) < 0)
        need(NULL);
    return text;
}

const struct guard *http_guard(const struct http *h)
{
    return &h->guard;
}

struct conns *http_conns(const struct http *h)
{
    return h->conns;
}
