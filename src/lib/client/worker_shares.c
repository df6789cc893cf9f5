/* SPDX-License-Identifier: MIT
 *
 * Plain reading commands. Each queue is asked for once a page, and each worker only for the queues that share evenly.
 */
#include "client/worker_shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "client/page.h"

/* What the queue's counters say; not even: no share is made. */
struct crew {
    bool is_even;
    uint64_t runs, hands;
};

/* ---- the queues ---- */

static int list_queues(const struct redisReply *const *records, size_t n, struct name_list *queues)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at + 1 < reply_len(records[i]) && err == MUSTER_OK; at += 2) {
            const char *queue = page_queue_field(records[i], at);
            if (queue)
                err = name_list_add(queues, queue, strlen(queue));
        }
    name_list_sort(queues);
    return err;
}

enum { PART_SETTINGS, PART_LEASES, CREW_PARTS };

static int append_crew(struct muster_client *c, const char *queue)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_QUEUE, queue);
    int err = client_append(c, (const char *const[]){"HMGET", key, "share", "running", "hands", NULL});
    key_of(key, c->prefix, KEY_LEASES, queue);
    return err == MUSTER_OK ? client_append(c, (const char *const[]){"ZCARD", key, NULL}) : err;
}

static int read_crew(struct muster_client *c, const char *queue, struct crew *crew)
{
    struct redisReply *parts[CREW_PARTS] = {NULL};
    int err = page_read_parts(c, queue, parts, CREW_PARTS);
    const struct redisReply *settings = parts[PART_SETTINGS];
    uint64_t running = reply_count(reply_at(settings, 1)), leased = reply_count(parts[PART_LEASES]);
    *crew = (struct crew){.runs = running > leased ? running - leased : 0, .hands = reply_count(reply_at(settings, 2))};
    crew->is_even = reply_count(reply_at(settings, 0)) > 0 && crew->hands > 0;
    for (int i = 0; i < CREW_PARTS; i++)
        redis_reply_free(parts[i]);
    return err;
}

static int ask_crews(struct muster_client *c, const struct name_list *queues, struct crew *crews)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < queues->n && err == MUSTER_OK; i++)
        err = append_crew(c, queues->at[i].text);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < queues->n && err == MUSTER_OK; i++)
        err = read_crew(c, queues->at[i].text, &crews[i]);
    return err;
}

/* ---- the workers ---- */

static uint64_t hands_for(const struct redisReply *record, const char *queue)
{
    char field[KEY_MAX];
    snprintf(field, sizeof field, "s:%s", queue);
    return reply_count(reply_field(record, field));
}

/* Counters may be anything by hand: what would overflow makes no share. */
static struct muster_worker_share share_of(const char *queue, uint64_t own, const struct crew *crew)
{
    struct muster_worker_share share = {.queue = queue, .hands = own};
    if (own > 0 && crew->runs > (UINT64_MAX - crew->hands) / own)
        return share;
    share.least = crew->runs * own / crew->hands;
    share.most = (crew->runs * own + crew->hands - 1) / crew->hands;
    return share;
}

static int list_shares(const struct redisReply *record, const struct name_list *queues, const struct crew *crews,
                       struct worker_shares *shares)
{
    shares->at = calloc(reply_len(record) / 2 + 1, sizeof *shares->at);
    if (!shares->at)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i + 1 < reply_len(record); i += 2) {
        const char *queue = page_queue_field(record, i);
        size_t at = queue ? name_list_find(queues, (char *)(uintptr_t)queue, strlen(queue)) : queues->n;
        if (at < queues->n && crews[at].is_even)
            shares->at[shares->n++] = share_of(queue, hands_for(record, queue), &crews[at]);
    }
    return MUSTER_OK;
}

static int append_holds(struct muster_client *c, const char *id, const struct worker_shares *shares)
{
    char key[KEY_MAX], name[KEY_MAX];
    int err = MUSTER_OK;
    for (size_t i = 0; i < shares->n && err == MUSTER_OK; i++) {
        snprintf(name, sizeof name, "%s:%s", id, shares->at[i].queue);
        key_of(key, c->prefix, KEY_PROCESSING, name);
        err = client_append(c, (const char *const[]){"HLEN", key, NULL});
    }
    return err;
}

static int read_holds(struct muster_client *c, const char *id, struct worker_shares *shares)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < shares->n && err == MUSTER_OK; i++) {
        struct redisReply *reply = NULL;
        err = page_read_parts(c, id, &reply, 1);
        shares->at[i].holds = reply_count(reply);
        redis_reply_free(reply);
    }
    return err;
}

static int ask_holds(struct muster_client *c, const char *const *ids, size_t n, struct worker_shares *shares)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_holds(c, ids[i], &shares[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = read_holds(c, ids[i], &shares[i]);
    return err;
}

int worker_shares_read(struct muster_client *c, const char *const *ids, const struct redisReply *const *records,
                       size_t n, struct worker_shares *shares)
{
    struct name_list queues = {.n = 0};
    int err = list_queues(records, n, &queues);
    struct crew *crews = calloc(queues.n + 1, sizeof *crews);
    if (!crews)
        err = MUSTER_E_NOMEM;
    if (err == MUSTER_OK)
        err = ask_crews(c, &queues, crews);
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = list_shares(records[i], &queues, crews, &shares[i]);
    if (err == MUSTER_OK)
        err = ask_holds(c, ids, n, shares);
    name_list_clear(&queues);
    free(crews);
    return err;
}

void worker_shares_free(struct worker_shares *shares, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(shares[i].at);
}
