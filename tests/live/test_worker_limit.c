/* SPDX-License-Identifier: MIT
 *
 * Time limits: a handler is told shortly before the limit and at the limit, never early; more time can be given from
 * the loop and from threads; and what becomes of the task.
 *
 * The lower bounds are exact: each time is taken before the limit begins, or after the handler was told. The upper
 * bounds fail only when a limit is not kept at all.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "invariant.h"
#include "live_worker.h"
#include "slow.h"

#define AN_HOUR 3600000
#define LIMIT_MS 300
/* Where a busy machine must not let it pass. */
#define ROOMY_MS 1000
#define LATE_MS slow_ms(5000)

/* Worker "w" on "q" that holds what it gets until the test ends it, with a limit. */
static const struct worker_spec holder = {.id = "w",
                                          .ttl_ms = AN_HOUR,
                                          .answer = MUSTER_LATER,
                                          .stubborn = true,
                                          .more.limit_ms = LIMIT_MS,
                                          .queues = {{"q", 0}}};

static size_t n_events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

/* When the first event of this type came. */
static int64_t at_ms(struct scene *s, enum muster_event_type type)
{
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, (int)type, NULL, NULL);
    assert_non_null(e);
    return e->at_ms;
}

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
    assert_int_equal(n_events(s, MUSTER_EVENT_UNCOUNTED), 0);
}

static int64_t in_group(struct scene *s, const char *group)
{
    return raw_int(s->server->redis, "HGET %s:failures:q g:%s", s->prefix, group);
}

/* One task that is past its limit. */
static struct live_worker *past_limit(struct scene *s, enum muster_outcome on_limit)
{
    struct worker_spec spec = holder;
    spec.more.on_limit = on_limit;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    return w;
}

/* The last event was told; the handler, which was left running, sees its limit all the same. */
static void a_worker_that_has_stopped_tells_of_no_limit(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    struct muster_process *p = w->held[0];
    assert_ok(muster_process_extend(p, ROOMY_MS));
    live_worker_stop(s, w, 0);
    const size_t n = journal_size(s->journal);
    assert_int_equal(muster_process_stop_reason(p), MUSTER_STOP_DRAIN);
    run_loop(s->base, 2 * ROOMY_MS);
    assert_int_equal(journal_size(s->journal), n);
}

/* One job that is past its limit, with what it is put with. */
static struct live_worker *job_past_limit(struct scene *s, enum muster_outcome on_limit, int retries)
{
    struct worker_spec spec = holder;
    const struct muster_job_spec job = {
        .size = sizeof job, .id = "a", .retries = retries, .backoff = &(struct muster_backoff){.delay_ms = AN_HOUR}};
    spec.more.on_limit = on_limit;
    struct live_worker *w = live_worker_idle(s, &spec);
    assert_ok(muster_job_put(s->client, "q", &job, NULL));
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    return w;
}

/* ---- the events ---- */

static void must_go_on(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    if (e->type == MUSTER_EVENT_NEAR_LIMIT)
        assert_int_equal(muster_process_stop_reason(e->process), MUSTER_GO_ON);
}

static void a_handler_is_told_before_and_at_the_limit_and_never_early(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.on_event = must_go_on;
    struct live_worker *w = live_worker_idle(s, &spec);
    int64_t since = now_ms();
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_NEAR_LIMIT, "w", 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_LIMIT);
    assert_in_range(at_ms(s, MUSTER_EVENT_NEAR_LIMIT) - since, LIMIT_MS * 9 / 10, LATE_MS);
    assert_in_range(at_ms(s, MUSTER_EVENT_STOP) - since, LIMIT_MS, LATE_MS);
    live_worker_end(w, MUSTER_FINISH); /* late, but done */
    await_quiet(s);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
}

static void a_handler_that_ends_in_time_is_told_nothing(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.more.limit_ms = ROOMY_MS;
    struct live_worker *w = live_worker_idle(s, &spec);
    for (size_t i = 0; i < 3; i++) {
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i + 1);
        live_worker_end(w, MUSTER_FINISH);
        await_quiet(s);
    }
    run_loop(s->base, ROOMY_MS * 3 / 2);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 0);
}

static atomic_int seen_reason;

static void a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static enum muster_outcome wait_for_a_reason(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    while (muster_process_stop_reason(p) == MUSTER_GO_ON)
        a_moment();
    atomic_store(&seen_reason, (int)muster_process_stop_reason(p));
    journal_process(w->journal, JOURNAL_END, MUSTER_GIVE_BACK, p);
    return MUSTER_GIVE_BACK;
}

static void a_handler_on_a_thread_reads_it(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.more.threads = 1;
    spec.handler = wait_for_a_reason;
    live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_int_equal(atomic_load(&seen_reason), MUSTER_STOP_LIMIT);
    assert_int_equal(in_group(s, "limit"), 1);
    await_quiet(s);
}

/* ---- more time ---- */

static void extend_inside(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    if (e->type == MUSTER_EVENT_NEAR_LIMIT)
        assert_ok(muster_process_extend(e->process, AN_HOUR));
}

/* The loop is busy until the limit is over, and the program still gets its chance to give more time. */
static void a_loop_that_is_late_warns_before_it_stops(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.more.limit_ms = 50;
    spec.on_event = extend_inside;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    for (int64_t until = now_ms() + 60; now_ms() < until;)
        a_moment();
    scene_await_events(s, MUSTER_EVENT_NEAR_LIMIT, "w", 1);
    run_loop(s->base, 100);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 0);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

/* `arg` is when it was given. */
static void extend_once(struct live_worker *w, const struct muster_event *e)
{
    int64_t *since = w->spec.arg;
    if (e->type != MUSTER_EVENT_NEAR_LIMIT || *since)
        return;
    *since = now_ms();
    assert_ok(muster_process_extend(e->process, 2 * LIMIT_MS));
}

static void more_time_counts_from_when_it_is_given(void **state)
{
    struct scene *s = *state;
    int64_t since = 0;
    struct worker_spec spec = holder;
    spec.on_event = extend_once;
    spec.arg = &since;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_in_range(at_ms(s, MUSTER_EVENT_STOP) - since, 2 * LIMIT_MS, LATE_MS);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 2);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

static void less_time_counts_too(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.more.limit_ms = AN_HOUR;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    int64_t since = now_ms();
    assert_ok(muster_process_extend(w->held[0], LIMIT_MS));
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_in_range(at_ms(s, MUSTER_EVENT_STOP) - since, LIMIT_MS, LATE_MS);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 1);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

static enum muster_outcome without_limit(struct muster_process *p, void *arg)
{
    assert_err(muster_process_extend(p, -1), MUSTER_E_INVALID);
    assert_ok(muster_process_extend(p, 0));
    return live_worker_handle(p, arg);
}

static void a_limit_can_be_removed_and_set_where_there_was_none(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.handler = without_limit;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    run_loop(s->base, LIMIT_MS * 3 / 2);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 0);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 0);
    assert_ok(muster_process_extend(w->held[0], 10));
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

static void once_told_it_stays_told(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = past_limit(s, MUSTER_FAIL);
    assert_ok(muster_process_extend(w->held[0], LIMIT_MS));
    run_loop(s->base, LIMIT_MS * 3 / 2);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_LIMIT);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    await_quiet(s);
}

/* Takes twice its limit, by asking for more again and again. */
static enum muster_outcome ask_for_more(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    for (int64_t until = now_ms() + 2 * ROOMY_MS, again = 0; now_ms() < until; a_moment())
        if (now_ms() >= again) {
            again = now_ms() + ROOMY_MS / 50;
            if (muster_process_extend(p, ROOMY_MS) != MUSTER_OK)
                return MUSTER_FAIL;
        }
    atomic_store(&seen_reason, (int)muster_process_stop_reason(p));
    journal_process(w->journal, JOURNAL_END, MUSTER_FINISH, p);
    return MUSTER_FINISH;
}

static void a_thread_asks_for_more_time(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.more.threads = 1;
    spec.more.limit_ms = ROOMY_MS;
    spec.handler = ask_for_more;
    atomic_store(&seen_reason, -1);
    live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    await_quiet(s);
    assert_int_equal(atomic_load(&seen_reason), MUSTER_GO_ON);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 0);
}

/* ---- what becomes of it ---- */

static void given_back_past_the_limit_it_fails(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = past_limit(s, 0);
    live_worker_end(w, MUSTER_GIVE_BACK);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_int_equal(in_group(s, "limit"), 1);
    await_quiet(s);
}

static void or_is_retried(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = past_limit(s, MUSTER_RETRY);
    assert_ok(muster_process_set_retry(w->held[0], AN_HOUR));
    live_worker_end(w, MUSTER_GIVE_BACK);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:delayed:q", s->prefix);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
    assert_int_equal(scene_starts(s), 1);
}

static void or_is_given_back(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = past_limit(s, MUSTER_GIVE_BACK);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
}

static void a_failure_of_its_own_keeps_its_group(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = past_limit(s, MUSTER_RETRY);
    assert_ok(muster_process_set_failure(w->held[0], "mine", "why"));
    live_worker_end(w, MUSTER_FAIL);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_int_equal(in_group(s, "mine"), 1);
    assert_int_equal(in_group(s, "limit"), 0);
    await_quiet(s);
}

static void give_back_once(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_NEAR_LIMIT && journal_count(w->journal, JOURNAL_START, -1, NULL, NULL) == 1)
        live_worker_end_one(w, e->process, MUSTER_GIVE_BACK);
}

/* Unless the program says otherwise: a job has retries and a backoff of its own. */
static void a_job_past_the_limit_is_retried_by_its_own_settings(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = job_past_limit(s, MUSTER_FINISH, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:scheduled:q", s->prefix);
    char *group = raw_string(s->server->redis, "HGET %s:job:a group", s->prefix);
    assert_string_equal(group, "limit");
    free(group);
    char *lines = raw_string(s->server->redis, "LRANGE %s:history:a 0 -1", s->prefix);
    bool is_said = strstr(lines, "\tretried\tlimit") != NULL;
    free(lines);
    assert_true(is_said);
}

static void a_job_without_retries_fails_past_the_limit(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = job_past_limit(s, MUSTER_FINISH, MUSTER_ZERO);
    live_worker_end(w, MUSTER_GIVE_BACK);
    await_quiet(s);
    assert_int_equal(in_group(s, "limit"), 1);
}

static void a_job_past_the_limit_fails_at_once_if_the_program_says_so(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = job_past_limit(s, MUSTER_FAIL, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    await_quiet(s);
    assert_int_equal(in_group(s, "limit"), 1);
}

static void within_the_limit_giving_back_is_giving_back_and_the_limit_starts_again(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.on_event = give_back_once;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(scene_starts(s), 2);
    assert_in_range(at_ms(s, MUSTER_EVENT_STOP) - at_ms(s, MUSTER_EVENT_NEAR_LIMIT), LIMIT_MS, LATE_MS);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

/* ---- children ---- */

static void a_child_that_ignores_sigterm_is_killed_and_its_task_fails(void **state)
{
    struct scene *s = *state;
    const char *const argv[] = {"sh", "-c", "exec 2>&-; trap '' TERM; while :; do sleep 0.02; done", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv, .grace_ms = 200};
    struct live_worker *w = live_worker_new(
        s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR, .stubborn = true, .more.limit_ms = LIMIT_MS});
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    int64_t since = now_ms();
    scene_enqueue(s, "q", "t");
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    assert_in_range(now_ms() - since, LIMIT_MS + 200, LATE_MS);
    assert_int_equal(in_group(s, "limit"), 1);
    assert_int_equal(n_events(s, MUSTER_EVENT_STOP), 1);
    await_quiet(s);
}

/* ---- within the event ---- */

struct trap {
    enum muster_event_type on;
    bool frees;
};

static void spring(struct live_worker *w, const struct muster_event *e)
{
    const struct trap *trap = w->spec.arg;
    if (e->type != trap->on || !w->worker)
        return;
    if (trap->frees) {
        muster_worker_free(w->worker);
        w->worker = NULL;
    } else {
        live_worker_end_one(w, e->process, MUSTER_FINISH);
    }
}

static struct live_worker *trapped(struct scene *s, struct trap *trap)
{
    struct worker_spec spec = holder;
    spec.hands = 3;
    spec.on_event = spring;
    spec.arg = trap;
    struct live_worker *w = live_worker_idle(s, &spec);
    scene_enqueue_n(s, "q", "t", 3);
    return w;
}

static void a_process_may_be_ended_while_it_is_told(void **state)
{
    struct scene *s = *state;
    const enum muster_event_type types[] = {MUSTER_EVENT_NEAR_LIMIT, MUSTER_EVENT_STOP};
    for (size_t i = 0; i < N_OF(types); i++) {
        struct trap trap = {.on = types[i]};
        struct live_worker *w = trapped(s, &trap);
        scene_await_events(s, types[i], "w", 3);
        await_quiet(s);
        live_worker_stop(s, w, 0);
        live_worker_free(s, w);
    }
}

static bool is_freed(void *arg)
{
    return !((struct live_worker *)arg)->worker;
}

static void the_worker_may_be_freed_while_it_is_told(void **state)
{
    struct scene *s = *state;
    struct trap trap = {.on = MUSTER_EVENT_NEAR_LIMIT, .frees = true};
    struct live_worker *w = trapped(s, &trap);
    wait_on(s->base, is_freed, w, SOON_MS);
    run_loop(s->base, 50);
    assert_int_equal(n_events(s, MUSTER_EVENT_NEAR_LIMIT), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_handler_is_told_before_and_at_the_limit_and_never_early),
        live_test(a_handler_that_ends_in_time_is_told_nothing),
        live_test(a_handler_on_a_thread_reads_it),
        live_test(a_loop_that_is_late_warns_before_it_stops),
        live_test(more_time_counts_from_when_it_is_given),
        live_test(less_time_counts_too),
        live_test(a_limit_can_be_removed_and_set_where_there_was_none),
        live_test(once_told_it_stays_told),
        live_test(a_worker_that_has_stopped_tells_of_no_limit),
        live_test(a_thread_asks_for_more_time),
        live_test(given_back_past_the_limit_it_fails),
        live_test(or_is_retried),
        live_test(or_is_given_back),
        live_test(a_failure_of_its_own_keeps_its_group),
        live_test(a_job_past_the_limit_is_retried_by_its_own_settings),
        live_test(a_job_without_retries_fails_past_the_limit),
        live_test(a_job_past_the_limit_fails_at_once_if_the_program_says_so),
        live_test(within_the_limit_giving_back_is_giving_back_and_the_limit_starts_again),
        live_test(a_child_that_ignores_sigterm_is_killed_and_its_task_fails),
        live_test(a_process_may_be_ended_while_it_is_told),
        live_test(the_worker_may_be_freed_while_it_is_told),
    };
    return scene_run(tests, argc, argv);
}
