/* SPDX-License-Identifier: MIT
 *
 * A storm of faults over jobs: the account of each job.
 */
#include <stdlib.h>
#include <string.h>

#include "job_storm.h"

/* A job that waited for a cancelled one may have failed because of it. */
static bool may_fail_for_a_dependency(struct job_storm *storm, const struct storm_account *a)
{
    return storm->n_cancelled + storm->n_for_failure > 0 && a && a->n_after > 0;
}

static void judge_failure(struct job_storm *storm, const struct muster_job *job, const struct storm_account *a)
{
    const struct storm_said *said = job_storm_said(storm, job);
    const char *group = job->group;
    bool is_right = (!strcmp(group, "failed") && atomic_load(&said->fail) > 0) ||
                    (!strcmp(group, "failed-retries") && atomic_load(&said->retry) > (a ? a->retries_least : 0)) ||
                    (!strcmp(group, "crashed") && job->crashes >= 3) ||
                    (!strcmp(group, "dependency") && may_fail_for_a_dependency(storm, a));
    if (!is_right)
        job_history_fail(job, "for no reason");
}

static int judge_job(const struct muster_job *job, void *arg)
{
    struct storm_judgement *j = arg;
    j->exists = true;
    j->put_at_ms = job->put_at_ms;
    j->n[job->state]++;
    if (job->state == MUSTER_JOB_COMPLETE && atomic_load(&job_storm_said(j->storm, job)->finish) == 0)
        job_history_fail(job, "nobody finished it");
    if (job->state == MUSTER_JOB_FAILED)
        judge_failure(j->storm, job, j->account);
    else if (job->state == MUSTER_JOB_DEPENDS)
        assert_true(job->n_after + job->n_after_end + job->n_after_failure > 0);
    else
        assert_int_equal(job->state, MUSTER_JOB_COMPLETE);
    job_history_judge(job, &j->sums);
    return 0;
}

bool job_storm_find(struct storm_judgement *j, const char *id)
{
    j->exists = false;
    int err = muster_job_get(j->storm->s->client, &id, 1, judge_job, j);
    assert_int_equal(err, j->exists ? MUSTER_OK : MUSTER_E_NOT_FOUND);
    return j->exists;
}

/* A cancel with dependents takes the jobs that wait for it, too. The accounts know what each job has ever waited for.
 */
static void work_out_what_may_be_gone(struct job_storm *storm)
{
    for (int i = 0; i < storm->n_jobs; i++) {
        struct storm_account *a = &storm->jobs[i];
        for (int k = 0; k < a->n_after; k++)
            a->was_cancelled_along |= storm->jobs[a->after[k]].was_cancelled_along;
        a->may_be_gone = a->was_cancelled || a->was_cancelled_along || a->for_failure;
    }
}

/* Each job is complete because a handler said so, has failed for a reason, or waits for one that failed. Only cancelled
 * jobs are gone, and those that waited for a failure. No task is lost. */
struct storm_judgement job_storm_judge(struct job_storm *storm)
{
    struct storm_judgement j = {.storm = storm};
    char text[16];
    work_out_what_may_be_gone(storm);
    for (int i = 0; i < storm->n_jobs; i++) {
        j.account = &storm->jobs[i];
        bool is_gone = !job_storm_find(&j, job_storm_name(text, 'j', i));
        if (is_gone && !j.account->may_be_gone)
            fail_msg("%s is lost", text);
        j.n_gone += is_gone;
    }
    for (int i = 0; i < storm->n_tasks; i++)
        if (atomic_load(&storm->shared->tasks[i]) == 0)
            fail_msg("the task %s is lost", job_storm_name(text, 't', i));
    return j;
}

static int count_puts(const struct muster_job *job, void *arg)
{
    int *n = arg;
    for (size_t i = 0; i < job->n_history; i++)
        *n += strcmp(job->history[i].what, "put") == 0;
    assert_int_equal(job->state, MUSTER_JOB_COMPLETE);
    return 0;
}

/* Was it put if it had to be, and only then, and once? */
static void judge_follower(struct job_storm *storm, const struct muster_followed *f, bool must_be)
{
    int n = 0;
    if (*f->job)
        assert_ok(muster_job_get(storm->s->client, &f->job, 1, count_puts, &n));
    assert_int_equal(n, must_be);
}

static int judge_batch(const struct muster_batch *b, void *arg)
{
    struct job_storm *storm = arg;
    assert_int_equal(b->state, MUSTER_BATCH_ENDED);
    assert_int_equal(b->left, 0);
    assert_int_equal(b->complete + b->failed + b->cancelled + b->gone, b->members);
    judge_follower(storm, &b->on_end, true);
    judge_follower(storm, &b->on_complete, b->complete == b->members);
    judge_follower(storm, &b->on_failure, *b->first_failed != 0);
    return 0;
}

void job_storm_judge_batches(struct job_storm *storm)
{
    char text[16];
    for (int i = 0; i < storm->n_batches; i++) {
        const char *id = job_storm_name(text, 'b', i);
        assert_ok(muster_batch_get(storm->s->client, id, judge_batch, storm));
    }
    print_message("%d batches ended\n", storm->n_batches);
    assert_true(storm->n_batches > 0);
}

void job_storm_report(const struct job_storm *storm, const struct storm_judgement *j)
{
    const int *hurt = storm->crew.n_hurt;
    print_message(
        "%d jobs, %d tasks; %d workers killed, %d frozen, %d ended, %d times cut; %d refused by a full Redis\n",
        storm->n_jobs, storm->n_tasks, hurt[FAULT_KILLED], hurt[FAULT_FROZEN], hurt[FAULT_TERMINATED], hurt[FAULT_CUT],
        storm->n_refused);
    print_message(
        "%d cancelled, %d replaced, %d changed, %d leased; %d complete, %d failed, %d wait for those, %d gone\n",
        storm->n_cancelled, storm->n_replaced, storm->n_changed, storm->n_leased, j->n[MUSTER_JOB_COMPLETE],
        j->n[MUSTER_JOB_FAILED], j->n[MUSTER_JOB_DEPENDS], j->n_gone);
    for (int i = 0; i < FAULT_COUNT; i++)
        assert_true(hurt[i] > 0);
    assert_true(j->n[MUSTER_JOB_FAILED] > 0 && storm->n_refused > 0 && storm->n_for_failure > 0);
}
