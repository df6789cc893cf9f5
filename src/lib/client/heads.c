/* SPDX-License-Identifier: MIT
 *
 * Reading for people. A list shows the beginning of a task. So that a task of many bytes does not cross the network
 * each time somebody looks, and a Redis that would not send it is still of use, a script cuts what is long. A user who
 * may run no script reads all of it.
 */
#include "client/heads.h"

#include <string.h>

#include "base/log.h"
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
        return client_ask(c, reply, words);
    if (err == MUSTER_OK) {
        *reply = reply_take(all, 2);
        if (reply_kind(*reply) == REPLY_NIL && reply_text(reply_at(all, 1)))
            err = refuse(c, reply_text(reply_at(all, 1)));
    }
    redis_reply_free(all);
    return err;
}

struct muster_bytes heads_text(const struct redisReply *text, uint64_t *whole)
{
    bool is_cut = reply_len(text) == 2;
    struct muster_bytes bytes = reply_bytes(is_cut ? reply_at(text, 1) : text);
    *whole = is_cut ? reply_count(reply_at(text, 0)) : bytes.len;
    if (*whole < bytes.len)
        *whole = bytes.len;
    return bytes;
}

/* ---- jobs ---- */

static void add_job(struct muster_client *c, struct command *command, const char *id, const char *const *fields)
{
    char key[KEY_MAX];
    size_t n = 0;
    while (fields[n])
        n++;
    key_of(key, c->prefix, KEY_JOB, id);
    command_number(command, (int64_t)(n + 2));
    command_words(command, (const char *const[]){"HMGET", without_root(c, key), NULL});
    command_words(command, fields);
    command_own(command);
}

static void take_jobs(const char *const *ids, size_t n, struct redisReply *all, struct redisReply **replies)
{
    size_t at = 2;
    for (size_t i = 0; i < n; i++) {
        if (!ids[i])
            continue;
        replies[i] = reply_take(all, at++);
        if (reply_kind(replies[i]) != REPLY_LIST)
            log_line(MUSTER_LOG_WARN, "%s: the record of this job has a wrong type", ids[i]);
    }
}

static int ask_whole(struct muster_client *c, const char *const *ids, size_t n, const char *const *fields,
                     struct redisReply **replies)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++) {
        struct command command = COMMAND_EMPTY;
        char key[KEY_MAX];
        if (!ids[i])
            continue;
        key_of(key, c->prefix, KEY_JOB, ids[i]);
        command_words(&command, (const char *const[]){"HMGET", key, NULL});
        command_words(&command, fields);
        err = redis_append(c->redis, &command);
        command_clear(&command);
    }
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        if (ids[i])
            err = page_read_parts(c, ids[i], &replies[i], 1);
    return err;
}

int heads_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
               struct redisReply **replies)
{
    struct command command = COMMAND_EMPTY;
    struct redisReply *all;
    bool is_any = false;
    script_heads(&command, &c->root, most);
    for (size_t i = 0; i < n; i++)
        if (ids[i]) {
            is_any = true;
            add_job(c, &command, ids[i], fields);
        }
    if (most == HEADS_WHOLE || !is_any) {
        command_clear(&command);
        return ask_whole(c, ids, n, fields, replies);
    }
    int err = client_run(c, &command, &all);
    if (err == MUSTER_OK)
        take_jobs(ids, n, all, replies);
    redis_reply_free(all);
    return err == MUSTER_E_DENIED ? ask_whole(c, ids, n, fields, replies) : err;
}
