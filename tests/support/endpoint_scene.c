/* SPDX-License-Identifier: MIT
 *
 * One endpoint in front of a master and its replica.
 */
#include "endpoint_scene.h"

#include <stdio.h>
#include <stdlib.h>

struct endpoint endpoint;

static int port_of(const struct proxy *p)
{
    return atoi(p->socket + 1);
}

int endpoint_scene_begin(void **state)
{
    redis_server_start(&endpoint.old, &(struct redis_server_options){.tcp = true});
    redis_server_start(&endpoint.new, &(struct redis_server_options){.tcp = true, .replica_of = &endpoint.old});
    redis_server_await_replicas(&endpoint.old, 1);
    proxy_start_tcp(&endpoint.proxy, redis_server_free_port(), endpoint.old.port);
    endpoint.url = endpoint.proxy.url;
    endpoint.is_sentinel = getenv("MUSTER_TEST_SENTINEL") != NULL;
    if (endpoint.is_sentinel) {
        proxy_start_tcp(&endpoint.at_new, redis_server_free_port(), endpoint.new.port);
        fake_server_sentinel(&endpoint.sentinel, port_of(&endpoint.proxy));
        endpoint.url = endpoint.sentinel.url;
    }
    int err = scene_begin(state);
    scene_move(*state, &endpoint.old);
    return err;
}

int endpoint_scene_end(void **state)
{
    int err = scene_end(state);
    if (endpoint.is_sentinel) {
        fake_server_stop(&endpoint.sentinel);
        proxy_stop(&endpoint.at_new);
    }
    proxy_stop(&endpoint.proxy);
    redis_server_remove(&endpoint.new);
    redis_server_remove(&endpoint.old);
    return err;
}

/* ---- the failover ---- */

static const char *const turn_names[] = {"plain", "refused", "cut", "deaf"};
static const char *const after_names[] = {"follows", "is cut off", "lives on", "lives on beside an empty one",
                                          "is another one by now"};

bool endpoint_can_be_seen(enum endpoint_turn turn, enum endpoint_after after)
{
    return endpoint.is_sentinel || after < LIVES_ON || turn == CUT || turn == DEAF;
}

void endpoint_lead(const struct redis_server *server)
{
    char to[16];
    snprintf(to, sizeof to, ":%d", server->port);
    if (endpoint.is_sentinel)
        fake_server_name(&endpoint.sentinel, port_of(server == &endpoint.old ? &endpoint.proxy : &endpoint.at_new));
    else
        proxy_lead(&endpoint.proxy, to);
}

static void fail_over(struct scene *s, enum endpoint_after after)
{
    redis_server_await_replicas(&endpoint.old, 1);
    raw_do(endpoint.new.redis, "REPLICAOF NO ONE");
    if (after == IS_CUT_OFF)
        raw_do(endpoint.old.redis, "CONFIG SET masteruser nobody masterauth wrong");
    if (after == BESIDE_AN_EMPTY_ONE)
        raw_do(endpoint.new.redis, "FLUSHALL");
    if (after == IS_ANOTHER)
        raw_do(endpoint.old.redis, "FLUSHALL");
    if (after < LIVES_ON)
        raw_do(endpoint.old.redis, "REPLICAOF 127.0.0.1 %d", endpoint.new.port);
    endpoint_lead(&endpoint.new);
    scene_move(s, &endpoint.new);
    if (after == FOLLOWS)
        redis_server_await_replicas(&endpoint.new, 1);
}

static bool has_no_data(void *arg)
{
    (void)arg;
    return proxy_count(&endpoint.proxy).data == 0;
}

static void take_turn(struct scene *s, enum endpoint_turn turn)
{
    if (turn == CUT || turn == DEAF)
        proxy_cut(&endpoint.proxy, turn == CUT ? PROXY_DATA : PROXY_SUBSCRIPTION);
    if (turn != REFUSED)
        return;
    struct proxy *next = endpoint.is_sentinel ? &endpoint.at_new : &endpoint.proxy;
    proxy_refuse(next);
    wait_on(s->base, has_no_data, NULL, SOON_MS);
    run_loop(s->base, 300); /* some attempts are made, of which the test cannot know */
    proxy_accept(next);
}

void endpoint_fail_over(struct scene *s, enum endpoint_turn turn, enum endpoint_after after)
{
    print_message("%s, the old master %s\n", turn_names[turn], after_names[after]);
    fail_over(s, after);
    take_turn(s, turn);
}

/* ---- looking ---- */

struct muster_client *endpoint_client(struct scene *s)
{
    struct muster_client *c;
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = endpoint.url,
                                                                    .prefix = s->prefix,
                                                                    .timeout_ms = ENDPOINT_TIMEOUT_MS}));
    return c;
}

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

bool endpoint_hears_at_the_new_one(void *arg)
{
    (void)arg;
    return hears_at(&endpoint.new) && !hears_at(&endpoint.old);
}

bool endpoint_hears_at_the_old_one(void *arg)
{
    (void)arg;
    return hears_at(&endpoint.old);
}
