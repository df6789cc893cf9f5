/* SPDX-License-Identifier: MIT
 *
 * Callers that wait for work under a lease take turns: the one that has waited longest is next. So they end up with
 * equal shares.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_worker.h"
#include "taken.h"

#define AN_HOUR 3600000
/* Longer than anything here takes. */
#define LONG_WAIT 30000

/* ---- whose turn it is ---- */

struct waiter {
    struct muster_client *client;
    int64_t wait_ms;
    pthread_t thread;
    atomic_bool has_returned;
    int err;
    struct taken taken;
};

static void *wait_for_a_task(void *arg)
{
    struct waiter *w = arg;
    w->err = muster_lease_take(w->client, "q", 1, AN_HOUR, w->wait_ms, taken_add, &w->taken);
    atomic_store(&w->has_returned, true);
    return NULL;
}

/* The n-th one that waits. */
static struct waiter *start(struct scene *s, int n, int64_t wait_ms)
{
    struct waiter *w = calloc(1, sizeof *w);
    w->client = scene_client(s);
    w->wait_ms = wait_ms;
    pthread_create(&w->thread, NULL, wait_for_a_task, w);
    raw_await(s->server->redis, NULL, n, "ZCARD %s:takers:q", s->prefix);
    return w;
}

static void assert_returns(struct waiter *w, int err, size_t n)
{
    pthread_join(w->thread, NULL);
    assert_int_equal(w->err, err);
    assert_int_equal(w->taken.n, n);
    muster_client_free(w->client);
    free(w);
}

static void assert_gets_one(struct waiter *w)
{
    assert_returns(w, MUSTER_OK, 1);
}

/* Callers that wait, without being there: what is said is seen, and nobody takes. */
static struct redisContext *begin_names(struct scene *s)
{
    struct redisContext *ear = redisConnectUnix(s->server->socket);
    freeReplyObject(raw(ear, "SUBSCRIBE %s_q_work", s->prefix));
    for (int i = 0; i < 3; i++)
        raw_do(s->server->redis, "ZADD %s:takers:q %d caller-%d--------", s->prefix, i, i);
    raw_do(s->server->redis, "HSET %s:queue:q listen 9000000000000", s->prefix);
    return ear;
}

static void assert_hears(struct redisContext *ear, const char *expected)
{
    redisReply *reply;
    assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[2]->str, expected);
    freeReplyObject(reply);
}

static void who_has_waited_longest_is_next(void **state)
{
    struct scene *s = *state;
    struct redisContext *ear = begin_names(s);
    for (int i = 0; i < 3; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "muster caller-%d--------", i);
        scene_enqueue(s, "q", "t");
        assert_hears(ear, expected);
        raw_do(s->server->redis, "DEL %s:queues:q", s->prefix);
    }
    scene_enqueue(s, "q", "t");
    assert_hears(ear, "muster");
    redisFree(ear);
}

static void a_batch_names_as_many_as_it_has_tasks(void **state)
{
    struct scene *s = *state;
    struct redisContext *ear = begin_names(s);
    scene_enqueue_n(s, "q", "t", 2);
    assert_hears(ear, "muster caller-0-------- caller-1--------");
    redisFree(ear);
}

static void who_came_too_late_keeps_its_turn(void **state)
{
    struct scene *s = *state;
    struct waiter *first = start(s, 1, LONG_WAIT), *second = start(s, 2, LONG_WAIT);
    char *before = raw_string(s->server->redis, "EVAL %s 1 %s:takers:q",
                              "return redis.call('ZRANGE', KEYS[1], 0, 0)[1]", s->prefix);
    freeReplyObject(raw(s->server->redis, "ZPOPMIN %s:takers:q", s->prefix));
    raw_do(s->server->redis, "PUBLISH %s_q_work %s", s->prefix, before); /* without names: all look, and find nothing */
    char message[64];
    snprintf(message, sizeof message, "muster %s", before);
    raw_do(s->server->redis, "PUBLISH %s_q_work %s", s->prefix, message);
    raw_await(s->server->redis, NULL, 2, "ZCARD %s:takers:q", s->prefix);
    char *after = raw_string(s->server->redis, "EVAL %s 1 %s:takers:q", "return redis.call('ZRANGE', KEYS[1], 0, 0)[1]",
                             s->prefix);
    assert_string_equal(after, before);
    free(before), free(after);
    scene_enqueue_n(s, "q", "t", 2);
    assert_gets_one(first);
    assert_gets_one(second);
}

static void each_that_waits_gets_one(void **state)
{
    struct scene *s = *state;
    enum { N = 5 };
    struct waiter *w[N];
    for (int i = 0; i < N; i++)
        w[i] = start(s, i + 1, LONG_WAIT);
    for (int i = 0; i < N; i++)
        scene_enqueue(s, "q", "t");
    for (int i = 0; i < N; i++)
        assert_gets_one(w[i]);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:takers:q", s->prefix), 0);
}

static void the_turn_of_one_that_died_costs_the_others_no_task(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start(s, 1, LONG_WAIT);
    raw_do(s->server->redis, "ZADD %s:takers:q 1 0123456789abcdef", s->prefix);
    scene_enqueue(s, "q", "t");
    assert_gets_one(w);
}

static void who_waits_no_longer_has_no_turn(void **state)
{
    struct scene *s = *state;
    struct waiter *w = start(s, 1, 100);
    assert_returns(w, MUSTER_E_NOT_FOUND, 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:takers:q", s->prefix), 0);
}

/* ---- shares ---- */

enum { EQUALS = 4, IN_FLIGHT = EQUALS / 2, TASKS = 400 };

struct equals {
    struct scene *scene;
    struct taker {
        struct equals *all;
        struct muster_client *client;
        pthread_t thread;
        sem_t may_finish;
        int ran;
    } takers[EQUALS];
    _Atomic(struct taker *) order[TASKS + EQUALS]; /* who took the n-th task */
    atomic_int n_taken;
    atomic_bool is_over;
};

static int work(const struct muster_process_info *info, void *arg)
{
    struct taker *t = arg;
    atomic_store(&t->all->order[atomic_fetch_add(&t->all->n_taken, 1)], t);
    sem_wait(&t->may_finish);
    assert_ok(muster_lease_finish(t->client, info->id, NULL));
    return 0;
}

static void *take_all(void *arg)
{
    struct taker *t = arg;
    for (; !atomic_load(&t->all->is_over); t->ran++)
        assert_ok(muster_lease_take(t->client, "q", 1, AN_HOUR, LONG_WAIT, work, t));
    return NULL;
}

static void start_equals(struct equals *e)
{
    for (int i = 0; i < EQUALS; i++) {
        struct taker *t = &e->takers[i];
        t->all = e;
        t->client = scene_client(e->scene);
        sem_init(&t->may_finish, 0, 0);
        pthread_create(&t->thread, NULL, take_all, t);
    }
}

struct nth {
    struct equals *all;
    int n;
};

static bool is_taken(void *arg)
{
    const struct nth *t = arg;
    return atomic_load(&t->all->order[t->n]) != NULL;
}

/* The next task goes to one of those that wait, and then the one that has worked longest is done. */
static void step(struct equals *e, int n)
{
    struct scene *s = e->scene;
    const int n_held = n < IN_FLIGHT ? n : IN_FLIGHT;
    raw_await(s->server->redis, NULL, EQUALS - n_held, "ZCARD %s:takers:q", s->prefix);
    scene_enqueue(s, "q", "t");
    wait_until(is_taken, &((struct nth){e, n}), SOON_MS);
    if (n >= IN_FLIGHT)
        sem_post(&atomic_load(&e->order[n - IN_FLIGHT])->may_finish);
}

/* All go on, and each takes one more, to see that it is over. */
static void end_equals(struct equals *e)
{
    raw_await(e->scene->server->redis, NULL, EQUALS - IN_FLIGHT, "ZCARD %s:takers:q", e->scene->prefix);
    atomic_store(&e->is_over, true);
    for (int i = 0; i < EQUALS; i++)
        sem_post(&e->takers[i].may_finish);
    scene_enqueue_n(e->scene, "q", "t", EQUALS - IN_FLIGHT);
    for (int i = 0; i < EQUALS; i++) {
        pthread_join(e->takers[i].thread, NULL);
        sem_destroy(&e->takers[i].may_finish);
        muster_client_free(e->takers[i].client);
    }
}

/* Each work lasts as many tasks as the others', not as long: how the machine shares its time among threads does not
 * count. */
static void at_half_load_equals_take_equally_many(void **state)
{
    struct equals e = {.scene = *state};
    start_equals(&e);
    for (int n = 0; n < TASKS; n++)
        step(&e, n);
    end_equals(&e);
    for (int i = 0; i < EQUALS; i++) {
        print_message("    taker %d: %d\n", i, e.takers[i].ran);
        assert_in_range(e.takers[i].ran, TASKS / EQUALS * 95 / 100, TASKS / EQUALS * 105 / 100);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(who_has_waited_longest_is_next),
        live_test(a_batch_names_as_many_as_it_has_tasks),
        live_test(who_came_too_late_keeps_its_turn),
        live_test(each_that_waits_gets_one),
        live_test(the_turn_of_one_that_died_costs_the_others_no_task),
        live_test(who_waits_no_longer_has_no_turn),
        live_test(at_half_load_equals_take_equally_many),
    };
    return scene_run(tests, argc, argv);
}
