/* SPDX-License-Identifier: MIT
 *
 * How much of Redis' memory a task of 100 bytes takes, while it waits and while it is in work. Only this process is
 * connected when it is measured: the workers that hold the tasks are killed before, and their ttl of an hour keeps what
 * they held.
 */
#include <muster/client.h>
#include <stdlib.h>

#include "bench.h"
#include "crew.h"
#include "load.h"
#include "meter.h"
#include "raw.h"

#define QUEUE "bench"
#define HANDS 10000
#define PROCESSES 2
#define HOUR_MS (3600 * 1000)

struct bytes {
    struct load load;
    int64_t clients;
    struct redisContext *redis;
};

static void close_bytes(struct run *run)
{
    struct bytes *b = run->state;
    load_clear(&b->load);
    free(b);
}

static bool are_alone(void *arg)
{
    struct bytes *b = arg;
    return raw_info(b->redis).clients <= b->clients;
}

static bool is_free(void *arg)
{
    struct bytes *b = arg;
    return raw_info(b->redis).to_free == 0;
}

static void enqueue(struct run *run)
{
    struct bytes *b = run->state;
    struct muster_client *client;
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    must(muster_client_new(&client, &options), "making a client");
    must(muster_task_enqueue_many(client, QUEUE, b->load.tasks, b->load.n, NULL, NULL), "enqueueing");
    muster_client_free(client);
}

static void start_measuring(struct run *run, struct meter *m)
{
    struct bytes *b = run->state;
    await(is_free, b, "the memory of what was removed is free");
    meter_start(m, run->redis);
    b->clients = m->info.clients;
}

static void stop_measuring(struct run *run, const struct meter *m, struct block *out)
{
    struct bytes *b = run->state;
    await(are_alone, b, "the others have disconnected");
    meter_stop(m, b->load.n, 0, out);
    out->value = (double)(raw_info(run->redis).memory - m->info.memory) / (double)b->load.n;
}

static void waiting(struct run *run, int n, struct block *out)
{
    struct bytes *b = run->state;
    struct tally got = {0};
    struct meter m;
    char list[RAW_KEY_MAX];
    (void)n;
    start_measuring(run, &m);
    enqueue(run);
    stop_measuring(run, &m, out);
    raw_key(list, run->prefix, "queues:" QUEUE);
    raw_collect(run->redis, list, &got);
    tally_check(&got, &b->load.all, "bytes_waiting");
}

static void in_work(struct run *run, int n, struct block *out)
{
    struct bytes *b = run->state;
    struct crew crew;
    struct meter m;
    start_measuring(run, &m);
    enqueue(run);
    crew_start(&crew, run,
               &(struct crew_options){.queue = QUEUE,
                                      .processes = n,
                                      .workers = (int)b->load.n / HANDS / n,
                                      .hands = HANDS,
                                      .ttl_ms = HOUR_MS,
                                      .duty = DUTY_KEEP});
    crew_serve(&crew);
    crew_await(&crew, b->load.n);
    crew_kill(&crew);
    stop_measuring(run, &m, out);
    struct tally got = crew_end(&crew);
    tally_check(&got, &b->load.all, "bytes_process");
    raw_remove(run->redis, run->prefix);
}

/* The first time, memory also goes to scripts and tables that Redis keeps. */
static void open_bytes(struct run *run)
{
    struct block first;
    struct bytes *b = run->state = calloc(1, sizeof *b);
    if (!b)
        fail("no memory");
    b->redis = run->redis;
    load_make(&b->load, run->experiment->tasks, run->experiment->len);
    in_work(run, PROCESSES, &first);
}

const struct experiment experiment_bytes = {
    .name = "bytes",
    .seconds = 1.2,
    .min_rounds = 1,
    .tasks = 100000,
    .len = 100,
    .open = open_bytes,
    .close = close_bytes,
    .sides = {{waiting, 0}, {in_work, PROCESSES}},
};
