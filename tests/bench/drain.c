/* SPDX-License-Identifier: MIT
 *
 * Draining a queue in one process. muster takes and finishes tasks by the whole runtime, with handlers that only look
 * at their task. The raw side is one script with the least that a worker needs: it ends the last batch, takes the next
 * one, and keeps it in a hash under tokens until it is ended.
 *
 * muster's worker holds 400 tasks, with 100 hands unless it has fewer threads. So both sides have four calls on their
 * way, of 100 tasks each.
 */
#include <hiredis/hiredis.h>
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load.h"
#include "meter.h"
#include "own_worker.h"
#include "raw.h"

#define QUEUE "bench"
#define IN_FLIGHT 4
#define BATCH_MAX 50
#define SHA_LEN 40
#define HEAD_LEN 9
#define TOKEN_LEN (HEAD_LEN + 2)

/* A token is a head, which the caller makes, and two digits. */
static const char merged[] = "local n = #ARGV\n"
                             "if n > 2 then redis.call('HDEL', KEYS[2], unpack(ARGV, 3)) end\n"
                             "local tasks = redis.call('RPOP', KEYS[1], ARGV[2])\n"
                             "if not tasks then return {} end\n"
                             "local digits = '00010203040506070809101112131415161718192021222324"
                             "25262728293031323334353637383940414243444546474849'\n"
                             "local head, fields = ARGV[1], {}\n"
                             "for i = 1, #tasks do\n"
                             "  fields[i + i - 1] = head .. string.sub(digits, i + i - 1, i + i)\n"
                             "  fields[i + i] = tasks[i]\n"
                             "end\n"
                             "redis.call('HSET', KEYS[2], unpack(fields))\n"
                             "return tasks\n";

enum { SHA = 1, LIST = 3, SET, HEAD, COUNT, ENDS };

/* A raw call, laid out beforehand; its tokens are written into it. */
struct merged_call {
    const char *argv[ENDS + BATCH_MAX];
    size_t lens[ENDS + BATCH_MAX];
    char head[HEAD_LEN + 1], ends[BATCH_MAX][TOKEN_LEN + 1];
    size_t n_ends;
};

struct drain {
    struct load load;
    struct muster_client *client;
    struct tally tally;
    struct own_worker worker;
    char list[RAW_KEY_MAX], set[RAW_KEY_MAX], sha[SHA_LEN + 1], count[8];
    struct merged_call calls[IN_FLIGHT];
    unsigned number; /* of the next head */
};

/* ---- opening and closing ---- */

static void lay_out(struct drain *d, struct merged_call *call)
{
    const char *const words[] = {"EVALSHA", d->sha, "2", d->list, d->set, call->head, d->count};
    for (size_t i = 0; i < ENDS; i++) {
        call->argv[i] = words[i];
        call->lens[i] = strlen(words[i]);
    }
    call->lens[HEAD] = HEAD_LEN;
    for (size_t i = 0; i < BATCH_MAX; i++) {
        call->argv[ENDS + i] = call->ends[i];
        call->lens[ENDS + i] = TOKEN_LEN;
    }
}

static void open_drain(struct run *run)
{
    struct drain *d = run->state = calloc(1, sizeof *d);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!d)
        fail("no memory");
    load_make(&d->load, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&d->client, &options), "making a client");
    raw_key(d->list, run->prefix, "queues:" QUEUE);
    raw_key(d->set, run->prefix, "processing:raw:" QUEUE);
    raw_load_script(run->redis, merged, d->sha);
    snprintf(d->count, sizeof d->count, "%zu", load_batch(run->experiment->len));
    for (size_t i = 0; i < IN_FLIGHT; i++)
        lay_out(d, &d->calls[i]);
}

static void close_drain(struct run *run)
{
    struct drain *d = run->state;
    muster_client_free(d->client);
    load_clear(&d->load);
    free(d);
}

/* ---- blocks ---- */

static void fill(struct drain *d)
{
    must(muster_task_enqueue_many(d->client, QUEUE, d->load.tasks, d->load.n, NULL, NULL), "filling the queue");
}

static void check(struct run *run)
{
    struct drain *d = run->state;
    tally_check(&d->tally, &d->load.all, run->experiment->name);
    int64_t left = raw_integer(run->redis, "LLEN %s", d->list) + raw_integer(run->redis, "HLEN %s", d->set);
    if (left > 0)
        fail("%s: %lld tasks are left", run->experiment->name, (long long)left);
}

static enum muster_outcome look(struct muster_process *p, void *arg)
{
    struct drain *d = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    tally_add(&d->tally, task, len);
    if (d->tally.count == d->load.n)
        muster_worker_stop(muster_process_worker(p), -1);
    return MUSTER_FINISH;
}

/* The clock runs until the worker has deregistered, when all ends are confirmed. */
static void muster_drain(struct run *run, int batch, struct block *out)
{
    struct drain *d = run->state;
    struct meter m;
    int threads = run->experiment->threads, hands = threads ? threads : batch;
    const struct muster_worker_options options = {
        .hands = hands, .prefetch = IN_FLIGHT * batch - hands, .threads = threads};
    fill(d);
    own_worker_start(&d->worker, run, &options);
    meter_start(&m, run->redis);
    must(muster_worker_serve(d->worker.worker, QUEUE, 0, look, d), "serving the queue");
    own_worker_run(&d->worker);
    meter_stop(&m, d->load.n, 0, out);
    own_worker_stop(&d->worker);
    check(run);
}

static void append(struct drain *d, struct redisContext *redis, struct merged_call *call)
{
    snprintf(call->head, sizeof call->head, "%0*u", HEAD_LEN, d->number++ % 1000000000);
    redisAppendCommandArgv(redis, (int)(ENDS + call->n_ends), call->argv, call->lens);
}

/* Reads the answer. Its tasks are done now; they are ended when this call is made the next time. */
static void work_off(struct drain *d, struct redisContext *redis, struct merged_call *call)
{
    struct redisReply *tasks = raw_reply(redis);
    call->n_ends = raw_typed(tasks, REDIS_REPLY_ARRAY)->elements;
    if (call->n_ends > BATCH_MAX)
        fail("more tasks were given than asked for: is this another server?");
    for (size_t i = 0; i < tasks->elements; i++) {
        const struct redisReply *task = raw_element(tasks, i, REDIS_REPLY_STRING);
        tally_add(&d->tally, task->str, task->len);
        memcpy(call->ends[i], call->head, HEAD_LEN);
        call->ends[i][HEAD_LEN] = (char)('0' + i / 10);
        call->ends[i][HEAD_LEN + 1] = (char)('0' + i % 10);
    }
    freeReplyObject(tasks);
}

static void raw_drain(struct run *run, int n, struct block *out)
{
    struct drain *d = run->state;
    struct meter m;
    size_t in_flight = 0;
    (void)n;
    fill(d);
    meter_start(&m, run->redis);
    for (; in_flight < IN_FLIGHT; in_flight++)
        append(d, run->redis, &d->calls[in_flight]);
    for (size_t i = 0; in_flight > 0; i = (i + 1) % IN_FLIGHT) {
        work_off(d, run->redis, &d->calls[i]);
        if (d->calls[i].n_ends > 0)
            append(d, run->redis, &d->calls[i]);
        else
            in_flight--;
    }
    meter_stop(&m, d->load.n, 0, out);
    check(run);
}

#define DRAIN(count, size, batch)                                                               \
    .min_rounds = 3, .tasks = (count), .len = (size), .open = open_drain, .close = close_drain, \
    .sides = {                                                                                  \
        {muster_drain, (batch)},                                                                \
        {raw_drain, 0},                                                                         \
    }

const struct experiment experiment_drain = {.name = "drain", .seconds = 3, DRAIN(50000, 100, 100)};
const struct experiment experiment_drain_1k = {.name = "drain_1k", .seconds = 0.8, DRAIN(10000, 1024, 100)};
const struct experiment experiment_drain_64k = {.name = "drain_64k", .seconds = 0.8, DRAIN(400, 65536, 8)};
const struct experiment experiment_drain_tcp = {
    .name = "drain_tcp", .seconds = 1.2, .over_tcp = true, DRAIN(50000, 100, 100)};
const struct experiment experiment_drain_threads = {
    .name = "drain_threads", .seconds = 1.5, .threads = 4, DRAIN(20000, 100, 100)};
