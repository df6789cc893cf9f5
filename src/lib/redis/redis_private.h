/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking connection share: its state, and what one of them asks of another.
 *
 *   redis.c          commands and their answers, waiting, failures
 *   redis_connect.c  connecting and greeting
 *   redis_script.c   scripts
 *   redis_listen.c   the listener
 */
#ifndef REDIS_PRIVATE_H
#define REDIS_PRIVATE_H

#include <stdbool.h>

#include "redis/redis.h"
#include "redis/tls.h"
#include "redis/wire.h"

struct redis {
    struct wire *wire; /* NULL: not connected */
    struct redisContext *borrowed;
    struct url url;
    struct tls_context *tls; /* made when it is first needed */
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

/* ---- redis.c ---- */

/* Where it is connected to, for people. */
void redis_describe(const struct redis *r, char *out, size_t size);

/* Forget the connection. A borrowed one on which something is still to come is of no use any more. */
void redis_drop(struct redis *r);

/* The connection has failed, or has given no answer in time: tell it, and drop it. Returns err. */
int redis_break(struct redis *r, int err, const char *why);

/* Wait until the wire can read or write, and let it; at most until clock_ms() is `until_ms`. False: nothing came. */
bool redis_wait(struct redis *r, int64_t until_ms);

/* Send on a sound connection, without waiting. */
int redis_send(struct redis *r, struct command *c);

/* The next answer, whatever it says; it is waited for. */
int redis_answer(struct redis *r, struct redisReply **reply);

/* ---- redis_connect.c ---- */

/* Connect and greet, if it is not connected. */
int redis_connect(struct redis *r);

#endif
