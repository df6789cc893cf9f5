/* SPDX-License-Identifier: MIT
 *
 * Waiting until jobs have ended: each end is told once, whatever breaks meanwhile, and nothing is polled.
 */
#include <muster/job.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs.h"
#include "proxy.h"
#include "scene.h"

#define NAMES_SIZE 4096

/* A thread that waits with a client of its own. */
struct waiter {
    struct scene *scene;
    struct muster_client *client;
    pthread_t thread;
    const char *const *ids;
    size_t n;
    int64_t timeout_ms;
    size_t stop_after; /* 0: never */
    atomic_size_t n_ended;
    atomic_int err;        /* MUSTER_E_STATE while it waits */
    char said[NAMES_SIZE]; /* "id=how:result " for each */
};

static int note_end(const struct muster_job_ended *e, void *arg)
{
    struct waiter *w = arg;
    size_t len = strlen(w->said);
    const struct muster_job *job = e->job;
    assert_true(job || e->how != MUSTER_JOB_END_FAILED || strstr(e->id, "again"));
    snprintf(w->said + len, sizeof w->said - len, "%s=%s:%.*s%s ", e->id, muster_job_end_name(e->how),
             job && job->result.len ? (int)job->result.len : 0,
             job && job->result.len ? (const char *)job->result.data : "", job ? job->group : "");
    w->n_ended++;
    return w->stop_after && w->n_ended == w->stop_after;
}

static void *run(void *arg)
{
    struct waiter *w = arg;
    w->err = muster_job_wait(w->client, w->ids, w->n, w->timeout_ms, note_end, w);
    return NULL;
}

static bool is_listening(void *arg)
{
    struct waiter *w = arg;
    return raw_int(w->scene->server->redis, "HEXISTS %s:config listen", w->scene->prefix) == 1;
}

#define WAITING MUSTER_E_STATE

static void begin_as(struct waiter *w, struct scene *s, struct muster_client *c, const char *const *ids, size_t n,
                     int64_t timeout_ms)
{
    *w = (struct waiter){.scene = s, .client = c, .ids = ids, .n = n, .timeout_ms = timeout_ms, .err = WAITING};
    assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
    wait_until(is_listening, w, SOON_MS);
}

static void begin(struct waiter *w, struct scene *s, const char *const *ids, size_t n, int64_t timeout_ms)
{
    begin_as(w, s, scene_client(s), ids, n, timeout_ms);
}

static bool has_ended(void *arg)
{
    return ((struct waiter *)arg)->err != WAITING;
}

static void await_end(struct waiter *w, int err)
{
    wait_until(has_ended, w, 2 * SOON_MS);
    pthread_join(w->thread, NULL);
    if (w->err != err)
        fail_msg("%s: %s", muster_err_name(w->err), muster_client_error(w->client));
    muster_client_free(w->client);
}

static void put(struct scene *s, const char *id)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .retries = MUSTER_ZERO};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
}

static int keep_process(const struct muster_process_info *info, void *arg)
{
    strcpy(arg, info->id);
    return 0;
}

static void take(struct scene *s, char process[512])
{
    assert_ok(muster_lease_take(s->client, "q", 1, 3600000, 0, keep_process, process));
}

static void finish(struct scene *s, const char *result)
{
    char process[512];
    const struct muster_bytes bytes = {result, strlen(result)};
    const struct muster_finish_options o = {.size = sizeof o, .result = &bytes};
    take(s, process);
    assert_ok(muster_lease_finish(s->client, process, &o));
}

static void let_fail(struct scene *s)
{
    char process[512];
    take(s, process);
    assert_ok(muster_lease_fail(s->client, process, "g", "m"));
}

static void cancel(struct scene *s, const char *id)
{
    uint64_t removed;
    assert_ok(muster_job_cancel(s->client, &id, 1, 0, &removed, NULL));
    assert_int_equal(removed, 1);
}

/* ---- ends ---- */

static void each_end_is_told_with_its_record(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"complete", "failed", "cancelled", "never", "complete"};
    struct waiter w;
    put(s, "complete");
    put(s, "failed");
    put(s, "cancelled");
    begin(&w, s, ids, N_OF(ids), -1);
    finish(s, "r");
    let_fail(s);
    cancel(s, "cancelled");
    await_end(&w, MUSTER_OK);
    assert_non_null(strstr(w.said, "failed=failed:g "));
    assert_non_null(strstr(w.said, "cancelled=cancelled: "));
    assert_non_null(strstr(w.said, "never=gone: "));
    char *first = strstr(w.said, "complete=complete:r ");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "complete=complete:r "));
    assert_int_equal(w.n_ended, 5);
}

static void what_has_ended_already_is_told_at_once(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"a", "b", "c"};
    struct waiter w = {.scene = s};
    put(s, "a");
    put(s, "b");
    finish(s, "r");
    let_fail(s);
    assert_ok(muster_job_wait(s->client, ids, N_OF(ids), 0, note_end, &w));
    assert_string_equal(w.said, "a=complete:r b=failed:g c=gone: ");
    assert_ok(muster_job_wait(s->client, NULL, 0, -1, note_end, &w));
    assert_ok(muster_job_wait(s->client, ids, N_OF(ids), -1, NULL, NULL));
}

static void a_retry_or_a_next_queue_is_no_end_but_a_failure_is(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"again"};
    char process[512];
    struct waiter w;
    job_put(s, "q", "again", "retries", "1");
    begin(&w, s, ids, 1, -1);
    take(s, process);
    assert_ok(muster_lease_retry(s->client, process, 0));
    take(s, process);
    const struct muster_finish_options next = {.size = sizeof next, .next = "q"};
    assert_ok(muster_lease_finish(s->client, process, &next));
    assert_int_equal(w.err, WAITING);
    take(s, process);
    assert_ok(muster_lease_fail(s->client, process, NULL, NULL));
    uint64_t n;
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    assert_ok(muster_failed_replay(s->client, &all, &n));
    await_end(&w, MUSTER_OK);
    assert_int_equal(strncmp(w.said, "again=failed:", 13), 0);
    cancel(s, "again");
}

static void time_and_the_program_end_the_waiting(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"a", "b"};
    struct waiter w = {.scene = s};
    put(s, "a");
    put(s, "b");
    assert_err(muster_job_wait(s->client, ids, 2, 0, note_end, &w), MUSTER_E_TIMEOUT);
    assert_non_null(strstr(muster_client_error(s->client), "2 of the 2 jobs"));
    finish(s, "");
    assert_err(muster_job_wait(s->client, ids, 2, 300, note_end, &w), MUSTER_E_TIMEOUT);
    assert_string_equal(w.said, "a=complete: ");
    w.stop_after = 2;
    assert_ok(muster_job_wait(s->client, ids, 2, -1, note_end, &w));
    cancel(s, "b");
    assert_err(muster_job_wait(s->client, ids, 2, -2, note_end, &w), MUSTER_E_INVALID);
    assert_err(muster_job_wait(s->client, (const char *const[]){""}, 1, -1, note_end, &w), MUSTER_E_INVALID);
}

/* ---- what breaks ---- */

static void cut_all(struct scene *s)
{
    raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
    raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
    muster_client_free(s->client);
    s->client = scene_client(s);
}

static void cut_connections_cost_no_end(void **state)
{
    struct scene *s = *state;
    static char names[60][8];
    const char *ids[60];
    struct waiter w;
    for (size_t i = 0; i < N_OF(ids); i++) {
        snprintf(names[i], sizeof names[i], "j%zu", i);
        put(s, ids[i] = names[i]);
    }
    begin(&w, s, ids, N_OF(ids), -1);
    for (size_t i = 0; i < N_OF(ids); i++) {
        if (i % 7 == 0)
            cut_all(s);
        i % 3 ? finish(s, "r") : let_fail(s);
    }
    await_end(&w, MUSTER_OK);
    assert_int_equal(w.n_ended, N_OF(ids));
    for (size_t i = 0; i < N_OF(ids); i++) {
        char want[32];
        snprintf(want, sizeof want, "j%zu=%s ", i, i % 3 ? "complete:r" : "failed:g");
        if (!strstr(w.said, want))
            fail_msg("not told: %s in %s", want, w.said);
    }
}

static bool has_looked(void *arg)
{
    struct waiter *w = arg;
    char *info = raw_string(w->scene->server->redis, "INFO commandstats");
    bool has = strstr(info, "cmdstat_hget:") != NULL;
    free(info);
    return has;
}

static bool is_trapped(void *arg)
{
    return proxy_count(arg).trapped > 0;
}

/* The connection breaks between that and its record; then there is none, or it says nothing of that end any more. */
static void an_end_that_was_heard_counts_though_the_connection_breaks(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"gone", "again"}, *const said[] = {"gone=complete: ", "again=failed: "};
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    job_config(s, "q", "keep_jobs", "0");
    for (size_t i = 0; i < N_OF(ids); i++) {
        struct proxy p;
        struct waiter w;
        struct muster_client *c;
        proxy_start(&p, s->server->dir, s->server->socket);
        assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                        .url = p.url,
                                                                        .prefix = s->prefix}));
        put(s, ids[i]);
        raw_do(s->server->redis, "HDEL %s:config listen", s->prefix);
        raw_do(s->server->redis, "CONFIG RESETSTAT");
        begin_as(&w, s, c, ids + i, 1, -1);
        wait_until(has_looked, &w, SOON_MS);
        proxy_trap_n(&p, "HGETALL", PROXY_REQUESTS, 1, PROXY_REFUSES);
        i == 0 ? finish(s, "") : let_fail(s);
        wait_until(is_trapped, &p, SOON_MS);
        if (i == 1)
            assert_ok(muster_failed_replay(s->client, &all, NULL));
        proxy_accept(&p);
        await_end(&w, MUSTER_OK);
        assert_string_equal(w.said, said[i]);
        proxy_stop(&p);
    }
    cancel(s, "again");
}

/* Longer than a look waits for the event of a record that is missing. */
#define LATE_US 200000

/* Of b and bb nothing is left; what is told of their ends comes behind what is told of others. */
static int let_events_lie(const struct muster_job_ended *e, void *arg)
{
    struct waiter *w = arg;
    char processes[2][512];
    (void)note_end(e, arg);
    if (strcmp(e->id, "a") == 0) {
        for (int i = 0; i < 3; i++) {
            put(w->scene, "other");
            cancel(w->scene, "other");
        }
        take(w->scene, processes[0]);
        take(w->scene, processes[1]);
        assert_ok(muster_lease_finish(w->scene->client, processes[0], NULL));
        assert_ok(muster_lease_fail(w->scene->client, processes[1], NULL, NULL));
        cancel(w->scene, "bb");
    }
    if (strcmp(e->id, "a") == 0 || strcmp(e->id, "c") == 0)
        usleep(LATE_US);
    return 0;
}

static void what_is_told_of_an_end_counts_however_late_it_is_heard(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"0never", "a", "b", "bb", "c"};
    struct waiter w = {.scene = s, .client = scene_client(s)};
    put(s, "a");
    let_fail(s);
    job_config(s, "q", "keep_jobs", "0");
    put(s, "b");
    put(s, "c");
    job_put(s, "elsewhere", "bb", NULL);
    assert_ok(muster_job_wait(w.client, ids, N_OF(ids), -1, let_events_lie, &w));
    assert_string_equal(w.said, "a=failed:g b=complete: c=failed:failed bb=cancelled: 0never=gone: ");
    muster_client_free(w.client);
}

/* Nobody publishes: the record tells it. */
static void an_event_that_is_lost_is_made_up_for(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"a"};
    struct waiter w;
    put(s, "a");
    begin(&w, s, ids, 1, -1);
    char process[512];
    take(s, process);
    raw_do(s->server->redis, "HDEL %s:config listen", s->prefix);
    assert_ok(muster_lease_finish(s->client, process, NULL));
    await_end(&w, MUSTER_OK);
    assert_string_equal(w.said, "a=complete: ");
}

/* Between its looks it asks Redis for nothing but to be told: a call every three seconds. */
static void nothing_is_polled(void **state)
{
    struct scene *s = *state;
    static const char *const ids[] = {"a"};
    struct waiter w;
    put(s, "a");
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    begin(&w, s, ids, 1, -1);
    wait_until(has_looked, &w, SOON_MS);
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    usleep(2000000);
    char *info = raw_string(s->server->redis, "INFO commandstats");
    assert_null(strstr(info, "cmdstat_hget:"));
    assert_null(strstr(info, "cmdstat_evalsha:"));
    free(info);
    cancel(s, "a");
    await_end(&w, MUSTER_OK);
}

static void without_a_redis_it_does_not_wait(void **state)
{
    struct scene *s = *state;
    const char *const id = "a";
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = "unix:///nowhere", .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_err(muster_job_wait(c, &id, 1, -1, NULL, NULL), MUSTER_E_CONN);
    muster_client_free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_end_is_told_with_its_record),
        live_test(what_has_ended_already_is_told_at_once),
        live_test(a_retry_or_a_next_queue_is_no_end_but_a_failure_is),
        live_test(time_and_the_program_end_the_waiting),
        live_test(cut_connections_cost_no_end),
        live_test(what_is_told_of_an_end_counts_however_late_it_is_heard),
        live_test(an_end_that_was_heard_counts_though_the_connection_breaks),
        live_test(an_event_that_is_lost_is_made_up_for),
        live_test(nothing_is_polled),
        live_test(without_a_redis_it_does_not_wait),
    };
    return scene_run(tests, argc, argv);
}
