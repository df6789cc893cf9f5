/* SPDX-License-Identifier: MIT
 *
 * Worker processes. A child gets orders by a pipe, and answers by shared memory.
 */
#include "crew.h"

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"
#include "raw.h"

#define SERVE 's'
#define STOP 'e'

/* ---- the child ---- */

struct crew_child {
    struct crew_member *member;
    struct event_base *base;
    struct muster_worker **workers;
    struct event **starts;
    int stopped;
};

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    struct crew_member *m = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    if (m->options.duty == DUTY_STAMPED)
        inbox_receive_stamped(&m->inbox, task, len);
    else
        inbox_receive(&m->inbox, task, len);
    return m->options.duty == DUTY_KEEP ? MUSTER_LATER : MUSTER_FINISH;
}

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct crew_child *c = arg;
    (void)w;
    if (e->err != MUSTER_OK && e->type != MUSTER_EVENT_DOWN) /* it recovers from that by itself */
        fail("a worker: %s: %s", muster_err_text(e->err), e->text);
    if (e->type == MUSTER_EVENT_STARTED)
        c->member->registered++;
    if (e->type != MUSTER_EVENT_STOPPED || ++c->stopped < c->member->options.workers)
        return;
    c->member->stopped_ns = now_ns();
    event_base_loopbreak(c->base);
}

static void on_start(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    must(muster_worker_start(arg), "starting a worker");
}

static void on_control(evutil_socket_t fd, short what, void *arg)
{
    struct crew_child *c = arg;
    char order;
    (void)what;
    if (read(fd, &order, 1) != 1)
        _exit(0);
    for (int i = 0; i < c->member->options.workers; i++)
        if (order == SERVE)
            must(muster_worker_serve(c->workers[i], c->member->options.queue, 0, handle, c->member), "serving a queue");
        else
            muster_worker_stop(c->workers[i], -1);
}

static void make_worker(struct crew_child *c, int i)
{
    const struct crew_options *o = &c->member->options;
    int delay_ms = o->spread_ms * i / o->workers;
    const struct timeval delay = {.tv_sec = delay_ms / 1000, .tv_usec = delay_ms % 1000 * 1000};
    const struct muster_worker_options options = {.size = sizeof options,
                                                  .url = c->member->url,
                                                  .prefix = c->member->prefix,
                                                  .base = c->base,
                                                  .hands = o->hands,
                                                  .prefetch = o->prefetch,
                                                  .ttl_ms = o->ttl_ms,
                                                  .on_event = on_event,
                                                  .arg = c};
    must(muster_worker_new(&c->workers[i], &options), "making a worker");
    c->starts[i] = evtimer_new(c->base, on_start, c->workers[i]);
    if (!c->starts[i] || evtimer_add(c->starts[i], &delay))
        fail("no timer");
}

static void run_member(void *arg)
{
    struct crew_child c = {.member = arg, .base = event_base_new()};
    int n = c.member->options.workers;
    c.workers = calloc((size_t)n, sizeof *c.workers);
    c.starts = calloc((size_t)n, sizeof *c.starts);
    struct event *control = c.base ? event_new(c.base, CHILD_FD, EV_READ | EV_PERSIST, on_control, &c) : NULL;
    if (!c.workers || !c.starts || !control || event_add(control, NULL))
        fail("no memory for workers");
    for (int i = 0; i < n; i++)
        make_worker(&c, i);
    event_base_dispatch(c.base);
}

/* ---- the parent ---- */

static bool all_registered(void *arg)
{
    const struct crew *c = arg;
    int n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->members[i].registered;
    return n == c->workers;
}

void crew_start(struct crew *c, const struct run *run, const struct crew_options *o)
{
    *c = (struct crew){.n = (size_t)o->processes, .workers = o->processes * o->workers};
    c->members = shared_make(c->n * sizeof *c->members);
    for (size_t i = 0; i < c->n; i++) {
        struct crew_member *m = &c->members[i];
        m->options = *o;
        snprintf(m->url, sizeof m->url, "%s", run->url);
        snprintf(m->prefix, sizeof m->prefix, "%s", run->prefix);
        m->pid = child_start(run_member, m, &m->control);
    }
    await(all_registered, c, "all workers are registered");
}

static void order(struct crew *c, char what)
{
    for (size_t i = 0; i < c->n; i++)
        if (write(c->members[i].control, &what, 1) != 1)
            fail("a worker's process is gone");
}

void crew_serve(struct crew *c)
{
    order(c, SERVE);
}

struct idle_wait {
    struct redisContext *redis;
    char key[RAW_KEY_MAX];
    int n;
    uint64_t looked;
};

static bool are_idle(void *arg)
{
    struct idle_wait *w = arg;
    w->looked++;
    return raw_integer(w->redis, "ZCARD %s", w->key) == w->n;
}

uint64_t crew_await_idle(const struct crew *c, const struct run *run)
{
    struct idle_wait w = {.redis = run->redis, .n = c->workers};
    char name[RAW_KEY_MAX];
    snprintf(name, sizeof name, "idle:%s", c->members[0].options.queue);
    raw_key(w.key, run->prefix, name);
    await(are_idle, &w, "all workers are idle");
    return w.looked;
}

struct task_wait {
    const struct crew *crew;
    uint64_t n;
};

static bool have_received(void *arg)
{
    const struct task_wait *w = arg;
    uint64_t n = 0;
    for (size_t i = 0; i < w->crew->n; i++)
        n += atomic_load_explicit(&w->crew->members[i].inbox.tally.count, memory_order_acquire);
    return n >= w->n;
}

void crew_await(struct crew *c, uint64_t n)
{
    await(have_received, &(struct task_wait){c, n}, "all tasks are received");
}

int64_t crew_stop(struct crew *c)
{
    int64_t last_ns = 0;
    order(c, STOP);
    for (size_t i = 0; i < c->n; i++) {
        child_wait(c->members[i].pid);
        if (c->members[i].stopped_ns > last_ns)
            last_ns = c->members[i].stopped_ns;
    }
    return last_ns;
}

void crew_kill(struct crew *c)
{
    for (size_t i = 0; i < c->n; i++)
        child_kill(c->members[i].pid);
}

struct tally crew_end(struct crew *c)
{
    struct tally all = {0};
    for (size_t i = 0; i < c->n; i++) {
        all.count += c->members[i].inbox.tally.count;
        all.sum += c->members[i].inbox.tally.sum;
        close(c->members[i].control);
    }
    shared_free(c->members, c->n * sizeof *c->members);
    *c = (struct crew){0};
    return all;
}
