/* SPDX-License-Identifier: MIT
 *
 * A worker of more queues than one call names: it looks at all of them, call by call, and is idle on all of them then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "worker/worker.h"

/* More than two calls name; the last call names a few. */
enum { QUEUES = 150, AN_HOUR = 3600000 };

static const char *queue(int i)
{
    static char name[16];
    snprintf(name, sizeof name, "q%d", i);
    return name;
}

/* Within an hour no heartbeat looks at anything. */
static struct live_worker *serve_all(struct scene *s, struct worker_spec spec)
{
    spec.id = "w";
    spec.ttl_ms = AN_HOUR;
    struct live_worker *w = live_worker_new(s, &spec);
    for (int i = 0; i < QUEUES; i++)
        assert_ok(muster_worker_serve(w->worker, queue(i), 0, live_worker_handle, w));
    return w;
}

/* Redis has answered, and no look goes on. */
static bool has_looked(void *arg)
{
    const struct turns *t = &((struct live_worker *)arg)->worker->turns;
    return t->in_flight == 0 && t->looked_at == 0 && !t->wants_take;
}

static void await_idle_everywhere(struct scene *s, struct live_worker *w)
{
    for (int i = 0; i < QUEUES; i++)
        raw_await(s->server->redis, s->base, 1, "ZCARD %s:idle:%s", s->prefix, queue(i));
    wait_on(s->base, has_looked, w, SOON_MS); /* last: what is announced later causes another look */
}

static void assert_started(struct scene *s, size_t from, size_t n, int first, int step)
{
    const char *tasks[QUEUES + 1] = {0};
    char names[QUEUES][16];
    for (size_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%s", queue(first + step * (int)i));
        tasks[i] = names[i];
    }
    scene_assert_started(s, from, tasks);
}

/* Each queue has a task with its own name. */
static void fill(struct scene *s)
{
    for (int i = 0; i < QUEUES; i++)
        scene_enqueue(s, queue(i), queue(i));
}

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w held", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

static void it_is_idle_on_all_of_them(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 2});
    await_idle_everywhere(s, w);
    for (int i = QUEUES - 1; i >= 0; i -= 10) {
        scene_enqueue(s, queue(i), queue(i));
        scene_await_starts(s, (size_t)((QUEUES - 1 - i) / 10 + 1));
    }
    assert_started(s, 0, QUEUES / 10, QUEUES - 1, -10);
    await_quiet(s);
    await_idle_everywhere(s, w);
}

static void what_was_there_before_is_found(void **state)
{
    struct scene *s = *state;
    fill(s);
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 1});
    scene_await_starts(s, QUEUES);
    await_quiet(s);
    await_idle_everywhere(s, w);
}

static void a_first_queue_goes_before_all_others(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 1, .answer = MUSTER_LATER});
    await_idle_everywhere(s, w);
    scene_enqueue(s, queue(7), "holds the hand");
    scene_await_starts(s, 1);
    fill(s);
    size_t before = journal_size(s->journal);
    for (size_t i = 0; i < QUEUES; i++) {
        live_worker_end(w, MUSTER_FINISH);
        scene_await_starts(s, i + 2);
    }
    assert_started(s, before, QUEUES, 0, 1);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
    await_idle_everywhere(s, w);
}

static void in_turn_each_has_its_turn(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 1, .answer = MUSTER_LATER, .more.in_turn = 1});
    await_idle_everywhere(s, w);
    scene_enqueue(s, queue(0), "holds the hand");
    scene_await_starts(s, 1);
    for (int round = 0; round < 2; round++)
        fill(s);
    size_t seen[QUEUES] = {0};
    for (size_t i = 0; i < QUEUES; i++) {
        live_worker_end(w, MUSTER_FINISH);
        scene_await_starts(s, i + 2);
        seen[atoi(muster_process_queue(w->held[0]) + 1)]++;
    }
    for (int i = 0; i < QUEUES; i++)
        assert_int_equal(seen[i], 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 2 * QUEUES + 1);
    await_quiet(s);
    await_idle_everywhere(s, w);
}

/* Full hands end a look; what lies in the last queue is found by the next one. */
static void what_lies_last_is_found_when_a_hand_is_free(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 2, .answer = MUSTER_LATER});
    await_idle_everywhere(s, w);
    scene_enqueue_n(s, queue(1), "holds a hand", 2);
    scene_await_starts(s, 2);
    size_t before = journal_size(s->journal);
    scene_enqueue(s, queue(QUEUES - 1), "last");
    scene_enqueue(s, queue(70), "middle");
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 4);
    scene_assert_started(s, before, (const char *[]){"middle", "last", NULL});
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s);
    await_idle_everywhere(s, w);
}

static void burst_ends_when_all_are_empty(void **state)
{
    struct scene *s = *state;
    fill(s);
    struct live_worker *w = serve_all(s, (struct worker_spec){.hands = 2, .more.burst = 1});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w", 1);
    assert_ok(w->stop_err);
    assert_int_equal(scene_starts(s), QUEUES);
    scene_assert_quiet(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(it_is_idle_on_all_of_them),
        live_test(what_was_there_before_is_found),
        live_test(a_first_queue_goes_before_all_others),
        live_test(in_turn_each_has_its_turn),
        live_test(what_lies_last_is_found_when_a_hand_is_free),
        live_test(burst_ends_when_all_are_empty),
    };
    return scene_run(tests, argc, argv);
}
