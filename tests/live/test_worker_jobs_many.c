/* SPDX-License-Identifier: MIT
 *
 * Many jobs and several workers on one loop: each job, small or large, runs once; one that sends itself on comes again
 * at its time; and when many workers find a dead one, only one of them gives its jobs back, once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "job_look.h"
#include "live_worker.h"
#include "script_call.h"
#include "taken.h"

#define HOUR_MS (3600 * 1000)

enum { MOST = 1000, LARGE_LEN = 53000 };

struct runs {
    int n, of[MOST];
    size_t len;
    bool is_damaged;
};

static enum muster_outcome count_run(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    struct runs *runs = w->spec.arg;
    size_t len;
    const char *data = muster_process_task(p, &len);
    int n = atoi(muster_process_job(p)->id);
    runs->n++;
    runs->of[n]++;
    runs->is_damaged |= len != runs->len || (len > 0 && (data[0] != (char)n || data[len - 1] != (char)n));
    return MUSTER_FINISH;
}

static void add_worker(struct scene *s, const char *id, struct runs *runs)
{
    live_worker_idle(
        s, &(struct worker_spec){
               .id = id, .ttl_ms = HOUR_MS, .hands = 2, .queues = {{"q", 0}}, .handler = count_run, .arg = runs});
}

/* Half of them are there before the workers. */
static void run_all(struct scene *s, int n_jobs, int n_workers, size_t len)
{
    static int n_ids; /* each with an id of its own, for events are counted by it */
    struct runs runs = {.len = len};
    char *data = malloc(len + 1);
    for (int i = 0; i < n_jobs; i++) {
        char id[16];
        if (i == n_jobs / 2)
            for (int w = 0; w < n_workers; w++) {
                snprintf(id, sizeof id, "w%d", n_ids++);
                add_worker(s, id, &runs);
            }
        snprintf(id, sizeof id, "%d", i);
        memset(data, i, len);
        job_put(s, "q", JOB_SPEC(.id = id, .data = {data, len}));
    }
    free(data);
    raw_await(s->server->redis, s->base, n_jobs, "ZCARD %s:complete:q", s->prefix);
    while (s->workers) {
        live_worker_stop(s, s->workers, 0);
        live_worker_free(s, s->workers);
    }
    assert_int_equal(runs.n, n_jobs);
    for (int i = 0; i < n_jobs; i++)
        assert_int_equal(runs.of[i], 1);
    assert_false(runs.is_damaged);
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
}

static void each_of_one_two_or_a_thousand_runs_once_with_one_worker_or_four(void **state)
{
    static const int jobs[] = {1, 2, MOST};
    for (size_t i = 0; i < N_OF(jobs); i++)
        for (int workers = 1; workers <= 4; workers += 3)
            run_all(*state, jobs[i], workers, 3);
}

static void large_ones_arrive_whole(void **state)
{
    run_all(*state, 400, 4, LARGE_LEN);
}

/* ---- on and on ---- */

enum { TIMES = 4, PAUSE_MS = 40 };

static enum muster_outcome send_itself_on(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    int *runs = w->spec.arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (++*runs < TIMES)
        assert_ok(muster_process_set_next(p, muster_process_queue(p), PAUSE_MS, NULL, 0));
    return MUSTER_FINISH;
}

static void a_job_that_sends_itself_on_comes_again_at_its_time(void **state)
{
    struct scene *s = *state;
    int runs = 0;
    live_worker_idle(s,
                     &(struct worker_spec){
                         .id = "w", .ttl_ms = HOUR_MS, .queues = {{"q", 0}}, .handler = send_itself_on, .arg = &runs});
    job_put(s, "q", JOB_SPEC(.id = "a", .retries = MUSTER_ZERO));
    raw_await(s->server->redis, s->base, 1, "ZCARD %s:complete:q", s->prefix);
    assert_int_equal(scene_starts(s), TIMES);
    int64_t last_ms = 0;
    size_t n = 0;
    for (size_t i = 0; i < journal_size(s->journal); i++) {
        const struct journal_entry *e = journal_at(s->journal, i);
        if (e->kind != JOURNAL_START)
            continue;
        if (n++ > 0) /* a millisecond of each clock */
            assert_true(e->at_ms - last_ms >= PAUSE_MS - 2);
        last_ms = e->at_ms;
    }
}

/* ---- the dead ---- */

enum { N_SWEEPERS = 6, N_HELD = 2 };

/* Exits with how many workers it swept. */
static void sweep(struct scene *s)
{
    struct muster_client *c = scene_client(s);
    uint64_t swept = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t n;
        assert_ok(muster_client_sweep(c, &n));
        swept += n;
    }
    muster_client_free(c);
    _exit((int)swept);
}

static void of_many_that_find_a_dead_worker_one_gives_its_jobs_back(void **state)
{
    struct scene *s = *state;
    struct acting_worker w = {.id = "w", .queues = {"q"}, .hands = N_HELD};
    pid_t sweepers[N_SWEEPERS];
    int swept = 0;
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "q", JOB_SPEC(.id = "b"));
    acting_start(&w, s);
    acting_take(&w);
    job_put(s, "q", JOB_SPEC(.id = "c"));
    acting_die(&w);
    for (int i = 0; i < N_SWEEPERS; i++)
        if ((sweepers[i] = child_fork()) == 0)
            sweep(s);
    for (int i = 0; i < N_SWEEPERS; i++)
        swept += WEXITSTATUS(child_reap(sweepers[i], SOON_MS));
    assert_int_equal(swept, 1);
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_WAITING), "a b c ");
    assert_string_equal(job_look(s, "a").history, "put taken=w given-back=w ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(each_of_one_two_or_a_thousand_runs_once_with_one_worker_or_four),
        live_test(large_ones_arrive_whole),
        live_test(a_job_that_sends_itself_on_comes_again_at_its_time),
        live_test(of_many_that_find_a_dead_worker_one_gives_its_jobs_back),
    };
    return scene_run(tests, argc, argv);
}
