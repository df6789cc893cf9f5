/* SPDX-License-Identifier: MIT
 *
 * The parameters of a URL, ?name=value&name=value, and the options of the same names.
 */
#ifndef URL_PARAM_H
#define URL_PARAM_H

#include "redis/url_make.h"

/* Those that a URL alone has; the others, URL_OPTIONS, are options of a client and a worker, too. */
#define URL_PARAMS(X)                                                 \
    X(replicas, replicas, REPLICAS, ANY)                              \
    X(password_file, password_file, TEXT, ANY)                        \
    X(sentinel_password_file, sentinel_password_file, TEXT, SENTINEL) \
    X(db, db, DB, UNIX)                                               \
    X(sentinelMasterId, master, TEXT, LETTUCE)

/* How the URL is written. */
enum url_form {
    URL_FORM_UNIX,    /* the database is a parameter, because what follows the host is a path */
    URL_FORM_PATH,    /* the database, and a sentinel's master before it, are the path */
    URL_FORM_LETTUCE, /* a sentinel's master is a parameter, and a login may be a password alone */
};

/* Read what follows the '?', or a database's number. Why not, or NULL. */
const char *url_param_read(struct url *url, const char *text, enum url_form form);
/* The same by options, which win over what the URL says. */
const char *url_param_apply(struct url *url, const struct url_options *o);
const char *url_param_read_db(struct url *url, const char *text, size_t len);

#endif
