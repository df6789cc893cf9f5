/* SPDX-License-Identifier: MIT
 *
 * One endpoint in front of a master and its replica: a name, an address or a proxy that leads to another server from one
 * moment on, while the connections that there are stay. The replica is promoted, and the master becomes its replica.
 * Nobody stays at the old one, whatever he hears of it, and in whatever order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"

#define TASKS 20
#define TTL_MS 1500

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

/* ---- a worker ---- */

static bool hears_at(struct redis_server *server)
{
    redisReply *channels = raw(server->redis, "PUBSUB SHARDCHANNELS");
    bool is_any = channels->elements > 0;
    freeReplyObject(channels);
    return is_any;
}

static bool hears_at_the_new_one(void *arg)
{
    (void)arg;
    return hears_at(&at.new) && !hears_at(&at.old);
}

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {CASES(ENTRY, a_worker)};
    return scene_run(tests, argc, argv);
}
