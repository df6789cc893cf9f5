/* SPDX-License-Identifier: MIT
 *
 * Hands, limits and prefetch; and the ends of a process: finish, give back, retry, fail, later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leaving.h"
#include "live_worker.h"

/* ---- how many at once ---- */

struct running {
    struct scene *scene;
    int now, most, done;
};

struct slot {
    struct running *running;
    struct event *timer;
    struct muster_process *process;
};

static void end_later(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    struct slot *slot = arg;
    slot->running->now--;
    slot->running->done++;
    assert_ok(muster_process_end(slot->process, MUSTER_FINISH));
    event_free(slot->timer);
    free(slot);
}

/* Answers later, and ends from a timer, a few milliseconds on. */
static enum muster_outcome run_a_while(struct muster_process *p, void *arg)
{
    struct running *r = arg;
    struct slot *slot = calloc(1, sizeof *slot);
    r->now++;
    r->most = r->now > r->most ? r->now : r->most;
    *slot = (struct slot){.running = r, .process = p};
    slot->timer = evtimer_new(r->scene->base, end_later, slot);
    event_add(slot->timer, &(struct timeval){.tv_usec = (long)(1000 + muster_process_token(p) % 5 * 1000)});
    return MUSTER_LATER;
}

static bool has_done_sixty(void *arg)
{
    return ((struct running *)arg)->done == 60;
}

static void hands_are_all_used_and_never_exceeded(void **state)
{
    struct scene *s = *state;
    const int hands[] = {1, 3, 7};
    for (size_t i = 0; i < N_OF(hands); i++) {
        struct running r = {.scene = s};
        char id[8];
        snprintf(id, sizeof id, "w%zu", i);
        scene_enqueue_n(s, "q", "t", 60);
        struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = id, .hands = hands[i]});
        assert_ok(muster_worker_serve(w->worker, "q", 0, run_a_while, &r));
        wait_on(s->base, has_done_sixty, &r, SOON_MS);
        assert_int_equal(r.most, hands[i]);
        live_worker_stop(s, w, -1);
    }
    scene_assert_quiet(s);
}

static void a_limit_of_one_queue_leaves_the_other_hands_to_the_others(void **state)
{
    struct scene *s = *state;
    struct running limited = {.scene = s}, open = {.scene = s};
    scene_enqueue_n(s, "limited", "t", 60);
    scene_enqueue_n(s, "open", "t", 60);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .hands = 5});
    assert_ok(muster_worker_serve(w->worker, "limited", 2, run_a_while, &limited));
    assert_ok(muster_worker_serve(w->worker, "open", 0, run_a_while, &open));
    wait_on(s->base, has_done_sixty, &limited, SOON_MS);
    wait_on(s->base, has_done_sixty, &open, SOON_MS);
    assert_int_equal(limited.most, 2);
    assert_in_range(open.most, 3, 5);
}

/* Redis knows it, too: a worker with a full queue is idle on the other one only. */
static void a_limit_is_kept_when_tasks_are_handed_over(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){
                            .id = "w1", .hands = 4, .answer = MUSTER_LATER, .queues = {{"limited", 1}, {"open", 0}}});
    scene_enqueue_n(s, "limited", "l", 3);
    scene_enqueue_n(s, "open", "o", 5);
    scene_await_starts(s, 4);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w1:limited", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w1:open", s->prefix), 3);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:limited", s->prefix), 2);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:open", s->prefix), 2);
}

static void prefetch_takes_more_but_starts_no_more(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .hands = 2, .prefetch = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 9);
    raw_await(s->server->redis, s->base, 5, "HLEN %s:processing:w1:q", s->prefix);
    scene_await_starts(s, 2);
    run_loop(s->base, 50);
    assert_int_equal(scene_starts(s), 2);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 9);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", NULL});
}

static void what_was_taken_in_advance_goes_back_first(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .hands = 1, .prefetch = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 6);
    raw_await(s->server->redis, s->base, 4, "HLEN %s:processing:w1:q", s->prefix);
    scene_await_starts(s, 1);
    assert_ok(muster_worker_stop(w->worker, -1));
    scene_await_waiting(s, "q", 5);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w1:q", s->prefix), 1);
    leaving_assert_list(s, "t5\nt4\nt3\nt2\nt1\n");
}

/* ---- how they end ---- */

static void a_task_given_back_is_the_next_out(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .hands = 1, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    uint64_t token = journal_find(s->journal, 0, JOURNAL_START, -1, NULL, "t0")->token;
    size_t mark = journal_size(s->journal);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 4);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", NULL});
    assert_true(journal_find(s->journal, mark, JOURNAL_START, -1, NULL, "t0")->token > token);
}

static void a_task_given_back_goes_to_another_idle_worker_at_once(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = 60000, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = 60000, .queues = {{"q", 0}}});
    assert_ok(muster_worker_stop(w->worker, -1));
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w2", "t"));
}

static void a_retried_task_comes_again_after_its_delay_at_the_end(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = 60000, .answer = MUSTER_LATER, .retry_ms = 400, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    int64_t before = now_ms();
    live_worker_end(w, MUSTER_RETRY);
    scene_await_starts(s, 2);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    int64_t took = now_ms() - before;
    print_message("a retry after 400 ms began after %d ms\n", (int)took);
    assert_in_range(took, 399, 400 + 2000);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t0", NULL});
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 0);
}

static enum muster_outcome retry_once(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return scene_starts(w->spec.arg) == 1 ? MUSTER_RETRY : MUSTER_FINISH;
}

static void a_retry_without_a_delay_waits_for_a_second(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .handler = retry_once, .arg = s, .queues = {{"q", 0}}});
    int64_t before = now_ms();
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 2);
    assert_in_range(now_ms() - before, MUSTER_RETRY_DELAY_DEFAULT_MS - 1, MUSTER_RETRY_DELAY_DEFAULT_MS + 2000);
}

static void equal_tasks_that_are_retried_do_not_collapse(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s,
        &(struct worker_spec){.id = "w1", .hands = 5, .answer = MUSTER_RETRY, .retry_ms = 200, .queues = {{"q", 0}}});
    for (int i = 0; i < 5; i++)
        scene_enqueue(s, "q", "same");
    scene_await_starts(s, 5);
    raw_await(s->server->redis, s->base, 5, "ZCARD %s:delayed:q", s->prefix);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 10);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

/* Redis counts the delay, and a worker that serves the queue when it is over gets the task. */
static void a_retry_outlives_its_worker(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .answer = MUSTER_RETRY, .retry_ms = 300, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:delayed:q", s->prefix);
    live_worker_stop(s, w, -1);
    live_worker_new(s, &(struct worker_spec){.id = "w2", .ttl_ms = 600, .queues = {{"q", 0}}});
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w2", "t"));
}

static void a_retry_at_once_goes_to_the_end_of_the_queue(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .hands = 1, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_RETRY);
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t2", "t0", NULL});
}

static void a_failed_task_leaves_the_queue_for_the_failed_list(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .answer = MUSTER_FAIL, .queues = {{"q", 0}}});
    for (int i = 0; i < 3; i++)
        scene_enqueue(s, "q", "same");
    raw_await(s->server->redis, s->base, 3, "ZCARD %s:failed:q", s->prefix);
    scene_await_idle(s, "q", "w1");
    scene_assert_quiet(s);
    assert_int_equal(scene_starts(s), 3);
}

/* ---- the calls of a handler ---- */

struct calls {
    bool good, done;
};

static enum muster_outcome call_everything(struct muster_process *p, void *arg)
{
    struct calls *c = arg;
    static char group[202], message[64 * 1024 + 2];
    memset(group, 'g', sizeof group - 1);
    memset(message, 'm', sizeof message - 1);
    c->good = muster_process_end(p, MUSTER_FINISH) == MUSTER_E_STATE;
    c->good &= muster_process_set_retry(p, -1) == MUSTER_E_INVALID;
    c->good &= muster_process_set_retry(p, 0) == MUSTER_OK;
    c->good &= muster_process_set_failure(p, "", NULL) == MUSTER_E_INVALID;
    c->good &= muster_process_set_failure(p, "a\nb", NULL) == MUSTER_E_INVALID;
    c->good &= muster_process_set_failure(p, group, NULL) == MUSTER_E_TOO_BIG;
    c->good &= muster_process_set_failure(p, "g", message) == MUSTER_E_TOO_BIG;
    c->good &= muster_process_set_failure(p, group + 1, message + 1) == MUSTER_OK;
    c->good &= muster_process_set_failure(p, NULL, NULL) == MUSTER_OK;
    c->good &= muster_worker_serve(muster_process_worker(p), "from-inside", 0, call_everything, arg) == MUSTER_OK;
    c->done = true;
    return MUSTER_FAIL;
}

static bool is_done(void *arg)
{
    return ((struct calls *)arg)->done;
}

static void calls_from_inside_a_handler_are_checked_and_allowed(void **state)
{
    struct scene *s = *state;
    struct calls c = {0};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1"});
    assert_ok(muster_worker_serve(w->worker, "q", 0, call_everything, &c));
    scene_enqueue(s, "q", "t");
    wait_on(s->base, is_done, &c, SOON_MS);
    assert_true(c.good);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    scene_await_idle(s, "from-inside", "w1");
}

/* The first finish wins: a worker that no longer owns a process is told so, and changes nothing. */
static void the_end_of_a_process_that_is_somebody_elses_does_not_count(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = 60000, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "DEL %s:processing:w1:q", s->prefix);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, "w1", "t");
    assert_non_null(e);
    assert_int_equal(e->err, MUSTER_E_LOST);
    assert_int_equal(scene_starts(s), 1);
}

/* Processes are taken away without a word, and the next read-back notices: the running handler is told, the others
 * never start. */
static void what_is_no_longer_its_own_is_let_go(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                                      .ttl_ms = 60000,
                                                                      .prefetch = 2,
                                                                      .answer = MUSTER_LATER,
                                                                      .stubborn = true,
                                                                      .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 3, "HLEN %s:processing:w1:q", s->prefix);
    raw_do(s->server->redis, "DEL %s:processing:w1:q", s->prefix);
    raw_do(s->server->redis, "HSET %s:worker:w1 held 0", s->prefix);
    raw_do(s->server->redis, "HSET %s:queue:q running 0", s->prefix);
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "w1", 1);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    scene_assert_started(s, 0, (const char *[]){"t0", "next", NULL});
}

/* More hands than all its calls may ask for. With a ttl of an hour no heartbeat comes. */
static void an_idle_worker_asks_for_nothing_however_many_hands_it_has(void **state)
{
    struct scene *s = *state;
    static const struct {
        int hands, prefetch;
    } cases[] = {{1, 0}, {800, 0}, {801, 0}, {1, 1200}, {10000, 0}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        char id[8];
        snprintf(id, sizeof id, "w%zu", i);
        live_worker_idle(s, &(struct worker_spec){.id = id,
                                                  .ttl_ms = 3600000,
                                                  .hands = cases[i].hands,
                                                  .more.prefetch = cases[i].prefetch,
                                                  .queues = {{"q", 0}}});
        scene_enqueue_n(s, "q", "t", 30); /* it answers what it was handed, and is idle again */
        raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
        int64_t before = redis_server_calls(s->server, "evalsha");
        for (int k = 0; k < 300; k++) {
            event_base_loop(s->base, EVLOOP_NONBLOCK);
            raw_do(s->server->redis, "PING");
        }
        assert_in_range(redis_server_calls(s->server, "evalsha") - before, 0, 10);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(hands_are_all_used_and_never_exceeded),
        live_test(an_idle_worker_asks_for_nothing_however_many_hands_it_has),
        live_test(a_limit_of_one_queue_leaves_the_other_hands_to_the_others),
        live_test(a_limit_is_kept_when_tasks_are_handed_over),
        live_test(prefetch_takes_more_but_starts_no_more),
        live_test(what_was_taken_in_advance_goes_back_first),
        live_test(a_task_given_back_is_the_next_out),
        live_test(a_task_given_back_goes_to_another_idle_worker_at_once),
        live_test(a_retried_task_comes_again_after_its_delay_at_the_end),
        live_test(a_retry_without_a_delay_waits_for_a_second),
        live_test(equal_tasks_that_are_retried_do_not_collapse),
        live_test(a_retry_outlives_its_worker),
        live_test(a_retry_at_once_goes_to_the_end_of_the_queue),
        live_test(a_failed_task_leaves_the_queue_for_the_failed_list),
        live_test(calls_from_inside_a_handler_are_checked_and_allowed),
        live_test(the_end_of_a_process_that_is_somebody_elses_does_not_count),
        live_test(what_is_no_longer_its_own_is_let_go),
    };
    return scene_run(tests, argc, argv);
}
