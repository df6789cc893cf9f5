/* SPDX-License-Identifier: MIT
 *
 * Jobs and the hands of workers: which job a free hand gets, limits over all workers, and what others do to a job that
 * runs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "jobs.h"
#include "live_worker.h"
#include "script_call.h"

#define HOUR_MS (3600 * 1000)

/* ---- places ---- */

static void a_job_that_is_given_back_keeps_its_place(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = HOUR_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    job_put(s, "q", "a", NULL);
    job_put(s, "q", "b", NULL);
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_FINISH);
    job_await(s, "b", "state", "complete");
    scene_assert_started(s, 0, (const char *[]){"a", "a", "b", NULL});
    job_assert(s, "a", "retried", "");
}

/* Those that have not started go back where they were: before what came later. */
static void what_was_fetched_in_advance_goes_back_to_its_place(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = HOUR_MS, .prefetch = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    job_put(s, "q", "a", NULL);
    job_put(s, "q", "b", NULL);
    scene_enqueue(s, "q", "t");
    job_put(s, "q", "c", NULL);
    job_put(s, "q", "d", NULL);
    raw_await(s->server->redis, s->base, 4, "HLEN %s:processing:w1:q", s->prefix);
    scene_await_starts(s, 1);
    live_worker_stop(s, w, 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:q", s->prefix), 4);
    assert_int_equal(scene_waiting(s, "q"), 1);
    size_t from = journal_size(s->journal);
    live_worker_new(s, &(struct worker_spec){.id = "w2", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    job_await(s, "d", "state", "complete");
    scene_await_waiting(s, "q", 0);
    const char *jobs[] = {"a", "b", "c", "d"};
    const struct journal_entry *last = journal_at(s->journal, from);
    for (size_t i = 0; i < N_OF(jobs); i++) {
        const struct journal_entry *e = journal_find(s->journal, from, JOURNAL_START, -1, "w2", jobs[i]);
        assert_non_null(e);
        assert_true(e->token > last->token);
        last = e;
    }
}

/* Jobs of priority 0 and tasks come by turns, each kind in its order. */
static void of_a_mixed_queue_low_numbers_come_first_and_tasks_between(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", "late", "priority", "1");
    job_put(s, "q", "j0", NULL);
    job_put(s, "q", "j1", NULL);
    scene_enqueue_n(s, "q", "t", 2);
    job_put(s, "q", "soon", "priority", "-1");
    job_put(s, "q", "first", "priority", "-20");
    live_worker_new(s, &(struct worker_spec){.id = "w1", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    scene_await_starts(s, 7);
    scene_await_idle(s, "q", "w1");
    const char *order[7], *between = "";
    size_t n = 0, jobs = 0, tasks = 0;
    for (size_t i = 0; i < journal_size(s->journal); i++)
        if (journal_at(s->journal, i)->kind == JOURNAL_START)
            order[n++] = journal_at(s->journal, i)->task;
    assert_string_equal(order[0], "first");
    assert_string_equal(order[1], "soon");
    for (size_t i = 2; i < 6; i++) {
        const char *jobs_in_order[] = {"j0", "j1"}, *tasks_in_order[] = {"t0", "t1"};
        between = order[i][0] == 'j' ? jobs_in_order[jobs++] : tasks_in_order[tasks++];
        assert_string_equal(order[i], between);
    }
    assert_string_equal(order[6], "late");
    scene_assert_quiet(s);
}

/* A place that becomes free is for the other worker, too, and at once. */
static void a_limit_over_all_workers_holds_and_its_places_are_filled(void **state)
{
    struct scene *s = *state;
    struct live_worker *w[2];
    const char *const ids[] = {"w0", "w1"};
    job_config(s, "q", "max_running", "1");
    for (int i = 0; i < 2; i++)
        w[i] = live_worker_idle(
            s, &(struct worker_spec){
                   .id = ids[i], .ttl_ms = HOUR_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    for (int i = 0; i < 6; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        if (i % 2)
            scene_enqueue(s, "q", id);
        else
            job_put(s, "q", id, NULL);
    }
    for (size_t i = 1; i <= 6; i++) {
        scene_await_starts(s, i);
        assert_int_equal(w[0]->n_held + w[1]->n_held, 1);
        assert_int_equal(queue_field(s, "q", "running"), 1);
        /* The other worker has no free hand any more, and the place goes from one to the other. */
        live_worker_end(w[0]->n_held ? w[0] : w[1], MUSTER_FINISH);
    }
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

/* A worker that cannot take it is left out. */
static void a_place_that_becomes_free_goes_to_the_other_worker(void **state)
{
    struct scene *s = *state;
    job_config(s, "q", "max_running", "1");
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = HOUR_MS, .answer = MUSTER_LATER, .more = {.max_tasks = 1}, .queues = {{"q", 0}}});
    job_put(s, "q", "a", NULL);
    scene_await_starts(s, 1);
    job_put(s, "q", "b", NULL);
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    assert_int_equal(scene_starts(s), 1);
    live_worker_end(w, MUSTER_FINISH);
    job_await(s, "b", "state", "complete");
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "w2", "b"), 1);
}

/* ---- what others do to a running job ---- */

static void cancel(struct scene *s, const char *id)
{
    assert_answer(script_call(s, SCRIPT_CANCEL_JOBS, "0", id), 0, 0, 1);
}

static struct live_worker *stubborn_with_a_job(struct scene *s)
{
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = HOUR_MS, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
    job_put(s, "q", "a", NULL);
    scene_await_starts(s, 1);
    return w;
}

static void a_finish_of_a_cancelled_job_is_told_not_to_count(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = stubborn_with_a_job(s);
    cancel(s, "a");
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_CANCELLED);
    job_put(s, "elsewhere", "a", "data", "new", NULL);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
    assert_int_equal(e->err, MUSTER_E_CANCELLED);
    job_assert(s, "a", "state", "waiting");
    scene_await_idle(s, "q", "w1");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w1 held", s->prefix), 0);
}

static void any_other_end_of_a_cancelled_job_changes_nothing(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = stubborn_with_a_job(s);
    cancel(s, "a");
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:a", s->prefix), 0);
    job_put(s, "elsewhere", "a", "data", "new", NULL);
    live_worker_end(w, MUSTER_RETRY);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    job_assert(s, "a", "state", "waiting");
    scene_await_idle(s, "q", "w1");
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
}

static void a_running_job_that_is_put_again_is_lost_to_its_worker(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = stubborn_with_a_job(s);
    job_put(s, "q", "a", "data", "new", "replace", "1");
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_LOST);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", 1);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    job_await(s, "a", "state", "complete");
    scene_assert_started(s, 0, (const char *[]){"a", "new", NULL});
}

/* Its message has arrived, but the job that it names belongs to another worker before this one looks. */
static void a_hand_over_of_a_job_that_was_taken_away_is_forgotten(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    job_put(s, "q", "a", "data", "old", NULL);
    job_assert(s, "a", "worker", "w1");
    job_put(s, "elsewhere", "a", "data", "new", "replace", "1");
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    scene_assert_started(s, 0, (const char *[]){"t", NULL});
    job_assert(s, "a", "state", "waiting");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w1 held", s->prefix), 0);
}

/* The same for one that was cancelled: the worker's hand is free again, and nothing has failed. */
static void a_hand_over_of_a_job_that_was_cancelled_is_forgotten(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    job_put(s, "q", "a", "data", "old", NULL);
    job_assert(s, "a", "worker", "w1");
    cancel(s, "a");
    job_put(s, "elsewhere", "a", "data", "new", NULL);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    scene_assert_started(s, 0, (const char *[]){"t", NULL});
    job_assert(s, "a", "state", "waiting");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w1 held", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_job_that_is_given_back_keeps_its_place),
        live_test(what_was_fetched_in_advance_goes_back_to_its_place),
        live_test(of_a_mixed_queue_low_numbers_come_first_and_tasks_between),
        live_test(a_limit_over_all_workers_holds_and_its_places_are_filled),
        live_test(a_place_that_becomes_free_goes_to_the_other_worker),
        live_test(a_finish_of_a_cancelled_job_is_told_not_to_count),
        live_test(any_other_end_of_a_cancelled_job_changes_nothing),
        live_test(a_running_job_that_is_put_again_is_lost_to_its_worker),
        live_test(a_hand_over_of_a_job_that_was_taken_away_is_forgotten),
        live_test(a_hand_over_of_a_job_that_was_cancelled_is_forgotten),
    };
    return scene_run(tests, argc, argv);
}
