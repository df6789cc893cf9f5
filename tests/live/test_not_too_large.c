/* SPDX-License-Identifier: MIT
 *
 * What is large, but not why connections end: nobody fails for it. And what fails for its size is found, whatever stands
 * before it.
 */
#include <muster/async.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "job_look.h"
#include "jobs.h"
#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "script_call.h"
#include "taken.h"

#define LARGE 3000000
#define MIDDLE 100000
#define LEASE_MS 61234
#define A_TAKE "61234" /* no other number is it */
#define RESULT_TEXT "aaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_MS 20000

static const char *large(void)
{
    static char bytes[LARGE];
    if (!*bytes)
        memset(bytes, *RESULT_TEXT, sizeof bytes);
    return bytes;
}

static void set_limit(struct scene *s, const char *name, const char *value)
{
    free(raw_string(s->server->redis, "CONFIG SET %s %s", name, value));
}

static void limit_answers(struct scene *s)
{
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
}

static int end(void **state)
{
    struct scene *s = *state;
    set_limit(s, "client-query-buffer-limit", "1gb");
    set_limit(s, "client-output-buffer-limit", "normal 0 0 0");
    return scene_end(state);
}
#define limited_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, end)

static void enqueue(struct scene *s, size_t len)
{
    assert_ok(muster_task_enqueue(s->client, "q", large(), len, NULL));
}

static int64_t failed(struct scene *s)
{
    return raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix);
}

static int64_t leased(struct scene *s)
{
    return raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix);
}

/* Otherwise the lost answer would be the one that it is not there. */
static void make_known(struct scene *s)
{
    static const enum script_id ids[] = {SCRIPT_TAKE, SCRIPT_UNTAKE, SCRIPT_TURN, SCRIPT_PUT};
    for (size_t i = 0; i < N_OF(ids); i++) {
        char *text = strndup((const char *)lua_scripts[ids[i]].body, lua_scripts[ids[i]].len);
        free(raw_string(s->server->redis, "SCRIPT LOAD %s", text));
        free(text);
    }
}

static struct muster_client *client_at(struct scene *s, const char *url)
{
    struct muster_client *c;
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    return c;
}

static int note_len(const struct muster_process_info *p, void *len)
{
    *(size_t *)len = p->len;
    return 0;
}

static void note_answer(const struct muster_answer *answer, void *len)
{
    if (answer->err == MUSTER_OK)
        note_len(&answer->processes[0], len);
    answers_fn(answer, NULL);
}

/* ---- another process than the one that ended connections ---- */

/* A user who may not ask for limits: so two connections are enough. */
static const char *url_without_config(struct scene *s, const struct proxy *proxy)
{
    static char url[300];
    raw_do(s->server->redis, "ACL SETUSER no-config on >secret ~* &* +@all -config");
    snprintf(url, sizeof url, "unix://no-config:secret@%s", proxy->socket);
    return url;
}

static bool has_trapped_two(void *proxy)
{
    return proxy_count(proxy).trapped == 2;
}

/* Two connections have ended at the one in the queue; nobody can connect. */
static void await_two_breaks(struct scene *s, struct proxy *proxy)
{
    assert_true(wait_for(s->base, has_trapped_two, proxy, SOON_MS));
    raw_await(s->server->redis, NULL, 1, "HLEN %s:processing:.lease:q", s->prefix);
}

#define DELAY_MS 50

struct call {
    struct muster_client *client;
    size_t len;
    int err;
};

static void *take(void *arg)
{
    struct call *call = arg;
    call->err = muster_lease_take(call->client, "q", 1, LEASE_MS, 0, note_len, &call->len);
    return NULL;
}

/* What ended two connections goes to an idle worker when it is given back, and then something else is due. On a machine
 * too busy for that, either it comes once more, and fails, or the client asks no more. */
static void a_take_suspects_nothing_that_comes_in_its_place(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    pthread_t thread;
    struct call call = {.err = 1};
    struct acting_worker idle = {.id = "w", .queues = {"q"}, .hands = 1, .hears = true};
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "a", .data = {large(), MIDDLE}, .delay_ms = 1};
    make_known(s);
    acting_start(&idle, s);
    proxy_start(&proxy, s->server->dir, s->server->socket);
    call.client = client_at(s, url_without_config(s, &proxy));
    enqueue(s, LARGE);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 2, PROXY_ACCEPTS);
    proxy_delay(&proxy, DELAY_MS);
    assert_int_equal(pthread_create(&thread, NULL, take, &call), 0);
    await_two_breaks(s, &proxy);
    acting_take(&idle);
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    pthread_join(thread, NULL);
    assert_int_not_equal(job_look(s, "a").state, MUSTER_JOB_FAILED);
    if (call.err == MUSTER_OK)
        assert_int_equal(call.len, MIDDLE);
    else
        assert_true(call.err == MUSTER_E_NOT_FOUND || call.err == MUSTER_E_CONN);
    acting_forget(&idle);
    muster_client_free(call.client);
    proxy_stop(&proxy);
    raw_do(s->server->redis, "ACL DELUSER no-config");
}

static void finish_held(struct scene *s)
{
    struct taken held = {0};
    assert_ok(muster_process_list(s->client, NULL, taken_add, &held));
    assert_int_equal(held.n, 1);
    assert_ok(muster_lease_finish(s->client, held.rows[0].id, NULL));
}

/* What ended two connections is gone, and what it gets instead comes at once, or when it has waited. */
static void a_take_suspects_nothing_that_it_has_not_met(void **state)
{
    struct scene *s = *state;
    for (int waits = 0; waits < 2; waits++) {
        struct proxy proxy;
        struct answers as;
        size_t len = 0;
        proxy_start(&proxy, s->server->dir, s->server->socket);
        answers_open(&as, s, url_without_config(s, &proxy), LONG_MS, NULL);
        enqueue(s, LARGE);
        proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 2, PROXY_REFUSES);
        assert_ok(muster_async_take(as.async, "q", 1, LEASE_MS, LONG_MS, note_answer, &len));
        await_two_breaks(s, &proxy);
        finish_held(s);
        if (!waits)
            enqueue(s, MIDDLE);
        proxy_accept(&proxy);
        if (waits) {
            raw_await(s->server->redis, NULL, 1, "ZCARD %s:takers:q", s->prefix);
            enqueue(s, MIDDLE);
        }
        answers_await(&as, 1);
        assert_err(as.last.err, MUSTER_OK);
        assert_int_equal(len, MIDDLE);
        assert_int_equal(failed(s), 0);
        answers_close(&as);
        proxy_stop(&proxy);
        finish_held(s);
    }
    raw_do(s->server->redis, "ACL DELUSER no-config");
}

/* ---- found, wherever it stands ---- */

static void a_job_with_little_data_and_a_large_record_fails(void **state)
{
    struct scene *s = *state;
    size_t len = 0;
    const struct muster_bytes result = {large(), LARGE};
    const struct muster_finish_options on = {.size = sizeof on, .result = &result, .next = "q"};
    job_put(s, "first", "a", "data", "small");
    struct taken taken;
    assert_ok(take_n(s, "first", 1, LEASE_MS, &taken));
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, &on));
    limit_answers(s);
    assert_err(muster_lease_take(s->client, "q", 1, LEASE_MS, 0, note_len, &len), MUSTER_E_NOT_FOUND);
    job_assert(s, "a", "state", "failed");
    job_assert(s, "a", "group", "too-large");
}

static int count(const struct muster_process_info *p, void *n)
{
    (void)p;
    ++*(int *)n;
    return 0;
}

static void a_large_task_behind_many_small_ones_fails(void **state)
{
    struct scene *s = *state;
    int n = 0;
    scene_enqueue_n(s, "q", "t", 250);
    enqueue(s, LARGE);
    scene_enqueue_n(s, "q", "t", 5);
    limit_answers(s);
    assert_ok(muster_lease_take(s->client, "q", 1000, LEASE_MS, 0, count, &n));
    assert_int_equal(n, 255);
    assert_int_equal(failed(s), 1);
}

/* ---- a Redis without a limit ---- */

static void a_take_that_loses_connections_for_another_reason_fails_nothing(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    size_t len = 0;
    make_known(s);
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct muster_client *c = client_at(s, proxy.url);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    enqueue(s, MIDDLE);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 2, PROXY_ACCEPTS);
    assert_err(muster_lease_take(c, "q", 1, LEASE_MS, 0, note_len, &len), MUSTER_E_CONN);
    assert_int_equal(leased(s), 0);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 2, PROXY_ACCEPTS);
    assert_ok(muster_async_take(as.async, "q", 1, LEASE_MS, 0, note_answer, &len));
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_E_CONN);
    assert_int_equal(proxy_count(&proxy).trapped, 4);
    assert_int_equal(failed(s), 0);
    assert_int_equal(leased(s), 0);
    assert_ok(muster_lease_take(c, "q", 1, LEASE_MS, 0, note_len, &len));
    assert_int_equal(len, MIDDLE);
    answers_close(&as);
    muster_client_free(c);
    proxy_stop(&proxy);
}

struct cuts {
    struct proxy proxy;
    int at_result;
};

static enum muster_outcome finish_largely(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct cuts *cuts = w->spec.arg;
    if (cuts->at_result > 0)
        proxy_trap_n(&cuts->proxy, RESULT_TEXT, PROXY_REQUESTS, cuts->at_result, PROXY_ACCEPTS);
    assert_int_equal(muster_process_set_result(p, large(), 6 * MIDDLE), MUSTER_OK);
    return MUSTER_FINISH;
}

/* With a limit that it may be: one connection at its bytes, and one at its result, are not two of the same. */
static void a_worker_that_loses_connections_for_another_reason_fails_nothing(void **state)
{
    static const struct {
        const char *limit;
        int at_fetch, at_result;
    } rows[] = {{"1gb", 4, 4}, {"1mb", 1, 1}};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct cuts cuts = {.at_result = rows[i].at_result};
        char id[8], name[8];
        snprintf(id, sizeof id, "j%zu", i);
        snprintf(name, sizeof name, "w%zu", i);
        set_limit(s, "client-query-buffer-limit", rows[i].limit);
        proxy_start(&cuts.proxy, s->server->dir, s->server->socket);
        struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = name,
                                                                          .url = cuts.proxy.url,
                                                                          .arg = &cuts,
                                                                          .ttl_ms = 30000,
                                                                          .hands = 1,
                                                                          .queues = {{"q", 0}},
                                                                          .handler = finish_largely});
        if (rows[i].at_fetch > 0)
            proxy_trap_n(&cuts.proxy, lua_scripts[SCRIPT_FETCH].sha1, PROXY_REPLIES, rows[i].at_fetch, PROXY_ACCEPTS);
        const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = {large(), MIDDLE}};
        assert_ok(muster_job_put(s->client, "q", &spec, NULL));
        job_await(s, id, "state", "complete");
        assert_int_equal(proxy_count(&cuts.proxy).trapped, rows[i].at_fetch + rows[i].at_result);
        live_worker_free(s, w);
        proxy_stop(&cuts.proxy);
    }
}

/* ---- an answer, and nothing left behind ---- */

static void a_take_is_answered_when_redis_goes_as_it_fails_something(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    size_t len = 0;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, 1000, NULL);
    enqueue(s, LARGE);
    limit_answers(s);
    proxy_trap_n(&proxy, "too-large", PROXY_REQUESTS, 1, PROXY_REFUSES);
    assert_ok(muster_async_take(as.async, "q", 1, LEASE_MS, 0, note_answer, &len));
    answers_await(&as, 1);
    assert_err(as.last.err, MUSTER_E_CONN);
    proxy_accept(&proxy);
    raw_await(s->server->redis, NULL, 0, "HLEN %s:processing:.lease:q", s->prefix);
    assert_int_equal(scene_waiting(s, "q"), 1);
    answers_close(&as);
    proxy_stop(&proxy);
}

static void it_goes_back_when_redis_goes_as_a_blocking_take_fails_it(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct muster_client *c;
    struct taken taken = {0};
    proxy_start(&proxy, s->server->dir, s->server->socket);
    const struct muster_client_options o = {
        .size = sizeof o, .url = proxy.url, .prefix = s->prefix, .timeout_ms = LONG_MS};
    assert_ok(muster_client_new(&c, &o));
    enqueue(s, LARGE);
    limit_answers(s);
    proxy_trap_n(&proxy, "too-large", PROXY_REQUESTS, 1, PROXY_REFUSES);
    assert_err(muster_lease_take(c, "q", 1, LEASE_MS, 0, taken_add, &taken), MUSTER_E_CONN);
    proxy_accept(&proxy);
    muster_client_free(c);
    assert_int_equal(leased(s), 0);
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_int_equal(failed(s), 0);
    proxy_stop(&proxy);
}

static void open_with_three(struct answers *as, struct scene *s, const struct proxy *proxy, int timeout_ms)
{
    answers_open(as, s, proxy->url, timeout_ms, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    for (int i = 0; i < 3; i++)
        assert_ok(muster_async_take(as->async, "q", 1, LEASE_MS, 0, NULL, NULL));
}

static void what_nobody_has_heard_of_goes_back_over_another_connection(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    open_with_three(&as, s, &proxy, LONG_MS);
    assert_ok(muster_async_wait(as.async, LONG_MS));
    raw_await(s->server->redis, NULL, 3, "HLEN %s:processing:.lease:q", s->prefix);
    proxy_trap(&proxy, "'void', 'NX'", PROXY_REQUESTS); /* by which they go back */
    answers_close(&as);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_int_equal(leased(s), 0);
    proxy_stop(&proxy);
}

/* After a while: what is freed meanwhile and what is freed later must both be given back. */
static void *thaw(void *arg)
{
    struct scene *s = arg;
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000000L}, NULL);
    redis_server_thaw(s->server);
    return NULL;
}

/* What is asked from now on is executed, and nobody hears of it. */
static void open_unheard(struct answers *as, struct scene *s, struct proxy *proxy)
{
    proxy_start(proxy, s->server->dir, s->server->socket);
    answers_open(as, s, proxy->url, LONG_MS, NULL);
    answers_enqueue(as, "q", "t", NULL);
    answers_await(as, 1);
    assert_int_equal(proxy_swallow(proxy, PROXY_DATA, PROXY_REPLIES), 1);
}

/* It would be asked for again by itself, and waits for a connection. */
static void what_was_to_be_asked_again_goes_back_first(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    pthread_t thread;
    open_unheard(&as, s, &proxy);
    assert_ok(muster_async_take(as.async, "q", 1, LEASE_MS, 0, NULL, NULL));
    raw_await(s->server->redis, NULL, 1, "HLEN %s:processing:.lease:q", s->prefix);
    int accepted = proxy_count(&proxy).accepted;
    redis_server_freeze(s->server);
    proxy_cut(&proxy, PROXY_DATA);
    while (proxy_count(&proxy).accepted == accepted)
        nanosleep(&(struct timespec){.tv_nsec = 1000000L}, NULL);
    assert_int_equal(pthread_create(&thread, NULL, thaw, s), 0);
    answers_close(&as);
    pthread_join(thread, NULL);
    assert_int_equal(leased(s), 0);
    proxy_stop(&proxy);
}

static void keep_line(enum muster_log_level level, const char *line, void *kept)
{
    if (level == MUSTER_LOG_WARN && strstr(line, "could not be given back"))
        snprintf(kept, 512, "%s", line);
}

struct leaver {
    struct scene *s;
    struct proxy *proxy;
};

/* As soon as all went back, and before the client knows it. */
static void *cut_and_refuse(void *arg)
{
    const struct leaver *l = arg;
    raw_await(l->s->server->redis, NULL, 0, "HLEN %s:processing:.lease:q", l->s->prefix);
    proxy_refuse(l->proxy);
    proxy_cut(l->proxy, PROXY_DATA);
    return NULL;
}

static void each_take_that_is_left_is_counted_once(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    char kept[512] = "";
    pthread_t leaver;
    open_unheard(&as, s, &proxy);
    scene_enqueue_n(s, "q", "t", 2); /* and that one */
    for (int i = 0; i < 3; i++)
        assert_ok(muster_async_take(as.async, "q", 1, LEASE_MS, 0, NULL, NULL));
    raw_await(s->server->redis, NULL, 3, "HLEN %s:processing:.lease:q", s->prefix);
    muster_log_set(keep_line, kept);
    assert_int_equal(pthread_create(&leaver, NULL, cut_and_refuse, &(struct leaver){s, &proxy}), 0);
    answers_close(&as);
    pthread_join(leaver, NULL);
    muster_log_set(NULL, NULL);
    if (!strstr(kept, "(3 of them)"))
        fail_msg("%s", kept);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        limited_test(a_take_suspects_nothing_that_comes_in_its_place),
        limited_test(a_take_suspects_nothing_that_it_has_not_met),
        limited_test(a_job_with_little_data_and_a_large_record_fails),
        limited_test(a_large_task_behind_many_small_ones_fails),
        limited_test(a_take_that_loses_connections_for_another_reason_fails_nothing),
        limited_test(a_worker_that_loses_connections_for_another_reason_fails_nothing),
        limited_test(a_take_is_answered_when_redis_goes_as_it_fails_something),
        limited_test(it_goes_back_when_redis_goes_as_a_blocking_take_fails_it),
        limited_test(what_nobody_has_heard_of_goes_back_over_another_connection),
        limited_test(what_was_to_be_asked_again_goes_back_first),
        limited_test(each_take_that_is_left_is_counted_once),
    };
    return scene_run(tests, argc, argv);
}
