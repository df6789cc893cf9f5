/* SPDX-License-Identifier: MIT
 *
 * Reading in pages: the members of a zset, and rows whose parts are read together.
 */
#ifndef PAGE_H
#define PAGE_H

#include "base/name_list.h"
#include "client/client.h"

/* Ask for a list of at most `most` elements. Any other answer is E_REDIS, and `*page` is NULL. */
int page_ask(struct muster_client *c, struct redisReply **page, const char *const *words, size_t most);

/* Call this with each page by rank. A server that answers the same again and again must not be asked for ever: after so
 * many of the same in a row E_REDIS, and `*page` is NULL. Begin each list with 0. */
struct page_same {
    uint64_t hash;
    unsigned n;
};
#define PAGE_SAME_MAX 1000
int page_check_same(struct muster_client *c, struct page_same *same, const char *command, struct redisReply **page);

/* One step of SCAN, HSCAN or SSCAN: `words` hold the cursor, which moves on, and is "0" at the end and after an error.
 * `*reply` is {cursor, list}. An answer that does not move the cursor is E_REDIS: it would be asked for without end. */
#define PAGE_CURSOR_MAX 24
int page_scan(struct muster_client *c, const char *const *words, char cursor[PAGE_CURSOR_MAX],
              struct redisReply **reply);

/* The same two for people: of a text of more than `most` bytes only the beginning (heads.h). */
int page_ask_heads(struct muster_client *c, size_t most_bytes, struct redisReply **page, const char *const *words,
                   size_t most);
int page_scan_heads(struct muster_client *c, size_t most_bytes, const char *const *words, char cursor[PAGE_CURSOR_MAX],
                    struct redisReply **reply);

/* The members of a zset (ZSCAN) or the fields of a hash (HSCAN), sorted, each once. To be cleared, whatever is returned. */
int page_scan_names(struct muster_client *c, const char *scan, const char *key, struct name_list *names);

/* Before and after a SCAN. While the slot moves, each of its two nodes lists a part of the namespace: E_BUSY, also if the
 * connection has changed meanwhile. What was seen then is not all that there is. */
int page_begin_keys(struct muster_client *c, unsigned *connection);
int page_end_keys(struct muster_client *c, unsigned connection);

/* Ask for a zset page by page, lowest score first, until fn sets *stop or fails. A page has at most PAGE_MEMBERS_MAX
 * members, each followed by its score; those before the place `first` were in the page before. A member that is there the
 * whole time, and keeps its score, comes once, whatever comes and goes meanwhile. Two pages in a row that are the same are
 * refused: a server that answers the same again and again must not be asked for ever. */
#define PAGE_MEMBERS_MAX 100
typedef int page_fn(struct muster_client *c, const struct redisReply *page, size_t first, void *arg, bool *stop);
int page_each(struct muster_client *c, enum key zset, page_fn *fn, void *arg);

/* The same for the members alone, which are texts with their NUL: a page of them at a time, so that what fn asks of all
 * of them can go out together; or each by itself. Workers, whose scores rise all the time, are those of one moment. */
typedef int page_members_fn(struct muster_client *c, const char *const *members, size_t n, void *arg, bool *stop);
int page_each_page(struct muster_client *c, enum key zset, page_members_fn *fn, void *arg);
typedef int page_member_fn(struct muster_client *c, const char *member, void *arg, bool *stop);
int page_each_member(struct muster_client *c, enum key zset, page_member_fn *fn, void *arg);

/* Read n answers of what was appended for one row. After a failure the rest is not read: the next call drops it. Of a list,
 * a refused answer (of a damaged key) is only written to the log, and stays NULL; of what was asked for alone it is an
 * error: what is left would look like the whole. */
typedef int page_read_fn(struct muster_client *c, const char *row, struct redisReply **replies, size_t n);
page_read_fn page_read_parts, page_read_alone;

/* The queue that field i of a worker's record names. NULL: it names none, or one that the worker has left. */
const char *page_queue_field(const struct redisReply *record, size_t i);

#endif
