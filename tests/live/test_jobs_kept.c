/* SPDX-License-Identifier: MIT
 *
 * What is kept of jobs: settings, how long records and histories stay, and statistics; and what listeners are told of
 * them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_look.h"
#include "script_call.h"
#include "taken.h"

#define AN_HOUR 3600000

/* ---- settings ---- */

static int note_setting(const struct muster_setting *row, void *arg)
{
    assert_true(row->least <= row->fallback && row->fallback <= row->most);
    assert_true(strlen(row->what) > 0);
    sprintf((char *)arg + strlen(arg), "%s=%lld/%s ", row->name, (long long)row->value, row->from);
    return 0;
}

static void assert_settings(struct scene *s, const char *queue, const char *name, const char *expected)
{
    char text[1024] = "";
    assert_ok(muster_config_get(s->client, queue, name, note_setting, text));
    assert_string_equal(text, expected);
}

static void set(struct scene *s, const char *queue, const char *name, int64_t value)
{
    assert_ok(muster_config_set(s->client, queue, name, &value));
}

static void a_setting_is_the_queues_own_the_namespaces_or_the_default(void **state)
{
    struct scene *s = *state;
    assert_settings(s, "q", NULL,
                    "broadcast=0/default fair=0/default "
                    "keep_failed=0/default keep_failed_bytes=0/default keep_failed_ms=0/default "
                    "keep_history=100/default keep_jobs=50000/default keep_jobs_ms=604800000/default "
                    "max_crashes=3/default max_running=0/default max_running_per_key=0/default "
                    "rate=0/default rate_burst=0/default "
                    "rate_ms=1000/default share=0/default share_moves=0/default "
                    "share_ms=30000/default ");
    assert_settings(s, NULL, NULL,
                    "keep_failed=0/default keep_failed_bytes=0/default keep_failed_ms=0/default "
                    "keep_history=100/default keep_jobs=50000/default keep_jobs_ms=604800000/default "
                    "max_crashes=3/default ");
    set(s, NULL, "keep_jobs", 7);
    set(s, NULL, "max_crashes", 5);
    set(s, "q", "keep_jobs", 0);
    set(s, "q", "max_running", 2);
    assert_settings(s, "q", "keep_jobs", "keep_jobs=0/queue ");
    assert_settings(s, "r", "keep_jobs", "keep_jobs=7/namespace ");
    assert_settings(s, NULL, "keep_jobs", "keep_jobs=7/namespace ");
    assert_settings(s, "q", "max_crashes", "max_crashes=5/namespace ");
    assert_settings(s, "q", "max_running", "max_running=2/queue ");
    assert_ok(muster_config_set(s->client, "q", "keep_jobs", NULL));
    assert_settings(s, "q", "keep_jobs", "keep_jobs=7/namespace ");
    assert_ok(muster_config_set(s->client, NULL, "keep_jobs", NULL));
    assert_settings(s, "q", "keep_jobs", "keep_jobs=50000/default ");
}

static int note_value(const struct muster_setting *row, void *arg)
{
    assert_string_equal(row->from, "queue");
    *(int64_t *)arg = row->value;
    return 0;
}

static int refuse_damage(const struct muster_damage *d, void *arg)
{
    (void)arg;
    fail_msg("%s %s", d->key, d->what);
    return 0;
}

static void each_value_that_is_allowed_counts(void **state)
{
    struct scene *s = *state;
    static const struct {
        const char *name;
        int64_t bounds[2];
    } settings[] = {
#define SETTING(name, fallback, least, most, of_queue, what) {#name, {least, most}},
        MUSTER_SETTINGS(SETTING)
#undef SETTING
    };
    for (size_t bound = 0; bound < 2; bound++) {
        for (size_t i = 0; i < N_OF(settings); i++) {
            int64_t value = -1;
            set(s, "q", settings[i].name, settings[i].bounds[bound]);
            assert_ok(muster_config_get(s->client, "q", settings[i].name, note_value, &value));
            assert_int_equal(value, settings[i].bounds[bound]);
        }
        assert_ok(muster_client_check(s->client, 0, refuse_damage, NULL));
    }
}

static void what_cannot_be_set_is_refused(void **state)
{
    struct scene *s = *state;
    const int64_t one = 1, below = -1, above = 1000001;
    assert_err(muster_config_set(s->client, "q", "nothing", &one), MUSTER_E_NOT_FOUND);
    assert_words(s, "'nothing'");
    assert_err(muster_config_set(s->client, "q", "listen", &one), MUSTER_E_NOT_FOUND);
    assert_err(muster_config_set(s->client, "q", NULL, &one), MUSTER_E_NOT_FOUND);
    assert_err(muster_config_set(s->client, NULL, "max_running", &one), MUSTER_E_INVALID);
    assert_words(s, "of a queue");
    assert_err(muster_config_set(s->client, "", "max_running", &one), MUSTER_E_INVALID);
    assert_err(muster_config_set(s->client, "q", "max_running", &below), MUSTER_E_INVALID);
    assert_err(muster_config_set(s->client, "q", "max_running", &above), MUSTER_E_INVALID);
    assert_words(s, "1000000");
    assert_err(muster_config_get(s->client, "q", "nothing", note_setting, NULL), MUSTER_E_NOT_FOUND);
    assert_err(muster_config_get(s->client, NULL, "broadcast", note_setting, NULL), MUSTER_E_INVALID);
    assert_err(muster_config_get(s->client, "a\nb", NULL, note_setting, NULL), MUSTER_E_INVALID);
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:format", s->prefix), 0);
}

static void a_value_that_is_no_number_counts_for_nothing(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis, "HSET %s:queue:q keep_jobs many", s->prefix);
    assert_settings(s, "q", "keep_jobs", "keep_jobs=50000/default ");
}

static void at_most_max_running_are_in_work(void **state)
{
    struct scene *s = *state;
    struct taken taken;
    for (int i = 0; i < 4; i++)
        job_put(s, "q", JOB_SPEC(.id = (const char *const[]){"a", "b", "c", "d"}[i]));
    set(s, "q", "max_running", 2);
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 2);
    assert_err(take_n(s, "q", 9, AN_HOUR, &(struct taken){0}), MUSTER_E_NOT_FOUND);
    assert_words(s, "max_running");
    assert_ok(muster_lease_finish(s->client, taken.rows[0].id, NULL));
    set(s, "q", "max_running", 3);
    assert_ok(take_n(s, "q", 9, AN_HOUR, &taken));
    assert_int_equal(taken.n, 2);
}

/* ---- what stays ---- */

static void run(struct scene *s, const char *queue, const char *id)
{
    job_put(s, queue, JOB_SPEC(.id = id, .tags = IDS("t"), .n_tags = 1));
    assert_ok(muster_lease_finish(s->client, job_take(s, queue, id), NULL));
}

static void a_number_of_complete_jobs_is_kept(void **state)
{
    struct scene *s = *state;
    set(s, NULL, "keep_jobs", 2);
    run(s, "q", "a");
    run(s, "q", "b");
    run(s, "q", "c");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_COMPLETE), "b c ");
    assert_jobs_listed(s, JOB_FILTER(.tag = "t"), "b c ");
    assert_false(job_is_there(s, "a"));
    assert_int_equal(raw_int(s->server->redis, "EXISTS %s:history:a", s->prefix), 0);
    set(s, "q", "keep_jobs", 0);
    run(s, "q", "d");
    assert_jobs_listed(s, JOB_FILTER(.queue = "q", .state = MUSTER_JOB_COMPLETE), "");
    assert_false(job_is_there(s, "d"));
}

static void complete_jobs_are_kept_for_a_time(void **state)
{
    struct scene *s = *state;
    run(s, "q", "a");
    const int64_t since_ms = job_look(s, "a").since_ms;
    set(s, "q", "keep_jobs_ms", 20);
    await_server_ms(s, since_ms + 21);
    set(s, "r", "keep_jobs_ms", 0);
    run(s, "q", "b");
    assert_false(job_is_there(s, "a"));
    run(s, "r", "c");
    assert_false(job_is_there(s, "c"));
}

static void a_history_keeps_its_first_line_and_its_newest(void **state)
{
    struct scene *s = *state;
    set(s, "q", "keep_history", 3);
    job_put(s, "q", JOB_SPEC(.id = "a"));
    for (int i = 0; i < 9; i++) {
        char line[8];
        snprintf(line, sizeof line, "%d", i);
        assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.log = line)));
    }
    assert_string_equal(job_look(s, "a").history, "put log=7 log=8 ");
}

/* ---- statistics ---- */

static struct muster_stats stats_of(struct scene *s, const char *queue, int64_t day)
{
    struct muster_stats stats = {.size = sizeof stats};
    assert_ok(muster_stats_get(s->client, queue, day, &stats));
    return stats;
}

static void what_happens_to_jobs_is_counted(void **state)
{
    struct scene *s = *state;
    int64_t day = server_now_ms(s) / 86400000;
    run(s, "q", "a");
    job_put(s, "q", JOB_SPEC(.id = "b", .retries = 1));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "b"), 0));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "b"), NULL, NULL));
    assert_ok(muster_job_cancel(s->client, N_IDS("b"), 0, NULL, NULL));
    scene_enqueue(s, "q", "plain");
    assert_ok(muster_lease_finish(s->client, take_one(s, "q", "plain"), NULL));
    struct muster_stats stats = stats_of(s, "q", -1);
    if (stats.day != day) /* midnight */
        skip();
    assert_int_equal(stats.put, 2);
    assert_int_equal(stats.taken, 3);
    assert_int_equal(stats.completed, 1);
    assert_int_equal(stats.retried, 1);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.cancelled, 1);
    assert_int_equal(stats.crashed, 0);
    assert_int_equal(stats.wait.n, 3);
    assert_int_equal(stats.run.n, 1);
    uint64_t sum = 0;
    for (int i = 0; i < MUSTER_STATS_BUCKETS; i++)
        sum += stats.wait.histogram[i];
    assert_int_equal(sum, 3);
    assert_true(stats.wait.mean_ms >= 0 && stats.wait.deviation_ms >= 0);
    assert_memory_equal(stats_of(s, "q", day).run.histogram, stats.run.histogram, sizeof stats.run.histogram);
}

/* Statistics as the scripts count them, with times that no test can make. */
static void mean_deviation_and_histogram_come_from_what_was_counted(void **state)
{
    struct scene *s = *state;
    raw_do(s->server->redis,
           "HSET %s:stats:20000:a:b put 5 wait_ms 40 wait_squares 500 wait:0 1 wait:47 3 run_ms 7 "
           "run_squares 49 run:3 1 failed -2 retried x",
           s->prefix);
    raw_do(s->server->redis, "HSET %s:stats:20001:a:b run:41 2 run_ms 2000000000000 run_squares %s", s->prefix,
           "2000000000000000000000000");
    struct muster_stats stats = stats_of(s, "a:b", 20000);
    assert_int_equal(stats.day, 20000);
    assert_int_equal(stats.put, 5);
    assert_int_equal(stats.failed + stats.retried, 0);
    assert_true(fabs(stats.wait.mean_ms - 10) < 1e-9);
    assert_true(fabs(stats.wait.deviation_ms - 5) < 1e-9);
    assert_int_equal(stats.wait.histogram[0], 1);
    assert_int_equal(stats.wait.histogram[47], 3);
    assert_true(fabs(stats.run.mean_ms - 7) < 1e-9);
    assert_true(stats.run.deviation_ms == 0);
    assert_int_equal(stats.run.histogram[3], 1);
    stats = stats_of(s, "a:b", 20001);
    assert_true(fabs(stats.run.mean_ms - 1e12) < 1);
    assert_true(stats.run.deviation_ms < 1e6);
}

static void a_day_without_any_is_all_zero(void **state)
{
    struct scene *s = *state;
    struct muster_stats stats = stats_of(s, "q", 3), zero = {.size = sizeof zero, .day = 3};
    assert_memory_equal(&stats, &zero, sizeof zero);
    assert_err(muster_stats_get(s->client, "q", -2, &stats), MUSTER_E_INVALID);
    assert_err(muster_stats_get(s->client, "", -1, &stats), MUSTER_E_INVALID);
    raw_do(s->server->redis, "SET %s:stats:4:q x", s->prefix);
    assert_err(muster_stats_get(s->client, "q", 4, &stats), MUSTER_E_REDIS);
}

static void hold_and_let_lapse(struct scene *s, size_t n)
{
    struct taken taken = {0};
    assert_ok(take_n(s, "q", n, AN_HOUR, &taken));
    assert_int_equal(taken.n, n);
    assert_ok(muster_process_cancel(s->client, taken.rows[0].id)); /* which drops it */
    raw_do(s->server->redis, "EVAL %s 1 %s:leases:q",
           "for _, f in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, f) end",
           s->prefix);
    raw_do(s->server->redis, "HSET %s:queue:q due 1", s->prefix);
    assert_ok(muster_client_sweep(s->client, NULL));
}

static void hold_until(struct scene *s, const char *id, size_t n, void (*end)(struct scene *s, struct acting_worker *w))
{
    struct acting_worker w = {.id = id, .queues = {"dies"}, .hands = 8};
    acting_start(&w, s);
    for (size_t i = 0; i < n; i++)
        scene_enqueue(s, "dies", "t");
    job_put(s, "dies", JOB_SPEC(.id = id));
    freeReplyObject(acting_turn(&w, NULL));
    end(s, &w);
    acting_forget(&w);
}

static void die(struct scene *s, struct acting_worker *w)
{
    acting_die(w);
    assert_ok(muster_client_sweep(s->client, NULL));
    raw_do(s->server->redis, "UNLINK %s:queues:dies", s->prefix);
}

static void be_failed_alive(struct scene *s, struct acting_worker *w)
{
    assert_ok(muster_worker_fail(s->client, w->id, NULL));
}

/* Tasks, too: whoever asks why work stands still asks for these. */
static void stalls_and_deaths_are_counted(void **state)
{
    struct scene *s = *state;
    int64_t day = server_now_ms(s) / 86400000;
    scene_enqueue_n(s, "q", "t", 3);
    job_put(s, "q", JOB_SPEC(.id = "j"));
    hold_and_let_lapse(s, 4);
    hold_until(s, "w1", 2, be_failed_alive);
    assert_int_equal(stats_of(s, "dies", -1).died, 0);
    hold_until(s, "w2", 1, die);
    struct muster_stats q = stats_of(s, "q", -1), dies = stats_of(s, "dies", -1);
    if (q.day != day || dies.day != day) /* midnight */
        skip();
    assert_int_equal(q.stalled, 3);
    assert_int_equal(q.died, 0);
    assert_int_equal(dies.stalled, 0);
    assert_int_equal(dies.died, 5); /* what came back from the first one, too */
    assert_int_equal(queue_row_of(s, "q").stalled, 3);
    assert_int_equal(queue_row_of(s, "dies").died, 5);
    assert_true(raw_int(s->server->redis, "TTL %s:stats:%d:q", s->prefix, (int)day) > 0);
}

/* ---- events ---- */

struct hearing {
    struct scene *scene;
    void (*act)(struct scene *s);
    char heard[2048];
};

static int note_event(const struct muster_job_event *e, void *arg)
{
    struct hearing *h = arg;
    assert_true(e->at_ms > 0);
    if (!strcmp(e->id, "the end"))
        return 1;
    sprintf(h->heard + strlen(h->heard), "%s:%s%s%s%s%s%s ", e->id, e->what, *e->worker ? "@" : "", e->worker,
            *e->text ? "=" : "", e->text, e->tracked ? "!" : "");
    return 0;
}

static int act(void *arg)
{
    struct hearing *h = arg;
    h->act(h->scene);
    job_put(h->scene, "q", JOB_SPEC(.id = "the end"));
    return 0;
}

static void assert_job_events(struct scene *s, const char *queue, void (*what)(struct scene *s), const char *expected)
{
    struct hearing h = {.scene = s, .act = what};
    struct muster_client *c = scene_client(s);
    int err = muster_job_listen(c, queue, SOON_MS, act, note_event, &h);
    muster_client_free(c);
    assert_ok(err);
    assert_string_equal(h.heard, expected);
}

static void live_a_life(struct scene *s)
{
    job_put(s, "r", JOB_SPEC(.id = "elsewhere"));
    job_put(s, "q", JOB_SPEC(.id = "a", .track = 1));
    assert_ok(muster_lease_retry(s->client, job_take(s, "q", "a"), 0));
    assert_ok(muster_job_change(s->client, "a", JOB_CHANGE(.log = "a line", .priority = 2)));
    assert_ok(muster_lease_give_back(s->client, job_take(s, "q", "a")));
    assert_ok(muster_lease_fail(s->client, job_take(s, "q", "a"), "g", "why"));
    assert_ok(muster_job_cancel(s->client, N_IDS("a"), 0, NULL, NULL));
    raw_do(s->server->redis, "PUBLISH %s:events nonsense", s->prefix);
    raw_do(s->server->redis, "PUBLISH %s:events %s", s->prefix, "what\t1\tq\t\tw\t0\t");
}

static void a_jobs_life_is_heard(void **state)
{
    assert_job_events(*state, "q", live_a_life,
                      "a:put! a:taken@.lease=.lease! a:retried@.lease! a:log=a line! a:changed! a:taken@.lease=.lease! "
                      "a:given-back@.lease=.lease! a:taken@.lease=.lease! a:failed@.lease=g! a:cancelled! ");
}

static void finish_one_and_move_one(struct scene *s)
{
    job_put(s, "q", JOB_SPEC(.id = "a"));
    job_put(s, "r", JOB_SPEC(.id = "b"));
    assert_ok(muster_lease_finish(s->client, job_take(s, "q", "a"), NULL));
    assert_ok(muster_job_change(s->client, "b", JOB_CHANGE(.queue = "p", .track = 1)));
}

static void jobs_of_all_queues_are_heard(void **state)
{
    assert_job_events(*state, NULL, finish_one_and_move_one,
                      "a:put b:put a:taken@.lease=.lease a:completed@.lease=.lease b:tracked! b:moved=r! ");
}

static void listening_ends_in_time_or_is_refused(void **state)
{
    struct scene *s = *state;
    struct hearing h = {.scene = s};
    assert_err(muster_job_listen(s->client, NULL, 10, NULL, note_event, &h), MUSTER_E_TIMEOUT);
    assert_err(muster_job_listen(s->client, "", 10, NULL, note_event, &h), MUSTER_E_INVALID);
    assert_err(muster_job_listen(s->client, "q", -1, NULL, note_event, &h), MUSTER_E_INVALID);
    assert_string_equal(h.heard, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(a_setting_is_the_queues_own_the_namespaces_or_the_default),
        live_test(each_value_that_is_allowed_counts),
        live_test(what_cannot_be_set_is_refused),
        live_test(a_value_that_is_no_number_counts_for_nothing),
        live_test(at_most_max_running_are_in_work),
        live_test(a_number_of_complete_jobs_is_kept),
        live_test(complete_jobs_are_kept_for_a_time),
        live_test(a_history_keeps_its_first_line_and_its_newest),
        live_test(what_happens_to_jobs_is_counted),
        live_test(stalls_and_deaths_are_counted),
        live_test(mean_deviation_and_histogram_come_from_what_was_counted),
        live_test(a_day_without_any_is_all_zero),
        live_test(a_jobs_life_is_heard),
        live_test(jobs_of_all_queues_are_heard),
        live_test(listening_ends_in_time_or_is_refused),
    };
    return scene_run(tests, argc, argv);
}
