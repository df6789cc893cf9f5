/* SPDX-License-Identifier: MIT
 *
 * What both kinds of connection read from a server's answers while they greet it.
 */
#ifndef GREETING_H
#define GREETING_H

#include "redis/reply.h"

/* The database that the connection has selected, by the answer to CLIENT INFO; -1: the answer does not say. */
int greeting_database(const struct redisReply *info);

#endif
