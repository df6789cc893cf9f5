/* SPDX-License-Identifier: MIT
 *
 * How late due jobs come out while the keeper of the timer is killed, stopped, cut off, half-open, or hears nothing; or
 * while there are two keepers.
 *
 * The promise: while a keeper hears, a job is late only by its way to a worker. Without one, a heartbeat (a third of
 * the ttl) of a worker that is idle on the queue, since a heartbeat also looks at what is due. A job that was handed to
 * a worker that stood still waits for that worker's sweep: a ttl and a heartbeat. SLACK_MS is for a busy machine and
 * sanitizers.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "checked.h"
#include "invariant.h"
#include "job_look.h"
#include "proxy.h"
#include "worker_process.h"

enum { TTL_MS = 750, BEAT_MS = TTL_MS / 3, SLACK_MS = 700, JOBS = 120, SPAN_MS = 1900, DELAY_MAX_MS = 560 };

/* Written by the children. -1: not begun. */
struct shared {
    atomic_int late_ms[JOBS], begun[JOBS];
};

/* `hurt` is called about every 100 ms while jobs are put. */
struct bench {
    struct scene *scene;
    struct shared *shared;
    struct proxy proxy;
    struct worker_process *keeper;
    bool is_stopped;
    int n_hurts;
};
typedef void hurt_fn(struct bench *b);

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A job's data: its number, and when it was due at the latest. */
static enum muster_outcome note_lateness(struct muster_process *p, void *arg)
{
    struct bench *b = ((struct live_worker *)arg)->spec.arg;
    long long due;
    int i;
    if (sscanf(muster_process_task(p, NULL), "%d %lld", &i, &due) == 2) {
        atomic_fetch_add(&b->shared->begun[i], 1);
        atomic_store(&b->shared->late_ms[i], (int)(real_ms() - due));
    }
    return MUSTER_FINISH;
}

static struct worker_process *worker(struct bench *b, const char *id, const char *url, const char *queue)
{
    return worker_process_idle(b->scene, &(struct worker_spec){.id = id,
                                                               .url = url,
                                                               .ttl_ms = TTL_MS,
                                                               .hands = 20,
                                                               .handler = note_lateness,
                                                               .arg = b,
                                                               .queues = {{queue, 0}}});
}

static bool keeps(struct bench *b, const char *id)
{
    char *keeper = raw_string(b->scene->server->redis, "GET %s:timer", b->scene->prefix);
    bool same = keeper && !strcmp(keeper, id);
    free(keeper);
    return same;
}

static bool keeper_keeps(void *arg)
{
    return keeps(arg, "keeper");
}

/* Any other keeper loses the timer, until this worker happens to be the first to find none. */
static bool keeper_is_elected(void *arg)
{
    struct bench *b = arg;
    return keeper_keeps(b) || (raw_int(b->scene->server->redis, "DEL %s:timer", b->scene->prefix) && false);
}

static bool somebody_else_keeps(void *arg)
{
    struct bench *b = arg;
    return raw_int(b->scene->server->redis, "EXISTS %s:timer", b->scene->prefix) && !keeps(b, "keeper");
}

static void others_come(struct bench *b)
{
    worker(b, "w1", NULL, "q");
    worker(b, "w2", NULL, "q");
}

/* The keeper serves a queue of its own, or "q". There it gets its part of the due jobs. */
static void begin(struct bench *b, struct scene *s, const char *queue)
{
    *b = (struct bench){.scene = s};
    b->shared = mmap(NULL, sizeof *b->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(b->shared != MAP_FAILED);
    for (int i = 0; i < JOBS; i++)
        b->shared->late_ms[i] = -1;
    proxy_start(&b->proxy, s->server->dir, s->server->socket);
    bool is_alone = strcmp(queue, "q") != 0;
    if (!is_alone)
        others_come(b);
    b->keeper = worker(b, "keeper", b->proxy.url, queue);
    wait_until(keeper_is_elected, b, SOON_MS);
    if (is_alone)
        others_come(b);
    assert_true(keeps(b, "keeper"));
}

static void put_late(struct bench *b, int i)
{
    char id[16], data[48];
    int delay_ms = 1 + i * 7919 % DELAY_MAX_MS;
    snprintf(id, sizeof id, "j%d", i);
    int len = snprintf(data, sizeof data, "%d %lld", i, (long long)real_ms() + delay_ms);
    job_put(b->scene, "q", JOB_SPEC(.id = id, .data = {data, (size_t)len}, .delay_ms = delay_ms));
}

static bool all_are_complete(void *arg)
{
    struct bench *b = arg;
    return job_count(b->scene, "q", MUSTER_JOB_COMPLETE) == JOBS;
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void judge(struct bench *b, const char *what, int bound_ms)
{
    struct scene *s = b->scene;
    int late[JOBS], again = 0;
    for (int i = 0; i < JOBS; i++) {
        late[i] = atomic_load(&b->shared->late_ms[i]);
        again += atomic_load(&b->shared->begun[i]) - 1;
    }
    qsort(late, JOBS, sizeof *late, by_size);
    print_message("%s (%d times): late by %d ms at the median, %d at 90 %%, %d at most (promised %d); %d began again\n",
                  what, b->n_hurts, late[JOBS / 2], late[JOBS * 9 / 10], late[JOBS - 1], bound_ms, again);
    assert_in_range(late[0], 0, bound_ms); /* never early */
    assert_in_range(late[JOBS - 1], 0, bound_ms + SLACK_MS);
    raw_await(s->server->redis, NULL, 0, "HGET %s:queue:q running", s->prefix);
    invariant_assert(s->server->redis, s->prefix);
    checked_assert_clean(s);
}

static void end(struct bench *b)
{
    while (b->scene->processes) { /* before the proxy */
        struct worker_process *w = b->scene->processes;
        b->scene->processes = w->next;
        worker_process_kill(w);
        free(w);
    }
    proxy_stop(&b->proxy);
    munmap(b->shared, sizeof *b->shared);
}

static void run(struct scene *s, const char *what, const char *queue, hurt_fn *hurt, int bound_ms)
{
    static struct bench b;
    begin(&b, s, queue);
    int64_t begun = now_ms(), next = begun;
    for (int i = 0; i < JOBS; i++) {
        put_late(&b, i);
        if (now_ms() >= next) {
            hurt(&b);
            next = now_ms() + 100;
        }
        int64_t ahead = begun + (int64_t)SPAN_MS * (i + 1) / JOBS - now_ms();
        run_loop(s->base, ahead > 0 ? (int)ahead : 0);
    }
    wait_until(all_are_complete, &b, SOON_MS);
    if (b.is_stopped)
        kill(b.keeper->pid, SIGCONT);
    judge(&b, what, bound_ms);
    end(&b);
}

/* ---- what happens to it ---- */

static void nothing(struct bench *b)
{
    (void)b;
}

static void is_killed(struct bench *b)
{
    b->n_hurts += b->keeper->pid != 0;
    worker_process_kill(b->keeper);
}

/* Until another worker keeps the timer; then there are two for a moment. */
static void stands_still(struct bench *b)
{
    if (!b->is_stopped && keeper_keeps(b)) {
        kill(b->keeper->pid, SIGSTOP);
        b->is_stopped = true;
        b->n_hurts++;
    } else if (b->is_stopped && somebody_else_keeps(b)) {
        kill(b->keeper->pid, SIGCONT);
        b->is_stopped = false;
    }
}

static void subscription_is_cut(struct bench *b)
{
    b->n_hurts += proxy_cut(&b->proxy, PROXY_SUBSCRIPTION) > 0;
}

static void all_is_cut(struct bench *b)
{
    b->n_hurts += proxy_cut(&b->proxy, PROXY_BOTH) > 0;
}

static void hears_nothing(struct bench *b)
{
    b->n_hurts += proxy_swallow(&b->proxy, PROXY_SUBSCRIPTION, PROXY_REPLIES) > 0;
}

static void data_is_half_open(struct bench *b)
{
    if (b->n_hurts == 0)
        b->n_hurts += proxy_swallow(&b->proxy, PROXY_DATA, PROXY_REPLIES) > 0;
}

static void both_are_half_open(struct bench *b)
{
    if (b->n_hurts == 0)
        b->n_hurts += proxy_swallow(&b->proxy, PROXY_BOTH, PROXY_REQUESTS | PROXY_REPLIES) > 0;
}

/* A value written by hand is no damage here: any heartbeat mends it. */
static void timer_is_deleted(struct bench *b)
{
    b->n_hurts += (int)raw_int(b->scene->server->redis, "DEL %s:timer", b->scene->prefix);
}

#define KEEPER_TEST(name, what, queue, hurt, bound_ms) \
    static void name(void **state)                     \
    {                                                  \
        run(*state, what, queue, hurt, bound_ms);      \
    }
KEEPER_TEST(undisturbed_it_is_in_time, "nothing amiss", "own", nothing, 100)
KEEPER_TEST(killed, "killed", "own", is_killed, BEAT_MS)
KEEPER_TEST(killed_in_the_same_queue, "killed, in the same queue", "q", is_killed, TTL_MS + BEAT_MS)
KEEPER_TEST(stopped, "stopped", "own", stands_still, BEAT_MS)
KEEPER_TEST(stopped_in_the_same_queue, "stopped, in the same queue", "q", stands_still, TTL_MS + BEAT_MS)
KEEPER_TEST(its_subscription_cut, "its subscription cut", "own", subscription_is_cut, BEAT_MS)
KEEPER_TEST(its_connections_cut, "its connections cut", "own", all_is_cut, BEAT_MS)
KEEPER_TEST(its_subscription_silent, "its subscription silent", "own", hears_nothing, BEAT_MS)
KEEPER_TEST(its_data_half_open, "its data connection half-open", "own", data_is_half_open, BEAT_MS)
KEEPER_TEST(both_half_open, "both connections half-open", "own", both_are_half_open, BEAT_MS)
KEEPER_TEST(its_key_deleted, "P:timer deleted", "own", timer_is_deleted, BEAT_MS)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(undisturbed_it_is_in_time), live_test(killed),
        live_test(killed_in_the_same_queue),  live_test(stopped),
        live_test(stopped_in_the_same_queue), live_test(its_subscription_cut),
        live_test(its_connections_cut),       live_test(its_subscription_silent),
        live_test(its_data_half_open),        live_test(both_half_open),
        live_test(its_key_deleted),
    };
    return scene_run(tests, argc, argv);
}
