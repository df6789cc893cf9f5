/* SPDX-License-Identifier: MIT
 *
 * A worker behind a slow line: what takes longer than its ttl to be sent, or to come, costs it neither its life nor its
 * work, though its heartbeats wait behind it, and a peer looks for the dead. And what is given up goes on over it no more.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "jobs.h"
#include "live_worker.h"
#include "protocol/script.h"
#include "proxy.h"
#include "slow.h"
#include "taken.h"
#include "worker/worker.h"
#include "worker_process.h"

#define LARGE ((size_t)5 * 1024 * 1024)
#define TTL_MS slow_ms(2000)
/* So the large one takes two and a half ttls. */
#define DRIP ((int)(LARGE / 320))
#define DRIP_MS slow_ms(16)

static struct proxy proxy;
static char *large;

static int begin(void **state)
{
    int err = scene_begin(state);
    struct scene *s = *state;
    large = malloc(LARGE);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    proxy_start_tcp(&proxy, redis_server_free_port(), 0);
    proxy_lead(&proxy, s->server->socket);
    return err;
}

static int end(void **state)
{
    int err = scene_end(state);
    proxy_stop(&proxy);
    free(large);
    return err;
}

static enum muster_outcome finish_with_large(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_process_set_result(p, large, LARGE));
    return MUSTER_FINISH;
}

static enum muster_outcome finish(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return MUSTER_FINISH;
}

/* The one behind the line, and a peer that is not. */
static struct live_worker *workers(struct scene *s, muster_handler_fn *handler)
{
    live_worker_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .url = proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}, .handler = handler});
}

static void assert_no_event(struct scene *s, enum muster_event_type type)
{
    assert_null(journal_find(s->journal, 0, JOURNAL_EVENT, (int)type, NULL, NULL));
}

static void assert_lived(struct scene *s)
{
    assert_no_event(s, MUSTER_EVENT_DOUBT);
    assert_no_event(s, MUSTER_EVENT_LOST);
    assert_no_event(s, MUSTER_EVENT_SWEPT);
    assert_int_equal(scene_starts(s), 1);
}

static void assert_nothing_happened_to(struct scene *s)
{
    assert_lived(s);
    assert_no_event(s, MUSTER_EVENT_DOWN);
}

static void a_result_that_takes_longer_than_a_ttl_arrives(void **state)
{
    struct scene *s = *state;
    workers(s, finish_with_large);
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_WAIT);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    assert_nothing_happened_to(s);
}

#define MIDDLE (LARGE * 2 / 5)

static enum muster_outcome finish_with_middle(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_process_set_result(p, large, MIDDLE));
    return MUSTER_FINISH;
}

/* Then nothing of it shows here: so it is waited for longer each time. */
static void a_result_that_somebody_in_between_holds_arrives(void **state)
{
    struct scene *s = *state;
    workers(s, finish_with_middle);
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_HOARD);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    assert_lived(s);
}

#define PIECE ((size_t)32 * 1024)

/* Each is small. */
static enum muster_outcome hand_on_in_pieces(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct muster_job_spec spec = {.size = sizeof spec, .data = {large, PIECE}};
    journal_process(w->journal, JOURNAL_START, 0, p);
    for (size_t i = 0; i < LARGE / PIECE; i++)
        assert_ok(muster_worker_put(w->worker, "next", &spec, NULL, NULL));
    return MUSTER_FINISH;
}

static void much_that_is_small_arrives(void **state)
{
    struct scene *s = *state;
    workers(s, hand_on_in_pieces);
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_WAIT);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    assert_nothing_happened_to(s);
}

/* What it has sent of it counts for nothing, and its death against nobody: the next one is done with it at once. */
static void one_that_dies_while_it_sends_a_result_has_not_ended(void **state)
{
    struct scene *s = *state;
    struct live_worker *peer =
        live_worker_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    struct worker_process *w = worker_process_idle(
        s, &(struct worker_spec){
               .id = "w1", .url = proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}, .handler = finish_with_large});
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_WAIT);
    int64_t before = redis_server_info(s->server, "total_net_input_bytes");
    job_put(s, "q", "a", "data", "small");
    while (redis_server_info(s->server, "total_net_input_bytes") - before < (int64_t)LARGE / 4)
        run_loop(s->base, 10);
    worker_process_kill(w);
    job_assert(s, "a", "state", "running");
    assert_ok(live_worker_serve(peer, "q", 0));
    job_await(s, "a", "state", "complete");
    assert_int_equal(scene_starts(s), 2);
    job_assert(s, "a", "crashes", "");
    job_assert(s, "a", "result", "");
}

/* The heartbeat's answer is late, and its echo later. */
static void an_echo_that_is_late_breaks_nothing(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = workers(s, finish_with_large);
    proxy_pace(&proxy, PROXY_SUBSCRIPTION, DRIP, slow_ms(100));
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_WAIT);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    live_worker_await_beats(s, w, 2);
    assert_nothing_happened_to(s);
}

static void a_task_that_takes_longer_than_a_ttl_comes(void **state)
{
    struct scene *s = *state;
    workers(s, finish);
    proxy_pace(&proxy, PROXY_DATA, DRIP, DRIP_MS);
    assert_ok(muster_task_enqueue(s->client, "q", large, LARGE, NULL));
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    assert_nothing_happened_to(s);
}

/* So does one for somebody who is no worker, and takes it under a lease. */
static void a_task_that_takes_longer_than_its_lease_comes(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    struct muster_client *direct = s->client;
    workers(s, finish);
    const struct muster_client_options o = {.size = sizeof o, .url = proxy.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&s->client, &o));
    assert_ok(muster_task_enqueue(s->client, "leased", large, LARGE, NULL));
    proxy_pace(&proxy, PROXY_DATA, DRIP, DRIP_MS);
    assert_ok(take_n(s, "leased", 1, TTL_MS, &taken));
    assert_int_equal(taken.rows[0].len, LARGE);
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
    assert_int_equal(queue_row_of(s, "leased").stalled, 0);
    muster_client_free(s->client);
    s->client = direct;
}

static bool is_hasty(void *worker)
{
    const struct muster_worker *w = worker;
    return w->heartbeat.interval_ms < w->ttl_ms / 6;
}

/* So little comes between two heartbeats of the shortest ttl here that it is large only in sum. */
static void a_task_comes_beside_a_peer_of_a_shorter_ttl(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = workers(s, finish);
    live_worker_idle(s, &(struct worker_spec){.id = "hasty", .ttl_ms = TTL_MS / 4, .queues = {{"other", 0}}});
    wait_on(s->base, is_hasty, w->worker, SOON_MS);
    proxy_pace(&proxy, PROXY_DATA, DRIP / 2, DRIP_MS);
    assert_ok(muster_task_enqueue(s->client, "q", large, LARGE / 2, NULL));
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    assert_null(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_LOST, "w1", NULL));
    assert_null(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, "w1", NULL));
}

/* What a link calls silence, as long as nothing large was silent before. */
static int silence_ms(void)
{
    const int ms = TTL_MS * 2 / 3;
    return ms < 5000 ? ms : 5000;
}

/* It takes half as long again as the silence, and is less than a sign of life. So it is waited for longer each time. */
static void a_task_of_which_too_little_comes_at_a_time_comes(void **state)
{
    struct scene *s = *state;
    const int len = 200000, each_ms = 16;
    workers(s, finish);
    proxy_pace(&proxy, PROXY_DATA, len * each_ms / silence_ms() * 2 / 3, each_ms);
    assert_ok(muster_task_enqueue(s->client, "q", large, (size_t)len, NULL));
    scene_await_starts(s, 1);
    scene_await_idle(s, "q", "w1");
    assert_lived(s);
}

#define SMALL ((size_t)60000)

static enum muster_outcome finish_with_small(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_process_set_result(p, large, SMALL));
    return MUSTER_FINISH;
}

/* It is less than what counts as large, and takes half as long again as the silence. */
static void a_result_that_is_not_large_arrives(void **state)
{
    struct scene *s = *state;
    const int each_ms = 16;
    workers(s, finish_with_small);
    /* This brings all scripts that it needs, and a new connection the rest. */
    job_put(s, "q", "before", "data", "small");
    job_await(s, "before", "state", "complete");
    proxy_cut(&proxy, PROXY_DATA);
    scene_await_events(s, MUSTER_EVENT_UP, "w1", 1);
    scene_await_idle(s, "q", "w1");
    proxy_pace_requests(&proxy, PROXY_DATA, (int)SMALL * each_ms / silence_ms() * 2 / 3, each_ms, PROXY_WAIT);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    assert_no_event(s, MUSTER_EVENT_DOUBT);
    assert_no_event(s, MUSTER_EVENT_LOST);
    assert_no_event(s, MUSTER_EVENT_SWEPT);
    assert_int_equal(scene_starts(s), 2);
}

/* Redis has forgotten it, so it goes with its whole text. */
static void a_worker_whose_first_script_takes_longer_than_the_silence_begins(void **state)
{
    struct scene *s = *state;
    const int len = (int)lua_scripts[SCRIPT_START].len, each_ms = 16;
    live_worker_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    raw_do(s->server->redis, "SCRIPT FLUSH");
    scene_enqueue(s, "other", "x"); /* this brings other scripts back */
    scene_await_starts(s, 1);
    scene_await_idle(s, "other", "peer");
    proxy_pace_requests(&proxy, PROXY_DATA, len * each_ms / silence_ms() * 2 / 3, each_ms, PROXY_WAIT);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .url = proxy.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
}

/* That it has no more to do begins no time in which it must be gone. */
static void end_after_the_last_task(struct scene *s, muster_handler_fn *handler, enum proxy_where where)
{
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                                      .url = proxy.url,
                                                                      .ttl_ms = TTL_MS,
                                                                      .drain_ms = 1,
                                                                      .queues = {{"q", 0}},
                                                                      .more = {.max_tasks = 1},
                                                                      .handler = handler});
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, where);
    job_put(s, "q", "a", "data", "small");
    job_await(s, "a", "state", "complete");
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_err(w->stop_err, MUSTER_OK);
    assert_int_equal(scene_starts(s), 1);
}

static void a_worker_that_ends_after_its_last_task_sends_its_result(void **state)
{
    end_after_the_last_task(*state, finish_with_large, PROXY_WAIT);
}

/* Between two connections nothing of it is under way. */
static void a_worker_that_ends_after_its_last_task_sends_its_result_again(void **state)
{
    end_after_the_last_task(*state, finish_with_middle, PROXY_HOARD);
}

static enum muster_outcome hand_on_large(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    assert_ok(muster_worker_enqueue(w->worker, "other", large, LARGE, NULL, NULL));
    return MUSTER_FINISH;
}

/* The end waits for what goes before it. */
static void a_worker_that_ends_after_its_last_task_hands_on_what_that_has_made(void **state)
{
    end_after_the_last_task(*state, hand_on_large, PROXY_WAIT);
}

/* ---- what is given up ---- */

/* So little that nothing counts as progress. */
#define GIVEN_UP_DRIP 4096
#define GIVEN_UP_DRIP_MS 200
#define TIMEOUT_MS 700
#define LONG_MS 600000

/* A kernel takes 4 MiB of a request at once. They would hold up the next connection, which asks for the same, and everybody
 * else there. */
static int64_t arrived(struct scene *s)
{
    return redis_server_info(s->server, "total_net_input_bytes");
}

/* The line is quick again, but for new connections. So all that was still on its way arrives, and the connection ends. */
static void assert_little_arrives(struct scene *s, int64_t before)
{
    proxy_pace_requests(&proxy, 0, 0, 0, PROXY_WAIT);
    while (proxy_count(&proxy).data > 0)
        run_loop(s->base, 10);
    assert_in_range(arrived(s) - before, 0, LARGE / 2);
}

static void stop_the_line(void)
{
    proxy_pace_requests(&proxy, PROXY_DATA, GIVEN_UP_DRIP, GIVEN_UP_DRIP_MS, PROXY_WAIT);
}

static struct muster_client *client_of(struct scene *s, int timeout_ms)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = proxy.url, .prefix = s->prefix, .timeout_ms = timeout_ms};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "small", 5, NULL));
    return c;
}

static void nothing_goes_on_of_a_call_that_has_had_its_time(void **state)
{
    struct scene *s = *state;
    struct muster_client *c = client_of(s, TIMEOUT_MS);
    int64_t before = arrived(s);
    stop_the_line();
    assert_err(muster_task_enqueue(c, "q", large, LARGE, NULL), MUSTER_E_TIMEOUT);
    assert_little_arrives(s, before);
    muster_client_free(c);
}

struct caller {
    struct scene *scene;
    struct muster_client *client;
    int64_t before;
};

static void *interrupt_when_some_has_arrived(void *arg)
{
    struct caller *caller = arg;
    while (arrived(caller->scene) - caller->before < GIVEN_UP_DRIP)
        run_loop(NULL, 10);
    assert_ok(muster_client_interrupt(caller->client));
    return NULL;
}

static void nothing_goes_on_of_a_call_that_was_interrupted(void **state)
{
    struct scene *s = *state;
    struct caller caller = {s, client_of(s, LONG_MS), arrived(s)};
    pthread_t thread;
    stop_the_line();
    assert_int_equal(pthread_create(&thread, NULL, interrupt_when_some_has_arrived, &caller), 0);
    assert_err(muster_task_enqueue(caller.client, "q", large, LARGE, NULL), MUSTER_E_INTERRUPTED);
    pthread_join(thread, NULL);
    assert_little_arrives(s, caller.before);
    muster_client_free(caller.client);
}

static void nothing_goes_on_of_an_asynchronous_call(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, proxy.url, TIMEOUT_MS, NULL);
    answers_enqueue(&as, "q", "small", NULL);
    answers_await(&as, 1);
    int64_t before = arrived(s);
    stop_the_line();
    assert_ok(muster_async_enqueue(as.async, "q", large, LARGE, answers_fn, NULL));
    proxy_refuse(&proxy);
    answers_await(&as, 2);
    assert_err(as.last.err, MUSTER_E_TIMEOUT);
    assert_little_arrives(s, before);
    answers_close(&as);
}

static void nothing_goes_on_of_a_connection_of_a_worker(void **state)
{
    struct scene *s = *state;
    live_worker_idle(
        s, &(struct worker_spec){.id = "w1", .url = proxy.url, .queues = {{"q", 0}}, .handler = finish_with_large});
    int64_t before = arrived(s);
    stop_the_line();
    job_put(s, "q", "a", "data", "small");
    proxy_refuse(&proxy);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 1);
    assert_little_arrives(s, before);
    proxy_accept(&proxy);
    job_await(s, "a", "state", "complete");
}

#define slow_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        slow_test(a_result_that_takes_longer_than_a_ttl_arrives),
        slow_test(a_result_that_somebody_in_between_holds_arrives),
        slow_test(one_that_dies_while_it_sends_a_result_has_not_ended),
        slow_test(a_task_that_takes_longer_than_a_ttl_comes),
        slow_test(a_task_that_takes_longer_than_its_lease_comes),
        slow_test(a_task_of_which_too_little_comes_at_a_time_comes),
        slow_test(a_result_that_is_not_large_arrives),
        slow_test(a_worker_whose_first_script_takes_longer_than_the_silence_begins),
        slow_test(much_that_is_small_arrives),
        slow_test(an_echo_that_is_late_breaks_nothing),
        slow_test(a_task_comes_beside_a_peer_of_a_shorter_ttl),
        slow_test(a_worker_that_ends_after_its_last_task_sends_its_result),
        slow_test(a_worker_that_ends_after_its_last_task_sends_its_result_again),
        slow_test(a_worker_that_ends_after_its_last_task_hands_on_what_that_has_made),
        slow_test(nothing_goes_on_of_a_call_that_has_had_its_time),
        slow_test(nothing_goes_on_of_a_call_that_was_interrupted),
        slow_test(nothing_goes_on_of_an_asynchronous_call),
        slow_test(nothing_goes_on_of_a_connection_of_a_worker),
    };
    return scene_run(tests, argc, argv);
}
