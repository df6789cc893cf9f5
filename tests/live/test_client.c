/* SPDX-License-Identifier: MIT
 *
 * The client and its connection: options, URLs, a connection that the caller gives, and what happens when it breaks.
 * What Redis may refuse: test_client_errors.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_server.h"
#include "scene.h"

/* Enqueue one task by a client with this URL and no prefix but the scene's. */
static int enqueue_by(struct scene *s, const char *url)
{
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = 5000};
    assert_ok(muster_client_new(&c, &o));
    int err = muster_task_enqueue(c, "q", "x", 1, NULL);
    if (err)
        print_message("%s: %s\n", url, muster_client_error(c));
    muster_client_free(c);
    return err;
}

/* ---- options ---- */

static void bad_options_are_refused_before_anything_is_sent(void **state)
{
    struct scene *s = *state;
    const size_t size = sizeof(struct muster_client_options);
    const struct muster_client_options bad[] = {
        {.size = size, .url = ""},
        {.size = size, .url = "nonsense"},
        {.size = size, .url = "http://127.0.0.1:6379"},
        {.size = size, .url = "redis://127.0.0.1:6379?tls_insecure=1"},
        {.size = size, .url = "redis://127.0.0.1:0"},
        {.size = size, .url = "redis://127.0.0.1:70000"},
        {.size = size, .url = "redis://127.0.0.1:6379/db"},
        {.size = size, .url = "redis://u:%zz@127.0.0.1:6379"},
        {.size = size, .url = "unix://"},
        {.size = size, .url = "unix:///tmp/redis.sock?db=x"},
        {.size = size, .prefix = ""},
        {.size = size, .prefix = "a b"},
        {.size = size, .prefix = "a:b"},
        {.size = size, .prefix = ".a"},
        {.size = size, .timeout_ms = -1},
        {.size = size, .max_task_len = MUSTER_TASK_MAX + 1},
    };
    int64_t before = redis_server_calls(s->server, NULL);
    for (size_t i = 0; i < N_OF(bad); i++) {
        struct muster_client *c = (struct muster_client *)s;
        int err = muster_client_new(&c, &bad[i]);
        if (err != MUSTER_E_INVALID)
            fail_msg("options %zu were not refused: %s", i, muster_err_name(err));
        assert_null(c);
        assert_true(!bad[i].url || muster_url_check(bad[i].url));
        assert_true(!bad[i].prefix || muster_prefix_check(bad[i].prefix));
    }
    assert_int_equal(redis_server_calls(s->server, NULL), before);
}

static void defaults_need_no_options_and_send_nothing(void **state)
{
    (void)state;
    struct muster_client *c = NULL;
    assert_ok(muster_client_new(&c, NULL));
    assert_non_null(c);
    assert_string_equal(muster_client_error(c), "");
    muster_client_free(c);
    muster_client_free(NULL);
}

/* ---- URLs ---- */

static void a_unix_url_names_socket_and_database(void **state)
{
    struct scene *s = *state;
    char url[160], spaced[96];
    snprintf(url, sizeof url, "%s?db=3", s->server->url);
    assert_null(muster_url_check(url));
    assert_ok(enqueue_by(s, url));
    raw_do(s->server->redis, "SELECT 3");
    int64_t in_three = scene_waiting(s, "q");
    raw_do(s->server->redis, "SELECT 0");
    assert_int_equal(in_three, 1);

    snprintf(spaced, sizeof spaced, "%s/a socket", s->server->dir);
    assert_return_code(symlink(s->server->socket, spaced), 0);
    snprintf(url, sizeof url, "unix://%s/a%%20socket", s->server->dir);
    assert_ok(enqueue_by(s, url));
    assert_int_equal(scene_waiting(s, "q"), 1);
}

static void a_tcp_url_names_user_password_port_and_database(void **state)
{
    struct scene *s = *state;
    struct redis_server tcp;
    char url[128];
    redis_server_start(&tcp, &(struct redis_server_options){.tcp = true, .password = "p@ss:/?#%"});
    raw_do(tcp.redis, "ACL SETUSER us@r on >w0rd ~* &* +@all");
    const struct {
        const char *user, *db;
        int err;
    } cases[] = {
        {":p%40ss%3a%2F%3F%23%25@", "", MUSTER_OK},
        {":p%40ss%3a%2F%3F%23%25@", "/5", MUSTER_OK},
        {"us%40r:w0rd@", "/", MUSTER_OK},
        {"default:p%40ss%3a%2F%3F%23%25@", "/0", MUSTER_OK},
        {":wrong@", "", MUSTER_E_DENIED},
        {"us%40r:p%40ss%3a%2F%3F%23%25@", "", MUSTER_E_DENIED},
        {"", "", MUSTER_E_DENIED},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", cases[i].user, tcp.port, cases[i].db);
        assert_null(muster_url_check(url));
        assert_err(enqueue_by(s, url), cases[i].err);
    }
    assert_int_equal(raw_int(tcp.redis, "LLEN %s:queues:q", s->prefix), 3);
    raw_do(tcp.redis, "SELECT 5");
    assert_int_equal(raw_int(tcp.redis, "LLEN %s:queues:q", s->prefix), 1);
    redis_server_remove(&tcp);
}

static void a_database_that_does_not_exist_is_refused(void **state)
{
    struct scene *s = *state;
    char url[128];
    snprintf(url, sizeof url, "%s?db=99", s->server->url);
    assert_err(enqueue_by(s, url), MUSTER_E_REDIS);
}

/* ---- a connection that is handed in ---- */

static void a_given_connection_is_used_and_stays_the_callers(void **state)
{
    struct scene *s = *state;
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    raw_do(redis, "SELECT 2");
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    int64_t before = redis_server_info(s->server, "total_connections_received");
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    muster_client_free(c);
    assert_int_equal(raw_int(redis, "LLEN %s:queues:q", s->prefix), 1);
    assert_int_equal(redis_server_info(s->server, "total_connections_received"), before);
    redisFree(redis);
}

static void a_given_connection_once_broken_stays_broken(void **state)
{
    struct scene *s = *state;
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    int64_t id = raw_int(redis, "CLIENT ID");
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    raw_do(s->server->redis, "CLIENT KILL ID %ld", (long)id);
    for (int i = 0; i < 3; i++) {
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_CONN);
        assert_string_not_equal(muster_client_error(c), "");
    }
    muster_client_free(c);
    redisFree(redis);
}

/* ---- a connection that breaks ---- */

static void after_an_outage_the_next_call_connects_again(void **state)
{
    struct scene *s = *state;
    struct redis_server own;
    redis_server_start(&own, &(struct redis_server_options){.aof = true});
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .url = own.url, .prefix = s->prefix};
    assert_ok(muster_client_new(&c, &o));
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    redis_server_kill(&own);
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_CONN);
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_CONN);
    redis_server_restart(&own);
    uint64_t waiting = 0;
    assert_ok(muster_task_enqueue(c, "q", "x", 1, &waiting));
    assert_int_equal(waiting, 2);
    muster_client_free(c);
    redis_server_remove(&own);
}

static void a_killed_connection_is_replaced_by_the_next_call(void **state)
{
    struct scene *s = *state;
    scene_enqueue(s, "q", "x");
    raw_do(s->server->redis, "CLIENT KILL TYPE normal");
    int err = muster_task_enqueue(s->client, "q", "x", 1, NULL);
    assert_true(err == MUSTER_E_CONN || err == MUSTER_OK);
    assert_ok(muster_task_enqueue(s->client, "q", "x", 1, NULL));
}

/* Redis has forgotten all scripts: after SCRIPT FLUSH, as after its restart. */
static void forgotten_scripts_are_sent_again(void **state)
{
    struct scene *s = *state;
    struct muster_bytes tasks[3000];
    for (size_t i = 0; i < N_OF(tasks); i++)
        tasks[i] = (struct muster_bytes){"x", 1};
    for (int i = 0; i < 3; i++) {
        uint64_t waiting;
        scene_enqueue(s, "one", "x");
        raw_do(s->server->redis, "SCRIPT FLUSH");
        scene_enqueue(s, "one", "x");
        raw_do(s->server->redis, "SCRIPT FLUSH");
        assert_ok(muster_task_enqueue_many(s->client, "many", tasks, N_OF(tasks), NULL, &waiting));
        assert_int_equal(waiting, N_OF(tasks) * (size_t)(i + 1));
        assert_string_equal(muster_client_error(s->client), ""); /* none of these calls has failed */
    }
    assert_int_equal(raw_int(s->server->redis, "LLEN %s:queues:one", s->prefix), 6);
}

/* Without a handler for it, SIGPIPE would end this program. */
static void a_dead_connection_raises_no_sigpipe(void **state)
{
    struct scene *s = *state;
    struct redisContext *redis = redisConnectUnix(s->server->socket);
    struct muster_client *c;
    const struct muster_client_options o = {.size = sizeof o, .prefix = s->prefix, .redis = redis};
    assert_ok(muster_client_new(&c, &o));
    shutdown(redis->fd, SHUT_RDWR);
    assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_CONN);
    muster_client_free(c);
    redisFree(redis);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(bad_options_are_refused_before_anything_is_sent),
        live_test(defaults_need_no_options_and_send_nothing),
        live_test(a_unix_url_names_socket_and_database),
        live_test(a_tcp_url_names_user_password_port_and_database),
        live_test(a_database_that_does_not_exist_is_refused),
        live_test(a_given_connection_is_used_and_stays_the_callers),
        live_test(a_given_connection_once_broken_stays_broken),
        live_test(after_an_outage_the_next_call_connects_again),
        live_test(a_killed_connection_is_replaced_by_the_next_call),
        live_test(forgotten_scripts_are_sent_again),
        live_test(a_dead_connection_raises_no_sigpipe),
    };
    return scene_run(tests, argc, argv);
}
