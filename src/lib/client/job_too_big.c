/* SPDX-License-Identifier: MIT
 *
 * Redis says nothing when it closes the connection of an answer that is above its limit. So the jobs' lengths are asked
 * for, and the limit, which not every user may see. Lists count only for many jobs together: what one answer has of them
 * is bounded.
 */
#include "client/job_too_big.h"

#include <stdlib.h>
#include <string.h>

#include "redis/byte_limits.h"

#define ASK_MS 1000

/* What a record has: bytes, or so many entries of about so many bytes. */
static const struct {
    const char *command;
    enum key key;
    const char *field;
    size_t size;
} parts[] = {
    {"HSTRLEN", KEY_JOB, "data", 1},
    {"HSTRLEN", KEY_JOB, "result", 1},
    {"LLEN", KEY_HISTORY, NULL, MUSTER_JOB_LOG_MAX},
    {"SCARD", KEY_DEPENDENCIES, NULL, MUSTER_JOB_ID_MAX},
    {"ZCARD", KEY_DEPENDENTS, NULL, MUSTER_JOB_ID_MAX},
    {"ZCARD", KEY_FOLLOWERS, NULL, MUSTER_JOB_ID_MAX},
};
#define N_PARTS (sizeof parts / sizeof *parts)

static int append(struct muster_client *c, const char *const *ids, size_t n)
{
    int err = MUSTER_OK;
    for (size_t i = 0; err == MUSTER_OK && i < n * N_PARTS; i++) {
        char key[KEY_MAX];
        key_of(key, c->prefix, parts[i % N_PARTS].key, ids[i / N_PARTS]);
        err = client_append(c, (const char *const[]){parts[i % N_PARTS].command, key, parts[i % N_PARTS].field, NULL});
    }
    return err;
}

/* A refusal is an answer of nothing. */
static uint64_t read_length(struct muster_client *c, int *err)
{
    struct redisReply *reply = NULL;
    int read = redis_is_unanswered(*err) ? *err : redis_read(c->redis, &reply);
    if (redis_is_unanswered(read))
        *err = read;
    uint64_t length = reply_count(reply);
    redis_reply_free(reply);
    return length;
}

static int ask(struct muster_client *c, const char *const *ids, struct job_too_big *jobs, size_t n)
{
    struct byte_limits limits = {0};
    uint64_t sum = 0;
    int err = append(c, ids, n);
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        jobs[i].n_bytes = 0;
        for (size_t k = 0; err == MUSTER_OK && k < N_PARTS; k++) {
            const uint64_t n_bytes = parts[k].size * read_length(c, &err);
            jobs[i].n_bytes += parts[k].key == KEY_JOB ? n_bytes : 0;
            sum += n_bytes;
        }
    }
    if (err == MUSTER_OK)
        err = byte_limits_call(&limits, c->redis);
    for (size_t i = 0; err == MUSTER_OK && i < n; i++) {
        const uint64_t n_bytes = jobs[i].n_bytes;
        bool may_be = n_bytes >= COMMAND_LARGE && byte_limits_may_end(&limits, BYTE_LIMITS_ANSWER, n_bytes);
        jobs[i] = (struct job_too_big){may_be ? n_bytes : 0, limits.answer};
    }
    const bool may_be_all = sum >= COMMAND_LARGE && byte_limits_may_end(&limits, BYTE_LIMITS_ANSWER, sum);
    return err == MUSTER_OK && !may_be_all ? MUSTER_E_CONN : err;
}

int job_too_big_ask(struct muster_client *c, const char *const *ids, struct job_too_big *jobs, size_t n)
{
    char *words = strdup(redis_error(c->redis));
    if (!words)
        return MUSTER_E_NOMEM;
    int timeout_ms = redis_hurry(c->redis, ASK_MS);
    int err = ask(c, ids, jobs, n);
    (void)redis_set_timeout(c->redis, timeout_ms);
    if (err != MUSTER_OK && err != MUSTER_E_INTERRUPTED) {
        redis_error_set(c->redis, "%s", words);
        err = MUSTER_E_CONN;
    }
    free(words);
    return err;
}
