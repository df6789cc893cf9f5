/* SPDX-License-Identifier: MIT
 *
 * How much of a queue waits. What counts is said here and in lua/include/queue/waiting.lua, and nowhere else: tasks and
 * jobs that can be taken, also of a queue that is paused or at its limit, and what came back. What is delayed or
 * depends does not wait.
 */
#ifndef WAITING_H
#define WAITING_H

#include "client/client.h"

/* How many answers waiting_append() asks for. */
enum { WAITING_PARTS = 3 };

/* Ask for the parts, with the next call. */
int waiting_append(struct muster_client *c, const char *queue);

/* What a caller asks who was woken, before it calls a script: how much waits, and in how many ms something becomes due
 * (-1: nothing will). Plain commands in one round trip. */
int waiting_look(struct muster_client *c, const char *queue, uint64_t *waiting, int64_t *next_due_ms);

/* What the answers say together. One that is NULL, or is no number, counts as 0. */
uint64_t waiting_sum(struct redisReply *const parts[WAITING_PARTS]);

#endif
