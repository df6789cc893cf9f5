/* SPDX-License-Identifier: MIT
 *
 * Who may ask: the name by which the browser calls this host, the site that a request comes from, the token, and the
 * secret that every change must show.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>

struct evhttp_request;
struct web_options;

#define GUARD_SECRET_SIZE 44

struct guard {
    const struct web_options *options;
    char csrf[GUARD_SECRET_SIZE], session[GUARD_SECRET_SIZE];
};

/* Draws the secrets. False: the system gives no random bytes. */
bool guard_init(struct guard *g, const struct web_options *o);

/* Is the request for this host, and does it come from this site? NULL, or why not. */
const char *guard_refuse_site(const struct guard *g, struct evhttp_request *request);

/* Is it by one who knows the token? True too if none is needed. */
bool guard_knows(const struct guard *g, struct evhttp_request *request);
bool guard_is_token(const struct guard *g, const char *token);

/* Does a change show the secret? */
bool guard_has_csrf(const struct guard *g, struct evhttp_request *request);

/* The same text, in a time that tells nothing of where they differ. */
bool guard_is_same(const char *a, const char *b);

#endif
