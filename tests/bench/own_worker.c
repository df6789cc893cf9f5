/* SPDX-License-Identifier: MIT
 *
 * A worker in this process.
 */
#include "own_worker.h"

#include <event2/event.h>

static void on_event(struct muster_worker *worker, const struct muster_event *e, void *arg)
{
    struct own_worker *w = arg;
    (void)worker;
    if (e->err != MUSTER_OK)
        fail("a worker: %s: %s", muster_err_text(e->err), e->text);
    if (e->type == MUSTER_EVENT_STARTED)
        w->registered = true;
    if (e->type == MUSTER_EVENT_STOPPED)
        w->stopped = true;
}

static void run_until(struct own_worker *w, const bool *happened)
{
    while (!*happened)
        if (event_base_loop(w->base, EVLOOP_ONCE) != 0)
            fail("a worker's loop ended by itself");
}

void own_worker_start(struct own_worker *w, const struct run *run, const struct muster_worker_options *options)
{
    struct muster_worker_options o = *options;
    *w = (struct own_worker){.base = event_base_new()};
    if (!w->base)
        fail("no loop");
    o.size = sizeof o;
    o.url = run->url;
    o.prefix = run->prefix;
    o.base = w->base;
    o.on_event = on_event;
    o.arg = w;
    must(muster_worker_new(&w->worker, &o), "making a worker");
    must(muster_worker_start(w->worker), "starting a worker");
    run_until(w, &w->registered);
}

void own_worker_run(struct own_worker *w)
{
    run_until(w, &w->stopped);
}

void own_worker_stop(struct own_worker *w)
{
    muster_worker_stop(w->worker, -1);
    own_worker_run(w);
    muster_worker_free(w->worker);
    event_base_free(w->base);
    *w = (struct own_worker){0};
}
