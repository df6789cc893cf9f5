/* SPDX-License-Identifier: MIT
 *
 * WAIT and WAITAOF: what is said, and what the answers mean.
 */
#include "redis/confirm.h"

#include <stdio.h>
#include <string.h>

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
    return (struct confirm){url->replicas, url->replicas_ms > 0 ? url->replicas_ms : half_ms, url->fsync};
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
