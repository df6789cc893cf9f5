/* SPDX-License-Identifier: MIT
 *
 * A worker that has no memory for a task or a job's record which it fetches: one that is too large for a worker that holds
 * nothing else fails, by its name; others are not charged with what is only lacking now. Or that has none for an answer, which
 * costs a connection each time, or for its timers.
 *
 * The linker puts the functions below in place of malloc() and of hiredis' own; libevent is given others.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "live_worker.h"
#include "slow.h"

#define TTL_MS slow_ms(900)

enum { TOO_LARGE = 400000, LARGE = 300000, SMALL = 2000 };

/* There is no memory for so many bytes, with what stands around them; 0: there is. */
static size_t short_of;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return short_of > 0 && size >= short_of && size <= short_of + 200 ? NULL : __real_malloc(size);
}

/* There is none for an answer with a text of so many bytes; 0: there is. */
static size_t too_long;

redisReader *__real_redisReaderCreate(void);
redisReader *__wrap_redisReaderCreate(void);

static redisReplyObjectFunctions *plain, failing;

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    return too_long > 0 && len >= too_long ? NULL : plain->createString(task, text, len);
}

redisReader *__wrap_redisReaderCreate(void)
{
    redisReader *r = __real_redisReaderCreate();
    if (!r)
        return NULL;
    if (!plain) {
        plain = r->fn;
        failing = *plain;
        failing.createString = make_string;
    }
    r->fn = &failing;
    return r;
}

/* libevent has no memory for what is new; for what grows. */
static bool lacks_new, lacks_more;

static void *new_of_libevent(size_t size)
{
    return lacks_new ? NULL : __real_malloc(size);
}

static void *more_of_libevent(void *old, size_t size)
{
    return lacks_more ? NULL : realloc(old, size);
}

/* ---- the worker ---- */

static const char *const kinds[] = {"a task", "a job"};

static bool has_failed(struct scene *s)
{
    return raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix) == 1;
}

struct seen {
    struct scene *scene;
    int n_unfetched, n_data_refused;
};

static void note_event(struct live_worker *w, const struct muster_event *e)
{
    struct seen *seen = w->spec.arg;
    bool is_refused = e->type == MUSTER_EVENT_REFUSED;
    seen->n_unfetched += is_refused && strstr(e->text, "fetching a task was refused") != NULL;
    seen->n_data_refused += is_refused && strstr(e->text, "new data of a job was refused") != NULL;
}

static bool was_not_fetched(void *arg)
{
    const struct seen *seen = arg;
    return seen->n_unfetched > 0 || has_failed(seen->scene);
}

static bool are_data_refused(void *arg)
{
    const struct seen *seen = arg;
    return seen->n_data_refused > 0;
}

/* The process of a job ends when Redis has its new data. */
static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct muster_job *job = muster_process_job(p);
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (job && strcmp(job->id, "held") == 0)
        assert_ok(muster_process_set_data(p, "new", 3));
    return MUSTER_FINISH;
}

static void begin(struct scene *s, struct seen *seen)
{
    *seen = (struct seen){.scene = s};
    live_worker_idle(s, &(struct worker_spec){.id = "w",
                                              .ttl_ms = TTL_MS,
                                              .hands = 2,
                                              .queues = {{"q", 0}},
                                              .handler = handle,
                                              .on_event = note_event,
                                              .arg = seen});
}

/* There is no memory for it when the worker hears of it. */
static void enqueue(struct scene *s, size_t len, bool is_job)
{
    static char bytes[LARGE];
    memset(bytes, 'x', sizeof bytes);
    if (is_job)
        job_put(s, "q", JOB_SPEC(.id = "large", .data = {bytes, len}));
    else
        assert_ok(muster_task_enqueue(s->client, "q", bytes, len, NULL));
    short_of = len;
}

static void stop(struct scene *s)
{
    struct live_worker *w = s->workers;
    live_worker_stop(s, w, 0);
    live_worker_free(s, w);
}

/* ---- what becomes of it ---- */

/* Its end waits for something, and its bytes are here until then. What lacks memory beside it, is it a copy, or an answer, which
 * costs a connection? */
static void assert_not_charged(struct scene *s, bool is_answer)
{
    struct redisContext *redis = s->server->redis;
    struct seen seen;
    for (size_t i = 0; i < N_OF(kinds); i++) {
        size_t before = scene_starts(s);
        begin(s, &seen);
        raw_do(redis, "SET %s:notes:w x", s->prefix);
        job_put(s, "q", JOB_SPEC(.id = "held"));
        wait_on(s->base, are_data_refused, &seen, SOON_MS);
        too_long = is_answer ? LARGE : 0;
        enqueue(s, LARGE, i == 1);
        short_of = is_answer ? 0 : LARGE;
        wait_on(s->base, was_not_fetched, &seen, SOON_MS);
        short_of = too_long = 0;
        raw_do(redis, "DEL %s:notes:w", s->prefix);
        if (has_failed(s))
            fail_msg("%s failed", kinds[i]);
        scene_await_starts(s, before + 2);
        scene_await_waiting(s, "q", 0);
        raw_await(redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
        stop(s);
    }
}

static void what_others_hold_is_charged_to_nobody(void **state)
{
    assert_not_charged(*state, false);
}

static void nor_is_it_where_that_costs_a_connection(void **state)
{
    assert_not_charged(*state, true);
}

static void what_is_too_large_for_an_empty_worker_fails(void **state)
{
    struct scene *s = *state;
    struct seen seen;
    for (size_t i = 0; i < N_OF(kinds); i++) {
        size_t before = scene_starts(s);
        begin(s, &seen);
        enqueue(s, LARGE, i == 1);
        raw_await(s->server->redis, s->base, 1 + (int64_t)i, "ZCARD %s:failed:q", s->prefix);
        assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:too-large", s->prefix), 1 + (int64_t)i);
        assert_int_equal(seen.n_unfetched, 0);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, before + 1);
        short_of = 0;
        stop(s);
    }
}

/* It is told, and comes again with a heartbeat, not at once and over and over. */
static void what_is_small_waits_for_memory(void **state)
{
    struct scene *s = *state;
    struct seen seen;
    for (size_t i = 0; i < N_OF(kinds); i++) {
        size_t before = scene_starts(s);
        begin(s, &seen);
        enqueue(s, SMALL, i == 1);
        wait_on(s->base, was_not_fetched, &seen, SOON_MS);
        short_of = 0;
        scene_await_starts(s, before + 1);
        assert_false(has_failed(s));
        raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
        stop(s);
    }
}

/* ---- answers ---- */

static void put(struct scene *s, size_t len, bool is_job)
{
    static char bytes[TOO_LARGE];
    memset(bytes, 'x', sizeof bytes);
    if (is_job)
        job_put(s, "q", JOB_SPEC(.data = {bytes, len}));
    else
        assert_ok(muster_task_enqueue(s->client, "q", bytes, len, NULL));
}

static void await_too_large(struct scene *s, int64_t n)
{
    raw_await(s->server->redis, s->base, n, "HGET %s:failures:q g:too-large", s->prefix);
}

/* It comes first over each connection, and is not kept. */
static void what_comes_first_hides_nobody_who_ends_connections(void **state)
{
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(kinds); i++) {
        const size_t before = scene_starts(s);
        put(s, LARGE, i == 1);
        put(s, TOO_LARGE, i == 1);
        short_of = LARGE;
        too_long = TOO_LARGE;
        live_worker_new(s, &(struct worker_spec){.id = "w", .ttl_ms = TTL_MS, .hands = 2, .queues = {{"q", 0}}});
        await_too_large(s, 2 * (int64_t)i + 2);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, before + 1);
        short_of = too_long = 0;
        stop(s);
    }
}

static bool is_renewed(void *arg)
{
    struct scene *s = arg;
    static int64_t last;
    const int64_t ends = raw_int(s->server->redis, "PEXPIRETIME %s:alive:w", s->prefix);
    const bool is = ends > last;
    last = ends;
    return is;
}

static uint64_t n_reconnects(const struct live_worker *w)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(w->worker, &stats));
    return stats.data_reconnects;
}

/* One handler runs, and may have the memory. */
static void who_lacks_memory_beside_others_lives_and_asks_more_rarely(void **state)
{
    struct scene *s = *state;
    struct seen seen = {.scene = s};
    for (size_t i = 0; i < N_OF(kinds); i++) {
        struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                          .ttl_ms = TTL_MS,
                                                                          .hands = 2,
                                                                          .answer = MUSTER_LATER,
                                                                          .queues = {{"q", 0}},
                                                                          .on_event = note_event,
                                                                          .arg = &seen});
        const size_t before = scene_starts(s);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, before + 1);
        seen.n_unfetched = 0;
        too_long = TOO_LARGE;
        put(s, TOO_LARGE, i == 1);
        wait_on(s->base, was_not_fetched, &seen, SOON_MS);
        for (int k = 0; k < 16; k++) {
            live_worker_await_beats(s, w, 1);
            wait_on(s->base, is_renewed, s, SOON_MS);
        }
        assert_in_range(n_reconnects(w), 2, 8);
        assert_int_equal(w->n_held, 1);
        live_worker_answer(w, MUSTER_FINISH);
        await_too_large(s, (int64_t)i + 1);
        too_long = 0;
        stop(s);
    }
}

enum { SEVERAL = 6 };

static bool has_reconnected(void *w)
{
    return n_reconnects(w) >= SEVERAL;
}

/* A heartbeat that has come through renews a key, which nothing else does here. */
static int n_heartbeats(struct scene *s)
{
    static const char renewals[] = "cmdstat_pexpire:calls=";
    char *info = raw_string(s->server->redis, "INFO commandstats");
    const char *at = strstr(info, renewals);
    const int n = at ? atoi(at + strlen(renewals)) : 0;
    free(info);
    return n;
}

/* Each of several ends one before it is put off. */
static void each_connection_begins_with_a_heartbeat(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                                      .ttl_ms = TTL_MS,
                                                                      .hands = 1,
                                                                      .prefetch = SEVERAL,
                                                                      .answer = MUSTER_LATER,
                                                                      .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    too_long = TOO_LARGE;
    for (int i = 0; i < SEVERAL; i++)
        put(s, TOO_LARGE, i % 2);
    wait_on(s->base, has_reconnected, w, SOON_MS);
    assert_true(n_heartbeats(s) >= SEVERAL - 1); /* the last one may be on its way */
    live_worker_answer(w, MUSTER_FINISH);
    await_too_large(s, SEVERAL);
    too_long = 0;
}

/* ---- time limits ---- */

enum { N_LIMITED = 40 };

static void begin_limited(struct scene *s)
{
    live_worker_idle(s, &(struct worker_spec){.id = "w",
                                              .ttl_ms = 60000,
                                              .hands = N_LIMITED,
                                              .answer = MUSTER_LATER,
                                              .more = {.limit_ms = 100},
                                              .queues = {{"q", 0}}});
}

/* Each past its limit fails. */
static void await_limits(struct scene *s)
{
    raw_await(s->server->redis, s->base, N_LIMITED, "ZCARD %s:failed:q", s->prefix);
}

static bool have_come(struct scene *s)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(s->workers->worker, &stats));
    return stats.taken >= N_LIMITED;
}

static bool have_begun(struct scene *s)
{
    return scene_starts(s) == N_LIMITED;
}

/* The waits of tests set timers, too. */
static void run_until(bool (*is_done)(struct scene *s), struct scene *s)
{
    while (!is_done(s))
        assert_int_equal(event_base_loop(s->base, EVLOOP_ONCE), 0);
}

static void nothing_begins_without_a_timer_for_its_limit(void **state)
{
    struct scene *s = *state;
    begin_limited(s);
    lacks_new = true;
    scene_enqueue_n(s, "q", "t", N_LIMITED);
    run_until(have_come, s);
    lacks_new = false;
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes"); /* the next heartbeat is far away */
    await_limits(s);
}

static void a_timer_is_set_without_memory(void **state)
{
    struct scene *s = *state;
    begin_limited(s);
    lacks_more = true;
    scene_enqueue_n(s, "q", "t", N_LIMITED);
    run_until(have_begun, s);
    lacks_more = false;
    await_limits(s);
}

int main(int argc, char **argv)
{
    event_set_mem_functions(new_of_libevent, more_of_libevent, free);
    const struct CMUnitTest tests[] = {
        live_test(what_others_hold_is_charged_to_nobody),
        live_test(nor_is_it_where_that_costs_a_connection),
        live_test(what_is_too_large_for_an_empty_worker_fails),
        live_test(what_is_small_waits_for_memory),
        live_test(what_comes_first_hides_nobody_who_ends_connections),
        live_test(who_lacks_memory_beside_others_lives_and_asks_more_rarely),
        live_test(each_connection_begins_with_a_heartbeat),
        live_test(nothing_begins_without_a_timer_for_its_limit),
        live_test(a_timer_is_set_without_memory),
    };
    return scene_run(tests, argc, argv);
}
