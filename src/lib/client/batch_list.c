/* SPDX-License-Identifier: MIT
 *
 * Reading batches: one by its id, or all. Plain reading commands in pages. A record that cannot be read costs its own
 * row, with a line in the log.
 */
#include <muster/batch.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "client/client.h"
#include "client/page.h"
#include "protocol/token.h"

const char *muster_batch_state_name(enum muster_batch_state state)
{
    static const char *const names[] = {
#define STATE_NAME(state, name) [state] = (name),
        MUSTER_BATCH_STATES(STATE_NAME)
#undef STATE_NAME
    };
    return (unsigned)state < MUSTER_BATCH_STATE_COUNT ? names[state] : "unknown";
}

int muster_batch_state_of(const char *name)
{
    for (int i = 0; name && i < MUSTER_BATCH_STATE_COUNT; i++)
        if (strcmp(name, muster_batch_state_name((enum muster_batch_state)i)) == 0)
            return i;
    return -1;
}

/* ---- records ---- */

/* The fields that are read, which are all but the followers' data: that may be large. */
#define FIELDS(X)                   \
    X(STATE, "state")               \
    X(BATCH, "batch")               \
    X(WHY, "why")                   \
    X(DEPTH, "depth")               \
    X(CANCEL, "cancel")             \
    X(OPENED, "opened")             \
    X(CLOSED, "closed")             \
    X(SINCE, "since")               \
    X(TTL, "ttl")                   \
    X(MEMBERS, "members")           \
    X(COMPLETE, "complete")         \
    X(FAILED, "failed")             \
    X(CANCELLED, "cancelled")       \
    X(GONE, "gone")                 \
    X(FIRST, "first")               \
    X(ON_END, "on_end")             \
    X(PUT_END, "put_end")           \
    X(ON_COMPLETE, "on_complete")   \
    X(PUT_COMPLETE, "put_complete") \
    X(ON_FAILURE, "on_failure")     \
    X(PUT_FAILURE, "put_failure")

enum {
#define FIELD_ENUM(field, name) field,
    FIELDS(FIELD_ENUM)
#undef FIELD_ENUM
        N_FIELDS
};

static const char *text_of(const struct redisReply *record, size_t field)
{
    const char *text = reply_text(reply_at(record, field));
    return text ? text : "";
}

static int64_t number_of(const struct redisReply *record, size_t field)
{
    long long n = reply_number(reply_at(record, field), 0);
    return n > 0 ? n : 0;
}

static struct muster_followed followed(const struct redisReply *record, size_t queue, size_t job)
{
    return (struct muster_followed){.queue = text_of(record, queue), .job = text_of(record, job)};
}

static void read_counts(struct muster_batch *b, const struct redisReply *record)
{
    b->members = reply_count(reply_at(record, MEMBERS));
    b->complete = reply_count(reply_at(record, COMPLETE));
    b->failed = reply_count(reply_at(record, FAILED));
    b->cancelled = reply_count(reply_at(record, CANCELLED));
    b->gone = reply_count(reply_at(record, GONE));
    b->left = b->members;
    const uint64_t ended[] = {b->complete, b->failed, b->cancelled, b->gone};
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) /* a damaged counter may be too large */
        b->left -= ended[i] < b->left ? ended[i] : b->left;
}

/* `due`: the batch's score among those that have not ended. */
static int read_record(struct muster_batch *b, const char *id, const struct redisReply *record,
                       const struct redisReply *due)
{
    int state = muster_batch_state_of(reply_text(reply_at(record, STATE)));
    if (state < 0)
        return MUSTER_E_REDIS;
    *b = (struct muster_batch){
        .id = id,
        .state = (enum muster_batch_state)state,
        .batch = strlen(text_of(record, BATCH)) > TOKEN_LEN ? text_of(record, BATCH) + TOKEN_LEN : "",
        .depth = (int)number_of(record, DEPTH),
        .is_cancelled = number_of(record, CANCEL) > 0,
        .closed_by = text_of(record, WHY),
        .opened_at_ms = number_of(record, OPENED),
        .closed_at_ms = number_of(record, CLOSED),
        .since_ms = number_of(record, SINCE),
        .due_at_ms = state == MUSTER_BATCH_OPEN ? reply_number(due, 0) : 0,
        .ttl_ms = number_of(record, TTL),
        .first_failed = text_of(record, FIRST),
        .on_end = followed(record, ON_END, PUT_END),
        .on_complete = followed(record, ON_COMPLETE, PUT_COMPLETE),
        .on_failure = followed(record, ON_FAILURE, PUT_FAILURE),
    };
    read_counts(b, record);
    return MUSTER_OK;
}

static bool is_absent(const struct redisReply *record)
{
    bool is = reply_len(record) == N_FIELDS;
    for (size_t i = 0; i < N_FIELDS; i++)
        is &= reply_kind(reply_at(record, i)) == REPLY_NIL;
    return is;
}

static int append_row(struct muster_client *c, const char *id)
{
    char key[KEY_MAX];
    const char *words[N_FIELDS + 3] = {"HMGET", key};
    static const char *const names[] = {
#define FIELD_NAME(field, name) [field] = (name),
        FIELDS(FIELD_NAME)
#undef FIELD_NAME
    };
    memcpy(&words[2], names, sizeof names);
    key_of(key, c->prefix, KEY_BATCH, id);
    int err = client_append(c, words);
    key_of(key, c->prefix, KEY_BATCHES, "");
    return err == MUSTER_OK ? client_append(c, (const char *const[]){"ZSCORE", key, id, NULL}) : err;
}

/* MUSTER_OK; E_NOT_FOUND; E_REDIS for a record that cannot be read; or what else fails. */
static int read_row(struct muster_client *c, const char *id, page_read_fn *read, muster_batch_fn *fn, void *arg,
                    bool *stop)
{
    struct redisReply *parts[2] = {NULL, NULL};
    struct muster_batch batch;
    int err = read(c, id, parts, 2);
    if (err == MUSTER_OK && is_absent(parts[0]))
        err = MUSTER_E_NOT_FOUND;
    if (err == MUSTER_OK && (err = read_record(&batch, id, parts[0], parts[1])) != MUSTER_OK)
        redis_error_set(c->redis, "the record of the batch '%s' cannot be read: another program wrote it", id);
    if (err == MUSTER_OK && !*stop)
        *stop = fn(&batch, arg) != 0;
    redis_reply_free(parts[0]);
    redis_reply_free(parts[1]);
    return err;
}

/* ---- calls ---- */

int muster_batch_get(struct muster_client *c, const char *id, muster_batch_fn *fn, void *arg)
{
    bool stop = false;
    const char *why = muster_batch_id_check(id);
    int err = why ? client_refuse(c, why) : append_row(c, id);
    if (err == MUSTER_OK) {
        err = read_row(c, id, page_read_alone, fn, arg, &stop);
        if (err == MUSTER_E_NOT_FOUND)
            redis_error_set(c->redis, "there is no batch '%s' (any more)", id);
    }
    return err;
}

struct listing {
    muster_batch_fn *fn;
    void *arg;
    bool stop;
};

/* A batch may have gone since the page was read. */
static int list_page(struct muster_client *c, const char *const *ids, size_t n, void *arg, bool *stop)
{
    struct listing *l = arg;
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_row(c, ids[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        err = read_row(c, ids[i], page_read_parts, l->fn, l->arg, &l->stop);
        if (err == MUSTER_E_REDIS)
            log_line(MUSTER_LOG_WARN, "the record of the batch '%s' cannot be read", ids[i]);
        if (err == MUSTER_E_REDIS || err == MUSTER_E_NOT_FOUND)
            err = MUSTER_OK;
    }
    *stop = l->stop;
    return err;
}

int muster_batch_list(struct muster_client *c, muster_batch_fn *fn, void *arg)
{
    struct listing l = {.fn = fn, .arg = arg};
    int err = page_each_page(c, KEY_BATCHES, list_page, &l);
    return err == MUSTER_OK && !l.stop ? page_each_page(c, KEY_PAST, list_page, &l) : err;
}
