/* SPDX-License-Identifier: MIT
 *
 * A lease that ends while Redis stands still or is away has not lapsed: its holder could not extend it. Only workers
 * that were silent too tell that this was so; where there are none, a lease lapses at its end. By the scripts, with the
 * times of P:beat as they are after such a silence; and once with a Redis that really stands still.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "invariant.h"
#include "script_call.h"
#include "slow.h"
#include "taken.h"
#include "worker_process.h"

#define TTL_MS 60000
#define SILENCE_MS 200000

/* One lease of "t", and the time by Redis' clock. */
struct held {
    struct scene *s;
    char token[12];
    int64_t now_ms;
    struct acting_worker w;
};

static void held_begin(struct held *h, struct scene *s)
{
    *h = (struct held){.s = s, .w = {.id = "w", .queues = {"other"}, .hands = 1, .hears = true, .ttl_ms = TTL_MS}};
    scene_enqueue(s, "q", "t");
    assert_ok(script_does(s, SCRIPT_TAKE, "q", "1", "100000", "0", ""));
    token_of_task(s, ".lease", "q", "t", h->token);
    h->now_ms = server_now_ms(s);
}

/* Its lease ended so long ago. */
static void ended(struct held *h, int64_t ago_ms)
{
    char at[24];
    snprintf(at, sizeof at, "%lld", (long long)(server_now_ms(h->s) - ago_ms));
    raw_do(h->s->server->redis, "ZADD %s:leases:q %s %s", h->s->prefix, at, h->token);
    raw_do(h->s->server->redis, "HSET %s:queue:q due %s", h->s->prefix, at);
    raw_do(h->s->server->redis, "ZADD %s:due %s q", h->s->prefix, at);
}

static void set_time(struct held *h, const char *field, int64_t ago_ms)
{
    char at[24];
    snprintf(at, sizeof at, "%lld", (long long)(server_now_ms(h->s) - ago_ms));
    raw_do(h->s->server->redis, "HSET %s:beat %s %s", h->s->prefix, field, at);
}

/* The worker has a life that began so long ago. Its epoch rises with time, and scripts look at nothing else of it. */
static void start_long_ago(struct held *h, int64_t ago_ms)
{
    char epoch[TOKEN_LEN + 1];
    acting_start(&h->w, h->s);
    token_format(epoch, (uint64_t)(server_now_ms(h->s) - ago_ms) * 1000);
    raw_do(h->s->server->redis, "HSET %s:worker:w epoch %s", h->s->prefix, epoch);
    raw_do(h->s->server->redis, "SET %s:alive:w %s PX %d", h->s->prefix, epoch, TTL_MS);
    snprintf(h->w.epoch, sizeof h->w.epoch, "%s", epoch);
}

/* Nobody has spoken for that long; the last words were the worker's. */
static void fall_silent(struct held *h)
{
    char end[24];
    snprintf(end, sizeof end, "%lld", (long long)(server_now_ms(h->s) - SILENCE_MS + TTL_MS));
    raw_do(h->s->server->redis, "ZADD %s:registry %s w", h->s->prefix, end);
    raw_do(h->s->server->redis, "DEL %s:alive:w", h->s->prefix);
    set_time(h, "at", SILENCE_MS);
}

static bool is_held(struct held *h)
{
    assert_ok(script_does(h->s, SCRIPT_PROMOTE, NULL));
    bool is = raw_int(h->s->server->redis, "HEXISTS %s:processing:.lease:q %s", h->s->prefix, h->token);
    if (!is) /* otherwise the lease is past its end, and is not due: what is always true knows of no silences */
        invariant_assert(h->s->server->redis, h->s->prefix);
    return is;
}

static void extends(struct held *h)
{
    assert_ok(script_does(h->s, SCRIPT_EXTEND, ".lease", h->token, "q", "100000", "0", "", "0", ""));
}

/* ---- with workers ---- */

static void a_holder_may_go_on_when_redis_is_back(void **state)
{
    for (int is_noted = 0; is_noted < 2; is_noted++) {
        struct held h;
        held_begin(&h, *state);
        start_long_ago(&h, 2 * SILENCE_MS);
        fall_silent(&h);
        ended(&h, SILENCE_MS / 2);
        if (is_noted)
            assert_ok(acting_heartbeat(&h.w));
        assert_true(is_held(&h));
        checked_assert_clean(h.s);
        assert_answer(script_call(h.s, SCRIPT_CANCEL, "q", "", "another", "0"), 0, 0, 0);
        extends(&h);
        assert_true(is_held(&h));
        assert_ok(script_does(h.s, SCRIPT_END, ".lease", "finish", "q", "1", h.token));
        acting_forget(&h.w);
        assert_int_equal(scene_end(state), 0);
        scene_begin(state);
    }
}

/* What was left of it when the silence began is left when it is over, not more. */
static void the_time_of_the_silence_does_not_count(void **state)
{
    struct held h;
    held_begin(&h, *state);
    start_long_ago(&h, 2 * SILENCE_MS);
    const int64_t began_ms = server_now_ms(h.s);
    fall_silent(&h);
    ended(&h, SILENCE_MS - 5000);
    assert_ok(acting_heartbeat(&h.w));
    const int64_t took_ms = server_now_ms(h.s) - began_ms;
    assert_true(is_held(&h));
    assert_in_range(queue_field(h.s, "q", "due"), began_ms + 2000, began_ms + 2 * took_ms + 5000);
    ended(&h, SILENCE_MS + 1000); /* it was over when the silence began */
    assert_false(is_held(&h));
    assert_waiting(h.s, "q", "t ");
    acting_forget(&h.w);
}

static void a_lease_that_ends_after_the_silence_has_lapsed(void **state)
{
    struct held h;
    held_begin(&h, *state);
    start_long_ago(&h, 2 * SILENCE_MS);
    fall_silent(&h);
    assert_ok(acting_heartbeat(&h.w));
    ended(&h, 0);
    assert_false(is_held(&h));
    acting_forget(&h.w);
}

/* Those that are registered may all be dead: then there was no silence of Redis. Who lives speaks within the ttl. */
static void dead_workers_hold_nothing_up_for_longer_than_a_ttl(void **state)
{
    struct held h;
    held_begin(&h, *state);
    start_long_ago(&h, 2 * SILENCE_MS);
    fall_silent(&h);
    ended(&h, SILENCE_MS / 2);
    assert_true(is_held(&h));
    int64_t due_ms = queue_field(h.s, "q", "due");
    assert_in_range(due_ms, server_now_ms(h.s) + 1, server_now_ms(h.s) + TTL_MS);
    set_time(&h, "seen", TTL_MS / 2);
    ended(&h, SILENCE_MS / 2);
    assert_true(is_held(&h));
    set_time(&h, "seen", TTL_MS);
    ended(&h, SILENCE_MS / 2);
    assert_false(is_held(&h));
    acting_forget(&h.w);
}

static void neither_does_a_silence_that_no_old_worker_outlived(void **state)
{
    struct held h;
    held_begin(&h, *state);
    start_long_ago(&h, 2 * SILENCE_MS);
    fall_silent(&h);
    set_time(&h, "at", 0);
    set_time(&h, "ended", TTL_MS);
    raw_do(h.s->server->redis, "HSET %s:beat length %d", h.s->prefix, SILENCE_MS);
    ended(&h, SILENCE_MS / 2);
    assert_false(is_held(&h));
    acting_forget(&h.w);
}

/* ---- without ---- */

static void without_workers_a_lease_lapses_at_its_end(void **state)
{
    struct held h;
    held_begin(&h, *state);
    set_time(&h, "at", SILENCE_MS);
    ended(&h, SILENCE_MS / 2);
    assert_false(is_held(&h));
}

/* It notes a silence, but it was not there. */
static void the_first_worker_is_no_witness(void **state)
{
    struct held h;
    held_begin(&h, *state);
    set_time(&h, "at", SILENCE_MS);
    acting_start(&h.w, h.s);
    assert_true(raw_int(h.s->server->redis, "HGET %s:beat length", h.s->prefix) >= SILENCE_MS);
    ended(&h, SILENCE_MS / 2);
    assert_false(is_held(&h));
    acting_forget(&h.w);
}

/* ---- a Redis that stands still ---- */

#define SHORT_TTL_MS slow_ms(600)
#define STALL_MS (3 * SHORT_TTL_MS)
#define SHORT_LEASE_MS (5 * SHORT_TTL_MS / 3)

static bool is_past(void *at_ms)
{
    return now_ms() >= *(int64_t *)at_ms;
}

static void wait_ms(int64_t ms)
{
    int64_t at_ms = now_ms() + ms;
    wait_until(is_past, &at_ms, SOON_MS);
}

/* Once the holder goes on at once; once it waits until all know that Redis is back. */
static void redis_stands_still_and_the_holder_goes_on(void **state)
{
    const struct muster_extend_options longer = {.size = sizeof longer, .lease_ms = 3600000};
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue_n(s, "q", "t", 2);
    struct worker_process *w = worker_process_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = SHORT_TTL_MS, .hands = 9, .queues = {{"other", 0}}});
    for (int waits = 0; waits < 2; waits++) {
        assert_ok(take_n(s, "q", 1, SHORT_LEASE_MS, &taken));
        redis_server_freeze(s->server);
        wait_ms(STALL_MS);
        redis_server_thaw(s->server);
        if (waits)
            wait_ms(SHORT_TTL_MS / 2);
        assert_ok(muster_lease_extend(s->client, taken.rows[0].id, &longer));
        wait_ms(SHORT_TTL_MS);
        assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
    }
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:suspects:q", s->prefix), 0);
    worker_process_kill(w);
}

/* The worker has seen that Redis is back; the holder does not come. */
static void redis_stands_still_and_the_holder_is_dead(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    scene_enqueue(s, "q", "t");
    struct worker_process *w = worker_process_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = SHORT_TTL_MS, .hands = 9, .queues = {{"other", 0}}});
    assert_ok(take_n(s, "q", 1, SHORT_LEASE_MS, &taken));
    redis_server_freeze(s->server);
    wait_ms(STALL_MS);
    redis_server_thaw(s->server);
    scene_await_waiting(s, "q", 1); /* its keeper brings it back */
    assert_err(muster_lease_finish(s->client, taken.rows[0].id, NULL), MUSTER_E_LOST);
    worker_process_kill(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_holder_may_go_on_when_redis_is_back),
        live_test(the_time_of_the_silence_does_not_count),
        live_test(a_lease_that_ends_after_the_silence_has_lapsed),
        live_test(dead_workers_hold_nothing_up_for_longer_than_a_ttl),
        live_test(neither_does_a_silence_that_no_old_worker_outlived),
        live_test(without_workers_a_lease_lapses_at_its_end),
        live_test(the_first_worker_is_no_witness),
        live_test(redis_stands_still_and_the_holder_goes_on),
        live_test(redis_stands_still_and_the_holder_is_dead),
    };
    return scene_run(tests, argc, argv);
}
