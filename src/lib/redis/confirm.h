/* SPDX-License-Identifier: MIT
 *
 * What must have a change before it counts as safe: replicas that have received it, or disks. Both kinds of connection
 * ask by one command, WAIT or WAITAOF, which goes out right behind the change.
 *
 * Redis counts for WAIT how far the replicas are with what its connection did last, and Valkey with what it wrote last.
 * So a change that finds its work done, because it is repeated, must write something all the same: otherwise a new
 * connection would be told at once that all have it (lua/include/base/write_again.lua).
 */
#ifndef CONFIRM_H
#define CONFIRM_H

#include "redis/command.h"
#include "redis/reply.h"
#include "redis/url.h"

/* 0 replicas and no fsync: nothing is asked. */
struct confirm {
    int replicas;
    int ms; /* how long that may take; above 0, because 0 means for ever */
    bool fsync;
    int n_told; /* so many replicas there were when somebody was told that not all of them must confirm; 0: never */
};

/* What a URL says. Without a time of its own it is half of the time that the caller waits for an answer. */
struct confirm confirm_of_url(const struct url *url, int timeout_ms);

/* NULL, or what is wrong with the times in words: Redis must give up before the caller does. */
const char *confirm_check(const struct url *url, int timeout_ms);

bool confirm_is_wanted(const struct confirm *c);

/* The command that goes behind the change. */
void confirm_say(const struct confirm *c, struct command *out);

/* The command that goes before the first change, to see whether the server can do it; only with fsync. */
void confirm_say_probe(struct command *out);

/* What the server's refusal to confirm means, and what to do; NULL if it means something else. */
const char *confirm_refusal(const char *text);

/* MUSTER_OK; or E_UNCONFIRMED, with words in `why`. `failure`, if not NULL, is why there is no answer. */
int confirm_hear(const struct confirm *c, const struct redisReply *reply, const char *failure, char *why, size_t size);

/* So many replicas follow the server; -1: nobody knows. What not all of them must confirm a failover may lose: that is
 * said in the log, once for each number. Call this when something is confirmed. */
void confirm_warn(struct confirm *c, int n_replicas);

#endif
