/* SPDX-License-Identifier: MIT
 *
 * Answers of HTTP, with the headers that all of them have.
 */
#ifndef WEB_SERVER_REPLY_H
#define WEB_SERVER_REPLY_H

#include <stddef.h>

struct evhttp_request;

#define SERVER_JSON "application/json; charset=utf-8"

/* What keeps a browser from doing more with an answer than showing it. */
void server_headers(struct evhttp_request *request);

/* The bytes are copied. To HEAD only the headers go. */
void server_reply(struct evhttp_request *request, int status, const char *type, const char *body, size_t len);

#endif
