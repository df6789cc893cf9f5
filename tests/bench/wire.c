/* SPDX-License-Identifier: MIT
 *
 * muster's own connection against hiredis', both on libevent: small commands with so many unanswered, in time and in
 * this process' CPU; the same of muster's own through TLS against without; and the hop of a message from PUBLISH to a subscriber's callback in another process.
 */
#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "child.h"
#include "inbox.h"
#include "meter.h"
#include "raw.h"
#include "raw_async.h"
#include "redis/link.h"

#define WINDOW 50
#define SILENCE_MS 10000

enum { OWN, RAW, KINDS, TLS = KINDS };

/* A subscriber: shared with its process. */
struct ear {
    struct inbox inbox;
    atomic_bool is_listening;
    char url[256], channel[RAW_KEY_MAX];
    struct link *link; /* the child's own */
};

struct wire_bench {
    struct event_base *base;
    struct link *link;      /* the one that is measured now */
    struct link *own, *tls; /* NULL: not compared */
    struct redisAsyncContext *raw;
    struct ear *ears; /* by kind */
    pid_t pids[KINDS];
    char key[RAW_KEY_MAX];
    size_t n, sent, answered;
    bool is_up;
};

static void on_down(void *arg, int err, const char *text)
{
    (void)arg, (void)err;
    fail("Redis went away: %s", text);
}

static struct link *connect_link(struct event_base *base, const char *text, struct link_callbacks callbacks, void *arg)
{
    struct url url;
    const char *why;
    struct link *l;
    must(url_parse(&url, text, &why), "reading the URL");
    callbacks.down = on_down;
    must(link_new(&l, &(struct link_options){.base = base,
                                             .url = &url,
                                             .prefix = "{bench}",
                                             .root_key = "{bench}:",
                                             .name = "bench",
                                             .delay_max_ms = 1,
                                             .silence_ms = SILENCE_MS,
                                             .callbacks = callbacks,
                                             .arg = arg}),
         "making a link");
    url_clear(&url);
    link_connect(l);
    return l;
}

/* ---- commands ---- */

static void on_up(void *arg)
{
    struct wire_bench *b = arg;
    b->is_up = true;
    event_base_loopbreak(b->base);
}

static void note_answer(struct wire_bench *b, bool is_good)
{
    if (!is_good)
        fail("a command was refused");
    if (++b->answered == b->n)
        event_base_loopbreak(b->base);
}

static void send_own(struct wire_bench *b);

static void on_own(const struct redisReply *reply, void *arg)
{
    struct wire_bench *b = arg;
    if (b->sent < b->n)
        send_own(b);
    note_answer(b, reply_integer(reply) > 0);
}

static void send_own(struct wire_bench *b)
{
    struct command c = COMMAND_EMPTY;
    command_text(&c, "STRLEN");
    command_text(&c, b->key);
    must(link_call(b->link, &c, on_own, b), "calling");
    command_clear(&c);
    b->sent++;
}

static void send_raw(struct wire_bench *b);

static void on_raw(redisAsyncContext *context, void *reply, void *arg)
{
    struct wire_bench *b = arg;
    const struct redisReply *r = reply;
    (void)context;
    if (b->sent < b->n)
        send_raw(b);
    note_answer(b, r && r->type == REDIS_REPLY_INTEGER && r->integer > 0);
}

static void send_raw(struct wire_bench *b)
{
    const char *argv[] = {"STRLEN", b->key};
    const size_t lens[] = {strlen("STRLEN"), strlen(b->key)};
    redisAsyncCommandArgv(b->raw, on_raw, b, 2, argv, lens);
    b->sent++;
}

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* hiredis' side writes what was sent once in each turn of the loop, as a link does. */
static void pipeline(struct run *run, int kind, struct block *out)
{
    struct wire_bench *b = run->state;
    struct meter m;
    b->n = run->experiment->tasks;
    b->link = kind == TLS ? b->tls : b->own;
    b->sent = b->answered = 0;
    meter_start(&m, run->redis);
    double before_us = cpu_us();
    for (int i = 0; i < WINDOW; i++)
        if (kind == RAW)
            send_raw(b);
        else
            send_own(b);
    while (b->answered < b->n) {
        if (kind == RAW)
            raw_async_flush(b->raw);
        event_base_loop(b->base, EVLOOP_ONCE);
    }
    double used_us = cpu_us() - before_us;
    meter_stop(&m, b->n, 0, out);
    out->value = used_us / (double)b->n;
}

/* ---- messages ---- */

static void hear_own(void *arg, const char *channel, struct muster_bytes message)
{
    struct ear *e = arg;
    (void)channel;
    inbox_receive_stamped(&e->inbox, message.data, message.len);
}

static void on_subscribed(void *arg)
{
    struct ear *e = arg;
    e->is_listening = true;
}

static void subscribe_on_up(void *arg)
{
    struct ear *e = arg;
    must(link_subscribe(e->link, WIRE_CLASSIC, e->channel), "subscribing");
}

static void run_own(void *arg)
{
    struct ear *e = arg;
    struct event_base *base = event_base_new();
    e->link = connect_link(
        base, e->url, (struct link_callbacks){.up = subscribe_on_up, .subscribed = on_subscribed, .message = hear_own},
        e);
    event_base_dispatch(base);
}

static void hear_raw(redisAsyncContext *context, void *reply, void *arg)
{
    struct ear *e = arg;
    const struct redisReply *r = reply;
    (void)context;
    if (strcmp(raw_element(r, 0, REDIS_REPLY_STRING)->str, "message") != 0)
        e->is_listening = true;
    else
        inbox_receive_stamped(&e->inbox, r->element[2]->str, r->element[2]->len);
}

static void run_raw(void *arg)
{
    struct ear *e = arg;
    struct event_base *base = event_base_new();
    redisAsyncContext *context = raw_async_connect(base, e->url);
    redisAsyncCommand(context, hear_raw, e, "SUBSCRIBE %s", e->channel);
    event_base_dispatch(base);
}

static bool is_listening(void *arg)
{
    struct ear *e = arg;
    return e->is_listening;
}

static void publish(void *arg, const void *task, size_t len)
{
    struct ear *e = ((void **)arg)[0];
    struct redisContext *redis = ((void **)arg)[1];
    const char *argv[] = {"PUBLISH", e->channel, task};
    const size_t lens[] = {strlen("PUBLISH"), strlen(e->channel), len};
    redisAppendCommandArgv(redis, 3, argv, lens);
    freeReplyObject(raw_reply(redis));
}

static void hop(struct run *run, int kind, struct block *out)
{
    struct wire_bench *b = run->state;
    void *to[] = {&b->ears[kind], run->redis};
    const struct sender sender = {publish, to, run->experiment->name, run->experiment->rest_us};
    struct meter m;
    meter_start(&m, run->redis);
    inbox_exchange(&b->ears[kind].inbox, 1, 0, &sender, run->experiment->tasks, run->experiment->len, out);
    meter_stop(&m, run->experiment->tasks, 0, out);
}

/* ---- opening and closing ---- */

static struct wire_bench *new_bench(struct run *run)
{
    struct wire_bench *b = run->state = calloc(1, sizeof *b);
    if (!b)
        fail("no memory");
    return b;
}

static struct link *open_link(struct wire_bench *b, const char *url)
{
    b->is_up = false;
    struct link *l = connect_link(b->base, url, (struct link_callbacks){.up = on_up}, b);
    while (!b->is_up)
        event_base_loop(b->base, EVLOOP_ONCE);
    return l;
}

static void open_pipeline(struct run *run)
{
    struct wire_bench *b = new_bench(run);
    raw_key(b->key, run->prefix, "value");
    freeReplyObject(redisCommand(run->redis, "SET %s text", b->key));
    b->base = event_base_new();
    b->own = open_link(b, run->url);
    if (run->experiment->with_tls)
        b->tls = open_link(b, run->url_tls);
    else
        b->raw = raw_async_connect(b->base, run->url);
}

/* hiredis' connection ends with the process, as raw_async.h says; its events go with the loop. */
static void close_pipeline(struct run *run)
{
    struct wire_bench *b = run->state;
    link_free(b->own);
    link_free(b->tls);
    free(b);
}

static void open_hop(struct run *run)
{
    static void (*const runs[])(void *arg) = {run_own, run_raw};
    struct wire_bench *b = new_bench(run);
    b->ears = shared_make(KINDS * sizeof *b->ears);
    for (int kind = OWN; kind < KINDS; kind++) {
        struct ear *e = &b->ears[kind];
        snprintf(e->url, sizeof e->url, "%s", run->url);
        raw_key(e->channel, run->prefix, kind == OWN ? "own" : "raw");
        b->pids[kind] = child_start(runs[kind], e, NULL);
        await(is_listening, e, "a subscriber listens");
    }
}

static void close_hop(struct run *run)
{
    struct wire_bench *b = run->state;
    for (int kind = OWN; kind < KINDS; kind++)
        child_kill(b->pids[kind]);
    shared_free(b->ears, KINDS * sizeof *b->ears);
    free(b);
}

const struct experiment experiment_wire = {
    .name = "wire",
    .seconds = 3,
    .min_rounds = 5,
    .tasks = 20000,
    .open = open_pipeline,
    .close = close_pipeline,
    .sides = {{pipeline, OWN}, {pipeline, RAW}},
};
const struct experiment experiment_wire_tls = {
    .name = "wire_tls",
    .seconds = 3,
    .min_rounds = 5,
    .over_tcp = true,
    .with_tls = true,
    .tasks = 20000,
    .open = open_pipeline,
    .close = close_pipeline,
    .sides = {{pipeline, TLS}, {pipeline, OWN}},
};
const struct experiment experiment_wire_hop = {
    .name = "wire_hop",
    .seconds = 3,
    .min_rounds = 5,
    .tasks = 300,
    .len = 100,
    .open = open_hop,
    .close = close_hop,
    .sides = {{hop, OWN}, {hop, RAW}},
};
