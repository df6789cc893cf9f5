/* SPDX-License-Identifier: MIT
 *
 * muster_client_interrupt(): it ends whatever call waits, from any thread and from a signal handler; none is lost, and
 * none ends two calls. What Redis took for a call that was interrupted is given back. The client is sound afterwards.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_server.h"
#include "invariant.h"
#include "jobs.h"
#include "proxy.h"
#include "taken.h"

#define AN_HOUR 3600000
/* Longer than anything here takes. */
#define LONG_WAIT 30000

struct waiter {
    struct muster_client *client;
    int (*call)(struct waiter *w);
    uint64_t sent_before;
    pthread_t thread;
    atomic_bool has_returned;
    int err;
    struct taken taken;
};

static void *run(void *arg)
{
    struct waiter *w = arg;
    w->err = w->call(w);
    atomic_store(&w->has_returned, true);
    return NULL;
}

static uint64_t sent(const struct muster_client *c)
{
    struct muster_client_stats stats = {.size = sizeof stats};
    assert_ok(muster_client_stats(c, &stats));
    return stats.commands;
}

static void begin(struct waiter *w, struct muster_client *c, int (*call)(struct waiter *w))
{
    *w = (struct waiter){.client = c, .call = call, .sent_before = sent(c)};
    assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
}

static bool has_sent(void *arg)
{
    const struct waiter *w = arg;
    return sent(w->client) > w->sent_before;
}

/* It has asked Redis for something since it began. */
static void await_sent(struct waiter *w)
{
    wait_until(has_sent, w, SOON_MS);
}

static bool has_returned(void *arg)
{
    return atomic_load(&((struct waiter *)arg)->has_returned);
}

/* What it returned. */
static int end(struct waiter *w)
{
    wait_until(has_returned, w, SOON_MS);
    pthread_join(w->thread, NULL);
    return w->err;
}

static int interrupt_and_end(struct waiter *w)
{
    assert_false(has_returned(w));
    assert_ok(muster_client_interrupt(w->client));
    return end(w);
}

static struct muster_client *client_at(struct scene *s, const char *url, int timeout_ms)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

/* ---- the calls ---- */

static int wait_for_a_task(struct waiter *w)
{
    return muster_lease_take(w->client, "q", 1, AN_HOUR, LONG_WAIT, taken_add, &w->taken);
}

static int take(struct waiter *w)
{
    return muster_lease_take(w->client, "q", 2, AN_HOUR, 0, taken_add, &w->taken);
}

static int listen_to_the_queue(struct waiter *w)
{
    return muster_queue_listen(w->client, "q", LONG_WAIT, NULL, NULL, NULL);
}

static int listen_to_jobs(struct waiter *w)
{
    return muster_job_listen(w->client, NULL, LONG_WAIT, NULL, NULL, NULL);
}

static int wait_for_a_job(struct waiter *w)
{
    return muster_job_wait(w->client, (const char *const[]){"j"}, 1, -1, NULL, NULL);
}

static int count_what_waits(struct waiter *w)
{
    uint64_t waiting;
    return muster_queue_length(w->client, "q", &waiting);
}

static int enqueue(struct waiter *w)
{
    return muster_task_enqueue(w->client, "q", "t", 1, NULL);
}

/* ---- what is ended ---- */

static void assert_is_usable(struct muster_client *c)
{
    uint64_t waiting;
    assert_ok(muster_queue_length(c, "q", &waiting));
    assert_int_equal(muster_client_interrupt_take_back(c), 0);
}

static void what_waits_ends_at_once_and_its_client_goes_on(void **state)
{
    struct scene *s = *state;
    job_put(s, "elsewhere", "j", NULL);
    const struct {
        int (*call)(struct waiter *w);
        const char *key, *field; /* where Redis says that somebody listens */
    } calls[] = {
        {wait_for_a_task, "queue:q", "listen"},
        {listen_to_the_queue, "queue:q", "listen"},
        {listen_to_jobs, "config", "listen"},
        {wait_for_a_job, "config", "listen"},
    };
    for (size_t i = 0; i < N_OF(calls); i++) {
        struct waiter w;
        struct muster_client *c = scene_client(s);
        raw_do(s->server->redis, "HDEL %s:%s %s", s->prefix, calls[i].key, calls[i].field);
        begin(&w, c, calls[i].call);
        raw_await(s->server->redis, NULL, 1, "HEXISTS %s:%s %s", s->prefix, calls[i].key, calls[i].field);
        assert_err(interrupt_and_end(&w), MUSTER_E_INTERRUPTED);
        assert_non_null(strstr(muster_client_error(c), "interrupted"));
        assert_is_usable(c);
        muster_client_free(c);
    }
}

static void an_interrupt_that_comes_early_ends_the_next_call_which_sends_nothing(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    assert_is_usable(c);
    int64_t before = redis_server_calls(s->server, NULL);
    for (int i = 0; i < 3; i++)
        assert_ok(muster_client_interrupt(c)); /* they are one */
    assert_err(muster_task_enqueue(c, "q", "t", 1, NULL), MUSTER_E_INTERRUPTED);
    assert_int_equal(redis_server_calls(s->server, NULL), before);
    assert_ok(muster_task_enqueue(c, "q", "t", 1, NULL));
    assert_int_equal(scene_waiting(s, "q"), 1);
    muster_client_free(c);
}

static void an_interrupt_that_is_taken_back_ends_nothing(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    assert_int_equal(muster_client_interrupt_take_back(c), 0);
    assert_ok(muster_client_interrupt(c));
    assert_int_equal(muster_client_interrupt_take_back(c), 1);
    assert_is_usable(c);
    muster_client_free(c);
}

/* A server that says nothing, sentinels that are not there: connecting, and looking for a master. */
static void connecting_ends_too(void **state)
{
    struct scene *s = *state;
    struct fake_server silent;
    char refuses[64], sentinels[128];
    int held = fake_server_refuse(refuses);
    fake_server_start(&silent, NULL);
    snprintf(sentinels, sizeof sentinels, "redis+sentinel://%s/main", refuses + strlen("redis://"));
    const char *const urls[] = {silent.url, sentinels};
    for (size_t i = 0; i < N_OF(urls); i++) {
        struct waiter w;
        struct muster_client *c = client_at(s, urls[i], 4 * SOON_MS);
        begin(&w, c, count_what_waits);
        run_loop(s->base, 50); /* in whatever it does then */
        assert_err(interrupt_and_end(&w), MUSTER_E_INTERRUPTED);
        muster_client_free(c);
    }
    fake_server_stop(&silent);
    close(held);
}

/* ---- signals ---- */

static struct muster_client *_Atomic signalled;

static void on_signal(int signo)
{
    (void)signo;
    (void)muster_client_interrupt(signalled);
}

static void a_signal_handler_of_the_same_thread_ends_the_call(void **state)
{
    struct scene *s = *state;
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct waiter w;
    signalled = scene_client(s);
    sigaction(SIGUSR1, &action, &before);
    begin(&w, signalled, wait_for_a_task);
    raw_await(s->server->redis, NULL, 1, "HEXISTS %s:queue:q listen", s->prefix);
    pthread_kill(w.thread, SIGUSR1);
    assert_err(end(&w), MUSTER_E_INTERRUPTED);
    sigaction(SIGUSR1, &before, NULL);
    muster_client_free(signalled);
}

/* ---- what was taken ---- */

struct play {
    struct proxy proxy;
    struct muster_client *c;
};

static void play_begin(struct play *p, struct scene *s)
{
    proxy_start(&p->proxy, s->server->dir, s->server->socket);
    p->c = client_at(s, p->proxy.url, 0);
    assert_is_usable(p->c);
    struct waiter w = {.client = p->c};
    assert_err(take(&w), MUSTER_E_NOT_FOUND); /* Redis knows the script */
    scene_enqueue_n(s, "q", "t", 3);
}

static void play_end(struct play *p)
{
    muster_client_free(p->c);
    proxy_stop(&p->proxy);
}

static void what_redis_took_is_back_when_the_call_returns(void **state)
{
    static const int ways[] = {PROXY_REPLIES, PROXY_REQUESTS};
    struct scene *s = *state;
    struct play p;
    struct waiter w;
    play_begin(&p, s);
    for (size_t i = 0; i < N_OF(ways); i++) {
        assert_int_equal(proxy_swallow(&p.proxy, PROXY_DATA, ways[i]), 1);
        begin(&w, p.c, take);
        await_sent(&w);
        if (ways[i] == PROXY_REPLIES)
            raw_await(s->server->redis, NULL, 2, "HLEN %s:processing:.lease:q", s->prefix);
        assert_err(interrupt_and_end(&w), MUSTER_E_INTERRUPTED);
        assert_int_equal(w.taken.n, 0);
        assert_string_equal(muster_client_error(p.c), "interrupted; nothing is left taken");
        assert_int_equal(queue_row_of(s, "q").running, 0);
        assert_queue_holds(s, "q", "t0 t1 t2 ");
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:suspects:q", s->prefix), 0);
    }
    assert_is_usable(p.c);
    play_end(&p);
    invariant_assert(s->server->redis, s->prefix);
}

static int interrupt_at_the_first(const struct muster_process_info *p, void *arg)
{
    struct waiter *w = arg;
    if (w->taken.n == 0)
        assert_ok(muster_client_interrupt(w->client));
    return taken_add(p, &w->taken);
}

#define LARGE 200000

/* Large tasks come in several answers. */
static void what_was_handed_out_before_stays_taken_and_the_words_say_so(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    struct waiter w = {.client = c};
    char *large = calloc(1, LARGE), words[80];
    for (int i = 0; i < 40; i++)
        assert_ok(muster_task_enqueue(c, "q", large, LARGE, NULL));
    free(large);
    assert_err(muster_lease_take(c, "q", 40, AN_HOUR, 0, interrupt_at_the_first, &w), MUSTER_E_INTERRUPTED);
    assert_in_range(w.taken.n, 1, 39);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix), w.taken.n);
    snprintf(words, sizeof words, "interrupted; %zu were handed out; nothing else is left taken", w.taken.n);
    assert_string_equal(muster_client_error(c), words);
    muster_client_free(c);
}

/* Redis stands still: it cannot be asked, and says so. Whichever comes first gives back. */
static void without_an_answer_the_next_take_or_the_free_gives_back(void **state)
{
    struct scene *s = *state;
    for (int frees = 0; frees < 2; frees++) {
        struct play p;
        struct waiter w;
        raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
        play_begin(&p, s);
        assert_int_equal(proxy_swallow(&p.proxy, PROXY_DATA, PROXY_REPLIES), 1);
        begin(&w, p.c, take);
        raw_await(s->server->redis, NULL, 2, "HLEN %s:processing:.lease:q", s->prefix);
        redis_server_freeze(s->server);
        int err = interrupt_and_end(&w);
        redis_server_thaw(s->server);
        assert_err(err, MUSTER_E_INTERRUPTED);
        assert_non_null(strstr(muster_client_error(p.c), "goes back with the next take"));
        if (!frees) {
            w.taken.n = 0;
            assert_ok(take(&w));
            assert_int_equal(w.taken.n, 2);
            assert_string_equal(w.taken.rows[0].task, "t0");
            for (size_t k = w.taken.n; k-- > 0;)
                assert_ok(muster_lease_give_back(p.c, w.taken.rows[k].id));
        } else {
            assert_ok(muster_client_interrupt(p.c)); /* the free does not mind */
        }
        play_end(&p);
        assert_int_equal(queue_row_of(s, "q").running, 0);
        assert_int_equal(take_n(s, "q", 3, AN_HOUR, &w.taken), MUSTER_OK);
        assert_int_equal(w.taken.n, 3);
        for (size_t k = 0; k < w.taken.n; k++)
            assert_ok(muster_lease_finish(s->client, w.taken.rows[k].id, NULL));
    }
    invariant_assert(s->server->redis, s->prefix);
}

/* At whatever moment it comes: what Redis says is held is what the caller got. */
static void at_any_moment_nothing_is_held_that_the_caller_does_not_know(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = scene_client(s);
    int n_ended = 0, n_got = 0;
    for (int i = 0; i < 400; i++) {
        struct waiter w;
        begin(&w, c, wait_for_a_task);
        if (i % 2)
            raw_await(s->server->redis, NULL, 1, "ZCARD %s:takers:q", s->prefix);
        scene_enqueue(s, "q", "t");
        for (int64_t until = clock_us() + i * 5; clock_us() < until;)
            ;
        (void)muster_client_interrupt(c);
        int err = end(&w);
        (void)muster_client_interrupt_take_back(c);
        assert_true(err == MUSTER_OK || err == MUSTER_E_INTERRUPTED);
        assert_int_equal(w.taken.n, err == MUSTER_OK);
        assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:.lease:q", s->prefix), err == MUSTER_OK);
        n_got += err == MUSTER_OK;
        n_ended += err != MUSTER_OK;
        assert_ok(muster_lease_finish(s->client, err == MUSTER_OK ? w.taken.rows[0].id : take_one(s, "q", "t"), NULL));
    }
    muster_client_free(c);
    assert_true(n_got > 0 && n_ended > 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- other changes ---- */

/* It may have been done: what was asked for is there, or not, and the client does not take a late answer for another. */
static void a_change_that_is_interrupted_may_have_been_made(void **state)
{
    struct scene *s = *state;
    struct play p;
    struct waiter w;
    uint64_t waiting;
    play_begin(&p, s);
    assert_int_equal(proxy_swallow(&p.proxy, PROXY_DATA, PROXY_REPLIES), 1);
    begin(&w, p.c, enqueue);
    scene_await_waiting(s, "q", 4);
    assert_err(interrupt_and_end(&w), MUSTER_E_INTERRUPTED);
    assert_ok(muster_queue_length(p.c, "q", &waiting));
    assert_int_equal(waiting, 4);
    play_end(&p);
}

static void a_connection_that_was_handed_in_is_broken_only_if_an_answer_was_to_come(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    struct waiter w;
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    assert_ok(muster_client_new(&c, &o));
    assert_is_usable(c);
    assert_ok(muster_client_interrupt(c));
    assert_err(count_what_waits(&(struct waiter){.client = c}), MUSTER_E_INTERRUPTED);
    assert_is_usable(c);
    redis_server_freeze(s->server);
    begin(&w, c, count_what_waits);
    await_sent(&w);
    int err = interrupt_and_end(&w);
    redis_server_thaw(s->server);
    assert_err(err, MUSTER_E_INTERRUPTED);
    assert_int_not_equal(redis->err, 0);
    assert_err(count_what_waits(&(struct waiter){.client = c}), MUSTER_E_CONN);
    muster_client_free(c);
    redisFree(redis);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(what_waits_ends_at_once_and_its_client_goes_on),
        live_test(an_interrupt_that_comes_early_ends_the_next_call_which_sends_nothing),
        live_test(an_interrupt_that_is_taken_back_ends_nothing),
        live_test(connecting_ends_too),
        live_test(a_signal_handler_of_the_same_thread_ends_the_call),
        live_test(what_redis_took_is_back_when_the_call_returns),
        live_test(what_was_handed_out_before_stays_taken_and_the_words_say_so),
        live_test(without_an_answer_the_next_take_or_the_free_gives_back),
        live_test(at_any_moment_nothing_is_held_that_the_caller_does_not_know),
        live_test(a_change_that_is_interrupted_may_have_been_made),
        live_test(a_connection_that_was_handed_in_is_broken_only_if_an_answer_was_to_come),
    };
    return scene_run(tests, argc, argv);
}
