/* SPDX-License-Identifier: MIT
 *
 * Request ids: when the answer to an enqueue was lost, the same call again adds nothing.
 *
 * Answers get lost by a server that stands still until the client has given up; requests by a relay that swallows all
 * that arrives together with a certain task.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_server.h"
#include "live_worker.h"

#define HOUR_MS 3600000
#define MANY 2500

static int enqueue(struct muster_client *c, const char *queue, const char *id, int at_front, const char *const *texts,
                   uint64_t *waiting)
{
    struct muster_bytes tasks[8];
    size_t n = 0;
    for (; texts[n]; n++)
        tasks[n] = (struct muster_bytes){texts[n], strlen(texts[n])};
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = at_front, .request_id = id};
    return muster_task_enqueue_many(c, queue, tasks, n, &o, waiting);
}

static const char *const a_and_b[] = {"a", "b", NULL};

static int64_t length(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "LLEN %s:queues:%s", s->prefix, queue);
}

/* ---- many tasks: "t0", "t1", ... ---- */

static int enqueue_many(struct muster_client *c, const char *id, int at_front, size_t n, uint64_t *waiting)
{
    static char names[MANY][8];
    struct muster_bytes tasks[MANY];
    for (size_t i = 0; i < n; i++)
        tasks[i] = (struct muster_bytes){names[i], (size_t)snprintf(names[i], sizeof names[i], "t%zu", i)};
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = at_front, .request_id = id};
    return muster_task_enqueue_many(c, "q", tasks, n, &o, waiting);
}

static int see_numbered(const struct muster_task *task, void *arg)
{
    size_t *next = arg;
    char expected[24];
    int len = snprintf(expected, sizeof expected, "t%zu", *next);
    if (task->len != (size_t)len || memcmp(task->data, expected, task->len) != 0)
        return 1;
    ++*next;
    return 0;
}

/* From the front on: t0 to the last one, each once; then the others. */
static void assert_all_wait_in_order(struct scene *s, int64_t others)
{
    size_t next = 0;
    assert_int_equal(length(s, "q"), MANY + others);
    assert_ok(muster_task_peek(s->client, "q", 0, MANY, see_numbered, &next));
    assert_int_equal(next, MANY);
}

/* ---- the same request twice ---- */

static void the_same_request_adds_nothing_and_answers_the_same(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 0;
    scene_enqueue(s, "q", "before");
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, &waiting));
    assert_int_equal(waiting, 3);
    scene_enqueue(s, "q", "after");
    waiting = 0;
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, &waiting));
    assert_int_equal(waiting, 3);
    assert_int_equal(length(s, "q"), 4);
    /* Another id is another request. */
    assert_ok(enqueue(s->client, "q", "id2", 0, a_and_b, &waiting));
    assert_int_equal(waiting, 6);
}

/* Also when its tasks are long gone. */
static void what_was_finished_does_not_come_again(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w", .queues = {{"q", 0}}});
    uint64_t waiting = 9;
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, &waiting));
    uint64_t first = waiting;
    scene_await_starts(s, 2);
    scene_await_idle(s, "q", "w");
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, &waiting));
    assert_int_equal(waiting, first);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 3);
    scene_assert_started(s, 0, (const char *[]){"a", "b", "next", NULL});
}

static void other_content_is_refused(void **state)
{
    struct scene *s = *state;
    const struct {
        const char *queue;
        int at_front;
        const char *tasks[4];
    } others[] = {
        {"q", 0, {"a", "c"}}, {"q", 0, {"ab", ""}},     {"q", 0, {"", "ab"}}, {"q", 0, {"ab"}},
        {"q", 0, {"b", "a"}}, {"q", 0, {"a", "b", ""}}, {"q", 1, {"a", "b"}}, {"r", 0, {"a", "b"}},
    };
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, NULL));
    for (size_t i = 0; i < N_OF(others); i++) {
        int err = enqueue(s->client, others[i].queue, "id", others[i].at_front, others[i].tasks, NULL);
        if (err != MUSTER_E_EXISTS)
            fail_msg("case %zu: %s", i, muster_err_name(err));
        assert_non_null(strstr(muster_client_error(s->client), "'id'"));
    }
    assert_int_equal(length(s, "q"), 2);
    assert_int_equal(length(s, "r"), 0);
    uint64_t waiting = 0;
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, &waiting));
    assert_int_equal(waiting, 2);
}

static void an_id_that_is_not_allowed_is_refused_before_anything_is_sent(void **state)
{
    struct scene *s = *state;
    char long_id[202] = {0}, before[41], after[41];
    memset(long_id, 'x', 201);
    const char *const ids[] = {"", "a\nb", long_id};
    redis_server_digest(s->server, before);
    for (size_t i = 0; i < N_OF(ids); i++)
        assert_err(enqueue(s->client, "q", ids[i], 0, a_and_b, NULL), MUSTER_E_INVALID);
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
    long_id[200] = '\0';
    assert_ok(enqueue(s->client, "q", long_id, 0, a_and_b, NULL));
}

static void the_record_is_kept_for_an_hour(void **state)
{
    struct scene *s = *state;
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, NULL));
    assert_in_range(raw_int(s->server->redis, "PTTL %s:request:id", s->prefix), HOUR_MS - 60000, HOUR_MS);
    assert_ok(enqueue_many(s->client, "chunks", 0, MANY, NULL));
    assert_in_range(raw_int(s->server->redis, "PTTL %s:request:chunks", s->prefix), HOUR_MS - 60000, HOUR_MS);
    /* Afterwards it is a new request. */
    raw_do(s->server->redis, "PEXPIRE %s:request:id 1", s->prefix);
    raw_await(s->server->redis, NULL, 0, "EXISTS %s:request:id", s->prefix);
    assert_ok(enqueue(s->client, "q", "id", 0, a_and_b, NULL));
    assert_int_equal(length(s, "q"), MANY + 4);
}

static void without_an_id_nothing_is_recorded(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "a");
    assert_int_equal(raw_int(s->server->redis, "EVAL %s 1 %s",
                             "return #redis.call('SCAN', '0', 'MATCH', KEYS[1] .. ':request:*', 'COUNT', 100000)[2]",
                             s->prefix),
                     0);
}

/* ---- lost on the way ---- */

static struct muster_client *impatient(struct scene *s, const char *url)
{
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = 300};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "other", "warm", 4, NULL)); /* so that the next call is the request alone */
    return c;
}

static bool both_were_executed(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "LLEN %s:queues:other", s->prefix) == 2;
}

/* The server executes what it got when it goes on, with nobody there to hear the answer. */
static void a_lost_reply_and_the_same_request_again_is_exactly_once(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = impatient(s, s->server->url);
    uint64_t waiting = 0;
    redis_server_freeze(s->server);
    int lost = enqueue(c, "q", "id", 0, a_and_b, NULL);
    redis_server_thaw(s->server);
    int again = enqueue(c, "q", "id", 0, a_and_b, &waiting);
    int last = muster_task_enqueue(c, "other", "last", 4, NULL);
    muster_client_free(c);
    assert_int_equal(lost, MUSTER_E_TIMEOUT);
    assert_ok(again);
    assert_ok(last);
    wait_until(both_were_executed, s, SOON_MS);
    assert_int_equal(waiting, 2);
    assert_int_equal(length(s, "q"), 2);
}

/* The first try comes as far as the chunk that holds t1200; the second one brings what is missing. */
static void complete_after_half_was_lost(struct scene *s, int at_front)
{
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, "t1200");
    struct muster_client *c = impatient(s, relay.url);
    int lost = enqueue_many(c, "id", at_front, MANY, NULL);
    muster_client_free(c);
    fake_server_stop(&relay);
    assert_true(lost == MUSTER_E_TIMEOUT || lost == MUSTER_E_CONN);
    assert_in_range(length(s, "q"), 2, MANY - 1);
}

static void half_of_many_lost_is_completed_exactly_once(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 0, again = 0;
    complete_after_half_was_lost(s, 0);
    assert_ok(enqueue_many(s->client, "id", 0, MANY, &waiting));
    assert_int_equal(waiting, MANY);
    assert_all_wait_in_order(s, 0);
    scene_enqueue(s, "q", "later");
    assert_ok(enqueue_many(s->client, "id", 0, MANY, &again));
    assert_int_equal(again, waiting);
    assert_all_wait_in_order(s, 1);
    assert_err(enqueue_many(s->client, "id", 0, MANY - 1, NULL), MUSTER_E_EXISTS);
    assert_all_wait_in_order(s, 1);
}

static void at_the_front_they_keep_their_order(void **state)
{
    struct scene *s = *state;
    uint64_t waiting = 0;
    scene_enqueue(s, "q", "old");
    complete_after_half_was_lost(s, 1);
    assert_ok(enqueue_many(s->client, "id", 1, MANY, &waiting));
    assert_int_equal(waiting, MANY + 1);
    assert_all_wait_in_order(s, 1);
    assert_ok(enqueue_many(s->client, "id", 1, MANY, NULL));
    assert_all_wait_in_order(s, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(the_same_request_adds_nothing_and_answers_the_same),
        live_test(what_was_finished_does_not_come_again),
        live_test(other_content_is_refused),
        live_test(an_id_that_is_not_allowed_is_refused_before_anything_is_sent),
        live_test(the_record_is_kept_for_an_hour),
        live_test(without_an_id_nothing_is_recorded),
        live_test(a_lost_reply_and_the_same_request_again_is_exactly_once),
        live_test(half_of_many_lost_is_completed_exactly_once),
        live_test(at_the_front_they_keep_their_order),
    };
    return scene_run(tests, argc, argv);
}
