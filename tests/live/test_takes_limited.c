/* SPDX-License-Identifier: MIT
 *
 * Takes of many tasks that together are more than Redis sends in one answer (client-output-buffer-limit), though each of
 * them is not: whoever takes comes down to what goes, and stays there. The limit is told once, and a worker that finds
 * nothing more asks no more.
 */
#include <hiredis/hiredis.h>
#include <muster/async.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "limited.h"
#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"

/* It comes down in a few steps from any number. */
#define BREAKS_MAX 12
#define LEASE_MS 3600000

/* So many tasks, and a limit at which some of them go together. */
struct load {
    int n;
    size_t len;
    const char *limit;
};
static const struct load three_go = {200, 50000, "normal 200000 0 0"};
static const struct load hundreds_go = {5000, 5000, "normal 1000000 0 0"};

static int64_t stat_of(struct scene *s, const char *name)
{
    char *info = raw_string(s->server->redis, "INFO all");
    const char *at = strstr(info, name);
    assert_non_null(at);
    int64_t n = strtoll(at + strlen(name), NULL, 10);
    free(info);
    return n;
}

static int64_t connections(struct scene *s)
{
    return stat_of(s, "total_connections_received:");
}

static void enqueue_all(struct scene *s, const struct load *load)
{
    char *bytes = calloc(1, load->len);
    assert_non_null(bytes);
    for (int i = 0; i < load->n; i++)
        assert_ok(muster_task_enqueue(s->client, "q", bytes, load->len, NULL));
    free(bytes);
    limited_set(s, load->limit);
}

/* ---- workers ---- */

static void count_told(struct live_worker *w, const struct muster_event *e)
{
    if (e->type != MUSTER_EVENT_REFUSED || e->err != MUSTER_E_TOO_BIG)
        return;
    assert_non_null(strstr(e->text, "client-output-buffer-limit"));
    ++*(int *)w->spec.arg;
}

/* Nobody asks again and again: heartbeats are all that there is. */
static void assert_quiet(struct scene *s, struct live_worker *w)
{
    scene_await_idle(s, "q", w->spec.id);
    const int64_t calls = stat_of(s, "cmdstat_evalsha:calls=");
    raw_await(s->server->redis, w->base, 200, "INCR %s-rounds", s->prefix);
    assert_in_range(stat_of(s, "cmdstat_evalsha:calls=") - calls, 0, 50);
}

static void work(struct scene *s, struct worker_spec spec, const struct load *load)
{
    int n_told = 0;
    const int64_t before = connections(s);
    spec.ttl_ms = 3000;
    spec.id = "w1";
    spec.queues[0].name = "q";
    spec.answer = MUSTER_FINISH;
    spec.on_event = count_told;
    spec.arg = &n_told;
    enqueue_all(s, load);
    struct live_worker *w = live_worker_new(s, &spec);
    raw_await(s->server->redis, w->base, 0, "LLEN %s:queues:q", s->prefix);
    raw_await(s->server->redis, w->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    assert_quiet(s, w);
    assert_in_range(connections(s) - before, 1, BREAKS_MAX + 2);
    assert_int_equal(n_told, 1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
    live_worker_stop(s, w, 0);
}

static void a_worker_with_many_hands_comes_down_to_what_goes(void **state)
{
    work(*state, (struct worker_spec){.hands = 20}, &three_go);
}

static void a_worker_that_takes_ahead_comes_down_to_what_goes(void **state)
{
    work(*state, (struct worker_spec){.hands = 4, .prefetch = 300}, &three_go);
}

static void a_worker_that_takes_hundreds_ahead_comes_down_to_what_goes(void **state)
{
    work(*state, (struct worker_spec){.hands = 4, .prefetch = 300}, &hundreds_go);
}

static void a_worker_by_next_comes_down_to_what_goes(void **state)
{
    work(*state, (struct worker_spec){.hands = 64, .by_next = true}, &three_go);
}

/* ---- leases ---- */

static int finish_taken(const struct muster_process_info *p, void *n)
{
    (void)p;
    ++*(int *)n;
    return 0;
}

static void take_all(struct scene *s, size_t at_once, const struct load *load)
{
    const int64_t before = connections(s);
    int n = 0, err;
    enqueue_all(s, load);
    do
        err = muster_lease_take(s->client, "q", at_once, LEASE_MS, 0, finish_taken, &n);
    while (err == MUSTER_OK);
    assert_int_equal(err, MUSTER_E_NOT_FOUND);
    assert_int_equal(n, load->n);
    assert_in_range(connections(s) - before, 1, BREAKS_MAX);
}

static void a_client_that_takes_many_comes_down_to_what_goes(void **state)
{
    take_all(*state, 100, &three_go);
}

static void a_client_that_takes_hundreds_comes_down_to_what_goes(void **state)
{
    take_all(*state, 300, &hundreds_go);
}

static void note_together(enum muster_log_level level, const char *line, void *is_told)
{
    (void)level;
    *(bool *)is_told |= strstr(line, "together") != NULL;
}

/* With a limit that is far from what they have, the connection ended for another reason. */
static void what_redis_sends_together_is_not_told_as_too_much(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct muster_client *c;
    int n = 0;
    bool is_told = false;
    enqueue_all(s, &three_go);
    limited_set(s, "normal 256mb 0 0");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = proxy.url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_lease_take(c, "q", 1, LEASE_MS, 0, finish_taken, &n));
    proxy_trap(&proxy, lua_scripts[SCRIPT_TAKE].sha1, PROXY_REPLIES);
    muster_log_set(note_together, &is_told);
    assert_ok(muster_lease_take(c, "q", 20, LEASE_MS, 0, finish_taken, &n));
    muster_log_set(NULL, NULL);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_int_equal(n, 21);
    assert_false(is_told);
    muster_client_free(c);
    proxy_stop(&proxy);
}

static void a_worker_is_not_told_that_what_redis_sends_together_is_too_much(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    int n_told = 0;
    struct worker_spec spec = {
        .id = "w1", .ttl_ms = 3000, .hands = 20, .answer = MUSTER_FINISH, .on_event = count_told, .arg = &n_told};
    spec.queues[0].name = "other";
    live_worker_stop(s, live_worker_idle(s, &spec), 0); /* Redis knows the script from now on */
    enqueue_all(s, &three_go);
    limited_set(s, "normal 256mb 0 0");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    proxy_trap(&proxy, lua_scripts[SCRIPT_TURN].sha1, PROXY_REPLIES);
    spec.url = proxy.url;
    spec.queues[0].name = "q";
    struct live_worker *w = live_worker_new(s, &spec);
    raw_await(s->server->redis, w->base, 0, "LLEN %s:queues:q", s->prefix);
    raw_await(s->server->redis, w->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_int_equal(n_told, 0);
    live_worker_stop(s, w, 0);
    proxy_stop(&proxy);
}

struct answers {
    int n, err;
};

static void note_answer(const struct muster_answer *answer, void *arg)
{
    struct answers *a = arg;
    a->err = answer->err;
    a->n += (int)answer->n;
}

/* Some calls at once, each for so many. */
static void take_all_async(struct scene *s, int calls, size_t each, const struct load *load)
{
    struct muster_async *a;
    struct answers answers = {0};
    const struct muster_client_options client = {.size = sizeof client, .url = s->server->url, .prefix = s->prefix};
    const int64_t before = connections(s);
    enqueue_all(s, load);
    assert_ok(muster_async_new(
        &a, &(struct muster_async_options){.size = sizeof(struct muster_async_options), .client = &client}));
    for (int left; answers.err != MUSTER_E_NOT_FOUND;) {
        for (left = 0; left < calls; left++)
            assert_ok(muster_async_take(a, "q", each, LEASE_MS, 0, note_answer, &answers));
        while (left > 0) {
            assert_ok(muster_async_wait(a, 60000));
            left -= muster_async_dispatch(a, 0);
        }
    }
    muster_async_free(a);
    assert_int_equal(answers.n + raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix), load->n);
    assert_in_range(connections(s) - before, 1, BREAKS_MAX);
}

static void asynchronous_takes_come_down_to_what_goes(void **state)
{
    take_all_async(*state, 10, 10, &three_go);
}

static void asynchronous_takes_of_hundreds_come_down_to_what_goes(void **state)
{
    take_all_async(*state, 1, 300, &hundreds_go);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        limited_test(a_worker_with_many_hands_comes_down_to_what_goes),
        limited_test(a_worker_that_takes_ahead_comes_down_to_what_goes),
        limited_test(a_worker_that_takes_hundreds_ahead_comes_down_to_what_goes),
        limited_test(a_worker_by_next_comes_down_to_what_goes),
        limited_test(a_client_that_takes_many_comes_down_to_what_goes),
        limited_test(a_client_that_takes_hundreds_comes_down_to_what_goes),
        limited_test(what_redis_sends_together_is_not_told_as_too_much),
        limited_test(a_worker_is_not_told_that_what_redis_sends_together_is_too_much),
        limited_test(asynchronous_takes_come_down_to_what_goes),
        limited_test(asynchronous_takes_of_hundreds_come_down_to_what_goes),
    };
    return scene_run(tests, argc, argv);
}
