/* SPDX-License-Identifier: MIT
 *
 * The time from the producer's call in this process to the handler's in another one that was idle. This compares
 * muster's enqueue; the bare hop, PUBLISH to a subscriber's callback, which is the least for anything that uses
 * pub/sub; LPUSH and PUBLISH with a consumer that takes by a script when it is woken, which is how such a queue is
 * usually built; and a consumer that waits in BLMOVE.
 */
#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "child.h"
#include "crew.h"
#include "inbox.h"
#include "meter.h"
#include "raw.h"
#include "raw_async.h"

#define QUEUE "bench"
#define NAME_MAX_LEN RAW_KEY_MAX

/* Moves one task into a hash, under a token that the caller makes. */
static const char take_one[] = "local task = redis.call('RPOP', KEYS[1])\n"
                               "if task then redis.call('HSET', KEYS[2], ARGV[1], task) end\n"
                               "return task\n";

enum { MUSTER, HOP, TAKE, MOVE, KINDS };

/* A consumer without muster: shared with its process. */
struct consumer {
    struct inbox inbox;
    atomic_bool listening;
    char url[256], sha[41];
    char channel[NAME_MAX_LEN], list[NAME_MAX_LEN], held[NAME_MAX_LEN];
    /* the child's own */
    struct redisAsyncContext *data;
    unsigned token;
};

struct wake {
    struct muster_client *client;
    struct crew crew;
    struct consumer *consumers; /* by kind; muster's place is not used */
    pid_t pids[KINDS];
    struct redisContext *redis;
};

/* ---- consumers ---- */

static void receive(struct consumer *c, const struct redisReply *task)
{
    if (task->type == REDIS_REPLY_ERROR)
        fail("Redis refused: %s", task->str);
    if (task->type == REDIS_REPLY_STRING && task->len >= sizeof(int64_t))
        inbox_receive_stamped(&c->inbox, task->str, task->len);
}

static void on_taken(redisAsyncContext *context, void *reply, void *arg)
{
    struct consumer *c = arg;
    receive(c, reply);
    redisAsyncCommand(context, NULL, NULL, "HDEL %s %u", c->held, c->token++);
    raw_async_flush(context);
}

/* What a message is to a consumer: the task itself, or a reason to take. */
static void on_message(redisAsyncContext *context, void *reply, void *arg)
{
    struct consumer *c = arg;
    const struct redisReply *r = reply;
    (void)context;
    if (r->type == REDIS_REPLY_ERROR)
        fail("Redis refused: %s", r->str);
    if (strcmp(raw_element(r, 0, REDIS_REPLY_STRING)->str, "message") != 0) {
        c->listening = true;
    } else if (c->data) {
        redisAsyncCommand(c->data, on_taken, c, "EVALSHA %s 2 %s %s %u", c->sha, c->list, c->held, c->token);
        raw_async_flush(c->data);
    } else {
        receive(c, raw_element(r, 2, REDIS_REPLY_STRING));
    }
}

static void subscribe(struct consumer *c, struct event_base *base)
{
    redisAsyncCommand(raw_async_connect(base, c->url), on_message, c, "SUBSCRIBE %s", c->channel);
    event_base_dispatch(base);
}

static void run_hop(void *arg)
{
    subscribe(arg, event_base_new());
}

static void run_take(void *arg)
{
    struct consumer *c = arg;
    struct event_base *base = event_base_new();
    c->data = raw_async_connect(base, c->url);
    subscribe(c, base);
}

static void wait_in_move(struct consumer *c);

static void on_moved(redisAsyncContext *context, void *reply, void *arg)
{
    struct consumer *c = arg;
    receive(c, reply);
    redisAsyncCommand(context, NULL, NULL, "RPOP %s", c->held);
    wait_in_move(c);
    raw_async_flush(context);
}

static void wait_in_move(struct consumer *c)
{
    redisAsyncCommand(c->data, on_moved, c, "BLMOVE %s %s RIGHT LEFT 0", c->list, c->held);
}

static void run_move(void *arg)
{
    struct consumer *c = arg;
    struct event_base *base = event_base_new();
    c->data = raw_async_connect(base, c->url);
    wait_in_move(c);
    c->listening = true;
    event_base_dispatch(base);
}

static bool is_listening(void *arg)
{
    struct consumer *c = arg;
    return c->listening;
}

static void start_consumer(struct run *run, int kind, void (*consume)(void *arg))
{
    struct wake *w = run->state;
    struct consumer *c = &w->consumers[kind];
    char name[32];
    snprintf(c->url, sizeof c->url, "%s", run->url);
    raw_load_script(run->redis, take_one, c->sha);
    snprintf(name, sizeof name, "raw%d", kind);
    raw_key(c->list, run->prefix, name);
    raw_key(c->channel, run->prefix, name);
    snprintf(name, sizeof name, "held%d", kind);
    raw_key(c->held, run->prefix, name);
    w->pids[kind] = child_start(consume, c, NULL);
    await(is_listening, c, "a consumer listens");
}

/* ---- opening and closing ---- */

static void open_wake(struct run *run)
{
    struct wake *w = run->state = calloc(1, sizeof *w);
    const struct muster_client_options options = {.size = sizeof options, .url = run->url, .prefix = run->prefix};
    if (!w)
        fail("no memory");
    w->redis = run->redis;
    w->consumers = shared_make(KINDS * sizeof *w->consumers);
    start_consumer(run, HOP, run_hop);
    start_consumer(run, TAKE, run_take);
    start_consumer(run, MOVE, run_move);
    crew_start(&w->crew, run,
               &(struct crew_options){.queue = QUEUE, .processes = 1, .workers = 1, .duty = DUTY_STAMPED});
    crew_serve(&w->crew);
    crew_await_idle(&w->crew, run);
    must(muster_client_new(&w->client, &options), "making a client");
}

static void close_wake(struct run *run)
{
    struct wake *w = run->state;
    crew_stop(&w->crew);
    crew_end(&w->crew);
    for (int kind = HOP; kind < KINDS; kind++)
        child_kill(w->pids[kind]);
    shared_free(w->consumers, KINDS * sizeof *w->consumers);
    muster_client_free(w->client);
    free(w);
}

/* ---- senders and blocks ---- */

static void send_by_muster(void *arg, const void *task, size_t len)
{
    struct wake *w = arg;
    must(muster_task_enqueue(w->client, QUEUE, task, len, NULL), "enqueueing");
}

static void append(struct wake *w, const char *command, const char *key, const void *task, size_t len)
{
    const char *argv[] = {command, key, task};
    const size_t lens[] = {strlen(command), strlen(key), len};
    redisAppendCommandArgv(w->redis, 3, argv, lens);
}

static void send_by_hop(void *arg, const void *task, size_t len)
{
    struct wake *w = arg;
    append(w, "PUBLISH", w->consumers[HOP].channel, task, len);
    freeReplyObject(raw_reply(w->redis));
}

static void send_to_take(void *arg, const void *task, size_t len)
{
    struct wake *w = arg;
    append(w, "LPUSH", w->consumers[TAKE].list, task, len);
    append(w, "PUBLISH", w->consumers[TAKE].channel, "1", 1);
    freeReplyObject(raw_reply(w->redis));
    freeReplyObject(raw_reply(w->redis));
}

static void send_to_move(void *arg, const void *task, size_t len)
{
    struct wake *w = arg;
    append(w, "LPUSH", w->consumers[MOVE].list, task, len);
    freeReplyObject(raw_reply(w->redis));
}

static void exchange(struct run *run, int kind, struct block *out)
{
    static void (*const sends[])(void *arg, const void *task, size_t len) = {send_by_muster, send_by_hop, send_to_take,
                                                                             send_to_move};
    const struct experiment *e = run->experiment;
    struct wake *w = run->state;
    struct inbox *box = kind == MUSTER ? &w->crew.members[0].inbox : &w->consumers[kind].inbox;
    const struct sender sender = {sends[kind], w, e->name, e->rest_us};
    struct meter m;
    meter_start(&m, run->redis);
    inbox_exchange(box, 1, 0, &sender, e->tasks, e->len, out);
    meter_stop(&m, e->tasks, 0, out);
}

#define WAKE .min_rounds = 3, .len = 100, .open = open_wake, .close = close_wake

const struct experiment experiment_wake = {
    .name = "wake",
    .seconds = 5,
    .tasks = 300,
    WAKE,
    .sides = {{exchange, MUSTER}, {exchange, HOP}, {exchange, TAKE}, {exchange, MOVE}},
};
/* Between two tasks, all three processes sleep so long that other work has their caches. */
const struct experiment experiment_wake_cold = {
    .name = "wake_cold",
    .seconds = 6,
    .tasks = 100,
    .rest_us = 3000,
    WAKE,
    .sides = {{exchange, MUSTER}, {exchange, HOP}, {exchange, MOVE}},
};
const struct experiment experiment_wake_tcp = {
    .name = "wake_tcp",
    .seconds = 1.2,
    .over_tcp = true,
    .tasks = 300,
    WAKE,
    .sides = {{exchange, MUSTER}, {exchange, HOP}},
};
