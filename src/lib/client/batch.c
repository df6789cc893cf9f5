/* SPDX-License-Identifier: MIT
 *
 * Opening, closing and cancelling batches. lua/include/job/job_batch.lua says what they are. Refusals get their words
 * here.
 */
#include <muster/batch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_list.h"
#include "client/client.h"
#include "client/full.h"
#include "protocol/job_valid.h"
#include "protocol/script_batch.h"

#define TTL_MIN_MS 1000

const char *muster_batch_id_check(const char *id)
{
    if (muster_job_id_check(id))
        return "a batch's id has 1 to 160 bytes and no control characters";
    return strlen(id) > MUSTER_BATCH_ID_MAX ? "a batch's id has at most 160 bytes, because those of its followers add "
                                              "some"
                                            : NULL;
}

static int check_id(struct muster_client *c, const char *id)
{
    const char *why = muster_batch_id_check(id);
    return why ? client_refuse(c, why) : MUSTER_OK;
}

/* ---- open ---- */

/* A follower, with the names of its fields in the record. */
struct follows {
    const char *queue_field, *data_field;
    const struct muster_follower *follower;
};
#define N_FOLLOWERS 3

static void list_followers(struct follows out[N_FOLLOWERS], const struct muster_batch_spec *s)
{
    out[0] = (struct follows){"on_end", "data_end", &s->on_end};
    out[1] = (struct follows){"on_complete", "data_complete", &s->on_complete};
    out[2] = (struct follows){"on_failure", "data_failure", &s->on_failure};
}

static int check_follower(struct muster_client *c, const struct muster_follower *f)
{
    if (!f->queue && f->data.data)
        return client_refuse(c, "a batch's follower has data, but no queue");
    int err = f->queue ? client_check_queue(c, f->queue) : MUSTER_OK;
    return err == MUSTER_OK && f->queue ? client_check_task(c, &f->data) : err;
}

static int check_spec(struct muster_client *c, const struct muster_batch_spec *s)
{
    struct follows followers[N_FOLLOWERS];
    const char *why = NULL;
    int err = s->id ? check_id(c, s->id) : MUSTER_OK;
    if (err == MUSTER_OK && s->batch)
        err = check_id(c, s->batch);
    if (err == MUSTER_OK && s->ttl_ms != 0)
        err = client_answer(c, job_valid_number("a batch's ttl", s->ttl_ms, TTL_MIN_MS, MUSTER_JOB_MS_MAX, &why), &why);
    list_followers(followers, s);
    for (size_t i = 0; err == MUSTER_OK && i < N_FOLLOWERS; i++)
        err = check_follower(c, followers[i].follower);
    return err;
}

static void say_not_opened(struct muster_client *c, int err, const struct muster_batch_spec *s, const char *id,
                           const char *what)
{
    if (err == MUSTER_E_EXISTS)
        redis_error_set(c->redis, "the batch '%s' is %s: choose another id, or wait for its end; nothing was changed",
                        id, what ? what : "alive");
    if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis, "there is no batch '%s' (any more); nothing was changed", s->batch);
    if (err == MUSTER_E_STATE)
        redis_error_set(c->redis, "the batch '%s' %s %s: no more members can come; nothing was changed", s->batch,
                        what && strcmp(what, "ended") == 0 ? "has" : "is", what ? what : "closed");
    if (err == MUSTER_E_TOO_BIG)
        redis_error_set(c->redis, "the batch '%s' lies %d deep already, which is the most; nothing was changed",
                        s->batch, MUSTER_BATCH_DEPTH_MAX);
}

static int open_batch(struct muster_client *c, const struct muster_batch_spec *s, const char *id)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    struct follows followers[N_FOLLOWERS];
    script_open_batch(&command, &c->root, id, s->batch, s->ttl_ms ? s->ttl_ms : MUSTER_BATCH_TTL_DEFAULT_MS);
    list_followers(followers, s);
    for (size_t i = 0; i < N_FOLLOWERS; i++) {
        const struct muster_follower *f = followers[i].follower;
        if (f->queue)
            script_open_batch_field(&command, followers[i].queue_field,
                                    (struct muster_bytes){f->queue, strlen(f->queue)});
        if (f->data.data)
            script_open_batch_field(&command, followers[i].data_field, f->data);
    }
    int err = full_explain(c, client_run_confirmed(c, &command, REDIS_WAKES_NOBODY, &reply));
    if (reply)
        say_not_opened(c, err, s, id, reply_text(reply_at(reply, 1)));
    redis_reply_free(reply);
    /* The one that is there already may be what this call opened the last time, when it was not confirmed. */
    bool is_there = err == MUSTER_OK || err == MUSTER_E_EXISTS;
    return is_there && c->confirmed.err != MUSTER_OK ? client_confirmed(c) : err;
}

int muster_batch_open(struct muster_client *c, const struct muster_batch_spec *spec, char *id)
{
    struct muster_batch_spec s;
    char own[MUSTER_BATCH_ID_MAX + 1];
    if (id)
        *id = '\0';
    int err = client_read(c, SIZED_BATCH_SPEC, &s, spec);
    if (err == MUSTER_OK)
        err = check_spec(c, &s);
    if (err == MUSTER_OK)
        err = client_begin_adding(c);
    if (err != MUSTER_OK)
        return err;
    if (!s.id)
        for (int i = 0; i < 4; i++)
            snprintf(own + 8 * i, 9, "%08x", arc4random());
    else
        snprintf(own, sizeof own, "%s", s.id);
    if (id) /* also if it stays unknown whether it was opened: the caller can look the id up */
        memcpy(id, own, strlen(own) + 1);
    return open_batch(c, &s, own);
}

/* ---- close and cancel ---- */

static void say_not_there(struct muster_client *c, int err, const char *id)
{
    if (err == MUSTER_E_NOT_FOUND)
        redis_error_set(c->redis, "there is no batch '%s' (any more)", id);
    if (err == MUSTER_E_STATE)
        redis_error_set(c->redis, "the batch '%s' has ended: nothing of it can be cancelled", id);
}

int muster_batch_close(struct muster_client *c, const char *id)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    int err = check_id(c, id);
    if (err != MUSTER_OK)
        return err;
    script_close_batch(&command, &c->root, id);
    err = client_run(c, &command, &reply);
    say_not_there(c, err, id);
    redis_reply_free(reply);
    return err;
}

/* Adds the batches that are nested in this one. Each begins to be cancelled once; an answer that names one again would be
 * followed for ever. */
static int add_nested(struct name_list *todo, const struct redisReply *nested)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < reply_len(nested); i++) {
        const char *id = reply_text(reply_at(nested, i));
        for (size_t k = 0; id && k < todo->n; k++)
            if (strcmp(todo->at[k].text, id) == 0)
                return MUSTER_E_REDIS;
        err = id ? name_list_add(todo, id, strlen(id)) : MUSTER_E_REDIS;
    }
    return err;
}

static int cancel_step(struct muster_client *c, const char *id, enum script_cancel_step step,
                       struct script_batch_cancelled *count, struct name_list *todo)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *reply = NULL;
    struct script_batch_cancelled now = {.left = 0};
    script_cancel_batch(&command, &c->root, id, step);
    int err = client_run(c, &command, &reply);
    if (err == MUSTER_OK)
        err = client_understand(c, script_batch_cancelled(reply, &now));
    if (err == MUSTER_OK)
        err = client_understand(c, add_nested(todo, now.nested));
    redis_reply_free(reply);
    count->removed += now.removed;
    count->running += now.running;
    count->left = now.left;
    return err;
}

/* The steps of a batch whose cancel has begun. No member comes any more, so fewer and fewer are left. One that is gone by
 * now has ended: others cancel it, too. `next`: the first of `todo` that is to come then. */
static int cancel_rest(struct muster_client *c, const char *id, struct script_batch_cancelled *count,
                       struct name_list *todo, size_t next)
{
    uint64_t before = UINT64_MAX;
    int err = MUSTER_OK;
    do {
        err = cancel_step(c, id, CANCEL_NEXT, count, todo);
        if (err == MUSTER_OK && count->left > 0 && count->left >= before)
            return client_understand(c, MUSTER_E_REDIS);
        before = count->left;
        if (err == MUSTER_OK && (count->left > 0 || next < todo->n))
            err = client_step(c, count->removed + count->running, 0);
    } while (err == MUSTER_OK && count->left > 0);
    return err == MUSTER_E_NOT_FOUND ? MUSTER_OK : err;
}

/* The batches within have begun to be cancelled with the one around them. */
static int cancel_all(struct muster_client *c, const char *id, struct script_batch_cancelled *count,
                      struct name_list *todo)
{
    int err = cancel_step(c, id, CANCEL_FIRST, count, todo);
    say_not_there(c, err, id);
    if (err == MUSTER_OK && count->left > 0)
        err = cancel_rest(c, id, count, todo, 0);
    for (size_t i = 0; err == MUSTER_OK && i < todo->n; i++)
        err = cancel_rest(c, todo->at[i].text, count, todo, i + 1);
    return err;
}

int muster_batch_cancel(struct muster_client *c, const char *id, uint64_t *removed, uint64_t *running)
{
    struct script_batch_cancelled count = {.left = 0};
    struct name_list todo = {.n = 0};
    int err = check_id(c, id);
    if (err == MUSTER_OK)
        err = cancel_all(c, id, &count, &todo);
    name_list_clear(&todo);
    if (removed)
        *removed = count.removed;
    if (running)
        *running = count.running;
    return err;
}
