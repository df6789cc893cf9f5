/* SPDX-License-Identifier: MIT
 *
 * Queues and their figures. A listing reads the names in pages of 100, and asks for the rows of a page together. A key
 * of the wrong type costs the figures of its own row, with a line in the log, but not the listing.
 */
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "client/page.h"
#include "client/queue_row.h"

static bool is_anything_there(const struct muster_queue_info *q)
{
    return q->waiting + q->running + q->delayed + q->depends + q->recurring + q->complete + q->failed + q->idle +
                   q->held >
               0 ||
           q->paused;
}

int muster_queue_get(struct muster_client *c, const char *queue, struct muster_queue_info *info)
{
    char key[KEY_MAX];
    struct redisReply *named = NULL;
    struct queue_row row = {.name = (char *)queue};
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
        err = queue_row_read(c, &row, 1, 0, page_read_alone);
    if (err != MUSTER_OK)
        return err;
    *info = row.info;
    if (is_named || is_anything_there(info))
        return MUSTER_OK;
    redis_error_set(c->redis, "there is no queue '%s'", queue);
    return MUSTER_E_NOT_FOUND;
}

struct listing {
    struct queue_row *rows; /* of a page */
    int64_t max_age_ms;
    muster_queue_fn *fn;
    void *arg;
    bool is_stopped;
};

/* `page`: {name, when it was noted, ...}, from `first` on. Names that muster does not write are left out. */
static int list_page(struct muster_client *c, const struct redisReply *page, size_t first, void *arg, bool *stop)
{
    struct listing *l = arg;
    size_t n = 0;
    memset(l->rows, 0, PAGE_MEMBERS_MAX * sizeof *l->rows);
    for (size_t i = first; i + 1 < reply_len(page); i += 2) {
        const char *name = reply_text(reply_at(page, i));
        if (name && !muster_queue_check(name))
            l->rows[n++] = (struct queue_row){.name = (char *)name, .born = reply_number(reply_at(page, i + 1), 0)};
    }
    int err = queue_row_read(c, l->rows, n, l->max_age_ms, page_read_parts);
    for (size_t i = 0; i < n && err == MUSTER_OK && !*stop; i++)
        *stop = l->is_stopped = l->fn(&l->rows[i].info, l->arg) != 0;
    return err;
}

int muster_queue_list_cached(struct muster_client *c, int64_t max_age_ms, muster_queue_fn *fn, void *arg)
{
    struct listing l = {.max_age_ms = max_age_ms, .fn = fn, .arg = arg};
    if (max_age_ms < 0)
        return client_refuse(c, "max_age_ms must be 0 or more");
    l.rows = calloc(PAGE_MEMBERS_MAX, sizeof *l.rows);
    if (!l.rows)
        return MUSTER_E_NOMEM;
    ages_begin_listing(&c->ages);
    int err = page_each(c, KEY_NAMES, list_page, &l);
    if (err == MUSTER_OK && !l.is_stopped)
        ages_end_listing(&c->ages);
    free(l.rows);
    return err;
}

int muster_queue_list(struct muster_client *c, muster_queue_fn *fn, void *arg)
{
    return muster_queue_list_cached(c, 0, fn, arg);
}
