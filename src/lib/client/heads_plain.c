/* SPDX-License-Identifier: MIT
 *
 * No plain command cuts a text of a hash, a list or a set; it is cut here, after it was sent. But of a hash Redis says how
 * long a text is (HSTRLEN), so what is very long is not asked for. Of a list or a sorted set it does not: few are asked
 * for at a time, and one alone behind a long one.
 */
#include "client/heads_plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/heads_room.h"
#include "client/page.h"
#include "redis/reply_make.h"

/* The fields of a job's record that may be long. */
static const char *const long_fields[] = {"data", "result"};
#define LONG_FIELDS (sizeof long_fields / sizeof *long_fields)
/* In the place of a field that is not asked for. No record has it. */
#define NO_FIELD ""

#define SENT_MIN ((size_t)16 * 1024)

/* A text of a hash that has more bytes is not asked for. */
static size_t sent_max(const struct muster_client *c)
{
    return c->heads.sent > 0 ? c->heads.sent : HEADS_SENT_MAX;
}

/* The connection has ended, maybe for the size of an answer. True: it is asked again, or for less. */
static bool asks_again(struct muster_client *c, int err)
{
    const size_t most = sent_max(c);
    const enum heads_end end = heads_room_end(c, err, most);
    if (err == MUSTER_OK)
        heads_room_answered(c, &c->heads.sent, HEADS_SENT_MAX);
    if (end != HEADS_LESS || most <= SENT_MIN)
        return end == HEADS_SAME;
    c->heads.sent = most / 4 < SENT_MIN ? SENT_MIN : most / 4;
    return true;
}

/* MUSTER_OK if there is memory, as it was needed. */
static int has_memory(struct muster_client *c, bool has)
{
    if (!has)
        redis_error_set(c->redis, "out of memory");
    return has ? MUSTER_OK : MUSTER_E_NOMEM;
}

static int cut(struct muster_client *c, struct redisReply **reply, size_t most)
{
    return has_memory(c, reply_cut(reply, most));
}

/* Who may not ask for a length is sent all of it. */
static int ask_length(struct muster_client *c, const char *key, const char *field, uint64_t *len)
{
    struct redisReply *reply;
    int err = client_ask(c, &reply, (const char *const[]){"HSTRLEN", key, field, NULL});
    *len = err == MUSTER_OK ? reply_count(reply) : 0;
    redis_reply_free(reply);
    return err == MUSTER_E_DENIED ? MUSTER_OK : err;
}

/* ---- lists and sorted sets ---- */

static bool is_range(const char *name)
{
    return strcmp(name, "LRANGE") == 0 || strcmp(name, "ZRANGE") == 0 || strcmp(name, "ZREVRANGE") == 0;
}

static bool has_long(const struct redisReply *list, size_t most)
{
    for (size_t i = 0; i < reply_len(list); i++)
        if (reply_bytes(reply_at(list, i)).len > most)
            return true;
    return false;
}

/* From the place `at` on, up to `last`: some, which are added to the reply. `*step`: how many, and how many the next
 * time: behind a long one, one. */
static int ask_some(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words,
                    long long at, long long last, long long *step)
{
    char from[24], to[24];
    struct redisReply *some;
    snprintf(from, sizeof from, "%lld", at);
    snprintf(to, sizeof to, "%lld", at + *step - 1 < last ? at + *step - 1 : last);
    int err = client_look(c, &some, (const char *const[]){words[0], words[1], from, to, words[4], NULL});
    *step = has_long(some, most) || c->heads.sent > 0 ? 1 : 2 * *step;
    if (err == MUSTER_OK)
        err = cut(c, &some, most);
    if (err != MUSTER_OK) {
        redis_reply_free(some);
        return err;
    }
    *reply = reply_join(*reply, some);
    return has_memory(c, *reply);
}

static int ask_range(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    const long long last = strtoll(words[3], NULL, 10);
    long long step = 1, asked = 1;
    int err = MUSTER_OK;
    for (long long at = strtoll(words[2], NULL, 10); err == MUSTER_OK && at <= last; at += asked) {
        size_t before = reply_len(*reply);
        asked = step;
        err = ask_some(c, most, reply, words, at, last, &step);
        if (at >= 0 && reply_len(*reply) == before)
            break; /* the end; places from the end begin before the list does */
    }
    return err;
}

/* ---- hashes ---- */

static int ask_field(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    uint64_t len;
    int err = ask_length(c, words[1], words[2], &len);
    if (err == MUSTER_OK && len > sent_max(c))
        return has_memory(c, (*reply = reply_left_out(len)));
    if (err == MUSTER_OK)
        err = client_look(c, reply, words);
    return err == MUSTER_OK ? cut(c, reply, most) : err;
}

/* {cursor, {field, value, ...}}, all at once. HSCAN brings what is long, too. */
static int ask_fields_one_by_one(struct muster_client *c, size_t most, struct redisReply **reply, const char *key)
{
    struct redisReply *names, *pairs = NULL;
    int err = client_look(c, &names, (const char *const[]){"HKEYS", key, NULL});
    if (err == MUSTER_OK)
        err = has_memory(c, (pairs = reply_spread(names)));
    for (size_t i = 0; i + 1 < reply_len(pairs) && err == MUSTER_OK; i += 2) {
        struct redisReply *value = NULL;
        const char *name = reply_text(reply_at(pairs, i));
        if (name)
            err = ask_field(c, most, &value, (const char *const[]){"HGET", key, name, NULL});
        if (err == MUSTER_OK && value)
            err = has_memory(c, reply_put(pairs, i + 1, value));
        else
            redis_reply_free(value);
    }
    if (err == MUSTER_OK)
        err = has_memory(c, (*reply = reply_scanned(pairs)));
    else
        redis_reply_free(pairs);
    return err;
}

static int ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    if (is_range(words[0]))
        return ask_range(c, most, reply, words);
    if (strcmp(words[0], "HGET") == 0)
        return ask_field(c, most, reply, words);
    if (strcmp(words[0], "HSCAN") == 0 && strcmp(words[2], "0") == 0 && c->heads.sent > 0)
        return ask_fields_one_by_one(c, most, reply, words[1]);
    /* A step of a HSCAN or ZSCAN has what lies in one place of the table at least: mostly one. */
    const bool is_to_be_small = c->heads.sent > 0 && strcmp(words[0] + 1, "SCAN") == 0;
    const char *const small[] = {words[0], words[1], words[2], "COUNT", "1", NULL};
    int err = client_look(c, reply, is_to_be_small ? small : words);
    return err == MUSTER_OK ? cut(c, reply, most) : err;
}

int heads_plain_ask(struct muster_client *c, size_t most, struct redisReply **reply, const char *const *words)
{
    int err;
    do {
        redis_reply_free(*reply);
        *reply = NULL;
        err = ask(c, most, reply, words);
    } while (asks_again(c, err));
    return err;
}

/* ---- jobs ---- */

/* A job to read. `lens`: of its long fields, 0 for one that is not wanted. */
struct job {
    const char *id;
    uint64_t most; /* a field that has more bytes is left out */
    uint64_t lens[LONG_FIELDS];
};

static bool is_long(const struct job *j)
{
    bool is = false;
    for (size_t i = 0; i < LONG_FIELDS; i++)
        is |= j->lens[i] > j->most;
    return is;
}

/* How long the field is if it is left out; 0: it is asked for. */
static uint64_t left_out(const struct job *j, const char *field)
{
    for (size_t i = 0; i < LONG_FIELDS; i++)
        if (strcmp(long_fields[i], field) == 0 && j->lens[i] > j->most)
            return j->lens[i];
    return 0;
}

static int append(struct muster_client *c, const struct job *j, const char *name, const char *const *words)
{
    struct command command = {.is_look = true};
    char key[KEY_MAX];
    key_of(key, c->prefix, KEY_JOB, j->id);
    command_words(&command, (const char *const[]){name, key, NULL});
    command_words(&command, words);
    int err = redis_append(c->redis, &command);
    command_clear(&command);
    return err;
}

/* The answers of all jobs to `n_parts` commands each. */
static int read_all(struct muster_client *c, const struct job *jobs, size_t n, bool (*is_meant)(const struct job *j),
                    size_t n_parts, struct redisReply **parts)
{
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        if (is_meant(&jobs[i]))
            err = page_read_parts(c, jobs[i].id, &parts[i * n_parts], n_parts);
    return err;
}

static bool is_there(const struct job *j)
{
    return j->id;
}

static bool is_short(const struct job *j)
{
    return j->id && !is_long(j);
}

static int ask_lengths(struct muster_client *c, struct job *jobs, size_t n)
{
    struct redisReply **parts = calloc(n * LONG_FIELDS + 1, sizeof *parts);
    int err = has_memory(c, parts);
    for (size_t i = 0; i < n * LONG_FIELDS && err == MUSTER_OK; i++)
        if (jobs[i / LONG_FIELDS].id)
            err =
                append(c, &jobs[i / LONG_FIELDS], "HSTRLEN", (const char *const[]){long_fields[i % LONG_FIELDS], NULL});
    if (err == MUSTER_OK)
        err = read_all(c, jobs, n, is_there, LONG_FIELDS, parts);
    for (size_t i = 0; parts && i < n * LONG_FIELDS; i++) {
        jobs[i / LONG_FIELDS].lens[i % LONG_FIELDS] = reply_count(parts[i]);
        redis_reply_free(parts[i]);
    }
    free(parts);
    return err == MUSTER_E_DENIED ? MUSTER_OK : err;
}

/* As many of them as are enough for one answer, and one at least. */
static size_t fit(const struct job *jobs, size_t n)
{
    uint64_t sum = 0;
    size_t i = 0;
    for (; i < n && (i == 0 || sum <= jobs->most / 2); i++)
        for (size_t j = 0; is_short(&jobs[i]) && j < LONG_FIELDS; j++)
            sum += jobs[i].lens[j];
    return i;
}

static int ask_some_short(struct muster_client *c, const struct job *jobs, size_t n, const char *const *fields,
                          struct redisReply **replies)
{
    static const char *const none[] = {NULL};
    int err = MUSTER_OK;
    for (size_t i = 0; i < n && err == MUSTER_OK; i++)
        if (is_short(&jobs[i]))
            err = append(c, &jobs[i], fields ? "HMGET" : "HGETALL", fields ? fields : none);
    return err == MUSTER_OK ? read_all(c, jobs, n, is_short, 1, replies) : err;
}

static int ask_short(struct muster_client *c, const struct job *jobs, size_t n, const char *const *fields,
                     struct redisReply **replies)
{
    int err = MUSTER_OK;
    for (size_t at = 0, some; err == MUSTER_OK && at < n; at += some) {
        some = fit(jobs + at, n - at);
        err = ask_some_short(c, jobs + at, some, fields, replies + at);
    }
    return err;
}

/* These fields of one job, with the lengths of those that are left out. */
static int ask_fields(struct muster_client *c, const struct job *j, const char *const *fields,
                      struct redisReply **values)
{
    size_t n = 0;
    while (fields[n])
        n++;
    const char **asked = calloc(n + 1, sizeof *asked);
    int err = has_memory(c, asked);
    for (size_t i = 0; asked && i < n; i++)
        asked[i] = left_out(j, fields[i]) ? NO_FIELD : fields[i];
    if (err == MUSTER_OK)
        err = append(c, j, "HMGET", asked);
    if (err == MUSTER_OK)
        err = page_read_parts(c, j->id, values, 1);
    for (size_t i = 0; err == MUSTER_OK && i < n && i < reply_len(*values); i++)
        if (left_out(j, fields[i]))
            err = has_memory(c, reply_put(*values, i, reply_left_out(left_out(j, fields[i]))));
    free(asked);
    return err;
}

/* {field, value, ...} */
static int ask_record(struct muster_client *c, const struct job *j, struct redisReply **record)
{
    static const char *const none[] = {NULL};
    struct redisReply *names = NULL, *values = NULL;
    const char **fields = NULL;
    int err = append(c, j, "HKEYS", none);
    if (err == MUSTER_OK)
        err = page_read_parts(c, j->id, &names, 1);
    size_t n = reply_len(names);
    if (err == MUSTER_OK && n > 0)
        err = has_memory(c, (fields = calloc(n + 1, sizeof *fields)));
    for (size_t i = 0; fields && i < n; i++)
        fields[i] = reply_text(reply_at(names, i)) ? reply_text(reply_at(names, i)) : NO_FIELD;
    if (err == MUSTER_OK && n > 0)
        err = ask_fields(c, j, fields, &values);
    if (err == MUSTER_OK && n > 0)
        err = has_memory(c, (*record = reply_pairs(names, values)));
    free(fields);
    redis_reply_free(names);
    redis_reply_free(values);
    return err;
}

static int ask_jobs(struct muster_client *c, size_t most, struct job *jobs, size_t n, const char *const *fields,
                    struct redisReply **replies)
{
    int err = ask_lengths(c, jobs, n);
    if (err == MUSTER_OK)
        err = ask_short(c, jobs, n, fields, replies);
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        if (jobs[i].id && is_long(&jobs[i]))
            err = fields ? ask_fields(c, &jobs[i], fields, &replies[i]) : ask_record(c, &jobs[i], &replies[i]);
        if (err == MUSTER_OK)
            err = cut(c, &replies[i], most);
    }
    return err;
}

int heads_plain_jobs(struct muster_client *c, size_t most, const char *const *ids, size_t n, const char *const *fields,
                     struct redisReply **replies)
{
    struct job *jobs = calloc(n + 1, sizeof *jobs);
    int err = has_memory(c, jobs);
    do {
        for (size_t i = 0; jobs && i < n; i++) {
            jobs[i] = (struct job){.id = ids[i], .most = sent_max(c)};
            redis_reply_free(replies[i]);
            replies[i] = NULL;
        }
        if (jobs)
            err = ask_jobs(c, most, jobs, n, fields, replies);
    } while (asks_again(c, err));
    free(jobs);
    return err;
}
