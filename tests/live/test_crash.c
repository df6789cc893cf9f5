/* SPDX-License-Identifier: MIT
 *
 * Workers killed with SIGKILL: their tasks come back to the front of their queues, in order, within the ttl and one
 * heartbeat, and no other worker's tasks are touched.
 *
 * The bounds are the documented ones; SLACK_MS is added for a machine that is busy with other tests.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(900)
#define HEARTBEAT_MS (TTL_MS / 3)
#define SLACK_MS slow_ms(2000)

static struct worker_process *holder(struct scene *s, const char *id, int hands)
{
    return worker_process_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = TTL_MS, .hands = hands, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
}

/* The last of the starts from a journal position on, ms after `since`. */
static int last_start(struct scene *s, size_t from, int64_t since)
{
    int64_t last = since;
    for (size_t i = from; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START)
            last = e->at_ms;
    }
    return (int)(last - since);
}

static void tasks_of_a_killed_worker_start_elsewhere_within_ttl_and_heartbeat(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed = holder(s, "doomed", 10);
    scene_enqueue_n(s, "q", "t", 10);
    scene_await_starts(s, 10);
    holder(s, "heir", 20);
    size_t mark = journal_size(s->journal);
    int64_t before = now_ms();
    worker_process_kill(doomed);
    scene_await_starts(s, 20);
    int took = last_start(s, mark, before);
    print_message("ttl %d ms, heartbeat %d ms: all ten began elsewhere %d ms after the kill\n", TTL_MS, HEARTBEAT_MS,
                  took);
    assert_in_range(took, 0, TTL_MS + HEARTBEAT_MS + SLACK_MS);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", NULL});
    const struct journal_entry *swept = journal_find(s->journal, mark, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, "heir", NULL);
    assert_non_null(swept);
    assert_non_null(strstr(swept->text, "doomed"));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:worker:doomed", s->prefix), 0);
}

static void they_come_ahead_of_what_waited_and_the_living_keep_their_own(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed = holder(s, "doomed", 3);
    scene_enqueue_n(s, "q", "old", 3);
    scene_await_starts(s, 3);
    struct worker_process *living = holder(s, "living", 1);
    scene_enqueue(s, "q", "mine");
    scene_await_starts(s, 4);
    scene_enqueue_n(s, "q", "new", 3);
    uint64_t token = journal_find(s->journal, 0, JOURNAL_START, -1, "living", "mine")->token;

    worker_process_kill(doomed);
    scene_await_waiting(s, "q", 6);
    size_t mark = journal_size(s->journal);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:living:q", s->prefix), 1);
    worker_process_answer(living, MUSTER_FINISH);
    scene_await_starts(s, 10);
    scene_assert_started(s, mark, (const char *[]){"old0", "old1", "old2", "new0", "new1", "new2", NULL});
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, "mine"), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    assert_true(journal_find(s->journal, mark, JOURNAL_START, -1, NULL, "old0")->token > token);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

static void tasks_not_yet_begun_come_back_too(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed = worker_process_idle(
        s,
        &(struct worker_spec){
            .id = "doomed", .ttl_ms = TTL_MS, .hands = 1, .prefetch = 5, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 6);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 6, "HLEN %s:processing:doomed:q", s->prefix);
    holder(s, "heir", 6);
    size_t mark = journal_size(s->journal);
    worker_process_kill(doomed);
    scene_await_starts(s, 7);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", "t3", "t4", "t5", NULL});
}

static void each_queue_gets_its_own_back(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    const struct worker_spec spec = {
        .ttl_ms = TTL_MS, .hands = 4, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 0}}};
    struct worker_spec first = spec, second = spec;
    first.id = "doomed";
    second.id = "heir";
    struct worker_process *doomed = worker_process_idle(s, &first);
    scene_enqueue_n(s, "q", "a", 2);
    scene_enqueue_n(s, "r", "b", 2);
    scene_await_starts(s, 4);
    worker_process_idle(s, &second);
    size_t mark = journal_size(s->journal);
    worker_process_kill(doomed);
    scene_await_starts(s, 8);
    for (size_t i = mark; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START)
            assert_string_equal(e->queue, e->task[0] == 'a' ? "q" : "r");
    }
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:heir:q", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:heir:r", s->prefix), 2);
}

static void several_deaths_at_once_lose_nothing(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed[4];
    for (size_t i = 0; i < N_OF(doomed); i++) {
        char id[16];
        snprintf(id, sizeof id, "doomed%zu", i);
        doomed[i] = holder(s, id, 5);
    }
    scene_enqueue_n(s, "q", "t", 20);
    scene_await_starts(s, 20);
    holder(s, "heir1", 10);
    holder(s, "heir2", 10);
    for (size_t i = 0; i < N_OF(doomed); i++)
        worker_process_kill(doomed[i]);
    scene_await_starts(s, 40);
    for (int i = 0; i < 20; i++) {
        char task[16];
        snprintf(task, sizeof task, "t%d", i);
        assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, task), 2);
    }
}

/* Freed without a stop, an in-process worker is as dead to its peers as a killed one. */
static void a_large_set_comes_back_whole_and_in_order(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    enum { N = 2500 };
    live_worker_idle(s,
                     &(struct worker_spec){
                         .id = "doomed", .ttl_ms = TTL_MS, .hands = N, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", N);
    scene_await_starts(s, N);
    live_worker_free(s, s->workers);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    scene_await_waiting(s, "q", N);
    size_t mark = journal_size(s->journal);
    live_worker_new(s, &(struct worker_spec){.id = "next", .ttl_ms = 60000, .hands = 100, .queues = {{"q", 0}}});
    scene_await_starts(s, 2 * N);
    int expected = 0;
    for (size_t i = mark; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e && e->kind == JOURNAL_START)
            assert_int_equal(atoi(e->task + 1), expected++);
    }
    assert_int_equal(expected, N);
}

static void damaged_victims_are_passed_over_and_harm_nobody(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    enum { VICTIMS = 25 };
    for (int i = 0; i < VICTIMS; i++) {
        char id[16];
        snprintf(id, sizeof id, "doomed%d", i);
        live_worker_idle(
            s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, (size_t)i + 1);
    }
    while (s->workers)
        live_worker_free(s, s->workers);
    /* All but one: the last, whose life ends last. */
    for (int i = 0; i < VICTIMS - 1; i++)
        raw_do(s->server->redis, "SET %s:processing:doomed%d:q damaged", s->prefix, i);
    raw_do(s->server->redis, "ZADD %s:registry XX INCR 1 doomed%d", s->prefix, VICTIMS - 1);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    scene_await_starts(s, VICTIMS + 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "heir", NULL);
    assert_non_null(e);
    assert_non_null(strstr(e->text, "processing:doomed"));
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, "heir", NULL), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), VICTIMS);
    for (int i = 0; i < VICTIMS - 1; i++)
        raw_do(s->server->redis, "DEL %s:processing:doomed%d:q", s->prefix, i);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
}

/* ---- nobody left ---- */

/* No heartbeat was heard for a while, which looks like a Redis that stood still: one ttl more, then they are swept. */
static void after_a_time_without_any_worker_the_next_one_gets_them(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed = holder(s, "doomed", 3);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    worker_process_kill(doomed);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:doomed", s->prefix);
    size_t mark = journal_size(s->journal);
    int64_t before = now_ms();
    live_worker_new(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    scene_await_starts(s, 6);
    int took = last_start(s, mark, before);
    print_message("a lone heir got them %d ms after its start\n", took);
    assert_in_range(took, 0, 2 * TTL_MS + HEARTBEAT_MS + SLACK_MS);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", NULL});
}

static struct live_worker *came_back;

static bool has_come_back(void *arg)
{
    struct scene *s = arg;
    if (came_back->has_stopped) {
        live_worker_free(s, came_back);
        came_back = live_worker_new(s, &(struct worker_spec){.id = "phoenix", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    }
    return journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "phoenix", NULL) != NULL;
}

/* Refused while its old life may still be alive, then it finds what it left, in order, ahead of what waits. */
static void an_id_that_comes_back_finds_its_tasks_at_the_front(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *doomed = holder(s, "phoenix", 3);
    scene_enqueue_n(s, "q", "old", 3);
    scene_await_starts(s, 3);
    scene_enqueue(s, "q", "new");
    struct journal *first_life = s->journal;
    worker_process_kill(doomed);

    s->journal = journal_open();
    came_back = live_worker_new(s, &(struct worker_spec){.id = "phoenix", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    wait_on(s->base, has_come_back, s, SOON_MS);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, "phoenix", NULL));
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"old0", "old1", "old2", "new", NULL});
    scene_await_idle(s, "q", "phoenix");
    scene_assert_quiet(s);
    journal_close(first_life);
}

/* ---- the stopped process: not dead, only late ---- */

/* It finds out as soon as it runs again, before anything new begins in it; its end no longer counts. */
static void a_worker_that_stood_still_beyond_its_ttl_loses_its_tasks_and_registers_again(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct worker_process *frozen = worker_process_idle(s, &(struct worker_spec){.id = "frozen",
                                                                                 .ttl_ms = TTL_MS,
                                                                                 .hands = 1,
                                                                                 .answer = MUSTER_LATER,
                                                                                 .stubborn = true,
                                                                                 .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    holder(s, "heir", 1);
    kill(frozen->pid, SIGSTOP);
    scene_await_starts(s, 2);
    uint64_t first = journal_find(s->journal, 0, JOURNAL_START, -1, "frozen", "t")->token;
    assert_true(journal_find(s->journal, 0, JOURNAL_START, -1, "heir", "t")->token > first);
    kill(frozen->pid, SIGCONT);
    scene_await_events(s, MUSTER_EVENT_STOP, "frozen", 1);
    scene_await_events(s, MUSTER_EVENT_LOST, "frozen", 1);
    scene_await_events(s, MUSTER_EVENT_STARTED, "frozen", 2);
    worker_process_end(frozen, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "frozen", 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:heir:q", s->prefix), 1);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 3);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "frozen", "next"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(tasks_of_a_killed_worker_start_elsewhere_within_ttl_and_heartbeat),
        live_test(they_come_ahead_of_what_waited_and_the_living_keep_their_own),
        live_test(tasks_not_yet_begun_come_back_too),
        live_test(each_queue_gets_its_own_back),
        live_test(several_deaths_at_once_lose_nothing),
        live_test(a_large_set_comes_back_whole_and_in_order),
        live_test(damaged_victims_are_passed_over_and_harm_nobody),
        live_test(after_a_time_without_any_worker_the_next_one_gets_them),
        live_test(an_id_that_comes_back_finds_its_tasks_at_the_front),
        live_test(a_worker_that_stood_still_beyond_its_ttl_loses_its_tasks_and_registers_again),
    };
    return scene_run(tests, argc, argv);
}
