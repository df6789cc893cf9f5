/* SPDX-License-Identifier: MIT
 *
 * Everything at once: three workers, each of another kind, hand on what they do to a last queue, while their
 * connections are cut, scripts forgotten, registrations swept, queues left, served again, paused and deleted from
 * under a share, and the workers freed, also inside their own callbacks. Their processes end in all ways.
 *
 * Afterwards each task that was acknowledged is on the last queue: what is handed on is never lost. What is freed under
 * an answer, or read while another thread writes it, is the sanitizers' to find. MUSTER_FAULT_SECONDS says how long.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_worker.h"
#include "random.h"

enum { N_QUEUES = 3, TTL_MS = 1500, SECONDS = 15, TASKS_MAX = 200000 };

static const char *const queues[N_QUEUES] = {"q0", "q1", "q2"};

/* A worker that the storm frees and makes anew. `lock`: who uses it keeps it from being freed. */
struct actor {
    const char *id;
    struct muster_worker *worker;
    pthread_mutex_t lock;
    pthread_t thread;
    bool by_next;
};

static struct storm {
    struct scene *scene;
    char url[200];
    atomic_bool is_calm, is_over;
    atomic_int n_freed_inside;
    struct actor threads, next;
    pthread_t alone;
    pthread_mutex_t lock;       /* of this one: */
    struct muster_worker *lone; /* it may be stopped; NULL: it is freed, or about to be */
    int n_tasks;
    bool acknowledged[TASKS_MAX];
} storm;

static unsigned draw(unsigned n)
{
    static _Thread_local struct random numbers;
    if (numbers.state == 0)
        numbers = random_from((uint64_t)now_ms() ^ (uintptr_t)&numbers);
    return (unsigned)random_below(&numbers, n);
}

/* ---- what is done ---- */

/* Each way to end; a process that finishes has handed its task on. */
static enum muster_outcome work(struct muster_process *p)
{
    size_t len;
    const void *task = muster_process_task(p, &len);
    switch (atomic_load(&storm.is_calm) ? 9 : draw(20)) {
    case 0:
        return muster_process_set_retry(p, draw(50)) == MUSTER_OK ? MUSTER_RETRY : MUSTER_FAIL;
    case 1:
        return MUSTER_GIVE_BACK;
    case 2:
        (void)!muster_process_progress(p, "half");
        break;
    case 3:
        (void)!muster_process_stay(p, 10);
        break;
    case 4:
        (void)!muster_process_extend(p, 5000);
        break;
    case 5:
        usleep(draw(3000)); /* so that something is running when the storm comes */
        break;
    }
    int err = muster_worker_enqueue(muster_process_worker(p), "last", task, len, NULL, NULL);
    return err == MUSTER_OK ? MUSTER_FINISH : MUSTER_GIVE_BACK;
}

static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    (void)arg;
    return work(p);
}

/* Told to go elsewhere, the program may leave the queue at that moment. */
static void leave_at_times(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    (void)arg;
    if (!atomic_load(&storm.is_calm) && e->type == MUSTER_EVENT_STOP && draw(3) == 0)
        (void)!muster_worker_leave(w, queues[draw(N_QUEUES)]);
}

static struct muster_worker_options options_of(const char *id)
{
    return (struct muster_worker_options){.size = sizeof(struct muster_worker_options),
                                          .url = storm.url,
                                          .prefix = storm.scene->prefix,
                                          .id = id,
                                          .ttl_ms = TTL_MS,
                                          .hands = 6,
                                          .prefetch = 4,
                                          .drain_ms = 300,
                                          .tell_ended = 1};
}

/* False: it has stopped. */
static bool serve_all(struct muster_worker *w, bool by_next)
{
    int err = MUSTER_OK;
    for (int i = 0; i < N_QUEUES && err != MUSTER_E_STATE; i++)
        err = muster_worker_serve(w, queues[i], draw(3) ? 0 : 3, by_next ? NULL : handle, NULL);
    return err != MUSTER_E_STATE;
}

/* ---- a worker with a loop of its own that is freed in its callbacks ---- */

static void set_lone(struct muster_worker *w)
{
    pthread_mutex_lock(&storm.lock);
    storm.lone = w;
    pthread_mutex_unlock(&storm.lock);
}

static void stop_lone(void)
{
    pthread_mutex_lock(&storm.lock);
    if (storm.lone)
        (void)!muster_worker_stop(storm.lone, 0);
    pthread_mutex_unlock(&storm.lock);
}

static void free_inside(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    bool *is_freed = arg;
    bool may = e->type == MUSTER_EVENT_ENDED || e->type == MUSTER_EVENT_UP || e->type == MUSTER_EVENT_LEFT ||
               e->type == MUSTER_EVENT_UNCOUNTED || e->type == MUSTER_EVENT_STARTED || e->type == MUSTER_EVENT_STOP;
    if (*is_freed || atomic_load(&storm.is_calm) || !may || draw(300) > 0)
        return;
    *is_freed = true;
    set_lone(NULL);
    atomic_fetch_add(&storm.n_freed_inside, 1);
    muster_worker_free(w);
}

static void *run_alone(void *arg)
{
    (void)arg;
    while (!atomic_load(&storm.is_calm)) {
        struct muster_worker *w;
        bool is_freed = false;
        struct muster_worker_options o = options_of("alone");
        o.on_event = free_inside;
        o.arg = &is_freed;
        if (muster_worker_new(&w, &o) != MUSTER_OK)
            return NULL;
        set_lone(w);
        if (muster_worker_start(w) == MUSTER_OK)
            (void)!serve_all(w, false);
        if (atomic_load(&storm.is_calm))
            stop_lone();
        (void)!muster_worker_run(w);
        if (is_freed)
            continue;
        set_lone(NULL);
        muster_worker_free(w);
    }
    return NULL;
}

/* ---- two workers on threads of the library ---- */

static void *take_by_next(void *arg)
{
    struct actor *a = arg;
    struct muster_item items[8];
    for (;;) {
        pthread_mutex_lock(&a->lock);
        struct muster_worker *w = a->worker;
        struct pollfd fd = {w ? muster_worker_fd(w) : -1, POLLIN, 0};
        poll(&fd, w ? 1 : 0, 5);
        items[0].size = sizeof items[0];
        for (size_t i = 0, n = w ? muster_worker_next(w, items, N_OF(items)) : 0; i < n; i++)
            if (items[i].type == MUSTER_ITEM_PROCESS)
                (void)!muster_process_end(items[i].process, work(items[i].process));
        pthread_mutex_unlock(&a->lock);
        if (atomic_load(&storm.is_over))
            return NULL;
    }
}

static void make(struct actor *a)
{
    struct muster_worker_options o = options_of(a->id);
    o.own_thread = 1;
    o.threads = a->by_next ? 0 : o.hands;
    o.on_event = a->by_next ? NULL : leave_at_times;
    pthread_mutex_lock(&a->lock);
    assert_ok(muster_worker_new(&a->worker, &o));
    assert_true(muster_worker_fd(a->worker) >= 0);
    assert_ok(muster_worker_start(a->worker));
    (void)!serve_all(a->worker, a->by_next);
    pthread_mutex_unlock(&a->lock);
}

static void unmake(struct actor *a, bool is_polite)
{
    pthread_mutex_lock(&a->lock);
    if (is_polite)
        (void)!muster_worker_stop(a->worker, 0);
    muster_worker_free(a->worker);
    a->worker = NULL;
    pthread_mutex_unlock(&a->lock);
}

/* One that was made while its forerunner counted as alive has stopped at once. */
static void serve_in_any_case(struct actor *a)
{
    if (serve_all(a->worker, a->by_next))
        return;
    unmake(a, false);
    make(a);
}

/* ---- the storm ---- */

static void enqueue_some(void)
{
    for (int i = 0; i < 20 && storm.n_tasks < TASKS_MAX; i++) {
        char task[16];
        int n = snprintf(task, sizeof task, "%d", storm.n_tasks);
        storm.acknowledged[storm.n_tasks++] =
            muster_task_enqueue(storm.scene->client, queues[draw(N_QUEUES)], task, (size_t)n, NULL) == MUSTER_OK;
    }
}

static void blow(void)
{
    struct scene *s = storm.scene;
    struct actor *a = draw(2) ? &storm.threads : &storm.next;
    switch (draw(12)) {
    case 0:
        raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
        break;
    case 1:
        raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
        break;
    case 2:
        raw_do(s->server->redis, "SCRIPT FLUSH");
        break;
    case 3:
    case 4:
        (void)!muster_worker_leave(a->worker, queues[draw(N_QUEUES)]);
        break;
    case 5:
    case 6:
    case 7:
        serve_in_any_case(a);
        break;
    case 8:
        (void)!muster_worker_fail(s->client, a->id, NULL);
        break;
    case 9:
        unmake(a, draw(2));
        make(a);
        break;
    case 10:
        raw_do(s->server->redis, "CONFIG SET maxmemory 1");
        usleep(10000);
        raw_do(s->server->redis, "CONFIG SET maxmemory 0");
        break;
    default:
        (void)!muster_queue_pause(s->client, "q1");
        usleep(5000);
        (void)!muster_queue_resume(s->client, "q1");
    }
}

static void blow_for(int seconds)
{
    for (int64_t until = now_ms() + seconds * 1000; now_ms() < until;) {
        enqueue_some();
        blow();
        usleep(1000 * (10 + draw(40))); /* something happens between two of them */
    }
}

/* ---- afterwards ---- */

static bool is_done(void *arg)
{
    struct scene *s = arg;
    int64_t n = 0;
    serve_in_any_case(&storm.threads);
    serve_in_any_case(&storm.next);
    for (int i = 0; i < N_QUEUES; i++)
        n += raw_int(
            s->server->redis, "EVAL %s 3 %s:queues:%s %s:returned:%s %s:queue:%s",
            "local function n(k) local t = redis.call('TYPE', k).ok return t == 'list' and redis.call('LLEN', k) "
            "or t == 'zset' and redis.call('ZCARD', k) or t == 'hash' and redis.call('HLEN', k) or 0 end "
            "return n(KEYS[1]) + n(KEYS[2]) + math.max(0, tonumber(redis.call('HGET', KEYS[3], 'running') or 0)) "
            "+ n(string.gsub(KEYS[1], ':queues:', ':delayed:'))",
            s->prefix, queues[i], s->prefix, queues[i], s->prefix, queues[i]);
    return n == 0;
}

static void tell_what_is_left(struct scene *s)
{
    char *left = raw_string(
        s->server->redis, "EVAL %s 1 %s",
        "local out = {} for _, k in ipairs(redis.call('SCAN', '0', 'MATCH', KEYS[1] .. ':*', 'COUNT', 10000)[2]) do "
        "local t = redis.call('TYPE', k).ok if string.find(k, ':processing:') or "
        "string.find(k, ':queue:') or string.find(k, ':worker:') then "
        "out[#out + 1] = k .. ' ' .. table.concat(redis.call('HGETALL', k), ' ') "
        "elseif string.find(k, ':queues:q') or string.find(k, ':returned:') or string.find(k, ':registry') then "
        "out[#out + 1] = k .. ' ' .. redis.call(t == 'list' and 'LLEN' or 'ZCARD', k) end end return out",
        s->prefix);
    print_message("%s\n", left);
    free(left);
}

static void assert_nothing_is_lost(struct scene *s)
{
    static bool is_there[TASKS_MAX];
    struct redisReply *last = raw(s->server->redis, "LRANGE %s:queues:last 0 -1", s->prefix);
    for (size_t i = 0; i < last->elements; i++)
        is_there[atoi(last->element[i]->str)] = true;
    print_message("  %d tasks, %zu handed on; %d workers freed inside a callback\n", storm.n_tasks, last->elements,
                  atomic_load(&storm.n_freed_inside));
    freeReplyObject(last);
    for (int i = 0; i < storm.n_tasks; i++)
        if (storm.acknowledged[i] && !is_there[i])
            fail_msg("task %d was acknowledged, and is nowhere", i);
}

static void what_was_acknowledged_is_handed_on(void **state)
{
    struct scene *s = *state;
    const char *wanted = getenv("MUSTER_FAULT_SECONDS");
    const int64_t even = 1;
    storm.scene = s;
    pthread_mutex_init(&storm.lock, NULL);
    snprintf(storm.url, sizeof storm.url, "unix://%s", s->server->socket);
    storm.threads = (struct actor){.id = "threads", .lock = PTHREAD_MUTEX_INITIALIZER};
    storm.next = (struct actor){.id = "next", .lock = PTHREAD_MUTEX_INITIALIZER, .by_next = true};
    scene_suspect_nothing(s);
    assert_ok(muster_config_set(s->client, "q0", "share", &even));
    make(&storm.threads);
    make(&storm.next);
    assert_int_equal(pthread_create(&storm.next.thread, NULL, take_by_next, &storm.next), 0);
    assert_int_equal(pthread_create(&storm.alone, NULL, run_alone, NULL), 0);
    blow_for(wanted ? atoi(wanted) : SECONDS);
    atomic_store(&storm.is_calm, true);
    stop_lone();
    bool has_ended = wait_for(NULL, is_done, s, 2 * SOON_MS);
    if (!has_ended)
        tell_what_is_left(s);
    atomic_store(&storm.is_over, true);
    pthread_join(storm.next.thread, NULL);
    pthread_join(storm.alone, NULL);
    pthread_mutex_destroy(&storm.lock);
    unmake(&storm.threads, true);
    unmake(&storm.next, true);
    assert_true(has_ended);
    assert_nothing_is_lost(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(what_was_acknowledged_is_handed_on)};
    return scene_run(tests, argc, argv);
}
