/* SPDX-License-Identifier: MIT
 *
 * A stall is not a death. While Redis stands still, for all workers or for one, they fall into doubt and start nothing;
 * when it goes on, they go on with what they hold. A Redis that refuses for a while does no harm either.
 *
 * The workers have processes of their own, because a look at a Redis that stands still blocks the test.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_server.h"
#include "live_worker.h"
#include "proxy.h"
#include "slow.h"
#include "worker_process.h"

#define TTL_MS slow_ms(600)
#define STALL_MS (3 * TTL_MS)

/* Holds up to three tasks, and goes on with them when told to stop. */
static struct worker_process *holder(struct scene *s, const char *id)
{
    return worker_process_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = TTL_MS, .hands = 3, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}});
}

struct moment {
    int64_t ms;
};

static bool is_past(void *arg)
{
    return now_ms() >= ((struct moment *)arg)->ms;
}

static void pause_clients(struct scene *s, struct moment *end)
{
    raw_do(s->server->redis, "CLIENT PAUSE %d ALL", STALL_MS);
    end->ms = now_ms() + STALL_MS;
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w2", 1);
    wait_until(is_past, end, SOON_MS);
}

static void freeze_server(struct scene *s, struct moment *end)
{
    redis_server_freeze(s->server);
    end->ms = now_ms() + STALL_MS;
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w2", 1);
    wait_until(is_past, end, SOON_MS);
    redis_server_thaw(s->server);
}

/* Two workers hold all there is; a third, idle, would get whatever is wrongly swept. */
static void assert_nobody_is_robbed(struct scene *s, void (*stall)(struct scene *, struct moment *))
{
    struct moment end;
    struct worker_process *w1 = holder(s, "w1"), *w2 = holder(s, "w2");
    scene_enqueue_n(s, "q", "t", 6);
    scene_await_starts(s, 6);
    worker_process_idle(s, &(struct worker_spec){.id = "idle", .ttl_ms = TTL_MS, .hands = 9, .queues = {{"q", 0}}});
    stall(s, &end);

    /* A worker that had to be swept would have been by now, two ttls later. */
    end.ms = now_ms() + 2 * TTL_MS;
    wait_until(is_past, &end, SOON_MS);
    assert_int_equal(scene_starts(s), 6);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL), 0);
    worker_process_answer(w1, MUSTER_FINISH);
    worker_process_answer(w2, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    assert_int_equal(scene_starts(s), 6);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

static void a_paused_redis_takes_no_tasks_away(void **state)
{
    assert_nobody_is_robbed(*state, pause_clients);
}

static void a_frozen_redis_takes_no_tasks_away(void **state)
{
    assert_nobody_is_robbed(*state, freeze_server);
}

/* ---- handlers that may run on in doubt ---- */

static struct worker_process *one_that_runs_on(struct scene *s, const char *url)
{
    return worker_process_idle(s, &(struct worker_spec){.id = "w1",
                                                        .url = url,
                                                        .ttl_ms = TTL_MS,
                                                        .hands = 3,
                                                        .answer = MUSTER_LATER,
                                                        .stubborn = true,
                                                        .queues = {{"q", 0}},
                                                        .more = {.on_doubt = MUSTER_DOUBT_RUN}});
}

static void in_an_outage_handlers_may_run_on_and_nothing_has_happened(void **state)
{
    struct scene *s = *state;
    struct worker_process *w = one_that_runs_on(s, NULL);
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    redis_server_freeze(s->server);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    struct moment end = {now_ms() + TTL_MS};
    wait_until(is_past, &end, SOON_MS);
    worker_process_end(w, MUSTER_FINISH);
    redis_server_thaw(s->server);
    scene_enqueue(s, "q", "later"); /* starts when the doubt is over */
    scene_await_starts(s, 3);
    worker_process_answer(w, MUSTER_FINISH);
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    for (int type = MUSTER_EVENT_LOST; type <= MUSTER_EVENT_STOPPED; type++)
        if (type == MUSTER_EVENT_LOST || type == MUSTER_EVENT_STOP || type == MUSTER_EVENT_UNCOUNTED)
            assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, type, NULL, NULL), 0);
}

static void one_that_was_swept_meanwhile_tells_them_when_redis_is_back(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct worker_process *w = one_that_runs_on(s, proxy.url);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    worker_process_idle(s, &(struct worker_spec){.id = "peer", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    scene_await_events(s, MUSTER_EVENT_SWEPT, "peer", 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOP, NULL, NULL), 0);
    proxy_accept(&proxy);
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, "w1", NULL), 1);
    scene_await_starts(s, 2); /* it takes the task again, with another hand */
    worker_process_kill(w);
    proxy_stop(&proxy);
}

/* A holder that stays away a little longer than Redis did, and a rival that would take what it holds. */
struct late {
    struct worker_process *holder;
    int64_t thawed_ms;
};

#define LATE_TTL_MS slow_ms(1500)

static void stall_with_a_late_holder(struct scene *s, struct late *late)
{
    const struct worker_spec spec = {
        .ttl_ms = LATE_TTL_MS, .hands = 3, .answer = MUSTER_LATER, .stubborn = true, .queues = {{"q", 0}}};
    struct worker_spec holder_spec = spec, rival_spec = spec;
    holder_spec.id = "late";
    rival_spec.id = "rival";
    late->holder = worker_process_idle(s, &holder_spec);
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    worker_process_idle(s, &rival_spec);
    redis_server_freeze(s->server);
    struct moment end = {now_ms() + LATE_TTL_MS + LATE_TTL_MS / 3};
    kill(late->holder->pid, SIGSTOP);
    wait_until(is_past, &end, SOON_MS);
    redis_server_thaw(s->server);
    late->thawed_ms = now_ms();
    raw_await(s->server->redis, NULL, 1, "EXISTS %s:alive:rival", s->prefix);
}

static void a_worker_that_comes_back_within_a_ttl_after_a_stall_keeps_its_tasks(void **state)
{
    struct scene *s = *state;
    struct late late;
    stall_with_a_late_holder(s, &late);
    struct moment end = {late.thawed_ms + LATE_TTL_MS / 2};
    wait_until(is_past, &end, SOON_MS);
    kill(late.holder->pid, SIGCONT);
    end.ms = late.thawed_ms + 2 * LATE_TTL_MS;
    wait_until(is_past, &end, SOON_MS);
    assert_int_equal(scene_starts(s), 3);
    worker_process_answer(late.holder, MUSTER_FINISH);
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

static void a_worker_that_died_in_a_stall_is_swept_after_the_grace(void **state)
{
    struct scene *s = *state;
    scene_suspect_nothing(s);
    struct late late;
    stall_with_a_late_holder(s, &late);
    worker_process_kill(late.holder);
    scene_await_starts(s, 6);
    int took = (int)(now_ms() - late.thawed_ms);
    print_message("ttl %d ms: swept %d ms after the stall\n", LATE_TTL_MS, took);
    assert_in_range(took, LATE_TTL_MS - 100, LATE_TTL_MS + LATE_TTL_MS / 3 + slow_ms(2000));
    scene_assert_started(s, 0, (const char *[]){"t0", "t1", "t2", "t0", "t1", "t2", NULL});
}

/* In doubt, handlers are told to stop; a stubborn one that goes on and ends well still owns its task. */
static void an_end_made_in_doubt_counts_if_the_task_is_still_its_own(void **state)
{
    struct scene *s = *state;
    struct worker_process *w = holder(s, "w1");
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    redis_server_freeze(s->server);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    worker_process_end(w, MUSTER_FINISH);
    redis_server_thaw(s->server);
    raw_await(s->server->redis, s->base, 0, "HLEN %s:processing:w1:q", s->prefix);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_assert_quiet(s);
    scene_enqueue(s, "q", "next");
    scene_await_starts(s, 2);
    scene_assert_started(s, 0, (const char *[]){"t", "next", NULL});
    /* Its answer is lost if the connection is given up in the moment between. */
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL);
    assert_true(!e || e->err == MUSTER_E_CONN);
}

/* Told before any peer may sweep: counted from when the last confirmed heartbeat was sent. */
static void doubt_comes_within_the_ttl_and_nothing_starts_in_it(void **state)
{
    struct scene *s = *state;
    worker_process_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = TTL_MS, .hands = 1, .prefetch = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 4);
    scene_await_starts(s, 1);
    int64_t before = now_ms();
    redis_server_freeze(s->server);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    const struct journal_entry *doubt = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, "w1", NULL);
    print_message("ttl %d ms: doubt %d ms after Redis froze\n", TTL_MS, (int)(doubt->at_ms - before));
    assert_in_range(doubt->at_ms - before, 0, TTL_MS + slow_ms(1000));
    scene_await_events(s, MUSTER_EVENT_STOP, "w1", 1);
    /* Its only hand is free again, its peers cannot have the other three: yet it must not begin them now. */
    struct moment later = {now_ms() + 300};
    wait_until(is_past, &later, SOON_MS);
    assert_int_equal(scene_starts(s), 1);
    redis_server_thaw(s->server);
    scene_await_starts(s, 2);
}

/* Cut off alone: nothing it sends arrives, nothing it waits for comes, and a peer is there to sweep it. */
static void a_worker_knows_before_its_peers_do(void **state)
{
    struct scene *s = *state;
    struct fake_server relay;
    fake_server_relay(&relay, s->server->socket, NULL);
    worker_process_idle(s, &(struct worker_spec){.id = "cut",
                                                 .url = relay.url,
                                                 .ttl_ms = TTL_MS,
                                                 .answer = MUSTER_LATER,
                                                 .stubborn = true,
                                                 .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    worker_process_idle(s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    fake_server_freeze(&relay);
    scene_await_starts(s, 2);
    scene_await_events(s, MUSTER_EVENT_STOP, "cut", 1);
    const struct journal_entry *told = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STOP, "cut", "t");
    const struct journal_entry *taken = journal_find(s->journal, 0, JOURNAL_START, -1, "heir", "t");
    print_message("told %d ms before its peer began\n", (int)(taken->at_ms - told->at_ms));
    /* A timer may be late on a busy machine. */
    assert_true(told->at_ms <= taken->at_ms + slow_ms(50));
    fake_server_thaw(&relay);
    scene_await_events(s, MUSTER_EVENT_LOST, "cut", 1);
    scene_await_events(s, MUSTER_EVENT_STARTED, "cut", 2);
    fake_server_stop(&relay);
}

/* ---- refusals ---- */

static void on_a_full_redis_workers_live_and_finish(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    struct worker_process *w = holder(s, "w1");
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    struct moment later = {now_ms() + 3 * TTL_MS};
    worker_process_end(w, MUSTER_FINISH);
    raw_await(own.redis, NULL, 2, "HLEN %s:processing:w1:q", s->prefix);
    wait_until(is_past, &later, SOON_MS);
    assert_int_equal(raw_int(own.redis, "EXISTS %s:alive:w1", s->prefix), 1);
    worker_process_end(w, MUSTER_FINISH);
    raw_await(own.redis, NULL, 1, "HLEN %s:processing:w1:q", s->prefix);
    worker_process_end(w, MUSTER_GIVE_BACK);
    scene_await_starts(s, 4);
    raw_do(own.redis, "CONFIG SET maxmemory 0");
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 5);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, NULL, NULL), 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    redis_server_remove(&own);
}

static void a_redis_that_is_a_replica_for_a_while_is_waited_for(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char refusing[64];
    int fd = fake_server_refuse(refusing);
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    struct worker_process *w = worker_process_idle(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_do(own.redis, "REPLICAOF 127.0.0.1 %s", strrchr(refusing, ':') + 1);
    scene_await_events(s, MUSTER_EVENT_DOUBT, "w1", 1);
    size_t n_down = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL);
    assert_int_equal(n_down, 1); /* it has connected again since, which is no news: no write was accepted */
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UP, "w1", NULL), 0);
    raw_do(own.redis, "REPLICAOF NO ONE");
    int64_t before = now_ms();
    scene_await_events(s, MUSTER_EVENT_UP, "w1", 1);
    scene_await_starts(s, 2);
    print_message("writable again: the task was taken up after %d ms\n", (int)(now_ms() - before));
    assert_in_range(now_ms() - before, 0, 2000 + slow_ms(2000));
    worker_process_answer(w, MUSTER_FINISH);
    raw_await(own.redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, NULL, NULL), 0);
    redis_server_remove(&own);
    close(fd);
}

static void a_key_of_the_wrong_type_harms_its_own_queue_only(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "SET %s:queues:bad text", s->prefix);
    worker_process_start(s, &(struct worker_spec){.id = "w1", .ttl_ms = TTL_MS, .queues = {{"bad", 0}, {"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w1", 1);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w1", NULL);
    assert_non_null(strstr(e->text, "queues:bad"));
    scene_enqueue_n(s, "q", "t", 3);
    scene_await_starts(s, 3);
    raw_do(s->server->redis, "DEL %s:queues:bad", s->prefix);
    scene_enqueue(s, "bad", "good again");
    scene_await_starts(s, 4);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOUBT, NULL, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_paused_redis_takes_no_tasks_away),
        live_test(a_frozen_redis_takes_no_tasks_away),
        live_test(in_an_outage_handlers_may_run_on_and_nothing_has_happened),
        live_test(one_that_was_swept_meanwhile_tells_them_when_redis_is_back),
        live_test(a_worker_that_comes_back_within_a_ttl_after_a_stall_keeps_its_tasks),
        live_test(a_worker_that_died_in_a_stall_is_swept_after_the_grace),
        live_test(an_end_made_in_doubt_counts_if_the_task_is_still_its_own),
        live_test(doubt_comes_within_the_ttl_and_nothing_starts_in_it),
        live_test(a_worker_knows_before_its_peers_do),
        live_test(on_a_full_redis_workers_live_and_finish),
        live_test(a_redis_that_is_a_replica_for_a_while_is_waited_for),
        live_test(a_key_of_the_wrong_type_harms_its_own_queue_only),
    };
    return scene_run(tests, argc, argv);
}
