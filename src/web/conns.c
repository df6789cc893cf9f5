/* SPDX-License-Identifier: MIT
 *
 * libevent tells when a connection begins, by asking for its bufferevent, but not when it ends. So each bufferevent is
 * held here, too: when libevent has let it go, it has no callbacks any more.
 */
#include "conns.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "complain.h"
#include "need.h"
#include "now.h"

#define SWEEP_MS 200

struct conn {
    struct bufferevent *buffer;
    int64_t until_ms; /* 0: a request is under way */
    int64_t read_until_ms;
};

struct conns {
    const struct call *call;
    struct evconnlistener *listener;
    struct event *timer;
    struct conn *conns;
    size_t n, max;
    bool is_full, is_told; /* of what the system lacks */
};

/* Why the listener of this thread's loop has accepted nothing; 0: it has. Its callback gets no argument of ours. */
static _Thread_local int accept_error;

/* libevent clears the callbacks when it frees a bufferevent. */
static bool has_ended(struct bufferevent *buffer)
{
    bufferevent_data_cb read;
    bufferevent_data_cb write;
    bufferevent_event_cb event;
    void *arg;
    bufferevent_getcb(buffer, &read, &write, &event, &arg);
    return !read && !write && !event;
}

static void cut(struct bufferevent *buffer)
{
    shutdown(bufferevent_getfd(buffer), SHUT_RDWR);
}

static void look_at_time(struct conn *conn, int64_t now)
{
    if (!conn->until_ms)
        return;
    if (evbuffer_get_length(bufferevent_get_output(conn->buffer)) > 0 && now < conn->read_until_ms)
        conn->until_ms = now + CONNS_REQUEST_MS;
    else if (now > conn->until_ms)
        cut(conn->buffer);
}

static void sweep(struct conns *c)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < c->n;) {
        if (has_ended(c->conns[i].buffer)) {
            bufferevent_decref(c->conns[i].buffer);
            c->conns[i] = c->conns[--c->n];
            continue;
        }
        look_at_time(&c->conns[i++], now);
    }
    if (accept_error && !c->is_told)
        complain(c->call, "cannot accept a connection: %s; whoever asks waits", strerror(accept_error));
    c->is_told |= accept_error != 0;
    if ((c->is_full || accept_error) && c->n < c->max) {
        c->is_full = false;
        accept_error = 0;
        evconnlistener_enable(c->listener);
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    sweep(arg);
}

/* Without descriptors, for one. The connection stays in the kernel's queue, and libevent would try again at once, and write
 * a line, for ever. */
static void on_accept_error(struct evconnlistener *listener, void *http)
{
    (void)http;
    accept_error = EVUTIL_SOCKET_ERROR();
    evconnlistener_disable(listener);
}

/* libevent accepts all that wait at once, so there may be some more than the bound: those are not served. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
    struct conns *c = arg;
    struct bufferevent *buffer = need(bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE));
    c->is_told = false;
    bufferevent_setwatermark(buffer, EV_READ, 0, CONNS_INPUT_MAX);
    if (c->n == c->max)
        sweep(c);
    if (c->n + 1 >= c->max && !c->is_full) {
        c->is_full = true;
        evconnlistener_disable(c->listener);
    }
    if (c->n == c->max)
        return buffer;
    bufferevent_incref(buffer);
    c->conns[c->n++] = (struct conn){.buffer = buffer, .until_ms = now_ms() + CONNS_REQUEST_MS};
    return buffer;
}

struct conns *conns_new(const struct call *call, struct event_base *base, struct evhttp *http,
                        struct evconnlistener *listener, size_t max)
{
    const struct timeval every = {.tv_usec = SWEEP_MS * 1000};
    struct conns *c = need(calloc(1, sizeof *c));
    c->conns = need(calloc(max, sizeof *c->conns));
    c->max = max;
    c->call = call;
    c->listener = listener;
    accept_error = 0;
    evconnlistener_set_error_cb(listener, on_accept_error);
    c->timer = need(event_new(base, -1, EV_PERSIST, on_timer, c));
    event_add(c->timer, &every);
    evhttp_set_bevcb(http, on_connection, c);
    return c;
}

void conns_free(struct conns *c)
{
    for (size_t i = 0; i < c->n; i++)
        bufferevent_decref(c->conns[i].buffer);
    event_free(c->timer);
    free(c->conns);
    free(c);
}

static struct bufferevent *buffer_of(struct evhttp_request *request)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    return connection ? evhttp_connection_get_bufferevent(connection) : NULL;
}

static struct conn *find(struct conns *c, struct evhttp_request *request)
{
    const struct bufferevent *buffer = buffer_of(request);
    for (size_t i = 0; i < c->n; i++)
        if (c->conns[i].buffer == buffer)
            return &c->conns[i];
    return NULL;
}

void conns_begin(struct conns *c, struct evhttp_request *request)
{
    struct conn *conn = find(c, request);
    if (conn)
        conn->until_ms = 0;
}

void conns_end(struct conns *c, struct evhttp_request *request)
{
    struct conn *conn = find(c, request);
    if (!conn)
        return;
    conn->until_ms = now_ms() + CONNS_REQUEST_MS;
    conn->read_until_ms = now_ms() + CONNS_ANSWER_MS;
}

void conns_cut(struct evhttp_request *request)
{
    struct bufferevent *buffer = buffer_of(request);
    if (buffer)
        cut(buffer);
}

size_t conns_unsent(struct evhttp_request *request)
{
    struct bufferevent *buffer = buffer_of(request);
    return buffer ? evbuffer_get_length(bufferevent_get_output(buffer)) : 0;
}

size_t conns_count(const struct conns *c)
{
    return c->n;
}
