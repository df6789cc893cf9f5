/* SPDX-License-Identifier: MIT
 *
 * What a worker and a client count of themselves. Proves that each figure rises with what it stands for, that what was
 * taken is accounted for, and that any thread may read while the worker works.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_server.h"
#include "jobs.h"
#include "live_worker.h"
#include "proxy.h"

enum { TTL_MS = 1000, THREADS = 2 };

static struct muster_worker_stats look(const struct live_worker *w)
{
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(w->worker, &stats));
    return stats;
}

static struct muster_client_stats look_at_client(const struct scene *s)
{
    struct muster_client_stats stats = {.size = sizeof stats};
    assert_ok(muster_client_stats(s->client, &stats));
    return stats;
}

static uint64_t accounted(const struct muster_worker_stats *s)
{
    return s->finished + s->retried + s->failed + s->given_back + s->uncounted + s->released + (uint64_t)s->held;
}

/* One figure of a worker, and what it must reach. */
struct goal {
    const struct live_worker *w;
    uint64_t (*read)(const struct muster_worker_stats *stats);
    uint64_t n;
};

static bool is_reached(void *arg)
{
    const struct goal *goal = arg;
    struct muster_worker_stats stats = look(goal->w);
    return goal->read(&stats) >= goal->n;
}

#define READS(name)                                                      \
    static uint64_t read_##name(const struct muster_worker_stats *stats) \
    {                                                                    \
        return (uint64_t)stats->name;                                    \
    }
READS(taken)
READS(finished)
READS(retried)
READS(failed)

static uint64_t read_waits(const struct muster_worker_stats *stats)
{
    return stats->wait.n;
}

READS(uncounted)
READS(doubts)
READS(lost)
READS(swept)
READS(limits)
READS(readbacks_found)
READS(data_reconnects)
READS(subscription_reconnects)
READS(wakes_heartbeat)
READS(wakes_hint)
READS(probes)
READS(heartbeats)
READS(enqueued)
READS(turns)

static void await_figure(struct scene *s, const struct live_worker *w,
                         uint64_t (*read)(const struct muster_worker_stats *), uint64_t n)
{
    struct goal goal = {w, read, n};
    wait_on(s->base, is_reached, &goal, SOON_MS);
}

/* ---- ends ---- */

static enum muster_outcome as_told(struct muster_process *p, void *arg)
{
    const char *task = muster_process_task(p, NULL);
    (void)arg;
    muster_process_set_retry(p, 3600000);
    return *task == 'f' ? MUSTER_FINISH : *task == 'r' ? MUSTER_RETRY : *task == 'x' ? MUSTER_FAIL : MUSTER_LATER;
}

static struct live_worker *new_worker(struct scene *s, const char *id, muster_handler_fn *handler)
{
    return live_worker_idle(
        s, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 4, .queues = {{"q", 0}}, .handler = handler});
}

static void ends_are_counted_by_their_outcome(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = new_worker(s, "w", as_told);
    struct muster_worker_stats stats;
    scene_enqueue_n(s, "q", "f", 3);
    scene_enqueue_n(s, "q", "r", 2);
    scene_enqueue_n(s, "q", "x", 1);
    await_figure(s, w, read_finished, 3);
    await_figure(s, w, read_retried, 2);
    await_figure(s, w, read_failed, 1);
    stats = look(w);
    assert_int_equal(stats.started, 6);
    assert_int_equal(stats.finished, 3);
    assert_int_equal(stats.retried, 2);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.uncounted + stats.released + stats.given_back, 0);
    assert_int_equal(stats.running + stats.held, 0);
    assert_int_equal(stats.run.n, 6);
    assert_int_equal(stats.hands, 4);
    assert_int_equal(stats.registered, 1);
    assert_int_equal(stats.subscribed, 1);
    assert_int_equal(stats.stopping, 0);
    assert_true(stats.wakes_message > 0 && stats.turns > 0);
    assert_true(stats.heard_ms >= 0 && stats.heard_ms < TTL_MS);
}

static void what_runs_is_held_and_a_stop_releases_or_gives_back(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .hands = 1, .prefetch = 1, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 2);
    await_figure(s, w, read_taken, 2);
    scene_await_starts(s, 1);
    struct muster_worker_stats stats = look(w);
    assert_int_equal(stats.running, 1);
    assert_int_equal(stats.held, 2);
    assert_int_equal(accounted(&stats), stats.taken);
    live_worker_stop(s, w, 0);
    stats = look(w);
    assert_int_equal(stats.running + stats.held, 0);
    assert_int_equal(stats.given_back + stats.released, 2);
    assert_int_equal(stats.registered, 0);
    assert_int_equal(stats.subscribed, 0);
    assert_int_equal(stats.stopping, 1);
}

/* ---- times ---- */

static void a_moment(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static uint64_t n_at_least(const struct muster_histogram *h, int64_t us)
{
    uint64_t n = h->buckets[MUSTER_HISTOGRAM_BUCKETS - 1];
    for (int i = 1; i < MUSTER_HISTOGRAM_BUCKETS - 1; i++)
        if (muster_histogram_bound_us(i - 1) >= us)
            n += h->buckets[i];
    return n;
}

/* Beyond the next heartbeat, within the ttl. */
static enum muster_outcome slow(struct muster_process *p, void *arg)
{
    (void)p, (void)arg;
    a_moment(TTL_MS / 2);
    return MUSTER_FINISH;
}

static void a_slow_inline_handler_shows_as_run_time_and_as_lag(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = new_worker(s, "w", slow);
    scene_enqueue(s, "q", "t");
    await_figure(s, w, read_finished, 1);
    run_loop(s->base, TTL_MS / 2); /* the heartbeat that was held up */
    struct muster_worker_stats stats = look(w);
    assert_int_equal(stats.run.n, 1);
    assert_int_equal(n_at_least(&stats.run, 256000), 1);
    assert_true(stats.run.sum_us >= TTL_MS / 2 * 1000);
    assert_true(n_at_least(&stats.lag, 64000) >= 1);
}

static void a_jobs_wait_is_measured_whichever_way_it_comes(void **state)
{
    struct scene *s = *state;
    enum { WAIT_MS = 300 };
    job_put_list(s, "q", "taken", (const char *const[]){NULL});
    a_moment(WAIT_MS);
    struct live_worker *w = new_worker(s, "w", as_told);
    await_figure(s, w, read_waits, 1);
    struct muster_worker_stats stats = look(w);
    assert_true(stats.wait.sum_us >= WAIT_MS * 1000 && stats.wait.sum_us < SOON_MS * 1000);
    job_put_list(s, "q", "handed-over", (const char *const[]){NULL});
    await_figure(s, w, read_waits, 2);
    assert_true(look(w).wait.sum_us < stats.wait.sum_us + WAIT_MS * 1000);
    job_config(s, "q", "max_running", "2"); /* both run: the next one waits for a place, though hands are free */
    job_put_list(s, "q", "limited", (const char *const[]){NULL});
    a_moment(WAIT_MS);
    stats = look(w);
    job_config(s, "q", "max_running", "0");
    await_figure(s, w, read_waits, 3);
    assert_true(look(w).wait.sum_us >= stats.wait.sum_us + WAIT_MS * 1000);
}

static void a_handler_past_its_limit_is_counted(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){.id = "w", .answer = MUSTER_LATER, .queues = {{"q", 0}}, .more = {.limit_ms = 50}});
    scene_enqueue(s, "q", "t");
    await_figure(s, w, read_limits, 1);
}

/* ---- what came in which way ---- */

static void probes_heartbeats_and_hints_are_counted(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = new_worker(s, "w", as_told);
    struct live_worker *other = new_worker(s, "other", as_told);
    await_figure(s, w, read_heartbeats, 2);
    await_figure(s, other, read_probes, 1); /* the first one keeps the timer, and sends none */
    raw_do(s->server->redis, "LPUSH %s:queues:q later", s->prefix);
    raw_do(s->server->redis, "PUBLISH %s_q_work 1", s->prefix);
    await_figure(s, w, read_wakes_hint, 1);
}

static void work_that_only_a_heartbeat_told_of_is_counted(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = new_worker(s, "w", as_told);
    raw_do(s->server->redis, "LPUSH %s:queues:q f", s->prefix);
    await_figure(s, w, read_wakes_heartbeat, 1);
    await_figure(s, w, read_finished, 1);
}

static void what_the_worker_enqueues_is_counted(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = new_worker(s, "w", as_told);
    assert_ok(muster_worker_enqueue(w->worker, "other", "t", 1, NULL, NULL));
    await_figure(s, w, read_enqueued, 1);
}

/* ---- breaks ---- */

static struct live_worker *behind(struct scene *s, const struct proxy *p)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "w",
                                                     .url = p->url,
                                                     .ttl_ms = TTL_MS,
                                                     .answer = MUSTER_LATER,
                                                     .stubborn = true,
                                                     .queues = {{"q", 0}}});
}

static void breaks_of_each_connection_and_what_a_readback_finds_are_counted(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    proxy_start(&p, s->server->dir, s->server->socket);
    struct live_worker *w = behind(s, &p);
    assert_int_equal(look(w).data_reconnects + look(w).subscription_reconnects, 0);
    proxy_cut(&p, PROXY_SUBSCRIPTION);
    await_figure(s, w, read_subscription_reconnects, 1);
    assert_int_equal(look(w).data_reconnects, 0);
    proxy_cut(&p, PROXY_DATA);
    await_figure(s, w, read_data_reconnects, 1);
    scene_await_idle(s, "q", "w");
    assert_int_equal(look(w).readbacks_found, 0);
    proxy_lose(&p, 1);
    scene_enqueue(s, "q", "t");
    await_figure(s, w, read_readbacks_found, 1);
    assert_int_equal(look(w).taken, 1);
    live_worker_free(s, w);
    proxy_stop(&p);
}

/* Its own command says so while the end that the exit status has meant is under way, and gets lost. */
static void an_end_by_the_own_command_is_counted_as_what_that_has_said(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    proxy_start(&p, s->server->dir, s->server->socket);
    struct live_worker *w = behind(s, &p);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    char name[200];
    snprintf(name, sizeof name, "%s", muster_process_id(w->held[0]));
    const uint64_t n_turns = look(w).turns;
    proxy_swallow(&p, PROXY_DATA, PROXY_REQUESTS);
    live_worker_end(w, MUSTER_FINISH);
    await_figure(s, w, read_turns, n_turns + 1);
    setenv("MUSTER_PROCESS", name, 1);
    int err = muster_lease_fail(s->client, name, "g", "its own");
    unsetenv("MUSTER_PROCESS");
    assert_ok(err);
    await_figure(s, w, read_failed, 1);
    assert_int_equal(look(w).finished, 0);
    live_worker_free(s, w);
    proxy_stop(&p);
}

static void a_doubt_the_loss_and_the_uncounted_end_are_counted(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    scene_suspect_nothing(s);
    proxy_start(&p, s->server->dir, s->server->socket);
    struct live_worker *w = behind(s, &p);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    proxy_refuse(&p);
    proxy_cut(&p, PROXY_BOTH);
    await_figure(s, w, read_doubts, 1);
    assert_int_equal(look(w).in_doubt, 1);
    assert_int_equal(look(w).subscribed, 0);
    struct live_worker *heir = live_worker_new(
        s, &(struct worker_spec){.id = "heir", .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    await_figure(s, heir, read_swept, 1);
    assert_int_equal(look(heir).recovered, 1);
    proxy_accept(&p);
    await_figure(s, w, read_lost, 1);
    live_worker_end(w, MUSTER_FINISH);
    await_figure(s, w, read_uncounted, 1);
    struct muster_worker_stats stats = look(w);
    assert_int_equal(accounted(&stats), stats.taken);
    assert_int_equal(stats.in_doubt, 0);
    live_worker_free(s, w);
    proxy_stop(&p);
}

/* ---- any thread ---- */

struct reader {
    const struct muster_worker *w;
    atomic_bool is_over;
    bool has_gone_back;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;
    struct muster_worker_stats now = {.size = sizeof now}, before = {0};
    do {
        (void)!muster_worker_stats(r->w, &now);
        r->has_gone_back |= now.taken < before.taken || now.finished < before.finished || now.run.n < before.run.n;
        before = now;
    } while (!atomic_load(&r->is_over));
    return NULL;
}

static void other_threads_read_while_the_worker_works(void **state)
{
    struct scene *s = *state;
    enum { N = 2000 };
    struct live_worker *w = new_worker(s, "w", as_told);
    struct reader readers[THREADS] = {{.w = w->worker}, {.w = w->worker}};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    scene_enqueue_n(s, "q", "f", N);
    struct goal goal = {w, read_finished, N};
    bool done = wait_for(s->base, is_reached, &goal, SOON_MS);
    for (int i = 0; i < THREADS; i++)
        atomic_store(&readers[i].is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(done);
    for (int i = 0; i < THREADS; i++)
        assert_false(readers[i].has_gone_back);
    assert_int_equal(look(w).run.n, N);
}

/* ---- a client ---- */

static void a_client_counts_commands_bytes_times_and_errors(void **state)
{
    struct scene *s = *state;
    struct muster_client_stats before = look_at_client(s), after;
    scene_enqueue(s, "q", "t");
    after = look_at_client(s);
    assert_true(after.commands > before.commands);
    assert_int_equal(after.commands, after.answers);
    assert_int_equal(after.time.n, after.answers);
    assert_true(after.sent_bytes > before.sent_bytes && after.received_bytes > before.received_bytes);
    assert_int_equal(after.connections, 1);
    for (int i = 0; i < MUSTER_CLIENT_STATS_ERRORS; i++)
        assert_int_equal(after.errors[i], 0);
    job_put_list(s, "q", "one", (const char *const[]){NULL});
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "one"};
    assert_err(muster_job_put(s->client, "q", &spec, NULL), MUSTER_E_EXISTS);
    assert_int_equal(look_at_client(s).errors[-MUSTER_E_EXISTS], 1);
}

static void a_client_counts_its_connections_and_what_broke(void **state)
{
    struct scene *s = *state;
    struct proxy p;
    struct muster_client *c;
    uint64_t n;
    struct muster_client_stats stats = {.size = sizeof stats};
    proxy_start(&p, s->server->dir, s->server->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = p.url,
                                                                    .prefix = s->prefix}));
    assert_ok(muster_task_enqueue(c, "q", "t", 1, &n));
    struct muster_stats day = {.size = sizeof day};
    proxy_trap(&p, "HGETALL", PROXY_REPLIES);
    assert_err(muster_stats_get(c, "q", 1, &day), MUSTER_E_CONN);
    assert_ok(muster_task_enqueue(c, "q", "t", 1, &n));
    assert_ok(muster_client_stats(c, &stats));
    assert_int_equal(stats.connections, 2);
    assert_int_equal(stats.errors[-MUSTER_E_CONN], 1);
    muster_client_free(c);
    proxy_stop(&p);
}

/* What writes has a look at the namespace first: that has no answer then. */
static void a_client_counts_each_call_for_which_there_is_no_connection(void **state)
{
    struct scene *s = *state;
    struct muster_client *c;
    struct muster_client_stats stats = {.size = sizeof stats};
    const struct muster_bytes tasks[] = {{"a", 1}, {"b", 1}};
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "one"};
    uint64_t n;
    char url[64];
    int fd = fake_server_refuse(url);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    const int errs[] = {muster_queue_length(c, "q", &n), muster_task_enqueue(c, "q", "t", 1, &n),
                        muster_task_enqueue_many(c, "q", tasks, N_OF(tasks), NULL, &n),
                        muster_job_put(c, "q", &spec, NULL)};
    for (size_t i = 0; i < N_OF(errs); i++)
        assert_err(errs[i], MUSTER_E_CONN);
    assert_ok(muster_client_stats(c, &stats));
    assert_int_equal(stats.errors[-MUSTER_E_CONN], N_OF(errs));
    muster_client_free(c);
    close(fd);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(ends_are_counted_by_their_outcome),
        live_test(what_runs_is_held_and_a_stop_releases_or_gives_back),
        live_test(a_slow_inline_handler_shows_as_run_time_and_as_lag),
        live_test(a_jobs_wait_is_measured_whichever_way_it_comes),
        live_test(a_handler_past_its_limit_is_counted),
        live_test(probes_heartbeats_and_hints_are_counted),
        live_test(work_that_only_a_heartbeat_told_of_is_counted),
        live_test(what_the_worker_enqueues_is_counted),
        live_test(breaks_of_each_connection_and_what_a_readback_finds_are_counted),
        live_test(an_end_by_the_own_command_is_counted_as_what_that_has_said),
        live_test(a_doubt_the_loss_and_the_uncounted_end_are_counted),
        live_test(other_threads_read_while_the_worker_works),
        live_test(a_client_counts_commands_bytes_times_and_errors),
        live_test(a_client_counts_its_connections_and_what_broke),
        live_test(a_client_counts_each_call_for_which_there_is_no_connection),
    };
    return scene_run(tests, argc, argv);
}
