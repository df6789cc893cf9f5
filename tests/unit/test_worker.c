/* SPDX-License-Identifier: MIT
 *
 * The worker without a Redis: which options it takes, and what its calls answer before it is started, while nobody
 * listens where it would connect, and after it has stopped. What it does with tasks is for test_process.c and the live
 * tests.
 */
#include "worker/worker.h"

#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <muster/client.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"
#include "wait.h"

#define NOWHERE "unix:///nonexistent/muster.sock"
#define DAY_MS (24 * 3600 * 1000)

/* The events that a worker told, and what is done when it tells that there is no Redis. */
struct story {
    int down, stopped, last_err;
    void (*when_down)(struct muster_worker *w);
};

static void listen_to(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct story *story = arg;
    story->down += e->type == MUSTER_EVENT_DOWN;
    story->stopped += e->type == MUSTER_EVENT_STOPPED;
    story->last_err = e->err;
    if (e->type == MUSTER_EVENT_DOWN && story->when_down)
        story->when_down(w);
}

static struct muster_worker *new_worker(struct event_base *base, struct story *story)
{
    struct muster_worker *w;
    const struct muster_worker_options o = {
        .size = sizeof o, .url = NOWHERE, .base = base, .on_event = story ? listen_to : NULL, .arg = story};
    assert_ok(muster_worker_new(&w, &o));
    return w;
}

static enum muster_outcome finish(struct muster_process *p, void *arg)
{
    (void)p, (void)arg;
    return MUSTER_FINISH;
}

/* ---- options ---- */

static void bad_options_make_no_worker_and_are_told_in_words(void **state)
{
    /* Refused by a look at them, so none of these needs to be connected. */
    redisAsyncContext one = {0}, two = {0}, broken = {.err = REDIS_ERR_EOF}, attached = {.ev = {.addRead = free}};
#if HIREDIS_MAJOR >= 1
    redisAsyncContext secure = {.c = {.privctx = &one}};
#endif
    const size_t size = sizeof(struct muster_worker_options);
    const struct {
        struct muster_worker_options o;
        const char *words;
    } bad[] = {
        {{.ttl_ms = 1000}, "`size` of a struct muster_worker_options is 0"},
        {{.size = size, .url = "http://h"}, "url: a URL must begin with"},
        {{.size = size, .url = "unix://h"}, "url: a unix URL needs an absolute path"},
        {{.size = size, .prefix = ""}, "prefix is '': "},
        {{.size = size, .prefix = "a:b"}, "prefix is 'a:b': "},
        {{.size = size, .id = ""}, "id is '': "},
        {{.size = size, .id = ".lease"}, "id is '.lease': "},
        {{.size = size, .id = "a:b"}, "id is 'a:b': "},
        {{.size = size, .permanent = 1}, "permanent needs an `id`"},
        {{.size = size, .resume = 1}, "resume needs an `id`"},
        {{.size = size, .ttl_ms = -1}, "ttl_ms is -1; it must be 100 to 86400000"},
        {{.size = size, .ttl_ms = MUSTER_TTL_MIN_MS - 1}, "ttl_ms is 99; it must be 100 to 86400000"},
        {{.size = size, .ttl_ms = DAY_MS + 1}, "ttl_ms is 86400001; it must be 100 to 86400000"},
        {{.size = size, .hands = -1}, "hands is -1; it must be 0 to 10000"},
        {{.size = size, .hands = MUSTER_HANDS_MAX + 1}, "hands is 10001; it must be 0 to 10000"},
        {{.size = size, .threads = -1}, "threads is -1; it must be 0 to 10000"},
        {{.size = size, .threads = MUSTER_HANDS_MAX + 1}, "threads is 10001; it must be 0 to 10000"},
        {{.size = size, .threads = 2, .hands = 3}, "hands is 3, and threads is 2; each hand needs a thread"},
        {{.size = size, .prefetch = -1}, "prefetch is -1; it must be 0 to 10000"},
        {{.size = size, .prefetch = MUSTER_HANDS_MAX}, "hands is 1, and prefetch is 10000; together"},
        {{.size = size, .hands = 5000, .prefetch = 5001}, "hands is 5000, and prefetch is 5001; together"},
        {{.size = size, .hands = INT32_MAX, .prefetch = INT32_MAX}, "hands is 2147483647; it must be"},
        {{.size = size, .drain_ms = -1}, "drain_ms is -1; it must be 0 to "},
        {{.size = size, .limit_ms = -1}, "limit_ms is -1; it must be 0 to "},
        {{.size = size, .limit_ms = INT64_MAX}, "limit_ms is 9223372036854775807; it must be 0 to "},
        {{.size = size, .on_doubt = MUSTER_DOUBT_RUN + 1}, "on_doubt is 2; it must be MUSTER_DOUBT_STOP or"},
        {{.size = size, .id = "w", .on_doubt = MUSTER_DOUBT_RUN, .permanent = 1}, "never in doubt"},
        {{.size = size, .on_limit = MUSTER_LATER}, "on_limit is 4; it must be MUSTER_FAIL, MUSTER_RETRY or"},
        {{.size = size, .data = &one}, "data is given without subscription"},
        {{.size = size, .subscription = &one}, "subscription is given without data"},
        {{.size = size, .data = &one, .subscription = &one}, "data and subscription are one connection"},
        {{.size = size, .data = &broken, .subscription = &two}, "data is broken"},
        {{.size = size, .data = &one, .subscription = &broken}, "subscription is broken"},
        {{.size = size, .data = &attached, .subscription = &two}, "data is broken, or is attached"},
        {{.size = size, .data = &one, .subscription = &attached}, "subscription is broken, or is attached"},
        {{.size = size, .data = &one, .subscription = &two, .hands = -1}, "hands is -1"},
        {{.size = size, .data = &one, .subscription = &two, .replicas = 1}, "give a url"},
        {{.size = size, .data = &one, .subscription = &two, .fsync = 1}, "give a url"},
#if HIREDIS_MAJOR >= 1
        {{.size = size, .data = &one, .subscription = &secure}, "subscription has TLS of its own"},
#endif
    };
    (void)state;
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct muster_worker *w = (struct muster_worker *)&bad[i];
        int err = muster_worker_new(&w, &bad[i].o);
        const char *why = muster_worker_options_check(&bad[i].o);
        if (err != MUSTER_E_INVALID || w || !why || !strstr(why, bad[i].words))
            fail_msg("options %zu: %s: %s, not %s", i, muster_err_name(err), why ? why : "nothing wrong", bad[i].words);
    }
}

/* Otherwise it could turn to another Redis when one of them breaks. */
static void connections_that_are_handed_in_go_before_the_environment(void **state)
{
    redisAsyncContext one = {0}, two = {0};
    const struct muster_worker_options o = {.size = sizeof o, .data = &one, .subscription = &two};
    (void)state;
    assert_return_code(setenv("MUSTER_URL", "nonsense", 1), 0);
    assert_null(muster_worker_options_check(&o));
    assert_non_null(strstr(muster_worker_options_check(NULL), "MUSTER_URL: "));
    struct muster_worker *w;
    assert_err(muster_worker_new(&w, NULL), MUSTER_E_INVALID);
}

/* Their own connection is made by the url, as where the url itself asks for them. */
static void what_needs_a_url_beside_connections_has_it(void **state)
{
    redisAsyncContext one = {0}, two = {0};
    const struct muster_worker_options with[] = {{.url = "redis://h?replicas=1"},
                                                 {.url = "redis://h", .replicas = 1},
                                                 {.url = "redis://h?fsync=1"},
                                                 {.url = "redis://h", .fsync = 1},
                                                 {.url = "redis://h", .password = "secret"}};
    (void)state;
    for (size_t i = 0; i < N_OF(with); i++) {
        struct muster_worker_options o = with[i];
        o.size = sizeof o;
        o.data = &one;
        o.subscription = &two;
        assert_null(muster_worker_options_check(&o));
    }
}

static int forget_environment(void **state)
{
    (void)state;
    return unsetenv("MUSTER_URL") || unsetenv("MUSTER_PREFIX");
}

static void options_at_their_limits_make_one(void **state)
{
    const size_t size = sizeof(struct muster_worker_options);
    const struct muster_worker_options good[] = {
        {.size = size, .ttl_ms = MUSTER_TTL_MIN_MS},     {.size = size, .ttl_ms = DAY_MS},
        {.size = size, .hands = MUSTER_HANDS_MAX},       {.size = size, .prefetch = MUSTER_HANDS_MAX - 1},
        {.size = size, .hands = 5000, .prefetch = 5000}, {.size = size, .drain_ms = INT32_MAX},
    };
    (void)state;
    for (size_t i = 0; i < N_OF(good); i++) {
        struct muster_worker *w = NULL;
        assert_null(muster_worker_options_check(&good[i]));
        assert_ok(muster_worker_new(&w, &good[i]));
        assert_non_null(w);
        muster_worker_free(w);
    }
}

static void without_options_all_is_default(void **state)
{
    struct muster_worker *w, *other;
    (void)state;
    assert_ok(muster_worker_new(&w, NULL));
    assert_ok(muster_worker_new(&other, NULL));
    assert_string_equal(w->prefix, "muster");
    assert_int_equal(w->ttl_ms, MUSTER_TTL_DEFAULT_MS);
    assert_int_equal(w->hands, 1);
    assert_int_equal(w->prefetch, 0);
    assert_int_equal(w->drain_ms, MUSTER_DRAIN_DEFAULT_MS);
    assert_string_equal(muster_worker_error(w), "");
    assert_null(muster_worker_id_check(muster_worker_id(w)));
    assert_string_not_equal(muster_worker_id(w), muster_worker_id(other));
    muster_worker_free(w);
    muster_worker_free(other);
    muster_worker_free(NULL);
}

static void options_of_a_later_version_are_read(void **state)
{
    const struct {
        struct muster_worker_options o;
        int more[16];
    } later = {.o = {.size = sizeof later, .id = "w-1"}};
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_worker_new(&w, &later.o));
    assert_string_equal(muster_worker_id(w), "w-1");
    assert_int_equal(w->ttl_ms, MUSTER_TTL_DEFAULT_MS);
    muster_worker_free(w);
}

static void strings_are_copied(void **state)
{
    char id[] = "w-1", prefix[] = "p";
    const struct muster_worker_options o = {.size = sizeof o, .id = id, .prefix = prefix};
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_worker_new(&w, &o));
    memset(id, 'x', sizeof id);
    memset(prefix, 'x', sizeof prefix);
    assert_string_equal(muster_worker_id(w), "w-1");
    assert_string_equal(w->prefix, "p");
    muster_worker_free(w);
}

/* ---- before the start ---- */

static void a_new_worker_neither_serves_nor_runs(void **state)
{
    const char *const argv[] = {"true", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    assert_err(muster_worker_serve(w, "q", 0, finish, NULL), MUSTER_E_NOT_STARTED);
    assert_err(muster_worker_serve_command(w, "q", &command), MUSTER_E_NOT_STARTED);
    assert_err(muster_worker_run(w), MUSTER_E_STATE);
    assert_int_equal(w->n_served, 0);
    muster_worker_free(w);
}

static void it_starts_once(void **state)
{
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_start(w), MUSTER_E_STATE);
    muster_worker_free(w);
}

static void one_on_the_callers_loop_is_not_run(void **state)
{
    struct event_base *base = event_base_new();
    struct muster_worker *w = new_worker(base, NULL);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_run(w), MUSTER_E_STATE);
    muster_worker_free(w);
    event_base_free(base);
}

/* ---- serving ---- */

static void what_cannot_be_served_is_refused(void **state)
{
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_serve(w, "", 0, finish, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, NULL, 0, finish, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, "a\n", 0, finish, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, "q", -1, finish, NULL), MUSTER_E_INVALID);
    assert_string_equal(muster_worker_error(w), "hands is -1; it must be 0 to 10000");
    assert_err(muster_worker_serve(w, "q", MUSTER_HANDS_MAX + 1, finish, NULL), MUSTER_E_INVALID);
    assert_err(muster_worker_serve(w, "q", 0, NULL, NULL), MUSTER_E_INVALID);
    assert_string_equal(muster_worker_error(w), "a handler is needed, not NULL, but with the option own_thread");
    assert_int_equal(w->n_served, 0);
    assert_ok(muster_worker_serve(w, "q", MUSTER_HANDS_MAX, finish, NULL));
    assert_err(muster_worker_serve(w, "q", 0, finish, NULL), MUSTER_E_EXISTS);
    assert_int_equal(w->n_served, 1);
    muster_worker_free(w);
}

static void a_worker_serves_up_to_1000_queues(void **state)
{
    struct muster_worker *w = new_worker(NULL, NULL);
    char name[16];
    (void)state;
    assert_ok(muster_worker_start(w));
    for (int i = 0; i < MUSTER_WORKER_QUEUES_MAX; i++) {
        snprintf(name, sizeof name, "q%d", i);
        assert_ok(muster_worker_serve(w, name, 0, finish, NULL));
    }
    assert_err(muster_worker_serve(w, "one more", 0, finish, NULL), MUSTER_E_STATE);
    assert_err(muster_worker_serve(w, "q7", 0, finish, NULL), MUSTER_E_EXISTS);
    muster_worker_free(w);
}

static void a_command_that_cannot_be_run_is_refused(void **state)
{
    const size_t size = sizeof(struct muster_command);
    const char *const no_program[] = {NULL}, *const empty[] = {"", NULL}, *const good[] = {"true", "-x", NULL};
    const char *const unknown[] = {"no-such-program-anywhere", NULL}, *const directory[] = {"/", NULL};
    const struct {
        struct muster_command command;
        int err;
        const char *words;
    } cases[] = {
        {{.size = size}, MUSTER_E_INVALID, "argv has no program"},
        {{.size = size, .argv = no_program}, MUSTER_E_INVALID, "argv has no program"},
        {{.size = size, .argv = good, .replace = ""}, MUSTER_E_INVALID, "replace is empty"},
        {{.size = size, .argv = good, .retry_delay_ms = -1}, MUSTER_E_INVALID, "retry_delay_ms is -1; it must be 0"},
        {{.size = size, .argv = good, .grace_ms = -2}, MUSTER_E_INVALID, "grace_ms is -2; it must be 0"},
        {{.size = size, .argv = good, .hands = -1}, MUSTER_E_INVALID, "hands is -1; it must be 0"},
        {{.size = size, .argv = empty}, MUSTER_E_NOT_FOUND, "command not found"},
        {{.size = size, .argv = unknown}, MUSTER_E_NOT_FOUND, "command not found"},
        {{.size = size, .argv = directory}, MUSTER_E_NOT_FOUND, "command not found"},
        {{.size = size, .argv = good, .replace = "{}", .retry_delay_ms = 1, .grace_ms = 1, .hands = 1}, MUSTER_OK, ""},
        {{.size = size, .argv = good}, MUSTER_E_EXISTS, ""},
    };
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    assert_ok(muster_worker_start(w));
    for (size_t i = 0; i < N_OF(cases); i++) {
        assert_err(muster_worker_serve_command(w, "q", &cases[i].command), cases[i].err);
        assert_non_null(strstr(muster_worker_error(w), cases[i].words));
    }
    assert_int_equal(w->n_served, 1);
    muster_worker_free(w);
}

static void a_refused_command_says_which_program(void **state)
{
    const char *const argv[] = {"no-such-program-anywhere", NULL};
    const struct muster_command command = {.size = sizeof command, .argv = argv};
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_serve_command(w, "q", &command), MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(muster_worker_error(w), "no-such-program-anywhere"));
    muster_worker_free(w);
}

/* ---- the pulse ---- */

static void ignore_event(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)w, (void)e, (void)arg;
}

static void count_and_free(struct muster_worker *w, void *arg)
{
    int *n = arg;
    if (++*n == 3)
        muster_worker_free(w);
}

static void the_loop_calls_the_program_until_the_worker_is_freed(void **state)
{
    const struct muster_worker_options o = {
        .size = sizeof o, .url = "unix:///nonexistent/muster.sock", .on_event = ignore_event};
    struct muster_worker *w;
    int n = 0, replaced = 0;
    (void)state;
    assert_ok(muster_worker_new(&w, &o));
    assert_err(muster_worker_set_pulse(w, -1, count_and_free, &n), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(w), "every_ms is -1"));
    assert_err(muster_worker_set_pulse(w, (int64_t)25 * 3600 * 1000, count_and_free, &n), MUSTER_E_INVALID);
    assert_err(muster_worker_set_pulse(w, 1, NULL, &n), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_worker_error(w), "function"));
    assert_ok(muster_worker_set_pulse(w, 0, NULL, NULL));
    assert_ok(muster_worker_set_pulse(w, 1, count_and_free, &replaced));
    assert_ok(muster_worker_set_pulse(w, 1, count_and_free, &n));
    assert_ok(muster_worker_start(w));
    (void)!muster_worker_run(w);
    assert_int_equal(n, 3);
    assert_int_equal(replaced, 0);
}

struct stopped {
    struct event_base *base;
    int err, n_pulses;
};

static void set_a_pulse_when_it_stops(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct stopped *s = arg;
    if (e->type != MUSTER_EVENT_STOPPED)
        return;
    s->err = muster_worker_set_pulse(w, 1, count_and_free, &s->n_pulses);
    event_base_loopbreak(s->base);
}

static void a_worker_that_has_stopped_has_no_pulse(void **state)
{
    struct stopped s = {.base = event_base_new()};
    const struct muster_worker_options o = {.size = sizeof o,
                                            .url = "unix:///nonexistent/muster.sock",
                                            .base = s.base,
                                            .on_event = set_a_pulse_when_it_stops,
                                            .arg = &s};
    struct muster_worker *w;
    (void)state;
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_stop(w, 0));
    event_base_dispatch(s.base);
    assert_err(s.err, MUSTER_E_STATE);
    assert_err(muster_worker_set_pulse(w, 1, count_and_free, &s.n_pulses), MUSTER_E_STATE);
    assert_non_null(strstr(muster_worker_error(w), "stopped"));
    muster_worker_free(w);
    event_base_free(s.base);
}

/* ---- stopping ---- */

static void *stop_now(void *arg)
{
    return muster_worker_stop(arg, 0) == MUSTER_OK ? arg : NULL;
}

static void stop_from_another_thread(struct muster_worker *w)
{
    pthread_t thread;
    void *stopped;
    assert_int_equal(pthread_create(&thread, NULL, stop_now, w), 0);
    assert_int_equal(pthread_join(thread, &stopped), 0);
    assert_ptr_equal(stopped, w);
}

static void assert_stopped(struct muster_worker *w, const struct story *story)
{
    assert_int_equal(story->stopped, 1);
    assert_int_equal(story->last_err, MUSTER_OK);
    assert_ok(muster_worker_stop(w, 0));
    assert_ok(muster_worker_run(w));
    assert_int_equal(story->stopped, 1);
    assert_err(muster_worker_serve(w, "q", 0, finish, NULL), MUSTER_E_STATE);
    assert_err(muster_worker_start(w), MUSTER_E_STATE);
}

static void a_stop_before_the_start_counts(void **state)
{
    struct story story = {0};
    struct muster_worker *w = new_worker(NULL, &story);
    (void)state;
    stop_from_another_thread(w);
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_run(w));
    assert_stopped(w, &story);
    muster_worker_free(w);
}

static void a_stop_ends_the_waiting_for_redis(void **state)
{
    struct story story = {.when_down = stop_from_another_thread};
    struct muster_worker *w = new_worker(NULL, &story);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_run(w));
    assert_true(story.down > 0);
    assert_non_null(strstr(muster_worker_error(w), "/nonexistent/muster.sock"));
    assert_stopped(w, &story);
    muster_worker_free(w);
}

static bool has_stopped(void *arg)
{
    return ((struct story *)arg)->stopped > 0;
}

static void a_stop_reaches_the_callers_loop(void **state)
{
    struct event_base *base = event_base_new();
    struct story story = {.when_down = stop_from_another_thread};
    struct muster_worker *w = new_worker(base, &story);
    (void)state;
    assert_ok(muster_worker_start(w));
    wait_on(base, has_stopped, &story, SOON_MS);
    muster_worker_free(w);
    event_base_free(base);
}

/* ---- freeing ---- */

static void it_may_be_freed_inside_its_callback(void **state)
{
    struct story story = {.when_down = muster_worker_free};
    struct muster_worker *w = new_worker(NULL, &story);
    (void)state;
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_run(w));
    assert_int_equal(story.down, 1);
    assert_int_equal(story.stopped, 0);
}

static bool was_down(void *arg)
{
    return ((struct story *)arg)->down > 0;
}

/* The loop has nothing left to do for it then: otherwise a step of the loop would not end by itself. */
static void freed_inside_its_callback_it_leaves_the_callers_loop_empty(void **state)
{
    struct event_base *base = event_base_new();
    struct story story = {.when_down = muster_worker_free};
    (void)state;
    assert_ok(muster_worker_start(new_worker(base, &story)));
    wait_on(base, was_down, &story, SOON_MS);
    assert_int_equal(event_base_dispatch(base), 1);
    assert_int_equal(story.down, 1);
    event_base_free(base);
}

static void it_may_be_freed_in_any_state(void **state)
{
    struct story story = {0};
    struct muster_worker *w = new_worker(NULL, NULL);
    (void)state;
    muster_worker_free(w);
    w = new_worker(NULL, NULL);
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_serve(w, "q", 0, finish, NULL));
    muster_worker_free(w);
    w = new_worker(NULL, &story);
    assert_ok(muster_worker_start(w));
    assert_ok(muster_worker_stop(w, -1));
    muster_worker_free(w);
    assert_int_equal(story.stopped, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_calls_the_program_until_the_worker_is_freed),
        cmocka_unit_test(a_worker_that_has_stopped_has_no_pulse),
        cmocka_unit_test(bad_options_make_no_worker_and_are_told_in_words),
        cmocka_unit_test_teardown(connections_that_are_handed_in_go_before_the_environment, forget_environment),
        cmocka_unit_test(what_needs_a_url_beside_connections_has_it),
        cmocka_unit_test(options_at_their_limits_make_one),
        cmocka_unit_test(without_options_all_is_default),
        cmocka_unit_test(options_of_a_later_version_are_read),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(a_new_worker_neither_serves_nor_runs),
        cmocka_unit_test(it_starts_once),
        cmocka_unit_test(one_on_the_callers_loop_is_not_run),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(a_worker_serves_up_to_1000_queues),
        cmocka_unit_test(a_command_that_cannot_be_run_is_refused),
        cmocka_unit_test(a_refused_command_says_which_program),
        cmocka_unit_test(a_stop_before_the_start_counts),
        cmocka_unit_test(a_stop_ends_the_waiting_for_redis),
        cmocka_unit_test(a_stop_reaches_the_callers_loop),
        cmocka_unit_test(it_may_be_freed_inside_its_callback),
        cmocka_unit_test(freed_inside_its_callback_it_leaves_the_callers_loop_empty),
        cmocka_unit_test(it_may_be_freed_in_any_state),
    };
    return testing_run(tests, forget_environment, NULL, argc, argv);
}
