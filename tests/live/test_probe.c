/* SPDX-License-Identifier: MIT
 *
 * Probes: an idle worker's heartbeats in plain commands instead of a script. Nothing that a heartbeat promises may be
 * lost by them.
 *
 * A probe suffices only while another worker's heartbeats keep P:beat fresh. Here that is the pacer, an acting worker
 * whose heartbeat is called each time the test checks a condition. Only a probe sends ZSCORE, and only a worker's
 * scripts come by EVALSHA; the test itself uses neither.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"

/* A shorter one makes the pacer too slow for it on a busy machine. */
#define TTL_MS 3000
#define BEAT_MS (TTL_MS / 3)
#define QUICK_TTL_MS 240
/* "The next probe" is counted, not timed: a starved machine makes heartbeats later, but no more of them. One may be on its
 * way already, and while a starved test looks there may be more. */
#define NEXT_PROBE 6
/* After a probe that is not enough comes a script: more than one cannot stand without one. */
#define SUFFICE 3

struct stage {
    struct scene *s;
    struct acting_worker pacer;
    int64_t probes;  /* to be sent, in all */
    int64_t scripts; /* after which these are counted */
    int64_t paced;   /* heartbeats of the pacer, ever */
    int64_t end_ms;
    condition_fn *holds;
    void *arg;
};

static int64_t probes(struct scene *s)
{
    return redis_server_calls(s->server, "zscore");
}

static int64_t scripts(struct scene *s)
{
    return redis_server_calls(s->server, "evalsha");
}

static bool holds_while_paced(void *arg)
{
    struct stage *t = arg;
    assert_int_equal(acting_heartbeat(&t->pacer), 0);
    t->paced++;
    return t->holds(t->arg);
}

static void await_paced(struct stage *t, condition_fn *holds, void *arg)
{
    t->holds = holds;
    t->arg = arg;
    wait_on(t->s->base, holds_while_paced, t, SOON_MS);
}

static bool has_probed(void *arg)
{
    const struct stage *t = arg;
    return probes(t->s) >= t->probes;
}

static void await_probes(struct stage *t, int n)
{
    t->probes = probes(t->s) + n;
    await_paced(t, has_probed, t);
}

struct scripts_wait {
    struct scene *s;
    int64_t n;
};

static bool have_run(void *arg)
{
    const struct scripts_wait *x = arg;
    return scripts(x->s) >= x->n;
}

static bool have_sufficed(void *arg)
{
    struct stage *t = arg;
    if (scripts(t->s) != t->scripts) {
        t->scripts = scripts(t->s);
        t->probes = probes(t->s) + SUFFICE;
    }
    return probes(t->s) >= t->probes;
}

/* Probes are enough: some come with no script between them. How many of all are so depends on the machine, because one
 * that stands still lets P:beat grow old. */
static void await_probes_that_suffice(struct stage *t)
{
    t->scripts = -1;
    await_paced(t, have_sufficed, t);
}

static bool is_past(void *arg)
{
    return now_ms() >= ((struct stage *)arg)->end_ms;
}

struct starts {
    struct scene *s;
    size_t n;
};

static bool have_started(void *arg)
{
    const struct starts *x = arg;
    return scene_starts(x->s) >= x->n;
}

static void assert_by_the_next_probe(struct stage *t, int64_t probes_before)
{
    assert_in_range(probes(t->s) - probes_before, 0, NEXT_PROBE);
}

static void await_starts(struct stage *t, size_t n)
{
    await_paced(t, have_started, &(struct starts){t->s, n});
}

struct event_wait {
    struct journal *journal;
    enum muster_event_type type;
};

static bool has_had(void *arg)
{
    const struct event_wait *e = arg;
    return journal_count(e->journal, JOURNAL_EVENT, (int)e->type, "w1", NULL) > 0;
}

static void await_event(struct stage *t, enum muster_event_type type)
{
    await_paced(t, has_had, &(struct event_wait){t->s->journal, type});
}

static void assert_no_event(struct scene *s, enum muster_event_type type)
{
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL), 0);
}

static void begin(struct stage *t, struct scene *s)
{
    *t = (struct stage){.s = s, .pacer = {.id = "pacer", .hands = 1}};
    acting_start(&t->pacer, s);
    assert_int_equal(acting_heartbeat(&t->pacer), 0); /* it keeps the timer: a keeper never probes */
}

/* A worker that is idle and whose heartbeats are probes. */
static void begin_probing(struct stage *t, struct scene *s, const char *url)
{
    begin(t, s);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .url = url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    await_probes(t, 2);
}

static void end(struct stage *t)
{
    assert_int_equal(acting_stop(&t->pacer), 0);
    acting_forget(&t->pacer);
}

/* Its task is taken at once: it is a worker like any other. */
static void assert_works(struct stage *t)
{
    size_t n = scene_starts(t->s);
    scene_enqueue(t->s, "q", "after");
    await_starts(t, n + 1);
    scene_await_idle(t->s, "q", "w1");
    scene_assert_quiet(t->s);
}

/* ---- what a probe does ---- */

static int64_t left_by_the_registry(struct scene *s)
{
    static const char left[] = "local t = redis.call('TIME')\n"
                               "return redis.call('ZMSCORE', KEYS[1], 'w1')[1] - t[1] * 1000 - t[2] / 1000";
    return raw_int(s->server->redis, "EVAL %s 1 %s:registry", left, s->prefix);
}

static bool lives_on(void *arg)
{
    struct stage *t = arg;
    assert_in_range(left_by_the_registry(t->s), 1, TTL_MS);
    assert_in_range(raw_int(t->s->server->redis, "PTTL %s:alive:w1", t->s->prefix), 1, TTL_MS);
    return is_past(t);
}

/* One heartbeat in ten tidies, by script; each probe that does not suffice costs one script more. */
static void most_heartbeats_of_an_idle_worker_are_probes_and_its_life_goes_on(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    struct scripts_wait tidied = {t.s, scripts(t.s) + 1};
    t.end_ms = now_ms() + 10 * BEAT_MS;
    await_paced(&t, lives_on, &t);
    await_paced(&t, have_run, &tidied);
    await_probes_that_suffice(&t);
    assert_no_event(t.s, MUSTER_EVENT_DOUBT);
    assert_no_event(t.s, MUSTER_EVENT_DOWN);
    assert_works(&t);
    end(&t);
}

/* No other worker notes heartbeats, so its own must, by script. */
static void a_lone_worker_tries_at_most_two_probes_in_ten_heartbeats(void **state)
{
    struct scene *s = *state;
    int64_t probes_before = probes(s);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    int64_t before = scripts(s);
    while (scripts(s) < before + 10)
        run_loop(s->base, 20);
    assert_in_range(probes(s) - probes_before, 1, 2 * 2);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:beat", s->prefix), 1); /* no silence was noted either */
}

/* ---- what a probe must find ---- */

static void a_bare_push_is_found_by_the_next_probe(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    char key[64];
    snprintf(key, sizeof key, "%s:queues:q", t.s->prefix);
    int64_t before = probes(t.s);
    raw_push(t.s->server->redis, key, "bare", 4);
    await_starts(&t, 1);
    assert_by_the_next_probe(&t, before);
    assert_works(&t);
    end(&t);
}

/* No script leaves a job waiting beside an idle worker, so the worker's entry is away while the job is put. */
static void a_job_that_waits_is_found_by_the_next_probe(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    int64_t since = raw_int(t.s->server->redis, "ZSCORE %s:idle:q w1", t.s->prefix);
    raw_do(t.s->server->redis, "ZREM %s:idle:q w1", t.s->prefix);
    job_put(t.s, "q", "a", NULL);
    job_assert(t.s, "a", "state", "waiting");
    raw_do(t.s->server->redis, "ZADD %s:idle:q %lld w1", t.s->prefix, (long long)since);
    await_starts(&t, 1);
    job_await(t.s, "a", "state", "complete");
    end(&t);
}

static void work_that_is_due_is_found_by_the_next_probe(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    int64_t before = probes(t.s);
    raw_do(t.s->server->redis, "ZADD %s:delayed:q 1 00000000001:due", t.s->prefix);
    raw_do(t.s->server->redis, "HSET %s:queue:q due 1", t.s->prefix);
    await_starts(&t, 1);
    assert_by_the_next_probe(&t, before);
    assert_works(&t);
    end(&t);
}

static void what_waits_in_a_paused_queue_is_none_of_its_business(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    assert_ok(muster_queue_pause(t.s->client, "q"));
    scene_enqueue(t.s, "q", "waits");
    await_probes_that_suffice(&t);
    assert_int_equal(scene_starts(t.s), 0);
    assert_ok(muster_queue_resume(t.s->client, "q"));
    await_starts(&t, 1);
    end(&t);
}

static bool is_idle(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "ZCARD %s:idle:q", s->prefix) == 1;
}

static void an_idle_entry_that_is_missing_comes_back(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    int64_t before = probes(t.s);
    raw_do(t.s->server->redis, "ZREM %s:idle:q w1", t.s->prefix);
    await_paced(&t, is_idle, t.s);
    assert_by_the_next_probe(&t, before);
    end(&t);
}

static void a_dead_worker_is_swept_after_the_next_probe(void **state)
{
    struct stage t;
    struct acting_worker dead = {.id = "dead", .queues = {"other"}, .hands = 1};
    begin_probing(&t, *state, NULL);
    acting_start(&dead, t.s);
    int64_t before = probes(t.s), paced = t.paced;
    acting_die(&dead);
    await_event(&t, MUSTER_EVENT_SWEPT);
    /* beside one that is dead, each heartbeat of the pacer asks for a score, too */
    assert_true(probes(t.s) - before - (t.paced - paced) <= NEXT_PROBE);
    end(&t);
}

static bool is_dropped(void *arg)
{
    struct scene *s = arg;
    return queue_field(s, "q", "cancelled") == 1 && queue_field(s, "q", "running") == 0;
}

/* The messages of two hand-overs get lost, and that of a cancel. */
static void what_lost_messages_said_is_found_by_the_next_probe(void **state)
{
    struct stage t;
    struct proxy proxy;
    struct scene *s = *state;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    begin_probing(&t, s, proxy.url);
    int64_t before = probes(t.s);
    uint64_t waiting, running;
    proxy_lose(&proxy, 1);
    scene_enqueue(s, "q", "runs");
    await_starts(&t, 1);
    assert_by_the_next_probe(&t, before);
    scene_await_idle(s, "q", "w1");
    before = probes(t.s);
    proxy_lose(&proxy, 2);
    scene_enqueue(s, "q", "cancelled");
    assert_ok(muster_task_cancel(s->client, "q", "cancelled", strlen("cancelled"), &waiting, &running));
    assert_int_equal(running, 1);
    await_paced(&t, is_dropped, s);
    assert_by_the_next_probe(&t, before);
    assert_int_equal(scene_starts(s), 1);
    scene_await_idle(s, "q", "w1");
    proxy_lose(&proxy, 0);
    assert_works(&t);
    assert_int_equal(proxy_count(&proxy).lost, 3);
    live_worker_free(s, s->workers);
    end(&t);
    proxy_stop(&proxy);
}

static void a_silent_subscription_is_noticed_without_a_task(void **state)
{
    struct stage t;
    struct proxy proxy;
    struct scene *s = *state;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    begin_probing(&t, s, proxy.url);
    int64_t before = probes(t.s);
    assert_int_equal(proxy_swallow(&proxy, PROXY_SUBSCRIPTION, PROXY_REPLIES), 1);
    await_event(&t, MUSTER_EVENT_DOWN);
    assert_by_the_next_probe(&t, before + 1); /* one finds the silence, one the end of its patience */
    await_event(&t, MUSTER_EVENT_UP);
    assert_works(&t);
    assert_no_event(s, MUSTER_EVENT_DOUBT);
    live_worker_free(s, s->workers);
    end(&t);
    proxy_stop(&proxy);
}

/* ---- which life it belongs to ---- */

/* Its epoch was ended, and its id has a new life with a longer ttl, which its probe must leave alone. */
static void the_probe_of_an_ended_life_harms_no_successor(void **state)
{
    struct stage t;
    struct acting_worker successor = {.id = "w1", .queues = {"other"}, .hands = 1};
    begin_probing(&t, *state, NULL);
    assert_int_equal(script_does(t.s, SCRIPT_SWEEP, "w1", "1"), 0);
    acting_start(&successor, t.s);
    int64_t ends = left_by_the_registry(t.s);
    await_event(&t, MUSTER_EVENT_LOST);
    assert_in_range(raw_int(t.s->server->redis, "PTTL %s:alive:w1", t.s->prefix), 3600000 - SOON_MS, 3600000);
    assert_in_range(left_by_the_registry(t.s), ends - SOON_MS, ends);
    char *epoch = raw_string(t.s->server->redis, "HGET %s:worker:w1 epoch", t.s->prefix);
    assert_string_equal(epoch, successor.epoch);
    free(epoch);
    live_worker_free(t.s, t.s->workers);
    assert_int_equal(acting_stop(&successor), 0);
    end(&t);
}

static void a_worker_that_lost_its_registration_registers_again(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    assert_int_equal(script_does(t.s, SCRIPT_SWEEP, "w1", "1"), 0);
    await_event(&t, MUSTER_EVENT_LOST);
    assert_works(&t);
    end(&t);
}

/* Its script is refused, too, and makes the worker read back, until it goes beyond the number that is known. */
static void a_probe_over_an_old_connection_does_not_suffice(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    char *epoch = raw_string(t.s->server->redis, "HGET %s:worker:w1 epoch", t.s->prefix);
    int64_t before = probes(t.s);
    struct scripts_wait refused = {t.s, scripts(t.s) + 3};
    assert_int_equal(script_does(t.s, SCRIPT_READBACK, "w1", epoch, "100"), 0);
    free(epoch);
    await_paced(&t, have_run, &refused);
    assert_by_the_next_probe(&t, before);
    assert_works(&t);
    assert_int_equal(raw_int(t.s->server->redis, "HGET %s:worker:w1 conn", t.s->prefix), 101);
    end(&t);
}

static void a_liveness_key_that_is_gone_comes_back(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    raw_do(t.s->server->redis, "DEL %s:alive:w1", t.s->prefix);
    await_probes(&t, 2);
    raw_await(t.s->server->redis, t.s->base, 1, "EXISTS %s:alive:w1", t.s->prefix);
    assert_no_event(t.s, MUSTER_EVENT_LOST);
    end(&t);
}

/* ---- what goes wrong ---- */

static bool has_trapped(void *arg)
{
    return proxy_count(arg).trapped > 0;
}

static void assert_survives_a_cut(struct scene *s, int way)
{
    struct stage t;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    begin_probing(&t, s, proxy.url);
    proxy_trap(&proxy, "WITHSCORES", way);
    await_paced(&t, has_trapped, &proxy);
    await_event(&t, MUSTER_EVENT_UP);
    await_probes(&t, 2);
    assert_works(&t);
    assert_no_event(s, MUSTER_EVENT_DOUBT);
    assert_no_event(s, MUSTER_EVENT_LOST);
    live_worker_free(s, s->workers);
    end(&t);
    proxy_stop(&proxy);
}

static void a_probe_that_gets_lost(void **state)
{
    assert_survives_a_cut(*state, PROXY_REQUESTS);
}

static void a_probe_whose_answer_gets_lost(void **state)
{
    assert_survives_a_cut(*state, PROXY_REPLIES);
}

/* A full Redis refuses the probe's writes to the registry, but not those of its scripts. */
static void on_a_full_redis_the_worker_lives_on(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    raw_do(t.s->server->redis, "CONFIG SET maxmemory 1");
    t.end_ms = now_ms() + 2 * TTL_MS;
    await_paced(&t, lives_on, &t);
    raw_do(t.s->server->redis, "CONFIG SET maxmemory 0");
    assert_no_event(t.s, MUSTER_EVENT_DOUBT);
    assert_no_event(t.s, MUSTER_EVENT_REFUSED);
    assert_works(&t);
    end(&t);
}

static void a_damaged_key_is_reported(void **state)
{
    struct stage t;
    begin_probing(&t, *state, NULL);
    raw_do(t.s->server->redis, "DEL %s:queue:q", t.s->prefix);
    raw_do(t.s->server->redis, "LPUSH %s:queue:q x", t.s->prefix);
    await_event(&t, MUSTER_EVENT_REFUSED);
    raw_do(t.s->server->redis, "DEL %s:queue:q", t.s->prefix);
    assert_works(&t);
    end(&t);
}

/* ---- its pace ---- */

struct quick {
    struct acting_worker worker;
    struct scripts_wait scripts;
};

static bool have_run_beside(void *arg)
{
    struct quick *q = arg;
    assert_int_equal(acting_heartbeat(&q->worker), 0);
    return have_run(&q->scripts);
}

/* The loop's clock is that much coarser than ours, so a timer may come so much too early. */
static int tick_ms(void)
{
    struct timespec t;
    assert_int_equal(clock_getres(CLOCK_MONOTONIC_COARSE, &t), 0);
    return (int)(t.tv_nsec / 1000000) + 1;
}

/* From then on its own ttl is not the shortest, and its heartbeats are scripts. */
static void a_shorter_ttl_is_heard_of_by_the_next_probe(void **state)
{
    struct stage t;
    struct quick quick = {.worker = {.id = "quick", .hands = 1, .ttl_ms = QUICK_TTL_MS}};
    begin_probing(&t, *state, NULL);
    acting_start(&quick.worker, t.s);
    int64_t before = now_ms();
    quick.scripts.s = t.s;
    quick.scripts.n = scripts(t.s) + 9; /* the first still at the old pace */
    await_paced(&t, have_run_beside, &quick);
    print_message("nine heartbeats, eight of them %d ms apart: %d ms\n", QUICK_TTL_MS / 3, (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 8 * (QUICK_TTL_MS / 3 - tick_ms()), 8 * BEAT_MS);
    assert_int_equal(acting_stop(&quick.worker), 0);
    end(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(most_heartbeats_of_an_idle_worker_are_probes_and_its_life_goes_on),
        live_test(a_lone_worker_tries_at_most_two_probes_in_ten_heartbeats),
        live_test(a_bare_push_is_found_by_the_next_probe),
        live_test(a_job_that_waits_is_found_by_the_next_probe),
        live_test(work_that_is_due_is_found_by_the_next_probe),
        live_test(what_waits_in_a_paused_queue_is_none_of_its_business),
        live_test(an_idle_entry_that_is_missing_comes_back),
        live_test(a_dead_worker_is_swept_after_the_next_probe),
        live_test(what_lost_messages_said_is_found_by_the_next_probe),
        live_test(a_silent_subscription_is_noticed_without_a_task),
        live_test(the_probe_of_an_ended_life_harms_no_successor),
        live_test(a_worker_that_lost_its_registration_registers_again),
        live_test(a_probe_over_an_old_connection_does_not_suffice),
        live_test(a_liveness_key_that_is_gone_comes_back),
        live_test(a_probe_that_gets_lost),
        live_test(a_probe_whose_answer_gets_lost),
        live_test(on_a_full_redis_the_worker_lives_on),
        live_test(a_damaged_key_is_reported),
        live_test(a_shorter_ttl_is_heard_of_by_the_next_probe),
    };
    return scene_run(tests, argc, argv);
}
