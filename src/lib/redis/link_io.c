/* SPDX-License-Identifier: MIT
 *
 * A link's wire on the loop: reading and writing.
 *
 * What was said during a turn of the loop is written at the end of that turn, by `flusher`. Only when the socket is full
 * is writability waited for.
 */
#include <hiredis/hiredis.h>
#include <muster/error.h>
#include <poll.h>

#include "redis/link_private.h"

static void free_event(struct event **event)
{
    if (*event)
        event_free(*event);
    *event = NULL;
}

static int wait_for(struct event *event, bool is_wanted)
{
    return is_wanted ? event_add(event, NULL) : event_del(event);
}

/* Wait for what the wire waits for. */
static void wait_on(struct link *l)
{
    short events = wire_waits_for(l->wire);
    if (wait_for(l->reader, events & POLLIN) != 0 || wait_for(l->writer, events & POLLOUT) != 0)
        link_break(l, MUSTER_E_NOMEM, "out of memory");
}

/* A failure is told by the loop, never from inside of what noticed it; what TLS holds, no descriptor tells. */
static void come_back(struct link *l)
{
    if (wire_waits_for(l->wire) == 0 || wire_has_more(l->wire))
        event_active(l->flusher, EV_TIMEOUT, 1);
}

/* Tell what was read, up to a break. */
static void hear(struct link *l)
{
    while (!l->is_break_due) {
        struct redisReply *reply;
        int err = wire_next(l->wire, &reply);
        if (err != MUSTER_OK)
            link_break(l, err, wire_why(l->wire));
        l->lacked_memory = err == MUSTER_E_NOMEM;
        if (!reply)
            break;
        l->is_reply_kept = false;
        l->hears(l, reply);
        if (!l->is_reply_kept)
            freeReplyObject(reply);
    }
}

static void step(struct link *l, short ready)
{
    bool was_ready = wire_is_ready(l->wire);
    if (l->is_break_due)
        return;
    wire_step(l->wire, ready);
    link_note_sign(l);
    if (!was_ready && wire_is_ready(l->wire))
        l->hears(l, NULL);
    hear(l);
    link_note_sign(l);
    wait_on(l);
    if (wire_has_more(l->wire))
        event_active(l->flusher, EV_TIMEOUT, 1);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    step(arg, POLLIN);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    step(arg, POLLOUT);
}

static void on_flusher(evutil_socket_t fd, short what, void *arg)
{
    struct link *l = arg;
    (void)fd, (void)what;
    l->is_flush_due = false;
    if (l->wire)
        step(l, 0);
}

void link_io_flush_later(struct link *l)
{
    if (!l->is_flush_due)
        event_active(l->flusher, EV_TIMEOUT, 1);
    l->is_flush_due = true;
}

void link_io_flush(struct link *l)
{
    if (!l->wire)
        return;
    wire_flush(l->wire);
    wait_on(l);
    come_back(l);
}

void link_flush(struct link *l)
{
    if (l->is_flush_due)
        link_io_flush(l);
}

int link_io_attach(struct link *l, struct wire *wire)
{
    int fd = wire_fd(wire);
    l->wire = wire;
    l->marks = wire_marks(wire);
    l->reader = event_new(l->base, fd, EV_READ | EV_PERSIST, on_readable, l);
    l->writer = event_new(l->base, fd, EV_WRITE | EV_PERSIST, on_writable, l);
    if (!l->reader || !l->writer) {
        link_io_detach(l);
        return MUSTER_E_NOMEM;
    }
    wait_on(l);
    come_back(l);
    return MUSTER_OK;
}

void link_io_detach(struct link *l)
{
    free_event(&l->reader);
    free_event(&l->writer);
    wire_free(l->wire);
    l->wire = NULL;
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
