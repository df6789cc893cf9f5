/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking connection share: its state, and what one of them asks of another.
 *
 *   redis.c         connecting, greeting, commands and their answers
 *   redis_script.c  scripts
 *   redis_listen.c  the listener
 */
#ifndef REDIS_PRIVATE_H
#define REDIS_PRIVATE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "redis/guard.h"
#include "redis/redis.h"

struct redis {
    redisContext *context; /* NULL: not connected */
    bool is_borrowed;      /* the context is the program's */
    struct guard guard;    /* of a context that is not */
    struct url url;
    char *prefix;
    char *format_key;
    enum redis_format format;
    void (*selected)(void *arg, int db);
    void *arg;
    int timeout_ms;
    size_t unread; /* answers that were asked for and not read */
    bool is_greeted;
    bool is_format_known;
    char error[512];

    /* A listener's: */
    struct redis *listens_for; /* the connection that it belongs to; NULL: this is no listener */
    int64_t sign_due_ms;       /* when it asks for a sign of life or, having asked, gives up */
    bool has_asked;
};

/* Where it is connected to, for people. */
void redis_describe(const struct redis *r, char *out, size_t size);

/* Connect and greet, if it is not connected. */
int redis_connect(struct redis *r);

/* Send on a sound connection, without waiting. */
int redis_send(struct redis *r, struct command *c);

/* Tell what a failed context means, and drop it. */
int redis_break(struct redis *r);

#endif
