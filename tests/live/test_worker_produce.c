/* SPDX-License-Identifier: MIT
 *
 * What a worker sends besides the ends of its processes: tasks that it enqueues itself, results for listeners, and
 * notes about its progress.
 *
 * Where a ttl of an hour is used, no heartbeat comes within the test.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "live_worker.h"
#include "proxy.h"

#define AN_HOUR 3600000

/* Worker "w" on "q" that holds what it gets until the test ends it. */
static const struct worker_spec holder = {
    .id = "w", .ttl_ms = AN_HOUR, .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}};

static void await_quiet(struct scene *s)
{
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w held", s->prefix);
    raw_await(s->server->redis, s->base, 0, "HEXISTS %s:worker:w flag", s->prefix);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:w %s:marks:w", s->prefix, s->prefix), 0);
    scene_assert_quiet(s);
    invariant_assert(s->server->redis, s->prefix);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UNCOUNTED, NULL, NULL), 0);
}

/* ---- enqueueing ---- */

struct answers {
    int n, err[8];
    uint64_t waiting[8];
    bool frees;
    struct live_worker *w;
};

static void note_answer(struct muster_worker *worker, int err, uint64_t waiting, void *arg)
{
    struct answers *a = arg;
    if (a->n < (int)N_OF(a->err)) {
        a->err[a->n] = err;
        a->waiting[a->n] = waiting;
    }
    a->n++;
    if (a->frees && a->w->worker) {
        muster_worker_free(worker);
        a->w->worker = NULL;
    }
}

struct expected {
    const struct answers *answers;
    int n;
};

static bool are_here(void *arg)
{
    const struct expected *e = arg;
    return e->answers->n >= e->n;
}

static void await_answers(struct scene *s, const struct answers *a, int n)
{
    struct expected e = {a, n};
    wait_on(s->base, are_here, &e, SOON_MS);
    assert_int_equal(a->n, n);
}

static void the_answer_tells_how_many_wait(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    char task[] = "t\0x";
    for (int i = 0; i < 2; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", task, 3, note_answer, &a));
    memset(task, '!', sizeof task); /* they were copied */
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", NULL, 0, note_answer, &a));
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "y", 1, NULL, NULL));
    assert_ok(muster_worker_enqueue(w->worker, "q", "mine", 4, note_answer, &a));
    await_answers(s, &a, 4);
    for (int i = 0; i < 4; i++) {
        assert_ok(a.err[i]);
        assert_int_equal(a.waiting[i], i < 3 ? i + 1 : 0);
    }
    scene_await_starts(s, 1);
    scene_assert_started(s, 0, (const char *[]){"mine", NULL});
    live_worker_end(w, MUSTER_FINISH);
    struct redisReply *list = raw(s->server->redis, "LRANGE %s:queues:elsewhere 0 -1", s->prefix);
    assert_int_equal(list->elements, 4);
    assert_int_equal(list->element[3]->len, 3);
    assert_memory_equal(list->element[3]->str, "t\0x", 3);
    assert_int_equal(list->element[1]->len, 0);
    freeReplyObject(list);
}

static enum muster_outcome hand_on(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    size_t len;
    const void *task = muster_process_task(p, &len);
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (strcmp(muster_process_queue(p), "last") == 0)
        return MUSTER_FINISH;
    const char *next = strcmp(muster_process_queue(p), "first") == 0 ? "second" : "last";
    return muster_worker_enqueue(w->worker, next, task, len, NULL, NULL) == MUSTER_OK ? MUSTER_FINISH : MUSTER_FAIL;
}

static void a_handler_hands_its_work_on(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = {.id = "w", .ttl_ms = AN_HOUR, .handler = hand_on};
    const char *const queues[] = {"first", "second", "last"};
    for (size_t i = 0; i < N_OF(queues); i++)
        spec.queues[i].name = queues[i];
    live_worker_idle(s, &spec);
    scene_enqueue_n(s, "first", "t", 50);
    scene_await_starts(s, 150);
    await_quiet(s);
}

static void what_cannot_be_enqueued_is_refused_and_never_told(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_new(s, &holder);
    assert_err(muster_worker_enqueue(w->worker, "q", "t", 1, note_answer, &a), MUSTER_E_NOT_STARTED);
    scene_await_idle(s, "q", "w");
    assert_err(muster_worker_enqueue(w->worker, "", "t", 1, note_answer, &a), MUSTER_E_INVALID);
    assert_err(muster_worker_enqueue(w->worker, "a\nb", "t", 1, note_answer, &a), MUSTER_E_INVALID);
    assert_err(muster_worker_enqueue(w->worker, "q", "t", MUSTER_TASK_MAX_DEFAULT + 1, note_answer, &a),
               MUSTER_E_TOO_BIG);
    live_worker_stop(s, w, 0);
    assert_err(muster_worker_enqueue(w->worker, "q", "t", 1, note_answer, &a), MUSTER_E_STATE);
    assert_err(muster_worker_put(w->worker, "q", &(struct muster_job_spec){.size = sizeof(struct muster_job_spec)},
                                 NULL, NULL),
               MUSTER_E_STATE);
    assert_int_equal(a.n, 0);
    scene_assert_quiet(s);
}

static void what_redis_refuses_is_told(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    raw_do(s->server->redis, "SET %s:queues:damaged x", s->prefix);
    assert_ok(muster_worker_enqueue(w->worker, "damaged", "t", 1, note_answer, &a));
    await_answers(s, &a, 1);
    assert_err(a.err[0], MUSTER_E_REDIS);
    raw_do(s->server->redis, "DEL %s:queues:damaged", s->prefix);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
}

static void without_a_connection_it_is_refused_or_told_that_nobody_knows(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers a = {0};
    struct worker_spec spec = holder;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    spec.url = proxy.url;
    spec.ttl_ms = 30000;
    struct live_worker *w = live_worker_idle(s, &spec);
    proxy_refuse(&proxy);
    proxy_swallow(&proxy, PROXY_DATA, PROXY_REPLIES);
    for (int i = 0; i < 3; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    raw_await(s->server->redis, s->base, 3, "LLEN %s:queues:elsewhere", s->prefix);
    assert_int_equal(a.n, 0);
    proxy_cut(&proxy, PROXY_DATA);
    await_answers(s, &a, 3);
    for (int i = 0; i < 3; i++)
        assert_err(a.err[i], MUSTER_E_CONN);
    assert_err(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a), MUSTER_E_CONN);
    proxy_accept(&proxy);
    scene_await_events(s, MUSTER_EVENT_UP, "w", 1);
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    await_answers(s, &a, 4);
    assert_ok(a.err[3]);
    assert_int_equal(a.waiting[3], 4);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void the_worker_may_be_freed_inside_the_answer(void **state)
{
    struct scene *s = *state;
    struct answers a = {.frees = true};
    struct live_worker *w = a.w = live_worker_idle(s, &holder);
    for (int i = 0; i < 5; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    await_answers(s, &a, 1);
    run_loop(s->base, 50);
    assert_int_equal(a.n, 1);
}

static void nothing_is_told_after_the_worker_was_freed(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    live_worker_free(s, w);
    run_loop(s->base, 50);
    assert_int_equal(a.n, 0);
}

/* ---- neighbours ---- */

/* ---- a worker with a loop of its own, or a thread, that stops while Redis is silent ---- */

struct silent {
    struct redis_server *server;
    atomic_int n_answers, err;
};

static void note_silence(struct muster_worker *w, int err, uint64_t waiting, void *arg)
{
    struct silent *silent = arg;
    (void)w, (void)waiting;
    atomic_store(&silent->err, err);
    atomic_fetch_add(&silent->n_answers, 1);
}

static void enqueue_and_stop(struct muster_worker *w, const struct muster_event *e, void *arg)
{
    struct silent *silent = arg;
    if (e->type != MUSTER_EVENT_STARTED)
        return;
    redis_server_freeze(silent->server);
    if (muster_worker_enqueue(w, "elsewhere", "t", 1, note_silence, silent) != MUSTER_OK)
        atomic_store(&silent->err, MUSTER_E_INVALID);
    muster_worker_stop(w, 0);
}

static bool is_answered(void *arg)
{
    return atomic_load(&((struct silent *)arg)->n_answers) > 0;
}

/* Its loop ends with it, and so does what would have told. */
static void a_loop_that_ends_tells_first_what_has_no_answer(void **state)
{
    struct scene *s = *state;
    for (int own_thread = 0; own_thread <= 1; own_thread++) {
        struct muster_worker *w;
        struct silent silent = {.server = s->server};
        const struct muster_worker_options o = {.size = sizeof o,
                                                .url = s->server->url,
                                                .prefix = s->prefix,
                                                .ttl_ms = 500,
                                                .own_thread = own_thread,
                                                .on_event = enqueue_and_stop,
                                                .arg = &silent};
        assert_ok(muster_worker_new(&w, &o));
        assert_ok(muster_worker_start(w));
        int err = own_thread ? MUSTER_E_CONN : muster_worker_run(w);
        bool is_told = own_thread ? wait_for(NULL, is_answered, &silent, SOON_MS) : is_answered(&silent);
        redis_server_thaw(s->server);
        muster_worker_free(w);
        assert_err(err, MUSTER_E_CONN);
        assert_true(is_told);
        assert_int_equal(atomic_load(&silent.n_answers), 1);
        assert_err(atomic_load(&silent.err), MUSTER_E_CONN);
    }
}

static void neighbours_of_a_queue_go_in_one_call(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    for (int i = 0; i < 8; i++) {
        char task[] = {(char)('0' + i)};
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", task, 1, note_answer, &a));
    }
    await_answers(s, &a, 8);
    for (int i = 0; i < 8; i++) {
        assert_ok(a.err[i]);
        assert_int_equal(a.waiting[i], i + 1);
    }
    assert_int_equal(redis_server_calls(s->server, "lpush"), 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(raw_int(s->server->redis, "LINDEX %s:queues:elsewhere %d", s->prefix, -1 - i), i);
}

static void a_call_has_so_many_tasks_and_bytes_and_no_more(void **state)
{
    enum { MANY = 450, LARGE = 200 * 1024 };
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    char *large = calloc(1, LARGE);
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    for (int i = 0; i < MANY; i++)
        assert_ok(muster_worker_enqueue(w->worker, "many", "t", 1, note_answer, &a));
    int err = MUSTER_OK;
    for (int i = 0; i < 3; i++)
        err = err ? err : muster_worker_enqueue(w->worker, "large", large, LARGE, note_answer, &a);
    free(large);
    assert_ok(err);
    await_answers(s, &a, MANY + 3);
    assert_int_equal(redis_server_calls(s->server, "lpush"), 3 + 3);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:many", s->prefix), MANY);
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:large", s->prefix), 3);
}

/* The worker holds two; the third waits. Then the two queues' tasks are started in their order. */
static void the_idle_get_the_first_ones_and_the_rest_waits(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    const char *const tasks[] = {"1", "2", "3", "4"};
    for (size_t i = 0; i < N_OF(tasks); i++)
        assert_ok(muster_worker_enqueue(w->worker, "q", tasks[i], 1, note_answer, &a));
    await_answers(s, &a, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(a.waiting[i], i < 2 ? 0 : i - 1);
    for (size_t i = 2; i <= N_OF(tasks); i += 2) {
        scene_await_starts(s, i);
        live_worker_end(w, MUSTER_FINISH);
        live_worker_end(w, MUSTER_FINISH);
    }
    scene_assert_started(s, 0, (const char *[]){"1", "2", "3", "4", NULL});
    await_quiet(s);
}

static void a_refusal_concerns_the_queue_that_it_is_about(void **state)
{
    struct scene *s = *state;
    struct answers a = {0};
    struct live_worker *w = live_worker_idle(s, &holder);
    const char *const queues[] = {"one", "one", "damaged", "damaged", "one", "two"};
    raw_do(s->server->redis, "SET %s:queues:damaged x", s->prefix);
    for (size_t i = 0; i < N_OF(queues); i++)
        assert_ok(muster_worker_enqueue(w->worker, queues[i], "t", 1, note_answer, &a));
    await_answers(s, &a, N_OF(queues));
    for (size_t i = 0; i < N_OF(queues); i++)
        assert_err(a.err[i], i == 2 || i == 3 ? MUSTER_E_REDIS : MUSTER_OK);
    assert_int_equal(a.waiting[4], 3);
    assert_int_equal(a.waiting[5], 1);
    raw_do(s->server->redis, "DEL %s:queues:damaged", s->prefix);
}

static void a_full_redis_takes_none_of_a_call(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    struct answers a = {0};
    redis_server_start(&own, NULL);
    scene_move(s, &own);
    struct live_worker *w = live_worker_idle(s, &holder);
    raw_do(own.redis, "CONFIG SET maxmemory 1");
    for (int i = 0; i < 4; i++)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    await_answers(s, &a, 4);
    raw_do(own.redis, "CONFIG SET maxmemory 0");
    assert_int_equal(raw_int(own.redis, "LLEN %s:queues:elsewhere", s->prefix), 0);
    assert_ok(muster_worker_enqueue(w->worker, "elsewhere", "t", 1, note_answer, &a));
    await_answers(s, &a, 5);
    for (int i = 0; i < 4; i++)
        assert_err(a.err[i], MUSTER_E_FULL);
    assert_ok(a.err[4]);
    live_worker_free(s, w);
    redis_server_remove(&own);
}

/* The number of a command in the slow log, which has the newest first; -1: it is not there. */
static int place_in_slowlog(const struct redisReply *log, const char *arg)
{
    for (size_t i = 0; i < log->elements; i++) {
        const struct redisReply *args = log->element[i]->element[3];
        for (size_t k = 2; k < args->elements; k++)
            if (strcmp(args->element[k]->str, arg) == 0)
                return (int)i;
    }
    return -1;
}

static enum muster_outcome hand_on_elsewhere(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return muster_worker_enqueue(w->worker, "elsewhere", "next", 4, NULL, NULL) ? MUSTER_FAIL : MUSTER_FINISH;
}

static void what_a_handler_hands_on_is_there_before_its_process_ends(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.handler = hand_on_elsewhere;
    live_worker_idle(s, &spec);
    raw_do(s->server->redis, "CONFIG SET slowlog-log-slower-than 0");
    raw_do(s->server->redis, "SLOWLOG RESET");
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_await(s->server->redis, s->base, 0, "HGET %s:worker:w held", s->prefix);
    struct redisReply *log = raw(s->server->redis, "SLOWLOG GET 100");
    raw_do(s->server->redis, "CONFIG SET slowlog-log-slower-than 10000");
    int added = place_in_slowlog(log, "next"), ended = place_in_slowlog(log, "finish");
    freeReplyObject(log);
    assert_true(ended >= 0);
    assert_true(added > ended);
}

/* ---- results ---- */

enum { HEARD_MAX = 8 };

/* Listens on a thread; static, because a test that fails is left by a jump. */
static struct listener {
    struct muster_client *client;
    pthread_t thread;
    atomic_int is_ready, n, n_wanted;
    struct {
        char process[100], worker[20], task[20], result[20];
        int64_t result_len; /* -1: none */
    } heard[HEARD_MAX];
} listener;

static int is_listening(void *arg)
{
    (void)arg;
    atomic_store(&listener.is_ready, 1);
    return 0;
}

static int note_done(const struct muster_queue_event *e, void *arg)
{
    int i = atomic_load(&listener.n);
    (void)arg;
    if (e->type == MUSTER_QUEUE_DONE && i < HEARD_MAX) {
        snprintf(listener.heard[i].process, sizeof listener.heard[i].process, "%s", e->process);
        snprintf(listener.heard[i].worker, sizeof listener.heard[i].worker, "%s", e->worker);
        snprintf(listener.heard[i].task, sizeof listener.heard[i].task, "%.*s", (int)e->len, (const char *)e->task);
        listener.heard[i].result_len = e->result ? (int64_t)e->result->len : -1;
        if (e->result && e->result->len > 0 && e->result->len <= sizeof listener.heard[i].result)
            memcpy(listener.heard[i].result, e->result->data, e->result->len);
        atomic_fetch_add(&listener.n, 1);
    }
    return atomic_load(&listener.n) >= atomic_load(&listener.n_wanted);
}

static void *listen_to_q(void *arg)
{
    int err = muster_queue_listen(listener.client, "q", SOON_MS, is_listening, note_done, NULL);
    (void)arg;
    return err == MUSTER_OK ? &listener : NULL;
}

static bool is_ready(void *arg)
{
    (void)arg;
    return atomic_load(&listener.is_ready);
}

static void begin_listening(struct scene *s, int n_wanted)
{
    listener = (struct listener){.client = scene_client(s)};
    atomic_store(&listener.n_wanted, n_wanted);
    assert_int_equal(pthread_create(&listener.thread, NULL, listen_to_q, NULL), 0);
    wait_on(s->base, is_ready, NULL, SOON_MS);
}

static bool has_heard(void *arg)
{
    (void)arg;
    return atomic_load(&listener.n) >= atomic_load(&listener.n_wanted);
}

static void await_heard(struct scene *s)
{
    void *well = NULL;
    bool heard = wait_for(s->base, has_heard, NULL, SOON_MS);
    pthread_join(listener.thread, &well);
    muster_client_free(listener.client);
    assert_true(heard);
    assert_non_null(well);
}

static const struct {
    const char *task, *result;
    int64_t len; /* -1: none */
} cases[] = {{"none", NULL, -1}, {"empty", "", 0}, {"bytes", "a\0b\r\n\xff:", 7}, {"text", "done", 4}};

static enum muster_outcome finish_with_result(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    for (size_t i = 0; i < N_OF(cases); i++) {
        if (strcmp(muster_process_task(p, NULL), cases[i].task) != 0 || cases[i].len < 0)
            continue;
        /* The last one counts, and what is refused changes nothing. */
        if (muster_process_set_result(p, "not this one", 12) != MUSTER_OK ||
            muster_process_set_result(p, cases[i].result, (size_t)cases[i].len) != MUSTER_OK ||
            muster_process_set_result(p, "x", MUSTER_TASK_MAX_DEFAULT + 1) != MUSTER_E_TOO_BIG)
            return MUSTER_FAIL;
    }
    return strcmp(muster_process_task(p, NULL), "failed") == 0 ? MUSTER_FAIL : MUSTER_FINISH;
}

static void results_reach_those_who_listen(struct scene *s, int threads)
{
    struct worker_spec spec = holder;
    spec.hands = 1;
    spec.more.threads = threads;
    spec.handler = finish_with_result;
    live_worker_idle(s, &spec);
    begin_listening(s, N_OF(cases));
    scene_enqueue(s, "q", "failed"); /* nobody hears of that */
    for (size_t i = 0; i < N_OF(cases); i++)
        scene_enqueue(s, "q", cases[i].task);
    await_heard(s);
    for (size_t i = 0; i < N_OF(cases); i++) {
        char id[100];
        const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_START, -1, NULL, cases[i].task);
        assert_non_null(e);
        assert_string_equal(listener.heard[i].task, cases[i].task);
        assert_string_equal(listener.heard[i].worker, "w");
        snprintf(id, sizeof id, "%.2s", listener.heard[i].process);
        assert_string_equal(id, "w:");
        assert_null(muster_process_id_check(listener.heard[i].process));
        assert_int_equal(listener.heard[i].result_len, cases[i].len);
        if (cases[i].len > 0)
            assert_memory_equal(listener.heard[i].result, cases[i].result, (size_t)cases[i].len);
    }
    await_quiet(s);
}

static void results_of_inline_handlers_are_heard(void **state)
{
    results_reach_those_who_listen(*state, 0);
}

static void results_of_threads_are_heard(void **state)
{
    results_reach_those_who_listen(*state, 1);
}

/* ---- progress ---- */

struct notes {
    struct scene *scene;
    const char *expected;
    size_t rows;
    char seen[40];
};

static int note_row(const struct muster_process_info *row, void *arg)
{
    struct notes *n = arg;
    n->rows++;
    snprintf(n->seen, sizeof n->seen, "%s", row->progress);
    return 0;
}

static bool is_shown(void *arg)
{
    struct notes *n = arg;
    n->rows = 0;
    assert_ok(muster_process_list(n->scene->client, NULL, note_row, n));
    return n->rows == 1 && !strcmp(n->seen, n->expected);
}

static void await_note(struct scene *s, const char *expected)
{
    struct notes n = {.scene = s, .expected = expected};
    if (!wait_for(s->base, is_shown, &n, SOON_MS))
        fail_msg("the list shows \"%s\", not \"%s\"", n.seen, expected);
}

static void progress_is_shown_until_the_end(void **state)
{
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &holder);
    char *long_note = calloc(1, MUSTER_PROGRESS_MAX + 2);
    memset(long_note, 'x', MUSTER_PROGRESS_MAX + 1);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    await_note(s, "");
    assert_ok(muster_process_progress(w->held[0], "10 %"));
    await_note(s, "10 %");
    assert_ok(muster_process_progress(w->held[0], "20 %"));
    assert_ok(muster_process_progress(w->held[0], "half"));
    await_note(s, "half");
    int err = muster_process_progress(w->held[0], long_note);
    long_note[MUSTER_PROGRESS_MAX] = '\0';
    int err_at_most = muster_process_progress(w->held[0], long_note);
    free(long_note);
    assert_err(err, MUSTER_E_TOO_BIG);
    assert_ok(err_at_most);
    assert_ok(muster_process_progress(w->held[0], ""));
    await_note(s, "");
    assert_ok(muster_process_progress(w->held[0], "nearly"));
    await_note(s, "nearly");
    assert_ok(muster_process_progress(w->held[0], NULL));
    await_note(s, "");
    assert_err(muster_process_set_result(w->held[0], NULL, 1), MUSTER_E_INVALID);
    assert_ok(muster_process_set_result(w->held[0], NULL, 0));
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

static int64_t count_scripts(struct scene *s)
{
    char *stats = raw_string(s->server->redis, "INFO commandstats");
    const char *by_digest = strstr(stats, "cmdstat_evalsha:calls="), *by_text = strstr(stats, "cmdstat_eval:calls=");
    int64_t n = (by_digest ? atoll(strchr(by_digest, '=') + 1) : 0) + (by_text ? atoll(strchr(by_text, '=') + 1) : 0);
    free(stats);
    return n;
}

/* Most of them are not sent: otherwise they would fill the memory while Redis stands still. */
static void of_many_notes_the_last_one_is_shown(void **state)
{
    enum { NOTES = 1000 };
    struct scene *s = *state;
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    raw_do(s->server->redis, "CONFIG RESETSTAT");
    for (int i = 0; i <= NOTES; i++) {
        char note[16];
        snprintf(note, sizeof note, "note %d", i);
        assert_ok(muster_process_progress(w->held[0], note));
    }
    char last[16];
    snprintf(last, sizeof last, "note %d", NOTES);
    await_note(s, last);
    assert_true(count_scripts(s) < NOTES / 2);
    live_worker_end(w, MUSTER_FINISH);
    await_quiet(s);
}

static void a_note_goes_with_its_process_however_that_ends(void **state)
{
    struct scene *s = *state;
    const enum muster_outcome outcomes[] = {MUSTER_GIVE_BACK, MUSTER_FAIL};
    struct live_worker *w = live_worker_idle(s, &holder);
    scene_enqueue(s, "q", "t");
    for (size_t i = 0; i < N_OF(outcomes); i++) {
        scene_await_starts(s, i + 1);
        assert_ok(muster_process_progress(w->held[0], "begun"));
        await_note(s, "begun");
        live_worker_end(w, outcomes[i]);
    }
    await_quiet(s);
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 3);
    assert_ok(muster_process_progress(w->held[0], "begun"));
    await_note(s, "begun");
    live_worker_stop(s, w, 0);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:notes:w %s:worker:w", s->prefix, s->prefix), 0);
}

static atomic_bool is_open;

static enum muster_outcome say_how_far(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    int err = muster_process_progress(p, "on a thread");
    while (!atomic_load(&is_open) && muster_process_stop_reason(p) == MUSTER_GO_ON)
        sched_yield();
    /* The last words come together with the end. */
    err |= muster_process_progress(p, "the end") | muster_process_extend(p, AN_HOUR) |
           muster_process_set_result(p, "r", 1);
    return err == MUSTER_OK ? MUSTER_FINISH : MUSTER_FAIL;
}

static void threads_say_how_far_they_are(void **state)
{
    struct scene *s = *state;
    struct worker_spec spec = holder;
    spec.hands = spec.more.threads = 4;
    spec.handler = say_how_far;
    atomic_store(&is_open, false);
    live_worker_idle(s, &spec);
    scene_enqueue(s, "q", "t");
    await_note(s, "on a thread");
    atomic_store(&is_open, true);
    await_quiet(s);
    scene_enqueue_n(s, "q", "t", 300);
    scene_await_starts(s, 301);
    await_quiet(s);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:failed:q", s->prefix), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(the_answer_tells_how_many_wait),
        live_test(a_handler_hands_its_work_on),
        live_test(what_cannot_be_enqueued_is_refused_and_never_told),
        live_test(what_redis_refuses_is_told),
        live_test(without_a_connection_it_is_refused_or_told_that_nobody_knows),
        live_test(the_worker_may_be_freed_inside_the_answer),
        live_test(nothing_is_told_after_the_worker_was_freed),
        live_test(a_loop_that_ends_tells_first_what_has_no_answer),
        live_test(neighbours_of_a_queue_go_in_one_call),
        live_test(a_call_has_so_many_tasks_and_bytes_and_no_more),
        live_test(the_idle_get_the_first_ones_and_the_rest_waits),
        live_test(a_refusal_concerns_the_queue_that_it_is_about),
        live_test(a_full_redis_takes_none_of_a_call),
        live_test(what_a_handler_hands_on_is_there_before_its_process_ends),
        live_test(results_of_inline_handlers_are_heard),
        live_test(results_of_threads_are_heard),
        live_test(progress_is_shown_until_the_end),
        live_test(of_many_notes_the_last_one_is_shown),
        live_test(a_note_goes_with_its_process_however_that_ends),
        live_test(threads_say_how_far_they_are),
    };
    return scene_run(tests, argc, argv);
}
