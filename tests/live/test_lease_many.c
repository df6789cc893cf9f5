/* SPDX-License-Identifier: MIT
 *
 * Many processes in one call: ended in different ways, and extended. Each has a status of its own, in its place, that
 * is the one of a single call; whatever becomes of the others, of the connection, or of the scripts in Redis.
 */
#include <muster/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "hostile_server.h"
#include "invariant.h"
#include "jobs.h"
#include "proxy.h"
#include "taken.h"

#define AN_HOUR 3600000
#define MANY 1000

/* The ids of processes, in the order in which they were taken. */
struct ids {
    size_t n;
    char *at[MANY];
};

static int add_id(const struct muster_process_info *p, void *arg)
{
    struct ids *ids = arg;
    ids->at[ids->n++] = strdup(p->id);
    return 0;
}

static void take_ids(struct scene *s, const char *queue, size_t n, struct ids *ids)
{
    size_t before = ids->n;
    while (ids->n < before + n)
        assert_ok(muster_lease_take(s->client, queue, before + n - ids->n, AN_HOUR, 0, add_id, ids));
}

static void clear_ids(struct ids *ids)
{
    for (size_t i = 0; i < ids->n; i++)
        free(ids->at[i]);
    ids->n = 0;
}

static struct muster_client *client_at(struct scene *s, const char *url)
{
    struct muster_client *c;
    uint64_t waiting;
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_queue_length(c, "q", &waiting)); /* it is connected */
    return c;
}

static int finish_all(struct muster_client *c, const struct ids *ids, int *errs)
{
    struct muster_lease_end *ends = calloc(ids->n + 1, sizeof *ends);
    for (size_t i = 0; i < ids->n; i++)
        ends[i] = (struct muster_lease_end){.size = sizeof *ends, .process = ids->at[i], .outcome = MUSTER_FINISH};
    int err = muster_lease_end_many(c, ends, ids->n, errs);
    free(ends);
    return err;
}

static int64_t leased(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:processing:.lease:%s", s->prefix, queue);
}

/* ---- each in its own way ---- */

static void each_ends_in_its_own_way_and_has_its_own_status(void **state)
{
    enum { FINISHED, BACK, RETRIED, FAILED, RESULT, NEXT, CANCELLED, LOST, NO_ID, IDLE, ALL };
    struct scene *s = *state;
    struct ids ids = {0};
    int errs[ALL];
    scene_enqueue_n(s, "q", "t", 4);
    job_put(s, "jobs", "result", NULL);
    job_put(s, "jobs", "next", NULL);
    take_ids(s, "q", 4, &ids);
    take_ids(s, "jobs", 2, &ids);
    scene_enqueue_n(s, "other", "o", 2);
    take_ids(s, "other", 2, &ids);
    assert_ok(muster_process_cancel(s->client, ids.at[6]));
    assert_ok(muster_lease_finish(s->client, ids.at[7], NULL));
    const struct muster_bytes bytes = {"r\0r", 3};
    const struct muster_lease_end ends[ALL] = {
        [FINISHED] = {.process = ids.at[0], .outcome = MUSTER_FINISH},
        [BACK] = {.process = ids.at[1], .outcome = MUSTER_GIVE_BACK},
        [RETRIED] = {.process = ids.at[2], .outcome = MUSTER_RETRY, .delay_ms = 3600000},
        [FAILED] = {.process = ids.at[3], .outcome = MUSTER_FAIL, .group = "g", .message = "m"},
        [RESULT] = {.process = ids.at[4], .outcome = MUSTER_FINISH, .result = &bytes},
        [NEXT] = {.process = ids.at[5], .outcome = MUSTER_FINISH, .next = "then"},
        [CANCELLED] = {.process = ids.at[6], .outcome = MUSTER_GIVE_BACK},
        [LOST] = {.process = ids.at[7], .outcome = MUSTER_FINISH},
        [NO_ID] = {.process = "nonsense", .outcome = MUSTER_FINISH},
        [IDLE] = {.process = ids.at[0], .outcome = MUSTER_GIVE_BACK, .group = "g"},
    };
    struct muster_lease_end sized[ALL];
    for (size_t i = 0; i < ALL; i++) {
        sized[i] = ends[i];
        sized[i].size = sizeof *sized;
    }
    assert_err(muster_lease_end_many(s->client, sized, ALL, errs), MUSTER_E_CANCELLED);
    assert_non_null(strstr(muster_client_error(s->client), ids.at[6])); /* the first one, in the order of the array */
    static const int expected[ALL] = {[CANCELLED] = MUSTER_E_CANCELLED,
                                      [LOST] = MUSTER_E_LOST,
                                      [NO_ID] = MUSTER_E_INVALID,
                                      [IDLE] = MUSTER_E_INVALID};
    for (size_t i = 0; i < ALL; i++)
        assert_err(errs[i], expected[i]);
    assert_queue_holds(s, "q", "t1 ");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:delayed:q", s->prefix), 1);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:g", s->prefix), 1);
    job_assert(s, "result", "state", "complete");
    assert_int_equal(raw_int(s->server->redis, "HSTRLEN %s:job:result result", s->prefix), 3);
    job_assert(s, "next", "queue", "then");
    assert_int_equal(leased(s, "q") + leased(s, "jobs") + leased(s, "other"), 0);
    clear_ids(&ids);
    checked_assert_clean(s);
    invariant_assert(s->server->redis, s->prefix);
}

static void a_field_without_effect_is_refused(void **state)
{
    struct scene *s = *state;
    const struct muster_bytes bytes = {"r", 1};
    const char *const after[] = {"j"};
    const struct muster_lease_end wrong[] = {
        {.outcome = MUSTER_GIVE_BACK, .result = &bytes},
        {.outcome = MUSTER_GIVE_BACK, .delay_ms = 1},
        {.outcome = MUSTER_FAIL, .delay_ms = 1},
        {.outcome = MUSTER_FAIL, .next = "q"},
        {.outcome = MUSTER_RETRY, .after = after, .n_after = 1},
        {.outcome = MUSTER_FINISH, .message = "m"},
        {.outcome = MUSTER_FINISH, .delay_ms = 1},
        {.outcome = MUSTER_FINISH, .after = after, .n_after = 1},
        {.outcome = MUSTER_LATER},
        {.outcome = -1},
        {.outcome = MUSTER_RETRY, .delay_ms = -2},
    };
    const char *id = (scene_enqueue(s, "q", "t"), take_one(s, "q", "t"));
    int64_t before = redis_server_calls(s->server, NULL);
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct muster_lease_end e = wrong[i];
        int err = MUSTER_OK;
        e.size = sizeof e;
        e.process = id;
        assert_err(muster_lease_end_many(s->client, &e, 1, &err), MUSTER_E_INVALID);
        assert_err(err, MUSTER_E_INVALID);
        assert_string_not_equal(muster_client_error(s->client), "");
    }
    assert_int_equal(redis_server_calls(s->server, NULL), before);
}

static void what_is_not_given_or_of_another_size_is_refused_whole(void **state)
{
    struct scene *s = *state;
    int errs[2] = {MUSTER_OK, MUSTER_OK};
    const struct muster_lease_end unsized[2] = {{.size = sizeof *unsized, .process = "x"}, {.process = "x"}};
    const struct muster_extend_options too_long = {.size = sizeof too_long, .lease_ms = MUSTER_LEASE_MAX_MS + 1};
    const char *const ids[] = {".lease:00000000001:q", ".lease:00000000002:q"};
    assert_ok(muster_lease_end_many(s->client, NULL, 0, NULL));
    assert_ok(muster_lease_extend_many(s->client, NULL, 0, NULL, NULL));
    assert_err(muster_lease_end_many(s->client, unsized, 2, NULL), MUSTER_E_INVALID);
    assert_err(muster_lease_end_many(s->client, unsized, 2, errs), MUSTER_E_INVALID);
    assert_err(errs[0], MUSTER_E_INVALID);
    assert_err(errs[1], MUSTER_E_INVALID);
    errs[0] = errs[1] = MUSTER_OK;
    assert_err(muster_lease_extend_many(s->client, ids, 2, &too_long, errs), MUSTER_E_INVALID);
    assert_err(errs[1], MUSTER_E_INVALID);
}

/* Its structs are larger, and the next one lies further on. */
static void a_program_of_a_later_release_is_understood(void **state)
{
    struct scene *s = *state;
    struct ids ids = {0};
    struct {
        struct muster_lease_end e;
        void *more[4];
    } ends[3];
    int errs[3];
    scene_enqueue_n(s, "q", "t", 3);
    take_ids(s, "q", 3, &ids);
    memset(ends, 0, sizeof ends);
    for (size_t i = 0; i < 3; i++)
        ends[i].e = (struct muster_lease_end){.size = sizeof *ends, .process = ids.at[i], .outcome = MUSTER_FINISH};
    assert_ok(muster_lease_end_many(s->client, &ends[0].e, 3, errs));
    assert_int_equal(leased(s, "q"), 0);
    clear_ids(&ids);
}

static void leases_of_any_queues_are_extended_together(void **state)
{
    struct scene *s = *state;
    struct ids ids = {0};
    int errs[5];
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 10 * AN_HOUR, .progress = "half"};
    scene_enqueue_n(s, "q", "t", 2);
    scene_enqueue_n(s, "other", "o", 2);
    take_ids(s, "q", 2, &ids);
    take_ids(s, "other", 2, &ids);
    assert_ok(muster_lease_finish(s->client, ids.at[1], NULL));
    const char *const processes[] = {ids.at[0], ids.at[1], "nonsense", ids.at[2], ids.at[3]};
    assert_err(muster_lease_extend_many(s->client, processes, 5, &o, errs), MUSTER_E_LOST);
    static const int expected[] = {MUSTER_OK, MUSTER_E_LOST, MUSTER_E_INVALID, MUSTER_OK, MUSTER_OK};
    for (size_t i = 0; i < 5; i++)
        assert_err(errs[i], expected[i]);
    int64_t later = server_now_ms(s) + 9 * AN_HOUR;
    assert_int_equal(raw_int(s->server->redis, "ZCOUNT %s:leases:q %lld +inf", s->prefix, (long long)later), 1);
    assert_int_equal(raw_int(s->server->redis, "ZCOUNT %s:leases:other %lld +inf", s->prefix, (long long)later), 2);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:notes:.lease", s->prefix), 3);
    clear_ids(&ids);
    checked_assert_clean(s);
}

static void a_damaged_queue_costs_its_own_only(void **state)
{
    struct scene *s = *state;
    struct ids ids = {0};
    int errs[3];
    scene_enqueue_n(s, "q", "t", 2);
    scene_enqueue(s, "bad", "b");
    take_ids(s, "q", 1, &ids);
    take_ids(s, "bad", 1, &ids);
    take_ids(s, "q", 1, &ids);
    raw_do(s->server->redis, "SET %s:failed:bad x", s->prefix);
    assert_err(finish_all(s->client, &ids, errs), MUSTER_E_REDIS);
    assert_non_null(strstr(muster_client_error(s->client), "failed:bad"));
    assert_ok(errs[0]);
    assert_err(errs[1], MUSTER_E_REDIS);
    assert_ok(errs[2]);
    clear_ids(&ids);
}

/* ---- many ---- */

static void they_go_together_also_if_redis_has_forgotten_the_scripts(void **state)
{
    struct scene *s = *state;
    int *errs = calloc(MANY, sizeof *errs);
    for (int forgets = 0; forgets < 2; forgets++) {
        struct ids ids = {0};
        struct muster_client_stats before = {.size = sizeof before}, after = {.size = sizeof after};
        scene_enqueue_n(s, "q", "t", MANY);
        take_ids(s, "q", MANY, &ids);
        const struct muster_extend_options o = {.size = sizeof o, .lease_ms = 10 * AN_HOUR};
        if (forgets)
            raw_do(s->server->redis, "SCRIPT FLUSH");
        assert_ok(muster_client_stats(s->client, &before));
        assert_ok(muster_lease_extend_many(s->client, (const char *const *)ids.at, ids.n, &o, errs));
        assert_ok(muster_client_stats(s->client, &after));
        assert_in_range(after.commands - before.commands, MANY / 200, MANY / 200 + forgets);
        if (forgets)
            raw_do(s->server->redis, "SCRIPT FLUSH");
        assert_ok(finish_all(s->client, &ids, errs));
        for (size_t i = 0; i < ids.n; i++)
            assert_ok(errs[i]);
        assert_int_equal(leased(s, "q"), 0);
        clear_ids(&ids);
    }
    free(errs);
    checked_assert_clean(s);
}

/* The script leaves what would be too much for it to the next call. */
static void large_tasks_go_back_some_at_a_time(void **state)
{
    enum { N = 7 };
    const size_t len = 3 << 19;
    struct scene *s = *state;
    struct ids ids = {0};
    int errs[N];
    struct muster_lease_end ends[N];
    char *task = calloc(1, len);
    for (int i = 0; i < N; i++)
        assert_ok(muster_task_enqueue(s->client, "q", task, len, NULL));
    take_ids(s, "q", N, &ids);
    for (int i = 0; i < N; i++)
        ends[i] = (struct muster_lease_end){
            .size = sizeof *ends, .process = ids.at[i], .outcome = i == N - 1 ? MUSTER_FINISH : MUSTER_GIVE_BACK};
    struct muster_client_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    assert_ok(muster_client_stats(s->client, &before));
    assert_ok(muster_lease_end_many(s->client, ends, N, errs));
    assert_ok(muster_client_stats(s->client, &after));
    assert_in_range(after.commands - before.commands, 3, 4); /* two go in 4 MiB; one call more if it was not known */
    assert_int_equal(scene_waiting(s, "q"), N - 1);
    free(task);
    clear_ids(&ids);
}

/* Each way takes its time: one after the other they would take that time 300 times, and two calls take it twice. */
static void a_slow_way_is_gone_twice(void **state)
{
    enum { N = 300, WAY_MS = 20 };
    struct scene *s = *state;
    struct proxy proxy;
    struct ids ids = {0};
    int errs[N];
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct muster_client *c = client_at(s, proxy.url);
    scene_enqueue_n(s, "q", "t", N + 1);
    take_ids(s, "q", N, &ids);
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "t300"), NULL)); /* Redis knows the script */
    proxy_delay(&proxy, WAY_MS);
    int64_t began_at_ms = now_ms();
    assert_ok(finish_all(c, &ids, errs));
    assert_in_range(now_ms() - began_at_ms, WAY_MS, N * WAY_MS / 2);
    muster_client_free(c);
    proxy_stop(&proxy);
    clear_ids(&ids);
}

static void what_redis_does_not_read_is_told_of_that_one(void **state)
{
    enum { N = 5, LARGE = 1500000 };
    static const struct {
        const char *name, *usual;
    } limits[] = {{"proto-max-bulk-len", "512mb"}, {"client-query-buffer-limit", "1gb"}};
    struct scene *s = *state;
    char *result = calloc(1, LARGE);
    for (size_t at = 0; at < N_OF(limits); at++) {
        struct ids ids = {0};
        struct muster_lease_end ends[N];
        struct muster_bytes bytes[N];
        int errs[N];
        scene_enqueue_n(s, "q", "t", N);
        take_ids(s, "q", N, &ids);
        for (int i = 0; i < N; i++) {
            bytes[i] = (struct muster_bytes){result, i == 0 || i == N - 1 ? LARGE : 1};
            ends[i] = (struct muster_lease_end){
                .size = sizeof *ends, .process = ids.at[i], .outcome = MUSTER_FINISH, .result = &bytes[i]};
        }
        raw_do(s->server->redis, "CONFIG SET %s 1mb", limits[at].name);
        int err = muster_lease_end_many(s->client, ends, N, errs);
        raw_do(s->server->redis, "CONFIG SET %s %s", limits[at].name, limits[at].usual);
        assert_err(err, MUSTER_E_TOO_BIG);
        assert_non_null(strstr(muster_client_error(s->client), limits[at].name));
        for (int i = 0; i < N; i++)
            assert_err(errs[i], i == 0 || i == N - 1 ? MUSTER_E_TOO_BIG : MUSTER_OK);
        assert_int_equal(leased(s, "q"), 2);
        assert_ok(muster_lease_finish(s->client, ids.at[0], NULL));
        assert_ok(muster_lease_finish(s->client, ids.at[N - 1], NULL));
        clear_ids(&ids);
    }
    free(result);
    checked_assert_clean(s);
}

/* Which part of a request was too large, its refusal does not say. */
static void what_is_too_large_together_goes_in_several_calls(void **state)
{
    enum { N = 9 };
    struct scene *s = *state;
    struct hostile_server h;
    struct ids ids = {0};
    int errs[N];
    hostile_server_start(&h, s->server->dir, &(struct hostile_spec){.relay_to = s->server->socket});
    struct muster_client *c = client_at(s, h.url);
    scene_enqueue_n(s, "q", "t", N);
    take_ids(s, "q", N, &ids);
    strcpy(h.counts->refusal, "-ERR Protocol error: invalid bulk length\r\n");
    h.counts->refuses_in = 1;
    assert_ok(finish_all(c, &ids, errs));
    assert_int_equal(h.counts->refuses_in, 0);
    assert_int_equal(leased(s, "q"), 0);
    muster_client_free(c);
    hostile_server_stop(&h);
    clear_ids(&ids);
}

/* ---- answers that do not come ---- */

static void what_has_no_answer_is_told_so_and_what_has_one_is_done(void **state)
{
    enum { N = 450, CHUNK = 200, ANSWER = 2010 }; /* the bytes of an answer that says ok 200 times */
    static const int passed[] = {0, 700, ANSWER - 1, ANSWER, ANSWER + 1, 3000, 2 * ANSWER};
    struct scene *s = *state;
    for (size_t at = 0; at < N_OF(passed); at++) {
        struct proxy proxy;
        struct ids ids = {0};
        int errs[N];
        proxy_start(&proxy, s->server->dir, s->server->socket);
        struct muster_client *c = client_at(s, proxy.url);
        scene_enqueue_n(s, "q", "t", N + 1);
        take_ids(s, "q", N + 1, &ids);
        assert_ok(muster_lease_finish(c, ids.at[--ids.n], NULL)); /* Redis knows the script */
        free(ids.at[ids.n]);
        proxy_ration(&proxy, PROXY_DATA, passed[at]);
        assert_err(finish_all(c, &ids, errs), MUSTER_E_CONN);
        const int n_done = passed[at] / ANSWER * CHUNK;
        for (int i = 0; i < N; i++)
            assert_err(errs[i], i < n_done ? MUSTER_OK : MUSTER_E_CONN);
        /* The call that has no answer was carried out here; those after it were not sent. */
        assert_int_equal(leased(s, "q"), N - n_done > CHUNK ? N - n_done - CHUNK : 0);
        assert_err(finish_all(c, &ids, errs), MUSTER_E_LOST);
        for (int i = 0; i < N; i++)
            assert_true(errs[i] == MUSTER_E_LOST || (errs[i] == MUSTER_OK && i >= n_done));
        assert_int_equal(leased(s, "q"), 0);
        muster_client_free(c);
        proxy_stop(&proxy);
        clear_ids(&ids);
    }
    checked_assert_clean(s);
}

static void without_a_redis_each_is_told_so(void **state)
{
    struct scene *s = *state;
    int errs[2];
    const char *const ids[] = {".lease:00000000001:q", ".lease:00000000002:q"};
    const struct muster_extend_options o = {.size = sizeof o, .lease_ms = AN_HOUR};
    redis_server_kill(s->server);
    int err = muster_lease_extend_many(s->client, ids, 2, &o, errs);
    redis_server_restart(s->server);
    assert_err(err, MUSTER_E_CONN);
    assert_err(errs[0], MUSTER_E_CONN);
    assert_err(errs[1], MUSTER_E_CONN);
    assert_err(muster_lease_extend_many(s->client, ids, 2, &o, errs), MUSTER_E_LOST);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_ends_in_its_own_way_and_has_its_own_status),
        live_test(a_field_without_effect_is_refused),
        live_test(what_is_not_given_or_of_another_size_is_refused_whole),
        live_test(a_program_of_a_later_release_is_understood),
        live_test(leases_of_any_queues_are_extended_together),
        live_test(a_damaged_queue_costs_its_own_only),
        live_test(they_go_together_also_if_redis_has_forgotten_the_scripts),
        live_test(large_tasks_go_back_some_at_a_time),
        live_test(a_slow_way_is_gone_twice),
        live_test(what_redis_does_not_read_is_told_of_that_one),
        live_test(what_is_too_large_together_goes_in_several_calls),
        live_test(what_has_no_answer_is_told_so_and_what_has_one_is_done),
        live_test(without_a_redis_each_is_told_so),
    };
    return scene_run(tests, argc, argv);
}
