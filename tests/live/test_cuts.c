/* SPDX-License-Identifier: MIT
 *
 * Four workers, each a process of its own, connected by a proxy that breaks their connections while tasks keep coming.
 * Nothing is lost, a task runs again only if its worker was told so, and when the fault ends all go on by themselves.
 *
 * The producer does not go through the proxy: what happens to calls without an answer is another test's.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "invariant.h"
#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(600)
#define HEARTBEAT_MS (TTL_MS / 3)
#define BACK_MS slow_ms(2000)
#define SLACK_MS slow_ms(2000)
#define WORKERS 4
#define CUTS 100
#define BATCH 10

struct bench {
    struct scene *scene;
    struct proxy proxy;
    struct worker_process *workers[WORKERS];
    int tasks, probes;
};

/* Each worker has a queue of its own, too: what lies there only it can take. */
static struct worker_process *worker(struct bench *b, const char *id)
{
    return worker_process_idle(
        b->scene, &(struct worker_spec){
                      .id = id, .url = b->proxy.url, .ttl_ms = TTL_MS, .hands = 2, .queues = {{"q", 0}, {id, 0}}});
}

static void bench_start(struct bench *b, struct scene *s)
{
    *b = (struct bench){.scene = s};
    proxy_start(&b->proxy, s->server->dir, s->server->socket);
    for (int i = 0; i < WORKERS; i++) {
        char id[8];
        snprintf(id, sizeof id, "w%d", i);
        b->workers[i] = worker(b, id);
    }
    srand(1);
}

static void load(struct bench *b)
{
    for (int i = 0; i < BATCH; i++) {
        char task[32];
        snprintf(task, sizeof task, "t%d", b->tasks++);
        scene_enqueue(b->scene, "q", task);
    }
}

static void a_random_moment(struct bench *b, int max_ms)
{
    run_loop(b->scene->base, rand() % (max_ms + 1));
}

/* How long until every worker has taken something from its own queue. */
static int back_after(struct bench *b, int64_t since)
{
    char task[32];
    int64_t last = since;
    snprintf(task, sizeof task, "probe%d", b->probes++);
    for (int i = 0; i < WORKERS; i++)
        scene_enqueue(b->scene, b->workers[i]->id, task);
    for (int i = 0; i < WORKERS; i++) {
        const char *q = b->workers[i]->id;
        raw_await(b->scene->server->redis, b->scene->base, 0, "LLEN %s:queues:%s", b->scene->prefix, q);
        raw_await(b->scene->server->redis, b->scene->base, 0, "HLEN %s:processing:%s:%s", b->scene->prefix, q, q);
    }
    for (int i = 0; i < WORKERS; i++) {
        const struct journal_entry *e = journal_find(b->scene->journal, 0, JOURNAL_START, -1, b->workers[i]->id, task);
        assert_non_null(e);
        last = e->at_ms > last ? e->at_ms : last;
    }
    return (int)(last - since);
}

/* Counted from the end of the fault, or from its beginning where only the workers can end it. */
static void assert_back(struct bench *b, const char *fault, int64_t since)
{
    int took = back_after(b, since);
    print_message("%s: all %d workers took work again after %d ms\n", fault, WORKERS, took);
    assert_in_range(took, 0, BACK_MS + SLACK_MS);
}

static void settle(struct bench *b, const char *fault)
{
    struct scene *s = b->scene;
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    struct audit a = audit_finished(s, "t", (size_t)b->tasks);
    print_message("%s: %zu tasks, %zu ran again, %zu ends told uncounted\n", fault, a.tasks, a.again, a.uncounted);
    invariant_assert(s->server->redis, s->prefix);
}

static void bench_stop(struct bench *b)
{
    for (int i = 0; i < WORKERS; i++)
        worker_process_kill(b->workers[i]);
    proxy_stop(&b->proxy);
}

/* ---- cuts at random moments ---- */

static void cut_at_random(struct scene *s, const char *fault, int kinds)
{
    struct bench b;
    bench_start(&b, s);
    for (int n = 0; n < CUTS;) {
        load(&b);
        a_random_moment(&b, 15);
        n += proxy_cut(&b.proxy, kinds);
    }
    int64_t end = now_ms();
    assert_back(&b, fault, end);
    settle(&b, fault);
    struct proxy_counts n = proxy_count(&b.proxy);
    print_message("%s: %d connections cut, %d made\n", fault, n.cut, n.accepted);
    bench_stop(&b);
}

static void data_connections_cut(void **state)
{
    cut_at_random(*state, "data cut", PROXY_DATA);
}

static void subscriptions_cut(void **state)
{
    cut_at_random(*state, "subscriptions cut", PROXY_SUBSCRIPTION);
}

static void both_connections_cut(void **state)
{
    cut_at_random(*state, "both cut", PROXY_BOTH);
}

static void connections_refused_for_two_ttls(void **state)
{
    struct bench b;
    bench_start(&b, *state);
    load(&b);
    proxy_refuse(&b.proxy);
    proxy_cut(&b.proxy, PROXY_BOTH);
    load(&b);
    run_loop(b.scene->base, 2 * TTL_MS);
    proxy_accept(&b.proxy);
    assert_back(&b, "refused for 2 ttl", now_ms());
    settle(&b, "refused for 2 ttl");
    bench_stop(&b);
}

/* ---- answers and requests that get lost ---- */

static void swallowed_then_cut(struct scene *s, const char *fault, int ways)
{
    enum { ROUNDS = 20 };
    struct bench b;
    bench_start(&b, s);
    for (int i = 0; i < ROUNDS; i++) {
        load(&b);
        a_random_moment(&b, 5);
        proxy_swallow(&b.proxy, PROXY_DATA, ways);
        load(&b);
        a_random_moment(&b, 50);
        proxy_cut(&b.proxy, PROXY_DATA);
    }
    int64_t end = now_ms();
    assert_back(&b, fault, end);
    settle(&b, fault);
    bench_stop(&b);
}

static void replies_swallowed(void **state)
{
    swallowed_then_cut(*state, "replies swallowed", PROXY_REPLIES);
}

static void requests_swallowed(void **state)
{
    swallowed_then_cut(*state, "requests swallowed", PROXY_REQUESTS);
}

/* No connection ends: only the missing answers tell. */
static void data_connections_half_open(void **state)
{
    struct bench b;
    bench_start(&b, *state);
    load(&b);
    int64_t begin = now_ms();
    proxy_swallow(&b.proxy, PROXY_DATA, PROXY_REQUESTS | PROXY_REPLIES);
    load(&b);
    assert_back(&b, "data half-open", begin);
    settle(&b, "data half-open");
    bench_stop(&b);
}

/* ---- each script's request and answer ---- */

static bool has_trapped(void *arg)
{
    return proxy_count(arg).trapped > 0;
}

static void nothing_more(struct bench *b)
{
    (void)b;
}

static void cut_all(struct bench *b)
{
    proxy_cut(&b->proxy, PROXY_DATA);
}

static void one_more_starts(struct bench *b)
{
    worker(b, "w9");
}

static void one_stops(struct bench *b)
{
    worker_process_stop(b->workers[0], 1000);
    assert_int_equal(worker_process_reap(b->workers[0]), 0);
    b->workers[0] = worker(b, "w8");
}

static void one_dies(struct bench *b)
{
    worker_process_kill(b->workers[0]);
    b->workers[0] = worker(b, "w8");
}

static void trap(struct scene *s, enum script_id script, const char *what, int way, void (*provoke)(struct bench *b))
{
    char fault[64];
    struct bench b;
    snprintf(fault, sizeof fault, "%s of %s lost", what, lua_scripts[script].name);
    bench_start(&b, s);
    load(&b);
    proxy_trap(&b.proxy, lua_scripts[script].sha1, way);
    provoke(&b);
    load(&b);
    wait_on(s->base, has_trapped, &b.proxy, SOON_MS);
    assert_back(&b, fault, now_ms());
    settle(&b, fault);
    bench_stop(&b);
}

/* What makes the workers call each script. Its lost request comes before its lost answer, and leaves the script known
 * to Redis; otherwise the answer that gets lost would only be NOSCRIPT. */
#define TRAPS(X)                                 \
    X(turn, SCRIPT_TURN, nothing_more)           \
    X(heartbeat, SCRIPT_HEARTBEAT, nothing_more) \
    X(readback, SCRIPT_READBACK, cut_all)        \
    X(start, SCRIPT_START, one_more_starts)      \
    X(serve, SCRIPT_SERVE, one_more_starts)      \
    X(stop, SCRIPT_STOP, one_stops)              \
    X(sweep, SCRIPT_SWEEP, one_dies)

#define TRAP_TESTS(name, script, provoke)                         \
    static void request_of_##name##_lost(void **state)            \
    {                                                             \
        trap(*state, script, "request", PROXY_REQUESTS, provoke); \
    }                                                             \
    static void answer_of_##name##_lost(void **state)             \
    {                                                             \
        trap(*state, script, "answer", PROXY_REPLIES, provoke);   \
    }
TRAPS(TRAP_TESTS)
#define TRAP_ENTRIES(name, script, provoke) live_test(request_of_##name##_lost), live_test(answer_of_##name##_lost),

/* ---- messages ---- */

static void messages_lost(void **state)
{
    enum { LOST = 20 };
    struct bench b;
    bench_start(&b, *state);
    for (int i = 0; proxy_count(&b.proxy).lost < LOST; i++) {
        proxy_lose(&b.proxy, 1 + i % 5);
        load(&b);
        a_random_moment(&b, 60);
    }
    proxy_lose(&b.proxy, 0);
    assert_back(&b, "single messages lost", now_ms());
    settle(&b, "single messages lost");
    bench_stop(&b);
}

/* How long until the task has begun. */
static int start_after(struct bench *b, const char *task, int64_t since)
{
    struct scene *s = b->scene;
    scene_enqueue(s, "q", task);
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_START, -1, NULL, task);
    assert_non_null(e);
    return (int)(e->at_ms - since);
}

/* The echo of the next heartbeat is missing at the one after it; until then a task waits no longer than that. */
static void all_messages_lost(void **state)
{
    struct bench b;
    int worst = 0;
    bench_start(&b, *state);
    proxy_lose(&b.proxy, INT_MAX);
    for (int i = 0; i < 10; i++) {
        char task[16];
        snprintf(task, sizeof task, "t%d", b.tasks++);
        int took = start_after(&b, task, now_ms());
        worst = took > worst ? took : worst;
    }
    print_message("all messages lost: a task began after %d ms at worst (heartbeat %d ms)\n", worst, HEARTBEAT_MS);
    assert_in_range(worst, 0, 2 * HEARTBEAT_MS + SLACK_MS);
    proxy_lose(&b.proxy, 0);
    assert_back(&b, "all messages lost", now_ms());
    settle(&b, "all messages lost");
    bench_stop(&b);
}

struct met {
    struct journal *journal;
    size_t from;
    enum muster_event_type type;
    const char *id;
    const struct journal_entry *e;
};

static bool has_met(void *arg)
{
    struct met *m = arg;
    m->e = journal_find(m->journal, m->from, JOURNAL_EVENT, (int)m->type, m->id, NULL);
    return m->e != NULL;
}

/* Every worker has had this event since the journal position. Returns how long after `since` the last of them had. */
static int all_met(struct bench *b, enum muster_event_type type, size_t from, int64_t since)
{
    int64_t last = since;
    for (int i = 0; i < WORKERS; i++) {
        struct met m = {b->scene->journal, from, type, b->workers[i]->id, NULL};
        wait_on(b->scene->base, has_met, &m, SOON_MS);
        last = m.e->at_ms > last ? m.e->at_ms : last;
    }
    return (int)(last - since);
}

static void a_silent_subscription_is_noticed_by_the_next_heartbeat(void **state)
{
    struct bench b;
    bench_start(&b, *state);
    size_t from = journal_size(b.scene->journal);
    int64_t begin = now_ms();
    assert_int_equal(proxy_swallow(&b.proxy, PROXY_SUBSCRIPTION, PROXY_REPLIES), WORKERS);
    load(&b);
    int noticed = all_met(&b, MUSTER_EVENT_DOWN, from, begin), mended = all_met(&b, MUSTER_EVENT_UP, from, begin);
    print_message("subscriptions silent, heartbeat %d ms: noticed by all after %d ms, mended after %d ms\n",
                  HEARTBEAT_MS, noticed, mended);
    assert_in_range(noticed, 0, 2 * HEARTBEAT_MS + SLACK_MS);
    assert_back(&b, "subscriptions silent", begin + mended);
    settle(&b, "subscriptions silent");
    bench_stop(&b);
}

static void everything_delayed(void **state)
{
    struct bench b;
    bench_start(&b, *state);
    proxy_delay(&b.proxy, 40);
    for (int i = 0; i < 10; i++) {
        load(&b);
        a_random_moment(&b, 50);
    }
    proxy_delay(&b.proxy, 0);
    assert_back(&b, "delayed by 40 ms", now_ms());
    settle(&b, "delayed by 40 ms");
    assert_int_equal(journal_count(b.scene->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    bench_stop(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(data_connections_cut),       live_test(subscriptions_cut),
        live_test(both_connections_cut),       live_test(connections_refused_for_two_ttls),
        live_test(replies_swallowed),          live_test(requests_swallowed),
        live_test(data_connections_half_open), TRAPS(TRAP_ENTRIES) live_test(messages_lost),
        live_test(all_messages_lost),          live_test(a_silent_subscription_is_noticed_by_the_next_heartbeat),
        live_test(everything_delayed),
    };
    return scene_run(tests, argc, argv);
}
