/* SPDX-License-Identifier: MIT
 *
 * Connections over TLS that break: cut, or half-open, so that only the missing answers tell. A worker and a client notice
 * it as quickly as without TLS, and go on by themselves. What TLS itself does is unit/test_tls.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "proxy.h"
#include "slow.h"
#include "tls_peer.h"

#define TTL_MS slow_ms(600)
#define TIMEOUT_MS slow_ms(400)
#define SLACK_MS slow_ms(2000)
#define MOST 40

/* A proxy in front of the port on which the scene's server speaks TLS. */
struct tunnel {
    struct proxy proxy;
    char ca[96], url[192];
};

static int tls_port;

static void write_files(struct scene *s, char ca[96], char cert[96], char key[96])
{
    struct tls_id by = tls_peer_id(&(struct tls_id_about){.name = "our CA", .is_ca = true});
    struct tls_id id = tls_peer_id(&(struct tls_id_about){.name = "server", .alt_names = "IP:127.0.0.1", .by = &by});
    snprintf(ca, 96, "%s/ca.pem", s->server->dir);
    snprintf(cert, 96, "%s/server.pem", s->server->dir);
    snprintf(key, 96, "%s/server.key", s->server->dir);
    tls_peer_write_cert(&by, ca);
    tls_peer_write_cert(&id, cert);
    tls_peer_write_key(&id, key, NULL);
    tls_peer_id_free(&id);
    tls_peer_id_free(&by);
}

static void tunnel_open(struct tunnel *t, struct scene *s)
{
    char cert[96], key[96];
    write_files(s, t->ca, cert, key);
    raw_do(s->server->redis, "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s tls-auth-clients no",
           cert, key, t->ca);
    if (!tls_port) {
        tls_port = redis_server_free_port();
        raw_do(s->server->redis, "CONFIG SET tls-port %d", tls_port);
    }
    int here = redis_server_free_port();
    proxy_start_tcp(&t->proxy, here, tls_port);
    snprintf(t->url, sizeof t->url, "rediss://127.0.0.1:%d?tls_ca=%s", here, t->ca);
}

static struct muster_client *client_of(struct scene *s, const struct tunnel *t)
{
    struct muster_client *c;
    const struct muster_client_options o = {
        .size = sizeof o, .url = t->url, .prefix = s->prefix, .timeout_ms = TIMEOUT_MS};
    assert_ok(muster_client_new(&c, &o));
    return c;
}

static void assert_soon(const char *what, int64_t begin, int64_t within_ms)
{
    int64_t took = now_ms() - begin;
    print_message("%s: %d ms\n", what, (int)took);
    if (took > within_ms + SLACK_MS)
        fail_msg("%s took %d ms, not %d", what, (int)took, (int)within_ms);
}

/* ---- a worker ---- */

static void worker_goes_on(struct scene *s, const char *fault, int ways)
{
    struct tunnel t;
    tunnel_open(&t, s);
    live_worker_idle(s, &(struct worker_spec){.id = "w", .url = t.url, .ttl_ms = TTL_MS, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "before");
    scene_await_starts(s, 1);
    int64_t begin = now_ms();
    assert_int_equal(ways ? proxy_swallow(&t.proxy, PROXY_BOTH, ways) : proxy_cut(&t.proxy, PROXY_BOTH), 2);
    scene_enqueue(s, "q", "after");
    scene_await_starts(s, 2);
    assert_soon(fault, begin, 2 * TTL_MS);
    live_worker_free(s, s->workers);
    proxy_stop(&t.proxy);
}

static void a_worker_notices_half_open_connections(void **state)
{
    worker_goes_on(*state, "both half-open", PROXY_REQUESTS | PROXY_REPLIES);
}

static void a_worker_notices_lost_answers(void **state)
{
    worker_goes_on(*state, "answers lost", PROXY_REPLIES);
}

static void a_worker_notices_cuts(void **state)
{
    worker_goes_on(*state, "both cut", 0);
}

/* ---- a client ---- */

static void a_client_notices_a_half_open_connection(void **state)
{
    struct scene *s = *state;
    struct tunnel t;
    tunnel_open(&t, s);
    struct muster_client *c = client_of(s, &t);
    assert_ok(muster_task_enqueue(c, "q", "1", 1, NULL));
    for (int ways = PROXY_REQUESTS; ways <= (PROXY_REQUESTS | PROXY_REPLIES); ways++) {
        int64_t begin = now_ms();
        assert_int_equal(proxy_swallow(&t.proxy, PROXY_BOTH, ways), 1);
        assert_err(muster_queue_resume(c, "q"), MUSTER_E_TIMEOUT);
        assert_soon("a call without an answer", begin, TIMEOUT_MS);
        assert_ok(muster_queue_resume(c, "q"));
    }
    muster_client_free(c);
    proxy_stop(&t.proxy);
}

static void a_client_goes_on_after_a_cut(void **state)
{
    struct scene *s = *state;
    struct tunnel t;
    tunnel_open(&t, s);
    struct muster_client *c = client_of(s, &t);
    assert_ok(muster_queue_resume(c, "q"));
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(proxy_cut(&t.proxy, PROXY_BOTH), 1);
        int err = muster_queue_resume(c, "q");
        if (err == MUSTER_E_CONN) /* over TCP the end may arrive after the request has gone out */
            err = muster_queue_resume(c, "q");
        if (err != MUSTER_OK)
            fail_msg("the call %d: %s", i, muster_client_error(c));
    }
    muster_client_free(c);
    proxy_stop(&t.proxy);
}

/* The handshake gets no answer. */
static void a_server_that_is_silent_from_the_start_is_noticed(void **state)
{
    struct scene *s = *state;
    struct tunnel t;
    tunnel_open(&t, s);
    struct muster_client *c = client_of(s, &t);
    redis_server_freeze(s->server);
    int64_t begin = now_ms();
    assert_err(muster_queue_resume(c, "q"), MUSTER_E_TIMEOUT);
    assert_soon("a handshake without an answer", begin, TIMEOUT_MS);
    assert_non_null(strstr(muster_client_error(c), "no answer to the TLS handshake"));
    redis_server_thaw(s->server);
    assert_ok(muster_queue_resume(c, "q"));
    muster_client_free(c);
    proxy_stop(&t.proxy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_worker_notices_half_open_connections),
        live_test(a_worker_notices_lost_answers),
        live_test(a_worker_notices_cuts),
        live_test(a_client_notices_a_half_open_connection),
        live_test(a_client_goes_on_after_a_cut),
        live_test(a_server_that_is_silent_from_the_start_is_noticed),
    };
    return scene_run(tests, argc, argv);
}
