/* SPDX-License-Identifier: MIT
 *
 * The options of a client, blocking or not: what is allowed, and what they mean.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <muster/client.h>

#include "redis/url.h"

/* With the defaults in place. `prefix` and `redis` are borrowed. */
struct client_options {
    struct url url;
    const char *prefix;
    int timeout_ms;
    size_t max_task_len;
    struct redisContext *redis;
};

/* MUSTER_OK, E_INVALID or E_NOMEM. client_options_clear() must follow in any case. muster_client_options_check() says
 * what is wrong. */
int client_options_read(struct client_options *out, const struct muster_client_options *options);
void client_options_clear(struct client_options *o);

#endif
