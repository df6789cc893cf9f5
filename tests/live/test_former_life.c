/* SPDX-License-Identifier: MIT
 *
 * A call of a former life of the id that Redis answers in the next one, because it had forgotten its script and got it
 * once more: it says that the former life is over, and nothing of the new one.
 */
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "protocol/lua_scripts.h"
#include "proxy.h"
#include "worker/worker.h"

/* Long enough for the next call to be sent while one is on its way. */
enum { WAY_MS = 300, TTL_MS = 10000 };

static int64_t evaluated(struct scene *s)
{
    return redis_server_calls(s->server, "evalsha");
}

/* Redis forgets all scripts, and some other worker brings that of the registration again. */
static void forget_scripts(struct scene *s)
{
    struct redisContext *redis = s->server->redis;
    char *start = strndup((const char *)lua_scripts[SCRIPT_START].body, lua_scripts[SCRIPT_START].len);
    raw_do(redis, "SCRIPT FLUSH");
    raw_do(redis, "SCRIPT LOAD %s", start);
    free(start);
}

struct evaluated {
    struct scene *scene;
    int64_t n;
};

static bool are_evaluated(void *arg)
{
    const struct evaluated *e = arg;
    return evaluated(e->scene) >= e->n;
}

static void await_evaluated(struct scene *s, int64_t n)
{
    wait_on(s->base, are_evaluated, (&(struct evaluated){s, n}), SOON_MS);
}

/* The worker ends a process, which tells it that the registration is gone, and says `call` behind that. */
static void play(struct scene *s, void (*call)(struct muster_worker *w))
{
    struct proxy proxy;
    proxy_start(&proxy, s->server->dir, s->server->socket);
    struct live_worker *w = live_worker_idle(
        s, &(struct worker_spec){
               .id = "w", .url = proxy.url, .ttl_ms = TTL_MS, .answer = MUSTER_LATER, .queues = {{"q", 0}}});
    scene_enqueue(s, "q", "t");
    scene_await_starts(s, 1);
    run_loop(s->base, 1500); /* a life that is over at once is followed by a pause */
    raw_do(s->server->redis, "FLUSHALL");
    int64_t n = evaluated(s);
    proxy_delay(&proxy, WAY_MS);
    live_worker_end(w, MUSTER_FINISH);
    run_loop(s->base, WAY_MS / 3);
    call(w->worker);
    await_evaluated(s, n + 1);
    forget_scripts(s);
    await_evaluated(s, n + 3); /* of these the second call, which Redis does not know, and the registration */
    scene_await_events(s, MUSTER_EVENT_STARTED, "w", 2);
    proxy_delay(&proxy, 0);
    scene_await_idle(s, "q", "w");
    scene_enqueue(s, "q", "u");
    scene_await_starts(s, 2);
    live_worker_end(w, MUSTER_FINISH);
    live_worker_stop(s, w, 0);
    assert_int_equal(journal_count(s->journal, JOURNAL_EVENT, MUSTER_EVENT_LOST, "w", NULL), 1);
    live_worker_free(s, w);
    proxy_stop(&proxy);
}

static void a_heartbeat_of_a_former_life(void **state)
{
    play(*state, heartbeat_now);
}

static void a_read_back_of_a_former_life(void **state)
{
    play(*state, readback_ask);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_heartbeat_of_a_former_life),
        live_test(a_read_back_of_a_former_life),
    };
    return scene_run(tests, argc, argv);
}
