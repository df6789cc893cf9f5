/* SPDX-License-Identifier: MIT
 *
 * Processes without a Redis: the table by token, the lists by state and their counts, starting handlers within the
 * limits of hands, what a program may say about its process, and what becomes of all of them when the worker is lost.
 * The worker is never started: it is put into the state in which it serves, and nothing can be sent.
 */
#include <event2/event.h>
#include <muster/job.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"
#include "wait.h"
#include "worker/worker.h"

#define MANY 10000
#define NO_TOKEN UINT64_C(999999999999)

static struct {
    struct event_base *base;
    struct muster_worker *worker;
    struct served *a, *b; /* b: one hand */
    struct muster_process *running[MANY];
    size_t n_running;
    enum muster_outcome outcome;
    int uncounted, stops, stopped, last_err;
    enum muster_stop_reason last_reason;
} the;

static void on_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w, (void)arg;
    if (e->type == MUSTER_EVENT_UNCOUNTED) {
        the.uncounted++;
        the.last_err = e->err;
    } else if (e->type == MUSTER_EVENT_STOP) {
        the.stops++;
        the.last_reason = muster_process_stop_reason(e->process);
    } else if (e->type == MUSTER_EVENT_STOPPED) {
        the.stopped++;
    }
}

static enum muster_outcome note_running(struct muster_process *p, void *arg)
{
    (void)arg;
    the.running[the.n_running++] = p;
    return the.outcome;
}

static int begin(void **state)
{
    const struct muster_worker_options o = {
        .size = sizeof o, .id = "w-1", .base = event_base_new(), .hands = 3, .on_event = on_event};
    (void)state;
    memset(&the, 0, sizeof the);
    the.base = o.base;
    the.outcome = MUSTER_LATER;
    assert_ok(muster_worker_new(&the.worker, &o));
    the.worker->state = WORKER_WORKING;
    assert_ok(muster_worker_serve(the.worker, "a", 0, note_running, NULL));
    assert_ok(muster_worker_serve(the.worker, "b:1", 1, note_running, NULL));
    the.a = the.worker->served[0];
    the.b = the.worker->served[1];
    return 0;
}

static int end(void **state)
{
    (void)state;
    muster_worker_free(the.worker);
    event_base_free(the.base);
    return 0;
}

static struct muster_process *add(struct served *s, uint64_t token, enum process_state state)
{
    struct muster_process *p = process_add(the.worker, s, token, PROCESS_TASK);
    assert_non_null(p);
    assert_ok(process_set_task(p, (struct muster_bytes){"task", 4}));
    if (state != PROCESS_FETCHING)
        process_move(p, state);
    p->has_begun = state >= PROCESS_RUNNING;
    return p;
}

/* ---- the table ---- */

/* Tokens as they are drawn: in runs that follow each other, with gaps between the runs. */
static uint64_t token_of(size_t i)
{
    return UINT64_C(1700000000000000) + i / 100 * 12345 + i % 100;
}

static void assert_known(size_t from, size_t to)
{
    for (size_t i = 0; i < MANY; i++) {
        struct muster_process *p = process_find(the.worker, token_of(i));
        if ((i >= from && i < to) != (p != NULL) || (p && muster_process_token(p) != token_of(i)))
            fail_msg("token %zu of %zu to %zu is %s", i, from, to, p ? "found" : "not found");
    }
    assert_int_equal(the.worker->processes.n_known, to - from);
    assert_null(process_find(the.worker, NO_TOKEN));
}

static void each_of_many_is_found_until_it_is_freed(void **state)
{
    struct process_list *fetching = &the.worker->processes.list[PROCESS_FETCHING];
    (void)state;
    assert_known(0, 0);
    for (size_t i = 0; i < MANY; i++)
        assert_non_null(process_add(the.worker, the.a, token_of(i), PROCESS_TASK));
    assert_known(0, MANY);
    assert_true(the.worker->processes.n_buckets >= MANY); /* or finding one takes ever longer */
    assert_int_equal(the.worker->processes.count[PROCESS_FETCHING], MANY);
    for (size_t i = 0; i < MANY / 2; i++) {
        assert_int_equal(TAILQ_FIRST(fetching)->token, token_of(i)); /* in the order of arrival */
        process_free(TAILQ_FIRST(fetching));
    }
    assert_known(MANY / 2, MANY);
    for (size_t i = MANY / 2; i < MANY; i++)
        process_free(process_find(the.worker, token_of(i)));
    assert_known(0, 0);
    assert_true(TAILQ_EMPTY(fetching));
    assert_int_equal(the.worker->processes.count[PROCESS_FETCHING], 0);
}

static void the_known_are_counted_up_to_a_token(void **state)
{
    (void)state;
    assert_int_equal(process_known_upto(the.worker, UINT64_MAX), 0);
    for (uint64_t token = 10; token <= 1000; token += 10)
        add(the.a, token, token % 20 ? PROCESS_FETCHING : PROCESS_SENT);
    assert_int_equal(process_known_upto(the.worker, 9), 0);
    assert_int_equal(process_known_upto(the.worker, 10), 1);
    assert_int_equal(process_known_upto(the.worker, 509), 50);
    assert_int_equal(process_known_upto(the.worker, UINT64_MAX), 100);
}

static void a_queue_is_found_by_its_whole_name(void **state)
{
    (void)state;
    assert_ptr_equal(serve_find(the.worker, "a", 1), the.a);
    assert_ptr_equal(serve_find(the.worker, "b:1x", 3), the.b);
    assert_null(serve_find(the.worker, "b:1x", 4));
    assert_null(serve_find(the.worker, "b:1", 2));
    assert_null(serve_find(the.worker, "", 0));
}

/* ---- the lists ---- */

static void assert_counts(size_t fetching, size_t ready, size_t running, size_t ended, size_t sent)
{
    const size_t expected[PROCESS_STATES_COUNT] = {[PROCESS_FETCHING] = fetching,
                                                   [PROCESS_READY] = ready,
                                                   [PROCESS_RUNNING] = running,
                                                   [PROCESS_ENDED] = ended,
                                                   [PROCESS_SENT] = sent};
    for (int i = 0; i < PROCESS_STATES_COUNT; i++) {
        size_t n = 0;
        struct muster_process *p;
        TAILQ_FOREACH(p, &the.worker->processes.list[i], in_list)
            n += p->state == (enum process_state)i;
        assert_int_equal(n, expected[i]);
        assert_int_equal(the.worker->processes.count[i], expected[i]);
    }
}

static void a_process_is_on_the_list_of_its_state(void **state)
{
    struct muster_process *p = add(the.a, 1, PROCESS_FETCHING);
    (void)state;
    assert_counts(1, 0, 0, 0, 0);
    process_move(p, PROCESS_READY);
    assert_counts(0, 1, 0, 0, 0);
    process_move(p, PROCESS_RUNNING);
    assert_counts(0, 0, 1, 0, 0);
    assert_int_equal(the.a->running, 1);
    process_move(p, PROCESS_RUNNING);
    assert_counts(0, 0, 1, 0, 0);
    assert_int_equal(the.a->running, 1);
    process_move(p, PROCESS_ENDED);
    assert_counts(0, 0, 0, 1, 0);
    assert_int_equal(the.a->running, 0);
    process_move(p, PROCESS_SENT);
    assert_counts(0, 0, 0, 0, 1);
    process_free(p);
    assert_counts(0, 0, 0, 0, 0);
    process_free(add(the.b, 2, PROCESS_RUNNING));
    assert_int_equal(the.b->running, 0);
    assert_counts(0, 0, 0, 0, 0);
}

static void who_is_moved_comes_last(void **state)
{
    struct muster_process *first = add(the.a, 1, PROCESS_READY), *second = add(the.a, 2, PROCESS_READY);
    (void)state;
    assert_ptr_equal(TAILQ_FIRST(&the.worker->processes.list[PROCESS_READY]), first);
    process_move(first, PROCESS_READY);
    assert_ptr_equal(TAILQ_FIRST(&the.worker->processes.list[PROCESS_READY]), second);
    assert_ptr_equal(TAILQ_NEXT(second, in_list), first);
}

/* ---- starting ---- */

/* The round in which handlers start. */
static void dispatch(void)
{
    round_due(the.worker);
    event_base_loop(the.base, EVLOOP_NONBLOCK);
}

static void handlers_start_in_order_within_the_hands(void **state)
{
    const uint64_t order[] = {1, 4, 5}; /* 2 and 3 wait for b's only hand, which 1 has; then the three hands are full */
    (void)state;
    for (uint64_t token = 1; token <= 6; token++)
        add(token <= 3 ? the.b : the.a, token, PROCESS_READY);
    dispatch();
    assert_int_equal(the.n_running, N_OF(order));
    for (size_t i = 0; i < N_OF(order); i++)
        assert_int_equal(muster_process_token(the.running[i]), order[i]);
    assert_counts(0, 3, 3, 0, 0);
    assert_int_equal(the.a->running, 2);
    assert_int_equal(the.b->running, 1);
}

static void an_end_makes_room_for_the_next(void **state)
{
    (void)state;
    for (uint64_t token = 1; token <= 6; token++)
        add(token <= 3 ? the.b : the.a, token, PROCESS_READY);
    dispatch();
    assert_ok(muster_process_end(the.running[1], MUSTER_FINISH)); /* of a: b has no hand free, so a's next */
    dispatch();
    assert_int_equal(the.n_running, 4);
    assert_int_equal(muster_process_token(the.running[3]), 6);
    assert_ok(muster_process_end(the.running[0], MUSTER_GIVE_BACK));
    dispatch();
    assert_int_equal(the.n_running, 5);
    assert_int_equal(muster_process_token(the.running[4]), 2);
    assert_counts(0, 1, 3, 2, 0);
    assert_int_equal(the.running[0]->outcome, MUSTER_GIVE_BACK);
}

static void an_outcome_ends_the_process_at_once(void **state)
{
    (void)state;
    the.outcome = MUSTER_FAIL;
    for (uint64_t token = 1; token <= 5; token++)
        add(the.b, token, PROCESS_READY);
    dispatch();
    assert_int_equal(the.n_running, 5);
    assert_counts(0, 0, 0, 5, 0);
    assert_int_equal(the.running[4]->outcome, MUSTER_FAIL);
}

/* Handlers run for a stretch, then the loop looks at its sockets: with very many, the rest starts a round later. */
static void very_many_all_start(void **state)
{
    (void)state;
    the.outcome = MUSTER_FINISH;
    for (size_t i = 0; i < MANY; i++)
        add(the.a, token_of(i), PROCESS_READY);
    round_due(the.worker);
    for (int turns = 0; the.n_running < MANY && turns < MANY; turns++)
        event_base_loop(the.base, EVLOOP_NONBLOCK);
    assert_int_equal(the.n_running, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(muster_process_token(the.running[i]), token_of(i));
    assert_counts(0, 0, 0, MANY, 0);
}

static void in_doubt_nothing_starts(void **state)
{
    (void)state;
    add(the.a, 1, PROCESS_READY);
    the.worker->fence.in_doubt = true;
    dispatch();
    assert_int_equal(the.n_running, 0);
    assert_counts(0, 1, 0, 0, 0);
}

/* ---- what the program sees and says ---- */

static void a_process_tells_what_it_is(void **state)
{
    struct muster_process *p = process_add(the.worker, the.b, 31, PROCESS_TASK);
    size_t len;
    (void)state;
    assert_ok(process_set_task(p, (struct muster_bytes){"a\0b", 3}));
    assert_string_equal(muster_process_id(p), "w-1:0000000000v:b:1");
    assert_ptr_equal(muster_process_id(p), muster_process_id(p));
    assert_string_equal(muster_process_queue(p), "b:1");
    assert_int_equal(muster_process_token(p), 31);
    assert_ptr_equal(muster_process_worker(p), the.worker);
    assert_int_equal(muster_process_stop_reason(p), MUSTER_GO_ON);
    assert_memory_equal(muster_process_task(p, &len), "a\0b", 4); /* with the NUL after it */
    assert_int_equal(len, 3);
    assert_ptr_equal(muster_process_task(p, NULL), muster_process_task(p, &len));
}

static void only_a_handler_that_answered_later_ends_its_process(void **state)
{
    struct muster_process *p = add(the.a, 1, PROCESS_READY);
    (void)state;
    assert_err(muster_process_end(p, MUSTER_FINISH), MUSTER_E_STATE);
    dispatch();
    assert_err(muster_process_end(p, MUSTER_LATER), MUSTER_E_INVALID);
    assert_err(muster_process_end(p, (enum muster_outcome)99), MUSTER_E_INVALID);
    assert_err(muster_process_end(p, (enum muster_outcome) - 1), MUSTER_E_INVALID);
    assert_counts(0, 0, 1, 0, 0);
    assert_ok(muster_process_end(p, MUSTER_RETRY));
    assert_counts(0, 0, 0, 1, 0);
    assert_int_equal(p->outcome, MUSTER_RETRY);
    assert_err(muster_process_end(p, MUSTER_FINISH), MUSTER_E_STATE);
}

static void a_number_that_is_no_outcome_fails_the_task(void **state)
{
    struct muster_process *p = add(the.a, 1, PROCESS_READY);
    (void)state;
    the.outcome = (enum muster_outcome)77;
    dispatch();
    assert_counts(0, 0, 0, 1, 0);
    assert_int_equal(p->outcome, MUSTER_FAIL);
    assert_string_equal(p->group, "no-outcome");
    assert_string_equal(p->message, "the handler returned 77, which is no outcome");
}

static void a_retrys_delay_is_not_negative(void **state)
{
    struct muster_process *p = add(the.a, 1, PROCESS_RUNNING);
    (void)state;
    assert_int_equal(p->retry_delay_ms, -1); /* none was set */
    assert_ok(muster_process_set_retry(p, 1500));
    assert_err(muster_process_set_retry(p, -1), MUSTER_E_INVALID);
    assert_err(muster_process_set_retry(p, INT64_MAX), MUSTER_E_INVALID);
    assert_int_equal(p->retry_delay_ms, 1500);
    assert_ok(muster_process_set_retry(p, 0));
    assert_int_equal(p->retry_delay_ms, 0);
}

static void a_failure_has_a_group_and_a_message(void **state)
{
    char group[] = "group", message[] = "message";
    struct muster_process *p = add(the.a, 1, PROCESS_RUNNING);
    (void)state;
    assert_ok(muster_process_set_failure(p, NULL, NULL));
    assert_string_equal(p->group, "failed");
    assert_string_equal(p->message, "");
    assert_ok(muster_process_set_failure(p, group, message));
    group[0] = message[0] = 'x';
    assert_string_equal(p->group, "group");
    assert_string_equal(p->message, "message");
}

static void a_bad_failure_leaves_the_old_one(void **state)
{
    static char message[64 * 1024 + 2], group[202];
    struct muster_process *p = add(the.a, 1, PROCESS_RUNNING);
    (void)state;
    memset(message, 'm', sizeof message - 1);
    memset(group, 'g', sizeof group - 1);
    assert_ok(muster_process_set_failure(p, "group", "message"));
    assert_err(muster_process_set_failure(p, "", NULL), MUSTER_E_INVALID);
    assert_err(muster_process_set_failure(p, "a\n", NULL), MUSTER_E_INVALID);
    assert_err(muster_process_set_failure(p, group, NULL), MUSTER_E_TOO_BIG);
    assert_err(muster_process_set_failure(p, NULL, message), MUSTER_E_TOO_BIG);
    assert_string_equal(p->group, "group");
    assert_string_equal(p->message, "message");
    assert_ok(muster_process_set_failure(p, group + 1, message + 1));
    assert_int_equal(strlen(p->group), 200);
    assert_int_equal(strlen(p->message), 64 * 1024);
}

/* ---- stopping and losing ---- */

static void a_process_is_told_to_stop_once(void **state)
{
    struct muster_process *p = add(the.a, 1, PROCESS_RUNNING);
    (void)state;
    process_tell_stop(p, MUSTER_STOP_DRAIN);
    process_tell_stop(p, MUSTER_STOP_LOST);
    assert_int_equal(muster_process_stop_reason(p), MUSTER_STOP_DRAIN);
    assert_int_equal(the.stops, 1);
    assert_int_equal(the.last_reason, MUSTER_STOP_DRAIN);
}

static void all_that_run_are_told_to_stop(void **state)
{
    (void)state;
    for (uint64_t token = 1; token <= 3; token++)
        add(the.a, token, PROCESS_RUNNING);
    struct muster_process *ready = add(the.a, 4, PROCESS_READY);
    process_tell_running(the.worker, MUSTER_STOP_DRAIN, NULL, NULL);
    assert_int_equal(the.stops, 3);
    assert_int_equal(muster_process_stop_reason(ready), MUSTER_GO_ON);
    assert_counts(0, 1, 3, 0, 0);
}

/* One in each state but for what is offered, which only a program's own loop has; of those that run, two. */
static void lose_one_of_each(void)
{
    for (int state = PROCESS_FETCHING; state <= PROCESS_SENT; state += state == PROCESS_READY ? 2 : 1)
        add(the.a, (uint64_t)state + 10, state == PROCESS_RUNNING ? PROCESS_READY : (enum process_state)state)
            ->handed_on = state == PROCESS_HELD; /* which is not answered */
    add(the.b, 20, PROCESS_READY);
    dispatch(); /* 11, 13 and 20: all hands */
    assert_int_equal(process_count(the.worker, IS_RUNNING), 3);
    assert_int_equal(process_count(the.worker, IS_HELD), 1);
    assert_int_equal(process_count(the.worker, IS_DUE), 1);
    assert_int_equal(process_count(the.worker, IS_SENT), 1);
    end_lose_all(the.worker);
}

static void a_lost_worker_forgets_all_but_what_runs(void **state)
{
    (void)state;
    lose_one_of_each();
    assert_counts(0, 0, 3, 0, 0);
    assert_int_equal(the.uncounted, 3); /* the held, the ended and the sent one */
    assert_int_equal(the.last_err, MUSTER_E_LOST);
    assert_int_equal(the.stops, 3);
    assert_int_equal(the.last_reason, MUSTER_STOP_LOST);
    assert_int_equal(the.worker->processes.n_known, 0);
    assert_int_equal(the.worker->processes.n_disowned, 3);
    assert_null(process_find(the.worker, 20));
}

/* The first was sent without an answer; the second was refused, or Redis did not name it any more. */
static void of_an_end_whose_answer_was_lost_nobody_knows_whether_it_counted(void **state)
{
    (void)state;
    add(the.a, 10, PROCESS_ENDED)->may_have_counted = true;
    end_lose_all(the.worker);
    assert_int_equal(the.uncounted, 1);
    assert_int_equal(the.last_err, MUSTER_E_CONN);
    add(the.a, 11, PROCESS_ENDED)->sent_before = true;
    end_lose_all(the.worker);
    assert_int_equal(the.uncounted, 2);
    assert_int_equal(the.last_err, MUSTER_E_LOST);
}

static void the_end_of_a_lost_process_does_not_count(void **state)
{
    (void)state;
    lose_one_of_each();
    for (size_t i = 0; i < 3; i++)
        assert_ok(muster_process_end(the.running[i], MUSTER_FINISH));
    assert_int_equal(the.uncounted, 6);
    assert_int_equal(the.worker->processes.n_disowned, 0);
    assert_int_equal(the.a->running + the.b->running, 0);
    assert_counts(0, 0, 0, 0, 0);
}

/* When lives follow each other, the tasks of the former ones still have the hands. */
static void what_still_runs_keeps_its_hand(void **state)
{
    (void)state;
    assert_int_equal(worker_capacity(the.worker), 3);
    lose_one_of_each();
    assert_int_equal(worker_capacity(the.worker), 0);
    add(the.a, 30, PROCESS_READY);
    dispatch();
    assert_int_equal(the.n_running, 3);
    assert_ok(muster_process_end(the.running[0], MUSTER_FINISH));
    dispatch();
    assert_int_equal(the.n_running, 4);
    assert_int_equal(worker_capacity(the.worker), 1);
}

/* ---- stopping by itself ---- */

static void run_a_round(void)
{
    round_due(the.worker);
    event_base_loop(the.base, EVLOOP_NONBLOCK);
}

static void burst_ends_only_after_a_look_at_the_dead(void **state)
{
    (void)state;
    struct burst *burst = &the.worker->burst;
    burst->is_wanted = burst->has_looked = true;
    the.a->is_announced = the.b->is_announced = true;
    the.worker->turns.found_nothing = true;
    burst_look_again(the.worker); /* a sweep was answered, and without a connection no heartbeat is */
    run_a_round();
    assert_false(stop_is_wished(the.worker));
    burst->has_asked = true;
    burst_apply_heartbeat(the.worker);
    the.worker->heartbeat.echo = (struct echo_wait){.waits = true, .held = 1};
    run_a_round();
    assert_false(stop_is_wished(the.worker));
    the.worker->heartbeat.echo.waits = false;
    the.worker->sweeps.n_past = 1;
    run_a_round();
    assert_false(stop_is_wished(the.worker));
    the.worker->sweeps.n_past = 0;
    run_a_round();
    assert_true(stop_is_wished(the.worker));
}

static void burst_ends_only_while_nothing_asks_for_a_take(void **state)
{
    (void)state;
    the.worker->burst.is_wanted = true;
    the.a->is_announced = the.b->is_announced = true;
    the.worker->burst.has_looked = true;
    the.worker->turns.found_nothing = true;
    turn_want_take(the.worker); /* without a connection it cannot take */
    run_a_round();
    assert_false(stop_is_wished(the.worker));
    the.worker->turns.found_nothing = true;
    run_a_round();
    assert_true(stop_is_wished(the.worker));
}

/* It was told to stop while it registered, and by then the time to leave is over as well. */
static void a_worker_stops_once(void **state)
{
    (void)state;
    the.worker->state = WORKER_REGISTERING;
    assert_ok(muster_worker_stop(the.worker, 0));
    the.worker->stop.drain_is_over = true;
    worker_enter(the.worker, WORKER_WORKING);
    run_a_round();
    assert_int_equal(the.worker->state, WORKER_STOPPED);
    assert_int_equal(the.stopped, 1);
}

#define process_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* ---- in a child of fork() ---- */

static void post_nothing(struct muster_worker *w, void *arg)
{
    (void)w, (void)arg;
}

/* All that would change something, with arguments that are good for the parent, and such as nobody takes. */
static bool all_is_refused(struct muster_process *p)
{
    struct muster_worker *w = the.worker;
    const struct muster_job_spec spec = {.size = sizeof spec}, none = {0};
    const char *const argv[] = {"true", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    const int errors[] = {muster_worker_start(w),
                          muster_worker_run(w),
                          muster_worker_serve(w, "c", 0, note_running, NULL),
                          muster_worker_serve(w, "", -1, NULL, NULL),
                          muster_worker_serve_command(w, "c", &command),
                          muster_worker_leave(w, "a"),
                          muster_worker_leave(w, "nowhere"),
                          muster_worker_post(w, post_nothing, NULL),
                          muster_worker_post(w, NULL, NULL),
                          muster_worker_set_pulse(w, 1000, post_nothing, NULL),
                          muster_worker_set_pulse(w, -1, NULL, NULL),
                          muster_worker_fd(w),
                          muster_worker_enqueue(w, "a", "t", 1, NULL, NULL),
                          muster_worker_enqueue(w, "", NULL, 1, NULL, NULL),
                          muster_worker_put(w, "a", &spec, NULL, NULL),
                          muster_worker_put(w, "a", &none, NULL, NULL),
                          muster_process_progress(p, "note"),
                          muster_process_set_data(p, "data", 4),
                          muster_process_extend(p, 1000),
                          muster_process_stay(p, 1000),
                          muster_process_end(p, MUSTER_FINISH),
                          muster_process_end_many(&p, 1, MUSTER_FINISH)};
    for (size_t i = 0; i < N_OF(errors); i++)
        if (errors[i] != MUSTER_E_STATE) {
            dprintf(STDERR_FILENO, "call %zu is answered %d in the child\n", i, errors[i]);
            return false;
        }
    return true;
}

/* NULL: all was refused. */
static void *fork_and_call(void *process)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SOON_MS / 1000);
        _exit(all_is_refused(process) ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? NULL : process;
}

/* Whichever thread forks, and whatever another one had locked just then. */
static void a_child_of_fork_changes_nothing_and_waits_for_nobody(void **state)
{
    (void)state;
    pthread_t thread;
    void *of_other = NULL;
    struct muster_process *p = add(the.a, 1, PROCESS_READY);
    dispatch_ready(the.worker);
    assert_int_equal(the.n_running, 1);
    pthread_mutex_lock(&the.worker->calls.lock);
    pthread_mutex_lock(&the.worker->tell.lock);
    void *of_loop = fork_and_call(p);
    int err = pthread_create(&thread, NULL, fork_and_call, p);
    pthread_join(thread, &of_other);
    pthread_mutex_unlock(&the.worker->tell.lock);
    pthread_mutex_unlock(&the.worker->calls.lock);
    assert_int_equal(err, 0);
    assert_null(of_loop);
    assert_null(of_other);
    assert_ok(muster_process_end(p, MUSTER_FINISH));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        process_test(each_of_many_is_found_until_it_is_freed),
        process_test(the_known_are_counted_up_to_a_token),
        process_test(a_queue_is_found_by_its_whole_name),
        process_test(a_process_is_on_the_list_of_its_state),
        process_test(who_is_moved_comes_last),
        process_test(handlers_start_in_order_within_the_hands),
        process_test(an_end_makes_room_for_the_next),
        process_test(an_outcome_ends_the_process_at_once),
        process_test(very_many_all_start),
        process_test(in_doubt_nothing_starts),
        process_test(a_process_tells_what_it_is),
        process_test(only_a_handler_that_answered_later_ends_its_process),
        process_test(a_number_that_is_no_outcome_fails_the_task),
        process_test(a_retrys_delay_is_not_negative),
        process_test(a_failure_has_a_group_and_a_message),
        process_test(a_bad_failure_leaves_the_old_one),
        process_test(a_process_is_told_to_stop_once),
        process_test(all_that_run_are_told_to_stop),
        process_test(a_lost_worker_forgets_all_but_what_runs),
        process_test(the_end_of_a_lost_process_does_not_count),
        process_test(of_an_end_whose_answer_was_lost_nobody_knows_whether_it_counted),
        process_test(what_still_runs_keeps_its_hand),
        process_test(burst_ends_only_after_a_look_at_the_dead),
        process_test(burst_ends_only_while_nothing_asks_for_a_take),
        process_test(a_worker_stops_once),
        process_test(a_child_of_fork_changes_nothing_and_waits_for_nobody),
    };
    return testing_run(tests, NULL, NULL, argc, argv);
}
