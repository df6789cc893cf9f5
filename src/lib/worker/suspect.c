/* SPDX-License-Identifier: MIT
 *
 * Suspects run alone. When a worker dies, what it held may have killed it, so all of it comes back suspected; the next
 * death is to say which one it was. So a suspect starts only when nothing else runs here, and nothing else starts until
 * its end is confirmed.
 *
 * Design notes
 *
 *   1. Before it starts, Redis notes that it begins alone (script_begin_alone()). Only from then on does a death count
 *      against it, and against nothing else. The call names the queues of what still runs. Redis refuses if a death of
 *      those counts, too; then the worker waits for one of them to end, and asks again. So handlers of queues without
 *      max_crashes, which may run for ever, hold no suspect up.
 *   2. Ends that are not confirmed must be confirmed first, but for those that a damaged key refuses, or whose data it
 *      refuses: that key would hold up all queues. Their handlers have ended, so they cannot be to blame.
 *   3. While the worker has suspects it takes nothing more: it could not start it, and others may have a free hand
 *      (worker_capacity()). But those that are put off (5) keep only a hand each.
 *   4. A suspect that has run alone for five minutes is acquitted, and the worker goes on as usual.
 *   5. If Redis refuses a call, it is tried again after the next heartbeat. If a damaged key is the reason, others
 *      start meanwhile.
 *   6. Once Redis may have noted that one begins, nothing else begins before its end is confirmed, or before Redis has
 *      noted that it begins no more: its queue is left, a damaged key refuses its end, or the program does not take it.
 *      Otherwise the death of what begins would count against it.
 *   7. One that the program takes by itself (executor_next.c) may wait for that for ever. So the call is made when the
 *      program has come for a process, and the program gets it when it comes again.
 */
#include "worker/suspect.h"

#include <event2/event.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

#define TELL_AFTER_MS 30000
#define ACQUIT_AFTER_MS 300000
#define UNTAKEN_AFTER_MS 10000

/* ---- how many there are, and which one is the first ---- */

bool suspect_keeps_hands(const struct muster_worker *w)
{
    return w->suspects.n > w->suspects.n_put_off;
}

/* Perhaps the worker's hands are its own again. */
static void let_take(struct muster_worker *w)
{
    if (suspect_keeps_hands(w))
        return;
    w->turns.must_state_hands = true;
    turn_want_take(w);
}

static void count_down(struct muster_process *p)
{
    struct suspects *s = &p->worker->suspects;
    s->n--;
    s->n_put_off -= p->is_put_off;
    p->is_put_off = false;
    let_take(p->worker);
}

void suspect_put_off(struct muster_process *p)
{
    p->is_put_off = true;
    p->worker->suspects.n_put_off++;
    suspect_unset_first(p->worker);
    let_take(p->worker);
}

/* The key may have been mended. */
static void look_at_put_off(struct muster_worker *w)
{
    struct muster_process *p;
    w->turns.must_state_hands |= w->suspects.n_put_off > 0;
    w->suspects.n_put_off = 0;
    PROCESS_EACH(p, w, IS_READY)
        p->is_put_off = false;
}

static bool has_not_ended(const struct muster_process *p)
{
    return p->is_suspect && !process_is(p, IS_OVER);
}

void suspect_note(struct muster_process *p)
{
    if (p->is_suspect)
        return;
    p->is_suspect = true;
    if (has_not_ended(p)) {
        p->worker->suspects.n++;
        p->worker->turns.must_state_hands = true;
    }
}

/* The loop's clock is coarser: it may come a little early. */
static void set_timer(struct suspects *s)
{
    int64_t tell_ms = s->was_told ? INT64_MAX : s->tell_after_ms;
    int64_t acquit_ms = s->stage == SUSPECT_RUNS ? s->acquit_after_ms : INT64_MAX;
    int64_t next_ms = tell_ms < acquit_ms ? tell_ms : acquit_ms;
    if (next_ms != INT64_MAX)
        timer_after_ms(s->timer, s->since_ms + next_ms + 1 - clock_ms());
}

static void set_stage(struct suspects *s, enum suspect_stage stage)
{
    s->stage = stage;
    s->since_ms = clock_ms();
    s->was_told = false;
    set_timer(s);
}

void suspect_unset_first(struct muster_worker *w)
{
    w->suspects.first = NULL;
    event_del(w->suspects.timer);
    round_due(w);
}

static void step_back(struct muster_worker *w)
{
    struct suspects *s = &w->suspects;
    if (!s->is_noted) {
        suspect_unset_first(w);
        return;
    }
    set_stage(s, SUSPECT_STEPS_BACK);
    s->is_refused = false;
    round_due(w);
}

bool suspect_must_step_back(struct muster_worker *w, const struct served *served)
{
    const struct suspects *s = &w->suspects;
    if (s->first && s->first->served == served && s->stage != SUSPECT_STEPS_BACK)
        step_back(w);
    return s->first && s->first->served == served;
}

void suspect_moves_on(struct muster_process *p, unsigned answers)
{
    struct suspects *s = &p->worker->suspects;
    if (has_not_ended(p))
        count_down(p);
    if (s->first == p && (s->stage != SUSPECT_RUNS || answers & IS_REFUSED))
        step_back(p->worker);
}

void suspect_let_go(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    if (has_not_ended(p))
        count_down(p);
    p->is_suspect = false;
    if (w->suspects.first == p)
        suspect_unset_first(w);
}

/* ---- telling the program ---- */

/* The program may end the process inside its callback. */
static void tell(struct muster_worker *w)
{
    struct suspects *s = &w->suspects;
    char line[300];
    if (s->stage == SUSPECT_RUNS)
        snprintf(line, sizeof line,
                 "a former holder died, so it runs alone until it ends, or for %lld s; nothing else starts here. For "
                 "tasks that never end set max_crashes=0 of their queue",
                 (long long)(s->acquit_after_ms / 1000));
    else if (w->outbox.is_inviting || s->stage == SUSPECT_MAY_RUN)
        snprintf(line, sizeof line,
                 "a former holder died, so it runs alone, but the program does not come for it, by "
                 "muster_worker_next(); nothing else starts here until it has run");
    else
        snprintf(
            line, sizeof line,
            "a former holder died, so it runs alone, but %zu others still run; nothing else starts here until they "
            "end. For tasks that never end set max_crashes=0 of their queue",
            process_count(w, IS_RUNNING));
    tell_event(w, MUSTER_EVENT_ALONE, MUSTER_OK, line, s->first);
}

static bool is_worth_telling(const struct muster_worker *w)
{
    if (w->suspects.stage == SUSPECT_STEPS_BACK)
        return false;
    return w->suspects.stage != SUSPECT_RUNS || w->hands > 1 || process_count(w, IS_READY) > 0;
}

/* ---- the next to start ---- */

static bool can_ask(const struct muster_worker *w)
{
    return !w->suspects.in_flight && !w->suspects.is_refused && connection_can_call(w);
}

static bool is_barred(const struct muster_worker *w)
{
    const struct muster_process *p;
    PROCESS_EACH(p, w, BARS)
        if (!extend_is_refused(p))
            return true;
    return false;
}

/* The program is heard only while nothing else is in the way. */
static bool may_begin(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    const struct suspects *s = &w->suspects;
    return s->stage == SUSPECT_WAITS && can_ask(w) && !is_barred(w) && process_count(w, IS_RUNNING) <= s->beside_most &&
           (p->served->executor != &executor_next || executor_next_is_wanted(w));
}

static void make_first(struct muster_process *p)
{
    struct suspects *s = &p->worker->suspects;
    dispatch_call_off(p->worker);
    s->first = p;
    s->beside_most = SIZE_MAX;
    s->is_refused = s->is_noted = false;
    set_stage(s, SUSPECT_WAITS);
}

bool suspect_may_start(struct muster_process *p)
{
    struct suspects *s = &p->worker->suspects;
    if (!s->first && !p->is_suspect)
        return true;
    if (!s->first)
        make_first(p);
    if (s->first != p)
        return false;
    if (may_begin(p))
        suspect_ask(p, ALONE_BEGIN);
    return s->stage == SUSPECT_MAY_RUN;
}

void suspect_starts(struct muster_process *p)
{
    trace_line(TRACE_STATE, "process %s of %s: a suspect, runs alone", p->token_text, p->served->name);
    set_stage(&p->worker->suspects, SUSPECT_RUNS);
}

void suspect_go_on(struct muster_worker *w)
{
    if (w->suspects.first && w->suspects.stage == SUSPECT_STEPS_BACK && can_ask(w))
        suspect_ask(w->suspects.first, ALONE_WITHDRAW);
}

/* ---- time passes ---- */

static bool must_be_acquitted(const struct suspects *s)
{
    return s->first && s->stage == SUSPECT_RUNS && process_is(s->first, IS_RUNNING) &&
           clock_ms() >= s->since_ms + s->acquit_after_ms;
}

static void acquit(struct muster_worker *w)
{
    if (must_be_acquitted(&w->suspects) && !w->suspects.in_flight && connection_can_call(w))
        suspect_ask(w->suspects.first, ALONE_ACQUIT);
}

/* The program does not come again. It may be one that looks only now and then: so next time it has longer. */
static void withdraw_if_untaken(struct muster_worker *w)
{
    struct suspects *s = &w->suspects;
    if (!s->first || s->stage != SUSPECT_MAY_RUN || clock_ms() < s->allowed_ms + s->untaken_after_ms)
        return;
    dispatch_call_off(w);
    if (s->stage != SUSPECT_MAY_RUN)
        return;
    s->untaken_after_ms *= 2;
    step_back(w);
}

void suspect_try_again(struct muster_worker *w)
{
    struct suspects *s = &w->suspects;
    if (s->n == 0 && !s->first)
        return;
    look_at_put_off(w);
    s->is_refused = false;
    s->beside_most = SIZE_MAX; /* a queue's max_crashes may have been changed */
    acquit(w);
    withdraw_if_untaken(w);
    round_due(w);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct suspects *s = &w->suspects;
    (void)fd, (void)what;
    if (!s->first)
        return;
    bool is_time_to_tell = !s->was_told && clock_ms() >= s->since_ms + s->tell_after_ms;
    s->was_told |= is_time_to_tell;
    if (must_be_acquitted(s))
        acquit(w); /* if that fails, heartbeats go on with it */
    else
        set_timer(s);
    if (is_time_to_tell && is_worth_telling(w))
        tell(w);
}

/* ---- life ---- */

void suspect_stop(struct muster_worker *w)
{
    event_del(w->suspects.timer);
}

int suspect_new(struct muster_worker *w)
{
    w->suspects.tell_after_ms = TELL_AFTER_MS;
    w->suspects.acquit_after_ms = ACQUIT_AFTER_MS;
    w->suspects.untaken_after_ms = UNTAKEN_AFTER_MS;
    w->suspects.timer = evtimer_new(w->base, on_timer, w);
    return w->suspects.timer ? MUSTER_OK : MUSTER_E_NOMEM;
}

void suspect_free(struct muster_worker *w)
{
    if (w->suspects.timer)
        event_free(w->suspects.timer);
}
