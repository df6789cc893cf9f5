/* SPDX-License-Identifier: MIT
 *
 * Plain reading commands: nothing here writes. What tells that something has come or gone is asked for first, 4 commands
 * a queue; then the rest, 8 more, two more where jobs wait, and one where something came back. It is left out for a
 * queue that is as this client has seen it not long ago.
 *
 * `out` is read before the list's length, and the time before and after both. So tasks that come and go meanwhile make
 * the oldest seem younger, never older.
 */
#include "client/queue_row.h"

#include <string.h>

#include "protocol/job_member.h"
#include "protocol/token.h"

/* What counts something stays below this, whatever a server says: sums of a few of them are numbers. */
#define COUNT_MAX (INT64_C(1) << 53)

/* X(field of P:queue:<q>) */
#define SETTINGS(X) \
    X(running)      \
    X(paused)       \
    X(cancelled)    \
    X(dropped) X(out) X(jobs_in) X(jobs_out) X(ages) X(unordered) X(share) X(hands) X(moved) X(stalls) X(deaths)

enum setting {
#define SETTING(name) SETTING_##name,
    SETTINGS(SETTING)
#undef SETTING
};

/* ---- what tells that something has come or gone ---- */

static int append_time(struct muster_client *c)
{
    return client_append(c, (const char *const[]){"TIME", NULL});
}

static int read_time(struct muster_client *c, int64_t *ms)
{
    struct redisReply *reply = NULL;
    int err = redis_read(c->redis, &reply);
    *ms = reply_time_ms(reply);
    redis_reply_free(reply);
    return err;
}

static int append_first(struct muster_client *c, const char *name)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_QUEUE, name);
#define NAME(field) #field,
    int err = client_append(c, (const char *const[]){"HMGET", key, SETTINGS(NAME) NULL});
#undef NAME
    return err == MUSTER_OK ? waiting_append(c, name) : err;
}

static int ask_first(struct muster_client *c, struct queue_row *rows, size_t n, page_read_fn *read)
{
    int64_t began_ms = 0, ended_ms = 0;
    int err = append_time(c);
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = append_first(c, rows[i].name);
    if (err == MUSTER_OK)
        err = append_time(c);
    if (err != MUSTER_OK)
        return err;
    err = read_time(c, &began_ms);
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = read(c, rows[i].name, rows[i].first, QUEUE_ROW_FIRST);
    if (err == MUSTER_OK)
        err = read_time(c, &ended_ms);
    for (size_t i = 0; i < n; i++)
        rows[i].look = (struct ages_look){.began_ms = began_ms, .ended_ms = ended_ms};
    return err;
}

static int64_t count_of(const struct redisReply *r)
{
    uint64_t n = reply_count(r);
    return n < COUNT_MAX ? (int64_t)n : COUNT_MAX;
}

static void read_first(struct queue_row *r)
{
    const struct redisReply *settings = r->first[QUEUE_ROW_SETTINGS];
    struct ages_look *look = &r->look;
    look->out = count_of(reply_at(settings, SETTING_out));
    int64_t unordered = count_of(reply_at(settings, SETTING_unordered));
    look->in_turn = look->out > unordered ? look->out - unordered : 0;
    look->waiting = count_of(r->first[QUEUE_ROW_LINE]);
    look->noted = reply_text(reply_at(settings, SETTING_ages));
    r->info = (struct muster_queue_info){
        .name = r->name,
        .waiting = waiting_sum(r->first + QUEUE_ROW_LINE),
        .running = reply_count(reply_at(settings, SETTING_running)),
        .failed_dropped = reply_count(reply_at(settings, SETTING_dropped)),
        .cancelled = reply_count(reply_at(settings, SETTING_cancelled)),
        .paused = reply_kind(reply_at(settings, SETTING_paused)) == REPLY_TEXT,
        .in = (uint64_t)(look->out + look->waiting + count_of(reply_at(settings, SETTING_jobs_in))),
        .out = (uint64_t)(look->out + count_of(reply_at(settings, SETTING_jobs_out))),
        .share_even = reply_count(reply_at(settings, SETTING_share)) > 0,
        .hands = reply_count(reply_at(settings, SETTING_hands)),
        .moved = reply_count(reply_at(settings, SETTING_moved)),
        .stalled = reply_count(reply_at(settings, SETTING_stalls)),
        .died = reply_count(reply_at(settings, SETTING_deaths)),
    };
}

/* ---- the rest ---- */

static bool has_jobs(const struct queue_row *r)
{
    return reply_count(r->first[QUEUE_ROW_LINE + 1]) > 0;
}

static bool has_returned(const struct queue_row *r)
{
    return reply_count(r->first[QUEUE_ROW_LINE + 2]) > 0;
}

static int append_counts(struct muster_client *c, const char *name)
{
    static const struct {
        const char *command;
        enum key key;
        const char *field;
    } parts[QUEUE_ROW_REST] = {
        [QUEUE_ROW_DELAYED] = {"ZCARD", KEY_DELAYED, NULL},     [QUEUE_ROW_FAILED] = {"ZCARD", KEY_FAILED, NULL},
        [QUEUE_ROW_FAILURES] = {"HGET", KEY_FAILURES, "bytes"}, [QUEUE_ROW_IDLE] = {"ZCARD", KEY_IDLE, NULL},
        [QUEUE_ROW_SCHEDULED] = {"ZCARD", KEY_SCHEDULED, NULL}, [QUEUE_ROW_DEPENDS] = {"ZCARD", KEY_DEPENDS, NULL},
        [QUEUE_ROW_RECURRING] = {"ZCARD", KEY_RECURRING, NULL}, [QUEUE_ROW_COMPLETE] = {"ZCARD", KEY_COMPLETE, NULL},
        [QUEUE_ROW_HELD] = {"ZCARD", KEY_HELD, NULL},
    };
    char key[KEY_MAX];
    int err = MUSTER_OK;
    for (int i = 0; i < QUEUE_ROW_REST && err == MUSTER_OK; i++) {
        key_of(key, c->prefix, parts[i].key, name);
        err = client_append(c, (const char *const[]){parts[i].command, key, parts[i].field, NULL});
    }
    return err;
}

/* What tells the ages of what is not in the list. */
static int append_others(struct muster_client *c, const struct queue_row *r)
{
    char key[KEY_MAX];
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_WAITING, r->name);
    if (has_jobs(r))
        err = client_append(c, (const char *const[]){"ZRANGE", key, "0", "0", "WITHSCORES", NULL});
    if (has_jobs(r) && err == MUSTER_OK)
        err = client_append(c, (const char *const[]){"ZRANGE", key, "-1", "-1", "WITHSCORES", NULL});
    key_of(key, c->prefix, KEY_RETURNED, r->name);
    if (has_returned(r) && err == MUSTER_OK)
        err = client_append(
            c, (const char *const[]){"ZRANGEBYSCORE", key, "0", "+inf", "WITHSCORES", "LIMIT", "0", "1", NULL});
    return err;
}

static int ask_rest(struct muster_client *c, struct queue_row *rows, size_t n, page_read_fn *read)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        if (!rows[i].is_known) {
            err = append_counts(c, rows[i].name);
            err = err == MUSTER_OK ? append_others(c, &rows[i]) : err;
        }
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct queue_row *r = &rows[i];
        if (r->is_known)
            continue;
        err = read(c, r->name, r->rest, QUEUE_ROW_REST);
        if (err == MUSTER_OK && has_jobs(r))
            err = read(c, r->name, r->jobs, 2);
        if (err == MUSTER_OK && has_returned(r))
            err = read(c, r->name, &r->returned, 1);
    }
    return err;
}

/* `from` may be this row, or what is remembered of it. */
static void set_rest(struct muster_queue_info *info, const struct muster_queue_info *from)
{
    info->delayed = from->delayed;
    info->depends = from->depends;
    info->recurring = from->recurring;
    info->complete = from->complete;
    info->held = from->held;
    info->failed = from->failed;
    info->failed_bytes = from->failed_bytes;
    info->idle = from->idle;
}

static void read_rest(struct queue_row *r)
{
    struct redisReply *const *rest = r->rest;
    set_rest(&r->info, &(struct muster_queue_info){
                           .delayed = reply_count(rest[QUEUE_ROW_DELAYED]) + reply_count(rest[QUEUE_ROW_SCHEDULED]),
                           .depends = reply_count(rest[QUEUE_ROW_DEPENDS]),
                           .recurring = reply_count(rest[QUEUE_ROW_RECURRING]),
                           .complete = reply_count(rest[QUEUE_ROW_COMPLETE]),
                           .held = reply_count(rest[QUEUE_ROW_HELD]),
                           .failed = reply_count(rest[QUEUE_ROW_FAILED]),
                           .failed_bytes = reply_count(rest[QUEUE_ROW_FAILURES]),
                           .idle = reply_count(rest[QUEUE_ROW_IDLE]),
                       });
}

/* ---- what is remembered ---- */

static bool is_as_before(const struct muster_queue_info *a, const struct muster_queue_info *b)
{
    return a->waiting == b->waiting && a->running == b->running && a->in == b->in && a->out == b->out &&
           a->cancelled == b->cancelled && a->failed_dropped == b->failed_dropped && a->paused == b->paused &&
           a->share_even == b->share_even && a->hands == b->hands && a->moved == b->moved && a->stalled == b->stalled &&
           a->died == b->died;
}

/* A clock that was set back makes it old. */
static bool is_recent(const struct ages_row *row, int64_t now_ms, int64_t max_age_ms)
{
    return row->asked_at_ms > 0 && now_ms >= row->asked_at_ms && now_ms - row->asked_at_ms < max_age_ms;
}

/* NULL: it must be asked for. One task may have come back in the place of another, and no count would tell. */
static const struct ages_row *find_known(struct muster_client *c, const struct queue_row *r, int64_t max_age_ms)
{
    const struct ages_row *row = has_returned(r) ? NULL : ages_row(&c->ages, r->name, r->born);
    bool is_known = row && is_recent(row, r->look.began_ms, max_age_ms) && is_as_before(&row->info, &r->info);
    return is_known ? row : NULL;
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

/* A job's member begins with its place, which was drawn when it came. The first one is the oldest of its priority,
 * unless it is in a round. */
static struct ages_bounds since_of_jobs(const struct queue_row *r)
{
    struct ages_bounds since = {0, 0};
    const struct muster_bytes member = reply_bytes(reply_at(r->jobs[0], 0));
    const char *first = reply_text(reply_at(r->jobs[0], 1)), *place_text = job_member_place(member);
    uint64_t place;
    if (!place_text || token_parse(place_text, TOKEN_LEN, &place) != MUSTER_OK)
        return since;
    since.latest_ms = token_at_ms(place);
    if (place_text == member.data && first && reply_is(reply_at(r->jobs[1], 1), first))
        since.earliest_ms = since.latest_ms;
    return since;
}

/* A task that came back has the token of its first take: it has been here since then at the latest. */
static struct ages_bounds since_of_returned(const struct queue_row *r)
{
    long long token = reply_number(reply_at(r->returned, 1), 0);
    int64_t ms = token > 0 ? token_at_ms((uint64_t)token) : 0;
    return (struct ages_bounds){ms, ms};
}

/* Of what is not in the list. */
static struct ages_bounds since_of_others(const struct queue_row *r)
{
    struct ages_bounds since = {0, 0};
    bool is_first = true;
    if (has_jobs(r))
        widen(&since, since_of_jobs(r), &is_first);
    if (has_returned(r))
        widen(&since, since_of_returned(r), &is_first);
    return since;
}

/* One ms less: the server's times are cut to whole ones. */
static void set_oldest(struct muster_queue_info *info, const struct ages_bounds *since, const struct ages_look *look)
{
    int64_t least = since->latest_ms > 0 ? look->began_ms - since->latest_ms - 1 : 0;
    info->oldest_ms = least > 0 ? least : 0;
    int64_t most = look->ended_ms - since->earliest_ms + 1;
    info->oldest_error_ms = since->earliest_ms <= 0 ? -1 : most > info->oldest_ms ? most - info->oldest_ms : 0;
}

static void read_ages(struct muster_client *c, struct queue_row *r, struct ages_bounds others)
{
    struct ages_bounds all = {0, 0};
    bool is_first = true;
    struct ages_bounds tasks = ages_see(&c->ages, r->name, r->born, &r->look);
    if (r->look.waiting > 0)
        widen(&all, tasks, &is_first);
    if (has_jobs(r) || has_returned(r))
        widen(&all, others, &is_first);
    r->info.oldest_ms = r->info.oldest_error_ms = -1;
    if (!is_first)
        set_oldest(&r->info, &all, &r->look);
}

/* ---- rows ---- */

/* It is remembered from before its answers came: it may be older than it seems, not younger. */
static void finish(struct muster_client *c, struct queue_row *r)
{
    struct ages_bounds others = since_of_others(r);
    const struct ages_row *known = r->is_known ? ages_row(&c->ages, r->name, r->born) : NULL;
    if (known) {
        others = known->others;
        set_rest(&r->info, &known->info);
    } else {
        read_rest(r);
    }
    read_ages(c, r, others);
    struct ages_row *row = known ? NULL : ages_row(&c->ages, r->name, r->born);
    if (!row)
        return;
    *row = (struct ages_row){has_returned(r) ? 0 : r->look.began_ms, r->info, others};
    row->info.name = NULL; /* it is the page's */
}

static void free_replies(struct redisReply **replies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        redis_reply_free(replies[i]);
        replies[i] = NULL;
    }
}

static void free_row(struct queue_row *r)
{
    free_replies(r->first, QUEUE_ROW_FIRST);
    free_replies(r->rest, QUEUE_ROW_REST);
    free_replies(r->jobs, 2);
    free_replies(&r->returned, 1);
}

int queue_row_read(struct muster_client *c, struct queue_row *rows, size_t n, int64_t max_age_ms, page_read_fn *read)
{
    int err = n > 0 ? ask_first(c, rows, n, read) : MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        read_first(&rows[i]);
        rows[i].is_known = find_known(c, &rows[i], max_age_ms) != NULL;
    }
    if (err == MUSTER_OK)
        err = ask_rest(c, rows, n, read);
    for (size_t i = 0; i < n; i++) {
        if (err == MUSTER_OK)
            finish(c, &rows[i]);
        free_row(&rows[i]);
    }
    return err;
}
