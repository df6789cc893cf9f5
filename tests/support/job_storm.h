/* SPDX-License-Identifier: MIT
 *
 * A storm of faults over jobs: jobs that are retried, depend on others, go on to a next queue, are scheduled or unique,
 * members of batches, of all priorities, and plain tasks, on a crew that is hurt (fault_crew.h), while Redis is killed and restarted and is
 * full now and then. Afterwards the account: each job is complete because a handler said so, has failed for a reason,
 * or waits for one that failed; only cancelled jobs are gone; and each history is one that the states allow.
 *
 * A handler writes down what it says before it says it. MUSTER_FAULT_SECONDS makes a storm longer, MUSTER_TEST_SEED
 * draws another one.
 */
#ifndef JOB_STORM_H
#define JOB_STORM_H

#include <muster/batch.h>
#include <stdatomic.h>

#include "fault_crew.h"
#include "job_history.h"
#include "job_look.h"

enum { STORM_JOBS_MAX = 20000, STORM_UNIQUES = 20, STORM_AFTER_MAX = 3, STORM_QUEUES = 3 };

/* Jobs and tasks are in the first two of these, unique tasks in the third. */
extern const char *const job_storm_queues[STORM_QUEUES];

/* How often handlers said what of a job. */
struct storm_said {
    atomic_int finish, advance, fail, retry;
};

/* Written by the workers' processes. */
struct storm_shared {
    atomic_int is_over; /* handlers finish from now on */
    struct storm_said jobs[STORM_JOBS_MAX], recurred, followed;
    atomic_int tasks[STORM_JOBS_MAX];
};

/* What was done to a job "j<number>". It depends on jobs with lower numbers; a replacement may add some. `after` has
 * those that were to be complete. `for_failure`: others were to fail, so it may have been cancelled. */
struct storm_account {
    bool was_cancelled, was_cancelled_along, may_be_gone, for_failure;
    int after[STORM_AFTER_MAX], n_after, retries_least;
};

struct job_storm {
    struct scene *s;
    struct storm_shared *shared;
    struct fault_crew crew;
    struct storm_account jobs[STORM_JOBS_MAX];
    int n_jobs, n_tasks, n_cancelled, n_replaced, n_changed, n_leased, n_refused, n_for_failure;
    int n_held; /* by all looks */
    int n_batches;
    bool is_full, is_limit_changed, is_batch_open; /* the last one */
    int64_t turns_at_ms;                           /* when Redis is full, or empty, the next time */
};

/* A key that a job may have; NULL: none. */
const char *job_storm_key(void);

/* Starts the crew. */
struct job_storm *job_storm_begin(struct scene *s);

/* `load` is called again and again while the storm lasts. */
void job_storm_rage(struct job_storm *storm, void (*load)(struct job_storm *storm));

/* A load: some new jobs and tasks, a unique task, and a lease that will lapse. */
void job_storm_put_some(struct job_storm *storm);

/* Pieces for a load. Put job `i`, or put it again in its place. The number of one of the last of `n` jobs. Whether a
 * call was done: only a full Redis may refuse it, and then nothing was done. */
enum storm_put { STORM_NEW, STORM_REPLACE };
int job_storm_put(struct job_storm *storm, int i, enum storm_put how);
int job_storm_recent(int n);
bool job_storm_is_done(struct job_storm *storm, int err);
const char *job_storm_name(char text[16], char kind, int i);

/* Wait until nothing waits, runs or is scheduled. */
void job_storm_settle(struct job_storm *storm);

/* Failed jobs run when they are replayed, and each unique task can be put again; nothing is left then, and all batches
 * have ended. */
void job_storm_replay(struct job_storm *storm);
void job_storm_end(struct job_storm *storm);

/* ---- the account (job_storm_account.c) ---- */

struct storm_judgement {
    struct job_storm *storm;
    struct storm_account *account; /* of the job that is judged; NULL: it is a recurring one's */
    bool exists;
    int64_t put_at_ms;
    struct job_sums sums;
    int n[MUSTER_JOB_STATE_COUNT], n_gone;
};

/* Fails the test with the first job or task whose account is wrong. */
struct storm_judgement job_storm_judge(struct job_storm *storm);

/* Fails the test with the first batch that has not ended, or whose followers were not put once each. */
void job_storm_judge_batches(struct job_storm *storm);

/* Judge one more job. False: it is not there. */
bool job_storm_find(struct storm_judgement *j, const char *id);

/* Prints the figures, and fails the test if something never happened. */
void job_storm_report(const struct job_storm *storm, const struct storm_judgement *j);

struct storm_said *job_storm_said(struct job_storm *storm, const struct muster_job *job);

#endif
