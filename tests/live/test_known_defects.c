/* SPDX-License-Identifier: MIT
 *
 * Defects that task queues with a worker registry are known for, and what is promised instead: here about who owns a
 * task, and who is alive. Names, wake-ups and calls are test_known_defects_calls.c's. These are proved elsewhere:
 *
 *   frozen: tasks go back  test_crash      a_worker_that_stood_still_beyond_its_ttl_loses_its_tasks_and_registers_again
 *   foreign ends: refused  test_hands      the_end_of_a_process_that_is_somebody_elses_does_not_count
 *   back to the front      test_crash      tasks_of_a_killed_worker_start_elsewhere_within_ttl_and_heartbeat
 *                          test_stop       stop_0_gives_everything_back_at_once_in_order
 *                          test_hands      a_task_given_back_is_the_next_out
 *   returned tasks wake    test_hands      a_task_given_back_goes_to_another_idle_worker_at_once
 *                          test_stop       what_is_given_back_wakes_idle_workers
 *   no set without owner   test_invariant  nothing_is_lost_and_nobody_idles_while_work_waits
 *                          test_killed_at  nothing_is_lost_by_a_death_at_turn
 *   permanent ones can end test_permanent  fail_worker_ends_it
 *                          test_permanent  its_id_can_start_again_when_its_key_ran_out_and_not_before
 *   poison stops           test_poison     poison_stops
 *   one live worker per id test_start      a_live_twin_is_refused_and_the_first_is_unaffected
 *   bad options: refused   test_worker     bad_options_are_refused
 *   a worker starts once   test_worker     serving_is_refused_where_it_makes_no_sense
 */
#include <stdio.h>
#include <string.h>

#include "live_worker.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(900)
#define AN_HOUR 3600000

static struct live_worker *holder(struct scene *s, const char *id, const char *queue, int ttl_ms)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = ttl_ms, .answer = MUSTER_LATER, .stubborn = true, .queues = {{queue, 0}}});
}

static int64_t n_held(struct scene *s, const char *worker, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:processing:%s:%s", s->prefix, worker, queue);
}

static size_t n_uncounted(struct scene *s, const char *worker)
{
    return journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, worker, NULL);
}

static void await_none_runs(struct scene *s, const char *queue)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
}

/* ---- which tasks go back ---- */

static void be_failed(struct scene *s, struct live_worker *w)
{
    uint64_t given_back = 0;
    assert_ok(muster_worker_fail(s->client, muster_worker_id(w->worker), &given_back));
    assert_int_equal(given_back, 1);
}

static void stop(struct scene *s, struct live_worker *w)
{
    live_worker_stop(s, w, 0);
}

static const struct way {
    const char *queue;
    void (*leave)(struct scene *s, struct live_worker *w);
} ways[] = {{"failed", be_failed}, {"stopped", stop}, {"died", live_worker_free}};

static void leave_beside_a_live_one(struct scene *s, const struct way *way)
{
    char ids[3][32];
    const char *const names[] = {"live", "leaver", "heir"};
    for (size_t i = 0; i < N_OF(names); i++)
        snprintf(ids[i], sizeof ids[i], "%s-%s", names[i], way->queue);
    size_t starts = scene_starts(s);
    struct live_worker *live = holder(s, ids[0], way->queue, TTL_MS);
    scene_enqueue(s, way->queue, "mine");
    scene_await_starts(s, starts + 1);
    struct live_worker *leaver = holder(s, ids[1], way->queue, TTL_MS);
    scene_enqueue(s, way->queue, "theirs");
    scene_await_starts(s, starts + 2);
    struct live_worker *heir = holder(s, ids[2], way->queue, TTL_MS);

    size_t mark = journal_size(s->journal);
    way->leave(s, leaver);
    scene_await_starts(s, starts + 3);
    scene_assert_started(s, mark, (const char *[]){"theirs", NULL});
    assert_int_equal(n_held(s, ids[0], way->queue), 1);
    assert_int_equal(n_held(s, ids[2], way->queue), 1);
    live_worker_answer(live, MUSTER_FINISH);
    live_worker_answer(heir, MUSTER_FINISH);
    await_none_runs(s, way->queue);
    assert_int_equal(n_uncounted(s, ids[0]) + n_uncounted(s, ids[2]), 0);
    assert_int_equal(scene_starts(s), starts + 3);
    scene_assert_quiet(s);
}

static void a_leaving_worker_takes_nothing_from_a_live_one(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ways); i++)
        leave_beside_a_live_one(s, &ways[i]);
}

/* ---- which end counts ---- */

static int64_t n_elsewhere(struct scene *s)
{
    return scene_waiting(s, "q") + raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix) +
           raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix);
}

/* No heartbeat comes within the test: the heir is woken by the message of the call that failed the loser. */
static void end_what_was_taken_away(struct scene *s, const char *loser_id, const char *heir_id,
                                    enum muster_outcome outcome)
{
    size_t starts = scene_starts(s);
    struct live_worker *loser = holder(s, loser_id, "q", AN_HOUR);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, starts + 1);
    struct live_worker *heir = holder(s, heir_id, "q", AN_HOUR);
    be_failed(s, loser);
    scene_await_starts(s, starts + 2);
    assert_true(journal_find(s->journal, 0, JOURNAL_START, -1, heir_id, "t")->token >
                journal_find(s->journal, 0, JOURNAL_START, -1, loser_id, "t")->token);

    live_worker_end(loser, outcome);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, loser_id, 1);
    assert_int_equal(n_held(s, heir_id, "q"), 1);
    assert_int_equal(n_elsewhere(s), 0);
    live_worker_end(heir, MUSTER_FINISH);
    await_none_runs(s, "q");
    assert_int_equal(n_uncounted(s, heir_id), 0);
    live_worker_stop(s, loser, 0);
    live_worker_stop(s, heir, 0);
    assert_int_equal(n_elsewhere(s), 0);
}

static void whatever_its_outcome_the_end_of_a_task_taken_away_does_not_count(void **state)
{
    struct scene *s = *state;
    end_what_was_taken_away(s, "loser1", "heir1", MUSTER_FINISH);
    end_what_was_taken_away(s, "loser2", "heir2", MUSTER_GIVE_BACK);
    end_what_was_taken_away(s, "loser3", "heir3", MUSTER_RETRY);
    end_what_was_taken_away(s, "loser4", "heir4", MUSTER_FAIL);
}

/* The loop of this process stands as long as the handler runs; the heir lives in another one. */
static bool heir_has_it(void *arg)
{
    return journal_find(((struct scene *)arg)->journal, 0, JOURNAL_START, -1, "heir", "t") != NULL;
}

static enum muster_outcome block_until_the_heir_has_it(struct muster_process *p, void *arg)
{
    struct scene *s = arg;
    journal_process(s->journal, JOURNAL_START, 0, p);
    return wait_for(NULL, heir_has_it, s, SOON_MS) ? MUSTER_FINISH : MUSTER_FAIL;
}

static void a_handler_that_blocks_its_loop_beyond_the_ttl_finishes_nothing_of_others(void **state)
{
    struct scene *s = *state;
    struct worker_process *heir = worker_process_idle(
        s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "busy");
    scene_await_starts(s, 1);
    struct live_worker *blocked = live_worker_new(s, &(struct worker_spec){.id = "blocked", .ttl_ms = TTL_MS});
    assert_ok(muster_worker_serve(blocked->worker, "q", 0, block_until_the_heir_has_it, s));
    scene_await_idle(s, "q", "blocked");
    scene_enqueue(s, "q", "t");
    worker_process_end(heir, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "blocked", 1);
    assert_int_equal(n_held(s, "heir", "q"), 1);
    worker_process_end(heir, MUSTER_FINISH);
    await_none_runs(s, "q");
    scene_assert_started(s, 0, (const char *[]){"busy", "t", "t", NULL});
    assert_int_equal(n_uncounted(s, "heir"), 0);
    assert_int_equal(n_elsewhere(s), 0);
}

/* ---- between two steps ---- */

/* The loop does not run between the hand-over and the stop: the worker does not know yet what it holds. */
static void what_is_handed_over_while_its_worker_stops_goes_back(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "leaver", "q", AN_HOUR);
    assert_ok(muster_worker_stop(w->worker, 0));
    scene_enqueue(s, "q", "t");
    assert_int_equal(n_held(s, "leaver", "q"), 1);
    scene_await_events(s, MUSTER_EVENT_STOPPED, "leaver", 1);
    assert_int_equal(scene_starts(s), 0);
    assert_int_equal(n_held(s, "leaver", "q"), 0);
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void what_is_handed_over_while_its_worker_is_failed_is_run_to_a_counted_end(void **state)
{
    struct scene *s = *state;
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "failed", .ttl_ms = AN_HOUR, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    assert_int_equal(n_held(s, "failed", "q"), 1);
    be_failed(s, w);
    scene_await_events(s, MUSTER_EVENT_STARTED, "failed", 2);
    scene_await_idle(s, "q", "failed");
    scene_assert_quiet(s);
    size_t ends = journal_count(s->journal, JOURNAL_END, MUSTER_FINISH, "failed", "t");
    assert_int_equal(ends - n_uncounted(s, "failed"), 1);
}

/* ---- the dead ---- */

static size_t n_keys_that_name(struct scene *s, const char *worker)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s:*%s*", s->prefix, worker);
    struct redisReply *page = raw(s->server->redis, "SCAN 0 MATCH %s COUNT 1000000", pattern);
    size_t n = page->element[1]->elements;
    freeReplyObject(page);
    return n;
}

static void after_a_sweep_no_key_of_the_dead_is_left(void **state)
{
    struct scene *s = *state;
    const char *queues[] = {"q", "a:b", "*"};
    struct worker_spec spec = {.id = "doomed", .ttl_ms = TTL_MS, .hands = 6, .prefetch = 3, .answer = MUSTER_LATER};
    for (size_t i = 0; i < N_OF(queues); i++)
        spec.queues[i].name = queues[i];
    live_worker_idle(s, &spec);
    for (size_t i = 0; i < N_OF(queues); i++)
        scene_enqueue_n(s, queues[i], "t", 3);
    scene_await_starts(s, 6);
    assert_true(n_keys_that_name(s, "doomed") > 0);
    live_worker_free(s, s->workers);
    live_worker_idle(s, &(struct worker_spec){.id = "sweeper", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
    assert_int_equal(n_keys_that_name(s, "doomed"), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:ttls", s->prefix), 1);
    for (size_t i = 0; i < N_OF(queues); i++) {
        assert_int_equal(scene_waiting(s, queues[i]), 3);
        assert_int_equal(raw_int(s->server->redis, "ZCARD %s:idle:%s", s->prefix, queues[i]), 0);
        assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:%s running", s->prefix, queues[i]), 0);
    }
}

/* Ids that begin like each other, or fit each other once a dot is any character: each is judged by itself alone. */
static void an_id_is_never_a_pattern(void **state)
{
    struct scene *s = *state;
    const char *ids[] = {"w", "w.", "w1", "ww", "w-", "W", "W."};
    struct live_worker *workers[N_OF(ids)];
    for (size_t i = 0; i < N_OF(ids); i++) {
        workers[i] = holder(s, ids[i], ids[i], TTL_MS);
        scene_enqueue(s, ids[i], "t");
        scene_await_starts(s, i + 1);
    }
    for (size_t dead = 0; dead < N_OF(ids) - 1; dead++) {
        live_worker_free(s, workers[dead]);
        scene_await_waiting(s, ids[dead], 1);
        assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), N_OF(ids) - 1 - dead);
        for (size_t i = 0; i < N_OF(ids); i++)
            assert_int_equal(n_held(s, ids[i], ids[i]), i > dead);
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
}

/* ---- after its own end ---- */

/* Every heartbeat publishes one echo, and nothing else is published here. */
static void assert_one_pace(struct scene *s, int interval_ms)
{
    int64_t since = now_ms(), echoes = redis_server_calls(s->server, "spublish");
    run_loop(s->base, 6 * interval_ms);
    echoes = redis_server_calls(s->server, "spublish") - echoes;
    assert_in_range(echoes, 1, (now_ms() - since) / interval_ms + 2);
}

static void a_failed_worker_is_told_and_registers_again_with_one_heartbeat(void **state)
{
    struct scene *s = *state;
    struct live_worker *w =
        live_worker_idle(s, &(struct worker_spec){.id = "phoenix", .ttl_ms = 300, .queues = {{"q", 0}}});
    for (size_t life = 1; life <= 5; life++) {
        assert_ok(muster_worker_fail(s->client, "phoenix", NULL));
        scene_await_events(s, MUSTER_EVENT_LOST, "phoenix", life);
        scene_await_events(s, MUSTER_EVENT_STARTED, "phoenix", life + 1);
        scene_await_idle(s, "q", "phoenix");
    }
    assert_one_pace(s, 100);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, "phoenix", NULL), 5);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "phoenix", NULL), 6);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "phoenix");

    live_worker_stop(s, w, -1);
    int64_t calls = redis_server_calls(s->server, NULL);
    run_loop(s->base, 400);
    assert_int_equal(redis_server_calls(s->server, NULL), calls);
}

struct connections {
    struct scene *scene;
    int64_t expected;
};

static bool are_as_many(void *arg)
{
    struct connections *c = arg;
    return redis_server_info(c->scene->server, "connected_clients") == c->expected;
}

/* A producer that makes no call sends nothing: it sweeps nobody, and has no timer. */
static void a_producer_does_nothing_between_its_calls(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "dead", .ttl_ms = 100, .queues = {{"q", 0}}});
    live_worker_free(s, s->workers);
    struct muster_client *other = scene_client(s);
    scene_enqueue(s, "q", "t");
    assert_ok(muster_task_enqueue(other, "q", "t", 1, NULL));
    int64_t calls = redis_server_calls(s->server, NULL);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:dead", s->prefix);
    run_loop(s->base, 300);
    assert_int_equal(redis_server_calls(s->server, NULL), calls);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 1);
    muster_client_free(other);
}

static void a_worker_that_is_stopped_and_freed_leaves_no_connection_and_no_timer(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "t");
    struct connections c = {s, redis_server_info(s->server, "connected_clients")};
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}}});
    struct muster_client *client = scene_client(s);
    assert_ok(muster_task_enqueue(client, "q", "t", 1, NULL));
    assert_int_equal(redis_server_info(s->server, "connected_clients"), c.expected + 3);
    scene_await_starts(s, 2);
    scene_await_idle(s, "q", "w1");
    live_worker_stop(s, w, -1);
    live_worker_free(s, w);
    muster_client_free(client);
    wait_until(are_as_many, &c, SOON_MS);
    assert_int_equal(event_base_get_num_events(s->base, EVENT_BASE_COUNT_ADDED), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_leaving_worker_takes_nothing_from_a_live_one),
        live_test(whatever_its_outcome_the_end_of_a_task_taken_away_does_not_count),
        live_test(a_handler_that_blocks_its_loop_beyond_the_ttl_finishes_nothing_of_others),
        live_test(what_is_handed_over_while_its_worker_stops_goes_back),
        live_test(what_is_handed_over_while_its_worker_is_failed_is_run_to_a_counted_end),
        live_test(after_a_sweep_no_key_of_the_dead_is_left),
        live_test(an_id_is_never_a_pattern),
        live_test(a_failed_worker_is_told_and_registers_again_with_one_heartbeat),
        live_test(a_producer_does_nothing_between_its_calls),
        live_test(a_worker_that_is_stopped_and_freed_leaves_no_connection_and_no_timer),
    };
    return scene_run(tests, argc, argv);
}
