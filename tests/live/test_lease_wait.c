/* SPDX-License-Identifier: MIT
 *
 * Waiting for a task under a lease: what wakes a waiter, what it costs Redis meanwhile, and what it does when its
 * connections break. The waiter is a thread with a client of its own; what wakes it is done once it is asleep.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"
#include "slow.h"
#include "taken.h"

#define AN_HOUR 3600000
/* Longer than anything here takes. */
#define LONG_WAIT 600000

struct waiter {
    struct muster_client *client;
    const char *queue;
    size_t n;
    int64_t wait_ms;
    pthread_t thread;
    atomic_bool has_returned;
    int err;
    struct taken taken;
};

static void *wait_for_a_task(void *arg)
{
    struct waiter *w = arg;
    w->err = muster_lease_take(w->client, w->queue, w->n, AN_HOUR, w->wait_ms, taken_add, &w->taken);
    atomic_store(&w->has_returned, true);
    return NULL;
}

static struct waiter *start_with(struct muster_client *client, const char *queue, size_t n, int64_t wait_ms)
{
    struct waiter *w = calloc(1, sizeof *w);
    w->client = client;
    w->queue = queue;
    w->n = n;
    w->wait_ms = wait_ms;
    pthread_create(&w->thread, NULL, wait_for_a_task, w);
    return w;
}

/* He has subscribed and, having looked once more, found nothing: that look is what says that he listens. */
static void await_asleep(struct scene *s, const char *queue)
{
    raw_await(s->server->redis, NULL, 1, "HEXISTS %s:queue:%s listen", s->prefix, queue);
}

static struct waiter *start_asleep(struct scene *s, const char *queue, size_t n)
{
    struct waiter *w = start_with(scene_client(s), queue, n, LONG_WAIT);
    await_asleep(s, queue);
    return w;
}

static bool has_returned(void *arg)
{
    return atomic_load(&((struct waiter *)arg)->has_returned);
}

/* Wait until he returns; `*w` then has the result. */
static struct waiter end(struct waiter *w, int deadline_ms)
{
    wait_until(has_returned, w, deadline_ms);
    pthread_join(w->thread, NULL);
    struct waiter result = *w;
    muster_client_free(w->client);
    free(w);
    return result;
}

/* He must be woken: what he would see by himself, when he next renews, comes later than this. */
#define WOKEN_MS slow_ms(3000)

static void assert_gets(struct waiter *w, const char *task, int deadline_ms)
{
    const struct waiter result = end(w, deadline_ms);
    assert_ok(result.err);
    assert_int_equal(result.taken.n, 1);
    assert_string_equal(result.taken.rows[0].task, task);
    assert_string_equal(result.taken.rows[0].worker, MUSTER_LEASE_ID);
}

/* ---- what wakes a waiter ---- */

static void what_waits_already_is_taken_at_once(void **state)
{
    struct scene *s = *state;
    scene_enqueue_n(s, "q", "t", 3);
    const struct waiter result = end(start_with(scene_client(s), "q", 2, LONG_WAIT), WOKEN_MS);
    assert_ok(result.err);
    assert_int_equal(result.taken.n, 2);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:queue:q listen", s->prefix), 0);
}

static void an_enqueue_wakes(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 5);
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
}

static void he_may_wait_for_ever(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_with(scene_client(s), "q", 1, INT64_MAX);
    await_asleep(s, "q");
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
}

static void a_batch_wakes_and_gives_as_many_as_were_asked_for(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 10);
    scene_enqueue_n(s, "q", "t", 3000);
    const struct waiter result = end(w, WOKEN_MS);
    assert_ok(result.err);
    assert_int_equal(result.taken.n, 10);
    assert_string_equal(result.taken.rows[0].task, "t0");
}

static void a_foreign_push_and_publish_wake(void **state)
{
    struct scene *s = *state;
    char key[64];
    struct waiter *w = start_asleep(s, "q", 1);
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_push(s->server->redis, key, "t", 1);
    raw_do(s->server->redis, "PUBLISH %s_q_work anything", s->prefix);
    assert_gets(w, "t", WOKEN_MS);
}

/* Nobody says when: he knew it from his last look. */
static void a_retry_that_is_due_wakes(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t"), 500));
    assert_gets(start_asleep(s, "q", 1), "t", WOKEN_MS);
}

static void somebody_elses_lapse_wakes(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue(s, "q", "t");
    assert_ok(take_n(s, "q", 1, 500, &taken));
    assert_gets(start_asleep(s, "q", 1), "t", WOKEN_MS);
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
}

/* Nothing was due when the waiter fell asleep, so a message must come. */
static void a_delay_that_begins_while_he_sleeps_wakes(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_lease_retry(s->client, process, 300));
    assert_gets(w, "t", WOKEN_MS);
}

static void a_lease_made_shorter_wakes(void **state)
{
    struct scene *s = *state;
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 300};
    scene_enqueue(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_lease_extend(s->client, process, &o));
    assert_gets(w, "t", WOKEN_MS);
}

static void what_is_given_back_wakes(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    const char *process = take_one(s, "q", "t");
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_lease_give_back(s->client, process));
    assert_gets(w, "t", WOKEN_MS);
}

static void resume_wakes(void **state)
{
    struct scene *s = *state;
    assert_ok(muster_queue_pause(s->client, "q"));
    scene_enqueue(s, "q", "t");
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_queue_resume(s->client, "q"));
    assert_gets(w, "t", WOKEN_MS);
}

static void replay_wakes(void **state)
{
    struct scene *s = *state;
    const struct muster_failed_filter f = {.size = sizeof f, .queue = "q"};
    scene_enqueue(s, "q", "t");
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t"), NULL, NULL));
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_failed_replay(s->client, &f, NULL));
    assert_gets(w, "t", WOKEN_MS);
}

static void a_worker_that_fails_wakes(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s,
                     &(struct worker_spec){.id = "w1", .ttl_ms = 600000, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    struct waiter *w = start_asleep(s, "q", 1);
    assert_ok(muster_worker_fail(s->client, "w1", NULL));
    assert_gets(w, "t", WOKEN_MS);
}

static void each_of_several_gets_one(void **state)
{
    struct scene *s = *state;
    struct waiter *waiters[3];
    char channel[64], tasks[32] = "";
    snprintf(channel, sizeof channel, "%s_q_work", s->prefix);
    for (size_t i = 0; i < N_OF(waiters); i++)
        waiters[i] = start_asleep(s, "q", 1);
    raw_await(s->server->redis, NULL, 3, "EVAL %s 0 %s", "return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]", channel);
    scene_enqueue_n(s, "q", "t", 3);
    for (size_t i = 0; i < N_OF(waiters); i++) {
        const struct waiter result = end(waiters[i], WOKEN_MS);
        assert_ok(result.err);
        assert_int_equal(result.taken.n, 1);
        strcat(tasks, result.taken.rows[0].task);
    }
    assert_non_null(strstr(tasks, "t0"));
    assert_non_null(strstr(tasks, "t1"));
    assert_non_null(strstr(tasks, "t2"));
}

/* Some tasks come, one after the other. Who came too late looks before it calls a script. */
static void many_waiters_cost_few_scripts(void **state)
{
    enum { CROWD = 30, TASKS = 12, FIRST = 6 };
    struct scene *s = *state;
    struct waiter *waiters[CROWD];
    int64_t scripts = 0;
    for (size_t i = 0; i < CROWD; i++)
        waiters[i] = start_asleep(s, "q", 1);
    raw_await(s->server->redis, NULL, CROWD, "EVAL %s 0 %s_q_work", "return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]",
              s->prefix);
    for (int i = 0; i < TASKS; i++) {
        if (i == FIRST)
            scripts = redis_server_calls(s->server, "evalsha");
        scene_enqueue(s, "q", "t");
        raw_await(s->server->redis, NULL, i + 1, "HLEN %s:processing:.lease:q", s->prefix);
        run_loop(s->base, 100); /* all others have looked by then */
    }
    scripts = redis_server_calls(s->server, "evalsha") - scripts;
    print_message("%lld scripts for %d tasks\n", (long long)scripts, TASKS - FIRST);
    assert_in_range(scripts, 2 * (TASKS - FIRST) - 1, CROWD / 3 * (TASKS - FIRST));
    scene_enqueue_n(s, "q", "t", CROWD - TASKS);
    for (size_t i = 0; i < CROWD; i++)
        assert_ok(end(waiters[i], WOKEN_MS).err);
}

/* ---- how long, and at what cost ---- */

static void he_waits_as_long_as_he_said(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    struct taken taken = {0};
    int64_t began = now_ms();
    int err = muster_lease_take(c, "q", 1, AN_HOUR, 400, taken_add, &taken);
    int64_t took = now_ms() - began;
    muster_client_free(c);
    assert_err(err, MUSTER_E_NOT_FOUND);
    assert_in_range(took, 395, 395 + SOON_MS);
    char *clients = raw_string(s->server->redis, "CLIENT LIST TYPE pubsub");
    bool nobody = !*clients;
    free(clients);
    assert_true(nobody);
}

/* While he sleeps he sends nothing, except often enough that somebody listens. */
static void asleep_he_costs_nothing_until_he_renews(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 1);
    char *listens_until = raw_string(s->server->redis, "HGET %s:queue:q listen", s->prefix);
    int64_t before = redis_server_calls(s->server, NULL);
    run_loop(s->base, 2000);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
    raw_await(s->server->redis, NULL, 1, "EVAL %s 1 %s:queue:q %s",
              "return tonumber(redis.call('HGET', KEYS[1], 'listen')) > tonumber(ARGV[1]) and 1 or 0", s->prefix,
              listens_until);
    free(listens_until);
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
}

static void assert_costs_nothing(struct scene *s)
{
    int64_t before = redis_server_calls(s->server, "evalsha");
    run_loop(s->base, 500); /* time enough for thousands of looks */
    assert_in_range(redis_server_calls(s->server, "evalsha") - before, 0, 10);
}

static void set_limit(struct scene *s, int64_t n)
{
    assert_ok(muster_config_set(s->client, "q", "max_running", &n));
}

/* Who is told of work that he may not take looks, finds nothing, and waits again. */
static void at_a_limit_he_costs_nothing_until_there_is_room(void **state)
{
    struct scene *s = *state;
    set_limit(s, 1);
    scene_enqueue(s, "q", "a");
    const char *process = take_one(s, "q", "a");
    scene_enqueue(s, "q", "b");
    struct waiter *first = start_asleep(s, "q", 1);
    assert_costs_nothing(s);
    struct waiter *second = start_with(scene_client(s), "q", 1, LONG_WAIT);
    raw_await(s->server->redis, NULL, 2, "ZCARD %s:takers:q", s->prefix);
    scene_enqueue(s, "q", "c");
    assert_costs_nothing(s);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    assert_gets(first, "b", WOKEN_MS);
    assert_costs_nothing(s);
    set_limit(s, 2);
    assert_gets(second, "c", WOKEN_MS);
}

static void nor_because_of_what_came_back_into_a_damaged_home(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "a");
    assert_ok(muster_lease_give_back(s->client, take_one(s, "q", "a")));
    raw_do(s->server->redis, "EVAL %s 2 %s:returned:q %s:home:stranger:q",
           "local m = redis.call('ZRANGE', KEYS[1], 0, 0)[1] redis.call('SET', KEYS[2], 'text')"
           "redis.call('DEL', KEYS[1]) redis.call('ZADD', KEYS[1], 1, string.sub(m, 1, 12) .. 'stranger') return 0",
           s->prefix, s->prefix);
    struct waiter *w = start_asleep(s, "q", 1);
    assert_costs_nothing(s);
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
    raw_do(s->server->redis, "DEL %s:returned:q %s:home:-:q %s:home:stranger:q", s->prefix, s->prefix, s->prefix);
}

/* However many messages come, he looks, and once for all that have come. */
static void a_flood_of_messages_is_not_a_flood_of_takes(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 1);
    int64_t before = redis_server_calls(s->server, "llen"), scripts = redis_server_calls(s->server, "evalsha");
    raw_do(s->server->redis, "EVAL %s 0 %s_q_work",
           "for i = 1, 20000 do redis.call('PUBLISH', ARGV[1], i) end return 0", s->prefix);
    run_loop(s->base, 500); /* time enough for thousands of looks */
    assert_in_range(redis_server_calls(s->server, "llen") - before, 1, 200);
    assert_int_equal(redis_server_calls(s->server, "evalsha"), scripts); /* nothing is there */
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
}

/* ---- connections that break ---- */

static void a_killed_listener_is_replaced(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 5; i++) {
        struct waiter *w = start_asleep(s, "q", 1);
        raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
        scene_enqueue(s, "q", "t");
        assert_gets(w, "t", WOKEN_MS);
        raw_do(s->server->redis, "HDEL %s:queue:q listen", s->prefix);
    }
}

static void a_killed_data_connection_is_replaced(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 1);
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
    scene_enqueue(s, "q", "t");
    assert_gets(w, "t", WOKEN_MS);
}

static void without_a_redis_he_returns(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start_asleep(s, "q", 1);
    redis_server_kill(s->server);
    const struct waiter result = end(w, WOKEN_MS);
    redis_server_restart(s->server);
    assert_err(result.err, MUSTER_E_CONN);
}

/* His connections are half open: nothing tells him but silence. What a take of his took is given back first. */
static void dead_connections_are_replaced(void **state)
{
    static const int ways[] = {PROXY_REQUESTS, PROXY_REPLIES};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ways); i++) {
        struct proxy p;
        struct muster_client *c;
        proxy_start(&p, s->server->dir, s->server->socket);
        const struct muster_client_options o = {
            .size = sizeof o, .url = p.url, .prefix = s->prefix, .timeout_ms = 1000};
        assert_ok(muster_client_new(&c, &o));
        struct waiter *w = start_with(c, "q", 1, LONG_WAIT);
        await_asleep(s, "q");
        proxy_swallow(&p, PROXY_BOTH, ways[i]);
        scene_enqueue(s, "q", "t");
        assert_gets(w, "t", LONG_WAIT);
        proxy_stop(&p);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix), (long long)i + 1);
        raw_do(s->server->redis, "HDEL %s:queue:q listen", s->prefix);
    }
}

/* Only the messages get lost from now on: the waiter sees what has come when it renews. */
static void lost_messages_cost_seconds_and_no_task(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    struct muster_client *c;
    proxy_start(&p, s->server->dir, s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .url = p.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    struct waiter *w = start_with(c, "q", 1, LONG_WAIT);
    await_asleep(s, "q");
    proxy_swallow(&p, PROXY_SUBSCRIPTION, PROXY_REPLIES);
    scene_enqueue(s, "q", "t");
    const struct waiter result = end(w, SOON_MS);
    proxy_stop(&p);
    assert_ok(result.err);
    assert_int_equal(result.taken.n, 1);
}

/* ---- refusals ---- */

static void what_is_not_allowed_is_refused_before_it_is_sent(void **state)
{
    static const struct {
        const char *queue;
        size_t n;
        int64_t lease_ms, wait_ms;
    } bad[] = {
        {"", 1, 1, 0},
        {"a\n", 1, 1, 0},
        {"q", 0, 1, 0},
        {"q", MUSTER_LEASE_TAKE_MAX + 1, 1, 0},
        {"q", 1, 0, 0},
        {"q", 1, -1, 0},
        {"q", 1, MUSTER_LEASE_MAX_MS + 1, 0},
        {"q", 1, 1, -1},
    };
    struct scene *s = *state;
    struct taken taken = {0};
    int64_t before = redis_server_calls(s->server, NULL);
    for (size_t i = 0; i < N_OF(bad); i++) {
        assert_err(
            muster_lease_take(s->client, bad[i].queue, bad[i].n, bad[i].lease_ms, bad[i].wait_ms, taken_add, &taken),
            MUSTER_E_INVALID);
        assert_string_not_equal(muster_client_error(s->client), "");
    }
    assert_int_equal(redis_server_calls(s->server, NULL), before);
    scene_enqueue(s, "q", "t");
    assert_ok(
        muster_lease_take(s->client, "q", MUSTER_LEASE_TAKE_MAX, MUSTER_LEASE_MAX_MS, INT64_MAX, taken_add, &taken));
}

static void a_connection_that_was_handed_in_takes_but_does_not_wait(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    struct taken taken = {0};
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    scene_enqueue(s, "q", "t");
    assert_ok(muster_client_new(&c, &o));
    int err_of_waiting = muster_lease_take(c, "q", 1, AN_HOUR, 1, taken_add, &taken);
    size_t n_of_waiting = taken.n;
    bool says_why = strstr(muster_client_error(c), "second connection") != NULL;
    int err = muster_lease_take(c, "q", 1, AN_HOUR, 0, taken_add, &taken);
    muster_client_free(c);
    redisFree(redis);
    assert_err(err_of_waiting, MUSTER_E_STATE);
    assert_int_equal(n_of_waiting, 0);
    assert_true(says_why);
    assert_ok(err);
    assert_int_equal(taken.n, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_waits_already_is_taken_at_once),
        live_test(an_enqueue_wakes),
        live_test(he_may_wait_for_ever),
        live_test(a_batch_wakes_and_gives_as_many_as_were_asked_for),
        live_test(a_foreign_push_and_publish_wake),
        live_test(a_retry_that_is_due_wakes),
        live_test(somebody_elses_lapse_wakes),
        live_test(a_delay_that_begins_while_he_sleeps_wakes),
        live_test(a_lease_made_shorter_wakes),
        live_test(what_is_given_back_wakes),
        live_test(resume_wakes),
        live_test(replay_wakes),
        live_test(a_worker_that_fails_wakes),
        live_test(each_of_several_gets_one),
        live_test(many_waiters_cost_few_scripts),
        live_test(he_waits_as_long_as_he_said),
        live_test(asleep_he_costs_nothing_until_he_renews),
        live_test(at_a_limit_he_costs_nothing_until_there_is_room),
        live_test(nor_because_of_what_came_back_into_a_damaged_home),
        live_test(a_flood_of_messages_is_not_a_flood_of_takes),
        live_test(a_killed_listener_is_replaced),
        live_test(a_killed_data_connection_is_replaced),
        live_test(without_a_redis_he_returns),
        live_test(dead_connections_are_replaced),
        live_test(lost_messages_cost_seconds_and_no_task),
        live_test(what_is_not_allowed_is_refused_before_it_is_sent),
        live_test(a_connection_that_was_handed_in_takes_but_does_not_wait),
    };
    return scene_run(tests, argc, argv);
}
