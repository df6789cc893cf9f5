/* SPDX-License-Identifier: MIT
 *
 * The timer's keeper computes the next ticks of schedules, long before those that are known run out. Redis asks for them
 * with what is due, and asks again until somebody has given them: so it does not matter if this worker dies on the way.
 * Times come from the zone data of this worker's machine. Where these lack a zone, another worker is to keep the timer.
 */
#include "worker/crons.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/cron_ticks.h"
#include "base/log.h"
#include "protocol/script_timer.h"
#include "worker/worker.h"

#define TELL_MS (60 * 1000)

static void on_refilled(const struct redisReply *reply, void *arg)
{
    struct muster_worker *w = arg;
    int err = reply ? reply_status(reply) : MUSTER_OK;
    if (err != MUSTER_OK)
        tell_refused(w, REQUEST_REFILL, err, reply_text(reply));
    else if (reply)
        tell_accepted(w, REQUEST_REFILL);
}

/* It is asked for again every second, and others may have the zone. */
static void tell_unable(struct muster_worker *w, const char *id, const char *why)
{
    if (w->crons.told_at_ms && clock_ms() - w->crons.told_at_ms < TELL_MS)
        return;
    w->crons.told_at_ms = clock_ms();
    log_line(MUSTER_LOG_ERROR, "worker %s: cannot tell when the job '%s' recurs next: %s", w->id, id, why);
}

/* False: this worker cannot tell them. */
static bool refill(struct muster_worker *w, const struct script_cron *job, int64_t now_ms)
{
    struct cron_ticks ticks;
    const char *why = cron_ticks(&ticks, &(struct cron_wanted){.cron = job->cron,
                                                               .zone = job->zone,
                                                               .last_ms = strtoll(job->last, NULL, 10),
                                                               .until_ms = job->until_ms,
                                                               .now_ms = now_ms,
                                                               .backlog = job->backlog});
    struct command c = COMMAND_EMPTY;
    if (why) {
        tell_unable(w, job->id, why);
        return false;
    }
    script_refill(&c, &w->root,
                  &(struct script_refill){.id = job->id,
                                          .cron = job->cron,
                                          .zone = job->zone,
                                          .last = job->last,
                                          .ticks = ticks.text,
                                          .is_final = ticks.is_final,
                                          .known_ms = ticks.known_ms,
                                          .over = ticks.over,
                                          .new_last_ms = ticks.last_ms});
    (void)link_script(w->connection.data, &c, on_refilled, w);
    command_clear(&c);
    return true;
}

void crons_refill(struct muster_worker *w, const struct redisReply *crons, int64_t now_ms)
{
    bool is_able = true;
    for (size_t i = 0; i < reply_len(crons) && connection_can_call(w); i++) {
        struct script_cron job;
        if (script_promoted_cron(reply_at(crons, i), &job))
            is_able &= refill(w, &job, now_ms);
    }
    if (!is_able)
        timer_keeper_pass_on(w);
}
