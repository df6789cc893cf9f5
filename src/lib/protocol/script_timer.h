/* SPDX-License-Identifier: MIT
 *
 * Scripts of the timer's keeper: what is due is moved, and recurring jobs get the next ticks of their schedules.
 */
#ifndef SCRIPT_TIMER_H
#define SCRIPT_TIMER_H

#include "protocol/script.h"
#include "redis/reply.h"

/* `closed`: a list of the ids of batches. `crons`: a list of jobs whose ticks are to be computed. */
struct script_promoted {
    int64_t next_ms, now_ms;
    const struct redisReply *closed, *crons;
};
void script_promote(struct command *c, const struct script_root *root);
int script_promoted(const struct redisReply *r, struct script_promoted *out);

/* One of `crons`, as its record says. False if it is none. */
struct script_cron {
    const char *id, *cron, *zone, *last;
    int64_t until_ms, backlog;
};
bool script_promoted_cron(const struct redisReply *cron, struct script_cron *out);

/* The next ticks of a job's schedule, and of what they were computed. */
struct script_refill {
    const char *id, *cron, *zone, *last, *ticks;
    bool is_final;
    int64_t known_ms, new_last_ms;
    uint64_t over;
};
void script_refill(struct command *c, const struct script_root *root, const struct script_refill *r);

#endif
