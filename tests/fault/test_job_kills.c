/* SPDX-License-Identifier: MIT
 *
 * No job is lost, doubled or blocked, whatever happens to workers and to Redis. job_storm.h has the storm of faults and
 * the account afterwards; the cases differ in what happens to the jobs meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "job_storm.h"

/* ---- one that recurs ---- */

static void put_recurring(struct job_storm *storm)
{
    const struct muster_backoff soon = {.delay_ms = 10};
    job_put(storm->s, "work", JOB_SPEC(.id = "r", .data = BYTES("r0"), .every_ms = 1000, .backoff = &soon));
}

/* Returns how many it made: it is cancelled right after it made one, so that the next one is far. */
static uint64_t end_recurring(struct job_storm *storm)
{
    uint64_t before = job_look(storm->s, "r").made;
    raw_await(storm->s->server->redis, NULL, (int64_t)before + 1, "HGET %s:job:r made", storm->s->prefix);
    uint64_t made = job_look(storm->s, "r").made;
    assert_ok(muster_job_cancel(storm->s->client, IDS("r"), 1, 0, NULL, NULL));
    return made;
}

/* All its jobs are there, one interval apart. */
static void judge_recurring(struct storm_judgement *j, uint64_t made)
{
    int64_t before_ms = 0;
    j->account = NULL;
    for (uint64_t n = 1; n <= made; n++) {
        char id[24];
        snprintf(id, sizeof id, "r-%d", (int)n);
        if (!job_storm_find(j, id))
            fail_msg("%s is gone", id);
        if (n > 1)
            assert_int_equal(j->put_at_ms - before_ms, 1000);
        before_ms = j->put_at_ms;
    }
}

/* ---- disturbances ---- */

static void cancel(struct job_storm *storm, int i)
{
    char id[16];
    uint64_t removed = 0, running = 0;
    int along = rand() % 2;
    int err = muster_job_cancel(storm->s->client, IDS(job_storm_name(id, 'j', i)), 1, along, &removed, &running);
    if (err == MUSTER_E_STATE)
        return;
    assert_ok(err);
    uint64_t n = removed + running;
    if (n > 0) /* at once, also if it ran */
        assert_false(job_is_there(storm->s, id));
    storm->jobs[i].was_cancelled |= n > 0;
    storm->jobs[i].was_cancelled_along |= along && n > 0;
    storm->n_cancelled += (int)n;
}

static void replace(struct job_storm *storm, int i)
{
    int err = job_storm_put(storm, i, STORM_REPLACE);
    if (err != MUSTER_E_INVALID)
        storm->n_replaced += job_storm_is_done(storm, err);
}

static void change(struct job_storm *storm, int i)
{
    char id[16];
    struct muster_job_change c = {.size = sizeof c,
                                  .priority = rand() % 5 - 2,
                                  .queue = rand() % 2 ? "work" : NULL,
                                  .not_after_all = rand() % 4 == 0,
                                  .key = rand() % 4 ? NULL : job_storm_key(),
                                  .tag = IDS("big"),
                                  .n_tag = (size_t)(rand() % 2)};
    int err = muster_job_change(storm->s->client, job_storm_name(id, 'j', i), &c);
    if (err != MUSTER_E_NOT_FOUND && err != MUSTER_E_STATE)
        storm->n_changed += job_storm_is_done(storm, err);
}

static void limit_or_not(struct job_storm *storm, int i)
{
    static const struct {
        const char *name;
        int64_t value;
    } limits[] = {
        {"max_running", 5}, {"max_running_per_key", 1}, {"max_running_per_key", 4}, {"fair", 1}, {"rate", 500}};
    size_t which = (size_t)rand() % N_OF(limits);
    const int64_t *value = i % 2 ? &limits[which].value : NULL;
    storm->is_limit_changed = true;
    int err = muster_config_set(storm->s->client, "work", limits[which].name, value);
    (void)job_storm_is_done(storm, err);
}

static void put_some_and_disturb_others(struct job_storm *storm)
{
    static void (*const disturbances[])(struct job_storm * storm, int i) = {cancel,  cancel, cancel,      replace,
                                                                            replace, change, limit_or_not};
    job_storm_put_some(storm);
    for (int n = storm->n_jobs > 0 ? rand() % 8 : 0; n > 0; n--)
        disturbances[(size_t)rand() % N_OF(disturbances)](storm, job_storm_recent(storm->n_jobs));
}

/* ---- cases ---- */

static void jobs_left_alone_end_as_histories_and_statistics_say(void **state)
{
    struct job_storm *storm = job_storm_begin(*state);
    put_recurring(storm);
    /* On a busy machine a storm has few jobs, of which maybe none waits for its key. */
    for (int n = 0; n < 5 && storm->n_held == 0; n++)
        job_storm_rage(storm, job_storm_put_some);
    uint64_t made = end_recurring(storm);
    job_storm_settle(storm);
    struct storm_judgement j = job_storm_judge(storm);
    job_storm_report(storm, &j);
    judge_recurring(&j, made);
    j.sums.put += (uint64_t)j.n_gone; /* they waited for a failure that did not come, and never ran */
    struct job_sums counted = job_history_statistics(storm->s, job_storm_queues, 2);
    job_history_assert_same(&counted, &j.sums);
    assert_true(j.sums.crashed > 0);
    print_message("%d held by all looks\n", storm->n_held);
    assert_true(storm->n_held > 0);
    job_storm_replay(storm);
    job_storm_end(storm);
}

static void of_jobs_changed_replaced_and_cancelled_only_cancelled_ones_are_gone(void **state)
{
    struct job_storm *storm = job_storm_begin(*state);
    job_storm_rage(storm, put_some_and_disturb_others);
    job_storm_settle(storm);
    struct storm_judgement j = job_storm_judge(storm);
    job_storm_report(storm, &j);
    assert_true(j.n_gone > 0);
    job_storm_replay(storm);
    job_storm_end(storm);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        live_test(jobs_left_alone_end_as_histories_and_statistics_say),
        live_test(of_jobs_changed_replaced_and_cancelled_only_cancelled_ones_are_gone),
    };
    return scene_run_durable(tests, argc, argv);
}
