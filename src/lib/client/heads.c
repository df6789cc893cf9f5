/* SPDX-License-Identifier: MIT
 *
 * Reading for people. A list shows the beginning of a task. So that a task of many bytes does not cross the network
 * each time somebody looks, and a Redis that would not send it is still of use, a script cuts what is long. For a user who
 * may run no script heads_plain.c reads.
 */
#include "client/heads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "client/heads_plain.h"
#include "client/heads_room.h"
#include "client/page.h"
#include "protocol/script_queue.h"
#include "redis/byte_limits.h"
#include "redis/reply_make.h"

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

/* ---- as much as this Redis sends ---- */

#define ROOM_MIN ((size_t)4 * 1024)

static size_t room_of(const struct muster_client *c)
{
    return c->heads.room > 0 ? c->heads.room : SCRIPT_HEADS_ROOM;
}

/* A single text that does not come, however little comes beside it. */
static int too_big(struct muster_client *c, const char *key, size_t most, const struct byte_limits *limits)
{
    char of[40] = "";
    if (limits->answer > 0)
        snprintf(of, sizeof of, " of %" PRIu64, limits->answer);
    redis_error_set(
        c->redis,
        "one value of '%s', of which no more than %zu bytes were asked for, is more than this Redis sends (its "
        "client-output-buffer-limit for normal clients%s): raise that",
        key, most, of);
    return MUSTER_E_TOO_BIG;
}

/* The connection ended. True: it may have been for the size of the answer, and it is asked for again, or for less. Otherwise
 * *err is what the call returns. */
static bool asks_again(struct muster_client *c, const char *key, size_t most, int *err)
{
    const size_t room = room_of(c);
    const enum heads_end end = heads_room_end(c, *err, room);
    if (end != HEADS_LESS)
        return end == HEADS_SAME;
    const struct byte_limits *limits = redis_answer_limits(c->redis);
    if (room > ROOM_MIN) {
        const size_t less = limits->answer > 0 && limits->answer / 2 < room ? limits->answer / 2 : room / 4;
        c->heads.room = less < most || less < ROOM_MIN ? ROOM_MIN : less;
        return true;
    }
    if (byte_limits_may_end(limits, BYTE_LIMITS_ANSWER, most))
        *err = too_big(c, key, most, limits);
    return false;
}

/* What one command answers, as far as it fits. */
static int ask_once(struct muster_client *c, size_t most, struct redisReply **all, const char *const *words)
{
    int err;
    do {
        struct command command = COMMAND_EMPTY;
        script_heads(&command, &c->root, most, room_of(c));
        say(c, &command, words);
        err = client_run(c, &command, all);
    } while (err != MUSTER_OK && asks_again(c, words[1], most, &err));
    if (err == MUSTER_OK)
        heads_room_answered(c, &c->heads.room, SCRIPT_HEADS_ROOM);
    if (err == MUSTER_OK && reply_kind(reply_at(*all, 2)) == REPLY_NIL && reply_text(reply_at(*all, 1)))
        err = refuse(c, reply_text(reply_at(*all, 1)));
    return err;
}

/* Of a text that did not fit there is only its length. */
static bool is_left_out(const struct redisReply *text)
{
    uint64_t whole = 0;
    return reply_kind(text) == REPLY_LIST && reply_head(text, &whole).len == 0 && whole > 0;
}

/* Ask for it alone. It may be gone by now: then it is as if it were not there. */
static int fill(struct muster_client *c, size_t most, struct redisReply *list, size_t i, const char *const *words)
{
    struct redisReply *alone;
    int err = heads_ask(c, most, &alone, words);
    const bool is_member = strcmp(words[0], "HGET") != 0;
    struct redisReply *text = is_member ? reply_take(alone, 0) : alone;
    if (is_member)
        redis_reply_free(alone);
    if (err != MUSTER_OK || !text) {
        redis_reply_free(text);
        return err;
    }
    return reply_put(list, i, text) ? MUSTER_OK : MUSTER_E_NOMEM;
}

/* {field, value, ...} */
static int fill_pairs(struct muster_client *c, size_t most, const char *key, struct redisReply *pairs)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i + 1 < reply_len(pairs) && err == MUSTER_OK; i += 2) {
        const char *field = reply_text(reply_at(pairs, i));
        if (field && is_left_out(reply_at(pairs, i + 1)))
            err = fill(c, most, pairs, i + 1, (const char *const[]){"HGET", key, field, NULL});
    }
    return err;
}

/* {member, score, ...}: no two that are long have the same score. */
static int fill_members(struct muster_client *c, size_t most, const char *key, struct redisReply *pairs)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i + 1 < reply_len(pairs) && err == MUSTER_OK; i += 2) {
        const char *at = reply_text(reply_at(pairs, i + 1));
        if (at && is_left_out(reply_at(pairs, i)))
            err = fill(c, most, pairs, i, (const char *const[]){"ZRANGEBYSCORE", key, at, at, NULL});
    }
    return err;
}

/* The rest of a range, as far as it did not fit, in steps. `words` are those of its command. */
static int ask_rest(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words,
                    uint64_t left_out)
{
    const size_t step = words[4] ? 2 : 1;
    long long first = strtoll(words[2], NULL, 10), last = strtoll(words[3], NULL, 10);
    size_t n = reply_len(*reply);
    int err = MUSTER_OK;
    while (err == MUSTER_OK && left_out > 0 && n > 0) {
        char from[24];
        struct redisReply *all;
        const long long next = first < 0 ? last - (long long)(left_out / step) + 1 : first + (long long)(n / step);
        if (next <= first || next > last)
            return client_understand(c, MUSTER_E_REDIS); /* it would be asked for ever */
        first = next;
        snprintf(from, sizeof from, "%lld", first);
        err = ask_once(c, most, &all, (const char *const[]){words[0], words[1], from, words[3], words[4], NULL});
        left_out = reply_count(reply_at(all, 0));
        struct redisReply *more = err == MUSTER_OK ? reply_take(all, 2) : NULL;
        n = reply_len(more);
        redis_reply_free(all);
        if (err == MUSTER_OK && n == 0)
            redis_reply_free(more);
        else if (err == MUSTER_OK && !(*reply = reply_join(*reply, more)))
            err = MUSTER_E_NOMEM;
    }
    return err;
}

static int complete(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words,
                    uint64_t left_out)
{
    if (left_out > 0)
        return ask_rest(c, most, reply, words, left_out);
    if (strcmp(words[0], "HSCAN") == 0 && reply_len(*reply) == 2)
        return fill_pairs(c, most, words[1], (struct redisReply *)(uintptr_t)reply_at(*reply, 1));
    if (strcmp(words[0], "ZSCAN") == 0 && reply_len(*reply) == 2)
        return fill_members(c, most, words[1], (struct redisReply *)(uintptr_t)reply_at(*reply, 1));
    return MUSTER_OK;
}

int heads_ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    struct redisReply *all = NULL;
    *reply = NULL;
    if (most == HEADS_WHOLE)
        return client_look(c, reply, words);
    int err = ask_once(c, most, &all, words);
    if (err == MUSTER_OK) {
        *reply = reply_take(all, 2);
        err = complete(c, most, reply, words, reply_count(reply_at(all, 0)));
    }
    redis_reply_free(all);
    if (err == MUSTER_E_DENIED)
        err = heads_plain_ask(c, most, reply, words);
    if (err != MUSTER_OK) {
        redis_reply_free(*reply);
        *reply = NULL;
    }
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
        struct command command = {.is_look = true};
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

static int fill_job(struct muster_client *c, size_t most, const char *id, const char *const *fields,
                    struct redisReply *record)
{
    char key[KEY_MAX];
    int err = MUSTER_OK;
    key_of(key, c->prefix, KEY_JOB, id);
    if (!fields)
        return fill_pairs(c, most, key, record);
    for (size_t i = 0; i < reply_len(record) && fields[i] && err == MUSTER_OK; i++)
        if (is_left_out(reply_at(record, i)))
            err = fill(c, most, record, i, (const char *const[]){"HGET", key, fields[i], NULL});
    return err;
}

static int ask_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
                    struct redisReply **all)
{
    int err;
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_JOB, *ids);
    do {
        struct command command = COMMAND_EMPTY;
        script_heads(&command, &c->root, most, room_of(c));
        for (size_t i = 0; i < n; i++)
            if (ids[i])
                add_job(c, &command, ids[i], fields);
        err = client_run(c, &command, all);
    } while (err != MUSTER_OK && asks_again(c, key, most, &err));
    if (err == MUSTER_OK)
        heads_room_answered(c, &c->heads.room, SCRIPT_HEADS_ROOM);
    return err;
}

/* The jobs from `*at` on. The script answers as many as are enough for one answer, and one at least. */
static int ask_some(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
                    struct redisReply **replies, size_t *at)
{
    struct redisReply *all;
    while (!ids[*at]) /* the last one is there */
        ++*at;
    const size_t first = *at;
    int err = ask_jobs(c, most, ids + first, n - first, fields, &all);
    size_t come = 2;
    for (; err == MUSTER_OK && *at < n && (!ids[*at] || come < reply_len(all)); ++*at)
        if (ids[*at])
            take_job(ids[*at], all, come++, &replies[*at]);
    if (err == MUSTER_OK && come == 2)
        err = refuse(c, ids[first]);
    redis_reply_free(all);
    for (size_t i = first; err == MUSTER_OK && i < *at; i++)
        if (ids[i])
            err = fill_job(c, most, ids[i], fields, replies[i]);
    if (err == MUSTER_E_DENIED) /* of what did not fit; all of it is still to be read */
        *at = first;
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
