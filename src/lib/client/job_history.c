/* SPDX-License-Identifier: MIT
 *
 * A history may be more than Redis sends in one answer. So its first line and its newest ones come with the record, and
 * what is between them, if it is wanted, in steps. Each of them has as many bytes as the newest lines.
 */
#include "client/job_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/reply_make.h"

/* ---- joining ---- */

static int join(struct muster_client *c, struct redisReply **list, struct redisReply **more)
{
    *list = reply_join(*list, *more);
    *more = NULL;
    if (!*list)
        redis_error_set(c->redis, "out of memory");
    return *list ? MUSTER_OK : MUSTER_E_NOMEM;
}

/* The lines from the second one up to the newest ones. A line that comes meanwhile may make one be missing. */
static int read_between(struct muster_client *c, const char *id, uint64_t end, struct redisReply **list)
{
    char key[KEY_MAX], first[24], last[24];
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_HISTORY, id);
    for (uint64_t at = 1; err == MUSTER_OK && at < end; at += JOB_HISTORY_NEWEST) {
        struct redisReply *some;
        uint64_t to = at + JOB_HISTORY_NEWEST < end ? at + JOB_HISTORY_NEWEST : end;
        snprintf(first, sizeof first, "%llu", (unsigned long long)at);
        snprintf(last, sizeof last, "%llu", (unsigned long long)to - 1);
        err = client_look(c, &some, (const char *const[]){"LRANGE", key, first, last, NULL});
        const bool is_end = reply_len(some) < to - at;
        if (err == MUSTER_OK)
            err = join(c, list, &some);
        if (is_end)
            break;
    }
    return err;
}

int job_history_join(struct muster_client *c, struct job_page_row *row, bool is_whole)
{
    const uint64_t n = reply_count(row->parts[JOB_N_HISTORY]);
    struct redisReply **first = &row->parts[JOB_FIRST_LINE], **newest = &row->parts[JOB_HISTORY];
    int err = MUSTER_OK;
    if (n <= JOB_HISTORY_NEWEST || reply_len(*first) == 0)
        return MUSTER_OK;
    if (is_whole)
        err = read_between(c, row->id, n - JOB_HISTORY_NEWEST, first);
    if (err == MUSTER_OK)
        err = join(c, first, newest);
    *newest = err == MUSTER_OK ? *first : *newest;
    *first = err == MUSTER_OK ? NULL : *first;
    return err;
}

/* ---- reading ---- */

/* "<ms>\t<what>\t<text>"; a line of another form is all text. */
static struct muster_job_event_line read_line(char *line)
{
    char *what = strchr(line, '\t');
    char *text = what ? strchr(what + 1, '\t') : NULL;
    if (!text)
        return (struct muster_job_event_line){.what = "", .text = line};
    *what++ = *text++ = '\0';
    return (struct muster_job_event_line){.at_ms = strtoll(line, NULL, 10), .what = what, .text = text};
}

int job_history_read(struct job_page_row *row)
{
    const struct redisReply *list = row->parts[JOB_HISTORY];
    size_t n = reply_len(list), size = 1;
    for (size_t i = 0; i < n; i++)
        size += reply_bytes(reply_at(list, i)).len + 1;
    char *at = row->history_text = malloc(size);
    row->history = calloc(n + 1, sizeof *row->history);
    if (!at || !row->history)
        return MUSTER_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct muster_bytes line = reply_bytes(reply_at(list, i));
        if (line.len > 0)
            memcpy(at, line.data, line.len);
        at[line.len] = '\0';
        row->history[i] = read_line(at);
        at += line.len + 1;
    }
    row->record.job.history = row->history;
    row->record.job.n_history = n;
    return MUSTER_OK;
}
