/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client: taking under leases, ending, and looking. Nothing that was taken is left in the hands of
 * nobody, whichever answer is lost.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "hostile_server.h"
#include "job_look.h"
#include "limited.h"
#include "proxy.h"
#include "taken.h"

#define LONG_MS 20000
#define A_MINUTE 61234 /* no other number is it */
#define A_TAKE "61234"

/* What one take has brought. */
struct bag {
    int err;
    struct taken taken;
    char job[64], queue_of_job[64];
    char text[ANSWERS_TEXT];
};

static void keep(const struct muster_answer *answer, void *arg)
{
    struct bag *b = arg;
    b->err = answer->err;
    snprintf(b->text, sizeof b->text, "%s", answer->text);
    assert_int_equal(answer->err == MUSTER_OK, answer->n > 0);
    for (size_t i = 0; i < answer->n; i++) {
        const struct muster_process_info *p = &answer->processes[i];
        taken_add(p, &b->taken);
        if (p->record) {
            snprintf(b->job, sizeof b->job, "%s", p->record->id);
            assert_string_equal(p->job, p->record->id);
            assert_string_equal(p->record->process, p->id);
            assert_int_equal(p->record->state, MUSTER_JOB_RUNNING);
        }
    }
    answers_fn(answer, NULL);
}

static void take_into(struct answers *as, const char *queue, size_t n, struct bag *b)
{
    *b = (struct bag){.err = 1};
    assert_ok(muster_async_take(as->async, queue, n, A_MINUTE, 0, keep, b));
}

static struct bag *take_now(struct answers *as, const char *queue, size_t n)
{
    static struct bag b;
    take_into(as, queue, n, &b);
    answers_await(as, as->n + 1);
    return &b;
}

static int64_t leased(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "HLEN %s:processing:.lease:%s", s->prefix, queue);
}

/* ---- what comes ---- */

static void a_take_brings_tasks_under_leases(void **state)
{
    struct scene *s = *state;
    struct answers as;
    scene_enqueue_n(s, "q", "t", 3);
    answers_open(&as, s, NULL, 0, NULL);
    int64_t before_ms = server_now_ms(s);
    struct bag *b = take_now(&as, "q", 2);
    assert_err(b->err, MUSTER_OK);
    assert_int_equal(b->taken.n, 2);
    assert_string_equal(b->taken.rows[0].task, "t0");
    assert_string_equal(b->taken.rows[1].task, "t1");
    assert_string_equal(b->taken.rows[0].worker, MUSTER_LEASE_ID);
    assert_true(b->taken.rows[0].token < b->taken.rows[1].token);
    assert_in_range(b->taken.rows[0].ends_at_ms, before_ms + A_MINUTE, server_now_ms(s) + A_MINUTE);
    assert_ok(muster_lease_finish(s->client, b->taken.rows[0].id, NULL));
    assert_ok(muster_lease_finish(s->client, b->taken.rows[1].id, NULL));
    b = take_now(&as, "q", 5);
    assert_int_equal(b->taken.n, 1);
    b = take_now(&as, "q", 5);
    assert_err(b->err, MUSTER_E_NOT_FOUND);
    assert_non_null(strstr(b->text, "'q'"));
    answers_close(&as);
    assert_int_equal(leased(s, "q"), 1); /* what was handed out stays the program's */
}

static void a_take_brings_jobs_with_their_records(void **state)
{
    struct scene *s = *state;
    struct answers as;
    job_put(s, "q", JOB_SPEC(.id = "j1", .data = {"data", 4}));
    scene_enqueue(s, "q", "task");
    answers_open(&as, s, NULL, 0, NULL);
    struct bag *b = take_now(&as, "q", 10);
    assert_err(b->err, MUSTER_OK);
    assert_int_equal(b->taken.n, 2);
    assert_string_equal(b->job, "j1");
    answers_close(&as);
}

/* ---- lost ---- */

static void a_take_whose_answer_was_lost_is_given_back(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    struct bag first, second;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    proxy_trap(&proxy, A_TAKE, PROXY_REPLIES);
    take_into(&as, "q", 2, &first);
    take_into(&as, "q", 2, &second);
    answers_await(&as, 2);
    assert_err(first.err, MUSTER_E_CONN);
    assert_err(second.err, MUSTER_E_CONN);
    raw_await(s->server->redis, NULL, 0, "HLEN %s:processing:.lease:q", s->prefix);
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    static const int ways[] = {PROXY_REPLIES, PROXY_REQUESTS};
    for (size_t i = 0; i < N_OF(ways); i++) { /* alone it is asked again */
        proxy_trap(&proxy, A_TAKE, ways[i]);
        struct bag *b = take_now(&as, "q", 2);
        assert_err(b->err, MUSTER_OK);
        assert_int_equal(proxy_count(&proxy).trapped, 2 + (int)i);
        assert_string_equal(b->taken.rows[0].task, i == 0 ? "t0" : "t1");
        assert_int_equal(leased(s, "q"), i + 1);
    }
    answers_close(&as);
    proxy_stop(&proxy);
}

static atomic_int n_said;

static void note_said(enum muster_log_level level, const char *line, void *arg)
{
    (void)level, (void)arg;
    n_said += strstr(line, "could not be given back") != NULL;
}

static bool is_said(void *arg)
{
    (void)arg;
    return n_said > 0;
}

/* A refusal that may pass, of whatever kind, is none for ever. */
static void what_was_refused_goes_back_as_soon_as_it_may(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    struct bag first, second;
    char url[160];
    n_said = 0;
    raw_do(s->server->redis, "ACL SETUSER u on >pw ~* &* +@all");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    snprintf(url, sizeof url, "unix://u:pw@%s", proxy.socket);
    answers_open(&as, s, url, LONG_MS, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 1, PROXY_REFUSES);
    take_into(&as, "q", 2, &first);
    take_into(&as, "q", 2, &second);
    answers_await(&as, 2);
    assert_true(leased(s, "q") >= 2);
    muster_log_set(note_said, NULL);
    raw_do(s->server->redis, "ACL SETUSER u -evalsha");
    proxy_accept(&proxy);
    wait_until(is_said, NULL, SOON_MS);
    assert_true(leased(s, "q") >= 2);
    raw_do(s->server->redis, "ACL SETUSER u +evalsha");
    raw_await(s->server->redis, NULL, 0, "HLEN %s:processing:.lease:q", s->prefix);
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    answers_close(&as);
    muster_log_set(NULL, NULL);
    raw_do(s->server->redis, "ACL DELUSER u");
    proxy_stop(&proxy);
}

#define BUSY_MS 4000

/* A give-back that is refused for as long as there is no replica, and a job that is read with nothing beside it. */
static void a_give_back_that_is_refused_holds_up_nothing_else(void **state)
{
    static char data[600000];
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    struct bag first, second;
    n_said = 0;
    job_put(s, "jobs", JOB_SPEC(.id = "half", .data = {data, sizeof data}));
    limited_set(s, "normal 1mb 0 0");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, BUSY_MS, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 1, PROXY_REFUSES);
    take_into(&as, "q", 2, &first);
    take_into(&as, "q", 2, &second);
    answers_await(&as, 2);
    muster_log_set(note_said, NULL);
    const int64_t refusals = redis_server_info(s->server, "total_error_replies");
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
    proxy_accept(&proxy);
    while (redis_server_info(s->server, "total_error_replies") == refusals)
        run_loop(s->base, 10);
    assert_ok(muster_async_job(as.async, "half", answers_fn, NULL));
    assert_ok(muster_async_length(as.async, "q", answers_fn, NULL));
    answers_await(&as, 4);
    assert_int_equal(as.counts[0], 2);
    assert_true(n_said > 0 && leased(s, "q") >= 2);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
    raw_await(s->server->redis, NULL, 0, "HLEN %s:processing:.lease:q", s->prefix);
    assert_queue_holds(s, "q", "t0 t1 t2 ");
    answers_close(&as);
    muster_log_set(NULL, NULL);
    limited_set(s, "normal 0 0 0");
    proxy_stop(&proxy);
}

static void forbid_format(struct scene *s, bool passes)
{
    raw_do(s->server->redis, "DEL %s:format", s->prefix);
    if (passes)
        raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
    else
        raw_do(s->server->redis, "ACL SETUSER u -set");
}

static void allow_format(struct scene *s)
{
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
    raw_do(s->server->redis, "ACL SETUSER u +set");
}

static void give_back_without_format(struct scene *s, const char *queue, bool passes)
{
    struct proxy proxy;
    struct answers as;
    struct bag first, second;
    char url[160];
    raw_do(s->server->redis, "ACL SETUSER u on >pw ~* &* +@all");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    snprintf(url, sizeof url, "unix://u:pw@%s", proxy.socket);
    answers_open(&as, s, url, LONG_MS, NULL);
    scene_enqueue_n(s, queue, "t", 3);
    proxy_trap_n(&proxy, A_TAKE, PROXY_REPLIES, 1, PROXY_REFUSES);
    take_into(&as, queue, 2, &first);
    take_into(&as, queue, 2, &second);
    answers_await(&as, 2);
    n_said = 0;
    muster_log_set(note_said, NULL);
    forbid_format(s, passes);
    proxy_accept(&proxy);
    for (size_t n = 2; n < 7; n++) {
        assert_ok(muster_async_length(as.async, queue, answers_fn, NULL));
        answers_await(&as, n + 1);
        assert_err(as.last.err, MUSTER_OK);
    }
    answers_enqueue(&as, queue, "t3", NULL);
    if (!passes) {
        answers_await(&as, 8);
        assert_err(as.last.err, MUSTER_E_DENIED);
        assert_true(n_said > 0);
    }
    assert_true(leased(s, queue) >= 2);
    allow_format(s);
    raw_await(s->server->redis, NULL, 0, "HLEN %s:processing:.lease:%s", s->prefix, queue);
    answers_await(&as, 8);
    assert_queue_holds(s, queue, passes ? "t0 t1 t2 t3 " : "t0 t1 t2 ");
    answers_close(&as);
    muster_log_set(NULL, NULL);
    raw_do(s->server->redis, "ACL DELUSER u");
    proxy_stop(&proxy);
}

/* Nor one that must wait until the namespace, which has lost its format, may get it again. */
static void a_give_back_that_has_no_format_hinders_nobody_who_only_reads(void **state)
{
    give_back_without_format(*state, "q", false);
    give_back_without_format(*state, "r", true);
}

/* A program may have made room for as many as it has asked for. */
static void more_than_was_asked_for_is_no_answer(void **state)
{
    struct scene *s = *state;
    struct hostile_server h = {0};
    struct answers as;
    struct taken taken = {0};
    struct muster_client *c;
    hostile_server_start(&h, s->server->dir,
                         &(struct hostile_spec){.relay_to = s->server->socket,
                                                .constant =
                                                    "*6\r\n:0\r\n:-1\r\n:99999999999999\r\n$11\r\n1j173n8h1tl\r\n"
                                                    "*3\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n:0\r\n",
                                                .only = A_TAKE});
    const struct muster_client_options o = {.size = sizeof o, .url = h.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_err(muster_lease_take(c, "q", 2, A_MINUTE, 0, taken_add, &taken), MUSTER_E_REDIS);
    assert_int_equal(taken.n, 0);
    muster_client_free(c);
    answers_open(&as, s, h.url, LONG_MS, NULL);
    assert_err(take_now(&as, "q", 2)->err, MUSTER_E_REDIS);
    answers_close(&as);
    hostile_server_stop(&h);
}

#define TASKS 600
#define TAKES 60

/* Each task is in the hands of the program or waits; none is leased to nobody. */
static void nothing_is_lost_while_connections_are_cut_under_takes(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    static struct bag bags[TAKES];
    size_t held = 0;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    scene_suspect_nothing(s);
    scene_enqueue_n(s, "q", "t", TASKS);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    for (int i = 0; i < TAKES; i++) {
        take_into(&as, "q", 10, &bags[i]);
        if (i % 4 == 3)
            proxy_ration(&proxy, PROXY_DATA, 300 + i * 17);
        if (i % 10 == 9)
            answers_await(&as, (size_t)i + 1);
    }
    answers_await(&as, TAKES);
    answers_enqueue(&as, "end", "t", NULL); /* behind all that is given back */
    answers_await(&as, TAKES + 1);
    for (int i = 0; i < TAKES; i++)
        held += bags[i].taken.n;
    assert_int_equal(leased(s, "q"), held);
    assert_int_equal(scene_waiting(s, "q"), TASKS - held);
    assert_true(as.counts[-MUSTER_E_CONN] > 0 && held > 0);
    answers_close(&as);
    assert_int_equal(leased(s, "q"), held);
    proxy_stop(&proxy);
}

/* Some are not sent, some under way, some answered; of some the program has heard. */
static void what_nobody_has_heard_of_is_given_back_when_the_client_is_freed(void **state)
{
    struct scene *s = *state;
    static struct bag bags[40];
    scene_suspect_nothing(s);
    scene_enqueue_n(s, "q", "t", 200);
    for (int round = 0; round < 10; round++) {
        struct answers as;
        size_t held = 0;
        answers_open(&as, s, NULL, LONG_MS, NULL);
        for (int i = 0; i < 40; i++)
            take_into(&as, "q", 3, &bags[i]);
        if (round % 3 == 1)
            assert_ok(muster_async_wait(as.async, SOON_MS));
        if (round % 3 == 2)
            muster_async_dispatch(as.async, 7);
        answers_close(&as);
        for (int i = 0; i < 40; i++)
            for (size_t n = 0; bags[i].err == MUSTER_OK && n < bags[i].taken.n; n++, held++)
                assert_ok(muster_lease_give_back(s->client, bags[i].taken.rows[n].id));
        assert_int_equal(leased(s, "q"), 0);
        assert_int_equal(scene_waiting(s, "q"), 200);
    }
}

/* Also while the answer is still lent. */
static void what_was_handed_out_stays_the_programs_when_the_client_is_freed(void **state)
{
    struct scene *s = *state;
    struct answers as;
    struct muster_answer got[2] = {{.size = sizeof got[0]}};
    scene_enqueue_n(s, "q", "t", 2);
    answers_open(&as, s, NULL, LONG_MS, NULL);
    for (int i = 0; i < 2; i++)
        assert_ok(muster_async_take(as.async, "q", 1, A_MINUTE, 0, NULL, NULL));
    assert_ok(muster_async_wait(as.async, SOON_MS));
    assert_int_equal(muster_async_next(as.async, got, 1), 1);
    assert_int_equal(got[0].n, 1);
    answers_close(&as);
    assert_int_equal(leased(s, "q"), 1);
    assert_queue_holds(s, "q", "t1 ");
}

static void without_a_connection_free_waits_for_nothing(void **state)
{
    struct scene *s = *state;
    struct answers as;
    scene_enqueue(s, "q", "t");
    answers_open(&as, s, NULL, LONG_MS, NULL);
    static struct bag b;
    take_into(&as, "q", 1, &b);
    assert_ok(muster_async_wait(as.async, SOON_MS));
    redis_server_kill(s->server);
    int64_t began_ms = now_ms();
    answers_close(&as);
    assert_in_range(now_ms() - began_ms, 0, LONG_MS / 2);
    redis_server_restart(s->server);
}

/* ---- ends ---- */

static void ask_end(struct answers *as, int call_err)
{
    assert_ok(call_err);
    answers_await(as, as->n + 1);
}

static void each_end_ends_as_it_says(void **state)
{
    struct scene *s = *state;
    struct answers as;
    const struct muster_finish_options result = {.size = sizeof result, .result = &(struct muster_bytes){"r", 1}};
    const struct muster_finish_options next = {.size = sizeof next, .next = "r"};
    const struct muster_extend_options note = {.size = sizeof note, .lease_ms = 2 * A_MINUTE, .progress = "half"};
    answers_open(&as, s, NULL, 0, NULL);
    scene_enqueue_n(s, "q", "t", 5);
    struct bag b = *take_now(&as, "q", 5);
    ask_end(&as, muster_async_finish(as.async, b.taken.rows[0].id, NULL, answers_fn, NULL));
    ask_end(&as, muster_async_finish(as.async, b.taken.rows[1].id, &result, answers_fn, NULL));
    ask_end(&as, muster_async_give_back(as.async, b.taken.rows[2].id, answers_fn, NULL));
    ask_end(&as, muster_async_retry(as.async, b.taken.rows[3].id, -1, answers_fn, NULL));
    raw_do(s->server->redis, "SCRIPT FLUSH");
    ask_end(&as, muster_async_extend(as.async, b.taken.rows[4].id, &note, answers_fn, NULL));
    struct taken rows = {0};
    assert_ok(muster_process_list(s->client, NULL, taken_add, &rows));
    assert_int_equal(rows.n, 1);
    assert_string_equal(rows.rows[0].progress, "half");
    ask_end(&as, muster_async_fail(as.async, b.taken.rows[4].id, "why", "because", answers_fn, NULL));
    assert_queue_holds(s, "q", "t2 t3 ");
    assert_int_equal(raw_int(s->server->redis, "HGET %s:failures:q g:why", s->prefix), 1);
    job_put(s, "j", JOB_SPEC(.id = "job"));
    b = *take_now(&as, "j", 1);
    ask_end(&as, muster_async_retry_as(as.async, b.taken.rows[0].id, 0, "busy", "the line was", answers_fn, NULL));
    assert_string_equal(job_look(s, "job").group, "busy");
    b = *take_now(&as, "j", 1);
    ask_end(&as, muster_async_finish(as.async, b.taken.rows[0].id, &next, answers_fn, NULL));
    assert_int_equal(scene_waiting(s, "r"), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:waiting:r", s->prefix), 1);
    assert_int_equal(as.counts[0], as.n);
    answers_close(&as);
}

/* The words are those of the blocking client. */
static void a_refused_end_is_told_as_by_the_blocking_client(void **state)
{
    struct scene *s = *state;
    struct answers as;
    const struct muster_finish_options next = {.size = sizeof next, .next = "r"};
    const struct muster_extend_options data = {.size = sizeof data, .data = &(struct muster_bytes){"d", 1}};
    const struct muster_extend_options lease = {.size = sizeof lease, .lease_ms = 1};
    answers_open(&as, s, NULL, 0, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    struct bag b = *take_now(&as, "q", 3);
    const char *gone = b.taken.rows[0].id, *held = b.taken.rows[1].id, *marked = b.taken.rows[2].id;
    assert_ok(muster_lease_finish(s->client, gone, NULL));
    assert_ok(muster_process_cancel(s->client, marked));

    assert_err(muster_lease_finish(s->client, gone, NULL), MUSTER_E_LOST);
    ask_end(&as, muster_async_finish(as.async, gone, NULL, answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_LOST);
    assert_string_equal(as.last.text, muster_client_error(s->client));

    assert_err(muster_lease_finish(s->client, held, &next), MUSTER_E_STATE);
    ask_end(&as, muster_async_finish(as.async, held, &next, answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_STATE);
    assert_string_equal(as.last.text, muster_client_error(s->client));

    assert_err(muster_lease_extend(s->client, held, &data), MUSTER_E_STATE);
    ask_end(&as, muster_async_extend(as.async, held, &data, answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_STATE);
    assert_string_equal(as.last.text, muster_client_error(s->client));

    assert_err(muster_lease_extend(s->client, marked, &lease), MUSTER_E_STATE);
    ask_end(&as, muster_async_extend(as.async, marked, &lease, answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_STATE);
    assert_string_equal(as.last.text, muster_client_error(s->client));

    assert_err(muster_lease_retry_as(s->client, held, 0, "g", "m"), MUSTER_E_STATE);
    ask_end(&as, muster_async_retry_as(as.async, held, 0, "g", "m", answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_STATE);
    assert_string_equal(as.last.text, muster_client_error(s->client));

    ask_end(&as, muster_async_give_back(as.async, marked, answers_fn, NULL));
    assert_err(as.last.err, MUSTER_E_CANCELLED);
    assert_non_null(strstr(as.last.text, "gone, not given back"));
    assert_ok(muster_lease_finish(s->client, held, NULL));
    answers_close(&as);
}

static void arguments_that_are_not_allowed_are_refused_at_the_call(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static const char process[] = ".lease:00000000001:q";
    static char long_note[MUSTER_PROGRESS_MAX + 2], many[] = "x";
    const struct muster_extend_options note = {.size = sizeof note, .progress = long_note};
    const struct muster_finish_options unsized = {.next = "q"};
    const struct muster_finish_options delayed = {.size = sizeof delayed, .delay_ms = 1};
    memset(long_note, 'x', sizeof long_note - 1);
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(muster_async_take(as.async, "", 1, 1, 0, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_take(as.async, "q", 0, 1, 0, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_take(as.async, "q", 1001, 1, 0, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_take(as.async, "q", 1, 0, 0, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_take(as.async, "q", 1, 1, -1, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_finish(as.async, "nonsense", NULL, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_finish(as.async, process, &unsized, NULL, NULL), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_async_error(as.async), "struct muster_finish_options"));
    assert_err(muster_async_finish(as.async, process, &delayed, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_give_back(as.async, NULL, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_retry(as.async, process, -2, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_retry(as.async, process, INT64_MAX, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_retry_as(as.async, process, 0, "", NULL, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_fail(as.async, process, "", many, NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_extend(as.async, process, &note, NULL, NULL), MUSTER_E_TOO_BIG);
    assert_err(muster_async_job(as.async, "", NULL, NULL), MUSTER_E_INVALID);
    assert_err(muster_async_length(as.async, "\n", NULL, NULL), MUSTER_E_INVALID);
    assert_ok(muster_async_wait(as.async, 0));
    answers_close(&as);
}

/* ---- looking ---- */

static void look_at_job(const struct muster_answer *answer, void *arg)
{
    if (answer->err == MUSTER_OK) {
        assert_string_equal(answer->job->id, arg);
        assert_string_equal(answer->job->queue, "q");
        assert_int_equal(answer->job->state, MUSTER_JOB_WAITING);
        assert_memory_equal(answer->job->data.data, "data", 4);
        assert_int_equal(answer->job->n_tags, 2);
        assert_string_equal(answer->job->tags[1], "b");
    } else {
        assert_null(answer->job);
    }
    answers_fn(answer, NULL);
}

static void a_job_is_looked_at(void **state)
{
    struct scene *s = *state;
    struct answers as;
    static char j1[] = "j1";
    answers_open(&as, s, NULL, 0, NULL);
    job_put(s, "q", JOB_SPEC(.id = j1, .data = {"data", 4}, .tags = (const char *const[]){"a", "b"}, .n_tags = 2));
    ask_end(&as, muster_async_job(as.async, "j1", look_at_job, j1));
    assert_err(as.last.err, MUSTER_OK);
    ask_end(&as, muster_async_job(as.async, "j2", look_at_job, NULL));
    assert_err(as.last.err, MUSTER_E_NOT_FOUND);
    raw_do(s->server->redis, "SET %s:job:text x", s->prefix);
    raw_do(s->server->redis, "HSET %s:job:odd state nonsense", s->prefix);
    ask_end(&as, muster_async_job(as.async, "text", look_at_job, NULL));
    assert_err(as.last.err, MUSTER_E_REDIS);
    ask_end(&as, muster_async_job(as.async, "odd", look_at_job, NULL));
    assert_err(as.last.err, MUSTER_E_REDIS);
    assert_non_null(strstr(as.last.text, "'odd'"));
    answers_close(&as);
}

/* Whoever may run no script asks for the record itself. */
static void a_record_that_is_none_is_named(void **state)
{
    static const char *const rights[] = {"+@all", "-@scripting"};
    struct scene *s = *state;
    struct answers as;
    char url[512];
    snprintf(url, sizeof url, "unix://u:pw@%s", s->server->socket);
    raw_do(s->server->redis, "ACL SETUSER u on >pw ~* &*");
    raw_do(s->server->redis, "SET %s:job:text x", s->prefix);
    for (size_t i = 0; i < N_OF(rights); i++) {
        raw_do(s->server->redis, "ACL SETUSER u %s", rights[i]);
        answers_open(&as, s, url, LONG_MS, NULL);
        ask_end(&as, muster_async_job(as.async, "text", answers_fn, NULL));
        assert_err(as.last.err, MUSTER_E_REDIS);
        assert_non_null(strstr(as.last.text, i == 0 ? ":job:text'" : "'text'"));
        answers_close(&as);
    }
    raw_do(s->server->redis, "ACL DELUSER u");
}

#define BIG 3000000

/* Whoever may not ask for the limit must try it, and whoever may run no script must ask for the length. */
static void a_job_that_redis_does_not_send_is_named_and_the_others_go_on(void **state)
{
    static const char *const rights[] = {"+@all", "-config", "-@scripting"}; /* one after the other */
    static char data[BIG], big[] = "big";
    struct scene *s = *state;
    struct answers as;
    char url[512];
    job_put(s, "q", JOB_SPEC(.id = "big", .data = {data, BIG}));
    job_put(s, "q", JOB_SPEC(.id = "half", .data = {data, 600000}));
    snprintf(url, sizeof url, "unix://u:pw@%s", s->server->socket);
    limited_set(s, "normal 1mb 0 0");
    raw_do(s->server->redis, "ACL SETUSER u on >pw ~* &*");
    for (size_t i = 0; i < N_OF(rights); i++) {
        raw_do(s->server->redis, "ACL SETUSER u %s", rights[i]);
        answers_open(&as, s, url, LONG_MS, NULL);
        for (int k = 0; k < 5; k++)
            assert_ok(muster_async_length(as.async, "q", answers_fn, NULL));
        assert_ok(muster_async_job(as.async, "big", answers_fn, big));
        assert_ok(muster_async_job(as.async, "half", answers_fn, NULL));
        for (int k = 0; k < 5; k++)
            assert_ok(muster_async_length(as.async, "q", answers_fn, NULL));
        answers_await(&as, 12);
        assert_int_equal(as.counts[0], 11);
        assert_int_equal(as.counts[-MUSTER_E_TOO_BIG], 1);
        for (size_t k = 0; k < as.n; k++)
            if (as.rows[k].arg == big) {
                assert_err(as.rows[k].err, MUSTER_E_TOO_BIG);
                assert_non_null(strstr(as.rows[k].text, "'big' has 3000000 bytes"));
                assert_int_equal(strstr(as.rows[k].text, " of 1048576") != NULL, i == 0);
            }
        answers_close(&as);
    }
    limited_set(s, "normal 0 0 0");
    raw_do(s->server->redis, "ACL DELUSER u");
}

#define LOOKS 100

/* A message without names: each of the queues that are waited for is looked at. */
static void call_all(struct scene *s)
{
    raw_do(s->server->redis, "EVAL %s 0 %s %d",
           "for i = 0, ARGV[2] - 1 do redis.call('PUBLISH', ARGV[1] .. '_w' .. i .. '_work', 'foreign') end", s->prefix,
           LOOKS);
}

/* Looks for takes that wait are under way at any time: they are no part of what the program has asked for. */
static void a_job_that_redis_does_not_send_is_named_beside_takes_that_wait(void **state)
{
    static char data[BIG];
    struct scene *s = *state;
    struct answers as;
    char queue[16], url[512];
    job_put(s, "q", JOB_SPEC(.id = "big", .data = {data, BIG}));
    snprintf(url, sizeof url, "unix://u:pw@%s", s->server->socket);
    limited_set(s, "normal 1mb 0 0");
    raw_do(s->server->redis, "ACL SETUSER u on >pw ~* &* +@all -config");
    answers_open(&as, s, url, LONG_MS, NULL);
    for (int i = 0; i < LOOKS; i++) {
        snprintf(queue, sizeof queue, "w%d", i);
        assert_ok(muster_async_take(as.async, queue, 1, A_MINUTE, A_MINUTE, answers_fn, NULL));
    }
    for (int i = 0; i < LOOKS; i++)
        raw_await(s->server->redis, NULL, 1, "ZCARD %s:takers:w%d", s->prefix, i);
    assert_ok(muster_async_job(as.async, "big", answers_fn, NULL));
    for (const int64_t until_ms = now_ms() + SOON_MS; as.n == 0 && now_ms() < until_ms;) {
        call_all(s);
        muster_async_dispatch(as.async, 0);
    }
    assert_int_equal(as.n, 1);
    assert_err(as.last.err, MUSTER_E_TOO_BIG);
    answers_close(&as);
    limited_set(s, "normal 0 0 0");
    raw_do(s->server->redis, "ACL DELUSER u");
}

static void a_queue_is_counted(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    scene_enqueue_n(s, "q", "t", 3);
    job_put(s, "q", JOB_SPEC(.id = "j1"));
    ask_end(&as, muster_async_length(as.async, "q", answers_fn, NULL));
    assert_err(as.last.err, MUSTER_OK);
    assert_int_equal(as.last.waiting, 4);
    ask_end(&as, muster_async_length(as.async, "nothing", answers_fn, NULL));
    assert_int_equal(as.last.waiting, 0);
    static const char *const kinds[] = {"queues", "waiting", "returned"};
    for (size_t i = 0; i < N_OF(kinds); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s:%s:other", s->prefix, kinds[i]);
        raw_do(s->server->redis, "SET %s x", key);
        ask_end(&as, muster_async_length(as.async, "other", answers_fn, NULL));
        assert_err(as.last.err, MUSTER_E_REDIS);
        assert_non_null(strstr(as.last.text, key));
        raw_do(s->server->redis, "DEL %s", key);
    }
    answers_close(&as);
}

/* A user without the right to write looks, and is refused what writes. */
static void one_who_may_only_look_is_not_asked_for_more(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[160];
    scene_enqueue(s, "q", "t");
    raw_do(s->server->redis, "ACL SETUSER viewer on >pw ~* &* +@read +hello +select +auth -@write");
    snprintf(url, sizeof url, "unix://viewer:pw@%s", s->server->socket);
    answers_open(&as, s, url, 0, NULL);
    ask_end(&as, muster_async_length(as.async, "q", answers_fn, NULL));
    assert_err(as.last.err, MUSTER_OK);
    assert_int_equal(as.last.waiting, 1);
    answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 2);
    assert_err(as.last.err, MUSTER_E_DENIED);
    ask_end(&as, muster_async_length(as.async, "q", answers_fn, NULL));
    assert_int_equal(as.last.waiting, 1);
    answers_close(&as);
    raw_do(s->server->redis, "ACL DELUSER viewer");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_take_brings_tasks_under_leases),
        live_test(a_take_brings_jobs_with_their_records),
        live_test(a_take_whose_answer_was_lost_is_given_back),
        live_test(what_was_refused_goes_back_as_soon_as_it_may),
        live_test(a_give_back_that_is_refused_holds_up_nothing_else),
        live_test(a_give_back_that_has_no_format_hinders_nobody_who_only_reads),
        live_test(more_than_was_asked_for_is_no_answer),
        live_test(nothing_is_lost_while_connections_are_cut_under_takes),
        live_test(what_nobody_has_heard_of_is_given_back_when_the_client_is_freed),
        live_test(what_was_handed_out_stays_the_programs_when_the_client_is_freed),
        live_test(without_a_connection_free_waits_for_nothing),
        live_test(each_end_ends_as_it_says),
        live_test(a_refused_end_is_told_as_by_the_blocking_client),
        live_test(arguments_that_are_not_allowed_are_refused_at_the_call),
        live_test(a_job_is_looked_at),
        live_test(a_record_that_is_none_is_named),
        live_test(a_job_that_redis_does_not_send_is_named_and_the_others_go_on),
        live_test(a_job_that_redis_does_not_send_is_named_beside_takes_that_wait),
        live_test(a_queue_is_counted),
        live_test(one_who_may_only_look_is_not_asked_for_more),
    };
    return scene_run(tests, argc, argv);
}
