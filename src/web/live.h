/* SPDX-License-Identifier: MIT
 *
 * Server-sent events: all who view are told of each look, and of each event of jobs. One who does not read is dropped,
 * and comes back by itself.
 */
#ifndef WEB_LIVE_H
#define WEB_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "conns.h"
#include "look.h"

#define LIVE_MAX 64

struct live;

struct live *live_new(struct conns *conns);
void live_free(struct live *l);

/* Take over a request: it stays open. False: there are too many. */
bool live_add(struct live *l, struct evhttp_request *request, const struct sight *sight);
size_t live_count(const struct live *l);
/* How many were dropped because they did not read. */
size_t live_dropped(const struct live *l);

void live_tell_sight(struct live *l, const struct sight *sight);
/* `text` is a JSON object; NULL: what was said of this kind is not told to those who come. */
void live_tell(struct live *l, const char *kind, const char *text);

#endif
