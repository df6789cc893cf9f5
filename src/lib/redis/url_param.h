/* SPDX-License-Identifier: MIT
 *
 * The parameters of a URL: ?name=value&name=value.
 */
#ifndef URL_PARAM_H
#define URL_PARAM_H

#include "redis/url.h"

/* Each one: its name, where it lies in struct url, how it is read, and what it has no effect without. */
#define URL_PARAMS(X)                                       \
    X(tls_ca, tls.ca, TEXT, TLS)                            \
    X(tls_cert, tls.cert, TEXT, TLS)                        \
    X(tls_key, tls.key, TEXT, TLS)                          \
    X(tls_server_name, tls.server_name, TEXT, TLS)          \
    X(tls_insecure, tls.is_insecure, FLAG, TLS)             \
    X(sentinel_user, sentinel_user, TEXT, SENTINEL)         \
    X(sentinel_password, sentinel_password, TEXT, SENTINEL) \
    X(replicas, replicas, REPLICAS, ANY)                    \
    X(fsync, fsync, FLAG, ANY)                              \
    X(db, db, DB, UNIX)                                     \
    X(sentinelMasterId, master, TEXT, LETTUCE)

/* How the URL is written. */
enum url_form {
    URL_FORM_UNIX,    /* the database is a parameter, because what follows the host is a path */
    URL_FORM_PATH,    /* the database, and a sentinel's master before it, are the path */
    URL_FORM_LETTUCE, /* a sentinel's master is a parameter, and a login may be a password alone */
};

/* Read what follows the '?', or a database's number. Why not, or NULL. */
const char *url_param_read(struct url *url, const char *text, enum url_form form);
const char *url_param_read_db(struct url *url, const char *text, size_t len);

#endif
