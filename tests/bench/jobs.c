/* SPDX-License-Identifier: MIT
 *
 * Jobs: putting them one by one while nobody is idle, compared with writing a record and a place in a sorted set by
 * hand in one round trip; draining them; and how late scheduled ones start.
 */
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <muster/job.h>
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "crew.h"
#include "inbox.h"
#include "load.h"
#include "meter.h"
#include "own_worker.h"
#include "raw.h"

#define QUEUE "bench"
#define HANDS 100
#define ID_LEN 16
#define BATCH 100
/* The first one is due when the last one has long been put. */
#define DELAY_MIN_MS 150

struct jobs {
    struct load load;
    struct muster_client *client;
    struct tally tally;
    struct own_worker worker;
    struct crew crew; /* only of the scheduled ones */
    char index[RAW_KEY_MAX];
    unsigned number; /* of the next id */
};

/* ---- opening and closing ---- */

static void open_jobs(struct run *run)
{
    struct jobs *j = run->state = calloc(1, sizeof *j);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!j)
        fail("no memory");
    load_make(&j->load, run->experiment->tasks, run->experiment->len);
    must(muster_client_new(&j->client, &options), "making a client");
    raw_key(j->index, run->prefix, "waiting:" QUEUE);
}

static void close_jobs(struct run *run)
{
    struct jobs *j = run->state;
    muster_client_free(j->client);
    load_clear(&j->load);
    free(j);
}

/* ---- putting ---- */

static void name_next(struct jobs *j, char id[ID_LEN])
{
    snprintf(id, ID_LEN, "job-%09u", j->number++ % 1000000000);
}

static void put(struct jobs *j, struct muster_bytes data, int64_t delay_ms)
{
    char id[ID_LEN];
    const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = data, .delay_ms = delay_ms};
    name_next(j, id);
    must(muster_job_put(j->client, QUEUE, &spec, NULL), "putting a job");
}

static void put_all(struct jobs *j)
{
    for (size_t i = 0; i < j->load.n; i++)
        put(j, j->load.tasks[i], 0);
}

/* In calls of a hundred. */
static void put_many(struct jobs *j)
{
    char ids[BATCH][ID_LEN];
    struct muster_job_spec specs[BATCH];
    const struct muster_job_spec *pointers[BATCH];
    for (size_t i = 0; i < j->load.n; i += BATCH) {
        size_t n = j->load.n - i < BATCH ? j->load.n - i : BATCH;
        for (size_t k = 0; k < n; k++) {
            name_next(j, ids[k]);
            specs[k] = (struct muster_job_spec){.size = sizeof *specs, .id = ids[k], .data = j->load.tasks[i + k]};
            pointers[k] = &specs[k];
        }
        must(muster_job_put_many(j->client, QUEUE, pointers, n, NULL, NULL), "putting many jobs");
    }
}

/* Collects what waits, by the index and each record's data, and removes it. `id_at`: where a member's id begins. */
static void collect(struct run *run, size_t id_at)
{
    struct jobs *j = run->state;
    struct redisReply *members = raw_command(run->redis, "ZRANGE %s 0 -1", j->index);
    raw_typed(members, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < members->elements; i++) {
        const struct redisReply *member = raw_element(members, i, REDIS_REPLY_STRING);
        const char *id = member->str + (id_at < member->len ? id_at : member->len);
        struct redisReply *data = raw_command(run->redis, "HGET %s:job:%s data", run->prefix, id);
        if (data->type != REDIS_REPLY_STRING)
            fail("%s: a job without data", run->experiment->name);
        tally_add(&j->tally, data->str, data->len);
        freeReplyObject(data);
    }
    freeReplyObject(members);
    tally_check(&j->tally, &j->load.all, run->experiment->name);
    raw_remove(run->redis, run->prefix);
}

#define PLACE_LEN 11

static void muster_puts(struct run *run, int n, struct block *out)
{
    struct jobs *j = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    put_all(j);
    meter_stop(&m, j->load.n, 0, out);
    collect(run, PLACE_LEN);
}

static void muster_puts_many(struct run *run, int n, struct block *out)
{
    struct jobs *j = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    put_many(j);
    meter_stop(&m, j->load.n, 0, out);
    collect(run, PLACE_LEN);
}

static void raw_append(struct run *run, struct jobs *j, size_t i)
{
    char id[ID_LEN];
    const struct muster_bytes *data = &j->load.tasks[i];
    name_next(j, id);
    redisAppendCommand(run->redis, "HSET %s:job:%s queue %s state waiting data %b", run->prefix, id, QUEUE, data->data,
                       data->len);
    redisAppendCommand(run->redis, "ZADD %s 0 %s", j->index, id);
}

static void raw_read(struct run *run, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++)
        freeReplyObject(raw_reply(run->redis));
}

/* As many in one write, one write after the other. */
static void raw_puts_many(struct run *run, int n, struct block *out)
{
    struct jobs *j = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    for (size_t i = 0, k = 0; i < j->load.n; i++, k++) {
        raw_append(run, j, i);
        if (k == BATCH - 1 || i + 1 == j->load.n) {
            raw_read(run, k + 1);
            k = (size_t)-1;
        }
    }
    meter_stop(&m, j->load.n, 0, out);
    collect(run, 0);
}

static void raw_puts(struct run *run, int n, struct block *out)
{
    struct jobs *j = run->state;
    struct meter m;
    (void)n;
    meter_start(&m, run->redis);
    for (size_t i = 0; i < j->load.n; i++) {
        raw_append(run, j, i);
        raw_read(run, 1);
    }
    meter_stop(&m, j->load.n, 0, out);
    collect(run, 0);
}

/* ---- draining ---- */

static enum muster_outcome look(struct muster_process *p, void *arg)
{
    struct jobs *j = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    tally_add(&j->tally, task, len);
    if (j->tally.count == j->load.n)
        muster_worker_stop(muster_process_worker(p), -1);
    return MUSTER_FINISH;
}

/* As when tasks are drained, all ends are confirmed when the clock stops. */
static void drain(struct run *run, int n, struct block *out)
{
    struct jobs *j = run->state;
    struct meter m;
    put_all(j);
    own_worker_start(&j->worker, run, &(struct muster_worker_options){.hands = n});
    meter_start(&m, run->redis);
    must(muster_worker_serve(j->worker.worker, QUEUE, 0, look, j), "serving the queue");
    own_worker_run(&j->worker);
    meter_stop(&m, j->load.n, 0, out);
    own_worker_stop(&j->worker);
    tally_check(&j->tally, &j->load.all, run->experiment->name);
    int64_t done = raw_integer(run->redis, "ZCARD %s:complete:%s", run->prefix, QUEUE);
    if (done != (int64_t)j->load.n)
        fail("%s: %lld jobs are complete", run->experiment->name, (long long)done);
    raw_remove(run->redis, run->prefix);
}

/* ---- scheduled ones ---- */

static void open_due(struct run *run)
{
    open_jobs(run);
    struct jobs *j = run->state;
    crew_start(&j->crew, run,
               &(struct crew_options){.queue = QUEUE, .processes = 1, .workers = 1, .duty = DUTY_STAMPED});
    crew_serve(&j->crew);
    crew_await_idle(&j->crew, run);
}

static void close_due(struct run *run)
{
    struct jobs *j = run->state;
    crew_stop(&j->crew);
    crew_end(&j->crew);
    close_jobs(run);
}

/* Each is stamped with the time when it is due. They are due at equal distances within half a second. */
static void lateness(struct run *run, int every_ms, struct block *out)
{
    struct jobs *j = run->state;
    struct tally sent = {0};
    struct meter m;
    meter_start(&m, run->redis);
    for (size_t i = 0; i < j->load.n; i++) {
        int64_t delay_ms = DELAY_MIN_MS + (int64_t)i * every_ms, due_ns = now_ns() + delay_ms * 1000000;
        memcpy(j->load.bytes + i * j->load.len, &due_ns, sizeof due_ns);
        tally_add(&sent, j->load.tasks[i].data, j->load.tasks[i].len);
        put(j, j->load.tasks[i], delay_ms);
    }
    inbox_await(&j->crew.members[0].inbox, 1, 0, &sent, run->experiment->name, out);
    meter_stop(&m, j->load.n, 0, out);
}

const struct experiment experiment_jobs_put = {
    .name = "jobs_put",
    .seconds = 1,
    .min_rounds = 3,
    .tasks = 500,
    .len = 100,
    .open = open_jobs,
    .close = close_jobs,
    .sides = {{muster_puts, 0}, {raw_puts, 0}},
};
const struct experiment experiment_jobs_put_many = {
    .name = "jobs_put_many",
    .seconds = 1,
    .min_rounds = 3,
    .tasks = 2000,
    .len = 100,
    .open = open_jobs,
    .close = close_jobs,
    .sides = {{muster_puts_many, 0}, {raw_puts_many, 0}},
};
const struct experiment experiment_jobs_drain = {
    .name = "jobs_drain",
    .seconds = 1,
    .min_rounds = 3,
    .tasks = 1000,
    .len = 100,
    .open = open_jobs,
    .close = close_jobs,
    .sides = {{drain, HANDS}},
};
const struct experiment experiment_jobs_due = {
    .name = "jobs_due",
    .seconds = 2.5,
    .min_rounds = 3,
    .tasks = 100,
    .len = 100,
    .open = open_due,
    .close = close_due,
    .sides = {{lateness, 5}},
};
