/* SPDX-License-Identifier: MIT
 *
 * Listing jobs: by queue and state, by tag, tracked, failed, by age; how many there are, and their tags.
 * Plain reading commands in pages. A record that cannot be read costs its own row, with a line in the log.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "client/client.h"
#include "client/failed.h"
#include "client/heads.h"
#include "client/job_ages.h"
#include "client/job_page.h"
#include "client/job_select.h"
#include "client/page.h"
#include "protocol/job_valid.h"

#define TAG_PAGE 100

/* ---- listing as they are ---- */

enum listed_by { BY_STATE, BY_FAILURE, BY_TAG };

struct listing {
    struct muster_job_filter filter;
    enum listed_by by;
    enum muster_job_state state;
    muster_job_fn *fn;
    void *arg;
    char key[KEY_MAX];
    uint64_t from; /* the rank of the next page */
    uint64_t left_out;
    uint64_t given;
    bool stop;
};

/* The id that a member names, within the member. NULL: it names none, or one that the filter excludes. */
static const char *id_of_member(const struct listing *l, const struct redisReply *member)
{
    return l->by == BY_TAG ? reply_text(member) : job_select_id(l->state, member, l->filter.group);
}

static bool has_tag(const struct muster_job *job, const char *tag)
{
    for (size_t i = 0; i < job->n_tags; i++)
        if (strcmp(job->tags[i], tag) == 0)
            return true;
    return false;
}

static bool has_tags(const struct muster_job *job, const struct muster_job_filter *f)
{
    bool has = !f->tag || has_tag(job, f->tag);
    for (size_t i = 0; i < f->n_tags && has == !f->any_tag; i++) /* until one decides */
        has = has_tag(job, f->tags[i]);
    return has;
}

/* A job may have moved on since the page was read. */
static bool is_meant(const struct muster_job_filter *f, const struct job_page_row *row)
{
    const struct muster_job *job = &row->record.job;
    if (row->err == MUSTER_E_REDIS || row->err == MUSTER_E_TOO_BIG)
        log_line(MUSTER_LOG_WARN, "the record of the job '%s' cannot be read%s", row->id,
                 row->err == MUSTER_E_TOO_BIG ? ": it is more than this Redis sends (client-output-buffer-limit)" : "");
    return row->err == MUSTER_OK && (!job_select_by_state(f) || job->state == job_select_state(f)) &&
           (!f->queue || strcmp(job->queue, f->queue) == 0) && has_tags(job, f) && (!f->tracked || job->tracked) &&
           (!f->group || strcmp(job->group, f->group) == 0);
}

static void give_row(struct listing *l, const struct job_page_row *row)
{
    if (!is_meant(&l->filter, row) || l->left_out++ < l->filter.offset)
        return;
    l->given++;
    l->stop = l->fn(&row->record.job, l->arg) != 0 || (l->filter.n > 0 && l->given >= l->filter.n);
}

static void give_rows(struct listing *l, const struct job_page *page)
{
    for (size_t i = 0; i < page->n && !l->stop; i++)
        give_row(l, &page->rows[i]);
}

/* `*is_last`: nothing comes behind this page. */
static int list_page(struct muster_client *c, struct listing *l, struct page_same *same, bool *is_last)
{
    const bool is_failed = l->by == BY_FAILURE;
    const size_t n = is_failed ? FAILED_JOBS_PAGE : JOB_PAGE;
    char first[24], last[24];
    struct redisReply *members;
    struct job_page page = {.n = 0};
    snprintf(first, sizeof first, "%llu", (unsigned long long)l->from);
    snprintf(last, sizeof last, "%llu", (unsigned long long)l->from + n - 1);
    const char *const words[] = {is_failed ? "ZREVRANGE" : "ZRANGE", l->key, first, last, NULL};
    int err = page_ask_heads(c, is_failed ? FAILED_JOB_MAX : HEADS_WHOLE, &members, words, n);
    if (err == MUSTER_OK)
        err = page_check_same(c, same, words[0], &members);
    for (size_t i = 0; i < reply_len(members); i++) {
        const char *id = id_of_member(l, reply_at(members, i));
        if (id)
            page.rows[page.n++].id = id;
    }
    if (err == MUSTER_OK)
        err = job_page_read(c, &page, RECORDS_ONLY, MUSTER_HEAD_MAX);
    if (err == MUSTER_OK)
        give_rows(l, &page);
    l->from += n;
    *is_last = reply_len(members) < n;
    job_page_clear(&page);
    redis_reply_free(members);
    return err;
}

static int list_pages(struct muster_client *c, struct listing *l)
{
    int err = MUSTER_OK;
    struct page_same same = {0}; /* of this list: many queues may have the same, nothing */
    for (bool is_last = false; err == MUSTER_OK && !l->stop && !is_last;)
        err = list_page(c, l, &same, &is_last);
    return err;
}

static int list_queue(struct muster_client *c, struct listing *l, const char *queue)
{
    job_select_key(l->key, c, l->state, queue);
    l->from = 0;
    if (l->by == BY_STATE &&
        l->filter.queue) { /* each member is a row: the offset skips members without reading them */
        l->from = l->filter.offset;
        l->filter.offset = 0;
    }
    return list_pages(c, l);
}

static int list_named(struct muster_client *c, const char *name, void *arg, bool *stop)
{
    struct listing *l = arg;
    int err = muster_queue_check(name) ? MUSTER_OK : list_queue(c, l, name); /* not a name that muster writes */
    *stop = l->stop;
    return err;
}

static int list_as_they_are(struct muster_client *c, struct listing *l)
{
    const struct muster_job_filter *f = &l->filter;
    if (f->tag || f->tracked) {
        l->by = BY_TAG;
        key_of(l->key, c->prefix, f->tag ? KEY_TAG : KEY_TRACKED, f->tag ? f->tag : "");
        return list_pages(c, l);
    }
    l->state = job_select_state(f);
    l->by = l->state == MUSTER_JOB_FAILED ? BY_FAILURE : BY_STATE;
    return f->queue ? list_queue(c, l, f->queue) : page_each_member(c, KEY_NAMES, list_named, l);
}

/* ---- listing by age ---- */

/* Gives the jobs in this order, as far as they are still meant. One that was put anew since it was looked at has another
 * place in the order: as the last row it would make the next page begin there. */
static int give_in_order(struct muster_client *c, struct listing *l, const struct job_age *ages, size_t n)
{
    int err = MUSTER_OK;
    for (size_t at = 0; err == MUSTER_OK && at < n && !l->stop; at += JOB_PAGE) {
        struct job_page page = {.n = n - at < JOB_PAGE ? n - at : JOB_PAGE};
        for (size_t i = 0; i < page.n; i++)
            page.rows[i].id = ages[at + i].id;
        err = job_page_read(c, &page, RECORDS_ONLY, MUSTER_HEAD_MAX);
        for (size_t i = 0; i < page.n && err == MUSTER_OK && !l->stop; i++)
            if (page.rows[i].err != MUSTER_OK || page.rows[i].record.job.put_at_ms == ages[at + i].put_ms)
                give_row(l, &page.rows[i]);
        job_page_clear(&page);
    }
    return err;
}

static int list_by_age(struct muster_client *c, struct listing *l)
{
    struct job_ages ages;
    int err = MUSTER_OK;
    job_ages_begin(&ages, &l->filter);
    while (err == MUSTER_OK && !l->stop && !ages.is_last) {
        err = job_ages_next(c, &ages);
        if (err == MUSTER_OK)
            err = give_in_order(c, l, ages.rows, ages.n);
    }
    job_ages_end(&ages);
    return err;
}

/* Is there an index that has just these jobs? */
static bool has_index(const struct muster_job_filter *f)
{
    int n = !!f->tag + !!f->tracked + !!f->group;
    return f->order == MUSTER_JOBS_AS_THEY_ARE && !f->any_tag && n <= 1 && (n == 1 || job_select_by_state(f));
}

int muster_job_list(struct muster_client *c, const struct muster_job_filter *f, muster_job_fn *fn, void *arg)
{
    struct listing l = {.fn = fn, .arg = arg};
    int err = client_read(c, SIZED_JOB_FILTER, &l.filter, f);
    if (err == MUSTER_OK)
        err = job_select_check(c, &l.filter);
    if (err == MUSTER_OK && l.filter.order == MUSTER_JOBS_AS_THEY_ARE && !job_select_is_any(&l.filter))
        err = client_refuse(c, "jobs are listed by a queue, a state, a tag, a group, the tracked ones, or by age");
    if (err != MUSTER_OK || l.filter.offset > INT64_MAX / 2)
        return err;
    return has_index(&l.filter) ? list_as_they_are(c, &l) : list_by_age(c, &l);
}

/* ---- counts ---- */

static int append_count(struct muster_client *c, enum muster_job_state state, const char *queue)
{
    char key[KEY_MAX];
    bool is_failed = state == MUSTER_JOB_FAILED; /* the failed list has tasks too */
    if (is_failed)
        key_of(key, c->prefix, KEY_FAILURES, queue);
    else
        job_select_key(key, c, state, queue);
    return client_append(c, (const char *const[]){is_failed ? "HGET" : "ZCARD", key, is_failed ? "jobs" : NULL, NULL});
}

static int append_counts(struct muster_client *c, const char *queue)
{
    int err = MUSTER_OK;
    for (int i = 0; err == MUSTER_OK && i < MUSTER_JOB_STATE_COUNT; i++)
        err = append_count(c, (enum muster_job_state)i, queue);
    return err;
}

static int read_counts(struct muster_client *c, const char *queue, uint64_t counts[MUSTER_JOB_STATE_COUNT],
                       page_read_fn *read)
{
    struct redisReply *parts[MUSTER_JOB_STATE_COUNT] = {NULL};
    int err = read(c, queue, parts, MUSTER_JOB_STATE_COUNT);
    for (int i = 0; i < MUSTER_JOB_STATE_COUNT; i++) {
        long long n = reply_number(parts[i], 0);
        counts[i] = n > 0 ? (uint64_t)n : 0;
        redis_reply_free(parts[i]);
    }
    return err;
}

int muster_job_counts(struct muster_client *c, const char *queue, uint64_t counts[MUSTER_JOB_STATE_COUNT])
{
    memset(counts, 0, MUSTER_JOB_STATE_COUNT * sizeof *counts);
    int err = client_check_queue(c, queue);
    if (err == MUSTER_OK)
        err = append_counts(c, queue);
    return err == MUSTER_OK ? read_counts(c, queue, counts, page_read_alone) : err;
}

struct counting {
    muster_job_counts_fn *fn;
    void *arg;
};

static int count_queues(struct muster_client *c, const char *const *queues, size_t n, struct counting *counting,
                        bool *stop)
{
    uint64_t counts[PAGE_MEMBERS_MAX][MUSTER_JOB_STATE_COUNT];
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_counts(c, queues[i]);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = read_counts(c, queues[i], counts[i], page_read_parts);
    for (size_t i = 0; i < n && err == MUSTER_OK && !*stop; i++)
        *stop = counting->fn(queues[i], counts[i], counting->arg) != 0;
    return err;
}

/* Names that muster does not write are left out. */
static int count_page(struct muster_client *c, const char *const *names, size_t n, void *arg, bool *stop)
{
    const char *queues[PAGE_MEMBERS_MAX];
    size_t n_queues = 0;
    for (size_t i = 0; i < n; i++)
        if (!muster_queue_check(names[i]))
            queues[n_queues++] = names[i];
    return count_queues(c, queues, n_queues, arg, stop);
}

int muster_job_counts_list(struct muster_client *c, muster_job_counts_fn *fn, void *arg)
{
    return page_each_page(c, KEY_NAMES, count_page, &(struct counting){fn, arg});
}

/* ---- tags ---- */

int muster_tag_list(struct muster_client *c, uint64_t offset, uint64_t n, muster_tag_fn *fn, void *arg)
{
    char key[KEY_MAX], first[24], last[24];
    int err = MUSTER_OK;
    bool stop = offset > INT64_MAX / 2;
    struct page_same same = {0};
    key_of(key, c->prefix, KEY_TAGS, "");
    while (err == MUSTER_OK && n > 0 && !stop) {
        struct redisReply *page;
        uint64_t want = n < TAG_PAGE ? n : TAG_PAGE;
        snprintf(first, sizeof first, "%llu", (unsigned long long)offset);
        snprintf(last, sizeof last, "%llu", (unsigned long long)(offset + want - 1));
        err = page_ask(c, &page, (const char *const[]){"ZREVRANGE", key, first, last, "WITHSCORES", NULL}, 2 * want);
        if (err == MUSTER_OK)
            err = page_check_same(c, &same, "ZREVRANGE", &page);
        for (size_t i = 0; i + 1 < reply_len(page) && !stop; i += 2) {
            long long jobs = reply_number(reply_at(page, i + 1), 0);
            const char *name = reply_text(reply_at(page, i));
            if (name && jobs > 0)
                stop = fn(&(struct muster_tag){name, (uint64_t)jobs}, arg) != 0;
        }
        stop |= reply_len(page) < 2 * want;
        redis_reply_free(page);
        offset += want;
        n -= want;
    }
    return err;
}
