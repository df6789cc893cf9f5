/* SPDX-License-Identifier: MIT
 *
 * Schedules while the keeper of the timer is killed, again and again, in the middle of making up for hours in which
 * nobody was there. No tick is lost, none comes twice, and each job that was made is done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "worker_process.h"

enum { TTL_MS = 600, WORKERS = 3, ROUNDS = 12, MISSED = 240, MINUTE_MS = 60000 };

struct bench {
    struct scene *scene;
    struct worker_process *workers[WORKERS];
    int n_started, n_killed, round;
    int64_t first[ROUNDS]; /* the first tick that was missed, of each job */
};

static void start(struct bench *b, int i)
{
    char id[16];
    snprintf(id, sizeof id, "w%d", b->n_started++);
    b->workers[i] = worker_process_idle(
        b->scene, &(struct worker_spec){.id = id, .ttl_ms = TTL_MS, .hands = 8, .queues = {{"q", 0}}});
}

/* Put a job that comes each minute, and let it be as if nobody had been there for MISSED minutes. */
static void put_late(struct bench *b)
{
    static const char lua[] = "local P, id, minutes = KEYS[1] .. ':', ARGV[1], tonumber(ARGV[2])\n"
                              "local place = redis.call('HGET', P .. 'job:' .. id, 'place')\n"
                              "local first = math.floor(redis.call('TIME')[1] / 60) * 60000 - (minutes - 1) * 60000\n"
                              "local ticks = {}\n"
                              "for i = 0, 47 do ticks[i + 1] = string.format('%.0f', first + i * 60000) end\n"
                              "redis.call('HSET', P .. 'job:' .. id, 'last', string.format('%.0f', first - 60000), "
                              "'due', ticks[1], 'ticks',\n"
                              "  table.concat(ticks, ' '))\n"
                              "redis.call('ZADD', P .. 'recurring:q', first, place .. id)\n"
                              "redis.call('ZADD', P .. 'crons', ticks[24], id)\n"
                              "redis.call('HSET', P .. 'queue:q', 'due', ticks[1])\n"
                              "redis.call('ZADD', P .. 'due', ticks[1], 'q')\n"
                              "redis.call('ZADD', P .. 'due', ticks[24], '')\n"
                              "return first";
    char id[16];
    snprintf(id, sizeof id, "c%d", b->round);
    job_put(b->scene, "q", JOB_SPEC(.id = id, .cron = "* * * * *"));
    b->first[b->round] = raw_int(b->scene->server->redis, "EVAL %s 1 %s %s %d", lua, b->scene->prefix, id, (int)MISSED);
}

static bool is_under_way(void *arg)
{
    struct bench *b = arg;
    char id[16];
    snprintf(id, sizeof id, "c%d", b->round);
    return job_look(b->scene, id).made > 0;
}

/* Which worker keeps the timer; -1: none that lives. */
static int keeper_of(struct bench *b)
{
    char *id = raw_string(b->scene->server->redis, "GET %s:timer", b->scene->prefix);
    int found = -1;
    for (int i = 0; id && i < WORKERS; i++)
        if (strcmp(b->workers[i]->id, id) == 0)
            found = i;
    free(id);
    return found;
}

static bool somebody_keeps(void *arg)
{
    return keeper_of(arg) >= 0;
}

/* The keeper dies, and another worker comes. */
static void kill_keeper(struct bench *b)
{
    int keeper = keeper_of(b);
    if (keeper < 0) /* it has handed the timer on just now */
        return;
    worker_process_kill(b->workers[keeper]);
    b->n_killed++;
    start(b, keeper);
}

static bool all_are_done(void *arg)
{
    struct bench *b = arg;
    uint64_t made = 0;
    int64_t now_ms;
    assert_ok(muster_client_time(b->scene->client, &now_ms));
    for (int i = 0; i < ROUNDS; i++) {
        char id[16];
        snprintf(id, sizeof id, "c%d", i);
        struct job_seen job = job_look(b->scene, id);
        if (job.due_at_ms <= now_ms || job.due_at_ms % MINUTE_MS != 0) /* a look in a moment is no tick */
            return false;
        made += job.made;
    }
    return job_count(b->scene, "q", MUSTER_JOB_COMPLETE) == made;
}

/* The jobs that it made are those of one minute after the other, from the first that was missed up to now. */
static void assert_each_once(struct bench *b, int i)
{
    char id[24];
    snprintf(id, sizeof id, "c%d", i);
    struct job_seen parent = job_look(b->scene, id);
    assert_true(parent.made >= MISSED);
    assert_int_equal(parent.due_at_ms, b->first[i] + (int64_t)parent.made * MINUTE_MS);
    for (uint64_t n = 1; n <= parent.made; n++) {
        snprintf(id, sizeof id, "c%d-%d", i, (int)n);
        struct job_seen job = job_look(b->scene, id);
        assert_int_equal(job.put_at_ms, b->first[i] + (int64_t)(n - 1) * MINUTE_MS);
        assert_int_equal(job.state, MUSTER_JOB_COMPLETE);
    }
}

static void no_tick_is_lost_or_doubled(void **state)
{
    struct bench b = {.scene = *state};
    for (int i = 0; i < WORKERS; i++)
        start(&b, i);
    for (b.round = 0; b.round < ROUNDS; b.round++) {
        wait_until(somebody_keeps, &b, SOON_MS);
        put_late(&b);
        wait_until(is_under_way, &b, 10 * SOON_MS);
        kill_keeper(&b);
    }
    assert_true(b.n_killed >= ROUNDS / 2);
    wait_until(all_are_done, &b, 10 * SOON_MS);
    for (int i = 0; i < ROUNDS; i++)
        assert_each_once(&b, i);
    checked_assert_clean(b.scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(no_tick_is_lost_or_doubled),
    };
    return scene_run(tests, argc, argv);
}
