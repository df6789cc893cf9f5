/* SPDX-License-Identifier: MIT
 *
 * One blocking connection to Redis: connects when it is first used and again after it broke, logs in, selects the
 * database, checks the namespace's format, sends commands and scripts. Knows nothing of what they mean.
 */
#ifndef REDIS_H
#define REDIS_H

#include "redis/command.h"
#include "redis/reply.h"
#include "redis/url.h"

struct redis;
struct redisContext;

/*
 * Where to connect to, and what the data there must look like.
 *   url         copied; NULL: only `given`
 *   given       a connection to use; it stays its owner's
 *   prefix      the namespace's, for people
 *   format_key  holds the number of the layout in which the namespace's data are written
 *   format      the only number that is understood, a static string
 */
struct redis_options {
    const struct url *url;
    struct redisContext *given;
    int timeout_ms;
    const char *prefix, *format_key, *format;
};

/* All but `given` and `format` is copied. Nothing is sent. */
int redis_new(struct redis **out, const struct redis_options *o);
void redis_free(struct redis *r);

/* What the last failure was, for people. */
const char *redis_error(const struct redis *r);
void redis_error_set(struct redis *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Before the first write to a namespace without a format: names it, so that a later version knows what it meets.
 * Costs nothing once that is known on this connection.
 */
int redis_claim_format(struct redis *r);

/*
 * Send one command and wait. On MUSTER_OK `*reply` is the caller's to free, and is no error. The connection is dropped
 * after E_CONN, E_TIMEOUT and a broken protocol.
 */
int redis_call(struct redis *r, struct command *c, struct redisReply **reply);
/* The same for a script, whose command was built by scripts.c: EVALSHA, and EVAL once if Redis does not know it. A
 * status of the script's own is an error too, whose answer is the caller's to free all the same. */
int redis_script(struct redis *r, struct command *c, struct redisReply **reply);

/* The same for one that mostly wakes somebody: its messages leave Redis before its answer. One small command more. */
int redis_script_waking(struct redis *r, struct command *c, struct redisReply **reply);

/* Pipelining: send without waiting, then read the answers in order. After an error the connection is unusable until
 * the next redis_call() or redis_append() connects again; what was sent is unknown. */
int redis_append(struct redis *r, struct command *c);
int redis_read(struct redis *r, struct redisReply **reply);
void redis_reply_free(struct redisReply *reply);

/*
 * Listening: a second connection to the same Redis, subscribed to these channels when this returns. It is freed with
 * redis_free(), before `r`, which gets the words for whatever fails on it. A connection that was handed in cannot be
 * made twice: E_STATE.
 */
int redis_can_listen(struct redis *r);
int redis_listen(struct redis **listener, struct redis *r, const char *const *channels, size_t n);
/* Wait up to so long for the next message: `*message`, the caller's to free, is {"message", channel, bytes}. E_TIMEOUT:
 * none came, and the connection is sound. Any other error: it is not, or messages were lost; free it. */
int redis_hear(struct redis *listener, int64_t wait_ms, struct redisReply **message);

#endif
