/* SPDX-License-Identifier: MIT
 *
 * What the files of the blocking client share: the handle, and how a call fails.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "protocol/script.h"
#include "redis/redis.h"

struct muster_client {
    struct redis *redis;
    char prefix[MUSTER_PREFIX_MAX + 1];
    struct script_root root;
    size_t max_task_len;
    char busy_queue[MUSTER_QUEUE_MAX + 1]; /* nobody was idle there when this client last enqueued one task */
};

/* E_INVALID, with the reason as the client's error. */
int client_refuse(struct muster_client *c, const char *why);
/* MUSTER_OK, or what is wrong with it, with the reason as the client's error. */
int client_check_queue(struct muster_client *c, const char *queue);
int client_check_task(struct muster_client *c, const struct muster_bytes *task);

/* One command of words: the name, a key, and more words up to NULL. */
int client_ask(struct muster_client *c, struct redisReply **reply, const char *const *words);

/* The same, to be sent with the next call; its answer is read with redis_read(). */
int client_append(struct muster_client *c, const char *const *words);

/* A script whose command was built; the command is cleared. `*reply` is to be freed, whatever is returned. */
int client_run(struct muster_client *c, struct command *command, struct redisReply **reply);

/* Reads n answers of what was appended for one row. A refused one (a damaged key) is only said in the log, and NULL.
 * All are read, also behind a failure: an answer left unread would be taken for the next call's. */
int client_read_parts(struct muster_client *c, const char *of, struct redisReply **replies, size_t n);

/* The queue that field i of a worker's record names; NULL if it names none, or one that the worker has left. */
const char *client_queue_field(const struct redisReply *record, size_t i);

/* Calls fn for each member of a zset in its order, in pages; a member is text with its NUL. */
typedef int client_member_fn(struct muster_client *c, const char *member, void *arg, int *stop);
int client_each_member(struct muster_client *c, enum key zset, client_member_fn *fn, void *arg);

#endif
