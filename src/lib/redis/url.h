/* SPDX-License-Identifier: MIT
 *
 * Where a Redis is, and as whom to talk to it.
 */
#ifndef URL_H
#define URL_H

#include <muster/client.h>

#define URL_DEFAULT "redis://127.0.0.1:6379"

/* Either `path` (a Unix socket) or `host` is set. The url owns all strings; `user` and `password` may be NULL. */
struct url {
    char *host;
    char *path;
    char *user;
    char *password;
    int port;
    int db;
};

/* Parse. A NULL text means MUSTER_URL, or the default if that is not set. On an error `out` is empty, and `*why` is a
 * static string. */
int url_parse(struct url *out, const char *text, const char **why);
/* What is wrong with the option `url`, or with MUSTER_URL if that counts, in words that name it and not its value,
 * which may hold a password; NULL: nothing. */
const char *url_check_option(const char *text);
int url_copy(struct url *out, const struct url *from);
void url_clear(struct url *url);

/* "127.0.0.1:6379" or the socket's path: for people, without the password. */
void url_describe(const struct url *url, char *out, size_t size);

#endif
