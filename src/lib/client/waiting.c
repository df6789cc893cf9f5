/* SPDX-License-Identifier: MIT
 *
 * Counts what waits in a queue.
 */
#include "client/waiting.h"

#include "client/page.h"

int waiting_append(struct muster_client *c, const char *queue)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < WAITING_PARTS && err == MUSTER_OK; i++) {
        char key[KEY_MAX];
        struct command command = {.is_look = true};
        waiting_parts_say(&command, i, key, c->prefix, queue);
        err = redis_append(c->redis, &command);
        command_clear(&command);
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

int waiting_look(struct muster_client *c, const char *queue, uint64_t *waiting, int64_t *next_due_ms)
{
    enum { DUE, TIME, PARTS };
    struct redisReply *replies[PARTS + WAITING_PARTS] = {NULL};
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_QUEUE, queue);
    int err = client_append(c, (const char *const[]){"HGET", key, "due", NULL});
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"TIME", NULL});
    if (err == MUSTER_OK)
        err = waiting_append(c, queue);
    if (err != MUSTER_OK)
        return err;
    err = page_read_alone(c, queue, replies, PARTS + WAITING_PARTS);
    const int64_t due_ms = reply_number(replies[DUE], -1), now_ms = reply_time_ms(replies[TIME]);
    *waiting = waiting_sum(replies + PARTS);
    *next_due_ms = due_ms < 0 || now_ms < 0 ? -1 : due_ms > now_ms ? due_ms - now_ms : 0;
    for (int i = 0; i < PARTS + WAITING_PARTS; i++)
        redis_reply_free(replies[i]);
    return err;
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
    err = page_read_alone(c, queue, parts, WAITING_PARTS);
    if (err == MUSTER_OK)
        *waiting = waiting_sum(parts);
    for (int i = 0; i < WAITING_PARTS; i++)
        redis_reply_free(parts[i]);
    return err;
}
