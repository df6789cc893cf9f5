/* SPDX-License-Identifier: MIT
 *
 * A worker that stops politely gives back what it has not started: in the order in which it took it, however many calls
 * that takes, and whatever arrives in between.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "script_call.h"

#define TTL_MS 3000

static void enqueue_large(struct scene *s, int n, size_t len)
{
    char *bytes = malloc(len);
    memset(bytes, '.', len);
    for (int i = 0; i < n; i++) {
        bytes[snprintf(bytes, 8, "%06d", i)] = '.';
        assert_ok(muster_task_enqueue(s->client, "q", bytes, len, NULL));
    }
    free(bytes);
}

struct look {
    int next;
    bool is_good;
};

static int compare(const struct muster_task *task, void *arg)
{
    struct look *l = arg;
    char expected[8];
    snprintf(expected, sizeof expected, "%06d", l->next++);
    l->is_good = task->len > 6 && memcmp(task->data, expected, 6) == 0;
    if (!l->is_good)
        print_error("%.6s instead of %s\n", (const char *)task->data, expected);
    return !l->is_good;
}

/* All `n` wait, in the order in which they were put. */
static void assert_all_wait_in_order(struct scene *s, int n)
{
    struct look l = {.is_good = true};
    assert_ok(muster_task_peek(s->client, "q", 0, (uint64_t)n + 1, compare, &l));
    assert_true(l.is_good);
    assert_int_equal(l.next, n);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix), 0);
    invariant_assert(s->server->redis, s->prefix);
}

static struct live_worker *taker(struct scene *s, int prefetch)
{
    return live_worker_new(s, &(struct worker_spec){.id = "w",
                                                    .ttl_ms = TTL_MS,
                                                    .hands = 1,
                                                    .prefetch = prefetch,
                                                    .answer = MUSTER_LATER,
                                                    .queues = {{"q", 0}}});
}

/* The stop comes while calls that take are in flight. */
static void what_is_taken_while_it_stops_goes_back_in_order(void **state)
{
    struct scene *s = *state;
    enum { MANY = 2000 };
    enqueue_large(s, MANY, 12000);
    struct live_worker *w = taker(s, 1500);
    scene_await_starts(s, 1);
    live_worker_stop(s, w, 100);
    assert_int_equal(scene_starts(s), 1);
    assert_all_wait_in_order(s, MANY);
}

/* These are fetched one by one, and go back in more than one call. */
static void large_tasks_go_back_in_steps_and_in_order(void **state)
{
    struct scene *s = *state;
    enum { MANY = 30 };
    enqueue_large(s, MANY, 1024 * 1024);
    struct live_worker *w = taker(s, MANY);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, MANY, "HGET %s:worker:w held", s->prefix);
    int64_t before = redis_server_calls(s->server, "evalsha");
    live_worker_stop(s, w, 300);
    assert_true(redis_server_calls(s->server, "evalsha") - before > MANY / 4);
    assert_int_equal(scene_starts(s), 1);
    assert_all_wait_in_order(s, MANY);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_is_taken_while_it_stops_goes_back_in_order),
        live_test(large_tasks_go_back_in_steps_and_in_order),
    };
    return scene_run(tests, argc, argv);
}
