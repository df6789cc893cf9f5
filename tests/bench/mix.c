/* SPDX-License-Identifier: MIT
 *
 * Latency while the machine is busy: eight producers enqueue one task at a time and four workers take them, at half of
 * the load that saturates all of them together with Redis. The raw side does the same by LPUSH and BLMOVE, at the same
 * load.
 *
 * The load is measured at the beginning, with producers of muster's that do not pause. A task's time counts from when it
 * was due, so a producer that is held up does not hide how late its tasks are. The pauses are random, and the same on
 * both sides.
 */
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include "crew.h"
#include "inbox.h"
#include "meter.h"
#include "raw.h"

#define QUEUE "bench"
#define PRODUCERS 8
#define WORKERS 4
#define TASK_LEN 100
#define BLOCKED_S 10 /* far below the limit of a connection */

enum { MUSTER, MOVE };

/* In the shared memory of its process. */
struct producer {
    char url[256], prefix[64], list[RAW_KEY_MAX];
    struct tally sent;
    atomic_int done;
    int control;
    pid_t pid;
};

struct consumer {
    struct inbox inbox;
    char url[256], list[RAW_KEY_MAX], held[RAW_KEY_MAX];
    pid_t pid;
};

/* A pause of 0: as fast as it can. */
struct order {
    int side;
    uint32_t n, seed;
    int64_t first_ns, pause_ns;
};

struct mix {
    struct crew crew;
    struct producer *producers;
    struct consumer *consumers;
    int64_t pause_ns;
};

/* ---- producers ---- */

static void send_by_muster(struct muster_client *client, const char *task)
{
    must(muster_task_enqueue(client, QUEUE, task, TASK_LEN, NULL), "enqueueing");
}

static void send_to_move(struct redisContext *redis, const char *list, const char *task)
{
    raw_do(redis, "LPUSH %s %b", list, task, (size_t)TASK_LEN);
}

static void sleep_until(int64_t at_ns)
{
    const struct timespec at = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void carry_out(struct producer *p, const struct order *o, struct muster_client *client,
                      struct redisContext *redis)
{
    char task[TASK_LEN];
    int64_t at_ns = o->first_ns;
    unsigned seed = o->seed;
    memset(task, 'm', sizeof task);
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->pause_ns > 0) {
            sleep_until(at_ns);
        } else {
            at_ns = now_ns();
        }
        memcpy(task, &at_ns, sizeof at_ns);
        if (o->side == MUSTER)
            send_by_muster(client, task);
        else
            send_to_move(redis, p->list, task);
        tally_add(&p->sent, task, sizeof task);
        at_ns += 2 * o->pause_ns * (rand_r(&seed) % 1000) / 999;
    }
    p->done++;
}

static void produce(void *arg)
{
    struct producer *p = arg;
    const struct muster_client_options options = {.size = sizeof options, .url = p->url, .prefix = p->prefix};
    struct muster_client *client;
    struct order o;
    must(muster_client_new(&client, &options), "making a client");
    struct redisContext *redis = raw_connect(p->url);
    while (read(CHILD_FD, &o, sizeof o) == sizeof o)
        carry_out(p, &o, client, redis);
}

static bool all_are_done(void *arg)
{
    const struct mix *m = arg;
    int n = 0;
    for (int i = 0; i < PRODUCERS; i++)
        n += m->producers[i].done;
    return n == PRODUCERS;
}

/* Returns all that they have sent. */
static struct tally send_all(struct mix *m, int side, uint32_t n, int64_t pause_ns)
{
    struct tally sent = {0};
    int64_t start_ns = now_ns() + 2 * pause_ns;
    for (int i = 0; i < PRODUCERS; i++) {
        struct producer *p = &m->producers[i];
        const struct order o = {side, n / PRODUCERS, (uint32_t)i, start_ns + pause_ns * i / PRODUCERS, pause_ns};
        p->sent = (struct tally){0};
        p->done = 0;
        if (write(p->control, &o, sizeof o) != sizeof o)
            fail("a producer is gone");
    }
    await(all_are_done, m, "all producers are done");
    for (int i = 0; i < PRODUCERS; i++) {
        sent.count += m->producers[i].sent.count;
        sent.sum += m->producers[i].sent.sum;
    }
    return sent;
}

/* ---- raw consumers ---- */

static void consume(void *arg)
{
    struct consumer *c = arg;
    struct redisContext *redis = raw_connect(c->url);
    for (bool has_one = false;;) {
        if (has_one)
            redisAppendCommand(redis, "RPOP %s", c->held);
        redisAppendCommand(redis, "BLMOVE %s %s RIGHT LEFT %d", c->list, c->held, BLOCKED_S);
        if (has_one)
            freeReplyObject(raw_reply(redis));
        struct redisReply *task = raw_reply(redis);
        has_one = task->type == REDIS_REPLY_STRING;
        if (has_one)
            inbox_receive_stamped(&c->inbox, task->str, task->len);
        freeReplyObject(task);
    }
}

/* ---- blocks ---- */

static void half_load(struct run *run, int side, struct block *out)
{
    struct mix *m = run->state;
    const struct experiment *e = run->experiment;
    struct meter meter;
    meter_start(&meter, run->redis);
    struct tally sent = send_all(m, side, (uint32_t)e->tasks, m->pause_ns);
    struct inbox *boxes = side == MUSTER ? &m->crew.members[0].inbox : &m->consumers[0].inbox;
    size_t stride = side == MUSTER ? sizeof *m->crew.members : sizeof *m->consumers;
    inbox_await(boxes, WORKERS, stride, &sent, e->name, out);
    meter_stop(&meter, e->tasks, 0, out);
}

/* The second time counts: the first one finds everything cold. */
static void measure_load(struct run *run)
{
    struct mix *m = run->state;
    struct block block = {0};
    for (int i = 0; i < 2; i++) {
        m->pause_ns = 0;
        half_load(run, MUSTER, &block);
    }
    m->pause_ns = (int64_t)(2 * PRODUCERS * block.seconds * 1e9 / (double)block.tasks);
}

/* ---- opening and closing ---- */

static void start_producer(struct run *run, struct producer *p)
{
    snprintf(p->url, sizeof p->url, "%s", run->url);
    snprintf(p->prefix, sizeof p->prefix, "%s", run->prefix);
    raw_key(p->list, run->prefix, "raw");
    p->pid = child_start(produce, p, &p->control);
}

static void start_consumer(struct run *run, struct consumer *c, int i)
{
    char name[32];
    snprintf(name, sizeof name, "held%d", i);
    snprintf(c->url, sizeof c->url, "%s", run->url);
    raw_key(c->list, run->prefix, "raw");
    raw_key(c->held, run->prefix, name);
    c->pid = child_start(consume, c, NULL);
}

static void open_mix(struct run *run)
{
    struct mix *m = run->state = calloc(1, sizeof *m);
    if (!m)
        fail("no memory");
    m->producers = shared_make(PRODUCERS * sizeof *m->producers);
    m->consumers = shared_make(WORKERS * sizeof *m->consumers);
    for (int i = 0; i < PRODUCERS; i++)
        start_producer(run, &m->producers[i]);
    for (int i = 0; i < WORKERS; i++)
        start_consumer(run, &m->consumers[i], i);
    crew_start(&m->crew, run,
               &(struct crew_options){.queue = QUEUE, .processes = WORKERS, .workers = 1, .duty = DUTY_STAMPED});
    crew_serve(&m->crew);
    crew_await_idle(&m->crew, run);
    measure_load(run);
}

static void close_mix(struct run *run)
{
    struct mix *m = run->state;
    crew_stop(&m->crew);
    crew_end(&m->crew);
    for (int i = 0; i < PRODUCERS; i++) {
        close(m->producers[i].control);
        child_wait(m->producers[i].pid);
    }
    for (int i = 0; i < WORKERS; i++)
        child_kill(m->consumers[i].pid);
    shared_free(m->producers, PRODUCERS * sizeof *m->producers);
    shared_free(m->consumers, WORKERS * sizeof *m->consumers);
    free(m);
}

const struct experiment experiment_mix = {
    .name = "mix",
    .seconds = 8,
    .min_rounds = 3,
    .tasks = 4000,
    .len = TASK_LEN,
    .open = open_mix,
    .close = close_mix,
    .sides = {{half_load, MUSTER}, {half_load, MOVE}},
};
