/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of leaving a queue: worker "w", which serves "q" and "r" and holds what it gets until the test
 * ends it, and how it leaves "q".
 */
#ifndef TEST_LEAVING_H
#define TEST_LEAVING_H

#include "live_worker.h"
#include "proxy.h"

/* No heartbeat comes within a test. */
#define LEAVING_TTL_MS 3600000

extern const struct worker_spec leaving_holder;

/* Started and idle; or through a proxy. */
struct live_worker *leaving_hold(struct scene *s, int hands, int prefetch);
struct live_worker *leaving_hold_through(struct scene *s, const struct proxy *proxy, int ttl_ms);

/* Leave "q" and wait until it is done; serve it again. */
void leaving_leave(struct scene *s, struct live_worker *w);
int leaving_serve(struct live_worker *w);

/* What waits in "q", by LRANGE, so the next out comes last; the number of such events; and wait until "w" holds `n`. */
void leaving_assert_list(struct scene *s, const char *expected);
size_t leaving_events(struct scene *s, enum muster_event_type type);
void leaving_await_held(struct scene *s, int64_t n);

#endif
