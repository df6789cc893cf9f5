/* SPDX-License-Identifier: MIT
 *
 * 200 tasks that never end, on ten worker processes, which are killed, stopped for half a ttl to three, ended by
 * SIGTERM and started again at random, while Redis restarts at random. What must hold at every moment is checked by
 * owner_sampler.h.
 *
 * At most three workers are stopped at once, so that the running ones have hands for all tasks. A worker that dies is
 * replaced at once: under a new name if it was killed, under its own after SIGTERM. If Redis is too slow for it to
 * deregister within its ttl, beside much else, that was as good as a kill.
 *
 * The same where the queue shares evenly, and among all that people do: workers join and leave for good, one is failed
 * by hand, one is permanent and one resumes, tasks are cancelled, the queue is paused, and another one is deleted. Then
 * tasks move to each worker that comes, too. When nothing happens any more, all hold equally many.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "owner_sampler.h"
#include "slow.h"
#include "worker_process.h"

#define PLACES 10
#define TASKS 200
#define HANDS 40
#define FROZEN_MAX 3
#define TTL_MS slow_ms(900)
#define HEARTBEAT_MS (TTL_MS / 3)
/* A pause holds back what has no owner. */
#define PAUSE_MAX_MS 400
#define GAP_MAX_MS(shares) (TTL_MS + HEARTBEAT_MS + 500 + ((shares) ? PAUSE_MAX_MS : 0))
#define FAULT_EVERY_MS(shares) ((shares) ? 150 : 300)
#define SECONDS 15 /* of each of the two */

/* Where the queue shares: workers that come and go; and tasks that are cancelled, each followed by a new one. The
 * sampler does not know the latter: a cancelled one may run on beside it. */
#define GUESTS 3
#define PASSING 20
#define PASSING_FIRST 1000
#define OTHERS 3 /* tasks of the other queue */

/*
 *   thaw_at     when it goes on; 0: it is not frozen
 *   returns     whoever is killed here comes back under the same id, as soon as it may
 *   is_away     it was killed, and has not come back
 */
struct place {
    struct worker_process *worker;
    int life;
    size_t born;
    int64_t thaw_at;
    bool is_permanent, returns, is_away;
};

struct bench {
    struct scene *scene;
    struct owner_sampler sampler;
    struct place places[PLACES + GUESTS];
    size_t n_places;
    bool shares;
    int64_t resume_at;
    int n_passed, n_frozen, kills, freezes, terms, late, restarts, returns, fails, cancels, pauses, deletes, visits;
};

static void set_runs(struct bench *b, const struct place *p, int life)
{
    atomic_store(&b->sampler.account->runs[p - b->places], life);
}

/* A process whose queue was deleted may end as it likes; these end at once. */
static void on_event(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP || e->type == MUSTER_EVENT_DELETED)
        live_worker_end_one(w, e->process, MUSTER_GIVE_BACK);
}

static void start(struct bench *b, struct place *p)
{
    char id[16];
    snprintf(id, sizeof id, "w%d.%d", (int)(p - b->places), p->life);
    p->born = journal_size(b->scene->journal);
    p->worker = worker_process_start(b->scene,
                                     &(struct worker_spec){.id = id,
                                                           .ttl_ms = TTL_MS,
                                                           .hands = HANDS,
                                                           .drain_ms = 100,
                                                           .answer = MUSTER_LATER,
                                                           .more = {.permanent = p->is_permanent, .resume = p->returns},
                                                           .on_event = on_event,
                                                           .queues = {{"q", 0}, {b->shares ? "other" : NULL, 0}}});
    set_runs(b, p, p->life);
}

static bool has_started(struct bench *b, const struct place *p)
{
    return journal_find(b->scene->journal, p->born, JOURNAL_EVENT, MUSTER_EVENT_STARTED, p->worker->id, NULL) != NULL;
}

/* ---- faults ---- */

/* It has not deregistered. */
static void replace(struct bench *b, struct place *p)
{
    set_runs(b, p, 0);
    p->is_away = p->returns;
    if (!p->returns) {
        p->life++;
        start(b, p);
    }
}

static void kill_one(struct bench *b, struct place *p)
{
    set_runs(b, p, 0);
    worker_process_kill(p->worker);
    replace(b, p);
    b->kills++;
}

/* Its id is free once its last life is no longer heard. */
static void return_those_who_may(struct bench *b)
{
    for (struct place *p = b->places; p < b->places + b->n_places; p++) {
        if (!p->is_away || raw_int(b->scene->server->redis, "EXISTS %s:alive:%s", b->scene->prefix, p->worker->id))
            continue;
        p->is_away = false;
        start(b, p);
        b->returns++;
    }
}

static void freeze_one(struct bench *b, struct place *p)
{
    if (b->n_frozen >= FROZEN_MAX || p->is_permanent) /* nobody takes over from a permanent one */
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

/* It is told to stop, and ends. Has it deregistered? */
static bool has_left(struct bench *b, const struct place *p)
{
    kill(p->worker->pid, SIGTERM);
    bool is_in_time = worker_process_reap(p->worker) == 0;
    const struct journal_entry *e =
        journal_find(b->scene->journal, p->born, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, p->worker->id, NULL);
    assert_non_null(e);
    if (!is_in_time)
        assert_true(e->err == MUSTER_E_CONN || e->err == MUSTER_E_GONE);
    b->late += !is_in_time;
    return is_in_time;
}

/* Before it has started it has no handler for the signal either. */
static void term_one(struct bench *b, struct place *p)
{
    if (!has_started(b, p))
        return;
    if (has_left(b, p))
        start(b, p);
    else
        replace(b, p);
    b->terms++;
}

static void restart_redis(struct bench *b, struct place *p)
{
    (void)p;
    redis_server_kill(b->scene->server);
    redis_server_restart(b->scene->server);
    b->restarts++;
    uint64_t waiting;
    while (muster_queue_length(b->scene->client, "q", &waiting) != MUSTER_OK)
        run_loop(b->scene->base, 1);
}

static void fail_one(struct bench *b, struct place *p)
{
    int err = muster_worker_fail(b->scene->client, p->worker->id, NULL);
    assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND); /* it may not have come back yet after a restart */
    b->fails += err == MUSTER_OK;
}

static void put_passing(struct bench *b)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", PASSING_FIRST + b->n_passed++);
    scene_enqueue(b->scene, "q", name);
}

static void cancel_one(struct bench *b, struct place *p)
{
    char name[16];
    uint64_t waiting, running;
    (void)p;
    snprintf(name, sizeof name, "t%d", PASSING_FIRST + b->n_passed - PASSING);
    assert_ok(muster_task_cancel(b->scene->client, "q", name, strlen(name), &waiting, &running));
    assert_int_equal(waiting + running, 1);
    put_passing(b);
    b->cancels++;
}

static void pause_all(struct bench *b, struct place *p)
{
    (void)p;
    if (b->resume_at)
        return;
    assert_ok(muster_queue_pause(b->scene->client, "q"));
    b->resume_at = now_ms() + rand() % PAUSE_MAX_MS;
    b->pauses++;
}

static void resume_due(struct bench *b, int64_t now)
{
    if (!b->resume_at || b->resume_at > now)
        return;
    assert_ok(muster_queue_resume(b->scene->client, "q"));
    b->resume_at = 0;
}

/* Its tasks are no suspects either: a suspect runs alone, so its worker would take none of the first queue. */
static void delete_other(struct bench *b, struct place *p)
{
    char prefix[16];
    const int64_t never = 0;
    (void)p;
    assert_ok(muster_queue_delete(b->scene->client, "other", NULL, NULL));
    assert_ok(muster_config_set(b->scene->client, "other", "max_crashes", &never));
    snprintf(prefix, sizeof prefix, "o%d.", b->deletes++);
    scene_enqueue_n(b->scene, "other", prefix, OTHERS);
}

static void leave(struct bench *b, struct place *p)
{
    set_runs(b, p, 0);
    (void)has_left(b, p);
    p->worker = NULL;
}

/* A guest comes, or leaves. */
static void visit(struct bench *b, struct place *p)
{
    p = &b->places[PLACES + rand() % GUESTS];
    if (!p->worker) {
        p->life++;
        start(b, p);
        b->visits++;
    } else if (!p->thaw_at && has_started(b, p)) {
        leave(b, p);
    }
}

/* As often as it stands there; the second half only where the queue shares. */
static void (*const faults[])(struct bench *b, struct place *p) = {
    kill_one, kill_one, kill_one,   freeze_one, freeze_one, freeze_one,   term_one, restart_redis,
    visit,    visit,    cancel_one, cancel_one, pause_all,  delete_other, fail_one, visit};

static void thaw_due(struct bench *b, int64_t now)
{
    for (size_t i = 0; i < b->n_places; i++)
        if (b->places[i].thaw_at && b->places[i].thaw_at <= now)
            thaw_one(b, &b->places[i]);
}

static void torment(struct bench *b, int64_t until)
{
    while (now_ms() < until) {
        int64_t next = now_ms() + rand() % (2 * FAULT_EVERY_MS(b->shares));
        while (now_ms() < next) {
            run_loop(b->scene->base, 10);
            thaw_due(b, now_ms());
            resume_due(b, now_ms());
            return_those_who_may(b);
        }
        struct place *p = &b->places[(size_t)rand() % b->n_places];
        if (p->worker && !p->thaw_at && !p->is_away)
            faults[(size_t)rand() % (b->shares ? N_OF(faults) : N_OF(faults) / 2)](b, p);
    }
    thaw_due(b, INT64_MAX);
    resume_due(b, INT64_MAX);
}

static bool are_all_back(void *arg)
{
    struct bench *b = arg;
    return_those_who_may(b);
    for (size_t i = 0; i < b->n_places; i++)
        if (b->places[i].is_away || (b->places[i].worker && !has_started(b, &b->places[i])))
            return false;
    return true;
}

/* The guests leave, and the others are all there. */
static void go_home(struct bench *b)
{
    wait_on(b->scene->base, are_all_back, b, SOON_MS);
    for (size_t i = PLACES; i < b->n_places; i++)
        if (b->places[i].worker)
            leave(b, &b->places[i]);
}

/* ---- the account ---- */

static void report(const struct bench *b)
{
    const struct owner_account *a = b->sampler.account;
    print_message("%d kills, %d freezes, %d SIGTERMs, %d restarts of Redis; %d could not deregister in time; "
                  "%d snapshots, blind for %d ms; %d changes of owner\n",
                  b->kills, b->freezes, b->terms, b->restarts, b->late, a->samples, a->blind_ms, a->changes);
    if (b->shares)
        print_message("%d came back under their id, %d were failed, %d guests; %d cancels, %d pauses, %d deletes\n",
                      b->returns, b->fails, b->visits, b->cancels, b->pauses, b->deletes);
    print_message("without a running owner (allowed %d ms): %d ms at worst, %d waited for a second one; by length:\n",
                  GAP_MAX_MS(b->shares), a->longest_gap_ms, a->restarted_gaps);
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
    assert_in_range(a->longest_gap_ms, 0, GAP_MAX_MS(b->shares));
}

static int n_tasks(const struct bench *b)
{
    return b->shares ? TASKS + PASSING : TASKS;
}

static void begin(struct bench *b)
{
    struct scene *s = b->scene;
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0 share %d", s->prefix, b->shares);
    b->n_places = b->shares ? PLACES + GUESTS : PLACES;
    b->places[0].is_permanent = b->places[0].returns = b->places[1].returns = b->shares;
    owner_sampler_start(&b->sampler, s->server->socket, s->prefix);
    for (size_t i = 0; i < PLACES; i++) {
        b->places[i].life = 1;
        start(b, &b->places[i]);
    }
    raw_await(s->server->redis, s->base, PLACES, "ZCARD %s:idle:q", s->prefix);
    scene_enqueue_n(s, "q", "t", TASKS);
    while (b->shares && b->n_passed < PASSING)
        put_passing(b);
    scene_await_starts(s, (size_t)n_tasks(b));
}

/* Once the dead are swept, everything is in running hands. */
static void settle(struct bench *b)
{
    struct scene *s = b->scene;
    raw_await(s->server->redis, s->base, PLACES, "ZCARD %s:registry", s->prefix);
    scene_await_waiting(s, "q", 0);
    raw_await(s->server->redis, s->base, n_tasks(b), "HGET %s:queue:q running", s->prefix);
    if (b->deletes)
        raw_await(s->server->redis, s->base, OTHERS, "HGET %s:queue:other running", s->prefix);
    invariant_assert(s->server->redis, s->prefix);
    invariant_assert_one_place(s->server->redis, s->prefix);
}

/* What a worker has lost has left its hands, too. */
static bool is_even(void *arg)
{
    const struct bench *b = arg;
    const struct scene *s = b->scene;
    for (size_t i = 0; i < PLACES; i++) {
        const char *id = b->places[i].worker->id;
        if (raw_int(s->server->redis, "HLEN %s:processing:%s:q", s->prefix, id) != n_tasks(b) / PLACES ||
            raw_int(s->server->redis, "HGET %s:worker:%s hands", s->prefix, id) != HANDS)
            return false;
    }
    return raw_int(s->server->redis, "EXISTS %s:moves:q", s->prefix) == 0;
}

/* Lives that ended with a move on its way leave nothing behind that keeps others from becoming even. */
static void become_even(struct bench *b)
{
    const struct scene *s = b->scene;
    wait_on(s->base, is_even, b, 4 * SOON_MS);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q hands", s->prefix), PLACES * HANDS);
    assert_true(raw_int(s->server->redis, "HGET %s:queue:q moved", s->prefix) > 0);
    print_message("%d moves\n", (int)raw_int(s->server->redis, "HGET %s:queue:q moved", s->prefix));
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

static void run(struct scene *s, bool shares)
{
    struct bench b = {.scene = s, .shares = shares};
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    srand(1);
    begin(&b);
    torment(&b, now_ms() + (seconds ? atoi(seconds) : SECONDS) * 1000);
    go_home(&b);
    settle(&b);
    if (shares)
        become_even(&b);
    owner_sampler_stop(&b.sampler);
    finish_all(&b);
    judge(&b);
    owner_sampler_free(&b.sampler);
}

static void persistent_tasks_always_have_one_owner(void **state)
{
    run(*state, false);
}

static void so_they_have_where_they_move_among_all_that_people_do(void **state)
{
    run(*state, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(persistent_tasks_always_have_one_owner),
                                       live_test(so_they_have_where_they_move_among_all_that_people_do)};
    return scene_run_durable(tests, argc, argv);
}
