/* SPDX-License-Identifier: MIT
 *
 * The listener: what is heard of any number of queues and jobs, that READY and GAP are true, and that it goes on by
 * itself whatever breaks.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_server.h"
#include "hearing.h"
#include "job_look.h"
#include "proxy.h"
#include "taken.h"

#define QUEUE_KINDS (MUSTER_LISTEN_DONE | MUSTER_LISTEN_CANCELLED | MUSTER_LISTEN_DELETED)

static void finish(struct scene *s, const char *queue, const char *task, const struct muster_bytes *result)
{
    const struct muster_finish_options o = {.size = sizeof o, .result = result};
    scene_enqueue(s, queue, task);
    assert_ok(muster_lease_finish(s->client, take_one(s, queue, task), &o));
}

static void open_on(struct hearing *h, struct scene *s, const char *queue, int kinds)
{
    char ready[64];
    hearing_open(h, s, NULL, 0, NULL);
    hearing_add(h, queue, kinds);
    snprintf(ready, sizeof ready, "ready %s", queue ? queue : "*");
    hearing_await(h, ready, 1);
    hearing_assert(h, (strcat(ready, "\n"), ready));
}

/* ---- what is heard ---- */

static void everything_of_a_queue_is_heard_in_order(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", QUEUE_KINDS);
    finish(s, "q", "a", NULL);
    finish(s, "q", "b", &(struct muster_bytes){"", 0});
    finish(s, "q", "c", &(struct muster_bytes){"\0r", 2});
    assert_ok(muster_task_cancel(s->client, "q", "gone", 4, NULL, NULL));
    assert_ok(muster_queue_delete(s->client, "q", NULL, NULL));
    finish(s, "other", "x", NULL);
    finish(s, "q", "end", NULL);
    hearing_await(&h, "done q .lease end", 1);
    hearing_assert(&h, "done q .lease a\ndone q .lease b = \ndone q .lease c = \\00r\ncancelled q gone\ndeleted q\n"
                       "done q .lease end\n");
    hearing_close(&h);
}

static void only_the_kinds_that_were_asked_for_are_heard(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", MUSTER_LISTEN_CANCELLED);
    finish(s, "q", "a", NULL);
    assert_ok(muster_task_cancel(s->client, "q", "x", 1, NULL, NULL));
    hearing_await(&h, "cancelled q x", 1);
    hearing_assert(&h, "cancelled q x\n");
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    assert_ok(muster_task_cancel(s->client, "q", "y", 1, NULL, NULL));
    finish(s, "q", "b", NULL);
    hearing_await(&h, "done q .lease b", 1);
    hearing_assert(&h, "ready q\ndone q .lease b\n");
    hearing_close(&h);
}

#define QUEUES 150

/* Also of names that look like parts of a channel's. */
static void many_queues_are_heard_on_one_handle(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    char queue[32], line[64];
    static const char *const odd[] = {"a_done", "a", "_", "a_b_done_done", "q:1"};
    hearing_open(&h, s, NULL, 0, NULL);
    for (int i = 0; i < QUEUES; i++) {
        snprintf(queue, sizeof queue, "q%d", i);
        hearing_add(&h, queue, MUSTER_LISTEN_ALL);
    }
    for (size_t i = 0; i < N_OF(odd); i++)
        hearing_add(&h, odd[i], QUEUE_KINDS);
    for (int i = 0; i < QUEUES; i++) {
        snprintf(line, sizeof line, "ready q%d", i);
        hearing_await(&h, line, 1);
    }
    for (size_t i = 0; i < N_OF(odd); i++) {
        snprintf(line, sizeof line, "ready %s", odd[i]);
        hearing_await(&h, line, 1);
    }
    assert_int_equal(h.n, QUEUES + N_OF(odd));
    hearing_forget(&h);
    for (int i = 0; i < QUEUES; i += 7) {
        snprintf(queue, sizeof queue, "q%d", i);
        finish(s, queue, "t", NULL);
        snprintf(line, sizeof line, "done q%d .lease t", i);
        hearing_await(&h, line, 1);
    }
    for (size_t i = 0; i < N_OF(odd); i++) {
        finish(s, odd[i], "t", NULL);
        snprintf(line, sizeof line, "done %s .lease t", odd[i]);
        hearing_await(&h, line, 1);
    }
    assert_int_equal(h.n, (QUEUES + 6) / 7 + N_OF(odd));
    hearing_close(&h);
}

static void jobs_are_heard_of_a_queue_or_of_all_and_each_once(void **state)
{
    struct scene *s = *state;
    struct hearing h, all;
    open_on(&h, s, "q", MUSTER_LISTEN_JOBS);
    open_on(&all, s, NULL, MUSTER_LISTEN_JOBS);
    job_put(s, "r", JOB_SPEC(.id = "j1"));
    job_put(s, "q", JOB_SPEC(.id = "j2"));
    hearing_await(&h, "job q put j2", 1);
    hearing_await(&all, "job q put j2", 1);
    hearing_assert(&h, "job q put j2\n");
    hearing_assert(&all, "job r put j1\njob q put j2\n");
    hearing_add(&h, NULL, MUSTER_LISTEN_JOBS);
    hearing_await(&h, "ready *", 1);
    hearing_forget(&h);
    job_put(s, "q", JOB_SPEC(.id = "j3"));
    job_put(s, "r", JOB_SPEC(.id = "j4"));
    hearing_await(&h, "job r put j4", 1);
    hearing_assert(&h, "job q put j3\njob r put j4\n");
    assert_ok(muster_listener_remove(h.listener, NULL));
    assert_ok(muster_listener_remove(h.listener, "q"));
    hearing_close(&h);
    hearing_close(&all);
}

static void a_queue_that_was_removed_is_heard_no_more(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", QUEUE_KINDS);
    hearing_add(&h, "r", QUEUE_KINDS);
    assert_ok(muster_listener_remove(h.listener, "q"));
    assert_ok(muster_listener_remove(h.listener, "never was"));
    hearing_await(&h, "ready r", 1);
    finish(s, "q", "a", NULL);
    finish(s, "r", "b", NULL);
    hearing_await(&h, "done r .lease b", 1);
    hearing_assert(&h, "ready r\ndone r .lease b\n");
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    finish(s, "q", "c", NULL);
    hearing_await(&h, "done q .lease c", 1);
    hearing_close(&h);
}

static void messages_that_are_none_of_musters_are_skipped(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", MUSTER_LISTEN_ALL);
    static const char *const nonsense[] = {"", "1:2:3:", "9999999999999:1:-:x", "::::", "20:1:-:.lease:00000000001:rx"};
    for (size_t i = 0; i < N_OF(nonsense); i++) {
        raw_do(s->server->redis, "PUBLISH %s_q_done %s", s->prefix, nonsense[i]);
        raw_do(s->server->redis, "PUBLISH %s_q_delete %s", s->prefix, nonsense[i]);
        raw_do(s->server->redis, "PUBLISH %s:events %s", s->prefix, nonsense[i]);
    }
    raw_do(s->server->redis, "PUBLISH %s:events %s", s->prefix, "put\t1\tq\t\t\t0\t");
    finish(s, "q", "end", NULL);
    hearing_await(&h, "done q .lease end", 1);
    hearing_assert(&h, "done q .lease end\n");
    hearing_close(&h);
}

/* The scripts forget a listener after ten seconds, and are told again before. */
static void the_scripts_are_told_again_and_again(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", MUSTER_LISTEN_ALL);
    int64_t first = raw_int(s->server->redis, "HGET %s:queue:q listen", s->prefix);
    int64_t jobs = raw_int(s->server->redis, "HGET %s:config listen", s->prefix);
    const int64_t until_ms = now_ms() + SOON_MS;
    int64_t calls = redis_server_calls(s->server, "evalsha");
    while (raw_int(s->server->redis, "HGET %s:queue:q listen", s->prefix) == first ||
           raw_int(s->server->redis, "HGET %s:config listen", s->prefix) == jobs)
        assert_true((run_loop(s->base, 50), now_ms() < until_ms));
    assert_in_range(redis_server_calls(s->server, "evalsha") - calls, 2, 6);
    hearing_assert(&h, "");
    hearing_close(&h);
}

/* What was told before, of other kinds, has become old meanwhile; nothing is missed by that. */
#define FAR_MS 50
#define MANY_QUEUES 1500

/* Redis is so far away that the first ones are to be told of again before the last ones were told of once. */
static void none_of_many_queues_waits_for_ever(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hearing h;
    char name[32];
    proxy_start(&proxy, s->server->dir, s->server->socket);
    hearing_open(&h, s, proxy.url, 0, NULL);
    proxy_delay(&proxy, FAR_MS);
    for (int i = 0; i < MANY_QUEUES; i++) {
        snprintf(name, sizeof name, "q%d", i);
        hearing_add(&h, name, MUSTER_LISTEN_DELETED);
    }
    for (int i = 0; i < MANY_QUEUES; i++) {
        snprintf(name, sizeof name, "ready q%d", i);
        hearing_await_within(&h, name, 1, 60000);
    }
    hearing_close(&h);
    proxy_stop(&proxy);
}

static void kinds_that_are_added_again_after_long_are_no_gap(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", MUSTER_LISTEN_DONE);
    hearing_add(&h, "q", MUSTER_LISTEN_JOBS);
    hearing_await(&h, "ready q", 1);
    raw_await(
        s->server->redis, s->base, 1, "EVAL %s 1 %s:queue:q", /* the scripts have forgotten */
        "return tonumber(redis.call('TIME')[1]) * 1000 > tonumber(redis.call('HGET', KEYS[1], 'listen')) and 1 or 0",
        s->prefix);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 2);
    finish(s, "q", "a", NULL);
    hearing_await(&h, "done q .lease a", 1);
    hearing_add(&h, "q", MUSTER_LISTEN_JOBS);
    hearing_await(&h, "ready q", 3);
    hearing_assert(&h, "ready q\nready q\ndone q .lease a\nready q\n");
    hearing_close(&h);
}

/* ---- what breaks ---- */

/* Only the connection that hears matters: while the other one is away the scripts remember. */
static void a_cut_is_a_gap_and_what_comes_after_ready_is_heard(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hearing h;
    char task[16], line[48];
    proxy_start(&proxy, s->server->dir, s->server->socket);
    hearing_open(&h, s, proxy.url, 0, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    for (size_t i = 1; i <= 10; i++) {
        hearing_await(&h, "ready q", i);
        snprintf(task, sizeof task, "t%zu", i);
        snprintf(line, sizeof line, "done q .lease t%zu", i);
        finish(s, "q", task, NULL);
        hearing_await(&h, line, 1);
        assert_int_equal(hearing_count(&h, "gap q E_CONN"), i - 1);
        proxy_cut(&proxy, i % 2 == 0 ? PROXY_SUBSCRIPTION : PROXY_BOTH);
        hearing_await(&h, "gap q E_CONN", i);
    }
    hearing_await(&h, "ready q", 11);
    hearing_forget(&h);
    proxy_cut(&proxy, PROXY_DATA);
    finish(s, "q", "more", NULL);
    hearing_await(&h, "done q .lease more", 1);
    hearing_assert(&h, "done q .lease more\n");
    hearing_close(&h);
    proxy_stop(&proxy);
}

static void a_subscription_that_has_gone_silent_is_noticed(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hearing h;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    hearing_open(&h, s, proxy.url, 1000, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "ready q", 1);
    assert_int_equal(proxy_swallow(&proxy, PROXY_SUBSCRIPTION, PROXY_REPLIES), 1);
    hearing_await_within(&h, "gap q E_TIMEOUT", 1, 20000);
    hearing_await(&h, "ready q", 2);
    finish(s, "q", "t", NULL);
    hearing_await(&h, "done q .lease t", 1);
    hearing_close(&h);
    proxy_stop(&proxy);
}

/* It restarts without its data, so the scripts have to be told anew. */
static void redis_is_killed_and_starts_again(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    open_on(&h, s, "q", MUSTER_LISTEN_ALL);
    for (size_t i = 1; i <= 3; i++) {
        redis_server_kill(s->server);
        hearing_await(&h, "gap q E_CONN", i);
        redis_server_restart(s->server);
        hearing_await(&h, "ready q", i);
        finish(s, "q", "t", NULL);
        hearing_await(&h, "done q .lease t", i);
    }
    hearing_close(&h);
}

static void a_redis_that_stands_still_is_a_gap(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    hearing_open(&h, s, NULL, 500, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "ready q", 1);
    redis_server_freeze(s->server);
    hearing_await_within(&h, "gap q E_TIMEOUT", 1, 20000);
    redis_server_thaw(s->server);
    hearing_await(&h, "ready q", 2);
    hearing_close(&h);
}

static void listening_that_cannot_begin_says_why_once(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    char url[160];
    snprintf(url, sizeof url, "unix://nobody:wrong@%s", s->server->socket);
    hearing_open(&h, s, url, 0, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "gap q E_DENIED", 1);
    assert_non_null(strstr(h.last_text, "WRONGPASS"));
    hearing_close(&h);
    raw_do(s->server->redis, "ACL SETUSER deaf on >pw ~* &* +@all -evalsha -eval");
    snprintf(url, sizeof url, "unix://deaf:pw@%s", s->server->socket);
    hearing_open(&h, s, url, 0, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "gap q E_DENIED", 1);
    raw_do(s->server->redis, "ACL SETUSER deaf +evalsha +eval");
    hearing_await(&h, "ready q", 1); /* once it may */
    hearing_assert(&h, "gap q E_DENIED\nready q\n");
    hearing_close(&h);
    raw_do(s->server->redis, "ACL DELUSER deaf");
}

/* Redis closes the connection of one whose channels it takes away: that alone says nothing. */
/* The first one says nothing. The reason is that of the last one, and comes when that has been tried. */
static void listening_begins_at_any_server_of_its_url(void **state)
{
    struct scene *s = *state;
    struct fake_server silent, other;
    struct hearing h;
    char url[160];
    fake_server_start(&silent, NULL);
    fake_server_start(&other, "-ERR unknown command\r\n");
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/main", silent.port, other.port);
    hearing_open(&h, s, url, 300, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    while (hearing_take(&h) == 0)
        run_loop(s->base, 10);
    assert_non_null(strstr(h.last_text, strrchr(other.url, ':')));
    hearing_close(&h);
    fake_server_stop(&other);
    fake_server_stop(&silent);
}

static void rights_that_go_meanwhile_are_told(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    char url[160];
    static const char *const losses[] = {"resetchannels", "resetpass", "-subscribe"};
    snprintf(url, sizeof url, "unix://loser:pw@%s", s->server->socket);
    for (size_t i = 0; i < N_OF(losses); i++) {
        raw_do(s->server->redis, "ACL SETUSER loser reset on >pw ~* &* +@all");
        hearing_open(&h, s, url, 0, NULL);
        hearing_add(&h, "q", QUEUE_KINDS);
        hearing_await(&h, "ready q", 1);
        raw_do(s->server->redis, "ACL SETUSER loser %s", losses[i]);
        raw_do(s->server->redis, "CLIENT KILL TYPE pubsub");
        hearing_await(&h, "gap q E_DENIED", 1);
        raw_do(s->server->redis, "ACL SETUSER loser >pw &* +@all");
        hearing_await(&h, "ready q", 2);
        hearing_assert(&h, "ready q\ngap q E_CONN\ngap q E_DENIED\nready q\n");
        hearing_close(&h);
    }
    raw_do(s->server->redis, "ACL DELUSER loser");
}

/* There and back the subscription needs longer than it takes until a sign of life is due. */
static void a_denial_that_comes_late_is_told_as_what_it_is(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hearing h;
    char url[160];
    raw_do(s->server->redis, "ACL SETUSER late on >pw ~* &* +@all");
    proxy_start(&proxy, s->server->dir, s->server->socket);
    snprintf(url, sizeof url, "unix://late:pw@%s", proxy.socket);
    hearing_open(&h, s, url, 60000, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    raw_do(s->server->redis, "ACL SETUSER late -subscribe");
    proxy_delay(&proxy, 3000);
    hearing_add(&h, "r", MUSTER_LISTEN_DONE);
    hearing_await_within(&h, "gap r E_DENIED", 1, 60000);
    hearing_assert(&h, "ready q\ngap q E_DENIED\ngap r E_DENIED\n");
    hearing_close(&h);
    proxy_stop(&proxy);
    raw_do(s->server->redis, "ACL DELUSER late");
}

/* As the roles of examples/users.acl. */
static void one_who_may_not_unsubscribe_has_one_gap(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    char url[160];
    raw_do(s->server->redis, "ACL SETUSER bound on >pw ~* &* +@all -unsubscribe");
    snprintf(url, sizeof url, "unix://bound:pw@%s", s->server->socket);
    hearing_open(&h, s, url, 0, NULL);
    for (int i = 0; i < 3; i++)
        hearing_add(&h, (const char *const[]){"q", "r", "s"}[i], MUSTER_LISTEN_DONE);
    hearing_await(&h, "ready q", 1);
    hearing_await(&h, "ready r", 1);
    hearing_await(&h, "ready s", 1);
    assert_ok(muster_listener_remove(h.listener, "r"));
    hearing_await(&h, "ready q", 2);
    hearing_await(&h, "ready s", 2);
    hearing_forget(&h);
    assert_ok(muster_listener_remove(h.listener, "s"));
    finish(s, "s", "x", NULL);
    finish(s, "q", "t", NULL);
    hearing_await(&h, "done q .lease t", 1);
    hearing_assert(&h, "done q .lease t\n");
    hearing_close(&h);
    raw_do(s->server->redis, "ACL DELUSER bound");
}

static void another_format_is_a_gap(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    raw_do(s->server->redis, "SET %s:format 99", s->prefix);
    hearing_open(&h, s, NULL, 0, NULL);
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "gap q E_FORMAT", 1);
    raw_do(s->server->redis, "DEL %s:format", s->prefix);
    hearing_await(&h, "ready q", 1);
    assert_int_equal(raw_int(s->server->redis, "GET %s:format", s->prefix), 4);
    hearing_close(&h);
}

/* ---- bounds ---- */

static void cancel_numbers(struct scene *s, const char *queue, int from, int to)
{
    for (int i = from; i < to; i++) {
        char task[16];
        int len = snprintf(task, sizeof task, "%d", i);
        assert_ok(muster_task_cancel(s->client, queue, task, (size_t)len, NULL, NULL));
    }
}

/* From each READY up to the GAP after it no number is missing. Returns how many GAPs there are. */
static size_t assert_whole_but_for_gaps(const struct hearing *h)
{
    bool is_whole = false;
    int last = -1;
    size_t n_gaps = 0;
    for (const char *at = h->lines; *at; at = strchr(at, '\n') + 1) {
        int number;
        if (strncmp(at, "ready q", 7) == 0) {
            assert_false(is_whole);
            is_whole = true;
            last = -1;
        } else if (strncmp(at, "gap q E_TOO_BIG", 15) == 0) {
            assert_true(is_whole);
            is_whole = false;
            n_gaps++;
        } else {
            assert_int_equal(sscanf(at, "cancelled q %d", &number), 1);
            assert_true(is_whole);
            assert_true(last == -1 || number == last + 1);
            last = number;
        }
    }
    return n_gaps;
}

/* Nothing is taken while many times the bound is published. Then all comes that was kept, and the GAP. */
static void beyond_its_bound_events_are_dropped_and_a_gap_tells_so(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    hearing_open(&h, s, NULL, 0,
                 &(struct muster_listener_options){.size = sizeof(struct muster_listener_options), .max_heard = 6});
    hearing_add(&h, "q", QUEUE_KINDS);
    hearing_await(&h, "ready q", 1);
    cancel_numbers(s, "q", 0, 500);
    hearing_await(&h, "gap q E_TOO_BIG", 1);
    hearing_await(&h, "ready q", 2);
    assert_non_null(strstr(h.lines, "ready q\ncancelled q 0\ncancelled q 1\n"));
    struct pollfd p = {.fd = muster_listener_fd(h.listener), .events = POLLIN};
    char line[32] = "";
    for (int i = 500; i < 600 || hearing_count(&h, line) == 0; i++) {
        assert_true(i < 1000);
        cancel_numbers(s, "q", i, i + 1);
        snprintf(line, sizeof line, "cancelled q %d", i);
        poll(&p, 1, i < 600 ? 0 : SOON_MS);
        hearing_take(&h);
    }
    assert_in_range(assert_whole_but_for_gaps(&h), 1, 100);
    hearing_close(&h);
}

static void what_is_not_allowed_is_refused(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    struct muster_listener *l = (struct muster_listener *)1;
    struct muster_client_options client = {.size = sizeof client, .redis = s->server->redis};
    struct muster_listener_options o = {.size = sizeof o, .client = &client};
    struct muster_heard unsized = {.size = 0};
    assert_err(muster_listener_new(&l, &o), MUSTER_E_INVALID);
    assert_null(l);
    assert_string_equal(muster_listener_error(NULL), muster_listener_options_check(&o));
    o.size = 1;
    assert_err(muster_listener_new(&l, &o), MUSTER_E_INVALID);
    hearing_open(&h, s, NULL, 0, NULL);
    assert_err(muster_listener_add(h.listener, "", 1), MUSTER_E_INVALID);
    assert_err(muster_listener_add(h.listener, "q", 0), MUSTER_E_INVALID);
    assert_err(muster_listener_add(h.listener, "q", 16), MUSTER_E_INVALID);
    assert_err(muster_listener_add(h.listener, NULL, MUSTER_LISTEN_DONE), MUSTER_E_INVALID);
    assert_non_null(strstr(muster_listener_error(h.listener), "name a queue"));
    assert_err(muster_listener_remove(h.listener, "\n"), MUSTER_E_INVALID);
    muster_log_set(muster_log_silent, NULL);
    assert_int_equal(muster_listener_next(h.listener, &unsized, 1), 0);
    muster_log_set(NULL, NULL);
    hearing_close(&h);
    muster_listener_free(NULL);
}

/* ---- threads ---- */

struct changer {
    struct muster_listener *listener;
    int number;
    pthread_t thread;
};

static void *change_often(void *arg)
{
    struct changer *c = arg;
    char queue[16];
    for (int i = 0; i < 300; i++) {
        snprintf(queue, sizeof queue, "c%d", (i + c->number) % 5);
        if (i % 3 == 2)
            assert_ok(muster_listener_remove(c->listener, queue));
        else
            assert_ok(muster_listener_add(c->listener, queue, i % MUSTER_LISTEN_ALL + 1));
    }
    return NULL;
}

/* While connections are cut, too. What stays is heard. */
static void threads_add_and_remove_at_once(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hearing h;
    struct changer changers[3];
    proxy_start(&proxy, s->server->dir, s->server->socket);
    hearing_open(&h, s, proxy.url, 0, NULL);
    hearing_add(&h, "stays", QUEUE_KINDS);
    for (int i = 0; i < 3; i++) {
        changers[i] = (struct changer){.listener = h.listener, .number = i};
        assert_int_equal(pthread_create(&changers[i].thread, NULL, change_often, &changers[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        proxy_cut(&proxy, PROXY_BOTH);
        finish(s, "c1", "t", NULL);
        hearing_take(&h);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(changers[i].thread, NULL);
    hearing_take(&h);
    hearing_forget(&h);
    proxy_cut(&proxy, PROXY_SUBSCRIPTION);
    hearing_await(&h, "ready stays", 1);
    finish(s, "stays", "t", NULL);
    hearing_await(&h, "done stays .lease t", 1);
    hearing_close(&h);
    proxy_stop(&proxy);
}

static void it_is_freed_at_any_moment(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 20; i++) {
        struct hearing h;
        hearing_open(&h, s, NULL, 0, NULL);
        for (int k = 0; k < i; k++) {
            char queue[16];
            snprintf(queue, sizeof queue, "q%d", k);
            hearing_add(&h, queue, MUSTER_LISTEN_ALL);
        }
        if (i % 2)
            run_loop(s->base, i);
        if (i % 3 == 0)
            hearing_take(&h);
        hearing_close(&h);
    }
}

static void a_child_of_fork_has_no_part_in_it(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    int status;
    open_on(&h, s, "q", QUEUE_KINDS);
    pid_t child = fork();
    if (child == 0) {
        struct muster_heard got = {.size = sizeof got};
        bool is_refused = muster_listener_add(h.listener, "r", 1) == MUSTER_E_STATE &&
                          muster_listener_remove(h.listener, "q") == MUSTER_E_STATE &&
                          muster_listener_next(h.listener, &got, 1) == 0;
        muster_listener_free(h.listener);
        _exit(is_refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    finish(s, "q", "t", NULL);
    hearing_await(&h, "done q .lease t", 1);
    hearing_close(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(everything_of_a_queue_is_heard_in_order),
        live_test(only_the_kinds_that_were_asked_for_are_heard),
        live_test(many_queues_are_heard_on_one_handle),
        live_test(jobs_are_heard_of_a_queue_or_of_all_and_each_once),
        live_test(a_queue_that_was_removed_is_heard_no_more),
        live_test(messages_that_are_none_of_musters_are_skipped),
        live_test(the_scripts_are_told_again_and_again),
        live_test(none_of_many_queues_waits_for_ever),
        live_test(kinds_that_are_added_again_after_long_are_no_gap),
        live_test(a_cut_is_a_gap_and_what_comes_after_ready_is_heard),
        live_test(a_subscription_that_has_gone_silent_is_noticed),
        live_test(redis_is_killed_and_starts_again),
        live_test(a_redis_that_stands_still_is_a_gap),
        live_test(listening_that_cannot_begin_says_why_once),
        live_test(listening_begins_at_any_server_of_its_url),
        live_test(rights_that_go_meanwhile_are_told),
        live_test(a_denial_that_comes_late_is_told_as_what_it_is),
        live_test(one_who_may_not_unsubscribe_has_one_gap),
        live_test(another_format_is_a_gap),
        live_test(beyond_its_bound_events_are_dropped_and_a_gap_tells_so),
        live_test(what_is_not_allowed_is_refused),
        live_test(threads_add_and_remove_at_once),
        live_test(it_is_freed_at_any_moment),
        live_test(a_child_of_fork_has_no_part_in_it),
    };
    return scene_run(tests, argc, argv);
}
