/* SPDX-License-Identifier: MIT
 *
 * Is Redis well? A write is tried, or a read, at most once a second, however many ask; whoever asks meanwhile is told
 * the same. A thread of its own does it, so that neither a long list nor a Redis that stands still keeps a probe waiting.
 */
#ifndef WEB_HEALTH_H
#define WEB_HEALTH_H

#include <muster/client.h>

#include "command.h"

struct evhttp_request;
struct health;
struct http;
struct work;

struct health *health_new(const struct call *call, enum muster_probe what, struct http *http, struct work *work);
/* End the thread; then, when the work is finished that it has left, the rest. */
void health_stop(struct health *h);
/* All who wait are told that the server ends. */
void health_end(struct health *h);
void health_free(struct health *h);

/* Answer now, or when it is known. */
void health_ask(struct health *h, struct evhttp_request *request);

/* Whoever has waited too long is told that Redis has not answered. To be called every now and then. */
void health_sweep(struct health *h);

#endif
