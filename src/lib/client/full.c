/* SPDX-License-Identifier: MIT
 *
 * Redis has refused a write because it is full. Failed lists grow until somebody replays or drops what is on them, so
 * they are the first to look at. The error tells what they hold: whoever reads it need not ask first.
 */
#include "client/full.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "client/page.h"

/* A producer that tries again and again must not make Redis count each time. */
#define LOOK_EVERY_MS 1000
/* For more queues the sum is of these. */
#define QUEUES_MAX 1000

struct held {
    uint64_t queues, entries, bytes, most_bytes;
    char most[MUSTER_QUEUE_MAX + 1]; /* the queue with the most bytes */
};

static uint64_t count_of(const struct redisReply *reply)
{
    long long n = reply_number(reply, 0);
    return n > 0 ? (uint64_t)n : 0;
}

enum { ENTRIES, BYTES, PARTS };

static int append_queue(struct muster_client *c, const char *queue)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_FAILED, queue);
    int err = client_append(c, (const char *const[]){"ZCARD", key, NULL});
    key_of(key, c->prefix, KEY_FAILURES, queue);
    return err == MUSTER_OK ? client_append(c, (const char *const[]){"HGET", key, "bytes", NULL}) : err;
}

static int read_queue(struct muster_client *c, const char *queue, struct held *held)
{
    struct redisReply *parts[PARTS] = {NULL};
    int err = page_read_parts(c, queue, parts, PARTS);
    uint64_t bytes = count_of(parts[BYTES]);
    held->entries += count_of(parts[ENTRIES]);
    held->bytes += bytes;
    if (bytes > held->most_bytes) {
        held->most_bytes = bytes;
        snprintf(held->most, sizeof held->most, "%s", queue);
    }
    redis_reply_free(parts[ENTRIES]);
    redis_reply_free(parts[BYTES]);
    return err;
}

/* A producer waits for this, so a page costs one round trip. Names that muster does not write are left out. */
static int add_page(struct muster_client *c, const char *const *names, size_t n, void *arg, bool *stop)
{
    struct held *held = arg;
    const char *queues[PAGE_MEMBERS_MAX];
    size_t n_queues = 0;
    int err = MUSTER_OK;
    for (size_t i = 0; i < n; i++)
        if (!muster_queue_check(names[i]))
            queues[n_queues++] = names[i];
    for (size_t i = 0; i < n_queues && err == MUSTER_OK; i++)
        err = append_queue(c, queues[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n_queues && err == MUSTER_OK; i++)
        err = read_queue(c, queues[i], held);
    held->queues += n_queues;
    *stop = held->queues >= QUEUES_MAX;
    return err;
}

static void look(struct muster_client *c)
{
    struct held held = {0};
    *c->full.words = '\0';
    c->full.looked_at_ms = clock_ms();
    int err = page_each_page(c, KEY_NAMES, add_page, &held);
    redis_pass_over(c->redis, err);
    if (err != MUSTER_OK || held.entries == 0)
        return;
    snprintf(c->full.words, sizeof c->full.words,
             "; failed lists hold %" PRIu64 " entries, %" PRIu64
             " bytes, most of them of the queue '%s': replay or drop "
             "them, or bound the lists (keep_failed)",
             held.entries, held.bytes, held.most);
}

int full_explain(struct muster_client *c, int err)
{
    char why[256];
    if (err != MUSTER_E_FULL)
        return err;
    snprintf(why, sizeof why, "%s", redis_error(c->redis));
    if (c->full.looked_at_ms == 0 || clock_ms() - c->full.looked_at_ms >= LOOK_EVERY_MS)
        look(c);
    redis_error_set(c->redis, "%s%s", why, c->full.words);
    return err;
}
