/* SPDX-License-Identifier: MIT
 *
 * A slot that takes 10 s to move, with workers whose ttl is 3 s. While it moves, Redis runs no script of the namespace,
 * so no worker can say that it lives. Yet all of them have had the same silence: nobody is swept, no lease lapses,
 * nothing runs twice, and work goes on after it.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "live_worker.h"
#include "redis_cluster.h"
#include "scene.h"

#define PREFIX "{move}"
#define TTL_MS 3000
#define MOVE_MS 10000
/* Ends while the slot moves. */
#define LEASE_MS 5000
/* It says that it lives in each third of a ttl, and looks for the dead. */
#define SWEEP_MS TTL_MS

struct stage {
    struct scene *scene;
    struct redis_cluster cluster;
    struct redis_server
        seen[2]; /* the owner, and who is going to be, as the scene sees them: muster goes to the owner */
    int slot, from, to;
};

static void see(struct stage *st, int i, int node)
{
    st->seen[i] = st->cluster.nodes[node];
    snprintf(st->seen[i].url, sizeof st->seen[i].url, "redis+cluster://127.0.0.1:%d", st->cluster.nodes[node].port);
}

static void begin(struct stage *st, struct scene *s)
{
    st->scene = s;
    redis_cluster_start(&st->cluster, &(struct redis_cluster_options){.masters = 3});
    st->slot = redis_cluster_slot(&st->cluster, PREFIX ":");
    st->from = redis_cluster_owner(&st->cluster, st->slot);
    st->to = (st->from + 1) % 3;
    see(st, 0, st->from);
    see(st, 1, st->to);
    snprintf(s->prefix, sizeof s->prefix, PREFIX);
    scene_move(s, &st->seen[0]);
}

/* Some keys go at once, the others at the end. */
static void move_slowly(struct stage *st)
{
    redis_cluster_move_begin(&st->cluster, st->slot, st->from, st->to);
    assert_int_equal(redis_cluster_move_keys(&st->cluster, st->slot, st->from, st->to, 5), 5);
    run_loop(st->scene->base, MOVE_MS);
    while (redis_cluster_move_keys(&st->cluster, st->slot, st->from, st->to, 10))
        continue;
    redis_cluster_move_end(&st->cluster, st->slot, st->from, st->to);
    st->scene->server = &st->seen[1];
}

static int keep_id(const struct muster_process_info *p, void *arg)
{
    snprintf(arg, 300, "%s", p->id);
    return 0;
}

static size_t events(struct scene *s, enum muster_event_type type)
{
    return journal_count(s->journal, JOURNAL_EVENT, (int)type, NULL, NULL);
}

/* They are confirmed. */
static void await_ends(struct scene *s)
{
    static const char *const queues[] = {"told", "runs", "idle"};
    for (size_t i = 0; i < N_OF(queues); i++)
        raw_await(s->server->redis, s->base, 0, "HGET %s:queue:%s running", s->prefix, queues[i]);
    scene_assert_quiet(s);
}

static void put_job(struct scene *s, const char *queue, const char *id)
{
    const struct muster_job_spec job = {.size = sizeof job, .id = id, .data = {"job", 3}};
    assert_ok(muster_job_put(s->client, queue, &job, NULL));
}

static void a_slot_that_moves_for_three_ttls_sweeps_nobody(void **state)
{
    struct stage st;
    struct scene *s = *state;
    char lease[300];
    begin(&st, s);

    /* One is told in its doubt, and finishes all the same; one is not; one is idle. */
    struct live_worker *told = live_worker_idle(s, &(struct worker_spec){.id = "told",
                                                                         .ttl_ms = TTL_MS,
                                                                         .hands = 2,
                                                                         .answer = MUSTER_LATER,
                                                                         .stubborn = true,
                                                                         .queues = {{"told", 0}}});
    struct live_worker *runs = live_worker_idle(s, &(struct worker_spec){.id = "runs",
                                                                         .ttl_ms = TTL_MS,
                                                                         .hands = 2,
                                                                         .answer = MUSTER_LATER,
                                                                         .more = {.on_doubt = MUSTER_DOUBT_RUN},
                                                                         .queues = {{"runs", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "idle", .ttl_ms = TTL_MS, .queues = {{"idle", 0}}});
    scene_enqueue(s, "told", "t");
    put_job(s, "told", "told-job");
    scene_enqueue(s, "runs", "r");
    put_job(s, "runs", "runs-job");
    scene_await_starts(s, 4);
    scene_enqueue(s, "leased", "l");
    assert_ok(muster_lease_take(s->client, "leased", 1, LEASE_MS, 0, keep_id, lease));

    move_slowly(&st);
    assert_int_equal(events(s, MUSTER_EVENT_DOUBT), 3);
    scene_enqueue(s, "idle", "i");
    scene_await_starts(s, 5);
    run_loop(s->base, SWEEP_MS);

    assert_int_equal(scene_starts(s), 5);
    assert_int_equal(events(s, MUSTER_EVENT_LOST), 0);
    assert_int_equal(events(s, MUSTER_EVENT_SWEPT), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:registry", PREFIX), 3);
    assert_ok(muster_lease_finish(s->client, lease, NULL));
    live_worker_answer(told, MUSTER_FINISH);
    live_worker_answer(runs, MUSTER_FINISH);
    await_ends(s);
    assert_int_equal(events(s, MUSTER_EVENT_UNCOUNTED), 0);
    assert_int_equal(scene_starts(s), 5);
    checked_assert_clean(s);
    redis_cluster_remove(&st.cluster);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(a_slot_that_moves_for_three_ttls_sweeps_nobody)};
    return scene_run(tests, argc, argv);
}
