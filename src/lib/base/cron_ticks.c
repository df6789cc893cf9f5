/* SPDX-License-Identifier: MIT
 *
 * Whoever computes ticks does so from the last one that was dealt with, never from its own time. So it does not matter
 * who does it, how often, and when: none is lost, and none comes twice.
 */
#include "base/cron_ticks.h"

#include <stdio.h>

#include "base/cron.h"

#define SECOND_MS 1000

struct walk {
    struct cron cron;
    struct zone zone;
    int64_t at, until;
};

/* Goes on to the next tick. False: there is none. */
static bool step(struct walk *w)
{
    int64_t at;
    if (!cron_next(&w->cron, &w->zone, w->at, &at) || at > w->until)
        return false;
    w->at = at;
    return true;
}

/* Leaves out what is beyond the backlog. */
static void leave_out(struct walk *w, const struct cron_wanted *wanted, struct cron_ticks *out)
{
    struct walk ahead = *w;
    int64_t now = wanted->now_ms / SECOND_MS, missed = 0;
    bool is_there;
    while (missed < CRON_TICKS_COUNTED && (is_there = step(&ahead)) && ahead.at <= now)
        missed++;
    out->known_ms = missed < CRON_TICKS_COUNTED ? wanted->now_ms : 0;
    for (; missed > wanted->backlog && step(w); missed--)
        out->over++;
    if (out->over > 0)
        out->last_ms = w->at * SECOND_MS;
}

const char *cron_ticks(struct cron_ticks *out, const struct cron_wanted *wanted)
{
    struct walk w = {.at = wanted->last_ms / SECOND_MS,
                     .until = wanted->until_ms > 0 ? wanted->until_ms / SECOND_MS : INT64_MAX};
    *out = (struct cron_ticks){.last_ms = wanted->last_ms, .known_ms = wanted->now_ms};
    const char *why = cron_read(&w.cron, wanted->cron);
    if (!why)
        why = zone_load(&w.zone, wanted->zone);
    if (why)
        return why;
    if (wanted->backlog > 0)
        leave_out(&w, wanted, out);
    char *at = out->text;
    while (out->n < CRON_TICKS_MAX && !out->is_final) {
        if (step(&w)) {
            at += sprintf(at, "%s%lld", out->n > 0 ? " " : "", (long long)w.at * SECOND_MS);
            out->n++;
        } else {
            out->is_final = true;
        }
    }
    zone_clear(&w.zone);
    return NULL;
}
