/* SPDX-License-Identifier: MIT
 *
 * The timer: what becomes due is moved at its time by the one worker that keeps it. The heartbeats of most of these
 * workers are twenty minutes apart, so what runs here was woken by the timer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "slow.h"
#include "worker/worker.h"
#include "worker_process.h"

#define HOUR_MS (3600 * 1000)
#define TTL_MS slow_ms(600)

static struct live_worker *sleeper(struct scene *s, const char *id)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id, .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
}

struct kept {
    struct scene *scene;
    const char *by;
};

static bool is_kept(void *arg)
{
    const struct kept *k = arg;
    char *keeper = raw_string(k->scene->server->redis, "GET %s:timer", k->scene->prefix);
    bool same = k->by ? keeper && !strcmp(keeper, k->by) : !keeper;
    free(keeper);
    return same;
}

static void await_keeper(struct scene *s, const char *id)
{
    wait_on(s->base, is_kept, (&(struct kept){s, id}), SOON_MS);
}

/* ---- on time ---- */

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum { JOBS = 200, SPAN_MS = 2000 };

struct lateness {
    int n;
    int64_t ms[JOBS];
};

/* A job's data says when it was due. */
static enum muster_outcome note_lateness(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct lateness *late = w->spec.arg;
    late->ms[late->n++] = real_ms() - atoll(muster_process_task(p, NULL));
    return MUSTER_FINISH;
}

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static bool have_all_come(void *arg)
{
    return ((struct lateness *)arg)->n == JOBS;
}

static int64_t last_beat(struct scene *s)
{
    return raw_int(s->server->redis, "HGET %s:beat at", s->prefix);
}

static void an_idle_worker_gets_what_is_due_at_its_time(void **state)
{
    struct scene *s = *state;
    struct lateness late = {.n = 0};
    live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w1", .ttl_ms = HOUR_MS, .hands = 10, .queues = {{"q", 0}}, .handler = note_lateness, .arg = &late});
    char id[16], delay[16], due[24];
    for (int i = 0; i < JOBS; i++) {
        int ms = 500 + i * 7919 % SPAN_MS;
        snprintf(id, sizeof id, "j%d", i);
        snprintf(delay, sizeof delay, "%d", ms);
        snprintf(due, sizeof due, "%lld", (long long)real_ms() + ms);
        job_put(s, "q", id, "delay", delay, "data", due);
    }
    int64_t beat = last_beat(s);
    wait_on(s->base, have_all_come, &late, SOON_MS);
    assert_int_equal(last_beat(s), beat);
    qsort(late.ms, JOBS, sizeof late.ms[0], by_size);
    print_message("%d jobs over %d ms: late by %lld ms at the median, %lld at 99 %%, %lld at most\n", JOBS, SPAN_MS,
                  (long long)late.ms[JOBS / 2], (long long)late.ms[JOBS * 99 / 100], (long long)late.ms[JOBS - 1]);
    assert_true(late.ms[0] >= 0);
    scene_assert_quiet(s);
}

static void what_is_due_earlier_than_all_before_is_in_time_too(void **state)
{
    struct scene *s = *state;
    sleeper(s, "w1");
    job_put(s, "q", "late", "delay", "3600000");
    job_put(s, "q", "soon", "delay", "30");
    job_await(s, "soon", "state", "complete");
    job_assert(s, "late", "state", "scheduled");
}

/* Also in a queue that the keeper of the timer does not serve. */
static void the_keeper_moves_what_is_due_in_any_queue(void **state)
{
    struct scene *s = *state;
    sleeper(s, "keeper");
    await_keeper(s, "keeper");
    live_worker_idle(s, &(struct worker_spec){.id = "other", .ttl_ms = HOUR_MS, .queues = {{"r", 0}}});
    job_put(s, "r", "a", "delay", "30");
    job_await(s, "a", "state", "complete");
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "other", "a"), 1);
}

static void a_task_that_is_retried_and_a_lease_that_lapses_are_in_time(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = HOUR_MS, .answer = MUSTER_LATER, .retry_ms = 50, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_RETRY);
    scene_await_starts(s, 2);
    scene_enqueue(s, "q", "leased");
    assert_int_equal(script_does(s, SCRIPT_TAKE, "q", "1", "50", "0", ""), 0);
    live_worker_answer(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_started(s, 0, (const char *[]){"t", "t", "leased", NULL});
}

/* ---- its cost ---- */

enum { CREW = 300 };

/* All but those that a statistic's first count costs, which depends on how long the job took. */
static int64_t calls(struct scene *s)
{
    return redis_server_calls(s->server, NULL) - redis_server_calls(s->server, "pexpire");
}

/* The commands that one due job costs, from when it was put until it was finished. */
static int64_t cost_of_a_due_job(struct scene *s, const char *id)
{
    int64_t before = calls(s);
    job_put(s, "q", id, "delay", "100");
    job_await(s, id, "state", "complete");
    return calls(s) - before;
}

/* The least of some: a timer that rings within the millisecond before the time finds nothing, and looks once more. */
static int64_t least_cost(struct scene *s, const char *name)
{
    int64_t least = INT64_MAX;
    char id[32];
    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "%s-%d", name, i);
        int64_t cost = cost_of_a_due_job(s, id);
        least = cost < least ? cost : least;
    }
    return least;
}

/* The first one had scripts to make known. */
static void a_due_job_costs_the_same_however_many_are_idle(void **state)
{
    struct scene *s = *state;
    char id[16];
    sleeper(s, "w0");
    cost_of_a_due_job(s, "warm-up");
    int64_t alone = least_cost(s, "alone");
    for (int i = 1; i < CREW; i++) {
        snprintf(id, sizeof id, "w%d", i);
        live_worker_new(s, &(struct worker_spec){.id = id, .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    }
    raw_await(s->server->redis, s->base, CREW, "ZCARD %s:idle:q", s->prefix);
    scene_await_events(s, MUSTER_EVENT_STARTED, NULL, CREW);
    run_loop(s->base, 100); /* answers on their way */
    int64_t crowded = least_cost(s, "crowded");
    print_message("a due job costs %lld commands with one idle worker, %lld with %d\n", (long long)alone,
                  (long long)crowded, CREW);
    assert_int_equal(crowded, alone);
}

/* ---- its keeper ---- */

static void the_first_keeps_it_and_hands_it_on_when_it_stops(void **state)
{
    struct scene *s = *state;
    struct live_worker *first = sleeper(s, "w1");
    await_keeper(s, "w1");
    sleeper(s, "w2");
    await_keeper(s, "w1");
    job_put(s, "q", "a", "delay", "300");
    live_worker_stop(s, first, 0);
    await_keeper(s, "w2");
    job_await(s, "a", "state", "complete");
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, "w2", "a"), 1);
}

enum { BUSY_MS = 3000, WARM_MS = 30 };

/* It holds up its loop for as long as its task says. */
static enum muster_outcome hold_up(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    int ms = atoi(muster_process_task(p, NULL));
    journal_process(w->journal, JOURNAL_START, 0, p);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
    journal_process(w->journal, JOURNAL_END, MUSTER_FINISH, p);
    return MUSTER_FINISH;
}

/* Its own handlers have shown how long they take. It is in a process of its own, because it holds that up, too. */
static void a_keeper_that_will_be_busy_hands_it_on_to_an_idle_worker(void **state)
{
    struct scene *s = *state;
    char warm[16], busy[16];
    snprintf(warm, sizeof warm, "%d", WARM_MS);
    snprintf(busy, sizeof busy, "%d", BUSY_MS);
    worker_process_idle(
        s, &(struct worker_spec){.id = "busy", .ttl_ms = HOUR_MS, .queues = {{"b", 0}}, .handler = hold_up});
    await_keeper(s, "busy");
    scene_enqueue(s, "b", warm);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:b running", s->prefix);
    sleeper(s, "idle");
    await_keeper(s, "busy");
    job_put(s, "q", "a", "delay", "300");
    scene_enqueue(s, "b", busy);
    await_keeper(s, "idle");
    job_await(s, "a", "state", "complete");
    assert_null(journal_find(s->journal, 0, JOURNAL_END, -1, "busy", busy));
}

static bool knows_what_is_due(void *arg)
{
    const struct timer_keeper *k = arg;
    return k->due_at_ms > 0 && !k->promoting;
}

/* It comes back before the answer that it went, and then nobody is idle to whom it could go once more. */
static void a_keeper_does_not_give_it_up_for_an_answer_that_is_older(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w = sleeper(s, "w1")->worker;
    await_keeper(s, "w1");
    struct worker_process *heir =
        worker_process_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    kill(heir->pid, SIGSTOP);
    job_put(s, "q", "a", "delay", "1500");
    wait_on(s->base, knows_what_is_due, &w->keeper, SOON_MS);
    timer_keeper_after_handler(w, 1000);
    timer_keeper_before_handler(w, "q");
    wait_until(is_kept, (&(struct kept){s, "heir"}), SOON_MS);
    raw_do(s->server->redis, "ZREM %s:idle:q heir", s->prefix);
    raw_do(s->server->redis, "SET %s:timer w1", s->prefix);
    timer_keeper_sooner(w);
    timer_keeper_before_handler(w, "q");
    job_await(s, "a", "state", "complete");
    worker_process_kill(heir);
}

static void nobody_keeps_it_when_the_last_has_stopped(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = sleeper(s, "w1");
    await_keeper(s, "w1");
    live_worker_stop(s, w, 0);
    await_keeper(s, NULL);
    job_put(s, "q", "a", "delay", "1");
    sleeper(s, "w2");
    job_await(s, "a", "state", "complete");
}

/* Without a word: its time runs out, and the next heartbeat of anybody finds nobody. */
static void another_keeps_it_when_the_keeper_has_died(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w1", .ttl_ms = TTL_MS, .queues = {{"q", 0}}};
    struct live_worker *first = live_worker_idle(s, &spec);
    await_keeper(s, "w1");
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    live_worker_free(s, first);
    await_keeper(s, "w2");
    job_put(s, "q", "a", "delay", "30");
    job_await(s, "a", "state", "complete");
}

/* The heir hears of it, but stands still; by its own ttl nobody would know that for an hour. */
static void another_keeps_it_when_it_was_handed_on_to_one_that_stands_still(void **state)
{
    struct scene *s = *state;
    struct live_worker *first =
        live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    await_keeper(s, "w1");
    struct worker_process *heir =
        worker_process_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = HOUR_MS, .queues = {{"other", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    kill(heir->pid, SIGSTOP);
    live_worker_stop(s, first, 0);
    await_keeper(s, "w2");
    worker_process_kill(heir);
}

static void a_keeper_whose_registration_is_gone_keeps_it_again_in_its_new_life(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    await_keeper(s, "w1");
    assert_ok(muster_worker_fail(s->client, "w1", NULL));
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 2);
    await_keeper(s, "w1");
    job_put(s, "q", "a", "delay", "30");
    job_await(s, "a", "state", "complete");
}

/* ---- faults ---- */

/* The message may be lost, or an echo: the heartbeat tells all the same. */
static void a_lost_message_costs_a_heartbeat_at_most(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .url = proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    await_keeper(s, "w1");
    proxy_lose(&proxy, 1);
    job_put(s, "q", "a", "delay", "30");
    job_await(s, "a", "state", "complete");
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void a_lost_call_or_answer_of_the_timer_loses_nothing(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .url = proxy.url, .ttl_ms = HOUR_MS, .queues = {{"q", 0}}});
    await_keeper(s, "w1");
    job_put(s, "q", "known", "delay", "1");
    job_await(s, "known", "state", "complete");
    const int ways[] = {PROXY_REQUESTS, PROXY_REPLIES};
    for (int i = 0; i < 2; i++) {
        const char *id = i ? "answer" : "request";
        struct proxy_counts before = proxy_count(&proxy);
        proxy_trap(&proxy, lua_scripts[SCRIPT_PROMOTE].sha1, ways[i]);
        job_put(s, "q", id, "delay", "50");
        job_await(s, id, "state", "complete");
        assert_int_equal(proxy_count(&proxy).trapped, before.trapped + 1);
    }
    assert_int_equal(scene_starts(s), 3);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void after_a_restart_of_redis_the_timer_goes_on(void **state)
{
    struct scene *s = *state;
    sleeper(s, "w1");
    await_keeper(s, "w1");
    job_put(s, "q", "a", "delay", "300");
    redis_server_shutdown(s->server);
    redis_server_restart(s->server);
    job_await(s, "a", "state", "complete");
}

/* ---- recurring jobs ---- */

static void a_recurring_job_makes_one_job_per_interval_for_any_number_of_workers(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"w1", "w2", "w3"}, *const made[] = {"r-1", "r-2", "r-3"};
    int64_t at_ms[N_OF(made)];
    for (size_t i = 0; i < N_OF(ids); i++)
        sleeper(s, ids[i]);
    job_put(s, "q", "r", "every", "1000");
    for (size_t i = 0; i < N_OF(made); i++) {
        job_await(s, made[i], "state", "complete");
        char *put = raw_string(s->server->redis, "HGET %s:job:%s put", s->prefix, made[i]);
        at_ms[i] = atoll(put);
        free(put);
    }
    scene_assert_started(s, 0, (const char *[]){"r", "r", "r", NULL});
    assert_int_equal(at_ms[1] - at_ms[0], 1000);
    assert_int_equal(at_ms[2] - at_ms[1], 1000);
    job_assert(s, "r", "made", "3");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(an_idle_worker_gets_what_is_due_at_its_time),
        live_test(what_is_due_earlier_than_all_before_is_in_time_too),
        live_test(the_keeper_moves_what_is_due_in_any_queue),
        live_test(a_task_that_is_retried_and_a_lease_that_lapses_are_in_time),
        live_test(a_due_job_costs_the_same_however_many_are_idle),
        live_test(the_first_keeps_it_and_hands_it_on_when_it_stops),
        live_test(a_keeper_that_will_be_busy_hands_it_on_to_an_idle_worker),
        live_test(a_keeper_does_not_give_it_up_for_an_answer_that_is_older),
        live_test(nobody_keeps_it_when_the_last_has_stopped),
        live_test(another_keeps_it_when_the_keeper_has_died),
        live_test(another_keeps_it_when_it_was_handed_on_to_one_that_stands_still),
        live_test(a_keeper_whose_registration_is_gone_keeps_it_again_in_its_new_life),
        live_test(a_lost_message_costs_a_heartbeat_at_most),
        live_test(a_lost_call_or_answer_of_the_timer_loses_nothing),
        live_test(after_a_restart_of_redis_the_timer_goes_on),
        live_test(a_recurring_job_makes_one_job_per_interval_for_any_number_of_workers),
    };
    return scene_run_durable(tests, argc, argv);
}
