/* SPDX-License-Identifier: MIT
 *
 * What workers share in Redis may be written by hand, and hold any value. No such value stops anybody's work, or makes
 * anybody spin.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "live_worker.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(300)

static const char *const texts[] = {"abc",
                                    "''",
                                    "-5",
                                    "0",
                                    "0.5",
                                    "1e99",
                                    "nan",
                                    "-nan",
                                    "inf",
                                    "-inf",
                                    "-9223372036854775808",
                                    "9223372036854775807",
                                    "99999999999999"};
static const char *const scores[] = {"-inf", "-5", "0", "0.5", "1", "33.5", "1e99", "inf"};

/* What is written: HSET key field value, ZADD key value member, or SET key value. */
enum kind { HASH, ZSET, TEXT };
struct place {
    enum kind kind;
    const char *key, *name; /* without the prefix; the field or member */
};

static void set(struct scene *s, const struct place *place, const char *value)
{
    static const char *const verbs[] = {[HASH] = "HSET", [ZSET] = "ZADD", [TEXT] = "SET"};
    char key[64];
    snprintf(key, sizeof key, "%s:%s", s->prefix, place->key);
    value = strcmp(value, "''") == 0 ? "" : value;
    const char *words[4] = {verbs[place->kind], key, place->kind == HASH ? place->name : value,
                            place->kind == HASH ? value : place->name};
    struct redisReply *reply =
        redisCommandArgv(s->server->redis, place->kind == TEXT ? 3 : 4, (const char **)words, NULL);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s %s %s: %s", words[0], key, value, reply->str);
    freeReplyObject(reply);
}

/* A task is enqueued, a job becomes due, and a job is put: all three begin. */
static void assert_work_goes_on(struct scene *s, const struct place *place, const char *value)
{
    static int n;
    char id[32], later[32];
    size_t begun = scene_starts(s);
    int64_t calls = redis_server_calls(s->server, NULL), at_ms = now_ms();
    snprintf(id, sizeof id, "now%d", ++n);
    snprintf(later, sizeof later, "later%d", n);
    int err = muster_task_enqueue(s->client, "q", "t", 1, NULL);
    if (err == MUSTER_OK)
        err = muster_job_put(s->client, "q", JOB_SPEC(.id = later, .delay_ms = 20), NULL);
    if (err == MUSTER_OK)
        err = muster_job_put(s->client, "q", JOB_SPEC(.id = id), NULL);
    if (err != MUSTER_OK)
        fail_msg("%s %s %s: %s", place->key, place->name, value, muster_client_error(s->client));
    scene_await_starts(s, begun + 3);
    calls = redis_server_calls(s->server, NULL) - calls;
    if (calls > 1000 + (now_ms() - at_ms))
        fail_msg("%s %s %s: %lld commands in %lld ms", place->key, place->name, value, (long long)calls,
                 (long long)(now_ms() - at_ms));
}

static void start_worker(struct scene *s)
{
    live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = TTL_MS, .hands = 4, .queues = {{"q", 0}}});
}

static void tell_value(void *arg)
{
    print_error("it was %s\n", (const char *)arg);
}

/* Tries each value there; afterwards the field goes. */
static void try_each(struct scene *s, const struct place *place, const char *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char told[128];
        snprintf(told, sizeof told, "%s %s %s", place->key, place->name, values[i]);
        testing_on_failure(tell_value, told);
        set(s, place, values[i]);
        assert_work_goes_on(s, place, values[i]);
        testing_on_failure(NULL, NULL);
    }
    if (place->kind == HASH)
        raw_do(s->server->redis, "HDEL %s:%s %s", s->prefix, place->key, place->name);
}
#define TRY_TEXTS(s, ...) try_each(s, &(const struct place){__VA_ARGS__}, texts, N_OF(texts))
#define TRY_SCORES(s, ...) try_each(s, &(const struct place){__VA_ARGS__}, scores, N_OF(scores))

static void any_setting_of_a_queue(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_TEXTS(s, HASH, "queue:q", "max_crashes");
    TRY_TEXTS(s, HASH, "queue:q", "keep_history");
    TRY_TEXTS(s, HASH, "queue:q", "keep_jobs");
    TRY_TEXTS(s, HASH, "queue:q", "keep_jobs_ms");
    TRY_TEXTS(s, HASH, "queue:q", "broadcast");
    TRY_TEXTS(s, HASH, "queue:q", "listen");
}

static void any_limit_of_a_queue(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_TEXTS(s, HASH, "queue:q", "max_running");
    TRY_TEXTS(s, HASH, "queue:q", "due");
    TRY_TEXTS(s, HASH, "queue:q", "jobs");
}

static void any_setting_of_the_namespace(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_TEXTS(s, HASH, "config", "max_crashes");
    TRY_TEXTS(s, HASH, "config", "keep_history");
    TRY_TEXTS(s, HASH, "config", "keep_jobs");
    TRY_TEXTS(s, HASH, "config", "keep_jobs_ms");
    TRY_TEXTS(s, HASH, "config", "listen");
}

static void any_pace(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_SCORES(s, ZSET, "ttls", "typo");
    TRY_SCORES(s, ZSET, "ttls", "w");
    assert_true(checked_repair(s).n > 0);
}

static void any_time_of_the_last_heartbeat(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_TEXTS(s, HASH, "beat", "at");
    TRY_TEXTS(s, HASH, "beat", "ended");
    TRY_TEXTS(s, HASH, "beat", "length");
}

static void any_keeper_of_the_timer(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    TRY_TEXTS(s, TEXT, "timer", "");
    TRY_SCORES(s, ZSET, "due", "q");
    TRY_SCORES(s, ZSET, "due", "other");
    TRY_SCORES(s, ZSET, "names", "other");
}

static void a_check_names_each_setting_that_is_none(void **state)
{
    struct scene *s = *state;
    static const struct place places[] = {{HASH, "queue:q", "max_running"},
                                          {HASH, "queue:q", "max_crashes"},
                                          {HASH, "queue:q", "keep_history"},
                                          {HASH, "config", "keep_jobs"},
                                          {HASH, "config", "keep_jobs_ms"}};
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(places) * N_OF(texts); i++) {
        const char *value = texts[i % N_OF(texts)];
        if (strcmp(value, "0") == 0 || strcmp(value, "99999999999999") == 0)
            continue;
        set(s, &places[i / N_OF(texts)], value);
        struct checked found = checked_find(s);
        if (found.n != 1 || !strstr(found.what, places[i / N_OF(texts)].name))
            fail_msg("%s for %s: %s", value, places[i / N_OF(texts)].name, found.what);
        assert_int_equal(checked_repair(s).n_repaired, 1);
        checked_assert_clean(s);
    }
}

static void a_check_names_each_time_of_a_heartbeat_that_is_none(void **state)
{
    struct scene *s = *state;
    static const char *const fields[] = {"at", "ended", "length"};
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(fields) * N_OF(texts); i++) {
        const struct place place = {HASH, "beat", fields[i / N_OF(texts)]};
        const char *value = texts[i % N_OF(texts)];
        if (strcmp(value, "0") == 0 || strcmp(value, "0.5") == 0)
            continue;
        set(s, &place, value);
        struct checked found = checked_find(s);
        if (found.n != 1 || !strstr(found.what, place.name))
            fail_msg("%s for %s: %s", value, place.name, found.what);
        assert_int_equal(checked_repair(s).n_repaired, 1);
        checked_assert_clean(s);
    }
}

/* The live worker gets the timer by the repair; without one it goes. */
static void a_check_names_a_timer_that_nobody_keeps(void **state)
{
    struct scene *s = *state;
    static const char *const options[] = {"PX 5000", "PX 90000000", ""};
    for (size_t i = 0; i < 2 * N_OF(options); i++) {
        const char *left = options[i % N_OF(options)];
        if (i == N_OF(options))
            start_worker(s);
        raw_do(s->server->redis, *left ? "SET %s:timer nobody PX %s" : "SET %s:timer nobody", s->prefix, left + 3);
        struct checked found = checked_find(s);
        assert_int_equal(found.n, *left ? 1 : 2);
        assert_non_null(strstr(found.what, "'nobody', which is not registered"));
        assert_int_equal(checked_repair(s).n_repaired, found.n);
        checked_assert_clean(s);
        assert_int_equal(raw_int(s->server->redis, "EXISTS %s:timer", s->prefix), i >= N_OF(options));
    }
    raw_do(s->server->redis, "SET %s:timer w PX 90000000", s->prefix);
    assert_non_null(strstr(checked_find(s).what, "longer than its ttl"));
}

/* Also if the time to live that was written with it is long. */
static void a_timer_that_nobody_keeps_is_taken_over(void **state)
{
    struct scene *s = *state;
    start_worker(s);
    raw_do(s->server->redis, "SET %s:timer nobody PX 90000000", s->prefix);
    static const char lua[] = "return redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0";
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s:timer %d", lua, s->prefix, TTL_MS);
}

/* The dead worker's task is given back whatever the silence before is said to be. */
static void a_dead_worker_is_swept_all_the_same(void **state)
{
    struct scene *s = *state;
    static const char *const fields[] = {"at", "ended", "length"};
    for (size_t i = 0; i < N_OF(texts); i++) {
        const struct worker_spec spec = {.id = "dies", .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"p", 0}}};
        struct worker_process *dies = worker_process_idle(s, &spec);
        size_t begun = scene_starts(s);
        scene_enqueue(s, "p", texts[i]);
        scene_await_starts(s, begun + 1);
        worker_process_kill(dies);
        testing_on_failure(tell_value, (void *)texts[i]);
        for (size_t k = 0; k < N_OF(fields); k++) {
            const struct place place = {HASH, "beat", fields[k]};
            set(s, &place, texts[i]);
        }
        char id[16];
        snprintf(id, sizeof id, "w%zu", i);
        struct live_worker *w =
            live_worker_idle(s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 1, .queues = {{"p", 0}}});
        scene_await_starts(s, begun + 2);
        testing_on_failure(NULL, NULL);
        live_worker_stop(s, w, 0);
        live_worker_free(s, w);
    }
    checked_repair(s); /* what the workers' starts have not put right themselves */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(any_setting_of_a_queue),
        live_test(any_limit_of_a_queue),
        live_test(any_setting_of_the_namespace),
        live_test(any_pace),
        live_test(any_time_of_the_last_heartbeat),
        live_test(any_keeper_of_the_timer),
        live_test(a_check_names_each_setting_that_is_none),
        live_test(a_check_names_each_time_of_a_heartbeat_that_is_none),
        live_test(a_check_names_a_timer_that_nobody_keeps),
        live_test(a_timer_that_nobody_keeps_is_taken_over),
        live_test(a_dead_worker_is_swept_all_the_same),
    };
    return scene_run(tests, argc, argv);
}
