/* SPDX-License-Identifier: MIT
 *
 * The end of a process follows what was handed on before it: it is not sent until Redis has answered that. So whatever
 * happens between the two (a refusal, a cut, a script that Redis has forgotten, the death of this worker), the task is
 * still in one place at least.
 *
 * Which ends follow what? Each handler runs on a thread, so what it hands on is known to be its process'. What is
 * handed on elsewhere may be any process' that had begun; and who ends a process himself (MUSTER_LATER, and processes of
 * muster_worker_next()) may have handed it on anywhere.
 *
 * If it did not come to be there, the process does not finish. It goes back, to be tried again: for a reason that
 * passes with time at the next heartbeat, so that this does not go round and round. What its own handler handed on and
 * Redis will never accept, fails it. A process that goes back or is retried anyway does so. Who ends a process himself
 * and was told of the refusal before that has decided with it in mind: his outcome counts.
 *
 * Rejected: to send again what had no answer. It may be there, and somebody may have done it already; an end that goes
 * back runs the handler again, which can look.
 */
#include "worker/follow.h"

#include <stdio.h>

#include "base/clock.h"
#include "protocol/names.h"
#include "protocol/size_limit.h"
#include "worker/posting.h"
#include "worker/worker.h"

static _Thread_local const struct muster_process *in_handler;

void follow_enter_handler(const struct muster_process *p)
{
    in_handler = p;
}

uint64_t follow_handler(const struct muster_worker *w)
{
    return in_handler && in_handler->worker == w ? in_handler->token : 0;
}

void follow_new(struct muster_worker *w)
{
    TAILQ_INIT(&w->follow.of_handlers);
    TAILQ_INIT(&w->follow.elsewhere);
}

/* ---- what is handed on ---- */

static struct posting_queue *queue_of(const struct posting *x)
{
    struct follow *f = &x->worker->follow;
    return x->handler ? &f->of_handlers : &f->elsewhere;
}

static struct muster_process *process_of(const struct posting *x)
{
    return x->handler ? process_find(x->worker, x->handler) : NULL;
}

void follow_begin(struct posting *x)
{
    struct muster_process *own = process_of(x);
    x->number = ++x->worker->follow.last_number;
    TAILQ_INSERT_TAIL(queue_of(x), x, in_open);
    if (own)
        own->handed_on++;
}

static void close_one(struct posting *x)
{
    struct muster_process *own = process_of(x);
    TAILQ_REMOVE(queue_of(x), x, in_open);
    if (own)
        own->handed_on--;
}

bool follow_is_too_large(const struct posting *x, const struct link *link)
{
    struct follow *f = &x->worker->follow;
    size_t n_bytes = posting_bytes(x);
    if (f->broken_bytes != n_bytes)
        f->n_breaks = 0;
    f->broken_bytes = n_bytes;
    return too_large_request(x->worker, link, n_bytes, &f->n_breaks);
}

/* ---- what was refused ---- */

static bool is_there(const struct posting *x)
{
    return x->err == MUSTER_OK || x->err == MUSTER_E_UNCONFIRMED || (posting_is_job(x) && x->err == MUSTER_E_EXISTS);
}

static void note(struct muster_process *p, const struct posting *x, bool is_own)
{
    struct follow_refusal *r = &p->refusal;
    const bool counts_anyway = process_is(p, IS_HELD) || !posting_is_told(x);
    const int64_t until_us = counts_anyway ? INT64_MAX : clock_us();
    if (r->err != MUSTER_OK && r->until_us == INT64_MAX && (r->is_own || !is_own))
        return;
    *r = (struct follow_refusal){.err = x->err, .is_own = is_own, .until_us = until_us, .n_bytes = posting_bytes(x)};
}

/* It may be of any of these. */
static bool may_be_of(const struct posting *x, const struct muster_process *p)
{
    if (p->is_disowned || p->began_us > x->made_us || (x->handler && !p->is_later))
        return false;
    return !process_is(p, IS_HELD) || x->number <= p->follows;
}

static void refuse(const struct posting *x)
{
    struct muster_worker *w = x->worker;
    struct muster_process *p, *own = process_of(x);
    dispatch_call_off(w);
    if (own)
        note(own, x, true);
    PROCESS_EACH(p, w, IS_RUNNING | IS_HELD)
        if (p != own && may_be_of(x, p))
            note(p, x, false);
}

void follow_end(struct posting *x)
{
    struct muster_worker *w = x->worker;
    close_one(x);
    if (w->state == WORKER_STOPPED)
        return;
    if (is_there(x))
        tell_accepted(w, REQUEST_HANDED_ON);
    else
        refuse(x);
    if (process_count(w, IS_HELD) > 0)
        round_due(w);
}

/* ---- the end that follows ---- */

static bool is_open(const struct posting_queue *q, uint64_t upto)
{
    const struct posting *first = TAILQ_FIRST(q);
    return first && first->number <= upto;
}

static bool waits(const struct muster_process *p)
{
    const struct follow *f = &p->worker->follow;
    return p->handed_on > 0 || extend_holds(p) || is_open(&f->elsewhere, p->follows) ||
           (p->is_later && is_open(&f->of_handlers, p->follows));
}

bool follow_must_wait(struct muster_process *p)
{
    p->follows = p->worker->follow.last_number;
    return waits(p);
}

/* Trying again does not mend it. */
static bool is_final(int err)
{
    return err == MUSTER_E_TOO_BIG || err == MUSTER_E_INVALID || err == MUSTER_E_NOT_FOUND || err == MUSTER_E_STATE;
}

/* A handler that returns an outcome cannot have waited for the answer. */
static bool does_count(const struct muster_process *p)
{
    const struct follow_refusal *r = &p->refusal;
    const int64_t ended_us = p->is_later ? p->end_called_us : p->ended_us;
    return r->err != MUSTER_OK && ((r->is_own && !p->is_later) || ended_us <= r->until_us);
}

static void fail(struct muster_process *p)
{
    char words[SIZE_LIMIT_WORDS];
    const struct follow_refusal *r = &p->refusal;
    p->outcome = MUSTER_FAIL;
    if (r->err == MUSTER_E_TOO_BIG) {
        too_large_give_up(p, LARGE_FOLLOWER, r->n_bytes);
        return;
    }
    snprintf(words, sizeof words, "what it handed on was refused: %s", muster_err_text(r->err));
    muster_process_set_failure(p, FAILURE_GROUP_NOT_HANDED_ON, words);
    tell_refused(p->worker, REQUEST_HANDED_ON, r->err, NULL);
}

bool follow_settle(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    const struct follow_refusal *r = &p->refusal;
    extend_settle(p);
    if (!does_count(p) || p->outcome == MUSTER_RETRY || p->outcome == MUSTER_GIVE_BACK)
        return false;
    if (r->is_own && is_final(r->err)) {
        fail(p);
        return false;
    }
    tell_refused(w, REQUEST_HANDED_ON, r->err, NULL);
    p->outcome = MUSTER_GIVE_BACK;
    return r->err != MUSTER_E_CONN && w->state == WORKER_WORKING;
}

void follow_go_on(struct muster_worker *w)
{
    struct muster_process *p, *next;
    for (p = process_first(w, IS_HELD); p; p = next) {
        next = process_next(p, IS_HELD);
        if (!waits(p))
            end_follows(p);
    }
}
