/* SPDX-License-Identifier: MIT
 *
 * Reading for people. A list shows the beginning of a task. So that a task of many bytes does not cross the network
 * each time somebody looks, and a Redis that would not send it is still of use, a script cuts what is long. For a user who
 * may run no script heads_plain.c reads.
 */
#include "client/heads.h"

#include <string.h>

#include "base/log.h"
#include "client/heads_plain.h"
#include "client/page.h"
#include "protocol/script_queue.h"

static const char *without_root(const struct muster_client *c, const char *key)
{
    return key + c->root.len;
}

static void say(const struct muster_client *c, struct command *command, const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    command_number(command, (int64_t)n);
    command_text(command, words[0]);
    command_text(command, without_root(c, words[1]));
    command_words(command, words + 2);
}

static int refuse(struct muster_client *c, const char *key)
{
    redis_script_say(c->redis, &lua_scripts[SCRIPT_HEADS], MUSTER_E_REDIS, key);
    return MUSTER_E_REDIS;
}

int heads_ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *all;
    *reply = NULL;
    if (most == HEADS_WHOLE)
        return client_ask(c, reply, words);
    script_heads(&command, &c->root, most);
    say(c, &command, words);
    int err = client_run(c, &command, &all);
    if (err == MUSTER_E_DENIED)
        return heads_plain_ask(c, most, reply, words);
    if (err == MUSTER_OK) {
        *reply = reply_take(all, 2);
        if (reply_kind(*reply) == REPLY_NIL && reply_text(reply_at(all, 1)))
            err = refuse(c, reply_text(reply_at(all, 1)));
    }
    redis_reply_free(all);
    return err;
}

/* ---- jobs ---- */

static void say_job(struct muster_client *c, struct command *command, const char *id, const char *const *fields,
                    size_t root)
{
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_JOB, id);
    command_words(command, (const char *const[]){fields ? "HMGET" : "HGETALL", key + root, NULL});
    if (fields)
        command_words(command, fields);
    command_own(command);
}

static void add_job(struct muster_client *c, struct command *command, const char *id, const char *const *fields)
{
    size_t n = 0;
    while (fields && fields[n])
        n++;
    command_number(command, (int64_t)(n + 2));
    say_job(c, command, id, fields, c->root.len);
}

static void take_job(const char *id, struct redisReply *all, size_t i, struct redisReply **reply)
{
    *reply = reply_take(all, i);
    if (reply_kind(*reply) == REPLY_LIST)
        return;
    log_line(MUSTER_LOG_WARN, "%s: the record of this job has a wrong type", id);
    redis_reply_free(*reply);
    *reply = NULL;
}

static int ask_whole(struct muster_client *c, const char *const *ids, size_t n, const char *const *fields,
                     struct redisReply **replies)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct command command = COMMAND_EMPTY;
        if (!ids[i])
            continue;
        say_job(c, &command, ids[i], fields, 0);
        err = redis_append(c->redis, &command);
        command_clear(&command);
    }
    if (err != MUSTER_OK)
        return err;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        err = ids[i] ? page_read_parts(c, ids[i], &replies[i], 1) : MUSTER_OK;
    return err;
}

/* The jobs from `*at` on. The script answers as many as are enough for one answer, and one at least. */
static int ask_some(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
                    struct redisReply **replies, size_t *at)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *all;
    script_heads(&command, &c->root, most);
    for (size_t i = *at; i < n; i++)
        if (ids[i])
            add_job(c, &command, ids[i], fields);
    int err = client_run(c, &command, &all);
    size_t come = 2;
    for (; err == MUSTER_OK && *at < n && (!ids[*at] || come < reply_len(all)); ++*at)
        if (ids[*at])
            take_job(ids[*at], all, come++, &replies[*at]);
    if (err == MUSTER_OK && come == 2)
        err = refuse(c, ids[*at]);
    redis_reply_free(all);
    return err;
}

int heads_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
               struct redisReply **replies)
{
    size_t at = 0;
    int err = MUSTER_OK;
    while (n > 0 && !ids[n - 1])
        n--;
    if (most == HEADS_WHOLE)
        return ask_whole(c, ids, n, fields, replies);
    while (at < n && err == MUSTER_OK)
        err = ask_some(c, most, ids, n, fields, replies, &at);
    return err == MUSTER_E_DENIED ? heads_plain_jobs(c, most, ids + at, n - at, fields, replies + at) : err;
}
