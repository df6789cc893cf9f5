/* SPDX-License-Identifier: MIT
 *
 * Cancels, as a worker sees them: it hears by a message, by a heartbeat, before the task has arrived, in a doubt, or by
 * a former life. After any end but a finish the task is gone.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test: the worker heard by a message.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "invariant.h"
#include "live_worker.h"
#include "proxy.h"
#include "slow.h"

#define AN_HOUR 3600000
#define TTL_MS slow_ms(300)

/* Worker "w" on "q" that holds what it gets until the test ends it. */
static struct live_worker *holder(struct scene *s, int ttl_ms, int hands, int prefetch)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                     .ttl_ms = ttl_ms,
                                                     .hands = hands,
                                                     .prefetch = prefetch,
                                                     .answer = MUSTER_LATER,
                                                     .stubborn = true,
                                                     .queues = {{"q", 0}}});
}

/* Cancel a task. This many of its copies wait, and this many are in work. */
static void cancel(struct scene *s, const char *task, uint64_t waiting, uint64_t running)
{
    uint64_t waited = 99, ran = 99;
    assert_ok(muster_task_cancel(s->client, "q", task, strlen(task), &waited, &ran));
    assert_int_equal(waited, waiting);
    assert_int_equal(ran, running);
}

static void await_cancelled(struct scene *s, int64_t n)
{
    raw_await(s->server->redis, s->base, n, "HGET %s:queue:q cancelled", s->prefix);
}

/* Nothing waits, runs, is delayed or has failed, and no mark is left. */
static void await_all_gone(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:marks:w %s:notes:w %s:failed:q", s->prefix, s->prefix,
              s->prefix);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

static size_t n_told(struct scene *s, const char *task)
{
    return journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, NULL, task);
}

static size_t n_starts(struct scene *s, const char *task)
{
    return journal_count(s->journal, JOURNAL_START, -1, NULL, task);
}

static size_t n_uncounted(struct scene *s)
{
    return journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
}

/* ---- by a message ---- */

static void a_cancelled_handler_is_told_and_with_any_end_but_finish_the_task_is_gone(void **state)
{
    struct scene *s = *state;
    const enum muster_outcome outcomes[] = {MUSTER_GIVE_BACK, MUSTER_RETRY, MUSTER_FAIL};
    struct live_worker *w = holder(s, AN_HOUR, 1, 0);
    for (size_t i = 0; i < N_OF(outcomes); i++) {
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, i + 1);
        cancel(s, "t", 0, 1);
        scene_await_events(s, MUSTER_EVENT_STOP, "w", i + 1);
        assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_CANCELLED);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:w:q", s->prefix), 1);
        w->spec.retry_ms = 50;
        live_worker_end(w, outcomes[i]);
        await_cancelled(s, (int64_t)i + 1);
        await_all_gone(s);
    }
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, N_OF(outcomes) + 1);
    assert_int_equal(n_told(s, "next"), 0);
    assert_int_equal(n_uncounted(s), 0);
}

static void a_finish_after_the_cancel_counts(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 2, 0);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    cancel(s, "t0", 0, 1);
    cancel(s, "t0", 0, 1); /* once more: it is still in work */
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    live_worker_end(w, MUSTER_FINISH);
    live_worker_end(w, MUSTER_FINISH);
    await_all_gone(s);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), 0);
    assert_int_equal(n_told(s, "t0"), 1);
    assert_int_equal(n_told(s, "t1"), 0);
    assert_int_equal(n_uncounted(s), 0);
    /* With the last mark its ends go together again. */
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:worker:w flag", s->prefix), 0);
}

static void copies_that_wait_never_start_and_those_in_work_are_told(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 2, 0);
    for (int i = 0; i < 4; i++)
        scene_enqueue(s, "q", "copy");
    scene_enqueue(s, "q", "other");
    scene_await_starts(s, 2);
    cancel(s, "copy", 2, 2);
    await_cancelled(s, 2);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 2);
    live_worker_end(w, MUSTER_GIVE_BACK);
    live_worker_end(w, MUSTER_GIVE_BACK);
    await_cancelled(s, 4);
    live_worker_answer(w, MUSTER_FINISH);
    await_all_gone(s);
    scene_assert_started(s, 0, (const char *[]){"copy", "copy", "other", NULL});
}

static void what_was_taken_in_advance_is_dropped_at_once_and_never_starts(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 1, 3);
    scene_enqueue_n(s, "q", "t", 4);
    raw_await(s->server->redis, s->base, 4, "HLEN %s:processing:w:q", s->prefix);
    scene_await_starts(s, 1);
    cancel(s, "t1", 0, 1);
    cancel(s, "t2", 0, 1);
    await_cancelled(s, 2); /* without an end of t0 */
    assert_int_equal(n_told(s, NULL), 0);
    live_worker_answer(w, MUSTER_FINISH);
    await_all_gone(s);
    scene_assert_started(s, 0, (const char *[]){"t0", "t3", NULL});
}

static void one_process_is_cancelled_by_its_id(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, AN_HOUR, 2, 0);
    scene_enqueue(s, "q", "copy");
    scene_enqueue(s, "q", "copy");
    scene_await_starts(s, 2);
    char id[300];
    snprintf(id, sizeof id, "%s", muster_process_id(w->held[1]));
    assert_ok(muster_process_cancel(s->client, id));
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_GO_ON);
    assert_int_equal(muster_process_stop_reason(w->held[1]), MUSTER_STOP_CANCELLED);
    live_worker_end(w, MUSTER_FINISH);
    live_worker_end(w, MUSTER_GIVE_BACK);
    await_cancelled(s, 1);
    await_all_gone(s);
    assert_err(muster_process_cancel(s->client, id), MUSTER_E_LOST);
}

/* ---- threads and children ---- */

static atomic_int seen_reason;

static enum muster_outcome wait_for_a_reason(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    while (muster_process_stop_reason(p) == MUSTER_GO_ON)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&seen_reason, (int)muster_process_stop_reason(p));
    return MUSTER_GIVE_BACK;
}

static void a_handler_on_a_thread_reads_it(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w",
                                              .ttl_ms = AN_HOUR,
                                              .more.threads = 2,
                                              .handler = wait_for_a_reason,
                                              .stubborn = true,
                                              .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    cancel(s, "t", 0, 1);
    await_cancelled(s, 1);
    assert_int_equal(atomic_load(&seen_reason), MUSTER_STOP_CANCELLED);
    await_all_gone(s);
    assert_int_equal(n_starts(s, "t"), 1);
}

static bool has_file(void *path)
{
    FILE *f = fopen(path, "r");
    if (f)
        fclose(f);
    return f != NULL;
}

/* A child that says that it is there, and waits for its SIGTERM; `on_term` is what it does then. */
static void cancel_child(struct scene *s, const char *on_term)
{
    static int n;
    char path[96], script[400];
    snprintf(path, sizeof path, "%s/child-%d", s->server->dir, n++);
    snprintf(script, sizeof script, "exec 2>&-; trap '%s' TERM; : > %s; while :; do sleep 0.02; done", on_term, path);
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w", .ttl_ms = AN_HOUR});
    assert_ok(muster_worker_serve_command(w->worker, "q", &command));
    scene_enqueue(s, "q", "t");
    wait_on(s->base, has_file, path, SOON_MS);
    cancel(s, "t", 0, 1);
    await_all_gone(s);
    assert_int_equal(n_told(s, NULL), 1);
    assert_int_equal(n_uncounted(s), 0);
}

static void a_child_gets_sigterm_and_its_task_is_gone(void **state)
{
    cancel_child(*state, "exit 3");
    await_cancelled(*state, 1);
}

static void a_child_that_exits_with_0_all_the_same_has_finished(void **state)
{
    struct scene *s = *state;
    cancel_child(s, "exit 0");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), 0);
}

/* ---- without the message ---- */

struct listener {
    struct scene *scene;
    int64_t heartbeats;
};

static void count_heartbeats(struct live_worker *w, const struct muster_event *e)
{
    struct listener *l = w->spec.arg;
    if (e->type == MUSTER_EVENT_STOP)
        l->heartbeats = redis_server_calls(l->scene->server, "pexpire");
}

/* For this one call every message is denied: Redis' mark is all there is. */
static void without_a_message_it_is_told_with_the_next_heartbeat(void **state)
{
    struct scene *s = *state;
    struct listener listener = {.scene = s};
    uint64_t running = 0;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .ttl_ms = 1500,
                                                                      .answer = MUSTER_LATER,
                                                                      .on_event = count_heartbeats,
                                                                      .arg = &listener,
                                                                      .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    int64_t heartbeats = redis_server_calls(s->server, "pexpire"), since = now_ms();
    raw_do(s->server->redis, "ACL SETUSER default -publish -spublish");
    int err = muster_task_cancel(s->client, "q", "t", 1, NULL, &running);
    raw_do(s->server->redis, "ACL SETUSER default +publish +spublish");
    assert_ok(err);
    assert_int_equal(running, 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "w", 1);
    print_message("without a message, heartbeat 500 ms: told after %d ms\n", (int)(now_ms() - since));
    assert_int_equal(listener.heartbeats - heartbeats, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    await_cancelled(s, 1);
    await_all_gone(s);
    live_worker_free(s, w);
}

/* Redis has taken the task for the worker, the answer lies in the proxy, and the mark's message passes it. */
static void a_mark_that_comes_before_its_task_keeps_it_from_starting(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w", .url = proxy.url, .ttl_ms = AN_HOUR, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 1);
    proxy_delay(&proxy, 700);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_waiting(s, "q", 0);
    proxy_delay(&proxy, 0);
    cancel(s, "t1", 0, 1);
    await_cancelled(s, 1);
    await_all_gone(s);
    assert_int_equal(n_starts(s, "t1"), 0);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* ---- in doubt, dead, and back ---- */

static void what_is_cancelled_in_a_doubt_is_dropped_when_the_doubt_is_over(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .url = proxy.url,
                                                                      .ttl_ms = TTL_MS,
                                                                      .prefetch = 1,
                                                                      .answer = MUSTER_LATER,
                                                                      .stubborn = true,
                                                                      .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    raw_await(s->server->redis, s->base, 2, "HLEN %s:processing:w:q", s->prefix);
    scene_await_starts(s, 1);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w", 1);
    cancel(s, "t0", 0, 1);
    cancel(s, "t1", 0, 1);
    assert_int_equal(muster_process_stop_reason(w->held[0]), MUSTER_STOP_LOST);
    live_worker_end(w, MUSTER_GIVE_BACK);
    proxy_accept(&proxy);
    await_cancelled(s, 2);
    await_all_gone(s);
    assert_int_equal(n_starts(s, "t1"), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

/* Its life ends with two in hand, one of them cancelled. */
static void die_with_one_cancelled(struct scene *s)
{
    struct live_worker *w = holder(s, TTL_MS, 2, 0);
    scene_enqueue(s, "q", "doomed");
    scene_enqueue(s, "q", "kept");
    scene_await_starts(s, 2);
    cancel(s, "doomed", 0, 1);
    live_worker_free(s, w); /* without a word, which Redis cannot tell from a kill */
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:marks:w", s->prefix), 1);
}

static void a_sweep_drops_what_was_cancelled(void **state)
{
    struct scene *s = *state;
    die_with_one_cancelled(s);
    size_t mark = journal_size(s->journal);
    live_worker_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:registry", s->prefix);
    await_cancelled(s, 1);
    await_all_gone(s);
    scene_assert_started(s, mark, (const char *[]){"kept", NULL});
}

/* From now on its id may start again. */
static void await_end_of_life(struct scene *s)
{
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s",
              "local t, P = redis.call('TIME'), KEYS[1]\n"
              "local ends = tonumber(redis.call('ZSCORE', P .. ':registry', 'w'))\n"
              "return redis.call('EXISTS', P .. ':alive:w') == 0 and ends < t[1] * 1000 + t[2] / 1000 - 1 and 1 or 0",
              s->prefix);
}

static void a_resumed_life_keeps_the_marks(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    die_with_one_cancelled(s);
    size_t mark = journal_size(s->journal), n_before = scene_starts(s);
    await_end_of_life(s);
    struct live_worker *w = live_worker_new(
        s,
        &(struct worker_spec){
            .id = "w", .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .more.resume = 1, .queues = {{"q", 0}}});
    await_cancelled(s, 1);
    raw_await(s->server->redis, s->base, 1, "HLEN %s:processing:w:q", s->prefix);
    scene_await_starts(s, n_before + 1);
    scene_assert_started(s, mark, (const char *[]){"kept", NULL});
    live_worker_end(w, MUSTER_FINISH);
    await_all_gone(s);
}

/* ---- within the event ---- */

static void end_inside(struct live_worker *w, const struct muster_event *e)
{
    if (e->type != MUSTER_EVENT_STOP)
        return;
    while (w->n_held > 0) /* not only the one that the event is about */
        live_worker_end(w, MUSTER_GIVE_BACK);
}

static void all_may_be_ended_while_one_is_told(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .ttl_ms = AN_HOUR,
                                                                      .hands = 3,
                                                                      .prefetch = 2,
                                                                      .answer = MUSTER_LATER,
                                                                      .on_event = end_inside,
                                                                      .queues = {{"q", 0}}});
    for (int i = 0; i < 5; i++)
        scene_enqueue(s, "q", "copy");
    raw_await(s->server->redis, s->base, 5, "HLEN %s:processing:w:q", s->prefix);
    scene_await_starts(s, 3);
    cancel(s, "copy", 0, 5);
    await_cancelled(s, 5);
    await_all_gone(s);
    assert_int_equal(scene_starts(s), 3);
    assert_int_equal(w->n_held, 0);
}

static void free_inside(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP && w->worker) {
        muster_worker_free(w->worker);
        w->worker = NULL;
    }
}

static bool is_freed(void *arg)
{
    return !((struct live_worker *)arg)->worker;
}

static void the_worker_may_be_freed_while_it_is_told(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .ttl_ms = AN_HOUR,
                                                                      .hands = 3,
                                                                      .answer = MUSTER_LATER,
                                                                      .on_event = free_inside,
                                                                      .queues = {{"q", 0}}});
    for (int i = 0; i < 3; i++)
        scene_enqueue(s, "q", "copy");
    scene_await_starts(s, 3);
    cancel(s, "copy", 0, 3);
    wait_on(s->base, is_freed, w, SOON_MS);
    run_loop(s->base, 20);
    assert_int_equal(n_told(s, NULL), 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:marks:w", s->prefix), 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_cancelled_handler_is_told_and_with_any_end_but_finish_the_task_is_gone),
        live_test(a_finish_after_the_cancel_counts),
        live_test(copies_that_wait_never_start_and_those_in_work_are_told),
        live_test(what_was_taken_in_advance_is_dropped_at_once_and_never_starts),
        live_test(one_process_is_cancelled_by_its_id),
        live_test(a_handler_on_a_thread_reads_it),
        live_test(a_child_gets_sigterm_and_its_task_is_gone),
        live_test(a_child_that_exits_with_0_all_the_same_has_finished),
        live_test(without_a_message_it_is_told_with_the_next_heartbeat),
        live_test(a_mark_that_comes_before_its_task_keeps_it_from_starting),
        live_test(what_is_cancelled_in_a_doubt_is_dropped_when_the_doubt_is_over),
        live_test(a_sweep_drops_what_was_cancelled),
        live_test(a_resumed_life_keeps_the_marks),
        live_test(all_may_be_ended_while_one_is_told),
        live_test(the_worker_may_be_freed_while_it_is_told),
    };
    return scene_run(tests, argc, argv);
}
