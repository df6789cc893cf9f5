/* SPDX-License-Identifier: MIT
 *
 * The index with the fewest members that can be known is scanned: a tag's, the tracked jobs', or those of states and
 * queues. ZSCAN passes over no member that stays, unlike pages by rank. Then a few fields of each record tell whether the
 * job is meant.
 */
#include "client/job_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/failed.h"
#include "client/heads.h"
#include "client/page.h"
#include "protocol/job_member.h"

#define RECORDS 100

static const enum key key_of_state[] = {
    [MUSTER_JOB_SCHEDULED] = KEY_SCHEDULED, [MUSTER_JOB_DEPENDS] = KEY_DEPENDS, [MUSTER_JOB_WAITING] = KEY_WAITING,
    [MUSTER_JOB_RUNNING] = KEY_RUNNING,     [MUSTER_JOB_FAILED] = KEY_FAILED,   [MUSTER_JOB_COMPLETE] = KEY_COMPLETE,
    [MUSTER_JOB_RECURRING] = KEY_RECURRING, [MUSTER_JOB_HELD] = KEY_HELD,
};

/* ---- the filter ---- */

bool job_select_by_state(const struct muster_job_filter *f)
{
    return f->by_state || f->state != 0 || f->group;
}

enum muster_job_state job_select_state(const struct muster_job_filter *f)
{
    return f->group ? MUSTER_JOB_FAILED : f->state;
}

bool job_select_is_any(const struct muster_job_filter *f)
{
    return f->queue || f->tag || f->tracked || job_select_by_state(f);
}

static const char *fault_of_tags(const struct muster_job_filter *f)
{
    const char *why = f->tag ? muster_tag_check(f->tag) : NULL;
    for (size_t i = 0; !why && i < f->n_tags; i++)
        why = muster_tag_check(f->tags ? f->tags[i] : NULL);
    if (!why && (f->n_tags > 0 || f->any_tag) && !f->tag)
        why = "`tags` and `any_tag` are for jobs that are listed by a `tag`";
    return why;
}

static const char *fault_of_order(const struct muster_job_filter *f)
{
    if ((unsigned)f->order > MUSTER_JOBS_NEWEST)
        return "there is no such order";
    if (f->past_id && f->order == MUSTER_JOBS_AS_THEY_ARE)
        return "`past_id` is for a list that begins with the oldest or newest job";
    return f->past_id ? muster_job_id_check(f->past_id) : NULL;
}

static const char *fault_of(const struct muster_job_filter *f)
{
    const char *why = f->queue ? muster_queue_check(f->queue) : NULL;
    if (!why)
        why = fault_of_tags(f);
    if (!why && f->group && muster_queue_check(f->group)) /* the rule is that of a queue's name */
        why = "a failure's group has 1 to 200 bytes and no control characters";
    if (!why && (unsigned)f->state >= MUSTER_JOB_STATE_COUNT)
        why = "there is no such state";
    if (!why && f->group && (f->by_state || f->state != 0) && f->state != MUSTER_JOB_FAILED)
        why = "a group is of failed jobs, and excludes every other state";
    return why ? why : fault_of_order(f);
}

int job_select_check(struct muster_client *c, const struct muster_job_filter *f)
{
    const char *why = fault_of(f);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

/* ---- what members name ---- */

void job_select_key(char key[KEY_MAX], const struct muster_client *c, enum muster_job_state state, const char *queue)
{
    key_of(key, c->prefix, key_of_state[state], queue);
}

const char *job_select_id(enum muster_job_state state, const struct redisReply *member, const char *group)
{
    uint64_t whole;
    struct muster_bytes bytes = reply_head(member, &whole);
    struct failed_entry entry;
    if (!bytes.data)
        return NULL;
    if (state != MUSTER_JOB_FAILED)
        return job_member_id(bytes);
    if (failed_entry_parse(&entry, bytes) != 0 || !entry.is_job)
        return NULL;
    return group && strcmp(group, entry.group) != 0 ? NULL : entry.task.data;
}

/* ---- the records ---- */

enum { F_PUT, F_STATE, F_QUEUE, F_TAGS, F_GROUP, F_TRACKED, F_ENTRY, F_PARENTS, FIELDS };

struct selecting {
    const struct muster_job_filter *f;
    job_chosen_fn *fn;
    void *arg;
};

/* A record has its tags as lines. */
static bool has_tag(const char *tags, const char *tag)
{
    size_t len = strlen(tag);
    for (const char *at = tags; at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, tag, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
            return true;
    return false;
}

static bool has_tags(const char *tags, const struct muster_job_filter *f)
{
    if (!f->tag)
        return true;
    bool has = has_tag(tags, f->tag);
    for (size_t i = 0; i < f->n_tags && has == !f->any_tag; i++) /* until one decides */
        has = has_tag(tags, f->tags[i]);
    return has;
}

static bool is_meant(const struct muster_job_filter *f, const struct job_chosen *job, const char *const *field)
{
    return (!f->queue || strcmp(f->queue, job->queue) == 0) &&
           (!job_select_by_state(f) || job->state == job_select_state(f)) && has_tags(field[F_TAGS], f) &&
           (!f->group || strcmp(f->group, field[F_GROUP]) == 0) && (!f->tracked || *field[F_TRACKED]);
}

static int give(struct selecting *s, const char *id, const struct redisReply *record)
{
    const char *field[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = reply_text(reply_at(record, i));
        field[i] = text ? text : "";
    }
    int state = muster_job_state_of(field[F_STATE]);
    if (!*field[F_QUEUE] || state < 0)
        return MUSTER_OK; /* it is gone; or damaged, which a read of all of it tells */
    const struct job_chosen job = {.id = id,
                                   .queue = field[F_QUEUE],
                                   .parents = state == MUSTER_JOB_DEPENDS ? field[F_PARENTS] : "",
                                   .put_ms = strtoll(field[F_PUT], NULL, 10),
                                   .entry = strtoull(field[F_ENTRY], NULL, 10),
                                   .state = (enum muster_job_state)state};
    return is_meant(s->f, &job, field) ? s->fn(&job, s->arg) : MUSTER_OK;
}

static int give_each(struct muster_client *c, struct selecting *s, const char *const *ids, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        char key[KEY_MAX];
        key_of(key, c->prefix, KEY_JOB, ids[i]);
        err = client_append(c, (const char *const[]){"HMGET", key, "put", "state", "queue", "tags", "group", "tracked",
                                                     "entry", "parents", NULL});
    }
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct redisReply *record = NULL;
        err = page_read_parts(c, ids[i], &record, 1);
        if (err == MUSTER_OK && record)
            err = give(s, ids[i], record);
        redis_reply_free(record);
    }
    return err;
}

/* ---- the indexes ---- */

enum { OF_IDS = MUSTER_JOB_STATE_COUNT }; /* a zset of ids, in place of a state's index */

static int give_page(struct muster_client *c, struct selecting *s, int kind, const struct redisReply *members)
{
    const char *ids[RECORDS];
    size_t n = 0;
    int err = MUSTER_OK;
    for (size_t i = 0; i < reply_len(members) && err == MUSTER_OK; i += 2) { /* each member with its score */
        const struct redisReply *member = reply_at(members, i);
        const char *id =
            kind == OF_IDS ? reply_text(member) : job_select_id((enum muster_job_state)kind, member, s->f->group);
        if (id && !muster_job_id_check(id))
            ids[n++] = id;
        if (n == RECORDS) {
            err = give_each(c, s, ids, n);
            n = 0;
        }
    }
    return err == MUSTER_OK ? give_each(c, s, ids, n) : err;
}

static int scan(struct muster_client *c, struct selecting *s, int kind, const char *key)
{
    const bool is_failed = kind == MUSTER_JOB_FAILED;
    const size_t most = is_failed ? FAILED_JOB_MAX : HEADS_WHOLE;
    char cursor[PAGE_CURSOR_MAX] = "0", count[24];
    int err;
    snprintf(count, sizeof count, "%d", is_failed ? FAILED_JOBS_PAGE : RECORDS);
    do {
        struct redisReply *reply;
        const char *const words[] = {"ZSCAN", key, cursor, "COUNT", count, NULL};
        err = page_scan_heads(c, most, words, cursor, &reply);
        if (err == MUSTER_OK)
            err = give_page(c, s, kind, reply_at(reply, 1));
        redis_reply_free(reply);
    } while (err == MUSTER_OK && strcmp(cursor, "0") != 0);
    return err;
}

static int scan_ids(struct muster_client *c, struct selecting *s, enum key zset, const char *rest)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, zset, rest);
    return scan(c, s, OF_IDS, key);
}

/* A job that has one tag of several is in one of their indexes; one that has all of them, in each. */
static int scan_tags(struct muster_client *c, struct selecting *s)
{
    const struct muster_job_filter *f = s->f;
    int err = scan_ids(c, s, KEY_TAG, f->tag);
    for (size_t i = 0; i < f->n_tags && f->any_tag && err == MUSTER_OK; i++)
        err = scan_ids(c, s, KEY_TAG, f->tags[i]);
    return err;
}

static int scan_queue(struct muster_client *c, struct selecting *s, const char *queue)
{
    int err = MUSTER_OK;
    for (int state = 0; state < MUSTER_JOB_STATE_COUNT && err == MUSTER_OK; state++) {
        char key[KEY_MAX];
        if (job_select_by_state(s->f) && state != (int)job_select_state(s->f))
            continue;
        job_select_key(key, c, (enum muster_job_state)state, queue);
        err = scan(c, s, state, key);
    }
    return err;
}

static int scan_named(struct muster_client *c, const char *name, void *arg, bool *stop)
{
    (void)stop;
    return muster_queue_check(name) ? MUSTER_OK : scan_queue(c, arg, name); /* not a name that muster writes */
}

int job_select(struct muster_client *c, const struct muster_job_filter *f, job_chosen_fn *fn, void *arg)
{
    struct selecting s = {f, fn, arg};
    if (f->tag)
        return scan_tags(c, &s);
    if (f->tracked)
        return scan_ids(c, &s, KEY_TRACKED, "");
    return f->queue ? scan_queue(c, &s, f->queue) : page_each_member(c, KEY_NAMES, scan_named, &s);
}
