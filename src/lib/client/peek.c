/* SPDX-License-Identifier: MIT
 *
 * Looking at what waits in a queue, in the order in which it comes out, as far as that is known beforehand: jobs of
 * negative priority, tasks that came back, the other tasks, all other jobs. Each of these is a part. The parts are
 * counted first, so what the caller leaves out is not read.
 */
#include <muster/job.h>
#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "client/heads.h"
#include "client/page.h"
#include "protocol/job_member.h"

/* Tasks can be large: only a few at once, and of each only the beginning. */
#define PAGE 8

enum part { JOBS_BEFORE, BACK, TASKS, JOBS_AFTER, N_PARTS };

/*
 * One look.
 *
 *   position    that of the next row
 *   left        how many more rows the caller wants
 *   sizes       how many rows each part has
 */
struct look {
    const char *queue;
    muster_task_fn *fn;
    void *arg;
    uint64_t position, left;
    uint64_t sizes[N_PARTS];
};

static int read_sizes(struct muster_client *c, struct look *l)
{
    char waiting[KEY_MAX], back[KEY_MAX], tasks[KEY_MAX];
    struct redisReply *parts[N_PARTS] = {NULL};
    key_of(waiting, c->prefix, KEY_WAITING, l->queue);
    key_of(back, c->prefix, KEY_RETURNED, l->queue);
    key_of(tasks, c->prefix, KEY_QUEUES, l->queue);
    int err = client_append(c, (const char *const[]){"ZCOUNT", waiting, "-inf", "(0", NULL});
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"ZCOUNT", back, "0", "+inf", NULL});
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"LLEN", tasks, NULL});
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"ZCOUNT", waiting, "0", "+inf", NULL});
    if (err == MUSTER_OK)
        err = page_read_alone(c, l->queue, parts, N_PARTS);
    for (int i = 0; i < N_PARTS; i++) {
        l->sizes[i] = reply_count(parts[i]);
        redis_reply_free(parts[i]);
    }
    return err;
}

/* Returns whether the look is over. */
static bool give(struct look *l, struct muster_bytes task, uint64_t whole, const char *job)
{
    size_t len = task.len < MUSTER_HEAD_MAX ? task.len : MUSTER_HEAD_MAX;
    const struct muster_task row = {l->position++, task.data, len, job, whole};
    l->left--;
    return l->fn(&row, l->arg) != 0 || l->left == 0;
}

/* One page of a part, from the rank `from` on. `*got`: how many rows it had; 0: the part is over. */
typedef int read_page_fn(struct muster_client *c, struct look *l, uint64_t from, uint64_t n, size_t *got, bool *stop);

/* The next task to be taken is at the list's end. */
static int read_tasks(struct muster_client *c, struct look *l, uint64_t from, uint64_t n, size_t *got, bool *stop)
{
    char key[KEY_MAX], first[24], last[24];
    struct redisReply *page;
    key_of(key, c->prefix, KEY_QUEUES, l->queue);
    snprintf(first, sizeof first, "-%llu", (unsigned long long)(from + n));
    snprintf(last, sizeof last, "-%llu", (unsigned long long)(from + 1));
    int err = page_ask_heads(c, MUSTER_HEAD_MAX, &page, (const char *const[]){"LRANGE", key, first, last, NULL}, n);
    *got = reply_len(page);
    for (size_t i = *got; i > 0 && !*stop; i--) {
        uint64_t whole;
        struct muster_bytes task = reply_head(reply_at(page, i - 1), &whole);
        *stop = give(l, task, whole, NULL);
    }
    redis_reply_free(page);
    return err;
}

/* The task of a member "<field>:<home>" of what came back. It may have been taken since the member was read. */
static int read_one_back(struct muster_client *c, struct look *l, struct muster_bytes member, bool *stop)
{
    char key[KEY_MAX], name[KEY_MAX], field[KEY_MAX],
        *home = member.data ? memrchr(member.data, ':', member.len) : NULL;
    struct redisReply *task;
    if (!home)
        return MUSTER_OK;
    size_t len = (size_t)(home - (const char *)member.data);
    snprintf(name, sizeof name, "%.*s:%s", (int)(member.len - len - 1), home + 1, l->queue);
    key_of(key, c->prefix, KEY_HOME, name);
    snprintf(field, sizeof field, "%.*s", (int)len, (const char *)member.data);
    int err = heads_ask(c, MUSTER_HEAD_MAX, &task, (const char *const[]){"HGET", key, field, NULL});
    uint64_t whole;
    struct muster_bytes bytes = reply_head(task, &whole);
    if (err == MUSTER_OK && bytes.data)
        *stop = give(l, bytes, whole, NULL);
    redis_reply_free(task);
    return err;
}

static int read_back(struct muster_client *c, struct look *l, uint64_t from, uint64_t n, size_t *got, bool *stop)
{
    char key[KEY_MAX], first[24], count[24];
    struct redisReply *page;
    key_of(key, c->prefix, KEY_RETURNED, l->queue);
    snprintf(first, sizeof first, "%llu", (unsigned long long)from);
    snprintf(count, sizeof count, "%llu", (unsigned long long)n);
    const char *const words[] = {"ZRANGEBYSCORE", key, "0", "+inf", "LIMIT", first, count, NULL};
    int err = page_ask(c, &page, words, n);
    *got = reply_len(page);
    for (size_t i = 0; i < *got && err == MUSTER_OK && !*stop; i++)
        err = read_one_back(c, l, reply_bytes(reply_at(page, i)), stop);
    redis_reply_free(page);
    return err;
}

/* A job may have moved on since its id was read. One whose record cannot be read goes onto the failed list when it
 * would be taken. */
static void give_jobs(struct look *l, const char *const *ids, struct redisReply *const *jobs, size_t n, bool *stop)
{
    for (size_t i = 0; i < n && !*stop; i++) {
        bool is_there = reply_kind(reply_at(jobs[i], 0)) == REPLY_TEXT;
        bool is_unique = reply_kind(reply_at(jobs[i], 1)) == REPLY_TEXT;
        uint64_t whole;
        struct muster_bytes data = reply_head(reply_at(jobs[i], 2), &whole);
        if (is_there)
            *stop = give(l, data, whole, is_unique ? NULL : ids[i]);
    }
}

static int read_jobs(struct muster_client *c, struct look *l, uint64_t from, uint64_t n, size_t *got, bool *stop)
{
    char key[KEY_MAX], first[24], last[24];
    struct redisReply *members, *jobs[PAGE] = {NULL};
    const char *ids[PAGE] = {NULL};
    key_of(key, c->prefix, KEY_WAITING, l->queue);
    snprintf(first, sizeof first, "%llu", (unsigned long long)from);
    snprintf(last, sizeof last, "%llu", (unsigned long long)(from + n - 1));
    int err = page_ask(c, &members, (const char *const[]){"ZRANGE", key, first, last, NULL}, n);
    *got = reply_len(members);
    for (size_t i = 0; i < *got; i++)
        ids[i] = job_member_id(reply_bytes(reply_at(members, i)));
    if (err == MUSTER_OK)
        err = heads_jobs(c, MUSTER_HEAD_MAX, ids, *got, (const char *const[]){"state", "unique", "data", NULL}, jobs);
    if (err == MUSTER_OK)
        give_jobs(l, ids, jobs, *got, stop);
    for (size_t i = 0; i < *got; i++)
        redis_reply_free(jobs[i]);
    redis_reply_free(members);
    return err;
}

/* Rows of one part. `skip`: how many to leave out. The part's own length decides where it ends: more may have come. */
static int look_at_part(struct muster_client *c, struct look *l, enum part part, uint64_t skip, bool *stop)
{
    static read_page_fn *const readers[N_PARTS] = {read_jobs, read_back, read_tasks, read_jobs};
    uint64_t first = part == JOBS_AFTER ? l->sizes[JOBS_BEFORE] : 0;
    size_t got = 1;
    int err = MUSTER_OK;
    for (uint64_t at = skip; err == MUSTER_OK && !*stop && got > 0 && at < l->sizes[part]; at += got) {
        uint64_t n = l->sizes[part] - at;
        n = n < l->left ? n : l->left;
        err = readers[part](c, l, first + at, n < PAGE ? n : PAGE, &got, stop);
    }
    return err;
}

int muster_task_peek(struct muster_client *c, const char *queue, uint64_t from, uint64_t n, muster_task_fn *fn,
                     void *arg)
{
    struct look l = {.queue = queue, .fn = fn, .arg = arg, .position = from, .left = n};
    bool stop = n == 0;
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK && !stop)
        err = read_sizes(c, &l);
    for (int part = 0; part < N_PARTS && err == MUSTER_OK && !stop; part++) {
        uint64_t skip = from < l.sizes[part] ? from : l.sizes[part];
        err = look_at_part(c, &l, (enum part)part, skip, &stop);
        from -= skip;
    }
    return err;
}

/* ---- what is delayed ---- */

struct delayed_look {
    char key[KEY_MAX];
    struct page_same same;
    muster_delayed_task_fn *fn;
    void *arg;
    bool stop;
};

/* One page, of n from the place `at` on; a member is "<token>:<task>". `*got`: how many it had. */
static int give_delayed(struct muster_client *c, struct delayed_look *l, uint64_t at, uint64_t n, size_t *got)
{
    char first[24], last[24];
    struct redisReply *page;
    snprintf(first, sizeof first, "%llu", (unsigned long long)at);
    snprintf(last, sizeof last, "%llu", (unsigned long long)(at + n - 1));
    int err = page_ask_heads(c, MUSTER_HEAD_MAX + TOKEN_LEN + 1, &page,
                             (const char *const[]){"ZRANGE", l->key, first, last, "WITHSCORES", NULL}, 2 * n);
    if (err == MUSTER_OK)
        err = page_check_same(c, &l->same, "ZRANGE", &page);
    *got = reply_len(page) / 2;
    for (size_t i = 0; i < *got && !l->stop; i++) {
        uint64_t whole;
        struct muster_bytes member = reply_head(reply_at(page, 2 * i), &whole);
        if (member.len <= TOKEN_LEN)
            continue; /* not written by muster */
        const struct muster_delayed_task row = {.position = at + i,
                                                .due_at_ms = reply_number(reply_at(page, 2 * i + 1), 0),
                                                .data = (const char *)member.data + TOKEN_LEN + 1,
                                                .len = member.len - TOKEN_LEN - 1,
                                                .whole_len = whole - TOKEN_LEN - 1};
        l->stop = l->fn(&row, l->arg) != 0;
    }
    redis_reply_free(page);
    return err;
}

int muster_task_peek_delayed(struct muster_client *c, const char *queue, uint64_t from, uint64_t n,
                             muster_delayed_task_fn *fn, void *arg)
{
    struct delayed_look l = {.fn = fn, .arg = arg};
    size_t got = PAGE;
    int err = client_check_queue(c, queue);
    if (err != MUSTER_OK)
        return err;
    key_of(l.key, c->prefix, KEY_DELAYED, queue);
    l.stop = from > INT64_MAX / 2; /* no list is so long, and Redis knows no such place */
    while (err == MUSTER_OK && !l.stop && n > 0 && got == PAGE) {
        err = give_delayed(c, &l, from, n < PAGE ? n : PAGE, &got);
        from += got;
        n -= got;
    }
    return err;
}
