/* SPDX-License-Identifier: MIT
 *
 * Check of a queue that shares evenly: damage in its hands, its reservations, what workers' records count of these, and
 * its times is found and mended. And a queue that stays uneven is told.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "damage.h"
#include "live_worker.h"
#include "slow.h"

#define AN_HOUR 3600000
#define TTL_MS slow_ms(600)

/* ---- a queue in which two of four are to move; nothing does so by itself for an hour ---- */

static char *all_tasks(struct scene *s)
{
    return raw_string(s->server->redis, "EVAL %s 1 %s",
                      "local tasks = redis.call('LRANGE', KEYS[1] .. ':queues:q', 0, -1)\n"
                      "for _, w in ipairs({'w0', 'w1'}) do\n"
                      "  for _, task in ipairs(redis.call('HVALS', KEYS[1] .. ':processing:' .. w .. ':q')) do\n"
                      "    tasks[#tasks + 1] = task\n"
                      "  end\n"
                      "end\n"
                      "table.sort(tasks)\n"
                      "return tasks",
                      s->prefix);
}

static struct live_worker *hold(struct scene *s, const char *id)
{
    return live_worker_idle(
        s,
        &(struct worker_spec){
            .id = id, .ttl_ms = AN_HOUR, .hands = 4, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
}

static struct live_worker *furnish_with(struct scene *s)
{
    const int64_t even = 1;
    assert_ok(muster_config_set(s->client, "q", "share", &even));
    hold(s, "w0");
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 4);
    struct live_worker *w1 = hold(s, "w1");
    damage_plant(s,
                 "local time = call('TIME')\n"
                 "local lapses = string.format('%.0f', time[1] * 1000 + 3600000)\n"
                 "local tokens = call('HKEYS', P .. 'processing:w0:q')\n"
                 "local from, to = call('HGET', P .. 'worker:w0', 'epoch'), call('HGET', P .. 'worker:w1', 'epoch')\n"
                 "for i = 1, 2 do\n"
                 "  call('ZADD', P .. 'moves:q', lapses, tokens[i] .. ':' .. from .. ':w0:' .. to .. ':w1')\n"
                 "end\n"
                 "call('HSET', P .. 'worker:w0', 'o:q', 2) call('HSET', P .. 'worker:w1', 'i:q', 2)\n"
                 "call('HSET', P .. 'queue:q', 'moves', lapses) call('ZADD', P .. 'gaps:q', 0, 'w1')");
    return w1;
}

static void furnish(struct scene *s)
{
    furnish_with(s);
}

static void a_queue_that_shares_is_clean(void **state)
{
    furnish(*state);
    checked_assert_clean(*state);
}

#define QUEUE_FIELD(field, value) "call('HSET', P .. 'queue:q', '" field "', '" value "')"
#define WORKER_FIELD(worker, field, value) "call('HSET', P .. 'worker:" worker "', '" field "', '" value "')"
#define A_MOVE "local move = call('ZRANGE', P .. 'moves:q', 0, 0)[1]\n"

static const struct damage damages[] = {
    /* the hands */
    {QUEUE_FIELD("hands", "7"), "queue:q "},
    {QUEUE_FIELD("hands", "9"), "queue:q "},
    {QUEUE_FIELD("hands", "many"), "queue:q "},
    {"call('HDEL', P .. 'queue:q', 'hands')", "queue:q "},
    {"call('HSET', P .. 'queue:none', 'hands', 3)", "queue:none "},
    {"call('HDEL', P .. 'worker:w1', 's:q')", "worker:w1 "},
    {WORKER_FIELD("w1", "s:q", "many"), "worker:w1 "},
    {WORKER_FIELD("w1", "s:q", "5"), "queue:q "},
    {"call('HSET', P .. 'worker:w1', 'q:left', '-', 's:left', 4)", "worker:w1 "},
    {"call('HSET', P .. 'worker:w1', 'q:left', '-', 'i:left', 1)", "worker:w1 "},
    {"call('HSET', P .. 'worker:w1', 'q:left', '-', 'o:left', 1)", "worker:w1 "},
    /* from when on a worker counts */
    {"call('HDEL', P .. 'worker:w1', 'counts')", "worker:w1 "},
    {WORKER_FIELD("w1", "counts", "soon"), "worker:w1 "},
    {WORKER_FIELD("w1", "counts", "99999999999999"), "worker:w1 "},
    /* what the records count of the reservations */
    {"call('HINCRBY', P .. 'worker:w1', 'i:q', 1)", "worker:w1 "},
    {WORKER_FIELD("w1", "i:q", "-1"), "worker:w1 "},
    {WORKER_FIELD("w1", "o:q", "1"), "worker:w1 "},
    {"call('HDEL', P .. 'worker:w0', 'o:q')", "worker:w0 "},
    {WORKER_FIELD("w0", "o:q", "few"), "worker:w0 "},
    {"call('DEL', P .. 'moves:q')", "worker:w0 worker:w1 queue:q "},
    /* the reservations */
    {"call('ZADD', P .. 'moves:q', 99999999999999, 'odd')", "moves:q "},
    {A_MOVE "call('ZADD', P .. 'moves:q', 99999999999999, (move:gsub(':%w+:w0', ':00000000001:w0')))", "moves:q "},
    {A_MOVE "call('ZADD', P .. 'moves:q', 99999999999999, (move:gsub(':w0:', ':ghost:')))\n"
            "call('HINCRBY', P .. 'worker:w1', 'i:q', 1)",
     "moves:q "},
    {A_MOVE "call('ZADD', P .. 'moves:q', 1, move) call('HSET', P .. 'queue:q', 'moves', 1)", "moves:q "},
    {"call('HDEL', P .. 'queue:q', 'moves')", "queue:q "},
    {QUEUE_FIELD("moves", "soon"), "queue:q "},
    {QUEUE_FIELD("moves", "99999999999999"), "queue:q "},
    {"call('HSET', P .. 'queue:none', 'moves', 1)", "queue:none "},
    /* the gaps */
    {"call('ZADD', P .. 'gaps:q', -3, 'ghost')", "gaps:q "},
    {"call('ZADD', P .. 'gaps:none', -3, 'w0')", "gaps:none "},
    {"call('HSET', P .. 'worker:w1', 'q:left', '-') call('ZADD', P .. 'gaps:left', -3, 'w1')", "gaps:left "},
    /* the times, and what has moved */
    {QUEUE_FIELD("joined", "soon"), "queue:q "},
    {QUEUE_FIELD("joined", "99999999999999"), "queue:q "},
    {QUEUE_FIELD("lack", "long"), "queue:q "},
    {QUEUE_FIELD("lack", "99999999999999"), "queue:q "},
    {QUEUE_FIELD("over", "-5"), "queue:q "},
    {QUEUE_FIELD("over", "99999999999999"), "queue:q "},
    {QUEUE_FIELD("moved", "some"), "queue:q "},
    /* the settings */
    {QUEUE_FIELD("share", "2"), "queue:q "},
    {QUEUE_FIELD("share_moves", "all"), "queue:q "},
    {QUEUE_FIELD("share_ms", "-1"), "queue:q "},
};

static const struct damage_house house = {.furnish = furnish, .inventory = all_tasks};

/* ---- reservations that are nobody's fault ---- */

static void a_reservation_of_a_receiver_that_is_gone_is_no_damage(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, "local move = call('ZRANGE', P .. 'moves:q', 0, 0)[1]\n"
                    "call('ZREM', P .. 'moves:q', move)\n"
                    "call('ZADD', P .. 'moves:q', 99999999999999, (move:gsub('w1', 'ghost')))\n"
                    "call('HSET', P .. 'worker:w1', 'i:q', 1)");
    checked_assert_clean(s);
}

static void a_lapsed_one_of_a_queue_that_nobody_looks_after_is_no_damage(void **state)
{
    struct scene *s = *state;
    furnish(s);
    damage_plant(s, A_MOVE "call('ZADD', P .. 'moves:q', 1, move) call('HSET', P .. 'queue:q', 'moves', 1)");
    assert_ok(muster_queue_pause(s->client, "q"));
    checked_assert_clean(s);
    assert_ok(muster_queue_resume(s->client, "q"));
    assert_string_equal(checked_repair(s).keys, "moves:q ");
}

/* Who leaves takes what was on its way to it along, and serves the queue anew without it. */
static void who_leaves_ends_what_was_to_come(void **state)
{
    struct scene *s = *state;
    struct live_worker *w1 = furnish_with(s);
    assert_ok(muster_worker_leave(w1->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w1", 1);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:moves:q", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:worker:w0 o:q", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:worker:w1 i:q", s->prefix), 0);
    checked_assert_clean(s);
}

/* ---- uneven for longer than it may be ---- */

static void stay(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    if (e->type == MUSTER_EVENT_STOP)
        assert_ok(muster_process_stay(e->process, 0));
}

static bool is_told(void *arg)
{
    struct checked found = checked_find(arg);
    return found.n == 1 && strstr(found.what, "has been shared unevenly for") != NULL;
}

static void a_queue_that_stays_uneven_is_told(void **state)
{
    struct scene *s = *state;
    const int64_t even = 1;
    scene_suspect_nothing(s);
    assert_ok(muster_config_set(s->client, "q", "share", &even));
    const struct worker_spec spec = {
        .id = "w0", .ttl_ms = TTL_MS, .hands = 4, .answer = MUSTER_LATER, .on_event = stay, .queues = {{"q", 0}}};
    live_worker_new(s, &spec);
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 4);
    struct worker_spec other = spec;
    other.id = "w1";
    live_worker_new(s, &other);
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 1);
    run_loop(s->base, TTL_MS);
    checked_assert_clean(s);
    wait_on(s->base, is_told, s, SOON_MS);
    struct checked found = checked_repair(s);
    assert_int_equal(found.n_repaired, 0);
    if (!strstr(found.what, "'w1' holds 0 of at least 2, and 'w0' holds 4 of at least 2 and gives none"))
        fail_msg("%s", found.what);
    assert_ok(muster_config_set(s->client, "q", "share", NULL));
    checked_assert_clean(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest cases[] = {
        live_test(a_queue_that_shares_is_clean),
        live_test(a_reservation_of_a_receiver_that_is_gone_is_no_damage),
        live_test(a_lapsed_one_of_a_queue_that_nobody_looks_after_is_no_damage),
        live_test(who_leaves_ends_what_was_to_come),
        live_test(a_queue_that_stays_uneven_is_told),
    };
    return damage_run(&house, damages, N_OF(damages), cases, N_OF(cases), scene_end, argc, argv);
}
