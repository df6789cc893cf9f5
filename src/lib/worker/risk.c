/* SPDX-License-Identifier: MIT
 *
 * Would this Redis lose tasks when it is full? Asked after a worker has registered, and beside its work: nothing
 * waits for the answer. What is lost with its connection, or comes from a Redis that cannot answer now, is asked again
 * after a heartbeat; any other answer is the last. Without the right to ask (INFO) nothing is said, for the worker needs
 * none of it; `muster doctor` tells which right is missing.
 */
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "worker/worker.h"

static bool is_answer(const struct redisReply *reply)
{
    int err = reply_err(reply);
    return err != MUSTER_E_CONN && err != MUSTER_E_BUSY;
}

static void on_told(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    char policy[INFO_VALUE_SIZE], line[INFO_VALUE_SIZE + 160];
    w->was_asked_for_risk = is_answer(reply);
    if (reply_kind(reply) != REPLY_TEXT || !info_text(reply_text(reply), "maxmemory_policy", policy) ||
        strcmp(policy, "noeviction") == 0)
        return;
    snprintf(line, sizeof line,
             "maxmemory-policy is %s: when it is full it drops keys, a whole queue among them; "
             "CONFIG SET maxmemory-policy noeviction",
             policy);
    tell_event(w, MUSTER_EVENT_RISK, MUSTER_OK, line, NULL);
}

void risk_look(struct muster_worker *w)
{
    struct command c = COMMAND_EMPTY;
    if (w->was_asked_for_risk)
        return;
    command_words(&c, (const char *const[]){"INFO", "memory", NULL});
    w->was_asked_for_risk = link_call(w->connection.data, &c, on_told, w) == MUSTER_OK;
    command_clear(&c);
}
