/* SPDX-License-Identifier: MIT
 *
 * 200 tasks that never end, on ten worker processes, which are killed, stopped for half a ttl to three, ended by
 * SIGTERM and started again at random, while Redis restarts at random. What must hold at every moment is checked by
 * owner_sampler.h.
 *
 * At most three workers are stopped at once, so that the running ones have hands for all tasks. A worker that dies is
 * replaced at once: under a new name if it was killed, under its own after SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "owner_sampler.h"
#include "worker_process.h"

#define PLACES 10
#define TASKS 200
#define HANDS 40
#define FROZEN_MAX 3
#define TTL_MS 900
#define HEARTBEAT_MS (TTL_MS / 3)
#define GAP_MAX_MS (TTL_MS + HEARTBEAT_MS + 500)
#define FAULT_EVERY_MS 300
#define SECONDS 20

struct place {
    struct worker_process *worker;
    int life;
    size_t born;
    int64_t thaw_at;
};

struct bench {
    struct scene *scene;
    struct owner_sampler sampler;
    struct place places[PLACES];
    int n_frozen, kills, freezes, terms, restarts;
};

static void set_runs(struct bench *b, const struct place *p, int life)
{
    atomic_store(&b->sampler.account->runs[p - b->places], life);
}

static void start(struct bench *b, struct place *p)
{
    char id[16];
    snprintf(id, sizeof id, "w%d.%d", (int)(p - b->places), p->life);
    p->born = journal_size(b->scene->journal);
    p->worker = worker_process_start(
        b->scene,
        &(struct worker_spec){
            .id = id, .ttl_ms = TTL_MS, .hands = HANDS, .drain_ms = 100, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    set_runs(b, p, p->life);
}

static bool has_started(struct bench *b, const struct place *p)
{
    return journal_find(b->scene->journal, p->born, JOURNAL_EVENT, MUSTER_EVENT_STARTED, p->worker->id, NULL) != NULL;
}

/* ---- faults ---- */

static void kill_one(struct bench *b, struct place *p)
{
    set_runs(b, p, 0);
    worker_process_kill(p->worker);
    p->life++;
    start(b, p);
    b->kills++;
}

static void freeze_one(struct bench *b, struct place *p)
{
    if (b->n_frozen >= FROZEN_MAX)
        return;
    set_runs(b, p, 0);
    kill(p->worker->pid, SIGSTOP);
    p->thaw_at = now_ms() + TTL_MS / 2 + rand() % (TTL_MS * 5 / 2);
    b->n_frozen++;
    b->freezes++;
}

static void thaw_one(struct bench *b, struct place *p)
{
    kill(p->worker->pid, SIGCONT);
    set_runs(b, p, p->life);
    p->thaw_at = 0;
    b->n_frozen--;
}

/* Before it has started it has no handler for the signal either. */
static void term_one(struct bench *b, struct place *p)
{
    if (!has_started(b, p))
        return;
    kill(p->worker->pid, SIGTERM);
    assert_int_equal(worker_process_reap(p->worker), 0);
    start(b, p);
    b->terms++;
}

static void restart_redis(struct bench *b, struct place *p)
{
    (void)p;
    redis_server_kill(b->scene->server);
    redis_server_restart(b->scene->server);
    b->restarts++;
}

/* As often as it stands there. */
static void (*const faults[])(struct bench *b, struct place *p) = {kill_one,   kill_one,   kill_one, freeze_one,
                                                                   freeze_one, freeze_one, term_one, restart_redis};

static void thaw_due(struct bench *b, int64_t now)
{
    for (size_t i = 0; i < PLACES; i++)
        if (b->places[i].thaw_at && b->places[i].thaw_at <= now)
            thaw_one(b, &b->places[i]);
}

static void torment(struct bench *b, int64_t until)
{
    while (now_ms() < until) {
        int64_t next = now_ms() + rand() % (2 * FAULT_EVERY_MS);
        while (now_ms() < next) {
            run_loop(b->scene->base, 10);
            thaw_due(b, now_ms());
        }
        struct place *p = &b->places[rand() % PLACES];
        if (!p->thaw_at)
            faults[(size_t)rand() % N_OF(faults)](b, p);
    }
    thaw_due(b, INT64_MAX);
}

/* ---- the account ---- */

static void report(const struct bench *b)
{
    const struct owner_account *a = b->sampler.account;
    print_message("%d kills, %d freezes, %d SIGTERMs, %d restarts of Redis; %d snapshots, blind for %d ms; "
                  "%d changes of owner\n",
                  b->kills, b->freezes, b->terms, b->restarts, a->samples, a->blind_ms, a->changes);
    print_message("without a running owner (allowed %d ms): %d ms at worst, %d waited for a second one; by length:\n",
                  GAP_MAX_MS, a->longest_gap_ms, a->restarted_gaps);
    for (int i = 0; i < SAMPLER_BUCKETS; i++)
        if (a->gaps[i])
            print_message("  %4d..%4d ms: %d\n", i * SAMPLER_BUCKET_MS, (i + 1) * SAMPLER_BUCKET_MS - 1, a->gaps[i]);
}

static void judge(const struct bench *b)
{
    const struct owner_account *a = b->sampler.account;
    report(b);
    if (a->breaches)
        fail_msg("%d breaches; the first: %s", a->breaches, a->first_breach);
    assert_int_equal(a->n_tasks_seen, TASKS);
    assert_in_range(a->longest_gap_ms, 0, GAP_MAX_MS);
}

static void begin(struct bench *b)
{
    struct scene *s = b->scene;
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    owner_sampler_start(&b->sampler, s->server->socket, s->prefix);
    for (size_t i = 0; i < PLACES; i++) {
        b->places[i].life = 1;
        start(b, &b->places[i]);
    }
    raw_await(s->server->redis, s->base, PLACES, "ZCARD %s:idle:q", s->prefix);
    scene_enqueue_n(s, "q", "t", TASKS);
    scene_await_starts(s, TASKS);
}

/* Once the dead are swept, everything is in running hands. */
static void settle(struct bench *b)
{
    struct scene *s = b->scene;
    raw_await(s->server->redis, s->base, PLACES, "ZCARD %s:registry", s->prefix);
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, TASKS, "HGET %s:queue:q running", s->prefix);
    invariant_assert(s->server->redis, s->prefix);
    invariant_assert_one_place(s->server->redis, s->prefix);
}

static void finish_all(struct bench *b)
{
    struct scene *s = b->scene;
    for (size_t i = 0; i < PLACES; i++)
        worker_process_answer(b->places[i].worker, MUSTER_FINISH);
    raw_await(s->server->redis, s->base, 0, "HGET %s:queue:q running", s->prefix);
    scene_await_waiting(s, "q", 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
}

static void persistent_tasks_always_have_one_owner(void **state)
{
    struct bench b = {.scene = *state};
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    srand(1);
    begin(&b);
    torment(&b, now_ms() + (seconds ? atoi(seconds) : SECONDS) * 1000);
    settle(&b);
    owner_sampler_stop(&b.sampler);
    finish_all(&b);
    judge(&b);
    owner_sampler_free(&b.sampler);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(persistent_tasks_always_have_one_owner)};
    return scene_run_durable(tests, argc, argv);
}
