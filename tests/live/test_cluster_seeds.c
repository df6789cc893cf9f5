/* SPDX-License-Identifier: MIT
 *
 * A cluster's URL whose node is another server's address by now: a node that was replaced, whose address is used anew.
 * Whoever has found the cluster once does not take that server for it. And who listens at a node that has lost the slot.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_scene.h"
#include "hearing.h"
#include "live_worker.h"
#include "proxy.h"
#include "slow.h"
#include "taken.h"

#define TTL_MS slow_ms(1500)

struct seed {
    struct proxy proxy;
    struct redis_server lone;
    char url[64];
};

/* The URL's node is the owner of the namespace's slot, or one that leads to it. */
static void begin(struct seed *seed, const struct scene *s, bool is_owner)
{
    redis_server_start(&seed->lone, &(struct redis_server_options){.tcp = true});
    const int port = redis_server_free_port();
    proxy_start_tcp(&seed->proxy, port, cluster.nodes[(cluster_scene_owner(s) + !is_owner) % MASTERS].port);
    snprintf(seed->url, sizeof seed->url, "redis+cluster://127.0.0.1:%d", port);
}

static void assert_lone_is_empty(struct seed *seed)
{
    assert_int_equal(raw_int(seed->lone.redis, "DBSIZE"), 0);
    proxy_stop(&seed->proxy);
    redis_server_remove(&seed->lone);
}

/* Its address is another server's from now on, and all connections to the owner end. */
static void use_anew(struct seed *seed, struct scene *s)
{
    char to[16];
    snprintf(to, sizeof to, ":%d", seed->lone.port);
    proxy_lead(&seed->proxy, to);
    proxy_cut(&seed->proxy, PROXY_BOTH);
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
}

static void a_client_does_not_put_into_it(void **state)
{
    struct scene *s = *state;
    struct seed seed;
    struct muster_client *c;
    begin(&seed, s, true);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = seed.url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_task_enqueue(c, "q", "one", 3, NULL));
    use_anew(&seed, s);
    assert_ok(muster_task_enqueue(c, "q", "two", 3, NULL));
    assert_int_equal(scene_waiting(s, "q"), 2);
    muster_client_free(c);
    assert_lone_is_empty(&seed);
}

/* By the URL of one node, which has sent it on to another one. That is gone, and the URL's node has the slot by now. */
static void a_client_of_one_node_comes_back_to_it_from_one_that_is_gone(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    const int owner = cluster_scene_owner(s), to = (owner + 1) % MASTERS;
    char url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", cluster.nodes[to].port);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_task_enqueue(c, "q", "one", 3, NULL));
    cluster_scene_move(s, to);
    redis_server_kill(&cluster.nodes[owner]);
    int err = muster_task_enqueue(c, "q", "two", 3, NULL);
    redis_server_restart(&cluster.nodes[owner]);
    redis_cluster_await(&cluster);
    assert_err(err, MUSTER_OK);
    assert_int_equal(scene_waiting(s, "q"), 2);
    muster_client_free(c);
}

static void a_worker_does_not_register_there(void **state)
{
    struct scene *s = *state;
    struct seed seed;
    begin(&seed, s, false);
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "w", .url = seed.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    use_anew(&seed, s);
    scene_await_events(s, MUSTER_EVENT_UP, "w", 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    live_worker_stop(s, w, 0);
    assert_lone_is_empty(&seed);
}

/* ---- a slow line ---- */

/* About so many bytes as Redis sends it. */
static size_t size_of(const redisReply *r)
{
    size_t size = r->len + 6;
    for (size_t i = 0; i < r->elements; i++)
        size += size_of(r->element[i]);
    return size;
}

/* What a cluster of many nodes and ranges says of them takes half as long again as the silence. */
#define SILENCE_MS 1000

static void begin_slowly(struct seed *seed, struct scene *s)
{
    begin(seed, s, true);
    redisReply *slots = raw(s->server->redis, "CLUSTER SLOTS");
    proxy_pace(&seed->proxy, PROXY_BOTH, (int)size_of(slots) / 12, SILENCE_MS / 8);
    freeReplyObject(slots);
}

static void a_worker_hears_the_names_of_all_nodes_over_a_slow_line(void **state)
{
    struct scene *s = *state;
    struct seed seed;
    begin_slowly(&seed, s);
    live_worker_new(
        s, &(struct worker_spec){.id = "w", .url = seed.url, .ttl_ms = SILENCE_MS * 3 / 2, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", 1);
    assert_lone_is_empty(&seed);
}

static void so_does_a_listener(void **state)
{
    struct scene *s = *state;
    struct seed seed;
    struct hearing h;
    begin_slowly(&seed, s);
    hearing_open(&h, s, seed.url, SILENCE_MS, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    hearing_close(&h);
    assert_lone_is_empty(&seed);
}

/* ---- who listens at a node that is not the owner any more ---- */

struct listener {
    struct muster_client *client;
    pthread_t thread;
    atomic_bool has_begun;
    int err;
};

static int note_begun(void *arg)
{
    atomic_store(&((struct listener *)arg)->has_begun, true);
    return 0;
}

static bool has_begun(void *arg)
{
    return atomic_load(&((struct listener *)arg)->has_begun);
}

static int stop_at_event(const struct muster_queue_event *e, void *arg)
{
    (void)e, (void)arg;
    return 1;
}

static void *listen_once(void *arg)
{
    struct listener *l = arg;
    l->err = muster_queue_listen(l->client, "q", 10 * SOON_MS, note_begun, stop_at_event, l);
    return NULL;
}

/* As long as it is a node of the cluster, the others pass on to it what happens. */
static void a_call_that_listens_outlasts_a_move_of_its_slot(void **state)
{
    struct scene *s = *state;
    struct listener l = {.client = scene_client(s)};
    const int to = (cluster_scene_owner(s) + 1) % MASTERS;
    assert_int_equal(pthread_create(&l.thread, NULL, listen_once, &l), 0);
    wait_until(has_begun, &l, SOON_MS);
    cluster_scene_move(s, to);
    int64_t asked = redis_server_calls(s->server, "publish");
    for (int64_t n = asked; n < asked + 2; n = redis_server_calls(s->server, "publish"))
        run_loop(s->base, 100); /* it has asked there twice who hears it */
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t"), NULL));
    pthread_join(l.thread, NULL);
    muster_client_free(l.client);
    assert_ok(l.err);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cluster_test(a_client_does_not_put_into_it),
                                       cluster_test(a_client_of_one_node_comes_back_to_it_from_one_that_is_gone),
                                       cluster_test(a_worker_does_not_register_there),
                                       cluster_test(a_worker_hears_the_names_of_all_nodes_over_a_slow_line),
                                       cluster_test(so_does_a_listener),
                                       cluster_test(a_call_that_listens_outlasts_a_move_of_its_slot)};
    return testing_run(tests, cluster_scene_start, cluster_scene_stop, argc, argv);
}
