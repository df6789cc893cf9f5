/* SPDX-License-Identifier: MIT
 *
 * How much of a queue waits, as waiting_parts.h says what counts.
 */
#ifndef WAITING_H
#define WAITING_H

#include "client/client.h"
#include "protocol/waiting_parts.h"

/* Ask for the WAITING_PARTS parts, with the next call. */
int waiting_append(struct muster_client *c, const char *queue);

/* What a caller asks who was woken, before it calls a script: how much waits, and in how many ms something becomes due
 * (-1: nothing will). Plain commands in one round trip. */
int waiting_look(struct muster_client *c, const char *queue, uint64_t *waiting, int64_t *next_due_ms);

/* What the answers say together. One that is NULL, or is no number, counts as 0. */
uint64_t waiting_sum(struct redisReply *const parts[WAITING_PARTS]);

#endif
