/* SPDX-License-Identifier: MIT
 *
 * What counts as progress of a wire.
 */
#include "redis/wire_progress.h"

#include "redis/wire.h"
#include "redis/wire_socket.h"

/* The kernel is asked once for so much: what is not asked for may have been answered before, and must never add up to a
 * mark. */
#define ASK_EVERY (WIRE_STRIDE / 4)

void wire_progress_mark(struct wire_progress *p)
{
    p->marks++;
}

void wire_progress_replied(struct wire_progress *p, bool is_last)
{
    p->marks++;
    p->moved = 0;
    p->replied = p->begun;
    p->begun = 0;
    if (is_last)
        p->held = p->unasked = 0;
}

static void count(struct wire_progress *p, size_t n)
{
    for (p->moved += n; p->moved >= WIRE_STRIDE; p->moved -= WIRE_STRIDE)
        p->marks++;
}

void wire_progress_received(struct wire_progress *p, size_t n)
{
    p->received_bytes += n;
    p->begun += n;
    count(p, n);
}

/* A Unix socket counts what it needs for them, which is more. */
void wire_progress_look(struct wire_progress *p, int fd)
{
    const size_t held = wire_socket_held(fd);
    p->unasked = 0;
    if (held >= p->held)
        return;
    count(p, p->held - held);
    p->held = held;
}

void wire_progress_sent(struct wire_progress *p, int fd, size_t n)
{
    p->sent_bytes += n;
    p->held += n;
    p->unasked += n;
    if (p->unasked >= ASK_EVERY)
        wire_progress_look(p, fd);
}
