/* SPDX-License-Identifier: MIT
 *
 * Errands: requests that ask Redis something, on other threads. Each has its answer within HTTP_DEADLINE_MS.
 */
#ifndef WEB_ERRANDS_H
#define WEB_ERRANDS_H

#include "command.h"

struct ask;
struct errands;
struct evhttp_request;
struct http;
struct work;

/* Called on the loop when an errand has come back, also for one whose asker was told that it took too long: what it
 * changed is changed. It may add to the answer. */
typedef void errands_fn(void *arg, struct ask *a);

/* Returns an exit code: the clients for the threads cannot be made. */
int errands_new(struct errands **out, const struct call *call, errands_fn *fn, void *arg);
/* After the work has ended. */
void errands_free(struct errands *all);

/* Who answers, and who works. */
void errands_begin(struct errands *all, struct http *http, struct work *work);

/* Takes over the ask. */
void errands_send(struct errands *all, struct evhttp_request *request, struct ask *a);

/* Whoever has waited too long is told so. To be called every now and then. */
void errands_sweep(struct errands *all);

#endif
