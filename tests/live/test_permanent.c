/* SPDX-License-Identifier: MIT
 *
 * Permanent workers: they are never swept, however long they are silent; meanwhile they are handed nothing, and set
 * nobody's pace; fail-worker ends them, or a new start under their id.
 *
 * A permanent worker has a loop of its own here. While the test does not run it, the worker is silent, and its
 * connections stay open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "slow.h"

#define TTL_MS slow_ms(300)

/* The worker "rock" and its loop. */
struct rock {
    struct live_worker *w;
    struct event_base *base;
};

static struct rock rock_new(struct scene *s, int ttl_ms)
{
    struct rock rock = {calloc(1, sizeof *rock.w), event_base_new()};
    rock.w->next = s->workers;
    s->workers = rock.w;
    rock.w->spec.answer = MUSTER_LATER;
    rock.w->spec.stubborn = true;
    rock.w->journal = s->journal;
    const struct muster_worker_options o = {.size = sizeof o,
                                            .url = s->server->url,
                                            .prefix = s->prefix,
                                            .id = "rock",
                                            .base = rock.base,
                                            .ttl_ms = ttl_ms,
                                            .hands = 2,
                                            .permanent = 1,
                                            .on_event = live_worker_note,
                                            .arg = rock.w};
    assert_ok(muster_worker_new(&rock.w->worker, &o));
    assert_ok(muster_worker_start(rock.w->worker));
    assert_ok(muster_worker_serve(rock.w->worker, "q", 0, live_worker_handle, rock.w));
    return rock;
}

/* A worker that is freed like this dies without a word. */
static void rock_free(struct scene *s, struct rock *rock)
{
    live_worker_free(s, rock->w);
    event_base_free(rock->base);
}

static struct rock rock_idle(struct scene *s, int ttl_ms)
{
    struct rock rock = rock_new(s, ttl_ms);
    raw_await(s->server->redis, rock.base, 1, "EVAL %s 1 %s:idle:q",
              "return redis.call('ZSCORE', KEYS[1], 'rock') and 1 or 0", s->prefix);
    return rock;
}

/* It takes `n` tasks "t0", ... */
static struct rock rock_holding(struct scene *s, int n)
{
    struct rock rock = rock_idle(s, TTL_MS);
    scene_enqueue_n(s, "q", "t", n);
    raw_await(s->server->redis, NULL, n, "HLEN %s:processing:rock:q", s->prefix);
    while (scene_starts(s) < (size_t)n)
        run_loop(rock.base, 1);
    return rock;
}

static void await_silence(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:rock", s->prefix);
}

static struct live_worker *heir(struct scene *s)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = "heir", .ttl_ms = TTL_MS, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
}

static size_t count(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

/* In the time in which any other worker would have been swept twice; then it goes on as if nothing had been. */
static void a_silent_permanent_worker_is_never_swept(void **state)
{
    struct scene *s = *state;
    struct rock rock = rock_holding(s, 2);
    heir(s);
    await_silence(s);
    uint64_t swept = 1;
    run_loop(s->base, 4 * TTL_MS);
    assert_ok(muster_client_sweep(s->client, &swept));
    assert_int_equal(swept, 0);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:rock:q", s->prefix), 2);
    char *ends = raw_string(s->server->redis, "ZSCORE %s:registry rock", s->prefix);
    bool is_endless = !strcmp(ends, "inf");
    free(ends);
    assert_true(is_endless);
    assert_int_equal(scene_starts(s), 2);

    raw_await(s->server->redis, rock.base, 1, "EXISTS %s:alive:rock", s->prefix);
    live_worker_answer(rock.w, MUSTER_FINISH);
    raw_await(s->server->redis, rock.base, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(count(s, MUSTER_EVENT_SWEPT), 0);
    assert_int_equal(count(s, MUSTER_EVENT_LOST), 0);
    assert_int_equal(count(s, MUSTER_EVENT_STOP), 0);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 0);
    scene_assert_quiet(s);
    rock_free(s, &rock);
}

static void while_silent_it_is_handed_nothing(void **state)
{
    struct scene *s = *state;
    struct rock rock = rock_idle(s, TTL_MS);
    await_silence(s);
    scene_enqueue(s, "q", "t");
    assert_int_equal(scene_waiting(s, "q"), 1);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:rock:q", s->prefix), 0);
    /* Heard again it finds what it missed. */
    raw_await(s->server->redis, rock.base, 1, "HLEN %s:processing:rock:q", s->prefix);
    live_worker_answer(rock.w, MUSTER_FINISH);
    raw_await(s->server->redis, rock.base, 0, "HLEN %s:processing:rock:q", s->prefix);
    scene_assert_quiet(s);
    rock_free(s, &rock);
}

static void fail_worker_ends_it(void **state)
{
    struct scene *s = *state;
    struct rock rock = rock_holding(s, 2);
    rock_free(s, &rock);
    heir(s);
    await_silence(s);
    uint64_t given_back = 0;
    assert_ok(muster_worker_fail(s->client, "rock", &given_back));
    assert_int_equal(given_back, 2);
    scene_await_starts(s, 4);
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t0", "t1", NULL});
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:worker:rock", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", s->prefix), 1);
    invariant_assert(s->server->redis, s->prefix);
}

/* While its liveness key is there no other worker gets the id, dead or not. */
static void its_id_can_start_again_when_its_key_ran_out_and_not_before(void **state)
{
    struct scene *s = *state;
    struct rock rock = rock_holding(s, 2);
    raw_do(s->server->redis, "PEXPIRE %s:alive:rock 60000", s->prefix);
    struct live_worker *refused = live_worker_new(s, &(struct worker_spec){.id = "rock", .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "rock", 1);
    assert_int_equal(refused->stop_err, MUSTER_E_EXISTS);
    live_worker_free(s, refused);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:rock:q", s->prefix), 2);

    raw_do(s->server->redis, "PEXPIRE %s:alive:rock 1", s->prefix);
    await_silence(s);
    size_t mark = journal_size(s->journal);
    struct live_worker *next = live_worker_new(
        s,
        &(struct worker_spec){.id = "rock", .ttl_ms = 60000, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_await_starts(s, 4);
    scene_assert_started(s, mark, (const char *[]){"t0", "t1", NULL});

    /* The old life is heard again: too late. */
    live_worker_end(rock.w, MUSTER_FINISH);
    while (count(s, MUSTER_EVENT_LOST) == 0)
        run_loop(rock.base, 1);
    live_worker_end(rock.w, MUSTER_FINISH);
    assert_int_equal(count(s, MUSTER_EVENT_UNCOUNTED), 2);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:rock:q", s->prefix), 2);
    rock_free(s, &rock);
    live_worker_answer(next, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
}

static int64_t is_in_ttls(struct scene *s)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:ttls", "return redis.call('ZSCORE', KEYS[1], 'rock') and 1 or 0",
                   s->prefix);
}

/* At the pace of a ttl of 150 ms the other's liveness key would never sink below 29 900 ms. */
static void a_silent_permanent_worker_does_not_set_the_pace(void **state)
{
    struct scene *s = *state;
    struct rock rock = rock_idle(s, 150);
    live_worker_idle(s, &(struct worker_spec){.id = "slow", .ttl_ms = 30000, .queues = {{"other", 0}}});
    await_silence(s);
    raw_await(s->server->redis, s->base, 0, "EVAL %s 1 %s:ttls",
              "return redis.call('ZSCORE', KEYS[1], 'rock') and 1 or 0", s->prefix);
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s:alive:slow",
              "return redis.call('PTTL', KEYS[1]) < 29000 and 1 or 0", s->prefix);
    assert_int_equal(is_in_ttls(s), 0);
    /* Its own heartbeat puts it back. */
    raw_await(s->server->redis, rock.base, 1, "EXISTS %s:alive:rock", s->prefix);
    assert_int_equal(is_in_ttls(s), 1);
    rock_free(s, &rock);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_silent_permanent_worker_is_never_swept),
        live_test(while_silent_it_is_handed_nothing),
        live_test(fail_worker_ends_it),
        live_test(its_id_can_start_again_when_its_key_ran_out_and_not_before),
        live_test(a_silent_permanent_worker_does_not_set_the_pace),
    };
    return scene_run(tests, argc, argv);
}
