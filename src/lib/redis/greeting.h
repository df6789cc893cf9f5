/* SPDX-License-Identifier: MIT
 *
 * What both kinds of connection read from a server's answers while they greet it.
 */
#ifndef GREETING_H
#define GREETING_H

#include <stddef.h>

#include "redis/reply.h"

/* What a server before 6.0 answers to HELLO, and what that means. */
#define GREETING_UNKNOWN "ERR unknown command"
#define GREETING_NEEDED "muster needs Redis 7.0 or later"
#define GREETING_NO_HELLO "the server does not know HELLO: " GREETING_NEEDED

/* Both kinds of connection say HELLO: every user may, and the answer has the server's version. Why the server is of no
 * use, for people, in `out`; NULL: it will do. */
const char *greeting_refusal(const struct redisReply *hello, char *out, size_t size);
/* Is it a Redis, but an older one? Trying again does not help. */
bool greeting_is_too_old(const struct redisReply *hello);

/* The database that the connection has selected, by the answer to CLIENT INFO; -1: the answer does not say. */
int greeting_database(const struct redisReply *info);

#endif
