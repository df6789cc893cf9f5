/* SPDX-License-Identifier: MIT
 *
 * What a Redis with small limits does not let through: it closes the connection. The request fails, not the worker: one
 * process is given up by its name, and what waits behind it goes on. Whatever else ends connections convicts nobody.
 * And a link that is busy with a large request of its own is not silent.
 */
#include <hiredis/hiredis.h>
#include <muster/async.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "invariant.h"
#include "jobs.h"
#include "live_worker.h"
#include "taken.h"

#define LARGE 3000000
#define MIDDLE 300000

#define HUGE_LEN (32 * 1024 * 1024)
#define ID_MAX 300

/* Everybody's bytes. */
static const char *large(void)
{
    static char bytes[HUGE_LEN];
    if (!*bytes)
        memset(bytes, 'a', sizeof bytes);
    return bytes;
}

static void set_limit(struct scene *s, const char *name, const char *value)
{
    redisReply *reply = redisCommand(s->server->redis, "CONFIG SET %s %s", name, value);
    assert_non_null(reply);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
}

/* All as Redis has it, for the test that follows. */
static int end(void **state)
{
    struct scene *s = *state;
    set_limit(s, "proto-max-bulk-len", "512mb");
    set_limit(s, "client-query-buffer-limit", "1gb");
    set_limit(s, "client-output-buffer-limit", "normal 0 0 0");
    return scene_end(state);
}
#define limited_test(f) cmocka_unit_test_setup_teardown(f, scene_begin, end)

/* What a job says that it is, is large. */
static enum muster_outcome finish_as_told(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    size_t len;
    const char *task = muster_process_task(p, &len);
    journal_process(w->journal, JOURNAL_START, 0, p);
    if (len == 6 && memcmp(task, "result", len) == 0)
        assert_ok(muster_process_set_result(p, large(), LARGE));
    else if (len == 4 && memcmp(task, "task", len) == 0)
        assert_ok(muster_worker_enqueue(w->worker, "elsewhere", large(), LARGE, NULL, NULL));
    else if (len == 4 && memcmp(task, "data", len) == 0)
        assert_ok(muster_process_set_data(p, large(), LARGE));
    else
        assert_ok(muster_process_set_result(p, large(), 5));
    return MUSTER_FINISH;
}

static struct live_worker *worker(struct scene *s, int hands, muster_handler_fn *handler)
{
    return live_worker_idle(
        s, &(struct worker_spec){
               .id = "w1", .ttl_ms = 3000, .hands = hands, .queues = {{"q", 0}, {"r", 0}}, .handler = handler});
}

static void assert_given_up(struct scene *s, const char *what)
{
    const struct journal_entry *e;
    size_t at = 0;
    do /* that nobody knows what became of a request may be told before */
        e = journal_find(s->journal, at++, JOURNAL_EVENT, MUSTER_EVENT_REFUSED, "w1", NULL);
    while (e && e->err == MUSTER_E_CONN);
    assert_non_null(e);
    assert_int_equal(e->err, MUSTER_E_TOO_BIG);
    assert_non_null(strstr(e->text, what));
    assert_non_null(strstr(e->text, "w1:"));
}

static void assert_large_fails(struct scene *s, const char *what, const char *words)
{
    worker(s, 3, finish_as_told);
    job_put(s, "q", "a", "data", "small");
    job_put(s, "q", "b", "data", what);
    job_put(s, "q", "c", "data", "small");
    job_await(s, "b", "state", "failed");
    job_assert(s, "b", "group", "too-large");
    job_await(s, "a", "state", "complete");
    job_await(s, "c", "state", "complete");
    job_put(s, "q", "d", "data", "small");
    job_await(s, "d", "state", "complete");
    assert_given_up(s, words);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:queues:elsewhere", s->prefix), 0);
}

#define LARGE_TEST(name, limit, what, words)         \
    static void name(void **state)                   \
    {                                                \
        set_limit(*state, (limit), "1mb");           \
        assert_large_fails(*state, (what), (words)); \
    }
#define PROTOCOL "proto-max-bulk-len"
#define HANGS_UP "client-query-buffer-limit"
LARGE_TEST(a_result_that_is_too_long_for_the_protocol_fails_its_job, PROTOCOL, "result", "its result of 3000000 bytes")
LARGE_TEST(a_result_at_which_redis_hangs_up_fails_its_job, HANGS_UP, "result", "its result of 3000000 bytes")
LARGE_TEST(a_task_that_is_handed_on_and_too_long_for_the_protocol, PROTOCOL, "task",
           "its follow-up task of 3000000 bytes")
LARGE_TEST(a_task_that_is_handed_on_and_at_which_redis_hangs_up, HANGS_UP, "task",
           "its follow-up task of 3000000 bytes")
LARGE_TEST(data_that_are_too_long_for_the_protocol_fail_their_job, PROTOCOL, "data", "its data of 3000000 bytes")
LARGE_TEST(data_at_which_redis_hangs_up_fail_their_job, HANGS_UP, "data", "its data of 3000000 bytes")

/* Two jobs hand on something large, of different lengths; a task hands on itself. */
static enum muster_outcome hand_on_without_end(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct muster_job *job = muster_process_job(p);
    int err = job ? muster_worker_enqueue(w->worker, "elsewhere", large(), LARGE + (size_t)*job->id, NULL, NULL)
                  : muster_worker_enqueue(w->worker, "r", "tick", 4, NULL, NULL);
    return err == MUSTER_OK ? MUSTER_FINISH : MUSTER_GIVE_BACK;
}

/* Redis does not tell its limits, and is never without a request of this worker. Two breaks at one that is alone convict
 * it, and what is larger at once; the others are those at which they were not alone yet, or which load makes. */
static void what_is_handed_on_without_a_pause_does_not_save_what_is_too_large(void **state)
{
    struct scene *s = *state;
    char url[512];
    raw_do(s->server->redis, "ACL SETUSER no-config on >secret ~* &* +@all -config");
    snprintf(url, sizeof url, "unix://no-config:secret@%s", s->server->socket);
    set_limit(s, HANGS_UP, "1mb");
    struct live_worker *w = live_worker_idle(s, &(struct worker_spec){.id = "w1",
                                                                      .url = url,
                                                                      .ttl_ms = 60000,
                                                                      .hands = 5,
                                                                      .queues = {{"q", 2}, {"r", 3}},
                                                                      .handler = hand_on_without_end});
    scene_enqueue_n(s, "r", "tick", 6);
    job_put(s, "q", "a", "data", "large");
    job_put(s, "q", "b", "data", "large");
    job_await(s, "a", "state", "failed");
    job_await(s, "b", "state", "failed");
    job_assert(s, "a", "group", "too-large");
    job_assert(s, "b", "group", "too-large");
    struct muster_worker_stats stats = {.size = sizeof stats};
    assert_ok(muster_worker_stats(w->worker, &stats));
    assert_in_range(stats.data_reconnects, 1, 10);
    live_worker_free(s, w);
    raw_do(s->server->redis, "ACL DELUSER no-config");
}

static struct muster_process *with_less;

static enum muster_outcome hold_with_large_data(struct muster_process *p, void *arg)
{
    size_t len;
    (void)arg;
    if (memcmp(muster_process_task(p, &len), "small", 5) == 0)
        return MUSTER_FINISH;
    with_less = p;
    assert_ok(muster_process_set_data(p, large(), LARGE));
    return MUSTER_LATER;
}

static void set_less(struct live_worker *w, const struct muster_event *e)
{
    (void)w;
    if (e->type != MUSTER_EVENT_REFUSED || e->err != MUSTER_E_TOO_BIG)
        return;
    assert_ok(muster_process_set_data(with_less, "small", 5));
    assert_ok(muster_process_set_retry(with_less, 0));
    assert_ok(muster_process_end(with_less, MUSTER_RETRY));
}

static void who_is_told_that_data_are_too_large_may_give_less(void **state)
{
    struct scene *s = *state;
    set_limit(s, PROTOCOL, "1mb");
    live_worker_idle(
        s,
        &(struct worker_spec){
            .id = "w1", .ttl_ms = 3000, .queues = {{"q", 0}}, .handler = hold_with_large_data, .on_event = set_less});
    job_put(s, "q", "a", "data", "much");
    job_await(s, "a", "state", "complete");
    job_assert(s, "a", "data", "small");
}

static void enqueue(struct scene *s, const char *queue, size_t len)
{
    assert_ok(muster_task_enqueue(s->client, queue, large(), len, NULL));
}

static enum muster_outcome finish(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    journal_process(w->journal, JOURNAL_START, 0, p);
    return MUSTER_FINISH;
}

static void assert_failed(struct scene *s, const char *queue, size_t n)
{
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:%s", s->prefix, queue), n);
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:%s g:too-large", s->prefix, queue), n);
}

/* The first is taken; what comes when the worker is idle is handed over. */
static void a_task_that_redis_does_not_send_fails_and_others_go_on(void **state)
{
    struct scene *s = *state;
    enqueue(s, "q", LARGE);
    scene_enqueue_n(s, "q", "t", 3);
    scene_enqueue_n(s, "r", "u", 3);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    live_worker_new(s, &(struct worker_spec){
                           .id = "w1", .ttl_ms = 3000, .hands = 2, .queues = {{"q", 0}, {"r", 0}}, .handler = finish});
    scene_await_starts(s, 6);
    scene_await_idle(s, "q", "w1");
    assert_failed(s, "q", 1);
    assert_given_up(s, "its task of 3000000 bytes");
    enqueue(s, "r", LARGE);
    scene_enqueue_n(s, "r", "v", 3);
    scene_await_starts(s, 9);
    scene_await_idle(s, "r", "w1");
    assert_failed(s, "r", 1);
}

static void a_job_that_redis_does_not_send_fails(void **state)
{
    struct scene *s = *state;
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "a", .data = {large(), LARGE}};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
    job_put(s, "q", "b", "data", "small");
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    worker(s, 2, finish);
    job_await(s, "b", "state", "complete");
    job_await(s, "a", "state", "failed");
    assert_given_up(s, "its record of 3000");
}

/* Together they are too much for one answer, but none is too much alone. */
static void tasks_that_are_too_much_together_are_all_done(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 8; i++)
        enqueue(s, "q", MIDDLE);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    live_worker_new(
        s, &(struct worker_spec){.id = "w1", .ttl_ms = 3000, .hands = 8, .queues = {{"q", 0}}, .handler = finish});
    scene_await_starts(s, 8);
    scene_await_idle(s, "q", "w1");
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
}

/* Whoever must not ask Redis for its limits is told of the outage, and which limit it may be. */
static void a_client_is_told_that_its_request_is_too_long(void **state)
{
    static const struct {
        const char *limit, *user;
        int err;
    } rows[] = {{"proto-max-bulk-len", NULL, MUSTER_E_TOO_BIG},
                {"client-query-buffer-limit", NULL, MUSTER_E_TOO_BIG},
                {"client-query-buffer-limit", "no-config", MUSTER_E_CONN}};
    struct scene *s = *state;
    const struct muster_job_spec spec = {.size = sizeof spec, .id = "a", .data = {large(), LARGE}};
    raw_do(s->server->redis, "ACL SETUSER no-config on >secret ~* &* +@all -config");
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct muster_client *c;
        char url[512];
        snprintf(url, sizeof url, rows[i].user ? "unix://no-config:secret@%s" : "unix://%s", s->server->socket);
        assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                        .url = url,
                                                                        .prefix = s->prefix}));
        set_limit(s, rows[i].limit, "1mb");
        for (int k = 0; k < 2; k++) { /* with the script's text, and without */
            assert_err(muster_task_enqueue(c, "q", large(), LARGE, NULL), rows[i].err);
            assert_non_null(strstr(muster_client_error(c), rows[i].limit));
        }
        assert_err(muster_job_put(c, "q", &spec, NULL), rows[i].err);
        assert_non_null(strstr(muster_client_error(c), rows[i].limit));
        assert_ok(muster_task_enqueue(c, "q", "small", 5, NULL));
        assert_int_equal(scene_waiting(s, "q"), i + 1);
        set_limit(s, rows[i].limit, "512mb");
        muster_client_free(c);
    }
    raw_do(s->server->redis, "ACL DELUSER no-config");
}

/* ---- leases ---- */

#define SHORT_LEN 5

struct takes {
    int n, err;
    char ids[8][ID_MAX];
};

static int note_taken(const struct muster_process_info *p, void *arg)
{
    struct takes *takes = arg;
    assert_int_equal(p->len, SHORT_LEN);
    assert_in_range(takes->n, 0, N_OF(takes->ids) - 1);
    snprintf(takes->ids[takes->n++], ID_MAX, "%s", p->id);
    return 0;
}

static void note_answer(const struct muster_answer *answer, void *arg)
{
    struct takes *takes = arg;
    takes->err = answer->err;
    for (size_t i = 0; i < answer->n; i++)
        note_taken(&answer->processes[i], takes);
}

static void put_of(struct scene *s, const char *queue, size_t len)
{
    const struct muster_job_spec spec = {.size = sizeof spec, .data = {large(), len}};
    assert_ok(muster_job_put(s->client, queue, &spec, NULL));
}

static void (*const adds[])(struct scene *, const char *, size_t) = {enqueue, put_of};

/* One call is enough for what is behind it: a program that lives for one take gets through, too. */
static void take_by_client(struct scene *s, size_t n, int64_t wait_ms, struct takes *takes)
{
    do
        takes->err = muster_lease_take(s->client, "q", n, 3600000, wait_ms, note_taken, takes);
    while (takes->err == MUSTER_OK);
}

static void take_asynchronously(struct scene *s, size_t n, int64_t wait_ms, struct takes *takes)
{
    struct muster_async *a;
    const struct muster_client_options client = {.size = sizeof client, .url = s->server->url, .prefix = s->prefix};
    assert_ok(muster_async_new(
        &a, &(struct muster_async_options){.size = sizeof(struct muster_async_options), .client = &client}));
    do {
        assert_ok(muster_async_take(a, "q", n, 3600000, wait_ms, note_answer, takes));
        assert_ok(muster_async_wait(a, 30000));
        assert_int_equal(muster_async_dispatch(a, 0), 1);
    } while (takes->err == MUSTER_OK);
    muster_async_free(a);
}

static void assert_behind_it(struct scene *s, struct takes *takes)
{
    assert_err(takes->err, MUSTER_E_NOT_FOUND);
    assert_int_equal(takes->n, 2);
    assert_failed(s, "q", 2);
    for (int i = 0; i < takes->n; i++)
        assert_ok(muster_lease_finish(s->client, takes->ids[i], NULL));
    assert_int_equal(queue_row_of(s, "q").running, 0);
    invariant_assert(s->server->redis, s->prefix);
}

/* Two are too large, each with a short one behind it. */
static void a_take_fails_what_redis_does_not_send_and_brings_what_is_behind_it(void **state)
{
    static const struct {
        void (*take)(struct scene *, size_t, int64_t, struct takes *);
        size_t n;
        int64_t wait_ms;
    } ways[] = {{take_by_client, 1, 0},       {take_by_client, 2, 0},      {take_by_client, 1000, 0},
                {take_by_client, 1, 200},     {take_asynchronously, 1, 0}, {take_asynchronously, 3, 0},
                {take_asynchronously, 1, 200}};
    struct scene *s = *state;
    for (size_t i = 0; i < N_OF(ways) * N_OF(adds); i++) {
        struct takes takes = {0};
        for (int k = 0; k < 2; k++) {
            adds[i % N_OF(adds)](s, "q", LARGE);
            adds[i % N_OF(adds)](s, "q", SHORT_LEN);
        }
        set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
        ways[i / N_OF(adds)].take(s, ways[i / N_OF(adds)].n, ways[i / N_OF(adds)].wait_ms, &takes);
        assert_behind_it(s, &takes);
        set_limit(s, "client-output-buffer-limit", "normal 0 0 0");
        assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    }
}

static int count_taken(const struct muster_process_info *p, void *n)
{
    assert_int_equal(p->len, MIDDLE);
    ++*(int *)n;
    return 0;
}

/* As for a worker. */
static void a_take_brings_all_that_is_too_much_together(void **state)
{
    struct scene *s = *state;
    int n = 0;
    for (int i = 0; i < 8; i++)
        enqueue(s, "q", MIDDLE);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_lease_take(s->client, "q", 8, 3600000, 0, count_taken, &n));
    assert_int_equal(n, 8);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), 0);
}

/* ---- lists ---- */

#define SHOWN_LEN 1200000
#define N_SHOWN 16 /* their beginnings together are more than Redis sends, too */

struct shown {
    int n, n_heads;
};

static int note_row(struct shown *shown, const void *data, size_t len, uint64_t whole)
{
    bool is_head = whole == SHOWN_LEN && len == MUSTER_HEAD_MAX && memcmp(data, large(), len) == 0;
    assert_true(is_head || (whole == 5 && len == 5));
    shown->n++;
    shown->n_heads += is_head;
    return 0;
}

static int note_task(const struct muster_task *t, void *arg)
{
    return note_row(arg, t->data, t->len, t->whole_len);
}

static int note_delayed(const struct muster_delayed_task *t, void *arg)
{
    return note_row(arg, t->data, t->len, t->whole_len);
}

static int note_process(const struct muster_process_info *p, void *arg)
{
    return note_row(arg, p->task, p->len, p->whole_len);
}

static int note_failure(const struct muster_failure *f, void *arg)
{
    return note_row(arg, f->task, f->len, f->whole_len);
}

static int keep_id(const struct muster_process_info *p, void *id)
{
    snprintf(id, ID_MAX, "%s", p->id);
    return 0;
}

static void take_id(struct scene *s, const char *queue, char id[ID_MAX])
{
    assert_ok(muster_lease_take(s->client, queue, 1, 3600000, 0, keep_id, id));
}

/* Of whatever lists show, one that is so long. */
static void make_each(struct scene *s, size_t len)
{
    char id[ID_MAX];
    for (size_t i = 0; i < N_OF(adds); i++) {
        adds[i](s, "waiting", len);
        adds[i](s, "held", len);
        take_id(s, "held", id);
        adds[i](s, "failed", len);
        take_id(s, "failed", id);
        assert_ok(muster_lease_fail(s->client, id, "g", "m"));
    }
    enqueue(s, "delayed", len);
    take_id(s, "delayed", id);
    assert_ok(muster_lease_retry(s->client, id, 3600000));
}

static void assert_shown(const struct shown *shown, int n_heads)
{
    assert_int_equal(shown->n_heads, n_heads);
    assert_int_equal(shown->n, 2 * n_heads);
}

static void lists_show_the_beginning_of_what_redis_does_not_send(void **state)
{
    struct scene *s = *state;
    const struct muster_failed_filter failed = {.size = sizeof failed, .queue = "failed"};
    struct shown waiting = {0}, delayed = {0}, held = {0}, failures = {0};
    for (int i = 0; i < 2 * N_SHOWN; i++)
        make_each(s, i < N_SHOWN ? SHOWN_LEN : 5);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_task_peek(s->client, "waiting", 0, 99, note_task, &waiting));
    assert_shown(&waiting, 2 * N_SHOWN);
    assert_ok(muster_task_peek_delayed(s->client, "delayed", 0, 99, note_delayed, &delayed));
    assert_shown(&delayed, N_SHOWN);
    assert_ok(muster_process_list(s->client, NULL, note_process, &held));
    assert_shown(&held, 2 * N_SHOWN);
    assert_ok(muster_failed_list(s->client, &failed, note_failure, &failures));
    assert_shown(&failures, 2 * N_SHOWN);
}

/* ---- jobs ---- */

#define N_LARGE 3
#define N_MIDDLE 20
#define ROW_MAX (2 * (int64_t)MUSTER_HEAD_MAX + 4096)

static void put_job(struct scene *s, const char *id, size_t len, const char *after)
{
    const char *const tags[] = {"t"}, *const parents[] = {after};
    const struct muster_job_spec spec = {.size = sizeof spec,
                                         .id = id,
                                         .data = {large(), len},
                                         .track = 1,
                                         .tags = tags,
                                         .n_tags = 1,
                                         .after = parents,
                                         .n_after = after != NULL};
    assert_ok(muster_job_put(s->client, "q", &spec, NULL));
}

/* A job that waits, and one that is complete. */
static void put_and_finish(struct scene *s, const char *id, size_t data_len, size_t result_len)
{
    char process[ID_MAX];
    const struct muster_bytes result = {large(), result_len};
    const struct muster_finish_options finish = {.size = sizeof finish, .result = &result};
    put_job(s, id, data_len, NULL);
    take_id(s, "q", process);
    assert_ok(muster_lease_finish(s->client, process, &finish));
}

static void make_jobs(struct scene *s)
{
    char id[ID_MAX];
    for (int i = 0; i < N_LARGE; i++) {
        snprintf(id, sizeof id, "done-%d", i);
        put_and_finish(s, id, i ? LARGE : 5, LARGE);
    }
    for (int i = 0; i < N_LARGE + N_MIDDLE; i++) {
        snprintf(id, sizeof id, "waits-%d", i);
        put_job(s, id, i < N_LARGE ? LARGE : MIDDLE, NULL);
    }
}

static void assert_head(struct muster_bytes bytes, uint64_t whole)
{
    assert_int_equal(bytes.len, whole < MUSTER_HEAD_MAX ? whole : MUSTER_HEAD_MAX);
    assert_true(bytes.len == 0 || memcmp(bytes.data, large(), bytes.len) == 0);
}

static int note_job(const struct muster_job *job, void *n)
{
    assert_head(job->data, job->whole_len);
    assert_head(job->result, job->whole_result_len);
    assert_true(job->whole_len == 5 || job->whole_len == MIDDLE || job->whole_len == LARGE);
    assert_int_equal(job->whole_result_len, job->state == MUSTER_JOB_COMPLETE ? LARGE : 0);
    ++*(int *)n;
    return 0;
}

static int64_t sent_bytes(struct scene *s)
{
    redisReply *info = redisCommand(s->server->redis, "INFO stats");
    assert_non_null(info);
    const char *sent = strstr(info->str, "total_net_output_bytes:");
    assert_non_null(sent);
    int64_t n = strtoll(strchr(sent, ':') + 1, NULL, 10);
    freeReplyObject(info);
    return n;
}

/* Whichever way they are chosen. A look at the ages reads a few short fields besides. */
static void lists_of_jobs_bring_the_beginning_of_each(void **state)
{
    struct scene *s = *state;
    const int all = 2 * N_LARGE + N_MIDDLE;
    const struct {
        struct muster_job_filter filter;
        int n;
    } rows[] = {
        {{.queue = "q", .by_state = 1, .state = MUSTER_JOB_WAITING}, N_LARGE + N_MIDDLE},
        {{.by_state = 1, .state = MUSTER_JOB_COMPLETE}, N_LARGE},
        {{.queue = "q"}, all},
        {{.tag = "t"}, all},
        {{.tracked = 1}, all},
        {{.order = MUSTER_JOBS_NEWEST}, all},
        {{.queue = "q", .order = MUSTER_JOBS_OLDEST}, all},
    };
    make_jobs(s);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct muster_job_filter filter = rows[i].filter;
        int64_t before = sent_bytes(s);
        int n = 0;
        filter.size = sizeof filter;
        assert_ok(muster_job_list(s->client, &filter, note_job, &n));
        assert_int_equal(n, rows[i].n);
        assert_true(sent_bytes(s) - before < n * ROW_MAX);
    }
}

static int count_failed(const struct muster_job *job, void *n)
{
    assert_int_equal(job->state, MUSTER_JOB_FAILED);
    assert_int_equal(job->message.len, MUSTER_MESSAGE_MAX);
    ++*(int *)n;
    return 0;
}

/* Beside the jobs on a failed list lie tasks that Redis does not send; nor does it send all messages together. */
static void fail_jobs_beside_large_tasks(struct scene *s)
{
    static char message[MUSTER_MESSAGE_MAX + 1];
    char id[ID_MAX];
    memset(message, 'm', MUSTER_MESSAGE_MAX);
    for (int i = 0; i < N_MIDDLE; i++) {
        snprintf(id, sizeof id, "j%d", i);
        if (i < N_LARGE)
            enqueue(s, "q", LARGE);
        else
            job_put(s, "q", id, NULL);
        take_id(s, "q", id);
        assert_ok(muster_lease_fail(s->client, id, "g", message));
    }
}

static void jobs_are_found_beside_failed_tasks_that_redis_does_not_send(void **state)
{
    struct scene *s = *state;
    struct muster_job_filter filters[] = {
        {.by_state = 1, .state = MUSTER_JOB_FAILED},
        {.queue = "q", .by_state = 1, .state = MUSTER_JOB_FAILED},
        {.group = "g"},
        {.queue = "q"},
        {.order = MUSTER_JOBS_NEWEST},
        {.group = "g", .order = MUSTER_JOBS_OLDEST},
    };
    const struct muster_job_bulk drop = {.size = sizeof drop, .action = MUSTER_JOBS_DROP};
    struct muster_job_bulk_counts counts = {.size = sizeof counts};
    fail_jobs_beside_large_tasks(s);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    for (size_t i = 0; i < N_OF(filters); i++) {
        int n = 0;
        filters[i].size = sizeof filters[i];
        assert_ok(muster_job_list(s->client, &filters[i], count_failed, &n));
        assert_int_equal(n, N_MIDDLE - N_LARGE);
    }
    assert_ok(muster_job_bulk(s->client, &filters[2], &drop, &counts));
    assert_int_equal(counts.done, N_MIDDLE - N_LARGE);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:failed:q", s->prefix), N_LARGE);
}

static int count_whole(const struct muster_job *job, void *n)
{
    assert_int_equal(job->data.len, job->whole_len);
    assert_int_equal(job->result.len, job->whole_result_len);
    ++*(int *)n;
    return 0;
}

static void assert_named(struct muster_client *c, const char *limit)
{
    const char *words = muster_client_error(c);
    assert_non_null(strstr(words, "'big'"));
    assert_non_null(strstr(words, "3000000 bytes"));
    assert_non_null(strstr(words, limit));
}

/* What is too much together comes one by one. */
static void assert_gets(struct muster_client *c, const char *limit)
{
    const char *const ids[] = {"one", "big", "two", "three", "four", "small"};
    int n = 0;
    assert_err(muster_job_get(c, ids, N_OF(ids), count_whole, &n), MUSTER_E_TOO_BIG);
    assert_int_equal(n, N_OF(ids) - 1);
    assert_named(c, limit);
    n = 0;
    assert_err(muster_job_get(c, ids + 1, 1, count_whole, &n), MUSTER_E_TOO_BIG);
    assert_named(c, limit);
    assert_ok(muster_job_get(c, ids + 2, 4, count_whole, &n));
    assert_int_equal(n, 4);
    n = 0;
    assert_ok(muster_job_peek(c, ids, N_OF(ids), note_job, &n));
    assert_int_equal(n, N_OF(ids));
}

static int note_parent(const struct muster_job_parent *parent, void *n)
{
    assert_non_null(parent->job);
    return count_whole(parent->job, n);
}

static struct muster_client *client_of(struct scene *s, const char *user)
{
    struct muster_client *c;
    char url[160];
    snprintf(url, sizeof url, "unix://%s:pw@%s", user, s->server->socket);
    assert_ok(muster_client_new(&c, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                    .url = url,
                                                                    .prefix = s->prefix}));
    return c;
}

static void end_client_of(struct scene *s, struct muster_client *c, const char *user)
{
    muster_client_free(c);
    raw_do(s->server->redis, "ACL DELUSER %s", user);
}

static void a_job_that_redis_does_not_send_is_named(void **state)
{
    struct scene *s = *state;
    const char *const middle[] = {"one", "two", "three", "four"};
    int n = 0;
    for (size_t i = 0; i < N_OF(middle); i++)
        put_job(s, middle[i], MIDDLE, NULL);
    put_job(s, "big", LARGE, NULL);
    put_job(s, "small", 5, NULL);
    put_job(s, "child", LARGE, "big");
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_gets(s->client, "normal clients of 1048576)");
    assert_err(muster_job_parents(s->client, "child", note_parent, &n), MUSTER_E_TOO_BIG);
    assert_named(s->client, "1048576");
    raw_do(s->server->redis, "ACL SETUSER no-config on >pw ~* &* +@all -config");
    struct muster_client *c = client_of(s, "no-config");
    assert_gets(c, "normal clients)");
    end_client_of(s, c, "no-config");
    set_limit(s, "client-output-buffer-limit", "normal 0 0 0");
    assert_ok(muster_job_get(s->client, (const char *const[]){"big"}, 1, count_whole, &n));
    assert_int_equal(n, 1);
}

/* Each of them is sent, and all in one answer are not. */
static void jobs_that_are_too_large_together_come_one_by_one(void **state)
{
    struct scene *s = *state;
    char names[12][8];
    const char *ids[12];
    int n = 0;
    for (size_t i = 0; i < N_OF(ids); i++) {
        snprintf(names[i], sizeof names[i], "j%zu", i);
        ids[i] = names[i];
        put_job(s, ids[i], MIDDLE, NULL);
    }
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_job_get(s->client, ids, N_OF(ids), count_whole, &n));
    assert_int_equal(n, N_OF(ids));
}

/* Of what is very long there is only the length. */
static void assert_plain_head(struct muster_bytes bytes, uint64_t whole)
{
    if (whole == LARGE)
        assert_int_equal(bytes.len, 0);
    else
        assert_head(bytes, whole);
}

static int note_plain_job(const struct muster_job *job, void *n)
{
    assert_plain_head(job->data, job->whole_len);
    assert_plain_head(job->result, job->whole_result_len);
    assert_string_equal(job->queue, "q");
    assert_int_equal(job->n_tags, 1);
    assert_int_equal(job->whole_result_len, job->state == MUSTER_JOB_COMPLETE ? LARGE : 0);
    ++*(int *)n;
    return 0;
}

static int note_plain_task(const struct muster_task *task, void *n)
{
    assert_plain_head((struct muster_bytes){task->data, task->len}, task->whole_len);
    assert_true(task->whole_len == MIDDLE || task->whole_len == LARGE);
    ++*(int *)n;
    return 0;
}

static struct muster_client *viewer_of(struct scene *s)
{
    raw_do(s->server->redis, "ACL SETUSER viewer on >pw ~* &* +@read +hello +select +auth -@write");
    return client_of(s, "viewer");
}

/* Who may run no script is sent the beginnings by plain commands. */
static void a_viewer_is_shown_the_beginning_of_each_job(void **state)
{
    struct scene *s = *state;
    const char *const ids[] = {"done-0", "waits-0", "waits-10"};
    int n = 0;
    struct muster_client *c = viewer_of(s);
    make_jobs(s);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_job_list(c, &(struct muster_job_filter){.size = sizeof(struct muster_job_filter), .queue = "q"},
                              note_plain_job, &n));
    assert_int_equal(n, 2 * N_LARGE + N_MIDDLE);
    n = 0;
    assert_ok(muster_job_peek(c, ids, N_OF(ids), note_plain_job, &n));
    assert_int_equal(n, N_OF(ids));
    n = 0;
    assert_ok(muster_task_peek(c, "q", 0, 100, note_plain_task, &n));
    assert_int_equal(n, N_LARGE + N_MIDDLE);
    end_client_of(s, c, "viewer");
}

/* ---- a job for which many wait ---- */

#define N_LINES 3000 /* their bytes are more than Redis sends */

static void write_history(struct scene *s, const char *id, int n)
{
    static const char lua[] = "for i = 2, ARGV[1] do\n"
                              "redis.call('RPUSH', KEYS[1], i .. '\\tlog\\t' .. i .. string.rep('x', 4090)) end";
    job_put(s, "q", id, NULL);
    raw_do(s->server->redis, "EVAL %s 1 %s:history:%s %d", lua, s->prefix, id, n);
}

struct lines {
    size_t most; /* of a job */
    int n_jobs;
};

static int note_lines(const struct muster_job *job, void *arg)
{
    struct lines *l = arg;
    const bool is_long = strcmp(job->id, "long") == 0;
    const size_t whole = is_long ? N_LINES : MUSTER_JOB_HISTORY_MAX, n = whole < l->most ? whole : l->most;
    assert_int_equal(job->n_history, n);
    assert_string_equal(job->history[0].what, "put");
    for (size_t i = 1; i < n; i++)
        assert_int_equal(job->history[i].at_ms, whole - n + i + 1);
    l->n_jobs++;
    return 0;
}

static void a_history_that_redis_does_not_send_at_once_comes_in_steps(void **state)
{
    struct scene *s = *state;
    static char names[12][8];
    const char *ids[N_OF(names) + 1];
    struct lines got = {.most = SIZE_MAX}, peeked = {.most = MUSTER_JOB_HISTORY_MAX};
    for (size_t i = 0; i < N_OF(names); i++) {
        snprintf(names[i], sizeof names[i], "j%zu", i);
        write_history(s, ids[i] = names[i], MUSTER_JOB_HISTORY_MAX);
    }
    write_history(s, ids[N_OF(names)] = "long", N_LINES);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_job_get(s->client, ids, N_OF(ids), note_lines, &got));
    assert_int_equal(got.n_jobs, N_OF(ids));
    assert_ok(muster_job_peek(s->client, ids, N_OF(ids), note_lines, &peeked));
    assert_int_equal(peeked.n_jobs, N_OF(ids));
}

#define N_WAITING 1200 /* until it is complete; and so many until it has ended. Their ids are more than Redis sends */

static void put_waiting(struct scene *s, const char *const *first)
{
    static char ids[2 * N_WAITING][MUSTER_JOB_ID_MAX + 1];
    static struct muster_job_spec specs[2 * N_WAITING];
    static const struct muster_job_spec *all[2 * N_WAITING];
    for (size_t i = 0; i < N_OF(all); i++) {
        snprintf(ids[i], sizeof *ids, "%0*zu", MUSTER_JOB_ID_MAX - 10, i);
        specs[i] = (struct muster_job_spec){.size = sizeof *specs, .id = ids[i]};
        if (i < N_WAITING)
            specs[i].after = first, specs[i].n_after = 1;
        else
            specs[i].after_end = first, specs[i].n_after_end = 1;
        all[i] = &specs[i];
    }
    assert_ok(muster_job_put_many(s->client, "q", all, N_OF(all), NULL, NULL));
}

static int note_awaited(const struct muster_job *job, void *n)
{
    assert_string_equal(job->id, "first");
    assert_int_equal(job->whole_before, 2 * N_WAITING);
    assert_int_equal(job->n_before, MUSTER_JOB_BEFORE_MAX);
    assert_int_equal(strlen(job->before[MUSTER_JOB_BEFORE_MAX - 1]), MUSTER_JOB_ID_MAX - 10);
    ++*(int *)n;
    return 0;
}

/* Also one for which so many wait, together with others of its kind, and for who may run no script. */
static void a_job_for_which_thousands_wait_is_shown_with_the_first_of_them(void **state)
{
    struct scene *s = *state;
    const char *const ids[] = {"first", "first", "first", "first", "first", "first"};
    struct muster_client *viewer = viewer_of(s);
    int n = 0;
    assert_ok(muster_job_put(s->client, "q",
                             &(struct muster_job_spec){.size = sizeof(struct muster_job_spec), .id = "first"}, NULL));
    put_waiting(s, ids);
    set_limit(s, "client-output-buffer-limit", "normal 400kb 0 0");
    for (size_t k = 1; k <= N_OF(ids); k += N_OF(ids) - 1) {
        n = 0;
        assert_ok(muster_job_get(s->client, ids, k, note_awaited, &n));
        assert_ok(muster_job_peek(s->client, ids, k, note_awaited, &n));
        assert_ok(muster_job_peek(viewer, ids, k, note_awaited, &n));
        assert_int_equal(n, 3 * k);
    }
    set_limit(s, "client-output-buffer-limit", "normal 0 0 0");
    end_client_of(s, viewer, "viewer");
}

static int note_unsent_job(const struct muster_job *job, void *n)
{
    assert_int_equal(job->data.len, job->whole_len > 5 ? 0 : 5);
    *(uint64_t *)n += job->whole_len;
    return 0;
}

/* What is cut here, after it was sent, is shown by its length where Redis does not send it. */
static void a_viewer_is_shown_the_length_of_what_redis_does_not_send(void **state)
{
    struct scene *s = *state;
    uint64_t n = 0;
    struct muster_client *c = viewer_of(s);
    put_job(s, "one", MIDDLE, NULL);
    put_job(s, "big", LARGE, NULL);
    put_job(s, "small", 5, NULL);
    set_limit(s, "client-output-buffer-limit", "normal 200kb 0 0");
    assert_ok(muster_job_list(c, &(struct muster_job_filter){.size = sizeof(struct muster_job_filter), .queue = "q"},
                              note_unsent_job, &n));
    assert_int_equal(n, MIDDLE + LARGE + 5);
    end_client_of(s, c, "viewer");
}

/* A list tells no lengths: each of its tasks is sent, and cut. */
static void a_viewer_is_shown_the_beginning_of_each_task(void **state)
{
    struct scene *s = *state;
    int n = 0;
    struct muster_client *c = viewer_of(s);
    for (int i = 0; i < N_MIDDLE; i++)
        enqueue(s, "q", MIDDLE);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_task_peek(c, "q", 0, 100, note_plain_task, &n));
    assert_int_equal(n, N_MIDDLE);
    end_client_of(s, c, "viewer");
}

/* So many bytes that some of them together are not sent, and neither are those of one step of a scan. */
#define SOME_LEN 150000

struct plain_look {
    struct scene *scene;
    int n;
};

/* The first page comes, and those behind it are too much. */
static int note_plain_process(const struct muster_process_info *p, void *arg)
{
    struct plain_look *l = arg;
    assert_int_equal(p->whole_len, SOME_LEN);
    if (l->n++ == 0)
        set_limit(l->scene, "client-output-buffer-limit", "normal 1mb 0 0");
    return 0;
}

static void a_viewer_is_shown_what_lies_beside_large_tasks(void **state)
{
    static char ids[N_MIDDLE][ID_MAX];
    struct scene *s = *state;
    struct plain_look l = {.scene = s};
    const struct muster_job_filter newest = {.size = sizeof newest, .order = MUSTER_JOBS_NEWEST};
    int n = 0;
    for (int i = 0; i < N_MIDDLE; i++) {
        enqueue(s, "q", SOME_LEN);
        take_id(s, "q", ids[i]);
    }
    job_put(s, "q", "j", NULL);
    struct muster_client *c = viewer_of(s);
    assert_ok(muster_process_list(c, NULL, note_plain_process, &l));
    assert_int_equal(l.n, N_MIDDLE);
    end_client_of(s, c, "viewer");
    for (int i = 0; i < N_MIDDLE; i++)
        assert_ok(muster_lease_fail(s->client, ids[i], "g", "why"));
    c = viewer_of(s);
    assert_ok(muster_job_list(c, &newest, count_whole, &n));
    assert_int_equal(n, 1);
    end_client_of(s, c, "viewer");
}

struct told {
    int n;
    bool is_head;
};

static int note_end(const struct muster_job_ended *e, void *arg)
{
    struct told *told = arg;
    assert_int_equal(e->how, MUSTER_JOB_END_COMPLETE);
    assert_non_null(e->job);
    assert_head(e->job->result, e->job->whole_result_len);
    told->is_head |= e->job->whole_result_len == LARGE;
    told->n++;
    return 0;
}

static void a_wait_tells_of_an_end_whose_result_redis_does_not_send(void **state)
{
    struct scene *s = *state;
    const char *const ids[] = {"big", "small"};
    struct told told = {0};
    put_and_finish(s, "big", 5, LARGE);
    put_and_finish(s, "small", 5, 5);
    set_limit(s, "client-output-buffer-limit", "normal 1mb 0 0");
    assert_ok(muster_job_wait(s->client, ids, N_OF(ids), 5000, note_end, &told));
    assert_int_equal(told.n, 2);
    assert_true(told.is_head);
}

/* ---- a large request takes time ---- */

/* Redis does nothing else for so long. Nothing waits for its answer. */
static redisContext *keep_busy(struct scene *s, int ms)
{
    static const char busy[] = "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end "
                               "local to = now() + ARGV[1] while now() < to do end";
    redisContext *other = redisConnectUnix(s->server->socket);
    int done = 0;
    assert_non_null(other);
    assert_int_equal(redisAppendCommand(other, "EVAL %s 0 %d", busy, ms), REDIS_OK);
    while (!done)
        assert_int_equal(redisBufferWrite(other, &done), REDIS_OK);
    return other;
}

static void a_large_request_of_a_client_has_more_time(void **state)
{
    struct scene *s = *state;
    struct muster_client *client;
    assert_ok(muster_client_new(&client, &(struct muster_client_options){.size = sizeof(struct muster_client_options),
                                                                         .url = s->server->url,
                                                                         .prefix = s->prefix,
                                                                         .timeout_ms = 300}));
    assert_ok(muster_task_enqueue(client, "q", "small", 5, NULL));
    redisContext *other = keep_busy(s, 1000);
    assert_ok(muster_task_enqueue(client, "q", large(), HUGE_LEN, NULL));
    redisFree(other);
    muster_client_free(client);
}

static void note_error(const struct muster_answer *answer, void *arg)
{
    *(int *)arg = answer->err;
}

/* As any link: the worker's, too. */
static void a_large_request_over_a_link_has_more_time(void **state)
{
    struct scene *s = *state;
    struct muster_client_options client = {
        .size = sizeof client, .url = s->server->url, .prefix = s->prefix, .timeout_ms = 300};
    struct muster_async *a;
    int err = 1;
    assert_ok(muster_async_new(
        &a, &(struct muster_async_options){.size = sizeof(struct muster_async_options), .client = &client}));
    assert_ok(muster_async_enqueue(a, "q", "small", 5, note_error, &err));
    assert_ok(muster_async_wait(a, 10000));
    assert_int_equal(muster_async_dispatch(a, 0), 1);
    assert_ok(err);
    err = 1;
    redisContext *other = keep_busy(s, 1000);
    assert_ok(muster_async_enqueue(a, "q", large(), HUGE_LEN, note_error, &err));
    assert_ok(muster_async_wait(a, 30000));
    assert_int_equal(muster_async_dispatch(a, 0), 1);
    assert_ok(err);
    redisFree(other);
    muster_async_free(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        limited_test(a_result_that_is_too_long_for_the_protocol_fails_its_job),
        limited_test(a_result_at_which_redis_hangs_up_fails_its_job),
        limited_test(a_task_that_is_handed_on_and_too_long_for_the_protocol),
        limited_test(a_task_that_is_handed_on_and_at_which_redis_hangs_up),
        limited_test(what_is_handed_on_without_a_pause_does_not_save_what_is_too_large),
        limited_test(data_that_are_too_long_for_the_protocol_fail_their_job),
        limited_test(data_at_which_redis_hangs_up_fail_their_job),
        limited_test(who_is_told_that_data_are_too_large_may_give_less),
        limited_test(a_task_that_redis_does_not_send_fails_and_others_go_on),
        limited_test(a_job_that_redis_does_not_send_fails),
        limited_test(tasks_that_are_too_much_together_are_all_done),
        limited_test(a_client_is_told_that_its_request_is_too_long),
        limited_test(a_take_fails_what_redis_does_not_send_and_brings_what_is_behind_it),
        limited_test(a_take_brings_all_that_is_too_much_together),
        limited_test(lists_show_the_beginning_of_what_redis_does_not_send),
        limited_test(lists_of_jobs_bring_the_beginning_of_each),
        limited_test(jobs_are_found_beside_failed_tasks_that_redis_does_not_send),
        limited_test(a_job_that_redis_does_not_send_is_named),
        limited_test(jobs_that_are_too_large_together_come_one_by_one),
        limited_test(a_history_that_redis_does_not_send_at_once_comes_in_steps),
        limited_test(a_viewer_is_shown_the_beginning_of_each_job),
        limited_test(a_viewer_is_shown_the_length_of_what_redis_does_not_send),
        limited_test(a_viewer_is_shown_the_beginning_of_each_task),
        limited_test(a_viewer_is_shown_what_lies_beside_large_tasks),
        limited_test(a_job_for_which_thousands_wait_is_shown_with_the_first_of_them),
        limited_test(a_wait_tells_of_an_end_whose_result_redis_does_not_send),
        limited_test(a_large_request_of_a_client_has_more_time),
        limited_test(a_large_request_over_a_link_has_more_time),
    };
    return scene_run(tests, argc, argv);
}
