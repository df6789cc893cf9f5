/* SPDX-License-Identifier: MIT
 *
 * A proxy cuts connections at every byte of what Redis answers, or passes the answers on in drips: for a client's
 * calls, for a listener, and for a worker's link, with commands and with a subscription. Each use of a connection is
 * repeated with one byte more until it gets through uncut. And over a slow line what is large comes through, both ways.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "limited.h"
#include "proxy.h"
#include "redis/link.h"
#include "redis/redis.h"
#include "scene.h"
#include "slow.h"

#define LARGE ((size_t)4 * 1024 * 1024)

static struct proxy proxy;

static void begin(struct scene *s)
{
    proxy_start(&proxy, s->server->dir, s->server->socket);
}

/* ---- a client ---- */

static void use_client(struct scene *s, int n, int *n_cut)
{
    char request[32];
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = proxy.url, .prefix = s->prefix};
    const struct muster_bytes task = {"task", 4};
    snprintf(request, sizeof request, "r%d", n);
    const struct muster_enqueue_options once = {.size = sizeof once, .request_id = request};
    uint64_t waiting;
    assert_ok(muster_client_new(&c, &o));
    int err = muster_task_enqueue_many(c, "q", &task, 1, &once, &waiting);
    *n_cut += err != MUSTER_OK;
    if (err != MUSTER_OK) {
        assert_int_equal(err, MUSTER_E_CONN);
        assert_string_not_equal(muster_client_error(c), "");
        assert_ok(muster_task_enqueue_many(c, "q", &task, 1, &once, &waiting));
    }
    assert_int_equal(waiting, n + 1); /* once, however often it was sent */
    muster_client_free(c);
}

static void a_clients_call_is_cut_at_every_byte(void **state)
{
    struct scene *s = *state;
    int n = 0, n_cut = 0;
    begin(s);
    do {
        proxy_ration(&proxy, PROXY_BOTH, n);
        use_client(s, n, &n_cut);
    } while (n_cut > n++);
    print_message("a client: %d cuts\n", n_cut);
    assert_true(n_cut > 100);
    assert_int_equal(scene_waiting(s, "q"), n);
    proxy_stop(&proxy);
}

/* ---- a listener ---- */

static struct redis *connection(struct scene *s, int timeout_ms)
{
    struct url url;
    const char *why;
    struct redis *r;
    char key[64], root[64];
    snprintf(key, sizeof key, "%s:format", s->prefix);
    snprintf(root, sizeof root, "%s:", s->prefix);
    assert_ok(url_parse(&url, proxy.url, &why));
    assert_ok(redis_new(
        &r, &(struct redis_options){
                .url = &url, .timeout_ms = timeout_ms, .prefix = s->prefix, .format_key = key, .root_key = root}));
    url_clear(&url);
    return r;
}

static int hear_one(struct scene *s, struct redis *r)
{
    struct redis *listener;
    struct redisReply *message = NULL;
    int err = redis_listen(&listener, r, (const char *const[]){"one", "two", NULL}, 2);
    if (err != MUSTER_OK)
        return err;
    assert_int_equal(raw_int(s->server->redis, "PUBLISH two text"), 1);
    err = redis_hear(listener, SOON_MS, &message);
    assert_int_equal(err == MUSTER_OK, reply_is(reply_at(message, 2), "text"));
    redis_reply_free(message);
    redis_free(listener);
    return err;
}

static void a_listener_is_cut_at_every_byte(void **state)
{
    struct scene *s = *state;
    int n = 0, err;
    begin(s);
    struct redis *r = connection(s, SOON_MS);
    do {
        proxy_ration(&proxy, PROXY_BOTH, n);
        err = hear_one(s, r);
        if (err != MUSTER_OK) {
            assert_err(err, MUSTER_E_CONN);
            assert_string_not_equal(redis_error(r), "");
            assert_ok(hear_one(s, r));
        }
    } while (err != MUSTER_OK && ++n);
    print_message("a listener: %d cuts\n", n);
    assert_true(n > 100);
    redis_free(r);
    proxy_stop(&proxy);
}

/* ---- a link ---- */

#define CALLS 3

/* What was called and told in the course of one use. */
struct use {
    struct scene *scene;
    struct link *link;
    int n_accepted, n_replies, n_nulls, n_ups, n_downs, n_messages, err;
    char why[256];
    bool is_up, is_done;
    size_t len; /* of the last reply */
};

static struct lua_script script = {.name = "answer", .body = (const unsigned char *)"return {1, 'two', {}}", .len = 21};

static void on_reply(const struct redisReply *reply, void *arg)
{
    struct use *u = arg;
    u->n_replies += reply != NULL;
    u->n_nulls += reply == NULL;
    u->len = reply_bytes(reply).len;
    assert_true(u->n_replies + u->n_nulls <= u->n_accepted);
    u->is_done = reply && (u->n_replies % CALLS == 0 || u->n_nulls > 0);
}

static void call_words(struct use *u, const char *const *words, const struct lua_script *of)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, words);
    c.script = of;
    assert_ok(of ? link_script(u->link, &c, on_reply, u) : link_call(u->link, &c, on_reply, u));
    command_clear(&c);
    u->n_accepted++;
}

static void call_on_up(void *arg)
{
    struct use *u = arg;
    u->n_ups++;
    u->is_up = true;
    u->n_replies = u->n_nulls = u->n_accepted = 0;
    raw_do(u->scene->server->redis, "SCRIPT FLUSH");
    call_words(u, (const char *const[]){"ECHO", "some words", NULL}, NULL);
    call_words(u, (const char *const[]){"EVALSHA", "0123456789012345678901234567890123456789", "0", NULL}, &script);
    call_words(u, (const char *const[]){"TIME", NULL}, NULL);
}

static void on_down(void *arg, int err, const char *text)
{
    struct use *u = arg;
    u->n_downs++;
    u->err = err;
    snprintf(u->why, sizeof u->why, "%s", text);
    u->is_up = false;
    assert_int_equal(u->n_replies + u->n_nulls, u->n_accepted); /* before it is told, all have their answer */
}

static void subscribe_on_up(void *arg)
{
    struct use *u = arg;
    u->n_ups++;
    u->is_up = true;
    assert_ok(link_subscribe(u->link, WIRE_CLASSIC, "channel"));
    assert_ok(link_subscribe(u->link, WIRE_SHARDED, "shard channel"));
}

static void publish(void *arg)
{
    struct use *u = arg;
    raw_do(u->scene->server->redis, "PUBLISH channel %s", "text");
    raw_do(u->scene->server->redis, "SPUBLISH %s %s", "shard channel", "text");
}

static void on_message(void *arg, const char *channel, struct muster_bytes message)
{
    struct use *u = arg;
    assert_true(strcmp(channel, "channel") == 0 || strcmp(channel, "shard channel") == 0);
    assert_int_equal(message.len, 4);
    assert_memory_equal(message.data, "text", 4);
    u->n_messages++;
    u->is_done = strcmp(channel, "shard channel") == 0;
}

static const struct link_callbacks calls = {.up = call_on_up, .down = on_down}, listens = {.up = subscribe_on_up,
                                                                                           .down = on_down,
                                                                                           .subscribed = publish,
                                                                                           .message = on_message};

static void link_begin(struct use *u, struct scene *s, const struct link_callbacks *callbacks, int silence_ms)
{
    struct url url;
    const char *why;
    *u = (struct use){.scene = s};
    assert_ok(url_parse(&url, proxy.url, &why));
    assert_ok(link_new(&u->link, &(struct link_options){.base = s->base,
                                                        .url = &url,
                                                        .prefix = s->prefix,
                                                        .root_key = "root",
                                                        .name = "test",
                                                        .delay_max_ms = 1,
                                                        .silence_ms = silence_ms,
                                                        .callbacks = *callbacks,
                                                        .arg = u}));
    url_clear(&url);
    link_connect(u->link);
}

static bool is_done(void *arg)
{
    return ((struct use *)arg)->is_done;
}

static bool is_down(void *arg)
{
    return ((struct use *)arg)->n_downs > 0;
}

static void cut_link(struct scene *s, const struct link_callbacks *callbacks, const char *what)
{
    struct use u;
    int n = 0;
    begin(s);
    for (;; n++) {
        proxy_ration(&proxy, PROXY_BOTH, n);
        link_begin(&u, s, callbacks, SOON_MS);
        wait_on(s->base, is_done, &u, SOON_MS);
        link_free(u.link);
        if (u.n_downs == 0)
            break;
        assert_int_equal(u.n_downs, 1); /* each break is told once */
        assert_int_equal(u.err, MUSTER_E_CONN);
    }
    print_message("%s: %d cuts\n", what, n);
    assert_true(n > 100);
    proxy_stop(&proxy);
}

static void a_link_is_cut_at_every_byte_of_its_answers(void **state)
{
    cut_link(*state, &calls, "a link");
}

static void a_link_is_cut_at_every_byte_of_its_subscription(void **state)
{
    cut_link(*state, &listens, "a subscription");
}

/* ---- drips ---- */

#define TIMEOUT_MS 400
/* A server that held them would take several times as long. */
#define IN_TIME_MS slow_ms(3000)

static int get(struct redis *r, const char *key, size_t *len)
{
    struct redisReply *reply = NULL;
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"GET", key, NULL});
    int err = redis_call(r, &c, &reply);
    command_clear(&c);
    *len = reply_bytes(reply).len;
    redis_reply_free(reply);
    return err;
}

static void set(struct scene *s, const char *key, size_t len)
{
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    redisReply *r = redisCommand(s->server->redis, "SET %s %b", key, text, len);
    assert_int_equal(r->type, REDIS_REPLY_STATUS);
    freeReplyObject(r);
    free(text);
}

static void a_server_that_drips_holds_no_call(void **state)
{
    struct scene *s = *state;
    size_t len;
    begin(s);
    set(s, "key", 200);
    struct redis *r = connection(s, TIMEOUT_MS);
    assert_ok(get(r, "key", &len));
    proxy_pace(&proxy, PROXY_BOTH, 1, 100);
    for (int i = 0; i < 2; i++) { /* its answer, then its greeting */
        int64_t began = now_ms();
        assert_err(get(r, "key", &len), MUSTER_E_TIMEOUT);
        assert_non_null(strstr(redis_error(r), "no answer within 400 ms"));
        assert_in_range(now_ms() - began, TIMEOUT_MS - 1, IN_TIME_MS);
    }
    redis_free(r);
    proxy_stop(&proxy);
}

static void a_server_that_drips_holds_no_link(void **state)
{
    struct scene *s = *state;
    struct use u;
    begin(s);
    proxy_pace(&proxy, PROXY_BOTH, 1, 100);
    int64_t began = now_ms();
    link_begin(&u, s, &calls, TIMEOUT_MS);
    wait_on(s->base, is_down, &u, IN_TIME_MS);
    assert_err(u.err, MUSTER_E_TIMEOUT);
    assert_non_null(strstr(u.why, "no answer for 400 ms"));
    assert_in_range(now_ms() - began, TIMEOUT_MS - 50, IN_TIME_MS);
    link_free(u.link);
    proxy_stop(&proxy);
}

static void a_server_that_drips_holds_no_listener(void **state)
{
    struct scene *s = *state;
    struct redis *listener;
    struct redisReply *message;
    begin(s);
    struct redis *r = connection(s, TIMEOUT_MS);
    assert_ok(redis_listen(&listener, r, (const char *const[]){"c", NULL}, 1));
    proxy_pace(&proxy, PROXY_BOTH, 1, 100);
    raw_do(s->server->redis, "PUBLISH c %s",
           "a message that is so long that it would take more than ten seconds in drips of a byte each");
    int64_t began = now_ms();
    assert_err(redis_hear(listener, 60000, &message), MUSTER_E_CONN);
    assert_non_null(strstr(redis_error(r), "no sign of life"));
    assert_in_range(now_ms() - began, 5000, 5000 + IN_TIME_MS);
    redis_free(listener);
    redis_free(r);
    proxy_stop(&proxy);
}

/* Longer than the timeout, but never silent for so long. */
static void a_large_answer_comes_through_over_a_slow_line(void **state)
{
    struct scene *s = *state;
    struct use u;
    size_t len;
    begin(s);
    set(s, "large", LARGE);
    proxy_pace(&proxy, PROXY_BOTH, 128 * 1024, 50);
    struct redis *r = connection(s, TIMEOUT_MS);
    int64_t began = now_ms();
    assert_ok(get(r, "large", &len));
    assert_int_equal(len, LARGE);
    assert_true(now_ms() - began > TIMEOUT_MS);
    redis_free(r);

    link_begin(&u, s, &calls, TIMEOUT_MS);
    wait_on(s->base, is_done, &u, SOON_MS);
    u.is_done = false;
    began = now_ms();
    u.n_replies = CALLS - 1;
    u.n_accepted = CALLS - 1;
    call_words(&u, (const char *const[]){"GET", "large", NULL}, NULL);
    wait_on(s->base, is_done, &u, SOON_MS);
    assert_int_equal(u.len, LARGE);
    assert_true(now_ms() - began > TIMEOUT_MS);
    assert_int_equal(u.n_downs, 0);
    link_free(u.link);
    proxy_stop(&proxy);
}

/* ---- limits ---- */

static int look(struct redis *r)
{
    struct redisReply *reply = NULL;
    struct command c = {.is_look = true};
    command_words(&c, (const char *const[]){"GET", "looked-at", NULL});
    int err = redis_call(r, &c, &reply);
    command_clear(&c);
    redis_reply_free(reply);
    return err;
}

/* What the limits may be why of is the last call, and no connection ended at one that has found none. */
static void an_end_without_a_connection_is_not_put_down_to_limits(void **state)
{
    struct scene *s = *state;
    begin(s);
    limited_set(s, "normal 1mb 0 0");
    struct redis *r = connection(s, SOON_MS);
    assert_ok(look(r));
    proxy_trap(&proxy, "looked-at", PROXY_REPLIES);
    assert_err(look(r), MUSTER_E_CONN);
    assert_non_null(redis_answer_limits(r));
    proxy_refuse(&proxy);
    proxy_cut(&proxy, PROXY_BOTH);
    assert_err(look(r), MUSTER_E_CONN);
    assert_null(redis_answer_limits(r));
    redis_free(r);
    proxy_stop(&proxy);
}

/* ---- a large request ---- */

#define REQUEST_LEN ((size_t)6 * 1024 * 1024)
/* It takes 6 s, four times as long as anybody waits for an answer. */
#define DRIP_MS 16
#define LARGE_MS 1500

static struct command large_request(const char *text)
{
    struct command c = COMMAND_EMPTY;
    command_words(&c, (const char *const[]){"SET", "large", NULL});
    command_bytes(&c, text, REQUEST_LEN);
    return c;
}

static void assert_arrived(struct scene *s)
{
    assert_int_equal(raw_int(s->server->redis, "STRLEN large"), REQUEST_LEN);
    raw_do(s->server->redis, "DEL large");
}

static void send_by_call(struct scene *s, struct command *c)
{
    struct redisReply *reply;
    struct redis *r = connection(s, slow_ms(LARGE_MS));
    assert_ok(redis_call(r, c, &reply));
    assert_true(reply_is(reply, "OK"));
    redis_reply_free(reply);
    redis_free(r);
}

static void send_by_link(struct scene *s, struct command *c)
{
    struct use u;
    link_begin(&u, s, &calls, slow_ms(LARGE_MS));
    wait_on(s->base, is_done, &u, SOON_MS);
    u.is_done = false;
    u.n_replies = CALLS - 1;
    u.n_accepted = CALLS;
    assert_ok(link_call(u.link, c, on_reply, &u));
    wait_on(s->base, is_done, &u, 4 * SOON_MS);
    assert_int_equal(u.n_downs, 0);
    link_free(u.link);
}

/* The kernel takes megabytes of it at once, and then none for longer than anybody waits for an answer. */
static void a_large_request_comes_through_over_a_slow_line(void **state)
{
    static void (*const ways[])(struct scene *, struct command *) = {send_by_call, send_by_link};
    struct scene *s = *state;
    char *text = malloc(REQUEST_LEN);
    assert_non_null(text);
    memset(text, 'x', REQUEST_LEN);
    proxy_start_tcp(&proxy, redis_server_free_port(), 0);
    proxy_lead(&proxy, s->server->socket);
    proxy_pace_requests(&proxy, PROXY_BOTH, 16 * 1024, DRIP_MS, PROXY_WAIT);
    for (size_t i = 0; i < N_OF(ways); i++) {
        struct command c = large_request(text);
        ways[i](s, &c);
        command_clear(&c);
        assert_arrived(s);
    }
    proxy_stop(&proxy);
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_clients_call_is_cut_at_every_byte),
        live_test(a_listener_is_cut_at_every_byte),
        live_test(a_link_is_cut_at_every_byte_of_its_answers),
        live_test(a_link_is_cut_at_every_byte_of_its_subscription),
        live_test(a_server_that_drips_holds_no_call),
        live_test(a_server_that_drips_holds_no_link),
        live_test(a_server_that_drips_holds_no_listener),
        limited_test(an_end_without_a_connection_is_not_put_down_to_limits),
        live_test(a_large_answer_comes_through_over_a_slow_line),
        live_test(a_large_request_comes_through_over_a_slow_line),
    };
    return scene_run(tests, argc, argv);
}
