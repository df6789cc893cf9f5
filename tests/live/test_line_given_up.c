/* SPDX-License-Identifier: MIT
 *
 * A slow line at which somebody has given up a large request. What the kernel held of it, up to megabytes, does not go on
 * over the line: it would hold up the next connection, which asks for the same, and everybody else there.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"

/* More than a kernel takes at once, which is 4 MiB. */
#define LARGE ((size_t)5 * 1024 * 1024)
/* So little that nothing counts as progress. */
#define DRIP 4096
#define DRIP_MS 200
#define TIMEOUT_MS 700
#define LONG_MS 600000

static struct proxy proxy;
static char *large;

static int begin(void **state)
{
    int err = scene_begin(state);
    struct scene *s = *state;
    large = calloc(1, LARGE);
    assert_non_null(large);
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
    proxy_pace_requests(&proxy, PROXY_DATA, DRIP, DRIP_MS, PROXY_WAIT);
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

static void a_call_that_has_had_its_time(void **state)
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
    while (arrived(caller->scene) - caller->before < DRIP)
        run_loop(NULL, 10);
    assert_ok(muster_client_interrupt(caller->client));
    return NULL;
}

static void a_call_that_was_interrupted(void **state)
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

static void an_asynchronous_call(void **state)
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

static enum muster_outcome finish_with_large(struct muster_process *p, void *arg)
{
    (void)arg;
    assert_ok(muster_process_set_result(p, large, LARGE));
    return MUSTER_FINISH;
}

static void a_worker(void **state)
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

#define line_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        line_test(a_call_that_has_had_its_time),
        line_test(a_call_that_was_interrupted),
        line_test(an_asynchronous_call),
        line_test(a_worker),
    };
    return scene_run(tests, argc, argv);
}
