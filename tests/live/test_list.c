/* SPDX-License-Identifier: MIT
 *
 * What the client shows of queues, workers and processes while workers hold some.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "live_worker.h"

/* ---- queues ---- */

struct rows {
    size_t n, stop_after;
    char names[256];
    struct muster_queue_info last;
};

static int collect_queue(const struct muster_queue_info *queue, void *arg)
{
    struct rows *rows = arg;
    size_t used = strlen(rows->names);
    snprintf(rows->names + used, sizeof rows->names - used, "%s ", queue->name);
    rows->last = *queue;
    rows->last.name = NULL;
    return ++rows->n == rows->stop_after;
}

struct clock {
    struct scene *scene;
    int64_t ms;
};

static int64_t server_ms(struct scene *s)
{
    struct redisReply *time = raw(s->server->redis, "TIME");
    int64_t ms = atoll(time->element[0]->str) * 1000 + atoll(time->element[1]->str) / 1000;
    freeReplyObject(time);
    return ms;
}

static bool has_ticked(void *arg)
{
    struct clock *clock = arg;
    return server_ms(clock->scene) > clock->ms;
}

/* Queues first seen within one millisecond have no order. */
static void enqueue_in_another_ms(struct scene *s, const char *queue)
{
    struct clock clock = {s, server_ms(s)};
    wait_until(has_ticked, &clock, SOON_MS);
    scene_enqueue(s, queue, "x");
}

static void queues_are_listed_oldest_name_first(void **state)
{
    struct scene *s = *state;
    struct rows all = {0}, two = {.stop_after = 2}, none = {0};
    assert_ok(muster_queue_list(s->client, collect_queue, &none));
    assert_int_equal(none.n, 0);
    enqueue_in_another_ms(s, "zebra");
    enqueue_in_another_ms(s, "mule");
    enqueue_in_another_ms(s, "ant");
    enqueue_in_another_ms(s, "zebra");
    assert_ok(muster_queue_list(s->client, collect_queue, &all));
    assert_string_equal(all.names, "zebra mule ant ");
    assert_ok(muster_queue_list(s->client, collect_queue, &two));
    assert_string_equal(two.names, "zebra mule ");
}

static void many_queues_are_listed_once_each(void **state)
{
    struct scene *s = *state;
    struct rows rows = {0};
    for (int i = 0; i < 1200; i++) {
        char queue[16];
        snprintf(queue, sizeof queue, "q%d", i);
        scene_enqueue(s, queue, "x");
    }
    assert_ok(muster_queue_list(s->client, collect_queue, &rows));
    assert_int_equal(rows.n, 1200);
}

/* A worker is idle as soon as it has a free hand; the ends of the others may be on their way. */
static bool is_idle_and_nothing_runs(void *arg)
{
    struct scene *s = arg;
    struct rows rows = {0};
    assert_ok(muster_queue_list(s->client, collect_queue, &rows));
    return rows.last.waiting + rows.last.running == 0 && rows.last.idle == 1;
}

static void a_queue_shows_what_waits_runs_is_delayed_failed_and_idle(void **state)
{
    struct scene *s = *state;
    struct live_worker *busy = live_worker_idle(
        s, &(struct worker_spec){
               .id = "busy", .hands = 4, .answer = MUSTER_LATER, .retry_ms = 3600000, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "t", 7);
    scene_await_starts(s, 4);
    live_worker_end(busy, MUSTER_RETRY);
    live_worker_end(busy, MUSTER_FAIL);
    scene_await_starts(s, 6);
    struct rows rows = {0};
    assert_ok(muster_queue_list(s->client, collect_queue, &rows));
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.last.waiting, 1);
    assert_int_equal(rows.last.running, 4);
    assert_int_equal(rows.last.delayed, 1);
    assert_int_equal(rows.last.failed, 1);
    assert_int_equal(rows.last.idle, 0);
    assert_false(rows.last.paused);

    live_worker_answer(busy, MUSTER_FINISH);
    wait_on(s->base, is_idle_and_nothing_runs, s, SOON_MS);
}

static void a_paused_queue_is_shown_as_such_and_hands_nothing_out(void **state)
{
    struct scene *s = *state;
    struct rows rows = {0};
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 300, .queues = {{"q", 0}}});
    raw_do(s->server->redis, "HSET %s:queue:q paused 1", s->prefix);
    scene_enqueue(s, "q", "t");
    run_loop(s->base, 250); /* two heartbeats and more */
    assert_int_equal(scene_starts(s), 0);
    assert_ok(muster_queue_list(s->client, collect_queue, &rows));
    assert_true(rows.last.paused);
    assert_int_equal(rows.last.waiting, 1);
    assert_int_equal(rows.last.idle, 1);
    raw_do(s->server->redis, "HDEL %s:queue:q paused", s->prefix);
    scene_await_starts(s, 1);
}

/* ---- workers ---- */

struct workers {
    size_t n, stop_after;
    char ids[128], host[128], version[32], queues[128];
    struct muster_worker_info last;
};

static int collect_worker(const struct muster_worker_info *w, void *arg)
{
    struct workers *all = arg;
    size_t used = strlen(all->ids);
    snprintf(all->ids + used, sizeof all->ids - used, "%s ", w->id);
    snprintf(all->host, sizeof all->host, "%s", w->host);
    snprintf(all->version, sizeof all->version, "%s", w->version);
    all->queues[0] = '\0';
    for (size_t i = 0; i < w->n_queues; i++) {
        strncat(all->queues, w->queues[i], 32);
        strncat(all->queues, " ", 2);
    }
    all->last = *w;
    return ++all->n == all->stop_after;
}

static void a_worker_shows_its_identity_and_what_it_holds(void **state)
{
    struct scene *s = *state;
    char host[128] = "";
    struct timeval now;
    struct workers all = {0};
    gethostname(host, sizeof host - 1);
    live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = 60000, .hands = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r", 2}}});
    scene_enqueue_n(s, "q", "t", 2);
    scene_await_starts(s, 2);
    assert_ok(muster_worker_list(s->client, collect_worker, &all));
    gettimeofday(&now, NULL);
    assert_int_equal(all.n, 1);
    assert_string_equal(all.ids, "w1 ");
    assert_string_equal(all.host, host);
    assert_string_equal(all.version, muster_version());
    assert_int_equal(all.last.pid, getpid());
    assert_true(all.last.alive);
    assert_in_range(all.last.heard_ms, 0, 20000);
    assert_int_equal(all.last.ttl_ms, 60000);
    assert_in_range(all.last.started_at_ms, (int64_t)now.tv_sec * 1000 - 20000, (int64_t)now.tv_sec * 1000 + 1000);
    assert_int_equal(all.last.hands, 3);
    assert_int_equal(all.last.held, 2);
    assert_true(!strcmp(all.queues, "q r ") || !strcmp(all.queues, "r q "));
    assert_true(all.last.epoch > 0);
}

static void workers_are_listed_by_when_their_life_ends(void **state)
{
    struct scene *s = *state;
    struct workers all = {0}, one = {.stop_after = 1};
    live_worker_idle(s, &(struct worker_spec){.id = "long", .ttl_ms = 90000, .queues = {{"q", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "short", .ttl_ms = 30000, .queues = {{"q", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "middle", .ttl_ms = 60000, .queues = {{"q", 0}}});
    assert_ok(muster_worker_list(s->client, collect_worker, &all));
    assert_string_equal(all.ids, "short middle long ");
    assert_ok(muster_worker_list(s->client, collect_worker, &one));
    assert_string_equal(one.ids, "short ");
}

#define MANY_WORKERS 250

struct crowd {
    size_t n, misplaced, stop_after;
};

/* Worker i is the one of the i-th life to end. */
static int count_in_order(const struct muster_worker_info *w, void *arg)
{
    struct crowd *crowd = arg;
    char id[16];
    snprintf(id, sizeof id, "w%03zu", crowd->n);
    crowd->misplaced += strcmp(w->id, id) != 0 || (size_t)w->hands != crowd->n + 1 || w->heard_ms < 0;
    return ++crowd->n == crowd->stop_after;
}

/* How many times Redis has read from its connections. */
static int64_t server_reads(struct scene *s)
{
    char *info = raw_string(s->server->redis, "INFO stats");
    const char *line = strstr(info, "total_reads_processed:");
    assert_non_null(line);
    int64_t n = atoll(strchr(line, ':') + 1);
    free(info);
    return n;
}

/* w000 and so on, in the order in which they are listed. */
static void make_workers(struct scene *s, int n)
{
    raw_do(s->server->redis, "EVAL %s 0 %s %d",
           "local p = ARGV[1] for i = 0, ARGV[2] - 1 do local id = string.format('w%03d', i)"
           " redis.call('ZADD', p .. ':registry', 9e15 + i, id)"
           " redis.call('HSET', p .. ':worker:' .. id, 'epoch', '00000000001', 'ttl', 60000, 'hands', i + 1)"
           " redis.call('SET', p .. ':alive:' .. id, '00000000001', 'PX', 60000) end",
           s->prefix, n);
}

static void many_workers_are_listed_once_each_in_few_round_trips(void **state)
{
    struct scene *s = *state;
    struct crowd first = {0}, all = {0}, some = {.stop_after = 120}, without = {0};
    make_workers(s, MANY_WORKERS);
    assert_ok(muster_worker_list(s->client, count_in_order, &first));
    int64_t before = server_reads(s);
    assert_ok(muster_worker_list(s->client, count_in_order, &all));
    assert_in_range(server_reads(s) - before, 1, 25);
    assert_int_equal(all.n, MANY_WORKERS);
    assert_int_equal(all.misplaced, 0);
    assert_ok(muster_worker_list(s->client, count_in_order, &some));
    assert_int_equal(some.n, 120);
    assert_int_equal(some.misplaced, 0);
    /* A damaged record costs its own row, and what is read after it is still the others'. */
    raw_do(s->server->redis, "SET %s:worker:w249 text", s->prefix);
    assert_ok(muster_worker_list(s->client, count_in_order, &without));
    assert_int_equal(without.n, MANY_WORKERS - 1);
    assert_int_equal(without.misplaced, 0);
}

/* A producer waits for what the error says of failed lists. */
static void a_full_redis_is_explained_in_few_round_trips(void **state)
{
    struct scene *s = *state;
    uint64_t waiting;
    raw_do(s->server->redis, "EVAL %s 0 %s",
           "for i = 1, 500 do redis.call('ZADD', ARGV[1] .. ':names', i, 'q' .. i)"
           " redis.call('ZADD', ARGV[1] .. ':failed:q' .. i, 1, 'x')"
           " redis.call('HSET', ARGV[1] .. ':failures:q' .. i, 'bytes', i) end",
           s->prefix);
    assert_ok(muster_queue_length(s->client, "q", &waiting));
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    const int64_t before = server_reads(s);
    const int err = muster_task_enqueue(s->client, "q", "t", 1, NULL);
    const int64_t reads = server_reads(s) - before;
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_err(err, MUSTER_E_FULL);
    assert_non_null(
        strstr(muster_client_error(s->client), "500 entries, 125250 bytes, most of them of the queue 'q500'"));
    assert_in_range(reads, 1, 50);
}

static void a_later_life_has_a_larger_epoch(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w1", .queues = {{"q", 0}}};
    struct workers first = {0}, second = {0}, gone = {0};
    struct live_worker *w = live_worker_idle(s, &spec);
    assert_ok(muster_worker_list(s->client, collect_worker, &first));
    live_worker_stop(s, w, 0);
    assert_ok(muster_worker_list(s->client, collect_worker, &gone));
    assert_int_equal(gone.n, 0);
    live_worker_idle(s, &spec);
    assert_ok(muster_worker_list(s->client, collect_worker, &second));
    assert_true(second.last.epoch > first.last.epoch);
}

static void a_dead_worker_is_listed_as_not_alive(void **state)
{
    struct scene *s = *state;
    struct workers all = {0};
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 100, .queues = {{"q", 0}}});
    live_worker_free(s, s->workers);
    raw_await(s->server->redis, s->base, 0, "EXISTS %s:alive:w1", s->prefix);
    assert_ok(muster_worker_list(s->client, collect_worker, &all));
    assert_string_equal(all.ids, "w1 ");
    assert_false(all.last.alive);
    assert_int_equal(all.last.heard_ms, -1);
}

/* ---- processes ---- */

struct processes {
    size_t n, stop_after;
    bool well_formed;
    char tasks[64];
};

static int collect_process(const struct muster_process_info *p, void *arg)
{
    struct processes *all = arg;
    size_t used = strlen(all->tasks), id_len = strlen(p->id), queue_len = strlen(p->queue);
    if (p->len == 2)
        snprintf(all->tasks + used, sizeof all->tasks - used, "%.*s ", (int)p->len, (const char *)p->task);
    all->well_formed = (all->n == 0 || all->well_formed) && p->token > 0 && p->started_at_ms > 0 &&
                       !strncmp(p->id, p->worker, strlen(p->worker)) && id_len > queue_len &&
                       !strcmp(p->id + id_len - queue_len, p->queue);
    return ++all->n == all->stop_after;
}

static void assert_processes(struct scene *s, const char *queue, const char *worker, const char *task, size_t n)
{
    const struct muster_bytes bytes = {task, task ? strlen(task) : 0};
    const struct muster_process_filter f = {
        .size = sizeof f, .queue = queue, .worker = worker, .task = task ? &bytes : NULL};
    struct processes all = {0};
    assert_ok(muster_process_list(s->client, &f, collect_process, &all));
    assert_int_equal(all.n, n);
    assert_true(n == 0 || all.well_formed);
}

static void processes_are_listed_by_queue_worker_and_task(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .hands = 3, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "a", 3);
    scene_await_starts(s, 3);
    live_worker_idle(
        s, &(struct worker_spec){.id = "w2", .hands = 5, .answer = MUSTER_LATER, .queues = {{"q", 0}, {"r:s", 0}}});
    scene_enqueue_n(s, "q", "a", 2);
    scene_enqueue_n(s, "r:s", "b", 3);
    scene_await_starts(s, 8);

    struct processes all = {0}, two = {.stop_after = 2};
    assert_ok(muster_process_list(s->client, NULL, collect_process, &all));
    assert_int_equal(all.n, 8);
    assert_true(all.well_formed);
    assert_ok(muster_process_list(s->client, NULL, collect_process, &two));
    assert_int_equal(two.n, 2);
    assert_processes(s, NULL, NULL, NULL, 8);
    assert_processes(s, "q", NULL, NULL, 5);
    assert_processes(s, "r:s", NULL, NULL, 3);
    assert_processes(s, NULL, "w1", NULL, 3);
    assert_processes(s, "q", "w2", NULL, 2);
    assert_processes(s, NULL, NULL, "a0", 2);
    assert_processes(s, NULL, "w1", "a2", 1);
    assert_processes(s, NULL, "nobody", NULL, 0);
    assert_processes(s, "nothing", NULL, NULL, 0);
    assert_processes(s, "q", NULL, "b0", 0);
}

static void a_large_set_is_listed_whole(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .hands = 2500, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue_n(s, "q", "task", 2500);
    scene_await_starts(s, 2500);
    struct processes all = {0};
    assert_ok(muster_process_list(s->client, NULL, collect_process, &all));
    assert_int_equal(all.n, 2500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(queues_are_listed_oldest_name_first),
        live_test(many_queues_are_listed_once_each),
        live_test(a_queue_shows_what_waits_runs_is_delayed_failed_and_idle),
        live_test(a_paused_queue_is_shown_as_such_and_hands_nothing_out),
        live_test(a_worker_shows_its_identity_and_what_it_holds),
        live_test(workers_are_listed_by_when_their_life_ends),
        live_test(many_workers_are_listed_once_each_in_few_round_trips),
        live_test(a_full_redis_is_explained_in_few_round_trips),
        live_test(a_later_life_has_a_larger_epoch),
        live_test(a_dead_worker_is_listed_as_not_alive),
        live_test(processes_are_listed_by_queue_worker_and_task),
        live_test(a_large_set_is_listed_whole),
    };
    return scene_run(tests, argc, argv);
}
