/* SPDX-License-Identifier: MIT
 *
 * Listing the failed list. An entry is a member of a zset; lua/include/task/failed.lua has its format. Its name is the
 * text of its score, which is a token. An entry of another format, which another program has put there, is skipped with
 * a line in the log.
 */
#include "client/failed.h"

#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "client/client.h"
#include "client/heads.h"
#include "client/page.h"
#include "protocol/frame.h"
#include "protocol/process_name.h"

/* Tasks can be large: only a few at once, and of each only the beginning. */
#define PAGE 4
#define ENTRY_HEAD_MAX (MUSTER_HEAD_MAX + MUSTER_MESSAGE_MAX + 1024) /* with what stands before the task */

int failed_check_filter(struct muster_client *c, const struct muster_failed_filter *f)
{
    int err = client_check_queue(c, f->queue);
    if (err != MUSTER_OK)
        return err;
    if (f->entries && f->group)
        return client_refuse(c, "failures are chosen by their group or by their entries, not by both");
    if (!f->entries && f->n_entries > 0)
        return client_refuse(c, "there is a number of entries, but no entries");
    if (f->group && muster_queue_check(f->group)) /* the rule is that of a queue's name */
        return client_refuse(c, "a failure's group has 1 to 200 bytes and no control characters");
    return MUSTER_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int failed_sort_entries(struct muster_client *c, const struct muster_failed_filter *f, const char ***sorted, size_t *n)
{
    uint64_t token;
    *n = 0;
    *sorted = calloc(f->n_entries + 1, sizeof **sorted);
    if (!*sorted)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < f->n_entries; i++) {
        const char *entry = f->entries[i];
        if (!entry || token_parse(entry, strlen(entry), &token) != MUSTER_OK) {
            redis_error_set(c->redis, "'%.40s' is not the name of an entry; the failed list shows the names",
                            entry ? entry : "");
            return MUSTER_E_INVALID;
        }
        (*sorted)[i] = entry;
    }
    qsort(*sorted, f->n_entries, sizeof **sorted, compare_texts);
    for (size_t i = 0; i < f->n_entries; i++)
        if (*n == 0 || strcmp((*sorted)[*n - 1], (*sorted)[i]) != 0)
            (*sorted)[(*n)++] = (*sorted)[i];
    return MUSTER_OK;
}

/* ---- looking ---- */

struct listing {
    struct muster_failed_filter filter;
    muster_failure_fn *fn;
    void *arg;
    uint64_t matched; /* with those that the offset skips */
    uint64_t given;
    bool stop;
};

static int parse_token(struct failed_entry *e, struct muster_bytes token)
{
    uint64_t number;
    const char *text = token.data;
    size_t kind = token.len == TOKEN_LEN + 1 && (*text == 'j' || *text == 'u');
    e->is_job = kind && *text == 'j';
    if (token_parse(text + kind, token.len - kind, &number) != MUSTER_OK)
        return -1;
    token_format(e->token, number);
    return 0;
}

/* "<worker>", or "<worker> <name>": the name under which the process' lease was taken. */
static int read_holder(struct failed_entry *e, struct muster_bytes worker)
{
    const char *blank = memchr(worker.data, ' ', worker.len);
    size_t len = blank ? (size_t)(blank - (const char *)worker.data) : worker.len;
    struct muster_bytes name = {blank ? blank + 1 : "", blank ? worker.len - len - 1 : 0};
    worker.len = len;
    return frame_text(e->worker, sizeof e->worker, worker) | frame_text(e->holder, sizeof e->holder, name);
}

int failed_entry_parse(struct failed_entry *e, struct muster_bytes rest)
{
    struct muster_bytes token, worker, group;
    size_t worker_len, group_len, message_len;
    if (frame_field(&rest, &token) != 0 || parse_token(e, token) != 0 || frame_length(&rest, &worker_len) != 0 ||
        frame_length(&rest, &group_len) != 0 || frame_length(&rest, &message_len) != 0)
        return -1;
    if (frame_part(&rest, worker_len, &worker) != 0 || frame_part(&rest, group_len, &group) != 0 ||
        frame_part(&rest, message_len, &e->message) != 0)
        return -1;
    e->task = rest;
    return read_holder(e, worker) | frame_text(e->group, sizeof e->group, group);
}

/* Entries, parsed; those of jobs with the job's data. */
struct entry_page {
    size_t n;
    struct entry {
        struct failed_entry parts;
        uint64_t score;
        struct redisReply *data; /* NULL: a task */
        uint64_t cut;            /* how many bytes of a task were not read */
    } entries[PAGE];
};

static bool is_meant(struct listing *l, const struct failed_entry *e)
{
    return !l->filter.group || strcmp(l->filter.group, e->group) == 0;
}

/* Keeps the entries that are to be handed out. */
static void parse_page(struct listing *l, const struct redisReply *page, struct entry_page *out)
{
    for (size_t i = 0; i + 1 < reply_len(page) && out->n < PAGE; i += 2) {
        struct entry *e = &out->entries[out->n];
        e->score = (uint64_t)reply_number(reply_at(page, i + 1), 0);
        uint64_t whole;
        struct muster_bytes head = reply_head(reply_at(page, i), &whole);
        e->cut = whole - head.len;
        if (failed_entry_parse(&e->parts, head) == 0) {
            out->n += is_meant(l, &e->parts) && l->matched++ >= l->filter.offset;
        } else {
            char name[TOKEN_LEN + 1];
            token_format(name, e->score);
            log_line(MUSTER_LOG_WARN, "the failed list of the queue '%s' has an entry %s that is not muster's",
                     l->filter.queue, name);
        }
    }
}

static int read_data(struct muster_client *c, struct entry_page *page)
{
    const char *ids[PAGE] = {NULL};
    struct redisReply *data[PAGE] = {NULL};
    for (size_t i = 0; i < page->n; i++) {
        const struct failed_entry *e = &page->entries[i].parts;
        if (e->is_job && !muster_job_id_check(e->task.data))
            ids[i] = e->task.data;
    }
    int err = heads_jobs(c, MUSTER_HEAD_MAX, ids, page->n, (const char *const[]){"data", NULL}, data);
    for (size_t i = 0; i < page->n; i++)
        page->entries[i].data = data[i];
    return err;
}

/* The task of an entry, or its beginning. */
static struct muster_bytes task_of(const struct entry *e, uint64_t *whole)
{
    struct muster_bytes task = e->parts.task;
    if (e->parts.is_job)
        return reply_head(reply_at(e->data, 0), whole);
    *whole = task.len + e->cut;
    task.len = task.len < MUSTER_HEAD_MAX ? task.len : MUSTER_HEAD_MAX;
    return task;
}

static void give_entry(struct listing *l, const struct entry *e)
{
    char process[PROCESS_ID_MAX], name[TOKEN_LEN + 1];
    const struct failed_entry *parts = &e->parts;
    uint64_t whole;
    struct muster_bytes task = task_of(e, &whole);
    token_format(name, e->score);
    process_name_format(process, parts->worker, parts->token, l->filter.queue);
    if (!*parts->worker) /* a job that no worker held */
        *process = '\0';
    const struct muster_failure failure = {
        .entry = name,
        .queue = l->filter.queue,
        .process = process,
        .worker = parts->worker,
        .group = parts->group,
        .message = parts->message,
        .failed_at_ms = token_at_ms(e->score),
        .job = parts->is_job ? parts->task.data : NULL,
        .task = task.data,
        .len = task.len,
        .whole_len = whole,
        .holder = *parts->holder ? parts->holder : NULL,
    };
    l->given++;
    l->stop = l->fn(&failure, l->arg) != 0 || (l->filter.n > 0 && l->given >= l->filter.n);
}

/* `reply` has members and scores in turn. */
static int give_entries(struct muster_client *c, struct listing *l, const struct redisReply *reply)
{
    struct entry_page page = {.n = 0};
    parse_page(l, reply, &page);
    int err = read_data(c, &page);
    for (size_t i = 0; i < page.n && err == MUSTER_OK && !l->stop; i++)
        give_entry(l, &page.entries[i]);
    for (size_t i = 0; i < page.n; i++)
        redis_reply_free(page.entries[i].data);
    return err;
}

/* Without a group each member is a row: the offset skips members without reading them. */
static int list_pages(struct muster_client *c, const char *key, struct listing *l)
{
    int err = MUSTER_OK;
    uint64_t from = l->filter.group ? 0 : l->filter.offset;
    struct page_same same = {0};
    l->filter.offset -= from;
    l->stop = from > INT64_MAX / 2;
    for (; err == MUSTER_OK && !l->stop; from += PAGE) {
        char first[24], last[24];
        struct redisReply *page;
        snprintf(first, sizeof first, "%llu", (unsigned long long)from);
        snprintf(last, sizeof last, "%llu", (unsigned long long)from + PAGE - 1);
        err = page_ask_heads(c, ENTRY_HEAD_MAX, &page,
                             (const char *const[]){"ZREVRANGE", key, first, last, "WITHSCORES", NULL}, 2 * PAGE);
        if (err == MUSTER_OK)
            err = page_check_same(c, &same, "ZREVRANGE", &page);
        if (err == MUSTER_OK)
            err = give_entries(c, l, page);
        l->stop |= reply_len(page) < 2 * PAGE;
        redis_reply_free(page);
    }
    return err;
}

static int list_names(struct muster_client *c, const char *key, struct listing *l)
{
    const char **names;
    size_t n;
    int err = failed_sort_entries(c, &l->filter, &names, &n);
    while (err == MUSTER_OK && n > 0 && !l->stop) {
        char at[24];
        struct redisReply *page;
        uint64_t score = 0;
        token_parse(names[--n], TOKEN_LEN, &score);
        snprintf(at, sizeof at, "%llu", (unsigned long long)score);
        err = heads_ask(c, ENTRY_HEAD_MAX, &page,
                        (const char *const[]){"ZRANGEBYSCORE", key, at, at, "WITHSCORES", NULL});
        if (err == MUSTER_OK)
            err = give_entries(c, l, page);
        redis_reply_free(page);
    }
    free(names);
    return err;
}

int muster_failed_list(struct muster_client *c, const struct muster_failed_filter *f, muster_failure_fn *fn, void *arg)
{
    struct listing l = {.fn = fn, .arg = arg};
    char key[KEY_MAX];
    int err = client_read(c, SIZED_FAILED_FILTER, &l.filter, f);
    if (err == MUSTER_OK)
        err = failed_check_filter(c, &l.filter);
    if (err != MUSTER_OK)
        return err;
    key_of(key, c->prefix, KEY_FAILED, l.filter.queue);
    return l.filter.entries ? list_names(c, key, &l) : list_pages(c, key, &l);
}

/* ---- groups ---- */

struct group_rows {
    muster_failed_group_fn *fn;
    void *arg;
};

static void give_group(const struct group_rows *rows, const char *queue, const char *field, long long n, bool *stop)
{
    if (field && strncmp(field, "g:", 2) == 0 && n > 0)
        *stop = rows->fn(&(struct muster_failed_group){queue, field + 2, (uint64_t)n}, rows->arg) != 0;
}

/* All groups together are more than this Redis sends. */
static int group_rows_one_by_one(struct muster_client *c, const char *key, const char *queue,
                                 const struct group_rows *rows, bool *stop)
{
    struct name_list names = {.n = 0};
    int err = page_scan_names(c, "HSCAN", key, &names);
    for (size_t i = 0; i < names.n && err == MUSTER_OK && !*stop; i++) {
        struct redisReply *n;
        err = client_ask(c, &n, (const char *const[]){"HGET", key, names.at[i].text, NULL});
        give_group(rows, queue, names.at[i].text, reply_number(n, 0), stop);
        redis_reply_free(n);
    }
    name_list_clear(&names);
    return err;
}

static int group_rows(struct muster_client *c, const char *queue, void *arg, bool *stop)
{
    const struct group_rows *rows = arg;
    char key[KEY_MAX];
    struct redisReply *figures;
    key_of(key, c->prefix, KEY_FAILURES, queue);
    int err = client_look(c, &figures, (const char *const[]){"HGETALL", key, NULL});
    if (err == MUSTER_E_CONN && redis_answer_limits(c->redis))
        return group_rows_one_by_one(c, key, queue, rows, stop);
    for (size_t i = 0; i + 1 < reply_len(figures) && !*stop; i += 2)
        give_group(rows, queue, reply_text(reply_at(figures, i)), reply_number(reply_at(figures, i + 1), 0), stop);
    redis_reply_free(figures);
    return err;
}

/* For all queues: a damaged one costs only its own rows. */
static int group_rows_of_each(struct muster_client *c, const char *queue, void *arg, bool *stop)
{
    if (muster_queue_check(queue))
        return MUSTER_OK; /* not written by muster */
    int err = group_rows(c, queue, arg, stop);
    if (err != MUSTER_E_REDIS)
        return err;
    log_line(MUSTER_LOG_WARN, "the failures of the queue '%s': %s", queue, redis_error(c->redis));
    return MUSTER_OK;
}

int muster_failed_groups(struct muster_client *c, const char *queue, muster_failed_group_fn *fn, void *arg)
{
    struct group_rows rows = {fn, arg};
    bool stop = false;
    if (!queue)
        return page_each_member(c, KEY_NAMES, group_rows_of_each, &rows);
    int err = client_check_queue(c, queue);
    return err == MUSTER_OK ? group_rows(c, queue, &rows, &stop) : err;
}
