/* SPDX-License-Identifier: MIT
 *
 * The next ticks of schedules, which the timer's keeper computes. See crons.c.
 */
#ifndef CRONS_H
#define CRONS_H

#include <stdint.h>

struct muster_worker;
struct redisReply;

struct crons {
    int64_t told_at_ms; /* when it last said that it cannot; 0: never */
};

/* These jobs need more ticks; now is `now_ms` by Redis' clock. */
void crons_refill(struct muster_worker *w, const struct redisReply *crons, int64_t now_ms);

#endif
