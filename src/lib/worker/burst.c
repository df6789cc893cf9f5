/* SPDX-License-Identifier: MIT
 *
 * Option burst: the worker ends when a take has found nothing and nothing runs. But what a dead worker holds is work
 * too, and perhaps nobody else is there to sweep it: for example when bursts are all that runs, one after the other.
 * So a heartbeat is asked for first, which names who is past its end. What it sweeps then may be handed over to this
 * worker, and its next heartbeat says how much it holds: only one that was sent after the last sweep counts. The same
 * for what the program has handed on: it may be for this worker.
 *
 * This worker's own start may have ended a silence, which gives the dead ones time to show themselves (grace): up to a
 * ttl. It waits for that, but not for ever: a damaged record cannot be swept, and another worker's ttl may be an hour.
 */
#include "worker/burst.h"

#include "base/clock.h"
#include "base/log.h"
#include "worker/worker.h"

/* In ttls: a grace, and the heartbeat and the sweep after it. */
#define WAIT_TTLS 2

static bool is_idle(const struct muster_worker *w)
{
    return w->turns.found_nothing && w->processes.n_disowned == 0 && w->turns.in_flight == 0 &&
           w->sweeps.in_flight == 0 && !w->readback.in_flight && !follow_is_open(w) && serve_all_announced(w);
}

/* By the last heartbeat it holds something of which it has not heard: the message is on the way. */
static bool has_more_coming(const struct muster_worker *w)
{
    return w->heartbeat.echo.waits && w->heartbeat.echo.held > 0;
}

void burst_look_again(struct muster_worker *w)
{
    w->burst.has_asked = w->burst.has_looked = false;
    if (w->burst.is_wanted)
        round_due(w);
}

void burst_apply_heartbeat(struct muster_worker *w)
{
    w->burst.has_looked = w->burst.has_asked;
    if (w->burst.is_wanted)
        round_due(w);
}

static void ask_for_a_look(struct muster_worker *w)
{
    if (w->burst.has_asked || w->heartbeat.in_flight || !connection_can_call(w))
        return;
    w->burst.has_asked = true;
    heartbeat_now(w); /* if it is refused, the next one follows by the timer */
}

static void begin_to_wait(struct muster_worker *w)
{
    w->burst.until_ms = clock_in_ms((int64_t)WAIT_TTLS * w->ttl_ms);
    log_line(MUSTER_LOG_INFO, "muster: worker %s: found nothing more to do; waits for workers past their end: %llu",
             w->id, (unsigned long long)w->sweeps.n_past);
}

static void tell_left(const struct muster_worker *w)
{
    log_line(MUSTER_LOG_WARN,
             "muster: worker %s: ends, but workers past their end are not swept yet, and may hold tasks: %llu; "
             "`muster sweep` tries again, `muster check` names what is damaged",
             w->id, (unsigned long long)w->sweeps.n_past);
}

/* One that is past its end by its record only, and alive, shows itself meanwhile. */
static bool must_wait(struct muster_worker *w)
{
    if (w->sweeps.n_past == 0)
        return false;
    if (w->burst.until_ms == 0)
        begin_to_wait(w);
    if (clock_ms() < w->burst.until_ms)
        return true;
    tell_left(w);
    return false;
}

/* Something runs, or has ended and waits for what it has handed on, or for its answer. Not for ever: what was refused
 * before is not waited for. */
static bool has_work_under_way(const struct muster_worker *w)
{
    const struct muster_process *p;
    if (process_count(w, IS_RUNNING) > 0 || follow_is_open(w))
        return true;
    PROCESS_EACH(p, w, IS_HELD | IS_DUE | IS_SENT)
        if (!p->sent_before && !extend_is_refused(p))
            return true;
    return false;
}

/* That comes to its end first: each refused heartbeat asks again. */
void burst_end_at_damage(struct muster_worker *w)
{
    int err;
    const char *refusal = tell_refusal(w, &err);
    if (!w->burst.is_wanted || stop_is_wished(w) || has_work_under_way(w))
        return;
    tell_why(w, MUSTER_E_REDIS, "ends before all is done, because it cannot go on: %s", refusal ? refusal : "");
    muster_worker_stop(w, 0); /* an end that does not count now does not count later */
}

bool burst_is_over(struct muster_worker *w)
{
    if (!w->burst.is_wanted || w->state != WORKER_WORKING)
        return false;
    if (w->processes.n_known > 0) {
        w->burst.has_asked = w->burst.has_looked = false;
        w->burst.until_ms = 0;
        return false;
    }
    if (!is_idle(w))
        return false;
    if (!w->burst.has_looked)
        ask_for_a_look(w);
    return w->burst.has_looked && !has_more_coming(w) && !must_wait(w);
}
