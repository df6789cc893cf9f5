/* SPDX-License-Identifier: MIT
 *
 * A job's history, judged: its lines come in an order that the states allow, taken by one process at a time and ended
 * once for each take. And what histories add up to, to be compared with the statistics of their queues.
 */
#ifndef JOB_HISTORY_H
#define JOB_HISTORY_H

#include "scene.h"

struct job_sums {
    uint64_t put, taken, completed, failed, retried, crashed;
};

/* Fails the test, with the history, if it is none that the states allow. Adds it up in `sums`. */
void job_history_judge(const struct muster_job *job, struct job_sums *sums);

/* Fails the test, with the history. */
void job_history_fail(const struct muster_job *job, const char *wrong);

/* What the queues' statistics say, of today and yesterday: it may have been midnight. */
struct job_sums job_history_statistics(struct scene *s, const char *const *queues, size_t n);

void job_history_assert_same(const struct job_sums *a, const struct job_sums *b);

#endif
