/* SPDX-License-Identifier: MIT
 *
 * The pages, and signing in and out.
 */
#ifndef WEB_SITE_H
#define WEB_SITE_H

struct evhttp_request;
struct http;
struct web_page;

/* NULL: there is none. */
const struct web_page *site_find(const char *path);
void site_serve(struct http *h, struct evhttp_request *request, const struct web_page *page);
void site_go_to(struct http *h, struct evhttp_request *request, const char *where);

/* The form with the token: who knows it has the cookie from then on. */
void site_log_in(struct http *h, struct evhttp_request *request);
void site_log_out(struct http *h, struct evhttp_request *request);

#endif
