/* SPDX-License-Identifier: MIT
 *
 * Queues and their figures. Plain reading commands: nothing here writes. A listing reads the names in pages of 100, and
 * asks for all rows of a page in one round trip: 12 commands a queue, and two more for one in which jobs wait or to
 * which something came back. A key of the wrong type costs the figures of its own row, with a line in the log, but not
 * the listing.
 *
 * `out` is read before the list's length, and the time before and after both. So tasks that come and go meanwhile make
 * the oldest seem younger, never older.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/page.h"
#include "client/waiting.h"
#include "protocol/token.h"

#define PAGE PAGE_MEMBERS_MAX
/* What counts something stays below this, whatever a server says: sums of a few of them are numbers. */
#define COUNT_MAX (INT64_C(1) << 53)

/* X(field of P:queue:<q>) */
#define SETTINGS(X) X(running) X(paused) X(cancelled) X(dropped) X(out) X(jobs_in) X(jobs_out) X(ages) X(unordered)

enum setting {
#define SETTING(name) SETTING_##name,
    SETTINGS(SETTING)
#undef SETTING
};

enum {
    PART_SETTINGS, /* before the list's length */
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

struct row {
    char *name; /* of a page: the answer's */
    int64_t born;
    struct redisReply *parts[PARTS], *waiting[WAITING_PARTS];
    struct redisReply *jobs[2], *returned; /* the first and the last job that waits; the first that came back */
    struct muster_queue_info info;
};

/* ---- asking ---- */

static int append_parts(struct muster_client *c, const char *name)
{
    static const struct {
        const char *command;
        enum key key;
        const char *field;
    } parts[PARTS] = {
        [PART_DELAYED] = {"ZCARD", KEY_DELAYED, NULL},     [PART_FAILED] = {"ZCARD", KEY_FAILED, NULL},
        [PART_FAILURES] = {"HGET", KEY_FAILURES, "bytes"}, [PART_IDLE] = {"ZCARD", KEY_IDLE, NULL},
        [PART_SCHEDULED] = {"ZCARD", KEY_SCHEDULED, NULL}, [PART_DEPENDS] = {"ZCARD", KEY_DEPENDS, NULL},
        [PART_RECURRING] = {"ZCARD", KEY_RECURRING, NULL}, [PART_COMPLETE] = {"ZCARD", KEY_COMPLETE, NULL},
    };
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_QUEUE, name);
#define NAME(field) #field,
    int err = client_append(c, (const char *const[]){"HMGET", key, SETTINGS(NAME) NULL});
#undef NAME
    for (int i = PART_SETTINGS + 1; i < PARTS && err == MUSTER_OK; i++) {
        key_of(key, c->prefix, parts[i].key, name);
        err = client_append(c, (const char *const[]){parts[i].command, key, parts[i].field, NULL});
    }
    return err == MUSTER_OK ? waiting_append(c, name) : err;
}

static int append_time(struct muster_client *c)
{
    return client_append(c, (const char *const[]){"TIME", NULL});
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

static int first_error(int err, int other)
{
    return err == MUSTER_OK ? other : err;
}

static int read_time(struct muster_client *c, int64_t *ms)
{
    struct redisReply *reply = NULL;
    int err = redis_read(c->redis, &reply);
    *ms = reply_time_ms(reply);
    redis_reply_free(reply);
    return err;
}

/* All answers are read, also after a failure: the next call would take an unread answer for its own. */
static int ask_parts(struct muster_client *c, struct row *rows, size_t n, read_parts_fn *read, struct ages_look *look)
{
    int err = append_time(c);
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_parts(c, rows[i].name);
    if (err == MUSTER_OK)
        err = append_time(c);
    if (err != MUSTER_OK)
        return err;
    err = read_time(c, &look->began_ms);
    for (size_t i = 0; i < n; i++) {
        err = first_error(err, read(c, rows[i].name, rows[i].parts, PARTS));
        err = first_error(err, read(c, rows[i].name, rows[i].waiting, WAITING_PARTS));
    }
    return first_error(err, read_time(c, &look->ended_ms));
}

/* What tells the ages of what is not in the list. */
static int append_others(struct muster_client *c, const char *name)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_WAITING, name);
    int err = client_append(c, (const char *const[]){"ZRANGE", key, "0", "0", "WITHSCORES", NULL});
    if (err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"ZRANGE", key, "-1", "-1", "WITHSCORES", NULL});
    key_of(key, c->prefix, KEY_RETURNED, name);
    if (err == MUSTER_OK)
        err = client_append(
            c, (const char *const[]){"ZRANGEBYSCORE", key, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1", NULL});
    return err;
}

static bool has_others(const struct row *r)
{
    return reply_count(r->waiting[1]) + reply_count(r->waiting[2]) > 0;
}

static int ask_others(struct muster_client *c, struct row *rows, size_t n, read_parts_fn *read)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        if (has_others(&rows[i]))
            err = append_others(c, rows[i].name);
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n; i++)
        if (has_others(&rows[i])) {
            err = first_error(err, read(c, rows[i].name, rows[i].jobs, 2));
            err = first_error(err, read(c, rows[i].name, &rows[i].returned, 1));
        }
    return err;
}

/* ---- ages ---- */

/* `since`: at the latest and at the earliest; 0: not known. */
static void widen(struct ages_bounds *all, struct ages_bounds since, bool *is_first)
{
    if (*is_first || (since.latest_ms > 0 && (all->latest_ms == 0 || since.latest_ms < all->latest_ms)))
        all->latest_ms = since.latest_ms;
    if (*is_first || since.earliest_ms < all->earliest_ms)
        all->earliest_ms = since.earliest_ms;
    *is_first = false;
}

/* A job's member begins with its place, which was drawn when it came. The first one is the oldest of its priority. */
static struct ages_bounds since_of_jobs(const struct row *r)
{
    struct ages_bounds since = {0, 0};
    const char *member = reply_text(reply_at(r->jobs[0], 0)), *first = reply_text(reply_at(r->jobs[0], 1));
    uint64_t place;
    if (!member || strlen(member) < TOKEN_LEN || token_parse(member, TOKEN_LEN, &place) != MUSTER_OK)
        return since;
    since.latest_ms = token_at_ms(place);
    if (first && reply_is(reply_at(r->jobs[1], 1), first))
        since.earliest_ms = since.latest_ms;
    return since;
}

/* A task that came back has the token of its first take: it has been here since then at the latest. */
static struct ages_bounds since_of_returned(const struct row *r)
{
    long long token = reply_number(reply_at(r->returned, 1), 0);
    int64_t ms = token > 0 ? token_at_ms((uint64_t)token) : 0;
    return (struct ages_bounds){ms, ms};
}

/* One ms less: the server's times are cut to whole ones. */
static void set_oldest(struct muster_queue_info *info, const struct ages_bounds *since, const struct ages_look *look)
{
    int64_t least = since->latest_ms > 0 ? look->began_ms - since->latest_ms - 1 : 0;
    info->oldest_ms = least > 0 ? least : 0;
    int64_t most = look->ended_ms - since->earliest_ms + 1;
    info->oldest_error_ms = since->earliest_ms <= 0 ? -1 : most > info->oldest_ms ? most - info->oldest_ms : 0;
}

static void read_ages(struct muster_client *c, struct row *r, struct ages_look *look)
{
    struct ages_bounds all = {0, 0};
    bool is_first = true;
    look->noted = reply_text(reply_at(r->parts[PART_SETTINGS], SETTING_ages));
    struct ages_bounds tasks = ages_see(&c->ages, r->name, r->born, look);
    if (look->waiting > 0)
        widen(&all, tasks, &is_first);
    if (reply_count(r->waiting[1]) > 0)
        widen(&all, since_of_jobs(r), &is_first);
    if (reply_count(r->waiting[2]) > 0)
        widen(&all, since_of_returned(r), &is_first);
    r->info.oldest_ms = r->info.oldest_error_ms = -1;
    if (!is_first)
        set_oldest(&r->info, &all, look);
}

/* ---- rows ---- */

static int64_t count_of(const struct redisReply *r)
{
    uint64_t n = reply_count(r);
    return n < COUNT_MAX ? (int64_t)n : COUNT_MAX;
}

static void read_row(struct muster_client *c, struct row *r, struct ages_look *look)
{
    const struct redisReply *settings = r->parts[PART_SETTINGS];
    look->out = count_of(reply_at(settings, SETTING_out));
    int64_t unordered = count_of(reply_at(settings, SETTING_unordered));
    look->in_turn = look->out > unordered ? look->out - unordered : 0;
    look->waiting = count_of(r->waiting[0]);
    r->info = (struct muster_queue_info){
        .name = r->name,
        .waiting = waiting_sum(r->waiting),
        .running = reply_count(reply_at(settings, SETTING_running)),
        .delayed = reply_count(r->parts[PART_DELAYED]) + reply_count(r->parts[PART_SCHEDULED]),
        .depends = reply_count(r->parts[PART_DEPENDS]),
        .recurring = reply_count(r->parts[PART_RECURRING]),
        .complete = reply_count(r->parts[PART_COMPLETE]),
        .failed = reply_count(r->parts[PART_FAILED]),
        .failed_bytes = reply_count(r->parts[PART_FAILURES]),
        .failed_dropped = reply_count(reply_at(settings, SETTING_dropped)),
        .cancelled = reply_count(reply_at(settings, SETTING_cancelled)),
        .idle = reply_count(r->parts[PART_IDLE]),
        .paused = reply_kind(reply_at(settings, SETTING_paused)) == REPLY_TEXT,
        .in = (uint64_t)(look->out + look->waiting + count_of(reply_at(settings, SETTING_jobs_in))),
        .out = (uint64_t)(look->out + count_of(reply_at(settings, SETTING_jobs_out))),
    };
    read_ages(c, r, look);
}

static void free_replies(struct redisReply **replies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        redis_reply_free(replies[i]);
        replies[i] = NULL;
    }
}

static int read_rows(struct muster_client *c, struct row *rows, size_t n, read_parts_fn *read)
{
    struct ages_look look = {0};
    int err = n > 0 ? ask_parts(c, rows, n, read, &look) : MUSTER_OK;
    if (err == MUSTER_OK)
        err = ask_others(c, rows, n, read);
    for (size_t i = 0; i < n; i++) {
        if (err == MUSTER_OK)
            read_row(c, &rows[i], &look);
        free_replies(rows[i].parts, PARTS);
        free_replies(rows[i].waiting, WAITING_PARTS);
        free_replies(rows[i].jobs, 2);
        free_replies(&rows[i].returned, 1);
    }
    return err;
}

/* ---- what the program calls ---- */

static bool is_anything_there(const struct muster_queue_info *q)
{
    return q->waiting + q->running + q->delayed + q->depends + q->recurring + q->complete + q->failed + q->idle > 0 ||
           q->paused;
}

int muster_queue_get(struct muster_client *c, const char *queue, struct muster_queue_info *info)
{
    char key[KEY_MAX];
    struct redisReply *named = NULL;
    struct row row = {.name = (char *)queue};
    *info = (struct muster_queue_info){.name = queue, .oldest_ms = -1, .oldest_error_ms = -1};
    int err = client_check_queue(c, queue);
    if (err != MUSTER_OK)
        return err;
    key_of(key, c->prefix, KEY_NAMES, "");
    err = client_ask(c, &named, (const char *const[]){"ZSCORE", key, queue, NULL});
    row.born = reply_number(named, 0);
    bool is_named = reply_kind(named) == REPLY_TEXT;
    redis_reply_free(named);
    if (err == MUSTER_OK)
        err = read_rows(c, &row, 1, read_parts_strictly);
    if (err != MUSTER_OK)
        return err;
    *info = row.info;
    if (is_named || is_anything_there(info))
        return MUSTER_OK;
    redis_error_set(c->redis, "there is no queue '%s'", queue);
    return MUSTER_E_NOT_FOUND;
}

struct listing {
    struct row *rows; /* of a page */
    muster_queue_fn *fn;
    void *arg;
    bool is_stopped;
};

/* `page`: {name, when it was noted, ...}. Names that muster does not write are left out. */
static int list_page(struct muster_client *c, const struct redisReply *page, void *arg, bool *stop)
{
    struct listing *l = arg;
    size_t n = 0;
    memset(l->rows, 0, PAGE * sizeof *l->rows);
    for (size_t i = 0; i + 1 < reply_len(page); i += 2) {
        const char *name = reply_text(reply_at(page, i));
        if (name && !muster_queue_check(name))
            l->rows[n++] = (struct row){.name = (char *)name, .born = reply_number(reply_at(page, i + 1), 0)};
    }
    int err = read_rows(c, l->rows, n, page_read_parts);
    for (size_t i = 0; i < n && err == MUSTER_OK && !*stop; i++)
        *stop = l->is_stopped = l->fn(&l->rows[i].info, l->arg) != 0;
    return err;
}

int muster_queue_list(struct muster_client *c, muster_queue_fn *fn, void *arg)
{
    struct listing l = {.rows = calloc(PAGE, sizeof *l.rows), .fn = fn, .arg = arg};
    if (!l.rows)
        return MUSTER_E_NOMEM;
    ages_begin_listing(&c->ages);
    int err = page_each(c, KEY_NAMES, PAGE_WITH_SCORES, list_page, &l);
    if (err == MUSTER_OK && !l.is_stopped)
        ages_end_listing(&c->ages);
    free(l.rows);
    return err;
}
