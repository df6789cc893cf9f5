/* SPDX-License-Identifier: MIT
 *
 * The beginnings of what is long, for a user who may run no script: see heads.h, which calls these.
 */
#ifndef HEADS_PLAIN_H
#define HEADS_PLAIN_H

#include "client/client.h"

/* A text of a hash that has more bytes is not sent: of it there is the length. */
#define HEADS_SENT_MAX ((size_t)512 * 1024)

/* As heads_ask(). `*reply`: what there is of it already, which is freed; or NULL. */
int heads_plain_ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words);

/* As heads_jobs(). */
int heads_plain_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
                     struct redisReply **replies);

#endif
