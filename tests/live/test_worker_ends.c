/* SPDX-License-Identifier: MIT
 *
 * What a worker tells its program of each end (option `on_end`): the outcome, why, how long it ran, and how long a job
 * had waited.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "worker/worker.h"

#define HOUR_MS (3600 * 1000)
#define ENDS_MAX 8
#define RUN_MS 30

/* What was told, in its order. */
static struct {
    size_t n;
    struct {
        enum muster_outcome outcome;
        char task[16], group[32], message[32];
        int64_t waited_ms, ran_ms;
        bool is_job;
    } end[ENDS_MAX];
} ends;

static void note_end(struct muster_worker *w, const struct muster_end *e, void *arg)
{
    (void)arg;
    assert_ptr_equal(muster_process_worker(e->process), w);
    assert_true(ends.n < ENDS_MAX);
    ends.end[ends.n].outcome = e->outcome;
    ends.end[ends.n].waited_ms = e->waited_ms;
    ends.end[ends.n].ran_ms = e->ran_ms;
    ends.end[ends.n].is_job = muster_process_job(e->process);
    snprintf(ends.end[ends.n].task, sizeof ends.end->task, "%s", (const char *)muster_process_task(e->process, NULL));
    snprintf(ends.end[ends.n].group, sizeof ends.end->group, "%s", e->group);
    snprintf(ends.end[ends.n++].message, sizeof ends.end->message, "%s", e->message);
}

static void run_for(int span_ms)
{
    int64_t until_ms = now_ms() + span_ms;
    while (now_ms() < until_ms)
        ;
}

/* The task says how it ends. */
static enum muster_outcome end_as_told(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const char *task = muster_process_task(p, NULL);
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (strcmp(task, "fail") == 0)
        assert_int_equal(muster_process_set_failure(p, "broken", "no luck"), MUSTER_OK);
    if (strcmp(task, "slow") == 0)
        run_for(RUN_MS);
    return strcmp(task, "fail") == 0 ? MUSTER_FAIL : strcmp(task, "odd") == 0 ? (enum muster_outcome)77 : MUSTER_FINISH;
}

static struct live_worker *listener(struct scene *s)
{
    ends.n = 0;
    return live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w1", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}, .handler = end_as_told, .more = {.on_end = note_end}});
}

static bool has_told(void *arg)
{
    return ends.n >= *(size_t *)arg;
}

static void await_ends(struct scene *s, size_t n)
{
    wait_on(s->base, has_told, &n, SOON_MS);
}

static void each_end_is_told_with_its_reason(void **state)
{
    struct scene *s = *state;
    listener(s);
    scene_enqueue(s, "q", "good");
    await_ends(s, 1);
    scene_enqueue(s, "q", "fail");
    await_ends(s, 2);
    scene_enqueue(s, "q", "odd");
    await_ends(s, 3);
    assert_int_equal(ends.end[0].outcome, MUSTER_FINISH);
    assert_string_equal(ends.end[0].task, "good");
    assert_string_equal(ends.end[0].group, "");
    assert_int_equal(ends.end[1].outcome, MUSTER_FAIL);
    assert_string_equal(ends.end[1].group, "broken");
    assert_string_equal(ends.end[1].message, "no luck");
    assert_int_equal(ends.end[2].outcome, MUSTER_FAIL);
    assert_string_equal(ends.end[2].group, "no-outcome");
}

static void the_time_of_a_run_is_told(void **state)
{
    struct scene *s = *state;
    listener(s);
    scene_enqueue(s, "q", "slow");
    await_ends(s, 1);
    assert_in_range(ends.end[0].ran_ms, RUN_MS - 1, HOUR_MS); /* each clock counts whole ms */
}

static void a_task_has_no_time_of_waiting(void **state)
{
    struct scene *s = *state;
    listener(s);
    scene_enqueue(s, "q", "good");
    await_ends(s, 1);
    assert_int_equal(ends.end[0].waited_ms, -1);
}

static void a_job_that_was_taken_tells_how_long_it_waited(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", "b", "data", "good");
    run_for(RUN_MS);
    listener(s);
    await_ends(s, 1);
    assert_true(ends.end[0].is_job);
    assert_in_range(ends.end[0].waited_ms, RUN_MS - 1, HOUR_MS);
}

static void a_job_that_was_handed_over_tells_its_wait_too(void **state)
{
    struct scene *s = *state;
    listener(s);
    job_put(s, "q", "a", "data", "good");
    await_ends(s, 1);
    assert_true(ends.end[0].is_job);
    assert_in_range(ends.end[0].waited_ms, 0, SOON_MS);
}

static atomic_bool is_let_go;

/* On a thread, or for as long as the test holds it. */
static enum muster_outcome outlast(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (w->spec.more.threads == 0) {
        live_worker_hold(w, p);
        return MUSTER_LATER;
    }
    while (!atomic_load(&is_let_go))
        usleep(1000);
    return MUSTER_FINISH;
}

/* It does not count, and that is not told either: the program has heard that the worker has stopped. */
static void an_end_that_comes_after_the_last_event_is_not_told(void **state)
{
    struct scene *s = *state;
    for (int threads = 0; threads < 2; threads++) {
        ends.n = 0;
        atomic_store(&is_let_go, false);
        struct live_worker *w =
            live_worker_idle(s, &(struct worker_spec){.id = threads ? "w2" : "w1",
                                                      .ttl_ms = HOUR_MS,
                                                      .stubborn = true,
                                                      .queues = {{"q", 0}},
                                                      .handler = outlast,
                                                      .more = {.on_end = note_end, .threads = threads}});
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, (size_t)threads + 1);
        live_worker_stop(s, w, 0);
        atomic_store(&is_let_go, true);
        if (threads == 0)
            live_worker_end(w, MUSTER_FINISH);
        live_worker_free(s, w); /* waits for the thread */
        assert_int_equal(ends.n, 0);
        assert_int_equal(scene_waiting(s, "q"), 1);
        assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    }
}

/* ---- an end that has counted already, because the process' own command was faster ---- */

static struct proxy proxy;

static int begin(void **state)
{
    int err = scene_begin(state);
    struct scene *s = *state;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    return err;
}

static int end(void **state)
{
    int err = scene_end(state);
    proxy_stop(&proxy);
    return err;
}

struct turn_count {
    struct muster_worker *worker;
    uint64_t n;
};

static uint64_t n_turns(struct muster_worker *w)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(w, &stats));
    return stats.turns;
}

static bool has_sent(void *turns)
{
    const struct turn_count *t = turns;
    return n_turns(t->worker) > t->n;
}

/* A worker whose own end is under way, and has no answer. */
static struct live_worker *sender(struct scene *s, int ttl_ms)
{
    char token[32];
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                                      .url = proxy.url,
                                                                      .ttl_ms = ttl_ms,
                                                                      .answer = MUSTER_LATER,
                                                                      .stubborn = true,
                                                                      .queues = {{"q", 0}},
                                                                      .more = {.tell_ended = 1}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    snprintf(token, sizeof token, "%s", w->held[0]->token_text);
    struct turn_count turns = {w->worker, n_turns(w->worker)};
    assert_int_equal(proxy_swallow(&proxy, PROXY_DATA, PROXY_REQUESTS | PROXY_REPLIES), 1);
    live_worker_end(w, MUSTER_FINISH);
    wait_on(s->base, has_sent, &turns, SOON_MS);
    assert_ok(script_does(s, SCRIPT_END, "+w1", "fail", "q", token, "g", "m"));
    scene_await_events(s, MUSTER_EVENT_ENDED, "w1", 1);
    return w;
}

static void assert_told_once(struct scene *s, struct live_worker *w)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ENDED, "w1", NULL);
    assert_string_equal(e->text, "failed");
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_ENDED, NULL, NULL), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    assert_ok(muster_worker_stats(w->worker, &stats));
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.uncounted, 0);
}

static void it_is_not_told_as_lost_with_the_registration(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = sender(s, HOUR_MS);
    assert_ok(muster_worker_fail(s->client, "w1", NULL));
    assert_int_equal(proxy_cut(&proxy, PROXY_DATA), 1);
    scene_await_events(s, MUSTER_EVENT_LOST, "w1", 1);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 2);
    assert_told_once(s, w);
}

static void it_is_not_told_as_lost_with_the_worker(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = sender(s, 3000);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    live_worker_stop(s, w, 0);
    assert_told_once(s, w);
}

#define cut_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

static uint64_t refusals(const struct live_worker *w)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(w->worker, &stats));
    return stats.refusals;
}

/* It is refused again after each heartbeat, which meets nothing itself. When the key was put right, the next time is news. */
static void a_damaged_key_that_refuses_an_end_is_told_once(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .ttl_ms = 300, .answer = MUSTER_FAIL, .queues = {{"q", 0}}});
    uint64_t n_counted = 0;
    for (size_t n = 1; n <= 2; n++) {
        raw_do(s->server->redis, "DEL %s:failed:q %s:failures:q", s->prefix, s->prefix);
        raw_do(s->server->redis, "SET %s:failed:q text", s->prefix);
        scene_enqueue(s, "q", "t");
        scene_await_events(s, MUSTER_EVENT_REFUSED, "w", n);
        live_worker_await_beats(s, w, 6);
        assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w", NULL), n);
        assert_true(refusals(w) > n_counted); /* who watches figures sees it, too */
        n_counted = refusals(w);
        raw_do(s->server->redis, "DEL %s:failed:q", s->prefix);
        scene_await_idle(s, "q", "w");
        live_worker_await_beats(s, w, 3);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_end_is_told_with_its_reason),
        live_test(the_time_of_a_run_is_told),
        live_test(a_task_has_no_time_of_waiting),
        live_test(a_job_that_was_taken_tells_how_long_it_waited),
        live_test(a_job_that_was_handed_over_tells_its_wait_too),
        live_test(an_end_that_comes_after_the_last_event_is_not_told),
        live_test(a_damaged_key_that_refuses_an_end_is_told_once),
        cut_test(it_is_not_told_as_lost_with_the_registration),
        cut_test(it_is_not_told_as_lost_with_the_worker),
    };
    return scene_run(tests, argc, argv);
}
