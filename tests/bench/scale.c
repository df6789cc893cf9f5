/* SPDX-License-Identifier: MIT
 *
 * Whether a task costs more because many others wait. Batches are enqueued to and drained from a queue in which 1 000
 * tasks wait, one in which 10 000 000 wait, and 1 000 served queues in each of which 1 000 wait.
 *
 * Each of the three sides has a worker of its own for all blocks. Between blocks the worker's handlers keep the tasks
 * they have; opening the gate ends those. In a block as many tasks come out as go in, but not the same ones. So both
 * are counted, and compared at the end together with the tasks that are left.
 */
#include <event2/event.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "load.h"
#include "meter.h"
#include "own_worker.h"
#include "raw.h"

#define FEW 1000
#define MANY 10000000
#define BATCHES 10
#define WIDE_QUEUES 1000
#define HANDS 100
/* No heartbeat is due while a worker's loop stands still. */
#define HOUR_MS (3600 * 1000)

enum { SMALL, DEEP, WIDE, SETS };

/*
 *   queues     named by a letter and a number; a batch goes to every tenth one from `next` on, since the worker takes
 *              from them in turn, and ten takes empty what one batch fills
 *   in, out    all that was enqueued and ended
 *   until      the count at which the gate closes
 *   held       by handlers, while it is closed
 */
struct set {
    char letter;
    int n_queues, next;
    struct own_worker worker;
    struct tally in, out;
    uint64_t until;
    struct muster_process *held[HANDS];
    size_t n_held;
    bool is_closing; /* what starts from now on goes back, or the worker's stop would wait for it */
};

struct scale {
    struct load batch;
    struct muster_client *client;
    struct set sets[SETS];
};

static void name_queue(char out[16], const struct set *s, int i)
{
    snprintf(out, 16, "%c%d", s->letter, i % s->n_queues);
}

static void enqueue_batch(struct scale *s, struct set *set, int queue)
{
    char name[16];
    name_queue(name, set, queue);
    must(muster_task_enqueue_many(s->client, name, s->batch.tasks, s->batch.n, NULL, NULL), "enqueueing");
    set->in.count += s->batch.all.count;
    set->in.sum += s->batch.all.sum;
}

/* ---- the gate ---- */

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    struct set *s = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    if (s->is_closing)
        return MUSTER_GIVE_BACK;
    if (s->out.count >= s->until) {
        s->held[s->n_held++] = p;
        return MUSTER_LATER;
    }
    tally_add(&s->out, task, len);
    return MUSTER_FINISH;
}

/* Ends the tasks that are held. Finished tasks have come out. */
static void release(struct set *s, enum muster_outcome outcome)
{
    for (size_t n = s->n_held; n > 0; n--) {
        struct muster_process *p = s->held[n - 1];
        size_t len;
        const void *task = muster_process_task(p, &len);
        if (outcome == MUSTER_FINISH)
            tally_add(&s->out, task, len);
        s->n_held = n - 1;
        must(muster_process_end(p, outcome), "ending a process");
    }
}

/* Runs until the gate is closed again, with all hands full. */
static void run_gate(struct set *s)
{
    while (s->n_held < HANDS)
        if (event_base_loop(s->worker.base, EVLOOP_ONCE) != 0)
            fail("a worker's loop ended by itself");
}

/* ---- opening and closing ---- */

static void start_worker(struct run *run, struct set *s)
{
    char name[16];
    own_worker_start(
        &s->worker, run,
        &(struct muster_worker_options){.hands = HANDS, .prefetch = 3 * HANDS, .in_turn = 1, .ttl_ms = HOUR_MS});
    for (int i = 0; i < s->n_queues; i++) {
        name_queue(name, s, i);
        must(muster_worker_serve(s->worker.worker, name, 0, handle, s), "serving a queue");
    }
    run_gate(s);
}

static void open_scale(struct run *run)
{
    struct scale *s = run->state = calloc(1, sizeof *s);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!s)
        fail("no memory");
    s->sets[SMALL] = (struct set){.letter = 's', .n_queues = 1};
    s->sets[DEEP] = (struct set){.letter = 'd', .n_queues = 1};
    s->sets[WIDE] = (struct set){.letter = 'w', .n_queues = WIDE_QUEUES};
    load_make(&s->batch, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&s->client, &options), "making a client");
    enqueue_batch(s, &s->sets[SMALL], 0);
    for (size_t i = 0; i < MANY / s->batch.n; i++)
        enqueue_batch(s, &s->sets[DEEP], 0);
    for (int i = 0; i < WIDE_QUEUES; i++)
        enqueue_batch(s, &s->sets[WIDE], i);
    for (size_t i = 0; i < SETS; i++)
        start_worker(run, &s->sets[i]);
}

/* What waits, and what has come back. */
static void settle(struct run *run, struct set *s)
{
    char name[32], key[RAW_KEY_MAX], queue[16];
    for (int i = 0; i < s->n_queues; i++) {
        name_queue(queue, s, i);
        snprintf(name, sizeof name, "queues:%s", queue);
        raw_key(key, run->prefix, name);
        raw_collect(run->redis, key, &s->out);
        snprintf(name, sizeof name, "home:*:%s", queue);
        raw_key(key, run->prefix, name);
        raw_collect_hashes(run->redis, key, &s->out);
    }
    tally_check(&s->out, &s->in, "scale");
}

static void close_scale(struct run *run)
{
    struct scale *s = run->state;
    for (size_t i = 0; i < SETS; i++) {
        s->sets[i].is_closing = true;
        release(&s->sets[i], MUSTER_GIVE_BACK);
        own_worker_stop(&s->sets[i].worker);
        settle(run, &s->sets[i]);
    }
    muster_client_free(s->client);
    load_clear(&s->batch);
    free(s);
}

/* ---- blocks ---- */

static void batches(struct run *run, int which, struct block *out)
{
    struct scale *s = run->state;
    struct set *set = &s->sets[which];
    struct meter m;
    size_t tasks = BATCHES * s->batch.n;
    meter_start(&m, run->redis);
    for (int i = 0; i < BATCHES; i++)
        enqueue_batch(s, set, set->next + 10 * i);
    set->next += 10 * BATCHES;
    set->until = set->out.count + tasks;
    release(set, MUSTER_FINISH);
    run_gate(set);
    meter_stop(&m, tasks, 0, out);
}

const struct experiment experiment_scale = {
    .name = "scale",
    .seconds = 30,
    .min_rounds = 5,
    .tasks = FEW,
    .len = 100,
    .open = open_scale,
    .close = close_scale,
    .sides = {{batches, DEEP}, {batches, SMALL}, {batches, WIDE}},
};
