/* SPDX-License-Identifier: MIT
 *
 * Listening to a queue: what is heard of muster's own events, how long, at what cost, and what happens when a
 * connection breaks. Messages that others publish there: test_listen_foreign.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listening.h"
#include "proxy.h"
#include "taken.h"
#include "worker_process.h"

/* ---- what is heard ---- */

static void finish_some(struct listening *l)
{
    struct scene *s = l->scene;
    finish_with(s, "a", NULL);
    finish_with(s, "b", &(const struct muster_bytes){"", 0});
    finish_with(s, "c", &(const struct muster_bytes){"3:-:x", 5});
    finish_with(s, "", &(const struct muster_bytes){"\0:\xff", 3});
    say_the_end(l);
}

/* No result is not the same as the empty one. */
static void finishes_are_heard_in_order_with_their_results(void **state)
{
    assert_heard(*state, finish_some,
                 "done by .lease a\ndone by .lease b = \ndone by .lease c = 3:-:x\n"
                 "done by .lease  = \\00:\\ff\n");
}

static void finish_by_name(struct listening *l)
{
    struct taken taken = {0};
    const struct muster_take_options o = {.size = sizeof o, .holder = "me"};
    const struct muster_finish_options result = {.size = sizeof result, .result = &(struct muster_bytes){"b:c", 3}};
    scene_enqueue(l->scene, "q", "a");
    assert_ok(muster_lease_take_as(l->scene->client, "q", &o, taken_add, &taken));
    assert_ok(muster_lease_finish(l->scene->client, taken.rows[0].id, &result));
    say_the_end(l);
}

static void who_held_the_lease_is_heard_by_its_name(void **state)
{
    assert_heard(*state, finish_by_name, "done by .lease for me a = b:c\n");
}

static void other_ends(struct listening *l)
{
    struct scene *s = l->scene;
    scene_enqueue_n(s, "q", "t", 3);
    assert_ok(muster_lease_retry(s->client, take_one(s, "q", "t0"), 3600000));
    assert_ok(muster_lease_fail(s->client, take_one(s, "q", "t1"), NULL, NULL));
    assert_ok(muster_lease_give_back(s->client, take_one(s, "q", "t2")));
    assert_ok(muster_process_cancel(s->client, take_one(s, "q", "t2")));
    say_the_end(l);
}

static void no_other_end_is_heard(void **state)
{
    assert_heard(*state, other_ends, "");
}

static void cancel_some(struct listening *l)
{
    struct scene *s = l->scene;
    scene_enqueue(s, "q", "waits");
    assert_ok(muster_task_cancel(s->client, "q", "waits", 5, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "q", "never was", 9, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "q", "\0\n", 2, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "q", NULL, 0, NULL, NULL));
    assert_ok(muster_task_cancel(s->client, "r", "elsewhere", 9, NULL, NULL));
    say_the_end(l);
}

static void cancels_are_heard_with_the_task(void **state)
{
    assert_heard(*state, cancel_some, "cancelled waits\ncancelled never\\20was\ncancelled \\00\\0a\ncancelled \n");
}

/* A deleted queue is still listened to, and what comes then is heard too. */
static void delete_and_go_on(struct listening *l)
{
    struct scene *s = l->scene;
    scene_enqueue(s, "q", "old");
    scene_enqueue(s, "q", "gone");
    const char *process = take_one(s, "q", "old");
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_ok(muster_lease_finish(s->client, process, NULL));
    finish_with(s, "new", NULL);
    say_the_end(l);
}

static void a_delete_is_heard_and_what_comes_after_it(void **state)
{
    assert_heard(*state, delete_and_go_on, "deleted\ndone by .lease old\ndone by .lease new\n");
}

static void enqueue_for_the_worker(struct listening *l)
{
    scene_enqueue_n(l->scene, "q", "t", 3);
    scene_enqueue(l->scene, "q", LISTENING_END);
}

static void a_workers_finishes_are_heard(void **state)
{
    struct scene *s = *state;
    worker_process_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_FINISH, .queues = {{"q", 0}}});
    assert_heard(s, enqueue_for_the_worker, "done by w1 t0\ndone by w1 t1\ndone by w1 t2\n");
}

static void finish_something_large(struct listening *l)
{
    const size_t len = 3 << 20;
    char *bytes = malloc(len);
    memset(bytes, 'x', len);
    finish_with(l->scene, "large", &(const struct muster_bytes){bytes, len});
    free(bytes);
    say_the_end(l);
}

static void a_large_result_is_heard_whole(void **state)
{
    struct listening l = {.scene = *state, .act = finish_something_large};
    int err = listen_with(scene_client(*state), &l);
    size_t len = l.heard_len;
    free(l.heard);
    assert_ok(err);
    assert_int_equal(len, strlen("done by .lease large = \n") + (3 << 20));
}

/* ---- only while somebody listens ---- */

static void nothing_is_published_while_nobody_listens(void **state)
{
    struct scene *s = *state;
    finish_with(s, "a", NULL);
    assert_ok(muster_task_cancel(s->client, "q", "a", 1, NULL, NULL));
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    int64_t before = redis_server_calls(s->server, "publish");
    finish_with(s, "a", NULL);
    assert_ok(muster_task_cancel(s->client, "q", "a", 1, NULL, NULL));
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    assert_int_equal(redis_server_calls(s->server, "publish"), before);
    raw_do(s->server->redis, "HSET %s:queue:q broadcast 1", s->prefix);
    finish_with(s, "a", NULL);
    assert_true(redis_server_calls(s->server, "publish") > before);
}

/* ---- its end ---- */

static void it_ends_when_the_time_is_over(void **state)
{
    struct scene *s = *state;
    struct listening l = {.scene = s, .wait_ms = 300};
    int64_t began = now_ms();
    int err = listen_with(scene_client(s), &l);
    free(l.heard);
    assert_err(err, MUSTER_E_TIMEOUT);
    assert_in_range(now_ms() - began, 295, 295 + SOON_MS);
}

static int stop_at_once(void *arg)
{
    finish_with(arg, "a", NULL);
    return 1;
}

static int hear_one(const struct muster_queue_event *e, void *arg)
{
    (void)e, (void)arg;
    fail_msg("an event after the end");
    return 0;
}

static void it_ends_when_ready_says_so(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    int err = muster_queue_listen(c, "q", SOON_MS, stop_at_once, hear_one, s);
    int err_at_once = muster_queue_listen(c, "q", 0, NULL, hear_one, s);
    muster_client_free(c);
    assert_ok(err);
    assert_err(err_at_once, MUSTER_E_TIMEOUT);
}

/* ---- connections that break ---- */

struct own_calls {
    struct scene *scene;
    struct muster_client *client;
};

static int call_over_a_new_connection(void *arg)
{
    const struct own_calls *own = arg;
    uint64_t waiting;
    raw_do(own->scene->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
    assert_err(muster_queue_length(own->client, "bad", &waiting), MUSTER_E_REDIS);
    raw_do(own->scene->server->redis, "CONFIG RESETSTAT");
    return 0;
}

/* A call that was refused leaves answers unread. Whose connection is a new one is asked for all that who hears this one. */
static void a_function_that_it_calls_may_make_calls_that_are_refused(void **state)
{
    struct scene *s = *state;
    struct own_calls own = {s, scene_client(s)};
    raw_do(s->server->redis, "SET %s:queues:bad x", s->prefix);
    assert_err(muster_queue_listen(own.client, "q", 300, call_over_a_new_connection, hear_one, &own), MUSTER_E_TIMEOUT);
    assert_int_equal(redis_server_calls(s->server, "publish"), 1);
    muster_client_free(own.client);
    raw_do(s->server->redis, "DEL %s:queues:bad", s->prefix);
}

static void kill_the_listener(struct listening *l)
{
    raw_do(l->scene->server->redis, "CLIENT KILL TYPE pubsub");
}

/* Events may have been lost, so it does not just go on. */
static void a_broken_connection_ends_it(void **state)
{
    struct listening l = {.scene = *state, .act = kill_the_listener};
    int err = listen_with(scene_client(*state), &l);
    free(l.heard);
    assert_err(err, MUSTER_E_CONN);
}

static struct proxy proxy;

static void swallow_messages(struct listening *l)
{
    (void)l;
    assert_int_equal(proxy_swallow(&proxy, PROXY_SUBSCRIPTION, PROXY_REPLIES), 1);
}

/* The connection stays open and brings nothing more: the listener asks, and gets no answer. */
static void a_silent_connection_is_not_taken_for_a_quiet_queue(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    struct listening l = {.scene = s, .act = swallow_messages};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .url = proxy.url, .prefix = s->prefix, .timeout_ms = 500};
    assert_ok(muster_client_new(&c, &o));
    int err = listen_with(c, &l);
    free(l.heard);
    proxy_stop(&proxy);
    assert_err(err, MUSTER_E_CONN);
    assert_non_null(strstr(l.why, "no sign of life"));
}

static void freeze(struct listening *l)
{
    redis_server_freeze(l->scene->server);
}

static void a_redis_that_stands_still_is_not_the_time_that_is_over(void **state)
{
    struct scene *s = *state;
    struct listening l = {.scene = s, .act = freeze};
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .timeout_ms = 300};
    assert_ok(muster_client_new(&c, &o));
    int err = listen_with(c, &l);
    redis_server_thaw(s->server);
    free(l.heard);
    assert_err(err, MUSTER_E_CONN);
}

struct long_listening {
    struct listening l; /* the first */
    int64_t pings, began_ms;
    pthread_t thread;
};

/* The listener has asked, and has renewed its note in the queue's settings twice. */
static bool has_gone_on(void *arg)
{
    struct long_listening *x = arg;
    struct scene *s = x->l.scene;
    return redis_server_calls(s->server, "ping") > x->pings &&
           raw_int(s->server->redis, "HGET %s:queue:q listen", s->prefix) >= x->began_ms + 6000 + 10000;
}

static void *end_when_it_has_gone_on(void *arg)
{
    struct long_listening *x = arg;
    wait_until(has_gone_on, x, SOON_MS);
    say_the_end(&x->l);
    return NULL;
}

static void end_later(struct listening *l)
{
    struct long_listening *x = (struct long_listening *)l;
    pthread_create(&x->thread, NULL, end_when_it_has_gone_on, x);
}

/* A quiet queue is not taken for a dead connection: an answer to the listener's question is enough. */
static void a_quiet_queue_is_listened_to_for_long(void **state)
{
    struct scene *s = *state;
    struct long_listening x = {.l = {.scene = s, .act = end_later}};
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = s->server->url, .prefix = s->prefix, .timeout_ms = 2000};
    assert_ok(muster_client_new(&c, &o));
    x.pings = redis_server_calls(s->server, "ping");
    x.began_ms = server_now_ms(s);
    assert_ok(listen_with(c, &x.l));
    pthread_join(x.thread, NULL);
    assert_string_equal(x.l.heard, "");
    free(x.l.heard);
}

/* ---- refusals ---- */

static void what_is_not_allowed_is_refused(void **state)
{
    struct scene *s = *state;
    struct muster_client *given;
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    assert_err(muster_queue_listen(s->client, "", 1, NULL, hear_one, NULL), MUSTER_E_INVALID);
    assert_err(muster_queue_listen(s->client, "q", -1, NULL, hear_one, NULL), MUSTER_E_INVALID);
    assert_ok(muster_client_new(&given, &o));
    int err = muster_queue_listen(given, "q", 1, NULL, hear_one, NULL);
    muster_client_free(given);
    redisFree(redis);
    assert_err(err, MUSTER_E_STATE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(finishes_are_heard_in_order_with_their_results),
        live_test(who_held_the_lease_is_heard_by_its_name),
        live_test(no_other_end_is_heard),
        live_test(cancels_are_heard_with_the_task),
        live_test(a_delete_is_heard_and_what_comes_after_it),
        live_test(a_workers_finishes_are_heard),
        live_test(a_large_result_is_heard_whole),
        live_test(nothing_is_published_while_nobody_listens),
        live_test(it_ends_when_the_time_is_over),
        live_test(it_ends_when_ready_says_so),
        live_test(a_function_that_it_calls_may_make_calls_that_are_refused),
        live_test(a_broken_connection_ends_it),
        live_test(a_silent_connection_is_not_taken_for_a_quiet_queue),
        live_test(a_redis_that_stands_still_is_not_the_time_that_is_over),
        live_test(a_quiet_queue_is_listened_to_for_long),
        live_test(what_is_not_allowed_is_refused),
    };
    return scene_run(tests, argc, argv);
}
