/* SPDX-License-Identifier: MIT
 *
 * The socket of a link: hiredis' hooks into the loop, reading and writing. link_state.c says why it is not hiredis' own
 * libevent adapter.
 */
#include <fcntl.h>
#include <muster/error.h>

#include "base/clock.h"
#include "redis/link_private.h"
#include "redis/sigpipe.h"

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->last_byte_ms = clock_ms();
    if (l->context)
        redisAsyncHandleRead(l->context);
}

void link_io_write(struct link *l)
{
    struct sigpipe hold;
    if (!l->context)
        return;
    l->is_flushing = true;
    sigpipe_hold(&hold);
    redisAsyncHandleWrite(l->context);
    sigpipe_release(&hold, l->context == NULL);
    l->is_flushing = false;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->last_byte_ms = clock_ms();
    link_io_write(l);
}

static void on_flusher(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->is_flush_due = false;
    link_io_write(l);
}

void link_flush(struct link *l)
{
    if (l->is_flush_due && l->is_connected && !l->is_flushing)
        link_io_write(l);
}

/* ---- hooks ---- */

static void hook_add_read(void *arg)
{
    struct link *l = arg;
    if (l->reader)
        event_add(l->reader, NULL);
}

static void hook_del_read(void *arg)
{
    struct link *l = arg;
    if (l->reader)
        event_del(l->reader);
}

static void hook_add_write(void *arg)
{
    struct link *l = arg;
    if (!l->is_connected || l->is_flushing) {
        if (l->writer)
            event_add(l->writer, NULL);
    } else if (!l->is_flush_due) {
        l->is_flush_due = true;
        event_active(l->flusher, EV_TIMEOUT, 1);
    }
}

static void hook_del_write(void *arg)
{
    struct link *l = arg;
    if (l->writer)
        event_del(l->writer);
}

static void free_event(struct event **event)
{
    if (*event)
        event_free(*event);
    *event = NULL;
}

static void hook_cleanup(void *arg)
{
    struct link *l = arg;
    free_event(&l->reader);
    free_event(&l->writer);
}

int link_io_attach(struct link *l, redisAsyncContext *context)
{
    l->reader = event_new(l->base, context->c.fd, EV_READ | EV_PERSIST, on_readable, l);
    l->writer = event_new(l->base, context->c.fd, EV_WRITE | EV_PERSIST, on_writable, l);
    if (!l->reader || !l->writer) {
        hook_cleanup(l);
        return MUSTER_E_NOMEM;
    }
    fcntl(context->c.fd, F_SETFD, FD_CLOEXEC); /* a child of the program must not keep the connection open */
    link_guard(l, context);
    context->data = l;
    context->ev.data = l;
    context->ev.addRead = hook_add_read;
    context->ev.delRead = hook_del_read;
    context->ev.addWrite = hook_add_write;
    context->ev.delWrite = hook_del_write;
    context->ev.cleanup = hook_cleanup;
    l->context = context;
    l->is_connected = (context->c.flags & REDIS_CONNECTED) != 0;
    event_add(l->reader, NULL);
    return MUSTER_OK;
}

int link_io_init(struct link *l)
{
    l->flusher = event_new(l->base, -1, 0, on_flusher, l);
    return l->flusher ? MUSTER_OK : MUSTER_E_NOMEM;
}

void link_io_clear(struct link *l)
{
    free_event(&l->flusher);
}
