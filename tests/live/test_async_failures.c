/* SPDX-License-Identifier: MIT
 *
 * The asynchronous client when Redis, or the way to it, fails: each call has one answer, in bounded time, and the answer
 * is true.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "fake_server.h"
#include "hostile_server.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "slow.h"
#include "taken.h"

#define TIMEOUT_MS 700
#define LONG_MS 20000
/* For a machine that is busy with other things. */
#define SLACK_MS slow_ms(5000)
/* More than are under way at once. */
#define N_BEHIND 2000
#define BEHIND_MS 4000

static int64_t length_of(struct scene *s, const char *queue)
{
    return raw_int(s->server->redis, "LLEN %s:queues:%s", s->prefix, queue);
}

static struct answer_row ask_one(struct answers *as)
{
    size_t n = as->n;
    answers_enqueue(as, "q", "t", NULL);
    answers_await(as, n + 1);
    return as->last;
}

/* ---- no connection ---- */

static void without_a_redis_a_call_waits_for_its_time_and_fails(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[64];
    int fd = fake_server_refuse(url);
    (void)fd;
    answers_open(&as, s, url, TIMEOUT_MS, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t began_ms = now_ms();
        struct answer_row row = ask_one(&as);
        assert_err(row.err, MUSTER_E_CONN);
        assert_non_null(strstr(row.text, "127.0.0.1"));
        assert_in_range(now_ms() - began_ms, TIMEOUT_MS - 50, TIMEOUT_MS + SLACK_MS);
    }
    assert_err(muster_async_wait(as.async, 0), MUSTER_OK);
    answers_enqueue(&as, "q", "t", NULL);
    assert_err(muster_async_wait(as.async, 10), MUSTER_E_TIMEOUT);
    answers_close(&as); /* with a call that waits */
}

/* All that is made meanwhile goes out, in its order, once it is there. */
static void calls_wait_for_a_redis_that_starts_again(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, LONG_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    redis_server_shutdown(s->server);
    for (int i = 0; i < 5; i++)
        answers_enqueue(&as, "q", (const char *const[]){"a", "b", "c", "d", "e"}[i], NULL);
    assert_err(muster_async_wait(as.async, 300), MUSTER_E_TIMEOUT);
    redis_server_restart(s->server);
    answers_await(&as, 6);
    assert_int_equal(as.counts[0], 6);
    assert_queue_holds(s, "q", "a b c d e ");
    answers_close(&as);
}

static void a_wrong_password_is_told_at_once(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[160];
    snprintf(url, sizeof url, "unix://nobody:wrong@%s", s->server->socket);
    answers_open(&as, s, url, LONG_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_E_DENIED);
    assert_err(ask_one(&as).err, MUSTER_E_DENIED);
    answers_close(&as);
}

static void another_format_is_told_at_once_also_if_it_comes_later(void **state)
{
    struct scene *s = *state;
    struct answers as;
    raw_do(s->server->redis, "SET %s:format 99", s->prefix);
    answers_open(&as, s, NULL, LONG_MS, NULL);
    struct answer_row row = ask_one(&as);
    assert_err(row.err, MUSTER_E_FORMAT);
    assert_non_null(strstr(row.text, "format 99"));
    answers_close(&as);
    raw_do(s->server->redis, "DEL %s:format", s->prefix);
    answers_open(&as, s, NULL, LONG_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    assert_int_equal(raw_int(s->server->redis, "GET %s:format", s->prefix), 4);
    answers_close(&as);
}

/* It connects while the namespace is empty; before its first call another release comes. */
static void a_format_that_somebody_else_claims_first_is_told(void **state)
{
    struct scene *s = *state;
    struct answers as;
    int64_t hellos = redis_server_calls(s->server, "exists");
    answers_open(&as, s, NULL, LONG_MS, NULL);
    while (redis_server_calls(s->server, "exists") == hellos)
        run_loop(s->base, 1);
    raw_do(s->server->redis, "SET %s:format 99", s->prefix);
    assert_err(ask_one(&as).err, MUSTER_E_FORMAT);
    assert_int_equal(length_of(s, "q"), 0);
    raw_do(s->server->redis, "DEL %s:format", s->prefix);
    answers_close(&as);
}

/* ---- silence ---- */

static void a_redis_that_stands_still_is_a_timeout(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, TIMEOUT_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    redis_server_freeze(s->server);
    int64_t began_ms = now_ms();
    assert_err(ask_one(&as).err, MUSTER_E_TIMEOUT);
    assert_in_range(now_ms() - began_ms, TIMEOUT_MS - 50, TIMEOUT_MS + SLACK_MS);
    assert_true(ask_one(&as).err != MUSTER_OK); /* it waits for a connection in vain */
    redis_server_thaw(s->server);
    while (ask_one(&as).err != MUSTER_OK)
        assert_true(as.n < 50);
    answers_close(&as);
}

/* ---- cuts ---- */

struct stream {
    struct scene *scene;
    struct answers as;
    size_t n;
};

static void send_some(struct stream *st, size_t n)
{
    char task[16];
    for (; n > 0; n--) {
        snprintf(task, sizeof task, "%zu", st->n++);
        answers_enqueue(&st->as, "q", task, NULL);
    }
}

/* What was told OK is there, in its order; what is there beyond that was told E_CONN. Nothing is there twice. */
static void assert_true_answers(struct stream *st)
{
    struct redisReply *list = raw(st->scene->server->redis, "LRANGE %s:queues:q 0 -1", st->scene->prefix);
    size_t ok = st->as.counts[0], lost = st->as.counts[-MUSTER_E_CONN];
    assert_int_equal(ok + lost, st->n);
    assert_in_range(list->elements, ok, ok + lost);
    for (size_t i = 1; i < list->elements; i++)
        assert_true(atoi(list->element[i]->str) < atoi(list->element[i - 1]->str));
    freeReplyObject(list);
}

static void each_call_has_one_true_answer_while_connections_are_cut(void **state)
{
    struct stream st = {.scene = *state};
    struct scene *s = *state;
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&st.as, s, proxy.url, LONG_MS, NULL);
    for (int i = 0; i < 40; i++) {
        send_some(&st, 50 + (size_t)(i % 7) * 300);
        if (i % 4 == 3)
            proxy_ration(&proxy, PROXY_DATA, i * 13);
        else if (i % 2 == 0)
            proxy_cut(&proxy, PROXY_DATA);
        if (i % 5 == 0)
            answers_await(&st.as, st.n);
    }
    answers_await(&st.as, st.n);
    assert_true_answers(&st);
    assert_true(st.as.counts[0] > 0 && proxy_count(&proxy).cut > 5);
    answers_close(&st.as);
    proxy_stop(&proxy);
}

/* Before it is passed on: not done, and told as in doubt. Its answer lost: done, and told the same. */
static void a_lost_request_and_a_lost_answer_are_told_alike(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    const char *sha1 = lua_scripts[SCRIPT_ENQUEUE].sha1;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK); /* by its body; from now on by its digest */
    proxy_trap(&proxy, sha1, PROXY_REQUESTS);
    assert_err(ask_one(&as).err, MUSTER_E_CONN);
    assert_int_equal(length_of(s, "q"), 1);
    assert_err(ask_one(&as).err, MUSTER_OK);
    proxy_trap(&proxy, sha1, PROXY_REPLIES);
    assert_err(ask_one(&as).err, MUSTER_E_CONN);
    assert_int_equal(length_of(s, "q"), 3);
    answers_close(&as);
    proxy_stop(&proxy);
}

static void redis_is_killed_with_thousands_in_flight(void **state)
{
    struct stream st = {.scene = *state};
    struct scene *s = *state;
    answers_open(&st.as, s, NULL, LONG_MS, NULL);
    for (int i = 0; i < 4; i++) {
        send_some(&st, 20000);
        redis_server_kill(s->server);
        redis_server_restart(s->server);
    }
    answers_await(&st.as, st.n);
    assert_int_equal(st.as.counts[0] + st.as.counts[-MUSTER_E_CONN], st.n);
    assert_true(st.as.counts[0] > 0);
    assert_err(ask_one(&st.as).err, MUSTER_OK);
    answers_close(&st.as);
}

static void scripts_that_redis_has_forgotten_are_sent_again(void **state)
{
    struct stream st = {.scene = *state};
    struct scene *s = *state;
    answers_open(&st.as, s, NULL, LONG_MS, NULL);
    for (int i = 0; i < 20; i++) {
        send_some(&st, 500);
        raw_do(s->server->redis, "SCRIPT FLUSH");
    }
    answers_await(&st.as, st.n);
    assert_int_equal(st.as.counts[0], st.n);
    assert_int_equal(length_of(s, "q"), st.n);
    answers_close(&st.as);
}

/* ---- refusals ---- */

static void a_full_redis_is_told(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, NULL, 0, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    raw_do(s->server->redis, "CONFIG SET maxmemory 1");
    struct answer_row row = ask_one(&as);
    raw_do(s->server->redis, "CONFIG SET maxmemory 0");
    assert_err(row.err, MUSTER_E_FULL);
    assert_non_null(strstr(row.text, "OOM"));
    assert_err(ask_one(&as).err, MUSTER_OK);
    assert_int_equal(length_of(s, "q"), 2);
    answers_close(&as);
}

static void a_key_of_the_wrong_type_is_named(void **state)
{
    struct scene *s = *state;
    struct answers as;
    raw_do(s->server->redis, "SET %s:queues:q text", s->prefix);
    answers_open(&as, s, NULL, 0, NULL);
    struct answer_row row = ask_one(&as);
    assert_err(row.err, MUSTER_E_REDIS);
    assert_non_null(strstr(row.text, ":queues:q"));
    raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
    answers_close(&as);
}

/* NOREPLICAS passes: those that were refused go first when it has, and in their order. */
static void what_is_refused_for_a_reason_that_passes_is_sent_again(void **state)
{
    struct stream st = {.scene = *state};
    struct scene *s = *state;
    answers_open(&st.as, s, NULL, LONG_MS, NULL);
    send_some(&st, 1);
    answers_await(&st.as, 1);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
    send_some(&st, 30);
    assert_err(muster_async_wait(st.as.async, 100), MUSTER_E_TIMEOUT);
    send_some(&st, 30);
    assert_err(muster_async_wait(st.as.async, 100), MUSTER_E_TIMEOUT);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
    answers_await(&st.as, st.n);
    assert_int_equal(st.as.counts[0], st.n);
    assert_true_answers(&st);
    answers_close(&st.as);
}

/* Also where it is the namespace's format that cannot be written. */
static void it_is_busy_if_the_reason_does_not_pass_in_time(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 2; i++) {
        struct answers as;
        answers_open(&as, s, NULL, TIMEOUT_MS, NULL);
        if (i == 0)
            assert_err(ask_one(&as).err, MUSTER_OK);
        else
            raw_do(s->server->redis, "DEL %s:format", s->prefix);
        raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
        answers_close(&as);
        answers_open(&as, s, NULL, TIMEOUT_MS, NULL);
        int64_t began_ms = now_ms();
        struct answer_row row = ask_one(&as);
        raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
        assert_err(row.err, MUSTER_E_BUSY);
        assert_non_null(strstr(row.text, "NOREPLICAS"));
        assert_in_range(now_ms() - began_ms, TIMEOUT_MS - 100, TIMEOUT_MS + SLACK_MS);
        assert_int_equal(length_of(s, "q"), 1);
        answers_close(&as);
    }
}

/* What writes comes behind it, in its order, once the format can be written. */
static void who_only_reads_goes_on_while_no_format_can_be_written(void **state)
{
    struct scene *s = *state;
    struct answers as;
    raw_do(s->server->redis, "DEL %s:format", s->prefix);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
    answers_open(&as, s, NULL, LONG_MS, NULL);
    for (size_t n = 1; n <= 5; n++) {
        answers_enqueue(&as, "q", (const char *const[]){"a", "b", "c", "d", "e"}[n - 1], NULL);
        assert_ok(muster_async_length(as.async, "q", answers_fn, NULL));
        answers_await(&as, n);
        assert_err(as.last.err, MUSTER_OK);
        assert_int_equal(as.last.waiting, 0);
    }
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
    answers_await(&as, 10);
    assert_int_equal(as.counts[0], 10);
    assert_queue_holds(s, "q", "a b c d e ");
    answers_close(&as);
}

/* How long a call may wait for a connection counts from when there is none. That others were before it for longer costs it
 * nothing: it was not sent, and goes over the next connection. */
static void what_waits_behind_others_goes_on_over_the_next_connection(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct hostile_server front = {.pid = 0};
    struct answers as;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    hostile_server_start(&front, s->server->dir, &(struct hostile_spec){.relay_to = proxy.socket});
    answers_open(&as, s, front.url, BEHIND_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    proxy_pace(&proxy, PROXY_DATA, 20, 25); /* about an answer each time */
    const int64_t began_ms = now_ms();
    for (int i = 0; i < N_BEHIND; i++)
        answers_enqueue(&as, i % 2 ? "q" : "r", "t", NULL); /* no neighbours for one queue */
    while (now_ms() - began_ms <= BEHIND_MS)
        run_loop(s->base, 10);
    snprintf(front.counts->refusal, sizeof front.counts->refusal,
             "-READONLY You can't write against a read only replica.\r\n");
    front.counts->refuses_in = 1;
    while (front.counts->refuses_in > 0)
        run_loop(s->base, 10);
    proxy_pace(&proxy, 0, 0, 0);
    answers_await(&as, 1 + N_BEHIND);
    assert_int_equal(as.counts[0], 1 + N_BEHIND);
    answers_close(&as);
    hostile_server_stop(&front);
    proxy_stop(&proxy);
}

/* Nor does it cost anything when Redis refuses for a moment what has waited for longer than its time: that counts from the
 * first refusal. */
static void what_waits_behind_others_outlives_a_refusal_that_passes(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, BEHIND_MS, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    proxy_pace(&proxy, PROXY_DATA, 20, 25); /* about an answer each time */
    const int64_t began_ms = now_ms(), refusals = redis_server_info(s->server, "total_error_replies");
    for (int i = 0; i < N_BEHIND; i++)
        answers_enqueue(&as, i % 2 ? "q" : "r", "t", NULL); /* no neighbours for one queue */
    while (now_ms() - began_ms <= BEHIND_MS)
        run_loop(s->base, 10);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 1");
    while (redis_server_info(s->server, "total_error_replies") == refusals)
        run_loop(s->base, 10);
    proxy_pace(&proxy, 0, 0, 0);
    assert_err(muster_async_wait(as.async, 100), MUSTER_E_TIMEOUT);
    raw_do(s->server->redis, "CONFIG SET min-replicas-to-write 0");
    answers_await(&as, 1 + N_BEHIND);
    assert_int_equal(as.counts[0], 1 + N_BEHIND);
    answers_close(&as);
    proxy_stop(&proxy);
}

/* As one whose machine is off: the next one has its share of the time of a call. */
static void of_several_sentinels_a_silent_one_is_left_in_the_time_of_the_call(void **state)
{
    struct scene *s = *state;
    struct redis_server master;
    struct fake_server silent, there;
    struct answers as;
    char url[160];
    redis_server_start(&master, &(struct redis_server_options){.tcp = true});
    fake_server_start(&silent, NULL);
    fake_server_sentinel(&there, master.port);
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/main", silent.port, there.port);
    answers_open(&as, s, url, 4000, NULL);
    assert_err(ask_one(&as).err, MUSTER_OK);
    answers_close(&as);
    fake_server_stop(&there);
    fake_server_stop(&silent);
    redis_server_remove(&master);
}

/* ---- confirmation ---- */

static void without_a_replica_it_is_there_and_unconfirmed(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[160];
    snprintf(url, sizeof url, "%s?replicas=1,100", s->server->url);
    answers_open(&as, s, url, LONG_MS, NULL);
    for (int i = 0; i < 10; i++)
        answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 10);
    assert_int_equal(as.counts[-MUSTER_E_UNCONFIRMED], 10);
    assert_int_equal(as.rows[9].waiting, 10);
    assert_non_null(strstr(as.rows[0].text, "0 of 1"));
    assert_int_equal(length_of(s, "q"), 10);
    answers_close(&as);
}

static void with_a_replica_each_is_confirmed(void **state)
{
    struct scene *s = *state;
    struct redis_server master, replica;
    struct answers as;
    char url[160];
    redis_server_start(&master, &(struct redis_server_options){.tcp = true});
    redis_server_start(&replica, &(struct redis_server_options){.replica_of = &master});
    redis_server_await_replicas(&master, 1);
    snprintf(url, sizeof url, "%s?replicas=1,5000", master.url);
    answers_open(&as, s, url, LONG_MS, NULL);
    for (int i = 0; i < 1000; i++) {
        if (i % 250 == 100)
            raw_do(master.redis, "SCRIPT FLUSH");
        answers_enqueue(&as, "q", "t", NULL);
    }
    answers_await(&as, 1000);
    assert_int_equal(as.counts[0], 1000);
    answers_close(&as);
    redis_server_remove(&replica);
    redis_server_remove(&master);
}

static void disks_that_the_server_has_not_are_told_and_nothing_is_added(void **state)
{
    struct scene *s = *state;
    struct answers as;
    char url[160];
    snprintf(url, sizeof url, "%s?fsync=1", s->server->url);
    answers_open(&as, s, url, LONG_MS, NULL);
    struct answer_row row = ask_one(&as);
    assert_err(row.err, MUSTER_E_REDIS);
    assert_non_null(strstr(row.text, "fsync"));
    assert_int_equal(length_of(s, "q"), 0);
    answers_close(&as);
}

/* A namespace that has its format is not given one, whatever else is asked for: so what a full Redis allows goes on, and who
 * may not write the format. */
static void disks_that_are_asked_for_hinder_no_end(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *words[3], *begins, *ends;
    } rows[] = {{{"CONFIG", "SET", "maxmemory"}, "1", "0"}, {{"ACL", "SETUSER", "default"}, "-set", "+set"}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        const char *const *w = rows[i].words;
        struct hostile_server disks = {.pid = 0};
        struct answers as;
        char url[160];
        hostile_server_start(
            &disks, s->server->dir,
            &(struct hostile_spec){.relay_to = s->server->socket, .constant = "*2\r\n:1\r\n:0\r\n", .only = "WAITAOF"});
        snprintf(url, sizeof url, "%s?fsync=1", disks.url);
        scene_enqueue(s, "q", "t");
        const char *process = take_one(s, "q", "t");
        raw_do(s->server->redis, "%s %s %s %s", w[0], w[1], w[2], rows[i].begins);
        answers_open(&as, s, url, LONG_MS, NULL);
        assert_ok(muster_async_finish(as.async, process, NULL, answers_fn, NULL));
        answers_await(&as, 1);
        raw_do(s->server->redis, "%s %s %s %s", w[0], w[1], w[2], rows[i].ends);
        assert_err(as.last.err, MUSTER_OK);
        assert_err(ask_one(&as).err, MUSTER_OK);
        answers_close(&as);
        hostile_server_stop(&disks);
        raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
    }
}

/* ---- threads ---- */

struct caller {
    struct answers *as;
    pthread_t thread;
};

static void *call_many(void *arg)
{
    struct caller *c = arg;
    for (int i = 0; i < 2000; i++)
        answers_enqueue(c->as, "q", "t", NULL);
    return NULL;
}

static void threads_call_while_connections_are_cut(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    struct caller callers[3];
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, LONG_MS, NULL);
    for (size_t i = 0; i < N_OF(callers); i++) {
        callers[i].as = &as;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_many, &callers[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        proxy_cut(&proxy, PROXY_DATA);
        muster_async_dispatch(as.async, 100);
    }
    for (size_t i = 0; i < N_OF(callers); i++)
        pthread_join(callers[i].thread, NULL);
    answers_await(&as, 6000);
    assert_int_equal(as.counts[0] + as.counts[-MUSTER_E_CONN], 6000);
    assert_in_range(length_of(s, "q"), as.counts[0], 6000);
    answers_close(&as);
    proxy_stop(&proxy);
}

/* Each answer takes longer than it takes until the server's role is asked for again (ROLE_LOOK_MS). */
static void a_slow_server_is_asked_for_more_than_its_role(void **state)
{
    struct scene *s = *state;
    struct proxy proxy;
    struct answers as;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    answers_open(&as, s, proxy.url, 60000, NULL);
    answers_enqueue(&as, "q", "t", NULL);
    answers_await(&as, 1);
    proxy_delay(&proxy, 600);
    for (size_t i = 2; i <= 3; i++) {
        answers_enqueue(&as, "q", "t", NULL);
        assert_ok(muster_async_wait(as.async, 60000));
        answers_await(&as, i);
        assert_err(as.last.err, MUSTER_OK);
    }
    answers_close(&as);
    proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(without_a_redis_a_call_waits_for_its_time_and_fails),
        live_test(calls_wait_for_a_redis_that_starts_again),
        live_test(a_wrong_password_is_told_at_once),
        live_test(another_format_is_told_at_once_also_if_it_comes_later),
        live_test(a_format_that_somebody_else_claims_first_is_told),
        live_test(a_redis_that_stands_still_is_a_timeout),
        live_test(each_call_has_one_true_answer_while_connections_are_cut),
        live_test(a_lost_request_and_a_lost_answer_are_told_alike),
        live_test(redis_is_killed_with_thousands_in_flight),
        live_test(scripts_that_redis_has_forgotten_are_sent_again),
        live_test(a_full_redis_is_told),
        live_test(a_key_of_the_wrong_type_is_named),
        live_test(what_is_refused_for_a_reason_that_passes_is_sent_again),
        live_test(it_is_busy_if_the_reason_does_not_pass_in_time),
        live_test(who_only_reads_goes_on_while_no_format_can_be_written),
        live_test(what_waits_behind_others_goes_on_over_the_next_connection),
        live_test(what_waits_behind_others_outlives_a_refusal_that_passes),
        live_test(of_several_sentinels_a_silent_one_is_left_in_the_time_of_the_call),
        live_test(without_a_replica_it_is_there_and_unconfirmed),
        live_test(with_a_replica_each_is_confirmed),
        live_test(disks_that_the_server_has_not_are_told_and_nothing_is_added),
        live_test(disks_that_are_asked_for_hinder_no_end),
        live_test(threads_call_while_connections_are_cut),
        live_test(a_slow_server_is_asked_for_more_than_its_role),
    };
    return scene_run(tests, argc, argv);
}
