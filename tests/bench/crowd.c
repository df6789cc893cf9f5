/* SPDX-License-Identifier: MIT
 *
 * Many idle workers: what a task costs while 1, 10, 100 or 300 of them wait for it, and what 300 cost while there is
 * none.
 */
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "crew.h"
#include "inbox.h"
#include "meter.h"
#include "raw.h"

#define PROCESSES 3
/* So long that no heartbeat is counted. */
#define HOUR_MS (3600 * 1000)
#define CROWD 300
/* A server turns away more connections at once than its backlog holds. */
#define SPREAD_MS 200
#define IDLE_S 2
/* The default ttl's heartbeat. */
#define BEAT_MS 1000

/* ---- a task with many waiting for it ---- */

static const int sizes[SIDES_MAX] = {1, 10, 100, CROWD};

struct herd {
    struct crew crews[SIDES_MAX];
    char queues[SIDES_MAX][16];
    struct muster_client *client;
    const char *queue; /* of the side whose turn it is */
};

static void open_herd(struct run *run)
{
    struct herd *h = run->state = calloc(1, sizeof *h);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!h)
        fail("no memory");
    for (size_t i = 0; i < SIDES_MAX; i++) {
        int processes = sizes[i] % PROCESSES ? 1 : PROCESSES;
        snprintf(h->queues[i], sizeof h->queues[i], "bench%d", sizes[i]);
        crew_start(&h->crews[i], run,
                   &(struct crew_options){.queue = h->queues[i],
                                          .processes = processes,
                                          .workers = sizes[i] / processes,
                                          .spread_ms = SPREAD_MS,
                                          .ttl_ms = HOUR_MS,
                                          .duty = DUTY_STAMPED});
        crew_serve(&h->crews[i]);
        crew_await_idle(&h->crews[i], run);
    }
    must(muster_client_new(&h->client, &options), "making a client");
}

static void close_herd(struct run *run)
{
    struct herd *h = run->state;
    for (size_t i = 0; i < SIDES_MAX; i++) {
        crew_stop(&h->crews[i]);
        crew_end(&h->crews[i]);
    }
    muster_client_free(h->client);
    free(h);
}

static void send(void *arg, const void *task, size_t len)
{
    struct herd *h = arg;
    must(muster_task_enqueue(h->client, h->queue, task, len, NULL), "enqueueing");
}

static void exchange(struct run *run, int i, struct block *out)
{
    const struct experiment *e = run->experiment;
    struct herd *h = run->state;
    struct crew *c = &h->crews[i];
    const struct sender sender = {send, h, e->name, e->rest_us};
    struct meter m;
    h->queue = h->queues[i];
    meter_start(&m, run->redis);
    inbox_exchange(&c->members[0].inbox, c->n, sizeof *c->members, &sender, e->tasks, e->len, out);
    uint64_t looked = crew_await_idle(c, run); /* so that the last end is in the count */
    meter_stop(&m, e->tasks, 0, out);
    out->commands -= (double)looked;
}

const struct experiment experiment_herd = {
    .name = "herd",
    .seconds = 2.5,
    .min_rounds = 3,
    .tasks = 100,
    .len = 100,
    .open = open_herd,
    .close = close_herd,
    .sides = {{exchange, 0}, {exchange, 1}, {exchange, 2}, {exchange, 3}},
};

/* ---- none, with many waiting ---- */

struct idle {
    struct redisContext *clients[CROWD];
    struct crew crew; /* `n` 0: not started */
};

static void open_idle(struct run *run)
{
    struct idle *s = run->state = calloc(1, sizeof *s);
    if (!s)
        fail("no memory");
    for (size_t i = 0; i < CROWD; i++)
        s->clients[i] = raw_connect(run->url);
}

static void dismiss(struct idle *s)
{
    if (s->crew.n == 0)
        return;
    crew_stop(&s->crew);
    crew_end(&s->crew);
}

static void close_idle(struct run *run)
{
    struct idle *s = run->state;
    dismiss(s);
    for (size_t i = 0; i < CROWD; i++)
        redisFree(s->clients[i]);
    free(s);
}

/* Heartbeats are spread over the interval, as those of workers that start at any time. */
static void workers_wait(struct run *run, int n, struct block *out)
{
    struct idle *s = run->state;
    struct meter m;
    if (s->crew.n == 0) {
        crew_start(&s->crew, run,
                   &(struct crew_options){
                       .queue = "bench", .processes = PROCESSES, .workers = n / PROCESSES, .spread_ms = BEAT_MS});
        crew_serve(&s->crew);
        crew_await_idle(&s->crew, run);
    }
    meter_start(&m, run->redis);
    pause_us((int64_t)IDLE_S * 1000000);
    meter_stop(&m, IDLE_S, 0, out);
}

static void clients_ping(struct run *run, int n, struct block *out)
{
    struct idle *s = run->state;
    struct meter m;
    dismiss(s);
    meter_start(&m, run->redis);
    for (int i = 0; i < n * IDLE_S; i++) {
        int64_t due_ns = m.at_ns + (int64_t)i * 1000000000 / n;
        if (due_ns > now_ns())
            pause_us((due_ns - now_ns()) / 1000);
        raw_do(s->clients[i % n], "PING");
    }
    meter_stop(&m, IDLE_S, 0, out);
}

/* The raw side comes first, so that in two rounds the workers start once. */
const struct experiment experiment_idle = {
    .name = "idle",
    .seconds = 9.5,
    .min_rounds = 2,
    .open = open_idle,
    .close = close_idle,
    .sides = {{clients_ping, CROWD}, {workers_wait, CROWD}},
};
