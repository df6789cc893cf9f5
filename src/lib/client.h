/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking client share: the handle, and how a call fails.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "redis_blocking.h"
#include "scripts.h"

struct muster_client {
    struct redis *redis;
    char prefix[MUSTER_PREFIX_MAX + 1];
    struct script_root root;
    size_t max_task_len;
};

/* MUSTER_OK, or E_INVALID with the reason as the client's error. */
int client_check_queue(struct muster_client *c, const char *queue);

/* One command of words: the name, a key, and more words up to NULL. */
int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words);

#endif
