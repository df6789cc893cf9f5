/* SPDX-License-Identifier: MIT
 *
 * The words of the benchmark.
 *
 * An experiment has two or more sides, muster's and raw ones (hiredis and nothing else), each of which does one small
 * block of the same work when it is asked to. The runner asks them in turn, forwards and backwards, round after round,
 * so that whatever drifts on the machine drifts for all of them. A row compares two sides of an experiment in one
 * measure: per round, so that neighbours in time are compared; its ratio is the median of those.
 *
 * Each block checks that what went in came out, by number and by a digest of the bytes, outside of what is timed.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

struct redisContext;

#define SIDES_MAX 4
#define ROUNDS_MAX 200

/* What a block came to. `tasks` is what figures are for one of: tasks, or seconds. */
struct block {
    uint64_t tasks;
    double seconds;
    double cpu_us;         /* of Redis */
    double commands;       /* that Redis carried out, those within scripts too */
    double p50_us, p99_us; /* of latencies */
    double value;          /* of whatever else the experiment is about */
};

/*
 * An experiment under way.
 *
 *   url, prefix  where; the namespace is the experiment's alone and is removed after it
 *   redis        a blocking connection, for the raw sides and for looking
 *   state        the experiment's own
 */
struct run {
    const struct experiment *experiment;
    const char *url, *prefix;
    struct redisContext *redis;
    void *state;
};

/* Does one block. `n` is what distinguishes sides that share a function. */
struct side {
    void (*work)(struct run *run, int n, struct block *out);
    int n;
};

/*
 *   name        the namespace's too
 *   seconds     so long, with opening and closing; at least `min_rounds` are done
 *   over_tcp    by TCP, where there is a choice; else by the Unix socket
 *   tasks, len  how many tasks of how many bytes make a block
 *   threads     of the worker
 *   open,close  before the first and after the last block; may be NULL
 */
struct experiment {
    const char *name;
    double seconds;
    size_t min_rounds;
    int over_tcp;
    size_t tasks, len;
    int threads;
    void (*open)(struct run *run);
    void (*close)(struct run *run);
    struct side sides[SIDES_MAX];
};

struct samples {
    size_t rounds;
    struct block blocks[SIDES_MAX][ROUNDS_MAX];
};

enum measure { RATE, CPU, COMMANDS, P50, P99, P50_MS, P99_MS, VALUE };
enum goal { NO_GOAL, AT_LEAST, AT_MOST };

#define NO_SIDE (-1)

/*
 *   muster, raw   which sides are compared; NO_SIDE: the goal is one of the figure itself
 *   goal, target  of muster/raw
 *   only_scale    only with --scale
 */
struct row {
    const char *name, *what, *unit;
    const struct experiment *experiment;
    int muster, raw;
    enum measure measure;
    enum goal goal;
    double target;
    int only_scale;
};

extern const struct row rows[];
extern const size_t n_rows;

extern const struct experiment experiment_enqueue_batch, experiment_enqueue_batch_1k, experiment_enqueue_batch_64k,
    experiment_enqueue_serial, experiment_enqueue_serial_tcp, experiment_enqueue_pipelined, experiment_drain,
    experiment_drain_1k, experiment_drain_64k, experiment_drain_tcp, experiment_drain_threads, experiment_drain_4,
    experiment_wake, experiment_wake_tcp, experiment_herd, experiment_idle, experiment_bytes, experiment_kill,
    experiment_jobs_put, experiment_jobs_drain, experiment_jobs_due, experiment_scale;

/* One line about what went wrong, and the end of this process with status 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fail() unless a call of muster's was OK; `what` was being done. */
void must(int err, const char *what);

/* CLOCK_MONOTONIC, the same for all processes. */
int64_t now_ns(void);

/* Sleep until the condition holds, looking often; after half a minute, or when a child has died, fail(). */
void await(int (*holds)(void *arg), void *arg, const char *what);

/* Sleep. */
void pause_us(int64_t us);

#endif
