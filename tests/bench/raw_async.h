/* SPDX-License-Identifier: MIT
 *
 * Redis without muster, on a libevent loop, with the same care as muster's own connections: the read event is added
 * only once, and what a callback sends is written at its end, without waiting for writability.
 */
#ifndef RAW_ASYNC_H
#define RAW_ASYNC_H

struct event_base;
struct redisAsyncContext;

/* Connect and log in; fail() if that goes wrong, and whenever the connection breaks. */
struct redisAsyncContext *raw_async_connect(struct event_base *base, const char *url);

/* Write what was sent since the last call. */
void raw_async_flush(struct redisAsyncContext *context);

#endif
