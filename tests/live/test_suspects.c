/* SPDX-License-Identifier: MIT
 *
 * Suspects in a worker: what was in a dead worker's hands runs alone, in its order, and how others wait for it.
 *
 * Workers that die are only acted: they take, and nothing is heard of them again. The worker under test is a live one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "job_look.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "worker/worker.h"

#define TTL_MS 600

/* `n` tasks "<stem>0", ... of the queue become suspects. */
static void make_suspects(struct scene *s, const char *queue, const char *stem, int n)
{
    struct acting_worker dead = {.id = "dead", .queues = {queue}, .hands = n};
    scene_enqueue_n(s, queue, stem, n);
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
}

/* The same, while the queue is paused: they come out when it is resumed. */
static void make_suspects_paused(struct scene *s, int n)
{
    make_suspects(s, "q", "s", n);
    assert_ok(muster_queue_pause(s->client, "q"));
}

static void let_come(struct scene *s)
{
    assert_ok(muster_queue_resume(s->client, "q"));
}

static const struct worker_spec holder = {
    .id = "w", .ttl_ms = TTL_MS, .hands = 8, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 0}}};

static int64_t suspects(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:suspects:%s", s->prefix, queue);
}

/* What must not begin would have begun by now. */
static void assert_no_more_start(struct scene *s, size_t n)
{
    run_loop(s->base, TTL_MS);
    assert_int_equal(scene_starts(s), n);
}

static void await_quiet(struct scene *s, const char *queue)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
    assert_int_equal(suspects(s, queue), 0);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- alone ---- */

static void they_run_one_after_the_other_in_order_and_the_rest_after_them(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 3);
    scene_enqueue_n(s, "q", "new", 2);
    struct live_worker *w = live_worker_new(s, &holder);
    for (size_t n = 1; n <= 3; n++) {
        scene_await_starts(s, n);
        assert_no_more_start(s, n);
        live_worker_end(w, MUSTER_FINISH);
    }
    scene_await_starts(s, 5);
    assert_int_equal(w->n_held, 2);
    scene_assert_started(s, 0, (const char *[]){"s0", "s1", "s2", "new0", "new1", NULL});
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void each_end_takes_the_suspicion_away(void **state)
{
    struct scene *s = *state;
    static const enum muster_outcome ends[] = {MUSTER_FINISH, MUSTER_RETRY, MUSTER_FAIL};
    make_suspects(s, "q", "s", N_OF(ends));
    struct live_worker *w = live_worker_new(s, &holder);
    for (size_t i = 0; i < N_OF(ends); i++) {
        scene_await_starts(s, i + 1);
        live_worker_end(w, ends[i]);
    }
    scene_await_starts(s, N_OF(ends) + 1); /* the retried one */
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s, "q");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
}

static void what_is_given_back_stays_suspected(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, &holder);
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    assert_int_equal(suspects(s, "q"), 1);
    scene_enqueue(s, "q", "new");
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void a_job_runs_alone_too(void **state)
{
    struct scene *s = *state;
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 2};
    job_put(s, "q", JOB_SPEC(.id = "late", .priority = 5));
    job_put(s, "q", JOB_SPEC(.id = "early", .priority = -5));
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
    job_put(s, "q", JOB_SPEC(.id = "new"));
    struct live_worker *w = live_worker_new(s, &holder);
    for (size_t n = 1; n <= 2; n++) {
        scene_await_starts(s, n);
        assert_no_more_start(s, n);
        assert_int_equal(raw_int(s->server->redis, "HGET %s:job:%s crashes", s->prefix, n == 1 ? "early" : "new"), 0);
        live_worker_end(w, MUSTER_FINISH);
    }
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
    assert_job_state(s, "late", MUSTER_JOB_COMPLETE);
}

/* ---- beside others ---- */

static void one_waits_until_the_others_have_ended(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue_n(s, "r", "other", 2);
    scene_await_starts(s, 2);
    let_come(s);
    raw_await(s->server->redis, s->base, 3, "HGET %s:worker:w held", s->prefix);
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void handlers_of_queues_without_a_limit_of_deaths_hold_none_up(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:r max_crashes 0", s->prefix);
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue_n(s, "r", "endless", 2);
    scene_await_starts(s, 2);
    let_come(s);
    scene_await_starts(s, 3);
    assert_int_equal(suspects(s, "q"), 1);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void while_it_has_some_the_worker_takes_nothing_more(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 2);
    struct live_worker *w = live_worker_new(s, &holder);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w hands", s->prefix);
    scene_enqueue(s, "q", "new");
    live_worker_new(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "peer", "new"));
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 8, "HGET %s:worker:w hands", s->prefix);
    await_quiet(s, "q");
}

/* ---- when it takes long ---- */

static void one_that_has_run_alone_for_long_is_suspected_no_more(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, &holder);
    w->worker->suspects.acquit_after_ms = TTL_MS;
    scene_enqueue(s, "q", "new");
    int64_t before = now_ms();
    scene_await_starts(s, 2);
    assert_in_range(now_ms() - before, TTL_MS / 2, TTL_MS + 5000);
    assert_int_equal(suspects(s, "q"), 0);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void assert_told(struct scene *s, const char *words)
{
    scene_await_events(s, MUSTER_EVENT_ALONE, "w", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ALONE, "w", NULL);
    if (!strstr(e->text, words))
        fail_msg("'%s' does not say '%s'", e->text, words);
    run_loop(s->base, TTL_MS);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_ALONE, NULL, NULL), 1);
}

static void the_program_is_told_once_that_one_runs_long(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, &holder);
    w->worker->suspects.tell_after_ms = 50;
    assert_told(s, "it runs alone until it ends");
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void the_program_is_told_once_that_one_waits_long(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    w->worker->suspects.tell_after_ms = 50;
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    assert_told(s, "1 others still run");
    live_worker_answer(w, MUSTER_FINISH);
    w->worker->suspects.tell_after_ms = 60000;
    await_quiet(s, "q");
}

/* ---- what goes wrong ---- */

/* The call that says that it begins, or the answer to it, is lost with the connection. */
static void assert_begins_after_a_cut(struct scene *s, int way)
{
    struct proxy proxy;
    make_suspects(s, "q", "s", 2);
    proxy_start(&proxy, s->server->dir, s->server->socket);
    proxy_trap(&proxy, lua_scripts[SCRIPT_BEGIN_ALONE].sha1, way);
    struct worker_spec spec = holder;
    spec.url = proxy.url;
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_no_more_start(s, 1);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s, "q");
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void a_call_that_gets_lost_is_made_again(void **state)
{
    assert_begins_after_a_cut(*state, PROXY_REQUESTS);
}

static void so_is_one_whose_answer_gets_lost(void **state)
{
    assert_begins_after_a_cut(*state, PROXY_REPLIES);
}

static void a_damaged_key_holds_up_its_own_queue_only(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "r", "before");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    raw_do(s->server->redis, "RENAME %s:suspects:q %s:kept", s->prefix, s->prefix);
    raw_do(s->server->redis, "SET %s:suspects:q text", s->prefix);
    live_worker_end(w, MUSTER_FINISH);
    scene_enqueue(s, "r", "other");
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w", "other"));
    live_worker_end(w, MUSTER_FINISH);
    raw_do(s->server->redis, "RENAME %s:kept %s:suspects:q", s->prefix, s->prefix);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void a_stop_gives_back_those_that_wait_and_blames_none(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 3);
    struct live_worker *w = live_worker_new(s, &holder);
    scene_await_starts(s, 1);
    live_worker_answer(w, MUSTER_FINISH); /* one more may have begun by then */
    live_worker_stop(s, w, -1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
    live_worker_free(s, w);
    w = live_worker_new(s, &holder);
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:suspects:q", s->prefix);
    await_quiet(s, "q");
}

static void one_whose_queue_is_left_holds_up_nothing(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    scene_enqueue(s, "r", "next");
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w", "next"));
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:r running", s->prefix);
    assert_int_equal(suspects(s, "q"), 1);
}

static void one_that_is_cancelled_while_it_waits_never_starts(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    assert_ok(muster_task_cancel(s->client, "q", "s0", 2, NULL, NULL));
    scene_enqueue(s, "r", "next");
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "r");
    assert_int_equal(suspects(s, "q"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(they_run_one_after_the_other_in_order_and_the_rest_after_them),
        live_test(each_end_takes_the_suspicion_away),
        live_test(what_is_given_back_stays_suspected),
        live_test(a_job_runs_alone_too),
        live_test(one_waits_until_the_others_have_ended),
        live_test(handlers_of_queues_without_a_limit_of_deaths_hold_none_up),
        live_test(while_it_has_some_the_worker_takes_nothing_more),
        live_test(one_that_has_run_alone_for_long_is_suspected_no_more),
        live_test(the_program_is_told_once_that_one_runs_long),
        live_test(the_program_is_told_once_that_one_waits_long),
        live_test(a_call_that_gets_lost_is_made_again),
        live_test(so_is_one_whose_answer_gets_lost),
        live_test(a_damaged_key_holds_up_its_own_queue_only),
        live_test(a_stop_gives_back_those_that_wait_and_blames_none),
        live_test(one_whose_queue_is_left_holds_up_nothing),
        live_test(one_that_is_cancelled_while_it_waits_never_starts),
    };
    return scene_run(tests, argc, argv);
}
