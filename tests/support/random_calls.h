/* SPDX-License-Identifier: MIT
 *
 * Random calls of scripts, on a few queues, by workers that are nothing but their calls (script_call.h) and under
 * leases. Nothing happens by itself, and leases lapse only when a call lets them, so a seed repeats a run:
 * MUSTER_TEST_SEED names it, MUSTER_TEST_OPS says how many calls. A failure prints the seed and the last calls.
 *
 * The operations that tests of tasks and of jobs share are here. Each says of itself what it may have moved.
 */
#ifndef RANDOM_CALLS_H
#define RANDOM_CALLS_H

#include "script_call.h"

enum { RANDOM_WORKERS = 4, RANDOM_QUEUES = 3, RANDOM_ENDS_MAX = 4, RANDOM_OPERATIONS_MAX = 40, RANDOM_HISTORY = 20 };

extern const char *const random_queues[RANDOM_QUEUES];

/*
 * What an operation did, by its own words. Of tasks:
 *   came, gone  tasks that are new, and tasks that are no more
 *   unmarked    processes whose queue had been deleted, which are gone without having been dropped
 *   resets      counters may have gone with their queue
 * Of jobs:
 *   meant       the jobs that it named, and as bits where each may be now
 *   cancelled   the job of the process that it cancelled, which is gone; "": none
 *   moves_due   what is due may have moved, leases included
 *   ends_hands  processes may have lost their worker
 *   forgets     some may be gone for good, so that jobs that waited for them fail
 *   completes   some may be complete, so that jobs that waited for them are ready
 *   cancels_members  members of batches may be gone; what is due may be the rest of such a cancel
 *   is_tidied   what is beyond bounds may be gone
 *   deleted, dropped, replayed  the queue whose jobs, or whose failed list, went that way
 */
struct random_effect {
    int64_t came, gone, unmarked;
    bool resets;
    struct {
        char id[24];
        int places;
    } meant[RANDOM_ENDS_MAX + 2];
    int n_meant;
    bool moves_due, ends_hands, forgets, completes, cancels_members, is_tidied;
    const char *deleted, *dropped, *replayed;
    char cancelled[24];
};

struct random_world {
    struct scene *s;
    unsigned first_seed, seed;
    struct acting_worker workers[RANDOM_WORKERS];
    bool lives[RANDOM_WORKERS];
    int n_tasks, n_steps, n_done[RANDOM_OPERATIONS_MAX];
    const char *history[RANDOM_HISTORY];
};

/* False if there was nothing to do. */
typedef bool random_fn(struct random_world *w, struct random_effect *e);

/* `weight`: how many of 100 calls are this one. */
struct random_operation {
    const char *name;
    random_fn *run;
    int weight;
};

/* `steps` calls; around each `before` and `after`, which tells whether all is as it may be. After each the invariants
 * are looked up, and no task is in two places. Prints how often each operation was done. */
void random_run(struct random_world *w, struct scene *s, const struct random_operation *operations, size_t n, int steps,
                void (*before)(struct random_world *w),
                void (*after)(struct random_world *w, const char *name, const struct random_effect *e));

/* ---- drawing ---- */

/* From 0 to n - 1. */
int random_draw(struct random_world *w, int n);
const char *random_queue(struct random_world *w);
/* NULL: the one that was drawn does not live. */
struct acting_worker *random_worker(struct random_world *w);

/* `field` is how it stands in its set: the token, with a 'j' before it for a job's. `mark` is "" for none. */
struct random_process {
    char holder[16], queue[16], field[13], task[24], mark[2];
};
bool random_is_job(const struct random_process *p);
/* Was its job cancelled? Then it has none any more, and a job of that id is another one. */
bool random_is_cut(const struct random_process *p);
/* How many leases of a queue are over but not moved, and not marked; or, of this field, whether it is one, 1 or 0. */
int64_t random_over(struct random_world *w, const char *queue, const char *field);
const char *random_token(const struct random_process *p);

/* Up to `n` processes, of this holder or of any (""), and of this queue or of any. Returns how many. */
int random_processes(struct random_world *w, const char *holder, const char *queue, struct random_process *p, int n);

/* ---- operations ---- */

random_fn random_start;
random_fn random_heartbeat;
random_fn random_readback;
random_fn random_stop;
random_fn random_sweep;
random_fn random_leave;
random_fn random_take;
random_fn random_fail_holder;
random_fn random_cancel_process;
random_fn random_delete_queue;
random_fn random_pause_or_resume;
random_fn random_replay_or_drop;

#endif
