/* SPDX-License-Identifier: MIT
 *
 * Everything at once: takers in processes of their own, workers that are killed, leases that lapse, ends that come
 * twice or too late, jobs that put others; and data in Redis that are damaged, while checks repair them. In the end
 * each job is complete with the one right result, no end has counted twice, and a check finds nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "checked.h"
#include "child.h"
#include "damage.h"
#include "job_look.h"
#include "taken.h"
#include "worker_process.h"

enum { N_ROOTS = 700, N_TAKERS = 4, N_WORKERS = 2, N_JOBS = 3 * N_ROOTS, LEASE_MS = 150 };

static const char *const queues[] = {"shared", "own"};

/* ---- what a job is to do ---- */

/* Its result, which is the same however often it runs; and from each root two more, which may be there already. */
static void work(struct muster_client *c, redisContext *redis, const char *prefix, const char *id)
{
    unsigned long sum = 5381;
    char result[24];
    for (const char *at = id; *at; at++)
        sum = sum * 33 + (unsigned char)*at;
    snprintf(result, sizeof result, "%lu", sum);
    freeReplyObject(raw(redis, "HSET %s.results %s %s", prefix, id, result));
    for (int i = 1; i <= 2 && !strchr(id, '.'); i++) {
        char child[32];
        snprintf(child, sizeof child, "%s.%d", id, i);
        int err = muster_job_put(c, queues[i - 1], JOB_SPEC(.id = child), NULL);
        assert_true(err == MUSTER_OK || err == MUSTER_E_EXISTS);
    }
}

/* ---- takers ---- */

struct taker {
    struct scene *scene;
    struct muster_client *client, *other;
    redisContext *redis;
    int n;
};

struct one {
    char process[PROCESS_ID_MAX], job[MUSTER_JOB_ID_MAX + 1];
    int64_t ends_at_ms;
};

static int keep_one(const struct muster_process_info *p, void *arg)
{
    struct one *one = arg;
    snprintf(one->process, sizeof one->process, "%s", p->id);
    snprintf(one->job, sizeof one->job, "%s", p->job);
    one->ends_at_ms = p->ends_at_ms;
    return 0;
}

/* Each end that counted, by its process. */
static void finish(struct taker *t, struct muster_client *c, const struct one *one, bool must_be_lost)
{
    int err = muster_lease_finish(c, one->process, NULL);
    assert_true(err == MUSTER_E_LOST || (err == MUSTER_OK && !must_be_lost));
    if (err == MUSTER_OK)
        freeReplyObject(raw(t->redis, "HINCRBY %s.counted %s 1", t->scene->prefix, one->process));
}

static void handle(struct taker *t, const struct one *one)
{
    int n = ++t->n;
    if (n % 7 == 0) /* dropped */
        return;
    work(t->client, t->redis, t->scene->prefix, one->job);
    usleep(2000);    /* so that something is in work when it is damaged */
    if (n % 29 == 0) /* done, and never said */
        return;
    if (n % 11 == 0) { /* overslept; it is his still while damage has removed its end, which the repair ends */
        static const char now[] = "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)";
        while (raw_int(t->redis, "EVAL %s 0", now) <= one->ends_at_ms)
            usleep(5000);
        finish(t, t->client, one, false);
        return;
    }
    if (n % 13 == 0) {
        int err = muster_lease_retry(t->other, one->process, 10);
        assert_true(err == MUSTER_OK || err == MUSTER_E_LOST); /* either way it is his no more */
    }
    finish(t, t->client, one, n % 13 == 0);
    finish(t, t->other, one, true); /* twice */
}

static void take_until_killed(struct scene *s, int which)
{
    struct taker t = {s, scene_client(s), scene_client(s), redisConnectUnix(s->server->socket), 17 * which};
    for (int i = which;; i++) {
        struct one one = {0};
        int err = muster_lease_take(t.client, queues[i % 2], 1, LEASE_MS, 20, keep_one, &one);
        assert_true(err == MUSTER_OK || err == MUSTER_E_NOT_FOUND);
        if (err == MUSTER_OK)
            handle(&t, &one);
    }
}

/* ---- workers ---- */

static enum muster_outcome run(struct muster_process *p, void *arg)
{
    static struct muster_client *client;
    static redisContext *redis;
    struct live_worker *w = arg;
    struct scene *s = w->spec.arg;
    if (!client) {
        client = scene_client(s);
        redis = redisConnectUnix(s->server->socket);
    }
    work(client, redis, s->prefix, muster_process_job(p)->id);
    return rand() % 9 ? MUSTER_FINISH : MUSTER_GIVE_BACK;
}

static struct worker_process *start_worker(struct scene *s, int which)
{
    static const char *const ids[] = {"w0", "w1", "w2", "w3"};
    return worker_process_start(s, &(struct worker_spec){.id = ids[which],
                                                         .ttl_ms = 400,
                                                         .hands = 1,
                                                         .prefetch = 2,
                                                         .queues = {{"shared", 0}, {"own", 0}},
                                                         .handler = run,
                                                         .arg = s});
}

/* ---- damage and repair ---- */

/* Damage that can be put right without losing a job: to everything but its record. */
static const char *const damages[] = {
    "local m = call('ZRANDMEMBER', P .. 'waiting:' .. q) if m then call('ZREM', P .. 'waiting:' .. q, m) end",
    "local f = call('HRANDFIELD', P .. 'processing:.lease:' .. q)\n"
    "if f then call('HDEL', P .. 'processing:.lease:' .. q, f) end",
    "local f = call('ZRANDMEMBER', P .. 'leases:' .. q) if f then call('ZREM', P .. 'leases:' .. q, f) end",
    "local m = call('ZRANDMEMBER', P .. 'running:' .. q) if m then call('ZADD', P .. 'waiting:' .. q, 0, m) end",
    "local m = call('ZRANDMEMBER', P .. 'waiting:' .. q)\n"
    "if m then call('HSET', P .. 'processing:.lease:' .. q, 'j0000000000' .. math.random(1, 9), string.sub(m, 12)) end",
    "local m = call('ZRANDMEMBER', P .. 'running:' .. q) if m then call('ZREM', P .. 'running:' .. q, m) end",
    "call('HDEL', P .. 'queue:' .. q, 'jobs', 'due') call('DEL', P .. 'due')",
    "call('HINCRBY', P .. 'queue:' .. q, 'running', 3)",
    "local m = call('ZRANDMEMBER', P .. 'complete:' .. q)\n"
    "if m then call('DEL', P .. 'history:' .. string.sub(m, 12)) end",
    "local m = call('ZRANDMEMBER', P .. 'scheduled:' .. q) if m then call('ZADD', P .. 'scheduled:' .. q, 0, m) end",
};

static void damage_one(struct scene *s, int which, const char *queue)
{
    char lua[1024];
    snprintf(lua, sizeof lua, "local q = '%s'\n%s", queue, damages[which]);
    damage_plant(s, lua);
}

static int64_t n_complete(struct scene *s)
{
    return raw_int(s->server->redis, "EVAL %s 1 %s",
                   "return redis.call('ZCARD', KEYS[1] .. ':complete:shared') + redis.call('ZCARD', KEYS[1] .. "
                   "':complete:own')",
                   s->prefix);
}

static bool all_complete(void *arg)
{
    return n_complete(arg) == N_JOBS;
}

static void assert_results(struct scene *s)
{
    char id[32];
    redisContext *redis = s->server->redis;
    assert_int_equal(raw_int(redis, "HLEN %s.results", s->prefix), N_JOBS);
    for (int i = 0; i < N_JOBS; i++) {
        unsigned long sum = 5381;
        if (i % 3 == 0)
            snprintf(id, sizeof id, "%d", i / 3);
        else
            snprintf(id, sizeof id, "%d.%d", i / 3, i % 3);
        for (const char *at = id; *at; at++)
            sum = sum * 33 + (unsigned char)*at;
        char *result = raw_string(redis, "HGET %s.results %s", s->prefix, id);
        assert_non_null(result);
        assert_int_equal(strtoul(result, NULL, 10), sum);
        free(result);
        assert_job_state(s, id, MUSTER_JOB_COMPLETE);
    }
    char *counts = raw_string(redis, "HVALS %s.counted", s->prefix);
    for (const char *at = counts; *at; at += 2)
        assert_memory_equal(at, "1\n", 2);
    free(counts);
}

static void whatever_goes_wrong_each_job_has_its_one_result(void **state)
{
    struct scene *s = *state;
    pid_t takers[N_TAKERS];
    struct worker_process *workers[N_WORKERS];
    const int64_t none = 0;
    unsigned seed = (unsigned)now_ms();
    int rounds = 0, found = 0, kills = 0;
    print_message("  seed %u\n", seed);
    srand(seed);
    assert_ok(muster_config_set(s->client, NULL, "max_crashes", &none));
    for (int i = 0; i < N_ROOTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        job_put(s, queues[i % 2], JOB_SPEC(.id = id, .retries = 1000, .priority = i % 5 - 2));
    }
    for (int i = 0; i < N_TAKERS; i++)
        if ((takers[i] = child_fork()) == 0)
            take_until_killed(s, i);
    for (int i = 0; i < N_WORKERS; i++)
        workers[i] = start_worker(s, i);
    for (int64_t until = now_ms() + 60000; !all_complete(s) && now_ms() < until; rounds++) {
        for (int i = 0; i < 4; i++)
            damage_one(s, rand() % (int)N_OF(damages), queues[rand() % 2]);
        if (rounds % 5 == 4)
            found += checked_repair(s).n;
        if (kills < N_WORKERS && rounds == 40 * (kills + 1)) {
            worker_process_kill(workers[kills]);
            workers[kills] = start_worker(s, N_WORKERS + kills); /* the dead one's id is not free yet */
            kills++;
        }
        usleep(1000);
    }
    print_message("  %d rounds, %d finds\n", rounds, found);
    for (int i = 0; i < N_TAKERS; i++) {
        assert_int_equal(waitpid(takers[i], NULL, WNOHANG), 0); /* an assert that fails there ends it */
        child_kill(&takers[i]);
    }
    checked_repair(s);
    wait_until(all_complete, s, SOON_MS); /* the last word of a taker may have been a job put again */
    for (int i = 0; i < N_WORKERS; i++) {
        worker_process_stop(workers[i], 1000);
        assert_int_equal(worker_process_reap(workers[i]), 0);
    }
    checked_repair(s);
    checked_assert_clean(s);
    assert_results(s);
    scene_assert_quiet(s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {live_test(whatever_goes_wrong_each_job_has_its_one_result)};
    return scene_run(tests, argc, argv);
}
