/* SPDX-License-Identifier: MIT
 *
 * Workers are woken and do not poll: an idle worker costs nothing, a task goes to one of them in one hop, and whatever
 * happens to a message or its connection, a task may be late, but is never stuck.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test: what arrives was brought by a message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/async.h>

#include "fake_server.h"
#include "live_worker.h"

#define AN_HOUR 3600000

static struct live_worker *idle_for_an_hour(struct scene *s, const char *id)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id, .ttl_ms = AN_HOUR, .queues = {{"q", 0}}});
}

/* ---- one task, one worker ---- */

static void one_task_goes_to_one_idle_worker_with_one_message(void **state)
{
    struct scene *s = *state;
    const char *ids[] = {"w1", "w2", "w3"};
    for (size_t i = 0; i < N_OF(ids); i++)
        idle_for_an_hour(s, ids[i]);
    int64_t publishes = redis_server_calls(s->server, "spublish");
    uint64_t waiting = 99;
    assert_ok(muster_task_enqueue(s->client, "q", "t", 1, &waiting));
    assert_int_equal(waiting, 0);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 3, "ZCARD %s:idle:q", s->prefix);
    assert_int_equal(redis_server_calls(s->server, "spublish") - publishes, 1);
    assert_int_equal(scene_starts(s), 1);
    scene_assert_quiet(s);
}

static void as_many_tasks_as_idle_hands_are_handed_over_in_order(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.ttl_ms = AN_HOUR, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}};
    const char *ids[] = {"w1", "w2", "w3"};
    for (size_t i = 0; i < N_OF(ids); i++) {
        struct worker_spec one = spec;
        one.id = ids[i];
        live_worker_idle(s, &one);
    }
    scene_enqueue_n(s, "q", "t", 8);
    scene_await_starts(s, 6);
    char *list = raw_string(s->server->redis, "LRANGE %s:queues:q 0 -1", s->prefix);
    bool rest_waits = !strcmp(list, "t7\nt6\n");
    free(list);
    assert_true(rest_waits);
    for (size_t i = 0; i < N_OF(ids); i++)
        assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, ids[i], NULL), 2);
}

/* ---- the herd ---- */

enum { TASKS = 50 };

/* The commands that Redis runs for TASKS tasks, one after the other, with `n_idle` idle workers. */
static int64_t commands_for_tasks(struct scene *s, int n_idle)
{
    size_t starts = scene_starts(s);
    int64_t before = 0;
    /* The first one loads scripts: not counted. */
    for (size_t i = 0; i <= TASKS; i++) {
        if (i == 1)
            before = redis_server_calls(s->server, NULL);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, starts + i + 1);
        raw_await(s->server->redis, s->base, n_idle, "ZCARD %s:idle:q", s->prefix);
    }
    return redis_server_calls(s->server, NULL) - before;
}

static void a_task_costs_the_same_with_1_10_and_300_idle_workers(void **state)
{
    struct scene *s = *state;
    const int sizes[] = {1, 10, 300};
    int64_t costs[N_OF(sizes)];
    char id[16];
    int n = 0;
    for (size_t i = 0; i < N_OF(sizes); i++) {
        while (n < sizes[i]) {
            snprintf(id, sizeof id, "w%d", n++);
            live_worker_new(s, &(struct worker_spec){.id = id, .ttl_ms = AN_HOUR, .queues = {{"q", 0}}});
        }
        raw_await(s->server->redis, s->base, n, "ZCARD %s:idle:q", s->prefix);
        costs[i] = commands_for_tasks(s, n);
        print_message("%d idle workers: %.2f commands per task\n", n, (double)costs[i] / TASKS);
    }
    assert_int_equal(costs[1], costs[0]);
    assert_int_equal(costs[2], costs[0]);

    int64_t before = redis_server_calls(s->server, NULL);
    run_loop(s->base, 500);
    assert_int_equal(redis_server_calls(s->server, NULL) - before, 0);
}

/* ---- foreign producers ---- */

static void foreign_push(struct scene *s, const char *task)
{
    char key[64];
    snprintf(key, sizeof key, "%s:queues:q", s->prefix);
    raw_push(s->server->redis, key, task, strlen(task));
}

static void a_foreign_push_with_its_message_wakes_at_once(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1");
    foreign_push(s, "foreign");
    int64_t before = now_ms();
    raw_do(s->server->redis, "PUBLISH %s_q_work 1", s->prefix);
    scene_await_starts(s, 1);
    print_message("a foreign message woke within %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 1000);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w1", "foreign"));
}

static void many_foreign_messages_cost_few_takes(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1");
    int64_t before_ms = now_ms();
    int64_t before = redis_server_calls(s->server, NULL);
    int64_t takes = redis_server_calls(s->server, "evalsha");
    for (int i = 0; i < 2000; i++)
        raw_do(s->server->redis, "PUBLISH %s_q_work 1", s->prefix);
    run_loop(s->base, 100);
    takes = redis_server_calls(s->server, "evalsha") - takes;
    int64_t span = now_ms() - before_ms;
    print_message("2000 messages: %d takes, %d commands in %d ms\n", (int)takes,
                  (int)(redis_server_calls(s->server, NULL) - before), (int)span);
    /* At most once per 10 ms, and once at the end. */
    assert_in_range(takes, 1, span / 10 + 2);
}

static void a_message_of_muster_itself_is_not_a_foreign_one(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1");
    foreign_push(s, "foreign");
    raw_do(s->server->redis, "PUBLISH %s_q_work muster", s->prefix);
    run_loop(s->base, 200);
    assert_int_equal(scene_starts(s), 0);
}

static void a_foreign_push_alone_is_found_within_one_heartbeat(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 1500, .queues = {{"q", 0}}});
    int64_t before = now_ms();
    foreign_push(s, "foreign");
    scene_await_starts(s, 1);
    print_message("heartbeat 500 ms: a bare push was found after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 500 + 2000);
}

/* ---- the subscription ---- */

static int64_t subscribers(struct scene *s, const char *worker)
{
    char *list = raw_string(s->server->redis, "PUBSUB SHARDCHANNELS %s:wake:%s", s->prefix, worker);
    int64_t n = *list != '\0';
    free(list);
    return n;
}

static void a_worker_whose_subscription_was_killed_takes_work_again(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1");
    for (size_t i = 1; i <= 3; i++) {
        raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
        assert_int_equal(subscribers(s, "w1"), 0);
        int64_t before = now_ms();
        /* Nobody hears of it: it stays in the queue until the read-back and take after the new subscription. */
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i);
        print_message("taken %d ms after the subscription was killed\n", (int)(now_ms() - before));
        assert_in_range(now_ms() - before, 0, 2000);
        scene_await_idle(s, "q", "w1");
    }
    assert_int_equal(subscribers(s, "w1"), 1);
    scene_assert_quiet(s);
}

/* The connection stands, and brings nothing: only the missing echo of a heartbeat tells. */
static void a_subscription_without_echo_is_replaced(void **state)
{
    struct scene *s = *state;
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, NULL);
    live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                              .ttl_ms = 600,
                                              .data = redisAsyncConnectUnix(s->server->socket),
                                              .subscription = redisAsyncConnect("127.0.0.1", relay.port),
                                              .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "before");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    fake_server_freeze(&relay);
    int64_t before = now_ms();
    scene_enqueue(s, "q", "into the void");
    scene_await_starts(s, 2);
    print_message("heartbeat 200 ms: a mute subscription was noticed after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 2 * 200 + 2000);
    scene_await_idle(s, "q", "w1");
    before = now_ms();
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 3);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, NULL, NULL), 0);
    fake_server_stop(&relay);
}

/* Only the count of a heartbeat can tell: the subscription stands, and its echoes arrive. */
static void a_lost_message_delays_a_task_by_one_heartbeat_at_most(void **state)
{
    struct scene *s = *state;
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, "gets lost");
    live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                              .ttl_ms = 1500,
                                              .hands = 2,
                                              .answer = MUSTER_LATER,
                                              .data = redisAsyncConnectUnix(s->server->socket),
                                              .subscription = redisAsyncConnect("127.0.0.1", relay.port),
                                              .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "arrives");
    scene_await_starts(s, 1);
    int64_t before = now_ms();
    scene_enqueue(s, "q", "gets lost");
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w1:q", s->prefix), 2);
    scene_await_starts(s, 2);
    print_message("heartbeat 500 ms: a task whose message was lost began after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 500 + 2000);
    scene_assert_started(s, 0, (const char *[]){"arrives", "gets lost", NULL});
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, NULL, NULL), 0);
    fake_server_stop(&relay);
}

/* The message is stuck on its way; a new data connection reads the task back meanwhile, and it is run and ended. */
static void a_message_that_comes_after_the_read_back_starts_nothing(void **state)
{
    struct scene *s = *state;
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, NULL);
    live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                              .ttl_ms = AN_HOUR,
                                              .data = redisAsyncConnectUnix(s->server->socket),
                                              .subscription = redisAsyncConnect("127.0.0.1", relay.port),
                                              .queues = {{"q", 0}}});
    fake_server_freeze(&relay);
    scene_enqueue(s, "q", "late");
    raw_do(s->server->redis, "CLIENT KILL TYPE normal");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    fake_server_thaw(&relay);
    muster_client_free(s->client);
    s->client = scene_client(s);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    scene_await_idle(s, "q", "w1");
    scene_assert_started(s, 0, (const char *[]){"late", "next", NULL});
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    fake_server_stop(&relay);
}

/* ---- messages that are none ---- */

/* The hand-over message of the next task, to be freed: an example of a good one. */
static struct redisReply *overhear(struct scene *s, const char *task)
{
    struct redisContext *ear = redisConnectUnix(s->server->socket);
    struct redisReply *reply = raw(ear, "SSUBSCRIBE %s:wake:w1", s->prefix);
    freeReplyObject(reply);
    size_t starts = scene_starts(s);
    scene_enqueue(s, "q", task);
    void *message = NULL;
    assert_int_equal(redisGetReply(ear, &message), REDIS_OK);
    redisFree(ear);
    scene_await_starts(s, starts + 1);
    scene_await_idle(s, "q", "w1");
    return message;
}

static void publish(struct scene *s, const char *message, size_t len)
{
    char channel[64];
    snprintf(channel, sizeof channel, "%s:wake:w1", s->prefix);
    const char *argv[] = {"SPUBLISH", channel, message};
    const size_t lens[] = {8, strlen(channel), len};
    freeReplyObject(redisCommandArgv(s->server->redis, 3, argv, lens));
}

static void messages_that_are_cut_or_of_another_life_are_ignored(void **state)
{
    struct scene *s = *state;
    idle_for_an_hour(s, "w1");
    struct redisReply *heard = overhear(s, "task");
    char *epoch = raw_string(s->server->redis, "GET %s:alive:w1", s->prefix);
    char *good = heard->element[2]->str;
    size_t len = (size_t)heard->element[2]->len;
    char *at = strstr(good, epoch);
    assert_non_null(at);

    for (size_t cut = 0; cut < len - strlen("task"); cut++)
        publish(s, good, cut);
    memset(at, '0', strlen(epoch));
    publish(s, good, len);
    memset(at, 'v', strlen(epoch));
    publish(s, good, len);
    memset(at, '\xff', strlen(epoch));
    publish(s, good, len);
    free(epoch);
    freeReplyObject(heard);

    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 2);
    scene_assert_started(s, 0, (const char *[]){"task", "after", NULL});
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

static void garbage_on_the_channel_is_ignored(void **state)
{
    struct scene *s = *state;
    char noise[600];
    unsigned seed = 1;
    idle_for_an_hour(s, "w1");
    for (int i = 0; i < 2000; i++) {
        size_t len = (size_t)rand_r(&seed) % sizeof noise;
        for (size_t k = 0; k < len; k++)
            noise[k] = (char)(rand_r(&seed) >> 7);
        if (len)
            noise[0] = "TFEX"[i % 4];
        publish(s, noise, len);
    }
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 1);
    scene_assert_started(s, 0, (const char *[]){"after", NULL});
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, -1, NULL, NULL),
                     journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, NULL, NULL));
}

/* Its first takes leave hands free that one call may not ask for. */
static void an_idle_worker_of_many_hands_asks_no_more(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w", .ttl_ms = 3600000, .hands = 300, .queues = {{"q", 0}}};
    live_worker_idle(s, &spec);
    run_loop(s->base, 50);
    int64_t before = redis_server_calls(s->server, NULL);
    run_loop(s->base, 200);
    assert_in_range(redis_server_calls(s->server, NULL) - before, 0, 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_idle_worker_of_many_hands_asks_no_more),
        live_test(one_task_goes_to_one_idle_worker_with_one_message),
        live_test(as_many_tasks_as_idle_hands_are_handed_over_in_order),
        live_test(a_task_costs_the_same_with_1_10_and_300_idle_workers),
        live_test(a_foreign_push_with_its_message_wakes_at_once),
        live_test(many_foreign_messages_cost_few_takes),
        live_test(a_message_of_muster_itself_is_not_a_foreign_one),
        live_test(a_foreign_push_alone_is_found_within_one_heartbeat),
        live_test(a_worker_whose_subscription_was_killed_takes_work_again),
        live_test(a_subscription_without_echo_is_replaced),
        live_test(a_lost_message_delays_a_task_by_one_heartbeat_at_most),
        live_test(a_message_that_comes_after_the_read_back_starts_nothing),
        live_test(messages_that_are_cut_or_of_another_life_are_ignored),
        live_test(garbage_on_the_channel_is_ignored),
    };
    return scene_run(tests, argc, argv);
}
