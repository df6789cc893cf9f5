/* SPDX-License-Identifier: MIT
 *
 * What Redis works for the hand-over of one task to an idle worker, compared with a script of eleven commands that do
 * next to nothing. The worker's loop stands still while the tasks come, so that Redis carries out nothing else.
 */
#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load.h"
#include "own_worker.h"
#include "raw.h"

#define QUEUE "bench"
#define WORKER "w"
/* No heartbeat is due while the worker's loop stands still. */
#define HOUR_MS (3600 * 1000)

/* As many as a hand-over once had. */
static const char eleven[] = "local e = redis.call\n"
                             "e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1])\n"
                             "e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1])\n"
                             "e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1]) e('EXISTS', KEYS[1])\n"
                             "return 0\n";

struct handover {
    struct load load;
    struct muster_client *client;
    struct own_worker worker;
    struct tally done;
    char sha[41], key[RAW_KEY_MAX];
};

static enum muster_outcome work(struct muster_process *p, void *arg)
{
    struct handover *h = arg;
    size_t len;
    const char *task = muster_process_task(p, &len);
    tally_add(&h->done, task, len);
    return MUSTER_FINISH;
}

static bool is_idle(struct run *run)
{
    return raw_integer(run->redis, "EVAL %s 1 %s",
                       "return redis.call('HGET', KEYS[1] .. ':worker:" WORKER "', 'held') == '0' and "
                       "redis.call('ZCARD', KEYS[1] .. ':idle:" QUEUE "') or 0",
                       run->prefix) == 1;
}

/* Lets the worker do all that it was handed. */
static void await_idle(struct run *run)
{
    struct handover *h = run->state;
    while (!is_idle(run))
        if (event_base_loop(h->worker.base, EVLOOP_NONBLOCK) < 0)
            fail("a worker's loop ended by itself");
}

static void open_handover(struct run *run)
{
    struct handover *h = run->state = calloc(1, sizeof *h);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!h)
        fail("no memory");
    load_make(&h->load, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&h->client, &options), "making a client");
    own_worker_start(&h->worker, run,
                     &(struct muster_worker_options){.id = WORKER, .hands = (int)h->load.n + 1, .ttl_ms = HOUR_MS});
    must(muster_worker_serve(h->worker.worker, QUEUE, 0, work, h), "serving the queue");
    raw_load_script(run->redis, eleven, h->sha);
    raw_key(h->key, run->prefix, "none");
    await_idle(run);
    must(muster_task_enqueue(h->client, QUEUE, "first", 5, NULL), "enqueueing"); /* Redis knows the script then */
    await_idle(run);
}

static void close_handover(struct run *run)
{
    struct handover *h = run->state;
    own_worker_stop(&h->worker);
    muster_client_free(h->client);
    load_clear(&h->load);
    free(h);
}

static void hand_over_all(struct run *run)
{
    struct handover *h = run->state;
    for (size_t i = 0; i < h->load.n; i++)
        must(muster_task_enqueue(h->client, QUEUE, h->load.tasks[i].data, h->load.tasks[i].len, NULL), "enqueueing");
}

static void call_eleven(struct run *run)
{
    struct handover *h = run->state;
    for (size_t i = 0; i < h->load.n; i++)
        freeReplyObject(raw_command(run->redis, "EVALSHA %s 1 %s", h->sha, h->key));
}

enum { MUSTER, ELEVEN };

static void exchange(struct run *run, int kind, struct block *out)
{
    struct handover *h = run->state;
    h->done = (struct tally){0};
    struct raw_calls before = raw_script_calls(run->redis);
    (kind == MUSTER ? hand_over_all : call_eleven)(run);
    struct raw_calls after = raw_script_calls(run->redis);
    if (after.n - before.n != (int64_t)h->load.n)
        fail("%zu tasks took %lld calls of scripts", h->load.n, (long long)(after.n - before.n));
    out->tasks = h->load.n;
    out->value = (after.us - before.us) / (double)h->load.n;
    await_idle(run);
    if (kind == MUSTER)
        tally_check(&h->done, &h->load.all, run->experiment->name);
}

const struct experiment experiment_handover = {
    .name = "handover",
    .seconds = 1.5,
    .min_rounds = 3,
    .tasks = 500,
    .len = 100,
    .open = open_handover,
    .close = close_handover,
    .sides = {{exchange, MUSTER}, {exchange, ELEVEN}},
};
