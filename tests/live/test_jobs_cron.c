/* SPDX-License-Identifier: MIT
 *
 * Jobs that recur by a schedule, or with bounds and an overlap: what they make and when, also after everybody was away;
 * how they end, how they are changed, and what is refused.
 */
#include <muster/cron.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "job_look.h"
#include "live_worker.h"
#include "script_call.h"
#include "taken.h"

#define MINUTE_MS 60000
#define EACH_MINUTE(...) JOB_SPEC(.id = "r", .cron = "* * * * *", __VA_ARGS__)

/* As if so many minutes had passed since the last tick of the job "r", which comes each minute, and nobody had been there.
 * The ticks that are known are those that were known then. Returns the first that is missed. */
static int64_t pass(struct scene *s, int minutes)
{
    static const char lua[] =
        "local P, minutes = KEYS[1] .. ':', tonumber(ARGV[1])\n"
        "local job = redis.call('HMGET', P .. 'job:r', 'queue', 'place')\n"
        "local first = math.floor(redis.call('TIME')[1] / 60) * 60000 - (minutes - 1) * 60000\n"
        "local ticks = {}\n"
        "for i = 0, 47 do ticks[i + 1] = string.format('%.0f', first + i * 60000) end\n"
        "redis.call('HSET', P .. 'job:r', 'last', string.format('%.0f', first - 60000), 'due', ticks[1], 'ticks',\n"
        "  table.concat(ticks, ' '))\n"
        "redis.call('ZADD', P .. 'recurring:' .. job[1], first, job[2] .. 'r')\n"
        "redis.call('ZADD', P .. 'crons', ticks[24], 'r')\n"
        "redis.call('HSET', P .. 'queue:' .. job[1], 'due', ticks[1])\n"
        "redis.call('ZADD', P .. 'due', ticks[1], job[1])\n"
        "redis.call('ZADD', P .. 'due', ticks[24], '')\n"
        "return first";
    return raw_int(s->server->redis, "EVAL %s 1 %s %d", lua, s->prefix, minutes);
}

static struct live_worker *worker(struct scene *s)
{
    return live_worker_idle(s, &(struct worker_spec){.id = "w", .ttl_ms = 1500, .hands = 50, .queues = {{"q", 0}}});
}

struct awaited {
    struct scene *scene;
    uint64_t made;
};

static bool are_complete(void *arg)
{
    const struct awaited *a = arg;
    return job_count(a->scene, "q", MUSTER_JOB_COMPLETE) >= a->made;
}

static void await_made(struct scene *s, uint64_t n)
{
    wait_on(s->base, are_complete, (&(struct awaited){s, n}), SOON_MS * 3);
    assert_int_equal(job_look(s, "r").made, n);
}

/* The job that was made `n`th was put for this time. */
static void assert_made_at(struct scene *s, int n, int64_t at_ms)
{
    char id[16];
    snprintf(id, sizeof id, "r-%d", n);
    assert_int_equal(job_look(s, id).put_at_ms, at_ms);
}

static void leased_is_finished(struct scene *s, const char *id)
{
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", id), NULL));
}

struct past {
    struct scene *scene;
    int64_t at_ms;
};

/* Has this time of Redis' clock come? */
static bool is_past(void *arg)
{
    const struct past *p = arg;
    int64_t now_ms;
    assert_ok(muster_client_time(p->scene->client, &now_ms));
    return now_ms >= p->at_ms;
}

static void nothing_comes(struct scene *s)
{
    assert_err(take_n(s, "q", 1, MINUTE_MS, &(struct taken){0}), MUSTER_E_NOT_FOUND);
}

/* ---- ticks ---- */

static int compare_ticks(const struct muster_job *job, void *arg)
{
    const int64_t *now_ms = arg;
    int64_t expected[48];
    size_t n;
    assert_ok(muster_cron_next(job->cron, job->zone, *now_ms, expected, 48, &n));
    assert_int_equal(job->n_ticks, 48);
    assert_memory_equal(job->ticks, expected, sizeof expected);
    assert_int_equal(job->due_at_ms, expected[0]);
    return 0;
}

static void its_record_has_the_next_ticks(void **state)
{
    struct scene *s = *state;
    int64_t now_ms;
    job_put(s, "q", JOB_SPEC(.id = "r", .cron = "0 3 1 * *", .zone = "America/New_York"));
    assert_ok(muster_client_time(s->client, &now_ms));
    assert_ok(muster_job_get(s->client, IDS("r"), 1, compare_ticks, &now_ms));
    checked_assert_clean(s);
}

/* Its times are those of its schedule or interval: a replacement does not move them. */
static void a_replacement_that_recurs_has_no_time_of_its_own(void **state)
{
    static const char words[] = "its interval or schedule says when";
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .cron = "0 3 1 * *"));
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = 3600000, .offset_ms = 3600000));
    const int64_t due_ms = job_look(s, "r").due_at_ms, other_due_ms = job_look(s, "e").due_at_ms;
    static const char *const ids[] = {"r", "e"};
    for (size_t i = 0; i < N_OF(ids); i++) {
        job_not_put(s, "q", JOB_SPEC(.id = ids[i], .data = BYTES("x"), .replace = 1, .at_ms = 4000000000000),
                    MUSTER_E_INVALID, words);
        job_put(s, "q", JOB_SPEC(.id = ids[i], .data = BYTES("new"), .replace = 1));
        assert_string_equal(job_look(s, ids[i]).data, "new");
    }
    job_not_put(s, "q", JOB_SPEC(.id = "r", .replace = 1, .delay_ms = 5000), MUSTER_E_INVALID, words);
    job_not_put(s, "q", JOB_SPEC(.id = "r", .replace = 1, .delay_ms = MUSTER_ZERO), MUSTER_E_INVALID, words);
    assert_int_equal(job_look(s, "r").due_at_ms, due_ms);
    assert_int_equal(job_look(s, "e").due_at_ms, other_due_ms);
    checked_assert_clean(s);
}

static void each_tick_makes_a_job(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.data = BYTES("d"), .priority = 3, .tags = IDS("red"), .n_tags = 1));
    nothing_comes(s);
    int64_t first = pass(s, 2);
    leased_is_finished(s, "r-1");
    leased_is_finished(s, "r-2");
    nothing_comes(s);
    assert_made_at(s, 1, first);
    assert_made_at(s, 2, first + MINUTE_MS);
    struct job_seen made = job_look(s, "r-1");
    assert_string_equal(made.data, "d");
    assert_string_equal(made.tags, "red ");
    assert_int_equal(made.priority, 3);
    assert_int_equal(job_look(s, "r").due_at_ms, first + 2 * MINUTE_MS);
    checked_assert_clean(s);
}

/* Of 1 440 minutes the record knew 48. */
static void a_day_without_anybody_is_made_up_for(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.retries = 3));
    int64_t first = pass(s, 1440);
    worker(s);
    await_made(s, 1440);
    for (int i = 1; i <= 1440; i += 1439 / 7)
        assert_made_at(s, i, first + (i - 1) * (int64_t)MINUTE_MS);
    assert_made_at(s, 1440, first + 1439 * (int64_t)MINUTE_MS);
    checked_assert_clean(s);
}

static void of_a_day_the_backlog_is_made_up_for(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.backlog = 5));
    int64_t first = pass(s, 1440);
    worker(s);
    await_made(s, 5);
    assert_made_at(s, 1, first + 1435 * (int64_t)MINUTE_MS);
    assert_made_at(s, 5, first + 1439 * (int64_t)MINUTE_MS);
    assert_non_null(strstr(job_look(s, "r").history, "skipped=1435 times beyond the backlog"));
    checked_assert_clean(s);
}

/* A worker computes more ticks before those that are known run out. */
static bool has_many_ticks(void *arg)
{
    struct scene *s = arg;
    return raw_int(s->server->redis, "HSTRLEN %s:job:r ticks", s->prefix) == 48 * 14 - 1;
}

static void ticks_are_known_before_they_run_out(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.retries = 3));
    pass(s, 30);
    worker(s);
    await_made(s, 30);
    wait_on(s->base, has_many_ticks, s, SOON_MS);
    checked_assert_clean(s);
}

/* Each of both workers has been its keeper since the first call. */
static bool have_both_kept_the_timer(void *arg)
{
    static struct {
        struct scene *scene;
        bool has[2];
    } seen;
    char name[] = "w1";
    if (seen.scene != arg)
        memset(seen.has, 0, sizeof seen.has);
    seen.scene = arg;
    char *keeper = raw_string(seen.scene->server->redis, "GET %s:timer", seen.scene->prefix);
    for (int i = 0; i < 2; i++, name[1]++)
        seen.has[i] |= keeper && !strcmp(keeper, name);
    free(keeper);
    return seen.has[0] && seen.has[1];
}

/* No worker has the data of this zone, so the timer goes round. When it is mended, whoever keeps it tells the ticks. */
static void who_lacks_a_zone_lets_another_worker_keep_the_timer(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.retries = 3));
    raw_do(s->server->redis, "HSET %s:job:r zone No/Where", s->prefix);
    pass(s, 30);
    live_worker_idle(s, &(struct worker_spec){.id = "w1", .ttl_ms = 60000, .hands = 50, .queues = {{"q", 0}}});
    live_worker_idle(s, &(struct worker_spec){.id = "w2", .ttl_ms = 60000, .hands = 50, .queues = {{"other", 0}}});
    wait_on(s->base, have_both_kept_the_timer, s, SOON_MS * 2);
    raw_do(s->server->redis, "HSET %s:job:r zone UTC", s->prefix);
    wait_on(s->base, has_many_ticks, s, SOON_MS);
}

struct three {
    int64_t at_ms[3];
};

static int note_three(const struct muster_job *job, void *arg)
{
    assert_true(job->n_ticks >= 3);
    memcpy(((struct three *)arg)->at_ms, job->ticks, sizeof(struct three));
    return 0;
}

/* In 2027 Berlin goes from 02:00 to 03:00 on 28 March, and back on 31 October, at 01:00 UTC. */
static void both_changes_of_the_clocks_are_in_its_record(void **state)
{
    struct scene *s = *state;
    struct three three;
    const int64_t day = 86400000, half = 1800000, march = 1806105600000,
                  october = 1824854400000; /* the 27th, the 30th */
    job_put(s, "q", JOB_SPEC(.id = "a", .cron = "30 2 * * *", .zone = "Europe/Berlin", .from_ms = march));
    assert_ok(muster_job_get(s->client, IDS("a"), 1, note_three, &three));
    assert_int_equal(three.at_ms[0], march + 3 * half);
    assert_int_equal(three.at_ms[1], march + day + 2 * half); /* what is skipped comes at once */
    assert_int_equal(three.at_ms[2], march + 2 * day + half);
    job_put(s, "q", JOB_SPEC(.id = "b", .cron = "30 2 * * *", .zone = "Europe/Berlin", .from_ms = october));
    assert_ok(muster_job_get(s->client, IDS("b"), 1, note_three, &three));
    assert_int_equal(three.at_ms[0], october + half);
    assert_int_equal(three.at_ms[1], october + day + half); /* the first of two */
    assert_int_equal(three.at_ms[2], october + 2 * day + 3 * half);
}

/* ---- bounds ---- */

static void after_its_last_time_it_is_complete(void **state)
{
    struct scene *s = *state;
    int64_t now_ms;
    assert_ok(muster_client_time(s->client, &now_ms));
    job_put(s, "q", EACH_MINUTE(.until_ms = now_ms + 3 * MINUTE_MS));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:crons", s->prefix), 0); /* all are known */
    pass(s, 2);
    raw_do(s->server->redis, "EVAL %s 1 %s",
           "local P = KEYS[1] .. ':' local ticks = redis.call('HGET', P .. 'job:r', 'ticks')\n"
           "redis.call('ZREM', P .. 'crons', 'r')\n"
           "redis.call('HSET', P .. 'job:r', 'ticks', string.sub(ticks, 1, 27))",
           s->prefix);
    leased_is_finished(s, "r-1");
    assert_job_state(s, "r", MUSTER_JOB_COMPLETE);
    leased_is_finished(s, "r-2");
    nothing_comes(s);
    assert_string_equal(job_look(s, "r").history, "put completed ");
    job_put(s, "q", EACH_MINUTE(.retries = 3)); /* its id is free */
    checked_assert_clean(s);
}

static void it_makes_no_more_than_its_count(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.count = 2));
    pass(s, 5);
    leased_is_finished(s, "r-1");
    leased_is_finished(s, "r-2");
    nothing_comes(s);
    assert_job_state(s, "r", MUSTER_JOB_COMPLETE);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:crons", s->prefix), 0);
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = 1000, .count = 1));
    leased_is_finished(s, "e-1");
    assert_job_state(s, "e", MUSTER_JOB_COMPLETE);
    checked_assert_clean(s);
}

static void several_may_end_together(void **state)
{
    struct scene *s = *state;
    for (int i = 0; i < 3; i++)
        job_put(s, "q", JOB_SPEC(.id = (const char *const[]){"e", "f", "g"}[i], .every_ms = MINUTE_MS, .count = 1));
    leased_is_finished(s, "e-1");
    assert_int_equal(job_count(s, "q", MUSTER_JOB_COMPLETE), 4);
    leased_is_finished(s, "f-1");
    leased_is_finished(s, "g-1");
    checked_assert_clean(s);
}

static void an_interval_has_a_first_and_a_last_time(void **state)
{
    struct scene *s = *state;
    int64_t now_ms;
    assert_ok(muster_client_time(s->client, &now_ms));
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = 1000, .from_ms = now_ms + 3600000, .until_ms = now_ms + 3600500));
    assert_int_equal(job_look(s, "e").due_at_ms, now_ms + 3600000);
    assert_int_equal(job_look(s, "e").from_ms, now_ms + 3600000);
    job_put(s, "q", JOB_SPEC(.id = "f", .every_ms = 1000, .until_ms = now_ms + 500));
    leased_is_finished(s, "f-1");
    assert_job_state(s, "f", MUSTER_JOB_COMPLETE);
    job_put(s, "q", JOB_SPEC(.id = "r", .cron = "* * * * *", .from_ms = now_ms + 3600000));
    assert_in_range(job_look(s, "r").due_at_ms, now_ms + 3600000, now_ms + 3660000);
    checked_assert_clean(s);
}

/* ---- overlap ---- */

static void by_default_jobs_overlap(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.retries = 3));
    pass(s, 2);
    job_take(s, "q", "r-1");
    job_take(s, "q", "r-2");
}

static void what_would_overlap_is_skipped_and_told(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.overlap = MUSTER_OVERLAP_SKIP));
    pass(s, 1);
    const char *running = job_take(s, "q", "r-1");
    pass(s, 1);
    nothing_comes(s);
    pass(s, 3);
    nothing_comes(s);
    assert_string_equal(job_look(s, "r").history, "put skipped=r-1 has not ended skipped=3 times: r-1 has not ended ");
    assert_ok(muster_lease_finish(s->client, running, NULL));
    nothing_comes(s); /* what was skipped is not made up for */
    pass(s, 1);
    leased_is_finished(s, "r-2");
    assert_int_equal(job_look(s, "r").made, 2);
    checked_assert_clean(s);
}

/* Of several times that were missed, too, only one is made. */
static void of_times_that_were_missed_one_is_made(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.overlap = MUSTER_OVERLAP_SKIP));
    pass(s, 4);
    leased_is_finished(s, "r-1");
    nothing_comes(s);
    assert_string_equal(job_look(s, "r").history, "put skipped=3 times: r-1 has not ended ");
}

static int note_queued(const struct muster_job *job, void *arg)
{
    *(int *)arg = job->queued;
    return 0;
}

static void what_would_overlap_is_queued(void **state)
{
    struct scene *s = *state;
    int queued = 7;
    job_put(s, "q", EACH_MINUTE(.overlap = MUSTER_OVERLAP_QUEUE));
    int64_t first = pass(s, 3);
    const char *running = job_take(s, "q", "r-1");
    nothing_comes(s);
    assert_ok(muster_job_get(s->client, IDS("r"), 1, note_queued, &queued));
    assert_int_equal(queued, 1);
    checked_assert_clean(s);
    assert_ok(muster_lease_finish(s->client, running, NULL));
    running = job_take(s, "q", "r-2");
    nothing_comes(s);
    assert_ok(muster_lease_fail(s->client, running, "g", "m")); /* that is an end, too */
    running = job_take(s, "q", "r-3");
    assert_ok(muster_job_cancel(s->client, IDS("r-3"), 1, 0, NULL, NULL));
    assert_err(muster_lease_give_back(s->client, running), MUSTER_E_CANCELLED);
    nothing_comes(s);
    assert_made_at(s, 2, first + MINUTE_MS);
    assert_ok(muster_job_get(s->client, IDS("r"), 1, note_queued, &queued));
    assert_int_equal(queued, 0);
    checked_assert_clean(s);
}

/* Where a worker is, the next one comes at once with the end, not when somebody looks. */
static void what_is_queued_comes_with_the_end(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.overlap = MUSTER_OVERLAP_QUEUE));
    int64_t before;
    assert_ok(muster_client_time(s->client, &before));
    pass(s, 20);
    worker(s);
    await_made(s, 20);
    int64_t after;
    assert_ok(muster_client_time(s->client, &after));
    assert_true(after - before < 30000); /* a look comes once a minute */
    checked_assert_clean(s);
}

static void an_interval_has_an_overlap_too(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "e", .every_ms = 1000, .overlap = MUSTER_OVERLAP_QUEUE));
    const char *running = job_take(s, "q", "e-1");
    int64_t at = job_look(s, "e-1").put_at_ms;
    wait_until(is_past, (&(struct past){s, at + 2000}), SOON_MS);
    nothing_comes(s);
    checked_assert_clean(s);
    assert_ok(muster_lease_finish(s->client, running, NULL));
    job_take(s, "q", "e-2");
    assert_int_equal(job_look(s, "e-2").put_at_ms, at + 1000); /* its rhythm is kept */
}

/* ---- change ---- */

static void a_schedule_is_changed_in_place_at_once(void **state)
{
    struct scene *s = *state;
    int64_t now_ms, at_ms;
    size_t n;
    job_put(s, "q", JOB_SPEC(.id = "r", .cron = "0 3 1 * *", .zone = "Europe/Berlin"));
    assert_ok(muster_client_time(s->client, &now_ms));
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.cron = "30 4 2 * *")));
    assert_ok(muster_cron_next("30 4 2 * *", "Europe/Berlin", now_ms, &at_ms, 1, &n));
    assert_int_equal(job_look(s, "r").due_at_ms, at_ms);
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.zone = "Asia/Tokyo")));
    assert_ok(muster_cron_next("30 4 2 * *", "Asia/Tokyo", now_ms, &at_ms, 1, &n));
    assert_int_equal(job_look(s, "r").due_at_ms, at_ms);
    checked_assert_clean(s);
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.cron = "* * * * *")));
    pass(s, 2);
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.cron = "*/1 * * * *")));
    nothing_comes(s); /* what was missed is over */
    checked_assert_clean(s);
}

static void an_overlap_is_changed_in_place_at_once(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.overlap = MUSTER_OVERLAP_QUEUE));
    pass(s, 2);
    job_take(s, "q", "r-1");
    nothing_comes(s);
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.overlap = MUSTER_OVERLAP_ALLOW)));
    job_take(s, "q", "r-2");
    checked_assert_clean(s);
}

static void a_schedule_takes_the_place_of_an_interval(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .every_ms = 3600000, .offset_ms = 3600000, .count = 9));
    job_put(s, "q", EACH_MINUTE(.replace = 1));
    assert_int_equal(job_look(s, "r").every_ms, 0);
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:job:r count", s->prefix), 0);
    checked_assert_clean(s);
    job_put(s, "p", JOB_SPEC(.id = "r", .every_ms = 3600000, .offset_ms = 3600000, .replace = 1));
    assert_int_equal(raw_int(s->server->redis, "HEXISTS %s:job:r cron", s->prefix), 0);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:crons", s->prefix), 0);
    checked_assert_clean(s);
    assert_err(muster_job_change(s->client, "r", JOB_CHANGE(.cron = "@daily")), MUSTER_E_STATE);
    assert_words(s, "does not recur by a schedule");
    assert_err(muster_job_change(s->client, "none", JOB_CHANGE(.cron = "@daily")), MUSTER_E_NOT_FOUND);
    job_put(s, "q", JOB_SPEC(.id = "c", .cron = "@daily"));
    assert_err(muster_job_change(s->client, "c", JOB_CHANGE(.every_ms = 1000)), MUSTER_E_STATE);
}

static void a_schedule_that_moves_or_goes_leaves_nothing(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", EACH_MINUTE(.retries = 3));
    assert_ok(muster_job_change(s->client, "r", JOB_CHANGE(.queue = "p")));
    checked_assert_clean(s);
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:crons", s->prefix), 1);
    assert_ok(muster_job_cancel(s->client, IDS("r"), 1, 0, NULL, NULL));
    assert_int_equal(raw_int(s->server->redis, "ZCARD %s:crons", s->prefix), 0);
    checked_assert_clean(s);
}

/* ---- what is refused ---- */

static void what_cannot_recur_so_is_refused(void **state)
{
    struct scene *s = *state;
    int64_t in_an_hour_ms;
    assert_ok(muster_client_time(s->client, &in_an_hour_ms));
    in_an_hour_ms += 3600000;
    const struct {
        const struct muster_job_spec *spec;
        const char *words;
    } bad[] = {
        {JOB_SPEC(.id = "a", .cron = "61 * * * *"), "minute"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .zone = "Europe/Berlim"), "no time zone"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .every_ms = 1000), "not both"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .offset_ms = 1000), "no offset"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .delay_ms = 1000), "first time"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .at_ms = 1000), "first time"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .after = IDS("b"), .n_after = 1), "does not wait"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .batch = "b"), "batch"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .backlog = 10001), "10000"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .until_ms = 1000), "no time up to its last one"},
        {JOB_SPEC(.id = "a", .every_ms = 1000, .until_ms = 1000), "no time up to its last one"},
        {JOB_SPEC(.id = "a", .every_ms = 1000, .until_ms = in_an_hour_ms, .offset_ms = 7200000), "up to its last one"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .from_ms = 2000, .until_ms = 1000), "must not lie before"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .count = -1), "count"},
        {JOB_SPEC(.id = "a", .cron = "* * * * *", .overlap = 9), "overlap"},
        {JOB_SPEC(.id = "a", .zone = "Europe/Berlin"), "missing"},
        {JOB_SPEC(.id = "a", .every_ms = 1000, .offset_ms = 1, .from_ms = 1000), "not both"},
        {JOB_SPEC(.id = "a", .count = 1), "needs an interval or a schedule"},
        {JOB_SPEC(.id = "a", .overlap = MUSTER_OVERLAP_SKIP), "needs an interval or a schedule"},
    };
    for (size_t i = 0; i < N_OF(bad); i++)
        job_not_put(s, "q", bad[i].spec, MUSTER_E_INVALID, bad[i].words);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:job:a", s->prefix), 0);
    const struct muster_job_put_options again = {.size = sizeof again, .request_id = "r"};
    const struct muster_job_spec *specs[] = {EACH_MINUTE(.retries = 3)};
    assert_err(muster_job_put_many(s->client, "q", specs, 1, &again, NULL), MUSTER_E_INVALID);
    assert_words(s, "without a request id");
    assert_ok(muster_job_put_many(s->client, "q", specs, 1, NULL, NULL));
    assert_job_state(s, "r", MUSTER_JOB_RECURRING);
    job_put(s, "q", JOB_SPEC(.id = "b"));
    job_not_put(s, "q", JOB_SPEC(.id = "w", .after = IDS("r"), .n_after = 1), MUSTER_E_INVALID, "recurring");
    assert_err(muster_job_change(s->client, "r", JOB_CHANGE(.zone = "Europe/Berlim")), MUSTER_E_INVALID);
    assert_err(muster_job_change(s->client, "b", JOB_CHANGE(.overlap = MUSTER_OVERLAP_SKIP)), MUSTER_E_STATE);
}

/* Ticks that were computed for a schedule that is no more are not taken. */
static void ticks_of_another_schedule_are_refused(void **state)
{
    struct scene *s = *state;
    job_put(s, "q", JOB_SPEC(.id = "r", .cron = "0 3 1 * *"));
    char *last = raw_string(s->server->redis, "HGET %s:job:r last", s->prefix);
    char *ticks = raw_string(s->server->redis, "HGET %s:job:r ticks", s->prefix);
    assert_ok(script_does(s, SCRIPT_REFILL, "r", "0 4 1 * *", "UTC", last, "1", "", "0", "0", last));
    assert_ok(script_does(s, SCRIPT_REFILL, "r", "0 3 1 * *", "UTC", "7", "1", "", "0", "0", "7"));
    assert_err(script_does(s, SCRIPT_CHANGE, "r", "was_cron", "0 4 1 * *", "cron", "0 5 1 * *", "ticks", "1"),
               MUSTER_E_STATE);
    char *same = raw_string(s->server->redis, "HGET %s:job:r ticks", s->prefix);
    assert_string_equal(same, ticks);
    free(last);
    free(ticks);
    free(same);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(its_record_has_the_next_ticks),
        live_test(a_replacement_that_recurs_has_no_time_of_its_own),
        live_test(each_tick_makes_a_job),
        live_test(a_day_without_anybody_is_made_up_for),
        live_test(of_a_day_the_backlog_is_made_up_for),
        live_test(ticks_are_known_before_they_run_out),
        live_test(who_lacks_a_zone_lets_another_worker_keep_the_timer),
        live_test(both_changes_of_the_clocks_are_in_its_record),
        live_test(after_its_last_time_it_is_complete),
        live_test(it_makes_no_more_than_its_count),
        live_test(several_may_end_together),
        live_test(an_interval_has_a_first_and_a_last_time),
        live_test(by_default_jobs_overlap),
        live_test(what_would_overlap_is_skipped_and_told),
        live_test(of_times_that_were_missed_one_is_made),
        live_test(what_would_overlap_is_queued),
        live_test(what_is_queued_comes_with_the_end),
        live_test(an_interval_has_an_overlap_too),
        live_test(a_schedule_is_changed_in_place_at_once),
        live_test(an_overlap_is_changed_in_place_at_once),
        live_test(a_schedule_takes_the_place_of_an_interval),
        live_test(a_schedule_that_moves_or_goes_leaves_nothing),
        live_test(what_cannot_recur_so_is_refused),
        live_test(ticks_of_another_schedule_are_refused),
    };
    return scene_run(tests, argc, argv);
}
