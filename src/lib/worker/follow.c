/* SPDX-License-Identifier: MIT
 *
 * The end of a process follows what was handed on before it: it is not sent until Redis has answered that. So whatever
 * happens between the two (a refusal, a cut, a script that Redis has forgotten, the death of this worker), the task is
 * still in one place at least.
 *
 * Which ends follow what? Each handler runs on a thread, so what it hands on is known to be its process'. What is
 * handed on elsewhere may be any process' that had begun; and who ends a process himself (MUSTER_LATER, and processes of
 * muster_worker_next()) may have handed it on anywhere. What another thread has handed in lies in a list until the loop
 * takes it (calls.c), while an end may be made in the loop. So it has its number from the beginning, and an end waits for
 * the calls that were left before it.
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

/* A fixed place (initial-exec) would be quicker, but a library that is opened late, as by Node, may not find one. */
static _Thread_local const struct muster_process *in_handler;

void follow_enter_handler(const struct muster_process *p)
{
    in_handler = p;
}

/* The token of the process of `w` whose handler runs on this thread; 0: none does. */
static uint64_t handler_here(const struct muster_worker *w)
{
    return in_handler && in_handler->worker == w ? in_handler->token : 0;
}

void follow_hand_in(struct posting *x)
{
    x->made_us = clock_us();
    x->handler = handler_here(x->worker);
    x->number = atomic_fetch_add(&x->worker->follow.last_number, 1) + 1;
}

struct follow_told follow_told(const struct muster_worker *w)
{
    return (struct follow_told){atomic_load(&w->follow.n_by_function), atomic_load(&w->outbox.n_fetched)};
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

/* By their numbers: what another thread has left may come behind what the loop's thread has handed in later. */
static void insert(struct posting_queue *q, struct posting *x)
{
    struct posting *before = TAILQ_LAST(q, posting_queue);
    while (before && before->number > x->number)
        before = TAILQ_PREV(before, posting_queue, in_open);
    if (before)
        TAILQ_INSERT_AFTER(q, before, x, in_open);
    else
        TAILQ_INSERT_HEAD(q, x, in_open);
}

void follow_begin(struct posting *x)
{
    struct muster_process *own = process_of(x);
    insert(queue_of(x), x);
    if (own)
        own->handed_on++;
}

bool follow_is_open(const struct muster_worker *w)
{
    return !TAILQ_EMPTY(&w->follow.of_handlers) || !TAILQ_EMPTY(&w->follow.elsewhere);
}

static void close_one(struct posting *x)
{
    struct muster_process *own = process_of(x);
    TAILQ_REMOVE(queue_of(x), x, in_open);
    if (own)
        own->handed_on--;
}

static void suspect_from(struct follow *f, size_t n_bytes)
{
    f->large_from = n_bytes;
    f->n_breaks = 0;
}

bool follow_must_go_alone(const struct posting *x)
{
    const struct follow *f = &x->worker->follow;
    return f->large_from > 0 && posting_bytes(x) >= f->large_from;
}

/* What is larger has not. */
static void came_through(const struct posting *x)
{
    if (follow_must_go_alone(x))
        suspect_from(&x->worker->follow, posting_bytes(x) + 1);
}

bool follow_is_too_large(const struct posting *x, const struct link *link)
{
    struct follow *f = &x->worker->follow;
    size_t n_bytes = posting_bytes(x);
    if (n_bytes < COMMAND_LARGE)
        return false;
    if (!follow_must_go_alone(x))
        suspect_from(f, n_bytes);
    return too_large_request(x->worker, link, n_bytes, &f->n_breaks);
}

/* ---- what was refused ---- */

static bool is_told_by_function(const struct posting *x)
{
    return x->fn || x->put_fn;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_final(const struct posting *x)
{
    return !x->may_pass && (x->err == MUSTER_E_TOO_BIG || x->err == MUSTER_E_INVALID || x->err == MUSTER_E_NOT_FOUND ||
                            x->err == MUSTER_E_STATE);
}

/* The next answer is the one about this. */
static void note(struct muster_process *p, const struct posting *x, enum follow_source source)
{
    const struct follow *f = &x->worker->follow;
    struct follow_refusal *r = &p->refusals[source];
    if (r->is_untold)
        return;
    p->is_refused = true;
    r->err = x->err;
    r->is_final = is_final(x);
    r->n_bytes = posting_bytes(x);
    r->until_us = clock_us();
    r->is_untold = process_is(p, IS_HELD) || !posting_is_told(x);
    if (is_told_by_function(x))
        r->told.by_function = larger(r->told.by_function, atomic_load(&f->n_by_function) + 1);
    else if (x->answer)
        r->told.by_next = larger(r->told.by_next, f->n_by_next + 1);
}

/* It may be of any of these. A handler that runs may answer MUSTER_LATER yet. */
static bool may_be_of(const struct posting *x, const struct muster_process *p)
{
    if (p->is_disowned || p->began_us > x->made_us)
        return false;
    return !process_is(p, IS_HELD) || x->number <= p->follows;
}

static void refuse(const struct posting *x)
{
    struct muster_worker *w = x->worker;
    struct muster_process *p, *own = process_of(x);
    dispatch_call_off(w);
    if (own)
        note(own, x, FOLLOW_OWN);
    PROCESS_EACH(p, w, IS_RUNNING | IS_HELD)
        if (p != own && may_be_of(x, p))
            note(p, x, x->handler ? FOLLOW_OTHERS : FOLLOW_ELSEWHERE);
    if (!own && !posting_is_told(x)) /* nobody else may hear of it: there need be no process that it is of */
        tell_refused(w, REQUEST_HANDED_ON, x->err, NULL);
}

void follow_end(struct posting *x)
{
    struct muster_worker *w = x->worker;
    close_one(x);
    if (w->state == WORKER_STOPPED)
        return;
    if (posting_is_there(x)) {
        tell_accepted(w, REQUEST_HANDED_ON);
        came_through(x);
    } else {
        refuse(x);
    }
    w->follow.n_by_next += x->answer != NULL;
    atomic_fetch_add(&w->follow.n_by_function, is_told_by_function(x));
    burst_look_again(w);
    if (process_count(w, IS_HELD) > 0 || w->state == WORKER_DRAINING)
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
    return p->worker->calls.n_run < p->follows_calls || p->handed_on > 0 || extend_holds(p) ||
           is_open(&f->elsewhere, p->follows) || (p->is_later && is_open(&f->of_handlers, p->follows));
}

bool follow_must_wait(struct muster_process *p)
{
    const struct muster_worker *w = p->worker;
    p->follows_calls = atomic_load(&w->calls.n_left);
    p->follows = atomic_load(&w->follow.last_number);
    return waits(p);
}

/* A handler that returns an outcome has said nothing of an answer, also if it has waited for one: it may know nothing of the
 * refusal, and that it runs again is the safe mistake. */
static bool does_count(const struct muster_process *p, enum follow_source source)
{
    const struct follow_refusal *r = &p->refusals[source];
    if (r->err == MUSTER_OK || (source == FOLLOW_OTHERS && !p->is_later))
        return false;
    if (r->is_untold || (source == FOLLOW_OWN && !p->is_later))
        return true;
    return p->is_later ? p->told.by_function < r->told.by_function || p->told.by_next < r->told.by_next
                       : p->ended_us <= r->until_us;
}

/* Its own handler's comes first, because that one may fail it. NULL: none counts. */
static const struct follow_refusal *refusal_of(const struct muster_process *p)
{
    for (int source = 0; source < FOLLOW_SOURCES; source++)
        if (does_count(p, (enum follow_source)source))
            return &p->refusals[source];
    return NULL;
}

static void fail(struct muster_process *p, const struct follow_refusal *r)
{
    char words[SIZE_LIMIT_WORDS];
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
    const struct follow_refusal *r = p->is_refused ? refusal_of(p) : NULL;
    if (p->data || p->data_too_large > 0)
        extend_settle(p);
    if (!r || p->outcome == MUSTER_RETRY || p->outcome == MUSTER_GIVE_BACK)
        return false;
    if (r == &p->refusals[FOLLOW_OWN] && r->is_final) {
        fail(p, r);
        return false;
    }
    tell_refused(w, REQUEST_HANDED_ON, r->err, NULL);
    p->outcome = MUSTER_GIVE_BACK;
    return r->err != MUSTER_E_CONN && w->state == WORKER_WORKING;
}

/* When the worker has stopped, the program has heard of all of them, and hears no more. */
void follow_go_on(struct muster_worker *w)
{
    struct muster_process *p, *next;
    for (p = w->state == WORKER_STOPPED ? NULL : process_first(w, IS_HELD); p; p = next) {
        next = process_next(p, IS_HELD);
        if (!waits(p))
            end_follows(p);
    }
}
