/* SPDX-License-Identifier: MIT
 *
 * A crew of worker processes that are hurt.
 */
#include "fault_crew.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void start(struct fault_crew *c, int place)
{
    struct worker_spec spec = c->specs[place];
    char id[24];
    snprintf(id, sizeof id, "w%d.%d", place, c->n_lives++);
    spec.id = spec.id ? spec.id : id;
    c->places[place] = worker_process_start(c->scene, &spec);
}

void fault_crew_start(struct fault_crew *c, struct scene *s, const struct worker_spec *specs, int n)
{
    assert_in_range(n, 2, FAULT_CREW_MAX);
    *c = (struct fault_crew){.scene = s, .n_places = n};
    for (int i = 0; i < n; i++) {
        c->specs[i] = specs[i];
        start(c, i);
    }
}

void fault_crew_kill(struct fault_crew *c, int place)
{
    worker_process_kill(c->places[place]);
    /* An id of its own is free for a new life once the liveness key of the old one ran out. */
    if (c->specs[place].id)
        raw_await(c->scene->server->redis, NULL, 0, "EXISTS %s:alive:%s", c->scene->prefix, c->specs[place].id);
    start(c, place);
}

static void freeze(struct fault_crew *c, int place)
{
    c->frozen = place;
    c->thaw_at_ms = now_ms() + 2 * c->specs[place].ttl_ms;
    kill(c->places[place]->pid, SIGSTOP);
}

void fault_crew_thaw(struct fault_crew *c)
{
    if (c->frozen)
        kill(c->places[c->frozen]->pid, SIGCONT);
    c->frozen = 0;
}

static void terminate(struct fault_crew *c, int place)
{
    kill(c->places[place]->pid, SIGTERM);
    assert_true(worker_process_reap_hurt(c->places[place]));
    start(c, place);
}

/* All connections of a kind. Answers and messages that are on the way get lost. */
static void cut(struct fault_crew *c)
{
    raw_int(c->scene->server->redis, rand() % 2 ? "CLIENT KILL TYPE normal SKIPME yes" : "CLIENT KILL TYPE pubsub");
}

void fault_crew_hurt(struct fault_crew *c)
{
    int n = c->n_steps++ * 5 % ((c->n_places - 1) * FAULT_COUNT), place = 1 + n / FAULT_COUNT;
    enum fault fault = (enum fault)(n % FAULT_COUNT);
    if (c->frozen && now_ms() >= c->thaw_at_ms)
        fault_crew_thaw(c);
    if (place == c->frozen || (fault == FAULT_FROZEN && c->frozen))
        return;
    c->n_hurt[fault]++;
    if (fault == FAULT_KILLED)
        fault_crew_kill(c, place);
    else if (fault == FAULT_FROZEN)
        freeze(c, place);
    else if (fault == FAULT_TERMINATED)
        terminate(c, place);
    else
        cut(c);
}

void fault_crew_stop(struct fault_crew *c)
{
    for (int i = 0; i < c->n_places; i++) {
        worker_process_stop(c->places[i], -1);
        assert_true(worker_process_reap_hurt(c->places[i]));
    }
}

void fault_crew_tick(struct live_worker *w, const struct muster_process *p, event_callback_fn tick, int every_ms)
{
    static struct event *ticker;
    if (ticker)
        return;
    srand((unsigned)muster_process_token(p));
    ticker = event_new(w->base, -1, EV_PERSIST, tick, w);
    event_add(ticker, &(struct timeval){every_ms / 1000, every_ms % 1000 * 1000});
}
