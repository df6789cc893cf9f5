/* SPDX-License-Identifier: MIT
 *
 * The blocking connection: scripts whose changes replicas or disks must have.
 *
 * The question goes out in the same write as the script. Whatever becomes of its answer, the script's own answer is
 * known by then: so a change that was made is never told as one that may not have been.
 */
#include "redis/confirm.h"

#include <stdio.h>
#include <string.h>

#include "redis/redis_private.h"

bool redis_confirms(const struct redis *r)
{
    return confirm_is_wanted(&r->confirm);
}

int redis_replicas_asked(const struct redis *r)
{
    return r->confirm.replicas;
}

int redis_replicas(const struct redis *r)
{
    return r->n_replicas;
}

int redis_confirm_prepare(struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    struct redisReply *reply;
    if (!r->confirm.fsync || r->can_fsync)
        return MUSTER_OK;
    confirm_say_probe(&c);
    int err = redis_call(r, &c, &reply);
    command_clear(&c);
    redis_reply_free(reply);
    r->can_fsync = err == MUSTER_OK;
    const char *means = err == MUSTER_E_REDIS ? confirm_refusal(r->error) : NULL;
    if (means) {
        char where[300];
        redis_describe(r, where, sizeof where);
        redis_error_set(r, "%s: %s; nothing was changed", where, means);
    }
    return err;
}

int redis_confirm_append(struct redis *r)
{
    struct command c = COMMAND_EMPTY;
    confirm_say(&r->confirm, &c);
    int err = redis_send(r, &c);
    command_clear(&c);
    if (err == MUSTER_OK)
        redis_asked_follow(r);
    return err;
}

unsigned redis_connection(const struct redis *r)
{
    return r->n_left;
}

void redis_confirm_read(struct redis *r, unsigned connection, struct redis_confirmed *confirmed)
{
    struct redisReply *reply = NULL;
    char where[300] = "";
    int err = redis_read(r, &reply);
    redis_pass_over(r, err);
    const char *failure = err != MUSTER_OK ? r->error
                          : r->n_left != connection
                              ? "the connection changed meanwhile, and this server cannot tell what the other one had"
                              : NULL;
    if (err == MUSTER_OK)
        redis_describe(r, where, sizeof where);
    size_t len = (size_t)snprintf(confirmed->why, sizeof confirmed->why, "%s%s", where, *where ? ": " : "");
    confirmed->err = confirm_hear(&r->confirm, reply, failure, confirmed->why + len, sizeof confirmed->why - len);
    redis_reply_free(reply);
    if (confirmed->err == MUSTER_OK)
        confirm_warn(&r->confirm, r->n_replicas);
}

void redis_confirm_skip(struct redis *r)
{
    char error[sizeof r->error];
    struct redis_confirmed none;
    snprintf(error, sizeof error, "%s", r->error);
    redis_confirm_read(r, r->n_left, &none);
    snprintf(r->error, sizeof r->error, "%s", error);
}
