/* SPDX-License-Identifier: MIT
 *
 * The owners of tasks, sampled every few milliseconds: a process takes a snapshot of all in-process sets of a namespace
 * in one script, and keeps an account of each task. The tasks' names are "t0", "t1", ...
 *
 *   - No task ever has two owners, and its token only rises. Each breach is counted, and the first one described.
 *   - A task is cared for while its owner runs. A worker that is killed or stopped owns it in Redis, but does nothing
 *     for it. The time in which a task is not cared for, in one piece, is a gap.
 *   - Time without snapshots (Redis is away, the machine is busy) is no part of a gap.
 *   - A task that is handed to an owner that stops running at that very moment waits for it again: a second gap.
 */
#ifndef OWNER_SAMPLER_H
#define OWNER_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define SAMPLER_TASKS_MAX 1000
#define SAMPLER_WORKERS_MAX 32
#define SAMPLER_BUCKET_MS 250
#define SAMPLER_BUCKETS 20

/* What the sampler tells, and in `runs` what it is told: which life of the worker in each place runs; 0: none.
 * Workers are named "w<place>.<life>". */
struct owner_account {
    atomic_int runs[SAMPLER_WORKERS_MAX];
    atomic_int stop;
    int samples, breaches, changes, restarted_gaps, n_tasks_seen;
    int blind_ms, longest_gap_ms;
    int gaps[SAMPLER_BUCKETS];
    char first_breach[160];
};

struct owner_sampler {
    pid_t pid;
    struct owner_account *account;
};

/* All tasks have an owner when it starts. */
void owner_sampler_start(struct owner_sampler *o, const char *socket, const char *prefix);

/* It ends by itself after one more snapshot; the account stays readable. */
void owner_sampler_stop(struct owner_sampler *o);
void owner_sampler_free(struct owner_sampler *o);

#endif
