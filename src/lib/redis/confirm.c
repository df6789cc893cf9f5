/* SPDX-License-Identifier: MIT
 *
 * WAIT and WAITAOF: what is said, and what the answers mean.
 */
#include "redis/confirm.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"

#define NO_WAITAOF "fsync needs WAITAOF, which Redis 7.2 and Valkey have, and this server has not: leave fsync out"
#define NO_AOF \
    "fsync needs an append only file, and this server keeps none: set its appendonly to yes, or leave fsync out"

bool confirm_is_wanted(const struct confirm *c)
{
    return c->replicas > 0 || c->fsync;
}

struct confirm confirm_of_url(const struct url *url, int timeout_ms)
{
    int half_ms = timeout_ms > 1 ? timeout_ms / 2 : 1;
    return (struct confirm){
        .replicas = url->replicas, .ms = url->replicas_ms > 0 ? url->replicas_ms : half_ms, .fsync = url->fsync};
}

const char *confirm_check(const struct url *url, int timeout_ms)
{
    if (url->replicas_ms < timeout_ms)
        return NULL;
    return words_say("replicas may take %d ms to confirm, but the answer is waited for only %d ms: shorten the one, or "
                     "lengthen timeout_ms",
                     url->replicas_ms, timeout_ms);
}

void confirm_say(const struct confirm *c, struct command *out)
{
    command_text(out, c->fsync ? "WAITAOF" : "WAIT");
    if (c->fsync)
        command_number(out, 1);
    command_number(out, c->replicas);
    command_number(out, c->ms);
}

/* It is answered within a millisecond, and refused where there is no such command or no such file. */
void confirm_say_probe(struct command *out)
{
    command_words(out, (const char *const[]){"WAITAOF", "1", "0", "1", NULL});
}

const char *confirm_refusal(const char *text)
{
    return strstr(text, "unknown command") ? NO_WAITAOF : strstr(text, "appendonly") ? NO_AOF : NULL;
}

/* -1: the answer is no count. */
static long long count_of(const struct redisReply *reply)
{
    return reply_kind(reply) == REPLY_INTEGER ? reply_integer(reply) : -1;
}

int confirm_hear(const struct confirm *c, const struct redisReply *reply, const char *failure, char *why, size_t size)
{
    static const char so_what[] = "it is there, but may be lost if this server fails";
    const long long disks = c->fsync ? count_of(reply_at(reply, 0)) : 1;
    const long long replicas = count_of(c->fsync ? reply_at(reply, 1) : reply);
    if (!failure && reply_err(reply) != MUSTER_OK)
        failure = reply ? reply_text(reply) : "no answer came";
    if (!failure && (disks < 0 || replicas < 0))
        failure = "the answer is none that Redis gives";
    if (failure)
        snprintf(why, size, "not confirmed (%.150s): %s", failure, so_what);
    else if (disks < 1)
        snprintf(why, size, "not on the server's disk after %d ms: %s", c->ms, so_what);
    else if (replicas < c->replicas)
        snprintf(why, size, "confirmed by %lld of %d %s after %d ms: %s", replicas, c->replicas,
                 c->replicas == 1 ? "replica" : "replicas", c->ms, so_what);
    else
        return MUSTER_OK;
    words_clean(why);
    return MUSTER_E_UNCONFIRMED;
}

/* A master that was replaced stays one for a while, and what is left of its replicas goes on confirming. Only if all
 * must confirm, the one that was promoted is missed at once. */
static bool confirm_is_weak(const struct confirm *c, int n_replicas)
{
    return c->replicas > 0 && n_replicas > c->replicas;
}

void confirm_warn(struct confirm *c, int n_replicas)
{
    if (!confirm_is_weak(c, n_replicas) || c->n_told == n_replicas)
        return;
    c->n_told = n_replicas;
    log_line(MUSTER_LOG_WARN,
             "muster: replicas=%d, but the server has %d replicas: a failover to one that has not confirmed loses what "
             "others have; only replicas=%d makes sure of it",
             c->replicas, n_replicas, n_replicas);
}
