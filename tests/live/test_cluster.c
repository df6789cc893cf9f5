/* SPDX-License-Identifier: MIT
 *
 * A namespace on a Redis Cluster: clients and workers find the owner of its slot, wait while the slot moves, and follow
 * it. The cluster is real: three masters, each with a replica.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/page.h"
#include "cluster_scene.h"
#include "live_worker.h"
#include "slow.h"

#define TTL_MS 3000

/* ---- where the scene plays ---- */

static bool is_master(struct redis_server *server)
{
    char *text = raw_string(server->redis, "INFO replication");
    bool is_it = strstr(text, "role:master") != NULL;
    free(text);
    return is_it;
}

static int other_master(const struct scene *s)
{
    int owner = cluster_scene_owner(s), i = 0;
    while (i == owner || !is_master(&cluster.nodes[i]))
        i++;
    return i;
}

static struct muster_client *client_by(const struct scene *s, const char *url, int timeout_ms)
{
    struct muster_client *c;
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix,
                                                                    .timeout_ms = timeout_ms}));
    return c;
}

static int64_t refusals(struct redis_server *server, const char *code)
{
    char field[32];
    snprintf(field, sizeof field, "errorstat_%s:count=", code);
    char *text = raw_string(server->redis, "INFO errorstats");
    const char *at = strstr(text, field);
    int64_t n = at ? strtoll(at + strlen(field), NULL, 10) : 0;
    free(text);
    return n;
}

static int refuse_damage(const struct muster_damage *damage, void *arg)
{
    (void)arg;
    fail_msg("%s %s", damage->key, damage->what);
    return 1;
}

/* ---- finding the owner ---- */

static void any_node_leads_to_the_owner(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < cluster.n; i++) {
        struct muster_client *c = client_by(s, cluster.nodes[i].url, 0);
        assert_ok(muster_task_enqueue(c, "q", "t", 1, NULL));
        muster_client_free(c);
    }
    assert_int_equal(scene_waiting(s, "q"), cluster.n);
}

static void a_seed_that_is_not_there_is_passed_over(void **state)
{
    struct scene *s = *state;
    char url[400];
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:1,%s", cluster.url + strlen("redis+cluster://"));
    struct muster_client *c = client_by(s, url, 0);
    assert_ok(muster_task_enqueue(c, "q", "t", 1, NULL));
    muster_client_free(c);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.url = url, .id = "w", .queues = {{"q", 0}}});
    scene_await_starts(s, 1);
    live_worker_stop(s, w, -1);
}

static void a_prefix_without_a_tag_is_refused_in_words(void **state)
{
    struct scene *s = *state;
    snprintf(s->prefix, sizeof s->prefix, "bare");
    struct muster_client *c = client_by(s, cluster.url, 0);
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_client_error(c), "'{bare}'"));
    muster_client_free(c);
    struct live_worker *w =
        live_worker_new(s, &(struct worker_spec){.url = cluster.url, .id = "w", .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_err(w->stop_err, MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(w->worker), "'{bare}'"));
}

/* ---- a slot that moves ---- */

static struct muster_client *client_on_thread;

static void *enqueue_on_thread(void *err)
{
    *(int *)err = muster_task_enqueue(client_on_thread, "q", "late", 4, NULL);
    return NULL;
}

struct refused {
    struct redis_server *server;
    const char *code;
    int64_t before;
};

static bool is_refused(void *arg)
{
    struct refused *r = arg;
    return refusals(r->server, r->code) > r->before + 2;
}

static void a_call_waits_until_its_slot_has_moved(void **state)
{
    struct scene *s = *state;
    int from = cluster_scene_owner(s), to = other_master(s), err = MUSTER_E_CONN;
    struct refused asked = {&cluster.nodes[from], "ASK", refusals(&cluster.nodes[from], "ASK")};
    pthread_t thread;
    scene_enqueue(s, "q", "early");
    redis_cluster_move_begin(&cluster, cluster_scene_slot(s), from, to);
    client_on_thread = s->client;
    assert_int_equal(pthread_create(&thread, NULL, enqueue_on_thread, &err), 0);
    wait_until(is_refused, &asked, SOON_MS);
    while (redis_cluster_move_keys(&cluster, cluster_scene_slot(s), from, to, 1))
        ;
    redis_cluster_move_end(&cluster, cluster_scene_slot(s), from, to);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(err);
    cluster_scene_look_at_owner(s);
    char *tasks = raw_string(s->server->redis, "LRANGE %s:queues:q 0 -1", s->prefix);
    assert_string_equal(tasks, "late\nearly\n");
    free(tasks);
}

static void a_call_that_waits_too_long_is_E_BUSY_and_has_done_nothing(void **state)
{
    struct scene *s = *state;
    int from = cluster_scene_owner(s), to = other_master(s);
    struct muster_client *c = client_by(s, cluster.url, 300);
    assert_ok(muster_task_enqueue(c, "q", "early", 5, NULL));
    redis_cluster_move_begin(&cluster, cluster_scene_slot(s), from, to);
    int64_t began = now_ms();
    assert_err(muster_task_enqueue(c, "other", "late", 4, NULL), MUSTER_E_BUSY);
    assert_in_range(now_ms() - began, 100, 3000);
    assert_non_null(strstr(muster_client_error(c), "ASK"));
    redis_cluster_move_undo(&cluster, cluster_scene_slot(s), from, to);
    uint64_t n = 9;
    assert_ok(muster_queue_length(c, "other", &n));
    assert_int_equal(n, 0);
    assert_ok(muster_queue_length(c, "q", &n));
    assert_int_equal(n, 1);
    muster_client_free(c);
}

#define MANY 3000

static void *enqueue_many_on_thread(void *err)
{
    static char texts[MANY][8];
    static struct muster_bytes tasks[MANY];
    for (int i = 0; i < MANY; i++)
        tasks[i] = (struct muster_bytes){texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "%d", i)};
    for (int i = 0; i < 10 && *(int *)err == MUSTER_OK; i++)
        *(int *)err = muster_task_enqueue_many(client_on_thread, "q", tasks, MANY, NULL, NULL);
    return NULL;
}

static void many_tasks_keep_their_order_while_their_slot_moves(void **state)
{
    struct scene *s = *state;
    int from = cluster_scene_owner(s), to = other_master(s), err = MUSTER_OK;
    pthread_t thread;
    client_on_thread = s->client;
    assert_int_equal(pthread_create(&thread, NULL, enqueue_many_on_thread, &err), 0);
    for (int i = 0; i < 4; i++)
        redis_cluster_move(&cluster, cluster_scene_slot(s), i % 2 ? from : to, 10);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ok(err);
    cluster_scene_look_at_owner(s);
    assert_int_equal(scene_waiting(s, "q"), 10 * MANY);
    for (int i = 0; i < 10 * MANY; i += 997)
        assert_int_equal(raw_int(s->server->redis, "LINDEX %s:queues:q %d", s->prefix, -1 - i), i % MANY);
}

static void a_worker_follows_its_slot_and_is_woken_there(void **state)
{
    struct scene *s = *state;
    int home = cluster_scene_owner(s), away = other_master(s);
    live_worker_idle(s, &(struct worker_spec){.url = cluster.url, .id = "w", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    for (size_t i = 0; i < 4; i++) {
        cluster_scene_move(s, i % 2 ? home : away);
        scene_await_idle(s, "q", "w");
        /* Its entry may have come with the slot: what counts is that it answers. */
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i + 1);
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, "w", NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, "w", NULL), 0);
}

static void a_worker_keeps_what_it_holds_over_a_move(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){
            .url = cluster.url, .id = "w", .ttl_ms = TTL_MS, .hands = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 5);
    scene_await_starts(s, 3);
    cluster_scene_move(s, other_master(s));
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 5);
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(scene_starts(s), 5);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, "w", NULL), 0);
}

/* ---- another owner ---- */

static void a_failover_is_followed(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.url = cluster.url, .id = "w", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    for (size_t i = 0; i < 2; i++) {
        redis_cluster_failover(&cluster, redis_cluster_replica(&cluster, cluster_scene_owner(s)));
        cluster_scene_look_at_owner(s);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i + 1);
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, "w", NULL), 0);
}

/* Its URL names the owner alone: it has to know the others. */
static void a_client_that_knew_one_node_finds_the_heir_of_a_dead_owner(void **state)
{
    struct scene *s = *state;
    char url[128];
    int owner = cluster_scene_owner(s);
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", cluster.nodes[owner].port);
    struct muster_client *c = client_by(s, url, 20000);
    assert_ok(muster_task_enqueue(c, "q", "t", 1, NULL));
    redis_server_kill(&cluster.nodes[owner]);
    uint64_t n;
    int err = muster_queue_length(c, "q", &n);
    /* The call that met the end of the connection does not know. */
    if (err == MUSTER_E_CONN)
        err = muster_queue_length(c, "q", &n);
    assert_ok(err);
    muster_client_free(c);
    redis_server_restart(&cluster.nodes[owner]);
    redis_cluster_await(&cluster);
}

/* Each of the two nodes lists a part of the keys; after it the old one lists none. */
static void keys_that_are_listed_while_the_slot_moves_are_not_taken_for_all(void **state)
{
    struct scene *s = *state;
    unsigned connection;
    scene_enqueue(s, "q", "t");
    struct muster_client *c = client_by(s, cluster.url, slow_ms(300));
    int slot = cluster_scene_slot(s), from = cluster_scene_owner(s), to = other_master(s);
    assert_ok(page_begin_keys(c, &connection));
    assert_ok(page_end_keys(c, connection));
    redis_cluster_move_begin(&cluster, slot, from, to);
    assert_err(page_begin_keys(c, &connection), MUSTER_E_BUSY);
    assert_err(muster_client_check(c, 0, refuse_damage, NULL), MUSTER_E_BUSY);
    redis_cluster_move_undo(&cluster, slot, from, to);
    assert_ok(page_begin_keys(c, &connection));
    redis_cluster_move(&cluster, slot, to, 10);
    assert_err(page_end_keys(c, connection), MUSTER_E_BUSY);
    assert_non_null(strstr(muster_client_error(c), "some may have been passed over"));
    assert_ok(muster_client_check(c, 0, refuse_damage, NULL));
    cluster_scene_look_at_owner(s);
    muster_client_free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cluster_test(keys_that_are_listed_while_the_slot_moves_are_not_taken_for_all),
        cluster_test(any_node_leads_to_the_owner),
        cluster_test(a_seed_that_is_not_there_is_passed_over),
        cluster_test(a_prefix_without_a_tag_is_refused_in_words),
        cluster_test(a_call_waits_until_its_slot_has_moved),
        cluster_test(a_call_that_waits_too_long_is_E_BUSY_and_has_done_nothing),
        cluster_test(many_tasks_keep_their_order_while_their_slot_moves),
        cluster_test(a_worker_follows_its_slot_and_is_woken_there),
        cluster_test(a_worker_keeps_what_it_holds_over_a_move),
        cluster_test(a_failover_is_followed),
        cluster_test(a_client_that_knew_one_node_finds_the_heir_of_a_dead_owner),
    };
    return testing_run(tests, cluster_scene_start, cluster_scene_stop, argc, argv);
}
