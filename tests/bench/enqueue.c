/* SPDX-License-Identifier: MIT
 *
 * Enqueueing while nobody is idle, against LPUSH: many tasks by one call, one by one, and one by one without waiting
 * for the answer, by a worker and by an asynchronous client. The raw commands are laid out beforehand as argument
 * vectors, as a program without a library would do it.
 */
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <muster/async.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load.h"
#include "meter.h"
#include "own_worker.h"
#include "raw.h"

#define QUEUE "bench"
#define PUSHES_IN_FLIGHT 4
#define WINDOW 50

struct enqueue {
    struct load load;
    struct muster_client *client;
    char key[RAW_KEY_MAX];
    const char **argv; /* the raw commands, one after the other: LPUSH, key, tasks */
    size_t *lens;
    struct own_worker worker;   /* only of the pipelined row */
    struct muster_async *async; /* only of the asynchronous row */
    size_t sent, answered;
};

/* ---- the raw commands ---- */

/* Lays out LPUSHes of `batch` tasks each. */
static void lay_out(struct enqueue *e, size_t batch)
{
    size_t n = e->load.n + 2 * (e->load.n / batch + 1), at = 0;
    e->argv = calloc(n, sizeof *e->argv);
    e->lens = calloc(n, sizeof *e->lens);
    if (!e->argv || !e->lens)
        fail("no memory for the commands of %zu tasks", e->load.n);
    for (size_t i = 0; i < e->load.n; i++) {
        if (i % batch == 0) {
            e->argv[at] = "LPUSH";
            e->lens[at++] = strlen("LPUSH");
            e->argv[at] = e->key;
            e->lens[at++] = strlen(e->key);
        }
        e->argv[at] = e->load.tasks[i].data;
        e->lens[at++] = e->load.tasks[i].len;
    }
}

/* Sends all of them, at most `most` without an answer. */
static void push_all(struct enqueue *e, struct redisContext *redis, size_t batch, size_t most)
{
    size_t in_flight = 0, at = 0;
    for (size_t done = 0; done < e->load.n; done += batch) {
        size_t left = e->load.n - done, argc = 2 + (left < batch ? left : batch);
        if (in_flight == most) {
            freeReplyObject(raw_reply(redis));
            in_flight--;
        }
        redisAppendCommandArgv(redis, (int)argc, e->argv + at, e->lens + at);
        in_flight++;
        at += argc;
    }
    for (; in_flight > 0; in_flight--)
        freeReplyObject(raw_reply(redis));
}

/* ---- opening and closing ---- */

static void open_with_batch(struct run *run, size_t batch)
{
    struct enqueue *e = run->state = calloc(1, sizeof *e);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!e)
        fail("no memory");
    load_make(&e->load, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&e->client, &options), "making a client");
    raw_key(e->key, run->prefix, "queues:" QUEUE);
    lay_out(e, batch);
}

static void open_batch(struct run *run)
{
    open_with_batch(run, load_batch(run->experiment->len));
}

static void open_single(struct run *run)
{
    open_with_batch(run, 1);
}

static void open_pipelined(struct run *run)
{
    open_with_batch(run, 1);
    struct enqueue *e = run->state;
    own_worker_start(&e->worker, run, &(struct muster_worker_options){.hands = 1});
}

static void open_async(struct run *run)
{
    open_with_batch(run, 1);
    struct enqueue *e = run->state;
    const struct muster_client_options client = {.size = sizeof client, .url = run->url, .prefix = run->prefix};
    const struct muster_async_options options = {.size = sizeof options, .client = &client};
    must(muster_async_new(&e->async, &options), "making an asynchronous client");
}

static void close_all(struct run *run)
{
    struct enqueue *e = run->state;
    muster_async_free(e->async);
    if (e->worker.base)
        own_worker_stop(&e->worker);
    muster_client_free(e->client);
    load_clear(&e->load);
    free(e->argv);
    free(e->lens);
    free(e);
}

/* ---- blocks ---- */

static void stop_meter(struct run *run, const struct meter *m, struct block *out)
{
    struct enqueue *e = run->state;
    struct tally got = {0};
    meter_stop(m, e->load.n, 0, out);
    raw_collect(run->redis, e->key, &got);
    tally_check(&got, &e->load.all, run->experiment->name);
}

static void muster_many(struct run *run, int n, struct block *out)
{
    struct enqueue *e = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    must(muster_task_enqueue_many(e->client, QUEUE, e->load.tasks, e->load.n, NULL, NULL), "enqueueing");
    stop_meter(run, &m, out);
}

static void muster_serial(struct run *run, int n, struct block *out)
{
    struct enqueue *e = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    for (size_t i = 0; i < e->load.n; i++)
        must(muster_task_enqueue(e->client, QUEUE, e->load.tasks[i].data, e->load.tasks[i].len, NULL), "enqueueing");
    stop_meter(run, &m, out);
}

static void send_next(struct enqueue *e);

static void on_enqueued(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    struct enqueue *e = arg;
    (void)w, (void)waiting;
    must(err, "enqueueing");
    e->answered++;
    if (e->sent < e->load.n)
        send_next(e);
    else if (e->answered == e->load.n)
        event_base_loopbreak(e->worker.base);
}

static void send_next(struct enqueue *e)
{
    const struct muster_bytes *task = &e->load.tasks[e->sent++];
    must(muster_worker_enqueue(e->worker.worker, QUEUE, task->data, task->len, on_enqueued, e), "enqueueing");
}

static void muster_pipelined(struct run *run, int n, struct block *out)
{
    struct enqueue *e = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    e->sent = e->answered = 0;
    while (e->sent < WINDOW)
        send_next(e);
    event_base_dispatch(e->worker.base);
    stop_meter(run, &m, out);
}

static void on_answer(const struct muster_answer *answer, void *arg)
{
    must(answer->err, "enqueueing");
    ((struct enqueue *)arg)->answered++;
}

/* All of them in flight at once; this thread does nothing else meanwhile. */
static void muster_async(struct run *run, int n, struct block *out)
{
    struct enqueue *e = run->state;
    struct pollfd readable = {.fd = muster_async_fd(e->async), .events = POLLIN};
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    e->answered = 0;
    for (size_t i = 0; i < e->load.n; i++)
        must(muster_async_enqueue(e->async, QUEUE, e->load.tasks[i].data, e->load.tasks[i].len, on_answer, e),
             "enqueueing");
    while (e->answered < e->load.n && poll(&readable, 1, -1) >= 0)
        muster_async_dispatch(e->async, 0);
    stop_meter(run, &m, out);
}

/* `n` commands in flight, with the tasks that were laid out for each. */
static void raw_pushes(struct run *run, int n, struct block *out)
{
    struct enqueue *e = run->state;
    struct meter m;
    size_t batch = n == PUSHES_IN_FLIGHT ? load_batch(run->experiment->len) : 1;
    meter_start(&m, run->redis);
    push_all(e, run->redis, batch, (size_t)n);
    stop_meter(run, &m, out);
}

#define BATCHED(count, size, span)                                                                               \
    .seconds = (span), .min_rounds = 3, .tasks = (count), .len = (size), .open = open_batch, .close = close_all, \
    .sides = {                                                                                                   \
        {muster_many, 0},                                                                                        \
        {raw_pushes, PUSHES_IN_FLIGHT},                                                                          \
    }

const struct experiment experiment_enqueue_batch = {.name = "enqueue_batch", BATCHED(10000, 100, 1.5)};
const struct experiment experiment_enqueue_batch_1k = {.name = "enqueue_batch_1k", BATCHED(5000, 1024, 0.7)};
const struct experiment experiment_enqueue_batch_64k = {.name = "enqueue_batch_64k", BATCHED(400, 65536, 0.8)};

#define SERIAL                                                                          \
    .min_rounds = 3, .tasks = 500, .len = 100, .open = open_single, .close = close_all, \
    .sides = {{muster_serial, 0}, {raw_pushes, 1}}

const struct experiment experiment_enqueue_serial = {.name = "enqueue_serial", .seconds = 1.2, SERIAL};
const struct experiment experiment_enqueue_serial_tcp = {
    .name = "enqueue_serial_tcp", .seconds = 0.8, .over_tcp = true, SERIAL};

const struct experiment experiment_enqueue_pipelined = {
    .name = "enqueue_pipelined",
    .seconds = 1,
    .min_rounds = 3,
    .tasks = 5000,
    .len = 100,
    .open = open_pipelined,
    .close = close_all,
    .sides = {{muster_pipelined, 0}, {raw_pushes, WINDOW}},
};

const struct experiment experiment_enqueue_async = {
    .name = "enqueue_async",
    .seconds = 3,
    .min_rounds = 3,
    .tasks = 100000,
    .len = 100,
    .open = open_async,
    .close = close_all,
    .sides = {{muster_async, 0}, {raw_pushes, WINDOW}},
};
