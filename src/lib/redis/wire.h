/* SPDX-License-Identifier: MIT
 *
 * A wire: one connection to a server, and the replies that come over it. It knows no loop, never waits but in
 * wire_wait(), and knows the meaning of no command. Whoever drives it asks what it waits for, tells it that this has come, and takes replies
 * out until there is none.
 *
 * Laws
 *   - A failure is told by wire_next(), after all replies that came before it. It is final.
 *   - Nothing is read that was not asked for, and nothing that has no bounds (guard.h).
 *   - A socket that is borrowed is never closed or changed.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>

#include "redis/command.h"
#include "redis/reply.h"
#include "redis/wire_progress.h"

/* An answer may take the timeout, and the timeout again for each further WIRE_STRIDE bytes that have moved: then a large
 * one comes through over a slow line, and a server that drips bytes holds nobody for ever. */
#define WIRE_STRIDE ((size_t)256 * 1024)

/* And a large request may take longer than a small one until its answer begins: nothing moves while Redis works on it. */
static inline int wire_extra_ms(size_t bytes)
{
    return (int)(bytes / ((size_t)8 * 1024));
}

/* Whose channels: of the whole server, or of a slot (Redis 7.0). */
enum wire_channels { WIRE_CLASSIC, WIRE_SHARDED };

struct wire;
struct redisContext;
struct tls_context;

/* Why a context of hiredis has no socket that a wire could use, in words that go on after its name; NULL: it has. */
const char *wire_refusal(const struct redisContext *context);

/* Either a Unix socket's path, or an address as text, and a port. */
struct wire_place {
    const char *path;
    const char *address;
    int port;
};

int wire_new(struct wire **out);
void wire_free(struct wire *w);
/* After a break, before it is freed (NULL: nothing is): what the kernel has not sent yet is never sent. It may be megabytes.
 * Over a slow line they would go on for minutes, beside the same requests over the next connection. */
void wire_throw_away(struct wire *w);

/* One of these, once. */
void wire_connect(struct wire *w, const struct wire_place *place);
void wire_take(struct wire *w, int fd);   /* connected or connecting; it is the wire's from now on */
void wire_borrow(struct wire *w, int fd); /* it stays its owner's */

/* Over TLS, once it is connected. Call this before the first wire_step(). The context must outlive the wire. */
void wire_secure(struct wire *w, struct tls_context *context, const char *server_name);

/* What it waits for on this descriptor, as for poll(2); 0: for nothing, it has failed. */
int wire_fd(const struct wire *w);
short wire_waits_for(const struct wire *w);
/* Read and write what can be, now that the descriptor is ready for this. */
void wire_step(struct wire *w, short ready);
/* Wait for something to read, and read it; this costs one system call instead of two. Only where it can be. False:
 * nothing has come for so long. */
bool wire_can_wait(const struct wire *w);
bool wire_wait(struct wire *w, int ms);
/* Must it be stepped again at once, whatever poll(2) says? */
bool wire_has_more(const struct wire *w);

/* Is it connected, so that something can be said? */
bool wire_is_ready(const struct wire *w);
/* Is it connected, and TLS not agreed on yet? Also when it has failed at that. */
bool wire_is_shaking(const struct wire *w);
/* Rises with all that ends a wait: it is connected, a reply is whole, another WIRE_STRIDE bytes have moved: they have come,
 * or have left the kernel. Of the latter wire_look() asks: call it before silence is judged. */
unsigned wire_marks(const struct wire *w);
void wire_look(struct wire *w);
/* How far it has come. */
const struct wire_progress *wire_progress(const struct wire *w);
/* How many answers are still to come. */
size_t wire_asked(const struct wire *w);

/* Say something that has so many answers. It is only noted; wire_flush() and wire_step() write. E_NOMEM: nothing has
 * happened. */
int wire_say(struct wire *w, const struct command *c, size_t answers);
/* The same for the bytes of a command, in parts. */
int wire_say_bytes(struct wire *w, const struct muster_bytes *parts, size_t n, size_t answers);
/* The bytes of what was said last, until anything else is called; and to take it back. */
struct muster_bytes wire_said(const struct wire *w);
void wire_unsay(struct wire *w, size_t answers);
/* From now on messages may come at any time; so does the confirmation of each subscription. */
int wire_subscribe(struct wire *w, enum wire_channels channels, const char *channel);
/* A channel of the whole server that was subscribed to. Its last messages, and a confirmation, may still come. */
int wire_unsubscribe(struct wire *w, const char *channel);
bool wire_has_unsent(const struct wire *w);
void wire_flush(struct wire *w);

/* The next reply, the caller's to free, or NULL if none is whole; or the failure. wire_was_pushed(): it is no answer,
 * but what a subscriber is told. */
int wire_next(struct wire *w, struct redisReply **reply);
bool wire_was_pushed(const struct wire *w);
/* Why it has failed; before that, what may be the matter if nothing comes, or "". */
const char *wire_why(const struct wire *w);

#endif
