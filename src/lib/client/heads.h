/* SPDX-License-Identifier: MIT
 *
 * Reading for people: of what is long only the beginning. See heads.c.
 */
#ifndef HEADS_H
#define HEADS_H

#include "client/client.h"

/* Nothing is cut. */
#define HEADS_WHOLE ((size_t)0)

/* As client_ask(), but a text of more than `most` bytes is cut by Redis: reply_head() reads it. `words` begin with a
 * command that reads and its key. Of what comes in several answers an error leaves nothing. */
int heads_ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words);

/* Of the records of n jobs these fields, up to NULL, or all of {field, value, ...} if `fields` is NULL; an id may be
 * NULL. What cannot be read is only written to the log, and stays NULL. */
int heads_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
               struct redisReply **replies);

#endif
