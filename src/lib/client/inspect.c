/* SPDX-License-Identifier: MIT
 *
 * Listing queues and workers. Plain reading commands in pages: nothing here writes, and no listing costs more
 * than its rows. A key of the wrong type costs the figures of its own row, with a line in the log, but not the listing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/page.h"
#include "client/waiting.h"

/* ---- queues ---- */

enum {
    PART_SETTINGS,
    PART_DELAYED,
    PART_FAILED,
    PART_FAILURES,
    PART_IDLE,
    PART_SCHEDULED,
    PART_DEPENDS,
    PART_RECURRING,
    PART_COMPLETE,
    PARTS
};

static int append_queue_parts(struct muster_client *c, const char *name)
{
    static const struct {
        const char *command;
        enum key key;
        const char *fields[4];
    } parts[PARTS] = {
        [PART_SETTINGS] = {"HMGET", KEY_QUEUE, {"running", "paused", "cancelled", "dropped"}},
        [PART_DELAYED] = {"ZCARD", KEY_DELAYED, {NULL}},
        [PART_FAILED] = {"ZCARD", KEY_FAILED, {NULL}},
        [PART_FAILURES] = {"HGET", KEY_FAILURES, {"bytes"}},
        [PART_IDLE] = {"ZCARD", KEY_IDLE, {NULL}},
        [PART_SCHEDULED] = {"ZCARD", KEY_SCHEDULED, {NULL}},
        [PART_DEPENDS] = {"ZCARD", KEY_DEPENDS, {NULL}},
        [PART_RECURRING] = {"ZCARD", KEY_RECURRING, {NULL}},
        [PART_COMPLETE] = {"ZCARD", KEY_COMPLETE, {NULL}},
    };
    int err = MUSTER_OK;
    for (int i = 0; i < PARTS && err == MUSTER_OK; i++) {
        const char *const *fields = parts[i].fields;
        char key[KEY_MAX];
        key_of(key, c->prefix, parts[i].key, name);
        err = client_append(
            c, (const char *const[]){parts[i].command, key, fields[0], fields[1], fields[2], fields[3], NULL});
    }
    return err;
}

/* A damaged key costs its figures of a row in a list, but is an error for one that was asked for alone. */
typedef int read_parts_fn(struct muster_client *c, const char *row, struct redisReply **replies, size_t n);

static int read_parts_strictly(struct muster_client *c, const char *row, struct redisReply **replies, size_t n)
{
    int err = MUSTER_OK;
    (void)row;
    for (size_t i = 0; i < n; i++) {
        int read = redis_read(c->redis, &replies[i]);
        err = err == MUSTER_OK ? read : err;
    }
    return err;
}

static int read_queue(struct muster_client *c, const char *name, read_parts_fn *read, struct muster_queue_info *info)
{
    struct redisReply *parts[PARTS] = {NULL}, *waiting[WAITING_PARTS] = {NULL};
    int err = append_queue_parts(c, name);
    if (err == MUSTER_OK)
        err = waiting_append(c, name);
    if (err == MUSTER_OK)
        err = read(c, name, parts, PARTS);
    int err_waiting = err == MUSTER_OK || err == MUSTER_E_REDIS ? read(c, name, waiting, WAITING_PARTS) : err;
    err = err == MUSTER_OK ? err_waiting : err;
    *info = (struct muster_queue_info){
        .name = name,
        .waiting = waiting_sum(waiting),
        .running = reply_count(reply_at(parts[PART_SETTINGS], 0)),
        .delayed = reply_count(parts[PART_DELAYED]) + reply_count(parts[PART_SCHEDULED]),
        .depends = reply_count(parts[PART_DEPENDS]),
        .recurring = reply_count(parts[PART_RECURRING]),
        .complete = reply_count(parts[PART_COMPLETE]),
        .failed = reply_count(parts[PART_FAILED]),
        .failed_bytes = reply_count(parts[PART_FAILURES]),
        .failed_dropped = reply_count(reply_at(parts[PART_SETTINGS], 3)),
        .cancelled = reply_count(reply_at(parts[PART_SETTINGS], 2)),
        .idle = reply_count(parts[PART_IDLE]),
        .paused = reply_kind(reply_at(parts[PART_SETTINGS], 1)) == REPLY_TEXT,
    };
    for (int i = 0; i < PARTS; i++)
        redis_reply_free(parts[i]);
    for (int i = 0; i < WAITING_PARTS; i++)
        redis_reply_free(waiting[i]);
    return err;
}

struct queue_rows {
    muster_queue_fn *fn;
    void *arg;
};

static int queue_row(struct muster_client *c, const char *name, void *arg, bool *stop)
{
    struct queue_rows *rows = arg;
    struct muster_queue_info info;
    if (muster_queue_check(name))
        return MUSTER_OK; /* not written by muster */
    int err = read_queue(c, name, page_read_parts, &info);
    if (err == MUSTER_OK)
        *stop = rows->fn(&info, rows->arg) != 0;
    return err;
}

static bool is_anything_there(const struct muster_queue_info *q)
{
    return q->waiting + q->running + q->delayed + q->depends + q->recurring + q->complete + q->failed + q->idle > 0 ||
           q->paused;
}

int muster_queue_get(struct muster_client *c, const char *queue, struct muster_queue_info *info)
{
    char key[KEY_MAX];
    struct redisReply *named = NULL;
    *info = (struct muster_queue_info){.name = queue};
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = read_queue(c, queue, read_parts_strictly, info);
    if (err != MUSTER_OK || is_anything_there(info))
        return err;
    key_of(key, c->prefix, KEY_NAMES, "");
    err = client_ask(c, &named, (const char *const[]){"ZSCORE", key, queue, NULL});
    if (err == MUSTER_OK && reply_kind(named) != REPLY_TEXT) {
        redis_error_set(c->redis, "there is no queue '%s'", queue);
        err = MUSTER_E_NOT_FOUND;
    }
    redis_reply_free(named);
    return err;
}

int muster_queue_list(struct muster_client *c, muster_queue_fn *fn, void *arg)
{
    struct queue_rows rows = {fn, arg};
    return page_each_member(c, KEY_NAMES, queue_row, &rows);
}

/* ---- workers ---- */

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
    for (size_t i = 0; i < n; i++) {
        int read = page_read_parts(c, ids[i], parts[i], WORKER_PARTS);
        err = err == MUSTER_OK ? read : err;
    }
    return err;
}

struct worker_rows {
    muster_worker_fn *fn;
    void *arg;
};

static int give_worker(const char *id, const struct redisReply *record, long long pttl, struct worker_rows *rows,
                       bool *stop)
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
    };
    *stop = rows->fn(&info, rows->arg) != 0;
    free(queues);
    return MUSTER_OK;
}

static int worker_page(struct muster_client *c, const char *const *ids, size_t n, void *arg, bool *stop)
{
    struct redisReply *parts[PAGE_MEMBERS_MAX][WORKER_PARTS] = {{NULL}};
    int err = read_workers(c, ids, n, parts);
    for (size_t i = 0; i < n; i++) {
        bool has_left = reply_len(parts[i][PART_RECORD]) == 0; /* meanwhile */
        if (err == MUSTER_OK && !*stop && !has_left)
            err = give_worker(ids[i], parts[i][PART_RECORD], reply_number(parts[i][PART_ALIVE], -2), arg, stop);
        for (int part = 0; part < WORKER_PARTS; part++)
            redis_reply_free(parts[i][part]);
    }
    return err;
}

int muster_worker_list(struct muster_client *c, muster_worker_fn *fn, void *arg)
{
    struct worker_rows rows = {fn, arg};
    return page_each_page(c, KEY_REGISTRY, worker_page, &rows);
}
