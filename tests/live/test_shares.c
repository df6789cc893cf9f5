/* SPDX-License-Identifier: MIT
 *
 * Queues that share evenly: what workers hold too much of moves to those who hold too little, in as few moves as
 * possible, and a handler has its say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "script_call.h"
#include "slow.h"
#include "taken.h"

#define TTL_MS slow_ms(900)
#define CREW_MAX 16

/* Workers "w0", "w1", ... on "q"; the scene owns them. */
struct crew {
    struct scene *s;
    struct live_worker *w[CREW_MAX];
    int hands[CREW_MAX];
    int n;
};

static const char *id_of(int i)
{
    static char ids[CREW_MAX][8];
    snprintf(ids[i], sizeof ids[i], "w%d", i);
    return ids[i];
}

static struct live_worker *join(struct crew *c, struct worker_spec spec)
{
    int i = c->n++;
    spec.id = id_of(i);
    spec.ttl_ms = spec.ttl_ms ? spec.ttl_ms : TTL_MS;
    spec.answer = MUSTER_LATER;
    spec.queues[0].name = "q";
    c->hands[i] = spec.hands;
    c->w[i] = live_worker_new(c->s, &spec);
    scene_await_events(c->s, MUSTER_EVENT_STARTED, id_of(i), 1);
    return c->w[i];
}

static void set(struct scene *s, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, "q", name, &value));
}

static struct crew begin(struct scene *s)
{
    scene_suspect_nothing(s);
    set(s, "share", 1);
    return (struct crew){.s = s};
}

static int64_t field(struct scene *s, const char *name)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s:queue:q %s",
                   "return tonumber(redis.call('HGET', KEYS[1], ARGV[1]) "
                   "or 0)",
                   s->prefix, name);
}

static int holds(const struct crew *c, int i)
{
    return (int)raw_int(c->s->server->redis, "HLEN %s:processing:%s:q", c->s->prefix, id_of(i));
}

/* Does each hold its share of what runs, which is `runs`? */
static bool is_even(const struct crew *c, int runs)
{
    int all = 0, hands = 0;
    for (int i = 0; i < c->n; i++)
        hands += c->w[i] ? c->hands[i] : 0;
    for (int i = 0; i < c->n; i++) {
        int mine = c->w[i] ? holds(c, i) : 0, own = c->w[i] ? c->hands[i] : 0;
        all += mine;
        if (mine < runs * own / hands || mine > (runs * own + hands - 1) / hands)
            return false;
    }
    return all == runs;
}

struct even {
    const struct crew *crew;
    int runs;
};

static bool has_become_even(void *arg)
{
    const struct even *e = arg;
    return is_even(e->crew, e->runs) &&
           raw_int(e->crew->s->server->redis, "EXISTS %s:moves:q", e->crew->s->prefix) == 0;
}

static void await_even(const struct crew *c, int runs)
{
    struct even e = {c, runs};
    wait_on(c->s->base, has_become_even, &e, 3 * SOON_MS);
}

/* Two more heartbeats of everybody: if something moved without need, it would now. */
static void assert_stays(const struct crew *c, int runs, int64_t moved)
{
    run_loop(c->s->base, TTL_MS);
    assert_true(is_even(c, runs));
    assert_int_equal(field(c->s, "moved"), moved);
}

static void die(struct crew *c, int i)
{
    live_worker_free(c->s, c->w[i]);
    c->w[i] = NULL;
}

/* ---- even, in as few moves as possible ---- */

static void of_two_hundred_sixty_five_move_when_five_join_ten(void **state)
{
    struct crew c = begin(*state);
    for (int i = 0; i < 10; i++)
        join(&c, (struct worker_spec){.hands = 40});
    scene_enqueue_n(c.s, "q", "t", 200);
    await_even(&c, 200);
    int64_t before = field(c.s, "moved");
    for (int i = 0; i < 5; i++)
        join(&c, (struct worker_spec){.hands = 40});
    await_even(&c, 200);
    assert_int_equal(field(c.s, "moved") - before, 65);
    assert_stays(&c, 200, before + 65);
    for (int i = 0; i < 10; i += 2)
        die(&c, i);
    await_even(&c, 200);
    assert_stays(&c, 200, field(c.s, "moved"));
    assert_int_equal(field(c.s, "hands"), 400);
}

static void shares_follow_the_hands(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 12});
    scene_enqueue_n(c.s, "q", "t", 12);
    scene_await_starts(c.s, 12);
    join(&c, (struct worker_spec){.hands = 8});
    join(&c, (struct worker_spec){.hands = 8, .queues = {{"q", 4}}});
    c.hands[2] = 4;
    await_even(&c, 12);
    assert_int_equal(field(c.s, "moved"), 6);
    assert_stays(&c, 12, 6);
}

static void eleven_on_three_workers_become_four_four_three(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 5});
    scene_enqueue_n(c.s, "q", "t", 5);
    scene_await_starts(c.s, 5);
    set(c.s, "share", 0);
    join(&c, (struct worker_spec){.hands = 5, .queues = {{"q", 0}}});
    scene_enqueue_n(c.s, "q", "u", 3);
    scene_await_starts(c.s, 8);
    join(&c, (struct worker_spec){.hands = 5});
    raw_do(c.s->server->redis, "ZREM %s:idle:q w1", c.s->prefix);
    scene_enqueue_n(c.s, "q", "v", 3);
    scene_await_starts(c.s, 11);
    assert_int_equal(holds(&c, 0) + holds(&c, 1) + holds(&c, 2), 11);
    set(c.s, "share", 1);
    await_even(&c, 11);
    assert_stays(&c, 11, field(c.s, "moved"));
}

static void no_more_move_at_once_than_the_setting_says(void **state)
{
    struct crew c = begin(*state);
    set(c.s, "share_moves", 2);
    join(&c, (struct worker_spec){.hands = 20, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 20);
    scene_await_starts(c.s, 20);
    join(&c, (struct worker_spec){.hands = 20});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 2);
    run_loop(c.s->base, TTL_MS);
    assert_int_equal(journal_count(c.s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, NULL, NULL), 2);
    assert_int_equal(raw_int(c.s->server->redis, "ZCARD %s:moves:q", c.s->prefix), 2);
}

/* ---- what moves nothing ---- */

static void who_comes_and_goes_within_a_ttl_moves_nothing(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 8});
    scene_enqueue_n(c.s, "q", "t", 8);
    scene_await_starts(c.s, 8);
    for (int i = 0; i < 3; i++) {
        join(&c, (struct worker_spec){.hands = 8, .ttl_ms = 2 * TTL_MS});
        run_loop(c.s->base, TTL_MS);
        live_worker_stop(c.s, c.w[c.n - 1], 0);
    }
    assert_int_equal(holds(&c, 0), 8);
    assert_int_equal(field(c.s, "moved"), 0);
    assert_int_equal(field(c.s, "hands"), 8);
}

static void a_paused_queue_moves_nothing(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 8});
    scene_enqueue_n(c.s, "q", "t", 8);
    scene_await_starts(c.s, 8);
    assert_ok(muster_queue_pause(c.s->client, "q"));
    join(&c, (struct worker_spec){.hands = 8});
    run_loop(c.s->base, 3 * TTL_MS);
    assert_int_equal(holds(&c, 0), 8);
    assert_ok(muster_queue_resume(c.s->client, "q"));
    await_even(&c, 8);
    assert_int_equal(field(c.s, "moved"), 4);
}

static bool is_forgotten(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "EXISTS %s:alive:w0", s->prefix) == 0 &&
           raw_int(s->server->redis, "EVAL %s 1 %s:registry",
                   "local t = redis.call('TIME') return t[1] * 1000 + "
                   "math.floor(t[2] / 1000) > tonumber(redis.call('ZSCORE', KEYS[1], 'w0') or 0) and 1 or 0",
                   s->prefix) == 1;
}

static void who_starts_again_before_the_sweep_keeps_what_it_held(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 8});
    scene_enqueue_n(c.s, "q", "t", 8);
    scene_await_starts(c.s, 8);
    die(&c, 0);
    wait_on(c.s->base, is_forgotten, c.s, SOON_MS);
    c.n = 0;
    join(&c, (struct worker_spec){.hands = 8});
    join(&c, (struct worker_spec){.hands = 8, .ttl_ms = 100 * TTL_MS});
    scene_await_starts(c.s, 16);
    assert_int_equal(holds(&c, 0), 8);
    assert_int_equal(field(c.s, "hands"), 16);
}

/* ---- a handler has its say ---- */

static void stay_when_asked(struct live_worker *w, const struct muster_event *e)
{
    if (e->type != MUSTER_EVENT_STOP)
        return;
    (*(int *)w->spec.arg)++;
    assert_int_equal(muster_process_stop_reason(e->process), MUSTER_STOP_MOVE);
    assert_in_range(muster_process_move_ms(e->process), 1, 30000);
    assert_ok(muster_process_stay(e->process, 0));
    assert_int_equal(muster_process_stop_reason(e->process), MUSTER_GO_ON);
    assert_int_equal(muster_process_move_ms(e->process), -1);
}

static void who_stays_is_not_asked_again(void **state)
{
    struct crew c = begin(*state);
    int asked = 0;
    join(&c, (struct worker_spec){.hands = 8, .on_event = stay_when_asked, .arg = &asked});
    scene_enqueue_n(c.s, "q", "t", 8);
    scene_await_starts(c.s, 8);
    join(&c, (struct worker_spec){.hands = 8});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 8);
    run_loop(c.s->base, 2 * TTL_MS);
    assert_int_equal(asked, 8); /* four were to go; each that stayed was followed by another one */
    assert_int_equal(holds(&c, 0), 8);
    assert_int_equal(raw_int(c.s->server->redis, "EXISTS %s:moves:q", c.s->prefix), 0);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w1 i:q", c.s->prefix), 0);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w0 o:q", c.s->prefix), 0);
    assert_ok(muster_config_set(c.s->client, "q", "share", NULL)); /* a check would tell that it stays uneven */
}

static void who_does_not_answer_in_time_stays(void **state)
{
    struct crew c = begin(*state);
    set(c.s, "share_ms", 100);
    join(&c, (struct worker_spec){.hands = 2, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 2);
    scene_await_starts(c.s, 2);
    join(&c, (struct worker_spec){.hands = 2});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 2); /* the other one, when the first has not answered */
    run_loop(c.s->base, 2 * TTL_MS);
    assert_int_equal(holds(&c, 0), 2);
    assert_int_equal(raw_int(c.s->server->redis, "EXISTS %s:moves:q", c.s->prefix), 0);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w1 i:q", c.s->prefix), 0);
    assert_int_equal(muster_process_move_ms(c.w[0]->held[0]), 0);
    live_worker_end(c.w[0], MUSTER_GIVE_BACK); /* late: as anything that is given back */
    scene_await_starts(c.s, 3);
    assert_int_equal(field(c.s, "moved"), 0);
}

static void who_does_not_answer_stays_also_if_the_queue_shares_no_more(void **state)
{
    struct crew c = begin(*state);
    set(c.s, "share_ms", 1000);
    join(&c, (struct worker_spec){.hands = 2, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 2);
    scene_await_starts(c.s, 2);
    join(&c, (struct worker_spec){.hands = 2});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 1);
    assert_ok(muster_config_set(c.s->client, "q", "share", NULL));
    raw_await(c.s->server->redis, c.s->base, 0, "EXISTS %s:moves:q", c.s->prefix);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w1 i:q", c.s->prefix), 0);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w0 o:q", c.s->prefix), 0);
    assert_int_equal(holds(&c, 0), 2);
}

/* Only probes ask for the score of an idle entry, so this waits for some heartbeats of who is idle. */
static bool has_probed_often(void *arg)
{
    return redis_server_calls(arg, "zscore") >= 12;
}

static void to_switch_sharing_off_is_as_if_it_never_was_on(void **state)
{
    struct crew c = {.s = *state};
    set(c.s, "share", 0);
    join(&c, (struct worker_spec){.hands = 4, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 4);
    scene_await_starts(c.s, 4);
    raw_do(c.s->server->redis, "ZADD %s:gaps:q -2 w1", c.s->prefix); /* a call of the script `share` would remove it */
    join(&c, (struct worker_spec){.hands = 4});
    wait_on(c.s->base, has_probed_often, c.s->server, SOON_MS);
    assert_int_equal(raw_int(c.s->server->redis, "ZCARD %s:gaps:q", c.s->prefix), 1);
    raw_do(c.s->server->redis, "DEL %s:gaps:q", c.s->prefix);
}

static void finish_when_asked(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP)
        live_worker_end_one(w, e->process, MUSTER_FINISH);
}

static void who_finishes_when_asked_has_finished(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 8, .on_event = finish_when_asked});
    scene_enqueue_n(c.s, "q", "t", 8);
    scene_await_starts(c.s, 8);
    join(&c, (struct worker_spec){.hands = 8});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 4);
    run_loop(c.s->base, 2 * TTL_MS);
    assert_int_equal(field(c.s, "moved"), 0);
    assert_int_equal(raw_int(c.s->server->redis, "EXISTS %s:moves:q", c.s->prefix), 0);
    assert_int_equal(raw_int(c.s->server->redis, "HGET %s:worker:w1 i:q", c.s->prefix), 0);
    int left = holds(&c, 0);
    assert_int_equal(field(c.s, "running"), left);
}

/* ---- what is in the way of a move ---- */

static void a_receiver_that_dies_gets_nothing_and_nothing_is_lost(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 4, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 4);
    scene_await_starts(c.s, 4);
    join(&c, (struct worker_spec){.hands = 4});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 2);
    die(&c, 1);
    scene_await_events(c.s, MUSTER_EVENT_SWEPT, "w0", 1);
    while (c.w[0]->n_held > 0)
        live_worker_end(c.w[0], MUSTER_GIVE_BACK);
    scene_await_starts(c.s, 8);
    assert_int_equal(holds(&c, 0), 4);
    assert_int_equal(field(c.s, "moved"), 0);
    assert_int_equal(field(c.s, "running"), 4);
}

/* What was reserved lasts longer than the test waits: share_ms, and a ttl. */
static void a_reservation_whose_answer_was_lost_is_made(void **state)
{
    struct crew c = {.s = *state};
    struct scene *s = c.s;
    struct proxy p;
    set(s, "share_ms", 3600000);
    proxy_start(&p, s->server->dir, s->server->socket);
    join(&c, (struct worker_spec){.hands = 8, .url = p.url});
    scene_enqueue_n(s, "q", "t", 8);
    scene_await_starts(s, 8);
    join(&c, (struct worker_spec){.hands = 8});
    raw_await(s->server->redis, s->base, 1, "EVAL %s 1 %s:worker:w1",
              "return redis.call('TIME')[1] * 1000 > tonumber(redis.call('HGET', KEYS[1], 'counts')) and 1 or 0",
              s->prefix);
    raw_do(s->server->redis, "ZADD %s:gaps:q -4 w1", s->prefix); /* so the first call reserves */
    /* Otherwise the lost answer would be the one that it is not there. */
    char *text = strndup((const char *)lua_scripts[SCRIPT_SHARE].body, lua_scripts[SCRIPT_SHARE].len);
    free(raw_string(s->server->redis, "SCRIPT LOAD %s", text));
    free(text);
    proxy_trap(&p, lua_scripts[SCRIPT_SHARE].sha1, PROXY_REPLIES);
    set(s, "share", 1);
    await_even(&c, 8);
    assert_int_equal(proxy_count(&p).trapped, 1);
    assert_int_equal(field(s, "moved"), 4);
    die(&c, 0);
    die(&c, 1);
    proxy_stop(&p);
}

static void a_cancelled_process_does_not_move(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 2, .stubborn = true});
    scene_enqueue_n(c.s, "q", "t", 2);
    scene_await_starts(c.s, 2);
    join(&c, (struct worker_spec){.hands = 2});
    scene_await_events(c.s, MUSTER_EVENT_STOP, "w0", 1);
    uint64_t removed, marked;
    for (int i = 0; i < 2; i++) {
        char task[8];
        snprintf(task, sizeof task, "t%d", i);
        assert_ok(muster_task_cancel(c.s->client, "q", task, 2, &removed, &marked));
        assert_int_equal(marked, 1);
    }
    while (c.w[0]->n_held > 0)
        live_worker_end(c.w[0], MUSTER_GIVE_BACK);
    raw_await(c.s->server->redis, c.s->base, 0, "HGET %s:worker:w0 held", c.s->prefix);
    scene_assert_quiet(c.s);
    assert_int_equal(field(c.s, "moved"), 0);
    assert_int_equal(raw_int(c.s->server->redis, "EXISTS %s:moves:q", c.s->prefix), 0);
}

/* ---- a queue that is left ---- */

/* Told to move, the program leaves the queue; told to stop, it ends its process behind the call that leaves. */
static void end_a_turn_later(evutil_socket_t fd, short what, void *worker)
{
    struct live_worker *w = worker;
    (void)fd, (void)what;
    while (w->n_held > 0)
        live_worker_end(w, MUSTER_GIVE_BACK);
}

static void leave_and_serve_again(struct live_worker *w, const struct muster_event *e)
{
    const struct timeval soon = {.tv_usec = 5000}; /* the answers wait longer in the proxy */
    bool is_stop = e->type == MUSTER_EVENT_STOP;
    if (is_stop && muster_process_stop_reason(e->process) == MUSTER_STOP_MOVE)
        assert_ok(muster_worker_leave(w->worker, "q"));
    else if (is_stop)
        event_base_once(w->base, -1, EV_TIMEOUT, end_a_turn_later, w, &soon);
    else if (e->type == MUSTER_EVENT_LEFT)
        assert_ok(live_worker_serve(w, "q", 0));
}

static void an_answer_about_a_queue_that_was_left_is_not_that_of_the_one_served_again(void **state)
{
    struct crew c = begin(*state);
    struct proxy p;
    proxy_start(&p, c.s->server->dir, c.s->server->socket);
    join(&c, (struct worker_spec){
                 .hands = 4, .url = p.url, .ttl_ms = 3000, .stubborn = true, .on_event = leave_and_serve_again});
    scene_enqueue_n(c.s, "q", "t", 4);
    scene_await_starts(c.s, 4);
    char *text = strndup((const char *)lua_scripts[SCRIPT_LEAVE].body, lua_scripts[SCRIPT_LEAVE].len);
    free(raw_string(c.s->server->redis, "SCRIPT LOAD %s", text)); /* or it is said once more, behind the others */
    free(text);
    proxy_delay(&p, 30);
    join(&c, (struct worker_spec){.hands = 4});
    scene_await_events(c.s, MUSTER_EVENT_LEFT, id_of(0), 1);
    await_even(&c, 4); /* it serves the queue again */
    proxy_delay(&p, 0);
    die(&c, 0);
    proxy_stop(&p);
}

/* ---- jobs ---- */

static void a_job_that_moves_says_so_in_its_history(void **state)
{
    struct crew c = begin(*state);
    join(&c, (struct worker_spec){.hands = 2});
    for (int i = 0; i < 2; i++) {
        char id[8];
        snprintf(id, sizeof id, "job%d", i);
        const struct muster_job_spec spec = {.size = sizeof spec, .id = id, .data = {"d", 1}};
        assert_ok(muster_job_put(c.s->client, "q", &spec, NULL));
    }
    scene_await_starts(c.s, 2);
    join(&c, (struct worker_spec){.hands = 2});
    await_even(&c, 2);
    assert_int_equal(field(c.s, "moved"), 1);
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        char *line = raw_string(c.s->server->redis, "LINDEX %s:history:job%d -1", c.s->prefix, i);
        char *worker = raw_string(c.s->server->redis, "HGET %s:job:job%d worker", c.s->prefix, i);
        bool has_moved = strstr(line, "\thanded-on\tw1") != NULL;
        assert_string_equal(worker, has_moved ? "w1" : "w0");
        n += has_moved;
        free(line);
        free(worker);
    }
    assert_int_equal(n, 1);
}

/* ---- what comes back later ---- */

/* The task goes from one to the other, as if it had been reserved for that one. */
static void move(struct acting_worker *from, struct acting_worker *to, const char *task)
{
    struct scene *s = from->scene;
    char *token = raw_string(s->server->redis, "EVAL %s 1 %s:processing:%s:q %s",
                             "local all = redis.call('HGETALL', KEYS[1]) for i = 2, #all, 2 do "
                             "if all[i] == ARGV[1] then return all[i - 1] end end return ''",
                             s->prefix, from->id, task);
    char reservation[128];
    snprintf(reservation, sizeof reservation, "%s:%s:%s:%s:%s", token, from->epoch, from->id, to->epoch, to->id);
    raw_do(s->server->redis, "ZADD %s:moves:q +inf %s", s->prefix, reservation);
    acting_say(from, "move", "q", token, reservation);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:processing:%s:q %s", s->prefix, from->id, token), 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:returned:q", s->prefix), 0);
    free(token);
}

static void assert_in_order(struct scene *s)
{
    for (int i = 0; i < 4; i++) {
        char task[8];
        snprintf(task, sizeof task, "t%d", i);
        take_one(s, "q", task);
    }
}

/* However often it moved or came back before, it comes out in the order in which it was taken first. */
static void what_moved_comes_back_in_the_order_of_its_first_take(void **state)
{
    struct scene *s = *state;
    struct acting_worker from = {.id = "from", .queues = {"q"}, .hands = 4, .hears = true},
                         to = {.id = "to", .queues = {"q"}, .hands = 2, .hears = true},
                         last = {.id = "last", .queues = {"q"}, .hands = 1, .hears = true};
    scene_enqueue_n(s, "q", "t", 4);
    acting_start(&from, s);
    acting_take(&from);
    acting_start(&to, s);
    move(&from, &to, "t1");
    assert_int_equal(acting_stop(&to), MUSTER_OK);
    acting_start(&last, s);
    freeReplyObject(acting_turn(&last, NULL));
    move(&last, &from, "t1");
    assert_int_equal(acting_stop(&last), MUSTER_OK);
    acting_forget(&to);
    acting_start(&to, s);
    move(&from, &to, "t0");
    move(&from, &to, "t2");
    assert_int_equal(acting_stop(&to), MUSTER_OK);
    assert_int_equal(acting_stop(&from), MUSTER_OK);
    assert_in_order(s);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:firsts:from:q %s:firsts:to:q %s:firsts:last:q", s->prefix,
                             s->prefix, s->prefix),
                     0);
    acting_forget(&from);
    acting_forget(&to);
    acting_forget(&last);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(of_two_hundred_sixty_five_move_when_five_join_ten),
        live_test(shares_follow_the_hands),
        live_test(eleven_on_three_workers_become_four_four_three),
        live_test(no_more_move_at_once_than_the_setting_says),
        live_test(who_comes_and_goes_within_a_ttl_moves_nothing),
        live_test(a_paused_queue_moves_nothing),
        live_test(who_starts_again_before_the_sweep_keeps_what_it_held),
        live_test(who_stays_is_not_asked_again),
        live_test(who_does_not_answer_in_time_stays),
        live_test(who_does_not_answer_stays_also_if_the_queue_shares_no_more),
        live_test(to_switch_sharing_off_is_as_if_it_never_was_on),
        live_test(who_finishes_when_asked_has_finished),
        live_test(a_receiver_that_dies_gets_nothing_and_nothing_is_lost),
        live_test(a_reservation_whose_answer_was_lost_is_made),
        live_test(a_cancelled_process_does_not_move),
        live_test(an_answer_about_a_queue_that_was_left_is_not_that_of_the_one_served_again),
        live_test(a_job_that_moves_says_so_in_its_history),
        live_test(what_moved_comes_back_in_the_order_of_its_first_take),
    };
    return scene_run(tests, argc, argv);
}
