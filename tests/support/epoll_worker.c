/* SPDX-License-Identifier: MIT
 *
 * A worker as a program has it that knows no libevent.
 */
#include "epoll_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BATCH 256

static void open_epoll(struct epoll_worker *e)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = muster_worker_fd(e->worker);
    assert_true(fd >= 0);
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event), 0);
}

struct epoll_worker *epoll_worker_new(struct scene *s, const struct epoll_spec *spec)
{
    struct epoll_worker *e = calloc(1, sizeof *e);
    struct muster_worker_options o = spec->more;
    o.size = sizeof o;
    o.url = spec->url || o.data ? spec->url : s->server->url;
    o.prefix = s->prefix;
    o.id = spec->id ? spec->id : "w";
    o.ttl_ms = spec->ttl_ms;
    o.hands = spec->hands;
    o.prefetch = spec->prefetch;
    o.drain_ms = spec->drain_ms;
    o.limit_ms = spec->limit_ms;
    o.own_thread = 1;
    o.tell_ended = !spec->tell_nothing;
    assert_ok(muster_worker_new(&e->worker, &o));
    open_epoll(e);
    assert_ok(muster_worker_start(e->worker));
    return e;
}

struct epoll_worker *epoll_worker_idle(struct scene *s, const struct epoll_spec *spec)
{
    struct epoll_worker *e = epoll_worker_new(s, spec);
    assert_ok(muster_worker_serve(e->worker, "q", 0, NULL, NULL));
    scene_await_idle(s, "q", muster_worker_id(e->worker));
    epoll_worker_await_events(e, MUSTER_EVENT_STARTED, 1);
    return e;
}

void epoll_worker_free(struct epoll_worker *e)
{
    muster_worker_free(e->worker);
    close(e->epoll);
    for (size_t i = 0; i < e->n; i++)
        free(e->accounts[i]);
    free(e->accounts);
    free(e);
}

/* ---- items ---- */

static void note_process(struct epoll_worker *e, const struct muster_item *item)
{
    struct account *a = calloc(1, sizeof *a);
    if ((e->n & (e->n - 1)) == 0)
        e->accounts = realloc(e->accounts, (e->n ? e->n * 2 : 1) * sizeof *e->accounts);
    e->accounts[e->n++] = a;
    e->n_held++;
    a->process = item->process;
    a->token = item->token;
    snprintf(a->id, sizeof a->id, "%s", item->id);
    snprintf(a->job, sizeof a->job, "%s", item->job ? item->job : "");
    snprintf(a->task, sizeof a->task, "%.*s", (int)item->len, (const char *)item->task);
    assert_string_equal(item->id, muster_process_id(item->process));
    assert_string_equal(item->queue, muster_process_queue(item->process));
    assert_ptr_equal(muster_process_user(item->process), NULL);
    muster_process_set_user(item->process, a);
}

static void note_about(struct account *a, const struct muster_item *item)
{
    assert_true(item->token == a->token);
    assert_string_equal(item->id, a->id);
    assert_ptr_equal(item->process, a->process);
    if (item->event == MUSTER_EVENT_STOP && item->process)
        a->reason = (int)muster_process_stop_reason(item->process);
    a->n_ended += item->event == MUSTER_EVENT_ENDED;
    a->n_uncounted += item->event == MUSTER_EVENT_UNCOUNTED;
    a->err = item->event == MUSTER_EVENT_UNCOUNTED ? item->err : a->err;
    if (item->event == MUSTER_EVENT_ENDED)
        snprintf(a->how, sizeof a->how, "%s", item->text);
}

static void note_event(struct epoll_worker *e, const struct muster_item *item)
{
    assert_in_range(item->event, 0, EPOLL_WORKER_EVENTS - 1);
    assert_non_null(item->text);
    e->events[item->event]++;
    if (item->user)
        note_about(item->user, item);
    if (item->event == MUSTER_EVENT_STOPPED)
        e->stop_err = item->err;
}

static void note_answer(struct epoll_worker *e, const struct muster_item *item)
{
    e->n_answers++;
    e->answer_err = item->err;
    e->answer_user = item->user;
    e->answer_waiting = item->waiting;
    snprintf(e->answer_job, sizeof e->answer_job, "%s", item->job ? item->job : "");
}

static size_t take(struct epoll_worker *e)
{
    static struct muster_item items[BATCH];
    size_t n, n_all = 0;
    do {
        items[0].size = sizeof *items;
        n = muster_worker_next(e->worker, items, BATCH);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(items[i].size, sizeof *items);
            if (items[i].type == MUSTER_ITEM_PROCESS)
                note_process(e, &items[i]);
            else if (items[i].type == MUSTER_ITEM_EVENT)
                note_event(e, &items[i]);
            else
                note_answer(e, &items[i]);
        }
        n_all += n;
    } while (n == BATCH);
    return n_all;
}

size_t epoll_worker_turn(struct epoll_worker *e, int ms)
{
    struct epoll_event event;
    return epoll_wait(e->epoll, &event, 1, ms) > 0 ? take(e) : 0;
}

/* ---- ends ---- */

void epoll_worker_end(struct epoll_worker *e, struct account *a, enum muster_outcome outcome)
{
    struct muster_process *p = a->process;
    a->process = NULL;
    e->n_held--;
    assert_ok(muster_process_end(p, outcome));
}

void epoll_worker_end_all(struct epoll_worker *e, enum muster_outcome outcome)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->accounts[i]->process)
            epoll_worker_end(e, e->accounts[i], outcome);
}

int epoll_worker_count_ended(const struct epoll_worker *e)
{
    int n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += e->accounts[i]->n_ended;
    return n;
}

int epoll_worker_count_uncounted(const struct epoll_worker *e)
{
    int n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += e->accounts[i]->n_uncounted;
    return n;
}

/* ---- waiting ---- */

struct expected {
    struct epoll_worker *e;
    enum { HELD, TAKEN, EVENTS, ANSWERS, SETTLED } what;
    int type;
    size_t n;
};

static size_t count(const struct expected *x)
{
    const struct epoll_worker *e = x->e;
    switch (x->what) {
    case HELD:
        return e->n_held;
    case TAKEN:
        return e->n;
    case EVENTS:
        return (size_t)e->events[x->type];
    case ANSWERS:
        return (size_t)e->n_answers;
    case SETTLED:
        return (size_t)(epoll_worker_count_ended(e) + epoll_worker_count_uncounted(e));
    }
    return 0;
}

static bool has_come(void *arg)
{
    const struct expected *x = arg;
    while (epoll_worker_turn(x->e, 0) > 0)
        ;
    return count(x) >= x->n;
}

static void await(const struct expected *x)
{
    if (!wait_for(NULL, has_come, (void *)x, SOON_MS))
        fail_msg("%zu, not %zu, of kind %d", count(x), x->n, (int)x->what);
    assert_int_equal(count(x), x->n);
}

void epoll_worker_await_held(struct epoll_worker *e, size_t n)
{
    await(&(struct expected){e, HELD, 0, n});
}

void epoll_worker_await_taken(struct epoll_worker *e, size_t n)
{
    await(&(struct expected){e, TAKEN, 0, n});
}

void epoll_worker_await_events(struct epoll_worker *e, enum muster_event_type type, int n)
{
    await(&(struct expected){e, EVENTS, (int)type, (size_t)n});
}

void epoll_worker_await_answers(struct epoll_worker *e, int n)
{
    await(&(struct expected){e, ANSWERS, 0, (size_t)n});
}

void epoll_worker_await_settled(struct epoll_worker *e)
{
    await(&(struct expected){e, SETTLED, 0, e->n - e->n_held});
    for (size_t i = 0; i < e->n; i++)
        assert_int_equal(e->accounts[i]->n_ended + e->accounts[i]->n_uncounted, !e->accounts[i]->process);
}

void epoll_worker_stop(struct epoll_worker *e, int drain_ms)
{
    assert_ok(muster_worker_stop(e->worker, drain_ms));
    epoll_worker_await_events(e, MUSTER_EVENT_STOPPED, 1);
}
