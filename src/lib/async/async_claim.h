/* SPDX-License-Identifier: MIT
 *
 * Before the first write a namespace gets its format, if it has none.
 */
#ifndef ASYNC_CLAIM_H
#define ASYNC_CLAIM_H

#include "redis/command.h"
#include "redis/reply.h"

/* `key` is the caller's, of KEY_MAX bytes, and must stay until the command is sent. */
void async_claim_say(struct command *c, char *key, const char *prefix);
/* MUSTER_OK: the namespace has the format of this library. Otherwise words in `why`. */
int async_claim_hear(const struct redisReply *reply, const char *prefix, char *why, size_t size);

#endif
