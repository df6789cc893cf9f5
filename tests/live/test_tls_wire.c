/* SPDX-License-Identifier: MIT
 *
 * Both kinds of connection over TLS, to a real Redis: with large answers, with a server that stands still, and with one
 * that does not speak TLS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_server.h"
#include "live_worker.h"
#include "redis/link.h"
#include "redis/redis.h"
#include "scene.h"
#include "tls_peer.h"

#define LARGE 3000000
/* Long enough for a handshake and a large task on a busy machine. */
#define TIMEOUT_MS 3000

struct secure {
    struct redis_server server;
    char url[256], cert[96];
};

static void secure_start(struct secure *t)
{
    char key[96];
    struct tls_id id = tls_peer_id(&(struct tls_id_about){.name = "redis", .alt_names = "IP:127.0.0.1", .is_ca = true});
    redis_server_start(&t->server, &(struct redis_server_options){.tcp = true});
    snprintf(t->cert, sizeof t->cert, "%s/cert.pem", t->server.dir);
    snprintf(key, sizeof key, "%s/key.pem", t->server.dir);
    tls_peer_write_cert(&id, t->cert);
    tls_peer_write_key(&id, key, NULL);
    tls_peer_id_free(&id);
    raw_do(t->server.redis,
           "CONFIG SET port 0 tls-auth-clients no tls-cert-file %s tls-key-file %s tls-ca-cert-file %s "
           "tls-port %d",
           t->cert, key, t->cert, t->server.port);
    snprintf(t->url, sizeof t->url, "rediss://127.0.0.1:%d?tls_ca=%s", t->server.port, t->cert);
}

/* ---- a client ---- */

static struct muster_client *client(struct scene *s, const char *url)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = url, .prefix = s->prefix, .timeout_ms = TIMEOUT_MS};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

static int count_task(const struct muster_process_info *task, void *arg)
{
    size_t *sum = arg;
    *sum += task->len;
    return 0;
}

static void a_client_sends_and_gets_large_tasks(void **state)
{
    struct scene *s = *state;
    struct secure t;
    static char text[LARGE];
    struct muster_bytes tasks[] = {{text, LARGE}, {"small", 5}, {text, LARGE}};
    size_t sum = 0;
    secure_start(&t);
    struct muster_client *c = client(s, t.url);
    assert_ok(muster_task_enqueue_many(c, "q", tasks, N_OF(tasks), NULL, NULL));
    assert_ok(muster_lease_take_as(
        c, "q", &(struct muster_take_options){.size = sizeof(struct muster_take_options), .n = 10}, count_task, &sum));
    assert_int_equal(sum, 2 * LARGE + 5);
    muster_client_free(c);
    redis_server_remove(&t.server);
}

static void a_client_waits_no_longer_than_its_timeout(void **state)
{
    struct scene *s = *state;
    struct secure t;
    secure_start(&t);
    struct muster_client *c = client(s, t.url);
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    redis_server_freeze(&t.server);
    for (int i = 0; i < 2; i++) { /* for its answer, then for the handshake */
        int64_t began = now_ms();
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), MUSTER_E_TIMEOUT);
        assert_in_range(now_ms() - began, TIMEOUT_MS - 1, 5 * TIMEOUT_MS);
    }
    assert_non_null(strstr(muster_client_error(c), "handshake"));
    redis_server_thaw(&t.server);
    assert_ok(muster_task_enqueue(c, "q", "x", 1, NULL));
    muster_client_free(c);
    redis_server_remove(&t.server);
}

static void a_server_that_does_not_speak_tls_is_named(void **state)
{
    struct scene *s = *state;
    struct fake_server silent, plain;
    char url[128];
    fake_server_start(&silent, NULL);
    fake_server_start(&plain, "-ERR unknown command\r\n");
    const int ports[] = {silent.port, plain.port}, errs[] = {MUSTER_E_TIMEOUT, MUSTER_E_CONN};
    for (size_t i = 0; i < N_OF(ports); i++) {
        snprintf(url, sizeof url, "rediss://127.0.0.1:%d", ports[i]);
        struct muster_client *c = client(s, url);
        assert_err(muster_task_enqueue(c, "q", "x", 1, NULL), errs[i]);
        assert_non_null(strstr(muster_client_error(c), "TLS"));
        muster_client_free(c);
    }
    fake_server_stop(&silent);
    fake_server_stop(&plain);
}

/* ---- a worker ---- */

static void a_worker_takes_large_tasks_and_notices_a_server_that_stands_still(void **state)
{
    struct scene *s = *state;
    struct secure t;
    static char text[LARGE];
    const struct muster_bytes task = {text, LARGE};
    secure_start(&t);
    scene_move(s, &t.server);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .url = t.url, .ttl_ms = 3000, .queues = {{"q", 0}}});
    assert_ok(muster_task_enqueue_many(s->client, "q", &task, 1, NULL, NULL));
    scene_await_starts(s, 1);
    redis_server_freeze(&t.server);
    scene_await_events(s, MUSTER_EVENT_DOWN, "w", 1);
    redis_server_thaw(&t.server);
    scene_await_events(s, MUSTER_EVENT_UP, "w", 1);
    scene_enqueue(s, "q", "after it");
    scene_await_starts(s, 2);
    redis_server_remove(&t.server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_client_sends_and_gets_large_tasks),
        live_test(a_client_waits_no_longer_than_its_timeout),
        live_test(a_server_that_does_not_speak_tls_is_named),
        live_test(a_worker_takes_large_tasks_and_notices_a_server_that_stands_still),
    };
    return scene_run(tests, argc, argv);
}
