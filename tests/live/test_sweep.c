/* SPDX-License-Identifier: MIT
 *
 * Sweeping: by many workers at once, by a lone survivor that is always late, and after a stall with mixed ttls;
 * declaring a live worker dead; and the warning about handlers that keep a worker from its heartbeat.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "invariant.h"
#include "live_worker.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(300)
#define PEERS 8

static struct live_worker *holder(struct scene *s, const char *id, int hands)
{
    return live_worker_idle(s, &(struct worker_spec){.id = id,
                                                     .ttl_ms = TTL_MS,
                                                     .hands = hands,
                                                     .answer = MUSTER_LATER,
                                                     .stubborn = true,
                                                     .queues = {{"q", 0}}});
}

static size_t count(struct scene *s, enum muster_event_type type, const char *worker)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, worker, NULL);
}

/* "doomed" takes n tasks "t0", ... and dies. */
static void die_holding(struct scene *s, int n)
{
    struct live_worker *doomed = holder(s, "doomed", n);
    scene_enqueue_n(s, "q", "t", n);
    scene_await_starts(s, (size_t)n);
    live_worker_free(s, doomed);
}

/* ---- many at once ---- */

struct sweeper {
    pthread_t thread;
    struct muster_client *client;
    atomic_bool *enough;
    uint64_t swept;
    int err;
};

static void *sweep_all_the_time(void *arg)
{
    struct sweeper *sweeper = arg;
    while (!atomic_load(sweeper->enough) && sweeper->err == MUSTER_OK) {
        uint64_t n = 0;
        sweeper->err = muster_client_sweep(sweeper->client, &n);
        sweeper->swept += n;
    }
    return NULL;
}

struct outcome {
    uint64_t swept;
    int err;
};

static bool is_swept(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "EXISTS %s:worker:doomed", s->prefix) == 0;
}

/* Until the dead one is gone, however that comes; nothing may fail while the threads run. */
static struct outcome sweep_by_threads(struct scene *s)
{
    struct sweeper sweepers[PEERS] = {0};
    struct outcome outcome = {0, MUSTER_OK};
    atomic_bool enough = false;
    for (int i = 0; i < PEERS; i++) {
        sweepers[i].client = scene_client(s);
        sweepers[i].enough = &enough;
        pthread_create(&sweepers[i].thread, NULL, sweep_all_the_time, &sweepers[i]);
    }
    wait_for(s->base, is_swept, s, SOON_MS);
    atomic_store(&enough, true);
    for (int i = 0; i < PEERS; i++) {
        pthread_join(sweepers[i].thread, NULL);
        muster_client_free(sweepers[i].client);
        outcome.swept += sweepers[i].swept;
        if (sweepers[i].err)
            outcome.err = sweepers[i].err;
    }
    return outcome;
}

static void of_many_sweepers_one_gives_each_task_back_once(void **state)
{
    struct scene *s = *state;
    enum { TASKS = 10 };
    die_holding(s, TASKS);
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "peer%d", i);
        live_worker_idle(s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    }
    struct outcome outcome = sweep_by_threads(s);
    assert_ok(outcome.err);
    assert_true(is_swept(s));
    run_loop(s->base, TTL_MS); /* peers whose sweep is on the way hear that they come too late */
    assert_int_equal(outcome.swept + count(s, MUSTER_EVENT_SWEPT, NULL), 1);
    assert_int_equal(count(s, MUSTER_EVENT_REFUSED, NULL), 0);
    assert_int_equal(scene_waiting(s, "q"), TASKS);
    invariant_assert_one_place(s->server->redis, s->prefix);
    size_t mark = journal_size(s->journal);
    live_worker_new(s, &(struct worker_spec){.id = "next", .queues = {{"q", 0}}});
    scene_await_starts(s, 2 * TASKS);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", NULL});
}

static void a_sweep_by_hand_leaves_the_living_alone(void **state)
{
    struct scene *s = *state;
    holder(s, "living", 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    uint64_t swept = 9;
    assert_ok(muster_client_sweep(s->client, &swept));
    assert_int_equal(swept, 0);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:living:q", s->prefix), 1);
    /* Its liveness key alone gone does not make it dead, nor does its time in the registry alone. */
    raw_do(s->server->redis, "DEL %s:alive:living", s->prefix);
    assert_ok(muster_client_sweep(s->client, &swept));
    assert_int_equal(swept, 0);
    raw_do(s->server->redis, "SET %s:alive:living x PX 60000", s->prefix);
    raw_do(s->server->redis, "ZADD %s:registry 1 living", s->prefix);
    assert_ok(muster_client_sweep(s->client, &swept));
    assert_int_equal(swept, 0);
}

static void a_worker_that_dies_idle_leaves_nothing(void **state)
{
    struct scene *s = *state;
    live_worker_free(s, holder(s, "doomed", 2));
    live_worker_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    scene_await_events(s, MUSTER_EVENT_SWEPT, "peer", 1);
    assert_int_equal(
        raw_int(s->server->redis, "EXISTS %s:worker:doomed %s:alive:doomed %s:idle:q", s->prefix, s->prefix, s->prefix),
        0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:ttls", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:suspects:q", s->prefix), 0);
}

/* ---- stalls ---- */

/* Each of its heartbeats ends a silence that is long enough for a grace; yet there is an end to it. */
static void a_lone_survivor_that_always_beats_late_still_sweeps(void **state)
{
    struct scene *s = *state;
    die_holding(s, 2);
    int64_t died = now_ms();
    live_worker_idle(s, &(struct worker_spec){.id = "late", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    int late_ms = TTL_MS * 3 / 4;
    while (!is_swept(s) && now_ms() < died + SOON_MS) {
        nanosleep(&(struct timespec){.tv_nsec = late_ms * 1000000L}, NULL); /* what makes it late */
        run_loop(s->base, 20);
    }
    int took = (int)(now_ms() - died);
    print_message("ttl %d ms, beats %d ms apart: swept after %d ms\n", TTL_MS, late_ms, took);
    assert_true(is_swept(s));
    /* Its last heartbeat + the silence + two ttls; then the next heartbeat, and the one after that. */
    assert_in_range(took, TTL_MS / 2, late_ms + 2 * TTL_MS + 2 * (late_ms + 20) + 2000);
    assert_int_equal(scene_waiting(s, "q"), 2);
}

static void with_mixed_ttls_a_frozen_redis_takes_no_tasks_away(void **state)
{
    struct scene *s = *state;
    const int ttls[] = {300, 900, 2700};
    struct worker_process *workers[N_OF(ttls)];
    for (size_t i = 0; i < N_OF(ttls); i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", ttls[i]);
        workers[i] = worker_process_idle(
            s, &(struct worker_spec){
                   .id = id, .ttl_ms = ttls[i], .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
        scene_enqueue_n(s, "q", id, 1);
        scene_await_starts(s, i + 1);
    }
    /* It would get what is taken from them, and its own ttl is in between. */
    worker_process_idle(s, &(struct worker_spec){.id = "idle", .ttl_ms = 500, .hands = 3, .queues = {{"q", 0}}});
    /* One stands still with Redis and is late, though in time: half its ttl after the stall, when all others have been
     * heard. It must not have a heartbeat on its way, or Redis would hear it at once. */
    kill(workers[1]->pid, SIGSTOP);
    redis_server_freeze(s->server);
    run_loop(s->base, 900 + 200);
    redis_server_thaw(s->server);
    run_loop(s->base, 900 / 2);
    kill(workers[1]->pid, SIGCONT);
    run_loop(s->base, 2 * 900);
    assert_int_equal(scene_starts(s), N_OF(ttls));
    assert_int_equal(count(s, MUSTER_EVENT_SWEPT, NULL), 0);
    assert_int_equal(count(s, MUSTER_EVENT_LOST, NULL), 0);
    for (size_t i = 0; i < N_OF(ttls); i++)
        worker_process_answer(workers[i], MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED, NULL), 0);
    scene_assert_quiet(s);
}

/* ---- fail-worker ---- */

static void a_live_worker_that_is_failed_is_told_and_its_old_ends_change_nothing(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = holder(s, "living", 2);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    holder(s, "heir", 2);
    char *epoch = raw_string(s->server->redis, "HGET %s:worker:living epoch", s->prefix);
    uint64_t given_back = 0;
    assert_ok(muster_worker_fail(s->client, "living", &given_back));
    assert_int_equal(given_back, 2);

    /* One end is sent before it knows, one made afterwards. */
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_LOST, "living", 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "living", 1);
    scene_await_events(s, MUSTER_EVENT_STARTED, "living", 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_events(s, MUSTER_EVENT_UNCOUNTED, "living", 2);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
    assert_int_equal(e->err, MUSTER_E_LOST);
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t0", "t1", NULL});
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:heir:q", s->prefix), 2);
    char *next = raw_string(s->server->redis, "HGET %s:worker:living epoch", s->prefix);
    bool is_later = strcmp(next, epoch) > 0;
    free(next);
    free(epoch);
    assert_true(is_later);

    scene_enqueue(s, "q", "new");
    scene_await_starts(s, 5);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "living", "new"));
    invariant_assert(s->server->redis, s->prefix);
}

static void an_unregistered_worker_cannot_be_failed(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    uint64_t given_back = 9;
    redis_server_digest(s->server, before);
    assert_err(muster_worker_fail(s->client, "nobody", &given_back), MUSTER_E_NOT_FOUND);
    assert_int_equal(given_back, 0);
    assert_non_null(strstr(muster_client_error(s->client), "nobody"));
    assert_err(muster_worker_fail(s->client, ".nobody", NULL), MUSTER_E_INVALID);
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

/* ---- handlers that hold up the heartbeat ---- */

static char warning[512];

static void keep_warning(enum muster_log_level level, const char *line, void *arg)
{
    (void)arg;
    if (level == MUSTER_LOG_WARN)
        snprintf(warning, sizeof warning, "%s", line);
}

/* The task says how long it takes, ms. */
static enum muster_outcome block(struct muster_process *p, void *arg)
{
    int ms = atoi(muster_process_task(p, NULL));
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
    return live_worker_handle(p, arg);
}

static void a_handler_that_blocks_for_a_third_of_the_ttl_is_warned_of(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w", .ttl_ms = 1200});
    assert_ok(muster_worker_serve(w->worker, "slow", 0, block, w));
    scene_await_idle(s, "slow", "w");
    muster_log_set(keep_warning, NULL);
    warning[0] = '\0';
    scene_enqueue(s, "slow", "1");
    scene_await_starts(s, 1);
    bool warned_early = warning[0] != '\0';
    scene_enqueue(s, "slow", "450");
    scene_await_starts(s, 2);
    muster_log_set(NULL, NULL);
    assert_false(warned_early);
    assert_non_null(strstr(warning, "worker w"));
    assert_non_null(strstr(warning, "'slow'"));
    assert_non_null(strstr(warning, "1200 ms"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(of_many_sweepers_one_gives_each_task_back_once),
        live_test(a_sweep_by_hand_leaves_the_living_alone),
        live_test(a_worker_that_dies_idle_leaves_nothing),
        live_test(a_lone_survivor_that_always_beats_late_still_sweeps),
        live_test(with_mixed_ttls_a_frozen_redis_takes_no_tasks_away),
        live_test(a_live_worker_that_is_failed_is_told_and_its_old_ends_change_nothing),
        live_test(an_unregistered_worker_cannot_be_failed),
        live_test(a_handler_that_blocks_for_a_third_of_the_ttl_is_warned_of),
    };
    return scene_run(tests, argc, argv);
}
