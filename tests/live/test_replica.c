/* SPDX-License-Identifier: MIT
 *
 * A replica passes on what its master publishes, but counts no receivers there: a worker that listened at one would be
 * handed tasks which the master believes nobody got. So neither of a worker's connections may lead to a replica.
 */
#include <hiredis/async.h>
#include <stdlib.h>

#include "live_worker.h"

#define TASKS 20

static struct redis_server master, replica;

static int start_pair(void **state)
{
    redis_server_start(&master, &(struct redis_server_options){.tcp = true});
    redis_server_start(&replica, &(struct redis_server_options){.tcp = true, .replica_of = &master});
    return scene_start(state);
}

static int stop_pair(void **state)
{
    redis_server_remove(&replica);
    redis_server_remove(&master);
    return scene_stop(state);
}

static const char *url_of(const struct redis_server *s)
{
    return s == &master ? "the master" : "the replica";
}

/* The worker's given connections lead there; its URL leads to the master. */
static void assert_works_once(struct scene *s, struct redis_server *data, struct redis_server *subscription)
{
    print_message("data at %s, subscription at %s\n", url_of(data), url_of(subscription));
    redis_server_await_replicas(&master, 1);
    scene_move(s, &master);
    const char *queue = data == &master ? "q" : "r";
    size_t starts = scene_starts(s);
    live_worker_idle(s, &(struct worker_spec){.id = data == &master ? "w1" : "w2",
                                              .ttl_ms = 600,
                                              .data = redisAsyncConnectUnix(data->socket),
                                              .subscription = redisAsyncConnectUnix(subscription->socket),
                                              .queues = {{queue, 0}}});
    redisReply *channels = raw(replica.redis, "PUBSUB SHARDCHANNELS");
    assert_int_equal(channels->elements, 0);
    freeReplyObject(channels);
    for (int i = 0; i < TASKS; i++)
        scene_enqueue(s, queue, "t");
    scene_await_starts(s, starts + TASKS);
    raw_await(master.redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
    assert_int_equal(scene_starts(s), starts + TASKS);
}

static void a_subscription_at_a_replica_is_not_used(void **state)
{
    assert_works_once(*state, &master, &replica);
}

static void a_data_connection_to_a_replica_is_not_used(void **state)
{
    assert_works_once(*state, &replica, &master);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_subscription_at_a_replica_is_not_used),
        live_test(a_data_connection_to_a_replica_is_not_used),
    };
    return testing_run(tests, start_pair, stop_pair, argc, argv);
}
