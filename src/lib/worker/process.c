/* SPDX-License-Identifier: MIT
 *
 * Processes: the table by token, the lists by state, starting handlers, and what they end with. Nothing here talks to
 * Redis: what is to be said is put onto the list of ended ones, and turn.c says it.
 *
 * A process stays in the table until its end is confirmed. So a token that is in the table is never started again,
 * whichever way it comes once more: by a late message, or by a read-back.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "worker/worker.h"

#define BUCKETS_FIRST 64
/* Inline handlers run for so long at a stretch; then the loop looks at its sockets and timers, the heartbeat's too. */
#define STRETCH_US 5000

/* ---- the table ---- */

static struct muster_process **bucket(const struct muster_worker *w, uint64_t token)
{
    return &w->buckets[token * 0x9e3779b97f4a7c15u >> 32 & (w->n_buckets - 1)];
}

struct muster_process *process_find(struct muster_worker *w, uint64_t token)
{
    struct muster_process *p = *bucket(w, token);
    while (p && p->token != token)
        p = p->next_in_bucket;
    return p;
}

/* Twice as many buckets; without memory the chains just grow. */
static void grow(struct muster_worker *w)
{
    size_t n_old = w->n_buckets;
    struct muster_process **old = w->buckets, **wider = calloc(n_old * 2, sizeof *wider);
    if (!wider)
        return;
    w->buckets = wider;
    w->n_buckets = n_old * 2;
    for (size_t i = 0; i < n_old; i++)
        while (old[i]) {
            struct muster_process *p = old[i];
            old[i] = p->next_in_bucket;
            p->next_in_bucket = *bucket(w, p->token);
            *bucket(w, p->token) = p;
        }
    free(old);
}

static void into_table(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    if (w->n_known == w->n_buckets)
        grow(w);
    p->next_in_bucket = *bucket(w, p->token);
    *bucket(w, p->token) = p;
    w->n_known++;
}

static void out_of_table(struct muster_process *p)
{
    struct muster_process **at = bucket(p->worker, p->token);
    while (*at && *at != p)
        at = &(*at)->next_in_bucket;
    if (!*at)
        return;
    *at = p->next_in_bucket;
    p->worker->n_known--;
}

size_t process_known_upto(const struct muster_worker *w, uint64_t token)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_buckets; i++)
        for (const struct muster_process *p = w->buckets[i]; p; p = p->next_in_bucket)
            n += p->token <= token;
    return n;
}

/* ---- life ---- */

static const char *const state_names[] = {
#define STATE_NAME(name, text) [name] = (text),
    PROCESS_STATES(STATE_NAME)
#undef STATE_NAME
};

struct muster_process *process_add(struct muster_worker *w, struct served *s, uint64_t token)
{
    struct muster_process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->worker = w;
    p->served = s;
    p->token = token;
    p->retry_delay_ms = -1;
    token_format(p->token_text, token);
    atomic_init(&p->stop_reason, MUSTER_GO_ON);
    atomic_init(&p->end_called, 0);
    p->mark = marks_early(w, token);
    p->state = PROCESS_FETCHING;
    TAILQ_INSERT_TAIL(&w->lists[p->state], p, in_list);
    w->counts[p->state]++;
    into_table(p);
    return p;
}

int process_set_task(struct muster_process *p, struct muster_bytes task)
{
    p->task = malloc(task.len + 1);
    if (!p->task)
        return MUSTER_E_NOMEM;
    if (task.len > 0)
        memcpy(p->task, task.data, task.len);
    p->task[task.len] = '\0';
    p->len = task.len;
    return MUSTER_OK;
}

/* A job without data is a task without bytes. */
int process_set_job(struct muster_process *p, const char *id, const struct redisReply *record)
{
    static char none[] = "";
    p->job = malloc(sizeof *p->job);
    if (!p->job)
        return MUSTER_E_NOMEM;
    int err = job_record_take(p->job, id, record, p->worker->id, p->token_text, p->served->name);
    if (err != MUSTER_OK) {
        free(p->job);
        p->job = NULL;
        return err;
    }
    p->task = p->job->job.data.data ? (char *)p->job->job.data.data : none;
    p->len = p->job->job.data.len;
    return MUSTER_OK;
}

void process_move(struct muster_process *p, enum process_state state)
{
    struct muster_worker *w = p->worker;
    TAILQ_REMOVE(&w->lists[p->state], p, in_list);
    w->counts[p->state]--;
    if (p->state == PROCESS_RUNNING && state != PROCESS_RUNNING)
        p->served->running--;
    if (state == PROCESS_RUNNING && p->state != PROCESS_RUNNING)
        p->served->running++;
    if (p->state != state)
        trace_line(TRACE_STATE, "process %s of %s: %s -> %s", p->token_text, p->served->name, state_names[p->state],
                   state_names[state]);
    p->state = state;
    TAILQ_INSERT_TAIL(&w->lists[state], p, in_list);
    w->counts[state]++;
}

static void free_what_it_is(struct muster_process *p)
{
    if (!p->job) {
        free(p->task);
        return;
    }
    job_record_clear(p->job);
    free(p->job);
}

void process_free(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    TAILQ_REMOVE(&w->lists[p->state], p, in_list);
    w->counts[p->state]--;
    if (p->state == PROCESS_RUNNING)
        p->served->running--;
    if (p->is_foreign)
        w->foreign--;
    else
        out_of_table(p);
    pool_forget(p);
    limit_clear(p);
    free_what_it_is(p);
    free(p->id);
    free(p->result);
    free(p->next);
    free(p->next_after);
    free(p->note);
    free((void *)p->new_data.data);
    free(p->group);
    free(p->message);
    free(p);
}

/* ---- starting ---- */

static int its_queue_has_a_hand(const struct muster_process *p)
{
    if (p->served->serving != SERVING)
        return 0;
    return p->served->limit == 0 || p->served->running < p->served->limit;
}

static struct muster_process *next_to_start(struct muster_worker *w)
{
    struct muster_process *p;
    if (w->state != WORKER_WORKING || w->free_due || w->counts[PROCESS_RUNNING] >= (size_t)w->hands ||
        process_allowed(w) == w->counts[PROCESS_RUNNING])
        return NULL;
    TAILQ_FOREACH(p, &w->lists[PROCESS_READY], in_list)
        if (its_queue_has_a_hand(p))
            return heartbeat_is_fenced(w) ? NULL : p;
    return NULL;
}

/* Never from within itself: a handler may end another process, which frees a hand. */
void process_dispatch(struct muster_worker *w)
{
    if (!w->dispatch_due && !w->dispatching) {
        w->dispatch_due = 1;
        event_active(w->dispatcher, EV_TIMEOUT, 1);
    }
}

/* By max_tasks, those that run among them. Redis is told as it shrinks, so that it hands over no more. */
uint64_t process_allowed(const struct muster_worker *w)
{
    if (w->max_tasks == 0)
        return UINT64_MAX;
    return (w->n_begun < w->max_tasks ? w->max_tasks - w->n_begun : 0) + w->counts[PROCESS_RUNNING];
}

static void begin(struct muster_process *p)
{
    struct muster_worker *w = p->worker;
    w->n_begun++;
    p->has_begun = 1;
    process_move(p, PROCESS_RUNNING);
    if (process_allowed(w) < (uint64_t)(w->hands + w->prefetch)) {
        w->state_hands_due = 1;
        turn_due(w);
    }
    int64_t limit_ms = p->job && p->job->job.limit_ms > 0 ? p->job->job.limit_ms : w->limit_ms;
    if (limit_ms > 0)
        limit_set(p, limit_ms);
    p->served->executor->start(p);
}

static void on_dispatcher(evutil_socket_t fd, short what, void *arg)
{
    struct muster_worker *w = arg;
    struct muster_process *p;
    int64_t until_us = clock_us() + STRETCH_US;
    (void)fd, (void)what;
    if (!pthread_equal(w->loop_thread, pthread_self()))
        w->loop_thread = pthread_self(); /* once, before any handler could read it */
    w->dispatch_due = 0;
    w->dispatching = 1;
    while ((p = next_to_start(w)) != NULL) {
        if (p->mark) { /* its mark came before it did */
            process_give_back(p);
            continue;
        }
        if (clock_us() >= until_us) {
            w->dispatch_due = 1;
            timer_after_ms(w->dispatcher, 0); /* a timer, so that sockets are looked at first */
            break;
        }
        begin(p);
        turn_if_full(w);
    }
    w->dispatching = 0;
}

int process_new_table(struct muster_worker *w)
{
    for (int i = 0; i < PROCESS_STATES_COUNT; i++)
        TAILQ_INIT(&w->lists[i]);
    w->n_buckets = BUCKETS_FIRST;
    w->buckets = calloc(w->n_buckets, sizeof *w->buckets);
    w->dispatcher = event_new(w->base, -1, 0, on_dispatcher, w);
    return w->buckets && w->dispatcher ? MUSTER_OK : MUSTER_E_NOMEM;
}

void process_free_table(struct muster_worker *w)
{
    if (!w->buckets)
        return;
    for (int i = 0; i < PROCESS_STATES_COUNT; i++)
        while (!TAILQ_EMPTY(&w->lists[i])) {
            struct muster_process *p = TAILQ_FIRST(&w->lists[i]);
            if (p->state == PROCESS_RUNNING && p->served->executor->abandon)
                p->served->executor->abandon(p);
            process_free(p);
        }
    free(w->buckets);
}

/* ---- ending ---- */

static enum muster_outcome end_at_limit(struct muster_process *p)
{
    if (p->worker->on_limit == MUSTER_FAIL && !p->group)
        muster_process_set_failure(p, "limit", "it ran longer than its time limit");
    return p->worker->on_limit;
}

void process_ended(struct muster_process *p, enum muster_outcome outcome)
{
    struct muster_worker *w = p->worker;
    limit_clear(p);
    if (outcome == MUSTER_GIVE_BACK && atomic_load(&p->stop_reason) == MUSTER_STOP_LIMIT)
        outcome = end_at_limit(p);
    if (p->is_foreign || w->state == WORKER_STOPPED) {
        process_uncounted(p, MUSTER_E_LOST);
        turn_hungry(w); /* a hand is free again, of which Redis does not know yet */
    } else if (outcome == MUSTER_GIVE_BACK && (w->drain_over || p->served->serving == LEAVING)) {
        process_free(p); /* it goes back with all the rest, in its place, when the worker or the queue is left */
        turn_due(w);
    } else {
        p->outcome = outcome;
        process_move(p, PROCESS_ENDED);
        turn_due(w);
    }
    process_dispatch(w);
    stop_check_max(w);
    stop_check_drained(w);
}

void process_give_back(struct muster_process *p)
{
    p->outcome = MUSTER_GIVE_BACK;
    process_move(p, PROCESS_ENDED);
    turn_due(p->worker);
}

void process_uncounted(struct muster_process *p, int err)
{
    /* Else the program has never seen it, or has had its last event. */
    if (p->has_begun && p->worker->state != WORKER_STOPPED)
        worker_tell(p->worker, MUSTER_EVENT_UNCOUNTED, err, muster_err_text(err), p);
    process_free(p);
}

void process_tell_stop(struct muster_process *p, enum muster_stop_reason reason)
{
    int go_on = MUSTER_GO_ON;
    if (!atomic_compare_exchange_strong(&p->stop_reason, &go_on, (int)reason))
        return;
    if (p->served->executor->tell_stop)
        p->served->executor->tell_stop(p);
    worker_tell(p->worker, MUSTER_EVENT_STOP, MUSTER_OK, NULL, p);
}

/* The program may end any of them while it is told: so always the first one, which is put at the end before. */
void process_tell_all_stop(struct muster_worker *w, enum muster_stop_reason reason)
{
    for (size_t n = w->counts[PROCESS_RUNNING]; n > 0 && !TAILQ_EMPTY(&w->lists[PROCESS_RUNNING]); n--) {
        struct muster_process *p = TAILQ_FIRST(&w->lists[PROCESS_RUNNING]);
        process_move(p, PROCESS_RUNNING);
        process_tell_stop(p, reason);
    }
}

void process_disown(struct muster_process *p)
{
    out_of_table(p);
    p->is_foreign = 1;
    p->worker->foreign++;
}

void process_lose_all(struct muster_worker *w)
{
    struct muster_process *p;
    for (int state = PROCESS_FETCHING; state <= PROCESS_READY; state++)
        while ((p = TAILQ_FIRST(&w->lists[state])) != NULL)
            process_free(p);
    TAILQ_FOREACH(p, &w->lists[PROCESS_RUNNING], in_list)
        if (!p->is_foreign)
            process_disown(p);
    for (int state = PROCESS_ENDED; state <= PROCESS_REFUSED; state++)
        while ((p = TAILQ_FIRST(&w->lists[state])) != NULL)
            process_uncounted(p, MUSTER_E_LOST);
    process_tell_all_stop(w, MUSTER_STOP_LOST);
}
