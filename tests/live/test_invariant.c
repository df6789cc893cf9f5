/* SPDX-License-Identifier: MIT
 *
 * Random operations on a few queues and workers, with the invariants checked after each: tasks are enqueued one by one,
 * in batches and at the front; workers with different hands, limits and prefetch start, stop, are killed and stand
 * still for a while; all connections are cut; handlers finish, give back, retry and fail. Sweeps happen by themselves
 * meanwhile. At the end all is drained, and the accounts must balance.
 *
 * MUSTER_TEST_SEED repeats a run as far as timing lets it, MUSTER_TEST_OPS makes it longer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "worker_process.h"

enum { OPS = 4000, OPS_MAX = 20000, WORKERS_MAX = 6, QUEUES = 3, TASKS_MAX = 60000, BACKLOG_MAX = 300, TTL_MS = 450 };

static const char *const queue_names[QUEUES] = {"red", "green:blue", "{white} *"};

/* A worker that is told to stop leaves its slot at once, and is reaped at the end. */
struct world {
    struct scene *scene;
    unsigned seed;
    struct worker_process *slots[WORKERS_MAX];
    int n_workers, n_tasks, n_kills;
    bool was_killed[OPS_MAX];
};

static int draw(struct world *w, int n)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)n);
}

/* ---- the operations ---- */

static void enqueue_some(struct world *w, int n, int at_front)
{
    struct muster_bytes tasks[20];
    char names[20][16];
    const char *queue = queue_names[draw(w, QUEUES)];
    uint64_t waiting;
    /* The connection may have been cut: the next call makes a new one. */
    if (muster_queue_length(w->scene->client, queue, &waiting) != MUSTER_OK)
        assert_ok(muster_queue_length(w->scene->client, queue, &waiting));
    if (waiting > BACKLOG_MAX)
        return;
    for (int i = 0; i < n; i++) {
        int len = snprintf(names[i], sizeof names[i], "t%07d", w->n_tasks++);
        tasks[i] = (struct muster_bytes){names[i], (size_t)len};
    }
    const struct muster_enqueue_options o = {.size = sizeof o, .at_front = at_front};
    assert_ok(muster_task_enqueue_many(w->scene->client, queue, tasks, (size_t)n, &o, NULL));
}

static void enqueue_one(struct world *w)
{
    enqueue_some(w, 1, 0);
}

static void enqueue_many(struct world *w)
{
    enqueue_some(w, 2 + draw(w, 18), 0);
}

static void enqueue_at_front(struct world *w)
{
    enqueue_some(w, 1 + draw(w, 5), 1);
}

static void start_worker(struct world *w)
{
    int slot = draw(w, WORKERS_MAX);
    if (w->slots[slot])
        return;
    char id[16];
    snprintf(id, sizeof id, "w%d", w->n_workers++);
    struct worker_spec spec = {.id = id,
                               .ttl_ms = TTL_MS + draw(w, 3) * 150,
                               .hands = 1 + draw(w, 4),
                               .prefetch = draw(w, 3),
                               .retry_ms = draw(w, 60),
                               .answer = draw(w, 3) ? MUSTER_LATER : MUSTER_FINISH,
                               .more.tell_ended = 1};
    int first = draw(w, QUEUES), n = 1 + draw(w, QUEUES);
    for (int i = 0; i < n; i++) {
        spec.queues[i].name = queue_names[(first + i) % QUEUES];
        spec.queues[i].hands = draw(w, 2) ? 0 : 1 + draw(w, 3);
    }
    w->slots[slot] = worker_process_start(w->scene, &spec);
}

static void stop_worker(struct world *w)
{
    int slot = draw(w, WORKERS_MAX);
    if (!w->slots[slot])
        return;
    kill(w->slots[slot]->pid, SIGCONT);
    worker_process_stop(w->slots[slot], draw(w, 2) * 20);
    w->slots[slot] = NULL;
}

static void kill_worker(struct world *w)
{
    int slot = draw(w, WORKERS_MAX);
    if (!w->slots[slot])
        return;
    w->was_killed[atoi(w->slots[slot]->id + 1)] = true;
    worker_process_kill(w->slots[slot]);
    w->slots[slot] = NULL;
    w->n_kills++;
}

static void end_something(struct world *w)
{
    static const enum muster_outcome outcomes[] = {MUSTER_FINISH,    MUSTER_FINISH, MUSTER_FINISH, MUSTER_FINISH,
                                                   MUSTER_GIVE_BACK, MUSTER_RETRY,  MUSTER_FAIL};
    for (int slot = 0; slot < WORKERS_MAX; slot++)
        if (w->slots[slot] && draw(w, 2))
            worker_process_end(w->slots[slot], outcomes[draw(w, (int)N_OF(outcomes))]);
}

static void freeze_worker(struct world *w)
{
    int slot = draw(w, WORKERS_MAX);
    if (w->slots[slot])
        kill(w->slots[slot]->pid, SIGSTOP);
}

static void thaw_workers(struct world *w)
{
    for (int slot = 0; slot < WORKERS_MAX; slot++)
        if (w->slots[slot])
            kill(w->slots[slot]->pid, SIGCONT);
}

static void cut_connections(struct world *w)
{
    raw_do(w->scene->server->redis, draw(w, 2) ? "CLIENT KILL TYPE normal" : "CLIENT KILL TYPE pubsub");
}

static const struct operation {
    void (*run)(struct world *w);
    int weight;
} operations[] = {{enqueue_one, 20},    {enqueue_many, 8},  {enqueue_at_front, 6}, {start_worker, 12},
                  {stop_worker, 4},     {kill_worker, 4},   {freeze_worker, 1},    {thaw_workers, 2},
                  {cut_connections, 1}, {end_something, 42}};

static void operate(struct world *w)
{
    int at = draw(w, 100);
    size_t i = 0;
    while (at >= operations[i].weight)
        at -= operations[i++].weight;
    operations[i].run(w);
    invariant_assert(w->scene->server->redis, w->scene->prefix);
    invariant_assert_one_place(w->scene->server->redis, w->scene->prefix);
}

/* ---- the end ---- */

static bool is_drained(void *arg)
{
    struct world *w = arg;
    uint64_t left = 0;
    invariant_assert(w->scene->server->redis, w->scene->prefix);
    invariant_assert_one_place(w->scene->server->redis, w->scene->prefix);
    for (int i = 0; i < QUEUES; i++) {
        const char *queue = queue_names[i];
        struct redisContext *redis = w->scene->server->redis;
        left += (uint64_t)raw_int(redis, "LLEN %s:queues:%s", w->scene->prefix, queue);
        left += (uint64_t)raw_int(redis, "ZCARD %s:delayed:%s", w->scene->prefix, queue);
        left += (uint64_t)raw_int(redis, "HGET %s:queue:%s running", w->scene->prefix, queue);
    }
    return left == 0;
}

static void drain(struct world *w)
{
    struct worker_spec spec = {.id = "sweeper", .ttl_ms = TTL_MS, .hands = 4, .more.tell_ended = 1};
    for (int i = 0; i < QUEUES; i++)
        spec.queues[i].name = queue_names[i];
    worker_process_start(w->scene, &spec);
    /* Before that SIGTERM would kill it: all may be drained before it has begun. */
    raw_await(w->scene->server->redis, w->scene->base, 1, "EXISTS %s:worker:sweeper", w->scene->prefix);
    thaw_workers(w);
    for (int slot = 0; slot < WORKERS_MAX; slot++)
        if (w->slots[slot])
            worker_process_answer(w->slots[slot], MUSTER_FINISH);
    wait_until(is_drained, w, 60000);
    /* Only when they have stopped is it certain which of their ends did not count. */
    for (struct worker_process *p = w->scene->processes; p; p = p->next) {
        if (p->pid) {
            kill(p->pid, SIGTERM);
            assert_true(worker_process_reap_hurt(p));
        }
    }
    invariant_assert(w->scene->server->redis, w->scene->prefix);
}

/* ---- the accounts ---- */

/* Of one task: finishes and failures by workers that lived to see the answer, less those that did not count; finishes
 * and failures by workers that were killed, which may have counted or not. */
struct account {
    int counted, doubtful, on_failed_list;
};

static int task_number(const char *task)
{
    return task[0] == 't' ? atoi(task + 1) : -1;
}

static bool is_final(const struct journal_entry *e)
{
    return e->kind == JOURNAL_END && (e->what == MUSTER_FINISH || e->what == MUSTER_FAIL);
}

/* Its worker was told, unless that had stopped by then. Where the program takes what runs, it learns of that later. */
static bool has_counted(struct world *w, size_t at, const struct journal_entry *end)
{
    for (size_t i = at; i < journal_size(w->scene->journal); i++) {
        const struct journal_entry *e = journal_at(w->scene->journal, i);
        if (e && e->kind == JOURNAL_EVENT && e->token == end->token && e->what == MUSTER_EVENT_ENDED)
            return true;
        if (e && e->kind == JOURNAL_EVENT && e->token == end->token && e->what == MUSTER_EVENT_UNCOUNTED)
            return false;
    }
    if (!journal_find(w->scene->journal, at, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, end->worker, NULL))
        fail_msg("%s was told nothing of its end of %s", end->worker, end->task);
    return false;
}

static void enter_ends(struct world *w, struct account *accounts)
{
    for (size_t i = 0; i < journal_size(w->scene->journal); i++) {
        const struct journal_entry *e = journal_at(w->scene->journal, i);
        if (!e || !is_final(e))
            continue;
        bool by_killed = e->worker[0] == 'w' && w->was_killed[atoi(e->worker + 1)];
        if (!by_killed && has_counted(w, i, e))
            accounts[task_number(e->task)].counted++;
        else
            accounts[task_number(e->task)].doubtful++;
    }
}

/* Members of a failed list end with the task. */
static void enter_failed(struct world *w, struct account *accounts)
{
    for (int q = 0; q < QUEUES; q++) {
        char *list = raw_string(w->scene->server->redis, "ZRANGE %s:failed:%s 0 -1", w->scene->prefix, queue_names[q]);
        for (char *rest = list, *line; (line = strtok_r(rest, "\n", &rest));) {
            size_t len = strlen(line);
            assert_true(len > 8);
            accounts[task_number(line + len - 8)].on_failed_list++;
        }
        free(list);
    }
}

static void assert_accounts(struct world *w)
{
    struct account *accounts = calloc((size_t)w->n_tasks, sizeof *accounts);
    int n_failed = 0, n_lost = 0, n_twice = 0;
    enter_ends(w, accounts);
    enter_failed(w, accounts);
    for (int i = 0; i < w->n_tasks; i++) {
        const struct account *a = &accounts[i];
        bool lost = a->counted + a->doubtful + a->on_failed_list == 0;
        if (lost || a->counted > 1 || a->on_failed_list > 1)
            print_error("t%07d: %d ends counted, %d doubtful, %d times on the failed list\n", i, a->counted,
                        a->doubtful, a->on_failed_list);
        n_lost += lost;
        n_twice += a->counted > 1 || a->on_failed_list > 1;
        n_failed += a->on_failed_list;
    }
    free(accounts);
    print_message("%d tasks, %d on the failed lists; %d workers, %d killed; %zu starts, %zu ends did not count\n",
                  w->n_tasks, n_failed, w->n_workers, w->n_kills, scene_starts(w->scene),
                  journal_count(w->scene->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL));
    assert_int_equal(n_lost, 0);
    assert_int_equal(n_twice, 0);
}

static void nothing_is_lost_and_nobody_idles_while_work_waits(void **state)
{
    static struct world w;
    const char *seed = getenv("MUSTER_TEST_SEED"), *ops = getenv("MUSTER_TEST_OPS");
    w.scene = *state;
    w.seed = seed ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)now_ms();
    int n = ops ? atoi(ops) : OPS;
    assert_in_range(n, 1, OPS_MAX);
    print_message("MUSTER_TEST_SEED=%u, %d operations\n", w.seed, n);
    for (int i = 0; i < n && w.n_tasks < TASKS_MAX; i++)
        operate(&w);
    drain(&w);
    assert_accounts(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(nothing_is_lost_and_nobody_idles_while_work_waits),
    };
    return scene_run(tests, argc, argv);
}
