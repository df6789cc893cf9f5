/* SPDX-License-Identifier: MIT
 *
 * A struct url from the options of a client or a worker: their `url`, and what they say beside it.
 */
#ifndef URL_MAKE_H
#define URL_MAKE_H

#include "redis/url.h"

/* The options that a URL has as parameters of the same names: the name, where it lies in struct url, how it is read,
 * and what it has no effect without. */
#define URL_OPTIONS(X)                                      \
    X(tls_ca, tls.ca, TEXT, TLS)                            \
    X(tls_cert, tls.cert, TEXT, TLS)                        \
    X(tls_key, tls.key, TEXT, TLS)                          \
    X(tls_server_name, tls.server_name, TEXT, TLS)          \
    X(tls_insecure, tls.is_insecure, FLAG, TLS)             \
    X(sentinel_user, sentinel_user, TEXT, SENTINEL)         \
    X(sentinel_password, sentinel_password, TEXT, SENTINEL) \
    X(fsync, fsync, FLAG, ANY)

#define URL_OPTION_TEXT const char *
#define URL_OPTION_FLAG int
#define URL_OPTION_FIELD(name, where, how, what) URL_OPTION_##how name;
struct url_options {
    const char *url, *user, *password;
    int replicas, replicas_ms;
    URL_OPTIONS(URL_OPTION_FIELD)
};

/* The initializer, from the program's struct, whatever its kind. */
#define URL_OPTION_COPY(name, where, how, what) .name = o->name,
#define URL_OPTIONS_OF_O                                                                  \
    {                                                                                     \
        .url = o->url, .user = o->user, .password = o->password, .replicas = o->replicas, \
        .replicas_ms = o->replicas_ms, URL_OPTIONS(URL_OPTION_COPY)                       \
    }

/* As url_parse(), with the options, which win over the URL's parameters. */
int url_make(struct url *out, const struct url_options *o);
/* For a connection that is handed in: it goes nowhere, and tells only what must be confirmed. */
int url_make_handed_in(struct url *out, const struct url_options *o);

/* What is wrong with the options, in words that name the option and not its value, which may be or hold a password;
 * NULL: nothing. */
const char *url_make_check(const struct url_options *o);
const char *url_make_check_handed_in(const struct url_options *o);

#endif
