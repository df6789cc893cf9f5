/* SPDX-License-Identifier: MIT
 *
 * Starting a worker when something is in the way: a live twin, a foreign format, no permission, no Redis.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_server.h"
#include "live_worker.h"

static void a_live_twin_is_refused_and_the_first_is_unaffected(void **state)
{
    struct scene *s = *state;
    live_worker_idle(s, &(struct worker_spec){.id = "twin", .hands = 2, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "mine");
    scene_await_starts(s, 1);
    char *epoch = raw_string(s->server->redis, "GET %s:alive:twin", s->prefix);

    struct live_worker *second =
        live_worker_new(s, &(struct worker_spec){.id = "twin", .hands = 2, .queues = {{"q", 0}, {"other", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "twin", 1);
    assert_int_equal(second->stop_err, MUSTER_E_EXISTS);
    assert_string_not_equal(muster_worker_error(second->worker), "");
    assert_string_not_equal(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, "twin", NULL)->text, "");

    char *after = raw_string(s->server->redis, "GET %s:alive:twin", s->prefix);
    bool same = !strcmp(epoch, after);
    free(epoch);
    free(after);
    assert_true(same);
    assert_int_equal(raw_int(s->server->redis, "HLEN %s:processing:twin:q", s->prefix), 1);
    scene_enqueue(s, "q", "mine too");
    scene_await_starts(s, 2);
    scene_enqueue(s, "other", "nobody's");
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:other", s->prefix), 1);
}

static void an_id_is_free_again_after_its_worker_has_stopped(void **state)
{
    struct scene *s = *state;
    const struct worker_spec spec = {.id = "w1", .ttl_ms = 60000, .queues = {{"q", 0}}};
    for (size_t life = 1; life <= 3; life++) {
        struct live_worker *w = live_worker_idle(s, &spec);
        scene_enqueue(s, "q", "t");
        scene_await_starts(s, life);
        assert_ok(muster_worker_stop(w->worker, -1));
        scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", life);
        assert_int_equal(w->stop_err, MUSTER_OK);
    }
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "w1", NULL), 3);
}

static void another_format_stops_the_worker_and_nothing_is_written(void **state)
{
    struct scene *s = *state;
    char before[41], after[41];
    raw_do(s->server->redis, "SET %s:format 9", s->prefix);
    redis_server_digest(s->server, before);
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_int_equal(w->stop_err, MUSTER_E_FORMAT);
    assert_non_null(strstr(muster_worker_error(w->worker), "use a release of muster that knows this format"));
    redis_server_digest(s->server, after);
    assert_string_equal(before, after);
}

static void denied_access_stops_the_worker(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    char urls[3][96];
    redis_server_start(&own, &(struct redis_server_options){.tcp = true, .password = "word"});
    raw_do(own.redis, "ACL SETUSER reader on >word ~* &* +@read +@connection +@pubsub");
    snprintf(urls[0], sizeof urls[0], "redis://127.0.0.1:%d", own.port);
    snprintf(urls[1], sizeof urls[1], "redis://:wrong@127.0.0.1:%d", own.port);
    snprintf(urls[2], sizeof urls[2], "redis://reader:word@127.0.0.1:%d", own.port);
    for (size_t i = 0; i < N_OF(urls); i++) {
        struct live_worker *w =
            live_worker_new(s, &(struct worker_spec){.id = "w1", .url = urls[i], .queues = {{"q", 0}}});
        scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", i + 1);
        assert_int_equal(w->stop_err, MUSTER_E_DENIED);
        assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL), 0);
        live_worker_free(s, w);
    }
    assert_int_equal(raw_int(own.redis, "DBSIZE"), 0);
    redis_server_remove(&own);
}

static void run_tells_what_ended_it(void **state)
{
    struct scene *s = *state;
    struct muster_worker *w;
    live_worker_idle(s, &(struct worker_spec){.id = "twin", .ttl_ms = 60000, .queues = {{"q", 0}}});
    const struct muster_worker_options o = {.size = sizeof o, .url = s->server->url, .prefix = s->prefix, .id = "twin"};
    assert_ok(muster_worker_new(&w, &o));
    assert_ok(muster_worker_start(w));
    assert_err(muster_worker_run(w), MUSTER_E_EXISTS);
    assert_string_not_equal(muster_worker_error(w), "");
    muster_worker_free(w);
}

/* ---- no Redis yet ---- */

static void without_redis_the_worker_goes_on_trying(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    redis_server_kill(&own);
    live_worker_new(s, &(struct worker_spec){.id = "w1", .url = own.url, .ttl_ms = 600, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 1);
    assert_null(journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "w1", NULL));
    redis_server_restart(&own);
    int64_t up = now_ms();
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 1);
    print_message("started %d ms after Redis came up\n", (int)(now_ms() - up));
    assert_in_range(now_ms() - up, 0, 2000);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STOPPED, NULL, NULL), 0);
    redis_server_remove(&own);
}

/* Once per outage and connection, however many attempts: there are two connections. */
static void an_outage_is_told_once(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, NULL);
    live_worker_new(s, &(struct worker_spec){.id = "w1", .url = own.url, .ttl_ms = 300, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STARTED, "w1", 1);
    size_t ups = journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_UP, "w1", NULL);
    redis_server_kill(&own);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 2);
    /* At most ttl/6 between attempts: 500 ms are ten and more. */
    run_loop(s->base, 500);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL), 2);
    const struct journal_entry *e = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL);
    assert_int_equal(e->err, MUSTER_E_CONN);
    assert_string_not_equal(e->text, "");
    redis_server_restart(&own);
    scene_await_events(s, MUSTER_EVENT_UP, "w1", ups + 1);
    redis_server_remove(&own);
}

/* Whatever a server says, the worker neither crashes nor ends, and says that something is wrong. */
static void servers_that_are_no_use_are_told_and_tried_again(void **state)
{
    struct scene *s = *state;
    const char *answers[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
                             "*1\r\n:1\r\n",
                             ":1\r\n",
                             "*3\r\n:1\r\n:2\r\n:3\r\n",
                             "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
                             "*-1\r\n",
                             "-LOADING Redis is loading the dataset in memory\r\n",
                             "-ERR max number of clients reached\r\n",
                             "",
                             NULL};
    for (size_t i = 0; i < N_OF(answers); i++) {
        struct fake_server fake;
        char id[8];
        snprintf(id, sizeof id, "w%zu", i);
        fake_server_start(&fake, answers[i]);
        print_message("answer %zu\n", i);
        struct live_worker *w =
            live_worker_new(s, &(struct worker_spec){.id = id, .url = fake.url, .ttl_ms = 300, .queues = {{"q", 0}}});
        scene_await_events(s, MUSTER_EVENT_DOWN, id, 1);
        run_loop(s->base, 200);
        assert_false(w->has_stopped);
        live_worker_free(s, w);
        fake_server_stop(&fake);
    }
    assert_int_equal(scene_starts(s), 0);
}

static void an_older_redis_ends_the_worker_in_words(void **state)
{
    struct scene *s = *state;
    const char *answers[] = {"*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n6.2.7\r\n",
                             "-ERR unknown command `HELLO`, with args beginning with: \r\n"};
    for (size_t i = 0; i < N_OF(answers); i++) {
        struct fake_server fake;
        fake_server_start(&fake, answers[i]);
        struct live_worker *w =
            live_worker_new(s, &(struct worker_spec){.id = "w1", .url = fake.url, .queues = {{"q", 0}}});
        scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", i + 1);
        assert_int_equal(w->stop_err, MUSTER_E_REDIS);
        assert_non_null(strstr(muster_worker_error(w->worker), "muster needs Redis 7.0 or later"));
        /* It does not go on trying, so it must not say so. */
        assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL), 0);
        live_worker_free(s, w);
        fake_server_stop(&fake);
    }
}

/* It cannot be read later either. */
static void a_file_that_cannot_be_read_ends_the_worker_without_a_promise_to_try(void **state)
{
    struct scene *s = *state;
    const char *url = "rediss://127.0.0.1:1?tls_ca=/nonexistent/ca.pem";
    if (muster_url_check(url))
        return; /* a build without TLS */
    struct live_worker *w = live_worker_new(s, &(struct worker_spec){.id = "w1", .url = url, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_STOPPED, "w1", 1);
    assert_int_equal(w->stop_err, MUSTER_E_INVALID);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL), 0);
}

/* One of two places tells what is wrong, under the code that the other one has, too. */
static void the_more_telling_reason_is_told_after_the_trivial_one(void **state)
{
    struct scene *s = *state;
    struct fake_server plain;
    char refusing[64], url[160];
    int fd = fake_server_refuse(refusing);
    fake_server_start(&plain, "HTTP/1.1 400 Bad Request\r\n\r\n");
    snprintf(url, sizeof url, "rediss+cluster://%s,127.0.0.1:%d?tls_insecure=1", refusing + strlen("redis://"),
             plain.port);
    if (!muster_url_check(url)) {
        live_worker_new(s, &(struct worker_spec){.id = "w1", .url = url, .ttl_ms = 600, .queues = {{"q", 0}}});
        scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 3);
        const struct journal_entry *first = journal_find(s->journal, 0, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w1", NULL);
        const struct journal_entry *last = journal_at(s->journal, journal_size(s->journal) - 1);
        assert_non_null(strstr(first->text, "refused"));
        assert_int_equal(last->err, MUSTER_E_CONN);
        assert_non_null(strstr(last->text, "does not speak TLS"));
    }
    fake_server_stop(&plain);
    close(fd);
}

static void a_refused_connection_does_not_spin(void **state)
{
    struct scene *s = *state;
    char refusing[64];
    int fd = fake_server_refuse(refusing);
    live_worker_new(s, &(struct worker_spec){.id = "w1", .url = refusing, .ttl_ms = 6000, .queues = {{"q", 0}}});
    scene_await_events(s, MUSTER_EVENT_DOWN, "w1", 1);
    clock_t before = clock();
    run_loop(s->base, 500);
    /* The loop of this test itself wakes every few milliseconds. */
    assert_in_range((clock() - before) * 1000 / CLOCKS_PER_SEC, 0, 250);
    close(fd);
}

/* ---- what Redis may lose ---- */

static void cut_all_off(struct live_worker *w, const struct muster_event *e)
{
    struct scene *s = w->spec.arg;
    if (e->type == MUSTER_EVENT_STARTED)
        raw_do(s->server->redis, "CLIENT KILL TYPE normal SKIPME yes");
}

/* Its question is on the way when the connection breaks. */
static void what_redis_may_lose_is_told_though_the_first_answer_was_lost(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    live_worker_new(
        s, &(struct worker_spec){.id = "w", .ttl_ms = 3000, .queues = {{"q", 0}}, .on_event = cut_all_off, .arg = s});
    scene_await_events(s, MUSTER_EVENT_RISK, "w", 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_STARTED, "w", NULL), 1);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_DOWN, "w", NULL), 1);
    raw_do(s->server->redis, "CONFIG SET maxmemory-policy noeviction");
}

static redisContext *busy;
static bool is_busy;

static void begin_busy(struct live_worker *w, const struct muster_event *e)
{
    struct scene *s = w->spec.arg;
    int is_written = 0;
    if (e->type == MUSTER_EVENT_REFUSED && is_busy) {
        raw_do(s->server->redis, "SCRIPT KILL");
        is_busy = false;
    }
    if (e->type != MUSTER_EVENT_STARTED)
        return;
    redisAppendCommand(busy, "EVAL %s 0", "while true do end");
    while (!is_written)
        assert_int_equal(redisBufferWrite(busy, &is_written), REDIS_OK);
    while (!is_busy) {
        redisReply *reply = redisCommand(s->server->redis, "PING");
        assert_non_null(reply);
        is_busy = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY ", 5) == 0;
        freeReplyObject(reply);
    }
}

static void what_redis_may_lose_is_told_though_it_was_busy_first(void **state)
{
    struct scene *s = *state;
    is_busy = false;
    busy = redisConnectUnix(s->server->socket);
    assert_true(busy && !busy->err);
    raw_do(s->server->redis, "CONFIG SET maxmemory-policy allkeys-lru");
    raw_do(s->server->redis, "CONFIG SET lua-time-limit 1");
    live_worker_new(
        s, &(struct worker_spec){.id = "w", .ttl_ms = 3000, .queues = {{"q", 0}}, .on_event = begin_busy, .arg = s});
    scene_await_events(s, MUSTER_EVENT_REFUSED, "w", 1);
    scene_await_events(s, MUSTER_EVENT_RISK, "w", 1);
    raw_do(s->server->redis, "CONFIG SET lua-time-limit 5000");
    raw_do(s->server->redis, "CONFIG SET maxmemory-policy noeviction");
    redisFree(busy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_live_twin_is_refused_and_the_first_is_unaffected),
        live_test(an_id_is_free_again_after_its_worker_has_stopped),
        live_test(another_format_stops_the_worker_and_nothing_is_written),
        live_test(denied_access_stops_the_worker),
        live_test(run_tells_what_ended_it),
        live_test(without_redis_the_worker_goes_on_trying),
        live_test(an_outage_is_told_once),
        live_test(servers_that_are_no_use_are_told_and_tried_again),
        live_test(an_older_redis_ends_the_worker_in_words),
        live_test(a_file_that_cannot_be_read_ends_the_worker_without_a_promise_to_try),
        live_test(the_more_telling_reason_is_told_after_the_trivial_one),
        live_test(a_refused_connection_does_not_spin),
        live_test(what_redis_may_lose_is_told_though_the_first_answer_was_lost),
        live_test(what_redis_may_lose_is_told_though_it_was_busy_first),
    };
    return scene_run(tests, argc, argv);
}
