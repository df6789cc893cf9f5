/* SPDX-License-Identifier: MIT
 *
 * One answer that a worker gets is a refusal that passes, each in turn, with all others as Redis gives them. Whichever it
 * is, the worker goes on, runs all that there is, and leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile_server.h"
#include "live_worker.h"
#include "script_call.h"
#include "slow.h"

#define TTL_MS slow_ms(400)
#define REFUSAL "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"

/*
 *   dies    before it begins another worker dies, with a task in its hands
 *   leaves  it leaves its queue, and serves it again
 */
struct life {
    const char *name;
    struct worker_spec spec;
    bool dies, leaves;
};

struct stage {
    struct scene *scene;
    struct hostile_server server;
    char id[32];
};

/* A job gets new data and is tried once more; a task of q is handed on to r. */
static enum muster_outcome handle(struct muster_process *p, void *arg)
{
    struct live_worker *w = arg;
    const struct muster_job *job = muster_process_job(p);
    assert_ok(muster_process_progress(p, "begun"));
    if (!job && strcmp(muster_process_queue(p), "q") == 0 &&
        muster_worker_enqueue(w->worker, "r", "next", 4, NULL, NULL) != MUSTER_OK)
        return MUSTER_GIVE_BACK;
    if (!job || job->retried > 0)
        return MUSTER_FINISH;
    assert_ok(muster_process_set_data(p, "new", 3));
    assert_ok(muster_process_set_retry(p, 10));
    return MUSTER_RETRY;
}

/* At one moment, in queues and in hands. */
static bool is_all_done(void *arg)
{
    const struct stage *t = arg;
    return raw_int(t->scene->server->redis, "EVAL %s 1 %s %s",
                   "local P, n = KEYS[1], redis.call('HGET', KEYS[1] .. ':worker:' .. ARGV[1], 'held') or 0\n"
                   "for _, q in ipairs({'q', 'r'}) do\n"
                   "  n = n + redis.call('LLEN', P .. ':queues:' .. q)\n"
                   "  for _, kind in ipairs({'returned', 'delayed', 'scheduled', 'waiting', 'running'}) do\n"
                   "    n = n + redis.call('ZCARD', P .. ':' .. kind .. ':' .. q)\n"
                   "  end\n"
                   "end\n"
                   "return n",
                   t->scene->prefix, t->id) == 0;
}

static void give(struct stage *t)
{
    const struct muster_job_spec job = {.size = sizeof job, .data = {"old", 3}, .delay_ms = 20};
    scene_enqueue(t->scene, "q", "t");
    assert_ok(muster_job_put(t->scene->client, "q", &job, NULL));
    wait_on(t->scene->base, is_all_done, t, SOON_MS);
}

static void die_holding(struct stage *t)
{
    struct acting_worker dead = {.id = "dead", .queues = {"q"}, .hands = 1, .ttl_ms = TTL_MS};
    scene_enqueue(t->scene, "q", "held");
    acting_start(&dead, t->scene);
    acting_take(&dead);
    acting_die(&dead);
}

static void leave(struct stage *t, struct live_worker *w)
{
    assert_ok(muster_worker_leave(w->worker, "q"));
    scene_await_events(t->scene, MUSTER_EVENT_LEFT, t->id, 1);
    assert_ok(live_worker_serve(w, "q", 0));
}

/* Returns whether it asks for so many. */
static bool live(struct stage *t, const struct life *life, uint64_t nth)
{
    struct worker_spec spec = life->spec;
    snprintf(t->id, sizeof t->id, "%s-%d", life->name, (int)nth);
    if (life->dies)
        die_holding(t);
    t->server.counts->refuses_in = nth;
    spec.id = t->id;
    spec.url = t->server.url;
    spec.ttl_ms = TTL_MS;
    spec.hands = 2;
    spec.handler = handle;
    spec.queues[0].name = "q";
    spec.queues[1].name = "r";
    struct live_worker *w = live_worker_new(t->scene, &spec);
    scene_await_events(t->scene, MUSTER_EVENT_STARTED, t->id, 1);
    if (life->leaves)
        leave(t, w);
    give(t);
    live_worker_stop(t->scene, w, -1);
    assert_ok(w->stop_err);
    assert_true(is_all_done(t));
    live_worker_free(t->scene, w);
    return atomic_exchange(&t->server.counts->refuses_in, 0) == 0;
}

static void live_each(struct scene *s, const struct life *life)
{
    struct stage t = {.scene = s};
    hostile_server_start(&t.server, s->server->dir, &(struct hostile_spec){.relay_to = s->server->socket});
    snprintf(t.server.counts->refusal, sizeof t.server.counts->refusal, "%s", REFUSAL);
    for (uint64_t nth = 1; live(&t, life, nth); nth++)
        ;
    hostile_server_stop(&t.server);
}

static void a_worker_that_resumes_and_has_a_suspect(void **state)
{
    live_each(*state, &(struct life){.name = "resumes", .spec.more.resume = 1, .dies = true});
}

static void a_worker_by_next_that_leaves_a_queue(void **state)
{
    live_each(*state, &(struct life){.name = "leaves", .spec.by_next = true, .spec.prefetch = 3, .leaves = true});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_worker_that_resumes_and_has_a_suspect),
        live_test(a_worker_by_next_that_leaves_a_queue),
    };
    return scene_run(tests, argc, argv);
}
