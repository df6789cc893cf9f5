/* SPDX-License-Identifier: MIT
 *
 * One endpoint in front of a master and its replica: a name, an address or a proxy that leads to another server from one
 * moment on, while the connections that there are stay. The replica is promoted, and the master becomes its replica.
 * Nobody stays at the old one, whatever he hears of it, and in whatever order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "hearing.h"
#include "live_worker.h"
#include "proxy.h"
#include "taken.h"

#define TASKS 20
#define TTL_MS 1500
#define TIMEOUT_MS 2000

/* What follows the failover. */
enum turn {
    PLAIN,   /* nothing: the old master refuses what is written */
    REFUSED, /* it does, and then the endpoint refuses connections for a while */
    CUT,     /* the connections for data break before they hear of it */
    DEAF,    /* the subscriptions break, and no others */
};
static const char *const turn_names[] = {"plain", "refused", "cut", "deaf"};

static struct endpoint {
    struct redis_server old, new;
    struct proxy proxy;
} at;

static int endpoint_begin(void **state)
{
    redis_server_start(&at.old, &(struct redis_server_options){.tcp = true});
    redis_server_start(&at.new, &(struct redis_server_options){.tcp = true, .replica_of = &at.old});
    redis_server_await_replicas(&at.old, 1);
    proxy_start_tcp(&at.proxy, redis_server_free_port(), at.old.port);
    int err = scene_begin(state);
    scene_move(*state, &at.old);
    return err;
}

static int endpoint_end(void **state)
{
    int err = scene_end(state);
    proxy_stop(&at.proxy);
    redis_server_remove(&at.new);
    redis_server_remove(&at.old);
    return err;
}

#define endpoint_test(f) cmocka_unit_test_setup_teardown(f, endpoint_begin, endpoint_end)

/* ---- the failover ---- */

/* The old master follows the new one; or cannot, then what is published at the new one never comes to it; or nobody has
 * told it, and it is a master still. */
enum after { FOLLOWS, IS_CUT_OFF, LIVES_ON };
static const char *const after_names[] = {"follows", "is cut off", "lives on"};

static void fail_over(struct scene *s, enum after after)
{
    char to[16];
    redis_server_await_replicas(&at.old, 1);
    raw_do(at.new.redis, "REPLICAOF NO ONE");
    if (after == IS_CUT_OFF)
        raw_do(at.old.redis, "CONFIG SET masteruser nobody masterauth wrong");
    if (after != LIVES_ON)
        raw_do(at.old.redis, "REPLICAOF 127.0.0.1 %d", at.new.port);
    snprintf(to, sizeof to, ":%d", at.new.port);
    proxy_lead(&at.proxy, to);
    scene_move(s, &at.new);
    if (after == FOLLOWS)
        redis_server_await_replicas(&at.new, 1);
}

static bool has_no_data(void *arg)
{
    (void)arg;
    return proxy_count(&at.proxy).data == 0;
}

static void take_turn(struct scene *s, enum turn turn)
{
    if (turn == CUT || turn == DEAF)
        proxy_cut(&at.proxy, turn == CUT ? PROXY_DATA : PROXY_SUBSCRIPTION);
    if (turn != REFUSED)
        return;
    proxy_refuse(&at.proxy);
    wait_on(s->base, has_no_data, NULL, SOON_MS);
    run_loop(s->base, 300); /* some attempts are made, of which the test cannot know */
    proxy_accept(&at.proxy);
}

static void a_failover(struct scene *s, enum turn turn, enum after after)
{
    print_message("%s, the old master %s\n", turn_names[turn], after_names[after]);
    fail_over(s, after);
    take_turn(s, turn);
}

/* ---- who hears where ---- */

static bool is_any(struct redis_server *server, const char *kind)
{
    redisReply *channels = raw(server->redis, "PUBSUB %s", kind);
    bool is_it = channels->elements > 0;
    freeReplyObject(channels);
    return is_it;
}

static bool hears_at(struct redis_server *server)
{
    return is_any(server, "SHARDCHANNELS") || is_any(server, "CHANNELS");
}

static bool hears_at_the_new_one(void *arg)
{
    (void)arg;
    return hears_at(&at.new) && !hears_at(&at.old);
}

/* ---- a worker ---- */

static void a_worker_follows(struct scene *s, enum turn turn, enum after after)
{
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .url = at.proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    a_failover(s, turn, after);
    wait_on(s->base, hears_at_the_new_one, NULL, SOON_MS);
    for (int i = 0; i < TASKS; i++)
        scene_enqueue(s, "q", "t");
    scene_await_starts(s, TASKS);
    raw_await(at.new.redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(scene_starts(s), TASKS);
    live_worker_stop(s, w, 0);
}

/* ---- a listener ---- */

static void finish(struct scene *s, const char *task)
{
    scene_enqueue(s, "q", task);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", task), NULL));
}

static void a_listener_follows(struct scene *s, enum turn turn, enum after after)
{
    struct hearing h;
    hearing_open(&h, s, at.proxy.url, TIMEOUT_MS, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    a_failover(s, turn, after);
    wait_on(s->base, hears_at_the_new_one, NULL, SOON_MS);
    hearing_await(&h, "ready q", 2);
    assert_true(hearing_count(&h, "gap q E_BUSY") + hearing_count(&h, "gap q E_CONN") > 0);
    finish(s, "a");
    hearing_await(&h, "done q .lease a", 1);
    hearing_close(&h);
}

/* ---- calls that listen, and wait, over a connection of their own ---- */

struct caller {
    struct scene *scene;
    struct muster_client *client;
    pthread_t thread;
    void *(*run)(void *arg);
    atomic_bool has_begun;
    int err;
};

static struct muster_client *client_at_the_endpoint(struct scene *s)
{
    struct muster_client *c;
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = at.proxy.url,
                                                                    .prefix = s->prefix,
                                                                    .timeout_ms = TIMEOUT_MS}));
    return c;
}

static void begin_call(struct caller *c, struct scene *s, void *(*run)(void *arg))
{
    *c = (struct caller){.scene = s, .client = client_at_the_endpoint(s), .run = run};
    assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

static void end_call(struct caller *c)
{
    pthread_join(c->thread, NULL);
    muster_client_free(c->client);
    assert_ok(c->err);
}

static int note_begun(void *arg)
{
    struct caller *c = arg;
    atomic_store(&c->has_begun, true);
    return 0;
}

static bool has_begun(void *arg)
{
    struct caller *c = arg;
    return atomic_load(&c->has_begun);
}

static int stop_at_event(const struct muster_queue_event *e, void *arg)
{
    (void)e, (void)arg;
    return 1;
}

/* A call may end while Redis is away, and one that listens when it is elsewhere than the scripts. A program repeats it. */
static bool is_passing(int err)
{
    return err == MUSTER_E_CONN || err == MUSTER_E_BUSY || err == MUSTER_E_TIMEOUT;
}

static void *listen_again_and_again(void *arg)
{
    struct caller *c = arg;
    do
        c->err = muster_queue_listen(c->client, "q", 10 * SOON_MS, note_begun, stop_at_event, c);
    while (is_passing(c->err));
    return NULL;
}

static void a_call_that_listens_follows(struct scene *s, enum turn turn, enum after after)
{
    struct caller c;
    begin_call(&c, s, listen_again_and_again);
    wait_on(s->base, has_begun, &c, SOON_MS);
    a_failover(s, turn, after);
    wait_on(s->base, hears_at_the_new_one, NULL, SOON_MS);
    finish(s, "a");
    end_call(&c);
}

static void *take_and_finish(void *arg)
{
    struct caller *c = arg;
    struct taken taken = {.n = 0};
    do
        c->err = muster_lease_take(c->client, "q", 1, 10 * SOON_MS, 10 * SOON_MS, taken_add, &taken);
    while (is_passing(c->err));
    if (c->err == MUSTER_OK)
        c->err = muster_lease_finish(c->client, taken.rows[0].id, NULL);
    return NULL;
}

static bool hears_at_the_old_one(void *arg)
{
    (void)arg;
    return hears_at(&at.old);
}

static void a_take_that_waits_follows(struct scene *s, enum turn turn, enum after after)
{
    struct caller c;
    begin_call(&c, s, take_and_finish);
    wait_on(s->base, hears_at_the_old_one, NULL, SOON_MS);
    a_failover(s, turn, after);
    wait_on(s->base, hears_at_the_new_one, NULL, SOON_MS);
    scene_enqueue(s, "q", "t");
    end_call(&c);
}

/* ---- who only reads ---- */

#define WAITING 7

struct reader {
    struct muster_client *client;
    struct answers as;
};

static bool reads_what_is_there(void *arg)
{
    const struct reader *r = arg;
    uint64_t waiting;
    assert_ok(muster_queue_length(r->client, "q", &waiting));
    return waiting == WAITING;
}

static bool is_answered_what_is_there(void *arg)
{
    struct reader *r = arg;
    assert_ok(muster_async_length(r->as.async, "q", answers_fn, NULL));
    answers_await(&r->as, r->as.n + 1);
    assert_ok(r->as.last.err);
    return r->as.last.waiting == WAITING;
}

/* Nobody refuses him. The old master has what it had, and answers. */
static void a_reader_sees_what_is_there(struct scene *s, enum turn turn, enum after after)
{
    struct reader r = {.client = client_at_the_endpoint(s)};
    answers_open(&r.as, s, at.proxy.url, TIMEOUT_MS, NULL);
    assert_false(reads_what_is_there(&r));
    assert_false(is_answered_what_is_there(&r));
    a_failover(s, turn, after);
    scene_enqueue_n(s, "q", "t", WAITING);
    wait_on(s->base, reads_what_is_there, &r, SOON_MS);
    wait_on(s->base, is_answered_what_is_there, &r, SOON_MS);
    answers_close(&r.as);
    muster_client_free(r.client);
}

static void a_reader_leaves_a_demoted_master(void **state)
{
    a_reader_sees_what_is_there(*state, PLAIN, IS_CUT_OFF);
}

static void a_reader_that_was_cut_off_is_at_the_new_one(void **state)
{
    a_reader_sees_what_is_there(*state, CUT, IS_CUT_OFF);
}

/* The name leads to the old master for a while after it was demoted: he may read there, but does not stay. */
static void a_reader_does_not_stay_at_a_replica(void **state)
{
    struct scene *s = *state;
    char to[16];
    fail_over(s, IS_CUT_OFF);
    snprintf(to, sizeof to, ":%d", at.old.port);
    proxy_lead(&at.proxy, to);
    scene_enqueue_n(s, "q", "t", WAITING);
    struct reader r = {.client = client_at_the_endpoint(s)};
    assert_false(reads_what_is_there(&r));
    snprintf(to, sizeof to, ":%d", at.new.port);
    proxy_lead(&at.proxy, to);
    wait_on(s->base, reads_what_is_there, &r, SOON_MS);
    muster_client_free(r.client);
}

/* ---- all of them ---- */

#define CASES(X, who)                            \
    X(who, plain, PLAIN, FOLLOWS)                \
    X(who, refused, REFUSED, FOLLOWS)            \
    X(who, cut, CUT, FOLLOWS)                    \
    X(who, deaf, DEAF, FOLLOWS)                  \
    X(who, plain_cut_off, PLAIN, IS_CUT_OFF)     \
    X(who, refused_cut_off, REFUSED, IS_CUT_OFF) \
    X(who, cut_cut_off, CUT, IS_CUT_OFF)         \
    X(who, cut_lives_on, CUT, LIVES_ON)          \
    X(who, deaf_lives_on, DEAF, LIVES_ON)

#define CASE(who, name, turn, after)        \
    static void who##_##name(void **state)  \
    {                                       \
        who##_follows(*state, turn, after); \
    }
#define ENTRY(who, name, turn, after) endpoint_test(who##_##name),

CASES(CASE, a_worker)
CASES(CASE, a_listener)
CASES(CASE, a_call_that_listens)
CASES(CASE, a_take_that_waits)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASES(ENTRY, a_worker) CASES(ENTRY, a_listener) CASES(ENTRY, a_call_that_listens)
            CASES(ENTRY, a_take_that_waits) endpoint_test(a_reader_leaves_a_demoted_master),
        endpoint_test(a_reader_that_was_cut_off_is_at_the_new_one),
        endpoint_test(a_reader_does_not_stay_at_a_replica),
    };
    return scene_run(tests, argc, argv);
}
