/* SPDX-License-Identifier: MIT
 *
 * Sweeping: a heartbeat's answer names up to ten workers that are past their end; each is retired by a script of its
 * own. When more have died, the next heartbeat follows as soon as these are retired.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "protocol/script_worker.h"
#include "worker/worker.h"

struct sweep {
    struct muster_worker *worker;
    char victim[MUSTER_WORKER_ID_MAX + 1];
};

static void tell_swept(struct muster_worker *w, const char *victim, const struct script_swept *swept)
{
    char line[160];
    tell_accepted(w, REQUEST_SWEEP);
    figures_add(&w->figures.swept, 1);
    figures_add(&w->figures.recovered, swept->given_back);
    figures_add(&w->figures.crashed, swept->crashed);
    if (swept->crashed == 0)
        snprintf(line, sizeof line, "worker %s failed: gave %llu of its tasks back", victim,
                 (unsigned long long)swept->given_back);
    else
        snprintf(line, sizeof line, "worker %s died: %llu of its tasks given back, %llu failed (group crashed)", victim,
                 (unsigned long long)swept->given_back, (unsigned long long)swept->crashed);
    trace_line(TRACE_STATE, "%s", line);
    tell_event(w, MUSTER_EVENT_SWEPT, MUSTER_OK, line, NULL);
}

/* Where the next heartbeat looks. Survivors of many deaths begin at different places, so that they share them. */
static uint64_t draw_place(const struct sweeps *s)
{
    uint64_t left = s->n_past > s->n_gone ? s->n_past - s->n_gone : 0;
    return left > HEARTBEAT_BATCH ? arc4random_uniform((uint32_t)(left - HEARTBEAT_BATCH) + 1) : 0;
}

/* All sweeps that a heartbeat asked for are answered. If that did any good and there are more dead than one answer
 * names, the next heartbeat follows at once; otherwise a walk over those that cannot be swept would never end. */
static void go_on(struct muster_worker *w)
{
    struct sweeps *s = &w->sweeps;
    if (s->n_gone == 0 || s->n_past <= HEARTBEAT_BATCH || w->state > WORKER_DRAINING || !registration_is_there(w))
        return;
    s->from = draw_place(s);
    heartbeat_now(w);
}

static void on_swept(const struct redisReply *reply, void *arg)
{
    struct sweep *s = arg;
    struct muster_worker *w = s->worker;
    struct script_swept swept;
    const char *damaged;
    int err = reply ? script_swept(reply, &swept, &damaged) : MUSTER_E_CONN;
    if (err == MUSTER_OK || err == MUSTER_E_NOT_FOUND) {
        w->sweeps.n_gone++;
        burst_look_again(w);
    }
    if (err == MUSTER_OK) {
        tell_swept(w, s->victim, &swept);
    } else if (reply && err != MUSTER_E_STATE && err != MUSTER_E_NOT_FOUND) {
        w->sweeps.from++; /* it stays where it is: the next look begins after it */
        if (damaged)
            tell_damaged(w, damaged);
        else
            tell_refused(w, REQUEST_SWEEP, err, reply_text(reply));
    }
    free(s);
    if (--w->sweeps.in_flight == 0 && reply)
        go_on(w);
}

static void sweep(struct muster_worker *w, const char *victim)
{
    struct sweep *s = malloc(sizeof *s);
    struct command c = COMMAND_EMPTY;
    if (!s)
        return;
    s->worker = w;
    snprintf(s->victim, sizeof s->victim, "%s", victim);
    script_sweep(&c, &w->root, s->victim, SWEEP_IF_DEAD);
    if (link_script(w->connection.data, &c, on_swept, s) == MUSTER_OK)
        w->sweeps.in_flight++;
    else
        free(s);
    command_clear(&c);
}

void sweep_dead(struct muster_worker *w, const struct redisReply *reply, const struct script_heard *heard)
{
    struct sweeps *s = &w->sweeps;
    /* Ten at a time from where the last look ended; those that are swept now no longer take up places. */
    uint64_t stay = HEARTBEAT_BATCH - (heard->n_dead < HEARTBEAT_BATCH ? heard->n_dead : HEARTBEAT_BATCH);
    s->n_past = s->from + heard->n_past;
    s->from = heard->n_past > HEARTBEAT_BATCH ? s->from + stay : 0;
    s->n_gone = 0;
    for (size_t i = 0; i < heard->n_dead; i++) {
        const char *victim = script_heard_dead(reply, i);
        if (victim && !muster_worker_id_check(victim))
            sweep(w, victim);
    }
}
