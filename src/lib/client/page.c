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

static uint64_t hash_of(const struct redisReply *page)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < reply_len(page); i++) {
        uint64_t whole;
        const struct muster_bytes text = reply_head(reply_at(page, i), &whole);
        for (size_t k = 0; k < text.len; k++)
            hash = (hash ^ ((const unsigned char *)text.data)[k]) * 1099511628211u;
        hash = (hash ^ whole) * 1099511628211u;
    }
    return hash;
}

int page_check_same(struct muster_client *c, struct page_same *same, const char *command, struct redisReply **page)
{
    const uint64_t hash = hash_of(*page);
    same->n = hash == same->hash ? same->n + 1 : 0;
    same->hash = hash;
    return same->n < PAGE_SAME_MAX ? MUSTER_OK : refuse_page(c, command, page);
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

int page_read_alone(struct muster_client *c, const char *row, struct redisReply **replies, size_t n)
{
    int err = MUSTER_OK;
    (void)row;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = redis_read(c->redis, &replies[i]);
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

/* Where a zset was left: behind the last member that was given. */
struct left_at {
    struct redisReply *page; /* has that member, and its score */
    uint64_t n;              /* so many have this score, up to that member */
    unsigned in_vain;        /* pages in a row that had nothing new */
};

/* Each of them means that a page came in between. */
#define IN_VAIN_MAX 1000

static const char *score_at(const struct redisReply *page, size_t i)
{
    const char *score = reply_text(reply_at(page, i + 1));
    return score ? score : "";
}

static const char *last_score(const struct redisReply *page)
{
    return reply_len(page) < 2 ? "-inf" : score_at(page, reply_len(page) - 2);
}

/* By the score: members come and go, and a rank is then that of another one. */
static int ask_range(struct muster_client *c, const char *key, const struct left_at *left, uint64_t offset,
                     struct redisReply **page)
{
    char from[24], count[24];
    snprintf(from, sizeof from, "%llu", (unsigned long long)offset);
    snprintf(count, sizeof count, "%d", PAGE_MEMBERS_MAX);
    const char *const words[] = {"ZRANGEBYSCORE", key, last_score(left->page), "+inf", "WITHSCORES", "LIMIT", from,
                                 count,           NULL};
    return page_ask(c, page, words, 2 * PAGE_MEMBERS_MAX);
}

/* Those of one score are in the order of their bytes. */
static bool is_given(const struct left_at *left, const struct redisReply *page, size_t i)
{
    if (reply_len(left->page) < 2 || strcmp(last_score(left->page), score_at(page, i)) != 0)
        return false;
    const struct muster_bytes last = reply_bytes(reply_at(left->page, reply_len(left->page) - 2));
    const struct muster_bytes one = reply_bytes(reply_at(page, i));
    const size_t len = last.len < one.len ? last.len : one.len;
    const int order = len > 0 ? memcmp(one.data, last.data, len) : 0;
    return order < 0 || (order == 0 && one.len <= last.len);
}

/* The page's end is where it is left now; but one in which all were given before says only how many these are. */
static void leave(struct left_at *left, struct redisReply *page, size_t first, uint64_t offset)
{
    const size_t end = reply_len(page);
    size_t n = 0;
    while (2 * n + 2 <= end && strcmp(score_at(page, end - 2 * n - 2), last_score(page)) == 0)
        n++;
    left->n = 2 * n == end && strcmp(last_score(left->page), last_score(page)) == 0 ? offset + n : n;
    const bool is_new = first < end;
    left->in_vain = is_new ? 0 : left->in_vain + 1;
    redis_reply_free(is_new ? left->page : page);
    left->page = is_new ? page : left->page;
}

/* The next page, and which of it is the first that is new. It begins with the last one that was given, or before that:
 * otherwise some of the same score have gone, and others may have been passed over. */
static int ask_next(struct muster_client *c, const char *key, const struct left_at *left, uint64_t *offset,
                    struct redisReply **page, size_t *first)
{
    const uint64_t wanted = *offset;
    int err = ask_range(c, key, left, *offset, page);
    for (uint64_t back = 1; err == MUSTER_OK && *offset > 0 && !is_given(left, *page, 0); back *= 2) {
        redis_reply_free(*page);
        *offset -= back < *offset ? back : *offset;
        err = ask_range(c, key, left, *offset, page);
    }
    if (err == MUSTER_OK && ((*offset == wanted && are_same(left->page, *page)) || left->in_vain > IN_VAIN_MAX))
        err = refuse_page(c, "ZRANGEBYSCORE", page);
    for (*first = 0; *first + 1 < reply_len(*page) && is_given(left, *page, *first);)
        *first += 2;
    return err;
}

int page_each(struct muster_client *c, enum key zset, page_fn *fn, void *arg)
{
    char key[KEY_MAX];
    struct left_at left = {NULL, 0, 0};
    int err = MUSTER_OK;
    bool stop = false;
    key_of(key, c->prefix, zset, "");
    while (err == MUSTER_OK && !stop) {
        struct redisReply *page;
        uint64_t offset = left.n > 0 ? left.n - 1 : 0;
        size_t first;
        err = ask_next(c, key, &left, &offset, &page, &first);
        if (err == MUSTER_OK)
            err = fn(c, page, first, arg, &stop);
        stop |= reply_len(page) < 2 * PAGE_MEMBERS_MAX;
        leave(&left, page, first, offset);
    }
    redis_reply_free(left.page);
    return err;
}

struct pages {
    page_members_fn *fn;
    void *arg;
};

/* From the place `first` on, each `step` places further. */
static int give_some(struct muster_client *c, const struct redisReply *list, size_t first, size_t step,
                     const struct pages *pages, bool *stop)
{
    const char *members[PAGE_MEMBERS_MAX];
    size_t n = 0;
    for (size_t i = first; i < reply_len(list) && i < first + step * PAGE_MEMBERS_MAX; i += step) {
        members[n] = reply_text(reply_at(list, i));
        n += members[n] != NULL;
    }
    return pages->fn(c, members, n, pages->arg, stop);
}

static int give_page(struct muster_client *c, const struct redisReply *page, size_t first, void *arg, bool *stop)
{
    return give_some(c, page, first, 2, arg, stop);
}

/* In a zset none is there twice. */
static bool is_any_twice(const struct redisReply *members)
{
    bool is_twice = false;
    for (size_t i = 1; i < reply_len(members) && !is_twice; i++) {
        const char *one = reply_text(reply_at(members, i - 1)), *other = reply_text(reply_at(members, i));
        is_twice = one && other && strcmp(one, other) == 0;
    }
    return is_twice;
}

/* Of a ZSCAN or HSCAN each name may come more than once; one that is there the whole time does come. */
int page_scan_names(struct muster_client *c, const char *scan, const char *key, struct name_list *names)
{
    char cursor[PAGE_CURSOR_MAX] = "0";
    int err;
    do {
        struct redisReply *reply;
        err = page_scan(c, (const char *const[]){scan, key, cursor, "COUNT", "100", NULL}, cursor, &reply);
        const struct redisReply *pairs = reply_at(reply, 1);
        for (size_t i = 0; i < reply_len(pairs) && err == MUSTER_OK; i += 2) {
            const char *name = reply_text(reply_at(pairs, i));
            err = name ? name_list_add(names, name, strlen(name)) : MUSTER_OK;
        }
        redis_reply_free(reply);
    } while (err == MUSTER_OK && strcmp(cursor, "0") != 0);
    name_list_sort(names);
    return err;
}

/* All names together are more than this Redis sends. */
static int each_page_of_scanned(struct muster_client *c, const char *key, const struct pages *pages)
{
    struct name_list names = {.n = 0};
    bool stop = false;
    int err = page_scan_names(c, "ZSCAN", key, &names);
    for (size_t at = 0, n; at < names.n && err == MUSTER_OK && !stop; at += n) {
        const char *members[PAGE_MEMBERS_MAX];
        for (n = 0; n < PAGE_MEMBERS_MAX && at + n < names.n; n++)
            members[n] = names.at[at + n].text;
        err = pages->fn(c, members, n, pages->arg, &stop);
    }
    name_list_clear(&names);
    return err;
}

/* Each heartbeat moves a worker to the end: in pages others would be passed over, and it would come again. */
static int each_page_of_workers(struct muster_client *c, const struct pages *pages)
{
    char key[KEY_MAX];
    struct redisReply *all;
    bool stop = false;
    key_of(key, c->prefix, KEY_REGISTRY, "");
    int err = page_ask(c, &all, (const char *const[]){"ZRANGE", key, "0", "-1", NULL}, SIZE_MAX);
    if (err == MUSTER_E_CONN && redis_answer_limits(c->redis))
        return each_page_of_scanned(c, key, pages);
    if (err == MUSTER_OK && is_any_twice(all))
        err = refuse_page(c, "ZRANGE", &all);
    for (size_t i = 0; err == MUSTER_OK && !stop && i < reply_len(all); i += PAGE_MEMBERS_MAX)
        err = give_some(c, all, i, 1, pages, &stop);
    redis_reply_free(all);
    return err;
}

int page_each_page(struct muster_client *c, enum key zset, page_members_fn *fn, void *arg)
{
    struct pages pages = {fn, arg};
    return zset == KEY_REGISTRY ? each_page_of_workers(c, &pages) : page_each(c, zset, give_page, &pages);
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
