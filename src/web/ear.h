/* SPDX-License-Identifier: MIT
 *
 * Listens to the events of jobs while somebody views. Redis publishes them only then. A user who may not write cannot
 * listen: a listener has to write that it listens.
 */
#ifndef WEB_EAR_H
#define WEB_EAR_H

#include <stdbool.h>

#include "command.h"

struct ear;
struct event_base;

/* Called on the loop with a JSON object: "job", an event; "hearing", whether events are heard, whenever that changes, and
 * NULL when nothing can be said of it any more, because nobody views. */
typedef void ear_fn(void *arg, const char *kind, const char *text);

struct ear *ear_new(const struct call *call, struct event_base *base, ear_fn *fn, void *arg);
void ear_free(struct ear *e);

void ear_want(struct ear *e, bool is_wanted);

#endif
