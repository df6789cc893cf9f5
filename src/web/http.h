/* SPDX-License-Identifier: MIT
 *
 * An HTTP server on a libevent loop: the listener with its bound of connections, the limits of a request, and the checks
 * that each request passes before anybody serves it. Who serves it decides about the token, because some paths are open.
 */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include <stddef.h>

#include "command.h"
#include "guard.h"

struct cJSON;
struct event_base;
struct evhttp_request;
struct http;

/* Whoever asks has an answer within this time, whatever Redis does. */
#define HTTP_DEADLINE_MS 10000

/* Called for a request whose path begins with a slash, and which is for this host. It is answered by one of the calls
 * below, now or later. `query` is NULL if there is none. */
typedef void http_fn(void *arg, struct evhttp_request *request, const char *path, const char *query);

/* Listen. `place` must live as long. NULL: it cannot, which is said in a line. */
struct http *http_new(const struct call *call, struct event_base *base, const struct guard_place *place, http_fn *fn,
                      void *arg);
void http_free(struct http *h);

/* Where it listens: "http://127.0.0.1:8379/". To be freed. */
char *http_url(const struct http *h);

const struct guard *http_guard(const struct http *h);
struct conns *http_conns(const struct http *h);

/* Answer. The bytes are copied; the object is deleted. */
void http_reply(struct http *h, struct evhttp_request *request, int status, const char *type, const char *body,
                size_t len);
void http_reply_json(struct http *h, struct evhttp_request *request, int status, struct cJSON *object);
void http_refuse(struct http *h, struct evhttp_request *request, int status, const char *error, const char *message);

#endif
