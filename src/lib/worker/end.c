/* SPDX-License-Identifier: MIT
 *
 * The end of a process. The process goes onto the list of ended ones, and the round tells Redis (round.c, turn.c).
 * Three kinds of ends are not told to Redis: the end of a process that belongs to somebody else by now; an end that
 * comes after the worker has stopped; and a give-back that the script of a leaving worker or queue carries out for all
 * at once, in order.
 *
 * The program hears once of each process that it has ended: that the end has counted, if it wants to know, or that it
 * has not. Each process that has begun leaves by end_counted(), end_uncounted() or end_went_back(), or is in the rest.
 */
#include <event2/event.h>
#include <stdio.h>

#include "base/clock.h"
#include "worker/worker.h"

/* A job has retries and a backoff of its own, so it is retried unless the program says otherwise. */
static enum muster_outcome outcome_at_limit(struct muster_process *p)
{
    enum muster_outcome outcome = p->worker->on_limit;
    if (outcome == MUSTER_FINISH)
        outcome = muster_process_job(p) ? MUSTER_RETRY : MUSTER_FAIL;
    if (outcome != MUSTER_GIVE_BACK && !p->group)
        muster_process_set_failure(p, "limit", "it ran longer than its time limit");
    return outcome;
}

/* A program that answers what is no outcome has a defect: its task must not be gone for it. */
static enum muster_outcome outcome_of(struct muster_process *p, enum muster_outcome returned)
{
    char message[80];
    if ((unsigned)returned < MUSTER_LATER)
        return returned;
    snprintf(message, sizeof message, "the handler returned %d, which is no outcome", (int)returned);
    muster_process_set_failure(p, "no-outcome", message);
    return MUSTER_FAIL;
}

static void note_outcome(struct muster_process *p, enum muster_outcome outcome)
{
    p->outcome = outcome;
    process_move(p, PROCESS_ENDED);
}

bool end_is_leaving(const struct muster_process *p)
{
    return p->worker->stop.drain_is_over || p->served->serving == LEAVING;
}

void end_follows(struct muster_process *p)
{
    bool can_wait = follow_settle(p);
    if (p->outcome == MUSTER_GIVE_BACK && end_is_leaving(p))
        process_move(p, PROCESS_LEFT);
    else if (can_wait)
        process_move(p, PROCESS_REFUSED);
    else
        process_move(p, PROCESS_ENDED);
}

/* Its end has counted already. */
static void end_after_command(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    if (w->on_end)
        tell_end(p, p->ended_as);
    ended_exit(p);
    round_due(w);
}

void end_by_handler(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = p->worker;
    posted_before_end(p);
    limit_clear(p);
    if (!p->ended_us)
        p->ended_us = clock_us();
    figures_add_time(&w->figures.run, p->ended_us - p->began_us);
    if (p->is_ended) {
        end_after_command(p);
        return;
    }
    outcome = outcome_of(p, outcome);
    if (outcome == MUSTER_GIVE_BACK && atomic_load(&p->stop_reason) == MUSTER_STOP_LIMIT)
        outcome = outcome_at_limit(p);
    if (w->on_end)
        tell_end(p, outcome);
    p->outcome = outcome;
    if (p->is_disowned || w->state == WORKER_STOPPED) {
        end_uncounted(p, MUSTER_E_LOST);
        turn_want_take(w); /* a hand is free again, and Redis does not know it yet */
    } else if (follow_must_wait(p)) {
        process_move(p, PROCESS_HELD);
    } else {
        end_follows(p);
    }
    round_due(w);
}

void end_unstarted(struct muster_process *p)
{
    note_outcome(p, MUSTER_GIVE_BACK);
    round_due(p->worker);
}

void end_unfetched(struct muster_process *p)
{
    note_outcome(p, MUSTER_FAIL);
    round_due(p->worker);
}

void end_all_unstarted(struct muster_worker *w)
{
    struct muster_process *p;
    dispatch_call_off(w);
    while ((p = process_first(w, IS_READY)) != NULL)
        end_unstarted(p);
}

/* Nobody has asked Redis who the owner is when the worker has stopped before it could. */
static const char *uncounted_text(const struct muster_process *p, int err)
{
    if (err == MUSTER_E_CONN)
        return "its answer was lost, and nobody knows whether it did; another worker may have the task";
    if (err == MUSTER_E_LOST && p->worker->state == WORKER_STOPPED)
        return "the worker stopped before it was sent; the task goes back, or has gone back";
    return muster_err_text(err);
}

static void count_uncounted(struct muster_process *p, int err)
{
    struct worker_figures *f = &p->worker->figures;
    p->is_accounted = true;
    figures_add(&f->uncounted, 1);
    figures_add(&f->unknown, err == MUSTER_E_CONN);
}

static void count_counted(struct muster_process *p)
{
    struct worker_figures *f = &p->worker->figures;
    figure_counter *const by_outcome[] = {[MUSTER_FINISH] = &f->finished,
                                          [MUSTER_GIVE_BACK] = &f->given_back,
                                          [MUSTER_RETRY] = &f->retried,
                                          [MUSTER_FAIL] = &f->failed};
    p->is_accounted = true;
    figures_add(by_outcome[p->outcome], 1);
}

void end_counted(struct muster_process *p)
{
    count_counted(p);
    ended_tell(p);
    process_free(p);
}

void end_went_back(struct muster_worker *w, const struct served *s)
{
    struct muster_process *p, *next;
    for (p = process_first(w, IS_LEFT | IS_REFUSED); p; p = next) {
        next = process_next(p, IS_LEFT | IS_REFUSED);
        if ((s && p->served != s) || p->outcome != MUSTER_GIVE_BACK)
            continue;
        ended_tell(p);
        process_free(p);
    }
}

/* The program does not know a process whose handler never began, and is told nothing after STOPPED. What its own command
 * has ended has counted so, and was told. */
static void tell_uncounted(struct muster_process *p, int err)
{
    if (p->is_ended) {
        p->outcome = p->ended_as;
        count_counted(p);
        return;
    }
    if (err == MUSTER_E_LOST && p->may_have_counted)
        err = MUSTER_E_CONN; /* it is not the owner any more, maybe because its end has counted */
    if (!p->has_begun)
        return;
    count_uncounted(p, err);
    tell_event(p->worker, MUSTER_EVENT_UNCOUNTED, err, uncounted_text(p, err), p);
}

void end_uncounted(struct muster_process *p, int err)
{
    tell_uncounted(p, err);
    process_free(p);
}

/* They stay: calls that were not answered point to them. */
void end_tell_rest(struct muster_worker *w)
{
    struct muster_process *p;
    PROCESS_EACH(p, w, IS_OVER)
        tell_uncounted(p, process_is(p, IS_SENT) ? MUSTER_E_CONN : MUSTER_E_LOST);
}

void end_lose_all(struct muster_worker *w)
{
    struct muster_process *p;
    dispatch_call_off(w);
    while ((p = process_first(w, IS_UNTOUCHED)) != NULL)
        process_free(p);
    PROCESS_EACH(p, w, IS_RUNNING)
        if (!p->is_disowned)
            process_disown(p);
    while ((p = process_first(w, IS_OVER)) != NULL)
        end_uncounted(p, MUSTER_E_LOST);
    process_tell_running(w, MUSTER_STOP_LOST, NULL, NULL);
}
