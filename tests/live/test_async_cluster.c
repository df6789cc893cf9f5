/* SPDX-License-Identifier: MIT
 *
 * An asynchronous client and a listener on a Redis Cluster, while the namespace's slot moves and its owner fails over:
 * what was refused is sent again, in its order, and nothing is in doubt for it. The cluster is real.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "cluster_scene.h"
#include "hearing.h"
#include "taken.h"

#define LONG_MS 20000
#define AN_HOUR 3600000

static void send_some(struct answers *as, int *next, int n)
{
    for (; n > 0; n--) {
        char task[16];
        snprintf(task, sizeof task, "%d", (*next)++);
        answers_enqueue(as, "q", task, NULL);
    }
}

static void assert_in_order(struct scene *s, size_t least, size_t most)
{
    cluster_scene_look_at_owner(s); /* which the nodes may have agreed on since the last look */
    struct redisReply *list = raw(s->server->redis, "LRANGE %s:queues:q 0 -1", s->prefix);
    assert_in_range(list->elements, least, most);
    for (size_t i = 1; i < list->elements; i++)
        assert_true(atoi(list->element[i]->str) < atoi(list->element[i - 1]->str));
    freeReplyObject(list);
}

/* Of none it is unknown whether it was done: whatever was refused is answered before the connection is left. */
static void all_that_is_sent_while_the_slot_moves_is_done_once_and_in_order(void **state)
{
    struct scene *s = *state;
    struct answers as;
    int next = 0, slot = cluster_scene_slot(s);
    answers_open(&as, s, cluster.url, LONG_MS, NULL);
    for (int i = 0; i < 4; i++) {
        int from = cluster_scene_owner(s), to = (from + 1) % 3;
        send_some(&as, &next, 300);
        redis_cluster_move_begin(&cluster, slot, from, to);
        send_some(&as, &next, 300);
        assert_err(muster_async_wait(as.async, 30), MUSTER_E_TIMEOUT); /* ASK: nothing runs */
        while (redis_cluster_move_keys(&cluster, slot, from, to, 3) > 0)
            send_some(&as, &next, 20);
        redis_cluster_move_end(&cluster, slot, from, to);
        send_some(&as, &next, 300);
        cluster_scene_look_at_owner(s);
        answers_await(&as, (size_t)next);
    }
    assert_int_equal(as.counts[0], next);
    assert_in_order(s, (size_t)next, (size_t)next);
    answers_close(&as);
}

static void a_failover_is_followed(void **state)
{
    struct scene *s = *state;
    struct answers as;
    int next = 0;
    answers_open(&as, s, cluster.url, LONG_MS, NULL);
    for (int i = 0; i < 2; i++) {
        send_some(&as, &next, 500);
        redis_cluster_failover(&cluster, redis_cluster_replica(&cluster, cluster_scene_owner(s)));
        send_some(&as, &next, 500);
        answers_await(&as, (size_t)next);
        cluster_scene_look_at_owner(s);
    }
    assert_int_equal(as.counts[0] + as.counts[-MUSTER_E_CONN], next);
    assert_in_order(s, as.counts[0], (size_t)next);
    answers_close(&as);
}

static void a_take_that_waits_follows_the_slot(void **state)
{
    struct scene *s = *state;
    struct answers as;
    answers_open(&as, s, cluster.url, LONG_MS, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(muster_async_take(as.async, "q", 1, AN_HOUR, AN_HOUR, answers_fn, NULL));
        raw_await(s->server->redis, NULL, 1, "ZCARD %s:takers:q", s->prefix);
        cluster_scene_move(s, (cluster_scene_owner(s) + 1) % MASTERS);
        scene_enqueue(s, "q", "t");
        answers_await(&as, i + 1);
        assert_err(as.last.err, MUSTER_OK);
    }
    answers_close(&as);
}

/* Whatever happens after the READY of the queue is heard, wherever its slot is. */
static void a_listener_follows_the_slot(void **state)
{
    struct scene *s = *state;
    struct hearing h;
    char task[16], line[48];
    hearing_open(&h, s, cluster.url, LONG_MS, NULL);
    hearing_add(&h, "q", MUSTER_LISTEN_CANCELLED);
    hearing_await(&h, "ready q", 1);
    for (int i = 0; i < 3; i++) {
        cluster_scene_move(s, (cluster_scene_owner(s) + 1) % MASTERS);
        hearing_await(&h, "ready q", (size_t)i + 2); /* it notices by the next script, within three seconds */
        int len = snprintf(task, sizeof task, "t%d", i);
        assert_ok(muster_task_cancel(s->client, "q", task, (size_t)len, NULL, NULL));
        snprintf(line, sizeof line, "cancelled q t%d", i);
        hearing_await(&h, line, 1);
    }
    hearing_close(&h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cluster_test(all_that_is_sent_while_the_slot_moves_is_done_once_and_in_order),
        cluster_test(a_take_that_waits_follows_the_slot),
        cluster_test(a_listener_follows_the_slot),
        cluster_test(a_failover_is_followed),
    };
    return testing_run(tests, cluster_scene_start, cluster_scene_stop, argc, argv);
}
