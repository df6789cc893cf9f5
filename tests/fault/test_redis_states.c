/* SPDX-License-Identifier: MIT
 *
 * Redis refuses: it is full, cannot save, is read-only, misses its replicas, loads, is busy, or forgets its scripts. No
 * worker exits, nothing is lost, no worker's tasks go to others, and within 2 s of the cure work goes on.
 *
 * Each state lasts more than two ttls. Three worker processes hold a task from before it to the end, and three work
 * through what comes. Each has a queue of its own, which shows when it takes work again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariant.h"
#include "slow.h"
#include "worker_process.h"

#define HOLDERS 3
#define WORKERS (2 * HOLDERS)
#define WAITING 20
#define BEFORE 500
#define TTL_MS slow_ms(900)
#define STATE_MS slow_ms(2000)
#define BACK_MS slow_ms(2000)
#define SLACK_MS slow_ms(2000)

/* `blocking` is a second connection, for a command that is answered when the state is over. */
struct bench {
    struct scene *scene;
    struct redisContext *redis, *blocking;
    struct worker_process *workers[WORKERS];
    char held[HOLDERS][16];
    int n_loaded, probes, refusal;
};

/* ---- workers and load ---- */

/* A stubborn one goes on when it is told that its task may be in other hands. */
static void start(struct bench *b, int i)
{
    char id[8];
    bool holds = i < HOLDERS;
    snprintf(id, sizeof id, "w%d", i);
    b->workers[i] = worker_process_idle(b->scene, &(struct worker_spec){.id = id,
                                                                        .ttl_ms = TTL_MS,
                                                                        .hands = 3,
                                                                        .answer = holds ? MUSTER_LATER : MUSTER_FINISH,
                                                                        .stubborn = true,
                                                                        .queues = {{id, 0}, {holds ? NULL : "q", 0}}});
}

static void bench_start(struct bench *b, struct scene *s)
{
    *b = (struct bench){.scene = s, .redis = s->server->redis, .blocking = redisConnectUnix(s->server->socket)};
    for (int i = 0; i < WORKERS; i++)
        start(b, i);
    for (int i = 0; i < HOLDERS; i++) {
        snprintf(b->held[i], sizeof b->held[i], "held%d", i);
        scene_enqueue(s, b->workers[i]->id, b->held[i]);
    }
    scene_await_starts(s, HOLDERS);
}

/* A task counts when it was accepted; one that was not is tried again under the same name. */
static void load(struct bench *b)
{
    char task[16];
    snprintf(task, sizeof task, "t%d", b->n_loaded);
    int err = muster_task_enqueue(b->scene->client, "q", task, strlen(task), NULL);
    b->n_loaded += err == MUSTER_OK;
    b->refusal = err ? err : b->refusal;
}

static void load_for(struct bench *b, int ms)
{
    for (int64_t until = now_ms() + ms; now_ms() < until;) {
        load(b);
        run_loop(b->scene->base, 20);
    }
}

/* ---- afterwards ---- */

static bool all_probes_began(void *arg)
{
    struct bench *b = arg;
    char probe[16];
    snprintf(probe, sizeof probe, "probe%d", b->probes);
    return journal_count(b->scene->journal, JOURNAL_START, -1, NULL, probe) == WORKERS;
}

static void assert_back(struct bench *b, const char *state, int64_t cured)
{
    struct scene *s = b->scene;
    char probe[16];
    snprintf(probe, sizeof probe, "probe%d", b->probes);
    for (int i = 0; i < WORKERS; i++)
        scene_enqueue(s, b->workers[i]->id, probe);
    wait_on(s->base, all_probes_began, b, SOON_MS);
    int took = (int)(now_ms() - cured);
    print_message("%s: all workers took work within %d ms of the cure\n", state, took);
    assert_in_range(took, 0, BACK_MS + SLACK_MS);
    b->probes++;
}

static void assert_nobody_ended(struct bench *b)
{
    for (int i = 0; i < WORKERS; i++)
        if (waitpid(b->workers[i]->pid, NULL, WNOHANG) != 0)
            fail_msg("%s has ended", b->workers[i]->id);
    assert_int_equal(journal_count(b->scene->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, NULL, NULL), 0);
}

static void assert_nobody_robbed(struct bench *b)
{
    struct journal *j = b->scene->journal;
    assert_int_equal(journal_count(j, JOURNAL_EVENT, MUSTER_EVENT_LOST, NULL, NULL), 0);
    assert_int_equal(journal_count(j, JOURNAL_EVENT, MUSTER_EVENT_SWEPT, NULL, NULL), 0);
    for (int i = 0; i < HOLDERS; i++)
        assert_int_equal(journal_count(j, JOURNAL_START, -1, NULL, b->held[i]), 1);
}

static void assert_finished(struct bench *b, const char *stem, int n)
{
    for (int i = 0; i < n; i++) {
        char task[16];
        snprintf(task, sizeof task, "%s%d", stem, i);
        if (!journal_find(b->scene->journal, 0, JOURNAL_END, MUSTER_FINISH, NULL, task))
            fail_msg("%s was lost", task);
    }
}

static void answer_all(struct bench *b, enum muster_outcome outcome)
{
    for (int i = 0; i < WORKERS; i++)
        worker_process_answer(b->workers[i], outcome);
}

static void await_empty(struct bench *b, const char *queue)
{
    struct scene *s = b->scene;
    raw_await(b->redis, s->base, 0, "LLEN %s:queues:%s", s->prefix, queue);
    raw_await(b->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queue);
}

static void await_quiet(struct bench *b)
{
    await_empty(b, "q");
    for (int i = 0; i < WORKERS; i++)
        await_empty(b, b->workers[i]->id);
}

static void settle(struct bench *b, const char *state, int64_t cured)
{
    assert_nobody_ended(b);
    assert_back(b, state, cured);
    assert_nobody_robbed(b);
    answer_all(b, MUSTER_FINISH);
    await_quiet(b);
    assert_nobody_ended(b);
    assert_finished(b, "before", BEFORE);
    assert_finished(b, "t", b->n_loaded);
    print_message("%s: %d tasks accepted and finished, %zu refusals told\n", state, BEFORE + b->n_loaded,
                  journal_count(b->scene->journal, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, NULL, NULL));
    invariant_assert(b->redis, b->scene->prefix);
    redisFree(b->blocking);
}

/* ---- states that a command begins and another one ends ---- */

static void keep_loading(struct bench *b);

/* It begins while workers have their hands full; `refusal` is how it shows to the producer. */
static void go_through(struct scene *s, const char *state, int refusal, void (*begin)(struct bench *b),
                       void (*end)(struct bench *b))
{
    struct bench b;
    bench_start(&b, s);
    scene_enqueue_n(s, "q", "before", BEFORE);
    begin(&b);
    load_for(&b, STATE_MS);
    if (begin != keep_loading || b.refusal != MUSTER_E_BUSY) /* which may last longer than a client waits */
        assert_err(b.refusal, refusal);
    end(&b);
    settle(&b, state, now_ms());
}

static void fill(struct bench *b)
{
    raw_do(b->redis, "CONFIG SET maxmemory 1");
}

static void empty(struct bench *b)
{
    raw_do(b->redis, "CONFIG SET maxmemory 0");
}

static bool is_status(struct bench *b, const char *status)
{
    char line[64], *text = raw_string(b->redis, "INFO persistence");
    snprintf(line, sizeof line, "rdb_last_bgsave_status:%s\r", status);
    bool good = strstr(text, line) != NULL;
    free(text);
    return good;
}

static bool has_failed(void *arg)
{
    return is_status(arg, "err");
}

static bool has_saved(void *arg)
{
    return is_status(arg, "ok");
}

/* A directory that is not empty lies where the file would go. */
static void place(struct bench *b, char path[96], char within[112])
{
    snprintf(path, 96, "%s/dump.rdb", b->scene->server->dir);
    snprintf(within, 112, "%s/x", path);
}

static void break_saving(struct bench *b)
{
    char path[96], within[112];
    place(b, path, within);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(within, 0700), 0);
    raw_do(b->redis, "CONFIG SET save %s", "3600 1000000");
    raw_do(b->redis, "BGSAVE");
    wait_on(b->scene->base, has_failed, b, SOON_MS);
}

static void mend_saving(struct bench *b)
{
    char path[96], within[112];
    place(b, path, within);
    rmdir(within);
    rmdir(path);
    raw_do(b->redis, "BGSAVE");
    wait_on(b->scene->base, has_saved, b, SOON_MS);
    raw_do(b->redis, "CONFIG SET save %s", "");
}

/* Port 1: of nobody. */
static void become_replica(struct bench *b)
{
    raw_do(b->redis, "REPLICAOF 127.0.0.1 1");
}

static void become_master(struct bench *b)
{
    raw_do(b->redis, "REPLICAOF NO ONE");
}

static void want_replicas(struct bench *b)
{
    raw_do(b->redis, "CONFIG SET min-replicas-to-write 1");
}

static void want_none(struct bench *b)
{
    raw_do(b->redis, "CONFIG SET min-replicas-to-write 0");
}

/* ---- states that are over when a command is answered ---- */

static void send_blocking(struct bench *b, const char *command, const char *arg)
{
    int done = 0;
    redisAppendCommand(b->blocking, command, arg);
    while (!done)
        assert_int_equal(redisBufferWrite(b->blocking, &done), REDIS_OK);
}

static void await_answer(struct bench *b)
{
    void *reply = NULL;
    if (redisGetReply(b->blocking, &reply) || ((struct redisReply *)reply)->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply ? ((struct redisReply *)reply)->str : b->blocking->errstr);
    freeReplyObject(reply);
}

/* Every call is answered BUSY meanwhile. */
static void keep_busy(struct bench *b)
{
    raw_do(b->redis, "CONFIG SET busy-reply-threshold 50");
    send_blocking(b, "EVAL %s 0",
                  "local function now() return tonumber(redis.call('TIME')[1]) end\n"
                  "local till = now() + 3\n"
                  "while now() < till do end\n");
}

/* What is loaded for 3 s: 1000 keys at 3 ms each. */
static void keep_loading(struct bench *b)
{
    raw_do(b->redis, "DEBUG POPULATE 1000");
    raw_do(b->redis, "CONFIG SET loading-process-events-interval-bytes 1024");
    raw_do(b->redis, "CONFIG SET key-load-delay 3000");
    send_blocking(b, "DEBUG %s", "RELOAD");
}

static void forget_scripts(struct bench *b)
{
    for (int i = 0; i < STATE_MS / 20; i++) {
        raw_do(b->redis, "SCRIPT FLUSH");
        load_for(b, 20);
    }
}

static void nothing(struct bench *b)
{
    (void)b;
}

/* ---- on a full Redis ---- */

/* The liveness keys end after one ttl: heartbeats have gone on if they are there after two. */
static void a_full_redis_lets_go_on_what_needs_no_memory(void **state)
{
    struct scene *s = *state;
    struct bench b;
    bench_start(&b, s);
    scene_enqueue_n(s, "w0", "t", WAITING);
    scene_await_starts(s, HOLDERS + 2);
    fill(&b);
    assert_err(muster_task_enqueue(s->client, "q", "more", 4, NULL), MUSTER_E_FULL);
    run_loop(s->base, 2 * TTL_MS);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(raw_int(b.redis, "EXISTS %s:alive:w%d", s->prefix, i), 1);

    worker_process_end(b.workers[0], MUSTER_GIVE_BACK);
    scene_await_starts(s, HOLDERS + 3);
    assert_int_equal(journal_count(s->journal, JOURNAL_START, -1, NULL, b.held[0]), 2);
    answer_all(&b, MUSTER_FINISH);
    await_quiet(&b);
    assert_int_equal(journal_count(s->journal, JOURNAL_END, MUSTER_FINISH, NULL, NULL), HOLDERS + WAITING);
    assert_nobody_ended(&b);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
    empty(&b);
    invariant_assert(b.redis, s->prefix);
    redisFree(b.blocking);
}

/* A client waits for its timeout while Redis loads: here it has loaded by then, so the producer sees nothing of it. */
#define STATES(X)                                                              \
    X(full, "full", MUSTER_E_FULL, fill, empty)                                \
    X(cannot_save, "MISCONF", MUSTER_E_BUSY, break_saving, mend_saving)        \
    X(read_only, "READONLY", MUSTER_E_BUSY, become_replica, become_master)     \
    X(replicas_missing, "NOREPLICAS", MUSTER_E_BUSY, want_replicas, want_none) \
    X(loading, "LOADING", MUSTER_OK, keep_loading, await_answer)               \
    X(busy, "BUSY", MUSTER_E_BUSY, keep_busy, await_answer)                    \
    X(scripts_forgotten, "SCRIPT FLUSH", MUSTER_OK, forget_scripts, nothing)

#define STATE_TEST(name, text, refusal, begin, end)    \
    static void name(void **state)                     \
    {                                                  \
        go_through(*state, text, refusal, begin, end); \
    }
STATES(STATE_TEST)
#define STATE_ENTRY(name, text, refusal, begin, end) live_test(name),

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(a_full_redis_lets_go_on_what_needs_no_memory), STATES(STATE_ENTRY)};
    return scene_run(tests, argc, argv);
}
