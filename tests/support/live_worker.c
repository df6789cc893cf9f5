/* SPDX-License-Identifier: MIT
 *
 * A worker under test, on the loop of a scene.
 */
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "worker/worker.h"

void live_worker_hold(struct live_worker *w, struct muster_process *p)
{
    w->held = realloc(w->held, (w->n_held + 1) * sizeof(struct muster_process *));
    w->held[w->n_held++] = p;
}

bool live_worker_let_go(struct live_worker *w, struct muster_process *p)
{
    for (size_t at = 0; at < w->n_held; at++)
        if (w->held[at] == p) {
            w->n_held--;
            memmove(w->held + at, w->held + at + 1, (w->n_held - at) * sizeof(struct muster_process *));
            return true;
        }
    return false;
}

void live_worker_end_one(struct live_worker *w, struct muster_process *p, enum muster_outcome outcome)
{
    if (!live_worker_let_go(w, p))
        return;
    journal_process(w->journal, JOURNAL_END, (int)outcome, p);
    if (outcome == MUSTER_RETRY)
        (void)muster_process_set_retry(p, w->spec.retry_ms);
    (void)muster_process_end(p, outcome);
}

void live_worker_end(struct live_worker *w, enum muster_outcome outcome)
{
    if (w->n_held)
        live_worker_end_one(w, w->held[0], outcome);
}

void live_worker_answer(struct live_worker *w, enum muster_outcome outcome)
{
    w->spec.answer = outcome;
    while (outcome != MUSTER_LATER && w->n_held)
        live_worker_end(w, outcome);
}

enum muster_outcome live_worker_handle(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (w->spec.answer == MUSTER_LATER)
        live_worker_hold(w, p);
    else
        journal_process(w->journal, JOURNAL_END, (int)w->spec.answer, p);
    if (w->spec.answer == MUSTER_RETRY)
        (void)muster_process_set_retry(p, w->spec.retry_ms);
    return w->spec.answer;
}

static void note(struct live_worker *w, struct muster_worker *worker, const struct muster_event *e, uint64_t token)
{
    journal_event(w->journal, worker, e, token);
    if (w->spec.on_event)
        w->spec.on_event(w, e);
    else if (e->type == MUSTER_EVENT_STOP && !w->spec.stubborn)
        live_worker_end_one(w, e->process, MUSTER_GIVE_BACK);
    if (e->type == MUSTER_EVENT_STOPPED) {
        w->has_stopped = true;
        w->stop_err = e->err;
    }
}

void live_worker_note(struct muster_worker *worker, const struct muster_event *e, void *arg)
{
    note(arg, worker, e, 0);
}

static muster_handler_fn *handler_of(const struct live_worker *w)
{
    return w->spec.handler ? w->spec.handler : live_worker_handle;
}

int live_worker_serve(struct live_worker *w, const char *queue, int hands)
{
    if (w->spec.command)
        return muster_worker_serve_command(
            w->worker, queue,
            &(struct muster_command){.size = sizeof(struct muster_command), .argv = w->spec.command, .hands = hands});
    return muster_worker_serve(w->worker, queue, hands, w->foreign ? NULL : handler_of(w), w);
}

static void serve(struct live_worker *w)
{
    for (size_t i = 0; i < SPEC_QUEUES_MAX && w->spec.queues[i].name; i++)
        assert_ok(live_worker_serve(w, w->spec.queues[i].name, w->spec.queues[i].hands));
}

/* ---- on a foreign loop ---- */

static bool is_foreign(const struct worker_spec *spec)
{
    return (spec->by_next || getenv("MUSTER_TEST_FOREIGN")) && !spec->more.threads && !spec->data && !spec->more.on_end;
}

static void take_process(struct live_worker *w, const struct muster_item *item)
{
    enum muster_outcome outcome = handler_of(w)(item->process, w);
    if (outcome != MUSTER_LATER)
        assert_ok(muster_process_end(item->process, outcome));
}

/* Whom it has ended meanwhile it need not stop. */
static void take_event(struct live_worker *w, const struct muster_item *item)
{
    if (item->event == MUSTER_EVENT_STOP && !item->process)
        return;
    note(w, w->worker,
         &(struct muster_event){.type = (enum muster_event_type)item->event,
                                .err = item->err,
                                .text = item->text,
                                .process = item->process,
                                .queue = item->queue,
                                .task = item->task,
                                .len = item->len},
         item->token);
}

/* One at a time: a handler may free the worker. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct live_worker *w = arg;
    struct muster_item item = {.size = sizeof item};
    (void)fd, (void)what;
    if (muster_worker_next(w->worker, &item, 1) == 0)
        return;
    if (item.type == MUSTER_ITEM_PROCESS)
        take_process(w, &item);
    else
        take_event(w, &item);
}

static void watch(struct live_worker *w)
{
    w->foreign = event_new(w->base, muster_worker_fd(w->worker), EV_READ | EV_PERSIST, on_readable, w);
    event_add(w->foreign, NULL);
}

struct live_worker *live_worker_new(struct scene *s, const struct worker_spec *spec)
{
    struct live_worker *w = calloc(1, sizeof *w);
    w->next = s->workers;
    s->workers = w;
    w->spec = *spec;
    w->journal = s->journal;
    w->base = s->base;
    struct muster_worker_options o = spec->more;
    o.size = sizeof o;
    o.url = spec->url ? spec->url : s->server->url;
    o.prefix = s->prefix;
    o.id = spec->id;
    o.base = s->base;
    o.data = spec->data;
    o.subscription = spec->subscription;
    o.ttl_ms = spec->ttl_ms;
    o.hands = spec->hands;
    o.prefetch = spec->prefetch;
    o.drain_ms = spec->drain_ms;
    o.on_event = live_worker_note;
    o.arg = w;
    if (is_foreign(spec)) {
        o.base = NULL;
        o.on_event = NULL;
        o.own_thread = 1;
    }
    assert_ok(muster_worker_new(&w->worker, &o));
    if (o.own_thread)
        watch(w);
    assert_ok(muster_worker_start(w->worker));
    serve(w);
    return w;
}

struct live_worker *live_worker_idle(struct scene *s, const struct worker_spec *spec)
{
    struct live_worker *w = live_worker_new(s, spec);
    const char *id = muster_worker_id(w->worker);
    scene_await_events(s, MUSTER_EVENT_STARTED, id, 1);
    for (size_t i = 0; i < SPEC_QUEUES_MAX && spec->queues[i].name; i++)
        scene_await_idle(s, spec->queues[i].name, id);
    return w;
}

void live_worker_stop(struct scene *s, struct live_worker *w, int drain_ms)
{
    assert_ok(muster_worker_stop(w->worker, drain_ms));
    scene_await_events(s, MUSTER_EVENT_STOPPED, muster_worker_id(w->worker), 1);
}

struct beats {
    const struct muster_worker *worker;
    uint64_t n;
};

static bool have_beaten(void *beats)
{
    const struct beats *b = beats;
    return b->worker->heartbeat.count >= b->n;
}

void live_worker_await_beats(struct scene *s, const struct live_worker *w, uint64_t n)
{
    struct beats beats = {w->worker, w->worker->heartbeat.count + n};
    wait_on(s->base, have_beaten, &beats, SOON_MS);
}

void live_worker_free(struct scene *s, struct live_worker *w)
{
    struct live_worker **link = &s->workers;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    if (w->foreign)
        event_free(w->foreign);
    muster_worker_free(w->worker);
    free(w->held);
    free(w);
}
