/* SPDX-License-Identifier: MIT
 *
 * Processes: the table by token, and the lists by state. Nothing here talks to Redis.
 *
 * A process stays in the table until its end is confirmed. So a token that is in the table is never started again,
 * whichever way it comes once more: by a late message, or by a read-back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "worker/worker.h"

#define BUCKETS_FIRST 64

/* ---- the table ---- */

static struct muster_process **bucket(const struct muster_worker *w, uint64_t token)
{
    return &w->processes.buckets[token * 0x9e3779b97f4a7c15u >> 32 & (w->processes.n_buckets - 1)];
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
    size_t n_old = w->processes.n_buckets;
    struct muster_process **old = w->processes.buckets, **wider = calloc(n_old * 2, sizeof *wider);
    if (!wider)
        return;
    w->processes.buckets = wider;
    w->processes.n_buckets = n_old * 2;
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
    if (w->processes.n_known == w->processes.n_buckets)
        grow(w);
    p->next_in_bucket = *bucket(w, p->token);
    *bucket(w, p->token) = p;
    w->processes.n_known++;
}

static void out_of_table(struct muster_process *p)
{
    struct muster_process **at = bucket(p->worker, p->token);
    while (*at && *at != p)
        at = &(*at)->next_in_bucket;
    if (!*at)
        return;
    *at = p->next_in_bucket;
    p->worker->processes.n_known--;
}

size_t process_known_upto(const struct muster_worker *w, uint64_t token)
{
    size_t n = 0;
    for (size_t i = 0; i < w->processes.n_buckets; i++)
        for (const struct muster_process *p = w->processes.buckets[i]; p; p = p->next_in_bucket)
            n += p->token <= token;
    return n;
}

/* ---- states ---- */

static const struct {
    const char *name;
    unsigned answers;
} states[] = {
#define STATE(name, text, ...) [name] = {(text), PROCESS_ANSWERS(__VA_ARGS__)},
    PROCESS_STATES(STATE)
#undef STATE
};

bool process_is(const struct muster_process *p, unsigned answers)
{
    return (states[p->state].answers & answers) != 0;
}

/* From state `i` on. */
static struct muster_process *first_from(const struct muster_worker *w, int i, unsigned answers)
{
    for (; i < PROCESS_STATES_COUNT; i++)
        if (states[i].answers & answers && !TAILQ_EMPTY(&w->processes.list[i]))
            return TAILQ_FIRST(&w->processes.list[i]);
    return NULL;
}

struct muster_process *process_first(const struct muster_worker *w, unsigned answers)
{
    return first_from(w, 0, answers);
}

struct muster_process *process_last(const struct muster_worker *w, unsigned answers)
{
    for (int i = PROCESS_STATES_COUNT - 1; i >= 0; i--)
        if (states[i].answers & answers && !TAILQ_EMPTY(&w->processes.list[i]))
            return TAILQ_LAST(&w->processes.list[i], process_list);
    return NULL;
}

struct muster_process *process_next(const struct muster_process *p, unsigned answers)
{
    struct muster_process *next = TAILQ_NEXT(p, in_list);
    return next ? next : first_from(p->worker, (int)p->state + 1, answers);
}

/* ---- figures ---- */

static void note_running(struct muster_process *p, int by)
{
    struct worker_figures *f = &p->worker->figures;
    p->served->running += by;
    p->worker->outbox.n_running += p->is_by_next ? by : 0;
    figures_set(&f->running, figures_read_gauge(&f->running) + by);
}

static void note_held(struct muster_worker *w)
{
    figures_set(&w->figures.held, (int64_t)(w->processes.n_known + w->processes.n_disowned));
}

/* It enters the state, or leaves it: by 1 or -1. */
static void count(struct muster_process *p, int by)
{
    p->worker->processes.count[p->state] += (size_t)by;
    if (process_is(p, HAS_HAND))
        p->served->in_hands += by;
    if (process_is(p, IS_RUNNING))
        note_running(p, by);
}

/* ---- life ---- */

struct muster_process *process_add(struct muster_worker *w, struct served *s, uint64_t token, enum process_kind kind)
{
    struct muster_process *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->worker = w;
    p->served = s;
    p->token = token;
    p->kind = kind;
    p->retry_delay_ms = -1;
    token_format(p->token_text, token);
    atomic_init(&p->stop_reason, MUSTER_GO_ON);
    atomic_init(&p->end_called, 0);
    p->mark = marks_early(w, token);
    figures_add(&w->figures.taken, 1);
    p->state = PROCESS_FETCHING;
    TAILQ_INSERT_TAIL(&w->processes.list[p->state], p, in_list);
    count(p, 1);
    into_table(p);
    note_held(w);
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
    figures_add_time(&p->worker->figures.wait, p->job->waited_ms * 1000);
    p->task = p->job->job.data.data ? (char *)p->job->job.data.data : none;
    p->len = p->job->job.data.len;
    return MUSTER_OK;
}

static void change_state(struct muster_process *p, enum process_state state)
{
    trace_line(TRACE_STATE, "process %s of %s: %s -> %s", p->token_text, p->served->name, states[p->state].name,
               states[state].name);
    count(p, -1);
    p->state = state;
    count(p, 1);
}

void process_move(struct muster_process *p, enum process_state state)
{
    struct process_list *list = p->worker->processes.list;
    if (p->is_suspect && states[state].answers & IS_OVER)
        suspect_moves_on(p, states[state].answers);
    TAILQ_REMOVE(&list[p->state], p, in_list);
    if (p->state != state)
        change_state(p, state);
    TAILQ_INSERT_TAIL(&list[state], p, in_list);
}

void process_call_back(struct muster_process *p)
{
    process_move(p, PROCESS_READY);
    p->is_by_next = false;
    struct process_list *ready = &p->worker->processes.list[p->state];
    TAILQ_REMOVE(ready, p, in_list);
    TAILQ_INSERT_HEAD(ready, p, in_list);
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
    if (p->is_suspect)
        suspect_let_go(p);
    TAILQ_REMOVE(&w->processes.list[p->state], p, in_list);
    count(p, -1);
    if (p->is_disowned)
        w->processes.n_disowned--;
    else
        out_of_table(p);
    if (!p->is_accounted)
        figures_add(&w->figures.released, 1);
    note_held(w);
    posted_forget(p);
    outbox_forget(p);
    share_let_go(p);
    limit_clear(p);
    free_what_it_is(p);
    free(p->id);
    free(p->result);
    free(p->next);
    free(p->next_after);
    free(p->note);
    free(p->next_note);
    free(p->data);
    free((void *)p->new_data.data);
    free(p->group);
    free(p->message);
    free(p->end);
    free(p);
}

uint64_t process_allowed(const struct muster_worker *w)
{
    uint64_t n_begun = w->processes.n_begun;
    if (w->max_tasks == 0)
        return UINT64_MAX;
    return (n_begun < w->max_tasks ? w->max_tasks - n_begun : 0) + process_count(w, IS_RUNNING);
}

/* ---- running ones ---- */

void process_tell_stop(struct muster_process *p, enum muster_stop_reason reason)
{
    int before = MUSTER_GO_ON;
    if (p->is_ended && reason == MUSTER_STOP_LOST)
        return; /* it has nothing that could be in other hands */
    if (!atomic_compare_exchange_strong(&p->stop_reason, &before, (int)reason) &&
        (before != MUSTER_STOP_MOVE || reason == MUSTER_STOP_MOVE ||
         !atomic_compare_exchange_strong(&p->stop_reason, &before, (int)reason)))
        return;
    if (p->served->executor->tell_stop)
        p->served->executor->tell_stop(p);
    tell_event(p->worker, MUSTER_EVENT_STOP, MUSTER_OK, NULL, p);
}

/* The program may end any of them inside its callback. So this always takes the first one, and puts it at the end
 * first. */
void process_tell_running(struct muster_worker *w, enum muster_stop_reason reason, process_filter *is_meant,
                          const void *arg)
{
    dispatch_call_off(w);
    struct muster_process *p;
    for (size_t n = process_count(w, IS_RUNNING); n > 0 && (p = process_first(w, IS_RUNNING)) != NULL; n--) {
        process_move(p, p->state);
        if (!is_meant || is_meant(p, arg))
            process_tell_stop(p, reason);
    }
}

void process_disown(struct muster_process *p)
{
    if (p->is_suspect)
        suspect_let_go(p);
    out_of_table(p);
    p->is_disowned = true;
    p->worker->processes.n_disowned++;
}

/* ---- the table's life ---- */

int process_new_table(struct muster_worker *w)
{
    for (int i = 0; i < PROCESS_STATES_COUNT; i++)
        TAILQ_INIT(&w->processes.list[i]);
    w->processes.n_buckets = BUCKETS_FIRST;
    w->processes.buckets = calloc(w->processes.n_buckets, sizeof *w->processes.buckets);
    return w->processes.buckets ? MUSTER_OK : MUSTER_E_NOMEM;
}

void process_free_table(struct muster_worker *w)
{
    if (!w->processes.buckets)
        return;
    struct muster_process *p;
    while ((p = process_first(w, ~0u)) != NULL) {
        if (process_is(p, IS_RUNNING) && p->served->executor->abandon)
            p->served->executor->abandon(p);
        process_free(p);
    }
    free(w->processes.buckets);
}
