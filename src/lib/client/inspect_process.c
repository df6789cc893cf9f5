/* SPDX-License-Identifier: MIT
 *
 * Listing processes. The sets of workers and of leases are read in pages. With each page comes what other keys hold of
 * its processes: marks, notes, ends of leases, what is shown of jobs. Of a large task only the beginning is read.
 */
#include <muster/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/heads.h"
#include "client/page.h"
#include "protocol/process_name.h"

/* Tasks can be large: only a few at once. */
#define PAGE 8

struct process_rows {
    struct muster_process_filter filter;
    muster_process_row_fn *fn;
    void *arg;
    size_t most; /* how many bytes of a task are read */
    bool stop;
};

enum { ABOUT_MARK, ABOUT_NOTE, ABOUT_END, ABOUT_HOLDER, ABOUT };

/* One page of a set, which holds pairs: a token and its task; or "j" with a token, and the id of a job. `about` and
 * `jobs` are in the order of the pairs. */
struct process_page {
    const char *worker;
    const char *queue;
    const struct redisReply *set;
    struct redisReply *about[ABOUT];
    struct redisReply **jobs; /* of each job: its data, whether it is a unique task, its token; NULL: a task */
};

static bool is_wanted(const struct process_rows *rows, struct muster_bytes task, uint64_t whole)
{
    const struct muster_bytes *wanted = rows->filter.task;
    return !wanted || (wanted->len == whole && whole == task.len &&
                       (task.len == 0 || memcmp(wanted->data, task.data, task.len) == 0));
}

static const char *job_of_field(const struct redisReply *set, size_t i)
{
    struct muster_bytes field = reply_bytes(reply_at(set, 2 * i));
    bool is_job = field.len == TOKEN_LEN + 1 && *(const char *)field.data == 'j';
    const char *id = is_job ? reply_text(reply_at(set, 2 * i + 1)) : NULL;
    return id && !muster_job_id_check(id) ? id : NULL;
}

static struct muster_bytes token_of_field(const struct redisReply *set, size_t i)
{
    struct muster_bytes field = reply_bytes(reply_at(set, 2 * i));
    size_t skip = field.len == TOKEN_LEN + 1 && *(const char *)field.data == 'j';
    return (struct muster_bytes){(const char *)field.data + skip, field.len - skip};
}

/* The bytes of a process. A cancelled job is gone, and its id may be another job's; or its record cannot be read: then there
 * are none. */
static struct muster_bytes task_of(const struct process_page *page, size_t i, struct muster_bytes token,
                                   uint64_t *whole)
{
    const struct redisReply *job = page->jobs[i];
    if (!job_of_field(page->set, i))
        return reply_head(reply_at(page->set, 2 * i + 1), whole);
    struct muster_bytes own = reply_bytes(reply_at(job, 2));
    bool is_own = own.len == token.len && memcmp(own.data, token.data, own.len) == 0;
    return reply_head(is_own ? reply_at(job, 0) : NULL, whole);
}

/* Is the listing to stop? */
static bool give_process(const struct process_rows *rows, const struct process_page *page, size_t i)
{
    struct muster_bytes token_text = token_of_field(page->set, i);
    uint64_t token, whole;
    struct muster_bytes task = task_of(page, i, token_text, &whole);
    bool is_unique = reply_kind(reply_at(page->jobs[i], 1)) == REPLY_TEXT;
    const char *note = reply_text(reply_at(page->about[ABOUT_NOTE], i));
    const char *holder = reply_text(reply_at(page->about[ABOUT_HOLDER], i));
    char id[PROCESS_ID_MAX];
    if (!token_text.data || token_parse(token_text.data, token_text.len, &token) != MUSTER_OK ||
        !is_wanted(rows, task, whole) || (rows->filter.holder && (!holder || strcmp(holder, rows->filter.holder) != 0)))
        return false;
    process_name_format(id, page->worker, token_text.data, page->queue);
    const struct muster_process_info info = {
        .id = id,
        .worker = page->worker,
        .queue = page->queue,
        .job = is_unique ? NULL : job_of_field(page->set, i),
        .token = token,
        .started_at_ms = token_at_ms(token),
        .ends_at_ms = reply_number(reply_at(page->about[ABOUT_END], i), 0),
        .cancelled = reply_kind(reply_at(page->about[ABOUT_MARK], i)) == REPLY_TEXT,
        .progress = note ? note : "",
        .holder = holder,
        .task = task.data,
        .len = task.len,
        .whole_len = whole,
    };
    return rows->fn(&info, rows->arg) != 0;
}

/* Leases are kept under the field; marks and notes under the token. */
enum kept_under { UNDER_TOKEN, UNDER_FIELD };

static int append_for_tokens(struct muster_client *c, const char *name, const char *key, const struct redisReply *set,
                             enum kept_under what)
{
    struct command command = {.is_look = true};
    command_text(&command, name);
    command_text(&command, key);
    for (size_t i = 0; i < reply_len(set) / 2; i++) {
        struct muster_bytes word = what == UNDER_FIELD ? reply_bytes(reply_at(set, 2 * i)) : token_of_field(set, i);
        command_bytes(&command, word.data, word.len);
    }
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

static int read_jobs(struct muster_client *c, const struct process_rows *rows, struct process_page *page, size_t n)
{
    const char **ids = calloc(n, sizeof *ids);
    if (!ids)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        ids[i] = job_of_field(page->set, i);
    int err = heads_jobs(c, rows->most, ids, n, (const char *const[]){"data", "unique", "token", NULL}, page->jobs);
    free(ids);
    return err;
}

/* Read what other keys hold of a page's processes. */
static int read_about(struct muster_client *c, const struct process_rows *rows, struct process_page *page)
{
    const struct {
        const char *command;
        enum key key;
        const char *name;
    } parts[ABOUT] = {
        [ABOUT_MARK] = {"HMGET", KEY_MARKS, page->worker},
        [ABOUT_NOTE] = {"HMGET", KEY_NOTES, page->worker},
        [ABOUT_END] = {"ZMSCORE", KEY_LEASES, page->queue},
        [ABOUT_HOLDER] = {"HMGET", KEY_HOLDERS, page->queue},
    };
    size_t n = strcmp(page->worker, MUSTER_LEASE_ID) == 0 ? ABOUT : ABOUT_END;
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        char key[KEY_MAX];
        key_of(key, c->prefix, parts[i].key, parts[i].name);
        err = append_for_tokens(c, parts[i].command, key, page->set, i == ABOUT_END ? UNDER_FIELD : UNDER_TOKEN);
    }
    if (err == MUSTER_OK)
        err = page_read_parts(c, page->worker, page->about, n);
    return err == MUSTER_OK ? read_jobs(c, rows, page, reply_len(page->set) / 2) : err;
}

static int give_page(struct muster_client *c, struct process_rows *rows, const char *worker, const char *queue,
                     const struct redisReply *set)
{
    struct process_page page = {.worker = worker, .queue = queue, .set = set};
    size_t n = reply_len(set) / 2;
    if (n == 0)
        return MUSTER_OK;
    page.jobs = calloc(n, sizeof *page.jobs);
    int err = page.jobs ? read_about(c, rows, &page) : MUSTER_E_NOMEM;
    for (size_t i = 0; i < n && err == MUSTER_OK && !rows->stop; i++)
        rows->stop = give_process(rows, &page, i);
    for (size_t i = 0; i < ABOUT; i++)
        redis_reply_free(page.about[i]);
    for (size_t i = 0; page.jobs && i < n; i++)
        redis_reply_free(page.jobs[i]);
    free(page.jobs);
    return err;
}

static int set_rows(struct muster_client *c, const char *worker, const char *queue, struct process_rows *rows)
{
    char key[KEY_MAX], cursor[PAGE_CURSOR_MAX] = "0";
    int err;
    key_processing(key, c->prefix, worker, queue);
    do {
        struct redisReply *reply;
        char count[8];
        snprintf(count, sizeof count, "%d", PAGE);
        err = page_scan_heads(c, rows->most, (const char *const[]){"HSCAN", key, cursor, "COUNT", count, NULL}, cursor,
                              &reply);
        if (err == MUSTER_OK)
            err = give_page(c, rows, worker, queue, reply_at(reply, 1));
        redis_reply_free(reply);
    } while (err == MUSTER_OK && !rows->stop && strcmp(cursor, "0") != 0);
    return err;
}

static int worker_rows(struct muster_client *c, struct process_rows *rows, const char *worker,
                       const struct redisReply *record)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < reply_len(record) && err == MUSTER_OK && !rows->stop; i += 2) {
        const char *queue = page_queue_field(record, i);
        if (queue && (!rows->filter.queue || strcmp(rows->filter.queue, queue) == 0))
            err = set_rows(c, worker, queue, rows);
    }
    return err;
}

/* Of each of these keys, in one round trip. */
static int ask_each(struct muster_client *c, const char *command, char (*keys)[KEY_MAX], size_t n,
                    struct redisReply **replies, int (*read)(struct muster_client *, struct redisReply **))
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = client_append(c, (const char *const[]){command, keys[i], NULL});
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = read(c, &replies[i]);
    return err;
}

static int read_record(struct muster_client *c, struct redisReply **record)
{
    return redis_read(c->redis, record);
}

static int process_workers(struct muster_client *c, const char *const *workers, size_t n, void *arg, bool *stop)
{
    struct process_rows *rows = arg;
    const char *wanted[PAGE_MEMBERS_MAX];
    char keys[PAGE_MEMBERS_MAX][KEY_MAX];
    struct redisReply *records[PAGE_MEMBERS_MAX] = {NULL};
    size_t n_wanted = 0;
    for (size_t i = 0; i < n; i++)
        if (!rows->filter.worker || strcmp(rows->filter.worker, workers[i]) == 0) {
            key_of(keys[n_wanted], c->prefix, KEY_WORKER, workers[i]);
            wanted[n_wanted++] = workers[i];
        }
    int err = ask_each(c, "HGETALL", keys, n_wanted, records, read_record);
    for (size_t i = 0; i < n_wanted; i++) {
        if (err == MUSTER_OK && !rows->stop)
            err = worker_rows(c, rows, wanted[i], records[i]);
        redis_reply_free(records[i]);
    }
    *stop = rows->stop;
    return err;
}

/* A refused one counts as there: who reads the set is told. */
static int read_size(struct muster_client *c, struct redisReply **size)
{
    int err = redis_read(c->redis, size);
    return err == MUSTER_E_REDIS ? MUSTER_OK : err;
}

/* Most queues have no leases. */
static int process_leases(struct muster_client *c, const char *const *queues, size_t n, void *arg, bool *stop)
{
    struct process_rows *rows = arg;
    char keys[PAGE_MEMBERS_MAX][KEY_MAX];
    struct redisReply *sizes[PAGE_MEMBERS_MAX] = {NULL};
    const char *good[PAGE_MEMBERS_MAX];
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++)
        if (!muster_queue_check(queues[i])) {
            key_processing(keys[n_good], c->prefix, MUSTER_LEASE_ID, queues[i]);
            good[n_good++] = queues[i];
        }
    int err = ask_each(c, "HLEN", keys, n_good, sizes, read_size);
    for (size_t i = 0; i < n_good; i++) {
        if (err == MUSTER_OK && !rows->stop && reply_number(sizes[i], 1) != 0)
            err = set_rows(c, MUSTER_LEASE_ID, good[i], rows);
        redis_reply_free(sizes[i]);
    }
    *stop = rows->stop;
    return err;
}

static int check_filter(struct muster_client *c, const struct muster_process_filter *f)
{
    const char *why = f->queue ? muster_queue_check(f->queue) : NULL;
    if (!why && f->worker && strcmp(f->worker, MUSTER_LEASE_ID) != 0)
        why = muster_worker_id_check(f->worker);
    if (!why && f->holder)
        why = muster_worker_id_check(f->holder);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

int muster_process_list(struct muster_client *c, const struct muster_process_filter *f, muster_process_row_fn *fn,
                        void *arg)
{
    struct process_rows rows = {.fn = fn, .arg = arg, .most = MUSTER_HEAD_MAX};
    int err = client_read(c, SIZED_PROCESS_FILTER, &rows.filter, f);
    const char *queue = rows.filter.queue, *worker = rows.filter.worker;
    bool is_lease = worker && strcmp(worker, MUSTER_LEASE_ID) == 0;
    if (err == MUSTER_OK)
        err = check_filter(c, &rows.filter);
    if (rows.filter.task && rows.filter.task->len > MUSTER_HEAD_MAX)
        rows.most = HEADS_WHOLE; /* all of it is compared */
    if (err == MUSTER_OK && !is_lease && !rows.filter.holder)
        err = page_each_page(c, KEY_REGISTRY, process_workers, &rows);
    if (err != MUSTER_OK || rows.stop || (worker && !is_lease))
        return err;
    return queue ? set_rows(c, MUSTER_LEASE_ID, queue, &rows) : page_each_page(c, KEY_NAMES, process_leases, &rows);
}
