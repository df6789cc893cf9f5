/* SPDX-License-Identifier: MIT
 *
 * Would this Redis lose tasks when it is full? Asked once in a worker's life, after it has registered and beside its
 * work: nothing waits for the answer. Without the right to ask (INFO) nothing is said, for the worker needs none of it;
 * `muster doctor` tells which right is missing.
 */
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "worker/worker.h"

static void on_told(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    char policy[INFO_VALUE_SIZE], line[INFO_VALUE_SIZE + 160];
    if (!reply || reply_kind(reply) == REPLY_ERROR || !info_text(reply_text(reply), "maxmemory_policy", policy) ||
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
    if (w->was_warned)
        return;
    command_words(&c, (const char *const[]){"INFO", "memory", NULL});
    w->was_warned = link_call(w->connection.data, &c, on_told, w) == MUSTER_OK;
    command_clear(&c);
}
