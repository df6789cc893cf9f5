/* SPDX-License-Identifier: MIT
 *
 * A socket with a buffer on each side, for clients that keep many requests unanswered. Whatever goes wrong ends the
 * player.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stddef.h>

#define STREAM_MAX (1 << 20)

/* What is read and not yet consumed is `in` from `at` to `end`. */
struct stream {
    int fd;
    size_t at, end, n_out;
    char in[STREAM_MAX], out[STREAM_MAX];
};

/* `address` is a socket's path, or HOST:PORT with numbers. */
void stream_open(struct stream *s, const char *address);

/* To be sent with the next flush. */
void stream_put(struct stream *s, const void *bytes, size_t len);
void stream_flush(struct stream *s);

/* The next `len` bytes, if need be waited for; valid until the next call. Flushes before it waits. */
const char *stream_take(struct stream *s, size_t len);

/* The next line, without its CRLF and with a NUL. */
const char *stream_take_line(struct stream *s);

#endif
