/* SPDX-License-Identifier: MIT
 *
 * 10 000 cancels at random moments, of tasks that finish, are given back, retried and fail at random, on workers that
 * are killed, or leave the queue and serve it again; and each task's account at the end:
 *
 *   - It was finished, failed or cancelled: exactly one of these, once.
 *   - A task that was counted as waiting when it was cancelled never started afterwards, and was not finished.
 *   - A task that was counted as running was finished or dropped, and never started again.
 *   - The queue's count of cancelled tasks is the sum of these.
 *
 * All tasks differ. A listener, who hears each finish that counted, knows what was finished; the journal knows what was
 * started. The time until a handler was told is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "fault_crew.h"
#include "invariant.h"
#include "slow.h"

#define PLACES 5
/* A round of this many cancels nearly fills the journal. */
#define CANCELS 5000
#define ROUNDS 2
#define TASKS_MAX (3 * CANCELS)
#define TTL_MS slow_ms(900)
#define KILL_EVERY_MS 500
/* Enqueueing goes on while fewer tasks wait; a cancel hits one of the last REACH tasks. */
#define BACKLOG 60
#define REACH 120
#define LAST "last"

/* Written by the children. */
struct shared {
    atomic_int is_listening, has_ended;
    atomic_int finished[TASKS_MAX];
    atomic_llong told_ms[TASKS_MAX];
};

/* What the first cancel of a task that met it was answered, and where the journal ended then. */
struct answer {
    int n_cancels;
    uint64_t waiting, running;
    int64_t sent_ms;
    size_t at;
};

struct bench {
    struct scene *scene;
    struct shared *shared;
    struct answer answers[TASKS_MAX];
    bool failed[TASKS_MAX];
    struct fault_crew crew;
    int n_tasks, n_cancels, n_kills;
    pid_t listener;
};

/* The number of a task "t<number>", or -1. */
static int number_of(const char *task, size_t len)
{
    char text[16] = "";
    if (len < 2 || len >= sizeof text || *task != 't')
        return -1;
    memcpy(text, task + 1, len - 1);
    return atoi(text) < TASKS_MAX ? atoi(text) : -1;
}

/* ---- the workers, each a process of its own ---- */

static enum muster_outcome any_outcome(void)
{
    static const enum muster_outcome outcomes[] = {MUSTER_FINISH,    MUSTER_FINISH, MUSTER_FINISH, MUSTER_FINISH,
                                                   MUSTER_GIVE_BACK, MUSTER_RETRY,  MUSTER_FAIL};
    return outcomes[(size_t)rand() % N_OF(outcomes)];
}

/* Not while it stops. */
static void assert_done(int err)
{
    assert_true(err == MUSTER_OK || err == MUSTER_E_STATE);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct live_worker *w = arg;
    (void)fd, (void)what;
    for (int n = rand() % 3; n > 0; n--)
        live_worker_end(w, any_outcome());
    if (rand() % 300 == 0)
        assert_done(muster_worker_leave(w->worker, "q"));
}

/* A third of them end in the handler, the others some ticks later. */
static enum muster_outcome work(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    fault_crew_tick(w, p, on_tick, 1);
    bool is_last = !strcmp(muster_process_task(p, NULL), LAST);
    w->spec.answer = is_last ? MUSTER_FINISH : rand() % 3 ? MUSTER_LATER : any_outcome();
    return live_worker_handle(p, w);
}

static void told(struct live_worker *w, struct muster_process *p)
{
    struct bench *b = w->spec.arg;
    size_t len;
    const char *task = muster_process_task(p, &len);
    int i = number_of(task, len);
    if (i >= 0 && muster_process_stop_reason(p) == MUSTER_STOP_CANCELLED)
        atomic_store(&b->shared->told_ms[i], now_ms());
    if (rand() % 2)
        live_worker_end_one(w, p, any_outcome());
}

static void on_event(struct live_worker *w, const struct muster_event *e)
{
    if (e->type == MUSTER_EVENT_STOP)
        told(w, e->process);
    else if (e->type == MUSTER_EVENT_LEFT)
        assert_done(live_worker_serve(w, "q", 0));
}

static void start_crew(struct bench *b)
{
    struct worker_spec specs[PLACES];
    for (int i = 0; i < PLACES; i++)
        specs[i] = (struct worker_spec){.ttl_ms = TTL_MS,
                                        .hands = 10,
                                        .prefetch = i % 2 ? 5 : 0,
                                        .drain_ms = 1000,
                                        .retry_ms = 20,
                                        .handler = work,
                                        .on_event = on_event,
                                        .arg = b,
                                        .queues = {{"q", 0}}};
    fault_crew_start(&b->crew, b->scene, specs, PLACES);
}

/* Never the first one, so that there is always somebody to sweep. */
static void kill_one(struct bench *b)
{
    fault_crew_kill(&b->crew, 1 + rand() % (PLACES - 1));
    b->n_kills++;
}

/* ---- the listener, a process of its own ---- */

static int is_listening(void *arg)
{
    struct bench *b = arg;
    atomic_store(&b->shared->is_listening, 1);
    return 0;
}

static int note_done(const struct muster_queue_event *e, void *arg)
{
    struct bench *b = arg;
    if (e->type != MUSTER_QUEUE_DONE)
        return 0;
    int i = number_of(e->task, e->len);
    if (i >= 0)
        atomic_fetch_add(&b->shared->finished[i], 1);
    return e->len == strlen(LAST) && !memcmp(e->task, LAST, e->len);
}

static bool has_begun_to_listen(void *arg)
{
    return atomic_load(&((struct bench *)arg)->shared->is_listening);
}

static void begin_listening(struct bench *b)
{
    b->listener = child_fork();
    if (b->listener == 0) {
        struct muster_client *c = scene_client(b->scene);
        _exit(muster_queue_listen(c, "q", 3600 * 1000, is_listening, note_done, b) == MUSTER_OK ? 0 : 1);
    }
    wait_until(has_begun_to_listen, b, SOON_MS);
}

/* Everything that it must hear was published before this. */
static void end_listening(struct bench *b)
{
    scene_enqueue(b->scene, "q", LAST);
    int status = child_reap(b->listener, SOON_MS);
    b->listener = 0;
    assert_int_equal(status, 0);
}

/* ---- the load ---- */

static void enqueue_some(struct bench *b)
{
    for (int n = rand() % 16; n >= 0 && b->n_tasks < TASKS_MAX; n--) {
        char task[16];
        snprintf(task, sizeof task, "t%d", b->n_tasks++);
        scene_enqueue(b->scene, "q", task);
    }
}

static void note_answer(struct bench *b, int i, uint64_t waiting, uint64_t running)
{
    struct answer *a = &b->answers[i];
    if (waiting + running > 1)
        fail_msg("t%d was in two places: %d waiting, %d running", i, (int)waiting, (int)running);
    if (waiting && (a->waiting || a->running))
        fail_msg("t%d waits again after it was cancelled", i);
    if (running && a->waiting)
        fail_msg("t%d runs after it was cancelled while it waited", i);
    if (!a->waiting && !a->running) {
        a->waiting = waiting;
        a->running = running;
        a->at = journal_size(b->scene->journal);
    }
}

/* Most are cancelled once, some again. */
static void cancel_one(struct bench *b)
{
    char task[16];
    uint64_t waiting, running;
    int reach = b->n_tasks < REACH ? b->n_tasks : REACH;
    int i = b->n_tasks - 1 - rand() % reach;
    if (b->answers[i].n_cancels > 0 && rand() % 20)
        return;
    int len = snprintf(task, sizeof task, "t%d", i);
    int64_t sent_ms = now_ms();
    assert_ok(muster_task_cancel(b->scene->client, "q", task, (size_t)len, &waiting, &running));
    note_answer(b, i, waiting, running);
    if (b->answers[i].n_cancels++ == 0)
        b->answers[i].sent_ms = sent_ms;
    b->n_cancels++;
}

static bool is_hungry(void *arg)
{
    struct bench *b = arg;
    uint64_t waiting;
    assert_ok(muster_queue_length(b->scene->client, "q", &waiting));
    return waiting < BACKLOG;
}

static void torment(struct bench *b)
{
    int64_t kill_at = now_ms() + KILL_EVERY_MS;
    while (b->n_cancels < CANCELS && b->n_tasks < TASKS_MAX) {
        enqueue_some(b);
        for (int n = rand() % 12; n > 0; n--)
            cancel_one(b);
        if (now_ms() >= kill_at) {
            kill_one(b);
            kill_at = now_ms() + rand() % (2 * KILL_EVERY_MS);
        }
        if (!is_hungry(b))
            wait_until(is_hungry, b, SOON_MS);
    }
    assert_true(b->n_cancels >= CANCELS);
}

/* Nothing waits, runs or is delayed, at one instant. */
static void settle(struct bench *b)
{
    struct scene *s = b->scene;
    raw_await(s->server->redis, NULL, PLACES, "ZCARD %s:registry", s->prefix); /* the dead are swept */
    raw_await(s->server->redis, NULL, 0, "EVAL %s 3 %s:queues:q %s:delayed:q %s:queue:q",
              "return redis.call('LLEN', KEYS[1]) + redis.call('ZCARD', KEYS[2])"
              " + redis.call('HGET', KEYS[3], 'running')",
              s->prefix, s->prefix, s->prefix);
    end_listening(b);
    fault_crew_stop(&b->crew);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
}

/* ---- the account ---- */

static int note_failed(const struct muster_failure *f, void *arg)
{
    struct bench *b = arg;
    int i = number_of(f->task, f->len);
    if (i < 0)
        return 0;
    if (b->failed[i])
        fail_msg("t%d failed twice", i);
    b->failed[i] = true;
    return 0;
}

struct figures {
    int finished, failed, waited, dropped, finished_after;
};

static void judge_task(struct bench *b, int i, struct figures *f)
{
    const struct answer *a = &b->answers[i];
    int finished = atomic_load(&b->shared->finished[i]), failed = b->failed[i];
    if (finished + failed > 1)
        fail_msg("t%d was finished %d times and failed %d times", i, finished, failed);
    if (a->waiting && finished + failed)
        fail_msg("t%d was cancelled while it waited, and %s", i, failed ? "failed" : "finished");
    if (a->running && failed)
        fail_msg("t%d failed after it was cancelled", i);
    if (!a->waiting && !a->running && !finished && !failed)
        fail_msg("t%d is lost", i);
    f->finished += finished;
    f->failed += failed;
    f->waited += a->waiting > 0;
    f->dropped += a->running && !finished;
    f->finished_after += a->running && finished;
}

/* Nothing began after its cancel but the one process that was counted as running. */
static void judge_starts(struct bench *b)
{
    uint64_t *tokens = calloc(TASKS_MAX, sizeof *tokens);
    for (size_t at = 0, n = journal_size(b->scene->journal); at < n; at++) {
        const struct journal_entry *e = journal_at(b->scene->journal, at);
        int i = e && e->kind == JOURNAL_START ? number_of(e->task, e->task_len) : -1;
        const struct answer *a = i >= 0 ? &b->answers[i] : NULL;
        if (!a || at < a->at || (!a->waiting && !a->running))
            continue;
        if (a->waiting)
            fail_msg("t%d began after it was cancelled while it waited", i);
        if (tokens[i] && tokens[i] != e->token)
            fail_msg("t%d began again after it was cancelled while it ran", i);
        tokens[i] = e->token;
    }
    free(tokens);
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void report_told(struct bench *b)
{
    int *ms = calloc(TASKS_MAX, sizeof *ms), n = 0, running = 0;
    for (int i = 0; i < b->n_tasks; i++) {
        int64_t at = atomic_load(&b->shared->told_ms[i]);
        running += b->answers[i].running > 0;
        if (at)
            ms[n++] = (int)(at - b->answers[i].sent_ms);
    }
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    if (n)
        print_message("%d of %d cancelled while running were told before they ended, after %d ms at the median, "
                      "p99 %d ms, %d ms at worst\n",
                      n, running, ms[n / 2], ms[n * 99 / 100], ms[n - 1]);
    free(ms);
}

static void judge(struct bench *b)
{
    struct scene *s = b->scene;
    struct figures f = {0};
    const struct muster_failed_filter all = {.size = sizeof all, .queue = "q"};
    assert_ok(muster_failed_list(s->client, &all, note_failed, b));
    for (int i = 0; i < b->n_tasks; i++)
        judge_task(b, i, &f);
    judge_starts(b);
    print_message("%d cancels of %d tasks, %d kills, left %zu times: %d finished (%d of them cancelled), %d failed, "
                  "%d cancelled while waiting, %d while running\n",
                  b->n_cancels, b->n_tasks, b->n_kills,
                  journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LEFT, NULL, NULL), f.finished, f.finished_after,
                  f.failed, f.waited, f.dropped);
    assert_int_equal(f.finished + f.failed + f.waited + f.dropped, b->n_tasks);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:queue:q cancelled", s->prefix), f.waited + f.dropped);
    assert_true(f.waited > 0 && f.dropped > 0 && f.finished_after > 0);
    report_told(b);
}

static void round_of_cancels(struct scene *s, struct shared *shared)
{
    static struct bench b;
    b = (struct bench){.scene = s, .shared = shared};
    memset(shared, 0, sizeof *shared);
    start_crew(&b);
    raw_await(s->server->redis, NULL, PLACES, "ZCARD %s:idle:q", s->prefix);
    begin_listening(&b);
    torment(&b);
    settle(&b);
    judge(&b);
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
}

static void each_task_is_finished_or_cancelled_and_never_both(void **state)
{
    struct scene *s = *state;
    const char *seconds = getenv("MUSTER_FAULT_SECONDS");
    int64_t until = now_ms() + (seconds ? atoi(seconds) : 0) * 1000;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(shared != MAP_FAILED);
    srand(1);
    for (int round = 0; round < ROUNDS || now_ms() < until; round++) {
        journal_close(s->journal);
        s->journal = journal_open();
        round_of_cancels(s, shared);
    }
    munmap(shared, sizeof *shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(each_task_is_finished_or_cancelled_and_never_both)};
    return scene_run(tests, argc, argv);
}
