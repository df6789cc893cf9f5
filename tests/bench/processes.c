/* SPDX-License-Identifier: MIT
 *
 * Rows that need several worker processes: draining by four of them compared with one, and how long after a kill -9 a
 * worker's tasks are in other hands.
 */
#include <muster/client.h>
#include <stdlib.h>

#include "bench.h"
#include "crew.h"
#include "load.h"
#include "meter.h"
#include "raw.h"

#define QUEUE "bench"
#define HANDS 100
#define PREFETCH 300
#define TTL_MS 500

struct processes {
    struct load load;
    struct muster_client *client;
    char list[RAW_KEY_MAX];
};

static void open_processes(struct run *run)
{
    struct processes *s = run->state = calloc(1, sizeof *s);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!s)
        fail("no memory");
    load_make(&s->load, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&s->client, &options), "making a client");
    raw_key(s->list, run->prefix, "queues:" QUEUE);
}

static void close_processes(struct run *run)
{
    struct processes *s = run->state;
    muster_client_free(s->client);
    load_clear(&s->load);
    free(s);
}

static void enqueue(struct processes *s)
{
    must(muster_task_enqueue_many(s->client, QUEUE, s->load.tasks, s->load.n, NULL, NULL), "enqueueing");
}

/* The crew has received all that went in, and nothing is left. */
static void check(struct run *run, struct crew *c)
{
    struct processes *s = run->state;
    struct tally got = crew_end(c);
    tally_check(&got, &s->load.all, run->experiment->name);
    if (raw_integer(run->redis, "LLEN %s", s->list) != 0)
        fail("%s: tasks are left", run->experiment->name);
}

/* ---- draining ---- */

static void drain(struct run *run, int processes, struct block *out)
{
    struct processes *s = run->state;
    struct crew crew;
    struct meter m;
    enqueue(s);
    crew_start(&crew, run,
               &(struct crew_options){
                   .queue = QUEUE, .processes = processes, .workers = 1, .hands = HANDS, .prefetch = PREFETCH});
    meter_start(&m, run->redis);
    crew_serve(&crew);
    crew_await(&crew, s->load.n);
    int64_t stopped_ns = crew_stop(&crew);
    meter_stop(&m, s->load.n, stopped_ns, out);
    check(run, &crew);
}

const struct experiment experiment_drain_4 = {
    .name = "drain_4",
    .seconds = 3,
    .min_rounds = 3,
    .tasks = 100000,
    .len = 100,
    .open = open_processes,
    .close = close_processes,
    .sides = {{drain, 4}, {drain, 1}},
};

/* ---- death ---- */

static void kill_one(struct run *run, int ttl_ms, struct block *out)
{
    struct processes *s = run->state;
    struct crew victim, other;
    struct meter m;
    struct crew_options o = {
        .queue = QUEUE, .processes = 1, .workers = 1, .hands = (int)s->load.n, .ttl_ms = ttl_ms, .duty = DUTY_KEEP};
    crew_start(&victim, run, &o);
    crew_serve(&victim);
    enqueue(s);
    crew_await(&victim, s->load.n);
    o.duty = DUTY_RECEIVE;
    crew_start(&other, run, &o);
    crew_serve(&other);
    crew_await_idle(&other, run);
    meter_start(&m, run->redis);
    crew_kill(&victim);
    crew_await(&other, s->load.n);
    meter_stop(&m, s->load.n, 0, out);
    out->value = out->seconds * 1e3;
    crew_stop(&other);
    crew_end(&victim);
    check(run, &other);
}

static void tell_ttl(struct run *run, int ttl_ms, struct block *out)
{
    (void)run;
    *out = (struct block){.value = ttl_ms};
}

const struct experiment experiment_kill = {
    .name = "kill",
    .seconds = 2,
    .min_rounds = 2,
    .tasks = 10,
    .len = 100,
    .open = open_processes,
    .close = close_processes,
    .sides = {{kill_one, TTL_MS}, {tell_ttl, TTL_MS}},
};
