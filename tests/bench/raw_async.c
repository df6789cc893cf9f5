/* SPDX-License-Identifier: MIT
 *
 * hiredis on libevent. These connections end with their process.
 */
#include "raw_async.h"

#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <muster/error.h>
#include <stdlib.h>

#include "bench.h"
#include "redis/url.h"

struct wire {
    redisAsyncContext *context;
    struct event *reader, *writer;
    int connected;
};

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct wire *w = arg;
    (void)fd, (void)what;
    redisAsyncHandleRead(w->context);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct wire *w = arg;
    (void)fd, (void)what;
    redisAsyncHandleWrite(w->context);
}

/* Waits for writability until it is connected and when the socket is full. Otherwise the caller flushes. */
static void hook_add_write(void *arg)
{
    struct wire *w = arg;
    if (!w->connected)
        event_add(w->writer, NULL);
}

static void hook_nothing(void *arg)
{
    (void)arg;
}

static void on_connect(const redisAsyncContext *context, int status)
{
    struct wire *w = context->ev.data;
    if (status != REDIS_OK)
        fail("no Redis: %s", context->errstr);
    w->connected = 1;
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    (void)status;
    fail("Redis went away: %s", context->errstr);
}

static void on_greeted(redisAsyncContext *context, void *reply, void *arg)
{
    const struct redisReply *r = reply;
    (void)context, (void)arg;
    if (!r || r->type == REDIS_REPLY_ERROR)
        fail("Redis refused: %s", r ? r->str : "no answer");
}

static void greet(redisAsyncContext *context, const struct url *url)
{
    if (url->password && url->user)
        redisAsyncCommand(context, on_greeted, NULL, "AUTH %s %s", url->user, url->password);
    else if (url->password)
        redisAsyncCommand(context, on_greeted, NULL, "AUTH %s", url->password);
    if (url->db > 0)
        redisAsyncCommand(context, on_greeted, NULL, "SELECT %d", url->db);
    redisAsyncCommand(context, on_greeted, NULL, "PING");
}

struct redisAsyncContext *raw_async_connect(struct event_base *base, const char *text)
{
    struct url url;
    const char *why;
    struct wire *w = calloc(1, sizeof *w);
    if (!w || url_parse(&url, text, &why) != MUSTER_OK)
        fail("no connection to make");
    redisAsyncContext *context =
        url.path ? redisAsyncConnectUnix(url.path) : redisAsyncConnect(url.nodes[0].host, url.nodes[0].port);
    if (!context || context->err)
        fail("no Redis: %s", context ? context->errstr : "out of memory");
    w->context = context;
    w->reader = event_new(base, context->c.fd, EV_READ | EV_PERSIST, on_readable, w);
    w->writer = event_new(base, context->c.fd, EV_WRITE, on_writable, w);
    if (!w->reader || !w->writer || event_add(w->reader, NULL))
        fail("no memory");
    context->ev.data = w;
    context->ev.addRead = context->ev.delRead = context->ev.delWrite = context->ev.cleanup = hook_nothing;
    context->ev.addWrite = hook_add_write;
    redisAsyncSetConnectCallback(context, on_connect);
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    greet(context, &url);
    url_clear(&url);
    return context;
}

void raw_async_flush(struct redisAsyncContext *context)
{
    redisAsyncHandleWrite(context);
}
