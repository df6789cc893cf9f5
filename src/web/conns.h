/* SPDX-License-Identifier: MIT
 *
 * The connections of the HTTP server, which libevent does not count: at most so many at once, and none that is idle or
 * drips for ever. Beyond the bound nothing is accepted until one ends; new ones wait in the kernel's queue meanwhile. So
 * they do where the system lacks something, which is told once until one is accepted.
 */
#ifndef WEB_CONNS_H
#define WEB_CONNS_H

#include <stdbool.h>
#include <stddef.h>

struct call;
struct conns;
struct event_base;
struct evconnlistener;
struct evhttp;
struct evhttp_request;

/* From its acceptance, or its last answer, a connection has so long to bring a whole request. */
#define CONNS_REQUEST_MS 15000
/* And so long to read an answer: the time for the next request begins when it is sent. */
#define CONNS_ANSWER_MS 60000
/* So much of what it sends is kept until it is looked at; the rest stays in the kernel. A request must fit. */
#define CONNS_INPUT_MAX ((size_t)2 * 1024 * 1024)

/* At most `max` connections. */
struct conns *conns_new(const struct call *call, struct event_base *base, struct evhttp *http,
                        struct evconnlistener *listener, size_t max);
void conns_free(struct conns *c);

/* A whole request has come: it may be under way for as long as it takes. */
void conns_begin(struct conns *c, struct evhttp_request *request);
/* It was answered: the next one has its time. */
void conns_end(struct conns *c, struct evhttp_request *request);

/* End the connection of a request; libevent notices. */
void conns_cut(struct evhttp_request *request);

/* How many bytes wait to be sent to the one who asked. */
size_t conns_unsent(struct evhttp_request *request);

size_t conns_count(const struct conns *c);

#endif
