/* SPDX-License-Identifier: MIT
 *
 * Suspects in a worker: what was in a dead worker's hands runs alone, in its order, and how others wait for it.
 *
 * Workers that die are only acted: they take, and nothing is heard of them again. The worker under test is a live one.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epoll_worker.h"
#include "invariant.h"
#include "job_look.h"
#include "live_worker.h"
#include "proxy.h"
#include "script_call.h"
#include "slow.h"
#include "worker/worker.h"

#define TTL_MS slow_ms(600)
#define UNTAKEN_MS 300
#define NEVER (1000 * SOON_MS)

/* `n` tasks "<stem>0", ... of the queue become suspects. */
static void make_suspects(struct scene *s, const char *queue, const char *stem, int n)
{
    struct acting_worker dead = {.id = "dead", .queues = {queue}, .hands = n};
    scene_enqueue_n(s, queue, stem, n);
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
}

/* The same, while the queue is paused: they come out when it is resumed. */
static void make_suspects_paused(struct scene *s, int n)
{
    make_suspects(s, "q", "s", n);
    assert_ok(muster_queue_pause(s->client, "q"));
}

static void let_come(struct scene *s)
{
    assert_ok(muster_queue_resume(s->client, "q"));
}

static const struct worker_spec *holder(void)
{
    static struct worker_spec spec;
    spec = (struct worker_spec){
        .id = "w", .ttl_ms = TTL_MS, .hands = 8, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 0}}};
    return &spec;
}

static int64_t suspects(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:suspects:%s", s->prefix, queue);
}

/* What must not begin would have begun by now. */
static void assert_no_more_start(struct scene *s, size_t n)
{
    run_loop(s->base, TTL_MS);
    assert_int_equal(scene_starts(s), n);
}

/* What is said of the queue's only suspect: "0": nothing was counted; "0b": it has begun, alone. */
static bool is_entry(struct scene *s, const char *queue, const char *expected)
{
    static const char lua[] = "return (redis.call('HVALS', KEYS[1])[1] or '') == ARGV[1] and 1 or 0";
    return raw_int(s->server->redis, "EVAL %s 1 %s:suspects:%s %s", lua, s->prefix, queue, expected) == 1;
}

static void assert_entry(struct scene *s, const char *queue, const char *expected)
{
    if (!is_entry(s, queue, expected))
        fail_msg("the entry is not '%s'", expected);
}

static void await_quiet(struct scene *s, const char *queue)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
    assert_int_equal(suspects(s, queue), 0);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- alone ---- */

static void they_run_one_after_the_other_in_order_and_the_rest_after_them(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 3);
    scene_enqueue_n(s, "q", "new", 2);
    struct live_worker *w = live_worker_new(s, holder());
    for (size_t n = 1; n <= 3; n++) {
        scene_await_starts(s, n);
        assert_no_more_start(s, n);
        live_worker_end(w, MUSTER_FINISH);
    }
    scene_await_starts(s, 5);
    assert_int_equal(w->n_held, 2);
    scene_assert_started(s, 0, (const char *[]){"s0", "s1", "s2", "new0", "new1", NULL});
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void each_end_takes_the_suspicion_away(void **state)
{
    struct scene *s = *state;
    static const enum muster_outcome ends[] = {MUSTER_FINISH, MUSTER_RETRY, MUSTER_FAIL};
    make_suspects(s, "q", "s", N_OF(ends));
    struct live_worker *w = live_worker_new(s, holder());
    for (size_t i = 0; i < N_OF(ends); i++) {
        scene_await_starts(s, i + 1);
        live_worker_end(w, ends[i]);
    }
    scene_await_starts(s, N_OF(ends) + 1); /* the retried one */
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s, "q");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
}

static void what_is_given_back_stays_suspected(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, holder());
    scene_await_starts(s, 1);
    live_worker_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 2);
    assert_int_equal(suspects(s, "q"), 1);
    scene_enqueue(s, "q", "new");
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void a_job_runs_alone_too(void **state)
{
    struct scene *s = *state;
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 2};
    job_put(s, "q", JOB_SPEC(.id = "late", .priority = 5));
    job_put(s, "q", JOB_SPEC(.id = "early", .priority = -5));
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
    job_put(s, "q", JOB_SPEC(.id = "new"));
    struct live_worker *w = live_worker_new(s, holder());
    for (size_t n = 1; n <= 2; n++) {
        scene_await_starts(s, n);
        assert_no_more_start(s, n);
        assert_int_equal(raw_int(s->server->redis, "HGET %s:job:%s crashes", s->prefix, n == 1 ? "early" : "new"), 0);
        live_worker_end(w, MUSTER_FINISH);
    }
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
    assert_job_state(s, "late", MUSTER_JOB_COMPLETE);
}

/* ---- beside others ---- */

static void one_waits_until_the_others_have_ended(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    scene_enqueue_n(s, "r", "other", 2);
    scene_await_starts(s, 2);
    let_come(s);
    raw_await(s->server->redis, s->base, 3, "HGET %s:worker:w held", s->prefix);
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    assert_no_more_start(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 3);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void handlers_of_queues_without_a_limit_of_deaths_hold_none_up(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:r max_crashes 0", s->prefix);
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    scene_enqueue_n(s, "r", "endless", 2);
    scene_await_starts(s, 2);
    let_come(s);
    scene_await_starts(s, 3);
    assert_int_equal(suspects(s, "q"), 1);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void while_it_has_some_the_worker_takes_nothing_more(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 2);
    struct live_worker *w = live_worker_new(s, holder());
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w hands", s->prefix);
    scene_enqueue(s, "q", "new");
    live_worker_new(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "peer", "new"));
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 8, "HGET %s:worker:w hands", s->prefix);
    await_quiet(s, "q");
}

static atomic_bool may_end[128];

/* Tasks whose names begin with the same letter end together. */
static enum muster_outcome wait_for_its_letter(struct muster_process *p, void *arg)
{
    const char *task = muster_process_task(p, NULL);
    journal_process(((struct live_worker *)arg)->journal, JOURNAL_START, 0, p);
    while (!atomic_load(&may_end[(unsigned char)*task]) && muster_process_stop_reason(p) == MUSTER_GO_ON)
        usleep(1000);
    return MUSTER_FINISH;
}

/* Handlers run on threads, and a thread goes on by itself with what lies ahead. Until a suspect's end is confirmed nothing
 * does. */
static void what_lies_ahead_waits_for_the_end_of_one(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:r max_crashes 0", s->prefix);
    make_suspects(s, "q", "s", 1);
    scene_enqueue_n(s, "q", "new", 2);
    scene_enqueue_n(s, "r", "a", 1);
    scene_enqueue_n(s, "r", "b", 1);
    struct worker_spec spec = {.id = "w", .ttl_ms = 10 * TTL_MS, .hands = 2, .prefetch = 20, .more.threads = 2};
    spec.queues[0].name = "r";
    spec.queues[1].name = "q";
    spec.handler = wait_for_its_letter;
    memset(may_end, 0, sizeof may_end);
    live_worker_new(s, &spec);
    scene_await_starts(s, 2);
    raw_await(s->server->redis, s->base, 5, "HGET %s:worker:w held", s->prefix);
    atomic_store(&may_end['a'], true);
    scene_await_starts(s, 3);
    assert_entry(s, "q", "0b");
    redis_server_freeze(s->server);
    atomic_store(&may_end['s'], true);
    run_loop(s->base, TTL_MS);
    atomic_store(&may_end['b'], true);
    run_loop(s->base, TTL_MS);
    assert_int_equal(scene_starts(s), 3);
    redis_server_thaw(s->server);
    atomic_store(&may_end['n'], true);
    scene_await_starts(s, 5);
    await_quiet(s, "q");
}

/* ---- when it takes long ---- */

static void one_that_has_run_alone_for_long_is_suspected_no_more(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, holder());
    w->worker->suspects.acquit_after_ms = TTL_MS;
    scene_enqueue(s, "q", "new");
    int64_t before = now_ms();
    scene_await_starts(s, 2);
    assert_in_range(now_ms() - before, TTL_MS / 2, TTL_MS + 5000);
    assert_int_equal(suspects(s, "q"), 0);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void assert_told(struct scene *s, const char *words)
{
    scene_await_events(s, MUSTER_EVENT_ALONE, "w", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_ALONE, "w", NULL);
    if (!strstr(e->text, words))
        fail_msg("'%s' does not say '%s'", e->text, words);
    run_loop(s->base, TTL_MS);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_ALONE, NULL, NULL), 1);
}

static void the_program_is_told_once_that_one_runs_long(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, holder());
    w->worker->suspects.tell_after_ms = 50;
    assert_told(s, "it runs alone until it ends");
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static void the_program_is_told_once_that_one_waits_long(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    w->worker->suspects.tell_after_ms = 50;
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    assert_told(s, "1 others still run");
    live_worker_answer(w, MUSTER_FINISH);
    w->worker->suspects.tell_after_ms = 60000;
    await_quiet(s, "q");
}

/* ---- what goes wrong ---- */

/* The call that says that it begins, or the answer to it, is lost with the connection. */
static void assert_begins_after_a_cut(struct scene *s, int way)
{
    struct proxy proxy;
    make_suspects(s, "q", "s", 2);
    proxy_start(&proxy, s->server->dir, s->server->socket);
    proxy_trap(&proxy, lua_scripts[SCRIPT_BEGIN_ALONE].sha1, way);
    struct worker_spec spec = *holder();
    spec.url = proxy.url;
    struct live_worker *w = live_worker_new(s, &spec);
    scene_await_starts(s, 1);
    assert_int_equal(proxy_count(&proxy).trapped, 1);
    assert_no_more_start(s, 1);
    live_worker_end(w, MUSTER_FINISH);
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s, "q");
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void a_call_that_gets_lost_is_made_again(void **state)
{
    assert_begins_after_a_cut(*state, PROXY_REQUESTS);
}

static void so_is_one_whose_answer_gets_lost(void **state)
{
    assert_begins_after_a_cut(*state, PROXY_REPLIES);
}

static void a_damaged_key_holds_up_its_own_queue_only(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    scene_enqueue(s, "r", "before");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    raw_do(s->server->redis, "RENAME %s:suspects:q %s:kept", s->prefix, s->prefix);
    raw_do(s->server->redis, "SET %s:suspects:q text", s->prefix);
    live_worker_end(w, MUSTER_FINISH);
    scene_enqueue(s, "r", "other");
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w", "other"));
    live_worker_end(w, MUSTER_FINISH);
    scene_enqueue(s, "r", "behind");
    scene_await_starts(s, 3);
    live_worker_end(w, MUSTER_FINISH);
    raw_do(s->server->redis, "RENAME %s:kept %s:suspects:q", s->prefix, s->prefix);
    scene_await_starts(s, 4);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "q");
}

static enum muster_outcome give_data(struct muster_process *p, void *arg)
{
    if (!muster_process_job(p))
        return live_worker_handle(p, arg);
    assert_ok(muster_process_set_data(p, "new", 3));
    return MUSTER_FINISH;
}

/* Its handler has ended, and its end waits for its data. */
static void data_that_a_damaged_key_refuses_hold_no_suspect_up(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct worker_spec spec = *holder();
    spec.handler = give_data;
    struct live_worker *w = live_worker_idle(s, &spec);
    raw_do(s->server->redis, "SET %s:notes:w text", s->prefix);
    job_put(s, "r", JOB_SPEC(.id = "j"));
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 1);
    let_come(s);
    scene_await_starts(s, 1);
    live_worker_answer(w, MUSTER_FINISH);
    scene_enqueue(s, "r", "other");
    scene_await_starts(s, 2);
    raw_do(s->server->redis, "DEL %s:notes:w", s->prefix);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:r running", s->prefix);
    await_quiet(s, "q");
}

/* Its handler has run. So what begins beside it dies for something else. */
static void one_whose_end_is_refused_is_not_blamed_for_others(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct live_worker *w = live_worker_new(s, holder());
    scene_await_starts(s, 1);
    assert_entry(s, "q", "0b");
    raw_do(s->server->redis, "SET %s:failed:q text", s->prefix);
    live_worker_end(w, MUSTER_FAIL);
    scene_enqueue(s, "r", "other");
    scene_await_starts(s, 2);
    assert_entry(s, "q", "0");
    raw_do(s->server->redis, "DEL %s:failed:q", s->prefix);
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:failed:q", s->prefix);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "r");
}

static void a_stop_gives_back_those_that_wait_and_blames_none(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 3);
    struct live_worker *w = live_worker_new(s, holder());
    scene_await_starts(s, 1);
    live_worker_answer(w, MUSTER_FINISH); /* one more may have begun by then */
    live_worker_stop(s, w, -1);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
    live_worker_free(s, w);
    w = live_worker_new(s, holder());
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:suspects:q", s->prefix);
    await_quiet(s, "q");
}

static void one_whose_queue_is_left_holds_up_nothing(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(s, MUSTER_EVENT_LEFT, "w", 1);
    scene_enqueue(s, "r", "next");
    scene_await_starts(s, 2);
    assert_non_null(journal_find(s->journal, 0, JOURNAL_START, -1, "w", "next"));
    live_worker_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:r running", s->prefix);
    assert_int_equal(suspects(s, "q"), 1);
}

static void one_that_is_cancelled_while_it_waits_never_starts(void **state)
{
    struct scene *s = *state;
    make_suspects_paused(s, 1);
    struct live_worker *w = live_worker_idle(s, holder());
    scene_enqueue(s, "r", "endless");
    scene_await_starts(s, 1);
    let_come(s);
    raw_await(s->server->redis, s->base, 2, "HGET %s:worker:w held", s->prefix);
    assert_ok(muster_task_cancel(s->client, "q", "s0", 2, NULL, NULL));
    scene_enqueue(s, "r", "next");
    scene_await_starts(s, 2);
    live_worker_answer(w, MUSTER_FINISH);
    await_quiet(s, "r");
    assert_int_equal(suspects(s, "q"), 0);
}

/* ---- those that the program takes by itself ---- */

static struct epoll_worker *program(struct scene *s, const char *url, int64_t untaken_after_ms)
{
    struct epoll_worker *e = epoll_worker_new(
        s, &(struct epoll_spec){.url = url, .ttl_ms = url ? 10 * TTL_MS : TTL_MS, .hands = 2, .prefetch = 8});
    e->worker->suspects.untaken_after_ms = untaken_after_ms;
    assert_ok(muster_worker_serve(e->worker, "q", 0, NULL, NULL));
    return e;
}

static bool is_said_to_begin(void *s)
{
    return is_entry(s, "q", "0b");
}

static bool is_said_to_begin_no_more(void *s)
{
    return is_entry(s, "q", "0");
}

/* It looks, finds nothing, and does not look again. It may look too early for the invitation. */
static void look_once(struct scene *s, struct epoll_worker *e)
{
    struct pollfd fd = {.fd = muster_worker_fd(e->worker), .events = POLLIN};
    struct muster_item item = {.size = sizeof item, .type = MUSTER_ITEM_EVENT};
    do {
        assert_int_equal(item.type, MUSTER_ITEM_EVENT);
        assert_int_equal(poll(&fd, 1, SOON_MS), 1);
    } while (muster_worker_next(e->worker, &item, 1) > 0 || !wait_for(NULL, is_said_to_begin, s, SOON_MS / 4));
}

static void assert_no_more_come(struct epoll_worker *e, size_t n)
{
    for (int64_t until = now_ms() + TTL_MS / 2; now_ms() < until;)
        epoll_worker_turn(e, 10);
    assert_int_equal(e->n_held, n);
}

/* One take brings what is no suspect, and then a suspect. Redis is slow, so there is time to fetch the first one while
 * the worker asks whether the other may begin. */
static void what_the_program_may_take_does_not_run_beside_one(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    char token[12];
    struct acting_worker peer = {.id = "peer", .queues = {"q"}, .hands = 1};
    scene_enqueue(s, "q", "other");
    acting_start(&peer, s);
    acting_take(&peer);
    make_suspects(s, "q", "s", 1);
    token_of_task(s, "peer", "q", "other", token);
    acting_say(&peer, "back", "q", "1", token);
    acting_forget(&peer);
    (void)script_does(s, SCRIPT_BEGIN_ALONE, "peer", "", "0", "q", token, "0"); /* Redis knows it from now on */
    proxy_start(&proxy, s->server->dir, s->server->socket);
    proxy_delay(&proxy, 30);
    struct epoll_worker *e = program(s, proxy.url, NEVER);
    for (size_t n = 1; n <= 2; n++) {
        epoll_worker_await_taken(e, n);
        assert_no_more_come(e, 1);
        bool is_suspect = e->accounts[n - 1]->task[0] == 's';
        assert_entry(s, "q", is_suspect ? "0b" : n == 1 ? "0" : "");
        epoll_worker_end_all(e, MUSTER_FINISH);
    }
    epoll_worker_await_settled(e);
    assert_int_equal(suspects(s, "q"), 0);
    epoll_worker_free(e);
    proxy_stop(&proxy);
}

static void die(struct scene *s, struct epoll_worker *e)
{
    struct acting_worker dead = {.id = "w", .scene = s};
    epoll_worker_free(e);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "w", "0"));
}

static void what_the_program_never_takes_has_not_begun(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct epoll_worker *e = program(s, NULL, UNTAKEN_MS);
    raw_await(s->server->redis, s->base, 1, "HGET %s:worker:w held", s->prefix);
    run_loop(s->base, TTL_MS);
    assert_entry(s, "q", "0");
    die(s, e);
    assert_entry(s, "q", "0");
    e = program(s, NULL, UNTAKEN_MS);
    epoll_worker_await_held(e, 1);
    die(s, e);
    assert_entry(s, "q", "1");
}

static void neither_has_what_it_does_not_come_for_again(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct epoll_worker *e = program(s, NULL, UNTAKEN_MS);
    look_once(s, e);
    wait_until(is_said_to_begin_no_more, s, SOON_MS);
    epoll_worker_await_held(e, 1);
    assert_entry(s, "q", "0b");
    epoll_worker_end_all(e, MUSTER_FINISH);
    epoll_worker_await_settled(e);
    epoll_worker_free(e);
    await_quiet(s, "q");
}

static void a_job_is_a_suspect_as_before_then(void **state)
{
    struct scene *s = *state;
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 1};
    job_put(s, "q", JOB_SPEC(.id = "j"));
    acting_start(&dead, s);
    acting_take(&dead);
    acting_die(&dead);
    assert_ok(script_does(s, SCRIPT_SWEEP, "dead", "0"));
    struct epoll_worker *e = program(s, NULL, UNTAKEN_MS);
    look_once(s, e);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:suspects:q", s->prefix);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:job:j suspect", s->prefix), 1);
    die(s, e);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:job:j crashes", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:job:j suspect", s->prefix), 1);
}

static void nor_has_what_is_left_before_it_was_taken(void **state)
{
    struct scene *s = *state;
    make_suspects(s, "q", "s", 1);
    struct epoll_worker *e = program(s, NULL, NEVER);
    assert_ok(muster_worker_serve(e->worker, "r", 0, NULL, NULL));
    look_once(s, e);
    assert_ok(muster_worker_leave(e->worker, "q"));
    epoll_worker_await_events(e, MUSTER_EVENT_LEFT, 1);
    assert_int_equal(e->n, 0);
    assert_entry(s, "q", "0");
    scene_enqueue(s, "r", "other");
    epoll_worker_await_held(e, 1);
    epoll_worker_free(e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(they_run_one_after_the_other_in_order_and_the_rest_after_them),
        live_test(each_end_takes_the_suspicion_away),
        live_test(what_is_given_back_stays_suspected),
        live_test(a_job_runs_alone_too),
        live_test(one_waits_until_the_others_have_ended),
        live_test(handlers_of_queues_without_a_limit_of_deaths_hold_none_up),
        live_test(while_it_has_some_the_worker_takes_nothing_more),
        live_test(what_lies_ahead_waits_for_the_end_of_one),
        live_test(one_that_has_run_alone_for_long_is_suspected_no_more),
        live_test(the_program_is_told_once_that_one_runs_long),
        live_test(the_program_is_told_once_that_one_waits_long),
        live_test(a_call_that_gets_lost_is_made_again),
        live_test(so_is_one_whose_answer_gets_lost),
        live_test(a_damaged_key_holds_up_its_own_queue_only),
        live_test(data_that_a_damaged_key_refuses_hold_no_suspect_up),
        live_test(one_whose_end_is_refused_is_not_blamed_for_others),
        live_test(a_stop_gives_back_those_that_wait_and_blames_none),
        live_test(one_whose_queue_is_left_holds_up_nothing),
        live_test(one_that_is_cancelled_while_it_waits_never_starts),
        live_test(what_the_program_may_take_does_not_run_beside_one),
        live_test(what_the_program_never_takes_has_not_begun),
        live_test(neither_has_what_it_does_not_come_for_again),
        live_test(a_job_is_a_suspect_as_before_then),
        live_test(nor_has_what_is_left_before_it_was_taken),
    };
    return scene_run(tests, argc, argv);
}
