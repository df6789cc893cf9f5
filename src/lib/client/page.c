/* SPDX-License-Identifier: MIT
 *
 * Reading in pages.
 */
#include "client/page.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "client/heads.h"

/* ---- pages ---- */

static int refuse_page(struct muster_client *c, const char *command, struct redisReply **page)
{
    redis_reply_free(*page);
    *page = NULL;
    redis_error_set(c->redis, "the answer to %s is none that a Redis gives: is this another server?", command);
    return MUSTER_E_REDIS;
}

int page_ask(struct muster_client *c, struct redisReply **page, const char *const *words, size_t most)
{
    return page_ask_heads(c, HEADS_WHOLE, page, words, most);
}

int page_ask_heads(struct muster_client *c, size_t most_bytes, struct redisReply **page, const char *const *words,
                   size_t most)
{
    int err = heads_ask(c, most_bytes, page, words);
    if (err == MUSTER_OK && (reply_kind(*page) != REPLY_LIST || reply_len(*page) > most))
        err = refuse_page(c, words[0], page);
    return err;
}

int page_scan(struct muster_client *c, const char *const *words, char cursor[PAGE_CURSOR_MAX],
              struct redisReply **reply)
{
    return page_scan_heads(c, HEADS_WHOLE, words, cursor, reply);
}

int page_scan_heads(struct muster_client *c, size_t most_bytes, const char *const *words, char cursor[PAGE_CURSOR_MAX],
                    struct redisReply **reply)
{
    int err = heads_ask(c, most_bytes, reply, words);
    const char *next = reply_text(reply_at(*reply, 0));
    bool has_form = next && strlen(next) < PAGE_CURSOR_MAX && reply_kind(reply_at(*reply, 1)) == REPLY_LIST;
    if (err == MUSTER_OK && (!has_form || (strcmp(next, cursor) == 0 && strcmp(next, "0") != 0)))
        err = refuse_page(c, words[0], reply);
    snprintf(cursor, PAGE_CURSOR_MAX, "%s", err == MUSTER_OK ? next : "0");
    return err;
}

/* The root never exists. So a node answers 0 while it has the whole slot, and refuses while the slot moves away or when
 * it is gone; one to which it moves does not serve it yet. A user that may not ask is no worse off than before. */
static int ask_for_root(struct muster_client *c)
{
    struct redisReply *reply;
    int err = client_ask(c, &reply, (const char *const[]){"EXISTS", c->root.text, NULL});
    redis_reply_free(reply);
    return err == MUSTER_E_DENIED ? MUSTER_OK : err;
}

int page_begin_keys(struct muster_client *c, unsigned *connection)
{
    int err = ask_for_root(c);
    *connection = redis_connection(c->redis);
    return err;
}

int page_end_keys(struct muster_client *c, unsigned connection)
{
    int err = ask_for_root(c);
    if (err != MUSTER_OK || redis_connection(c->redis) == connection)
        return err;
    redis_error_set(c->redis,
                    "the connection has changed while the keys were listed, so some may have been passed over");
    return MUSTER_E_BUSY;
}

/* ---- rows of parts ---- */

/* One answer. A refused one is only written to the log. */
static int read_row_part(struct muster_client *c, const char *row, struct redisReply **reply)
{
    int err = redis_read(c->redis, reply);
    if (err == MUSTER_E_REDIS && *reply == NULL && redis_error(c->redis)[0]) {
        log_line(MUSTER_LOG_WARN, "%s: %s", row, redis_error(c->redis));
        return MUSTER_OK;
    }
    return err;
}

int page_read_parts(struct muster_client *c, const char *row, struct redisReply **replies, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = read_row_part(c, row, &replies[i]);
    return err;
}

/* ---- members ---- */

static bool are_same(const struct redisReply *a, const struct redisReply *b)
{
    bool are = a && reply_len(a) == reply_len(b);
    for (size_t i = 0; are && i < reply_len(a); i++) {
        const char *one = reply_text(reply_at(a, i)), *other = reply_text(reply_at(b, i));
        are = one && other ? strcmp(one, other) == 0 : one == other;
    }
    return are;
}

static int ask_range(struct muster_client *c, const char *key, uint64_t from, enum page_kind kind,
                     struct redisReply **page)
{
    char first[24], last[24];
    snprintf(first, sizeof first, "%llu", (unsigned long long)from);
    snprintf(last, sizeof last, "%llu", (unsigned long long)from + PAGE_MEMBERS_MAX - 1);
    const char *const words[] = {"ZRANGE", key, first, last, kind == PAGE_WITH_SCORES ? "WITHSCORES" : NULL, NULL};
    return page_ask(c, page, words, PAGE_MEMBERS_MAX * (kind == PAGE_WITH_SCORES ? 2 : 1));
}

/* What moves in the zset meanwhile may come twice, but not all of a page. */
int page_each(struct muster_client *c, enum key zset, enum page_kind kind, page_fn *fn, void *arg)
{
    char key[KEY_MAX];
    struct redisReply *page = NULL, *before = NULL;
    size_t whole = PAGE_MEMBERS_MAX * (kind == PAGE_WITH_SCORES ? 2 : 1);
    int err = MUSTER_OK;
    bool stop = false;
    key_of(key, c->prefix, zset, "");
    for (uint64_t from = 0; err == MUSTER_OK && !stop; from += PAGE_MEMBERS_MAX) {
        err = ask_range(c, key, from, kind, &page);
        if (err == MUSTER_OK && are_same(before, page))
            err = refuse_page(c, "ZRANGE", &page);
        if (err == MUSTER_OK)
            err = fn(c, page, arg, &stop);
        stop |= reply_len(page) < whole;
        redis_reply_free(before);
        before = page;
    }
    redis_reply_free(before);
    return err;
}

struct pages {
    page_members_fn *fn;
    void *arg;
};

static int give_page(struct muster_client *c, const struct redisReply *page, void *arg, bool *stop)
{
    const struct pages *pages = arg;
    const char *members[PAGE_MEMBERS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < reply_len(page); i++) {
        members[n] = reply_text(reply_at(page, i));
        n += members[n] != NULL;
    }
    return pages->fn(c, members, n, pages->arg, stop);
}

int page_each_page(struct muster_client *c, enum key zset, page_members_fn *fn, void *arg)
{
    return page_each(c, zset, PAGE_MEMBERS, give_page, &(struct pages){fn, arg});
}

struct each {
    page_member_fn *fn;
    void *arg;
};

static int give_members(struct muster_client *c, const char *const *members, size_t n, void *arg, bool *stop)
{
    const struct each *each = arg;
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK && !*stop; i++)
        err = each->fn(c, members[i], each->arg, stop);
    return err;
}

int page_each_member(struct muster_client *c, enum key zset, page_member_fn *fn, void *arg)
{
    return page_each_page(c, zset, give_members, &(struct each){fn, arg});
}

const char *page_queue_field(const struct redisReply *record, size_t i)
{
    const char *field = reply_text(reply_at(record, i));
    return field && strncmp(field, "q:", 2) == 0 && !reply_is(reply_at(record, i + 1), "-") ? field + 2 : NULL;
}
