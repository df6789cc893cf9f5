/* SPDX-License-Identifier: MIT
 *
 * Listing workers. Plain reading commands in pages: nothing here writes, and no listing costs more than its rows. A key
 * of the wrong type costs the figures of its own row, with a line in the log, but not the listing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/page.h"
#include "client/worker_shares.h"

static const char *text_field(const struct redisReply *record, const char *field)
{
    const char *text = reply_text(reply_field(record, field));
    return text ? text : "";
}

enum { PART_RECORD, PART_ALIVE, WORKER_PARTS };

static int append_worker(struct muster_client *c, const char *id)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_WORKER, id);
    int err = client_append(c, (const char *const[]){"HGETALL", key, NULL});
    key_of(key, c->prefix, KEY_ALIVE, id);
    return err == MUSTER_OK ? client_append(c, (const char *const[]){"PTTL", key, NULL}) : err;
}

/* All are asked for before the first is read: a round trip for a page, and few writes. */
static int read_workers(struct muster_client *c, const char *const *ids, size_t n,
                        struct redisReply *parts[][WORKER_PARTS])
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_worker(c, ids[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = page_read_parts(c, ids[i], parts[i], WORKER_PARTS);
    return err;
}

struct worker_rows {
    muster_worker_fn *fn;
    void *arg;
};

static int give_worker(const char *id, const struct redisReply *record, long long pttl,
                       const struct worker_shares *shares, const struct worker_rows *rows, bool *stop)
{
    const char **queues = calloc(reply_len(record) / 2 + 1, sizeof *queues);
    uint64_t epoch = 0;
    size_t n = 0;
    if (!queues)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i + 1 < reply_len(record); i += 2)
        if (page_queue_field(record, i))
            queues[n++] = page_queue_field(record, i);
    const char *epoch_text = text_field(record, "epoch");
    token_parse(epoch_text, strlen(epoch_text), &epoch);
    int64_t ttl_ms = reply_number(reply_field(record, "ttl"), 0);
    struct muster_worker_info info = {
        .id = id,
        .epoch = epoch,
        .host = text_field(record, "host"),
        .version = text_field(record, "version"),
        .pid = reply_number(reply_field(record, "pid"), 0),
        .alive = pttl > 0,
        .permanent = reply_is(reply_field(record, "permanent"), "1"),
        .heard_ms = pttl > 0 && pttl <= ttl_ms ? ttl_ms - pttl : -1,
        .ttl_ms = ttl_ms,
        .started_at_ms = reply_number(reply_field(record, "started"), 0),
        .hands = reply_count(reply_field(record, "hands")),
        .held = reply_count(reply_field(record, "held")),
        .queues = queues,
        .n_queues = n,
        .shares = shares->at,
        .n_shares = shares->n,
    };
    *stop = rows->fn(&info, rows->arg) != 0;
    free(queues);
    return MUSTER_OK;
}

static int worker_page(struct muster_client *c, const char *const *ids, size_t n, void *arg, bool *stop)
{
    struct redisReply *parts[PAGE_MEMBERS_MAX][WORKER_PARTS] = {{NULL}};
    const struct redisReply *records[PAGE_MEMBERS_MAX] = {NULL};
    struct worker_shares shares[PAGE_MEMBERS_MAX] = {{NULL, 0}};
    int err = read_workers(c, ids, n, parts);
    for (size_t i = 0; i < n; i++)
        records[i] = parts[i][PART_RECORD];
    if (err == MUSTER_OK)
        err = worker_shares_read(c, ids, records, n, shares);
    for (size_t i = 0; i < n; i++) {
        bool has_left = reply_len(records[i]) == 0; /* meanwhile */
        if (err == MUSTER_OK && !*stop && !has_left)
            err = give_worker(ids[i], records[i], reply_number(parts[i][PART_ALIVE], -2), &shares[i], arg, stop);
        for (int part = 0; part < WORKER_PARTS; part++)
            redis_reply_free(parts[i][part]);
    }
    worker_shares_free(shares, n);
    return err;
}

int muster_worker_list(struct muster_client *c, muster_worker_fn *fn, void *arg)
{
    struct worker_rows rows = {fn, arg};
    return page_each_page(c, KEY_REGISTRY, worker_page, &rows);
}
