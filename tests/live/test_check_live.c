/* SPDX-License-Identifier: MIT
 *
 * Check beside a live system: workers that work, die and are swept, leave and come back; producers; cancels, leases,
 * pauses, deletes. Whatever is seen in between nothing is amiss, with repair nothing is touched, and every task runs.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked.h"
#include "child.h"
#include "invariant.h"
#include "live_worker.h"
#include "worker_process.h"

#define TTL_MS 300
#define ROUNDS 60
#define TASKS 20

/* ---- who looks ---- */

/* In memory that it shares with the test: a process of its own, for the test forks while it looks. */
struct looker {
    pid_t pid;
    atomic_bool enough;
    struct checked found;
    int err, n_checks;
    char error[256];
};

static void look_until_told(struct looker *l, struct muster_client *client)
{
    while (!atomic_load(&l->enough) && l->err == MUSTER_OK)
        l->err = muster_client_check(client, l->n_checks++ % 2, checked_note, &l->found);
    snprintf(l->error, sizeof(l->error), "%s", muster_client_error(client));
    muster_client_free(client);
}

static struct looker *start_looker(struct scene *s)
{
    struct looker *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(l != MAP_FAILED);
    l->found.prefix = s->prefix;
    l->pid = child_fork();
    if (l->pid == 0) {
        look_until_told(l, scene_client(s));
        _exit(0);
    }
    return l;
}

/* ---- who is looked at ---- */

static const struct worker_spec busy = {
    .ttl_ms = TTL_MS, .hands = 3, .prefetch = 2, .answer = MUSTER_FINISH, .queues = {{"q", 2}, {"other", 0}}};

static struct worker_process *start_busy(struct scene *s, const char *stem, int number)
{
    char id[16];
    struct worker_spec spec = busy;
    snprintf(id, sizeof(id), "%s%d", stem, number);
    spec.id = id;
    return worker_process_start(s, &spec);
}

/* Holds what it gets until it is killed. */
static struct worker_process *start_victim(struct scene *s, int number)
{
    char id[16];
    struct worker_spec spec = busy;
    snprintf(id, sizeof(id), "victim%d", number % 3);
    spec.id = id;
    spec.answer = MUSTER_LATER;
    spec.stubborn = true;
    return worker_process_start(s, &spec);
}

struct leased {
    char ids[4][512];
    size_t n;
};

static int keep_id(const struct muster_process_info *process, void *arg)
{
    struct leased *l = arg;
    snprintf(l->ids[l->n++], sizeof(l->ids[0]), "%s", process->id);
    return l->n == N_OF(l->ids);
}

/* Their leases are short, so that some lapse. */
static void counts_or_is_lost(struct scene *s, int err)
{
    if (err && err != MUSTER_E_LOST)
        fail_msg("%s: %s", muster_err_name(err), muster_client_error(s->client));
}

/* Four leases: given back though it was cancelled, failed, retried, and left to lapse. */
static void lease_some(struct scene *s)
{
    struct leased l = {.n = 0};
    const struct muster_extend_options longer = {.size = sizeof(longer), .lease_ms = 100, .progress = "on"};
    scene_enqueue_n(s, "leased", "l", 5);
    counts_or_is_lost(s, muster_lease_take(s->client, "leased", N_OF(l.ids), 50, 0, keep_id, &l));
    for (size_t i = 0; i < l.n; i++)
        counts_or_is_lost(s, muster_lease_extend(s->client, l.ids[i], &longer));
    if (l.n < N_OF(l.ids))
        return;
    counts_or_is_lost(s, muster_process_cancel(s->client, l.ids[0]));
    counts_or_is_lost(s, muster_lease_give_back(s->client, l.ids[0]));
    counts_or_is_lost(s, muster_lease_fail(s->client, l.ids[1], NULL, NULL));
    counts_or_is_lost(s, muster_lease_retry(s->client, l.ids[2], 20));
}

/* What is cancelled or deleted is not in "q", whose tasks must all run. */
static void disturb(struct scene *s, int round)
{
    scene_enqueue_n(s, "other", "o", 5);
    if (round % 3 == 0)
        assert_ok(muster_task_cancel(s->client, "other", "o3", 2, NULL, NULL));
    if (round % 5 == 0)
        assert_ok(muster_queue_pause(s->client, "other"));
    if (round % 5 == 2)
        assert_ok(muster_queue_resume(s->client, "other"));
    if (round % 7 == 0)
        assert_ok(muster_queue_delete(s->client, "other", NULL, NULL));
    if (round % 11 == 0)
        assert_ok(muster_failed_replay(
            s->client, &(struct muster_failed_filter){.size = sizeof(struct muster_failed_filter), .queue = "leased"},
            NULL));
    lease_some(s);
}

static void enqueue_round(struct scene *s, int round)
{
    char stem[16];
    snprintf(stem, sizeof(stem), "r%d-", round);
    scene_enqueue_n(s, "q", stem, TASKS);
}

static bool is_q_done(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "LLEN %s:queues:q", s->prefix) == 0 &&
           raw_int(s->server->redis, "HGET %s:queue:q running", s->prefix) == 0;
}

static void assert_all_ran(struct scene *s)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < TASKS; i++) {
            char task[32];
            snprintf(task, sizeof(task), "r%d-%d", round, i);
            if (!journal_find(s->journal, 0, JOURNAL_START, -1, NULL, task))
                fail_msg("%s has not run", task);
        }
}

static void live_for_a_while(struct scene *s)
{
    struct worker_process *victim = start_victim(s, 0), *comer = start_busy(s, "comer", 0);
    for (int round = 0; round < ROUNDS; round++) {
        enqueue_round(s, round);
        disturb(s, round);
        run_loop(s->base, 50);
        if (round % 6 == 5) {
            worker_process_kill(victim);
            victim = start_victim(s, round / 6 + 1);
        }
        if (round % 10 == 9) {
            worker_process_stop(comer, 0);
            worker_process_reap(comer);
            comer = start_busy(s, "comer", round);
        }
    }
    worker_process_kill(victim);
}

static void on_a_live_system_nothing_is_found_and_nothing_disturbed(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:q max_crashes 0", s->prefix);
    for (int i = 0; i < 3; i++)
        start_busy(s, "busy", i);
    struct looker *looker = start_looker(s);
    live_for_a_while(s);
    bool is_done = wait_for(s->base, is_q_done, s, SOON_MS);
    atomic_store(&looker->enough, true);
    child_reap(looker->pid, SOON_MS);
    print_message("%d checks\n", looker->n_checks);
    if (looker->err || looker->found.n > 0)
        fail_msg("%s %s; found: %s", muster_err_name(looker->err), looker->error, looker->found.what);
    assert_in_range(looker->n_checks, 10, 1000000);
    munmap(looker, sizeof(*looker));
    assert_true(is_done);
    assert_all_ran(s);
    assert_true(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL) > 0);
    invariant_assert(s->server->redis, s->prefix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        live_test(on_a_live_system_nothing_is_found_and_nothing_disturbed),
    };
    return scene_run(tests);
}
