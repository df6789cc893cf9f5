/* SPDX-License-Identifier: MIT
 *
 * One task after the other into a queue without idle workers: no script is called, but a worker that became idle since,
 * or a listener that came, is not overlooked.
 */
#include <pthread.h>
#include <string.h>

#include "hostile_server.h"
#include "live_worker.h"
#include "proxy.h"

/* Of this kind of command since `before`. */
static int64_t calls_since(struct scene *s, const char *command, int64_t before)
{
    return redis_server_calls(s->server, command) - before;
}

/* One by one: after that the client takes the queue for busy, and the next task goes plainly. */
static void enqueue_two(struct scene *s)
{
    scene_enqueue(s, "q", "t0");
    scene_enqueue(s, "q", "t1");
}

static void a_busy_queue_needs_no_script(void **state)
{
    struct scene *s = *state;
    uint64_t waiting;
    scene_enqueue(s, "q", "t0");
    int64_t scripts = redis_server_calls(s->server, "evalsha");
    for (uint64_t i = 1; i < 20; i++) {
        assert_ok(muster_task_enqueue(s->client, "q", "t", 1, &waiting));
        assert_int_equal(waiting, i + 1);
    }
    assert_int_equal(calls_since(s, "evalsha", scripts), 0);
    assert_int_equal(scene_waiting(s, "q"), 20);
}

static void a_worker_that_became_idle_meanwhile_is_handed_the_task(void **state)
{
    struct scene *s = *state;
    enqueue_two(s);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 3600000, .queues = {{"q", 0}}});
    scene_await_starts(s, 2);
    raw_await(s->server->redis, NULL, 1, "ZCARD %s:idle:q", s->prefix);
    scene_enqueue(s, "q", "t2"); /* no heartbeat finds it within the hour */
    scene_await_starts(s, 3);
    raw_await(s->server->redis, NULL, 1, "ZCARD %s:idle:q", s->prefix);
    scene_enqueue(s, "q", "t3");
    scene_await_starts(s, 4);
}

static void *enqueue_the_third(void *arg)
{
    struct muster_client *c = arg;
    assert_ok(muster_task_enqueue(c, "q", "t2", 2, NULL));
    return NULL;
}

static bool is_refused_again(void *arg)
{
    const struct hostile_server *h = arg;
    return h->counts->commands >= 5; /* the push, the look behind it, and two more */
}

/* What was looked at behind a push that was refused says nothing of the queue when it is sent again. */
static void a_worker_that_becomes_idle_before_a_push_is_sent_again_is_handed_the_task(void **state)
{
    struct scene *s = *state;
    struct hostile_server h = {0};
    struct muster_client *c;
    pthread_t thread;
    hostile_server_start(&h, s->server->dir,
                         &(struct hostile_spec){.relay_to = s->server->socket,
                                                .constant = "-NOREPLICAS Not enough good replicas to write.\r\n",
                                                .only = "\r\nLPUSH\r\n"});
    const struct muster_client_options o = {
        .size = sizeof o, .url = h.url, .prefix = s->prefix, .timeout_ms = 4 * SOON_MS};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "t0", 2, NULL));
    h.counts->commands = 0;
    assert_int_equal(pthread_create(&thread, NULL, enqueue_the_third, c), 0);
    wait_until(is_refused_again, &h, SOON_MS);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 3600000, .queues = {{"q", 0}}});
    scene_await_starts(s, 1);
    raw_await(s->server->redis, NULL, 1, "ZCARD %s:idle:q", s->prefix);
    h.counts->is_mild = 1;
    scene_await_starts(s, 2);
    pthread_join(thread, NULL);
    muster_client_free(c);
    hostile_server_stop(&h);
}

/* The look behind the push has no answer any more: the task is there all the same, and told once. */
static void a_push_that_was_answered_counts(void **state)
{
    struct scene *s = *state;
    struct proxy proxy = {0};
    struct muster_client *c;
    uint64_t waiting = 0;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .url = proxy.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    for (int i = 0; i < 2; i++)
        assert_ok(muster_task_enqueue(c, "q", "t", 1, NULL));
    proxy_ration(&proxy, PROXY_DATA, (int)strlen(":3\r\n"));
    assert_ok(muster_task_enqueue(c, "q", "t", 1, &waiting));
    assert_int_equal(waiting, 3);
    assert_int_equal(scene_waiting(s, "q"), 3);
    muster_client_free(c);
    proxy_stop(&proxy);
}

static void a_listener_that_came_meanwhile_hears_of_it(void **state)
{
    struct scene *s = *state;
    enqueue_two(s);
    raw_do(s->server->redis, "HSET %s:queue:q listen 99999999999999", s->prefix);
    int64_t published = redis_server_calls(s->server, "publish");
    scene_enqueue(s, "q", "t2");
    assert_int_equal(calls_since(s, "publish", published), 1);
    raw_do(s->server->redis, "HDEL %s:queue:q listen", s->prefix);
    scene_enqueue(s, "q", "t3");
    assert_int_equal(calls_since(s, "publish", published), 1);
}

/* A queue that is emptied and forgotten meanwhile gets its name back. */
static void a_forgotten_queue_is_named_again(void **state)
{
    struct scene *s = *state;
    enqueue_two(s);
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:names", s->prefix), 0);
    scene_enqueue(s, "q", "t2");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:names", s->prefix), 1);
}

static void a_key_of_the_wrong_type_is_told(void **state)
{
    struct scene *s = *state;
    enqueue_two(s);
    raw_do(s->server->redis, "RENAME %s:queues:q away", s->prefix);
    raw_do(s->server->redis, "SET %s:queues:q text", s->prefix);
    assert_err(muster_task_enqueue(s->client, "q", "t", 1, NULL), MUSTER_E_REDIS);
    raw_do(s->server->redis, "RENAME away %s:queues:q", s->prefix);
    scene_enqueue(s, "q", "t2");
    assert_int_equal(scene_waiting(s, "q"), 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_busy_queue_needs_no_script),
        live_test(a_worker_that_became_idle_meanwhile_is_handed_the_task),
        live_test(a_worker_that_becomes_idle_before_a_push_is_sent_again_is_handed_the_task),
        live_test(a_push_that_was_answered_counts),
        live_test(a_listener_that_came_meanwhile_hears_of_it),
        live_test(a_forgotten_queue_is_named_again),
        live_test(a_key_of_the_wrong_type_is_told),
    };
    return scene_run(tests, argc, argv);
}
