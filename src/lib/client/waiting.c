/* SPDX-License-Identifier: MIT
 *
 * Counts what waits in a queue.
 */
#include "client/waiting.h"

int waiting_append(struct muster_client *c, const char *queue)
{
    static const struct {
        const char *command;
        enum key key;
    } parts[WAITING_PARTS] = {{"LLEN", KEY_QUEUES}, {"ZCARD", KEY_WAITING}, {"ZCARD", KEY_RETURNED}};
    int err = MUSTER_OK;
    for (int i = 0; i < WAITING_PARTS && err == MUSTER_OK; i++) {
        char key[KEY_MAX];
        key_of(key, c->prefix, parts[i].key, queue);
        err = client_append(c, (const char *const[]){parts[i].command, key, NULL});
    }
    return err;
}

uint64_t waiting_sum(struct redisReply *const parts[WAITING_PARTS])
{
    uint64_t sum = 0;
    for (int i = 0; i < WAITING_PARTS; i++)
        sum += reply_count(parts[i]);
    return sum;
}

int muster_queue_length(struct muster_client *c, const char *queue, uint64_t *waiting)
{
    struct redisReply *parts[WAITING_PARTS] = {NULL};
    *waiting = 0;
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = waiting_append(c, queue);
    if (err != MUSTER_OK)
        return err;
    for (int i = 0; i < WAITING_PARTS; i++) {
        int read = redis_read(c->redis, &parts[i]);
        err = err == MUSTER_OK ? read : err;
    }
    if (err == MUSTER_OK)
        *waiting = waiting_sum(parts);
    for (int i = 0; i < WAITING_PARTS; i++)
        redis_reply_free(parts[i]);
    return err;
}
