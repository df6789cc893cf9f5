/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests of leaving a queue.
 */
#include "leaving.h"

#include "script_call.h"

#include <stdlib.h>
#include <string.h>

#include "invariant.h"

const struct worker_spec leaving_holder = {.id = "w",
                                           .ttl_ms = LEAVING_TTL_MS,
                                           .hands = 1,
                                           .answer = MUSTER_LATER,
                                           .stubborn = true,
                                           .queues = {{"q", 0}, {"r", 0}}};

struct live_worker *leaving_hold(struct scene *s, int hands, int prefetch)
{
    struct worker_spec spec = leaving_holder;
    spec.hands = hands;
    spec.prefetch = prefetch;
    return live_worker_idle(s, &spec);
}

struct live_worker *leaving_hold_through(struct scene *s, const struct proxy *proxy, int ttl_ms)
{
    struct worker_spec spec = leaving_holder;
    spec.url = proxy->url;
    spec.ttl_ms = ttl_ms;
    return live_worker_idle(s, &spec);
}

void leaving_leave(struct scene *s, struct live_worker *w)
{
    size_t before = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LEFT, "w", NULL);
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", before + 1);
}

int leaving_serve(struct live_worker *w)
{
    return muster_worker_serve(w->worker, "q", 0, live_worker_handle, w);
}

void leaving_assert_list(struct scene *s, const char *expected)
{
    char *list = queued_tasks(s, "q");
    bool same = !strcmp(list, expected);
    if (!same)
        print_error("the queue holds %s\n", list);
    free(list);
    assert_true(same);
}

size_t leaving_events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

void leaving_await_held(struct scene *s, int64_t n)
{
    raw_await(s->server->redis, s->base, n, "HGET %s:worker:w held", s->prefix);
    invariant_assert(s->server->redis, s->prefix);
}
