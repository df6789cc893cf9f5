/* SPDX-License-Identifier: MIT
 *
 * Who may ask: the name by which the browser calls this host, the site that a request comes from, the token, and the
 * secret that every change must show.
 */
#ifndef WEB_GUARD_H
#define WEB_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp_request;

#define GUARD_SECRET_SIZE 44

/*
 *   host, port    where to listen
 *   token         who shows it may come in; NULL: everybody, which is for loopback only
 *   names         what else a browser may call this host, `n_names` of them
 *   unknown_host  what one is told who calls it otherwise
 *   connections   how many at once
 */
struct guard_place {
    const char *host;
    int port;
    const char *token;
    const char *const *names;
    size_t n_names;
    const char *unknown_host;
    size_t connections;
};

struct guard {
    const struct guard_place *place;
    char csrf[GUARD_SECRET_SIZE], session[GUARD_SECRET_SIZE];
};

/* Draws the secrets. False: the system gives no random bytes. */
bool guard_init(struct guard *g, const struct guard_place *place);

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
