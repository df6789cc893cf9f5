/* SPDX-License-Identifier: MIT
 *
 * How much of a queue waits. What counts is said here and in lua/include/queue/waiting.lua, and nowhere else: tasks and
 * jobs that can be taken, also of a queue that is paused or at its limit, and what came back. What is delayed or
 * depends does not wait.
 */
#ifndef WAITING_PARTS_H
#define WAITING_PARTS_H

#include <stddef.h>

#include "redis/command.h"
#include "redis/reply.h"

/* So many commands ask for it; their answers are added up. */
enum { WAITING_PARTS = 3 };

/* Says the i-th of them. The key is the caller's, and must stay until the command is sent. */
void waiting_parts_say(struct command *c, size_t i, char *key, const char *prefix, const char *queue);

#endif
