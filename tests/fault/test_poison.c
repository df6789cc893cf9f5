/* SPDX-License-Identifier: MIT
 *
 * Poison among innocent tasks: each worker that runs it is killed by it. In the end it lies on the failed list, alone,
 * and all others have run to their end: with several workers, with limits of queues, and among jobs. For the ways that
 * handlers run see test_poison_ways.c.
 *
 * A worker that died is replaced at once. Another one, on another queue, sweeps the dead.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariant.h"
#include "job_look.h"
#include "worker_process.h"

enum { TTL_MS = 500, INNOCENT = 12, WORKERS_MAX = 3, RUN_MS = 20, DEADLINE_MS = 90000 };

/* ---- handlers, in the workers' processes ---- */

struct later {
    struct live_worker *worker;
    struct muster_process *process;
};

static void run(struct live_worker *w, struct muster_process *p)
{
    if (strcmp(muster_process_task(p, NULL), "poison") == 0)
        kill(getpid(), SIGKILL);
    journal_process(w->journal, JOURNAL_END, MUSTER_FINISH, p);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    struct later later = *(struct later *)arg;
    (void)fd, (void)what;
    free(arg);
    run(later.worker, later.process);
    (void)muster_process_end(later.process, MUSTER_FINISH);
}

static enum muster_outcome run_later(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct later *later = malloc(sizeof *later);
    *later = (struct later){w, p};
    journal_process(w->journal, JOURNAL_START, 0, p);
    event_base_once(w->base, -1, EV_TIMEOUT, on_time, later, &(struct timeval){.tv_usec = RUN_MS * 1000});
    return MUSTER_LATER;
}

/* ---- the crew ---- */

struct crew {
    struct scene *s;
    struct worker_spec spec;
    int n, n_lives;
    struct worker_process *places[WORKERS_MAX];
};

static void start(struct crew *c, int place)
{
    char id[32];
    struct worker_spec spec = c->spec;
    snprintf(id, sizeof id, "w%d", ++c->n_lives);
    spec.id = id;
    spec.ttl_ms = TTL_MS;
    c->places[place] = worker_process_start(c->s, &spec);
}

static void replace_the_dead(struct crew *c)
{
    for (int i = 0; i < c->n; i++) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)c->places[i]->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
            worker_process_kill(c->places[i]); /* reaps */
            start(c, i);
        }
    }
}

static int64_t held_or_waiting(struct scene *s)
{
    int64_t n = 0;
    for (const char *const *q = (const char *const[]){"q", "r", NULL}; *q; q++) {
        uint64_t waiting;
        assert_ok(muster_queue_length(s->client, *q, &waiting));
        n += (int64_t)waiting + raw_int(s->server->redis, "HGET %s:queue:%s running", s->prefix, *q);
    }
    return n;
}

static bool is_over(void *arg)
{
    struct crew *c = arg;
    replace_the_dead(c);
    return held_or_waiting(c->s) == 0;
}

static bool has_ended(struct scene *s, const char *task)
{
    return journal_find(s->journal, 0, JOURNAL_END, MUSTER_FINISH, NULL, task) != NULL;
}

/* Only the poison has failed, after one death that made suspects of all, and three alone. A worker that was only slow
 * may have been taken for dead once. */
static void assert_only_poison_has_failed(struct scene *s, const char *queue)
{
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:%s", s->prefix, queue), 1);
    char *entry = raw_string(s->server->redis, "ZRANGE %s:failed:%s 0 -1", s->prefix, queue);
    bool is_good = strstr(entry, "crashed") && strstr(entry, "poison");
    free(entry);
    assert_true(is_good);
    assert_in_range(journal_count(s->journal, JOURNAL_START, -1, NULL, "poison"), 3, 6);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:suspects:%s", s->prefix, queue), 0);
}

static void assert_innocent_have_run(struct scene *s, const char *stem, int n)
{
    for (int i = 0; i < n; i++) {
        char task[32];
        snprintf(task, sizeof task, "%s%d", stem, i);
        if (!has_ended(s, task))
            fail_msg("%s never ran to its end", task);
    }
}

static void let_them_work(struct scene *s, const struct worker_spec *spec, int n)
{
    struct crew crew = {.s = s, .spec = *spec, .n = n};
    live_worker_idle(s, &(struct worker_spec){.id = "watch", .ttl_ms = TTL_MS, .queues = {{"other", 0}}});
    for (int i = 0; i < n; i++)
        start(&crew, i);
    wait_on(s->base, is_over, &crew, DEADLINE_MS);
    for (int i = 0; i < n; i++) {
        worker_process_stop(crew.places[i], -1);
        assert_int_equal(worker_process_reap(crew.places[i]), 0);
    }
    print_message("%d workers died\n", crew.n_lives - n);
}

static void put_poison_among(struct scene *s, const char *queue, int n)
{
    scene_enqueue_n(s, queue, "a", n / 2);
    scene_enqueue(s, queue, "poison");
    scene_enqueue_n(s, queue, "b", n - n / 2);
}

static void assert_survived(struct scene *s, const struct worker_spec *spec, int n_workers, int n_tasks)
{
    put_poison_among(s, "q", n_tasks);
    let_them_work(s, spec, n_workers);
    assert_only_poison_has_failed(s, "q");
    assert_innocent_have_run(s, "a", n_tasks / 2);
    assert_innocent_have_run(s, "b", n_tasks - n_tasks / 2);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- the cases ---- */

static void with_three_workers(void **state)
{
    assert_survived(*state, &(struct worker_spec){.handler = run_later, .hands = 4, .queues = {{"q", 0}}}, 3,
                    2 * INNOCENT);
}

static void of_two_queues_with_limits(void **state)
{
    struct scene *s = *state;
    put_poison_among(s, "q", INNOCENT);
    scene_enqueue_n(s, "r", "c", INNOCENT);
    let_them_work(s, &(struct worker_spec){.handler = run_later, .hands = 8, .queues = {{"q", 2}, {"r", 3}}}, 1);
    assert_only_poison_has_failed(s, "q");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:r", s->prefix), 0);
    assert_innocent_have_run(s, "a", INNOCENT / 2);
    assert_innocent_have_run(s, "b", INNOCENT / 2);
    assert_innocent_have_run(s, "c", INNOCENT);
    invariant_assert(s->server->redis, s->prefix);
}

static void among_jobs_of_all_priorities(void **state)
{
    struct scene *s = *state;
    char id[16];
    for (int i = 0; i < INNOCENT; i++) {
        snprintf(id, sizeof id, "j%d", i);
        job_put(s, "q", JOB_SPEC(.id = id, .data = {id, strlen(id)}, .priority = i % 3 - 1));
    }
    job_put(s, "q", JOB_SPEC(.id = "bomb", .data = BYTES("poison")));
    scene_enqueue_n(s, "q", "t", INNOCENT);
    let_them_work(s, &(struct worker_spec){.handler = run_later, .hands = 8, .queues = {{"q", 0}}}, 1);
    assert_job_state(s, "bomb", MUSTER_JOB_FAILED);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 1);
    assert_innocent_have_run(s, "j", INNOCENT);
    assert_innocent_have_run(s, "t", INNOCENT);
    for (int i = 0; i < INNOCENT; i++) {
        snprintf(id, sizeof id, "j%d", i);
        struct job_seen seen = job_look(s, id);
        assert_int_equal(seen.state, MUSTER_JOB_COMPLETE);
        assert_int_equal(seen.crashes, 0);
    }
    invariant_assert(s->server->redis, s->prefix);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(with_three_workers),
        live_test(of_two_queues_with_limits),
        live_test(among_jobs_of_all_priorities),
    };
    return scene_run(tests, argc, argv);
}
